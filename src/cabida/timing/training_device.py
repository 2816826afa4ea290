"""What one micro-batch costs on the accelerator itself, part by part, before the framework's slowness."""

from __future__ import annotations

from typing import Any

from cabida import memory
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator
from cabida.memory.lens import Lens, Number
from cabida.plan import TrainingRun
from cabida.text import problem
from cabida.timing import training_step as step
from cabida.timing.flops import Work, sum_flop_per_token, trains_adapters
from cabida.timing.rates import best_matmul
from cabida.timing.training_data import constant, family_of

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


def memory_rate(accelerator: Accelerator) -> float:
    """Memory bandwidth in B/s.

    Raises:
        InvalidInput: CB-T052, it isn't known.
    """
    if not accelerator.memory_bytes_per_s:
        raise InvalidInput(problem("CB-T052", name=accelerator.name))
    return accelerator.memory_bytes_per_s


def passes_of(run: TrainingRun) -> float:
    """Forward, backward, and forward again where activations are recomputed."""
    return 2.0 + (1.0 if run.recompute == "full" else 0.0)


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
    narrow = data["formats"][_format(run, key)]
    sixteen_bit = run.accelerator.flop_per_s.get("bf16") or run.accelerator.flop_per_s.get("fp16")
    peak16 = lens.field(
        run.accelerator, "peak_flop_per_s", sixteen_bit or run.accelerator.flop_per_s.get("fp32", 1e12)
    )
    products = lens.of(sum_flop_per_token)(work.weights, work.weights_recomputed)
    mixing = lens.of(sum_flop_per_token)(work.mixing, work.mixing_recomputed)
    parts = {
        "matmul": lens.of(step.matmul_s)(
            products,
            tokens,
            split,
            lens.field(run.accelerator, "peak_flop_per_s", run.accelerator.flop_per_s[key]),
            card,
            lens.constant(
                constant(
                    fitted,
                    "moe_matmul_ratio" if run.model.is_moe else "training_matmul_ratio",
                    "training_matmul_ratio",
                )
            ),
            lens.constant(constant(narrow, "format_ratio")),
            lens.constant(constant(fitted, "half_tokens")),
            width,
            lens.constant(constant(fitted, "half_width_count")),
        ),
        "attention": lens.of(step.attention_s)(
            mixing,
            tokens,
            split,
            peak16,
            card,
            lens.constant(constant(family, "attention_ratio")),
            lens.setting("attended_tokens", run.seq_tokens / 2),
            lens.constant(constant(fitted, "half_attended_tokens")),
        ),
        "elementwise": lens.of(step.traffic_s)(
            tokens,
            layers,
            hidden,
            lens.constant(constant(narrow, "copies_count")),
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
    return parts | _special_parts(run, lens, data, tokens, passes, wide)


def _special_parts(
    run: TrainingRun, lens: Lens, data: dict[str, Any], tokens: Number, passes: Number, wide: Number
) -> dict[str, Number]:
    """What only some runs have: routing of tokens to experts, unpacking of frozen 4-bit weights."""
    fitted, parts = data["coefficients"], {}
    split = lens.setting("split_count", run.tp * run.pp)
    routed = sum(group.layers_count * group.experts_per_token_count for group in run.model.mlp)
    if routed:
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


def _format(run: TrainingRun, key: str) -> str:
    """Row of ``formats``: the precision asked for when the card has it, else what it falls back to."""
    if key == "fp8":
        return "mxfp8" if run.precision == "mxfp8" else "fp8"
    return "nvfp4" if key == "fp4" else "bf16"
