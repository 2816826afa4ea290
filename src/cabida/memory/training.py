"""Does a training run fit on one accelerator, and how large a micro-batch or sequence would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.memory import training_constants as known
from cabida.memory.adapters import ADAPTER_METHODS
from cabida.memory.budget import visible
from cabida.memory.constants import Constant
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.limits import TIGHT_RATIO, largest
from cabida.memory.optimizers import resident_optimizer_bytes, row_of
from cabida.memory.sharding import offloads
from cabida.memory.state import sum_held_bytes
from cabida.memory.training_cure import training_cure
from cabida.memory.training_phases import Demand, demand_of
from cabida.plan import TrainingRun
from cabida.quantity import Quantity, formula, least, most

MICRO_BATCH_MOST = 4096
SEQ_TOKENS_MOST = 2**24
NEAR_RATIO = 1 / 256  # as near as the largest is looked for
ROUNDING_BYTES = 1.0


@formula
def slack_bytes(
    tensor_bytes: float,
    outside_bytes: float,
    visible_bytes: float,
    slack_ratio: float,
    stranded_bytes: float,
) -> Any:
    """Memory PyTorch's allocator holds beyond what tensors take; it gives that back before it fails.

    So slack grows with the tensors, and shrinks to nothing where they fill what the process can see. Stranded is
    what one phase of a step left in blocks too small for another phase's flat tensors.
    """
    free_bytes = most(visible_bytes - outside_bytes - tensor_bytes, 0)
    return least(tensor_bytes * slack_ratio + stranded_bytes, free_bytes)


@formula
def other_training_bytes(outside_bytes: float, passing_bytes: float, slack_bytes: float) -> float:
    """Context and communication buffers, gathered and unpacked weights, and the allocator's slack."""
    return outside_bytes + passing_bytes + slack_bytes


@formula
def tensors_beside_bytes(tensor_bytes: float, optimizer_bytes: float) -> float:
    """Tensors that can't be paged out."""
    return tensor_bytes - optimizer_bytes


@formula
def peak_training_bytes(
    weights_bytes: float,
    gradients_bytes: float,
    optimizer_bytes: float,
    activation_bytes: float,
    logits_bytes: float,
    other_bytes: float,
) -> float:
    """All that one accelerator holds at the peak of a step."""
    return weights_bytes + gradients_bytes + optimizer_bytes + activation_bytes + logits_bytes + other_bytes


@formula
def training_headroom_bytes(visible_bytes: float, peak_bytes: float) -> float:
    """What is left over; below zero when it does not fit."""
    return visible_bytes - peak_bytes


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """Memory of one accelerator of a training run, in bytes."""

    usable_bytes: float
    weights_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    activation_bytes: float
    logits_bytes: float
    other_bytes: float
    peak_bytes: float  # all parts
    reserved_bytes: (
        float  # what PyTorch's allocator holds: all but the driver context and communication buffers
    )
    allocated_bytes: float  # what its tensors take: the same without slack
    verdict: str  # fits | tight | no
    headroom_bytes: float
    low_bytes: float  # 90 % interval of the peak
    high_bytes: float
    phase: str  # when the peak is: loss | backward | step | loading | evaluation
    trained_params_count: float  # on this accelerator
    run: TrainingRun

    @property
    def parts(self) -> dict[str, float]:
        """What the accelerator holds at the peak of a step."""
        return {
            "weights": self.weights_bytes,
            "gradients": self.gradients_bytes,
            "optimizer": self.optimizer_bytes,
            "activations": self.activation_bytes,
            "logits": self.logits_bytes,
            "other": self.other_bytes,
        }

    @property
    def largest_micro_batch_count(self) -> int:
        """Largest micro-batch at this sequence length; 0 when not even one sequence fits. Searched when asked."""
        return largest(lambda count: self._holds(count, self.run.seq_tokens), MICRO_BATCH_MOST, NEAR_RATIO)

    @property
    def largest_seq_tokens(self) -> int:
        """Longest sequence of a micro-batch of one; 0 when nothing fits. Searched when asked."""
        return largest(lambda tokens: self._holds(1, tokens), SEQ_TOKENS_MOST, NEAR_RATIO)

    def _holds(self, micro_batch: int, seq_tokens: int) -> bool:
        return fits_at(self.run, micro_batch, seq_tokens)

    @property
    def cure(self) -> str:
        """What to change when it does not fit, in the language in use; empty when it fits."""
        return training_cure(self)


@dataclass(frozen=True, slots=True)
class _Figures:
    demand: Demand
    optimizer: Number
    other: Number
    peak: Number
    outside: Number
    slack: Number
    limit: Number


