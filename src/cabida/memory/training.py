"""Does a training run fit on one accelerator, and how large a micro-batch or sequence would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cabida.memory import constants as known
from cabida.memory.activations import activations_of_run, dequantised_of_run, logits_of_run
from cabida.memory.budget import visible
from cabida.memory.cure import training_cure
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.state import ADAPTER_METHODS, state_of_run, sum_held_bytes
from cabida.plan import TrainingRun
from cabida.quantity import Quantity, formula, least, most

TIGHT_RATIO = 0.95  # with the allocator's slack nearer to the limit than this, a verdict is not sure
MICRO_BATCH_MOST = 4096
SEQ_TOKENS_MOST = 2**24


@formula
def tensor_bytes(
    state_bytes: float, activation_bytes: float, logits_bytes: float, passing_bytes: float
) -> float:
    """What the tensors of a training process take at the peak of a step."""
    return state_bytes + activation_bytes + logits_bytes + passing_bytes


@formula
def slack_bytes(tensor_bytes: float, outside_bytes: float, visible_bytes: float, slack_ratio: float) -> Any:
    """Memory PyTorch's allocator holds beyond what tensors take; it gives that back before it fails.

    So slack grows with the tensors, and shrinks to nothing where they fill what the process can see.
    """
    free_bytes = most(visible_bytes - outside_bytes - tensor_bytes, 0)
    return least(tensor_bytes * slack_ratio, free_bytes)


@formula
def sum_state_bytes(weights_bytes: float, gradients_bytes: float, optimizer_bytes: float) -> float:
    """What training keeps for its weights."""
    return weights_bytes + gradients_bytes + optimizer_bytes


@formula
def sum_passing_bytes(gathered_bytes: float, unpacked_bytes: float) -> float:
    """What comes and goes with each layer: gathered and unpacked weights."""
    return gathered_bytes + unpacked_bytes


@formula
def other_training_bytes(
    context_bytes: float, peer_bytes: float, passing_bytes: float, slack_bytes: float
) -> float:
    """Context, communication buffers, gathered and unpacked weights, and the allocator's slack."""
    return context_bytes + peer_bytes + passing_bytes + slack_bytes


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
        return _largest(lambda count: self._holds(count, self.run.seq_tokens), MICRO_BATCH_MOST)

    @property
    def largest_seq_tokens(self) -> int:
        """Longest sequence of a micro-batch of one; 0 when nothing fits. Searched when asked."""
        return _largest(lambda tokens: self._holds(1, tokens), SEQ_TOKENS_MOST)

    def _holds(self, micro_batch: int, seq_tokens: int) -> bool:
        grown = activations_of_run(self.run, micro_batch, seq_tokens, PLAIN)
        grown += logits_of_run(self.run, micro_batch, seq_tokens, PLAIN)
        spare = self.headroom_bytes + self.reserved_bytes - self.allocated_bytes
        return bool(grown - self.activation_bytes - self.logits_bytes <= spare)

    @property
    def cure(self) -> str:
        """What to change when it does not fit, in the language in use; empty when it fits."""
        return training_cure(self)


@dataclass(frozen=True, slots=True)
class _Figures:
    weights: Number
    gradients: Number
    optimizer: Number
    activations: Number
    logits: Number
    other: Number
    peak: Number
    outside: Number
    slack: Number
    limit: Number
    trained: float


def _figures(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> _Figures:
    state = state_of_run(r, lens)
    activations = activations_of_run(r, micro_batch, seq, lens)
    logits = logits_of_run(r, micro_batch, seq, lens)
    unpacks = r.method in ADAPTER_METHODS and r.weights.body_bits < 16
    passing = lens.of(sum_passing_bytes)(
        state.gathered,
        dequantised_of_run(r, lens) if unpacks else lens.setting("unpacked_bytes", 0.0),
    )
    tensors = lens.of(tensor_bytes)(
        lens.of(sum_state_bytes)(state.weights, state.gradients, state.optimizer),
        activations,
        logits,
        passing,
    )
    context = lens.constant(known.TRAINING_CONTEXT_BYTES)
    peers = (
        lens.constant(known.TRAINING_PEER_BYTES)
        if r.accelerators_count > 1
        else lens.setting("peer_bytes", 0.0)
    )
    outside = lens.of(sum_held_bytes)(context, peers)
    limit = visible(r.accelerator, lens)
    slack = lens.of(slack_bytes)(tensors, outside, limit, lens.constant(known.SLACK_RATIO))
    other = lens.of(other_training_bytes)(context, peers, passing, slack)
    peak = lens.of(peak_training_bytes)(
        state.weights, state.gradients, state.optimizer, activations, logits, other
    )
    return _Figures(
        state.weights,
        state.gradients,
        state.optimizer,
        activations,
        logits,
        other,
        peak,
        outside,
        slack,
        limit,
        state.trained_params,
    )


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number that fits, by doubling and halving; 0 when one does not."""
    if not fits(1):
        return 0
    low = 1
    while low < most and fits(min(2 * low, most)):
        low = min(2 * low, most)
    high = min(2 * low, most)
    while high - low > max(1, low // 256):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def training(r: TrainingRun) -> TrainingMemory:
    """Memory of one accelerator of a training run, and whether it fits.

    The peak is weights, gradients and optimizer state after sharding, activations of the micro-batches in
    flight, logits, buffers, and the slack of the allocator. The limit is the memory a process can see on the card.
    """
    f = _figures(r, r.micro_batch_count, r.seq_tokens, PLAIN)
    headroom = f.limit - f.peak
    verdict = "no" if headroom < 0 else "fits" if headroom >= (1 - TIGHT_RATIO) * f.limit else "tight"
    return TrainingMemory(
        usable_bytes=r.accelerator.usable_bytes,
        weights_bytes=f.weights,
        gradients_bytes=f.gradients,
        optimizer_bytes=f.optimizer,
        activation_bytes=f.activations,
        logits_bytes=f.logits,
        other_bytes=f.other,
        peak_bytes=f.peak,
        reserved_bytes=f.peak - f.outside,
        allocated_bytes=f.peak - f.outside - f.slack,
        verdict=verdict,
        headroom_bytes=headroom,
        trained_params_count=f.trained,
        run=r,
    )


def training_tree(r: TrainingRun) -> dict[str, Quantity]:
    """The figures of :func:`training` with their provenance, by the same names."""
    lens = Explaining()
    f = _figures(r, r.micro_batch_count, r.seq_tokens, lens)
    made = {
        "weights_bytes": f.weights,
        "gradients_bytes": f.gradients,
        "optimizer_bytes": f.optimizer,
        "activation_bytes": f.activations,
        "logits_bytes": f.logits,
        "other_bytes": f.other,
        "peak_bytes": f.peak,
        "headroom_bytes": training_headroom_bytes(f.limit, f.peak),
    }
    return {name: node.named(name) for name, node in made.items()}
