"""The phases of a training step, and the one that asks for most memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.memory import training_constants as known
from cabida.memory.activations import (
    activations_of_run,
    dequantised_of_run,
    last_stage_activations,
    tower_of_run,
    worked_of_run,
)
from cabida.memory.adapters import ADAPTER_METHODS
from cabida.memory.lens import Lens, Number
from cabida.memory.loss import evaluation_of_run, logits_of_run
from cabida.memory.optimizers import HALF, deepspeed, gradient, gradients_stay
from cabida.memory.params import params
from cabida.memory.sharding import offloads, shards
from cabida.memory.state import State, held_bytes, state_of_run, sum_held_bytes
from cabida.plan import TrainingRun
from cabida.quantity import formula, least


@formula
def tensor_bytes(
    state_bytes: float, activation_bytes: float, logits_bytes: float, passing_bytes: float
) -> float:
    """What the tensors of a training process take at the peak of a step."""
    return state_bytes + activation_bytes + logits_bytes + passing_bytes


@formula
def sum_state_bytes(weights_bytes: float, gradients_bytes: float, optimizer_bytes: float) -> float:
    """What training keeps for its weights."""
    return weights_bytes + gradients_bytes + optimizer_bytes


@formula
def sum_passing_bytes(gathered_bytes: float, unpacked_bytes: float) -> float:
    """What comes and goes with each layer: gathered and unpacked weights."""
    return gathered_bytes + unpacked_bytes


@formula
def loaded_bytes(loaded_params_count: float, weights_bytes_per_param: float) -> float:
    """Networks that run before training and leave."""
    return loaded_params_count * weights_bytes_per_param


@formula
def loading_bytes(
    beside_bytes: float, whole_bytes: float, wide_bytes: float, weights_bytes: float, optimizer_bytes: float
) -> float:
    """What is there before training beyond its weights and optimizer state: whole weights, ``wide`` if in fp32."""
    return beside_bytes + whole_bytes + wide_bytes - weights_bytes - optimizer_bytes


@formula
def smaller_bytes(first_bytes: float, second_bytes: float) -> Any:
    """The lesser of two amounts."""
    return least(first_bytes, second_bytes)


@dataclass(frozen=True, slots=True)
class Demand:
    """What tensors take in the phase of a step that asks for most."""

    state: State
    gradients: Number
    activations: Number
    logits: Number
    passing: Number
    tensors: Number
    stranded: Number
    phase: str


def _total(state: State, working: tuple[Number, Number, Number, Number], lens: Lens) -> Number:
    gradients, *rest = working
    return lens.of(tensor_bytes)(lens.of(sum_state_bytes)(state.weights, gradients, state.optimizer), *rest)


def _backward(
    r: TrainingRun, micro: int, seq: int, state: State, lens: Lens
) -> dict[str, tuple[Number, ...]]:
    """Gradients, activations, logits and passing weights at the loss, and while the last layer goes backward.

    Logits are gone when layers are worked on. With stages the first one has most in flight and no logits.
    """
    nothing = lens.setting("absent_bytes", 0.0)
    together = lens.of(sum_held_bytes)
    activations = activations_of_run(r, micro, seq, lens)
    at_loss = last_stage_activations(r, micro, seq, lens) if r.pp > 1 else activations
    if r.tower_trained:
        tower = tower_of_run(r, micro, lens)
        activations, at_loss = together(activations, tower), together(at_loss, tower)
    unpacks = r.method in ADAPTER_METHODS and r.weights.body_bits < 16
    passing = lens.of(sum_passing_bytes)(
        state.gathered,
        dequantised_of_run(r, lens) if unpacks else lens.setting("unpacked_bytes", 0.0),
    )
    if deepspeed(r) and r.sharding in ("zero-1", "zero-2"):
        passing = together(passing, lens.constant(known.BUCKET_BYTES))
    gradients = state.gradients if gradients_stay(r) else nothing
    worked = together(activations, worked_of_run(r, micro, seq, lens))
    at_head = gradients if gradients_stay(r) or r.loss != "fused" else _head_gradient(r, 1, lens)
    early = gradients_stay(r) or r.step_in_backward
    behind_head = gradients if early else _head_gradient(r, shards(r).gradients, lens)
    return {
        "loss": (at_head, at_loss, logits_of_run(r, micro, seq, lens), passing),
        "backward": (behind_head, worked, nothing, passing),
    }


def _head_gradient(r: TrainingRun, over: float, lens: Lens) -> Number:
    """The head's gradient comes first: in the forward pass of a fused loss, else before any layer goes backward.

    Liger-Kernel fused_linear_cross_entropy.py (grad_weight); ``over``: accelerators it is shared out to.
    """
    if r.method != "full" or r.pp > 1:
        return lens.setting("absent_bytes", 0.0)
    whole = params(r.model)
    head = lens.setting("held_params_count", (whole.head_count or whole.embedding_count) / r.tp)
    return lens.of(held_bytes)(head, lens.constant(gradient(r)), lens.setting("shards_count", over))


def demand_of(r: TrainingRun, micro: int, seq: int, lens: Lens) -> Demand:
    """The phase that asks for most: all activations, or all gradients and what the step needs, or an evaluation."""
    state = state_of_run(r, lens)
    nothing = lens.setting("absent_bytes", 0.0)
    passing = state.step if float(state.step) > float(state.gathered) else state.gathered
    phases = _backward(r, micro, seq, state, lens)
    phases["step"] = (state.gradients, nothing, nothing, passing)
    if r.loaded_params_count:
        phases["loading"] = (nothing, nothing, nothing, _loaded(r, state, lens))
    if r.eval_batch_count:
        phases["evaluation"] = (nothing, nothing, evaluation_of_run(r, seq, lens), state.gathered)
    phase = max(phases, key=lambda name: sum(map(float, phases[name])))
    gradients, activations, logits, passing = phases[phase]
    tensors = _total(state, (gradients, activations, logits, passing), lens)
    stranded = _stranded(r, state, phases, lens)
    return Demand(state, gradients, activations, logits, passing, tensors, stranded, phase)


def _loaded(r: TrainingRun, state: State, lens: Lens) -> Number:
    """Components in 16 bit that work out latents first. Weights are there whole by then, their state isn't."""
    half = lens.constant(HALF)
    beside = lens.of(loaded_bytes)(lens.setting("loaded_params_count", r.loaded_params_count), half)
    whole = lens.of(loaded_bytes)(lens.setting("loaded_params_count", params(r.model).total_count), half)
    wide = state.gradients if r.method == "full" and not offloads(r, "parameters") else 0.0
    return lens.of(loading_bytes)(beside, whole, wide, state.weights, state.optimizer)


def _stranded(r: TrainingRun, state: State, phases: dict[str, tuple[Number, ...]], lens: Lens) -> Number:
    """DeepSpeed's step flattens gradients into tensors larger than any block that activations left: both are held."""
    if not deepspeed(r) or not float(state.step):
        return lens.setting("stranded_bytes", 0.0)
    together = lens.of(sum_held_bytes)
    _, activations, logits, passing = max(
        phases["loss"], phases["backward"], key=lambda one: sum(map(float, one))
    )
    return lens.of(smaller_bytes)(together(together(activations, logits), passing), state.step)
