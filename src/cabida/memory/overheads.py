"""What an accelerator holds besides weights and cache: activations, graphs, context, communication buffers."""

from __future__ import annotations

from typing import Any

from cabida.facts.model import Accelerator, Model
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.lens import Lens, Number
from cabida.quantity import formula, most
from cabida.units import BITS_PER_BYTE

PIPELINE_MASKS_COUNT = 5  # copies of the attention mask that llama.cpp keeps to overlap its stages


@formula
def non_torch_bytes(context_bytes: float, peer_bytes: float, ranks_count: float) -> float:
    """Driver context and communication buffers of one process; the latter grow with the ranks it talks to."""
    return context_bytes + peer_bytes * (ranks_count - 1)


@formula
def layer_activation_bytes(
    batched_tokens: float,
    hidden_dim_count: float,
    hidden_copies_count: float,
    routed_copies_count: float,
    intermediate_dim_count: float,
    width_copies_count: float,
    split_count: float,
    activation_bits: float,
) -> float:
    """Peak of one layer's forward pass over the largest batch of tokens the engine profiles."""
    wide_count = width_copies_count * intermediate_dim_count / split_count
    deep_count = (hidden_copies_count + routed_copies_count) * hidden_dim_count
    return batched_tokens * (deep_count + wide_count) * activation_bits / BITS_PER_BYTE


@formula
def sampler_activation_bytes(
    batched_sequences: float, vocab_count: float, sampler_bytes_per_element: float
) -> float:
    """Peak of sampling one token for every sequence: logits of the whole vocabulary, sorted and summed."""
    return batched_sequences * vocab_count * sampler_bytes_per_element


@formula
def activation_bytes(
    layer_bytes: float, sampler_bytes: float, tower_bytes: float, resident_bytes: float
) -> Any:
    """Activation peak of the profile run: layer, sampler or vision tower, whichever is largest, never two at once."""
    return most(layer_bytes, sampler_bytes, tower_bytes) + resident_bytes


@formula
def compute_buffer_bytes(
    batched_tokens: float,
    context_tokens: float,
    vocab_count: float,
    hidden_dim_count: float,
    scores_heads_count: float,
    masks_count: float,
    copies_count: float,
    float_bits: float,
) -> Any:
    """llama.cpp's compute buffer in float32: logits of a micro-batch, or attention scores without flash attention."""
    logits_count = vocab_count + hidden_dim_count
    scores_count = context_tokens * (scores_heads_count + masks_count) + copies_count * hidden_dim_count
    return batched_tokens * most(logits_count, scores_count) * float_bits / BITS_PER_BYTE


@formula
def graph_bytes(
    layers_count: float, hidden_dim_count: float, graph_sizes_count: float, graph_bytes_per_element: float
) -> float:
    """CUDA graphs of all captured batch sizes."""
    return layers_count * hidden_dim_count * graph_sizes_count * graph_bytes_per_element


def _widest(model: Model) -> tuple[float, float]:
    """Feed-forward width one token passes through in the widest layer, and copies of its hidden state for experts."""
    best = (0.0, 0.0)
    for group in model.mlp:
        if group.experts_count:
            routed = float(group.experts_per_token_count)
            width = routed * group.intermediate_dim_count + group.shared_intermediate_dim_count
        else:
            routed, width = 0.0, float(group.intermediate_dim_count)
        if width + routed * model.hidden_dim_count > best[0] + best[1] * model.hidden_dim_count:
            best = (width, routed)
    return best


def profile_activation(
    model: Model,
    tp: int,
    batched_tokens: float,
    sequences: float,
    sampler_constant: known.Constant,
    lens: Lens,
) -> Number:
    """Activation peak of an engine that profiles its largest batch (vLLM; SGLang and TensorRT-LLM behave alike)."""
    width, routed = remembered(model, ("widest",), lambda: _widest(model))
    layer = lens.of(layer_activation_bytes)(
        lens.setting("batched_tokens", batched_tokens),
        lens.field(model, "hidden_dim_count"),
        lens.constant(known.HIDDEN_COPIES_COUNT),
        lens.setting("routed_copies_count", routed),
        lens.field(model, "intermediate_dim_count", width),
        lens.constant(known.WIDTH_COPIES_COUNT),
        lens.setting("split_count", tp),
        lens.constant(known.ACTIVATION_BITS),
    )
    sampler = lens.of(sampler_activation_bytes)(
        lens.setting("batched_sequences", min(sequences, max(batched_tokens, 1.0))),
        lens.field(model, "vocab_count"),
        lens.constant(sampler_constant),
    )
    sees = model.extra_params_count > 0 and model.task in ("vlm", "llm")
    tower = lens.constant(known.TOWER_ACTIVATION_BYTES) if sees else lens.setting("tower_bytes", 0.0)
    return lens.of(activation_bytes)(layer, sampler, tower, lens.constant(known.RESIDENT_ACTIVATION_BYTES))


def compute_buffer(
    model: Model, batched_tokens: float, context: float, flash: bool, stages: int, lens: Lens
) -> Number:
    """llama.cpp's compute buffer on one accelerator."""
    heads = (
        0
        if flash
        else max((group.heads_count for group in model.attention if group.kind != "linear"), default=0)
    )
    return lens.of(compute_buffer_bytes)(
        lens.setting("batched_tokens", min(batched_tokens, context)),
        lens.setting("context_tokens", context),
        lens.field(model, "vocab_count"),
        lens.field(model, "hidden_dim_count"),
        lens.setting("scores_heads_count", heads),
        lens.setting("masks_count", 1.0 if stages == 1 else 1.0 + PIPELINE_MASKS_COUNT),
        lens.constant(known.BUFFER_COPIES_COUNT),
        lens.constant(known.FLOAT_BITS),
    )


def graphs(model: Model, sizes: int, stages: int, graph_constant: known.Constant, lens: Lens) -> Number:
    """CUDA graphs on one accelerator."""
    return lens.of(graph_bytes)(
        lens.setting("layers_count", -(-model.layers_count // stages)),
        lens.field(model, "hidden_dim_count"),
        lens.setting("graph_sizes_count", sizes),
        lens.constant(graph_constant),
    )


def non_torch(accelerator: Accelerator, ranks: int, lens: Lens) -> Number:
    """Context and communication buffers of one process."""
    rocm = accelerator.vendor.lower() == "amd"
    return lens.of(non_torch_bytes)(
        lens.constant(known.ROCM_CONTEXT_BYTES if rocm else known.CONTEXT_BYTES),
        lens.constant(known.PEER_BYTES),
        lens.setting("ranks_count", ranks),
    )
