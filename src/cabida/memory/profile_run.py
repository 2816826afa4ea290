"""Activations of the profile run: the widest layer, the sampler, and the vision tower over its largest images."""

from __future__ import annotations

from typing import Any

from cabida.facts.model import MlpLayers, Model
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.compressed import is_compressed
from cabida.memory.engines import EngineRules
from cabida.memory.kv import sum_bytes
from cabida.memory.lens import Lens, Number
from cabida.plan import Deployment
from cabida.quantity import formula, most
from cabida.units import BITS_PER_BYTE

GROUPED_ON = ("hopper", "blackwell")  # where FP8 experts are multiplied by a grouped product over padded rows


@formula
def layer_activation_bytes(
    batched_tokens: float,
    hidden_dim_count: float,
    hidden_copies_count: float,
    intermediate_dim_count: float,
    width_copies_count: float,
    split_count: float,
    activation_bits: float,
) -> float:
    """Peak of one dense layer's forward pass over the largest batch of tokens the engine profiles."""
    wide_count = width_copies_count * intermediate_dim_count / split_count
    return (
        batched_tokens
        * (hidden_copies_count * hidden_dim_count + wide_count)
        * activation_bits
        / BITS_PER_BYTE
    )


@formula
def attention_activation_bytes(
    batched_tokens: float,
    hidden_dim_count: float,
    hidden_copies_count: float,
    heads_count: float,
    ends_dim_count: float,
    split_count: float,
    activation_bits: float,
) -> float:
    """Peak of one layer's attention: hidden states, and each head's query and output before and after its kernel."""
    heads_dim_count = 2 * heads_count * ends_dim_count / split_count
    each_count = hidden_copies_count * hidden_dim_count + heads_dim_count
    return batched_tokens * each_count * activation_bits / BITS_PER_BYTE


@formula
def larger_bytes(first_bytes: float, second_bytes: float) -> Any:
    """Attention or feed-forward, whichever is larger: they follow each other."""
    return most(first_bytes, second_bytes)


@formula
def routed_activation_bytes(
    batched_tokens: float,
    experts_per_token_count: float,
    experts_here_count: float,
    expert_rows_count: float,
    hidden_dim_count: float,
    intermediate_dim_count: float,
    width_copies_count: float,
    split_count: float,
    activation_bits: float,
) -> float:
    """What experts add: each token once per expert it goes to, every expert's rows padded for a grouped product.

    vLLM fused_moe/deep_gemm_moe.py; DeepGEMM m_grouped_gemm_fp8_fp8_bf16_nt_contiguous (rows aligned to 128).
    """
    rows_count = batched_tokens * experts_per_token_count + experts_here_count * (expert_rows_count - 1)
    each_count = hidden_dim_count + width_copies_count * intermediate_dim_count / split_count
    return rows_count * each_count * activation_bits / BITS_PER_BYTE


@formula
def scores_activation_bytes(
    prompts_count: float,
    prompt_tokens: float,
    heads_count: float,
    split_count: float,
    score_bytes_per_element: float,
) -> float:
    """Attention scores of the profiled prompts where they are stored whole: fp32, their softmax and a 16-bit copy."""
    return prompts_count * prompt_tokens * prompt_tokens * heads_count / split_count * score_bytes_per_element


@formula
def tower_activation_bytes(
    images_count: float,
    patches_count: float,
    hidden_dim_count: float,
    hidden_copies_count: float,
    intermediate_dim_count: float,
    width_copies_count: float,
    pixels_dim_count: float,
    kept_dim_count: float,
    split_count: float,
    activation_bits: float,
) -> float:
    """Peak of encoding the images of the profile run at once: pixels, one layer, and what is kept for the model.

    vLLM v1/worker/gpu_model_runner.py, profile_run.
    """
    wide_count = width_copies_count * intermediate_dim_count / split_count
    each_count = hidden_copies_count * hidden_dim_count + wide_count + pixels_dim_count + kept_dim_count
    return images_count * patches_count * each_count * activation_bits / BITS_PER_BYTE


