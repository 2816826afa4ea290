"""Where errors beyond an aim come from: the groups of residuals that carry most of them, each named by what is known.

No group is explained away: it is named, with its share of the excess, its sign, and what would be left without it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from cabida.truth.predict import Prediction
from cabida.truth.score import log_error, quantile

LEAST_ROWS = 5
LARGEST_SHARE = 0.75  # a group with more of the rows than that is no cause but the whole
ALIKE = 0.6  # a group that shares more of its excess than that with one already named says the same again
ONE_SIDED = 0.8  # share of a group's errors of one sign from which on a missing term can be suspected

SIGNED = 0.05  # median log error from which on it counts as a sign


@dataclass(frozen=True, slots=True)
class Residual:
    """One error, log(predicted / measured), and what is known of its row: a word for each way of grouping."""

    error: float
    source: str
    known: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Cause:
    """A group of rows, how much of what lies beyond the aim it carries, and what is left without it."""

    way: str
    group: str
    rows: int
    rows_ratio: float  # share of all rows
    beyond_ratio: float  # share of the rows beyond the aim
    excess_ratio: float  # share of the sum by which logarithms lie beyond the aim
    bias_ratio: float  # median of predicted over measured
    one_side_ratio: float  # share of its errors beyond the aim that have the sign most of them have
    median_without: float
    p90_without: float

    @property
    def is_one_sided(self) -> bool:
        """Whether its errors have a sign, as a missing term would give them, or scatter."""
        return self.one_side_ratio >= ONE_SIDED and abs(math.log(self.bias_ratio)) > SIGNED


def causes(rows: Sequence[Residual], aim_ratio: float, most: int = 3) -> list[Cause]:
    """The groups that carry most of the excess over an aim beyond their share of the rows, largest first.

    Args:
        rows: residuals of one line of figures.
        aim_ratio: error beyond which a row counts, 0.28 for 28 %.
        most: groups to name; one whose excess is mostly that of a group named before isn't.
    """
    limit = math.log1p(aim_ratio)
    excess = [max(0.0, abs(one.error) - limit) for one in rows]
    whole = sum(excess)
    if not whole:
        return []
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, one in enumerate(rows):
        for known in one.known:
            groups[known].append(place)
    ranked = sorted(
        ((sum(excess[at] for at in places) / whole - len(places) / len(rows), key, places))
        for key, places in groups.items()
        if LEAST_ROWS <= len(places) <= LARGEST_SHARE * len(rows)
    )
    found: list[Cause] = []
    named: list[set[int]] = []
    for lift, key, places in reversed(ranked):
        if lift <= 0 or len(found) == most:
            break
        own = {at for at in places if excess[at]}
        if any(_shared(own, other, excess) > ALIKE for other in named):
            continue
        named.append(own)
        found.append(_cause(rows, excess, key, places))
    return found


def _shared(own: set[int], other: set[int], excess: Sequence[float]) -> float:
    both = sum(excess[at] for at in own & other)
    return both / max(1e-12, min(sum(excess[at] for at in own), sum(excess[at] for at in other)))


def _cause(
    rows: Sequence[Residual], excess: Sequence[float], key: tuple[str, str], places: Iterable[int]
) -> Cause:
    inside = set(places)
    beyond = [at for at in inside if excess[at]]
    high = sum(rows[at].error > 0 for at in beyond)
    left = [math.expm1(abs(one.error)) for at, one in enumerate(rows) if at not in inside]
    return Cause(
        way=key[0],
        group=key[1],
        rows=len(inside),
        rows_ratio=len(inside) / len(rows),
        beyond_ratio=len(beyond) / sum(value > 0 for value in excess),
        excess_ratio=sum(excess[at] for at in beyond) / sum(excess),
        bias_ratio=math.exp(median(rows[at].error for at in inside)),
        one_side_ratio=max(high, len(beyond) - high) / len(beyond),
        median_without=median(left),
        p90_without=quantile(left, 0.9),
    )


def residual(one: Prediction, error: float | None = None) -> Residual:
    """A prediction's residual with what is known of its row; ``error``: that of a fit that never saw some of them."""
    case, row = one.case, one.case.row
    known = {
        "accelerator": case.gpu,
        "model": case.model,
        "engine": case.engine,
        "source": case.source,
        "version": "stated" if row.get("engine_version") else "not stated",
        "weights": str(row.get("weights") or row.get("precision") or "not stated"),
        "accelerators": accelerators_word(row.get("gpus") or _product(row)),
        "mode": str(row.get("mode") or row.get("task") or "not stated"),
    }
    load = row.get("load")
    if isinstance(load, dict):
        known["concurrency"] = concurrency_word(load.get("concurrency"))
    if row.get("spec_decode"):
        known["speculative decoding"] = str(row["spec_decode"])
    if row.get("ep") not in (None, 1):
        known["experts"] = "split over accelerators"
    return Residual(log_error(one) if error is None else error, case.source, tuple(known.items()))


def _product(row: dict[str, object]) -> float | None:
    sizes = [value for name in ("tp", "pp", "dp") if isinstance(value := row.get(name), (int, float))]
    return math.prod(sizes) if sizes else None


def accelerators_word(count: object) -> str:
    """One, one node's worth, or several nodes'."""
    if not isinstance(count, (int, float)):
        return "not stated"
    return "1" if count <= 1 else "2 to 8" if count <= 8 else "9 to 64" if count <= 64 else "over 64"


def concurrency_word(clients: object) -> str:
    """How many ask at once, by powers of about eight."""
    if not isinstance(clients, (int, float)):
        return "offline" if clients == "offline" else "not stated"
    bounds = ((4, "up to 4"), (32, "5 to 32"), (256, "33 to 256"), (1024, "257 to 1,024"))
    return next((word for most, word in bounds if clients <= most), "over 1,024")
