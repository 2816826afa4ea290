"""Write ``docs/coverage.md``: what the guides and people ask, the command that does it, and what it says today.

python benchmarks/covered.py [--check]

The rows are in ``docs/coverage.yaml``. Every command is typed as it stands there, in one empty folder with the
examples beside; of what it prints, the lines named under ``shows`` are kept.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from click.testing import CliRunner

from cabida.faces.cli import cli

ROOT = Path(__file__).parents[1]
ROWS, PAGE = ROOT / "docs/coverage.yaml", ROOT / "docs/coverage.md"
COLUMNS = "110"
STATES = {"": "", "partly": "Partly: ", "not yet": "Not yet: "}


@dataclass(frozen=True)
class Row:
    """One thing that is asked: what, the command that does it, what is to be seen in its output, what holds it."""

    id: str
    asks: str
    tests: tuple[str, ...]
    run: str = ""
    read: str = ""
    exit: int = 0
    shows: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    source: str = ""
    state: str = ""
    note: str = ""
    slow: bool = False


@dataclass(frozen=True)
class Section:
    """Rows under one title."""

    title: str
    told: str
    rows: tuple[Row, ...]


def sections(path: Path = ROWS) -> list[Section]:
    """The rows as they are written down."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        Section(one["title"], one["told"], tuple(Row(**_row(row)) for row in one["rows"])) for one in found
    ]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


@contextmanager
def folder() -> Iterator[Path]:
    """An empty folder with the examples and cases beside, where a command finds and leaves its files."""
    came_from = Path.cwd()
    kept = {name: os.environ.get(name) for name in ("COLUMNS", "CABIDA_STORE", "CABIDA_CALIBRATION")}
    with TemporaryDirectory() as made:
        place = Path(made)
        for shown in ("examples", "cases", "docs"):
            (place / shown).symlink_to(ROOT / shown)
        os.environ |= {
            "COLUMNS": COLUMNS,
            "CABIDA_STORE": "store.db",
            "CABIDA_CALIBRATION": "calibration.json",
        }
        os.chdir(place)
        try:
            yield place
        finally:
            os.chdir(came_from)
            for name, value in kept.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def said(row: Row, done: set[str]) -> tuple[int, str]:
    """Exit code and output of the row's command; what has to be there before is run once for all rows."""
    for name, text in row.files.items():
        Path(name).write_text(text, encoding="utf-8")
    if row.read:
        return 0, (ROOT / row.read).read_text(encoding="utf-8")
    for words in row.before:
        if words not in done:
            _typed(words)
            done.add(words)
    return _typed(row.run)


def _typed(line: str) -> tuple[int, str]:
    name, *words = shlex.split(line)
    if name != "cabida":
        problem = f"no command of ours: {line}"
        raise ValueError(problem)
    ended = CliRunner().invoke(cli, words)
    return ended.exit_code, ended.output


def shown(row: Row, output: str) -> list[str]:
    """The lines of the output that hold what the row names, in the order of the output.

    Raises ValueError where something named is not there.
    """
    plain = re.sub(r"\s+", " ", output)
    for wanted in row.shows:
        if wanted not in output and wanted not in plain:
            problem = f"{row.id}: not in what it says: {wanted}"
            raise ValueError(problem)
    lines = output.splitlines()
    kept = [number for number, line in enumerate(lines) if any(wanted in line for wanted in row.shows)]
    for wanted in row.shows:
        if not any(wanted in line for line in lines):
            kept += _wrapped(lines, wanted)
    kept += [more for number in kept for more in _going_on(lines, number)]
    return [lines[number].rstrip() for number in sorted(set(kept))]


def _going_on(lines: list[str], number: int) -> list[int]:
    """Numbers of the lines that a sentence goes on in: prose that fills its line, not the row of a table."""
    found = []
    while number + 1 < len(lines) and len(lines[number].rstrip()) > int(COLUMNS) - 25:
        if "  " in lines[number].strip() or not lines[number + 1].strip():
            break
        number += 1
        found.append(number)
    return found


def _wrapped(lines: list[str], wanted: str) -> list[int]:
    """Numbers of neighbouring lines that hold between them what none holds alone."""
    for length in range(2, 6):
        for start in range(len(lines) - length + 1):
            if wanted in re.sub(r"\s+", " ", " ".join(lines[start : start + length])):
                return list(range(start, start + length))
    return []


def block(row: Row, done: set[str]) -> list[str]:
    """The part of the page that tells of one row."""
    code, output = said(row, done)
    if code != row.exit:
        problem = f"{row.id}: ended with {code}, not {row.exit}: {output[-300:]}"
        raise ValueError(problem)
    told = [f"### {row.id}", "", row.asks + (f" ({row.source})" if row.source else ""), ""]
    if row.run:
        told += ["```sh", *row.before, row.run, "```", ""]
    else:
        told += [f"In [{row.read}]({os.path.relpath(ROOT / row.read, PAGE.parent)}):", ""]
    told += ["```text", *shown(row, output), "```", ""]
    if row.exit:
        told += [f"It ends with exit code {row.exit}.", ""]
    if row.note:
        told += [STATES[row.state] + row.note, ""]
    return [*told, "Held by " + ", ".join(f"`{test}`" for test in row.tests) + ".", ""]


def page(found: list[Section]) -> str:
    """The whole page."""
    rows = [row for one in found for row in one.rows]
    counts = {state: sum(row.state == state for row in rows) for state in STATES}
    told = [
        "# What is asked, and what does it",
        "",
        "Written by `python benchmarks/covered.py` from `docs/coverage.yaml`: every command below was typed as it"
        " stands, and of what it printed the lines that answer are shown. Each row names the test that holds it.",
        "",
        f"Of {len(rows)} rows {counts['']} are whole, {counts['partly']} partly"
        f" and {counts['not yet']} not yet there.",
        "",
    ]
    done: set[str] = set()
    with folder():
        for one in found:
            told += [f"## {one.title}", "", one.told, ""]
            for row in one.rows:
                told += block(row, done)
    return "\n".join(told).rstrip() + "\n"


def without_figures(text: str) -> str:
    """The text with every figure as 0: prices and predictions move, what is said does not."""
    return re.sub(r"[-+]?\d[\d.,]*", "0", text)


def main() -> int:
    """Write the page, or with --check say whether it is today's."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is stale")
    asked.add_argument("--rows", type=Path, default=ROWS)
    asked.add_argument("--out", type=Path, default=PAGE)
    options = asked.parse_args()
    written = page(sections(options.rows))
    if options.check:
        return int(without_figures(written) != without_figures(options.out.read_text(encoding="utf-8")))
    options.out.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
