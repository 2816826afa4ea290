"""Tables of a quote: CSV (field and value, or a column for each quote) and the filled-in XLSX template.

A workbook is read as a stream, with the parser that comes with Python: macros, links to other files, formulas and
what unpacks without end are refused, with the place.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.parsers import expat

from cabida.errors import InvalidInput
from cabida.evidence.prices import workbook
from cabida.evidence.prices.opening import Opened
from cabida.evidence.quotes.build import Entry, Form, part_named
from cabida.evidence.quotes.words import field_named, key, labels
from cabida.text import problem, tr

MOST_ROWS, MOST_COLUMNS, MOST_SHEETS = 5_000, 60, 20
MOST_UNPACKED_BYTES, MOST_RATIO = 50_000_000, 200
MOST_CELL = 10_000
MOST_PREAMBLE = 40  # rows before the header
FIELD_WORDS = ("field", "campo", "key", "clave", "name", "nombre", "item", "concepto", "label")
VALUE_WORDS = ("value", "valor", "answer", "respuesta", "vendoranswer", "respuestadelproveedor")
BESIDE = (  # columns of the template that hold no answer
    "unit", "unidad", "question", "pregunta", "meaning", "significado", "help", "ayuda", "severity", "gravedad",
    "group", "grupo", "choices", "opciones", "notes", "notas", "title", "titulo", "nombre", "name", "what", "que",
)  # fmt: skip
_FAR = re.compile(r"(?:[A-Z]{3}|C[A-Z]|[D-Z][A-Z])([0-9]{1,20})", re.IGNORECASE)  # right of the 78th column
Row = tuple[int, Sequence[str]]


def csv_forms(text: str, file: str) -> list[Form]:
    """The forms of a CSV: one, or one for each column of values.

    Raises:
        InvalidInput: CB-Q002, it is no table of fields; CB-Q005, it is too long.
    """
    text = text.removeprefix("\ufeff")
    first = next((line for line in text.splitlines() if line.strip()), "")
    mark = max(",;\t|", key=lambda one: (first.count(one), one == ","))
    csv.field_size_limit(MOST_CELL)

    def rows() -> Iterator[Row]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
        try:
            for row in reader:
                yield reader.line_num, [_unguarded(cell) for cell in row]
        except csv.Error as error:
            why = str(error)
            raise InvalidInput([problem("CB-Q002", file=file, line=reader.line_num, why_not=why)]) from None

    found = _forms(rows(), file, lambda line, _: f"{file}:{line}")
    if not found:
        raise InvalidInput([problem("CB-Q002", file=file, line=1, why_not=tr("procure.why.no_header"))])
    return found


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula: those that begin like one get an apostrophe before them."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r", "'") else text


def _unguarded(text: str) -> str:
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@", "\t", "\r", "'") else text


def _forms(rows: Iterable[Row], file: str, place: object) -> list[Form]:
    """The forms under the first row that names a column of fields; several columns of values are several quotes."""
    source = iter(rows)
    forms: list[Form] = []
    values: list[int] = []
    fields_at = 0
    count = 0
    for line, row in source:
        count += 1
        _within(file, line, count, len(row))
        if values:
            _take(forms, values, fields_at, line, row, place)
            continue
        names = [key(cell) for cell in row]
        at = next((n for n, name in enumerate(names) if name in FIELD_WORDS), None)
        if at is not None and len(names) > at + 1:
            fields_at = at
            own = [n for n, name in enumerate(names) if name in VALUE_WORDS]
            values = own or [n for n, name in enumerate(names) if n != at and name and name not in BESIDE]
            forms = [Form(file) for _ in values]
            if not values:
                return []
        elif (
            len(names) >= 2 and field_named(row[0]) and count <= MOST_PREAMBLE
        ):  # no header: a field from the first row
            fields_at, values, forms = 0, [1], [Form(file)]
            _take(forms, values, fields_at, line, row, place)
        elif count > MOST_PREAMBLE:
            return []
    return forms


def _within(file: str, line: int, count: int, width: int) -> None:
    if count > MOST_ROWS:
        raise InvalidInput(
            [problem("CB-Q005", file=file, line=line, most=tr("procure.why.most_rows", count=MOST_ROWS))]
        )
    if width > MOST_COLUMNS:
        raise _too_wide(file, line, f"{column_letters(width - 1)}{line}")


def _too_wide(file: str, line: int, cell: str) -> InvalidInput:
    most = tr("procure.why.most_columns", count=MOST_COLUMNS, cell=cell)
    return InvalidInput([problem("CB-Q005", file=file, line=line, most=most)])


def _take(
    forms: Sequence[Form], values: Sequence[int], at: int, line: int, row: Sequence[str], place: object
) -> None:
    label = row[at].strip() if at < len(row) else ""
    if not label or label.startswith("#"):
        return
    for form, column in zip(forms, values, strict=True):
        text = row[column] if column < len(row) else ""
        if text.strip():
            where = place(line, column) if callable(place) else ""
            form.say(Entry(label, text.strip(), where, line))


# ---- workbooks


def workbook_forms(path: Path, file: str, sha256: str) -> list[Form]:
    """The forms of a workbook: the first sheet with a column of fields, and the lines of a sheet of items.

    Raises:
        InvalidInput: CB-Q002, CB-Q003, CB-Q006 to CB-Q008: it is broken, or holds what isn't read.
    """
    try:
        with zipfile.ZipFile(path) as book:
            _refuse_parts(book, file)
            sheets = _sheet_names(book, file)
            _refuse_formulas(book, sheets, file)
            return _of_sheets(Opened(path, "xlsx", sha256, 0), book, sheets, file)
    except InvalidInput as error:
        if any(one.code.startswith("CB-E") for one in error.problems):
            raise InvalidInput(
                [problem("CB-Q002", file=file, line=0, why_not=error.problems[0].why)]
            ) from None
        raise
    except (
        zipfile.BadZipFile, zlib.error, KeyError, EOFError, expat.ExpatError, ValueError, OSError, NotImplementedError,
        RuntimeError, LookupError, SyntaxError, OverflowError, workbook.RefusedSheet,
    ) as error:  # fmt: skip
        raise InvalidInput([problem("CB-Q002", file=file, line=0, why_not=str(error)[:120])]) from None


def _refuse_parts(book: zipfile.ZipFile, file: str) -> None:
    parts = book.infolist()
    whole = sum(one.file_size for one in parts)
    packed = max(1, sum(one.compress_size for one in parts))
    if len(parts) > 500 or whole > MOST_UNPACKED_BYTES or whole > max(5_000_000, MOST_RATIO * packed):
        raise InvalidInput([problem("CB-Q003", file=file, ratio=MOST_RATIO)])
    names = [one.filename.lower() for one in parts]
    if any(
        "vbaproject" in name or "macrosheet" in name or (name.endswith(".bin") and "vba" in name)
        for name in names
    ):
        raise InvalidInput([problem("CB-Q006", file=file)])
    for one in parts:
        name = one.filename.lower()
        if "externallink" in name or "connections" in name or "querytable" in name:
            raise InvalidInput([problem("CB-Q007", file=file, part=one.filename[:80])])
    if "xl/workbook.xml" not in names:
        raise InvalidInput([problem("CB-Q002", file=file, line=0, why_not=tr("procure.why.no_workbook"))])
    with book.open("[Content_Types].xml") as stream:
        if b"macroEnabled" in stream.read(200_000):
            raise InvalidInput([problem("CB-Q006", file=file)])


def _sheet_names(book: zipfile.ZipFile, file: str) -> list[tuple[str, str]]:
    """Name and file of each sheet, in the order of the workbook."""
    order: list[tuple[str, str]] = []

    def sheet(name: str, said: dict[str, str]) -> None:
        if workbook.local_name(name) == "sheet":
            order.append((said.get("name", ""), ""))

    with book.open("xl/workbook.xml") as stream:
        workbook.parsed(stream, start=sheet)
    files = workbook.sheets_of(book)
    if len(files) > MOST_SHEETS:
        most = tr("procure.why.most_sheets", count=MOST_SHEETS)
        raise InvalidInput([problem("CB-Q005", file=file, most=most)])
    if len(files) != len(order):
        order = [(f"sheet{n}", "") for n in range(1, len(files) + 1)]
    return [(name, path) for (name, _), path in zip(order, files, strict=True)]


def _refuse_formulas(book: zipfile.ZipFile, sheets: Sequence[tuple[str, str]], file: str) -> None:
    """Formulas say what a file of somebody else's chooses to show: the first few are told with their cells.

    A cell so far to the right that its row is read without it is refused as well: no answer is dropped unsaid.
    """
    found: list[str] = []
    for title, path in sheets:
        cell = ""

        def start(name: str, said: dict[str, str], title: str = title) -> None:
            nonlocal cell
            local = workbook.local_name(name)
            if local == "c":
                cell = said.get("r", "?")
            elif local == "f" and len(found) < 5:
                found.append(f"{title}!{cell}")
            elif local in ("v", "t") and (far := _FAR.fullmatch(cell)):
                raise _too_wide(file, int(far[1]), f"{title}!{cell}")

        with book.open(path) as stream:
            workbook.parsed(stream, start=start)
    if found:
        raise InvalidInput([problem("CB-Q008", file=file, cells=", ".join(found))])


def _of_sheets(
    what: Opened, book: zipfile.ZipFile, sheets: Sequence[tuple[str, str]], file: str
) -> list[Form]:
    forms: list[Form] = []
    lines: list[tuple[str, list[Row]]] = []
    for title, path in sheets:
        rows = list(_rows(what, book, path, file))

        def place(line: int, column: int, title: str = title) -> str:
            return f"{title}!{column_letters(column)}{line}"

        found = _forms(rows, file, place) if not forms else []
        if any(form.entries or form.items for form in found):
            forms = found
        else:
            lines.append((title, rows))
    for title, rows in lines:
        if forms:
            _lines_of(forms[0], title, rows)
    if not forms:
        raise InvalidInput([problem("CB-Q002", file=file, line=0, why_not=tr("procure.why.no_header"))])
    return forms


def _rows(what: Opened, book: zipfile.ZipFile, path: str, file: str) -> Iterator[Row]:
    for count, (line, cells) in enumerate(workbook.rows_of(what, book, path), 1):
        if not cells:
            continue
        width = max(cells) + 1
        _within(file, line, count, width)
        yield line, [_decoded(cells.get(at, ""))[:MOST_CELL] for at in range(width)]


def _decoded(text: str) -> str:
    """Characters a workbook writes as ``_x000D_``."""
    return (
        re.sub(r"_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
    )


def column_letters(column: int) -> str:
    """``A`` for 0, ``AA`` for 26."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _lines_of(form: Form, title: str, rows: Sequence[Row]) -> None:
    """The lines of a table with a header of items: what, unit, quantity, unit price, total."""
    head: dict[int, str] = {}
    number = max(form.items, default=0)
    for line, row in rows:
        if not head:
            found = {at: part for at, cell in enumerate(row) if (part := part_named(cell))}
            if len(set(found.values())) >= 3 and "what" in found.values():
                head = found
            continue
        said = {part: row[at].strip() for at, part in head.items() if at < len(row) and row[at].strip()}
        if not said:
            continue
        number += 1
        for at, part in head.items():
            if part in said:
                where = f"{title}!{column_letters(at)}{line}"
                form.say(Entry(f"item.{number}.{part}", said[part], where, line))


def is_form(text: str) -> bool:
    """Whether a text begins as a table of fields and values does."""
    first = next((line for line in text.lstrip("\ufeff").splitlines() if line.strip()), "")
    cells = [key(cell) for cell in re.split(r"[,;\t|]", first)]
    return len(cells) >= 2 and (cells[0] in FIELD_WORDS or cells[0] in labels()) and len(first) < MOST_CELL
