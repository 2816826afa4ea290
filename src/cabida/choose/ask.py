"""What a brief asks of a service, in the timing room's words: load, objectives, peak, hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from cabida.brief import Brief
from cabida.money.bills.idle import busy_ratio, on_replicas_count, switched_hours_per_month
from cabida.money.bills.unit import attempts_ratio
from cabida.money.terms import LoadCurve, Usage
from cabida.plan import Assumption, Load
from cabida.quantity import formula
from cabida.text import number, percent, tr
from cabida.timing.sizing.profile import needed_replicas_count
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR, S_PER_HOUR

RISK_MARGINS = {"low": 1.25, "medium": 1.1, "high": 1.0}  # capacity held over the predicted need
ASSUMED_TTFT_S, ASSUMED_ITL_S = 1.0, 0.05  # of a service asked for by concurrency without objectives
ASSUMED_WINDOW_S = 8 * float(S_PER_HOUR)
ASSUMED_RUNS_PER_MONTH = 30.0  # a batch every night
HOURS_PER_DAY = 24
START_UP_HOURS = 0.25  # image, weights and warm-up of a replica or of a batch run


@formula
def needed_requests_per_s(peak_requests_per_s: float, attempts_ratio: float, margin_ratio: float) -> float:
    """Attempts per second that must be held at the peak: repeats included, with a margin for risk."""
    return peak_requests_per_s * attempts_ratio * margin_ratio


@dataclass(frozen=True, slots=True)
class Ask:
    """A service's demand, all replicas together. Rates are first attempts; ``wanted`` includes repeats and margin."""

    shape: Load
    objectives: dict[str, float]  # "ttft_s_p95" -> seconds at most
    mean_requests_per_s: float
    peak_requests_per_s: float
    requests_per_month: float
    profile: tuple[float, ...]
    tries_count: int
    failure_ratio: float
    margin_ratio: float
    batch: bool
    runs_per_month: float
    items_count: float
    growth_ratio: float  # the planned traffic over today's
    review_money_per_output: float
    assumptions: tuple[Assumption, ...]
    timezone: str = ""  # of the profile; "" = not said, taken as UTC

    def attempts_ratio(self, acceptance_ratio: float) -> float:
        """Attempts per request at an acceptance."""
        return float(attempts_ratio.raw(self.failure_ratio, acceptance_ratio, self.tries_count))

    def wanted_requests_per_s(self, acceptance_ratio: float) -> float:
        """Attempts per second that must be held at the peak, with the margin for risk."""
        attempts = self.attempts_ratio(acceptance_ratio)
        return float(needed_requests_per_s.raw(self.peak_requests_per_s, attempts, self.margin_ratio))


def ask_of(brief: Brief) -> Ask:
    """The demand in a completed brief of an inference class."""
    traffic = brief.traffic
    if traffic.input is None or traffic.output is None:
        message = "a completed inference brief has token lengths"
        raise ValueError(message)
    shape = Load(
        input_tokens=traffic.input.mean_tokens,
        output_tokens=traffic.output.mean_tokens,
        requests_per_s=1.0,
        input_spread_ratio=traffic.input.spread_ratio,
        output_spread_ratio=traffic.output.spread_ratio,
        shared_prefix_tokens=traffic.shared_prefix_tokens,
        burst_ratio=traffic.burst_ratio,
    )
    objectives = {
        f"{metric}_s_{statistic}": limit_s
        for metric, limits in brief.objectives.latency_s.items()
        for statistic, limit_s in limits.items()
    }
    batch = brief.workload == "batch-inference"
    mean, peak, assumptions = _batch_rates(brief) if batch else _rates(brief, objectives)
    runs = traffic.runs_per_month or ASSUMED_RUNS_PER_MONTH
    items = traffic.items_count or 0.0
    throughput = brief.objectives.throughput_tokens_per_s
    if throughput:
        peak = max(peak, throughput / traffic.output.mean_tokens)
    growth = growth_ratio(brief)
    mean, peak, items = mean * growth, peak * growth, items * growth
    return Ask(
        shape=shape,
        objectives={} if batch else objectives,
        mean_requests_per_s=mean,
        peak_requests_per_s=peak,
        requests_per_month=items * runs if batch else mean * float(HOURS_PER_MONTH) * float(S_PER_HOUR),
        profile=traffic.profile,
        tries_count=brief.retries_count + 1,
        failure_ratio=brief.failure_ratio,
        margin_ratio=RISK_MARGINS[brief.limits.risk],
        batch=batch,
        runs_per_month=runs,
        items_count=items,
        growth_ratio=growth,
        review_money_per_output=brief.costs.review_money_per_output or 0.0,
        assumptions=(*assumptions, *_growth(brief, growth), _margin(brief)),
        timezone=traffic.timezone,
    )


