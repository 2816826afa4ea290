"""A spreadsheet (.xlsx): the first sheet with a header, its values as they were last worked out.

Read as a stream with the parser that comes with Python; a document type, where entities that grow without end would
be declared, is refused.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import IO
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers import expat

from cabida.evidence.prices.nouns import Read, Table
from cabida.evidence.prices.opening import BLOCK_BYTES, Opened, refuse
from cabida.evidence.prices.tables import MOST_CELL, MOST_COLUMNS, MOST_PREAMBLE, header_of

EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
PERCENT_FORMATS = ("9", "10")
DATE_FORMATS = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
MOST_SHARED = 5_000_000
MOST_ROW_BYTES = 64 << 20
_SPACE = re.compile(rb"""\s(xmlns(?::([\w.-]{1,40}))?\s*=\s*(?:"[^"<]*"|'[^'<]*'))""")
_DATA = re.compile(rb"<((?:\w{1,20}:)?)sheetData>")
_DATE_WORD = re.compile(r"[dmyhs]", re.IGNORECASE)
_QUIET = re.compile(r"\"[^\"]*\"|\[[^\]]*\]|\\.")


class RefusedSheet(Exception):
    """What a sheet holds is not read: a document type, or more than is taken."""


def table(what: Opened, read: Read) -> Table:
    """The first sheet that holds a header, as a table of text; line numbers are rows of the sheet.

    Raises:
        InvalidInput: CB-E050, the file is broken, or holds no table.
    """
    try:
        with zipfile.ZipFile(what.path) as book:
            for sheet in sheets_of(book):
                rows = rows_of(what, book, sheet)
                found = _headed(read, rows)
                if found is not None:
                    return found
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        EOFError,
        expat.ExpatError,
        RefusedSheet,
        ValueError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise refuse(what.path, "broken", error=str(error)[:120]) from None
    raise refuse(what.path, "columns")


def sheets_of(book: zipfile.ZipFile) -> list[str]:
    """The files of the sheets in the order of the workbook."""
    targets: dict[str, str] = {}
    order: list[str] = []

    def relation(name: str, said: dict[str, str]) -> None:
        if local_name(name) == "Relationship":
            targets[said.get("Id", "")] = said.get("Target", "")

    def sheet(name: str, said: dict[str, str]) -> None:
        if local_name(name) == "sheet":
            order.append(next((value for key, value in said.items() if local_name(key) == "id"), ""))

    with book.open("xl/workbook.xml") as stream:
        parsed(stream, start=sheet)
    if "xl/_rels/workbook.xml.rels" in book.namelist():
        with book.open("xl/_rels/workbook.xml.rels") as stream:
            parsed(stream, start=relation)
    paths = [targets.get(id, "") for id in order]
    found = [path.lstrip("/") if path.startswith("/") else f"xl/{path}" for path in paths if path]
    return [path for path in found if path in book.namelist()]


def local_name(name: str) -> str:
    """An element's name without the prefix of its namespace."""
    return name.rpartition(":")[2]


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refused(*_: object) -> None:
        raise RefusedSheet("a document type is declared")  # noqa: EM101

    parser.StartDoctypeDeclHandler = refused
    return parser


def parsed(stream: IO[bytes], start: object) -> None:
    """Read XML in blocks, telling ``start`` of each element; a document type is refused."""
    parser = _parser()
    parser.StartElementHandler = start  # type: ignore[assignment]
    while block := stream.read(BLOCK_BYTES):
        parser.Parse(block, False)
    parser.Parse(b"", True)


