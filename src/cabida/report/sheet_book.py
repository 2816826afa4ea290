"""A workbook as it is being written: sheets by name, cell styles, and where each node and each lever stands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cabida.choose.levers import Lever
from cabida.equation import NotAFormula
from cabida.errors import InvalidInput
from cabida.expression import expression
from cabida.plan import Decision, Option
from cabida.text import printable, problem, tr

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

SHEETS = ("decision", "options", "explain", "tco", "assumptions", "sources")  # in their order
LONGEST_CELL_CHARS = 32_000  # a cell takes 32,767
LONGEST_FORMULA_CHARS = 8_000  # Excel takes 8,192
EXPLAIN_TOP = 4  # row of the first node, counted from 0
INPUTS_TOP = 4  # row of the first input
LISTS_LEFT = 11  # column of the first list of numbers on the sheet of nodes
VALUE = 2  # column of the value on the sheets of nodes and of inputs
BLUE, PAPER, GREY, PALE, INK, LINE = "#0000FF", "#FFF9DB", "#6B6B6B", "#F1F1F1", "#1F2937", "#BFC5CD"
STYLES: dict[str, dict[str, Any]] = {
    "title": {"bold": True, "font_size": 16, "font_color": INK},
    "lead": {"font_size": 12, "text_wrap": True, "valign": "top"},
    "note": {"font_color": GREY, "text_wrap": True, "valign": "top"},
    "head": {"bold": True, "bg_color": PALE, "bottom": 1, "border_color": LINE, "text_wrap": True, "valign": "vcenter"},
    "text": {"valign": "top", "align": "left", "indent": 1},
    "bold": {"bold": True, "valign": "top"},
    "grey": {"font_color": GREY, "valign": "top"},
    "input": {
        "font_color": BLUE, "bg_color": PAPER, "border": 1, "border_color": LINE, "locked": False, "valign": "top",
    },
    "locked": {"font_color": GREY, "bg_color": PALE, "valign": "top"},
    "total": {"bold": True, "top": 1, "border_color": LINE, "valign": "top"},
    "sign": {"bottom": 1, "border_color": LINE, "locked": False},
    "value": {"valign": "top"},
}  # fmt: skip


@dataclass
class Book:
    """What every sheet is written with."""

    decision: Decision  # its nodes in order
    levers: tuple[Lever, ...]
    workbook: Workbook
    sheets: dict[str, Worksheet] = field(default_factory=dict)
    formats: dict[tuple[str, str], Format] = field(default_factory=dict)
    rows: dict[Any, int] = field(default_factory=dict)  # of each node on its sheet
    inputs: dict[Any, int] = field(default_factory=dict)  # row of the lever that sets a leaf
    lists: dict[Any, tuple[int, int]] = field(
        default_factory=dict
    )  # column and length of a leaf that is a list

    @cached_property
    def values(self) -> dict[Any, Any]:
        """Each node's value."""
        return {node["id"]: node["value"] for node in self.decision.trees}

    def style(self, name: str, number: str = "") -> Format:
        """A cell style, with a number format."""
        if (name, number) not in self.formats:
            known = dict(STYLES[name]) | ({"num_format": number} if number else {})
            self.formats[name, number] = self.workbook.add_format(known)
        return self.formats[name, number]

    def text(self, sheet: str, row: int, column: int, said: object, style: str = "text") -> None:
        """Text, never read as a formula, a number or a link."""
        self.sheets[sheet].write_string(row, column, cell_text(said), self.style(style))

    def number(
        self, sheet: str, row: int, column: int, value: float, style: str = "value", form: str = ""
    ) -> None:
        """A number; what a cell can't hold is a word."""
        if math.isfinite(value):
            self.sheets[sheet].write_number(
                row, column, value, self.style(style, form or number_format("", value))
            )
        else:
            self.text(sheet, row, column, value, style if style in ("locked",) else "text")

    def formula(
        self,
        sheet: str,
        row: int,
        column: int,
        said: str,
        value: float | str,
        style: str = "value",
        form: str = "",
    ) -> None:
        """A formula with the value it has now."""
        if isinstance(value, float | int) and not math.isfinite(value):
            self.text(sheet, row, column, value)
            return
        number = form or (number_format("", value) if isinstance(value, float | int) else "")
        self.sheets[sheet].write_formula(row, column, f"={said}", self.style(style, number), value)

    def node(self, at: Any, *, here: bool = False) -> str:
        """The cell of a node."""
        cell = f"$C${self.rows[at] + 1}"
        return cell if here else f"{sheet_ref('explain')}{cell}"

    def input_cell(self, row: int) -> str:
        """The cell of the lever in a row."""
        return f"{sheet_ref('assumptions')}$C${row + 1}"

    def said(self, node: Mapping[str, Any]) -> str:
        """A node's equation as a formula on its sheet.

        Raises:
            InvalidInput: CB-X095, it is no equation that a sheet can work out.
        """
        inputs = {part["param"]: part["id"] for part in node["inputs"]}

        def cell(name: str) -> str:
            at = inputs[name]
            if at not in self.lists:
                return self.node(at, here=True)
            column, length = self.lists[at]
            letter = column_letter(column)
            return f"${letter}${EXPLAIN_TOP + 1}:${letter}${EXPLAIN_TOP + length}"

        try:
            formula = expression(str(node["equation"])).sheet(cell)
        except (NotAFormula, KeyError, ValueError) as error:
            raise InvalidInput(
                [problem("CB-X095", name=node["name"], node=node["id"], why=str(error))]
            ) from None
        if len(formula) > LONGEST_FORMULA_CHARS:
            why = tr("report.sheet.too_long", count=len(formula))
            raise InvalidInput([problem("CB-X095", name=node["name"], node=node["id"], why=why)])
        return formula

    def head(self, sheet: str, row: int, titles: Sequence[str]) -> None:
        """A row of column titles."""
        for column, title in enumerate(titles):
            self.text(sheet, row, column, title, "head")

    def figure(
        self, sheet: str, row: int, column: int, option: Option, name: str, value: float, form: str
    ) -> None:
        """A figure of an option: its node's cell where it has one, else the number as decided."""
        at = option.trees.get(name)
        if at in self.rows:
            self.formula(sheet, row, column, self.node(at), self.values[at], form=form)
        else:
            self.number(sheet, row, column, value, form=form)