def growth_ratio(brief: Brief) -> float:
    """Traffic at the middle of the horizon over today's: what a plan made once for all of it meets on average."""
    years = (brief.horizon_months or 0.0) / float(MONTHS_PER_YEAR)
    return float((1 + brief.traffic.growth_per_year_ratio) ** (years / 2))


def _growth(brief: Brief, growth: float) -> tuple[Assumption, ...]:
    if growth == 1.0:
        return ()
    values = {"yearly": percent(brief.traffic.growth_per_year_ratio), "end": number(growth**2)}
    return (
        Assumption(
            "planned_traffic_ratio",
            number(growth),
            tr("choose.assume.growth.why", **values),
            tr("choose.assume.growth.how"),
        ),
    )


def _margin(brief: Brief) -> Assumption:
    ratio = RISK_MARGINS[brief.limits.risk]
    why = tr("choose.assume.margin.why", risk=tr(f"choose.risk.{brief.limits.risk}"))
    return Assumption("capacity_margin_ratio", number(ratio), why, tr("choose.assume.margin.how"))


def _batch_rates(brief: Brief) -> tuple[float, float, list[Assumption]]:
    window = brief.traffic.window_s or brief.objectives.deadline_s or ASSUMED_WINDOW_S
    start_up = min(START_UP_HOURS * float(S_PER_HOUR), window / 2)
    rate = (brief.traffic.items_count or 0.0) / (window - start_up)
    return rate, rate, []


def _rates(brief: Brief, objectives: dict[str, float]) -> tuple[float, float, list[Assumption]]:
    """Mean and peak request rate; a concurrency becomes the rate at which answers take as long as is allowed."""
    traffic = brief.traffic
    tallest = max(traffic.profile)
    if traffic.requests_per_s_mean is not None:
        mean = traffic.requests_per_s_mean
        return mean, traffic.requests_per_s_peak or mean * tallest, []
    if traffic.requests_per_s_peak is not None:
        return traffic.requests_per_s_peak / tallest, traffic.requests_per_s_peak, []
    output = traffic.output.mean_tokens if traffic.output else 1.0
    ttft = min((v for name, v in objectives.items() if name.startswith("ttft")), default=ASSUMED_TTFT_S)
    gap = min((v for name, v in objectives.items() if name[:3] in ("tpo", "itl")), default=ASSUMED_ITL_S)
    whole = min((v for name, v in objectives.items() if name.startswith("e2e")), default=ttft + output * gap)
    peak = (traffic.concurrency or 1.0) / whole
    why = tr("choose.assume.concurrency.why", seconds=number(whole))
    taken = Assumption("requests_per_s", number(peak), why, tr("choose.assume.concurrency.how"))
    return peak / tallest, peak, [taken]


@dataclass(frozen=True, slots=True)
class Shift:
    """How many replicas work through a month, and how busy they are."""

    replicas_count: int  # at the peak, spares left out
    active_hours_per_month: float  # of each of them when those not needed are switched off
    utilisation_ratio: float  # of the serving replicas, while on
    curve: LoadCurve | None = None  # the hours those two come from


def shift_of(ask: Ask, capacity_requests_per_s: float, acceptance_ratio: float) -> Shift:
    """Replicas for the peak, and the hours they are on when they follow the demand hour by hour.

    The money room adds the spares, which are on at all hours: a breakdown at night is covered too.
    """
    wanted = ask.wanted_requests_per_s(acceptance_ratio)
    replicas = int(needed_replicas_count.raw(wanted, capacity_requests_per_s))
    attempts = ask.attempts_ratio(acceptance_ratio)
    if ask.batch:
        hours = ask.items_count * attempts / (capacity_requests_per_s * replicas) / float(S_PER_HOUR)
        monthly = min(float(HOURS_PER_MONTH), (hours + START_UP_HOURS) * ask.runs_per_month)
        return Shift(replicas, monthly, hours / (hours + START_UP_HOURS))
    needed = needed_by_hour(ask, capacity_requests_per_s, acceptance_ratio)
    hours, starts = len(needed), _switched_on(needed)
    mean, attempted = sum(needed) / hours, ask.mean_requests_per_s * attempts
    on = on_replicas_count.raw(mean, starts, START_UP_HOURS, hours, replicas)
    curve = LoadCurve(
        mean, starts, float(hours), START_UP_HOURS, replicas, attempted, capacity_requests_per_s
    )
    return Shift(
        replicas,
        switched_hours_per_month.raw(on, replicas),
        busy_ratio.raw(attempted, capacity_requests_per_s, on),
        curve,
    )


