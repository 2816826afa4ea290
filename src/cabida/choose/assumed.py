"""Every assumption of a decision, and the value at which another option wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

from cabida.choose.ask import START_UP_HOURS
from cabida.choose.futures import AFTER, CONTEXT, GROWTH, PARAMS
from cabida.choose.options import format_of
from cabida.choose.turns import Turning
from cabida.choose.worked import Worked
from cabida.choose.worlds import UNDRAWN, driver_of, moving
from cabida.money.terms import Terms
from cabida.plan import Assumption, Flip
from cabida.plan.swing import Swing, driver_name, driver_value
from cabida.text import duration, has_text, money, number, tr
from cabida.units import S_PER_HOUR

OF_TRAFFIC = ("planned_traffic_ratio", "requests_per_s", "traffic_ratio")
OF_FUTURES = (GROWTH, CONTEXT, PARAMS, AFTER)
MARGINS = (0.5, 2.0)  # times the margin taken that are tried
START_UPS = (0.1, 8.0)  # times the start taken
STEPS_COUNT = 60
FORMAT = re.compile(r"models\[\d+\]\.weights(?:\.(.+))?")


def assumption_flips(
    assumptions: Sequence[Assumption],
    swings: Sequence[Swing],
    flips: Sequence[Flip],
    able: Sequence[Worked],
    turning: Turning,
    named: Callable[[str], str],
) -> tuple[Flip, ...]:
    """One flip for each assumption, by its name and in its order: where another option wins, or that none does.

    Args:
        assumptions: of the decision.
        swings: drivers moved alone over their ranges.
        flips: those of traffic, acceptance, price and speed.
        able: the options that satisfy, the first one first.
        turning: makes their bills anew.
        named: an option's words by its id.
    """
    if not able:
        return ()
    terms, by_name = turning.terms, {one.name: one for one in swings}
    groups = {driver_of(one.name): one for one in swings if one.name in terms.ranges}
    found: list[Flip] = []
    for item in assumptions:
        name = item.name
        if name in OF_TRAFFIC:
            flip = _of_traffic(name, flips, turning)
        elif name == "capacity_margin_ratio" and turning.ask is not None:
            flip = _scaled(name, "", turning.ask.margin_ratio, "margin", MARGINS, able, turning, named)
        elif name == "tie_money":
            flip = _of_tie(name, able, terms, named)
        elif name == "start_up_hours":
            flip = _scaled(name, "h", START_UP_HOURS, "start_up", START_UPS, able, turning, named)
        elif found_format := FORMAT.fullmatch(name):
            flip = _of_acceptance(name, found_format[1] or "", flips, able[0])
        elif name in by_name or (name in terms.ranges and driver_of(name) in groups):
            swing = by_name.get(name) or groups[driver_of(name)]
            flip = _of_swing(name, swing, terms)
        else:
            flip = _without(name, terms)
        found.append(flip)
    return tuple(dict.fromkeys(found))


def _of_acceptance(name: str, form: str, flips: Sequence[Flip], first: Worked) -> Flip:
    """Of the first option's format its own, of another the one at which that wins."""
    mine = form in ("", format_of(first))
    told = [one for one in flips if one.name == ("acceptance" if mine else "format") and one.at is not None]
    if not mine:
        told = [one for one in told if form in one.flips_to.split()]
    if not told:
        return Flip(name, "", first.acceptance_ratio, None, "", _said("acceptance", name))
    return replace(told[0], name=name)


def _of_tie(name: str, able: Sequence[Worked], terms: Terms, named: Callable[[str], str]) -> Flip:
    """What one has is dearer than the cheapest by so much: a tie narrower than that would not choose it."""
    first, best = able[0], min(able, key=lambda one: (one.cost.per_accepted_money, one.candidate.id))
    each = first.cost.accepted_per_month
    now, at = first.tie_money * each, (first.cost.per_accepted_money - best.cost.per_accepted_money) * each
    values = {
        "at": money(at, terms.currency),
        "now": money(now, terms.currency),
        "option": named(best.candidate.id),
    }
    return Flip(
        name,
        "money",
        now,
        at,
        best.candidate.id,
        _capital(tr("choose.swing.below", name=_named(name), **values)),
    )


