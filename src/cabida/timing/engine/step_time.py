"""Seconds of one engine step: the one function that the simulation, the steady state and the trees share.

What depends only on the number of tokens in a step (matrix products, routed experts, collectives, norms) is a
table over tokens; the rest (context, prompts, launches) is arithmetic on a few constants. The scalar functions
are the subset of Python that numba compiles (``queue.py`` does); :func:`engine_steps_s` is the same on arrays.
"""

from __future__ import annotations

from math import log2
from typing import Any, NamedTuple

from cabida.timing.engine.roofline import step_s

PER_OCTAVE = 4
GRID_TOKENS = tuple(2.0 ** (place / PER_OCTAVE) for place in range(69))  # 1 to 131,072 tokens
LAST = len(GRID_TOKENS) - 1
STAGES = 8  # place of ``stages_count`` among the constants
CONSTANTS_COUNT = 11
arithmetic = step_s.raw


class Costs(NamedTuple):
    """What steps cost: ``constants`` (CONSTANTS_COUNT floats) and ``table`` (69 seconds), or arrays of either."""

    constants: Any
    table: Any


def table_s(table: Any, tokens: float) -> float:
    """Seconds at ``tokens`` in a table over ``GRID_TOKENS``: linear inside, flat below, proportional beyond."""
    if tokens <= 1.0:
        return table[0]  # type: ignore[no-any-return]
    if tokens >= GRID_TOKENS[LAST]:
        return table[LAST] * tokens / GRID_TOKENS[LAST]  # type: ignore[no-any-return]
    place = min(int(PER_OCTAVE * log2(tokens)), LAST - 1)
    left = GRID_TOKENS[place]
    share = (tokens - left) / (GRID_TOKENS[place + 1] - left)
    return table[place] + share * (table[place + 1] - table[place])  # type: ignore[no-any-return]


def engine_step_s(
    constants: Any, table: Any, prefill: float, pairs: float, count: float, context: float, window: float
) -> float:
    """Seconds of one engine step of a data-parallel rank.

    Args:
        constants: those of a ``StepModel`` in its order.
        table: seconds by tokens in the step (``StepModel.table``).
        prefill: prompt tokens worked on.
        pairs: pairs of such a token and a token it attends to.
        count: sequences that produce one token each.
        context: tokens these attend to, all together.
        window: the same, cut at the sliding window of each.
    """
    tokens_s = table_s(table, (prefill + count) / constants[STAGES])
    prompts = 1.0 if prefill > 0 else 0.0
    return arithmetic(  # type: ignore[no-any-return]
        tokens_s, pairs, prompts, count, context, window, constants[0], constants[1], constants[2],
        constants[3], constants[4], constants[5], constants[6], constants[7], constants[8], constants[9],
        constants[10],
    )  # fmt: skip


def tables_s(tables: Any, tokens: Any) -> Any:
    """:func:`table_s` of tables of shape (n, 69) at tokens of shape (n,); either may be one for all."""
    import numpy as np

    tokens = np.atleast_1d(np.asarray(tokens, float))
    tables = np.atleast_2d(np.asarray(tables, float))
    grid = np.array(GRID_TOKENS)
    within = np.clip(tokens, 1.0, grid[LAST])
    place = np.clip((PER_OCTAVE * np.log2(within)).astype(int), 0, LAST - 1)
    rows = np.arange(len(tables)) if len(tables) > 1 else 0
    low, high = tables[rows, place], tables[rows, place + 1]
    share = (within - grid[place]) / (grid[place + 1] - grid[place])
    return (low + share * (high - low)) * np.maximum(tokens / grid[LAST], 1.0)


def engine_steps_s(costs: Costs, prefill: Any, pairs: Any, count: Any, context: Any, window: Any) -> Any:
    """:func:`engine_step_s` element by element: constants as arrays of shape (n,), table of shape (n, 69)."""
    if not getattr(costs.table, "shape", ()) and not getattr(prefill + count, "shape", ()):
        return engine_step_s(costs.constants, costs.table, prefill, pairs, count, context, window)
    tokens_s = tables_s(costs.table, (prefill + count) / costs.constants[STAGES])
    prompts = (prefill > 0) * 1.0
    return arithmetic(tokens_s, pairs, prompts, count, context, window, *costs.constants)
