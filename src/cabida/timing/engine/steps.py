"""The cost of one engine step as a handful of floats, built once per deployment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cabida import memory
from cabida.plan import Deployment, Load, Parallel
from cabida.timing.devices.kernels import gemm_s
from cabida.timing.engine.coefficients import Coefficients, coefficients, engine_key, first_token_facts
from cabida.timing.engine.roofline import launch_s, token_work_s
from cabida.timing.engine.schedulers import VLLM, Scheduler, scheduler_of
from cabida.timing.engine.step_attention import attention_of
from cabida.timing.engine.step_table import (
    NO_TABLE,
    moe_layers,
    parts_of,
    shares_experts,
    sixteen_bit,
)
from cabida.timing.engine.step_time import Costs, engine_step_s
from cabida.timing.own import corrected

if TYPE_CHECKING:
    from cabida.memory import ServingMemory

HEAD_TOKENS = (1.0, 2048.0)
SIXTEEN_BITS = 16.0
UNLIMITED_TOKENS = 65536  # engines without a token budget
EAGER_RATIO = 2.5  # launches without CUDA graphs: assumed


@dataclass(frozen=True, slots=True)
class StepModel:
    """What one engine step costs (see :func:`cabida.timing.engine.step_time.engine_step_s`) and the scheduler's limits.

    Figures are those of one data-parallel rank; ``ranks_count`` ranks share a replica's load.
    """

    launch_s: float
    sequence_s: float
    head_read_s: float
    head_s_per_token: float
    context_s_per_token: float
    window_s_per_token: float
    state_s_per_sequence: float
    attended_s_per_token: float
    stages_count: float
    prompt_launch_s: float
    host_s: float
    request_s: float
    first_steps_count: float
    harness_steps_count: float
    window_tokens: float
    ranks_count: int
    budget_tokens: float
    sequences_most_count: int
    kv_tokens: float
    block_tokens: float
    reserve_ratio: float
    mixed: bool
    table: tuple[float, ...] = NO_TABLE  # seconds by tokens of a step (``step_time.GRID_TOKENS``)
    shares_prefixes: bool = True
    shared_ratio: float = (
        0.0  # share of products that ranks do for each other, each waiting for all; 0 = apart
    )
    scheduler: Scheduler = VLLM  # the engine's habits beyond ``mixed`` and ``reserve_ratio``
    first_token_ratio: float = (
        1.0  # what the user's own observations say of the time to a first token (own.py)
    )

    def shared_tokens(self, load: Load) -> float:
        """Leading tokens of a prompt that need no computing again."""
        if not self.shares_prefixes:
            return 0.0
        return min(load.shared_prefix_tokens, max(load.input_tokens - 1.0, 0.0))

    def delay_steps(self, harness: str) -> float:
        """Steps' worth of time a first token is late by, as the measuring tool sees it."""
        return self.first_steps_count + (self.harness_steps_count if harness == "inferencex" else 0.0)

    @property
    def constants(self) -> tuple[float, ...]:
        """The figures of :func:`cabida.timing.engine.step_time.engine_step_s` in its order."""
        return (
            self.launch_s,
            self.sequence_s,
            self.head_read_s,
            self.head_s_per_token,
            self.context_s_per_token,
            self.window_s_per_token,
            self.state_s_per_sequence,
            self.attended_s_per_token,
            self.stages_count,
            self.prompt_launch_s,
            self.host_s,
        )

    @property
    def costs(self) -> Costs:
        """Constants and table together."""
        return Costs(self.constants, self.table)


def step_s(
    model: StepModel,
    prefill_tokens: float = 0.0,
    prefill_context_tokens: float = 0.0,
    decode_count: float = 0.0,
    decode_context_tokens: float = 0.0,
) -> float:
    """Seconds of one engine step.

    Args:
        model: the deployment's step model.
        prefill_tokens: prompt tokens worked on in this step.
        prefill_context_tokens: tokens of the same prompts already in the cache.
        decode_count: sequences that produce one token each.
        decode_context_tokens: context of all of them together.
    """
    attended = prefill_tokens * (prefill_context_tokens + 0.5 * prefill_tokens)
    window = min(decode_context_tokens, decode_count * model.window_tokens)
    return engine_step_s(
        model.constants, model.table, prefill_tokens, attended, decode_count, decode_context_tokens, window
    )


def collectives_count(d: Deployment) -> int:
    """Exchanges one token goes through in a step: two a layer between tensor ranks, two a routed layer, stages."""
    tensor = 2 * d.model.layers_count if d.parallel.tp > 1 else 0
    return tensor + (2 * moe_layers(d) if shares_experts(d) else 0) + d.parallel.pp - 1


def _shared_ratio(d: Deployment) -> float:
    """Share of the products of a token that lie in routed experts."""
    counts = memory.params(d.model)
    group = max((g for g in d.model.mlp if g.experts_count), key=lambda g: g.layers_count)
    routed = counts.experts_count * group.experts_per_token_count / group.experts_count
    return routed / (routed + counts.attention_count + counts.mlp_count)


def head_of(d: Deployment) -> tuple[float, float]:
    """The output head: seconds of one sequence alone, and of each of many, at single-kernel speed."""
    fmt = d.weights if d.weights.head_bits < SIXTEEN_BITS else sixteen_bit()
    size = (float(d.model.vocab_count) / d.parallel.tp, float(d.model.hidden_dim_count))
    alone, many = gemm_s(HEAD_TOKENS, *size, fmt, d.accelerator)
    return float(alone), float(many) / HEAD_TOKENS[1]