def cell_text(said: object) -> str:
    """What a cell may show: no control characters, no more than fits."""
    return printable(str(said)).strip("\r\n")[:LONGEST_CELL_CHARS]


def chart_text(said: str) -> str:
    """Text of a chart, which would be read as a formula if it began like one or named a cell of a sheet."""
    return cell_text(said).lstrip("=+-@ ").replace("!", "! ")


def sheet_name(key: str) -> str:
    """What a sheet is called, in the language in use."""
    return tr(f"report.sheet.name.{key}")


def sheet_ref(key: str) -> str:
    """A sheet's name before a cell."""
    return f"'{sheet_name(key)}'!"


def column_letter(column: int) -> str:
    """``A`` for 0, ``AA`` for 26."""
    from xlsxwriter.utility import xl_col_to_name

    return str(xl_col_to_name(column))


def number_format(unit: str, value: float) -> str:
    """A format that shows a value of a unit with the digits it deserves; separators are the reader's own."""
    size = abs(value)
    if unit.split("/")[0] == "money" or unit[:3].isupper():
        return "#,##0.00" if size >= 1 or size == 0 else "0.0000" if size >= 0.01 else "0.00000000"
    if size >= 1e15 or 0 < size < 1e-4:
        return "0.000E+00"
    if float(value).is_integer():
        return "#,##0"
    return "#,##0.0" if size >= 1000 else "#,##0.00##" if size >= 1 else "0.000000"


def quoted(said: str) -> str:
    """Text inside a formula."""
    return '"' + cell_text(said).replace('"', '""')[:250] + '"'
