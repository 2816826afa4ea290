"""The steady state without a simulation: how many sequences decode at once, and what a step then takes.

Little's law ties the batch to the step: in a full cycle every request brings its prompt and takes its
answer, so a step with B decoding sequences carries on average B * input / output prompt tokens.
Works on floats and, element by element, on arrays (calibration fits through it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.plan import Deployment, Load
from cabida.plan.decision import QUANTILES
from cabida.quantity import exp, least, most, where
from cabida.timing.engine.step_time import Costs, engine_steps_s
from cabida.timing.engine.steps import StepModel, step_model
from cabida.timing.speed import Bounds, Distribution, ServingSpeed, from_sorted_quantiles
from cabida.timing.spread import spread_of

ROUNDS = 8
FIGURES = ("tpot_s", "prompt_step_s", "ttft_s", "requests_per_s", "batch", "prompt_ratio")
HALVINGS = 20


@dataclass(frozen=True, slots=True)
class Flow:
    """What flows through one rank, as floats or arrays: lengths, and the limits of the scheduler."""

    input_tokens: Any  # prompt tokens to compute, shared prefix left out
    prefix_tokens: Any
    output_tokens: Any
    budget_tokens: Any
    sequences_most_count: Any
    kv_tokens: Any
    window_tokens: Any
    request_s: Any  # outside the engine: fixed part
    first_steps_count: Any
    mixed_ratio: Any  # 1 = prompts and decoding share a step, 0 = prompts go alone
    alike_ratio: Any = 0.0  # 1 = all requests have the same lengths
    rounds_count: Any = float("inf")  # requests of each client of a closed loop; the first come all at once
    reserve_ratio: Any = 0.0  # share of an answer's cache set aside on admission
    front_s: Any = 0.0  # outside the engine: what the length of a prompt adds

    @property
    def outside_s(self) -> Any:
        """What a request takes outside the engine."""
        return self.request_s + self.front_s


@dataclass(frozen=True, slots=True)
class Steady:
    """A steady state: mean step seen by a decoding sequence, time to first token without queueing, request rate."""

    tpot_s: Any
    prompt_step_s: Any
    ttft_s: Any
    requests_per_s: Any
    batch: Any
    prompt_ratio: Any  # share of gaps between tokens that hold a step with a prompt


def at_batch(c: Costs, flow: Flow, batch: Any, *, merged: bool = False) -> Steady:
    """The steady state with ``batch`` sequences decoding on average.

    Prompts arrive at random, so some share a step: with n of them per step on average, a step carries at
    least one with chance 1 - exp(-n). ``merged`` packs prompts as tightly as the budget allows: no engine
    gives out more than that.
    """
    context = flow.prefix_tokens + flow.input_tokens + 0.5 * flow.output_tokens
    room = most(flow.budget_tokens - batch, 1.0)
    piece = least(flow.input_tokens, room)
    share = most(least(batch * flow.input_tokens / flow.output_tokens, room), 1e-9)
    chunk = room if merged else least(share / (1 - exp(-share / piece)), room)
    ratio = share / chunk
    window = batch * least(context, flow.window_tokens)
    none = 0.0 * chunk
    quiet = engine_steps_s(c, none, none, batch, batch * context, window)
    pairs = chunk * (flow.prefix_tokens + 0.5 * flow.input_tokens)
    along = batch * flow.mixed_ratio  # what decodes in the same step as a prompt
    busy = engine_steps_s(c, chunk, pairs, along, along * context, window * flow.mixed_ratio)
    tpot = (1 - ratio * flow.mixed_ratio) * quiet + ratio * busy
    chunks = most(flow.input_tokens / room, 1.0)
    ttft = flow.outside_s + (0.5 + flow.first_steps_count) * tpot + chunks * busy
    return Steady(tpot, busy, ttft, share / (flow.input_tokens * tpot), batch, ratio)


def most_batch(flow: Flow) -> Any:
    """Sequences that decode at once when requests queue: as many as the scheduler or the cache allows."""
    one = flow.input_tokens + 0.5 * (1.0 + flow.reserve_ratio) * flow.output_tokens
    fitting = most((flow.kv_tokens - flow.prefix_tokens) / one, 1.0)
    return least(flow.sequences_most_count, fitting, most(flow.budget_tokens - 1.0, 1.0))


def closed(c: Costs, flow: Flow, clients: Any) -> Steady:
    """The steady state of a closed loop: clients that send again as soon as they are answered."""
    limit = most_batch(flow)
    batch = least(clients, limit)
    for _ in range(ROUNDS):
        now = at_batch(c, flow, batch)
        decode_s = flow.output_tokens * now.tpot_s
        aimed = clients * decode_s / (now.ttft_s + decode_s)
        batch = 0.5 * batch + 0.5 * least(most(aimed, 0.05 * least(clients, 1.0)), limit)
    now = at_batch(c, flow, batch)
    waits = clients / now.requests_per_s - flow.output_tokens * now.tpot_s
    together = least(clients, limit) * flow.input_tokens / most(flow.budget_tokens, flow.input_tokens)
    first_round = 0.5 * most(together - 1.0, 0.0) * _full_prompt_s(c, flow) / most(flow.rounds_count, 1.0)
    queued = where(batch > 0.98 * limit, most(waits, now.ttft_s), now.ttft_s) + first_round
    free = Steady(now.tpot_s, now.prompt_step_s, queued, now.requests_per_s, batch, now.prompt_ratio)
    wave = _in_step(c, flow, clients)
    marching = (flow.alike_ratio * (1 - flow.mixed_ratio) > 0) * (clients <= limit)
    return Steady(*(where(marching, getattr(wave, name), getattr(free, name)) for name in FIGURES))


def _in_step(c: Costs, flow: Flow, clients: Any) -> Steady:
    """A closed loop of equal requests on an engine that reads prompts first: all clients march in step.

    They are answered together, send together, and wait for each other's prompts before anyone decodes.
    """
    wanted = clients * flow.input_tokens
    chunk = most(least(flow.budget_tokens, wanted), least(flow.input_tokens, flow.budget_tokens))
    steps = most(wanted / chunk, 1.0)
    context = flow.prefix_tokens + flow.input_tokens + 0.5 * flow.output_tokens
    window = clients * least(context, flow.window_tokens)
    none = 0.0 * chunk
    pairs = chunk * (flow.prefix_tokens + 0.5 * flow.input_tokens)
    prompt = engine_steps_s(c, chunk, pairs, none, none, none)
    quiet = engine_steps_s(c, none, none, clients, clients * context, window)
    outside = flow.outside_s + flow.first_steps_count * quiet
    tpot = quiet + 0.5 * (steps - 1) * prompt / flow.output_tokens
    cycle = outside + steps * prompt + flow.output_tokens * quiet
    first = outside + 0.5 * (steps + 1) * prompt
    stalled = least(0.5 * (steps - 1) / flow.output_tokens, 1.0)  # gaps that the prompt of another falls into
    return Steady(tpot, prompt, first, clients / cycle, clients, stalled)


def _full_prompt_s(c: Costs, flow: Flow) -> Any:
    """A step filled with prompts, as at the start of a closed loop."""
    chunk = most(flow.budget_tokens, flow.input_tokens)
    nothing = 0.0 * chunk
    depth = flow.prefix_tokens + 0.5 * flow.input_tokens
    return engine_steps_s(c, chunk, chunk * depth, nothing, nothing, nothing)


def waves_ratio(c: Costs, flow: Flow, prompts: Any) -> Any:
    """Share of the full rate that ``prompts`` queued at once reach: the last, partly filled batch takes a whole answer.

    Requests of alike lengths that begin together end together, so they are served in waves.
    """
    limit = most_batch(flow)
    full = least(limit, prompts)
    rest = prompts % full
    full_s = full / at_batch(c, flow, full).requests_per_s
    rest_s = where(rest > 0.5, rest / at_batch(c, flow, most(rest, 0.5)).requests_per_s, 0.0)
    served_s = (prompts - rest) / full * full_s + rest_s
    return prompts / served_s / at_batch(c, flow, limit).requests_per_s


def opened(c: Costs, flow: Flow, requests_per_s: Any) -> tuple[Steady, Any]:
    """The steady state under arrivals at a given rate, and whether they outrun the replica."""
    limit = most_batch(flow)
    full = at_batch(c, flow, limit)
    saturated = full.requests_per_s <= requests_per_s
    low, high = 1e-6 * limit, limit
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        short = at_batch(c, flow, middle).requests_per_s < requests_per_s
        low, high = where(short, middle, low), where(short, high, middle)
    now = at_batch(c, flow, high)
    use = least(now.prompt_ratio, 0.98)
    waits = now.ttft_s + 0.5 * use / (1 - use) * now.prompt_step_s  # M/D/1 on the steps that carry prompts
    return Steady(now.tpot_s, now.prompt_step_s, waits, now.requests_per_s, high, now.prompt_ratio), saturated


def flow_of(model: StepModel, load: Load) -> Flow:
    """The load of one rank, and its limits, as this room's arithmetic wants them."""
    prefix, habits = model.shared_tokens(load), model.scheduler
    return Flow(
        max(load.input_tokens - prefix, 1.0),
        prefix,
        max(load.output_tokens, 1.0),
        model.budget_tokens,
        float(model.sequences_most_count),
        max(model.kv_tokens, 1.0),
        model.window_tokens,
        model.request_s,
        model.delay_steps(load.harness) + habits.waited_steps,
        1.0 if model.mixed else 0.0,
        1.0 if load.input_spread_ratio == 0 and load.output_spread_ratio == 0 else 0.0,
        load.prompts_count / load.concurrency if load.prompts_count and load.concurrency else float("inf"),
        habits.reserve_least_ratio if habits.reserve_steps_count else model.reserve_ratio,
        habits.front_s_per_token * load.input_tokens,
    )


