"""A request that passes through stages one after another: its latency as a distribution, not as a sum of percentiles.

Stages wait and work independently, so the distribution of the sum is the convolution of theirs (on a grid; nothing is
drawn). Percentiles do not add: the p95 of the whole lies below the sum of the p95 of the parts. Waiting: several
servers of one kind by Allen and Cunneen's correction of Erlang's C, its tail exponential; a server that works all that
waits in one batch (embedders) by the residual of the batch in progress.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cabida.plan.decision import QUANTILES
from cabida.timing.queues.queueing import waiting_ratio
from cabida.timing.speed import Distribution, from_sorted_quantiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CELLS = 2048  # of the grid that distributions are convolved on
TAIL_SHARE = 0.9995  # of a stage's mass within the grid
FULL_RATIO = 0.98  # a stage busier than this has no steady state worth a figure


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a request at its rate: what a request spends in it, and how it is doing.

    ``points`` are (seconds, share not later than that), rising; linear between, which suits any law.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    mean_s: float
    utilisation_ratio: float = 0.0
    availability_ratio: float = 1.0
    saturated: bool = False


def queued_stage(
    name: str,
    service_s: float,
    requests_per_s: float,
    servers_count: int = 1,
    service_scv: float = 0.0,
    arrival_scv: float = 1.0,
    availability_ratio: float = 1.0,
) -> Stage:
    """A stage of equal servers with one queue: M/M/c exactly when both ``scv`` are 1, Allen-Cunneen otherwise.

    Args:
        name: of the stage.
        service_s: mean time of service.
        requests_per_s: what arrives.
        servers_count: equal servers.
        service_scv: squared coefficient of variation of service; 0 = always alike, 1 = exponential.
        arrival_scv: the same of the times between arrivals; 1 = Poisson.
        availability_ratio: share of requests it answers.
    """
    offered = requests_per_s * service_s
    busy = offered / servers_count
    if busy >= FULL_RATIO:
        return Stage(name, (), math.inf, busy, availability_ratio, saturated=True)
    waits = waiting_ratio(servers_count, offered)
    pace_s = service_s / (servers_count * (1 - busy)) * (arrival_scv + service_scv) / 2
    from_wait = _exponential_wait(waits, pace_s)
    points = _added(from_wait, _service(service_s, service_scv))
    return Stage(name, points, service_s + waits * pace_s, busy, availability_ratio)


def batched_stage(
    name: str,
    alone_s: float,
    each_s: float,
    requests_per_s: float,
    most_count: float,
    servers_count: int = 1,
    availability_ratio: float = 1.0,
) -> Stage:
    """A server that takes all who wait as one batch: ``alone_s`` for one, ``each_s`` for each further.

    The batch settles where as many arrive during it as it holds; one who comes while it runs waits its residual,
    uniform over it, then takes part in the next.
    """
    rate = requests_per_s / servers_count
    busy = rate * each_s
    full_s = alone_s + each_s * (most_count - 1)
    use = rate * full_s / most_count
    if use >= FULL_RATIO or busy >= FULL_RATIO:
        return Stage(name, (), math.inf, max(use, busy), availability_ratio, saturated=True)
    arrived = rate * (alone_s - each_s) / (1 - busy)  # solves arrived = rate * (alone + each * (arrived - 1))
    size = min(most_count, max(1.0, arrived))
    batch_s = alone_s + each_s * (size - 1)
    in_use = min(1.0, rate * alone_s) if size <= 1.0 else 1.0
    mean = batch_s + in_use * batch_s / 2
    points = ((batch_s * (1 - 1e-9), 0.0), (batch_s, 1 - in_use), (2 * batch_s, 1.0))
    return Stage(name, points, mean, max(use, min(1.0, rate * batch_s / size)), availability_ratio)


def measured_stage(
    name: str, latency: Distribution, utilisation_ratio: float = 0.0, availability_ratio: float = 1.0
) -> Stage:
    """A stage whose latency is known by its quantiles: a simulation's, or a measured one's."""
    if not all(math.isfinite(value) for value in latency.quantiles):
        return Stage(name, (), math.inf, 1.0, availability_ratio, saturated=True)
    pairs = list(zip(latency.quantiles, QUANTILES, strict=True))
    least = max(0.0, 2 * pairs[0][0] - pairs[1][0])
    step = max(pairs[-1][0] - pairs[-2][0], 1e-12) / math.log((1 - QUANTILES[-2]) / (1 - QUANTILES[-1]))
    tail = [
        (pairs[-1][0] + step * math.log((1 - 0.99) / (1 - share)), share)
        for share in (0.995, 0.999, TAIL_SHARE)
    ]
    points = _rising([(least, 0.0), *pairs, *tail, (tail[-1][0] + 2 * step, 1.0)])
    return Stage(name, points, latency.mean, utilisation_ratio, availability_ratio)


def constant_stage(name: str, seconds: float, availability_ratio: float = 1.0) -> Stage:
    """A stage that always takes the same."""
    return Stage(name, ((seconds * (1 - 1e-9), 0.0), (seconds, 1.0)), seconds, 0.0, availability_ratio)


def joined(stages: Sequence[Stage]) -> Distribution | None:
    """The latency of a request through all stages; ``None`` when one is saturated, whose queue grows without end."""
    import numpy as np

    if any(stage.saturated for stage in stages):
        return None
    top = sum(stage.points[-1][0] for stage in stages) or 1e-9
    step = top / CELLS
    whole = np.zeros(CELLS + 2)
    whole[0] = 1.0
    shift = 0.0
    for stage in stages:
        masses, offset = _masses(stage, step)
        whole = _convolved(whole, masses)[: CELLS + 2]
        shift += offset
    shares = np.cumsum(whole)
    mean = sum(stage.mean_s for stage in stages)
    cells = np.searchsorted(shares, np.array(QUANTILES) * shares[-1])
    before = np.where(cells > 0, shares[np.maximum(cells - 1, 0)], 0.0)
    inside = (np.array(QUANTILES) * shares[-1] - before) / np.maximum(whole[cells], 1e-300)
    values = (cells + np.clip(inside, 0.0, 1.0) - 0.5 * len(stages)) * step + shift
    return from_sorted_quantiles(mean, tuple(float(max(value, 0.0)) for value in values))


def available_ratio(stages: Sequence[Stage]) -> float:
    """Share of requests that every stage answers: the product of theirs."""
    return math.prod(stage.availability_ratio for stage in stages)


def spare_availability_ratio(one_ratio: float, replicas_count: int, needed_count: int) -> float:
    """Chance that at least ``needed_count`` of so many replicas are up, each by itself with ``one_ratio``."""
    return sum(
        math.comb(replicas_count, up) * one_ratio**up * (1 - one_ratio) ** (replicas_count - up)
        for up in range(needed_count, replicas_count + 1)
    )


def share_within(stages: Sequence[Stage], limit_s: float) -> float:
    """Share of requests through all stages that take no longer than ``limit_s``."""
    import numpy as np

    found = joined(stages)
    if found is None:
        return 0.0
    return float(np.interp(limit_s, (0.0, *found.quantiles), (0.0, *QUANTILES)))


def _convolved(one: Floats, other: Floats) -> Floats:
    """The masses of a sum, by Fourier transform; what rounding leaves below nothing is nothing."""
    import numpy as np

    length = len(one) + len(other) - 1
    size = 1 << (length - 1).bit_length()
    found = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)[:length]
    return np.asarray(np.where(found > 1e-15, found, 0.0))


def _masses(stage: Stage, step: float) -> tuple[Floats, float]:
    """A stage's mass by cell of the grid, its own start taken off: cells count from there."""
    import numpy as np

    start = stage.points[0][0]
    times = np.array([time - start for time, _ in stage.points])
    shares = np.array([share for _, share in stage.points])
    edges = np.arange(int(times[-1] / step) + 2) * step
    cumulated = np.interp(edges, times, shares)
    masses = np.diff(np.concatenate([[0.0], cumulated]))
    masses = masses[1:] if masses[0] == 0.0 else masses
    masses[-1] += 1.0 - cumulated[-1]
    return masses, start


