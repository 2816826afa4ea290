"""A result file as plain data: JSON, JSON lines, YAML, CSV or a Markdown table; bounded in size and depth.

Only the beginning is read until one of the tools is recognised by it: logs, which may be any size, are left to the
readers of logs.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.lines import opened, text_of
from cabida.text import problem, tr

HEAD_BYTES = 1 << 16
MOST_BYTES = 100 << 20  # of a result file, unpacked
MOST_YAML_BYTES = 20 << 20  # YAML takes a hundred times longer to read than JSON
MOST_DOCUMENTS = 100_000  # lines of JSON
MOST_ROWS, MOST_COLUMNS = 100_000, 4096  # of a CSV
MOST_CELL = 1 << 20
JSON, LINES, YAML, CSV, MARKDOWN = "json", "jsonl", "yaml", "csv", "markdown"
_TABLE = re.compile(r"\s*(?:\{\s*\"|\[\s*\{\s*\")")  # a log may begin with a bracket too
_RESULT = re.compile(r'"(benchmarks|request_throughput|build_commit|load_summary|ttft_s|tput_per_gpu)"')
_YAML = re.compile(r"^benchmarks:\s*$", re.MULTILINE)
_MARKDOWN = re.compile(r"^\|\s*model\s*\|.*\|\s*t/s\s*\|", re.MULTILINE)


@dataclass(slots=True)
class Opened:
    """What a file holds. ``documents`` are (line, value) of JSON and YAML, ``rows`` the cells of a CSV.

    ``broken`` are lines that are no JSON among lines that are.
    """

    kind: str
    text: str = ""
    documents: list[tuple[int, Any]] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    broken: list[tuple[int, str]] = field(default_factory=list)

    @property
    def first(self) -> dict[str, Any]:
        """The first table: of a list its first row."""
        found = self.documents[0][1] if self.documents else None
        found = found[0] if isinstance(found, list) and found else found
        return found if isinstance(found, dict) else {}

    @property
    def lines_count(self) -> int:
        """Lines of the file."""
        return self.text.count("\n") + (not self.text.endswith("\n"))

    def tables(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every table of the file with its line: documents, or the rows of a list."""
        for line, found in self.documents:
            for one in found if isinstance(found, list) else (found,):
                if isinstance(one, dict):
                    yield line, one


def whole(path: Path, known: Callable[[Opened], bool], signs: tuple[str, ...]) -> Opened | None:
    """The file, when its beginning may be a result of a tool that is ``known``; ``None`` when it can't be.

    Args:
        path: the file, packed or not.
        known: whether any tool recognises what was read.
        signs: keys of which the beginning of a file too large to be read has one, if it is a result.

    Raises:
        InvalidInput: CB-E001, CB-E002, CB-E005 it can't be read; CB-E200 it is too large; CB-E201 it is broken.
    """
    with opened(path) as stream:
        head = text_of(stream, str(path), HEAD_BYTES)
    kind = _kind(head)
    if not kind:
        return None
    if kind in (JSON, CSV) and (early := _early(head, kind)) is not None and not known(early):
        return None
    with opened(path) as stream:
        text = text_of(stream, str(path), MOST_BYTES + 1)
    if len(text) > (MOST_YAML_BYTES if kind == YAML else MOST_BYTES):
        if any(sign in text[: HEAD_BYTES * 16] for sign in signs):
            most = (MOST_YAML_BYTES if kind == YAML else MOST_BYTES) >> 20
            raise InvalidInput([problem("CB-E200", file=str(path), most=most)])
        return None
    found = _read(text, kind, path)
    return found if found is not None and known(found) else None


def _kind(head: str) -> str:
    if _TABLE.match(head):
        return JSON
    if _MARKDOWN.search(head):
        return MARKDOWN
    if _YAML.search(head):
        return YAML
    return CSV if "," in head.partition("\n")[0] else ""


def _early(head: str, kind: str) -> Opened | None:
    """What the first line alone is, where it is whole; ``None`` = one can't tell from it."""
    line, mark, _ = head.lstrip().partition("\n")
    if not mark:
        return None
    if kind == CSV:
        return Opened(CSV, rows=[_cells(line)])
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return Opened(LINES, documents=[(1, found)])


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _read(text: str, kind: str, path: Path) -> Opened | None:
    if kind == MARKDOWN:
        return Opened(MARKDOWN, text)
    if kind == CSV:
        return _csv(text)
    return _yaml(text, path) if kind == YAML else _json(text, path)


def _json(text: str, path: Path) -> Opened | None:
    try:
        return Opened(JSON, text, [(1, json.loads(text))])
    except RecursionError:
        raise InvalidInput(
            [problem("CB-E201", file=str(path), what="JSON", error=tr("evidence.too_deep"))]
        ) from None
    except ValueError as error:
        whole_error = str(error)
    found = Opened(LINES, text)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if len(found.documents) >= MOST_DOCUMENTS:
            break
        try:
            found.documents.append((number, json.loads(line)))
        except (ValueError, RecursionError):
            found.broken.append((number, line))
    if len(found.documents) <= len(found.broken):  # one document that breaks off, and no lines of JSON
        if _RESULT.search(text[:HEAD_BYTES]):
            raise InvalidInput([problem("CB-E201", file=str(path), what="JSON", error=whole_error)])
        return None
    return found


def _yaml(text: str, path: Path) -> Opened | None:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return Opened(YAML, text, [(1, yaml.load(text, Loader=loader))])
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise InvalidInput([problem("CB-E201", file=str(path), what="YAML", error=first)]) from None


def _csv(text: str) -> Opened | None:
    csv.field_size_limit(MOST_CELL)
    try:
        rows = list(islice(csv.reader(text.splitlines(keepends=True)), MOST_ROWS))
    except csv.Error:
        return None
    return Opened(CSV, text, rows=[row[:MOST_COLUMNS] for row in rows])