def _of_swing(name: str, swing: Swing, terms: Terms) -> Flip:
    if swing.flips_at is not None:
        return Flip(name, swing.unit, swing.base, swing.flips_at, swing.flips_to, swing.sentence)
    values = {
        key: driver_value(value, swing.unit, terms.currency)
        for key, value in (("low", swing.low), ("high", swing.high), ("now", swing.base))
    }
    return Flip(name, swing.unit, swing.base, None, "", _said("never", name, **values))


def _of_traffic(name: str, flips: Sequence[Flip], turning: Turning) -> Flip:
    """The nearer of the two ends of the traffic in which the first option stays the answer."""
    ends = [one for one in flips if one.name.startswith("utilisation") and one.at and one.now > 0]
    now = turning.ask.growth_ratio if name == "planned_traffic_ratio" and turning.ask else 1.0
    if name == "requests_per_s" and turning.ask is not None:
        now = turning.ask.peak_requests_per_s / turning.ask.growth_ratio
    if not ends:
        return Flip(name, "", now, None, "", _said("traffic", name))
    near = min(ends, key=lambda one: abs(log((one.at or 1.0) / one.now)))
    return Flip(name, "", now, now * (near.at or 1.0) / near.now, near.flips_to, near.sentence)


def _scaled(
    name: str,
    unit: str,
    now: float,
    driver: str,
    ends: tuple[float, float],
    able: Sequence[Worked],
    turning: Turning,
    named: Callable[[str], str],
) -> Flip:
    """An assumption moved alone, down and up, by factors of what is taken: the nearer value at which another wins."""
    turns = []
    for end in ends:
        steps = [end ** (step / STEPS_COUNT) for step in range(1, STEPS_COUNT + 1)]
        if driver == "margin":  # no plan holds less than its peak
            steps = [one for one in steps if one * now >= 1 - 1e-9]
        turn = turning.turn(able, driver, steps) if steps else None
        turns += [turn] if turn is not None else []

    def told(value: float) -> str:
        return duration(value * float(S_PER_HOUR)) if unit == "h" else number(value)

    if not turns:
        least = max(ends[0] * now, 1.0) if driver == "margin" else ends[0] * now
        values = {"low": told(least), "high": told(ends[1] * now), "now": told(now)}
        return Flip(name, unit, now, None, "", _said("never", name, **values))
    near = min(turns, key=lambda one: abs(log(one.at)))
    side = "above" if near.at > 1 else "below"
    values = {"name": _named(name), "at": told(near.at * now), "now": told(now), "option": named(near.key)}
    return Flip(name, unit, now, near.at * now, near.key, _capital(tr(f"choose.swing.{side}", **values)))


def _without(name: str, terms: Terms) -> Flip:
    """What no bill is made anew for: why, and what of it could change the answer all the same."""
    known = terms.ranges.get(name)
    if name in OF_FUTURES:
        why = "future"
    elif name in UNDRAWN:
        why = "doubt"
    elif known is None:
        why = "upstream"
    else:
        why = "still" if name in moving(terms) else "one_value"
    return Flip(name, "", known.base if known else 0.0, None, "", _said(why, name))


def _said(key: str, name: str, **values: object) -> str:
    return _capital(tr(f"choose.assumed.{key}", name=_named(name), **values))


def _named(name: str) -> str:
    """An assumption in words: what the load takes for granted, cost inputs, lines of the brief."""
    for room in ("choose", "money", "brief"):
        if has_text(f"{room}.assumption.{name}"):
            return tr(f"{room}.assumption.{name}")
    found = FORMAT.fullmatch(name)
    if found:
        return tr("brief.assumption.format", format=found[1]) if found[1] else tr("brief.assumption.formats")
    return driver_name(name)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
