"""The few measurements that would settle most: what each is worth, what it costs and what it decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cabida.brief import Brief
from cabida.checks.sentences import short_title
from cabida.choose import drivers
from cabida.choose.options import format_of
from cabida.choose.turns import Turning
from cabida.choose.worked import Worked
from cabida.choose.worth import Known
from cabida.money.terms import Usage
from cabida.plan import Flip, Measurement, Option
from cabida.text import money, number, percent, rate, tr
from cabida.timing import TrainingSpeed
from cabida.units import S_PER_DAY, S_PER_HOUR

API_PROMPTS_COUNT = 1000
BENCH_S = 40 * 60.0  # load, warm-up, a sweep over five rates of five minutes each
STEPS_S = 30 * 60.0  # install, load, and two hundred optimizer steps
REVIEW_PROMPTS_COUNT = 200
SURE_PROBABILITY = 0.9
QUOTE_S = 2 * float(S_PER_DAY)
MOST_TOLD = 5
FASTER = [1.02**step for step in range(1, 120)]
CHEAPER = [0.98**step for step in range(1, 120)]


@dataclass(frozen=True, slots=True)
class Measurable:
    """What to measure before signing, the most telling first, and one sentence about what needs no measuring."""

    measurements: tuple[Measurement, ...] = ()
    note: str = ""


def measurements(
    brief: Brief,
    worked: Sequence[Worked],
    options: Sequence[Option],
    flips: Sequence[Flip],
    known: Known | None = None,
    turning: Turning | None = None,
) -> Measurable:
    """What to measure before signing, by what it is worth less what it costs.

    Where the draws tell what knowing a speed, an acceptance or a price is worth, what costs more than that is left
    out, and the note says so. Where they don't: speed where its flip point lies within its interval or the winner
    isn't sure; acceptance where nobody measured it and a flip point exists; a firm price where the shown one is old or
    of unknown date. ``worked`` and ``options`` go in step, the winner first.
    """
    if not worked:
        return Measurable()
    known = known or Known()
    first, option = worked[0], options[0]
    found = [
        _speed(first, option, flips, known),
        _latency_of_api(first, option, brief),
        _acceptance(first, option, flips, brief),
        _price(first, option, flips, known),
        *(first.beside.measurements() if first.beside is not None else ()),
        *_rivals(worked, options, known, turning, brief),
    ]
    all_told = [_with_worth(item, known) for item in found if item is not None]
    kept = [item for item in all_told if item.worth_money is None or item.worth_money > item.cost_money]
    said = {item.driver for item in kept if item.option == option.id}
    kept = sorted(kept, key=lambda item: -_net_money(item))[:MOST_TOLD]
    return Measurable(tuple(kept), _note(known, option, first, said))


def _net_money(one: Measurement) -> float:
    """Worth less cost; what nobody knows the worth of counts as worth its cost."""
    return one.worth_money - one.cost_money if one.worth_money is not None else 0.0


def _with_worth(one: Measurement, known: Known) -> Measurement:
    worth = known.of(one.option, one.driver)
    if worth is None or not one.driver:
        return one
    return replace(
        one,
        worth_money=worth.worth_money,
        worth_per_month_money=worth.per_month_money,
        perfect_money=worth.perfect_money,
    )


def _note(known: Known, option: Option, first: Worked, said: set[str]) -> str:
    """What of the first option needs no measuring: it can't change the choice, or costs more than it is worth."""
    idle = [one for one in known.worths if one.option == option.id and one.driver not in said]
    if first.acceptance.grade == "measured":
        idle = [one for one in idle if one.driver != "acceptance"]
    parts = []
    for key, some in (
        ("never", [one for one in idle if one.worth_money <= 0]),
        ("dear", [one for one in idle if one.worth_money > 0]),
    ):
        if some:
            names = ", ".join(tr(f"choose.worth.{one.driver}") for one in some)
            parts.append(tr(f"choose.worth.{key}", names=names, option=short_title(option)))
    return " ".join(parts)


def _speed(first: Worked, option: Option, flips: Sequence[Flip], known: Known) -> Measurement | None:
    if first.speed is None or first.tenure is None or first.status != "satisfies":
        return None
    flip = next((one for one in flips if one.name == "speed"), None)
    near = (
        flip is not None and flip.at is not None and flip.at > flip.now * (1 - 2 * drivers.speed_sigma(first))
    )
    if known.of(option.id, "speed") is None and option.best_probability >= SURE_PROBABILITY and not near:
        return None
    training = first.candidate.run is not None
    rival = flip.flips_to if flip and flip.flips_to else ""
    values = {
        "probability": percent(option.best_probability),
        "at": (number if training else rate)(flip.at) if flip and flip.at else "–",
    }
    key = "steps" if training else "speed"
    return Measurement(
        what=tr(f"choose.measure.{key}.what", option=short_title(option)),
        decides=tr(f"choose.measure.{key}.decides" if rival else "choose.measure.speed.confirms", **values),
        duration_s=STEPS_S if training else BENCH_S,
        cost_money=_bench_money(first),
        command=option.command,
        option=option.id,
        driver="speed",
        turns_at=flip.at if flip else None,
        turns_side="below" if rival else "",
        turns_to=rival,
    )


def _bench_money(one: Worked) -> float:
    """Rent of one replica, or of a whole training run, for as long as its benchmark takes."""
    if one.tenure is None:
        return 0.0
    seconds = STEPS_S if one.candidate.run is not None else BENCH_S
    replica = one.candidate.deployment
    count = replica.parallel.accelerators_count if replica else one.tenure.accelerators_count
    return one.tenure.money_per_hour * count * seconds / float(S_PER_HOUR)


