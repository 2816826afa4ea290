"""What one micro-batch costs on the accelerator itself, part by part, before the framework's slowness."""

from __future__ import annotations

from typing import Any

from cabida import memory
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator, Model
from cabida.memory.activations import splits_norms
from cabida.memory.constants import Constant
from cabida.memory.lens import Lens, Number
from cabida.plan import TrainingRun
from cabida.text import problem
from cabida.timing.devices.rates import best_matmul
from cabida.timing.devices.training_data import constant, family_of
from cabida.timing.runs import training_step as step
from cabida.timing.runs.flops import (
    Work,
    adds_products,
    recomputed_passes,
    routed_flop_per_token,
    shared_flop_per_token,
    sum_flop_per_token,
    trains_adapters,
)

ELEMENT_BYTES = 2.0  # activations are in 16 bit
FORMAT_KEYS = {"fp16": "bf16", "bf16": "bf16", "fp8": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "fp4": "fp4"}


def peak_of(run: TrainingRun) -> tuple[str, float]:
    """Type that multiplies and its dense rate; a card without it multiplies in the widest type below.

    Raises:
        InvalidInput: CB-T051, no tensor rate of the card is known.
    """
    rates = run.accelerator.flop_per_s
    wanted = FORMAT_KEYS.get(run.precision, "tf32" if run.precision in ("fp32", "tf32") else "bf16")
    for key in {"fp4": ("fp4", "fp8"), "fp8": ("fp8",), "tf32": ("tf32", "fp32")}.get(wanted, ()):
        if rates.get(key):
            return key, rates[key]
    for key in ("bf16", "fp16", "fp32"):
        if rates.get(key):
            return key, rates[key]
    raise InvalidInput(problem("CB-T051", name=run.accelerator.name))


def wide_rate(accelerator: Accelerator) -> float:
    """Dense rate in 16 bit, in which attention is multiplied whatever the weights' type; fp32 where there is none.

    Raises:
        InvalidInput: CB-T051, the card has neither.
    """
    for key in ("bf16", "fp16", "fp32"):
        if accelerator.flop_per_s.get(key):
            return accelerator.flop_per_s[key]
    raise InvalidInput(problem("CB-T051", name=accelerator.name))


def memory_rate(accelerator: Accelerator) -> float:
    """Memory bandwidth in B/s.

    Raises:
        InvalidInput: CB-T052, it isn't known.
    """
    if not accelerator.memory_bytes_per_s:
        raise InvalidInput(problem("CB-T052", name=accelerator.name))
    return accelerator.memory_bytes_per_s


def relative_power_ratio(accelerator: Accelerator, data: dict[str, Any]) -> float:
    """Watts per operation at peak against its architecture's measured cards; 1 where the card itself was measured."""
    row = data["card_matmul_ratio"].get(accelerator.architecture.lower(), {})
    rate = accelerator.flop_per_s.get("bf16") or accelerator.flop_per_s.get("fp16")
    if accelerator.matmul_ratio or not accelerator.tdp_w or not rate or "w_per_tflop_per_s" not in row:
        return 1.0
    return accelerator.tdp_w / (rate / 1e12) / float(row["w_per_tflop_per_s"])


def routed_ratio(model: Model) -> float:
    """Share of the weights a token is multiplied with that lies in routed experts."""
    counted = memory.params(model)
    experts = sum(
        group.layers_count * group.experts_count * group.intermediate_dim_count for group in model.mlp
    )
    if not experts or not counted.experts_count:
        return 0.0
    chosen = sum(
        group.layers_count * group.experts_per_token_count * group.intermediate_dim_count
        for group in model.mlp
        if group.experts_count
    )
    lookup = 0.0 if model.tied_embeddings else counted.embedding_count
    return counted.experts_count * chosen / experts / (counted.active_count - lookup - counted.extra_count)


def expert_width(run: TrainingRun) -> float:
    """Width of one expert's slice on an accelerator, averaged over the layers that have experts."""
    return max(1.0, mean_expert_width(run.model) / (run.tp if run.ep <= 1 else 1))


def mean_expert_width(model: Model) -> float:
    """Width of one expert, averaged over the layers that have experts."""
    groups = [group for group in model.mlp if group.experts_count]
    layers = sum(group.layers_count for group in groups)
    return sum(group.layers_count * group.intermediate_dim_count for group in groups) / layers


def held_trained_params(run: TrainingRun) -> float:
    """Weights whose gradients one accelerator adds up in every micro-batch: its share of layers and experts."""
    if trains_adapters(run):
        return 0.0
    counted = memory.params(run.model)
    dense = (counted.total_count - counted.experts_count) / (run.tp * run.pp)
    return dense + counted.experts_count / (max(run.tp, run.ep) * run.pp)


