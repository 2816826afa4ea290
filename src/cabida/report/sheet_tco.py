"""The sheet of what it costs in all: each option's bill line by line, and the months of the option chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cabida.choose.what_if import bill_lines
from cabida.money.bills.serving import SHOWN
from cabida.plan import Option
from cabida.plan.ledger import LedgerMonth
from cabida.report import words as say
from cabida.report.sheet_book import Book, chart_text, column_letter, sheet_name
from cabida.text import has_text, tr

TOP = 4  # row of the first line of the bills
FORM = "#,##0.00"
HEAD_HEIGHT = 76  # points: titles take five lines


def tco_sheet(book: Book) -> None:
    """The bills beside each other with their sums, a waterfall of the first, then its ledger."""
    key, decision = "tco", book.decision
    sheet = book.sheets[key]
    book.text(key, 0, 0, sheet_name(key), "title")
    book.text(
        key,
        1,
        0,
        tr("report.sheet.tco_note", currency=decision.currency, period=say.period(decision)),
        "grey",
    )
    bills = [_lines(book, option) for option in decision.options]
    keys = _keys(bills)
    book.head(key, TOP - 1, [tr("report.term"), *(f"{one.rank} · {one.title}" for one in decision.options)])
    for at, line in enumerate(keys):
        book.text(key, TOP + at, 0, say.cost_line(line))
        for column, (option, bill) in enumerate(zip(decision.options, bills, strict=True), 1):
            if line in bill:
                book.figure(key, TOP + at, column, option, f"cost.{line}", bill[line], FORM)
    total = TOP + len(keys)
    book.text(key, total, 0, tr("report.total"), "bold")
    book.text(key, total + 1, 0, tr("report.sheet.total_off"), "grey")
    for column, option in enumerate(decision.options, 1):
        letter = column_letter(column)
        lines = sum(one.money for one in option.cost_lines)
        said = f"SUM(${letter}${TOP + 1}:${letter}${max(total, TOP + 1)})" if keys else "0"
        book.formula(key, total, column, said, lines, "total", FORM)
        _difference(book, total + 1, column, option, f"${letter}${total + 1}")
    sheet.freeze_panes(TOP, 1)
    sheet.set_row(TOP - 1, HEAD_HEIGHT)
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, max(1, len(decision.options)), 24)
    below = _waterfall(book, total + 4, keys)
    _ledger(book, below + 1)


def _lines(book: Book, option: Option) -> dict[str, float]:
    """An option's bill, with the lines that are nothing now but may come to something."""
    moving = {node["id"] for node in book.decision.trees if node["inputs"] or node["id"] in book.inputs}
    lines = bill_lines(option, book.values, empty=True)
    return {one.key: one.money for one in lines if one.money or option.trees.get(f"cost.{one.key}") in moving}


def _keys(bills: Sequence[Mapping[str, float]]) -> list[str]:
    """Every line of any bill, in the order of bills."""
    found = dict.fromkeys(key for bill in bills for key in bill)
    order = {name: at for at, name in enumerate(SHOWN)}
    return sorted(found, key=lambda name: order.get(name, len(order)))


def _difference(book: Book, row: int, column: int, option: Option, total: str) -> None:
    """What the lines leave out of the whole bill: nothing, but for rounding."""
    whole = next(
        (option.trees[name] for name in ("cost_per_month", "cost_per_run") if name in option.trees), None
    )
    if whole in book.rows:
        book.formula("tco", row, column, f"ROUND({book.node(whole)}-{total},6)", 0.0, "grey", FORM)


