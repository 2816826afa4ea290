"""Whether an offer's own figures agree: prices times quantities, months times terms, counts, discounts, currencies.

Each rule is a small function of a ``Subject`` and says nothing when it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from cabida.evidence.quotes.quote import Amount
from cabida.procure.amounts import MONEY_FIELDS
from cabida.procure.nouns import Finding
from cabida.procure.subject import PURCHASES, Subject, amount, title_of, whole
from cabida.text import number, percent, tr
from cabida.units import HOURS_PER_MONTH

NEAR_RATIO = 0.004  # what rounding of a price can explain
MONTH_HOURS = (730.0, 720.0, 744.0)
YEAR_HOURS = 8760.0


@dataclass(frozen=True, slots=True)
class Way:
    """One way the unit price could come to a total: how many units, hours of a month, months, with what beside it."""

    money: float
    how: str
    month_hours: float
    with_tax: bool = False
    as_unit: str = ""


def near(one: float, other: float, ratio: float = NEAR_RATIO) -> bool:
    """Whether two figures differ by no more than rounding."""
    return abs(one - other) <= ratio * max(abs(one), abs(other)) or abs(one - other) < 0.01


def item_totals(s: Subject) -> Iterator[Finding]:
    """Each line: quantity times unit price is its total."""
    for item in s.quote.items:
        if item.quantity is None or item.unit_price is None or item.total is None:
            continue
        made, said = item.quantity * item.unit_price.value, item.total.value
        if item.unit_price.currency != item.total.currency or near(float(made), float(said)):
            continue
        others = [float(made) * hours for hours in (*MONTH_HOURS, YEAR_HOURS)]
        others += [float(made) * months for months in (s.term_months, 12.0, 24.0, 36.0) if months]
        if s.term_months:
            others += [float(made) * hours * s.term_months for hours in MONTH_HOURS]
        if any(near(one, float(said)) for one in others):
            continue
        yield s.find(
            "CB-Q101", "blocking", (), s.item_read(item), what=item.what, quantity=number(float(item.quantity), 7),
            price=amount(item.unit_price), made=whole(float(made)), said=amount(item.total),
            off=whole(float(said - made)), currency=item.total.currency,
        )  # fmt: skip


def items_sum(s: Subject) -> Iterator[Finding]:
    """The lines add up to the total."""
    totals = [item.total for item in s.quote.items]
    said = s.quote.total_price or s.quote.total_commit
    if len(totals) < 2 or said is None or any(one is None or one.currency != said.currency for one in totals):
        return
    made = sum(float(one.value) for one in totals if one)
    months = [1.0, *([s.term_months] if s.term_months else [])]
    tax = [1.0, 1 + (s.quote.tax_ratio or 0.0)]
    ways = [made * factor * part for factor, part in product(months, tax)]
    if s.quote.upfront_ratio:
        ways += [one * s.quote.upfront_ratio for one in ways]
    if not any(near(one, float(said.value)) for one in ways):
        name = "total_price" if s.quote.total_price else "total_commit"
        yield s.find(
            "CB-Q102", "blocking", (name,), *map(s.item_read, s.quote.items), count=len(totals), made=whole(made),
            said=amount(said), off=whole(float(said.value) - made), currency=said.currency,
        )  # fmt: skip


def monthly_price(s: Subject) -> Iterator[Finding]:
    """Unit price times units times the hours of a month is the monthly price."""
    price, said = s.quote.unit_price, s.quote.monthly_price
    if price is None or said is None or price.currency != said.currency:
        return
    yield from _told(s, "CB-Q103", "monthly_price", said, list(_month_ways(s)))


def total_price(s: Subject) -> Iterator[Finding]:
    """Unit price times units, over the whole term, is the total."""
    price, said = s.quote.unit_price, s.quote.total_price
    if price is None or said is None or price.currency != said.currency:
        return
    yield from _told(s, "CB-Q104", "total_price", said, list(_total_ways(s)))


def total_commit(s: Subject) -> Iterator[Finding]:
    """Term times a month is what one commits to."""
    q = s.quote
    said, months = q.total_commit, s.term_months
    if said is None or not months:
        return
    name = "monthly_price" if q.monthly_price else "minimum_commit_per_month"
    month = q.monthly_price or q.minimum_commit_per_month
    if month is not None and month.currency == said.currency:
        made = float(month.value) * months
        least = float(q.minimum_commit_per_month.value) * months if q.minimum_commit_per_month else made
        setup = float(q.setup_fee.value) if q.setup_fee and q.setup_fee.currency == said.currency else 0.0
        tax = 1 + (q.tax_ratio or 0.0)
        upfront = q.upfront_ratio or 1.0
        fine = [made, least, made + setup, made * tax, (made + setup) * tax, made * upfront]
        if not any(near(one, float(said.value)) for one in fine):
            yield s.find(
                "CB-Q105", "blocking", ("total_commit", name, "term_months"), month=amount(month),
                months=number(months), made=whole(made), said=amount(said), off=whole(float(said.value) - made),
                currency=said.currency,
            )  # fmt: skip
    elif q.unit_price is not None and q.unit_price.currency == said.currency:
        yield from _told(s, "CB-Q104", "total_commit", said, list(_total_ways(s)))


def discount(s: Subject) -> Iterator[Finding]:
    """The list price less the discount is the unit price."""
    q = s.quote
    if (
        q.list_unit_price is None
        or q.unit_price is None
        or q.list_unit_price.currency != q.unit_price.currency
    ):
        return
    listed, price = float(q.list_unit_price.value), float(q.unit_price.value)
    if q.discount_ratio is None:
        if price > listed * (1 + NEAR_RATIO):
            yield s.find("CB-Q107", "important", ("unit_price", "list_unit_price"), price=amount(q.unit_price),
                         listed=amount(q.list_unit_price))  # fmt: skip
        return
    made = listed * (1 - q.discount_ratio)
    if 0 <= q.discount_ratio <= 1 and not near(made, price, 0.01):
        real = 1 - price / listed if listed else 0.0
        yield s.find(
            "CB-Q106", "important", ("list_unit_price", "discount_ratio", "unit_price"),
            listed=amount(q.list_unit_price), discount=percent(q.discount_ratio, 4), made=whole(made),
            price=amount(q.unit_price), real=percent(real, 3), currency=q.unit_price.currency,
        )  # fmt: skip


def counts(s: Subject) -> Iterator[Finding]:
    """Machines times accelerators in each are the accelerators; so are the units of the price."""
    q = s.quote
    if q.accelerators_count and q.nodes_count and q.accelerators_per_node_count:
        made = q.nodes_count * q.accelerators_per_node_count
        if made != q.accelerators_count:
            yield s.find(
                "CB-Q108", "blocking", ("accelerators_count", "nodes_count", "accelerators_per_node_count"),
                nodes=number(q.nodes_count, 7), each=number(q.accelerators_per_node_count, 7), made=number(made, 7),
                said=number(q.accelerators_count, 7),
            )  # fmt: skip
    if not q.quantity or not q.unit:
        return
    said = {"gpu": s.accelerators_count, "node": s.nodes_count}.get(q.unit.split("_")[0])
    hourly = q.unit.endswith("_hour") and said and q.quantity > said  # may be a quantity of hours
    if said and not hourly and q.quantity != said:
        yield s.find(
            "CB-Q109", "important", ("quantity", "unit", "accelerators_count", "nodes_count"),
            quantity=number(q.quantity, 7), unit=tr(f"procure.choice.{q.unit}"), said=number(said, 7),
        )  # fmt: skip


def month_hours(s: Subject) -> Iterator[Finding]:
    """A month of 720 or 744 hours: what a year of twelve comes to."""
    hours = s.quote.month_hours
    if hours is None:
        return
    if not 672 <= hours <= 744:
        yield s.find("CB-Q111", "blocking", ("month_hours",), hours=number(hours, 6))
    elif abs(hours - float(HOURS_PER_MONTH)) > 1:
        off = 12 * hours - YEAR_HOURS
        yield s.find(
            "CB-Q110", "important", ("month_hours",), hours=number(hours, 6), year=number(12 * hours, 6),
            off=number(abs(off), 5), side=tr("procure.beyond" if off > 0 else "procure.short"),
            share=percent(abs(off) / YEAR_HOURS, 2),
        )  # fmt: skip


def commitments(s: Subject) -> Iterator[Finding]:
    """A minimum that is more than what is bought; amounts below nothing."""
    q = s.quote
    if q.minimum_commit_per_month and q.monthly_price:
        least, month = q.minimum_commit_per_month, q.monthly_price
        if least.currency == month.currency and float(least.value) > float(month.value) * (1 + NEAR_RATIO):
            yield s.find("CB-Q113", "important", ("minimum_commit_per_month", "monthly_price"), least=amount(least),
                         month=amount(month))  # fmt: skip
    minimum, bought = q.minimum_quantity, q.quantity or s.accelerators_count
    if minimum and bought and minimum > bought:
        yield s.find("CB-Q114", "blocking", ("minimum_quantity", "quantity"), minimum=number(minimum, 7),
                     quantity=number(bought, 7))  # fmt: skip
    if q.term_months and q.minimum_term_months and q.minimum_term_months > q.term_months:
        yield s.find("CB-Q115", "blocking", ("term_months", "minimum_term_months"), term=number(q.term_months),
                     minimum=number(q.minimum_term_months))  # fmt: skip
    for name in MONEY_FIELDS:
        value = s.get(name)
        if value is not None and value.value < 0 and name != "credits":
            yield s.find("CB-Q116", "blocking", (name,), title=title_of(name), value=amount(value))


def unit_doubt(s: Subject) -> Iterator[Finding]:
    """A price of one accelerator where a machine is priced, or the other way round."""
    q = s.quote
    if q.unit is None or q.unit_price is None or not s.per_node_count or s.per_node_count < 2:
        return
    for item in s.quote.items:
        said = (item.unit or "").lower().replace("-", "_").replace(" ", "_")
        one, other = q.unit.split("_")[0], said.split("_")[0].removeprefix("per_")
        if (
            {one, other} == {"gpu", "node"}
            and item.unit_price
            and item.unit_price.value == q.unit_price.value
        ):
            yield s.find(
                "CB-Q118",
                "blocking",
                ("unit_price", "unit"),
                s.item_read(item),
                price=amount(q.unit_price),
                one=tr(f"procure.choice.{q.unit}"),
                other=item.unit,
                each=number(s.per_node_count),
            )
            return


def _hours(s: Subject) -> list[float]:
    stated = s.quote.month_hours
    return [stated, *[h for h in MONTH_HOURS if h != stated]] if stated else list(MONTH_HOURS)


def _units(s: Subject, unit: str) -> list[float]:
    """How many units of the price there can be."""
    n, nodes, quantity = s.accelerators_count, s.nodes_count, s.quote.quantity
    kind = unit.split("_")[0]
    found = {"gpu": [n], "node": [nodes]}.get(kind, [1.0])
    own = [float(one) for one in found if one]
    if quantity and (unit == s.quote.unit):
        own = [*own, quantity]
    return list(dict.fromkeys(own))


def _month_ways(s: Subject, unit: str = "") -> Iterator[Way]:
    q = s.quote
    unit = unit or q.unit or ""
    if q.unit_price is None or not unit:
        return
    price = float(q.unit_price.value)
    kind = unit.rpartition("_")[2]
    for count in _units(s, unit):
        if kind == "hour":
            for hours in _hours(s):
                yield Way(price * count * hours, _how(s, count, unit, hours=hours), hours, as_unit=unit)
            if count == q.quantity:
                yield Way(price * count, _how(s, count, unit), 0.0, as_unit=unit)
        elif kind == "month":
            yield Way(price * count, _how(s, count, unit), 0.0, as_unit=unit)
        elif kind == "year":
            yield Way(price * count / 12, _how(s, count, unit), 0.0, as_unit=unit)


def _total_ways(s: Subject, unit: str = "") -> Iterator[Way]:
    q = s.quote
    unit = unit or q.unit or ""
    if q.unit_price is None or not unit:
        return
    price, months = float(q.unit_price.value), s.term_months
    if unit in (*PURCHASES, "total"):
        for count in _units(s, unit) or [1.0]:
            yield Way(price * count, _how(s, count, unit), 0.0, as_unit=unit)
        return
    for way in _month_ways(s, unit):
        if months and not (unit.endswith("_hour") and way.month_hours == 0):
            yield Way(way.money * months, f"{way.how} × {number(months)} {tr('procure.months')}", way.month_hours,
                      as_unit=unit)  # fmt: skip
        yield way
    if unit.endswith("_hour") and months:
        for count in _units(s, unit):
            yield Way(price * count * YEAR_HOURS / 12 * months, _how(s, count, unit, hours=YEAR_HOURS * months / 12),
                      730.0, as_unit=unit)  # fmt: skip


def _how(s: Subject, count: float, unit: str, *, hours: float = 0.0) -> str:
    price = amount(s.quote.unit_price)
    text = f"{price} × {number(count, 8)}"
    return f"{text} × {number(hours, 7)} h" if hours else text


def _told(s: Subject, code: str, name: str, said: Amount, ways: list[Way]) -> Iterator[Finding]:
    """Nothing where some way comes to what is said; else the nearest way, and which mistake would explain it."""
    if not ways:
        return
    q, value = s.quote, float(said.value)
    extras = _extras(s)
    fine = [way for way in ways for extra in extras if near(way.money + extra, value)]
    stated = q.month_hours
    if fine and (not stated or any(way.month_hours in (0.0, stated) for way in fine)):
        return
    tax = 1 + (q.tax_ratio or 0.0)
    taxed = tax > 1 and any(near((way.money + extra) * tax, value) for way in ways for extra in extras)
    if taxed and q.tax_treatment not in ("excluded", "exempt", "reverse_charge"):
        return
    usual = [way for way in ways if way.month_hours in (0.0, stated or float(HOURS_PER_MONTH))] or ways
    best = min(usual, key=lambda way: abs(way.money - value))
    hint = ""
    if fine and stated:
        hint = tr("procure.hint.hours", hours=number(fine[0].month_hours), stated=number(stated))
        best = next((way for way in ways if way.month_hours == stated), best)
    elif taxed:
        hint = tr("procure.hint.tax", rate=percent(q.tax_ratio or 0.0, 3))
    else:
        other = {"gpu": "node", "node": "gpu"}.get((q.unit or "").split("_")[0])
        if other and q.unit:
            unit = q.unit.replace(q.unit.split("_")[0], other, 1)
            make = _month_ways if name == "monthly_price" else _total_ways
            if any(near(way.money + extra, value) for way in make(s, unit) for extra in extras):
                hint = tr(
                    "procure.hint.unit",
                    unit=tr(f"procure.choice.{unit}"),
                    said=tr(f"procure.choice.{q.unit}"),
                )
    yield s.find(
        code, "blocking", (name, "unit_price", "unit", "quantity", "accelerators_count", "term_months", "month_hours"),
        title=title_of(name), how=best.how, made=whole(best.money), said=amount(said),
        off=whole(value - best.money), currency=said.currency, hint=f" {hint}" if hint else "",
    )  # fmt: skip


def _extras(s: Subject) -> list[float]:
    """Sums that a total may hold besides: setup, support over the term or the first year, none."""
    q = s.quote
    setup = float(q.setup_fee.value) if q.setup_fee else 0.0
    months = s.term_months or 1.0
    support = float(q.support_fee_per_month.value) if q.support_fee_per_month else 0.0
    yearly = float(q.support_price_per_year.value) if q.support_price_per_year else 0.0
    n = float(s.accelerators_count or 0)
    licence = float(q.licence_price_per_gpu_year.value) * n if q.licence_price_per_gpu_year else 0.0
    years = [0.0, yearly, yearly * months / 12, yearly * 3, licence, licence * months / 12, licence + yearly]
    return list(
        dict.fromkeys(
            a + b + c for a in (0.0, setup) for b in (0.0, support, support * months) for c in years
        )
    )


RULES = (
    item_totals, items_sum, monthly_price, total_price, total_commit, discount, counts, month_hours, commitments,
    unit_doubt,
)  # fmt: skip
