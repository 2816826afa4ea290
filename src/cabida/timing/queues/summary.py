"""What a run says: rates, latencies, goodput, how the cache and the queue fared, and how sure all that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida.plan.decision import QUANTILES
from cabida.timing.intervals import factors
from cabida.timing.queues import columns as col
from cabida.timing.queues.steady import half_width_ratio, warm_up_count
from cabida.timing.speed import Distribution, ServingSpeed, alike, from_sorted_quantiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.plan import Load
    from cabida.timing.queues.fleet import Fleet

    Floats = NDArray[np.float64]

# of the offered rate, what nineteen timed runs in twenty answer until their last request is done: the server logs of
# MLPerf inference 5.1 (cases/serving.jsonl, 164 runs)
KEPT_RATIO = 0.97
# growth of waiting that says saturated, over the span of arrivals and over the mean service: assumed
STEADY_RATIO, SERVED_RATIO = 0.15, 0.25
LATEST_RATIO = 1.05  # a line that keeps up takes requests up over no more of this times the span they came in


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished run, requests in order of arrival, those that never fit left out. Seconds."""

    sent_s: Floats
    scheduled_s: Floats
    first_s: Floats
    last_s: Floats
    input_tokens: Floats
    output_tokens: Floats
    gaps: Floats
    totals: Floats
    refused_count: int
    rows_count: int  # replicas and their ranks
    kv_tokens: float  # of one of them
    slots_count: float
    launch_s: float
    outside_s: Floats  # of each request's latency, what passes outside the engine
    delay_steps: float
    clients: int
    trim: bool
    first_token_ratio: float = 1.0  # what the user's own observations say (own.py)


def joined(ready: Fleet, rows: Floats, *, delay_steps: float, clients: int, trim: bool) -> Outcome:
    """A run's requests and counts.

    Args:
        ready: the fleet that served.
        rows: the requests it served.
        delay_steps: steps' worth of time a first token is late by, as the measuring tool sees it.
        clients: of a closed loop; 0 = open arrivals.
        trim: leave out what comes before the steady part.
    """
    import numpy as np

    model, last = ready.pools[0].model, ready.pools[-1]
    served = rows[:, col.LAST] >= 0
    order = np.flatnonzero(served)[np.argsort(rows[served, col.SENT], kind="stable")]
    there = rows[order]
    outside_s = model.request_s + model.scheduler.front_s_per_token * there[:, col.INPUT]
    return Outcome(
        sent_s=there[:, col.SENT], scheduled_s=there[:, col.SCHEDULED],
        first_s=there[:, col.FIRST] + outside_s, last_s=there[:, col.LAST] + outside_s,
        input_tokens=there[:, col.INPUT], output_tokens=there[:, col.OUTPUT],
        gaps=ready.arrays["gaps"], totals=ready.totals, refused_count=int((~served).sum()),
        rows_count=last.rows_count, kv_tokens=last.model.kv_tokens,
        slots_count=float(last.model.sequences_most_count * last.rows_count), launch_s=model.launch_s,
        outside_s=outside_s, delay_steps=delay_steps, clients=clients, trim=trim,
        first_token_ratio=model.first_token_ratio,
    )  # fmt: skip