def _exponential_wait(waits_ratio: float, pace_s: float) -> tuple[tuple[float, float], ...]:
    """Nobody's wait at 0, and of those who wait an exponential one."""
    if waits_ratio <= 0 or pace_s <= 0:
        return ((0.0, 0.0), (0.0, 1.0))
    rest = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99,
                                0.995, 0.999, TAIL_SHARE)  # fmt: skip
    tail = [(-pace_s * math.log(1 - share), 1 - waits_ratio * (1 - share)) for share in rest]
    return ((0.0, 0.0), (0.0, 1 - waits_ratio), *tail, (tail[-1][0] + 2 * pace_s, 1.0))


def _service(mean_s: float, scv: float) -> tuple[tuple[float, float], ...]:
    """Service times: alike, or a log-normal of this squared coefficient of variation; exponential when it is 1."""
    if scv <= 1e-9:
        return ((mean_s * (1 - 1e-9), 0.0), (mean_s, 1.0))
    if abs(scv - 1) < 1e-9:
        return _exponential_wait(1.0, mean_s)[1:]
    from statistics import NormalDist

    sigma = math.sqrt(math.log(1 + scv))
    middle = math.log(mean_s) - sigma**2 / 2
    shares = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999,
              TAIL_SHARE)  # fmt: skip
    inner = [(math.exp(middle + sigma * NormalDist().inv_cdf(share)), share) for share in shares]
    return ((inner[0][0] * 0.8, 0.0), *inner, (inner[-1][0] * 1.1, 1.0))


