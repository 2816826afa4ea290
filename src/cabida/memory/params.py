"""How many weights a model has, component by component, whole or on one accelerator of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.facts.model import AttentionLayers, MlpLayers, Model
from cabida.memory.cache import remembered
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.quantity import ceil_to, formula, least, most, where

PUBLISHED_TOLERANCE_RATIO = 0.10  # a published count further than this from ours says we lack some weights


@formula
def embedding_params_count(
    vocab_count: float, hidden_dim_count: float, pad_count: float, split_count: float
) -> Any:
    """Token embedding (or output head) on one accelerator: rows padded and split. vLLM vocab_parallel_embedding.py."""
    return ceil_to(vocab_count, pad_count) * hidden_dim_count / split_count


@formula
def attention_params_count(
    layers_count: float,
    hidden_dim_count: float,
    heads_count: float,
    kv_heads_count: float,
    head_dim_count: float,
    v_head_dim_count: float,
    split_count: float,
) -> Any:
    """Projections of softmax attention on one accelerator; key-value heads are repeated beyond their number.

    Vaswani et al. 2017; Ainslie et al. 2023 (GQA); Shoeybi et al. 2019 (column and row split).
    """
    query_output_count = hidden_dim_count * heads_count * (head_dim_count + v_head_dim_count) / split_count
    key_value_count = (
        hidden_dim_count
        * kv_heads_count
        * (head_dim_count + v_head_dim_count)
        / least(split_count, most(kv_heads_count, 1))
    )
    return layers_count * (query_output_count + key_value_count)


@formula
def attention_bias_params_count(
    layers_count: float,
    heads_count: float,
    kv_heads_count: float,
    head_dim_count: float,
    v_head_dim_count: float,
    split_count: float,
) -> Any:
    """Biases of the query, key and value projections on one accelerator."""
    key_value_count = (
        kv_heads_count * (head_dim_count + v_head_dim_count) / least(split_count, most(kv_heads_count, 1))
    )
    return layers_count * (heads_count * head_dim_count / split_count + key_value_count)


@formula
def mla_params_count(
    layers_count: float,
    hidden_dim_count: float,
    heads_count: float,
    head_dim_count: float,
    v_head_dim_count: float,
    latent_dim_count: float,
    rope_dim_count: float,
    query_latent_dim_count: float,
    split_count: float,
) -> Any:
    """Multi-head latent attention on one accelerator: down-projections whole, the rest split by heads.

    DeepSeek-V2 (arXiv 2405.04434), equations 9 to 13.
    """
    down_count = hidden_dim_count * (latent_dim_count + rope_dim_count + query_latent_dim_count)
    query_input_count = where(query_latent_dim_count > 0, query_latent_dim_count, hidden_dim_count)
    query_count = query_input_count * heads_count * head_dim_count
    up_count = latent_dim_count * heads_count * (head_dim_count - rope_dim_count + v_head_dim_count)
    output_count = heads_count * v_head_dim_count * hidden_dim_count
    return layers_count * (down_count + (query_count + up_count + output_count) / split_count)


@formula
def mixer_params_count(
    layers_count: float, layer_params_count: float, whole_params_count: float, split_count: float
) -> float:
    """Weights of mixers whose size per layer is known (linear attention, sparse indexers); some are held whole."""
    return layers_count * (whole_params_count + (layer_params_count - whole_params_count) / split_count)


@formula
def mlp_params_count(
    layers_count: float,
    matrices_count: float,
    hidden_dim_count: float,
    intermediate_dim_count: float,
    split_count: float,
) -> float:
    """Dense feed-forward matrices on one accelerator. Three when gated (Shazeer 2020), two when plain."""
    return layers_count * matrices_count * hidden_dim_count * intermediate_dim_count / split_count


@formula
def expert_params_count(
    layers_count: float,
    experts_count: float,
    matrices_count: float,
    hidden_dim_count: float,
    intermediate_dim_count: float,
    owners_count: float,
    slices_count: float,
    pad_count: float,
) -> Any:
    """Routed experts on one accelerator: whole experts dealt out to owners, each cut into padded slices.

    Shazeer et al. 2017; vLLM fused_moe/layer.py.
    """
    experts_here_count = ceil_to(experts_count / owners_count, 1)
    width_here_count = ceil_to(intermediate_dim_count / slices_count, pad_count)
    return layers_count * experts_here_count * matrices_count * hidden_dim_count * width_here_count


@formula
def router_params_count(layers_count: float, experts_count: float, hidden_dim_count: float) -> float:
    """Gates that pick experts; every accelerator has them whole."""
    return layers_count * experts_count * hidden_dim_count


@formula
def norm_params_count(layers_count: float, hidden_dim_count: float) -> float:
    """Two norms a layer and one at the end; every accelerator has them whole."""
    return (2 * layers_count + 1) * hidden_dim_count


@formula
def sum_params_count(first_params_count: float, second_params_count: float) -> float:
    """Weights of two components together."""
    return first_params_count + second_params_count


@formula
def published_body_params_count(
    params_count: float, outside_params_count: float, body_params_count: float, whole_body_params_count: float
) -> float:
    """Body weights scaled so that the whole is as published, when the architecture we know leaves some out."""
    return body_params_count * (params_count - outside_params_count) / whole_body_params_count


@dataclass(frozen=True, slots=True)
class Params:
    """Weights by component, whole model. ``mlp_count`` holds dense layers and shared experts."""

    embedding_count: float
    head_count: float  # 0 when tied
    attention_count: float
    mlp_count: float
    experts_count: float
    router_count: float
    norm_count: float
    extra_count: float
    total_count: float
    active_count: float


@dataclass(frozen=True, slots=True)
class Experts:
    """How routed experts are dealt out: to owners, each expert in slices, a slice padded to a multiple.

    ``redundant`` copies of busy experts are dealt out with them (DeepSeek's EPLB; vLLM num_redundant_experts).
    """

    owners: int = 1
    slices: int = 1
    pad: int = 1
    redundant: int = 0


@dataclass(frozen=True, slots=True)
class Slice:
    """Weights by component on one accelerator of a tensor and expert split, all layers."""

    embedding: Number
    head: Number
    attention: Number
    mlp: Number
    experts: Number
    router: Number
    norm: Number
    extra: Number


def _attention(model: Model, group: AttentionLayers, tp: int, lens: Lens) -> Number:
    """Weights of one group of sequence-mixing layers on one of ``tp`` accelerators."""
    layers = lens.field(model, "layers_count", group.layers_count)
    split = lens.setting("split_count", tp)
    if group.params_count:
        each = lens.field(model, "layer_params_count", group.params_count)
        whole = lens.field(model, "replicated_params_count", group.replicated_params_count)
        return lens.of(mixer_params_count)(layers, each, whole, split)
    hidden = lens.field(model, "hidden_dim_count")
    heads = lens.field(model, "heads_count", max(1, group.heads_count))
    head_dim = lens.field(model, "head_dim_count", group.head_dim_count)
    if group.kind == "mla":
        return lens.of(mla_params_count)(
            layers,
            hidden,
            heads,
            head_dim,
            lens.field(model, "v_head_dim_count", group.v_head_dim_count),
            lens.field(model, "latent_dim_count", group.latent_dim_count),
            lens.field(model, "rope_dim_count", group.rope_dim_count),
            lens.field(model, "query_latent_dim_count", group.query_latent_dim_count),
            split,
        )
    kv_heads = lens.field(model, "kv_heads_count", group.kv_heads_count)
    v_head_dim = lens.field(model, "v_head_dim_count", group.v_head_dim_count or group.head_dim_count)
    matrices = lens.of(attention_params_count)(layers, hidden, heads, kv_heads, head_dim, v_head_dim, split)
    if not group.biases:
        return matrices
    biases = lens.of(attention_bias_params_count)(layers, heads, kv_heads, head_dim, v_head_dim, split)
    return lens.of(sum_params_count)(matrices, biases)


def _mlp(
    model: Model, group: MlpLayers, tp: int, dealt: Experts, lens: Lens
) -> tuple[Number | None, Number | None, Number | None]:
    """Dense (or shared), routed and gate weights of one group of feed-forward layers on one accelerator."""
    layers = lens.field(model, "layers_count", group.layers_count)
    matrices = lens.field(model, "matrices_count", group.matrices_count)
    hidden = lens.field(model, "hidden_dim_count")
    width = lens.field(model, "intermediate_dim_count", group.intermediate_dim_count)
    split = lens.setting("split_count", tp)
    if not group.experts_count:
        return lens.of(mlp_params_count)(layers, matrices, hidden, width, split), None, None
    experts = lens.field(model, "experts_count", group.experts_count)
    copies = lens.field(model, "experts_count", group.experts_count + dealt.redundant)
    routed = lens.of(expert_params_count)(
        layers,
        copies,
        matrices,
        hidden,
        width,
        lens.setting("owners_count", dealt.owners),
        lens.setting("slices_count", dealt.slices),
        lens.setting("pad_count", dealt.pad),
    )
    gate = lens.of(router_params_count)(layers, experts, hidden)
    if not group.shared_intermediate_dim_count:
        return None, routed, gate
    shared_width = lens.field(model, "intermediate_dim_count", group.shared_intermediate_dim_count)
    return lens.of(mlp_params_count)(layers, matrices, hidden, shared_width, split), routed, gate


def added(parts: list[Number | None], lens: Lens) -> Number:
    """The sum of those parts that are there; zero weights when none is."""
    present = [part for part in parts if part is not None]
    if not present:
        return lens.setting("absent_params_count", 0.0)
    sum_of = present[0]
    for part in present[1:]:
        sum_of = lens.of(sum_params_count)(sum_of, part)
    return sum_of


def slice_of(model: Model, tp: int, dealt: Experts, lens: Lens, pad: int = 64) -> Slice:
    """Weights by component on one accelerator when layers are split ``tp`` ways and experts ``dealt`` out."""
    vocab, hidden = lens.field(model, "vocab_count"), lens.field(model, "hidden_dim_count")
    rows = lens.of(embedding_params_count)(
        vocab, hidden, lens.setting("pad_count", pad), lens.setting("split_count", tp)
    )
    none = lens.setting("absent_params_count", 0.0)
    mlps = [_mlp(model, group, tp, dealt, lens) for group in model.mlp]
    return Slice(
        embedding=rows,
        head=none if model.tied_embeddings else rows,
        attention=added([_attention(model, group, tp, lens) for group in model.attention], lens),
        mlp=added([dense for dense, _, _ in mlps], lens),
        experts=added([routed for _, routed, _ in mlps], lens),
        router=added([gate for _, _, gate in mlps], lens),
        norm=lens.of(norm_params_count)(lens.field(model, "layers_count"), hidden),
        extra=lens.of(mixer_params_count)(
            lens.setting("layers_count", 1),
            lens.field(model, "extra_params_count"),
            lens.setting("whole_params_count", 0.0),
            lens.setting("split_count", tp),
        ),
    )


def _whole(model: Model) -> tuple[float, float, float]:
    """Body as counted, everything else as counted, and body as it should be: three counts of the whole model."""
    whole = slice_of(model, 1, Experts(), PLAIN, pad=1)
    body = whole.attention + whole.mlp + whole.experts
    outside = whole.embedding + whole.head + whole.router + whole.norm + whole.extra
    published = model.params_count
    if not published or body <= 0:
        return body, outside, body
    counted = [
        outside + body,
        outside + body + whole.embedding * model.tied_embeddings,
    ]  # some count a tied head twice
    gap = min(abs(published - count) for count in counted) / published
    keeps = gap <= PUBLISHED_TOLERANCE_RATIO or published <= outside
    return body, outside, body if keeps else published - outside


def body_correction(model: Model) -> tuple[float, float] | None:
    """(outside, body) counts to scale by when the published count says we lack weights; ``None`` when we agree."""
    body, outside, wanted = remembered(model, ("whole",), lambda: _whole(model))
    return None if wanted == body else (outside, body)


def _params(model: Model) -> Params:
    whole = slice_of(model, 1, Experts(), PLAIN, pad=1)
    body, outside, wanted = _whole(model)
    scale = wanted / body if body > 0 else 1.0
    total = outside + wanted
    if body <= 0 and model.params_count:
        total = model.params_count
    idle = sum(_idle_experts(model, group) for group in model.mlp) * scale
    return Params(
        embedding_count=float(whole.embedding),
        head_count=float(whole.head),
        attention_count=whole.attention * scale,
        mlp_count=whole.mlp * scale,
        experts_count=whole.experts * scale,
        router_count=float(whole.router),
        norm_count=float(whole.norm),
        extra_count=float(whole.extra),
        total_count=float(total),
        active_count=float(total - idle),
    )


def _idle_experts(model: Model, group: MlpLayers) -> float:
    """Expert weights of one group that a token does not pass through."""
    if not group.experts_count:
        return 0.0
    routed = expert_params_count.raw(
        group.layers_count, group.experts_count, group.matrices_count, model.hidden_dim_count,
        group.intermediate_dim_count, 1, 1, 1,
    )  # fmt: skip
    return float(routed) * (1 - group.experts_per_token_count / group.experts_count)


def params(model: Model) -> Params:
    """Weights by component: the whole model, and what one token passes through (``active_count``)."""
    return remembered(model, ("params",), lambda: _params(model))
