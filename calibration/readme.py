"""Print into both READMEs what ``make demo`` prints, shortened: the answer, the first option, what would change it;
beside it a picture of that decision, and how wrong we and others are on the same measured rows.

python calibration/readme.py          # rewrite the block
python calibration/readme.py --check  # fail when the answer isn't today's
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import cabida
from cabida.plan import Decision
from cabida.report import doubt_charts, memory_chart
from cabida.report.speed_pictures import together
from cabida.text import catalogue, percent, use_language

ROOT = Path(__file__).parent.parent
READMES = {"en": ROOT / "README.md", "es": ROOT / "README.es.md"}
AS_OF = "2026-11-30"
BLOCK = re.compile(r"(<!-- demo-command -->.*?^```text\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
MOST_TURNS = 4
BOX = re.compile(r"(<!-- accuracy-box -->\n)(.*?)(<!-- /accuracy-box -->)", re.DOTALL)
RESULTS = ROOT / "benchmarks/results/accuracy.json"
PICTURES = {language: ROOT / f"docs/pictures/decision.{language}.svg" for language in READMES}
MOST_DRAWN = 5
STYLE = ROOT / "src/cabida/report/templates/style.css"
COLOURS = re.compile(r":root|--p1|@media \(prefers-color-scheme|\.chart [.t]|\.part-|\.hatch")
BOXED = (  # a rival's figure: how it is called in each language
    ("aiconfigurator", "tpot_ms", {"en": "time per output token", "es": "tiempo por token de salida"}),
    ("aiconfigurator", "ttft_ms", {"en": "time to first token", "es": "tiempo hasta el primer token"}),
    ("llmfit", "decode_tok_s", {"en": "one stream on one card", "es": "un solo flujo en una tarjeta"}),
    ("llm-analysis", "tokens_s_per_gpu", {"en": "training tokens/s", "es": "tokens/s de entrenamiento"}),
    ("ftuneai", "peak_mem_gib", {"en": "peak memory of fine-tuning", "es": "pico de memoria al afinar"}),
)
HEADS = {
    "en": ("figure", "rows", "another tool", "off by, median", "Cabida", "worst tenth", "Cabida"),
    "es": ("cifra", "filas", "otra herramienta", "error, mediana", "Cabida", "peor décimo", "Cabida"),
}
UNSEEN = {
    "en": "{tool}'s rows of time per output token again, each predicted by a fit that never saw its source",
    "es": "Las mismas filas de tiempo por token de {tool}, cada una predicha sin haber visto su fuente",
}


def printed(language: str) -> list[str]:
    """The lines of the demo, without trailing blanks."""
    words = ["recommend", "examples/chat-llama-70b.yaml", "--as-of", AS_OF, "--lang", language]
    told = subprocess.run(
        [sys.executable, "-m", "cabida", *words],
        cwd=ROOT, env=os.environ | {"COLUMNS": "112"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rstrip() for line in told.stdout.splitlines()]


def shortened(lines: list[str], title: str) -> str:
    """Up to the end of the first option, then the first turns, which stand under ``title``."""
    second = next(at for at, line in enumerate(lines) if re.match(r"\s+2 ", line))
    turns = lines[lines.index(title) + 1 :]
    shown = [*lines[: second - 1], "  …", title, *_turns(takewhile(bool, turns))]
    return "\n".join(shown) + "\n"


def _turns(lines: Iterator[str]) -> Iterator[str]:
    """Whole sentences, at most ``MOST_TURNS``."""
    count = 0
    for line in lines:
        if count == MOST_TURNS:
            return
        yield line
        count += line.endswith(".")


def answer(block: str) -> str:
    """The sentence that says what to take, on one line."""
    return " ".join(block.split("\n\n")[1].split())


def box(language: str, results: dict[str, Any]) -> str:
    """A table of errors on the rows that both tools answered, and the same where ours never saw the source."""
    use_language(language)
    lines = ["| " + " | ".join(HEADS[language]) + " |", "| --- | ---: | --- | ---: | ---: | ---: | ---: |"]
    for rival, metric, names in BOXED:
        tool, each = _measured(results, rival, metric)
        cells = [names[language], str(each["both"]), f"{tool['rival']} {tool['version']}", *_errors(each)]
        lines.append("| " + " | ".join(cells) + " |")
    tool, each = _measured(results, *BOXED[0][:2])
    unseen = each["left_out"]["source"]
    cells = [UNSEEN[language].format(tool=tool["rival"]), str(unseen["rows"]), "", *_errors(unseen)]
    return "\n".join([*lines, "| " + " | ".join(cells) + " |"]) + "\n"


def _measured(results: dict[str, Any], rival: str, metric: str) -> tuple[dict[str, Any], dict[str, Any]]:
    tool = next(one for one in results["table"] if one["rival"] == rival)
    return tool, next(one for one in tool["metrics"] if one["metric"] == metric)


def _errors(each: dict[str, Any]) -> list[str]:
    keys = ("theirs_median", "ours_median", "theirs_p90", "ours_p90")
    return [percent(each[key]) for key in keys]


def picture(decision: Decision) -> str:
    """What fills the memory and what an output costs, option by option, as one drawing in the record's own colours."""
    first = replace(decision, options=decision.options[:MOST_DRAWN])
    held, costs = memory_chart.memory(first), doubt_charts.intervals(first)
    drawn = [replace(held, caption=held.caption.partition(". ")[0])] if held else []
    drawn += [costs] if costs else []
    style = "".join(line for line in STYLE.read_text(encoding="utf-8").splitlines() if COLOURS.match(line))
    return together(drawn).replace("</style>", f"{style}svg{{background:var(--card)}}</style>", 1)


def main() -> int:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    stale = [path.name for language, path in READMES.items() if not written(language, path, results)]
    if "--check" in sys.argv:
        print(f"{', '.join(stale)}: stale, make docs" if stale else "both are up to date")
        return 1 if stale else 0
    for language, path in PICTURES.items():
        use_language(language)
        decision = cabida.recommend(ROOT / "examples/chat-llama-70b.yaml", as_of=AS_OF)
        path.write_text(picture(decision), encoding="utf-8")
    return 0


def written(language: str, path: Path, results: dict[str, Any]) -> bool:
    """Whether the page's answer and box are today's; without ``--check`` both are written anew."""
    page = path.read_text(encoding="utf-8")
    found = BLOCK.search(page)
    boxed = BOX.search(page)
    if found is None or boxed is None:
        return False
    new = shortened(printed(language), catalogue(language, "report")["section.flips"])
    errors = box(language, results)
    if "--check" not in sys.argv:
        page = page[: found.start(2)] + new + page[found.end(2) :]
        path.write_text(BOX.sub(lambda m: m[1] + errors + m[3], page), encoding="utf-8")
        return True
    return answer(new) == answer(found[2]) and errors == boxed[2]


if __name__ == "__main__":
    sys.exit(main())
