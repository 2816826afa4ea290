"""What would change the answer, as sentences: flips of price, traffic, speed and acceptance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from cabida.brief import Brief
from cabida.checks.sentences import short_title
from cabida.choose.ask import Ask
from cabida.choose.doubt import (
    Z90,
    Stake,
    Turn,
    acceptance_turn,
    price_turn,
    speed_turn,
    traffic_turns,
    unit_cost,
)
from cabida.choose.options import capacity_factors, format_of, model_of
from cabida.choose.worked import Worked
from cabida.money.bills.serving import HELD
from cabida.money.hold.paths import OWNER
from cabida.money.terms import TrainingUse
from cabida.plan import Flip, Option
from cabida.plan.outputs import denominator_of, output_cost, output_scale
from cabida.text import money, number, percent, rate, tr
from cabida.timing import TrainingSpeed

API_PRICE_FACTORS = (0.95, 1.05)  # interval of a published price, assumed
ACCEPTANCE_SIGMAS = {"measured": 0.01, "quoted": 0.02}  # 400 judged answers at 0.95 err by 0.011
ACCEPTANCE_SIGMA_ELSE = 0.03  # assumed
TRAINING_HELD = ("compute", "failed_runs", "idle", "platform_labour", *OWNER)


def sigma_of(factors: tuple[float, float]) -> float:
    """Standard deviation of the logarithm from the factors of a 90 % interval."""
    return math.log(factors[1] / factors[0]) / (2 * Z90) if factors[0] > 0 else 0.0


def middle_of(factors: tuple[float, float], at: float) -> float:
    """Middle of the logarithm of an interval over a value: 0 for one that is as wide both ways."""
    return 0.5 * math.log(factors[0] * factors[1] / (at * at)) if factors[0] > 0 and at > 0 else 0.0


def speed_factors(one: Worked) -> tuple[float, float]:
    """Interval factors of how fast an option works: its capacity, or the tokens per second of a run."""
    spread = one.speed.spread if one.speed else {}
    if isinstance(one.speed, TrainingSpeed):
        return spread.get("tokens_per_s_per_accelerator", (1.0, 1.0))
    return capacity_factors(spread)


def stake_of(one: Worked, ask: Ask | None) -> Stake:
    """What doubt needs to know of a worked candidate."""
    thing = one.candidate.thing
    tenure, cost, api = one.tenure, one.cost, one.candidate.api
    training = isinstance(one.usage, TrainingUse)
    keys = TRAINING_HELD if training else (*HELD, *OWNER)
    held = sum(line.money for line in cost.lines if line.key in keys)
    price = (tenure.low_money_per_hour, tenure.high_money_per_hour) if tenure else API_PRICE_FACTORS
    factors = speed_factors(one)
    outputs = 1.0 if training else getattr(one.usage, "requests_per_month", 1.0)
    attempts = ask.attempts_ratio(one.acceptance_ratio) if ask else 1.0
    return Stake(
        key=one.candidate.id,
        engine=getattr(thing, "engine", "") or getattr(thing, "framework", ""),
        accelerator=thing.accelerator.id if thing else "",
        model=model_of(one),
        held_money=0.0 if api else held,
        other_money=cost.per_month_money - held,
        capacity=one.capacity_requests_per_s or 1.0,
        wanted=one.wanted_requests_per_s if thing and not training else 0.0,
        spare_count=one.candidate.spare_replicas_count,
        outputs=outputs,
        acceptance_ratio=one.acceptance_ratio,
        tries_count=ask.tries_count if ask else 1,
        failure_ratio=ask.failure_ratio if ask else 0.0,
        speed_sigma=sigma_of(factors),
        speed_shift=middle_of(factors, 1.0),
        price_sigma=sigma_of(price) if price[0] > 0 else 0.0,
        price_shift=middle_of(price, tenure.money_per_hour if tenure else 1.0),
        money_low_ratio=cost.per_accepted_low / cost.per_accepted_money if cost.per_accepted_money else 1.0,
        money_high_ratio=cost.per_accepted_high / cost.per_accepted_money if cost.per_accepted_money else 1.0,
        replicas_most_count=one.replicas_most_count,
        acceptance_sigma=0.0
        if training
        else ACCEPTANCE_SIGMAS.get(one.acceptance.grade, ACCEPTANCE_SIGMA_ELSE),
        format=format_of(one),
        per_output_money=held / (outputs * attempts) if api else 0.0,
    )


def flips(
    brief: Brief, worked: Sequence[Worked], options: Sequence[Option], ask: Ask | None, currency: str
) -> tuple[Flip, ...]:
    """Where each input turns the answer. ``worked`` and ``options`` go in step, the winner first.

    There is nothing to turn where nothing satisfies the brief: the reasons say what would have to give.
    """
    if not any(one.status == "satisfies" for one in worked):
        return ()
    stakes = [stake_of(one, ask) for one in worked]
    titles = {stake.key: short_title(option) for stake, option in zip(stakes, options, strict=True)}
    able = [stake for stake, one in zip(stakes, worked, strict=True) if one.status == "satisfies"]
    winner, first = able[0], worked[stakes.index(able[0])]
    scale, denominator = output_scale(one.unit_cost.value for one in options), denominator_of(brief)

    def told(amount: float) -> str:
        return output_cost(amount, currency, denominator, scale)

    found = [_price_flip(able, first, titles, currency, told), _speed_flip(able, first, titles)]
    if ask is not None:
        now = float(unit_cost(winner))
        barred = {s.key for s, one in zip(stakes, worked, strict=True) if one.status == "ruled_out"}
        missing = {s.key for s, one in zip(stakes, worked, strict=True) if one.status == "misses"}
        rivals = [
            s
            for s in stakes
            if s.key != winner.key
            and (float(unit_cost(s)) >= now or not s.carries(1.0))
            and (s.key not in missing or _is_only_too_few(s))
        ]
        found += _traffic_flips([winner, *rivals], ask, titles, barred)
        found += _barred_flips(winner, [s for s in stakes if s.key in barred], titles, currency, told)
        found.append(_acceptance_flip(able, titles))
    return tuple(flip for flip in found if flip is not None)


def _price_flip(
    stakes: Sequence[Stake],
    first: Worked,
    titles: dict[str, str],
    currency: str,
    told: Callable[[float], str],
) -> Flip | None:
    """Of an accelerator by the hour; an API's by the output."""
    now, unit, key = first.cost.per_accepted_money, currency, "choose.flip.price_of_api"
    if first.tenure:
        now, unit, key = first.tenure.money_per_hour, f"{currency}/h", "choose.flip.price"
        if not now:  # what is held has no price that could rise
            return None

    def said(amount: float) -> str:
        return money(amount, currency) if first.tenure else told(amount)

    turn = price_turn(stakes)
    if turn is None:
        return Flip("price", unit, now, None, "", tr(f"{key}.never", now=said(now)))
    at = now * turn.at if first.tenure else float(unit_cost(stakes[0], price=turn.at))
    now_said = said(now) if first.tenure else said(now).partition(f" {currency} ")[0] + f" {currency}"
    values = {"at": said(at), "now": now_said, "option": titles[turn.key]}
    return Flip("price", unit, now, at, turn.key, tr(f"{key}.at", **values))