@formula
def encoded_bytes(
    images_count: float, image_tokens: float, hidden_dim_count: float, activation_bits: float
) -> float:
    """Images of the profile run as the language model reads them."""
    return images_count * image_tokens * hidden_dim_count * activation_bits / BITS_PER_BYTE


@formula
def sampler_activation_bytes(
    batched_sequences: float, vocab_count: float, sampler_bytes_per_element: float
) -> float:
    """Peak of sampling one token for every sequence: logits of the whole vocabulary, sorted and summed."""
    return batched_sequences * vocab_count * sampler_bytes_per_element


@formula
def activation_bytes(
    layer_bytes: float, sampler_bytes: float, tower_bytes: float, encoded_bytes: float, resident_bytes: float
) -> Any:
    """Activation peak of the profile run: layer, sampler or vision tower, whichever is largest, never two at once.

    What the tower made of the images stays until the other two are through.
    """
    return most(most(layer_bytes, sampler_bytes) + encoded_bytes, tower_bytes) + resident_bytes


def _widest(model: Model) -> MlpLayers | None:
    """The feed-forward layers that take most room per token."""
    return max(
        model.mlp,
        key=lambda one: (
            _routed(one) * (one.intermediate_dim_count + model.hidden_dim_count)
            + (one.shared_intermediate_dim_count if one.experts_count else one.intermediate_dim_count)
        ),
        default=None,
    )


def _routed(one: MlpLayers) -> int:
    return one.experts_per_token_count if one.experts_count else 0


def _heads(model: Model) -> tuple[int, int]:
    """(heads, sizes of a query and of a value) of the attention that takes most room per token."""
    widest = max(
        (group for group in model.attention if group.kind != "linear"),
        key=lambda one: one.heads_count * (one.head_dim_count + (one.v_head_dim_count or one.head_dim_count)),
        default=None,
    )
    if widest is None:
        return 0, 0
    return widest.heads_count, widest.head_dim_count + (widest.v_head_dim_count or widest.head_dim_count)


def _mixed(model: Model) -> float:
    """Values that one token's projections make in the widest recurrent layer: its weights over the hidden size."""
    return max(
        (group.params_count / model.hidden_dim_count for group in model.attention if group.kind == "linear"),
        default=0.0,
    )


