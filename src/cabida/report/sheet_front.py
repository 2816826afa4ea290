"""The first and the last sheet: the answer with what it rests on and who signs it, and the sources."""

from __future__ import annotations

from typing import Any

from cabida.plan import Decision
from cabida.report import words as say
from cabida.report.accepted import accepted
from cabida.report.every_form import safe_url
from cabida.report.origins import sources
from cabida.report.sheet_book import (
    INPUTS_TOP,
    Book,
    chart_text,
    column_letter,
    number_format,
    quoted,
    sheet_name,
    sheet_ref,
)
from cabida.report.sheet_options import COST, RANK, TITLE, UNIT
from cabida.report.sheet_options import TOP as OPTIONS_TOP
from cabida.text import number, tr

SIGNATURES = ("finance", "platform", "product")
CHART_ROWS = 20


def decision_sheet(book: Book) -> None:
    """Answer, verdict, what comes first now, figures of the decision, signatures and warnings."""
    key, decision = "decision", book.decision
    sheet = book.sheets[key]
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, 60)
    sheet.set_column(2, 3, 24)
    book.text(key, 0, 0, decision.name, "title")
    sheet.merge_range(1, 0, 1, 3, "", book.style("lead"))
    book.text(key, 1, 0, decision.answer, "lead")
    sheet.set_row(1, 64)
    row = _now(book, 3)
    row = _facts(book, row + 1)
    row = _signatures(book, row + 1)
    _cost_chart(book, row + 1)
    row += CHART_ROWS + 2
    if decision.warnings:
        book.text(key, row, 0, tr("report.section.careful"), "bold")
        for at, one in enumerate(decision.warnings, row + 1):
            book.text(key, at, 0, one.code, "grey")
            book.text(key, at, 1, f"{one.sentence} {one.cure} {accepted(one)}".strip())


def _now(book: Book, row: int) -> int:
    """What the inputs as they stand give: as decided, until one of them is changed."""
    key, decision = "decision", book.decision
    free = [at for at, lever in enumerate(book.levers) if not lever.locked]
    if free:
        first, last = INPUTS_TOP + free[0] + 1, INPUTS_TOP + free[-1] + 1
        ref = sheet_ref("assumptions")
        count = f"SUMPRODUCT(--({ref}$C${first}:$C${last}<>{ref}$G${first}:$G${last}))"
        book.text(key, row, 0, tr("report.sheet.inputs_changed"), "bold")
        book.formula(key, row, 1, count, 0.0)
        flag = (
            f"IF($B${row + 1}=0,{quoted(tr('report.sheet.as_decided'))},{quoted(tr('report.sheet.what_if'))})"
        )
        book.formula(key, row, 2, flag, tr("report.sheet.as_decided"), "bold")
        row += 1
    if not decision.options:
        return row
    ref, last = sheet_ref("options"), OPTIONS_TOP + len(decision.options)

    def column(at: int) -> str:
        letter = column_letter(at)
        return f"{ref}${letter}${OPTIONS_TOP + 1}:${letter}${last}"

    chosen = decision.options[0] if decision.options[0].status == "chosen" else None
    nothing = quoted(tr("report.sheet.nothing"))
    figures: tuple[tuple[str, int, Any, str], ...] = (
        (tr("report.sheet.first_now"), TITLE, chosen.title if chosen else tr("report.sheet.nothing"), ""),
        (
            f"{say.cost_head(decision)}, {decision.currency}",
            COST,
            chosen.cost_per_month_money if chosen else "–",
            "money",
        ),
        (f"{decision.currency} {_each(decision)}", UNIT, chosen.unit_cost.value if chosen else "–", "money"),
    )
    for title, at, value, unit in figures:
        book.text(key, row, 0, title, "bold")
        other = nothing if at == TITLE else quoted("–")
        form = number_format(unit, value) if isinstance(value, float) else ""
        said = f"IFERROR(INDEX({column(at)},MATCH(1,{column(RANK)},0)),{other})"
        book.formula(key, row, 1, said, value, form=form)
        row += 1
    return row


