"""Every matrix of a model's layers by name: what a quantised checkpoint's lists refer to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cabida.facts.mixers import attention_params
from cabida.facts.model import AttentionLayers, MlpLayers

_GATED = ("gate_proj", "up_proj", "down_proj")
_PLAIN = ("up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix: its names from the layer number on, as families spell them, and how many weights it has."""

    names: tuple[str, ...]
    params_count: float


def matrices(
    mixers: Sequence[Sequence[AttentionLayers]],
    mlps: Sequence[MlpLayers | None],
    hidden: int,
    *,
    beside: bool = False,
) -> Iterator[Matrix]:
    """The matrices of all layers. ``beside``: the experts stand beside a dense block named ``mlp`` (Gemma 4)."""
    for layer, mixed in enumerate(mixers):
        for one in mixed:
            yield from _mixer(layer, one, hidden)
    for layer, mlp in enumerate(mlps):
        if mlp is not None:
            yield from _feed_forward(layer, mlp, hidden, beside=beside)


def _mixer(layer: int, one: AttentionLayers, hidden: int) -> Iterator[Matrix]:
    total = attention_params(one, hidden)
    if one.kind == "linear":
        yield from _recurrent(layer, one, total, hidden)
        return
    parts = _latent_parts(one, hidden) if one.kind == "mla" else _parts(one, hidden, total)
    for name, count in parts:
        yield Matrix((f"{layer}.self_attn.{name}", f"{layer}.mixer.{name}"), count)
    rest = total - sum(count for _, count in parts)
    if rest > 0:
        yield Matrix((f"{layer}.self_attn.indexer",), rest)


def _parts(one: AttentionLayers, hidden: int, total: float) -> list[tuple[str, float]]:
    out = float(hidden * one.heads_count * one.v_head_dim_count)
    keys = float(hidden * one.kv_heads_count * one.head_dim_count)
    values = float(hidden * one.kv_heads_count * one.v_head_dim_count)
    queries = max(0.0, total - out - keys - values)  # with its output gate where there is one
    return [("q_proj", queries), ("k_proj", keys), ("v_proj", values), ("o_proj", out)]


def _latent_parts(one: AttentionLayers, hidden: int) -> list[tuple[str, float]]:
    heads, key, value = one.heads_count, one.head_dim_count, one.v_head_dim_count
    rank, rope, query = one.latent_dim_count, one.rope_dim_count, one.query_latent_dim_count
    wide = heads * key
    queries = (
        [("q_a_proj", query * hidden), ("q_b_proj", query * wide)] if query else [("q_proj", hidden * wide)]
    )
    latent = [
        ("kv_a_proj_with_mqa", hidden * (rank + rope)),
        ("kv_b_proj", rank * heads * (key - rope + value)),
    ]
    return [(name, float(count)) for name, count in (*queries, *latent, ("o_proj", heads * value * hidden))]


def _recurrent(layer: int, one: AttentionLayers, total: float, hidden: int) -> Iterator[Matrix]:
    width = (
        one.conv_elements_count // 3
        if not one.state_elements_count
        else one.heads_count * one.v_head_dim_count
    )
    out = min(total, float(hidden * max(1, width)))
    places = [f"{layer}.{place}" for place in ("linear_attn", "self_attn", "mamba", "conv", "mixer")]
    inward = tuple(
        f"{place}.{name}" for place in places for name in ("in_proj", "in_proj_qkv", "in_proj_qkvz")
    )
    yield Matrix(inward, total - out)
    yield Matrix(tuple(f"{place}.out_proj" for place in places), out)


def _feed_forward(layer: int, mlp: MlpLayers, hidden: int, *, beside: bool) -> Iterator[Matrix]:
    names = _GATED if mlp.matrices_count == 3 else _PLAIN
    each = float(hidden * mlp.intermediate_dim_count)
    if not mlp.experts_count:
        yield from (Matrix((f"{layer}.mlp.{name}", f"{layer}.mixer.{name}"), each) for name in names)
        return
    experts = f"{layer}.experts.0" if beside else f"{layer}.mlp.experts.0"
    dense = f"{layer}.mlp" if beside else f"{layer}.mlp.shared_experts"
    mixer = f"{layer}.mixer"
    for name in names:
        routed = (f"{experts}.{name}", f"{experts}.w1", f"{mixer}.experts.0.{name}")
        yield Matrix(routed, each * mlp.experts_count)
        if mlp.shared_intermediate_dim_count:
            shared = (f"{dense}.{name}", f"{mixer}.shared_experts.{name}")
            yield Matrix(shared, float(hidden * mlp.shared_intermediate_dim_count))
