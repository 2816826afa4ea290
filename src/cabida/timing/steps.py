"""The cost of one engine step as a handful of floats, built once per deployment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida import memory
from cabida.plan import Deployment, Load, Parallel
from cabida.timing.coefficients import Coefficients, coefficients, engine_key
from cabida.timing.collectives import link_between
from cabida.timing.rates import best_matmul, memory_rate, tensor_rate
from cabida.timing.roofline import (
    dense_weights_bytes,
    experts_missed_ratio,
    head_weights_bytes,
    launch_s,
    multiply_s_per_token,
    read_s,
    routed_weights_bytes,
    weight_flop_per_token,
    wire_s_per_token,
)
from cabida.timing.schedulers import VLLM, Scheduler, scheduler_of
from cabida.timing.step_table import NO_TABLE, tabulated
from cabida.timing.step_time import Costs, engine_step_s

if TYPE_CHECKING:
    from cabida.facts.model import AttentionLayers
    from cabida.memory import ServingMemory

VALUE_BYTES = 2.0  # activations travel in 16 bit
STATE_BYTES = 4.0  # recurrent state is kept in 32 bit
LATENT_COMPUTE_RATIO = 0.5  # decode kernels of latent attention, over the bf16 rate: FlashMLA's README
UNLIMITED_TOKENS = 65536  # engines without a token budget
EAGER_RATIO = 2.5  # launches without CUDA graphs: assumed


@dataclass(frozen=True, slots=True)
class StepModel:
    """What one engine step costs (see :func:`cabida.timing.roofline.engine_step_s`) and the scheduler's limits.

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
    shared_ratio: float = 0.0  # share of products that ranks do for each other, each waiting for all; 0 = apart
    scheduler: Scheduler = VLLM  # the engine's habits beyond ``mixed`` and ``reserve_ratio``

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
        """The figures of :func:`cabida.timing.step_time.engine_step_s` in its order."""
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


def multiplies_as(d: Deployment) -> str:
    """The type that multiplies: 4-bit floats meant for 16-bit products gain 8-bit ones where the card has 4 bit."""
    native = d.weights.family == "fp4" and d.weights.compute == "bf16" and "fp4" in d.accelerator.flop_per_s
    return "fp8" if native else d.weights.compute


def weight_bytes_read(d: Deployment) -> tuple[float, float, float]:
    """Bytes of weights every step reads: body, output head, routed experts; one rank, all its pipeline stages."""
    body, kept, head, experts = weight_counts(d)
    fmt = d.weights
    dense = dense_weights_bytes.raw(body, kept, fmt.body_bits, fmt.other_bits, d.parallel.tp)
    head_bytes = head_weights_bytes.raw(head, fmt.head_bits, d.parallel.tp)
    return (
        float(dense),
        float(head_bytes),
        float(routed_weights_bytes.raw(experts, fmt.body_bits, experts_shards(d))),
    )


def weight_counts(d: Deployment) -> tuple[float, float, float, float]:
    """Weights that a step passes through: quantised, kept in 16 bit, output head, and routed experts."""
    counts = memory.params(d.model)
    body = counts.attention_count + counts.mlp_count
    kept = min(d.model.unquantised_params_count, body)
    head = counts.head_count or counts.embedding_count
    return body - kept, kept + counts.router_count + counts.norm_count, head, counts.experts_count


def experts_shards(d: Deployment) -> int:
    """How many accelerators share the routed experts."""
    return d.parallel.tp * (d.parallel.dp if shares_experts(d) else 1)


def shares_experts(d: Deployment) -> bool:
    """Whether data-parallel ranks spread one set of experts among them."""
    return d.model.is_moe and d.parallel.ep > d.parallel.tp and d.parallel.dp > 1


def _attention(d: Deployment, c: Coefficients) -> tuple[float, float, float, float]:
    """Seconds per token of context, per token in a window, per sequence of state, and per attended pair.

    What a prompt attends to inside a sliding window is left out: under 2 % of its products with the weights.
    """
    tp = d.parallel.tp
    rate = c.context_bandwidth_ratio * memory_rate(d.accelerator)
    compute, best = tensor_rate(d.accelerator, "bf16"), best_matmul(d.accelerator).value
    value_bytes = d.kv_cache.body_bits / 8
    context = window = state = pairs = 0.0
    for group in d.model.attention:
        layers = group.layers_count
        if group.kind == "linear":
            elements = group.state_elements_count * STATE_BYTES + group.conv_elements_count * VALUE_BYTES
            state += 2 * layers * elements / tp / rate
            continue
        one = layers * _value_count(group, tp) * value_bytes / rate
        pair_flop = 2 * layers * group.heads_count * (group.head_dim_count + _v_dim(group)) / tp
        if group.kind == "sliding":
            window += one
            continue
        if group.kind == "mla":
            latent_flop = 2 * group.heads_count * (2 * group.latent_dim_count + group.rope_dim_count) / tp
            one += layers * latent_flop / (compute * LATENT_COMPUTE_RATIO)
        context += one
        pairs += pair_flop / (compute * best * c.attended_compute_ratio)
    return context, window, state, pairs


def _v_dim(group: AttentionLayers) -> int:
    return group.v_head_dim_count or group.head_dim_count


def _value_count(group: AttentionLayers, tp: int) -> float:
    """Numbers one token keeps in one layer on one rank; a latent is whole on every rank."""
    if group.kind == "mla":
        return group.latent_dim_count + group.rope_dim_count
    heads = group.kv_heads_count / min(tp, max(group.kv_heads_count, 1))
    return heads * (group.head_dim_count + _v_dim(group))


