"""The two or three measurements that would settle most, with what they cost and what they decide."""

from __future__ import annotations

from collections.abc import Sequence

from cabida.brief import Brief
from cabida.checks.sentences import short_title
from cabida.choose import drivers
from cabida.choose.options import format_of
from cabida.choose.worked import Worked
from cabida.money.terms import Usage
from cabida.plan import Flip, Measurement, Option
from cabida.text import number, percent, rate, tr
from cabida.units import S_PER_DAY, S_PER_HOUR

API_PROMPTS_COUNT = 1000
BENCH_S = 40 * 60.0  # load, warm-up, a sweep over five rates of five minutes each
STEPS_S = 30 * 60.0  # install, load, and two hundred optimizer steps
REVIEW_PROMPTS_COUNT = 200
SURE_PROBABILITY = 0.9


def measurements(
    brief: Brief,
    worked: Sequence[Worked],
    options: Sequence[Option],
    flips: Sequence[Flip],
) -> tuple[Measurement, ...]:
    """What to measure before signing, the most telling first.

    Speed where its flip point lies within its interval or the winner isn't sure; acceptance where nobody
    measured it and a flip point exists; a firm price where the shown one is old or of unknown date.
    """
    if not worked:
        return ()
    first, option = worked[0], options[0]
    found = [
        _speed(first, option, flips),
        _latency_of_api(first, option, brief),
        _acceptance(first, option, flips, brief),
        _price(first, option),
        *(first.beside.measurements() if first.beside is not None else ()),
    ]
    return tuple(item for item in found if item is not None)


def _speed(first: Worked, option: Option, flips: Sequence[Flip]) -> Measurement | None:
    if first.speed is None or first.tenure is None or first.status != "satisfies":
        return None
    flip = next((one for one in flips if one.name == "speed"), None)
    near = (
        flip is not None and flip.at is not None and flip.at > flip.now * (1 - 2 * drivers.speed_sigma(first))
    )
    if option.best_probability >= SURE_PROBABILITY and not near:
        return None
    training = first.candidate.run is not None
    seconds = STEPS_S if training else BENCH_S
    replica = first.candidate.deployment
    count = replica.parallel.accelerators_count if replica else first.tenure.accelerators_count
    money = first.tenure.money_per_hour * count * seconds / float(S_PER_HOUR)
    rival = flip.flips_to if flip and flip.flips_to else ""
    values = {
        "probability": percent(option.best_probability),
        "at": (number if training else rate)(flip.at) if flip and flip.at else "–",
    }
    key = "steps" if training else "speed"
    return Measurement(
        what=tr(f"choose.measure.{key}.what", option=short_title(option)),
        decides=tr(f"choose.measure.{key}.decides" if rival else "choose.measure.speed.confirms", **values),
        duration_s=seconds,
        cost_money=money,
        command=option.command,
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
    )


def _price(first: Worked, option: Option) -> Measurement | None:
    flags = first.tenure.flags if first.tenure else ()
    if not {"stale", "undated", "assumed", "marketplace"} & set(flags):
        return None
    return Measurement(
        what=tr("choose.measure.price.what", provider=option.provider, seen=option.price_seen or "?"),
        decides=tr("choose.measure.price.decides"),
        duration_s=2 * float(S_PER_DAY),
        cost_money=0.0,
        command="",
    )