def table_of(d: Deployment, c: Coefficients) -> tuple[float, ...]:
    """Seconds by tokens at an engine's shares; more tokens never take less."""
    import numpy as np

    parts = parts_of(d)
    found: Any = token_work_s.raw(
        *parts, c.bandwidth_ratio, c.compute_ratio, c.routed_bandwidth_ratio, c.routed_compute_ratio,
        c.link_ratio, c.elements_ratio,
        c.starts_ratio,
    )  # fmt: skip
    return tuple(np.maximum.accumulate(found).tolist())


def step_model(d: Deployment, m: ServingMemory) -> StepModel:
    """What a step of this deployment costs, and its scheduler's limits.

    Args:
        d: model, accelerator, split, formats, engine and settings of one replica.
        m: its memory, of which only the size of the key-value cache is used.
    """
    return corrected(_outside(step_model_with(d, m, coefficients(d)), d), d)


def _asked_of(habits: Scheduler, d: Deployment) -> Scheduler:
    """An engine's habits as its settings change them."""
    given, ranks = d.settings, d.parallel.dp > 1
    if given.capacity_scheduler_policy == "MAX_UTILIZATION":  # tensorrt_llm/llmapi/llm_args.py
        habits = replace(habits, reserve_ratio=0.0, reserve_least_ratio=0.0)
    if given.scheduler_recv_interval > 1 and not ranks:  # sglang/srt/managers/scheduler_recv_skipper.py
        return replace(habits, poll_steps=float(given.scheduler_recv_interval))
    if given.attention_dp_timeout_iters > 0 and ranks:  # py_executor.py: _balance_adp_requests
        return replace(habits, poll_steps=float(given.attention_dp_timeout_iters), poll_ranks=True)
    if given.batch_wait_timeout_iters > 0 and not ranks:  # py_executor.py: _waiting_requests
        return replace(
            habits,
            hold_steps=float(given.batch_wait_timeout_iters),
            hold_ratio=given.batch_wait_max_tokens_ratio,
        )
    return habits


def _sequences_most_count(d: Deployment, m: ServingMemory, habits: Scheduler) -> int:
    most = int(d.settings.max_num_seqs or m.max_num_seqs)
    speculates = d.settings.draft_tokens > 0 or d.draft is not None
    if d.settings.max_num_seqs or not speculates or not habits.speculating_sequences_count:
        return most
    return min(most, habits.speculating_sequences_count)


def _outside(model: StepModel, d: Deployment) -> StepModel:
    """With what passes outside the steps as fitted against the simulation, for engines it was fitted for."""
    found = first_token_facts()["engines"].get(engine_key(d.engine))
    if found is None:
        return model
    habits = replace(model.scheduler, front_s_per_token=found["front_s_per_token"])
    first, harness = found["first_steps_count"], found["harness_steps_count"]
    return replace(
        model, request_s=0.0, first_steps_count=first, harness_steps_count=harness, scheduler=habits
    )


def step_model_with(d: Deployment, m: ServingMemory, c: Coefficients) -> StepModel:
    """:func:`step_model` under given coefficients; every figure is linear in their seconds and in 1 / their ratios."""
    if m.splits_layers:  # whole layers on each card: they work one after the other
        d = replace(d, parallel=Parallel())
    attention, head_alone_s, head_more_s = attention_of(d), *head_of(d)
    habits = _asked_of(scheduler_of(d.engine, d.engine_version), d)
    return StepModel(
        launch_s=float(
            launch_s.raw(
                attention.start_s,
                d.model.layers_count,
                c.layer_s * (EAGER_RATIO if d.settings.enforce_eager else 1.0),
                moe_layers(d),
                c.moe_layer_s,
                collectives_count(d),
                c.exchange_s,
            )
        ),
        sequence_s=c.sequence_s,
        head_read_s=head_alone_s / c.bandwidth_ratio,
        head_s_per_token=head_more_s / c.compute_ratio,
        context_s_per_token=attention.context_s_per_token / c.context_bandwidth_ratio,
        window_s_per_token=attention.window_s_per_token / c.context_bandwidth_ratio,
        state_s_per_sequence=attention.sequence_s / c.context_bandwidth_ratio,
        attended_s_per_token=attention.pair_s / c.attended_compute_ratio,
        stages_count=float(d.parallel.pp),
        prompt_launch_s=d.model.layers_count * c.prompt_layer_s,
        host_s=c.step_s,
        request_s=c.request_s,
        first_steps_count=c.first_steps_count,
        harness_steps_count=c.harness_steps_count,
        window_tokens=attention.window_tokens,
        ranks_count=d.parallel.dp,
        budget_tokens=float(d.settings.max_num_batched_tokens or m.max_num_batched_tokens or UNLIMITED_TOKENS)
        * d.parallel.pp,
        sequences_most_count=_sequences_most_count(d, m, habits),
        kv_tokens=float(m.kv_pool_tokens),
        block_tokens=float(m.block_tokens),
        reserve_ratio=habits.reserve_ratio,
        mixed=habits.mixed,
        table=table_of(d, c),
        shares_prefixes=d.settings.prefix_caching,
        shared_ratio=_shared_ratio(d) if shares_experts(d) else 0.0,
        scheduler=habits,
    )
