"""What would change the answer, as sentences: flips of price, traffic, speed and acceptance, by the real bill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cabida.brief import Brief
from cabida.checks.sentences import short_title
from cabida.choose import drivers
from cabida.choose.alternatives import ACCEPTANCE_STEP, alternative_flips
from cabida.choose.api_volume import volume_flip
from cabida.choose.ask import Ask
from cabida.choose.doubt import Turn, first_turn
from cabida.choose.options import format_of, several_models, title_of
from cabida.choose.reckoned import Reckoner
from cabida.choose.worked import Worked
from cabida.choose.worlds import Fixed
from cabida.money.terms import Terms
from cabida.plan import Flip, Option
from cabida.plan.outputs import denominator_of, output_cost, output_scale
from cabida.text import money, number, percent, rate, tr
from cabida.timing import TrainingSpeed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

DEARER = [1 + 0.02 * step for step in range(1, 201)]
SLOWER = [0.98**step for step in range(1, 120)]
LESS_TRAFFIC = [0.97**step for step in range(1, 151)]
MORE_TRAFFIC = [1.03**step for step in range(1, 80)]


@dataclass(frozen=True, slots=True)
class Found:
    """Where an input turns the answer, and to which option."""

    at: float
    key: str


@dataclass(frozen=True, slots=True)
class Turning:
    """Options whose bills are made anew, each planned for, while one input moves as far as it takes."""

    ask: Ask | None
    terms: Terms

    def turn(
        self, options: Sequence[Worked], driver: str, values: Sequence[float], now: float = 1.0
    ) -> Found | None:
        """The first value of ``driver`` at which another of ``options`` costs less than the first one, ties left."""

        def costs(at: Floats) -> Floats:
            found = self._costs(options, driver, at)
            found[0] -= options[0].tie_money
            return found

        found: Turn | None = first_turn(values, costs, now)
        return Found(found.at, options[found.row].candidate.id) if found else None

    def cost(self, one: Worked, driver: str, value: float) -> float:
        """What an output of ``one`` costs at a value of ``driver``."""
        import numpy as np

        return float(self._costs([one], driver, np.array([value]))[0, 0])

    def _costs(self, options: Sequence[Worked], driver: str, values: Floats) -> Floats:
        import numpy as np

        reckoner = Reckoner(Fixed(driver, values), self.ask, self.terms, planned=True)
        rows = []
        for one in options:
            cost, carried = reckoner.unit_costs(one)
            rows.append(np.where(carried >= 1, cost, np.inf))
        return np.vstack(rows)


def flips(
    brief: Brief,
    worked: Sequence[Worked],
    options: Sequence[Option],
    ask: Ask | None,
    terms: Terms,
    everything: Sequence[Worked] = (),
) -> tuple[Flip, ...]:
    """Where each input turns the answer. ``worked`` and ``options`` go in step, the winner first.

    ``everything``: all that was worked out, for the best of each other model and format.

    There is nothing to turn where nothing satisfies the brief: the reasons say what would have to give.
    """
    able = [one for one in worked if one.status == "satisfies"]
    if not able:
        return ()
    turning, first, currency = Turning(ask, terms), able[0], brief.currency
    titles = {one.candidate.id: short_title(option) for one, option in zip(worked, options, strict=True)}
    scale, denominator = output_scale(one.unit_cost.value for one in options), denominator_of(brief)

    def told(amount: float) -> str:
        return output_cost(amount, currency, denominator, scale)

    alone = len(able) == 1
    found: list[Flip | None] = [Flip("only", "", 0.0, None, "", tr("choose.flip.only"))] if alone else []
    if not alone:
        found += [_price_flip(turning, able, titles, currency, told), _speed_flip(turning, able, titles)]
    if ask is not None:
        now = first.cost.per_accepted_money
        barred = {one.candidate.id for one in worked if one.status == "ruled_out"}
        rivals = [
            one
            for one in worked
            if one is not first
            and (one.cost.per_accepted_money >= now - first.tie_money or _is_only_too_few(one))
            and (one.status != "misses" or _is_only_too_few(one))
        ]
        traffic = _traffic_flips(turning, [first, *rivals], ask, titles, barred)
        found += [flip for flip in traffic if not alone or flip.at is not None]
        found += _barred_flips(
            first, [one for one in worked if one.candidate.id in barred], titles, currency, told
        )
        if not alone:
            found += [_acceptance_flip(turning, able, titles), volume_flip(able, titles, currency)]

        def named(one: Worked) -> str:
            return titles.get(one.candidate.id) or title_of(one, named=several_models(everything))

        found += alternative_flips(first, everything, turning, named, told)
    return tuple(flip for flip in found if flip is not None)


def _price_flip(
    turning: Turning,
    able: Sequence[Worked],
    titles: dict[str, str],
    currency: str,
    told: Callable[[float], str],
) -> Flip | None:
    """Of an accelerator by the hour, or bought; an API's by the output."""
    first = able[0]
    now, unit, key = first.cost.per_accepted_money, currency, "choose.flip.price_of_api"
    if first.tenure is not None:
        now, unit, key = first.tenure.money_per_hour, f"{currency}/h", "choose.flip.price"
        if first.tenure.capacity == "buy":
            offer = first.tenure.offer
            now, unit, key = (
                float(offer.amount) * turning.terms.rate(offer.currency).ratio,
                currency,
                "choose.flip.bought",
            )
        if not now:  # what is held has no price that could rise
            return None

    def said(amount: float) -> str:
        return money(amount, currency) if first.tenure else told(amount)

    turn = turning.turn(able, drivers.price_driver(first), DEARER)
    if turn is None:
        return Flip("price", unit, now, None, "", tr(f"{key}.never", now=said(now)))
    at = now * turn.at if first.tenure else turning.cost(first, drivers.price_driver(first), turn.at)
    now_said = said(now) if first.tenure else said(now).partition(f" {currency} ")[0] + f" {currency}"
    values = {"at": said(at), "now": now_said, "option": titles[turn.key]}
    return Flip("price", unit, now, at, turn.key, tr(f"{key}.at", **values))


