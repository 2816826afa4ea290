"""How fast a training run goes: step time from its parts, then tokens, MFU, goodput and time to target.

The procedure is written once (:func:`worked_out`) and looked at through a lens: plain floats for
:func:`training`, quantities with their sources for ``cabida.timing.training_tree``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cabida import memory
from cabida.errors import InvalidInput
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.plan import TrainingRun
from cabida.text import problem
from cabida.timing import training_step as step
from cabida.timing.exchange import Exchange, exchanges
from cabida.timing.flops import Work, sum_flop_per_token, trains_adapters, work_per_token
from cabida.timing.goodput import goodput
from cabida.timing.training_data import constant, family_of, shipped

if TYPE_CHECKING:
    from cabida.facts.model import Accelerator
    from cabida.memory import TrainingMemory

ELEMENT_BYTES = 2.0  # activations and exchanged weights are in 16 bit
FORMAT_KEYS = {"fp16": "bf16", "bf16": "bf16", "fp8": "fp8", "mxfp8": "fp8", "nvfp4": "fp4", "fp4": "fp4"}


@dataclass(frozen=True, slots=True)
class TrainingSpeed:
    """Speed of a training run. ``spread`` maps a metric to the factors of its 90 % interval."""

    step_s: float
    tokens_per_s: float
    tokens_per_s_per_accelerator: float
    mfu_ratio: float
    flop_per_token: float
    parts: dict[str, float]  # seconds of a step, adding up to step_s
    time_to_target_s: float | None
    wall_ratio: (
        float  # wall time of a whole project over its steady-state time, where such runs were reported
    )
    goodput_ratio: float
    checkpoint_interval_s: float
    spread: dict[str, tuple[float, float]] = field(default_factory=dict)
    basis: str = "calibrated"


@dataclass(frozen=True, slots=True)
class Worked:
    """A step worked out through a lens."""

    step_s: Number
    step_tokens: Number
    peak_flop_per_s: Number
    work: Work
    parts: dict[str, float]  # seconds of a step
    micro_batches_count: float


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


def worked_out(run: TrainingRun, lens: Lens, data: dict[str, Any] | None = None) -> Worked:
    """One step of ``run``, part by part, with the coefficients of ``data`` (None = the shipped ones)."""
    data = shipped() if data is None else data
    work = work_per_token(run, lens)
    key, rate = peak_of(run)
    peak = lens.field(run.accelerator, "peak_flop_per_s", rate)
    tokens = lens.setting("micro_batch_tokens", run.micro_batch_count * run.seq_tokens / run.cp)
    device = _device_parts(run, lens, data, work, key, tokens)
    family = _family(run, data)
    slowness = _slowness(run, lens, data, family)
    device = {name: lens.of(step.device_s)(part, slowness) for name, part in device.items()}
    busy = _sum(list(device.values()), lens)
    layers = lens.field(run.model, "layers_count", max(1, run.model.layers_count))
    launch = lens.of(step.host_launch_s)(
        layers,
        lens.setting("passes_count", _passes(run)),
        lens.setting("stages_count", run.pp),
        lens.constant(constant(family, "launch_s_per_layer")),
    )
    computing = lens.of(step.overlapped_s)(
        busy, launch, lens.constant(constant(data["coefficients"], "host_exposed_ratio", "exposed_ratio"))
    )
    exchange = exchanges(run, lens, data, family, tokens)
    micro = _sum([computing, *exchange.in_layers.values()], lens)
    gathered = lens.of(step.overlapped_s)(micro, exchange.gather_s, exchange.exposed_ratio)
    count = lens.setting("micro_batches_count", micro_batches(run))
    stages = lens.setting("stages_count", run.pp)
    chunks = lens.setting("virtual_stages_count", run.virtual_stages_count)
    piped = lens.of(step.pipelined_s)(gathered, layers, count, stages, chunks)
    once = _once_a_step(run, lens, data, exchange)
    whole = _sum([piped, *once.values()], lens)
    each = float_of(count)
    parts = {name: float_of(part) * each for name, part in device.items()}
    parts["launch"] = (float_of(computing) - float_of(busy)) * each
    parts |= {name: float_of(part) * each for name, part in exchange.in_layers.items()}
    parts["data_parallel"] = (float_of(gathered) - float_of(micro)) * each + float_of(once["reduce"])
    parts["pipeline_bubble"] = float_of(piped) - float_of(gathered) * each
    parts |= {name: float_of(part) for name, part in once.items() if name != "reduce"}
    return Worked(whole, lens.setting("step_tokens", step_tokens(run)), peak, work, parts, each)


def float_of(number: Number) -> float:
    """The value of a number, whatever lens gave it."""
    return float(number)


def micro_batches(run: TrainingRun) -> float:
    """Micro-batches each replica goes through in one step (a fraction counts as a whole one)."""
    return max(
        1, math.ceil(run.global_batch_count / (run.data_parallel_count * run.micro_batch_count) - 1e-9)
    )


def step_tokens(run: TrainingRun) -> float:
    """Tokens of one optimizer step."""
    return float(max(run.global_batch_count, 1) * run.seq_tokens)


def _passes(run: TrainingRun) -> float:
    """Forward, backward, and forward again where activations are recomputed."""
    return 2.0 + (1.0 if run.recompute == "full" else 0.0)


def _family(run: TrainingRun, data: dict[str, Any]) -> dict[str, Any]:
    return dict(data["families"][family_of(run.framework)])


def _slowness(run: TrainingRun, lens: Lens, data: dict[str, Any], family: dict[str, Any]) -> Number:
    ratio = lens.constant(constant(family, "slowness_ratio", "family_ratio"))
    yearly = lens.constant(
        constant(
            data["coefficients"], "moe_yearly_ratio" if run.model.is_moe else "yearly_ratio", "yearly_ratio"
        )
    )
    age = lens.setting("age_count", release_age(run.framework_version, data["newest"]))
    return lens.of(step.aged_ratio)(ratio, yearly, age)


def release_age(version: str, newest: float) -> float:
    """Years between a release numbered by year and month (``25.09``) and the newest seen; 0 for other numbering."""
    head = version.split(".")
    if len(head) < 2 or not (head[0].isdigit() and head[1].isdigit()) or not 20 <= int(head[0]) <= 60:
        return 0.0
    return min(3.0, max(0.0, newest - (2000 + int(head[0]) + int(head[1]) / 12)))


def _sum(parts: list[Number], lens: Lens) -> Number:
    whole = parts[0]
    for part in parts[1:]:
        whole = lens.of(step.sum_s)(whole, part)
    return whole


def _device_parts(
    run: TrainingRun, lens: Lens, data: dict[str, Any], work: Work, key: str, tokens: Number
) -> dict[str, Number]:
    """Seconds of one micro-batch on the accelerator, before the framework's slowness."""
    fitted, family = data["coefficients"], _family(run, data)
    split = lens.setting("split_count", run.tp * run.pp)
    card = lens.field(run.accelerator, "card_matmul_ratio", matmul_ratio(run.accelerator, data))
    wide = lens.field(run.accelerator, "memory_bytes_per_s", memory_rate(run.accelerator))
    element = lens.setting("element_bytes", ELEMENT_BYTES)
    hidden = lens.field(run.model, "hidden_dim_count")
    width = lens.setting("width_count", max(1.0, run.model.hidden_dim_count / run.tp))
    passes = lens.setting("passes_count", _passes(run) + (0.0 if trains_adapters(run) else 0.5))
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
            mixing, tokens, split, peak16, card, lens.constant(constant(family, "attention_ratio"))
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
            lens.setting("passes_count", _passes(run)),
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


