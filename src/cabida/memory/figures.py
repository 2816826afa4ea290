"""The one procedure behind every figure of a deployment's memory, and the settings it starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cabida.memory import budget as budgets
from cabida.memory import constants, overheads, profile_run
from cabida.memory.beside import caching, with_beside
from cabida.memory.budget import (
    budget_bytes,
    free_share_pool_bytes,
    kept_weights_bytes,
    kv_pool_bytes,
    shared_budget_bytes,
    static_budget_bytes,
)
from cabida.memory.cache import remembered
from cabida.memory.engines import EngineRules, rules_for
from cabida.memory.kv import (
    Shape,
    admitted_sequence_bytes,
    all_sequences_bytes,
    all_sequences_tokens,
    block_pool_tokens,
    context_beyond_window_tokens,
    context_within_window_tokens,
    less_states_bytes,
    pool_tokens,
    sequence_bytes,
    shared_pool_tokens,
    stateful_pool_tokens,
    windowed_pool_tokens,
)
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.memory.pages import shape_of
from cabida.memory.params import Experts
from cabida.memory.weights import Split, as_published, as_run, plain_weights_bytes, weights_on_accelerator
from cabida.plan import Deployment

DEFAULT_CONTEXT_TOKENS = 4096
PROMPT_TOKENS_MOST = (
    4096  # Transformers: longer prompts show no larger peak (Qwen3 speed tables, 6k to 30k tokens)
)
LAST_LOGIT = ("ChatGLMModel",)  # their own code keeps the last token's logits only (return_last_logit)
CHUNKED_ABOVE_TOKENS = 32768  # vLLM V0 switches chunked prefill on for longer contexts (engine/arg_utils.py)


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of one deployment as a lens gives them."""

    weights: Number
    budget: Number
    activation: Number
    graphs: Number
    non_torch: Number
    pool: Number
    shape: Shape
    required: Number
    largest_context: Number


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings after the engine's defaults."""

    row: EngineRules
    split: Split
    ranks: int
    max_len: int
    sequences: int
    batched: int
    graph_sizes: int


