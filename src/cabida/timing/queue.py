"""Continuous batching, request by request: the scheduler of an engine as a discrete-event simulation.

Written in the subset of Python that numba compiles (arrays in, arrays out); without numba the same code
runs interpreted. Import this module lazily: numba costs half a second.

The schedule is vLLM V1's: decoding sequences first, then the prompt being prefilled, then waiting ones in
order of arrival, all within one token budget; prompts are cut into chunks; sequences that no longer fit are
preempted, last admitted first, and recomputed. Runs of pure decode steps are advanced in one go.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from cabida.timing import step_time
from cabida.timing.compiled import compiled

ITL_BINS = 400
ITL_LOW_S = 1e-4
ITL_BINS_PER_E_FOLD = 28.0
(STEPS, BUSY_S, SEQUENCE_S, KV_TOKEN_S, PREEMPTIONS, PREFILLED, GENERATED, REJECTED, END_S, RUN_S) = range(10)

_engine_step_s = compiled(  # the same text, calling the compiled forms of what it calls
    FunctionType(
        step_time.engine_step_s.__code__,
        vars(step_time)
        | {"table_s": compiled(step_time.table_s), "arithmetic": compiled(step_time.arithmetic)},
        "engine_step_s",
    )
)
CONSTANTS_COUNT = step_time.CONSTANTS_COUNT


@compiled
def _time(c: Any, prefill: float, pairs: float, count: float, context: float, window: float) -> float:
    """Seconds of one step; ``c`` are the constants of a ``StepModel`` in field order, then its table."""
    read = context
    if count > 0 and context > count * window:
        read = count * window
    constants, table = c[:CONSTANTS_COUNT], c[CONSTANTS_COUNT:]
    return _engine_step_s(constants, table, prefill, pairs, count, context, read)  # type: ignore[no-any-return]


@compiled
def _steps_within(first_s: float, growth_s: float, span_s: float) -> int:
    """Fewest steps that last ``span_s`` together, when each is ``growth_s`` longer than the one before."""
    if span_s <= 0:
        return 1
    if growth_s * span_s < 1e-9 * first_s * first_s:
        return int(np.ceil(span_s / first_s))
    half = first_s - 0.5 * growth_s
    return max(1, int(np.ceil((np.sqrt(half * half + 2 * growth_s * span_s) - half) / growth_s)))


@compiled
def _soonest(ends_at: Any, alive: int) -> int:
    """The step at which the first of the running sequences ends."""
    soonest = ends_at[0]
    for place in range(1, alive):
        soonest = min(soonest, ends_at[place])
    return soonest  # type: ignore[no-any-return]


@compiled
def _owed(own_tokens: float, reserve_ratio: float, left_tokens: float) -> float:
    """Cache a request may come to need: its own context and the share of its answer the engine sets aside."""
    return own_tokens + reserve_ratio * left_tokens


@compiled
def _note_gap(gaps: Any, gap_s: float, weight: float) -> None:
    """Count ``weight`` token gaps of ``gap_s`` seconds in the logarithmic histogram."""
    place = int(np.log(max(gap_s, ITL_LOW_S) / ITL_LOW_S) * ITL_BINS_PER_E_FOLD)
    gaps[min(place, ITL_BINS - 1)] += weight


@compiled
def _send_again(arrival_s: Any, sent: int, answered: int, at_s: float) -> int:
    """Clients of a closed loop that were answered send their next requests; how many have been sent by then."""
    for _ in range(min(answered, len(arrival_s) - sent)):
        arrival_s[sent] = at_s
        sent += 1
    return sent


@compiled
def _leave(
    running: Any, ends_at: Any, entered_at: Any, base: Any, alive: int, step: int,
    last: Any, done: Any, output_tokens: Any, now: float, prefix_tokens: float, reserve_ratio: float,
) -> Any:  # fmt: skip
    """Take those whose answer is complete out of the running ones.

    Returns: how many stay, and the context, cache and promises that go with the others.
    """
    kept = 0
    context = held = promised = 0.0
    for place in range(alive):
        request = running[place]
        if ends_at[place] <= step:
            size = base[place] + (step - entered_at[place])
            own = base[place] - min(prefix_tokens, base[place])
            promised += _owed(own - 1, reserve_ratio, output_tokens[request] - done[request] + 1)
            held += size - min(prefix_tokens, size)
            context += size
            last[request] = now
        else:
            running[kept] = request
            ends_at[kept] = ends_at[place]
            entered_at[kept] = entered_at[place]
            base[kept] = base[place]
            kept += 1
    return kept, context, held, promised


@compiled
def _join(
    running: Any, ends_at: Any, entered_at: Any, base: Any, alive: int, step: int, chosen: Any, finished: int,
    first: Any, last: Any, done: Any, input_tokens: Any, output_tokens: Any, now: float, prefix_tokens: float,
    reserve_ratio: float,
) -> Any:  # fmt: skip
    """Those whose prompt has been read give their first token and go on decoding; answers of one token leave.

    Returns: how many run, the context and cache they bring (less what the leaving free), and promises settled.
    """
    context = held = promised = 0.0
    for place in range(finished):
        request = chosen[place]
        if first[request] < 0:
            first[request] = now
        size = input_tokens[request] + done[request]
        own = size - min(prefix_tokens, size)
        done[request] += 1
        if done[request] >= output_tokens[request]:
            last[request] = now
            held -= own
            promised += _owed(own, reserve_ratio, output_tokens[request] - done[request] + 1)
            continue
        running[alive] = request
        entered_at[alive] = step
        ends_at[alive] = step + int(output_tokens[request] - done[request])
        base[alive] = size + 1
        held += 1
        context += size + 1
        alive += 1
    return alive, context, held, promised


@compiled
def run(
    c: Any,
    arrival_s: Any,
    input_tokens: Any,
    output_tokens: Any,
    prefix_tokens: float,
    window_tokens: float,
    budget_tokens: float,
    sequences_max: int,
    kv_tokens: float,
    block_tokens: float,
    reserve_ratio: float,
    mixed: bool,
    static: bool,
    concurrency: int,
    think_s: float,
) -> Any:
    """Serve all requests on one replica.

    Args:
        c: constants of a ``StepModel``, then its table.
        arrival_s: ascending arrival times; in a closed loop filled in here.
        input_tokens: prompt lengths, prefix included.
        output_tokens: answer lengths, at least 1.
        prefix_tokens: leading tokens all prompts share: computed once, stored once.
        window_tokens: size of the sliding window (infinite when there is none).
        budget_tokens: most tokens of one step.
        sequences_max: most sequences running at once.
        kv_tokens: tokens the cache holds.
        block_tokens: cache granularity; half a block per sequence is lost on average.
        reserve_ratio: share of the answer's cache an engine sets aside before it admits a request.
        mixed: whether prompts and decoding share a step; if not, prompts go first, alone.
        static: whether a batch must end before the next begins.
        concurrency: clients of a closed loop, each sending again when answered; 0 = open arrivals.
        think_s: time from a last token to the same client's next request reaching the scheduler.

    Returns:
        Arrays per request: scheduled, first token and last token in seconds (-1 for a request that can
        never fit); the weighted histogram of gaps between tokens; totals (see the index names above).
    """
    count = len(input_tokens)
    scheduled = np.full(count, -1.0)
    first = np.full(count, -1.0)
    last = np.full(count, -1.0)
    gaps = np.zeros(ITL_BINS)
    totals = np.zeros(10)
    slots = min(sequences_max, count)
    running = np.empty(slots, np.int64)  # requests past their prompt, oldest first
    ends_at = np.empty(slots, np.int64)  # decode step at which each ends
    entered_at = np.empty(slots, np.int64)  # decode step at which each began
    base = np.empty(slots)  # context each had then
    stack = np.empty(count, np.int64)  # preempted, to be taken up again before new ones
    done = np.zeros(count)  # output tokens already given
    stacked = 0
    alive = 0  # entries of `running`
    head = 0  # next new request
    sent = count if concurrency == 0 else min(concurrency, count)
    part = -1  # request whose prompt is being read
    part_done = 0.0
    part_goal = 0.0
    now = 0.0
    step = 0
    context = 0.0  # tokens all decoding sequences attend to
    held = 0.0  # cache in use, shared prefix left out
    promised = 0.0  # cache the admitted ones may come to need
    pool = kv_tokens - prefix_tokens
    waste = 0.5 * (block_tokens - 1.0)
    prefix_ready = prefix_tokens <= 0
    chosen = np.empty(slots, np.int64)
    stalled_s = 0.0  # time prompts took since decoding last moved

    while head < sent or stacked > 0 or alive > 0 or part >= 0:
        if alive == 0 and part < 0:
            held = 0.0  # nothing runs: whatever rounding left is gone
            promised = 0.0
            if stacked == 0 and arrival_s[head] > now:
                now = arrival_s[head]
        # 1. what this step prefills
        left = budget_tokens - (alive if mixed else 0)
        prefill = 0.0
        pairs = 0.0
        finished = 0
        can_admit = not static or alive == 0
        while left >= 1:
            if part < 0:
                if alive + finished >= slots or not can_admit:
                    break
                fresh = stacked == 0
                if fresh and (head >= sent or arrival_s[head] > now):
                    break
                request = head if fresh else stack[stacked - 1]
                start = prefix_tokens if prefix_ready and prefix_tokens < input_tokens[request] else 0.0
                goal = input_tokens[request] + done[request]
                own = goal - min(prefix_tokens, goal)
                room = pool - held - (alive + finished + 1) * waste - alive
                if own + output_tokens[request] - done[request] + waste > pool:
                    first[request] = -1.0  # can never be served
                    totals[REJECTED] += 1
                    if fresh:
                        head += 1
                    else:
                        stacked -= 1
                    if concurrency > 0 and sent < count:
                        arrival_s[sent] = now + think_s
                        sent += 1
                    continue
                need = min(own, left)
                will = _owed(own, reserve_ratio, output_tokens[request] - done[request])
                if need > room or (
                    reserve_ratio > 0 and promised + will + (alive + finished + 1) * waste > pool
                ):
                    break
                if fresh:
                    head += 1
                else:
                    stacked -= 1
                if scheduled[request] < 0:
                    scheduled[request] = now
                part = request
                part_done = start
                part_goal = goal
                promised += will
            take = min(part_goal - part_done, left)
            room = pool - held - (alive + finished + 1) * waste - (alive if mixed else 0)
            if take > room:
                take = np.floor(room)
                if take < 1:
                    break
            prefill += take
            pairs += take * (part_done + 0.5 * take)
            left -= take
            part_done += take
            held += take
            if part_done >= part_goal:
                chosen[finished] = part
                finished += 1
                part = -1
                if not prefix_ready:
                    prefix_ready = True
                    held -= min(prefix_tokens, part_goal)
        # 2. room for one more token of each decoding sequence; else the last admitted gives way
        decoding = alive if (mixed or prefill == 0) else 0
        while decoding > 0 and held + decoding + alive * waste > pool and alive + (part >= 0) > 1:
            if part >= 0:
                victim = part
                held -= part_done - (min(prefix_tokens, part_done) if prefix_ready else 0.0)
                own = part_goal - min(prefix_tokens, part_goal)
                promised -= _owed(own, reserve_ratio, output_tokens[victim] - done[victim])
                part = -1
            else:
                alive -= 1
                decoding -= 1
                victim = running[alive]
                size = base[alive] + (step - entered_at[alive])
                own = base[alive] - min(prefix_tokens, base[alive])
                promised -= _owed(own - 1, reserve_ratio, output_tokens[victim] - done[victim] + 1)
                done[victim] += step - entered_at[alive]
                held -= size - min(prefix_tokens, size)
                context -= size
            stack[stacked] = victim
            stacked += 1
            totals[PREEMPTIONS] += 1
        if prefill == 0 and alive == 0:
            if part >= 0:  # the rest of a prompt that will never find room
                totals[REJECTED] += 1
                held, promised, part = 0.0, 0.0, -1
            continue
        # 3. how many such steps pass before anything changes
        span = 1
        soonest = _soonest(ends_at, alive) if decoding > 0 else 0
        one_s = _time(c, prefill, pairs, float(decoding), context, window_tokens)
        growth_s = 0.0
        if prefill == 0:
            span = soonest - step
            room = pool - held - alive * waste
            if span * alive > room:
                span = max(1, int(room / alive))
            if span > 1:
                growth_s = _time(c, 0.0, 0.0, float(alive), context + alive, window_tokens) - one_s
                if head < sent and arrival_s[head] > now and alive < slots and can_admit:
                    span = min(span, _steps_within(one_s, growth_s, arrival_s[head] - now))
        took_s = span * (one_s + 0.5 * growth_s * (span - 1))
        now += took_s
        totals[STEPS] += span
        totals[BUSY_S] += took_s
        totals[SEQUENCE_S] += took_s * (alive + finished + (part >= 0))
        totals[KV_TOKEN_S] += took_s * (held + prefix_tokens + 0.5 * decoding * span)
        totals[PREFILLED] += prefill
        # 4. tokens come out
        if decoding == 0 and alive > 0:
            stalled_s += took_s
        if decoding > 0:
            step += span
            context += span * decoding
            held += span * decoding
            totals[GENERATED] += span * decoding
            each_s = took_s / span
            _note_gap(gaps, each_s + stalled_s, float(decoding))
            _note_gap(gaps, each_s, float((span - 1) * decoding))
            stalled_s = 0.0
            if soonest <= step:
                before = alive
                alive, gone, freed, settled = _leave(
                    running, ends_at, entered_at, base, alive, step,
                    last, done, output_tokens, now, prefix_tokens, reserve_ratio,
                )  # fmt: skip
                context -= gone
                held -= freed
                promised -= settled
                if concurrency > 0:
                    sent = _send_again(arrival_s, sent, before - alive, now + think_s)
        if finished > 0:
            before = alive
            alive, joined, kept, settled = _join(
                running, ends_at, entered_at, base, alive, step, chosen, finished,
                first, last, done, input_tokens, output_tokens, now, prefix_tokens, reserve_ratio,
            )  # fmt: skip
            context += joined
            held += kept
            promised -= settled
            totals[GENERATED] += finished
            if concurrency > 0:
                sent = _send_again(arrival_s, sent, finished - (alive - before), now + think_s)
    totals[END_S] = now
    return scheduled, first, last, gaps, totals