def matmul_ratio(accelerator: Accelerator, data: dict[str, Any] | None = None) -> float:
    """Best matrix-multiply rate over the dense peak: measured on the card, else that of its architecture."""
    table = (data or shipped())["card_matmul_ratio"]
    return accelerator.matmul_ratio or float(
        table.get(accelerator.architecture.lower(), table["unknown"])["value"]
    )


def _once_a_step(run: TrainingRun, lens: Lens, data: dict[str, Any], exchange: Exchange) -> dict[str, Number]:
    """Reduction of gradients, optimizer, offloading, and what is fixed: seconds per step."""
    trained = trained_params(run)
    sharded = run.sharding not in ("none", "ddp")
    split = run.accelerators_count if sharded else run.tp * run.pp
    parts = {
        "reduce": exchange.reduce_s,
        "optimizer": lens.of(step.optimizer_s)(
            lens.setting("trained_params_count", trained),
            lens.setting("split_count", split),
            lens.constant(constant(data["optimizers"], _optimizer(run, data), "bytes_per_param")),
            lens.field(run.accelerator, "memory_bytes_per_s", memory_rate(run.accelerator)),
        ),
        "fixed": lens.constant(constant(data["coefficients"], "fixed_s")),
    }
    if run.offload != "none":
        parts["offload"] = lens.of(step.optimizer_s)(
            lens.setting("trained_params_count", trained),
            lens.setting("split_count", split),
            lens.constant(constant(data["coefficients"], "offload_bytes_per_param", "bytes_per_param")),
            lens.constant(constant(data["coefficients"], "host_bytes_per_s", "memory_bytes_per_s")),
        )
    return parts


