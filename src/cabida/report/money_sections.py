"""Sections of the record about money and doubt: sureness, owning, months, the mix, prices to walk away at, energy.

A section with nothing to say is left out. Every form of the record shows the same ones, in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cabida import text
from cabida.money.hold.variance import to_cents
from cabida.plan import Decision, Estimate, Option
from cabida.plan.ownership import Ownership
from cabida.report import curve_charts, doubt_charts
from cabida.report import words as say
from cabida.report.every_form import first
from cabida.report.memory_chart import short
from cabida.report.money_parts import Section, Table
from cabida.report.svg import Chart
from cabida.text import has_text, tr

OF_OUTPUT = ("energy_kwh_per_output", "carbon_g_per_output", "carbon_market_g_per_output")
ENERGY = (*OF_OUTPUT, "energy_kwh_per_month")
MOST_ROWS = 12
MOST_TURNING = 4  # sentences above a picture and a table that have them all
ALIKE = 0.01  # two prices at which the answer changes that are one and the same
SMALL = 0.1  # kWh: less is told in Wh


def money_sections(decision: Decision) -> tuple[Section, ...]:
    """Those that have something to say, in the language in use."""
    from cabida.report.flexibility import flexibility, front, turning

    made = (sureness, front, flexibility, turning, ownership, ledger, mix, walk_away, energy)
    found = (make(decision) for make in made)
    return tuple(one for one in found if one is not None and (one.sentences or one.tables or one.charts))


def _charts(decision: Decision, *draw: Callable[[Decision], Chart | None]) -> tuple[Chart, ...]:
    return tuple(chart for chart in (each(decision) for each in draw) if chart is not None)


def sureness(decision: Decision) -> Section | None:
    """What each option may cost, what the first one's cost hangs on, and other volumes."""
    if not decision.draws_count:
        return None
    drawn = tr("report.seed_draws", count=text.number(decision.draws_count, 7), seed=decision.seed)
    charts = _charts(decision, doubt_charts.intervals, doubt_charts.swings, curve_charts.volume)
    told = [one.sentence for one in decision.swings if one.sentence]
    more = [tr("report.more_turning", count=len(told) - MOST_TURNING)] if len(told) > MOST_TURNING else []
    turning = (*told[:MOST_TURNING], *more)
    letters = doubt_charts.intervals_in_letters(decision)
    tornado = doubt_charts.swings_in_letters(decision)
    letters += ["", *tornado] if letters and tornado else tornado
    others = 1.0 - sum(one.best_probability for one in decision.options)
    some = any(one.best_probability > 0 for one in decision.options)
    rest = (
        (tr("report.not_shown_best", probability=say.probability(others)),)
        if some and others >= 0.005
        else ()
    )
    return Section("sureness", (f"{drawn}.", *rest, *turning), (), charts, tuple(letters))


def ownership(decision: Decision) -> Section | None:
    """A year of owning in two views, line by line, and the rents it is held against."""
    option = next((one for one in decision.options if one.ownership is not None), None)
    if option is None or option.ownership is None:
        return None
    owned = option.ownership
    sentences = [f"{tr('report.option')} {option.rank}: {option.title}."]
    sentences += [_rent_sentence(owned, at, decision.currency) for at in range(len(owned.rents))]
    sentences += [tr("report.own.use")] if owned.rents else []
    tables = [_capital(owned, decision.currency), _year(owned, decision.currency)]
    return Section("ownership", tuple(sentences), tuple(tables), _charts(decision, curve_charts.break_even))


def _rent_sentence(owned: Ownership, at: int, currency: str) -> str:
    rent = owned.rents[at]
    use = rent.break_even_utilisation_ratio
    values = {
        "provider": ", ".join(one for one in (rent.provider, tr(f"report.rent.{rent.kind}")) if one),
        "price": text.money(rent.money_per_hour, currency),
        "use": text.percent(use),
        "now": text.percent(owned.utilisation_ratio),
    }
    scope = "whole" if rent.around_money_per_year else "hour"
    values["scope"] = tr(f"report.own.scope_{scope}")
    key = "always" if use <= 0 else "pays" if use <= 1 else "never"
    told = tr(f"report.own.{key}", **values)
    if rent.break_even_month is not None:
        told += " " + tr("report.own.month", month=text.number(rent.break_even_month))
    return told


def _capital(owned: Ownership, currency: str) -> Table:
    rows = _to_the_cent({_line(name): money for name, money in owned.capital_lines.items() if money})
    return Table(tr("report.own.capital"), (tr("report.term"), currency), tuple(rows))


def _year(owned: Ownership, currency: str) -> Table:
    """Annuity and straight line side by side, the same running costs under both; tax only where interest is."""
    running = {_line(name): money for name, money in owned.running_lines.items() if money}
    annuity = {tr("report.own.recovered"): owned.annuity_money_per_year, **running}
    if owned.tax_money_per_year:
        annuity[tr("report.own.tax")] = owned.tax_money_per_year
    straight = dict(_to_the_cent({tr("report.own.recovered"): owned.straight_line_money_per_year, **running}))
    rows = [(name, money, straight.get(name, "–")) for name, money in _to_the_cent(annuity)]
    header = (
        tr("report.term"),
        *(f"{tr(f'report.own.{view}')}, {currency}" for view in ("annuity", "straight")),
    )
    return Table(tr("report.own.year"), header, tuple(rows))