def _waterfall(book: Book, top: int, keys: Sequence[str]) -> int:
    """The first bill as steps, from the lines above; the row below it."""
    key, decision = "tco", book.decision
    if not decision.options or not keys:
        return top
    lines = _lines(book, decision.options[0])
    shown = [line for line in keys if line in lines]
    names = [tr(f"report.sheet.{name}") for name in ("base", "adds", "takes_off")]
    book.text(key, top, 0, tr("report.sheet.waterfall", option=decision.options[0].title), "bold")
    book.head(key, top + 1, [tr("report.term"), tr("report.sheet.amount"), *names])
    first, before = top + 2, 0.0
    for at, line in enumerate(shown):
        row, money = first + at, lines[line]
        cell, start = f"$B${row + 1}", f"SUM($B${first + 1}:$B${row})" if at else "0"
        book.text(key, row, 0, say.cost_line(line))
        book.formula(key, row, 1, f"$B${TOP + keys.index(line) + 1}", money, form=FORM)
        book.formula(key, row, 2, f"MIN({start},{start}+{cell})", min(before, before + money), "grey", FORM)
        book.formula(key, row, 3, f"MAX({cell},0)", max(money, 0.0), form=FORM)
        book.formula(key, row, 4, f"MAX(-{cell},0)", max(-money, 0.0), form=FORM)
        before += money
    end = first + len(shown)
    book.text(key, end, 0, tr("report.total"), "bold")
    book.formula(key, end, 1, f"SUM($B${first + 1}:$B${end})", before, "total", FORM)
    book.number(key, end, 2, 0.0, "grey")
    book.formula(key, end, 3, f"MAX($B${end + 1},0)", max(before, 0.0), form=FORM)
    book.formula(key, end, 4, f"MAX(-$B${end + 1},0)", max(-before, 0.0), form=FORM)
    _steps_chart(book, first, end)
    return max(end + 2, first + 20)


def _steps_chart(book: Book, first: int, end: int) -> None:
    name = sheet_name("tco")
    chart = book.workbook.add_chart({"type": "column", "subtype": "stacked"})
    for column, colour in ((2, None), (3, "#2F6FAB"), (4, "#3C8D5A")):
        fill = {"none": True} if colour is None else {"color": colour}
        series = {
            "name": [name, first - 1, column],
            "categories": [name, first, 0, end, 0],
            "values": [name, first, column, end, column],
            "fill": fill,
            "border": {"none": True},
            "gap": 40,
        }
        chart.add_series(series)
    chart.set_title({"name": tr("report.sheet.waterfall_title"), "name_font": {"size": 12}})
    chart.set_legend({"position": "bottom", "delete_series": [0]})
    chart.set_y_axis({"num_format": "#,##0", "name": chart_text(book.decision.currency)})
    chart.set_size({"width": 760, "height": 360})
    book.sheets["tco"].insert_chart(first - 2, 6, chart, {"description": tr("report.sheet.waterfall_title")})


def _ledger(book: Book, top: int) -> None:
    """The months of the first option that has them, as decided: cash and expense by line, their sums as formulas."""
    key = "tco"
    option = next((one for one in book.decision.options if one.ledger), None)
    if option is None:
        return
    book.text(key, top, 0, f"{tr('report.section.ledger')}: {option.title}", "bold")
    book.text(key, top + 1, 0, tr("report.sheet.ledger_note"), "grey")
    row = _months(book, top + 2, option.ledger, "cash")
    _months(book, row + 1, option.ledger, "expense")


def _months(book: Book, top: int, months: Sequence[LedgerMonth], kind: str) -> int:
    key = "tco"
    names = list(dict.fromkeys(name for month in months for name in getattr(month, kind)))
    title = tr("report.ledger.cash") if kind == "cash" else tr("report.ledger.expense")
    heads = [tr("report.month_head"), tr("report.ledger.begins"), *(_line(name) for name in names)]
    book.text(key, top, 0, title, "bold")
    book.head(
        key, top + 1, [*heads, f"{title}, {book.decision.currency}", tr(f"report.ledger.{kind}_so_far")]
    )
    first, left, right = top + 2, 2, 1 + len(names)
    so_far = 0.0
    for at, month in enumerate(months):
        row, lines = first + at, getattr(month, kind)
        book.number(key, row, 0, month.month, form="0")
        book.text(key, row, 1, month.begins)
        for column, name in enumerate(names, left):
            if name in lines:
                book.number(key, row, column, lines[name], form=FORM)
        whole = sum(lines.values())
        so_far += whole
        ends = f"${column_letter(left)}${row + 1}:${column_letter(right)}${row + 1}"
        book.formula(key, row, right + 1, f"SUM({ends})" if names else "0", whole, "total", FORM)
        letter = column_letter(right + 1)
        book.formula(
            key, row, right + 2, f"SUM(${letter}${first + 1}:${letter}${row + 1})", so_far, form=FORM
        )
    return first + len(months)


def _line(name: str) -> str:
    for text in (f"report.own.line.{name}", f"money.cost.{name}", f"report.ledger.{name}"):
        if has_text(text):
            return tr(text)
    return name.replace("_", " ")
