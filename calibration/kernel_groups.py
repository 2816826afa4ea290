"""What the kinds of measured kernels have in common: rows of one card and engine, with the card's rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cabida.facts.hardware import accelerator
from cabida.timing.devices.kernel_curves import Rates
from cabida.timing.devices.rates import best_matmul, memory_rate, tensor_rate
from kernel_rows import CARDS, Columns

ROWS_MOST = 1000  # of one card, engine and format
# shape of the gamma distribution of experts' popularity that comes closest to the tables' power laws
SPREADS = {"power_law_1.01": 1.0, "power_law_1.2": 0.8}
HOST_LAUNCH_S = 4e-5  # no kernel of the card takes this long at the least: the host's launch was measured
# tables are measured over a few rotating copies: what is below this share of the cache may have come from there
CACHED_RATIO = 1 / 6
CACHED_WEIGHT = 0.25


@dataclass(frozen=True)
class Knob:
    name: str
    centre: float
    low: float
    high: float
    pull: float = 1.0


@dataclass
class Group:
    """Rows of one card, engine and format."""

    card: str
    architecture: str
    engine: str
    fmt: str
    rows: Columns


@dataclass(frozen=True)
class Family:
    name: str
    knobs: tuple[Knob, ...]
    seconds: Callable[[np.ndarray, Columns], Any]
    groups: Callable[[Path], list[Group]]
    # tables hold kernels that serving avoids: absorbed attention over whole prompts, conversions of 8-bit latents
    fallbacks: bool = False


def group(card: str, engine: str, fmt: str, compute: str, columns: Columns) -> Group:
    """The rows with the card's rates beside them."""
    one = accelerator(CARDS[card])
    count = len(columns["latency"])
    best = best_matmul(one).value
    rows = dict(columns)
    rows["s"] = columns["latency"] / 1e3
    rows["memory"] = np.full(count, memory_rate(one))
    rows["flop"] = np.full(count, tensor_rate(one, compute) * best)
    rows["weight"] = np.ones(count)
    return Group(card, one.capability, engine, fmt, rows)


def rates(rows: Columns) -> Rates:
    return Rates(rows["memory"], rows["flop"])  # type: ignore[arg-type]


def cache_bytes(card: str) -> float:
    return accelerator(CARDS[card]).l2_bytes or 50e6
