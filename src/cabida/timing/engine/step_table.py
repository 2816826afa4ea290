"""Seconds of what depends only on the tokens of a step, on the grid of ``step_time.GRID_TOKENS``.

A step is a sum of kernels: every matrix product by its shape after the split, the routed experts, and what
tensor-parallel ranks send each other. Each sum is kept twice: as it counts at few tokens (reading) and at
many (multiplying), so that an engine's kernels may be better at one than at the other. Products and experts
take the curve of all engines together: one engine's own, measured alone, predicted its runs no better.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cabida import facts, memory
from cabida.memory.cache import remembered
from cabida.plan import Deployment
from cabida.quantity import least
from cabida.timing.devices.kernel_formulas import experts_touched_count
from cabida.timing.devices.kernel_links import all_reduce_s, exchange_s
from cabida.timing.devices.kernel_lookup import ANY, curve_of
from cabida.timing.devices.kernels import SPREAD, elementwise_s, experts_s, gemm_s, gemms_s, kernel_format
from cabida.timing.engine.coefficients import engine_key
from cabida.timing.engine.step_attention import attention_of
from cabida.timing.engine.step_time import GRID_TOKENS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.facts.model import AttentionLayers, MlpLayers, WeightFormat

    Floats = NDArray[np.float64]

NO_TABLE = (0.0,) * len(GRID_TOKENS)
VALUE_BYTES = 2.0  # activations travel in 16 bit
BLOCKED = "fp8-block"
ELEMENTWISE_KERNELS = 4  # of a layer: two norms, rotation, activation
RIDGE_TOKENS = 256.0  # where reading gives way to multiplying: between both shares of a product


class Matrices(NamedTuple):
    """Alike matrix products of one rank in one step: ``layers_count`` of them, each ``out_count`` x ``in_count``."""

    layers_count: float
    out_count: float
    in_count: float


class Parts(NamedTuple):
    """Seconds by tokens of one rank through all stages, each of shape (69,)."""

    small_products_s: Floats
    large_products_s: Floats
    small_experts_s: Floats
    large_experts_s: Floats
    wire_s: Floats
    elements_s: Floats
    starts_s: Floats  # what every kernel takes however little it does, alone


def attention_matrices(group: AttentionLayers, hidden: float, tp: int) -> list[Matrices]:
    """Projections of one group of layers; keys and values of fewer heads than ranks are held by several."""
    layers = float(group.layers_count)
    out = group.heads_count * (group.v_head_dim_count or group.head_dim_count) / tp
    if group.params_count and group.kind != "mla":  # wider than its heads say: gates, mixers
        shared = group.replicated_params_count
        into = ((group.params_count - shared) / tp + shared) / hidden
        out = min(max(out, into / 3), into / 2)
        return [Matrices(layers, into - out, hidden), Matrices(layers, hidden, out)]
    if group.kind == "mla":
        down, latent = group.query_latent_dim_count, group.latent_dim_count
        value = group.v_head_dim_count or group.head_dim_count
        found = [
            Matrices(layers, down + latent + group.rope_dim_count + group.index_dim_count, hidden),
            Matrices(layers, group.heads_count * group.head_dim_count / tp, down or hidden),
            Matrices(
                layers, group.heads_count * (group.head_dim_count - group.rope_dim_count + value) / tp, latent
            ),
            Matrices(layers, hidden, out),
        ]
        return [one for one in found if one.out_count > 0]
    kept = group.kv_heads_count / min(tp, max(group.kv_heads_count, 1))
    keys = kept * (group.head_dim_count + (group.v_head_dim_count or group.head_dim_count))
    return [
        Matrices(layers, group.heads_count * group.head_dim_count / tp + keys, hidden),
        Matrices(layers, hidden, out),
    ]


def feed_forward_matrices(group: MlpLayers, hidden: float, tp: int) -> list[Matrices]:
    """Dense layers, or the shared experts of routed ones."""
    width = group.shared_intermediate_dim_count if group.experts_count else group.intermediate_dim_count
    if not width:
        return []
    layers = float(group.layers_count)
    into = (group.matrices_count - 1) * width / tp
    return [Matrices(layers, into, hidden), Matrices(layers, hidden, width / tp)]


def matrices_of(d: Deployment) -> tuple[Matrices, ...]:
    """Every product with dense weights in one step of a rank, the output head and the router left out."""
    hidden, tp = float(d.model.hidden_dim_count), d.parallel.tp
    found = [one for group in d.model.attention for one in attention_matrices(group, hidden, tp)]
    found += [one for group in d.model.mlp for one in feed_forward_matrices(group, hidden, tp)]
    return tuple(found)


def kept_ratio(d: Deployment) -> float:
    """Share of the dense weights that a quantised checkpoint leaves in 16 bit."""
    counts = memory.params(d.model)
    dense = counts.attention_count + counts.mlp_count
    return min(d.model.unquantised_params_count / dense, 1.0) if dense and d.weights.family != "bf16" else 0.0


def weight_counts(d: Deployment) -> tuple[float, float, float]:
    """Weights that a step passes through: quantised, kept in 16 bit, and routed experts; the head left out."""
    counts = memory.params(d.model)
    body = counts.attention_count + counts.mlp_count
    kept = kept_ratio(d) * body
    return body - kept, kept + counts.router_count + counts.norm_count, counts.experts_count


def shares_experts(d: Deployment) -> bool:
    """Whether data-parallel ranks spread one set of experts among them."""
    return d.model.is_moe and d.parallel.ep > d.parallel.tp and d.parallel.dp > 1


def experts_shards(d: Deployment) -> int:
    """How many accelerators share the routed experts."""
    return d.parallel.tp * (d.parallel.dp if shares_experts(d) else 1)


def sixteen_bit() -> WeightFormat:
    """The format of what a quantised checkpoint leaves alone."""
    return facts.weight_format("bf16")


def as_multiplied(d: Deployment) -> WeightFormat:
    """The format whose kernels run a model's weights.

    fp8 weights of a model published in blocks of fp8 are that checkpoint; 4-bit floats meant for 16-bit products
    meet 8-bit inputs where the card has 4-bit tensor cores (W4A8 of TensorRT-LLM, FlashInfer in vLLM and SGLang).
    """
    if d.weights.id == "fp8" and d.model.native_format == BLOCKED:
        return facts.weight_format(BLOCKED)
    if d.weights.family == "fp4" and d.weights.compute == "bf16" and "fp4" in d.accelerator.flop_per_s:
        return replace(d.weights, compute="fp8")
    return d.weights


def _products_s(d: Deployment, tokens: Floats) -> Floats:
    kept, wide = kept_ratio(d), sixteen_bit()
    total, sizes = 0.0 * tokens, matrices_of(d)
    for share, fmt in ((1 - kept, as_multiplied(d)), (kept, wide)):
        if share > 0 and sizes:
            total = total + share * gemms_s(GRID_TOKENS, sizes, fmt, d.accelerator)
    return total


def _experts_s(d: Deployment, tokens: Floats) -> Floats:
    """Routers and routed experts; ranks that share experts out hold whole ones, tensor ranks a cut of each."""
    together = d.parallel.dp if shares_experts(d) else 1
    apart = experts_shards(d) if shares_experts(d) else min(max(d.parallel.ep, 1), d.parallel.tp)
    cut = experts_shards(d) / apart
    rows = tuple((tokens * together).tolist())
    hidden = float(d.model.hidden_dim_count)
    total = 0.0 * tokens
    for group in d.model.mlp:
        if group.experts_count:
            one = experts_s(
                rows, hidden, group.intermediate_dim_count, group.experts_per_token_count, group.experts_count,
                cut, apart, as_multiplied(d), d.accelerator, matrices=float(group.matrices_count),
            )  # fmt: skip
            router = gemm_s(GRID_TOKENS, group.experts_count, hidden, sixteen_bit(), d.accelerator)
            total = total + group.layers_count * (one + router)
    return total


def _starts_s(d: Deployment) -> tuple[float, float, float]:
    """Starts of all products, of routers and experts, and of element-wise kernels of a step."""
    kept, capability = kept_ratio(d), d.accelerator.capability
    kinds = [kernel_format(fmt, d.accelerator) for fmt in (as_multiplied(d), sixteen_bit())]
    own, wide = (curve_of("product", capability, kind, ANY)[0] for kind in kinds)
    products = sum(one.layers_count for one in matrices_of(d)) * ((1 - kept) * own + kept * wide)
    experts = curve_of("experts", capability, kinds[0], ANY)[0] + wide
    elements = (
        ELEMENTWISE_KERNELS * d.model.layers_count * curve_of("elementwise", capability, "bf16", ANY)[0]
    )
    return products, moe_layers(d) * experts, elements


def touched_ratio(d: Deployment, sequences: float) -> float:
    """Share of the routed experts that a decode step reads."""
    group = max((g for g in d.model.mlp if g.experts_count), key=lambda g: g.layers_count, default=None)
    if group is None:
        return 0.0
    together = sequences * (d.parallel.dp if shares_experts(d) else 1)
    touched = experts_touched_count.raw(together, group.experts_per_token_count, group.experts_count, SPREAD)
    return float(touched) / group.experts_count


def _wire_s(d: Deployment, tokens: Floats) -> Floats:
    """Two all-reduces a layer between tensor ranks; to the experts and back where data-parallel ranks share them."""
    tp, hidden = d.parallel.tp, float(d.model.hidden_dim_count)
    total = 0.0 * tokens
    if tp > 1:
        sent = tuple((tokens * (hidden * VALUE_BYTES)).tolist())
        total = total + 2.0 * d.model.layers_count * all_reduce_s(sent, tp, d.accelerator, d.node)
    if shares_experts(d):
        per_token = max((group.experts_per_token_count for group in d.model.mlp), default=1)
        ranks = d.parallel.accelerators_count // d.parallel.pp
        few, many = (
            exchange_s(GRID_TOKENS, hidden, per_token, ranks, d.accelerator, d.node, prompt=prompt)
            for prompt in (False, True)
        )
        total = total + moe_layers(d) * least(few, many)
    return total


def _elements_s(d: Deployment, tokens: Floats) -> Floats:
    """Norms with their residual (4 passes over the hidden state, twice a layer), rotation, activation; what
    attention costs by prompt token.

    Passes as vLLM's fused kernels make them: csrc/layernorm_kernels.cu, activation_kernels.cu.
    """
    tp, hidden, layers = d.parallel.tp, d.model.hidden_dim_count, d.model.layers_count
    heads = sum(2.0 * g.layers_count * g.heads_count * g.head_dim_count / tp for g in d.model.attention)
    wide = sum(
        3.0
        * g.layers_count
        * (g.shared_intermediate_dim_count if g.experts_count else g.intermediate_dim_count)
        / tp
        for g in d.model.mlp
    )
    total = tokens * attention_of(d).prompt_s_per_token
    for count, values in ((2.0 * layers, 4.0 * hidden), (layers, heads / layers), (layers, wide / layers)):
        moved = tuple((tokens * (values * VALUE_BYTES)).tolist())
        total = total + count * elementwise_s(moved, d.accelerator)
    return total


def moe_layers(d: Deployment) -> int:
    """Layers that route tokens to experts."""
    return sum(group.layers_count for group in d.model.mlp if group.experts_count)


def parts_of(d: Deployment) -> Parts:
    """The kernels of a step by tokens; remembered by model, card, split and format."""
    card, node = d.accelerator, d.node
    seat = (
        (node.id, node.accelerators_count, node.fabric, node.link_bytes_per_s, node.network_bytes_per_s)
        if node
        else ()
    )
    rates = (
        card.id,
        card.memory_bytes_per_s,
        *card.flop_per_s.values(),
        card.link_bytes_per_s,
        card.capability,
    )
    split = (d.parallel.tp, d.parallel.ep, d.parallel.dp) if d.model.is_moe else (d.parallel.tp,)
    key = ("step parts", rates, seat, split, d.weights.id, d.kv_cache.id, engine_key(d.engine))
    return remembered(d.model, key, lambda: _parts(d))


def _parts(d: Deployment) -> Parts:
    import numpy as np

    tokens = np.array(GRID_TOKENS)
    large = tokens / (tokens + RIDGE_TOKENS)
    starts = _starts_s(d)
    products, experts = _products_s(d, tokens) - starts[0], _experts_s(d, tokens) - starts[1]
    return Parts(
        products * (1 - large),
        products * large,
        experts * (1 - large),
        experts * large,
        _wire_s(d, tokens),
        _elements_s(d, tokens) - starts[2],
        0.0 * tokens + sum(starts),
    )


def bare_table(
    read_s: float, s_per_token: float = 0.0, routed_read_s: float = 0.0, missed_ratio: float = 1.0
) -> tuple[float, ...]:
    """A table out of bare figures, for models that stand for no deployment: reading or multiplying, and experts."""
    import numpy as np

    tokens = np.array(GRID_TOKENS)
    found: Floats = np.hypot(read_s, s_per_token * tokens) + routed_read_s * (1 - missed_ratio**tokens)
    return tuple(found.tolist())