def asked(d: Deployment) -> Asked:
    """What the deployment comes to once the engine's defaults are filled in."""
    row = rules_for(d.engine, d.engine_version, d.model)
    p, s = d.parallel, d.settings
    large = budgets.is_large(d.accelerator)
    max_len = s.max_model_len or int(d.model.context_tokens or DEFAULT_CONTEXT_TOKENS)
    sequences = s.max_num_seqs or (row.large_sequences_count if large else row.sequences_count)
    batched = s.max_num_batched_tokens or (row.large_batched_tokens if large else row.batched_tokens)
    if _profiles_prompts(row) and not s.max_num_batched_tokens:
        chunked = row.chunk_tokens and max_len > CHUNKED_ABOVE_TOKENS and d.model.tower is None
        batched = row.chunk_tokens if chunked else max(max_len, 2048)
    elif row.batched_tokens == 0 and not s.max_num_batched_tokens:
        batched = (max_len if row.whole_logits else min(max_len, PROMPT_TOKENS_MOST)) * sequences
    elif row.splits_layers:
        batched = min(batched, row.micro_batch_tokens) if row.micro_batch_tokens else batched * sequences
    elif row.engine == "sglang" and not s.max_num_batched_tokens:
        batched = budgets.static_chunk(d.accelerator.usable_bytes, p.tp)[0]
    if row.splits_layers:
        split = Split(1, p.tp * p.pp, layers=True, pad=1)
    else:
        split = Split(p.tp, p.pp, pad=row.pad_count, experts=_experts(d, row), partition=s.layer_partition)
    sizes = 0 if s.enforce_eager else min(row.graph_sizes_count, 3 + min(512, 2 * sequences) // 8)
    ranks = p.tp * p.pp if row.budget != "asked" else 1  # engines of one process have no peers to talk to
    return Asked(row, split, ranks, max_len, sequences, batched, sizes)


def _profiles_prompts(row: EngineRules) -> bool:
    """Whether the profile run is one batch of the longest prompts (vLLM V0)."""
    return row.engine.startswith("vllm") and row.since < (0, 8)


def _experts(d: Deployment, row: EngineRules) -> Experts:
    """Experts are shared by all accelerators of a stage, data-parallel ones included: whole, or sliced without EP."""
    share = d.parallel.tp * d.parallel.dp
    owners = min(d.parallel.ep, share)
    held = remembered(d.model, ("published", d.weights.id), lambda: as_published(d.model, d.weights).id)
    pad = row.expert_pad_count if "mxfp4" in held else 1
    return Experts(owners, max(1, share // owners), pad, d.settings.redundant_experts)


def _window_extra(a: Asked) -> float:
    """Cells a windowed layer keeps beyond its window, per sequence."""
    if a.row.splits_layers:
        return float(a.batched) / a.sequences
    return float(a.row.block_tokens)


def figures(d: Deployment, a: Asked, lens: Lens) -> Figures:
    """Every number of a deployment, through a lens: the one procedure behind the fast path and the tree."""
    d = as_run(d)
    row, split, model = a.row, a.split, d.model
    ranks, states = d.parallel.cp * d.settings.decode_context_parallel_size, _extra_states(d, row)
    cached = caching(d)
    if lens is PLAIN:
        weights: Number = plain_weights_bytes(model, d.weights, split)
        extra = _window_extra(a)
        key = ("shape", d.kv_cache.body_bits, row.engine, row.since, split.tp, split.pp, extra, ranks, states)
        shape = remembered(
            cached,
            key,
            lambda: shape_of(cached, d.kv_cache, row, split.tp, split.pp, extra, PLAIN, ranks, states),
        )
    else:
        weights = weights_on_accelerator(model, d.weights, split, lens)
        shape = shape_of(cached, d.kv_cache, row, split.tp, split.pp, _window_extra(a), lens, ranks, states)
    weights = with_beside(d, split, weights, lens)
    if d.settings.cpu_offload_bytes:
        weights = lens.of(kept_weights_bytes)(
            weights, lens.setting("offload_bytes", d.settings.cpu_offload_bytes)
        )
    non_torch = overheads.non_torch(d.accelerator, row, d.parallel.tp, d.parallel.pp, lens)
    activation = _activation(d, a, lens)
    graphs = overheads.graphs(model, a.graph_sizes, split.pp, row.graphs, lens)
    budget, pool = _pool(d, a, weights, non_torch, activation, graphs, lens)
    if row.engine == "vllm" and not row.layer_pages and float(shape.state_bytes):
        pool = lens.of(less_states_bytes)(
            pool, shape.state_bytes, lens.setting("sequences_count", a.sequences)
        )
        shape = replace(shape, state_bytes=lens.setting("absent_bytes", 0.0))
    return Figures(
        weights, budget, activation, graphs, non_torch, pool, shape,
        _required(shape, a, lens), _largest_context(shape, a, pool, lens),
    )  # fmt: skip


def _extra_states(d: Deployment, row: EngineRules) -> int:
    """Recurrent states beyond the engine's own number: none to reuse without prefix caching, one per draft token."""
    reused = 0 if d.settings.prefix_caching else 1 - row.state_blocks_count
    return reused + d.settings.draft_tokens


def _activation(d: Deployment, a: Asked, lens: Lens) -> Number:
    if a.row.splits_layers:
        return overheads.compute_buffer(
            d.model, d.kv_cache, a.batched, (a.max_len, a.sequences), a.row, a.split.pp, lens
        )
    whole = a.row.whole_logits and d.model.architecture not in LAST_LOGIT
    logits, each = (a.batched, constants.WHOLE_LOGITS) if whole else (a.sequences, a.row.sampler)
    layer = profile_run.layer_peak(d, a.split.tp, a.batched, _prompts(a), a.row, lens)
    images = profile_run.profiled_images(d.model, a.batched, a.sequences, a.max_len)
    tower = profile_run.tower_peak(d.model, a.split.tp, images, a.max_len, lens)
    activation = profile_run.profile_activation(d.model, layer, tower, images, a.batched, logits, each, lens)
    if a.row.fuses_loaded:
        return overheads.fused_at_load(d.model, d.weights, activation, lens)
    return activation


def _prompts(a: Asked) -> tuple[float, float]:
    """(prompts, tokens of each) of the largest batch, where their attention scores are stored whole."""
    if a.row.flash_attention:
        return 0.0, 0.0
    if a.row.budget == "asked":
        return float(a.sequences), a.batched / a.sequences
    each = min(a.batched, a.max_len)
    return a.batched / max(1, each), float(each)


def _pool(
    d: Deployment,
    a: Asked,
    weights: Number,
    non_torch: Number,
    activation: Number,
    graphs: Number,
    lens: Lens,
) -> tuple[Number, Number]:
    """(budget, pool) under the engine's way of sharing memory out."""
    seen = budgets.visible(d.accelerator, lens)
    ratio = budgets.utilisation(d, a.row, lens)
    none = lens.setting("absent_bytes", 0.0)
    others = budgets.desktop(d.settings, lens)
    if a.row.budget == "static":
        static = lens.of(static_budget_bytes)(seen, others, non_torch, ratio)
        return static, lens.of(kv_pool_bytes)(static, weights, none, none, none)
    if a.row.others_inside:
        limit = lens.of(shared_budget_bytes)(seen, others, ratio)
    else:
        whole = lens.setting("utilisation_ratio", 1.0)
        limit = lens.of(budget_bytes)(seen, others, whole if a.row.budget == "free" else ratio)
    if a.row.budget == "free":
        return limit, lens.of(free_share_pool_bytes)(limit, weights, non_torch, activation, ratio)
    return limit, lens.of(kv_pool_bytes)(
        limit, weights, non_torch, activation, graphs if a.row.graphs_inside else none
    )


def _admits_windows(shape: Shape, row: EngineRules) -> bool:
    """Whether the engine counts a prefill batch on top of a window when it admits a sequence."""
    return (
        row.engine == "vllm" and row.layer_pages and float(shape.window_bytes_per_token) > 0
    )  # V1's hybrid manager


def _required(shape: Shape, a: Asked, lens: Lens) -> Number:
    """Cache of one sequence of the longest context allowed; engines that allocate ahead: of all sequences."""
    context = lens.setting("context_tokens", a.max_len)
    one = (
        _admitted(shape, a, context, lens)
        if _admits_windows(shape, a.row)
        else _sequence(shape, context, lens)
    )
    held = a.sequences * a.row.cache_copies_count
    if a.row.budget != "asked" or held == 1:
        return one
    return lens.of(all_sequences_bytes)(one, lens.setting("sequences_count", held))


def _admitted(shape: Shape, a: Asked, context: Number, lens: Lens) -> Number:
    own = shape.window_block_tokens or a.row.block_tokens
    return lens.of(admitted_sequence_bytes)(
        context,
        shape.block_tokens,
        lens.setting("window_block_tokens", own),
        lens.setting("in_flight_tokens", a.batched * a.row.batches_in_flight_count),
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting(
            "window_tokens", shape.window_tokens - (0 if shape.window_block_tokens else a.row.block_tokens)
        ),
        shape.state_bytes,
    )


def _sequence(shape: Shape, context: Number, lens: Lens) -> Number:
    return lens.of(sequence_bytes)(
        context,
        shape.block_tokens,
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting("window_tokens", shape.window_tokens),
        shape.state_bytes,
    )


def _largest_context(shape: Shape, a: Asked, pool: Number, lens: Lens) -> Number:
    window = shape.window_tokens
    if _admits_windows(shape, a.row):
        own = shape.window_block_tokens or a.row.block_tokens
        window += a.batched * a.row.batches_in_flight_count + (own if shape.window_block_tokens else 0.0)
    growing, windowed = float(shape.kv_bytes_per_token), float(shape.window_bytes_per_token)
    free = float(pool) - float(shape.state_bytes)
    if free <= 0:
        return lens.setting("context_tokens", 0.0)
    if windowed and free <= window * (growing + windowed):
        return lens.of(context_within_window_tokens)(
            pool,
            shape.state_bytes,
            shape.kv_bytes_per_token,
            shape.window_bytes_per_token,
            shape.block_tokens,
        )
    if not growing:
        return lens.setting("context_tokens", float("inf"))
    return lens.of(context_beyond_window_tokens)(
        pool,
        shape.state_bytes,
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting("window_tokens", window),
        shape.block_tokens,
    )


def _printed_block(shape: Shape, a: Asked) -> float:
    """Tokens of the smallest block of any group."""
    return float(shape.block_tokens) if float(shape.state_bytes) else float(a.row.block_tokens)


def printed_tokens(shape: Shape, pool: Number, required: Number, a: Asked, lens: Lens) -> Number:
    """Tokens of cache as the engine prints them."""
    context = lens.setting("context_tokens", a.max_len)
    if a.row.budget == "asked":
        return lens.of(all_sequences_tokens)(context, lens.setting("sequences_count", a.sequences))
    growing, windowed = float(shape.kv_bytes_per_token), float(shape.window_bytes_per_token)
    stateful = float(shape.state_bytes) > 0
    if float(pool) <= 0:
        return lens.setting("context_tokens", 0.0)
    if a.row.engine == "sglang" and growing and (windowed or stateful):
        if windowed:
            share = lens.constant(constants.WINDOW_SHARE_RATIO)
            return lens.of(windowed_pool_tokens)(
                pool, shape.kv_bytes_per_token, shape.window_bytes_per_token, share
            )
        share = lens.constant(constants.STATE_SHARE_RATIO)
        return lens.of(stateful_pool_tokens)(pool, shape.kv_bytes_per_token, share)
    if a.row.prints_blocks and shape.group_bytes:
        return lens.of(block_pool_tokens)(
            pool, lens.setting("group_bytes", shape.group_bytes), lens.setting("groups_count", shape.groups_count),
            lens.setting("block_tokens", _printed_block(shape, a)),
        )  # fmt: skip
    if not float(required):  # nothing of a sequence is kept in the pool
        return lens.setting("context_tokens", float("inf"))
    if windowed or stateful or not growing:
        return lens.of(shared_pool_tokens)(pool, required, context)
    return lens.of(pool_tokens)(pool, shape.kv_bytes_per_token, shape.block_tokens)
