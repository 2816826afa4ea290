"""The one procedure behind every figure of a deployment's memory, and the settings it starts from."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.memory import budget as budgets
from cabida.memory import constants, overheads
from cabida.memory.beside import caching, stands_beside, with_beside
from cabida.memory.budget import (
    budget_bytes,
    free_share_pool_bytes,
    kv_pool_bytes,
    static_budget_bytes,
)
from cabida.memory.cache import remembered
from cabida.memory.engines import EngineRules, rules
from cabida.memory.kv import (
    Shape,
    admitted_sequence_bytes,
    all_sequences_bytes,
    all_sequences_tokens,
    context_beyond_window_tokens,
    context_within_window_tokens,
    pool_tokens,
    sequence_bytes,
    shared_pool_tokens,
    stateful_pool_tokens,
    windowed_pool_tokens,
)
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.memory.pages import shape_of
from cabida.memory.params import Experts
from cabida.memory.weights import Split, as_loaded, as_published, plain_weights_bytes, weights_on_accelerator
from cabida.plan import Deployment

DEFAULT_CONTEXT_TOKENS = 4096
PROMPT_TOKENS_MOST = (
    4096  # Transformers: longer prompts show no larger peak (Qwen3 speed tables, 6k to 30k tokens)
)
LLAMA_MICRO_BATCH_TOKENS = 512  # llama.cpp works through a batch in micro-batches (-ub)


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
    row = rules(d.engine, d.engine_version)
    p, s = d.parallel, d.settings
    large = budgets.is_large(d.accelerator)
    max_len = s.max_model_len or int(d.model.context_tokens or DEFAULT_CONTEXT_TOKENS)
    sequences = s.max_num_seqs or (row.large_sequences_count if large else row.sequences_count)
    batched = s.max_num_batched_tokens or (row.large_batched_tokens if large else row.batched_tokens)
    if row.engine == "vllm" and row.since < (0, 8) and not s.max_num_batched_tokens:
        batched = max(max_len, 2048) if max_len <= 32768 else 2048
    elif row.engine == "transformers" and not s.max_num_batched_tokens:
        batched = (max_len if row.whole_logits else min(max_len, PROMPT_TOKENS_MOST)) * sequences
    elif row.engine == "llama.cpp":
        batched = min(batched, LLAMA_MICRO_BATCH_TOKENS)
    elif row.engine == "sglang" and not s.max_num_batched_tokens:
        batched = budgets.static_chunk(d.accelerator.usable_bytes, p.tp)[0]
    if row.splits_layers:
        split = Split(1, p.tp * p.pp, layers=True, pad=1)
    else:
        split = Split(p.tp, p.pp, pad=row.pad_count, experts=_experts(d, row), partition=s.layer_partition)
    sizes = 0 if s.enforce_eager else min(row.graph_sizes_count, 3 + min(512, 2 * sequences) // 8)
    ranks = p.tp * p.pp if row.budget != "asked" else 1  # engines of one process have no peers to talk to
    return Asked(row, split, ranks, max_len, sequences, batched, sizes)


def _experts(d: Deployment, row: EngineRules) -> Experts:
    """Experts are shared by all accelerators of a stage, data-parallel ones included: whole, or sliced without EP."""
    share = d.parallel.tp * d.parallel.dp
    owners = min(d.parallel.ep, share)
    held = remembered(d.model, ("published", d.weights.id), lambda: as_published(d.model, d.weights).id)
    pad = row.expert_pad_count if "mxfp4" in held else 1
    return Experts(owners, max(1, share // owners), pad, d.settings.redundant_experts)


def _window_extra(a: Asked) -> float:
    """Cells a windowed layer keeps beyond its window, per sequence."""
    if a.row.engine == "llama.cpp":
        return float(a.batched) / a.sequences
    return float(a.row.block_tokens)


def figures(d: Deployment, a: Asked, lens: Lens) -> Figures:
    """Every number of a deployment, through a lens: the one procedure behind the fast path and the tree."""
    row, split, model, ranks = a.row, a.split, d.model, d.parallel.cp
    cached, held = caching(d), as_loaded(d.weights, d.engine)
    if lens is PLAIN:
        weights: Number = plain_weights_bytes(model, held, split)
        extra = _window_extra(a)
        key = ("shape", d.kv_cache.body_bits, row.engine, row.since, split.tp, split.pp, extra, ranks)
        shape = remembered(
            cached, key, lambda: shape_of(cached, d.kv_cache, row, split.tp, split.pp, extra, PLAIN, ranks)
        )
    else:
        weights = weights_on_accelerator(model, held, split, lens)
        shape = shape_of(cached, d.kv_cache, row, split.tp, split.pp, _window_extra(a), lens, ranks)
    if stands_beside(d):
        weights = with_beside(d, split, weights, lens)
    non_torch = overheads.non_torch(d.accelerator, a.ranks, lens)
    activation = _activation(d, a, lens)
    graphs = overheads.graphs(model, a.graph_sizes, split.pp, row.graphs, lens)
    budget, pool = _pool(d, a, weights, non_torch, activation, graphs, lens)
    return Figures(
        weights, budget, activation, graphs, non_torch, pool, shape,
        _required(shape, a, lens), _largest_context(shape, pool, lens),
    )  # fmt: skip


def _activation(d: Deployment, a: Asked, lens: Lens) -> Number:
    if a.row.engine == "llama.cpp":
        return overheads.compute_buffer(
            d.model, a.batched, a.max_len, a.row.flash_attention, a.split.pp, lens
        )
    logits, each = (a.batched, constants.WHOLE_LOGITS) if a.row.whole_logits else (a.sequences, a.row.sampler)
    return overheads.profile_activation(d.model, a.split.tp, a.batched, logits, each, lens)


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
    ratio = budgets.utilisation(d.accelerator, d.settings, a.row, a.ranks, lens)
    none = lens.setting("absent_bytes", 0.0)
    others = budgets.desktop(d.settings, lens)
    if a.row.budget == "static":
        static = lens.of(static_budget_bytes)(seen, others, non_torch, ratio)
        return static, lens.of(kv_pool_bytes)(static, weights, none, none, none)
    limit = lens.of(budget_bytes)(
        seen,
        others,
        lens.setting("utilisation_ratio", 1.0) if a.row.budget == "free" else ratio,
    )
    if a.row.budget == "free":
        return limit, lens.of(free_share_pool_bytes)(limit, weights, non_torch, activation, ratio)
    return limit, lens.of(kv_pool_bytes)(
        limit, weights, non_torch, activation, graphs if a.row.graphs_inside else none
    )


def _admits_windows(shape: Shape, row: EngineRules) -> bool:
    """Whether the engine counts a prefill batch on top of a window when it admits a sequence."""
    return row.engine == "vllm" and row.layer_pages and float(shape.window_bytes_per_token) > 0


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
    return lens.of(admitted_sequence_bytes)(
        context,
        shape.block_tokens,
        lens.setting("batched_tokens", a.batched),
        shape.kv_bytes_per_token,
        shape.window_bytes_per_token,
        lens.setting("window_tokens", shape.window_tokens - a.row.block_tokens),
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


def _largest_context(shape: Shape, pool: Number, lens: Lens) -> Number:
    growing, windowed = float(shape.kv_bytes_per_token), float(shape.window_bytes_per_token)
    free = float(pool) - float(shape.state_bytes)
    if free <= 0:
        return lens.setting("context_tokens", 0.0)
    if windowed and free <= shape.window_tokens * (growing + windowed):
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
        lens.setting("window_tokens", shape.window_tokens),
        shape.block_tokens,
    )


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
    if windowed or stateful or not growing:
        return lens.of(shared_pool_tokens)(pool, required, context)
    return lens.of(pool_tokens)(pool, shape.kv_bytes_per_token, shape.block_tokens)
