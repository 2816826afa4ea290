"""Requests through one or more replicas, event by event: arrivals, ends of steps, prompts handed over.

Written in the subset of Python that numba compiles (arrays in, arrays out); without numba the same code
runs interpreted. Import this module lazily: numba costs half a second. A stretch of decoding steps in which
nothing changes is one event, cut short when a request arrives that could be taken up. The loop can be left
and entered again with more requests: memory then grows with what is in flight, not with what has been served.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cabida.timing.columns import (
    ALIVE,
    ARRIVED,
    CLIENTS,
    CLOCK,
    DECODING,
    END_S,
    FILLED,
    FINISHED,
    GROWTH_S,
    HAND_FREE,
    HAND_S,
    HAND_S_PER_TOKEN,
    INPUT,
    LAST,
    MIXED,
    MORE,
    MOST_WAITING,
    NOW,
    ONE_S,
    PENDING,
    PLACE,
    PREFILL,
    RANKS,
    READS,
    REJECTED,
    ROLE,
    ROUTING,
    SENT,
    SENT_COUNT,
    SHARED,
    SLOTS,
    SPAN,
    STATIC,
    THINK_S,
    UNTIL,
    VERIFY,
    WAITING,
    WAITING_S,
)  # fmt: skip
from cabida.timing.compiled import compiled
from cabida.timing.outcome import finish
from cabida.timing.routing import route
from cabida.timing.schedule import enqueue, plan
from cabida.timing.step_clock import table_s

HEAP_COLUMNS = 3  # time, order of coming, request
STAGES = 8


@compiled
def _push(heap: Any, loop: Any, at_s: float, request: int) -> None:
    """Put a request that reaches the engines at ``at_s`` into the heap of those on their way."""
    place = int(loop[PENDING])
    order = loop[CLOCK]
    loop[CLOCK] += 1
    loop[PENDING] += 1
    while place > 0:
        above = (place - 1) // 2
        if heap[above, 0] <= at_s:
            break
        for column in range(HEAP_COLUMNS):
            heap[place, column] = heap[above, column]
        place = above
    heap[place, 0], heap[place, 1], heap[place, 2] = at_s, order, request


@compiled
def _sooner(heap: Any, one: int, other: int) -> bool:
    if heap[one, 0] != heap[other, 0]:
        return heap[one, 0] < heap[other, 0]  # type: ignore[no-any-return]
    return heap[one, 1] < heap[other, 1]  # type: ignore[no-any-return]


@compiled
def _pop(heap: Any, loop: Any) -> int:
    """Take the request that comes next out of the heap."""
    request = int(heap[0, 2])
    loop[PENDING] -= 1
    size = int(loop[PENDING])
    for column in range(HEAP_COLUMNS):
        heap[0, column] = heap[size, column]
    place = 0
    while True:
        least, left = place, 2 * place + 1
        if left < size and _sooner(heap, left, least):
            least = left
        if left + 1 < size and _sooner(heap, left + 1, least):
            least = left + 1
        if least == place:
            return request
        for column in range(HEAP_COLUMNS):
            kept = heap[place, column]
            heap[place, column] = heap[least, column]
            heap[least, column] = kept
        place = least


@compiled
def _send_again(asked: Any, heap: Any, loop: Any, answered: int, at_s: float) -> None:
    """Clients of a closed loop that were answered send their next requests."""
    for _ in range(min(answered, len(asked) - int(loop[SENT_COUNT]))):
        request = int(loop[SENT_COUNT])
        asked[request, SENT] = at_s
        _push(heap, loop, at_s, request)
        loop[SENT_COUNT] += 1


@compiled
def _steps_within(first_s: float, growth_s: float, span_s: float) -> float:
    """Fewest steps that last ``span_s`` together, when each is ``growth_s`` longer than the one before."""
    if span_s <= 0:
        return 1.0
    if growth_s * span_s < 1e-9 * first_s * first_s:
        return max(1.0, np.ceil(span_s / first_s))  # type: ignore[no-any-return]
    half = first_s - 0.5 * growth_s
    return max(1.0, np.ceil((np.sqrt(half * half + 2 * growth_s * span_s) - half) / growth_s))  # type: ignore[no-any-return]


@compiled
def _plan_together(
    rule: Any, c: Any, table: Any, dc: Any, dtable: Any, asked: Any, seats: Any, state: Any, totals: Any, chosen: Any,
    shelf: Any, using: Any, low: int, high: int,
) -> None:  # fmt: skip
    """Plan the next step of ranks that step together: as long as the slowest, as many as the fewest.

    Experts are shared out over the ranks, so that part of the work follows their mean; the rest is each one's own.
    """
    span, one_s, growth_s = np.inf, 0.0, 0.0
    tokens = prompts = 0.0
    busy = 0
    for r in range(low, high):
        s = state[r]
        plan(rule, c, table, dc, dtable, asked, seats[r], s, totals[r], chosen[r], shelf[r], using[r])
        if s[SPAN] > 0:
            busy += 1
            prompts += s[PREFILL]
    if busy == 0:
        return
    for r in range(low, high):
        s = state[r]
        if s[SPAN] > 0 and prompts > 0 and s[PREFILL] == 0:
            s[SPAN] = 1.0
            if rule[MIXED] == 0:  # no rank decodes while another reads
                s[DECODING] = s[ONE_S] = 0.0
        if s[SPAN] > 0:
            tokens += s[PREFILL] + s[DECODING] * rule[VERIFY]
    mean_s = table_s(table, tokens / (high - low) / c[STAGES]) if high - low > 1 else 0.0
    for r in range(low, high):
        s = state[r]
        if s[SPAN] > 0:
            own_s = s[ONE_S]
            if high - low > 1 and own_s > 0 and rule[SHARED] > 0:
                own = (s[PREFILL] + s[DECODING] * rule[VERIFY]) / c[STAGES]
                own_s = max(own_s - rule[SHARED] * (table_s(table, own) - mean_s), mean_s)
            one_s = max(one_s, own_s)
            growth_s = max(growth_s, s[GROWTH_S])
            span = min(span, s[SPAN])
    for r in range(low, high):
        s = state[r]
        s[SPAN], s[ONE_S], s[GROWTH_S] = span, one_s, growth_s
        s[UNTIL] = s[NOW] + span * (one_s + 0.5 * growth_s * (span - 1.0))


@compiled
def _arrive(
    rule: Any, asked: Any, state: Any, totals: Any, request: int, r: int, begin: int, at_s: float
) -> None:
    """Put a request in a replica's line; wake it if idle, cut its steps short if it could be taken up now."""
    s = state[r]
    was_empty = s[WAITING] == 0
    asked[request, PLACE] = r
    enqueue(asked, s, request)
    totals[r, MOST_WAITING] = max(totals[r, MOST_WAITING], s[WAITING])
    together = int(rule[RANKS])
    low = r - (r - begin) % together
    first = state[low]
    if first[UNTIL] == np.inf:
        for rank in range(low, low + together):
            state[rank, NOW] = at_s
            state[rank, UNTIL] = at_s
            state[rank, SPAN] = 0.0
        return
    if first[SPAN] <= 1 or not was_empty or s[ALIVE] >= rule[SLOTS] or rule[STATIC] > 0:
        return
    steps = _steps_within(first[ONE_S], first[GROWTH_S], at_s - first[NOW])
    if steps < first[SPAN]:
        until_s = first[NOW] + steps * (first[ONE_S] + 0.5 * first[GROWTH_S] * (steps - 1.0))
        for rank in range(low, low + together):
            state[rank, SPAN] = steps
            state[rank, UNTIL] = until_s


