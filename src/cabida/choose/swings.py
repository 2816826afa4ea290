"""One driver at a time, from its low to its high: what the winner's output costs then, and who wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida.checks.sentences import short_title
from cabida.choose import drivers
from cabida.choose.reckoned import Reckoner, cost_matrix
from cabida.choose.worked import Worked
from cabida.choose.worlds import Z90, Moved, driver_of, moving, valued
from cabida.money.bills.serving import staff_names
from cabida.money.terms import Terms, TrainingUse
from cabida.plan import Flip, Option
from cabida.plan.swing import Swing, driver_name, driver_value
from cabida.text import tr
from cabida.timing import TrainingSpeed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS_COUNT = 17  # scores from one end of a range to the other, the middle one being today's
FINE_COUNT = 33  # scores between two of those, where the winner changes in between
LEAST_WIDTH_RATIO = 1e-6  # of the unit cost: a driver that moves it by less, and turns nothing, is not told
OWN_SENTENCES = ("price", "rival_price", "speed", "traffic", "acceptance")  # told by flips of their own
MOST_TOLD = 2
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Driver:
    """What moves: its key in a world, and its range in the unit people know."""

    name: str
    key: str
    unit: str
    low: float
    base: float
    high: float


def swings(reckoner: Reckoner, able: Sequence[Worked], options: Sequence[Option]) -> tuple[Swing, ...]:
    """The drivers that move the first option's cost or turn the answer, the widest first.

    ``able`` are the options that satisfy, the first one first, in step with ``options``.
    """
    import numpy as np

    if not able:
        return ()
    known = drivers_of(reckoner, able)
    scores = np.linspace(-Z90, Z90, STEPS_COUNT)
    costs, tie = _moved(reckoner, able, [(one.key, scores) for one in known]), able[0].tie_money
    titles = {one.id: short_title(one) for one in options}
    keys = [one.candidate.id for one in able]
    found: list[Swing] = []
    turning: list[tuple[int, Driver, float, float]] = []
    for at, driver in enumerate(known):
        block = costs[:, at * STEPS_COUNT : (at + 1) * STEPS_COUNT]
        ends = _winner(block[:, 0], keys, tie), _winner(block[:, -1], keys, tie)
        base = block[0, STEPS_COUNT // 2]
        swing = Swing(
            driver.name, driver.unit, driver.low, driver.base, driver.high,
            float(block[0, 0]), float(base), float(block[0, -1]), *ends,
        )  # fmt: skip
        near = _first_change(block, tie)
        if near is None and swing.width_money <= LEAST_WIDTH_RATIO * base:
            continue
        if near is not None:
            turning.append((len(found), driver, scores[near[0]], scores[near[1]]))
        found.append(swing)
    if turning:
        fine = _moved(reckoner, able, [(one.key, np.linspace(a, b, FINE_COUNT)) for _, one, a, b in turning])
        for row, (place, driver, start, end) in enumerate(turning):
            block = fine[:, row * FINE_COUNT : (row + 1) * FINE_COUNT]
            score, winner = _change(block, np.linspace(start, end, FINE_COUNT), keys, tie)
            found[place] = _turned(
                found[place], driver, score, winner, titles[winner], reckoner.terms.currency
            )
    return tuple(sorted(found, key=lambda one: -one.width_money))


def _moved(reckoner: Reckoner, able: Sequence[Worked], moves: list[tuple[str, Floats]]) -> Floats:
    """Unit costs with each driver at its scores in turn, all others as taken."""
    import numpy as np

    count = sum(len(scores) for _, scores in moves)
    columns: dict[str, Floats] = {}
    start = 0
    for key, scores in moves:
        columns.setdefault(key, np.zeros(count))[start : start + len(scores)] = scores
        start += len(scores)
    world = Moved(count, columns)
    return cost_matrix(Reckoner(world, reckoner.ask, reckoner.terms, reckoner.currency_spreads), able)


def _best(column: Floats, tie_money: float) -> int:
    """The cheapest, the first one unless another is truly cheaper."""
    at = int(column.argmin())
    return at if column[at] < (column[0] - tie_money) * (1 - 1e-9) else 0


def _winner(column: Floats, keys: Sequence[str], tie_money: float) -> str:
    at = _best(column, tie_money)
    return keys[at] if at else ""


def _first_change(block: Floats, tie_money: float) -> tuple[int, int] | None:
    """Neighbouring columns, nearest to today's, between which the first option stops being the cheapest."""
    middle = block.shape[1] // 2
    for far in range(1, middle + 1):
        for side in (-1, 1):
            if _best(block[:, middle + side * far], tie_money):
                return middle + side * (far - 1), middle + side * far
    return None


def _change(block: Floats, scores: Floats, keys: Sequence[str], tie_money: float) -> tuple[float, str]:
    at = next(at for at in range(block.shape[1]) if _best(block[:, at], tie_money))
    return float(scores[at]), keys[_best(block[:, at], tie_money)]


def _turned(swing: Swing, driver: Driver, score: float, winner: str, title: str, currency: str) -> Swing:
    """The swing with the value at which the winner changes, and its sentence."""
    at = float(valued(driver.low, driver.base, driver.high, score))
    values = {
        "name": driver_name(driver.name),
        "at": driver_value(at, driver.unit, currency),
        "now": driver_value(driver.base, driver.unit, currency),
        "option": title,
    }
    sentence = tr(f"choose.swing.{'above' if at > driver.base else 'below'}", **values)
    return replace(swing, flips_at=at, flips_to=winner, sentence=sentence[:1].upper() + sentence[1:])