def layer_peak(
    d: Deployment, tp: int, batched_tokens: float, prompts: tuple[float, float], row: EngineRules, lens: Lens
) -> Number:
    """Peak of the widest layer over the largest batch."""
    model = d.model
    widest = remembered(model, ("widest",), lambda: _widest(model))
    dense = 0 if widest is None else widest.intermediate_dim_count
    if widest is not None and widest.experts_count:
        dense = widest.shared_intermediate_dim_count
    hidden, width = lens.field(model, "hidden_dim_count"), lens.constant(known.WIDTH_COPIES_COUNT)
    tokens, split = lens.setting("batched_tokens", batched_tokens), lens.setting("split_count", tp)
    bits = lens.constant(known.ACTIVATION_BITS)
    copies = lens.constant(known.HYPER_COPIES_COUNT if is_compressed(model) else known.HIDDEN_COPIES_COUNT)
    made = lens.of(layer_activation_bytes)(
        tokens,
        hidden,
        copies,
        lens.field(model, "intermediate_dim_count", dense),
        width,
        split,
        bits,
    )
    if widest is not None and widest.experts_count:
        grouped = d.weights.family == "fp8" and d.accelerator.architecture.lower() in GROUPED_ON
        routed = lens.of(routed_activation_bytes)(
            tokens,
            lens.field(model, "experts_per_token_count", widest.experts_per_token_count),
            lens.setting("experts_here_count", widest.experts_count // max(1, d.parallel.ep)),
            lens.field(row, "expert_rows_count", None if grouped else 1),
            hidden,
            lens.field(model, "intermediate_dim_count", widest.intermediate_dim_count),
            width,
            split,
            bits,
        )
        made = lens.of(sum_bytes)(made, routed)
    heads, ends = remembered(model, ("heads",), lambda: _heads(model))
    attention = lens.of(attention_activation_bytes)(
        tokens,
        hidden,
        copies,
        lens.field(model, "heads_count", heads),
        lens.field(model, "ends_dim_count", ends),
        split,
        bits,
    )
    made = lens.of(larger_bytes)(attention, made)
    mixed = remembered(model, ("mixed",), lambda: _mixed(model))
    if mixed:
        recurrent = lens.of(layer_activation_bytes)(
            tokens, hidden, copies, lens.field(model, "intermediate_dim_count", mixed), width, split, bits
        )
        made = lens.of(larger_bytes)(recurrent, made)
    if prompts[0]:
        scores = lens.of(scores_activation_bytes)(
            lens.setting("prompts_count", prompts[0]),
            lens.setting("prompt_tokens", prompts[1]),
            lens.field(model, "heads_count", heads),
            split,
            lens.constant(known.WHOLE_SCORE_BYTES),
        )
        made = lens.of(sum_bytes)(made, scores)
    return made


def profiled_images(model: Model, batched_tokens: float, sequences: float, max_len: float) -> float:
    """As many of the largest images as fit the batch, one at least; for cross-attention one a sequence; 0: no tower."""
    tower = model.tower
    if tower is None:
        return 0.0
    if tower.cross_attended:
        return sequences
    return max(1.0, min(sequences, batched_tokens // min(tower.tokens_per_image_count, max_len)))


def tower_peak(model: Model, tp: int, images: float, max_len: float, lens: Lens) -> Number:
    """Peak of the vision tower over the images of the profile run."""
    tower = model.tower
    if tower is None:
        sees = model.extra_params_count > 0 and model.task == "vlm"
        return lens.constant(known.TOWER_ACTIVATION_BYTES) if sees else lens.setting("tower_bytes", 0.0)
    tokens = min(tower.tokens_per_image_count, max_len)
    return lens.of(tower_activation_bytes)(
        lens.setting("images_count", images),
        lens.field(
            model, "patches_count", tower.patches_per_image_count * tokens / tower.tokens_per_image_count
        ),
        lens.field(model, "hidden_dim_count", tower.hidden_dim_count),
        lens.constant(known.TOWER_HIDDEN_COPIES_COUNT),
        lens.field(model, "intermediate_dim_count", tower.intermediate_dim_count),
        lens.constant(known.TOWER_WIDTH_COPIES_COUNT),
        lens.field(model, "pixels_dim_count", tower.pixels_dim_count),
        lens.field(model, "kept_dim_count", tower.kept_dim_count),
        lens.setting("split_count", tp),
        lens.constant(known.ACTIVATION_BITS),
    )


def profile_activation(
    model: Model,
    layer: Number,
    tower: Number,
    images: float,
    batched_tokens: float,
    sequences: float,
    sampler_constant: known.Constant,
    lens: Lens,
) -> Number:
    """Activation peak of an engine that profiles its largest batch (vLLM; SGLang and TensorRT-LLM behave alike)."""
    sampler = lens.of(sampler_activation_bytes)(
        lens.setting("batched_sequences", min(sequences, max(batched_tokens, 1.0))),
        lens.field(model, "vocab_count"),
        lens.constant(sampler_constant),
    )
    encoded = lens.setting("encoded_bytes", 0.0)
    if model.tower is not None and images:
        encoded = lens.of(encoded_bytes)(
            lens.setting("images_count", images),
            lens.field(model, "image_tokens", model.tower.tokens_per_image_count),
            lens.field(model, "hidden_dim_count"),
            lens.constant(known.ACTIVATION_BITS),
        )
    return lens.of(activation_bytes)(
        layer, sampler, tower, encoded, lens.constant(known.RESIDENT_ACTIVATION_BYTES)
    )
