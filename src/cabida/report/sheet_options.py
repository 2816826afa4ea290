"""The sheet of options: each with its figures and its live bill, held against the budgets and ranked anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cabida.choose.limits import over_budget
from cabida.choose.tied import TIE_MONEY, TIE_SHARE_RATIO
from cabida.choose.what_if import capital_nodes, is_had, other_misses, spending_of
from cabida.plan import Decision, Option
from cabida.report import words as say
from cabida.report.sheet_book import Book, column_letter, number_format, quoted, sheet_name
from cabida.text import has_text, tr

TOP = 4  # row of the first option
RANK, TITLE, VERDICT, DECIDED, COST, UNIT, LOW, HIGH = range(8)
SETUP = (
    "accelerators_count", "replicas_count", "spare_replicas_count", "accelerator", "split", "model", "weights",
    "kv_cache", "engine", "engine_version", "provider", "capacity", "region", "price_seen",
)  # fmt: skip
HEAD_HEIGHT = 46  # points: three lines
PRINTED_COUNT = 6  # columns of the set-up that fit on paper; a screen has them all
BIG = "1E+300"  # more than anything costs


def options_sheet(book: Book) -> None:
    """One row for each option; the columns after the figures work out the order."""
    key, decision = "options", book.decision
    sheet = book.sheets[key]
    metrics = _metrics(decision)
    helpers = HIGH + 1 + len(SETUP) + len(metrics) + 1
    book.text(key, 0, 0, sheet_name(key), "title")
    book.text(key, 1, 0, tr("report.sheet.options_note"), "grey")
    per = tr("report.sheet.per_output", currency=decision.currency, output=_one_output(decision))
    titles = [
        tr("report.sheet.rank_now"), tr("report.option"), tr("report.verdict"), tr("report.sheet.rank_decided"),
        f"{say.cost_head(decision)}, {decision.currency}", per, tr("report.sheet.low_end"), tr("report.sheet.high_end"),
        *(tr(f"report.sheet.setup.{name}") for name in SETUP), *(_metric_title(name) for name in metrics),
        tr("report.sheet.reasons"), *(tr(f"report.sheet.helper.{name}") for name in HELPERS),
    ]  # fmt: skip
    book.head(key, TOP - 1, titles)
    for at, option in enumerate(decision.options):
        row = TOP + at
        _bill(book, row, option)
        for column, name in enumerate(SETUP, HIGH + 1):
            value = _said(name, getattr(option, name))
            if isinstance(value, int):
                book.number(key, row, column, value)
            else:
                book.text(key, row, column, value)
        for column, name in enumerate(metrics, HIGH + 1 + len(SETUP)):
            if name in option.metrics:
                value = option.metrics[name].value
                live = name if name in _live(option) else ""
                book.figure(key, row, column, option, live, value, number_format("", value))
        book.text(key, row, helpers - 1, " ".join(option.reasons))
        _standing(book, row, option, helpers)
    sheet.freeze_panes(TOP, TITLE + 1)
    sheet.set_row(TOP - 1, HEAD_HEIGHT)
    sheet.print_area(0, 0, TOP + len(decision.options), HIGH + PRINTED_COUNT)
    for column, width in enumerate((8, 78, 12, 9, 16, 18, 14, 14)):
        sheet.set_column(column, column, width)
    sheet.set_column(HIGH + 1, helpers - 2, 14)
    sheet.set_column(helpers - 1, helpers - 1, 80)
    sheet.set_column(
        helpers, helpers + len(HELPERS) - 1, 12, book.style("grey"), {"level": 1, "hidden": True}
    )


HELPERS = ("limits", "within", "satisfies", "unit_if", "had_if", "key")


def _bill(book: Book, row: int, option: Option) -> None:
    key = "options"
    whole = "cost_per_run" if "cost_per_run" in option.trees else "cost_per_month"
    book.text(key, row, TITLE, option.title)
    book.number(key, row, DECIDED, option.rank)
    book.figure(
        key,
        row,
        COST,
        option,
        whole,
        option.cost_per_month_money,
        number_format("money", option.cost_per_month_money),
    )
    form = number_format("money", option.unit_cost.value)
    book.figure(key, row, UNIT, option, "unit_cost", option.unit_cost.value, form)
    unit = option.unit_cost
    for column, end in ((LOW, unit.low), (HIGH, unit.high)):
        ratio = end / unit.value if unit.value else 1.0
        book.formula(key, row, column, f"{_cell(UNIT, row)}*{ratio:.17g}", end, form=form)


def _standing(book: Book, row: int, option: Option, left: int) -> None:
    """Verdict and rank as formulas: budgets, then the cheapest, what one has before what is hardly cheaper."""
    key, decision = "options", book.decision
    last = TOP + len(decision.options) - 1
    limits, within, able, unit_if, had_if, order = (_cell(left + at, row) for at in range(len(HELPERS)))

    def column(at: int) -> str:
        letter = column_letter(left + at)
        return f"${letter}${TOP + 1}:${letter}${last + 1}"

    fixed = _limits(option, decision)
    inside = _within(book, row, option)
    unit = option.unit_cost.value
    satisfies = int(option.status in ("chosen", "satisfies"))
    had = is_had(option)
    book.text(key, row, left, tr(f"report.status.{fixed}") if fixed else "", "grey")
    book.formula(key, row, left + 1, inside, int(_is_within(option, decision)), "grey")
    book.formula(key, row, left + 2, f'IF(AND({limits}="",{within}=1),1,0)', satisfies, "grey")
    book.formula(
        key, row, left + 3, f"IF({able}=1,{_cell(UNIT, row)},{BIG})", unit if satisfies else 1e300, "grey"
    )
    book.formula(
        key, row, left + 4, f"IF(AND({able}=1,{int(had)}=1),{_cell(UNIT, row)},{BIG})",
        unit if satisfies and had else 1e300, "grey",
    )  # fmt: skip
    accepted = f"{_cell(COST, row)}/{_cell(UNIT, row)}"
    near = f"{unit_if}-MIN({column(3)})<=MAX({TIE_MONEY:g}/({accepted}),{TIE_SHARE_RATIO:g}*MIN({column(3)}))"
    first = f"IF({had_if}<{BIG},IF(AND({had_if}=MIN({column(4)}),{near}),-1,{unit_if}),{unit_if})"
    key_now = _key(option, decision, unit if satisfies else 1e300)
    book.formula(key, row, left + 5, first, key_now, "grey")
    before = f"({column(5)}<{order})+({column(5)}={order})*(ROW({column(5)})<{row + 1})"
    rank = f'IF({able}=1,1+SUMPRODUCT(--({before}>0)),"–")'
    place = sum(
        1 for one in decision.options if one.status in ("chosen", "satisfies") and one.rank < option.rank
    )
    book.formula(key, row, RANK, rank, place + 1 if satisfies else "–")
    words = {
        state: quoted(tr(f"report.status.{state}"))
        for state in ("chosen", "satisfies", "misses", "ruled_out")
    }
    if fixed == "ruled_out":
        book.text(key, row, VERDICT, tr("report.status.ruled_out"))
    else:
        said = (
            f"IF({able}=1,IF({_cell(RANK, row)}=1,{words['chosen']},{words['satisfies']}),{words['misses']})"
        )
        book.formula(key, row, VERDICT, said, tr(f"report.status.{option.status}"))


def _said(name: str, value: Any) -> Any:
    """A field of an option as people say it: what price lists call a place that is none, a split into one."""
    told = f"choose.{name}.{value}"
    if name == "split" and value == "single":
        return tr("report.readers.single")
    return tr(told) if name in ("provider", "region", "capacity") and has_text(told) else value


def _key(option: Option, decision: Decision, unit: float) -> float:
    """What an option was ordered by: the first one comes before what is cheaper when one has it."""
    able = [one.unit_cost.value for one in decision.options if one.status in ("chosen", "satisfies")]
    return (
        -1.0
        if option.status == "chosen"
        and is_had(option)
        and (option.unit_cost.value <= min(able) or option.rank == 1)
        else unit
    )


def _within(book: Book, row: int, option: Option) -> str:
    """Whether the bill keeps to the budgets of the brief, as a formula: 1 or 0."""
    most, cost = spending_of(book.decision), _cell(COST, row)
    runs = most.runs_count
    tests = []
    if most.monthly_money is not None:
        monthly = f"{cost}*{runs:.17g}/{most.horizon_months:.17g}" if runs is not None else cost
        tests.append(f"{monthly}<={most.monthly_money:.17g}")
    if most.total_money is not None:
        whole = f"{cost}*{most.horizon_months if runs is None else runs:.17g}"
        bought = [book.node(at) for at in capital_nodes(option, book.decision) if at in book.rows]
        tests.append(f"MAX({','.join([whole, *bought])})<={most.total_money:.17g}")
    return f"IF(AND({','.join(tests)}),1,0)" if tests else "1"


def _is_within(option: Option, decision: Decision) -> bool:
    return not over_budget(option.cost_per_month_money, _day_one(option, decision), spending_of(decision))


def _day_one(option: Option, decision: Decision) -> float:
    values = {node["id"]: node["value"] for node in decision.trees}
    return max((float(values[at]) for at in capital_nodes(option, decision)), default=0.0)


def _limits(option: Option, decision: Decision) -> str:
    """What of the verdict no price can change: ruled_out, misses, or nothing."""
    if option.status == "ruled_out":
        return "ruled_out"
    budgets = over_budget(option.cost_per_month_money, _day_one(option, decision), spending_of(decision))
    return "misses" if other_misses(option, {miss.sentence for miss in budgets}, decision) else ""


def _live(option: Option) -> Sequence[str]:
    """Metrics that hang on the bill's tree, in its own unit."""
    return [
        name
        for name in option.metrics
        if name in option.trees and name.startswith(("energy_", "carbon_", "evaluated_"))
    ]


def _metrics(decision: Decision) -> list[str]:
    """Every metric of any option, those that matter first."""
    first = [name for option in decision.options[:1] for name in say.headline(option, decision)]
    return list(dict.fromkeys([*first, *(name for option in decision.options for name in option.metrics)]))


def _metric_title(name: str) -> str:
    kind = say.kind_of(name)
    unit = {"%": "", "bytes": "B", "minutes": "min", "tokens": "", "money": ""}.get(kind, kind)
    return f"{say.label(name)}, {unit}" if unit else say.label(name)


def _one_output(decision: Decision) -> str:
    from cabida.plan.outputs import per_output

    return per_output(decision.denominator, 1.0)


def _cell(column: int, row: int) -> str:
    return f"${column_letter(column)}${row + 1}"