def _to_the_cent(parts: dict[str, float]) -> list[tuple[str, str]]:
    """Lines and their total, shown so that the one can be added up to the other."""
    whole = sum(parts.values())
    shown = to_cents(parts, whole)
    return [
        *((name, say.decimal(money, 2)) for name, money in shown.items()),
        (tr("report.total"), say.decimal(round(whole * 100) / 100, 2)),
    ]


def _line(name: str) -> str:
    for key in (f"report.own.line.{name}", f"money.cost.{name}", f"report.ledger.{name}"):
        if has_text(key):
            return tr(key)
    return name.replace("_", " ")


def ledger(decision: Decision) -> Section | None:
    """Months of the first option that tells them: cash and expense, and the budget when it breaks."""
    option = next((one for one in decision.options if one.ledger), None)
    if option is None:
        return None
    months = option.ledger
    names = list(dict.fromkeys(name for month in months for name, money in month.cash.items() if money))
    yearly = [
        month for month in months if month.month in (0, 1) or month.month % 12 == 0 or month is months[-1]
    ]
    rows = tuple(
        (
            str(month.month),
            month.begins,
            *(say.decimal(month.cash.get(name, 0.0), 2) for name in names),
            say.decimal(month.cash_money, 2),
            say.decimal(month.cash_cumulative_money, 2),
            say.decimal(month.expense_cumulative_money, 2),
        )
        for month in yearly
    )
    header = (
        tr("report.month_head"), tr("report.ledger.begins"), *(_line(name) for name in names),
        f"{tr('report.ledger.cash')}, {decision.currency}", tr("report.ledger.cash_so_far"),
        tr("report.ledger.expense_so_far"),
    )  # fmt: skip
    sentences = [f"{tr('report.option')} {option.rank}: {option.title}."]
    broken = next((month for month in months if month.over_budget), None)
    if broken is not None:
        sentences.append(tr("report.ledger.over", month=broken.month, begins=broken.begins))
    lost = sum(month.credit_lost_money for month in months)
    if lost > 0:
        sentences.append(tr("report.ledger.lost", money=say.price(lost, decision.currency)))
    table = Table("", header, rows)
    return Section("ledger", tuple(sentences), (table,), _charts(decision, curve_charts.cash))


def mix(decision: Decision) -> Section | None:
    """The cheapest mix found, what each part carries, and the paths beside it."""
    found = decision.mix
    if found is None or not found.parts:
        return None
    currency, scale = decision.currency, say.unit_scale(decision)
    parts = tuple(
        (
            one.title,
            f"{one.replicas_least_count}–{one.replicas_most_count}" if one.accelerator else "–",
            text.percent(one.share_ratio),
            say.price(one.money_per_month, currency),
        )
        for one in found.parts
    )
    each = f"{currency} {say.per_output(decision)}"
    paths = tuple(
        (
            one.title,
            say.price(one.money_per_month, currency),
            text.number(one.unit_money * scale),
            text.percent(one.over_ratio),
        )
        for one in found.paths[:MOST_ROWS]
    )
    tables = [
        Table("", tuple(tr(f"report.mix.{key}") for key in ("part", "replicas", "share", "month")), parts)
    ]
    if paths:
        header = (tr("report.mix.path"), tr("report.mix.month"), each, tr("report.mix.over"))
        tables.append(Table(tr("report.mix.paths"), header, paths))
    said = tuple(one for one in (found.sentence, found.risk) if one)
    return Section("mix", said, tuple(tables), _charts(decision, curve_charts.mix_demand))


def walk_away(decision: Decision) -> Section | None:
    """For each option the price above which it is not worth having, in its offer's own unit."""
    rows = tuple(
        _walk_row(one, decision) for one in decision.options[:MOST_ROWS] if one.walk_away is not None
    )
    if not rows:
        return None
    keys = ("report.option", "report.walk.now", "report.walk.at", "report.walk.change", "report.walk.rival")
    header = (*(tr(key) for key in keys), tr("report.walk.budget"))
    return Section("walk_away", (), (Table("", header, rows),))


def _walk_row(option: Option, decision: Decision) -> tuple[str, ...]:
    found = option.walk_away
    assert found is not None
    unit = f"{found.currency}/{tr(f'report.walk.unit.{found.unit}')}"
    rival = next((one for one in decision.options if one.id == found.rival), None)
    change = "–" if found.discount_ratio is None else text.percent(-found.discount_ratio)
    change = f"+{change}" if (found.discount_ratio or 0.0) < 0 else change
    return (
        short(option),
        f"{text.number(found.now_amount, 4)} {unit}",
        "–" if found.amount is None else f"{text.number(found.amount, 4)} {unit}",
        change,
        f"{tr('report.option')} {rival.rank}" if rival else found.rival_title or "–",
        "–" if found.budget_amount is None else f"{text.number(found.budget_amount, 4)} {unit}",
    )


