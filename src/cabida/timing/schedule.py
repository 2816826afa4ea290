"""One replica's scheduler: what its next step carries, how long that takes, and what comes out of it.

Written in the subset of Python that numba compiles; without numba the same text runs interpreted. Every engine
is this one scheduler under its own row of ``rules`` (see ``engines.py`` for where each habit is read):
sequences that decode, then the prompt being read, then waiting ones in order, within one token budget; the last
admitted gives way when the cache is full and is computed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cabida.timing.columns import (
    ADAPTED,
    ADAPTER,
    ADAPTER_READ_S,
    ADAPTER_S,
    ADAPTERS,
    ALIVE,
    BASE,
    BLOCKED,
    BUDGET,
    CACHED,
    CHUNKED,
    CONTEXT,
    DECAY,
    DECODING,
    DONE,
    DRAFTED,
    ENDS_AT,
    ENTERED_AT,
    FILLED,
    FINISHED,
    FIRST,
    FOUND,
    GROUP,
    GROWTH_S,
    HEAD,
    HELD,
    HELD_ADAPTERS,
    HIT,
    HIT_TOKENS,
    HOST_S,
    INPUT,
    KEPT,
    KV,
    LAST,
    LEFT,
    LOAD_S,
    LOADED,
    LOADED_NOW,
    MICRO,
    MIXED,
    NEXT,
    NOW,
    ONE_S,
    OUTPUT,
    PACE,
    PACES,
    PART,
    PART_DONE,
    PART_GOAL,
    PINNED,
    PREEMPTIONS,
    PREFILL,
    PREFIX,
    RATIO,
    READS,
    REJECTED,
    REQUEST,
    RESERVE,
    RESERVE_LEAST,
    RESERVE_NEW,
    RESIDENT,
    ROLE,
    RUNNING,
    SCHEDULED,
    SLOT_TOKENS,
    SLOTS,
    SPAN,
    STATIC,
    STEP,
    TAIL,
    UNTIL,
    USERS,
    VERIFY,
    WAITING,
    WASTE,
    WHOLE,
    WINDOW,
)  # fmt: skip
from cabida.timing.compiled import compiled
from cabida.timing.prefixes import keep, make_room, pin, unpin
from cabida.timing.step_clock import engine_step_s

RETRACTED_STEPS = 20.0  # SGLANG_RETRACT_DECODE_STEPS: what an engine with a falling reserve sets aside anew
REJECTED_LAST = -2.0
RATIO_STEPS = 16  # decoding steps between two looks at a line that a falling reserve may let in


@compiled
def enqueue(asked: Any, s: Any, request: int) -> None:
    """Put a request at the end of a replica's line."""
    asked[request, NEXT] = -1.0
    if s[TAIL] >= 0:
        asked[int(s[TAIL]), NEXT] = request
    else:
        s[HEAD] = request
    s[TAIL] = request
    s[WAITING] += 1


@compiled
def _put_back(asked: Any, s: Any, request: int) -> None:
    """Put a preempted request at the front."""
    asked[request, NEXT] = s[HEAD]
    if s[HEAD] < 0:
        s[TAIL] = request
    s[HEAD] = request
    s[WAITING] += 1


@compiled
def _take_up(asked: Any, s: Any, request: int, before: int) -> None:
    after = asked[request, NEXT]
    if before < 0:
        s[HEAD] = after
    else:
        asked[before, NEXT] = after
    if after < 0:
        s[TAIL] = before
    s[WAITING] -= 1


@compiled
def _in_line(rule: Any, asked: Any, s: Any, using: Any) -> Any:
    """The first in line whose adapter is in use or finds a place, and the one before it; -1 = nobody."""
    request, before = int(s[HEAD]), -1
    if rule[ADAPTERS] <= 0:
        return request, before
    while request >= 0:
        adapter = int(asked[request, ADAPTER])
        if adapter < 0 or using[adapter, RUNNING] > 0 or s[ADAPTED] < rule[ADAPTERS]:
            break
        before = request
        request = int(asked[request, NEXT])
    return request, before