def summary(
    run: Outcome, spread: dict[str, tuple[float, float]], limits: Mapping[str, float] | None = None
) -> ServingSpeed:
    """The speed a run shows.

    Args:
        run: what was served.
        spread: interval factors the speed is to carry.
        limits: seconds at most by ``ttft_s``, ``tpot_s``, ``e2e_s`` of a request that counts as good.
    """
    import numpy as np

    total = len(run.sent_s)
    if not total:
        return _nothing(spread)
    skipped = _warm_up(run)
    first, last, sent = run.first_s[skipped:], run.last_s[skipped:], run.sent_s[skipped:]
    outputs, inputs = run.output_tokens[skipped:], run.input_tokens[skipped:]
    long = outputs > 1
    each = (last - first) / np.maximum(outputs - 1, 1)
    tpot = each[long] if long.any() else np.zeros(1)
    delay = run.delay_steps * (each if long.any() else run.launch_s)
    ttft, e2e = first - sent + delay, last - sent + delay
    later = (run.first_token_ratio - 1.0) * ttft
    ttft, e2e = ttft + later, e2e + later
    gap_s = (tpot * (outputs[long] - 1)).sum() / (outputs[long] - 1).sum() if long.any() else 0.0
    rate = _rate(run, skipped)
    span_s = max(float(run.last_s.max() - run.sent_s.min()), 1e-12)
    busy_s = max(float(run.totals[col.BUSY_S]), 1e-12)
    met = _met(limits or {}, ttft, each, e2e) * total / (total + run.refused_count)
    saturated = _grows(run)
    endless = saturated and run.trim
    return ServingSpeed(
        saturated=saturated,
        requests_per_s=rate,
        output_tokens_per_s=rate * float(outputs.mean()),
        total_tokens_per_s=rate * float(outputs.mean() + inputs.mean()),
        batch_mean=float(run.totals[col.SEQUENCE_S] / span_s),
        kv_use_ratio=min(1.0, float(run.totals[col.KV_TOKEN_S] / busy_s) / max(run.kv_tokens, 1.0)),
        preemptions_count=int(run.totals[col.PREEMPTIONS]),
        ttft_s=alike(math.inf) if endless else distribution(ttft),
        tpot_s=distribution(tpot),
        itl_s=gaps_of(run.gaps, distribution(tpot), float(gap_s)),
        e2e_s=alike(math.inf) if endless else distribution(e2e),
        spread=spread,
        basis="simulated",
        met_ratio=met,
        goodput_requests_per_s=rate * met,
        waiting_mean=float(run.totals[col.WAITING_S] / span_s),
        waiting_most=int(run.totals[col.MOST_WAITING]),
        cached_ratio=float(run.totals[col.HIT_TOKENS] / max(run.input_tokens.sum(), 1.0)),
        requests_count=total,
        refused_count=run.refused_count,
        warm_up_count=skipped,
        half_widths={
            "ttft_s": half_width_ratio(ttft),
            "tpot_s": half_width_ratio(tpot),
            "e2e_s": half_width_ratio(e2e),
        },
    )


def kept_up(speed: ServingSpeed, run: Outcome, load: Load, most_requests_per_s: float) -> ServingSpeed:
    """A steady open run's rates where it keeps up: what arrives is answered; one draw's count would add chance.

    Nothing answers more than arrives, and less only where the replicas' own most may lie below it: the lower end
    of that most's interval.

    Args:
        speed: the summary of ``run``.
        run: from open arrivals.
        load: what it drew from, with its rate.
        most_requests_per_s: the replicas' most, by the steady state; 0 = not known.
    """
    offered, answered = load.requests_per_s or 0.0, len(run.sent_s)
    if speed.saturated or run.clients or not run.trim or offered <= 0 or not _on_time(run):
        return speed
    rate = offered * answered / (answered + run.refused_count)
    low = factors(speed.spread, "requests_per_s")[0] * max(most_requests_per_s, rate) / rate
    outputs, inputs = load.output_tokens, float(run.input_tokens.mean())
    if load.turns_count > 1:
        outputs = float(run.output_tokens.mean())
    return replace(
        speed, requests_per_s=rate, output_tokens_per_s=rate * outputs, total_tokens_per_s=rate * (outputs + inputs),
        goodput_requests_per_s=rate * speed.met_ratio, rate_factors=(min(low, KEPT_RATIO), 1.0),
    )  # fmt: skip


def _on_time(run: Outcome) -> bool:
    """Whether requests are taken up as fast as they come."""
    import numpy as np

    if len(run.sent_s) < 2:
        return False
    came_s, taken_s = float(np.ptp(run.sent_s)), float(np.ptp(run.scheduled_s))
    return taken_s <= LATEST_RATIO * came_s


