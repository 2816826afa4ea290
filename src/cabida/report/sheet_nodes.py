"""The sheets of inputs and of nodes: every number of the decision as a formula over the inputs that may be changed."""

from __future__ import annotations

from typing import Any

from cabida.choose.levers import Lever
from cabida.plan import Decision
from cabida.report import words as say
from cabida.report.every_form import safe_url
from cabida.report.origins import origin
from cabida.report.sheet_book import (
    EXPLAIN_TOP,
    INPUTS_TOP,
    LISTS_LEFT,
    VALUE,
    Book,
    cell_text,
    number_format,
    sheet_name,
)
from cabida.text import number, tr

LONGEST_PROMPT_CHARS = 250  # of a validation's message; its title takes 32


def place(book: Book) -> None:
    """Where each node and each input will stand."""
    for at, node in enumerate(book.decision.trees):
        book.rows[node["id"]] = EXPLAIN_TOP + at
        if isinstance(node["value"], list):
            book.lists[node["id"]] = LISTS_LEFT + len(book.lists), len(node["value"])
    for at, lever in enumerate(book.levers):
        if not lever.locked:
            book.inputs |= dict.fromkeys(lever.nodes, INPUTS_TOP + at)


def explain_sheet(book: Book) -> None:
    """One row for each node: name, value, unit, equation, grade and source."""
    key, decision = "explain", book.decision
    sheet = book.sheets[key]
    book.text(key, 0, 0, sheet_name(key), "title")
    book.text(key, 1, 0, tr("report.sheet.explain_note"), "grey")
    columns = ("id", "name", "value", "unit", "equation", "grade", "source", "seen", "address")
    book.head(key, EXPLAIN_TOP - 1, [tr(f"report.sheet.{name}") for name in columns])
    for node in decision.trees:
        row = book.rows[node["id"]]
        if isinstance(node["id"], int):
            book.number(key, row, 0, node["id"], "grey", "0")
        else:
            book.text(key, row, 0, node["id"], "grey")
        book.text(key, row, 1, node["name"])
        _value(book, row, node)
        book.text(key, row, 3, say.unit(node["unit"], decision.currency, 1.0))
        book.text(key, row, 4, node["equation"], "grey")
        book.text(key, row, 5, say.grade(node["grade"]))
        book.text(key, row, 6, origin(node["name"], node["source"]["what"]))
        book.text(key, row, 7, node["source"]["seen"])
        book.text(key, row, 8, safe_url(node["source"]["url"]))
    sheet.freeze_panes(EXPLAIN_TOP, VALUE + 1)
    sheet.print_area(0, 0, EXPLAIN_TOP + len(decision.trees), len(columns) - 1)
    sheet.autofilter(
        EXPLAIN_TOP - 1, 0, max(EXPLAIN_TOP, EXPLAIN_TOP + len(decision.trees) - 1), len(columns) - 1
    )
    for column, width in enumerate((7, 38, 18, 18, 60, 11, 60, 11, 40)):
        sheet.set_column(column, column, width)


def _value(book: Book, row: int, node: dict[str, Any]) -> None:
    key, value = "explain", node["value"]
    if isinstance(value, list):
        column = book.lists[node["id"]][0]
        book.text(key, row, VALUE, tr("report.values", count=len(value), unit=node["unit"]).strip(), "grey")
        book.text(key, EXPLAIN_TOP - 1, column, node["name"], "head")
        for at, one in enumerate(value):
            book.number(key, EXPLAIN_TOP + at, column, one)
        return
    form = number_format(node["unit"], value)
    if node["inputs"]:
        book.formula(key, row, VALUE, book.said(node), value, form=form)
    elif node["id"] in book.inputs:
        book.formula(key, row, VALUE, book.input_cell(book.inputs[node["id"]]), value, form=form)
    else:
        book.number(key, row, VALUE, value, form=form)


