"""A form for a vendor to fill in, as YAML, CSV or a spreadsheet: every field of such an offer, with its question.

The same writers fill a form with what a quote says, so that what was read can be sent back and read again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from cabida.evidence.quotes.build import ITEM_PARTS
from cabida.evidence.quotes.fields import FIELDS, GROUPS, Field, unit_said
from cabida.evidence.quotes.quote import Quote, QuoteItem
from cabida.evidence.quotes.sheets import guarded
from cabida.evidence.quotes.values import amount_written, written
from cabida.text import speaking, tr

FORMS = ("yaml", "csv", "xlsx")
ITEM_ROWS = 20  # of an empty form
EPOCH = datetime(2026, 1, 1)  # of the spreadsheet's properties: the same form is the same bytes


def template(
    form: str = "yaml", in_language: str = "", purpose: str = "", quote: Quote | None = None
) -> str | bytes:
    """A form to fill in; with a quote, one that is filled in.

    Args:
        form: one of ``FORMS``.
        in_language: ``en`` or ``es``, the one in use when left out.
        purpose: one of ``fields.PURPOSES``: only what is asked of such an offer; "" = everything.
        quote: what to fill in.
    """
    with speaking(in_language):
        asked = _asked(purpose, quote)
        filled = quote or Quote(purpose=purpose or None)
        if form == "xlsx":
            return _xlsx(asked, purpose, filled)
        return (_csv if form == "csv" else _yaml)(asked, purpose, filled)


def _asked(purpose: str, quote: Quote | None) -> list[Field]:
    said = quote.said() if quote else {}
    return [
        one
        for group in GROUPS
        for one in FIELDS
        if one.group == group and (not purpose or one.severity(purpose) or one.name in ("notes", *said))
    ]


def _told(one: Field, purpose: str) -> str:
    """What a form says beside a field: its question, its choices, its unit, how it is written."""
    parts = [tr(one.question)]
    if one.choices:
        parts.append(", ".join(one.choices) + ".")
    elif one.kind in ("flag", "date", "ratio", "list", "ladder"):
        parts.append(tr(f"procure.template.kind.{one.kind}"))
    elif one.kind == "money":
        parts.append(tr("procure.template.kind.money", unit=unit_said(one.unit)))
    elif one.unit:
        parts.append(f"({unit_said(one.unit)})")
    if purpose and (severity := one.severity(purpose)) == "blocking":
        parts.append(f"[{tr(f'procure.severity.{severity}')}]")
    return " ".join(parts)


def _instructions(purpose: str) -> list[str]:
    kind = tr(f"procure.purpose.{purpose}") if purpose else tr("procure.template.any")
    lines = [tr("procure.template.title", kind=kind)]
    return lines + [tr(f"procure.template.line.{n}") for n in range(1, 8)]


# ---- YAML


def _yaml(asked: Iterable[Field], purpose: str, quote: Quote) -> str:
    lines = [f"# {line}" for line in _instructions(purpose)]
    group = ""
    for one in asked:
        if one.group != group:
            group = one.group
            lines += ["", f"# ---- {tr(f'procure.group.{group}')}"]
        held = getattr(quote, one.name)
        lines += ["", f"# {tr(one.title)}. {_told(one, purpose)}", f"{one.name}:{_yaml_value(one, held)}"]
    lines += ["", f"# ---- {tr('procure.template.items')}"]
    if quote.items:
        lines.append("items:")
        for item in quote.items:
            said = [(part, _item_text(item, part)) for part in ITEM_PARTS]
            rows = [f"{part}: {_quoted(text)}" for part, text in said if text or part == "what"]
            lines += [f"  - {rows[0]}", *(f"    {row}" for row in rows[1:])]
    else:
        lines += ["items:", *(f"#   {'- ' if part == 'what' else '  '}{part}:" for part in ITEM_PARTS)]
    return "\n".join(lines) + "\n"


def _yaml_value(one: Field, held: Any) -> str:
    if held is None:
        return ""
    if one.kind == "list":
        return " [" + ", ".join(map(_quoted, held)) + "]"
    text = written(one, held)
    return f" {_quoted(text)}" if one.kind in ("text", "ladder") else f" {text}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _item_text(item: QuoteItem, part: str) -> str:
    held = getattr(item, part)
    if held is None:
        return ""
    if part in ("unit_price", "total"):
        return amount_written(held)
    return format(held, "f") if part == "quantity" else str(held)


# ---- CSV


def _csv(asked: Iterable[Field], purpose: str, quote: Quote) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for line in _instructions(purpose):
        writer.writerow([f"# {line}"])
    writer.writerow(
        [tr("procure.template.field"), tr("procure.template.value"), tr("procure.template.question")]
    )
    for one in asked:
        held = getattr(quote, one.name)
        writer.writerow([one.name, guarded(written(one, held)), f"{tr(one.title)}. {_told(one, purpose)}"])
    for number, item in enumerate(quote.items or (QuoteItem(""), QuoteItem("")), 1):
        for part in ITEM_PARTS:
            told = tr(f"procure.template.part.{part}")
            writer.writerow([f"item.{number}.{part}", guarded(_item_text(item, part)), told])
    return text.getvalue()


# ---- a spreadsheet


def _xlsx(asked: Iterable[Field], purpose: str, quote: Quote) -> bytes:
    import xlsxwriter

    held = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    book = xlsxwriter.Workbook(held, options)
    book.set_properties({"title": tr("procure.template.sheet.quote"), "created": EPOCH})
    styles = {
        "head": book.add_format(
            {"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF", "text_wrap": True}
        ),
        "group": book.add_format({"bold": True, "bg_color": "#D9E2F3"}),
        "input": book.add_format(
            {
                "num_format": "@",
                "font_color": "#0000FF",
                "bg_color": "#FFF9E5",
                "border": 1,
                "text_wrap": True,
                "valign": "top",
            }
        ),
        "key": book.add_format({"font_color": "#7F7F7F", "valign": "top"}),
        "text": book.add_format({"text_wrap": True, "valign": "top"}),
        "bold": book.add_format({"bold": True, "font_size": 14}),
    }
    lines = book.add_worksheet(tr("procure.template.sheet.instructions"))
    lines.set_column(0, 0, 110)
    for row, line in enumerate(_instructions(purpose)):
        lines.write_string(row * 2, 0, line, styles["text"] if row else styles["bold"])
    _fields_sheet(book, styles, asked, purpose, quote)
    _items_sheet(book, styles, quote)
    book.worksheets()[1].activate()
    book.close()
    return held.getvalue()


def _fields_sheet(
    book: Any, styles: dict[str, Any], asked: Iterable[Field], purpose: str, quote: Quote
) -> None:
    sheet = book.add_worksheet(tr("procure.template.sheet.quote"))
    sheet.freeze_panes(1, 0)
    for column, width in enumerate((34, 34, 40, 16, 90)):
        sheet.set_column(column, column, width)
    heads = ("field", "name", "value", "unit", "question")
    for column, name in enumerate(heads):
        sheet.write_string(0, column, tr(f"procure.template.{name}"), styles["head"])
    row, group = 1, ""
    for one in asked:
        if one.group != group:
            group = one.group
            sheet.write_string(row, 1, tr(f"procure.group.{group}"), styles["group"])
            row += 1
        sheet.write_string(row, 0, one.name, styles["key"])
        sheet.write_string(row, 1, tr(one.title), styles["text"])
        text = written(one, getattr(quote, one.name))
        if text:
            sheet.write_string(row, 2, text, styles["input"])
        else:
            sheet.write_blank(row, 2, None, styles["input"])
        sheet.write_string(row, 3, unit_said(one.unit), styles["text"])
        sheet.write_string(row, 4, _told(one, purpose), styles["text"])
        _validated(sheet, row, one)
        row += 1


def _validated(sheet: Any, row: int, one: Field) -> None:
    """A list to choose from, where a field has one; what isn't in it is warned of, not refused."""
    choices = list(one.choices) if one.choices else ["yes", "no"] if one.kind == "flag" else []
    if choices:
        sheet.data_validation(
            row, 2, row, 2,
            {"validate": "list", "source": choices, "error_type": "warning", "ignore_blank": True,
             "error_title": one.name[:32], "error_message": tr("procure.template.choose")[:255]},
        )  # fmt: skip


def _items_sheet(book: Any, styles: dict[str, Any], quote: Quote) -> None:
    sheet = book.add_worksheet(tr("procure.template.sheet.items"))
    sheet.set_column(0, 0, 60)
    sheet.set_column(1, 4, 20)
    for column, part in enumerate(ITEM_PARTS):
        sheet.write_string(0, column, tr(f"procure.template.part.{part}"), styles["head"])
    for row in range(1, max(ITEM_ROWS, len(quote.items)) + 1):
        item = quote.items[row - 1] if row <= len(quote.items) else QuoteItem("")
        for column, part in enumerate(ITEM_PARTS):
            text = _item_text(item, part)
            if text:
                sheet.write_string(row, column, text, styles["input"])
            else:
                sheet.write_blank(row, column, None, styles["input"])
