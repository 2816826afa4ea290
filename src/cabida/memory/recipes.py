"""Bits per weight that a GGUF recipe comes to in a given model: which of its matrices get more bits, and how many.

A recipe such as Q4_K_M is not one width: values, outputs and down-projections get more bits in some layers. How much
that comes to depends on the shapes. llama.cpp, src/llama-quant.cpp, ``llama_tensor_get_type`` and ``use_more_bits``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cabida.facts.model import AttentionLayers, MlpLayers, Model, WeightFormat
from cabida.memory.cache import remembered

Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_0 = 2.625, 3.4375, 4.5, 5.5, 6.5625, 8.5  # ggml block layouts
FEW_EXPERTS_COUNT = 8  # of Mixtral: attention is small beside its experts, and kept wider
LARGE_LAYERS_COUNT = 80  # what llama.cpp calls a 70B: eight heads share a value matrix, so it gets more
SHARING_COUNT = 4  # query heads to a key head from which on a Q2_K value matrix gets a bit more


@dataclass(frozen=True, slots=True)
class Recipe:
    """Widths by matrix; each takes the layer's number and the number of layers."""

    base: float
    value: Callable[[int, int], float]
    down: Callable[[int, int], float]
    output: float
    few_experts_output: float = Q5_K


def more(i: int, n: int) -> bool:
    """Whether layer ``i`` of ``n`` gets more bits: the first and last eighth, and every third between."""
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


def _mixed(wide: float, base: float) -> Callable[[int, int], float]:
    return lambda i, n: wide if more(i, n) else base


def _first(wide: float, base: float, *, part: int = 8) -> Callable[[int, int], float]:
    return lambda i, n: wide if i < n // part else base


def _below(count: int, wide: float, base: float) -> Callable[[int, int], float]:
    return lambda i, _: wide if i < count else base


def _all(bits: float) -> Callable[[int, int], float]:
    return lambda _, __: bits


RECIPES = {
    "q2_k": Recipe(Q2_K, _all(Q3_K), _all(Q3_K), Q3_K),
    "q3_k_s": Recipe(Q3_K, _all(Q3_K), _all(Q3_K), Q3_K),
    "q3_k_m": Recipe(Q3_K, _below(2, Q5_K, Q4_K), _first(Q5_K, Q4_K, part=16), Q4_K),
    "q3_k_l": Recipe(Q3_K, _all(Q5_K), _all(Q5_K), Q5_K, Q5_K),
    "q4_k_s": Recipe(Q4_K, _below(4, Q5_K, Q4_K), _first(Q5_K, Q4_K), Q4_K),
    "q4_k_m": Recipe(Q4_K, _mixed(Q6_K, Q4_K), _mixed(Q6_K, Q4_K), Q4_K),
    "q5_k_s": Recipe(Q5_K, _all(Q5_K), _all(Q5_K), Q5_K),
    "q5_k_m": Recipe(Q5_K, _mixed(Q6_K, Q5_K), _mixed(Q6_K, Q5_K), Q5_K),
}


def as_quantised(model: Model, held: WeightFormat) -> WeightFormat:
    """The format with the width its recipe has in this model; others as they are."""
    recipe = RECIPES.get(held.id)
    if recipe is None or not model.attention:
        return held
    bits = remembered(model, ("recipe", held.id), lambda: recipe_bits(model, recipe, held.id))
    return replace(held, body_bits=bits) if bits else held


def recipe_bits(model: Model, recipe: Recipe, id: str) -> float:
    """Mean bits of the matrices of all layers; 0 when there are none."""
    few = any(group.experts_count == FEW_EXPERTS_COUNT for group in model.mlp)
    weights = total = 0.0
    at = 0
    cached = sum(group.layers_count for group in model.attention if group.kind != "linear")
    for group in model.attention:
        for _ in range(group.layers_count):
            for count, bits in _attention(model, group, recipe, id, at, cached, few=few):
                weights, total = weights + count, total + count * bits
            at += group.kind != "linear"
    at, blocks = 0, sum(group.layers_count for group in model.mlp)
    for mlp in model.mlp:
        for _ in range(mlp.layers_count):
            rest, down = _feed_forward(model, mlp)
            weights += rest + down
            total += rest * recipe.base + down * recipe.down(at, blocks)
            at += 1
    return total / weights if weights else 0.0


def _attention(
    model: Model, group: AttentionLayers, recipe: Recipe, id: str, at: int, layers: int, *, few: bool
) -> list[tuple[float, float]]:
    """(weights, bits) of the matrices of one layer of attention."""
    hidden = model.hidden_dim_count
    if group.kind in ("linear", "mla"):
        out = hidden * group.heads_count * (group.v_head_dim_count or group.head_dim_count)
        whole = group.params_count or _latent(group, hidden)
        return [(max(0.0, whole - out), recipe.base), (min(out, whole), recipe.output if not few else Q5_K)]
    values = group.v_head_dim_count or group.head_dim_count
    queries, keys = hidden * group.heads_count * group.head_dim_count, hidden * group.kv_heads_count
    whole = group.params_count or 0.0
    gate = max(
        0.0, whole - queries - keys * (group.head_dim_count + values) - hidden * group.heads_count * values
    )
    value = recipe.value(at, layers)
    if id == "q2_k" and group.heads_count >= SHARING_COUNT * max(1, group.kv_heads_count):
        value = Q4_K
    if model.layers_count == LARGE_LAYERS_COUNT and group.kv_heads_count < group.heads_count:
        value = Q5_K if value in (Q3_K, Q4_K) else value
    return [
        (queries + gate, recipe.base),
        (keys * group.head_dim_count, Q8_0 if few else recipe.base),
        (keys * values, Q8_0 if few else value),
        (hidden * group.heads_count * values, recipe.few_experts_output if few else recipe.output),
    ]


def _latent(group: AttentionLayers, hidden: int) -> float:
    down = hidden * (group.latent_dim_count + group.rope_dim_count + group.query_latent_dim_count)
    query = (group.query_latent_dim_count or hidden) * group.heads_count * group.head_dim_count
    up = group.latent_dim_count * group.heads_count
    up *= group.head_dim_count - group.rope_dim_count + group.v_head_dim_count
    return float(down + query + up + group.heads_count * group.v_head_dim_count * hidden)


def _feed_forward(model: Model, mlp: MlpLayers) -> tuple[float, float]:
    """Weights of one block: all but the down-projections, and those."""
    width = mlp.intermediate_dim_count * max(1, mlp.experts_count) + mlp.shared_intermediate_dim_count
    down = float(model.hidden_dim_count * width)
    return down * (mlp.matrices_count - 1), down
