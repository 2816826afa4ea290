"""One replica's scheduler: what its next step carries, how long that takes, and what comes out of it.

Written in the subset of Python that numba compiles; without numba the same text runs interpreted. Every engine
is this one scheduler under its own row of ``rules`` (see ``schedulers.py`` for where each habit is read):
sequences that decode, then the prompt being read, then waiting ones in order, within one token budget; the last
admitted gives way when the cache is full and is computed again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cabida.timing.compiled import compiled
from cabida.timing.engine.step_clock import engine_step_s
from cabida.timing.queues import columns as col
from cabida.timing.queues.prefixes import keep, make_room, pin, trim, unpin
from cabida.timing.queues.waiting_line import in_line, put_back, take_up

RETRACTED_STEPS = 20.0  # SGLANG_RETRACT_DECODE_STEPS: what an engine with a falling reserve sets aside anew
REJECTED_LAST = -2.0
RATIO_STEPS = 16  # decoding steps between two looks at a line that a falling reserve may let in


@compiled
def _adapt(rule: Any, s: Any, totals: Any, using: Any, adapter: int) -> float:
    """Take an adapter into use; seconds it takes to bring it to the device, an unused one leaving."""
    using[adapter, col.RUNNING] += 1
    if using[adapter, col.RUNNING] > 1:
        return 0.0
    s[col.ADAPTED] += 1
    if using[adapter, col.LOADED_NOW] > 0:
        return 0.0
    if rule[col.ADAPTERS] > 0 and s[col.HELD_ADAPTERS] >= rule[col.ADAPTERS]:
        for other in range(len(using)):
            if using[other, col.LOADED_NOW] > 0 and using[other, col.RUNNING] == 0:
                using[other, col.LOADED_NOW] = 0.0
                s[col.HELD_ADAPTERS] -= 1
                break
    using[adapter, col.LOADED_NOW] = 1.0
    s[col.HELD_ADAPTERS] += 1
    totals[col.LOADED] += 1
    return rule[col.LOAD_S]  # type: ignore[no-any-return]


@compiled
def release(asked: Any, s: Any, shelf: Any, using: Any, request: int) -> None:
    """A request leaves the device: its group and its adapter have one user fewer."""
    group, adapter = int(asked[request, col.GROUP]), int(asked[request, col.ADAPTER])
    if group >= 0:
        unpin(s, shelf, group)
    asked[request, col.HIT] = 0.0
    if adapter >= 0:
        using[adapter, col.RUNNING] -= 1
        if using[adapter, col.RUNNING] == 0:
            s[col.ADAPTED] -= 1


@compiled
def seat(asked: Any, seats: Any, s: Any, request: int, size: float) -> None:
    """Let a request of ``size`` tokens of context decode from the next step on."""
    place = int(s[col.ALIVE])
    left = asked[request, col.OUTPUT] - asked[request, col.DONE]
    seats[place, col.REQUEST] = request
    seats[place, col.ENTERED_AT] = s[col.STEP]
    seats[place, col.ENDS_AT] = s[col.STEP] + max(1.0, np.ceil(left / asked[request, col.PACE] - 1e-9))
    seats[place, col.BASE] = size
    s[col.ALIVE] += 1
    s[col.CONTEXT] += size
    s[col.LEFT] += left
    s[col.PACES] += asked[request, col.PACE]


@compiled
def _still_owes(rule: Any, asked: Any, request: int) -> float:
    """Answer tokens a request will take on this replica."""
    if rule[col.ROLE] == col.READS:
        return 0.0
    return asked[request, col.OUTPUT] - asked[request, col.DONE]  # type: ignore[no-any-return]


@compiled
def _looks(rule: Any, asked: Any, s: Any) -> bool:
    """Whether a busy replica looks at its line in this step."""
    if rule[col.POLL] > 1:
        s[col.POLLED] += np.floor((s[col.STEP] - s[col.POLLED]) / rule[col.POLL]) * rule[col.POLL]
        if s[col.STEP] > s[col.POLLED]:
            return False
    if rule[col.HOLD] > 0 and s[col.WAITING] > 0 and s[col.PART] < 0:
        if s[col.HELD_FROM] < 0:
            s[col.HELD_FROM] = s[col.STEP]
        together = s[col.WAITING] * asked[int(s[col.HEAD]), col.INPUT] + s[col.ALIVE]
        if (
            s[col.STEP] - s[col.HELD_FROM] < rule[col.HOLD]
            and together < rule[col.HOLD_RATIO] * rule[col.BUDGET]
        ):
            return False
    s[col.HELD_FROM] = -1.0
    return True


@compiled
def _admit(
    rule: Any, asked: Any, seats: Any, s: Any, totals: Any, chosen: Any, shelf: Any, using: Any
) -> Any:
    """Fill the step with prompt tokens; returns pairs attended to and seconds spent bringing adapters."""
    pool, waste, mixed = rule[col.KV], rule[col.WASTE], rule[col.MIXED] > 0
    slots = min(rule[col.SLOTS], float(len(seats)))
    left = rule[col.BUDGET] - (s[col.ALIVE] * rule[col.VERIFY] if mixed else 0.0)
    prefill = pairs = loading_s = owed = 0.0
    finished = 0
    can_admit = rule[col.STATIC] == 0 or s[col.ALIVE] == 0
    if s[col.ALIVE] > 0 and can_admit:
        can_admit = _looks(rule, asked, s)
    s[col.BLOCKED] = 0.0
    while left >= 1:
        taken = (s[col.ALIVE] + finished + 1) * waste
        if s[col.PART] < 0:
            if s[col.ALIVE] + finished >= slots or not can_admit:
                break
            request, before = in_line(rule, asked, s, using)
            if request < 0:
                break
            goal = asked[request, col.INPUT] + asked[request, col.DONE]
            owes = _still_owes(rule, asked, request)
            if goal + owes + waste > pool or goal + owes > rule[col.SLOT_TOKENS]:
                take_up(asked, s, request, before)  # can never be served
                asked[request, col.LAST] = REJECTED_LAST
                asked[request, col.FIRST] = -1.0
                totals[col.REJECTED] += 1
                continue
            group, hit, fresh = int(asked[request, col.GROUP]), 0.0, 0.0
            if group >= 0:
                hit = min(shelf[group, col.CACHED], asked[request, col.PREFIX], goal - 1.0)
                if shelf[group, col.USERS] == 0:
                    trim(s, shelf, group, hit)
                    fresh = hit
            own = goal - hit
            start = max(hit, asked[request, col.FILLED])
            if group == col.FOUND:
                start = min(asked[request, col.PREFIX], goal - 1.0)
            spared = asked[request, col.SPARED] - s[col.STORED]
            if spared > 0:
                start = max(start, min(np.floor(spared / rule[col.BLOCK]) * rule[col.BLOCK], goal - 1.0))
            piece = goal - start
            handed = asked[request, col.FILLED] > 0
            whole = rule[col.CHUNKED] == 0
            if whole and piece > left and prefill > 0:  # alone it is let through, as budgets are set
                break
            need = own
            if rule[col.RESERVE_NEW] > 0:
                need = own + rule[col.RESERVE_NEW] * owes
            elif rule[col.WHOLE] == 0 and not whole and not handed:
                need = min(piece, left) + start - hit
            room = pool - s[col.PINNED] - fresh - s[col.HELD] - taken - s[col.RATIO] * (s[col.LEFT] + owed)
            if need > room - s[col.ALIVE] * rule[col.VERIFY]:
                s[col.BLOCKED] = 1.0
                break
            take_up(asked, s, request, before)
            if asked[request, col.SCHEDULED] < 0:
                asked[request, col.SCHEDULED] = s[col.NOW]
                totals[col.WAITING_S] += s[col.NOW] - asked[request, col.SENT]
            if group >= 0:
                pin(s, shelf, group)
            asked[request, col.HIT] = hit
            asked[request, col.SPARED] = 0.0
            totals[col.HIT_TOKENS] += hit if group >= 0 else start * (group == col.FOUND)
            if asked[request, col.ADAPTER] >= 0:
                loading_s += _adapt(rule, s, totals, using, int(asked[request, col.ADAPTER]))
            if handed:
                asked[request, col.FILLED] = 0.0
                asked[request, col.FIRST] = s[col.NOW]
                s[col.HELD] += own
                seat(asked, seats, s, request, goal)
                left -= rule[col.VERIFY] if mixed else 0.0
                continue
            s[col.PART], s[col.PART_DONE], s[col.PART_GOAL] = request, start, goal
            s[col.HELD] += start - hit
        part = int(s[col.PART])
        take = s[col.PART_GOAL] - s[col.PART_DONE]
        if rule[col.CHUNKED] > 0:
            take = min(take, left)
        room = (
            pool - s[col.PINNED] - s[col.HELD] - taken - (s[col.ALIVE] * rule[col.VERIFY] if mixed else 0.0)
        )
        if take > room:
            take = np.floor(room)
            if take < 1:
                break
        prefill += take
        pairs += take * (s[col.PART_DONE] + 0.5 * take)
        left -= take
        s[col.PART_DONE] += take
        s[col.HELD] += take
        missing = asked[part, col.PREFIX] - asked[part, col.HIT]
        if (
            missing > 0
            and asked[part, col.GROUP] >= 0
            and asked[part, col.KEPT] == 0
            and s[col.PART_DONE] >= asked[part, col.PREFIX]
        ):
            keep(s, shelf, asked, part, missing)
        if s[col.PART_DONE] >= s[col.PART_GOAL]:
            chosen[finished] = part
            finished += 1
            owed += _still_owes(rule, asked, part)
            s[col.PART] = -1.0
    s[col.PREFILL] = prefill
    s[col.FINISHED] = finished
    if prefill > 0 or s[col.ALIVE] == 0:
        s[col.POLLED] = s[col.STEP]
    return pairs, loading_s


@compiled
def _give_way(rule: Any, asked: Any, seats: Any, s: Any, totals: Any, shelf: Any, using: Any) -> None:
    """Make room for one more token of each decoding sequence: cached prefixes go, then the last admitted."""
    waste, pool = rule[col.WASTE], rule[col.KV]
    retracted = False
    while True:
        decoding = s[col.ALIVE] if (rule[col.MIXED] > 0 or s[col.PREFILL] == 0) else 0.0
        grows = decoding * rule[col.VERIFY] + s[col.ALIVE] * waste
        if s[col.RESIDENT] > 0:
            make_room(s, totals, shelf, pool - s[col.HELD] - grows)
        if (
            decoding <= 0
            or s[col.HELD] + s[col.PINNED] + grows <= pool
            or s[col.ALIVE] + (s[col.PART] >= 0) <= 1
        ):
            break
        retracted = True
        free = max(pool - s[col.HELD] - s[col.PINNED] - s[col.ALIVE] * waste, 0.0)
        if s[col.PART] >= 0:
            victim = int(s[col.PART])
            size = s[col.PART_DONE]
            free = 0.0
            s[col.HELD] -= size - asked[victim, col.HIT]
            s[col.PART] = -1.0
        else:
            s[col.ALIVE] -= 1
            place = int(s[col.ALIVE])
            victim = int(seats[place, col.REQUEST])
            given = (s[col.STEP] - seats[place, col.ENTERED_AT]) * asked[victim, col.PACE]
            size = seats[place, col.BASE] + given
            s[col.LEFT] -= asked[victim, col.OUTPUT] - asked[victim, col.DONE] - given
            asked[victim, col.DONE] += given
            s[col.HELD] -= size - asked[victim, col.HIT]
            s[col.CONTEXT] -= size
            s[col.PACES] -= asked[victim, col.PACE]
        if rule[col.KEEPS] > 0:  # freed blocks are taken from the oldest on, of one sequence the last first
            asked[victim, col.SPARED] = s[col.STORED] + free + size
        release(asked, s, shelf, using, victim)
        put_back(asked, s, victim)
        totals[col.PREEMPTIONS] += 1
    s[col.DECODING] = decoding
    if retracted and rule[col.DECAY] > 0:
        whole = 1.0
        for place in range(int(s[col.ALIVE])):
            whole += asked[int(seats[place, col.REQUEST]), col.OUTPUT]
        s[col.RATIO] = min(1.0, (whole - s[col.LEFT] + RETRACTED_STEPS * s[col.ALIVE]) / whole)


@compiled
def _soonest(seats: Any, alive: int) -> float:
    """The step at which the first of the running sequences ends."""
    soonest = seats[0, col.ENDS_AT]
    for place in range(1, alive):
        soonest = min(soonest, seats[place, col.ENDS_AT])
    return soonest  # type: ignore[no-any-return]


@compiled
def _work_s(
    rule: Any, c: Any, table: Any, prefill: float, pairs: float, count: float, tokens: float, context: float
) -> float:
    """Seconds of one pass of a model: ``count`` sequences that bring ``tokens`` tokens, and a piece of prompt.

    A prompt wider than the engine's micro-batch passes in several.
    """
    read = context
    if count > 0 and context > count * rule[col.WINDOW]:
        read = count * rule[col.WINDOW]
    if prefill <= rule[col.MICRO]:
        return engine_step_s(c, table, prefill, pairs, tokens, context, read)  # type: ignore[no-any-return]
    passes = np.ceil(prefill / rule[col.MICRO])
    piece, own = prefill / passes, pairs / passes
    first_s = engine_step_s(c, table, piece, own, tokens, context, read)
    return first_s + (passes - 1.0) * engine_step_s(c, table, piece, own, 0.0, 0.0, 0.0)  # type: ignore[no-any-return]


@compiled
def _one_step_s(
    rule: Any, c: Any, table: Any, dc: Any, dtable: Any, prefill: float, pairs: float, count: float, context: float,
    adapters: float,
) -> float:  # fmt: skip
    """Seconds of one step: drafting if the engine speculates, then all tokens through the model."""
    took_s = _work_s(rule, c, table, prefill, pairs, count, count * rule[col.VERIFY], context)
    if adapters > 0:
        took_s += rule[col.ADAPTER_S] + adapters * rule[col.ADAPTER_READ_S]
    if rule[col.VERIFY] > 1:
        took_s += count * rule[col.HOST_S]
        if rule[col.DRAFTED] > 0:
            took_s += _work_s(rule, dc, dtable, prefill, pairs, count, count, context)
            if rule[col.DRAFTED] > 1 and count > 0:
                each_s = _work_s(rule, dc, dtable, 0.0, 0.0, count, count, context)
                took_s += (rule[col.DRAFTED] - 1.0) * each_s
    return took_s  # type: ignore[no-any-return]


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
        if s[col.ALIVE] == 0 and s[col.PART] < 0:  # nothing runs: whatever rounding left is gone
            s[col.HELD] = s[col.LEFT] = s[col.CONTEXT] = s[col.PACES] = 0.0
            if s[col.HEAD] < 0:
                s[col.RATIO] = rule[col.RESERVE]
                s[col.SPAN] = s[col.PREFILL] = s[col.FINISHED] = s[col.DECODING] = s[col.ONE_S] = s[
                    col.GROWTH_S
                ] = 0.0
                s[col.UNTIL] = np.inf
                return
        pairs, loading_s = _admit(rule, asked, seats, s, totals, chosen, shelf, using)
        _give_way(rule, asked, seats, s, totals, shelf, using)
        if s[col.PREFILL] > 0 or s[col.ALIVE] > 0:
            break
        if s[col.PART] >= 0:  # the rest of a prompt that will never find room
            part = int(s[col.PART])
            asked[part, col.LAST] = REJECTED_LAST
            release(asked, s, shelf, using, part)
            totals[col.REJECTED] += 1
            s[col.PART] = -1.0
    count, context = s[col.DECODING], s[col.CONTEXT] if s[col.DECODING] > 0 else 0.0
    span = 1.0
    one_s = _one_step_s(rule, c, table, dc, dtable, s[col.PREFILL], pairs, count, context, s[col.ADAPTED])
    growth_s = 0.0
    if s[col.PREFILL] == 0:
        span = _soonest(seats, int(s[col.ALIVE])) - s[col.STEP]
        room = (
            rule[col.KV]
            - s[col.HELD]
            - s[col.PINNED]
            - s[col.ALIVE] * (rule[col.WASTE] + rule[col.VERIFY] - 1.0)
        )
        if span * s[col.PACES] > room:
            span = max(1.0, np.floor(room / s[col.PACES]))
        if s[col.BLOCKED] > 0 and s[col.RATIO] > rule[col.RESERVE_LEAST]:
            span = min(span, float(RATIO_STEPS))
        if rule[col.POLL] > 1 and s[col.WAITING] > 0:
            span = min(span, rule[col.POLL] - (s[col.STEP] - s[col.POLLED]))
        if s[col.HELD_FROM] >= 0:
            span = min(span, max(1.0, rule[col.HOLD] - (s[col.STEP] - s[col.HELD_FROM])))
        if span > 1:
            after = context + s[col.PACES]
            growth_s = _one_step_s(rule, c, table, dc, dtable, 0.0, 0.0, count, after, s[col.ADAPTED]) - one_s
    s[col.SPAN], s[col.ONE_S], s[col.GROWTH_S] = span, one_s + loading_s, growth_s