def assumptions_sheet(book: Book) -> None:
    """The inputs: blue where they may be changed, grey where the search has read them; then what else was assumed."""
    key, decision = "assumptions", book.decision
    sheet = book.sheets[key]
    book.text(key, 0, 0, sheet_name(key), "title")
    book.text(key, 1, 0, tr("report.sheet.assumptions_note"), "grey")
    columns = (
        "name",
        "what",
        "value",
        "unit",
        "low",
        "high",
        "decided",
        "changed",
        "of_options",
        "grade",
        "source",
        "why",
    )
    book.head(key, INPUTS_TOP - 1, [tr(f"report.sheet.{name}") for name in columns])
    nodes = {node["id"]: node for node in decision.trees}
    for at, lever in enumerate(book.levers):
        _input(book, INPUTS_TOP + at, lever, nodes[lever.nodes[0]])
    row = INPUTS_TOP + len(book.levers) + 1
    book.text(key, row, 0, tr("report.sheet.other_assumptions"), "bold")
    book.head(
        key,
        row + 1,
        [
            *(tr(f"report.{name}") for name in ("assumed", "taken", "because", "find_out", "grade_head")),
            tr("report.sheet.by"),
        ],
    )
    for at, one in enumerate(decision.assumptions, row + 2):
        said = (say.assumption(one.name), one.value, one.why, one.how_to_find_out, say.grade(one.grade))
        for column, part in enumerate((*said, one.by)):
            book.text(key, at, column, part)
    sheet.freeze_panes(INPUTS_TOP, VALUE + 1)
    sheet.print_area(0, 0, row + len(decision.assumptions) + 2, len(columns) - 1)
    for column, width in enumerate((34, 46, 16, 16, 14, 14, 16, 9, 14, 11, 44, 70)):
        sheet.set_column(column, column, width)


def _input(book: Book, row: int, lever: Lever, node: dict[str, Any]) -> None:
    key, decision = "assumptions", book.decision
    sheet, form = book.sheets[key], number_format(lever.unit, lever.value)
    dull = "locked" if lever.locked else "text"
    book.text(key, row, 0, lever.name, dull)
    book.text(key, row, 1, lever.title, dull)
    book.number(key, row, VALUE, lever.value, "locked" if lever.locked else "input", form)
    book.text(key, row, 3, say.unit(lever.unit, decision.currency, lever.value), dull)
    if not lever.locked:
        book.number(key, row, 4, lever.low, form=number_format(lever.unit, lever.low))
        book.number(key, row, 5, lever.high, form=number_format(lever.unit, lever.high))
        book.number(key, row, 6, lever.value, form=form)
        cell, decided = f"$C${row + 1}", f"$G${row + 1}"
        book.formula(key, row, 7, f'IF({cell}={decided},"","●")', "")
        sheet.data_validation(row, VALUE, row, VALUE, _validation(lever))
    book.text(key, row, 8, _options_of(lever, decision), dull)
    book.text(key, row, 9, say.grade(node["grade"]), dull)
    source = node["source"]
    book.text(key, row, 10, f"{origin(node['name'], source['what'])} {source['seen']}".strip(), dull)
    book.text(key, row, 11, lever.why, dull)


def _validation(lever: Lever) -> dict[str, Any]:
    between = tr("report.sheet.between", low=number(lever.low, 6), high=number(lever.high, 6))
    return {
        "validate": "decimal",
        "criteria": "between",
        "minimum": lever.low,
        "maximum": lever.high,
        "input_title": tr("report.sheet.input")[:32],
        "input_message": cell_text(f"{lever.title}. {between}")[:LONGEST_PROMPT_CHARS],
        "error_title": tr("report.sheet.out_of_range")[:32],
        "error_message": cell_text(between)[:LONGEST_PROMPT_CHARS],
    }


def _options_of(lever: Lever, decision: Decision) -> str:
    """Ranks of the options whose bills have it; all of them is said so."""
    if lever.option:
        return next((str(one.rank) for one in decision.options if one.id == lever.option), "")
    return tr("report.sheet.several")
