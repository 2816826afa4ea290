"""Requests through one or more replicas, event by event: arrivals, ends of steps, prompts handed over.

Written in the subset of Python that numba compiles (arrays in, arrays out); without numba the same code
runs interpreted. Import this module lazily: numba costs half a second. A stretch of decoding steps in which
nothing changes is one event, cut short when a request arrives that could be taken up. The loop can be left
and entered again with more requests: memory then grows with what is in flight, not with what has been served.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cabida.timing.compiled import compiled
from cabida.timing.engine.step_clock import table_s
from cabida.timing.engine.step_time import STAGES
from cabida.timing.queues import columns as col
from cabida.timing.queues.outcome import finish
from cabida.timing.queues.routing import route
from cabida.timing.queues.schedule import plan
from cabida.timing.queues.waiting_line import enqueue

HEAP_COLUMNS = 3  # time, order of coming, request


@compiled
def _push(heap: Any, loop: Any, at_s: float, request: int) -> None:
    """Put a request that reaches the engines at ``at_s`` into the heap of those on their way."""
    place = int(loop[col.PENDING])
    order = loop[col.CLOCK]
    loop[col.CLOCK] += 1
    loop[col.PENDING] += 1
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
    loop[col.PENDING] -= 1
    size = int(loop[col.PENDING])
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
    for _ in range(min(answered, len(asked) - int(loop[col.SENT_COUNT]))):
        request = int(loop[col.SENT_COUNT])
        asked[request, col.SENT] = at_s
        _push(heap, loop, at_s, request)
        loop[col.SENT_COUNT] += 1


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
def _all_asked(state: Any, low: int, high: int) -> bool:
    """Whether each of the ranks has somebody in line, or one of them nobody to decode."""
    every = True
    for r in range(low, high):
        if state[r, col.ALIVE] == 0:
            return True
        every = every and state[r, col.WAITING] > 0
    return every


@compiled
def _plan_together(
    rule: Any, c: Any, table: Any, dc: Any, dtable: Any, asked: Any, seats: Any, state: Any, totals: Any, chosen: Any,
    shelf: Any, using: Any, low: int, high: int,
) -> None:  # fmt: skip
    """Plan the next step of ranks that step together: as long as the slowest, as many as the fewest.

    Experts are shared out over the ranks, so that part of the work follows their mean, unless all are padded to
    the widest; the rest is each one's own.
    """
    span, one_s, growth_s = np.inf, 0.0, 0.0
    tokens = prompts = widest = 0.0
    busy = 0
    if rule[col.POLL_RANKS] > 0 and _all_asked(state, low, high):
        for r in range(low, high):
            state[r, col.POLLED] = state[r, col.STEP]
    for r in range(low, high):
        s = state[r]
        plan(rule, c, table, dc, dtable, asked, seats[r], s, totals[r], chosen[r], shelf[r], using[r])
        if s[col.SPAN] > 0:
            busy += 1
            prompts += s[col.PREFILL]
    if busy == 0:
        return
    for r in range(low, high):
        s = state[r]
        if s[col.SPAN] > 0 and prompts > 0 and s[col.PREFILL] == 0:
            s[col.SPAN] = 1.0
            if rule[col.MIXED] == 0:  # no rank decodes while another reads
                s[col.DECODING] = s[col.ONE_S] = 0.0
        if s[col.SPAN] > 0:
            own = s[col.PREFILL] + s[col.DECODING] * rule[col.VERIFY]
            tokens += own
            widest = max(widest, own)
    apart = high - low > 1 and rule[col.SHARED] > 0 and widest > rule[col.PADDED]
    mean_s = table_s(table, tokens / (high - low) / c[STAGES]) if apart else 0.0
    for r in range(low, high):
        s = state[r]
        if s[col.SPAN] > 0:
            own_s = s[col.ONE_S]
            if apart and own_s > 0:
                own = (s[col.PREFILL] + s[col.DECODING] * rule[col.VERIFY]) / c[STAGES]
                own_s = max(own_s - rule[col.SHARED] * (table_s(table, own) - mean_s), mean_s)
            one_s = max(one_s, own_s)
            growth_s = max(growth_s, s[col.GROWTH_S])
            span = min(span, s[col.SPAN])
    for r in range(low, high):
        s = state[r]
        s[col.SPAN], s[col.ONE_S], s[col.GROWTH_S] = span, one_s, growth_s
        s[col.UNTIL] = s[col.NOW] + span * (one_s + 0.5 * growth_s * (span - 1.0))


@compiled
def _arrive(
    rule: Any, asked: Any, state: Any, totals: Any, request: int, r: int, begin: int, at_s: float
) -> None:
    """Put a request in a replica's line; wake it if idle, cut its steps short if it could be taken up now."""
    s = state[r]
    was_empty = s[col.WAITING] == 0
    asked[request, col.PLACE] = r
    enqueue(asked, s, request)
    totals[r, col.MOST_WAITING] = max(totals[r, col.MOST_WAITING], s[col.WAITING])
    together = int(rule[col.RANKS])
    low = r - (r - begin) % together
    first = state[low]
    if first[col.UNTIL] == np.inf:
        for rank in range(low, low + together):
            state[rank, col.NOW] = at_s
            state[rank, col.UNTIL] = at_s
            state[rank, col.SPAN] = 0.0
        return
    held = rule[col.HOLD] > 0 or rule[col.POLL_RANKS] > 0
    if (
        first[col.SPAN] <= 1
        or not (was_empty or held)
        or s[col.ALIVE] >= rule[col.SLOTS]
        or rule[col.STATIC] > 0
    ):
        return
    steps = _steps_within(first[col.ONE_S], first[col.GROWTH_S], at_s - first[col.NOW])
    if rule[col.POLL] > 1 and not (rule[col.POLL_RANKS] > 0 and _all_asked(state, low, low + together)):
        past = s[col.STEP] - s[col.POLLED]  # the next of the looks, so many steps apart
        steps = np.ceil((past + steps) / rule[col.POLL]) * rule[col.POLL] - past
    if steps < first[col.SPAN]:
        until_s = first[col.NOW] + steps * (first[col.ONE_S] + 0.5 * first[col.GROWTH_S] * (steps - 1.0))
        for rank in range(low, low + together):
            state[rank, col.SPAN] = steps
            state[rank, col.UNTIL] = until_s