def needed_by_hour(ask: Ask, capacity_requests_per_s: float, acceptance_ratio: float) -> list[int]:
    """Replicas each hour of the profile takes, spares left out."""
    wanted, tallest = ask.wanted_requests_per_s(acceptance_ratio), max(ask.profile)
    counts = {
        weight: int(needed_replicas_count.raw(wanted * weight / tallest, capacity_requests_per_s))
        for weight in set(ask.profile)
    }
    return [counts[weight] for weight in ask.profile]


def _switched_on(needed: Sequence[int]) -> int:
    """How often a replica is started while the profile goes round; each time it is paid before it serves."""
    pairs = zip((needed[-1], *needed), needed, strict=False)
    return sum(now - before for before, now in pairs if now > before)


def usage_of(ask: Ask, acceptance_ratio: float, shift: Shift) -> Usage:
    """The month as the money room wants it."""
    cached = ask.shape.shared_prefix_tokens / ask.shape.input_tokens if ask.shape.input_tokens else 0.0
    return Usage(
        requests_per_month=ask.requests_per_month,
        input_tokens=ask.shape.input_tokens,
        output_tokens=ask.shape.output_tokens,
        cached_ratio=min(1.0, cached),
        acceptance_ratio=acceptance_ratio,
        failure_ratio=ask.failure_ratio,
        tries_count=float(ask.tries_count),
        utilisation_ratio=shift.utilisation_ratio,
        active_hours_per_month=shift.active_hours_per_month,
        review_money_per_output=ask.review_money_per_output,
        batch=ask.batch,
        profile=ask.profile,
        curve=shift.curve,
        runs_per_month=ask.runs_per_month if ask.batch else 0.0,
        hours_utc=hours_utc(ask.profile, ask.timezone),
        input_spread_ratio=ask.shape.input_spread_ratio,
        shared_prefix_tokens=ask.shape.shared_prefix_tokens,
    )


@cache
def hours_utc(profile: tuple[float, ...], timezone: str) -> tuple[float, ...]:
    """Share of the requests in each hour of the day, UTC, half of the year at winter's time and half at summer's.

    ``profile``: 24 or 168 hourly weights at ``timezone``'s clock. An even one gives (): no hour is unlike another.
    """
    day = [sum(profile[hour::HOURS_PER_DAY]) for hour in range(HOURS_PER_DAY)]
    if len(set(profile)) == 1 or len(profile) % HOURS_PER_DAY:
        return ()
    shares = [0.0] * HOURS_PER_DAY
    for month in (1, 7):
        ahead = ahead_hours(timezone, month)
        for hour, weight in enumerate(day):
            first = (hour - ahead) % HOURS_PER_DAY
            part = first - int(first)
            shares[int(first)] += weight * (1 - part) / 2 / sum(day)
            shares[(int(first) + 1) % HOURS_PER_DAY] += weight * part / 2 / sum(day)
    return tuple(shares)


def ahead_hours(timezone: str, month: int) -> float:
    """How far a place's clock is ahead of UTC in the middle of a month."""
    if not timezone:
        return 0.0
    from datetime import datetime
    from zoneinfo import ZoneInfo

    ahead = datetime(2026, month, 15, 12, tzinfo=ZoneInfo(timezone)).utcoffset()
    return ahead.total_seconds() / float(S_PER_HOUR) if ahead else 0.0


def objective_name(name: str) -> str:
    """``ttft_s_p95`` as people say it: ``TTFT p95``."""
    metric, _, statistic = name.partition("_s_")
    return f"{tr(f'report.metric.{metric}')} {statistic}" if statistic else tr(f"choose.limited_by.{name}")
