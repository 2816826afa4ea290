"""Percentiles under load: draw the requests, run the scheduler, read the clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cabida.plan import Deployment, Load
from cabida.plan.decision import QUANTILES
from cabida.timing.fluid import closed, flow_of, most_batch, opened
from cabida.timing.speed import Distribution, ServingSpeed, from_sorted_quantiles
from cabida.timing.spread import spread_of
from cabida.timing.steps import StepModel, step_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.memory import ServingMemory

    Floats = NDArray[np.float64]

FEWEST_REQUESTS = 200
MOST_REQUESTS = 10_000
WARM_UP_RATIO = 0.1
LOOSENING_RATIO = (
    0.06  # clients of equal requests drift apart on engines that mix prompts with decoding: public runs
)
EVERYTHING = 10**9  # clients when all requests are queued at once


def simulate(
    d: Deployment, m: ServingMemory, load: Load, seed: int = 0, requests_count: int | None = None
) -> ServingSpeed:
    """Simulate one replica under a load, request by request.

    Args:
        d: one replica.
        m: its memory.
        load: lengths and either a concurrency (closed loop) or a request rate (open arrivals), whole replica.
        seed: same seed, same answer.
        requests_count: how many requests each data-parallel rank serves; chosen from the load when left out.
    """
    return simulate_model(step_model(d, m), load, spread_of(d), seed, requests_count)


def simulate_model(
    model: StepModel,
    load: Load,
    spread: dict[str, tuple[float, float]],
    seed: int = 0,
    requests_count: int | None = None,
) -> ServingSpeed:
    """:func:`simulate` for a step model already built."""
    import numpy as np

    ranks = model.ranks_count
    clients = _clients(model, load)
    count = requests_count or (load.prompts_count and math.ceil(load.prompts_count / ranks))
    count = count or _enough(model, load, clients)
    if load.concurrency == math.inf:
        clients = count
    rng = np.random.default_rng(seed)
    inputs = _lengths(rng, load.input_tokens, load.input_spread_ratio, count)
    loose = clients > 0 and model.mixed and not load.static_batch
    spread_ratio = max(load.output_spread_ratio, LOOSENING_RATIO if loose else 0.0)
    outputs = _lengths(rng, load.output_tokens, spread_ratio, count)
    arrivals = np.zeros(count)
    if load.requests_per_s is not None:
        arrivals = _arrivals(rng, load.requests_per_s / ranks, load.burst_ratio, count)
    measured = load.prompts_count is not None or load.static_batch
    return run_trace(
        model, arrivals, inputs, outputs, spread,
        prefix_tokens=model.shared_tokens(load), clients=clients, static=load.static_batch,
        trim=not measured, think_s=_think(model, load, clients),
        delay_steps=model.delay_steps(load.harness),
    )  # fmt: skip


def simulate_trace(
    d: Deployment, m: ServingMemory, arrival_s: Floats, input_tokens: Floats, output_tokens: Floats
) -> ServingSpeed:
    """One replica under the very requests of a trace; all of them count, from an empty start."""
    return run_trace(step_model(d, m), arrival_s, input_tokens, output_tokens, spread_of(d), whole=True)


def run_trace(
    model: StepModel,
    arrival_s: Floats,
    input_tokens: Floats,
    output_tokens: Floats,
    spread: dict[str, tuple[float, float]],
    *,
    prefix_tokens: float = 0.0,
    clients: int = 0,
    static: bool = False,
    trim: bool = False,
    think_s: float = 0.0,
    delay_steps: float | None = None,
    whole: bool = False,
) -> ServingSpeed:
    """Run given requests through the scheduler: one data-parallel rank's, or the ``whole`` replica's taken in turn."""
    ranks = model.ranks_count if whole and len(arrival_s) > model.ranks_count else 1
    parts = [
        serve(model, arrival_s[r::ranks], input_tokens[r::ranks], output_tokens[r::ranks],
              prefix_tokens, clients, static, think_s)
        for r in range(ranks)
    ]  # fmt: skip
    scale = model.ranks_count / len(parts)
    late = model.first_steps_count if delay_steps is None else delay_steps
    return _summary(model, parts, spread, scale, late, trim=trim, clients=clients)


def serve(
    model: StepModel,
    arrival_s: Floats,
    input_tokens: Floats,
    output_tokens: Floats,
    prefix_tokens: float = 0.0,
    clients: int = 0,
    static: bool = False,
    think_s: float = 0.0,
) -> dict[str, Any]:
    """One rank's requests through the scheduler: arrays by request, the histogram of gaps, and totals."""
    import numpy as np

    from cabida.timing import queue

    arrivals = np.array(arrival_s, dtype=np.float64)
    inputs = np.maximum(
        np.asarray(input_tokens, dtype=np.float64), prefix_tokens + 1.0
    )  # all begin with the prefix
    outputs = np.maximum(np.asarray(output_tokens, dtype=np.float64), 1.0)
    scheduled, first, last, gaps, totals = queue.run(
        np.array(model.constants + model.table), arrivals, inputs, outputs, float(prefix_tokens), model.window_tokens,
        model.budget_tokens, model.sequences_most_count, model.kv_tokens, model.block_tokens,
        model.reserve_ratio, model.mixed, static, int(clients), think_s,
    )  # fmt: skip
    return {
        "arrival_s": arrivals, "input_tokens": inputs, "output_tokens": outputs, "scheduled_s": scheduled,
        "first_s": first + model.request_s, "last_s": last + model.request_s, "served": last >= 0,
        "gaps": gaps, "totals": totals,
    }  # fmt: skip


