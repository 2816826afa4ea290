"""Which replica takes a request: turn by turn, by chance, the least busy, or the one that has read it before."""

from __future__ import annotations

from typing import Any

from cabida.timing.compiled import compiled
from cabida.timing.queues import columns as col

ROUTES = ("round-robin", "random", "least-loaded", "prefix-aware", "two-choices")
ROUND_ROBIN, RANDOM, LEAST_LOADED, PREFIX_AWARE, TWO_CHOICES = range(5)
# sglang-router's cache_aware policy: follow a match of more than half the prompt unless loads differ by more than
# 32 requests and by half (cache_threshold 0.5, balance_abs_threshold 32, balance_rel_threshold 1.5: its README)
MATCHED_RATIO = 0.5
UNEVEN_COUNT = 32.0
UNEVEN_RATIO = 1.5


@compiled
def load_of(s: Any, waiting_weight: float) -> float:
    """How busy a replica is: those running, and those waiting by their weight."""
    return s[col.ALIVE] + (1.0 if s[col.PART] >= 0 else 0.0) + waiting_weight * s[col.WAITING]  # type: ignore[no-any-return]


@compiled
def _least(state: Any, weight: float, low: int, high: int, turn: int) -> int:
    """The least busy replica from ``low`` to ``high``; among equals the next in turn."""
    count = high - low
    best = low + turn % count
    least = load_of(state[best], weight)
    for offset in range(1, count):
        place = low + (turn + offset) % count
        load = load_of(state[place], weight)
        if load < least:
            best, least = place, load
    return best


@compiled
def _familiar(
    state: Any, weight: float, asked: Any, shelf: Any, request: int, low: int, high: int, turn: int
) -> int:
    """The replica that has most of the prompt cached, unless loads are uneven; else the one with the emptiest cache."""
    least = load_of(state[low], weight)
    most = least
    group = int(asked[request, col.GROUP])
    best, hit, empty = -1, 0.0, low
    for place in range(low, high):
        load = load_of(state[place], weight)
        least, most = min(least, load), max(most, load)
        if group >= 0 and shelf[place, group, col.CACHED] > hit:
            best, hit = place, shelf[place, group, col.CACHED]
        if state[place, col.RESIDENT] < state[empty, col.RESIDENT]:
            empty = place
    if most - least > UNEVEN_COUNT and most > UNEVEN_RATIO * least:
        return _least(state, weight, low, high, turn)  # type: ignore[no-any-return]
    if best >= 0 and min(hit, asked[request, col.PREFIX]) > MATCHED_RATIO * asked[request, col.INPUT]:
        return best
    return empty if group >= 0 else _least(state, weight, low, high, turn)


@compiled
def route(
    policy: int, rule: Any, asked: Any, state: Any, shelf: Any, loop: Any, request: int, low: int, high: int
) -> int:
    """The replica from ``low`` to ``high`` (left out) that ``request`` goes to under a policy of ``ROUTES``."""
    count = high - low
    turn = int(loop[col.TURN])
    loop[col.TURN] += 1
    if count == 1:
        return low
    weight = rule[col.WAITING_WEIGHT]
    if policy == LEAST_LOADED:
        return _least(state, weight, low, high, turn)  # type: ignore[no-any-return]
    if policy == PREFIX_AWARE:
        return _familiar(state, weight, asked, shelf, request, low, high, turn)  # type: ignore[no-any-return]
    first = low + min(int(asked[request, col.LUCK] * count), count - 1)
    if policy == RANDOM:
        return first
    if (
        policy == TWO_CHOICES
    ):  # Mitzenmacher 2001: the less busy of two, the second drawn from the first's remainder
        rest = asked[request, col.LUCK] * count - (first - low)
        second = low + (first - low + 1 + min(int(rest * (count - 1)), count - 2)) % count
        return second if load_of(state[second], weight) < load_of(state[first], weight) else first
    return low + turn % count
