"""When requests arrive and how long they are: drawn from a seed, each kind of draw from a stream of its own.

Streams of their own make a longer run begin with the same requests, and two deployments see the same ones
(common random numbers; Law 2015, section 11.2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from cabida.plan import Load
from cabida.timing.queues.harness import harness_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HOURS = 24
S_PER_HOUR = 3600.0
LOOSENING_RATIO = (
    0.06  # clients of equal requests drift apart on engines that mix prompts with decoding: public runs
)


class Streams(NamedTuple):
    """Sources of chance, one for each kind of draw."""

    arrivals: np.random.Generator
    inputs: np.random.Generator
    outputs: np.random.Generator
    sharing: np.random.Generator
    routing: np.random.Generator
    paces: np.random.Generator


class Drawn(NamedTuple):
    """Requests as drawn: arrays of shape (n,), or a figure for all."""

    arrival_s: Floats
    input_tokens: Floats
    output_tokens: Floats
    prefix_tokens: Floats
    group: Floats
    kept: Floats
    adapter: Floats
    groups_count: int


def streams(seed: int) -> Streams:
    """Independent streams of one seed (NumPy's SeedSequence)."""
    import numpy as np

    children = np.random.SeedSequence(seed).spawn(len(Streams._fields))
    return Streams(*(np.random.Generator(np.random.PCG64(child)) for child in children))


def drawn(
    load: Load, count: int, seed_streams: Streams, *, prefix_tokens: float = 0.0, loose: bool = False
) -> Drawn:
    """``count`` requests of a load.

    Args:
        load: lengths, arrivals and what prompts share.
        count: how many.
        seed_streams: where chance comes from.
        prefix_tokens: leading tokens of the shared prefix that a cache can spare.
        loose: let equal answers differ a little, as clients of real engines drift apart.
    """
    import numpy as np

    draw = uniform if harness_of(load.harness).spread_ratio else lengths  # tools draw evenly, people do not
    inputs = draw(seed_streams.inputs, load.input_tokens, load.input_spread_ratio, count)
    spread = max(load.output_spread_ratio, LOOSENING_RATIO * loose)
    outputs = draw(seed_streams.outputs, load.output_tokens, spread, count)
    times = np.zeros(count)
    if load.requests_per_s is not None and load.hourly_weights:
        times = profiled(seed_streams.arrivals, load.requests_per_s, load.hourly_weights, count)
    elif load.requests_per_s is not None:
        times = renewed(seed_streams.arrivals, load.requests_per_s, load.burst_ratio, count)
    elif load.ramp_s:
        clients = min(count, int(min(load.concurrency or 1, count)))
        times[:clients] = np.arange(clients) * (load.ramp_s / clients)
    adapter = np.full(count, -1.0)
    if load.adapters_count:
        adapter = np.floor(seed_streams.sharing.random(count) * load.adapters_count)
    if load.turns_count > 1:
        return _conversations(load, times, inputs, outputs, adapter, seed_streams.sharing)
    group, prefix, groups_count = np.full(count, -1.0), np.zeros(count), 0
    if prefix_tokens > 0:
        groups_count = max(load.prefixes_count, 1)
        group = np.floor(seed_streams.sharing.random(count) * groups_count)
        prefix = np.full(count, prefix_tokens)
        inputs = np.maximum(inputs, prefix + 1.0)  # all begin with the prefix
    elif load.cached_ratio > 0:
        from cabida.timing.queues.columns import FOUND

        group = np.full(count, FOUND)
        prefix = np.floor(load.cached_ratio * inputs)
    return Drawn(times, inputs, outputs, prefix, group, np.zeros(count), adapter, groups_count)


def lengths(rng: np.random.Generator, mean: float, spread: float, count: int) -> Floats:
    """Log-normal lengths of a given mean; whole tokens, at least one.

    Args:
        rng: where chance comes from.
        mean: tokens.
        spread: standard deviation of the logarithm; 0 = all alike.
        count: how many.
    """
    import numpy as np

    if spread <= 0:
        return np.full(count, float(max(1, round(mean))))
    found = rng.lognormal(math.log(mean) - 0.5 * spread**2, spread, count)
    return np.asarray(np.maximum(1.0, np.rint(found)))


def uniform(rng: np.random.Generator, mean: float, spread: float, count: int) -> Floats:
    """Lengths drawn evenly around a mean; whole tokens, at least one.

    Args:
        rng: where chance comes from.
        mean: tokens.
        spread: standard deviation over the mean, at most that of lengths from nothing to twice the mean.
        count: how many.
    """
    import numpy as np

    half = min(spread * 3**0.5, 1.0)
    return np.asarray(np.maximum(1.0, np.rint(mean * (1.0 + half * (2.0 * rng.random(count) - 1.0)))))


def renewed(rng: np.random.Generator, requests_per_s: float, burst_ratio: float, count: int) -> Floats:
    """Arrivals with gaps of a gamma distribution: 1 is Poisson, more comes in bursts, 0 is a metronome.

    Args:
        rng: where chance comes from.
        requests_per_s: mean rate.
        burst_ratio: squared coefficient of variation of the gaps.
        count: how many.
    """
    import numpy as np

    if burst_ratio <= 0:
        return np.arange(count) / requests_per_s
    return np.cumsum(rng.gamma(1 / burst_ratio, burst_ratio / requests_per_s, count))


def profiled(
    rng: np.random.Generator, requests_per_s: float, weights: tuple[float, ...], count: int
) -> Floats:
    """Poisson arrivals whose rate follows the hours of a day, again and again.

    Exact: unit-rate arrivals carried through the inverse of the cumulated rate (Cinlar 1975, section 4.7).

    Args:
        rng: where chance comes from.
        requests_per_s: mean over the day.
        weights: one per hour of equal length, a day long together; their mean stands for the mean rate.
        count: how many.
    """
    import numpy as np

    rates = requests_per_s * np.asarray(weights, float) / np.mean(weights)
    span_s = HOURS * S_PER_HOUR / len(rates)
    edges = np.concatenate([[0.0], np.cumsum(rates * span_s)])
    events = np.cumsum(rng.exponential(1.0, count))
    days, within = np.divmod(events, edges[-1])
    place = np.clip(np.searchsorted(edges, within, side="right") - 1, 0, len(rates) - 1)
    times = (place + (within - edges[place]) / np.maximum(rates[place] * span_s, 1e-300)) * span_s
    return np.asarray(days * HOURS * S_PER_HOUR + times)


def _conversations(
    load: Load, times: Floats, inputs: Floats, outputs: Floats, adapter: Floats, rng: np.random.Generator
) -> Drawn:
    """Conversations of several turns: each prompt repeats all that was said, and adds its own.

    A conversation begins where a request would have; its next turns follow after exponential gaps.
    """
    import numpy as np

    turns = load.turns_count
    count = max(len(times) // turns, 1)
    begin = times[: count * turns : turns]
    gaps = rng.exponential(max(load.turn_gap_s, 1e-9), (count, turns))
    gaps[:, 0] = 0.0
    when = (begin[:, None] + np.cumsum(gaps, axis=1)).ravel()
    asks, answers = (
        inputs[: count * turns].reshape(count, turns),
        outputs[: count * turns].reshape(count, turns),
    )
    said = np.cumsum(asks + answers, axis=1) - asks - answers  # before each turn
    order = np.argsort(when, kind="stable")
    group = np.repeat(np.arange(count, dtype=float), turns)
    return Drawn(
        when[order], (said + asks).ravel()[order], answers.ravel()[order], said.ravel()[order], group[order],
        np.ones(count * turns), np.repeat(adapter[: count * turns : turns], turns)[order], count,
    )  # fmt: skip