def _clients(model: StepModel, load: Load) -> int:
    if load.requests_per_s is not None:
        return 0
    clients = load.concurrency or 1.0
    return EVERYTHING if clients == math.inf else max(1, round(clients / model.ranks_count))


def _think(model: StepModel, load: Load, clients: int) -> float:
    """What a client of a closed loop waits, outside the scheduler, from one answer to its next prompt's turn."""
    if not clients or clients >= EVERYTHING:
        return 0.0
    state = closed(model.costs, flow_of(model, load), float(clients))
    return model.request_s + model.delay_steps(load.harness) * float(state.tpot_s)


def _enough(model: StepModel, load: Load, clients: int) -> int:
    """Requests for a steady picture: several times what is in flight at once."""
    flow = flow_of(model, load)
    if load.requests_per_s is not None:
        state, _ = opened(model.costs, flow, load.requests_per_s / model.ranks_count)
        flying = float(state.batch)
    else:
        flying = float(clients) if clients < EVERYTHING else float(most_batch(flow))
    return int(min(max(FEWEST_REQUESTS * 2, 8 * flying), MOST_REQUESTS))


def _lengths(rng: np.random.Generator, mean: float, spread: float, count: int) -> Floats:
    """Log-normal lengths of a given mean; whole tokens, at least one."""
    import numpy as np

    if spread <= 0:
        return np.full(count, float(max(1, round(mean))))
    drawn = rng.lognormal(math.log(mean) - 0.5 * spread**2, spread, count)
    rounded: Floats = np.maximum(1.0, np.rint(drawn))
    return rounded


def _arrivals(rng: np.random.Generator, requests_per_s: float, burst_ratio: float, count: int) -> Floats:
    """Gamma inter-arrival times: 1 is Poisson, more comes in bursts, 0 is a metronome."""
    import numpy as np

    if burst_ratio <= 0:
        return np.arange(count) / requests_per_s
    gaps = rng.gamma(1 / burst_ratio, burst_ratio / requests_per_s, count)
    return np.cumsum(gaps)


