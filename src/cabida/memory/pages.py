"""Which layers share a page, how long a sequence must be to fill one, and so what a sequence costs an engine.

vLLM's hybrid manager gives every group of layers pages of one size: groups are padded to equal length, the
attention block grows until a page holds one recurrent state (1568 tokens on Qwen3.x-27B with an fp8 cache),
and a sequence takes ``ceil(length / block)`` pages per full-attention group but a fixed number per recurrent
group. Engines without it keep windowed layers in full.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cabida.facts.model import AttentionLayers, Model, WeightFormat
from cabida.memory.compressed import compressed_shape, is_compressed
from cabida.memory.engines import EngineRules
from cabida.memory.kv import Shape, of_group, state_of, sum_bytes, sum_bytes_per_token
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.quantity import ceil_to, formula, most


@formula
def stage_layers_count(layers_count: float, stages_count: float, group_count: float) -> Any:
    """Layers of one kind on the fullest pipeline stage, padded to whole page groups. vLLM kv_cache_utils.py."""
    return ceil_to(ceil_to(layers_count / stages_count, 1), group_count)


@formula
def spread_bytes_per_token(whole_bytes_per_token: float, context_ranks: float) -> float:
    """Cache of a token when the tokens of a sequence are dealt out over ranks. vLLM decode context parallelism."""
    return whole_bytes_per_token / context_ranks


@formula
def state_block_tokens(state_bytes: float, kv_bytes_per_token: float, block_tokens: float) -> Any:
    """Tokens an attention page must hold so that it is no smaller than one layer's recurrent state."""
    return most(block_tokens, ceil_to(state_bytes / kv_bytes_per_token, block_tokens))


@formula
def paged_state_bytes(
    layers_count: float, block_tokens: float, kv_bytes_per_token: float, state_blocks_count: float
) -> float:
    """Recurrent state of one sequence stored in pages as large as the attention pages."""
    return layers_count * block_tokens * kv_bytes_per_token * state_blocks_count


def caches(group: AttentionLayers) -> bool:
    """Whether these layers keep anything per token: not recurrent ones, nor those that read an earlier layer's."""
    return group.kind == "mla" or (group.kind != "linear" and group.kv_heads_count > 0)


def _allotted(model: Model, row: EngineRules) -> Model:
    """The model with a cache in every layer where its engine allots one without asking what the layer reads.

    vLLM V0 gave the layers that look at an image as many blocks as the others (worker/cache_engine.py, one tensor for
    each of get_num_attention_layers).
    """
    crossing = model.tower is not None and model.tower.cross_attended
    if row.engine != "vllm" or row.layer_pages or not crossing:
        return model
    heads = max(group.kv_heads_count for group in model.attention)
    return replace(model, attention=tuple(replace(group, kv_heads_count=heads) for group in model.attention))


def _grows(group: AttentionLayers, row: EngineRules) -> bool:
    return group.kind in ("full", "mla") or (group.kind == "sliding" and not row.layer_pages)