def drivers_of(reckoner: Reckoner, able: Sequence[Worked]) -> list[Driver]:
    """All that may move the first option's cost or a rival's."""
    first, terms, ask = able[0], reckoner.terms, reckoner.ask
    found = [_price("price", first, terms)]
    rivals = (one for one in able if drivers.price_driver(one) != drivers.price_driver(first))
    rival = min(rivals, key=lambda one: one.cost.per_accepted_money, default=None)
    found += [_price("rival_price", rival, terms)] if rival is not None else []
    found += [_speed(first)] if first.speed is not None else []
    if far := Z90 * drivers.acceptance_sigma(first):
        now = first.acceptance_ratio
        ends = max(0.0, now - far), min(1.0, now + far)
        found.append(Driver("acceptance", drivers.acceptance_driver(first), "%", ends[0], now, ends[1]))
    if ask is not None:
        peak = ask.peak_requests_per_s
        low, base, high = (peak * one for one in drivers.traffic_range(terms, ask))
        found.append(Driver("traffic", "traffic", "req/s", low, base, high))
        spread, rate = terms.ranges["failure_spread_ratio"], ask.failure_ratio
        if rate:
            found.append(Driver("failures", "failure", "%", rate * spread.low, rate, rate * spread.high))
    found += _assumptions(able, terms)
    for currency, spread_ratio in reckoner.currency_spreads.items():
        now = terms.rate(currency).ratio
        unit = f"{terms.currency}/{currency}"
        found.append(
            Driver(
                "exchange",
                f"exchange:{currency}",
                unit,
                now / (1 + spread_ratio),
                now,
                now * (1 + spread_ratio),
            )
        )
    return [one for one in found if one.low < one.base or one.high > one.base]


def _price(name: str, one: Worked, terms: Terms) -> Driver:
    """In money per accelerator-hour, per accelerator bought, or of today's for an API's many prices."""
    low, high = drivers.price_range_of(one, terms)
    now, unit = 1.0, "%"
    if one.tenure is not None:
        now, unit = one.tenure.money_per_hour, "money/h"
        if one.tenure.capacity == "buy":
            now, unit = float(one.tenure.offer.amount) * terms.rate(one.tenure.offer.currency).ratio, "money"
    return Driver(name, drivers.price_driver(one), unit, now * low, now, now * high)


def _speed(first: Worked) -> Driver:
    low, high = drivers.speed_factors(first)
    now, unit = first.capacity_requests_per_s, "req/s"
    if isinstance(first.speed, TrainingSpeed):
        now, unit = first.speed.tokens_per_s_per_accelerator, "tok/s"
    return Driver("speed", drivers.speed_driver(first), unit, now * min(low, 1.0), now, now * max(high, 1.0))


def _assumptions(able: Sequence[Worked], terms: Terms) -> list[Driver]:
    """One driver for each assumption, people as one, told by the name that the first option to use one of them uses."""
    keys: dict[str, list[str]] = {}
    for name in moving(terms):
        keys.setdefault(driver_of(name), []).append(name)
    used = [name for one in able for name in _names_used(one)]
    found = []
    for key, names in keys.items():
        name = next((one for one in used if one in names), names[0])
        known, unit = terms.ranges[name], unit_of_driver(name, terms.ranges[name].high)
        found.append(Driver(name, key, unit, known.low, known.base, known.high))
    return found


def _names_used(one: Worked) -> tuple[str, ...]:
    """Which of several assumptions about people and discounts an option's bill takes."""
    if isinstance(one.usage, TrainingUse):
        return ("training_staff_count",)
    return (staff_names(one.tenure)[0], one.tenure.discount) if one.tenure else ("api_staff_count",)


def unit_of_driver(name: str, high: float) -> str:
    """``money/kWh`` for electricity_money_per_kwh; ``%`` for a share; years, hours, tokens ... by its name."""
    _, found, per = name.partition("_money")
    if found:
        words = [one for one in per.strip("_").split("_per_") if one] if per else []
        words = [one.removeprefix("per_") for one in words]
        return "/".join(["money", *({"kwh": "kWh", "kw": "kW", "gb": "GB"}.get(one, one) for one in words)])
    if name.endswith(("_ratio", "_ratio_per_year")):
        return "%" if high <= 1 else ""
    return next((unit for end, unit in _ENDS.items() if name.endswith(end)), "")


_ENDS = {"_years": "years", "_hours": "h", "_gb": "GB", "_s": "s", "bytes_per_token": "B"}


def inputs_flip(found: Sequence[Swing], options: Sequence[Option]) -> Flip | None:
    """One sentence for all inputs that have no flip of their own: which of them turn the answer, or that none does."""
    others = [one for one in found if one.name not in OWN_SENTENCES]
    if not others:
        return None
    turning = [one for one in others if one.flips_at is not None]
    if not turning:
        told = ", ".join(driver_name(one.name) for one in others[:MOST_NAMED])
        return Flip("inputs", "", 0.0, None, "", tr("choose.swing.none", count=len(others), names=told))
    told = " ".join(one.sentence for one in turning[:MOST_TOLD])
    sentence = tr("choose.swing.some", count=len(others), turning=len(turning), told=told)
    return Flip("inputs", "", 0.0, turning[0].flips_at, turning[0].flips_to, sentence)