def _added(
    one: tuple[tuple[float, float], ...], other: tuple[tuple[float, float], ...]
) -> tuple[tuple[float, float], ...]:
    """The law of a wait and a service together, as points."""
    import numpy as np

    top = one[-1][0] + other[-1][0]
    step = max(top, 1e-12) / CELLS
    left, start = _masses(Stage("", one, 0.0), step)
    right, begin = _masses(Stage("", other, 0.0), step)
    shares = np.cumsum(_convolved(left, right))
    picked = np.unique(np.searchsorted(shares, np.linspace(0.002, 0.998, 250)))
    points = [
        ((cell + 0.5) * step + start + begin, float(shares[cell])) for cell in picked if cell < len(shares)
    ]
    tail = [
        (float(np.searchsorted(shares, share)) * step + start + begin, share) for share in (0.999, TAIL_SHARE)
    ]
    first = max(0.0, start + begin)
    return _rising([(first, 0.0), *points, *tail, (top, 1.0)])


def _rising(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Points with both coordinates rising."""
    found: list[tuple[float, float]] = []
    for time, share in sorted(points):
        if not found or share >= found[-1][1]:
            found.append((time, share))
    return tuple(found)


def shared_stages(
    services_s: dict[str, float], requests_per_s: float, servers_count: int, availability_ratio: float = 1.0
) -> list[Stage]:
    """Stages that take turns on the same servers: each visit waits behind all of them, then takes its own time."""
    visits, whole_s = len(services_s), sum(services_s.values())
    busy = requests_per_s * whole_s / servers_count
    if busy >= FULL_RATIO:
        return [Stage(name, (), math.inf, busy, availability_ratio, saturated=True) for name in services_s]
    mean_s = whole_s / visits
    scv = sum(one * one for one in services_s.values()) / visits / (mean_s * mean_s) - 1 if mean_s else 0.0
    waits = waiting_ratio(servers_count, requests_per_s * whole_s)
    pace_s = mean_s / (servers_count * (1 - busy)) * (1 + scv) / 2
    wait = _exponential_wait(waits, pace_s)
    return [
        Stage(name, _added(wait, _service(one, 0.0)), one + waits * pace_s, busy, availability_ratio)
        for name, one in services_s.items()
    ]