def _is_only_too_few(one: Worked) -> bool:
    """What is held and keeps the objectives, but not at this traffic: at less it may do."""
    there = one.replicas_most_count - one.candidate.spare_replicas_count
    return 0 < there < float("inf") and one.wanted_requests_per_s > there * one.capacity_requests_per_s * (
        1 + 1e-9
    )


def _barred_flips(
    first: Worked,
    barred: Sequence[Worked],
    titles: dict[str, str],
    currency: str,
    told: Callable[[float], str],
) -> list[Flip | None]:
    """What the limits of the brief cost: the cheapest option they rule out, when it is cheaper than the winner."""
    now = first.cost.per_accepted_money
    cheaper = [one for one in barred if one.cost.per_accepted_money < now]
    if not cheaper:
        return []
    best = min(cheaper, key=lambda one: one.cost.per_accepted_money)
    at, key = best.cost.per_accepted_money, best.candidate.id
    values = {"option": titles[key], "at": told(at), "saved": percent(1 - at / now)}
    return [Flip("limits", currency, now, at, key, tr("choose.flip.limits.at", **values))]


def _traffic_flips(
    turning: Turning, options: Sequence[Worked], ask: Ask, titles: dict[str, str], barred: set[str]
) -> list[Flip]:
    now = ask.peak_requests_per_s
    found: list[Flip] = []
    for side, values in (("below", LESS_TRAFFIC), ("above", MORE_TRAFFIC)):
        turn = turning.turn(options, "traffic", values)
        if turn is not None:
            said = {"share": percent(turn.at, 3), "rate": rate(now * turn.at), "option": titles[turn.key]}
            sentence = tr(f"choose.flip.traffic.{side}", **said)
            if turn.key in barred:
                sentence = f"{sentence} {tr('choose.flip.if_allowed')}"
            found.append(Flip(f"utilisation_{side}", "req/s", now, now * turn.at, turn.key, sentence))
    if not found:
        found.append(Flip("utilisation", "req/s", now, None, "", tr("choose.flip.traffic.never")))
    return found


def _acceptance_flip(turning: Turning, able: Sequence[Worked], titles: dict[str, str]) -> Flip | None:
    """The acceptance of the winner's model and format below which an option of another format wins."""
    first, driver = able[0], drivers.acceptance_driver(able[0])
    title, form = titles[first.candidate.id], format_of(first)
    now = first.acceptance_ratio
    values: dict[str, object] = {
        "format": form if form != "api" else title[:1].upper() + title[1:],
        "now": percent(now),
    }
    rivals = [one for one in able if drivers.acceptance_driver(one) != driver]
    falling = [now - ACCEPTANCE_STEP * step for step in range(1, int(now / ACCEPTANCE_STEP))]
    turn = turning.turn([first, *rivals], driver, falling, now) if rivals and falling else None
    if turn is None:
        return Flip("acceptance", "", now, None, "", tr("choose.flip.acceptance.never", **values))
    values |= {"at": percent(turn.at, 3), "option": titles[turn.key]}
    return Flip("acceptance", "", now, turn.at, turn.key, tr("choose.flip.acceptance.at", **values))


def _speed_flip(turning: Turning, able: Sequence[Worked], titles: dict[str, str]) -> Flip | None:
    """The speed of the winner below which another option wins: what a benchmark would settle."""
    first = able[0]
    if first.speed is None:
        return None
    turn = turning.turn(able, drivers.speed_driver(first), SLOWER)
    now, unit = first.capacity_requests_per_s, "req/s"
    if isinstance(first.speed, TrainingSpeed):
        now, unit = first.speed.tokens_per_s_per_accelerator, "tok/s"
    if turn is None:
        return Flip("speed", unit, now, None, "", tr("choose.flip.speed.never"))
    values = {
        "at": rate(now * turn.at) if unit == "req/s" else f"{number(now * turn.at)} {unit}",
        "now": rate(now) if unit == "req/s" else f"{number(now)} {unit}",
        "option": titles[turn.key],
    }
    return Flip("speed", unit, now, now * turn.at, turn.key, tr("choose.flip.speed.at", **values))