@compiled
def _adapt(rule: Any, s: Any, totals: Any, using: Any, adapter: int) -> float:
    """Take an adapter into use; seconds it takes to bring it to the device, an unused one leaving."""
    using[adapter, RUNNING] += 1
    if using[adapter, RUNNING] > 1:
        return 0.0
    s[ADAPTED] += 1
    if using[adapter, LOADED_NOW] > 0:
        return 0.0
    if rule[ADAPTERS] > 0 and s[HELD_ADAPTERS] >= rule[ADAPTERS]:
        for other in range(len(using)):
            if using[other, LOADED_NOW] > 0 and using[other, RUNNING] == 0:
                using[other, LOADED_NOW] = 0.0
                s[HELD_ADAPTERS] -= 1
                break
    using[adapter, LOADED_NOW] = 1.0
    s[HELD_ADAPTERS] += 1
    totals[LOADED] += 1
    return rule[LOAD_S]  # type: ignore[no-any-return]


@compiled
def _release(asked: Any, s: Any, shelf: Any, using: Any, request: int) -> None:
    """A request leaves the device: its group and its adapter have one user fewer."""
    group, adapter = int(asked[request, GROUP]), int(asked[request, ADAPTER])
    if group >= 0:
        unpin(s, shelf, group)
    asked[request, HIT] = 0.0
    if adapter >= 0:
        using[adapter, RUNNING] -= 1
        if using[adapter, RUNNING] == 0:
            s[ADAPTED] -= 1


@compiled
def _seat(asked: Any, seats: Any, s: Any, request: int, size: float) -> None:
    """Let a request of ``size`` tokens of context decode from the next step on."""
    place = int(s[ALIVE])
    left = asked[request, OUTPUT] - asked[request, DONE]
    seats[place, REQUEST] = request
    seats[place, ENTERED_AT] = s[STEP]
    seats[place, ENDS_AT] = s[STEP] + max(1.0, np.ceil(left / asked[request, PACE] - 1e-9))
    seats[place, BASE] = size
    s[ALIVE] += 1
    s[CONTEXT] += size
    s[LEFT] += left
    s[PACES] += asked[request, PACE]


@compiled
def _still_owes(rule: Any, asked: Any, request: int) -> float:
    """Answer tokens a request will take on this replica."""
    if rule[ROLE] == READS:
        return 0.0
    return asked[request, OUTPUT] - asked[request, DONE]  # type: ignore[no-any-return]


@compiled
def _admit(
    rule: Any, asked: Any, seats: Any, s: Any, totals: Any, chosen: Any, shelf: Any, using: Any
) -> Any:
    """Fill the step with prompt tokens; returns pairs attended to and seconds spent bringing adapters."""
    pool, waste, mixed = rule[KV], rule[WASTE], rule[MIXED] > 0
    slots = min(rule[SLOTS], float(len(seats)))
    left = rule[BUDGET] - (s[ALIVE] * rule[VERIFY] if mixed else 0.0)
    prefill = pairs = loading_s = owed = 0.0
    finished = 0
    can_admit = rule[STATIC] == 0 or s[ALIVE] == 0
    s[BLOCKED] = 0.0
    while left >= 1:
        taken = (s[ALIVE] + finished + 1) * waste
        if s[PART] < 0:
            if s[ALIVE] + finished >= slots or not can_admit:
                break
            request, before = _in_line(rule, asked, s, using)
            if request < 0:
                break
            goal = asked[request, INPUT] + asked[request, DONE]
            owes = _still_owes(rule, asked, request)
            if goal + owes + waste > pool or goal + owes > rule[SLOT_TOKENS]:
                _take_up(asked, s, request, before)  # can never be served
                asked[request, LAST] = REJECTED_LAST
                asked[request, FIRST] = -1.0
                totals[REJECTED] += 1
                continue
            group, hit, fresh = int(asked[request, GROUP]), 0.0, 0.0
            if group >= 0:
                hit = min(shelf[group, CACHED], asked[request, PREFIX], goal - 1.0)
                fresh = shelf[group, CACHED] if shelf[group, USERS] == 0 else 0.0
            own = goal - hit
            start = max(hit, asked[request, FILLED])
            if group == FOUND:
                start = min(asked[request, PREFIX], goal - 1.0)
            piece = goal - start
            handed = asked[request, FILLED] > 0
            whole = rule[CHUNKED] == 0
            if whole and piece > left and (prefill > 0 or (mixed and s[ALIVE] > 0 and piece <= rule[BUDGET])):
                break
            need = own
            if rule[RESERVE_NEW] > 0:
                need = own + rule[RESERVE_NEW] * owes
            elif rule[WHOLE] == 0 and not whole and not handed:
                need = min(piece, left) + start - hit
            room = pool - s[PINNED] - fresh - s[HELD] - taken - s[RATIO] * (s[LEFT] + owed)
            if need > room - s[ALIVE] * rule[VERIFY]:
                s[BLOCKED] = 1.0
                break
            _take_up(asked, s, request, before)
            if asked[request, SCHEDULED] < 0:
                asked[request, SCHEDULED] = s[NOW]
            if group >= 0:
                pin(s, shelf, group)
            asked[request, HIT] = hit
            totals[HIT_TOKENS] += hit if group >= 0 else start * (group == FOUND)
            if asked[request, ADAPTER] >= 0:
                loading_s += _adapt(rule, s, totals, using, int(asked[request, ADAPTER]))
            if handed:
                asked[request, FILLED] = 0.0
                asked[request, FIRST] = s[NOW]
                s[HELD] += own
                _seat(asked, seats, s, request, goal)
                left -= rule[VERIFY] if mixed else 0.0
                continue
            s[PART], s[PART_DONE], s[PART_GOAL] = request, start, goal
            s[HELD] += start - hit
        part = int(s[PART])
        take = s[PART_GOAL] - s[PART_DONE]
        if rule[CHUNKED] > 0:
            take = min(take, left)
        room = pool - s[PINNED] - s[HELD] - taken - (s[ALIVE] * rule[VERIFY] if mixed else 0.0)
        if take > room:
            take = np.floor(room)
            if take < 1:
                break
        prefill += take
        pairs += take * (s[PART_DONE] + 0.5 * take)
        left -= take
        s[PART_DONE] += take
        s[HELD] += take
        missing = asked[part, PREFIX] - asked[part, HIT]
        if (
            missing > 0
            and asked[part, GROUP] >= 0
            and asked[part, KEPT] == 0
            and s[PART_DONE] >= asked[part, PREFIX]
        ):
            keep(s, shelf, asked, part, missing)
        if s[PART_DONE] >= s[PART_GOAL]:
            chosen[finished] = part
            finished += 1
            owed += _still_owes(rule, asked, part)
            s[PART] = -1.0
    s[PREFILL] = prefill
    s[FINISHED] = finished
    return pairs, loading_s