def _kinds(model: Model, row: EngineRules, stages: int) -> dict[tuple[object, ...], int]:
    """Layers on one stage of every kind of cache that an engine manages apart; empty without such management."""
    if row.engine != "vllm" or not row.layer_pages:
        return {}
    found: dict[tuple[object, ...], int] = {}
    for group in model.attention:
        if group.kind == "linear" or caches(group):
            kind = "full" if _grows(group, row) else group.kind
            key = (
                kind,
                group.kv_heads_count,
                group.head_dim_count,
                group.v_head_dim_count,
                group.window_tokens,
            )
            found[key] = found.get(key, 0) + -(-group.layers_count // stages)
    return found if len({key[0] for key in found}) > 1 else {}


def _page_group(model: Model, row: EngineRules, stages: int) -> int:
    """Layers in one page group: the rarest kind's number, or the commonest's when they are close."""
    counts = list(_kinds(model, row, stages).values())
    if not counts:
        return 1
    fewest, many = min(counts), max(counts)
    return many if many < row.close_ratio * fewest else fewest


def shape_of(
    model: Model,
    held: WeightFormat,
    row: EngineRules,
    tp: int,
    stages: int,
    window_extra_tokens: float,
    lens: Lens,
    context_ranks: int = 1,
    extra_states: int = 0,
) -> Shape:
    """What one sequence keeps on one accelerator under this engine.

    Args:
        model: The architecture.
        held: The format of the cache.
        row: The engine's rules.
        tp: Accelerators that share each layer.
        stages: Pipeline stages (or, for llama.cpp, accelerators that share the layers out).
        window_extra_tokens: Cells a windowed layer keeps beyond its window.
        lens: Floats or quantities.
        context_ranks: Accelerators that share each sequence out (context parallelism).
        extra_states: Recurrent states a sequence keeps beyond the engine's own number (one per speculated token).
    """
    if row.engine == "vllm" and row.layer_pages and is_compressed(model):
        return compressed_shape(model, stages, lens)
    model = _allotted(model, row)
    if any(word in model.id.lower() for word in row.whole_windows):
        row = replace(row, layer_pages=False)
    bits = lens.field(held, "body_bits")
    page = _page_group(model, row, stages)
    none = lens.setting("absent_bytes_per_token", 0.0)
    growing: list[Number] = []
    windowed: list[Number] = []
    window = 0.0
    for group in model.attention:
        if not caches(group):
            continue
        layers = _layers(model, group, stages, page, lens)
        each = of_group(model, group, layers, bits, tp, lens, row.latent)
        (growing if _grows(group, row) else windowed).append(each)
        if not _grows(group, row):
            window = max(window, group.window_tokens + window_extra_tokens)
    states = max(1, row.state_blocks_count + extra_states)
    block, state = _state(model, row, bits, tp, stages, page, lens, states)
    recurrent = sum(-(-group.layers_count // stages) for group in model.attention if group.kind == "linear")
    paged = recurrent and row.engine == "vllm" and row.layer_pages
    slots_taken = -(-recurrent // page) * states if paged else 0
    group_bytes, groups = _blocks(model, row, tp, stages, page, (float(bits), float(block)))
    whole = _sum(growing, lens) if growing else none
    if context_ranks > 1:
        whole = lens.of(spread_bytes_per_token)(whole, lens.setting("context_ranks", context_ranks))
    return Shape(
        whole,
        _sum(windowed, lens) if windowed else none,
        state,
        window,
        block,
        float(state) / slots_taken if slots_taken else 0.0,
        group_bytes=group_bytes,
        groups_count=groups,
    )


def _blocks(
    model: Model, row: EngineRules, tp: int, stages: int, page: int, bits_and_tokens: tuple[float, float]
) -> tuple[float, int]:
    """Bytes of one block in every layer of a page group, and how many groups there are; (0, 1) without pages."""
    kinds = _kinds(model, row, stages)
    if not kinds:
        return 0.0, 1
    bits, tokens = bits_and_tokens
    each = [of_group(model, one, 1, bits, tp, PLAIN, row.latent) for one in model.attention if caches(one)]
    return page * max(each) * tokens, sum(-(-count // page) for count in kinds.values())


def _layers(model: Model, group: AttentionLayers, stages: int, page: int, lens: Lens) -> Number:
    layers = lens.field(model, "layers_count", group.layers_count)
    if stages == 1 and page == 1:
        return layers
    return lens.of(stage_layers_count)(
        layers, lens.setting("stages_count", stages), lens.setting("group_count", page)
    )


def _sum(parts: list[Number], lens: Lens) -> Number:
    made = parts[0]
    for part in parts[1:]:
        made = lens.of(sum_bytes_per_token)(made, part)
    return made


def _state(
    model: Model, row: EngineRules, bits: Number, tp: int, stages: int, page: int, lens: Lens, states: int
) -> tuple[Number, Number]:
    """Tokens of one block, and bytes of recurrent state of one sequence."""
    block: Number = lens.field(row, "block_tokens")
    linear = [group for group in model.attention if group.kind == "linear"]
    if not linear:
        return block, lens.setting("absent_bytes", 0.0)
    softmax = [group for group in model.attention if group.kind in ("full", "mla") and caches(group)]
    paged = row.engine == "vllm" and row.layer_pages and bool(softmax)
    one = lens.setting("layers_count", 1)
    state = None
    for group in linear:
        layers = _layers(model, group, stages, page, lens)
        if paged:
            token = of_group(model, softmax[0], one, bits, tp, lens)
            own = state_of(model, group, one, tp, lens)
            block = lens.of(state_block_tokens)(own, token, block)
            part = lens.of(paged_state_bytes)(
                layers, block, token, lens.field(row, "state_blocks_count", states)
            )
        else:
            part = state_of(model, group, layers, tp, lens, floats=row.float_states)
        state = part if state is None else lens.of(sum_bytes)(state, part)
    return block, state