def _outside(r: TrainingRun, lens: Lens) -> Number:
    """What is no tensor: the context, and what communication holds."""
    alone = lens.setting("peer_bytes", 0.0)
    peers = lens.constant(known.TRAINING_PEER_BYTES) if r.accelerators_count > 1 else alone
    return lens.of(sum_held_bytes)(lens.constant(known.TRAINING_CONTEXT_BYTES), peers)


def _figures(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> _Figures:
    d = demand_of(r, micro_batch, seq, lens)
    outside = _outside(r, lens)
    limit = visible(r.accelerator, lens)
    tensors, optimizer = d.tensors, d.state.optimizer
    if row_of(r).paged:
        rest = lens.of(tensors_beside_bytes)(tensors, optimizer)
        optimizer = lens.of(resident_optimizer_bytes)(
            optimizer, lens.of(sum_held_bytes)(rest, outside), limit
        )
        tensors = lens.of(sum_held_bytes)(rest, optimizer)
    ratio = (
        lens.setting("slack_ratio", 0.0) if d.phase == "loading" else lens.constant(known.SLACK_RATIO)
    )  # weights lie in blocks of their own
    slack = lens.of(slack_bytes)(tensors, outside, limit, ratio, d.stranded)
    other = lens.of(other_training_bytes)(outside, d.passing, slack)
    peak = lens.of(peak_training_bytes)(
        d.state.weights, d.gradients, optimizer, d.activations, d.logits, other
    )
    return _Figures(d, optimizer, other, peak, outside, slack, limit)


def fits_at(r: TrainingRun, micro_batch: int, seq_tokens: int) -> bool:
    """Whether the tensors of a micro-batch fit, the allocator's slack given back."""
    d = demand_of(r, micro_batch, seq_tokens, PLAIN)
    needed = d.tensors - (d.state.optimizer if row_of(r).paged else 0.0)
    return bool(needed + _outside(r, PLAIN) <= visible(r.accelerator, PLAIN))


def spread_of(r: TrainingRun) -> Constant:
    """Factors of the peak's 90 % interval, by kind of run: ``calibration/training_memory.py``."""
    if r.model.task == "vlm" or offloads(r, "parameters"):
        return known.UNSEEN_SPREAD_RATIO
    if not r.framework:
        return known.UNNAMED_SPREAD_RATIO
    if r.method in ADAPTER_METHODS:
        return known.QUANTISED_SPREAD_RATIO if r.weights.body_bits < 16 else known.ADAPTER_SPREAD_RATIO
    return known.FULL_SPREAD_RATIO


def training(r: TrainingRun) -> TrainingMemory:
    """Memory of one accelerator of a training run, and whether it fits.

    The peak is weights, gradients and optimizer state after sharding, activations of the micro-batches in
    flight, logits, buffers, and the slack of the allocator. The limit is the memory a process can see on the card.
    """
    f = _figures(r, r.micro_batch_count, r.seq_tokens, PLAIN)
    headroom = f.limit - f.peak
    if abs(headroom) < ROUNDING_BYTES:  # slack that gives way leaves nothing, not a little less
        headroom = 0.0
    verdict = "no" if headroom < 0 else "fits" if headroom >= (1 - TIGHT_RATIO) * f.limit else "tight"
    spread = spread_of(r)
    return TrainingMemory(
        usable_bytes=r.accelerator.usable_bytes,
        weights_bytes=f.demand.state.weights,
        gradients_bytes=f.demand.gradients,
        optimizer_bytes=f.optimizer,
        activation_bytes=f.demand.activations,
        logits_bytes=f.demand.logits,
        other_bytes=f.other,
        peak_bytes=f.peak,
        reserved_bytes=f.peak - f.outside,
        allocated_bytes=f.peak - f.outside - f.slack,
        verdict=verdict,
        headroom_bytes=headroom,
        low_bytes=f.peak * spread.low,
        high_bytes=f.peak * spread.high,
        phase=f.demand.phase,
        trained_params_count=f.demand.state.trained_params,
        run=r,
    )


def training_tree(r: TrainingRun) -> dict[str, Quantity]:
    """The figures of :func:`training` with their provenance, by the same names."""
    lens = Explaining()
    f = _figures(r, r.micro_batch_count, r.seq_tokens, lens)
    made = {
        "weights_bytes": f.demand.state.weights,
        "gradients_bytes": f.demand.gradients,
        "optimizer_bytes": f.optimizer,
        "activation_bytes": f.demand.activations,
        "logits_bytes": f.demand.logits,
        "other_bytes": f.other,
        "peak_bytes": f.peak,
        "headroom_bytes": training_headroom_bytes(f.limit, f.peak),
    }
    return {name: node.named(name) for name, node in made.items()}