def _optimizer(run: TrainingRun, data: dict[str, Any]) -> str:
    return run.optimizer if run.optimizer in data["optimizers"] else "adamw"


def trained_params(run: TrainingRun) -> float:
    """Weights that get gradients: all of them, or the adapters' (rank x both sides of each matrix)."""
    counted = memory.params(run.model)
    if not trains_adapters(run):
        return counted.total_count
    matrices = 4 if run.lora_targets == "attention" else 7
    return float(2 * run.lora_rank * matrices * run.model.layers_count * run.model.hidden_dim_count)


def training(run: TrainingRun, mem: TrainingMemory | None = None) -> TrainingSpeed:
    """Speed of a training run.

    Args:
        run: the run; the type that multiplies, split, sharding and framework decide most.
        mem: its memory, when worked out; only whether it fits is read.

    Returns:
        Seconds per step and their parts, tokens/s of all and of one accelerator, MFU over the dense peak of
        the multiplying type, FLOP per token as NVIDIA counts, goodput at the best checkpoint interval.

    Raises:
        InvalidInput: CB-T051 or CB-T052, the accelerator lacks a tensor rate or a memory bandwidth.
    """
    worked = worked_out(run, PLAIN)
    rate = step.tokens_per_s.raw(worked.step_tokens, worked.step_s)
    useful = goodput(trained_params(run), run.accelerators_count)
    spread = _spread(run)
    target = None
    if run.target_tokens:
        target = step.time_to_target_s.raw(run.target_tokens, rate, useful.ratio)
    return TrainingSpeed(
        step_s=worked.step_s,
        tokens_per_s=rate,
        tokens_per_s_per_accelerator=rate / run.accelerators_count,
        mfu_ratio=step.mfu_ratio.raw(
            worked.work.model,
            worked.step_tokens,
            worked.step_s,
            run.accelerators_count,
            worked.peak_flop_per_s,
        ),
        flop_per_token=worked.work.model,
        parts=worked.parts,
        time_to_target_s=target,
        wall_ratio=float(shipped()["coefficients"]["wall_ratio"]["value"]),
        goodput_ratio=useful.ratio,
        checkpoint_interval_s=useful.interval_s,
        spread=spread,
        basis="assumed" if mem is not None and mem.verdict == "no" else "calibrated",
    )


def _spread(run: TrainingRun) -> dict[str, tuple[float, float]]:
    """90 % interval factors by metric, from held-out residuals of runs of this kind."""
    table = shipped()["spread"]
    family = family_of(run.framework)
    kind = "moe" if run.model.is_moe else "dense"
    row = table[f"{kind}_unknown" if family == "unknown" else kind]
    slow, fast = float(row["low"]), float(row["high"])
    rates = (slow, fast)
    return {
        "tokens_per_s": rates,
        "tokens_per_s_per_accelerator": rates,
        "mfu_ratio": rates,
        "step_s": (1 / fast, 1 / slow),
        "time_to_target_s": (1 / fast, 1 / slow * float(table["wall"]["high"])),
    }