def bounds_of(model: StepModel, load: Load) -> Bounds:
    """Optimistic limits: one request alone for latency, a full batch for throughput."""
    flow = flow_of(model, load)
    alone = at_batch(model.costs, flow, 1.0)
    full = at_batch(model.costs, flow, most_batch(flow), merged=True)
    window = min(flow.input_tokens, flow.window_tokens)
    quiet = engine_steps_s(model.costs, 0.0, 0.0, 1.0, flow.input_tokens, window)
    rate = full.requests_per_s * model.ranks_count
    return Bounds(
        float(alone.ttft_s - 0.5 * alone.tpot_s), float(quiet), float(rate * load.output_tokens), float(rate)
    )


def fluid(d: Deployment, m: Any, load: Load) -> ServingSpeed:
    """Steady state of one replica under ``load``, without simulating.

    Args:
        d: one replica.
        m: its memory.
        load: lengths and either a concurrency or a request rate for the whole replica.
    """
    return fluid_of(step_model(d, m), load, spread_of(d, load))


def fluid_of(model: StepModel, load: Load, spread: dict[str, tuple[float, float]]) -> ServingSpeed:
    """:func:`fluid` for a step model already built."""
    flow, ranks = flow_of(model, load), model.ranks_count
    if load.requests_per_s is not None:
        state, saturated = opened(model.costs, flow, load.requests_per_s / ranks)
    else:
        clients = load.concurrency or 1.0
        if clients == float("inf"):
            clients = max(2.0 * most_batch(flow), 1.0) * ranks
        state, saturated = closed(model.costs, flow, clients / ranks), False
    rate = float(state.requests_per_s) * ranks
    if load.concurrency == float("inf") and load.prompts_count:
        rate *= float(waves_ratio(model.costs, flow, max(load.prompts_count / ranks, 1.0)))
    gaps = max(load.output_tokens - 1.0, 0.0)
    first, later = model.first_token_ratio, (model.first_token_ratio - 1.0) * float(state.ttft_s)
    ttft = _waiting(
        first * float(state.ttft_s), first * float(state.ttft_s - flow.outside_s - state.prompt_step_s)
    )
    tpot = _waiting(float(state.tpot_s), 0.0)
    itl = _two_valued(state, flow)
    e2e = _waiting(float(state.ttft_s + gaps * state.tpot_s) + later, 0.0)
    used = float(state.batch) * (flow.input_tokens + 0.5 * flow.output_tokens) + flow.prefix_tokens
    return ServingSpeed(
        bool(saturated), rate, rate * load.output_tokens, rate * (load.input_tokens + load.output_tokens),
        float(state.batch) * ranks, min(1.0, used / flow.kv_tokens), 0, ttft, tpot, itl, e2e, spread, "formula",
    )  # fmt: skip


def _waiting(mean: float, waits: float) -> Distribution:
    """A fixed part and an exponential wait of mean ``waits``."""
    from math import log

    waits = min(max(waits, 0.0), mean)
    values = tuple(mean - waits - waits * log(1 - q) for q in QUANTILES)
    return from_sorted_quantiles(mean, values)


def _two_valued(state: Steady, flow: Flow) -> Distribution:
    """Gaps between tokens: quiet steps, and those with a prompt, in the same step or in one before it."""
    mean, ratio, prompt = float(state.tpot_s), min(float(state.prompt_ratio), 1.0), float(state.prompt_step_s)
    if flow.mixed_ratio:
        busy = prompt
        quiet = (mean - ratio * busy) / (1 - ratio) if ratio < 1 else busy
    else:
        quiet = mean - ratio * prompt
        busy = quiet + prompt
    values = tuple(busy if q > 1 - ratio else quiet for q in QUANTILES)
    return from_sorted_quantiles(mean, values)
