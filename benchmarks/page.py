"""Write ``docs/rivals.md`` and its scatter plots from the last results of ``accuracy.py``; nothing is run again.

python benchmarks/page.py [--check]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from accuracy import RESULTS, percent
from cabida.report.speed_pictures import together
from cabida.report.svg import WIDTH, Chart, dot, line, svg, words

ROOT = Path(__file__).parents[1]
PAGE, PICTURES = ROOT / "docs/rivals.md", ROOT / "docs/pictures"
BOTTOM, TOP, LEFT = 340.0, 14.0, 62.0
HEAD = """# Beside other tools

Written by `python benchmarks/page.py` from the last run of `python benchmarks/accuracy.py` ({date}, Cabida {cabida}, up
to {rows} rows for each tool drawn with seed {seed}); nothing here is typed by hand.

Each tool that installs from the package index is asked, in an environment of its own, about the measured rows of
`cases/` that it can be asked about; Cabida answers exactly the same rows in the same run. Error = exp(|ln(predicted /
measured)|) - 1, so that half is as wrong as double. A refusal or a crash is no answer; neither is, of ours, an interval
wider than a factor 4. Coefficients of ours are fitted to part of these rows: what to expect of what was never seen
stands in [accuracy](accuracy.md) under *Left out*.

The columns of errors are over the rows that both answered.
"""
ASKED = {
    "agg": "The aggregated silicon rows of `cases/serving.jsonl`: vLLM, SGLang and TensorRT-LLM on H100 to GB200.",
    "shaped": "The same rows, the shape of the model and the card's data sheet told.",
    "single": "One stream on one card (llama.cpp, ExLlamaV2, AutoAWQ).",
    "training": "Pre-training runs of `cases/training.jsonl` with their split and token rate.",
    "memory": "Peak memory of fine-tuning on one card.",
}
NAMES = {
    "tpot_ms": "TPOT", "ttft_ms": "TTFT", "decode_tok_s": "decode rate", "tokens_s_per_gpu": "training tokens/s",
    "peak_mem_gib": "peak memory",
}  # fmt: skip
DRAWN = (("aiconfigurator", "tpot_ms", "ms"), ("aiconfigurator", "ttft_ms", "ms"))


def row(cells: list[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cells) + " |"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [row(head), row(["---", *["---:"] * (len(head) - 1)]), *map(row, rows), ""]


def scatter(points: list[list[float | None]], name: str, unit: str, rival: str) -> Chart:
    """Predicted against measured, both on logarithmic scales; on the line they agree."""
    both = [one for one in points if one[1] and one[2]]
    values = [value for one in both for value in one[:3] if value]
    low, high = math.floor(math.log10(min(values)) * 2) / 2, math.ceil(math.log10(max(values)) * 2) / 2

    def at(measured: float, predicted: float) -> tuple[float, float]:
        def share(value: float) -> float:
            return (math.log10(value) - low) / (high - low)

        return LEFT + share(measured) * (WIDTH - LEFT - 8), BOTTOM - share(predicted) * (BOTTOM - TOP)

    marks = []
    for power in range(math.ceil(low), math.floor(high) + 1):
        x, y = at(10.0**power, 10.0**power)
        told = f"{10.0**power:,.10g} {unit}"
        marks += [
            line(LEFT, y, WIDTH - 8, y, "grid"), line(x, TOP, x, BOTTOM, "grid"),
            words(LEFT - 5, y + 5, told, "small", "end"), words(x, BOTTOM + 18, told, "small", "middle"),
        ]  # fmt: skip
    corner, end = at(10.0**low, 10.0**low), at(10.0**high, 10.0**high)
    marks.append(line(*corner, *end, "limit"))
    for place, css in ((1, "theirs"), (2, "ours")):
        marks += [dot(*at(one[0], one[place]), 2.6, css) for one in both]  # type: ignore[arg-type]
    marks += [
        dot(LEFT + 8, BOTTOM + 40, 5, "ours"), words(LEFT + 18, BOTTOM + 45, "Cabida", "small"),
        dot(LEFT + 98, BOTTOM + 40, 5, "theirs"), words(LEFT + 108, BOTTOM + 45, rival, "small"),
        words(WIDTH, BOTTOM + 45, "measured →", "small", "end"),
    ]  # fmt: skip
    title, caption = (
        f"{name}, predicted against measured",
        f"{len(both)} rows that both answered; on the line they agree.",
    )
    return Chart(name, title, caption, svg(title, caption, BOTTOM + 56, marks, name.lower()), (), ())


def written(result: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The page and its pictures by file name."""
    lines, pictures = [HEAD.format(**result)], {}
    rows = [
        [
            f"{one['rival']} {one['version']}", NAMES[m["metric"]], str(m["asked"]), str(m["answered"]),
            str(m["ours_answered"]), percent(m["theirs_median"]), percent(m["ours_median"]), percent(m["theirs_p90"]),
            percent(m["ours_p90"]),
        ]
        for one in result["table"]
        for m in one["metrics"]
    ]  # fmt: skip
    head = ["tool", "figure", "rows", "answered", "Cabida", "median", "Cabida", "p90", "Cabida"]
    lines += table(head, rows)
    unhidden = [
        [one["rival"], NAMES[m["metric"]], percent(m["theirs_unhidden_median"]), percent(m["ours_unhidden_median"]),
         percent(m["theirs_unhidden_p90"]), percent(m["ours_unhidden_p90"])]
        for one in result["table"]
        for m in one["metrics"]
        if m["theirs_unhidden_median"] not in (None, m["theirs_median"])
    ]  # fmt: skip
    if unhidden:
        lines += ["Without the rows that may hide speculative decoding:", ""]
        lines += table(["tool", "figure", "median", "Cabida", "p90", "Cabida"], unhidden)
    apart = [
        [one["rival"], NAMES[m["metric"]], way, str(each["rows"]), percent(each["theirs_median"]),
         percent(each["ours_median"]), percent(each["theirs_p90"]), percent(each["ours_p90"])]
        for one in result["table"]
        if one["rival"] in {rival for rival, _, _ in DRAWN}
        for m in one["metrics"]
        for way, each in m.get("left_out", {}).items()
    ]  # fmt: skip
    if apart:
        lines += [
            "Cabida predicting each row by a fit that never saw its model, its card, its engine or its source:",
            "",
        ]
        lines += table(["tool", "figure", "left out", "rows", "median", "Cabida", "p90", "Cabida"], apart)
    for rival, metric, unit in DRAWN:
        points = next(
            (m["points"] for one in result["table"] if one["rival"] == rival for m in one["metrics"]
             if m["metric"] == metric and m["both"]), None,
        )  # fmt: skip
        if points:
            name = f"rivals-{metric.partition('_')[0]}.svg"
            pictures[name] = together([scatter(points, NAMES[metric], unit, rival)])
            lines += [f"![{NAMES[metric]}, predicted against measured](pictures/{name})", ""]
    lines += ["## What each was asked, and why some rows went unanswered", ""]
    for one in result["table"]:
        time = f"; {one['cpu_s_per_row']} CPU s a row" if one["cpu_s_per_row"] is not None else ""
        lines += [f"**{one['rival']} {one['version']}** ({one['licence']}{time}). {ASKED[one['rows']]}", ""]
        lines += [f"- {each['count']} × {plain(each['why'])}" for each in one["unanswered"][:5]]
        lines += [""] if one["unanswered"] else []
    lines += ["## Published by others, not run here", ""]
    lines += table(
        ["tool", "what", "figure", "source"],
        [[each["who"], each["what"], each["figure"], each["source"]] for each in result["published"]],
    )
    return "\n".join(lines).rstrip() + "\n", pictures


def plain(why: str) -> str:
    """A reason as a line of Markdown; what leads into someone's file system is left out."""
    return " ".join(why.replace("|", "/").replace("`", "'").replace("<", "(").replace(">", ")").split())


def main() -> None:
    """Write, or with --check compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    wanted = parser.parse_args()
    page, pictures = written(json.loads((RESULTS / "accuracy.json").read_text(encoding="utf-8")))
    files = {PAGE: page} | {PICTURES / name: text for name, text in pictures.items()}
    if wanted.check:
        stale = [
            str(path) for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text
        ]
        sys.exit(f"stale: {', '.join(stale)}; run python benchmarks/page.py" if stale else 0)
    PICTURES.mkdir(exist_ok=True)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