@compiled
def _give_way(rule: Any, asked: Any, seats: Any, s: Any, totals: Any, shelf: Any, using: Any) -> None:
    """Make room for one more token of each decoding sequence: cached prefixes go, then the last admitted."""
    waste, pool = rule[WASTE], rule[KV]
    retracted = False
    while True:
        decoding = s[ALIVE] if (rule[MIXED] > 0 or s[PREFILL] == 0) else 0.0
        grows = decoding * rule[VERIFY] + s[ALIVE] * waste
        if s[RESIDENT] > 0:
            make_room(s, totals, shelf, pool - s[HELD] - grows)
        if decoding <= 0 or s[HELD] + s[PINNED] + grows <= pool or s[ALIVE] + (s[PART] >= 0) <= 1:
            break
        retracted = True
        if s[PART] >= 0:
            victim = int(s[PART])
            s[HELD] -= s[PART_DONE] - asked[victim, HIT]
            s[PART] = -1.0
        else:
            s[ALIVE] -= 1
            place = int(s[ALIVE])
            victim = int(seats[place, REQUEST])
            given = (s[STEP] - seats[place, ENTERED_AT]) * asked[victim, PACE]
            size = seats[place, BASE] + given
            s[LEFT] -= asked[victim, OUTPUT] - asked[victim, DONE] - given
            asked[victim, DONE] += given
            s[HELD] -= size - asked[victim, HIT]
            s[CONTEXT] -= size
            s[PACES] -= asked[victim, PACE]
        _release(asked, s, shelf, using, victim)
        _put_back(asked, s, victim)
        totals[PREEMPTIONS] += 1
    s[DECODING] = decoding
    if retracted and rule[DECAY] > 0:
        whole = 1.0
        for place in range(int(s[ALIVE])):
            whole += asked[int(seats[place, REQUEST]), OUTPUT]
        s[RATIO] = min(1.0, (whole - s[LEFT] + RETRACTED_STEPS * s[ALIVE]) / whole)


@compiled
def _soonest(seats: Any, alive: int) -> float:
    """The step at which the first of the running sequences ends."""
    soonest = seats[0, ENDS_AT]
    for place in range(1, alive):
        soonest = min(soonest, seats[place, ENDS_AT])
    return soonest  # type: ignore[no-any-return]