def _shared(book: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    found: list[str] = []
    held: list[str] = []
    inside = False

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal inside
        inside = local_name(name) == "t"

    def end(name: str) -> None:
        nonlocal inside
        inside = False
        if local_name(name) == "si":
            found.append("".join(held)[:MOST_CELL])
            held.clear()
            if len(found) > MOST_SHARED:
                raise RefusedSheet("too many texts")  # noqa: EM101

    def text(data: str) -> None:
        if inside:
            held.append(data)

    parser = _parser()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    with book.open("xl/sharedStrings.xml") as stream:
        while block := stream.read(BLOCK_BYTES):
            parser.Parse(block, False)
    return found


@dataclass(slots=True)
class _Styles:
    """The numbers of the styles that show dates and percentages, and the day that dates count from."""

    dates: set[str] = field(default_factory=set)
    percents: set[str] = field(default_factory=set)
    epoch: datetime = EPOCH


def _styles(book: zipfile.ZipFile) -> _Styles:
    found = _Styles()
    dates, percents = set[str](), set(PERCENT_FORMATS)
    place, inside = 0, False

    def style(name: str, said: dict[str, str]) -> None:
        nonlocal place, inside
        local = local_name(name)
        if local == "numFmt":
            shown = _QUIET.sub("", said.get("formatCode", ""))
            if "%" in shown:
                percents.add(said.get("numFmtId", ""))
            elif _DATE_WORD.search(shown):
                dates.add(said.get("numFmtId", ""))
        elif local in ("cellXfs", "cellStyleXfs"):
            inside, place = local == "cellXfs", 0
        elif local == "xf" and inside:
            id = said.get("numFmtId", "0")
            if id in dates or (id.isdecimal() and int(id) in DATE_FORMATS):
                found.dates.add(str(place))
            elif id in percents:
                found.percents.add(str(place))
            place += 1

    def workbook(name: str, said: dict[str, str]) -> None:
        if local_name(name) == "workbookPr" and said.get("date1904") in ("1", "true"):
            found.epoch = EPOCH_1904

    if "xl/styles.xml" in book.namelist():
        with book.open("xl/styles.xml") as stream:
            parsed(stream, start=style)
    with book.open("xl/workbook.xml") as stream:
        parsed(stream, start=workbook)
    return found


class _Cells:
    """The cells of a row as texts, by column."""

    def __init__(self, shared: list[str], styles: _Styles) -> None:
        self.shared, self.styles = shared, styles
        self.columns: dict[str, int] = {}

    def of(self, row: Element) -> dict[int, str]:
        """Those that hold something."""
        found: dict[int, str] = {}
        at, shared, shared_count = -1, self.shared, len(self.shared)
        for one in row:
            said = one.get("r")
            at = self._place(said.rstrip("0123456789"), at) if said else at + 1
            kind = one.get("t")
            if kind == "inlineStr":
                text: str | None = "".join(one.itertext())
            elif len(one) == 1:
                only = one[0]
                text = only.text if only.tag[-1:] == "v" else None
            else:  # a formula stands before its value
                text = next((part.text for part in one if part.tag[-1:] == "v"), None)
            if text and at < MOST_COLUMNS:
                if kind == "s":
                    found[at] = shared[int(text)] if text.isdecimal() and int(text) < shared_count else ""
                else:
                    found[at] = self._value(text, kind, one.get("s", ""))
        return found

    def _place(self, letters: str, before: int) -> int:
        if not letters:
            return before + 1
        if letters in self.columns:
            return self.columns[letters]
        place = 0
        for one in letters[:3]:
            place = place * 26 + ord(one.upper()) - 64
        self.columns[letters] = place - 1
        return place - 1

    def _value(self, text: str, kind: str | None, style: str) -> str:
        try:
            if kind in (None, "n") and style in self.styles.dates:
                day = self.styles.epoch + timedelta(days=float(text))
                return day.isoformat(timespec="seconds").removesuffix("T00:00:00")
            if kind in (None, "n") and style in self.styles.percents:
                return f"{float(text) * 100:.10f}".rstrip("0").rstrip(".") + "%"
        except (ValueError, OverflowError):
            return text[:MOST_CELL]
        return text[:MOST_CELL]


def rows_of(what: Opened, book: zipfile.ZipFile, sheet: str) -> Iterator[tuple[int, dict[int, str]]]:
    """The rows of a sheet as cells by column; the file is opened again, for the caller's is closed by then."""
    cells = _Cells(_shared(book), _styles(book))
    line = 0
    try:
        with zipfile.ZipFile(what.path) as again, again.open(sheet) as stream:
            for one in _elements(what, stream):
                said = one.get("r", "")
                line = int(said) if said.isdecimal() and len(said) < 8 else line + 1
                yield line, cells.of(one)
    except (zipfile.BadZipFile, zlib.error, EOFError, ParseError, ValueError, OSError, RuntimeError) as error:
        raise refuse(what.path, "broken", error=str(error)[:120]) from None


def _elements(what: Opened, stream: IO[bytes]) -> Iterator[Element]:
    """The row elements of a sheet, a block of them at a time."""
    closing, wrap, rest = b"", b"", b""
    while block := stream.read(BLOCK_BYTES):
        if b"<!DOCTYPE" in rest[-9:] + block or b"\x00" in block:
            raise refuse(what.path, "broken", error="DOCTYPE")
        rest += block
        if not closing and (found := _DATA.search(rest)):
            spaces = {name: whole for whole, name in _SPACE.findall(rest[: found.start()])}
            wrap = b"<all " + b" ".join(spaces.values()) + b">"
            rest, closing = rest[found.end() :], b"</" + found[1] + b"row>"
        whole, mark, after = rest.rpartition(closing or b"</row>")
        if mark and closing:
            rest = after
            yield from fromstring(wrap + whole + mark + b"</all>")
        if len(rest) > MOST_ROW_BYTES:
            raise refuse(what.path, "broken", error="row")


def _headed(read: Read, rows: Iterator[tuple[int, dict[int, str]]]) -> Table | None:
    """The rows under the first one with two names or more."""
    for passed, (line, row) in enumerate(rows):
        if passed > MOST_PREAMBLE:
            return None
        named = [cell for cell in row.values() if cell.strip()]
        if len(named) < 2:
            continue
        width = max(row) + 1
        header = header_of(read, [row.get(at, "") for at in range(width)])
        return Table(*header, _cells(read, rows, width), header_line=line) if header else None
    return None


def _cells(
    read: Read, rows: Iterator[tuple[int, dict[int, str]]], width: int
) -> Iterator[tuple[int, Sequence[str]]]:
    for line, row in chain(rows):
        if not any(map(str.strip, row.values())):
            continue
        read.rows_count += 1
        if max(row) >= width:
            read.aside(line, row.values(), "cells")
            continue
        yield line, [row.get(at, "") for at in range(width)]