def energy(decision: Decision) -> Section | None:
    """Electricity and carbon of each option, by the grid of the place and by contract apart."""
    scale = say.unit_scale(decision)
    known = [name for name in ENERGY if any(name in one.metrics for one in decision.options)]
    if not known:
        return None
    rows = tuple(
        (
            short(one),
            *(
                _amount(name, one.metrics[name], scale) if name in one.metrics else tr("report.not_stated")
                for name in known
            ),
        )
        for one in decision.options[:MOST_ROWS]
        if any(name in one.metrics for name in known)
    )
    each = say.per_output(decision)
    heads = (
        f"{tr(f'report.energy.head.{name}')} {each}" if name in OF_OUTPUT else say.label(name)
        for name in known
    )
    table = Table("", (tr("report.option"), *heads), rows)
    return Section("energy", (), (table,))


def in_short(decision: Decision, shown: Sequence[Option]) -> list[str]:
    """One line each for a terminal: how far the price is worth paying, owning, the budget, energy.

    ``shown`` are the options a reader has before him: owning is told of none of the others.
    """
    option = first(decision)
    if option is None:
        return []
    said = [
        _walk_sentence(option, decision),
        _owned_sentence(decision, shown),
        _over_sentence(decision, option),
        _energy_sentence(option, decision),
        _freedom_sentence(option, decision),
    ]
    return [one for one in said if one]


def _walk_sentence(option: Option, decision: Decision) -> str:
    """In the seller's own unit; nothing where the price at which the answer changes has been told as such."""
    found = option.walk_away
    if found is None or found.amount is None or found.amount <= 0 or not option.provider:
        return ""
    told = next((one for one in decision.flips if one.name == "price" and one.at), None)
    same = (
        told is not None
        and told.at is not None
        and abs(told.at / told.now * found.now_amount / found.amount - 1) < ALIKE
    )
    if same and found.currency == decision.currency:
        return ""
    rival = next((one for one in decision.options if one.id == found.rival), None)
    values = {
        "who": option.provider,
        "at": text.money(found.amount, found.currency),
        "now": text.money(found.now_amount, found.currency),
        "unit": tr(f"report.walk.unit.{found.unit}"),
        "rival": tr("report.walk.option", rank=rival.rank) if rival else found.rival_title,
    }
    return tr("report.walk.same" if same else "report.walk.short", **values)


def _owned_sentence(decision: Decision, shown: Sequence[Option]) -> str:
    option = next((one for one in shown if one.ownership and one.ownership.rents), None)
    if option is None or option.ownership is None:
        return ""
    told = _rent_sentence(option.ownership, 0, decision.currency)
    rent = option.ownership.rents[0]
    rents = rent.break_even_utilisation_ratio > option.ownership.utilisation_ratio
    alone = not rent.around_money_per_year
    yet = f" {tr('report.own.yet')}" if rents and alone and option.status == "chosen" else ""
    return tr("report.own.short", rank=option.rank, told=told[:1].lower() + told[1:]) + yet


def _over_sentence(decision: Decision, option: Option) -> str:
    broken = next((month for month in option.ledger if month.over_budget), None)
    return tr("report.ledger.over", month=broken.month, begins=broken.begins) if broken else ""


def _freedom_sentence(option: Option, decision: Decision) -> str:
    """Of a promise: in how many futures it still does, when the plan outgrows it, and what leaving it costs."""
    found = option.flexibility
    if found is None or found.score_ratio is None or found.score_ratio >= 1 or option.status != "chosen":
        return ""
    values = {"share": text.percent(found.score_ratio)}
    said = [tr("report.flexibility.short", **values)]
    if found.lasts_months is not None:
        said.append(tr("report.flexibility.short_lasts", count=text.number(found.lasts_months)))
    if found.left_money:
        left = say.price(found.left_money, decision.currency)
        said.append(tr("report.flexibility.short_left", money=left))
    return " ".join(said)


def _energy_sentence(option: Option, decision: Decision) -> str:
    """Behind one accepted output, or a thousand or a million of them, as the cost is told."""
    named = [name for name in OF_OUTPUT if name in option.metrics]
    if not named:
        return ""
    scale = say.unit_scale(decision)
    told = [tr(f"report.energy.{name}", figure=_amount(name, option.metrics[name], scale)) for name in named]
    each = say.per_output(decision)
    return f"{each[:1].upper()}{each[1:]}: {' · '.join(told)}."


def _amount(name: str, one: Estimate, scale: float) -> str:
    """Grams become kilograms and tonnes, Wh kWh, as people write them."""
    scale = scale if name in OF_OUTPUT else 1.0
    unit = "kWh" if "kwh" in name else "g CO₂"
    size = one.value * scale
    if unit == "kWh":
        return say.span(one, scale, unit) if size >= SMALL else say.span(one, scale * 1e3, "Wh")
    for factor, larger in ((1e-6, "t CO₂"), (1e-3, "kg CO₂")):
        if size * factor >= 1:
            return say.span(one, scale * factor, larger)
    return say.span(one, scale, unit)
