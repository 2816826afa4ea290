"""A price list to fill in: every column that is read, and rows that show how each kind of price is written."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

from cabida.evidence.prices.plain import COLUMNS
from cabida.text import language

SPANISH = {
    "provider": "proveedor", "gpus": "cantidad", "memory_gb": "memoria_gb", "country": "país", "capacity": "capacidad",
    "term_months": "plazo_meses", "upfront_percent": "anticipo_%", "price": "precio", "unit": "unidad",
    "currency": "moneda", "seen": "fecha", "until": "válido_hasta", "minimum": "mínimo", "includes": "incluye",
    "tax_percent": "iva_%", "instance": "instancia", "form_factor": "formato", "condition": "estado", "kind": "tipo",
    "source": "fuente", "notes": "notas", "region": "región",
}  # fmt: skip
ROWS: tuple[dict[str, str], ...] = (
    {
        "provider": "Example Cloud", "gpu": "H100 SXM", "gpus": "8", "region": "eu-west", "country": "FR",
        "capacity": "on-demand", "price": "3.10", "unit": "gpu-hour", "currency": "EUR", "seen": "2026-11-20",
        "includes": "host, storage", "notes": "a row to replace",
    },
    {
        "provider": "Example Cloud", "gpu": "H100 SXM", "gpus": "8", "capacity": "reserved", "term_months": "12",
        "upfront_percent": "25", "price": "16500", "unit": "node-month", "currency": "EUR", "seen": "2026-11-20",
        "until": "2026-12-31", "minimum": "16", "tax_percent": "0", "kind": "quote", "notes": "a quote, per machine",
    },
    {
        "provider": "Example Shop", "gpu": "RTX 4090", "gpus": "1", "capacity": "buy", "price": "1899.90",
        "unit": "gpu", "currency": "EUR", "seen": "2026-11-20", "tax_percent": "21", "condition": "new",
    },
)  # fmt: skip


def header() -> list[str]:
    """The names of the columns in the language in use."""
    return [SPANISH.get(name, name) if language() == "es" else name for name in COLUMNS]


def _rows() -> list[list[str]]:
    return [[row.get(name, "") for name in COLUMNS] for row in ROWS]


def as_csv() -> str:
    """The template as CSV."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header())
    writer.writerows(_rows())
    return text.getvalue()


def write_xlsx(path: Path) -> None:
    """Write the template as a spreadsheet."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    lines = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in (header(), *_rows()))
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        '<sheet name="prices" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
        f'Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def _cell(text: str) -> str:
    if text.replace(".", "", 1).isdecimal():
        return f"<c><v>{text}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>'