@compiled
def _work_s(
    rule: Any, c: Any, table: Any, prefill: float, pairs: float, count: float, tokens: float, context: float
) -> float:
    """Seconds of one pass of a model: ``count`` sequences that bring ``tokens`` tokens, and a piece of prompt.

    A prompt wider than the engine's micro-batch passes in several.
    """
    read = context
    if count > 0 and context > count * rule[WINDOW]:
        read = count * rule[WINDOW]
    if prefill <= rule[MICRO]:
        return engine_step_s(c, table, prefill, pairs, tokens, context, read)  # type: ignore[no-any-return]
    passes = np.ceil(prefill / rule[MICRO])
    piece, own = prefill / passes, pairs / passes
    first_s = engine_step_s(c, table, piece, own, tokens, context, read)
    return first_s + (passes - 1.0) * engine_step_s(c, table, piece, own, 0.0, 0.0, 0.0)  # type: ignore[no-any-return]


@compiled
def _one_step_s(
    rule: Any, c: Any, table: Any, dc: Any, dtable: Any, prefill: float, pairs: float, count: float, context: float,
    adapters: float,
) -> float:  # fmt: skip
    """Seconds of one step: drafting if the engine speculates, then all tokens through the model."""
    took_s = _work_s(rule, c, table, prefill, pairs, count, count * rule[VERIFY], context)
    if adapters > 0:
        took_s += rule[ADAPTER_S] + adapters * rule[ADAPTER_READ_S]
    if rule[VERIFY] > 1:
        took_s += count * rule[HOST_S]
        if rule[DRAFTED] > 0:
            took_s += _work_s(rule, dc, dtable, prefill, pairs, count, count, context)
            if rule[DRAFTED] > 1 and count > 0:
                each_s = _work_s(rule, dc, dtable, 0.0, 0.0, count, count, context)
                took_s += (rule[DRAFTED] - 1.0) * each_s
    return took_s


@compiled
def plan(
    rule: Any, c: Any, table: Any, dc: Any, dtable: Any, asked: Any, seats: Any, s: Any, totals: Any, chosen: Any,
    shelf: Any, using: Any,
) -> None:  # fmt: skip
    """Decide what the next step carries and how many like it follow; idle when there is nothing to do.

    Args:
        rule: the deployment's row of ``rules``.
        c: constants of its ``StepModel``.
        table: its seconds by tokens.
        dc: constants of the drafting model.
        dtable: its seconds by tokens.
        asked: all requests.
        seats: the replica's decoding sequences.
        s: its row of ``state``.
        totals: its row of ``totals``.
        chosen: filled with the requests whose prompt ends in this step.
        shelf: its cached prefixes.
        using: its adapters.
    """
    while True:
        if s[ALIVE] == 0 and s[PART] < 0:  # nothing runs: whatever rounding left is gone
            s[HELD] = s[LEFT] = s[CONTEXT] = s[PACES] = 0.0
            if s[HEAD] < 0:
                s[RATIO] = rule[RESERVE]
                s[SPAN] = s[PREFILL] = s[FINISHED] = s[DECODING] = s[ONE_S] = s[GROWTH_S] = 0.0
                s[UNTIL] = np.inf
                return
        pairs, loading_s = _admit(rule, asked, seats, s, totals, chosen, shelf, using)
        _give_way(rule, asked, seats, s, totals, shelf, using)
        if s[PREFILL] > 0 or s[ALIVE] > 0:
            break
        if s[PART] >= 0:  # the rest of a prompt that will never find room
            part = int(s[PART])
            asked[part, LAST] = REJECTED_LAST
            _release(asked, s, shelf, using, part)
            totals[REJECTED] += 1
            s[PART] = -1.0
    count, context = s[DECODING], s[CONTEXT] if s[DECODING] > 0 else 0.0
    span = 1.0
    one_s = _one_step_s(rule, c, table, dc, dtable, s[PREFILL], pairs, count, context, s[ADAPTED])
    growth_s = 0.0
    if s[PREFILL] == 0:
        span = _soonest(seats, int(s[ALIVE])) - s[STEP]
        room = rule[KV] - s[HELD] - s[PINNED] - s[ALIVE] * (rule[WASTE] + rule[VERIFY] - 1.0)
        if span * s[PACES] > room:
            span = max(1.0, np.floor(room / s[PACES]))
        if s[BLOCKED] > 0 and s[RATIO] > rule[RESERVE_LEAST]:
            span = min(span, float(RATIO_STEPS))
        if span > 1:
            after = context + s[PACES]
            growth_s = _one_step_s(rule, c, table, dc, dtable, 0.0, 0.0, count, after, s[ADAPTED]) - one_s
    s[SPAN], s[ONE_S], s[GROWTH_S] = span, one_s + loading_s, growth_s