def rows_of_experts(run: TrainingRun, lens: Lens, tokens: Number) -> Number:
    """Rows that an expert multiplies at once, averaged over the layers that have experts."""
    groups = [group for group in run.model.mlp if group.experts_count]
    layers = sum(group.layers_count for group in groups)
    chosen = sum(group.layers_count * group.experts_per_token_count for group in groups) / layers
    held = sum(group.layers_count * group.experts_count for group in groups) / layers
    return lens.of(step.expert_tokens)(
        tokens,
        lens.field(run.model, "experts_per_token_count", chosen),
        lens.setting("gathered_count", max(1.0, run.ep / run.tp)),
        lens.field(run.model, "experts_count", held),
    )


def attention_constant(run: TrainingRun, data: dict[str, Any], family: dict[str, Any]) -> Constant:
    """Rate of the attention kernels that a family of frameworks uses, on cards of this architecture."""
    kernels = data["attention"][family["attention"] if run.flash_attention else "eager"]
    architecture = run.accelerator.architecture.lower()
    return constant(kernels, architecture if architecture in kernels else "unknown", "attention_ratio")


def head_width(model: Model) -> float:
    """Width of a head, keys and values averaged, over the layers that attend; 128 where none does."""
    groups = [group for group in model.attention if group.kind != "linear"]
    layers = sum(group.layers_count for group in groups)
    if not layers:
        return 128.0
    widths = (
        g.layers_count * (g.head_dim_count + (g.v_head_dim_count or g.head_dim_count)) / 2 for g in groups
    )
    return sum(widths) / layers


def passes_of(run: TrainingRun) -> float:
    """Forward, backward, and forward again where activations are recomputed."""
    return 2.0 + recomputed_passes(run)


def family_table(run: TrainingRun, data: dict[str, Any]) -> dict[str, Any]:
    """Coefficients of the run's family of frameworks."""
    return dict(data["families"][family_of(run.framework)])


def device_parts(
    run: TrainingRun, lens: Lens, data: dict[str, Any], work: Work, key: str, tokens: Number
) -> dict[str, Number]:
    """Seconds of one micro-batch on the accelerator, before the framework's slowness."""
    fitted, family = data["coefficients"], family_table(run, data)
    split = lens.setting("split_count", run.tp * run.pp)
    card = lens.constant(best_matmul(run.accelerator, data))
    wide = lens.field(run.accelerator, "memory_bytes_per_s", memory_rate(run.accelerator))
    element = lens.setting("element_bytes", ELEMENT_BYTES)
    hidden = lens.field(run.model, "hidden_dim_count")
    width = lens.setting("width_count", max(1.0, run.model.hidden_dim_count / run.tp))
    passes = lens.setting("passes_count", passes_of(run) + (0.0 if trains_adapters(run) else 0.5))
    layers = lens.field(run.model, "layers_count")
    narrow = data["formats"][format_of(run, key)]
    peak16 = lens.field(run.accelerator, "peak_flop_per_s", wide_rate(run.accelerator))
    products = lens.of(sum_flop_per_token)(work.weights, work.weights_recomputed)
    routed = lens.setting("routed_ratio", routed_ratio(run.model))
    powered = lens.of(step.powered_ratio)(
        lens.setting("relative_power_ratio", relative_power_ratio(run.accelerator, data)),
        lens.constant(constant(fitted, "power_exponent_ratio")),
    )
    peak = lens.field(run.accelerator, "peak_flop_per_s", run.accelerator.flop_per_s[key])
    format_ratio = lens.constant(constant(narrow, "format_ratio"))
    mixing = lens.of(sum_flop_per_token)(work.mixing, work.mixing_recomputed)
    parts = {
        "matmul": lens.of(step.matmul_s)(
            lens.of(shared_flop_per_token)(products, routed),
            tokens,
            split,
            peak,
            card,
            lens.constant(constant(fitted, "training_matmul_ratio")),
            format_ratio,
            lens.constant(constant(fitted, "half_tokens")),
            width,
            lens.constant(constant(fitted, "half_width_count")),
            powered,
            tokens,
        ),
        "attention": lens.of(step.attention_s)(
            mixing,
            tokens,
            split,
            peak16,
            card,
            lens.constant(attention_constant(run, data, family)),
            lens.setting("attended_tokens", run.seq_tokens / 2),
            lens.constant(constant(fitted, "half_attended_tokens")),
            powered,
            lens.of(step.narrow_ratio)(
                lens.field(run.model, "head_dim_count", head_width(run.model)),
                lens.constant(constant(fitted, "exponential_dim_count")),
            ),
        ),
        "elementwise": lens.of(step.traffic_s)(
            tokens,
            layers,
            hidden,
            _layer_copies(run, lens, narrow),
            passes,
            split,
            element,
            wide,
        ),
        "logits": lens.of(step.traffic_s)(
            tokens,
            lens.setting("layers_count", 1),
            lens.field(run.model, "vocab_count"),
            lens.constant(constant(fitted, "logits_copies_count", "copies_count")),
            lens.setting("passes_count", 1.0),
            split,
            element,
            wide,
        ),
    }
    if routed_ratio(run.model):
        parts["experts"] = lens.of(step.matmul_s)(
            lens.of(routed_flop_per_token)(products, routed),
            tokens,
            split,
            peak,
            card,
            lens.constant(constant(fitted, "moe_matmul_ratio", "training_matmul_ratio")),
            format_ratio,
            lens.constant(constant(fitted, "half_expert_tokens", "half_tokens")),
            lens.setting("width_count", expert_width(run)),
            lens.constant(constant(fitted, "half_width_count")),
            powered,
            rows_of_experts(run, lens, tokens),
        )
    parts["gradients"] = lens.of(step.optimizer_s)(
        lens.setting("trained_params_count", held_trained_params(run)),
        lens.setting("shards_count", 1),
        lens.constant(constant(family, "gradient_bytes_per_param", "bytes_per_param")),
        wide,
    )
    return parts | _special_parts(run, lens, data, tokens, passes, wide)


