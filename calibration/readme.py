"""Print into both READMEs what ``make demo`` prints, shortened: the answer, the first option, what would change it.

python calibration/readme.py          # rewrite the block
python calibration/readme.py --check  # fail when the answer isn't today's
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from cabida.text import catalogue

ROOT = Path(__file__).parent.parent
READMES = {"en": ROOT / "README.md", "es": ROOT / "README.es.md"}
AS_OF = "2026-11-30"
BLOCK = re.compile(r"(<!-- demo-command -->.*?^```text\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
MOST_TURNS = 4


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


def main() -> int:
    stale = [path.name for language, path in READMES.items() if not written(language, path)]
    if "--check" in sys.argv:
        print(f"{', '.join(stale)}: stale, make docs" if stale else "both are up to date")
        return 1 if stale else 0
    return 0


def written(language: str, path: Path) -> bool:
    """Whether the page's answer is today's; without ``--check`` its block is written anew."""
    page = path.read_text(encoding="utf-8")
    found = BLOCK.search(page)
    if found is None:
        return False
    new = shortened(printed(language), catalogue(language, "report")["section.flips"])
    if "--check" not in sys.argv:
        path.write_text(page[: found.start(2)] + new + page[found.end(2) :], encoding="utf-8")
        return True
    return answer(new) == answer(found[2])


if __name__ == "__main__":
    sys.exit(main())