@compiled
def _hand_over(rule: Any, asked: Any, s: Any, chosen: Any, heap: Any, loop: Any) -> None:
    """Send the caches of prompts just read on their way, one after the other over the link; latency holds up none."""
    for place in range(int(s[col.FINISHED])):
        request = int(chosen[place])
        if asked[request, col.LAST] < 0:
            begin_s = max(s[col.NOW], s[col.HAND_FREE])
            s[col.HAND_FREE] = begin_s + rule[col.HAND_S_PER_TOKEN] * asked[request, col.INPUT]
            asked[request, col.FILLED] = asked[request, col.INPUT] + 1.0
            _push(heap, loop, s[col.HAND_FREE] + rule[col.HAND_S], request)


@compiled
def run(
    rules: Any, c: Any, tables: Any, dc: Any, dtables: Any, pools: Any, asked: Any, seats: Any, state: Any,
    totals: Any, gaps: Any, chosen: Any, shelf: Any, using: Any, heap: Any, loop: Any,
) -> None:  # fmt: skip
    """Serve requests; results are left in ``asked``, ``totals`` and ``gaps``.

    Args:
        rules: shape (pools, col.RULES_COUNT): limits and habits of each pool of replicas.
        c: shape (pools, constants of a ``StepModel``).
        tables: shape (pools, seconds by tokens).
        dc: as ``c``, of the model that drafts.
        dtables: as ``tables``, of the model that drafts.
        pools: shape (pools,): first replica of each; prompts enter the first pool, handed-over ones the last.
        asked: shape (requests, col.ASKED_COUNT), in order of arrival.
        seats: shape (replicas, slots, col.SEAT_COUNT).
        state: shape (replicas, col.STATE_COUNT).
        totals: shape (replicas, col.TOTALS_COUNT).
        gaps: histogram of gaps between tokens.
        chosen: shape (replicas, slots).
        shelf: shape (replicas, groups, col.SHELF_COUNT).
        using: shape (replicas, adapters, 2).
        heap: shape (requests, HEAP_COLUMNS).
        loop: shape (col.LOOP_COUNT,).
    """
    replicas = len(state)
    policy = int(loop[col.ROUTING])
    closed = loop[col.CLIENTS] > 0
    last_pool = len(pools) - 1
    fresh_high = int(pools[1]) if last_pool > 0 else replicas
    while True:
        known = loop[col.ARRIVED] < loop[col.SENT_COUNT] and not closed
        if loop[col.MORE] > 0 and not known:
            return  # what happens next may depend on who comes next
        open_s = asked[int(loop[col.ARRIVED]), col.SENT] if known else np.inf
        heap_s = heap[0, 0] if loop[col.PENDING] > 0 else np.inf
        low, end_s = 0, np.inf
        for r in range(replicas):
            if state[r, col.UNTIL] < end_s:
                low, end_s = r, state[r, col.UNTIL]
        if open_s == np.inf and heap_s == np.inf and end_s == np.inf:
            return
        if open_s <= end_s or heap_s <= end_s:
            if open_s <= heap_s:
                request = int(loop[col.ARRIVED])
                loop[col.ARRIVED] += 1
            else:
                request = _pop(heap, loop)
            handed = asked[request, col.FILLED] > 0 and last_pool > 0
            begin, end, pool = (int(pools[last_pool]), replicas, last_pool) if handed else (0, fresh_high, 0)
            r = route(policy, rules[pool], asked, state, shelf, loop, request, begin, end)
            _arrive(rules[pool], asked, state, totals, request, r, begin, min(open_s, heap_s))
            continue
        pool = last_pool if low >= int(pools[last_pool]) else 0
        rule = rules[pool]
        high = low + int(rule[col.RANKS])
        span = state[low, col.SPAN]
        for r in range(low, high):
            s = state[r]
            if span > 0:
                took_s = end_s - s[col.NOW]
                s[col.NOW] = end_s
                totals[r, col.END_S] = end_s
                done = finish(
                    rule, asked, seats[r], s, totals[r], gaps, chosen[r], shelf[r], using[r], took_s, span
                )
                if closed:
                    _send_again(asked, heap, loop, done, end_s + loop[col.THINK_S])
                if rule[col.ROLE] == col.READS:
                    _hand_over(rule, asked, s, chosen[r], heap, loop)
            s[col.SPAN] = 0.0
        before = 0.0
        for r in range(low, high):
            before += totals[r, col.REJECTED]
        _plan_together(
            rule, c[pool], tables[pool], dc[pool], dtables[pool], asked, seats, state, totals, chosen, shelf, using,
            low, high,
        )  # fmt: skip
        if closed:
            for r in range(low, high):
                before -= totals[r, col.REJECTED]
            _send_again(asked, heap, loop, int(-before), end_s + loop[col.THINK_S])
