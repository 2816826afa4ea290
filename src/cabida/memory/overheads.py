"""What an accelerator holds besides weights, cache and activations: graphs, context, buffers; llama.cpp's buffers."""

from __future__ import annotations

from typing import Any

from cabida.facts.model import Accelerator, AttentionLayers, Model, WeightFormat
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.engines import EngineRules
from cabida.memory.kv import sum_bytes
from cabida.memory.lens import Lens, Number
from cabida.memory.profile_run import larger_bytes
from cabida.quantity import formula, most
from cabida.units import BITS_PER_BYTE

GATED = 3  # matrices of a gated feed-forward
PIPELINE_MASKS_COUNT = 5  # copies of the attention mask that llama.cpp keeps to overlap its stages


@formula
def non_torch_bytes(
    context_bytes: float, peer_bytes: float, ranks_count: float, stage_peer_bytes: float, stages_count: float
) -> float:
    """Driver context and communication buffers of one process; the latter grow with the ranks it talks to."""
    return context_bytes + peer_bytes * (ranks_count - 1) + stage_peer_bytes * (stages_count - 1)


@formula
def late_bytes(late_bytes: float, late_peer_bytes: float, ranks_count: float) -> float:
    """What an engine still takes once its cache is allocated, outside its budget."""
    return late_bytes + late_peer_bytes * (ranks_count - 1)


@formula
def token_table_bytes(context_tokens: float, sequences_count: float, place_bytes_per_token: float) -> float:
    """SGLang's table of where each token of each sequence lies, allocated for the whole context.

    mem_cache/memory_pool.py, ReqToTokenPool: 80 GiB for 2048 sequences of the ten million tokens of Llama 4.
    """
    return context_tokens * sequences_count * place_bytes_per_token


@formula
def unpacked_cache_bytes(
    context_tokens: float,
    kv_heads_count: float,
    head_dim_count: float,
    v_head_dim_count: float,
    half_bits: float,
) -> float:
    """One layer's quantised keys and values in 16 bit, as llama.cpp unpacks them for a prompt's attention.

    ggml-cuda/fattn-common.cuh.
    """
    return context_tokens * kv_heads_count * (head_dim_count + v_head_dim_count) * half_bits / BITS_PER_BYTE


@formula
def fused_copy_bytes(
    layers_count: float, hidden_dim_count: float, projected_count: float, weight_bits: float
) -> float:
    """Queries, keys and values of every layer as one projection, beside the three that were loaded.

    AutoAWQ, models/llama.py: its fuser builds all blocks before it lets go of the model.
    """
    return layers_count * hidden_dim_count * projected_count * weight_bits / BITS_PER_BYTE


@formula
def compute_buffer_bytes(
    batched_tokens: float,
    context_tokens: float,
    vocab_count: float,
    hidden_dim_count: float,
    intermediate_dim_count: float,
    scores_heads_count: float,
    masks_count: float,
    copies_count: float,
    float_bits: float,
) -> Any:
    """llama.cpp's compute buffer in float32: logits of a micro-batch, its feed-forward, or attention scores.

    The last without flash attention.
    """
    logits_count = vocab_count + hidden_dim_count
    wide_count = 2 * (intermediate_dim_count + hidden_dim_count)
    scores_count = context_tokens * (scores_heads_count + masks_count) + copies_count * hidden_dim_count
    return batched_tokens * most(logits_count, wide_count, scores_count) * float_bits / BITS_PER_BYTE


@formula
def graph_bytes(
    layers_count: float, graph_sizes_count: float, piece_bytes: float, graph_pool_bytes: float
) -> float:
    """CUDA graphs of all captured batch sizes: nodes of every piece, and one pool of buffers that all sizes share.

    vLLM compilation/cuda_graph.py: a piece between two attentions for every size, captured from the largest down into
    the global graph pool.
    """
    return layers_count * graph_sizes_count * piece_bytes + graph_pool_bytes


def _width(model: Model) -> int:
    """Feed-forward width that a token passes in the widest layer."""
    return max(
        (
            one.experts_per_token_count * one.intermediate_dim_count + one.shared_intermediate_dim_count
            if one.experts_count
            else one.intermediate_dim_count
            for one in model.mlp
        ),
        default=0,
    )


def _window_cells(group: AttentionLayers, batched_tokens: float, context: tuple[float, float]) -> float:
    """Cells that a layer keeps: the whole context, or its window for every sequence and a batch."""
    if group.kind != "sliding":
        return context[0] * context[1]
    return group.window_tokens * context[1] + batched_tokens


