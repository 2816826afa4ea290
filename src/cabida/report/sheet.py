"""The record as a workbook whose figures are formulas: change a blue input and every bill, rank and chart follows."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

from cabida.choose.levers import levers
from cabida.choose.recompute import tidy
from cabida.plan import Decision
from cabida.report import words as say
from cabida.report.sheet_book import SHEETS, Book, cell_text, sheet_name
from cabida.report.sheet_front import decision_sheet, sources_sheet
from cabida.report.sheet_nodes import assumptions_sheet, explain_sheet, place
from cabida.report.sheet_options import options_sheet
from cabida.report.sheet_tco import tco_sheet
from cabida.text import speaking

LONGEST_FOOTER_CHARS = 80
PROTECTED = {
    "select_locked_cells": True, "select_unlocked_cells": True, "format_columns": True, "format_rows": True,
    "autofilter": True, "sort": True,
}  # fmt: skip


def workbook(decision: Decision) -> bytes:
    """An XLSX file in the decision's language; the same decision gives the same bytes.

    Raises:
        InvalidInput: CB-X095, a tree of the decision can't be worked out.
    """
    import xlsxwriter

    file = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": True,
        "default_date_format": "yyyy-mm-dd",
    }
    with speaking(decision.language):
        book_file = xlsxwriter.Workbook(file, options)
        tidied = replace(decision, trees=tidy(decision.trees))
        book = Book(tidied, levers(tidied), book_file)
        book_file.set_properties(
            {
                "title": cell_text(decision.name)[:200],
                "subject": cell_text(say.workload(decision))[:200],
                "author": f"cabida {cell_text(decision.version)[:40]}",
                "created": _made_at(decision),
            }
        )
        for key in SHEETS:
            book.sheets[key] = book_file.add_worksheet(sheet_name(key))
        place(book)
        for write in (
            decision_sheet,
            options_sheet,
            explain_sheet,
            tco_sheet,
            assumptions_sheet,
            sources_sheet,
        ):
            write(book)
        for key in SHEETS:
            _set_up(book, key)
        book_file.close()
    return file.getvalue()


def _set_up(book: Book, key: str) -> None:
    """How a sheet prints, and that only inputs and signatures may be typed into; no password."""
    sheet = book.sheets[key]
    name = cell_text(book.decision.name)[:LONGEST_FOOTER_CHARS].replace("&", "+")  # & would begin a code
    sheet.set_landscape()
    sheet.set_paper(9)  # A4
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
    sheet.set_footer(f"&L{name}&C&A&R&P / &N")
    if key not in ("decision",):
        sheet.repeat_rows(3)
    sheet.hide_gridlines(2 if key == "decision" else 1)
    sheet.protect("", PROTECTED)


def _made_at(decision: Decision) -> datetime:
    """When the decision was made; a date that can't be read is the first day that a workbook knows."""
    try:
        made = datetime.fromisoformat(decision.made_at)
    except ValueError:
        return datetime(1980, 1, 1)
    return made.astimezone(UTC).replace(tzinfo=None) if made.tzinfo else made