def _layer_copies(run: TrainingRun, lens: Lens, narrow: dict[str, Any]) -> Number:
    """Copies of a token's vector that a layer moves, those that tensor parallelism doesn't split counted whole."""
    copies = lens.constant(constant(narrow, "copies_count"))
    if run.tp == 1 or splits_norms(run):
        return copies
    return lens.of(step.replicated_copies_count)(copies, lens.setting("tensor_count", run.tp))


def _special_parts(
    run: TrainingRun, lens: Lens, data: dict[str, Any], tokens: Number, passes: Number, wide: Number
) -> dict[str, Number]:
    """What only some runs have: routing of tokens to experts, unpacking of frozen 4-bit weights."""
    fitted, parts = data["coefficients"], {}
    split = lens.setting("split_count", run.tp * run.pp)
    routed = sum(group.layers_count * group.experts_per_token_count for group in run.model.mlp)
    if routed:
        parts["expert_activations"] = lens.of(step.traffic_s)(
            tokens,
            lens.field(run.model, "layers_count", routed),
            lens.field(run.model, "width_count", mean_expert_width(run.model)),
            lens.constant(constant(fitted, "expert_copies_count", "copies_count")),
            passes,
            split,
            lens.setting("element_bytes", ELEMENT_BYTES),
            wide,
        )
        parts["routing"] = lens.of(step.traffic_s)(
            tokens,
            lens.field(run.model, "layers_count", routed),
            lens.field(run.model, "hidden_dim_count"),
            lens.constant(constant(fitted, "routed_copies_count", "copies_count")),
            passes,
            split,
            lens.setting("element_bytes", ELEMENT_BYTES),
            wide,
        )
    recurrent = sum(group.layers_count for group in run.model.attention if group.kind == "linear")
    if recurrent:
        parts["state"] = lens.of(step.traffic_s)(
            tokens,
            lens.field(run.model, "layers_count", recurrent),
            lens.field(run.model, "hidden_dim_count"),
            lens.constant(constant(fitted, "state_copies_count", "copies_count")),
            passes,
            split,
            lens.setting("element_bytes", ELEMENT_BYTES),
            wide,
        )
    if adds_products(run):
        parts["adapters"] = lens.of(step.traffic_s)(
            tokens,
            lens.field(run.model, "layers_count"),
            lens.field(run.model, "hidden_dim_count"),
            lens.constant(constant(fitted, "adapted_copies_count", "copies_count")),
            passes,
            split,
            lens.setting("element_bytes", ELEMENT_BYTES),
            wide,
        )
    if run.method == "qlora":
        moved = run.weights.body_bits / 8 + 4.0  # packed in, 16 bit out and in again
        parts["dequantise"] = lens.of(step.dequantise_s)(
            lens.field(run.model, "frozen_params_count", memory.params(run.model).total_count),
            lens.field(run.weights, "bytes_per_param", moved),
            lens.setting("passes_count", passes_of(run)),
            split,
            wide,
            lens.constant(constant(fitted, "dequantise_ratio")),
        )
    return parts


def format_of(run: TrainingRun, key: str) -> str:
    """Row of ``formats``: the precision asked for when the card has it, else what it falls back to."""
    if key == "fp8":
        return "mxfp8" if run.precision == "mxfp8" else "fp8"
    return "nvfp4" if key == "fp4" else "bf16"
