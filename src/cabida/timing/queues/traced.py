"""A request trace through replicas in stretches, so that memory does not grow with its length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cabida.timing.queues import columns as col
from cabida.timing.queues.fleet import Pool, fleet, requests
from cabida.timing.queues.speculative import paces
from cabida.timing.queues.summary import SERVED_RATIO, STEADY_RATIO, counted, joined, summary
from cabida.timing.speed import Distribution, ServingSpeed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.timing.engine.steps import StepModel
    from cabida.timing.queues.fleet import Fleet

    Floats = NDArray[np.float64]
    Block = tuple[Floats, Floats, Floats]

LEAST_S, BINS_PER_E_FOLD, BINS = 1e-6, 1000.0, 30_000  # a bin is 0.1 % wide; up to 1e7 s


@dataclass(slots=True)
class Tally:
    """Times counted in bins of a tenth of a per cent; their sum is exact."""

    bins: Any = None
    total_s: float = 0.0
    count: int = 0

    def add(self, values_s: Floats) -> None:
        """Count more of them."""
        import numpy as np

        if self.bins is None:
            self.bins = np.zeros(BINS)
        if len(values_s):
            places = (np.log(np.maximum(values_s, LEAST_S) / LEAST_S) * BINS_PER_E_FOLD).astype(int)
            self.bins += np.bincount(np.minimum(places, BINS - 1), minlength=BINS)
            self.total_s += float(values_s.sum())
            self.count += len(values_s)

    def distribution(self) -> Distribution:
        """Mean and quantiles."""
        return counted(self.bins, LEAST_S, BINS_PER_E_FOLD, self.total_s / max(self.count, 1))


@dataclass(slots=True)
class _Run:
    """What is kept of a trace on its way: histograms, sums, and the mean wait of each stretch."""

    ttft: Tally = field(default_factory=Tally)
    tpot: Tally = field(default_factory=Tally)
    e2e: Tally = field(default_factory=Tally)
    tokens: list[float] = field(default_factory=lambda: [0.0, 0.0])  # in, out
    gap_s: float = 0.0  # between tokens, all of them
    met_count: int = 0
    refused_count: int = 0
    sent_s: tuple[float, float] = (math.inf, 0.0)
    last_s: float = 0.0
    served_s: float = 0.0  # the last answer as the engine gives it
    waits: list[tuple[int, float, float]] = field(default_factory=list)  # requests, mean wait, mean service


def trace_through(
    pools: tuple[Pool, ...],
    blocks: Iterable[Block],
    spread: dict[str, tuple[float, float]],
    *,
    routing: str = "",
    seed: int = 0,
    limits: Mapping[str, float] | None = None,
) -> ServingSpeed:
    """Serve the requests of a trace, from an empty start to the last answer; all of them count.

    A trace of one block is summed up exactly. A longer one is served block by block; its percentiles are then right to
    a tenth of a per cent, and memory is that of a block and of what is in flight.

    Args:
        pools: replicas.
        blocks: arrivals (s), input and output tokens; ascending arrivals within and across blocks.
        spread: interval factors the speed is to carry.
        routing: how requests are dealt out; "" = the engine's own way.
        seed: of the draws of speculation and random routing.
        limits: seconds at most by ``ttft_s``, ``tpot_s``, ``e2e_s`` of a request that counts as good.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    stream = iter(blocks)
    held = next(stream)
    following = next(stream, None)
    delay = pools[0].model.first_steps_count
    if following is None:
        ready = fleet(pools, routing=routing, requests_count=len(held[0]))
        rows = ready.serve(_asked(pools, held, chance))
        return summary(joined(ready, rows, delay_steps=delay, clients=0, trim=False), spread, limits)
    ready, run = fleet(pools, routing=routing), _Run()
    while True:
        rows = ready.serve(_asked(pools, held, chance), more=following is not None)
        _note(run, pools[0].model, rows, delay, limits or {})
        if following is None:
            break
        held, following = following, next(stream, None)
    return _speed(run, ready, pools, spread)


def _asked(pools: tuple[Pool, ...], block: Block, chance: np.random.Generator) -> Floats:
    arrivals, inputs, outputs = block
    return requests(
        arrivals, inputs, outputs, luck=chance.random(len(arrivals)),
        pace_tokens=paces(pools[-1].drafting, outputs, chance),
    )  # fmt: skip


