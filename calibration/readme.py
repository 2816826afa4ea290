"""Print into README.md what ``make demo`` prints, shortened: the answer, the first option, what would change it.

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

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
AS_OF = "2026-11-30"
BLOCK = re.compile(r"(<!-- demo-command -->.*?^```text\n)(.*?)(^```$)", re.DOTALL | re.MULTILINE)
TURNS = "What would change this"
MOST_TURNS = 4


def printed() -> list[str]:
    """The lines of the demo, without trailing blanks."""
    words = ["recommend", "examples/chat-llama-70b.yaml", "--as-of", AS_OF, "--lang", "en"]
    told = subprocess.run(
        [sys.executable, "-m", "cabida", *words],
        cwd=ROOT, env=os.environ | {"COLUMNS": "112"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rstrip() for line in told.stdout.splitlines()]


def shortened(lines: list[str]) -> str:
    """Up to the end of the first option, then the first turns."""
    second = next(at for at, line in enumerate(lines) if re.match(r"\s+2 ", line))
    turns = lines[lines.index(TURNS) + 1 :]
    shown = [*lines[: second - 1], "  …", TURNS, *_turns(takewhile(bool, turns))]
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
    page = README.read_text(encoding="utf-8")
    found = BLOCK.search(page)
    if found is None:
        print("README.md has no block of the demo's output")
        return 1
    new = shortened(printed())
    if "--check" in sys.argv:
        same = answer(new) == answer(found[2])
        print(f"README.md {'is up to date' if same else 'is stale: make docs'}")
        return 0 if same else 1
    README.write_text(page[: found.start(2)] + new + page[found.end(2) :], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