def compute_buffer(
    model: Model,
    held: WeightFormat,
    batched_tokens: float,
    context: tuple[float, float],
    row: EngineRules,
    stages: int,
    lens: Lens,
) -> Number:
    """llama.cpp's compute buffer on one accelerator, and what it unpacks of a quantised cache.

    Args:
        model: The architecture.
        held: The format of the cache.
        batched_tokens: Tokens computed at once.
        context: (tokens of a sequence, sequences).
        row: The engine's rules.
        stages: Accelerators that share the layers out.
        lens: Floats or quantities.
    """
    attending = [group for group in model.attention if group.kind != "linear"]
    flash, overlapped = row.flash_attention, row.pipelines and stages > 1
    heads = 0 if flash else max((group.heads_count for group in attending), default=0)
    buffer = lens.of(compute_buffer_bytes)(
        lens.setting("batched_tokens", min(batched_tokens, context[0])),
        lens.setting("context_tokens", context[0]),
        lens.field(model, "vocab_count"),
        lens.field(model, "hidden_dim_count"),
        lens.field(model, "intermediate_dim_count", remembered(model, ("width",), lambda: _width(model))),
        lens.setting("scores_heads_count", heads),
        lens.setting("masks_count", 1.0 + PIPELINE_MASKS_COUNT if overlapped else 1.0),
        lens.constant(known.BUFFER_COPIES_COUNT),
        lens.constant(known.FLOAT_BITS),
    )
    if held.body_bits >= known.ACTIVATION_BITS.value or not flash or not attending:
        return buffer
    most_cells = context[0] * context[1]
    cells, widest = max(
        ((min(most_cells, _window_cells(one, batched_tokens, context)), one) for one in attending),
        key=lambda held: (
            held[0] * held[1].kv_heads_count * (held[1].head_dim_count + held[1].v_head_dim_count)
        ),
    )
    unpacked = lens.of(unpacked_cache_bytes)(
        lens.setting("context_tokens", cells),
        lens.field(model, "kv_heads_count", widest.kv_heads_count),
        lens.field(model, "head_dim_count", widest.head_dim_count),
        lens.field(model, "v_head_dim_count", widest.v_head_dim_count),
        lens.constant(known.ACTIVATION_BITS),
    )
    return lens.of(sum_bytes)(buffer, unpacked)


def fused_at_load(model: Model, weights: WeightFormat, activation: Number, lens: Lens) -> Number:
    """The larger of the activations and of the projections fused while loading.

    Models without a gate (MPT, Falcon) come with one projection already.
    """
    for group, mlp in zip(model.attention, model.mlp, strict=False):
        if mlp.matrices_count != GATED:
            return activation
        projected = group.heads_count * group.head_dim_count + group.kv_heads_count * (
            group.head_dim_count + group.v_head_dim_count
        )
        copies = lens.of(fused_copy_bytes)(
            lens.field(model, "layers_count", group.layers_count),
            lens.field(model, "hidden_dim_count"),
            lens.field(model, "projected_count", projected),
            lens.field(weights, "body_bits"),
        )
        activation = lens.of(larger_bytes)(activation, copies)
    return activation


def graphs(model: Model, sizes: int, stages: int, graph_constant: known.Constant, lens: Lens) -> Number:
    """CUDA graphs on one accelerator."""
    if not sizes:
        return lens.setting("graph_bytes", 0.0)
    return lens.of(graph_bytes)(
        lens.setting("layers_count", -(-model.layers_count // stages)),
        lens.setting("graph_sizes_count", sizes),
        lens.constant(graph_constant),
        lens.constant(known.GRAPH_POOL_BYTES),
    )


def relays(accelerator: Accelerator) -> bool:
    """Whether its peers are reached through host memory: GeForce drivers allow no peer-to-peer access over PCIe."""
    return accelerator.vendor.lower() == "nvidia" and accelerator.segment == "consumer"


def non_torch(accelerator: Accelerator, row: EngineRules, tp: int, pp: int, lens: Lens) -> Number:
    """Context and communication buffers of one process; engines of one process have no peers to talk to."""
    own = known.ROCM_CONTEXT_BYTES if accelerator.vendor.lower() == "amd" else known.CONTEXT_BYTES
    if row.from_free:
        own = known.PROCESS_BYTES
    elif row.splits_layers:
        own = known.LLAMA_CONTEXT_BYTES
    alone = row.budget == "asked"
    return lens.of(non_torch_bytes)(
        lens.constant(own),
        lens.constant(known.HOST_PEER_BYTES if relays(accelerator) else known.PEER_BYTES),
        lens.setting("ranks_count", 1 if alone else tp),
        lens.constant(known.STAGE_PEER_BYTES),
        lens.setting("stages_count", 1 if alone else pp),
    )
