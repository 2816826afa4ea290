"""The one procedure behind every figure of a deployment's memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cabida.memory import budget as budgets
from cabida.memory import constants, overheads, profile_run
from cabida.memory.asked import Asked
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
from cabida.memory.engines import EngineRules
from cabida.memory.holds import largest_context, required
from cabida.memory.kv import (
    Shape,
    less_states_bytes,
)
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.memory.loaded import as_run, without_tower
from cabida.memory.pages import shape_of
from cabida.memory.weights import Split, bits_of, plain_weights_bytes, weights_on_accelerator
from cabida.plan import Deployment

LAST_LOGIT = ("ChatGLMModel",)  # their own code keeps the last token's logits only (return_last_logit)


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
        extra = _window_extra(a)
        key = ("shape", d.kv_cache.body_bits, row.engine, row.since, split.tp, split.pp, extra, ranks, states)
        shape = remembered(
            cached,
            key,
            lambda: shape_of(cached, d.kv_cache, row, split.tp, split.pp, extra, PLAIN, ranks, states),
        )
    else:
        shape = shape_of(cached, d.kv_cache, row, split.tp, split.pp, _window_extra(a), lens, ranks, states)
    weights = _weights(d, split, lens)
    if d.settings.cpu_offload_bytes:
        weights = lens.of(kept_weights_bytes)(
            weights, lens.setting("offload_bytes", d.settings.cpu_offload_bytes)
        )
    non_torch = _non_torch(d, row, lens)
    activation = _remembered_activation(d, a) if lens is PLAIN else _activation(d, a, lens)
    graphs = overheads.graphs(model, a.graph_sizes, split.pp, row.graphs, lens)
    budget, pool = _pool(d, a, weights, non_torch, activation, graphs, lens)
    if row.engine == "vllm" and not row.layer_pages and float(shape.state_bytes):
        pool = lens.of(less_states_bytes)(
            pool, shape.state_bytes, lens.setting("sequences_count", a.sequences)
        )
        shape = replace(shape, state_bytes=lens.setting("absent_bytes", 0.0))
    return Figures(
        weights, budget, activation, graphs, non_torch, pool, shape,
        required(shape, a, lens), largest_context(shape, a, pool, lens),
    )  # fmt: skip


def _weights(d: Deployment, split: Split, lens: Lens) -> Number:
    """Weights and what is loaded beside them."""
    if lens is not PLAIN:
        return with_beside(d, split, weights_on_accelerator(d.model, d.weights, split, lens), lens)
    if d.draft is not None or d.settings.lora_slots:
        return with_beside(d, split, plain_weights_bytes(d.model, d.weights, split), lens)
    held, tokens = d.weights, d.settings.draft_tokens
    key = ("beside", *bits_of(held), d.engine, tokens, *split.key)
    return remembered(
        d.model, key, lambda: with_beside(d, split, plain_weights_bytes(d.model, held, split), lens)
    )


def _extra_states(d: Deployment, row: EngineRules) -> int:
    """Recurrent states beyond the engine's own number: none to reuse without prefix caching, one per draft token."""
    reused = 0 if d.settings.prefix_caching else 1 - row.state_blocks_count
    return reused + d.settings.draft_tokens


def _non_torch(d: Deployment, row: EngineRules, lens: Lens) -> Number:
    card, tp, pp = d.accelerator, d.parallel.tp, d.parallel.pp
    if lens is not PLAIN:
        return overheads.non_torch(card, row, tp, pp, lens)
    key = ("non_torch", row.engine, row.since, tp, pp)
    return remembered(card, key, lambda: overheads.non_torch(card, row, tp, pp, PLAIN))


def _remembered_activation(d: Deployment, a: Asked) -> float:
    """Activations in floats: most settings of a sweep don't change them."""
    row, held = a.row, d.weights
    lengthy = row.splits_layers or not row.flash_attention or d.model.tower is not None
    key = (
        "activation", row.engine, row.since, a.split.tp, a.split.pp, d.parallel.ep, a.batched, a.sequences,
        a.max_len if lengthy else 0, d.kv_cache.body_bits, held.family, held.body_bits, d.accelerator.architecture,
        d.settings.skip_mm_profiling,
    )  # fmt: skip
    return remembered(d.model, key, lambda: float(_activation(d, a, PLAIN)))


def _activation(d: Deployment, a: Asked, lens: Lens) -> Number:
    if a.row.splits_layers:
        return overheads.compute_buffer(
            d.model, d.kv_cache, a.batched, (a.max_len, a.sequences), a.row, a.split.pp, lens
        )
    if d.settings.skip_mm_profiling:
        d = replace(d, model=without_tower(d.model))
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
