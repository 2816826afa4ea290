"""How fast a training run goes: step time from its parts, then tokens, MFU, goodput and time to target.

The procedure is written once (:func:`worked_out`) and looked at through a lens: plain floats for
:func:`training`, quantities with their sources for ``cabida.timing.runs.training_tree``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cabida.memory.lens import PLAIN, Lens, Number
from cabida.plan import TrainingRun
from cabida.timing.devices.training_data import constant, family_of, shipped
from cabida.timing.runs import training_step as step
from cabida.timing.runs.exchange import Exchange, exchanges
from cabida.timing.runs.flops import Work, adds_products, trained_params, trains_adapters, work_per_token
from cabida.timing.runs.goodput import failure_facts, goodput_of
from cabida.timing.runs.training_device import device_parts, family_table, memory_rate, passes_of, peak_of

if TYPE_CHECKING:
    from cabida.memory import TrainingMemory


MACHINE_COUNT = 8.0  # accelerators that hardly wait for each other: one usual machine


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


def worked_out(run: TrainingRun, lens: Lens, data: dict[str, Any] | None = None) -> Worked:
    """One step of ``run``, part by part, with the coefficients of ``data`` (None = the shipped ones)."""
    data = shipped() if data is None else data
    work = work_per_token(run, lens)
    key, rate = peak_of(run)
    peak = lens.field(run.accelerator, "peak_flop_per_s", rate)
    tokens = lens.setting("micro_batch_tokens", run.micro_batch_count * run.seq_tokens / run.cp)
    device = device_parts(run, lens, data, work, key, tokens)
    family = family_table(run, data)
    slowness = _slowness(run, lens, data, family)
    device = {name: lens.of(step.device_s)(part, slowness) for name, part in device.items()}
    busy = _sum(list(device.values()), lens)
    layers = lens.field(run.model, "layers_count", max(1, run.model.layers_count))
    routed = sum(group.layers_count for group in run.model.mlp if group.experts_count)
    launch = lens.of(step.host_launch_s)(
        layers,
        lens.field(run.model, "routed_layers_count", routed),
        lens.constant(constant(data["coefficients"], "routed_launch_ratio")),
        lens.setting("adapted_layers_count", run.model.layers_count if adds_products(run) else 0),
        lens.constant(constant(data["coefficients"], "adapted_launch_ratio")),
        lens.setting("passes_count", passes_of(run) + (0.0 if trains_adapters(run) else 1.0)),
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
    straggling = lens.of(step.straggling_s)(
        piped,
        lens.setting("accelerators_count", run.accelerators_count),
        lens.setting("machine_accelerators_count", MACHINE_COUNT),
        lens.constant(constant(data["coefficients"], "straggler_ratio")),
    )
    whole = _sum([piped, straggling, *once.values()], lens)
    each = float_of(count)
    parts = {name: float_of(part) * each for name, part in device.items()}
    parts["launch"] = (float_of(computing) - float_of(busy)) * each
    parts |= {name: float_of(part) * each for name, part in exchange.in_layers.items()}
    parts["data_parallel"] = (float_of(gathered) - float_of(micro)) * each + float_of(once["reduce"])
    parts["pipeline_bubble"] = float_of(piped) - float_of(gathered) * each
    parts |= {name: float_of(part) for name, part in once.items() if name != "reduce"}
    parts["stragglers"] = float_of(straggling)
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


def _slowness(run: TrainingRun, lens: Lens, data: dict[str, Any], family: dict[str, Any]) -> Number:
    """A family's slowness, more for every year that its release is older than the newest.

    Chosen by sources left out (median and p90 error) and models left out: the release's age 13.4 and 39.3 %, 8.6 and
    30.1 %; how young the card was at the release 16.3 and 41.2, 9.1 and 30.6; neither 15.6 and 41.0, 9.1 and 30.7.
    """
    ratio = lens.constant(constant(family, "slowness_ratio", "family_ratio"))
    yearly = lens.constant(
        constant(
            data["coefficients"], "moe_yearly_ratio" if run.model.is_moe else "yearly_ratio", "yearly_ratio"
        )
    )
    oldest = float(data["coefficients"]["oldest_count"]["value"])
    age = lens.setting("age_count", min(oldest, release_age(run.framework_version, data["newest"])))
    return lens.of(step.aged_ratio)(ratio, yearly, age)


def release_year(version: str) -> float | None:
    """The year of a release named by its month (``25.09`` or ``2022-02``), ``None`` for other names."""
    found = re.match(r"(?:20)?(\d\d)[.-](\d\d)(?!\d)", version)
    if found is None or not (16 <= int(found.group(1)) <= 60 and 1 <= int(found.group(2)) <= 12):
        return None
    return 2000 + int(found.group(1)) + int(found.group(2)) / 12


def release_age(version: str, newest: float) -> float:
    """Years between a release named by its month and the newest seen; 0 for other names."""
    released = release_year(version)
    return 0.0 if released is None else max(0.0, newest - released)


def _sum(parts: list[Number], lens: Lens) -> Number:
    whole = parts[0]
    for part in parts[1:]:
        whole = lens.of(step.sum_s)(whole, part)
    return whole


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
    useful = goodput_of(run)
    spread = spread_of(run)
    target = None
    if run.target_tokens:
        never = useful.ratio == 0.0
        target = math.inf if never else step.time_to_target_s.raw(run.target_tokens, rate, useful.ratio)
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
        wall_ratio=float(failure_facts()["wall"]["value"]),
        goodput_ratio=useful.ratio,
        checkpoint_interval_s=useful.interval_s,
        spread=spread,
        basis="assumed" if mem is not None and mem.verdict == "no" else basis_of(run),
    )


def basis_of(run: TrainingRun) -> str:
    """``calibrated`` where runs of the family of frameworks were fitted, else ``physics``."""
    seen = shipped()["held_out"].get("left_out_frameworks_by", {})
    return "calibrated" if family_of(run.framework) in seen else "physics"


def spread_of(run: TrainingRun, *, guessed: bool = False) -> dict[str, tuple[float, float]]:
    """90 % interval factors by metric, from held-out residuals of runs of this kind; ``guessed``: split or type are."""
    table = shipped()["spread"]
    family = family_of(run.framework)
    kind = "moe" if run.model.is_moe else "dense"
    row = table.get(f"{kind}_{family}") or table[kind]
    if guessed:
        wide = table["guessed"]
        row = {"low": min(row["low"], wide["low"]), "high": max(row["high"], wide["high"])}
    slow, fast = float(row["low"]), float(row["high"])
    rates = (slow, fast)
    return {
        "tokens_per_s": rates,
        "tokens_per_s_per_accelerator": rates,
        "mfu_ratio": rates,
        "step_s": (1 / fast, 1 / slow),
        "time_to_target_s": (1 / fast, 1 / slow * float(table["wall"]["high"])),
    }