def _note(run: _Run, model: StepModel, rows: Floats, delay_steps: float, limits: Mapping[str, float]) -> None:
    """Count the requests of a stretch that are answered or refused; the others come again with the next one."""
    import numpy as np

    run.refused_count += int((rows[:, col.LAST] < -1.0).sum())
    there = rows[rows[:, col.LAST] >= 0]
    if not len(there):
        return
    outside_s = model.request_s + model.scheduler.front_s_per_token * there[:, col.INPUT]
    sent, first, last = (
        there[:, col.SENT],
        there[:, col.FIRST] + outside_s,
        there[:, col.LAST] + outside_s,
    )
    outputs = there[:, col.OUTPUT]
    each = (last - first) / np.maximum(outputs - 1, 1)
    long = outputs > 1
    late = delay_steps * (each if long.any() else model.launch_s)
    ttft, e2e = first - sent + late, last - sent + late
    later = (model.first_token_ratio - 1.0) * ttft
    ttft, e2e = ttft + later, e2e + later
    for tally, values in ((run.ttft, ttft), (run.tpot, each[long]), (run.e2e, e2e)):
        tally.add(values)
    good = np.ones(len(there), dtype=bool)
    for name, values in (("ttft_s", ttft), ("tpot_s", each), ("e2e_s", e2e)):
        good &= values <= limits.get(name, math.inf)
    run.met_count += int(good.sum())
    run.tokens[0] += float(there[:, col.INPUT].sum())
    run.tokens[1] += float(outputs.sum())
    run.gap_s += float((last - first).sum())
    run.sent_s = min(run.sent_s[0], float(sent.min())), max(run.sent_s[1], float(sent.max()))
    run.last_s = max(run.last_s, float(last.max()))
    run.served_s = max(run.served_s, float(there[:, col.LAST].max()))
    run.waits.append((len(there), float((first - sent).mean()), float((last - first).mean())))


def _speed(
    run: _Run, ready: Fleet, pools: tuple[Pool, ...], spread: dict[str, tuple[float, float]]
) -> ServingSpeed:
    totals, model, count = ready.totals, pools[-1].model, run.ttft.count
    span_s = max(run.last_s - run.sent_s[0], 1e-12)
    busy_s = max(float(totals[col.BUSY_S]), 1e-12)
    rate = count / max(run.served_s - run.sent_s[0], 1e-12)
    met = run.met_count / max(count + run.refused_count, 1)
    return ServingSpeed(
        saturated=_grows(run),
        requests_per_s=rate,
        output_tokens_per_s=rate * run.tokens[1] / max(count, 1),
        total_tokens_per_s=rate * (run.tokens[0] + run.tokens[1]) / max(count, 1),
        batch_mean=float(totals[col.SEQUENCE_S] / span_s),
        kv_use_ratio=min(1.0, float(totals[col.KV_TOKEN_S] / busy_s) / max(model.kv_tokens, 1.0)),
        preemptions_count=int(totals[col.PREEMPTIONS]),
        ttft_s=run.ttft.distribution(),
        tpot_s=run.tpot.distribution(),
        itl_s=counted(
            ready.arrays["gaps"], col.ITL_LOW_S, col.ITL_BINS_PER_E_FOLD,
            run.gap_s / max(run.tokens[1] - count, 1.0),
        ),
        e2e_s=run.e2e.distribution(),
        spread=spread,
        basis="simulated",
        met_ratio=met,
        goodput_requests_per_s=rate * met,
        waiting_mean=float(totals[col.WAITING_S] / span_s),
        waiting_most=int(totals[col.MOST_WAITING]),
        cached_ratio=float(totals[col.HIT_TOKENS] / max(run.tokens[0], 1.0)),
        requests_count=count,
        refused_count=run.refused_count,
    )  # fmt: skip


def _grows(run: _Run) -> bool:
    """Whether waiting grows from the first to the last third of the stretches by a share of span and service."""
    third = max(1, len(run.waits) // 3)

    def mean(part: list[tuple[int, float, float]], place: int) -> float:
        return sum(one[0] * float(one[place]) for one in part) / max(sum(one[0] for one in part), 1)

    grown = mean(run.waits[-third:], 1) - mean(run.waits[:third], 1)
    lasted = run.sent_s[1] - run.sent_s[0]
    return grown > max(STEADY_RATIO * lasted, SERVED_RATIO * mean(run.waits, 2))