def _summary(
    model: StepModel,
    parts: list[dict[str, Any]],
    spread: dict[str, tuple[float, float]],
    scale: float,
    delay_steps: float,
    *,
    trim: bool,
    clients: int,
) -> ServingSpeed:
    import numpy as np

    from cabida.timing import queue

    joined = {
        key: np.concatenate([part[key] for part in parts])
        for key in parts[0]
        if key not in ("gaps", "totals")
    }
    totals = sum(part["totals"] for part in parts)
    clients = min(clients, model.sequences_most_count)
    order = np.argsort(joined["arrival_s"], kind="stable")
    served = joined["served"][order]
    keep = everyone = np.flatnonzero(served)
    skipped = 0
    if trim and len(keep) > 50:
        skipped = max(int(WARM_UP_RATIO * len(keep)), min(clients, len(keep) // 2))
        keep = keep[skipped:]
    index = order[keep]
    if not len(index):
        return _nothing(spread)
    first, last, sent = joined["first_s"][index], joined["last_s"][index], joined["arrival_s"][index]
    outputs, inputs = joined["output_tokens"][index], joined["input_tokens"][index]
    long = outputs > 1
    each = (last - first) / np.maximum(outputs - 1, 1)
    tpot = each[long] if long.any() else np.zeros(1)
    delay = delay_steps * (each if long.any() else model.launch_s)
    ttft, e2e = first - sent + delay, last - sent + delay
    answered = order[everyone]
    begun, came, ended = (joined[key][answered] for key in ("scheduled_s", "arrival_s", "last_s"))
    rate = _rate(begun, came, ended, skipped if clients else 0, trim=trim) * scale
    busy = max(totals[queue.BUSY_S], 1e-12)
    gaps = sum(part["gaps"] for part in parts)
    return ServingSpeed(
        saturated=_grows(joined, order, served, clients),
        requests_per_s=rate,
        output_tokens_per_s=rate * float(outputs.mean()),
        total_tokens_per_s=rate * float(outputs.mean() + inputs.mean()),
        batch_mean=float(totals[queue.SEQUENCE_S] / busy) * model.ranks_count,
        kv_use_ratio=min(1.0, float(totals[queue.KV_TOKEN_S] / busy) / max(model.kv_tokens, 1.0)),
        preemptions_count=int(totals[queue.PREEMPTIONS]),
        ttft_s=_distribution(ttft), tpot_s=_distribution(tpot), itl_s=_gaps(gaps, tpot, outputs[long]),
        e2e_s=_distribution(e2e), spread=spread, basis="simulated",
    )  # fmt: skip


def _rate(scheduled: Floats, sent: Floats, last: Floats, warm: int, *, trim: bool) -> float:
    """Requests answered per second: over the whole run, or (trimmed) while the queue was neither filling nor draining.

    In the trimmed window a request counts by the share of its service that falls inside, so that waves of
    answers do not tilt the figure.
    """
    import numpy as np

    if not trim or len(last) < 20:
        return float(len(last) / max(last.max() - sent.min(), 1e-9))
    begin, end = float(np.sort(scheduled)[warm]), float(scheduled.max())
    if end <= begin:
        return float(len(last) / max(last.max() - sent.min(), 1e-9))
    inside = np.clip(np.minimum(last, end) - np.maximum(scheduled, begin), 0.0, None)
    return float((inside / np.maximum(last - scheduled, 1e-9)).sum() / (end - begin))


def _grows(joined: dict[str, Any], order: Any, served: Any, clients: int) -> bool:
    """Whether waiting grows from the first to the last third of an open run by more than it ever took to serve."""
    if clients or len(order) < 30:
        return False
    sent, first, last = (joined[key][order][served] for key in ("arrival_s", "first_s", "last_s"))
    third = len(sent) // 3
    waits = first - sent
    grown = float(waits[-third:].mean() - waits[:third].mean())
    return grown > max(0.15 * float(sent[-1] - sent[0]), 0.25 * float((last - first).mean()))


def _distribution(values: Floats) -> Distribution:
    import numpy as np

    return from_sorted_quantiles(
        float(values.mean()), tuple(float(v) for v in np.quantile(values, QUANTILES))
    )


def _gaps(histogram: Floats, tpot: Floats, outputs: Floats) -> Distribution:
    """Gaps between tokens from their weighted histogram; the mean from the requests themselves."""
    import numpy as np

    from cabida.timing import queue

    total = histogram.sum()
    if total <= 0:
        return _distribution(tpot)
    share = np.cumsum(histogram) / total
    places = np.minimum(np.searchsorted(share, QUANTILES), queue.ITL_BINS - 1)
    values = queue.ITL_LOW_S * np.exp((places + 0.5) / queue.ITL_BINS_PER_E_FOLD)
    mean = (
        float((tpot * (outputs - 1)).sum() / max((outputs - 1).sum(), 1.0))
        if len(outputs)
        else float(tpot.mean())
    )
    return from_sorted_quantiles(mean, tuple(float(v) for v in values))


def _nothing(spread: dict[str, tuple[float, float]]) -> ServingSpeed:
    """No request could ever fit the cache."""
    from cabida.timing.speed import alike

    never = alike(math.inf)
    return ServingSpeed(True, 0.0, 0.0, 0.0, 0.0, 1.0, 0, never, never, never, never, spread, "simulated")


__all__ = ["closed", "serve", "simulate", "simulate_model", "simulate_trace"]