def _facts(book: Book, row: int) -> int:
    key, decision = "decision", book.decision
    rows = (
        ("verdict", tr(f"report.sheet.verdict.{decision.verdict}")),
        ("workload", say.workload(decision)),
        ("as_of", decision.as_of),
        ("made_at", decision.made_at),
        ("version", f"cabida {decision.version}"),
        ("digest", decision.facts_digest),
        ("seed", str(decision.seed)),
        ("candidates", number(decision.candidates_count, 15)),
        ("currency", decision.currency),
        ("denominator", _each(decision)),
    )
    for name, value in rows:
        book.text(key, row, 0, tr(f"report.sheet.{name}"), "bold")
        book.text(key, row, 1, value)
        row += 1
    return row


def _signatures(book: Book, row: int) -> int:
    """Who made it, who approves it, and when it is looked at again; open lines where nobody is named."""
    key, signed = "decision", book.decision.sign_off
    book.head(key, row, [tr(f"report.sheet.{name}") for name in ("role", "name", "date", "signature")])
    people = [("author", signed.author if signed else "")]
    known = [(one[0], one[1] if len(one) > 1 else "") for one in signed.approvers if one] if signed else []
    people += known or [(role, "") for role in SIGNATURES]
    for at, (role, name) in enumerate(people, row + 1):
        text = f"report.sheet.role.{role}"
        book.text(key, at, 0, tr(text) if role in ("author", *SIGNATURES) else role)
        book.text(key, at, 1, name, "sign")
        for column in (2, 3):
            book.sheets[key].write_blank(at, column, None, book.style("sign"))
    row += len(people) + 1
    if signed and (signed.review_on or signed.review_why):
        book.text(key, row, 0, tr("report.sheet.review"), "bold")
        book.text(key, row, 1, f"{signed.review_on} {signed.review_why}".strip())
        row += 1
    return row


def _cost_chart(book: Book, row: int) -> None:
    """What an output of each option costs, with its interval."""
    options = book.decision.options
    if not options:
        return
    name, last = sheet_name("options"), OPTIONS_TOP + len(options) - 1
    chart = book.workbook.add_chart({"type": "bar"})
    unit = chart_text(f"{book.decision.currency} {_each(book.decision)}")
    chart.add_series(
        {
            "name": unit,
            "categories": [name, OPTIONS_TOP, TITLE, last, TITLE],
            "values": [name, OPTIONS_TOP, UNIT, last, UNIT],
            "fill": {"color": "#2F6FAB"},
            "gap": 40,
        }
    )
    chart.set_title({"name": tr("report.sheet.cost_of_options"), "name_font": {"size": 12}})
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "num_font": {"size": 8}})
    chart.set_x_axis({"name": unit, "num_font": {"size": 8}})
    chart.set_size({"width": 980, "height": 20 * CHART_ROWS})
    book.sheets["decision"].insert_chart(row, 0, chart, {"description": tr("report.sheet.cost_of_options")})


def _each(decision: Decision) -> str:
    from cabida.plan.outputs import per_output

    return per_output(decision.denominator, 1.0)


def sources_sheet(book: Book) -> None:
    """What was read: addresses as text."""
    key = "sources"
    book.text(key, 0, 0, sheet_name(key), "title")
    book.head(key, 3, [tr(f"report.sheet.{name}") for name in ("source", "address", "seen", "grade")])
    for row, one in enumerate(sources(book.decision), 4):
        book.text(key, row, 0, one.get("what", ""))
        book.text(key, row, 1, safe_url(one.get("url", "")))
        book.text(key, row, 2, one.get("seen", ""))
        book.text(key, row, 3, say.grade(one.get("grade", "")))
    sheet = book.sheets[key]
    sheet.freeze_panes(4, 0)
    for column, width in enumerate((90, 60, 12, 12)):
        sheet.set_column(column, column, width)
