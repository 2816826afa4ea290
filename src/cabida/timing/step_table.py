"""Seconds of what depends only on the tokens of a step, on the grid of ``step_time.GRID_TOKENS``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cabida.timing.roofline import token_work_s
from cabida.timing.step_time import GRID_TOKENS

NO_TABLE = (0.0,) * len(GRID_TOKENS)


@lru_cache(maxsize=4096)
def tabulated(
    dense_read_s: float = 0.0,
    dense_s_per_token: float = 0.0,
    routed_read_s: float = 0.0,
    routed_s_per_token: float = 0.0,
    missed_ratio: float = 1.0,
    expert_ranks_count: float = 1.0,
    wire_s_per_token: float = 0.0,
) -> tuple[float, ...]:
    """:func:`cabida.timing.roofline.token_work_s` at every point of the grid."""
    import numpy as np

    found: Any = token_work_s.raw(
        np.array(GRID_TOKENS), dense_read_s, dense_s_per_token, routed_read_s, routed_s_per_token,
        missed_ratio, expert_ranks_count, wire_s_per_token,
    )  # fmt: skip
    return tuple(found.tolist())