def _rivals(
    worked: Sequence[Worked],
    options: Sequence[Option],
    known: Known,
    turning: Turning | None,
    brief: Brief,
) -> Iterator[Measurement]:
    """Speed and price of what may win instead, where knowing it is worth something."""
    for one, option in zip(worked[1:], options[1:], strict=True):
        for driver in ("speed", "price"):
            worth = known.of(option.id, driver)
            cost = _bench_money(one) if driver == "speed" else 0.0
            if worth is None or worth.worth_money <= cost or one.tenure is None:
                continue
            at = _turn(worked[0], one, driver, turning)
            yield _of_rival(one, option, driver, at, cost, brief)


def _turn(first: Worked, rival: Worked, driver: str, turning: Turning | None) -> float | None:
    """How fast or cheap a rival has to be to win, over what is taken of it."""
    if turning is None:
        return None
    key, values = drivers.speed_driver(rival), FASTER
    if driver == "price":
        key, values = drivers.price_driver(rival), CHEAPER
    same = drivers.speed_driver(first) if driver == "speed" else drivers.price_driver(first)
    found = turning.turn([first, rival], key, values) if key != same else None
    return found.at if found else None


def _of_rival(
    one: Worked, option: Option, driver: str, turn: float | None, cost: float, brief: Brief
) -> Measurement:
    tenure, training = one.tenure, isinstance(one.speed, TrainingSpeed)
    assert tenure is not None
    now = tenure.money_per_hour
    if driver == "speed":
        now = one.capacity_requests_per_s
        now = one.speed.tokens_per_s_per_accelerator if isinstance(one.speed, TrainingSpeed) else now
    at = now * turn if turn is not None and now else None
    key = ("steps" if training else "speed") if driver == "speed" else "price"
    values: dict[str, object] = {"option": short_title(option), "provider": option.provider}
    values["seen"] = option.price_seen or "?"
    if at is not None:
        shown = rate(at) if key == "speed" else number(at) if key == "steps" else money(at, brief.currency)
        values["at"] = shown
    seconds = (STEPS_S if training else BENCH_S) if driver == "speed" else QUOTE_S
    return Measurement(
        what=tr(f"choose.measure.rival_{key}.what", **values),
        decides=tr(
            f"choose.measure.rival_{key}.decides" if at is not None else "choose.measure.rival.decides",
            **values,
        ),
        duration_s=seconds,
        cost_money=cost,
        command=option.command if driver == "speed" else "",
        option=option.id,
        driver=driver,
        turns_at=at,
        turns_side="" if at is None else "above" if driver == "speed" else "below",
        turns_to=option.id if at is not None else "",
    )


def _latency_of_api(first: Worked, option: Option, brief: Brief) -> Measurement | None:
    """Nobody but its users knows how fast an API answers at one's own rate."""
    usage = first.usage
    if first.candidate.api is None or not isinstance(usage, Usage) or not brief.objectives.latency_s:
        return None
    paid = sum(line.money for line in first.cost.lines if line.key in ("compute", "retries_waste"))
    asked = ", ".join(
        f"{name.upper()} {one}" for name, limits in brief.objectives.latency_s.items() for one in limits
    )
    values = {"option": short_title(option), "count": number(API_PROMPTS_COUNT, 6), "asked": asked}
    return Measurement(
        what=tr("choose.measure.api.what", **values),
        decides=tr("choose.measure.api.decides", **values),
        duration_s=float(S_PER_HOUR),
        cost_money=paid / usage.requests_per_month * API_PROMPTS_COUNT,
        command="",
        option=option.id,
        driver="latency",
    )


def _acceptance(first: Worked, option: Option, flips: Sequence[Flip], brief: Brief) -> Measurement | None:
    flip = next((one for one in flips if one.name == "acceptance" and one.at is not None), None)
    if flip is None or first.acceptance.grade == "measured" or flip.at is None:
        return None
    review = brief.costs.review_money_per_output or 0.0
    name = short_title(option) if first.candidate.api else format_of(first)
    values = {"format": name, "at": percent(flip.at, 3), "count": number(REVIEW_PROMPTS_COUNT, 6)}
    return Measurement(
        what=tr("choose.measure.acceptance.what", **values),
        decides=tr("choose.measure.acceptance.decides", **values),
        duration_s=4 * float(S_PER_HOUR),
        cost_money=review * REVIEW_PROMPTS_COUNT,
        command="",
        option=option.id,
        driver="acceptance",
        turns_at=flip.at,
        turns_side="below",
        turns_to=flip.flips_to,
    )


def _price(first: Worked, option: Option, flips: Sequence[Flip], known: Known) -> Measurement | None:
    flags, worth = first.tenure.flags if first.tenure else (), known.of(option.id, "price")
    told = worth is not None and worth.worth_money > 0
    if not told and not {"stale", "undated", "assumed", "marketplace"} & set(flags):
        return None
    flip = next((one for one in flips if one.name == "price" and one.at is not None), None)
    return Measurement(
        what=tr("choose.measure.price.what", provider=option.provider, seen=option.price_seen or "?"),
        decides=tr("choose.measure.price.decides"),
        duration_s=QUOTE_S,
        cost_money=0.0,
        command="",
        option=option.id,
        driver="price",
        turns_at=flip.at if flip else None,
        turns_side="above" if flip else "",
        turns_to=flip.flips_to if flip else "",
    )