@compiled
def _hand_over(rule: Any, asked: Any, s: Any, chosen: Any, heap: Any, loop: Any) -> None:
    """Send the caches of prompts just read on their way, one after the other over the worker's link."""
    for place in range(int(s[FINISHED])):
        request = int(chosen[place])
        if asked[request, LAST] < 0:
            begin_s = max(s[NOW], s[HAND_FREE])
            s[HAND_FREE] = begin_s + rule[HAND_S] + rule[HAND_S_PER_TOKEN] * asked[request, INPUT]
            asked[request, FILLED] = asked[request, INPUT] + 1.0
            _push(heap, loop, s[HAND_FREE], request)


@compiled
def run(
    rules: Any, c: Any, tables: Any, dc: Any, dtables: Any, pools: Any, asked: Any, seats: Any, state: Any,
    totals: Any, gaps: Any, chosen: Any, shelf: Any, using: Any, heap: Any, loop: Any,
) -> None:  # fmt: skip
    """Serve requests; results are left in ``asked``, ``totals`` and ``gaps``.

    Args:
        rules: shape (pools, RULES_COUNT): limits and habits of each pool of replicas.
        c: shape (pools, constants of a ``StepModel``).
        tables: shape (pools, seconds by tokens).
        dc: as ``c``, of the model that drafts.
        dtables: as ``tables``, of the model that drafts.
        pools: shape (pools,): first replica of each; prompts enter the first pool, handed-over ones the last.
        asked: shape (requests, ASKED_COUNT), in order of arrival.
        seats: shape (replicas, slots, SEAT_COUNT).
        state: shape (replicas, STATE_COUNT).
        totals: shape (replicas, TOTALS_COUNT).
        gaps: histogram of gaps between tokens.
        chosen: shape (replicas, slots).
        shelf: shape (replicas, groups, SHELF_COUNT).
        using: shape (replicas, adapters, 2).
        heap: shape (requests, HEAP_COLUMNS).
        loop: shape (LOOP_COUNT,).
    """
    replicas = len(state)
    policy = int(loop[ROUTING])
    closed = loop[CLIENTS] > 0
    last_pool = len(pools) - 1
    fresh_high = int(pools[1]) if last_pool > 0 else replicas
    while True:
        known = loop[ARRIVED] < loop[SENT_COUNT] and not closed
        if loop[MORE] > 0 and not known:
            return  # what happens next may depend on who comes next
        open_s = asked[int(loop[ARRIVED]), SENT] if known else np.inf
        heap_s = heap[0, 0] if loop[PENDING] > 0 else np.inf
        low, end_s = 0, np.inf
        for r in range(replicas):
            if state[r, UNTIL] < end_s:
                low, end_s = r, state[r, UNTIL]
        if open_s == np.inf and heap_s == np.inf and end_s == np.inf:
            return
        if open_s <= end_s or heap_s <= end_s:
            if open_s <= heap_s:
                request = int(loop[ARRIVED])
                loop[ARRIVED] += 1
            else:
                request = _pop(heap, loop)
            handed = asked[request, FILLED] > 0 and last_pool > 0
            begin, end, pool = (int(pools[last_pool]), replicas, last_pool) if handed else (0, fresh_high, 0)
            r = route(policy, rules[pool], asked, state, shelf, loop, request, begin, end)
            _arrive(rules[pool], asked, state, totals, request, r, begin, min(open_s, heap_s))
            continue
        pool = last_pool if low >= int(pools[last_pool]) else 0
        rule = rules[pool]
        high = low + int(rule[RANKS])
        span = state[low, SPAN]
        for r in range(low, high):
            s = state[r]
            if span > 0:
                took_s = end_s - s[NOW]
                totals[r, WAITING_S] += took_s * s[WAITING]
                s[NOW] = end_s
                totals[r, END_S] = end_s
                done = finish(
                    rule, asked, seats[r], s, totals[r], gaps, chosen[r], shelf[r], using[r], took_s, span
                )
                if closed:
                    _send_again(asked, heap, loop, done, end_s + loop[THINK_S])
                if rule[ROLE] == READS:
                    _hand_over(rule, asked, s, chosen[r], heap, loop)
            s[SPAN] = 0.0
        before = 0.0
        for r in range(low, high):
            before += totals[r, REJECTED]
        _plan_together(
            rule, c[pool], tables[pool], dc[pool], dtables[pool], asked, seats, state, totals, chosen, shelf, using,
            low, high,
        )  # fmt: skip
        if closed:
            for r in range(low, high):
                before -= totals[r, REJECTED]
            _send_again(asked, heap, loop, int(-before), end_s + loop[THINK_S])
