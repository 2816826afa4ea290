"""What one token leaves behind in the average layer of a model for the backward pass, tensor by tensor.

Korthikanti et al. 2022 (arXiv 2205.05198) count it for GPT; here the terms follow the layer's own shapes:
grouped-query keys and values, gated feed-forward, routed experts. Flash attention keeps no scores.
"""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Model
from cabida.memory import training_constants as known
from cabida.memory.adapters import ADAPTER_METHODS, counted, kind_of
from cabida.memory.cache import remembered
from cabida.memory.constants import Constant
from cabida.memory.matrices import matrices, targeted
from cabida.memory.optimizers import named
from cabida.plan import TrainingRun

FUSED_NORMS = (
    "megatron",
    "nemo",
    "bridge",
    "torchtitan",
    "maxtext",
    "foundry",
)  # or compiled: no fp32 copies
FUSED_SWIGLU = ("megatron", "nemo", "bridge")
DIFFUSED = ("image", "video")
SHARED_INPUTS_RATIO = (
    1 / 3
)  # diffusers' adapters drop nothing out: queries, keys and values keep one input, no mask
SOFTCAPPED = ("Gemma2ForCausalLM",)  # scores go through a tanh that flash attention's backward pass lacks
PLAIN_RATIO = 0.15  # products that an NVFP4 recipe leaves in 16 bit (arXiv 2509.25149, section 4)
CUSTOM_PRODUCTS = ("nvfp4",)  # multiplied by operators that a policy on aten's products doesn't see


@dataclass(frozen=True, slots=True)
class Kept:
    """What a token keeps in the average layer, in elements; a frozen matrix doesn't need its input again."""

    attention: float  # queries, keys, values, output
    width: float  # gated: gate, up, its activation and, when trained, their product; plain: one, trained two
    frozen_width: float
    routed: float  # copies of the hidden state that experts receive and return
    heads: float
    gated: bool
    products: float  # outputs of every second product of the layer, in torchtitan's order
    attended: float  # attention's output


def _products(model: Model) -> tuple[float, float]:
    """Every second product's output and attention's output, averaged: wq, (wk), wv, (wo), w1, (w3), w2.

    torchtitan counts ``aten.mm`` and saves the odd ones; experts' grouped products it recomputes.
    torchtitan/models/llama3/infra/parallelize.py (v0.1.0), ``_custom_policy``.
    """
    layers = max(1, model.layers_count)
    odd = sum(
        one.layers * one.outputs
        for one in matrices(model)
        if one.role in ("q", "v", "gate", "down") or (one.role == "up" and not _gated(model))
    )
    attended = sum(one.layers * one.inputs for one in matrices(model) if one.role == "o")
    return odd / layers, attended / layers


def _gated(model: Model) -> bool:
    return any(mlp.matrices_count > 2 for mlp in model.mlp)


def _kept(model: Model) -> Kept:
    layers = max(1, model.layers_count)
    attention = 0.0
    for group in model.attention:
        key, value = group.head_dim_count, group.v_head_dim_count or group.head_dim_count
        cached = group.heads_count if group.kind == "mla" else max(1, group.kv_heads_count)
        attention += group.layers_count * (group.heads_count + cached) * (key + value)
    width = frozen = routed = 0.0
    for mlp in model.mlp:
        each = float(mlp.intermediate_dim_count)
        if mlp.experts_count:
            each = mlp.experts_per_token_count * each + mlp.shared_intermediate_dim_count
            routed += mlp.layers_count * 2.0 * mlp.experts_per_token_count * model.hidden_dim_count
        copies = 4 if mlp.matrices_count > 2 else 2
        width += mlp.layers_count * copies * each
        frozen += mlp.layers_count * (copies - 1) * each
    heads = max((group.heads_count for group in model.attention if group.kind != "linear"), default=0)
    odd, attended = _products(model)
    return Kept(
        attention / layers,
        width / layers,
        frozen / layers,
        routed / layers,
        float(heads),
        _gated(model),
        odd,
        attended,
    )


def kept(model: Model) -> Kept:
    """What the average layer of this model keeps."""
    return remembered(model, ("kept",), lambda: _kept(model))


def norm_copies(r: TrainingRun, shape: Kept) -> Constant:
    """Copies of the hidden state that a layer's two norms keep.

    A norm keeps its input and, when what follows is trained, its output. Root-mean-square norms (the companions
    of gated feed-forwards) written out in PyTorch keep their input in fp32 and their unscaled output besides.
    """
    if r.model.task in DIFFUSED:
        return known.FROZEN_DIT_NORMS if r.method in ADAPTER_METHODS else known.TRAINED_DIT_NORMS
    written_out = shape.gated and not r.compiled and not named(r, FUSED_NORMS)
    if r.method in ADAPTER_METHODS and not kind_of(r).norms_trained:
        return known.FROZEN_NORMS_WRITTEN_OUT if written_out else known.FROZEN_NORMS
    return known.TRAINED_NORMS_WRITTEN_OUT if written_out else known.TRAINED_NORMS


def width_elements(r: TrainingRun, shape: Kept) -> float:
    """What the feed-forward keeps: a frozen or compiled one doesn't keep the product that enters its last matrix.

    Megatron's fused SwiGLU keeps gate and up alone and works the activation out again: with the product, three too.
    megatron/core/fusions/fused_bias_swiglu.py.
    """
    fused = shape.gated and named(r, FUSED_SWIGLU)
    return shape.frozen_width if r.method in ADAPTER_METHODS or r.compiled or fused else shape.width


def adapted_elements(r: TrainingRun) -> float:
    """Elements one token keeps in one layer because of adapters, and of the inputs of 4-bit matrices."""
    if r.method not in ADAPTER_METHODS:
        return 0.0
    own = counted(r).kept * (SHARED_INPUTS_RATIO if r.model.task in DIFFUSED else 1.0)
    return own + (_unpacked_inputs(r.model) if r.weights.body_bits < 16 else 0.0)


def _unpacked_inputs(model: Model) -> float:
    """Inputs of all dense matrices of the average layer: bitsandbytes' and GPTQ's products keep theirs."""
    layers = max(1, model.layers_count)
    return remembered(
        model,
        ("unpacked",),
        lambda: sum(one.layers * one.inputs for one in targeted(model, "all")) / layers,
    )


def scores_heads(r: TrainingRun, shape: Kept) -> float:
    """Heads whose attention scores are kept: none with flash attention."""
    return 0.0 if r.flash_attention and r.model.architecture not in SOFTCAPPED else shape.heads


def saved_elements(r: TrainingRun, shape: Kept) -> float:
    """What selective recomputation by operator leaves of a token in a layer: input, attention's output, products."""
    products = shape.products * (PLAIN_RATIO if r.precision in CUSTOM_PRODUCTS else 1.0)
    return r.model.hidden_dim_count + shape.attended + products
