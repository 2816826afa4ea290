"""Sections of the record about other weights and other futures: the front, freedom to change, turning assumptions."""

from __future__ import annotations

from cabida import text
from cabida.plan import Decision, Flip, Option
from cabida.plan.swing import driver_value
from cabida.report import words as say
from cabida.report.every_form import first
from cabida.report.money_parts import Section, Table
from cabida.text import tr

MOST_ROWS = 14
BILLION = 1e9


def front(decision: Decision) -> Section | None:
    """The options that nothing beats in cost, time, doubt and freedom together."""
    able = [one for one in decision.options if one.status in ("chosen", "satisfies")]
    members = [one for one in able if one.on_front]
    if not members or len(able) < 2:
        return None
    metrics = [name for name in _timed(decision) if any(name in one.metrics for one in members)]
    free = any(one.flexibility is not None for one in members)
    header = [tr("report.option"), say.per_output(decision), *(say.label(name) for name in metrics)]
    header += [tr("report.front.best"), *([tr("report.flexibility.score")] if free else [])]
    rows = [
        (
            _named(one),
            say.unit_cost(one, decision),
            *(say.figure(name, one.metrics[name]) if name in one.metrics else "–" for name in metrics),
            say.probability(one.best_probability) if one.best_probability > 0 else "–",
            *([_share(one)] if free else []),
        )
        for one in members[:MOST_ROWS]
    ]
    said = tr("report.front.said", count=len(members), able=len(able))
    return Section("front", (said,), (Table("", tuple(header), tuple(rows)),))


def _timed(decision: Decision) -> list[str]:
    """Metrics of the brief's objectives, or when a run is done."""
    found = []
    for name in say.objectives(decision):
        head, _, statistic = name.rpartition("_")
        found.append(f"{head}_ms_{statistic}")
    return found or ["minutes_to_target"]


def _named(one: Option) -> str:
    return f"{one.rank} · {one.title}"


def _share(one: Option) -> str:
    score = one.flexibility.score_ratio if one.flexibility is not None else None
    return text.percent(score) if score is not None else "–"


def flexibility(decision: Decision) -> Section | None:
    """What each option still does when the years go otherwise, and what leaving it costs."""
    told = [one for one in decision.options if one.flexibility is not None]
    if not any(one.capacity for one in told):
        return None
    keys = ("growth", "lasts", "context", "params", "score", "left", "worth")
    header = (tr("report.option"), *(tr(f"report.flexibility.{key}") for key in keys))
    rows = tuple((_named(one), *cells(one, decision.currency)) for one in told[:MOST_ROWS])
    return Section("flexibility", tuple(sentences(decision)), (Table("", header, rows),))


def cells(one: Option, currency: str) -> tuple[str, ...]:
    """An option's row: what it carries, how long, the longest request, the largest model, its score, and money."""
    found = one.flexibility
    if found is None:
        return ("–",) * 7
    context, params = found.largest_context_tokens, found.largest_model_params_count
    return (
        f"{text.number(found.growth_ratio)}×" if found.growth_ratio is not None else "–",
        tr("report.flexibility.months", count=text.number(found.lasts_months))
        if found.lasts_months is not None
        else tr("report.flexibility.horizon"),
        tr("report.flexibility.tokens", count=text.number(context, 7)) if context is not None else "–",
        tr("report.flexibility.billions", count=text.number(params / BILLION)) if params is not None else "–",
        _share(one),
        say.price(found.left_money, currency) if found.left_money is not None else "–",
        say.price(found.worth_money, currency) if found.worth_money is not None else "–",
    )


def sentences(decision: Decision) -> list[str]:
    """What the first option's freedom, or its promise, comes to; then what the table means."""
    option = first(decision)
    said = []
    flip = next((one for one in decision.flips if one.name == "flexibility"), None)
    if flip is not None:
        said.append(flip.sentence)
    elif option is not None and option.flexibility is not None and option.flexibility.left_money == 0:
        worth = option.flexibility.worth_money
        key = "report.flexibility.free_worth" if worth else "report.flexibility.free"
        said.append(tr(key, money=say.price(worth or 0.0, decision.currency)))
    return [*said, tr("report.flexibility.said")]


def turning(decision: Decision) -> Section | None:
    """Every assumption with the value at which another option wins, the ones that turn the answer first."""
    if not decision.assumption_flips:
        return None
    turns = [one for one in decision.assumption_flips if one.at is not None]
    never = [one for one in decision.assumption_flips if one.at is None]
    header = tuple(tr(f"report.turning.{key}") for key in ("assumption", "taken", "at", "to"))
    rows = tuple(_turn(one, decision) for one in turns)
    tables = (Table("", header, rows),) if rows else ()
    count = tr("report.turning.said", count=len(decision.assumption_flips), turning=len(turns))
    return Section("turning", (count, *(one.sentence for one in never)), tables)


def _turn(flip: Flip, decision: Decision) -> tuple[str, ...]:
    winner = next((one for one in decision.options if one.id == flip.flips_to), None)
    return (
        say.assumption(flip.name),
        driver_value(flip.now, flip.unit, decision.currency),
        driver_value(flip.at or 0.0, flip.unit, decision.currency),
        _named(winner) if winner is not None else flip.flips_to,
    )