def _is_only_too_few(stake: Stake) -> bool:
    """What is held and keeps the objectives, but not at this traffic: at less it may do."""
    return stake.replicas_most_count < float("inf") and not stake.carries(1.0)


def _barred_flips(
    winner: Stake,
    barred: Sequence[Stake],
    titles: dict[str, str],
    currency: str,
    told: Callable[[float], str],
) -> list[Flip | None]:
    """What the limits of the brief cost: the cheapest option they rule out, when it is cheaper than the winner."""
    now = float(unit_cost(winner))
    cheaper = [stake for stake in barred if float(unit_cost(stake)) < now]
    if not cheaper:
        return []
    best = min(cheaper, key=lambda stake: float(unit_cost(stake)))
    at = float(unit_cost(best))
    values = {"option": titles[best.key], "at": told(at), "saved": percent(1 - at / now)}
    return [Flip("limits", currency, now, at, best.key, tr("choose.flip.limits.at", **values))]


def _traffic_flips(
    stakes: Sequence[Stake], ask: Ask, titles: dict[str, str], barred: set[str]
) -> list[Flip | None]:
    below, above = traffic_turns(stakes)
    now = ask.peak_requests_per_s
    found: list[Flip | None] = []
    for side, turn in (("below", below), ("above", above)):
        if turn is not None:
            values = {"share": percent(turn.at, 3), "rate": rate(now * turn.at), "option": titles[turn.key]}
            sentence = tr(f"choose.flip.traffic.{side}", **values)
            if turn.key in barred:
                sentence = f"{sentence} {tr('choose.flip.if_allowed')}"
            found.append(Flip(f"utilisation_{side}", "req/s", now, now * turn.at, turn.key, sentence))
    if not found:
        found.append(Flip("utilisation", "req/s", now, None, "", tr("choose.flip.traffic.never")))
    return found


def _acceptance_flip(stakes: Sequence[Stake], titles: dict[str, str]) -> Flip | None:
    winner = stakes[0]
    turn = acceptance_turn(stakes)
    title = titles[winner.key]
    name = winner.format if winner.format != "api" else title[:1].upper() + title[1:]
    values: dict[str, object] = {"format": name, "now": percent(winner.acceptance_ratio)}
    if turn is None:
        return Flip(
            "acceptance", "", winner.acceptance_ratio, None, "", tr("choose.flip.acceptance.never", **values)
        )
    values |= {"at": percent(turn.at, 3), "option": titles[turn.key]}
    sentence = tr("choose.flip.acceptance.at", **values)
    return Flip("acceptance", "", winner.acceptance_ratio, turn.at, turn.key, sentence)


def _speed_flip(stakes: Sequence[Stake], first: Worked, titles: dict[str, str]) -> Flip | None:
    turn: Turn | None = speed_turn(stakes) if first.speed else None
    if first.speed is None:
        return None
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