def _warm_up(run: Outcome) -> int:
    """Requests before the steady part: by MSER-5, and in a closed loop at least the clients' first ones."""
    total = len(run.sent_s)
    if not run.trim or total <= 50:
        return 0
    skipped = warm_up_count(run.last_s - run.sent_s)
    if run.clients:
        skipped = max(skipped, int(min(run.clients, run.slots_count, total // 2)))
    return skipped


def _met(limits: Mapping[str, float], ttft: Floats, tpot: Floats, e2e: Floats) -> float:
    """Share of requests that keep every limit at once (goodput: Zhong et al. 2024, DistServe)."""
    import numpy as np

    good = np.ones(len(ttft), dtype=bool)
    for name, values in (("ttft_s", ttft), ("tpot_s", tpot), ("e2e_s", e2e)):
        good &= values <= limits.get(name, math.inf)
    return float(good.mean())


def _rate(run: Outcome, skipped: int) -> float:
    """Requests answered per second: over the whole run, or (trimmed) while the queue was neither filling nor draining.

    In the trimmed window a request counts by the share of its service that falls inside, so that waves of
    answers do not tilt the figure.
    """
    import numpy as np

    last = run.last_s - run.outside_s
    whole = float(len(last) / max(last.max() - run.sent_s.min(), 1e-9))
    if not run.trim or len(last) < 20:
        return whole
    begin = float(np.sort(run.scheduled_s)[skipped if run.clients else 0])
    end = float(run.scheduled_s.max())
    if end <= begin:
        return whole
    inside = np.clip(np.minimum(last, end) - np.maximum(run.scheduled_s, begin), 0.0, None)
    return float((inside / np.maximum(last - run.scheduled_s, 1e-9)).sum() / (end - begin))


def _grows(run: Outcome) -> bool:
    """Whether waiting grows from the first to the last third of an open run by a share of its span and of service."""
    if run.clients or len(run.sent_s) < 30:
        return False
    third = len(run.sent_s) // 3
    waits = run.first_s - run.sent_s
    grown = float(waits[-third:].mean() - waits[:third].mean())
    lasted, served = float(run.sent_s[-1] - run.sent_s[0]), float((run.last_s - run.first_s).mean())
    return grown > max(STEADY_RATIO * lasted, SERVED_RATIO * served)


def distribution(values: Floats) -> Distribution:
    """Mean and quantiles of observations, shape (n,)."""
    import numpy as np

    ordered = np.sort(values)
    places = np.array(QUANTILES) * (len(ordered) - 1)
    below = places.astype(int)
    low, high, share = ordered[below], ordered[np.minimum(below + 1, len(ordered) - 1)], places - below
    step = high - low
    between = np.where(
        share < 0.5, low + step * share, high - step * (1 - share)
    )  # as numpy.quantile, to the bit
    return from_sorted_quantiles(float(values.mean()), tuple(between.tolist()))


def gaps_of(histogram: Floats, tpot: Distribution, mean_s: float | None = None) -> Distribution:
    """Gaps between tokens.

    Args:
        histogram: counts by logarithmic bin, as the simulation leaves them.
        tpot: stands in when no gap was counted.
        mean_s: mean gap; of ``tpot`` when left out.
    """
    if histogram.sum() <= 0:
        return tpot
    mean = tpot.mean if mean_s is None else mean_s
    return counted(histogram, col.ITL_LOW_S, col.ITL_BINS_PER_E_FOLD, mean)


def counted(bins: Floats, least_s: float, bins_per_e_fold: float, mean_s: float) -> Distribution:
    """The distribution of a logarithmic histogram."""
    import numpy as np

    share = np.cumsum(bins) / max(float(bins.sum()), 1.0)
    places = np.minimum(np.searchsorted(share, QUANTILES), len(bins) - 1)
    values = least_s * np.exp((places + 0.5) / bins_per_e_fold)
    return from_sorted_quantiles(mean_s, tuple(float(one) for one in values))


def _nothing(spread: dict[str, tuple[float, float]]) -> ServingSpeed:
    """No request could ever fit the cache."""
    never = alike(math.inf)
    return ServingSpeed(
        True, 0.0, 0.0, 0.0, 0.0, 1.0, 0, never, never, never, never, spread, "simulated", met_ratio=0.0
    )