def exchange(d: Deployment, c: Coefficients) -> tuple[float, float]:
    """How many collectives a step has, and seconds each token spends on the wire."""
    tp, layers, hidden = d.parallel.tp, d.model.layers_count, d.model.hidden_dim_count
    count, wire = 0.0, 0.0
    if tp > 1:
        link = link_between(tp, d.accelerator, d.node)
        rate = link.all_reduce_bytes_per_s * c.link_ratio
        count += 2 * layers
        wire += wire_s_per_token.raw(2 * layers, hidden, VALUE_BYTES, 2 * (tp - 1) / tp, rate)
    if shares_experts(d):
        routed = moe_layers(d)
        link = link_between(d.parallel.accelerators_count, d.accelerator, d.node)
        per_token = max((group.experts_per_token_count for group in d.model.mlp), default=1)
        rate = link.other_bytes_per_s * c.link_ratio
        count += 2 * routed
        wire += wire_s_per_token.raw(2 * routed, hidden, VALUE_BYTES, min(d.parallel.dp, per_token), rate)
    return count, wire


def _shared_ratio(d: Deployment) -> float:
    """Share of the products of a token that lie in routed experts."""
    counts = memory.params(d.model)
    group = max((g for g in d.model.mlp if g.experts_count), key=lambda g: g.layers_count)
    routed = counts.experts_count * group.experts_per_token_count / group.experts_count
    return routed / (routed + counts.attention_count + counts.mlp_count)


def moe_layers(d: Deployment) -> int:
    """Layers that route tokens to experts."""
    return sum(group.layers_count for group in d.model.mlp if group.experts_count)


def _missed(d: Deployment) -> float:
    """Chance that a token leaves a given expert alone; 1 without experts (none is ever read)."""
    routed = [group for group in d.model.mlp if group.experts_count]
    if not routed:
        return 1.0
    group = max(routed, key=lambda g: g.layers_count)
    return float(experts_missed_ratio.raw(group.experts_per_token_count, group.experts_count))


def step_model(d: Deployment, m: ServingMemory) -> StepModel:
    """What a step of this deployment costs, and its scheduler's limits.

    Args:
        d: model, accelerator, split, formats, engine and settings of one replica.
        m: its memory, of which only the size of the key-value cache is used.
    """
    return step_model_with(d, m, coefficients(d.engine, d.accelerator, d.weights))


def step_model_with(d: Deployment, m: ServingMemory, c: Coefficients) -> StepModel:
    """:func:`step_model` under given coefficients; every figure is linear in their seconds and in 1 / their ratios."""
    if m.splits_layers:  # whole layers on each card: they work one after the other
        d = replace(d, parallel=Parallel())
    counts = memory.params(d.model)
    tp = d.parallel.tp
    dense_bytes, head_bytes, routed_bytes = weight_bytes_read(d)
    rate, best = tensor_rate(d.accelerator, multiplies_as(d)), best_matmul(d.accelerator).value
    bandwidth = memory_rate(d.accelerator)
    missed = _missed(d)
    exchanges, wire = exchange(d, c)
    context, window, state, pairs = _attention(d, c)
    head = counts.head_count or counts.embedding_count
    dense_flop = weight_flop_per_token.raw(counts.attention_count + counts.mlp_count, tp)
    routed_flop = weight_flop_per_token.raw(counts.experts_count * (1 - missed), tp)
    head_flop = weight_flop_per_token.raw(head, tp)  # in 16 bit whatever the body does
    head_s = multiply_s_per_token.raw(head_flop, tensor_rate(d.accelerator, "bf16"), best, c.compute_ratio)
    windows = [g.window_tokens for g in d.model.attention if g.kind == "sliding" and g.window_tokens]
    habits = scheduler_of(d.engine, d.engine_version)
    return StepModel(
        launch_s=float(
            launch_s.raw(
                c.step_s,
                d.model.layers_count,
                c.layer_s * (EAGER_RATIO if d.settings.enforce_eager else 1.0),
                moe_layers(d),
                c.moe_layer_s,
                exchanges + d.parallel.pp - 1,
                c.exchange_s,
            )
        ),
        sequence_s=c.sequence_s,
        head_read_s=float(read_s.raw(head_bytes, bandwidth, c.bandwidth_ratio)),
        head_s_per_token=float(head_s),
        context_s_per_token=context,
        window_s_per_token=window,
        state_s_per_sequence=state,
        attended_s_per_token=pairs,
        stages_count=float(d.parallel.pp),
        prompt_launch_s=d.model.layers_count * c.prompt_layer_s,
        host_s=0.0,
        request_s=c.request_s,
        first_steps_count=c.first_steps_count,
        harness_steps_count=c.harness_steps_count,
        window_tokens=float(max(windows, default=0)) or 1e12,
        ranks_count=d.parallel.dp,
        budget_tokens=float(d.settings.max_num_batched_tokens or m.max_num_batched_tokens or UNLIMITED_TOKENS)
        * d.parallel.pp,
        sequences_most_count=int(d.settings.max_num_seqs or m.max_num_seqs),
        kv_tokens=float(m.kv_pool_tokens),
        block_tokens=float(m.block_tokens),
        reserve_ratio=habits.reserve_ratio,
        mixed=habits.mixed,
        table=tabulated(
            float(read_s.raw(dense_bytes, bandwidth, c.bandwidth_ratio)),
            float(multiply_s_per_token.raw(dense_flop, rate, best, c.compute_ratio)),
            float(read_s.raw(routed_bytes, bandwidth, c.routed_bandwidth_ratio)),
            float(multiply_s_per_token.raw(routed_flop, rate, best, c.routed_compute_ratio)),
            missed,
            float(d.parallel.dp if shares_experts(d) else 1),
            wire,
        ),
        shares_prefixes=d.settings.prefix_caching,
        shared_ratio=_shared_ratio(d) if shares_experts(d) else 0.0,
        scheduler=habits,
    )
