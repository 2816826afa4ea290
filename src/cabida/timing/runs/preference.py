"""Preference tuning and reinforcement: what a step costs beyond training, in forward passes and in generated tokens.

Sources: DPO (arXiv 2305.18290), ORPO (2403.07691), KTO (2402.01306), PPO for language models (2203.02155),
GRPO (2402.03300); how many passes each makes is read in the trainers of huggingface/trl.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from cabida import memory
from cabida.errors import InvalidInput
from cabida.memory import ServingMemory
from cabida.memory.lens import PLAIN
from cabida.memory.optimizers import HALF
from cabida.plan import Deployment, Load, TrainingRun
from cabida.quantity import formula
from cabida.text import problem
from cabida.timing.queues.simulate import simulate
from cabida.timing.runs import training_step as step
from cabida.timing.runs.flops import recomputed_passes, trains_adapters
from cabida.timing.runs.training import spread_of, worked_out


@dataclass(frozen=True, slots=True)
class PreferenceKind:
    """A method: sequences of an example that are trained on, forward passes beside them, answers generated or not."""

    name: str
    sequences_count: int  # an example's answers the policy learns from
    policy_forwards_count: float  # of the policy, without gradients: log-probabilities before the update
    reference_forwards_count: float  # of the frozen reference, each as large as the policy
    judge_forwards_count: float  # of a reward model as large as the policy
    trains_critic: bool = False  # a second model as large is trained beside
    generates: bool = False


KINDS = {
    row.name: row
    for row in (
        PreferenceKind("dpo", 2, 0, 1, 0),
        PreferenceKind("orpo", 2, 0, 0, 0),  # no reference
        PreferenceKind("kto", 1, 1, 2, 0),  # mismatched pairs give the KL term: one more forward of both
        # rewards by rule; GRPOConfig's beta is 0 unless set, and then no reference is loaded or asked
        PreferenceKind("grpo", 1, 1, 0, 0, generates=True),
        PreferenceKind("ppo", 1, 1, 1, 1, trains_critic=True, generates=True),
    )
}


ONCE = ("optimizer", "offload", "fixed", "gradients")  # parts of a step that no forward pass has


@formula
def forward_s(passes_s: float, passes_count: float) -> Any:
    """One forward pass over a step's tokens: its share of the passes that training makes."""
    return passes_s / passes_count


@formula
def generation_s(sequences_count: float, output_tokens: float, output_tokens_per_s: float) -> Any:
    """Time to generate a step's answers at the rate the serving side sustains."""
    return sequences_count * output_tokens / output_tokens_per_s


@formula
def beside_policy_bytes(
    params_count: float, bytes_per_param: float, models_ratio: float, shards_ratio: float
) -> Any:
    """Frozen models beside a policy, each as large as it, shared out as its weights are."""
    return params_count * bytes_per_param * models_ratio / shards_ratio


def generated_tokens_per_s(
    d: Deployment,
    m: ServingMemory,
    *,
    input_tokens: float,
    output_tokens: float,
    sequences_count: int,
    accelerators_count: int,
) -> float:
    """Tokens/s that all accelerators of a run generate together between two updates, by the serving simulator.

    Args:
        d: one replica that generates.
        m: its memory.
        input_tokens: mean length of a prompt.
        output_tokens: mean length of an answer.
        sequences_count: answers of a step, dealt out evenly and queued at once.
        accelerators_count: of the run; as many replicas as they make generate side by side.

    Raises:
        InvalidInput: CB-T056, the run has fewer accelerators than one replica.
    """
    replicas = accelerators_count // d.parallel.accelerators_count
    if replicas < 1:
        raise InvalidInput(problem("CB-T056", needed=d.parallel.accelerators_count, count=accelerators_count))
    each = max(1, sequences_count // replicas)
    load = Load(input_tokens, output_tokens, concurrency=math.inf)
    return simulate(d, m, load, requests_count=each).output_tokens_per_s * replicas


def beside_bytes(run: TrainingRun, kind: str) -> float:
    """What an accelerator holds beside the policy's training: frozen models in 16 bit, a critic with all its states.

    Adapters are their own reference, switched off (huggingface/trl). What shards the policy's weights shards these.
    Rewards by a judge are counted as for a model as large as the policy.
    """
    row = KINDS[kind]
    frozen = (row.reference_forwards_count > 0 and not trains_adapters(run)) + (row.judge_forwards_count > 0)
    shards = run.tp * run.pp * (run.data_parallel_count if run.sharding in ("fsdp", "zero-3") else 1)
    critic = 0.0
    if row.trains_critic:
        states = memory.training(run)
        critic = states.weights_bytes + states.gradients_bytes + states.optimizer_bytes
    return (
        float(beside_policy_bytes.raw(memory.params(run.model).total_count, HALF.value, frozen, shards))
        + critic
    )


@dataclass(frozen=True, slots=True)
class PreferenceStep:
    """One step of preference tuning: seconds by phase, adding up to step_s."""

    step_s: float
    parts: dict[str, float]
    examples_per_s: float
    tokens_per_s: float  # of sequences trained on
    low_ratio: float  # of the 90 % interval of the rates
    high_ratio: float


def _passes_s(run: TrainingRun, step_s: float, parts: dict[str, float]) -> float:
    """Seconds of a step that go into passes: less what follows once they are made, and what only gradients need."""
    gathers = run.sharding in ("fsdp", "hsdp", "zero-3")  # weights are fetched in a forward pass too
    after = (*ONCE, *(() if gathers else ("data_parallel",)))
    return step_s - sum(parts.get(name, 0.0) for name in after)


def preference_step(
    run: TrainingRun,
    kind: str,
    *,
    output_tokens: float = 0.0,
    output_tokens_per_s: float = 0.0,
    judge_ratio: float = 1.0,
    epochs_count: int = 1,
) -> PreferenceStep:
    """Seconds of one step of ``kind``, phase after phase on the same accelerators.

    Args:
        run: the policy's training: its global batch counts examples (prompts times answers where answers are
            generated), its sequence length prompt and answer together.
        kind: dpo, orpo, kto, grpo or ppo.
        output_tokens: mean length of a generated answer (grpo, ppo).
        output_tokens_per_s: what the accelerators generate together, from ``timing.simulate`` of a deployment with
            everything queued at once.
        judge_ratio: size of a reward model against the policy; 0 = rewards by rule.
        epochs_count: how often generated answers are trained on (ppo).

    Raises:
        InvalidInput: CB-T054 unknown kind; CB-T055 answers are generated and their rate isn't given.
    """
    row = KINDS.get(kind)
    if row is None:
        raise InvalidInput(problem("CB-T054", name=kind, known=", ".join(KINDS)))
    if row.generates and not (output_tokens > 0 and output_tokens_per_s > 0):
        raise InvalidInput(problem("CB-T055", name=kind))
    sequences = run.global_batch_count * row.sequences_count
    worked = worked_out(replace(run, global_batch_count=sequences), PLAIN)
    trained = float(worked.step_s)
    passes_s = _passes_s(run, trained, worked.parts)
    forward = float(forward_s.raw(passes_s, (2.0 if trains_adapters(run) else 3.0) + recomputed_passes(run)))
    parts = {
        "generation": generation_s.raw(run.global_batch_count, output_tokens, output_tokens_per_s)
        if row.generates
        else 0.0,
        "policy_forward": forward * row.policy_forwards_count,
        "reference_forward": forward * row.reference_forwards_count,
        "critic_forward": forward if row.trains_critic else 0.0,  # values of the answers before the update
        "judge_forward": forward * row.judge_forwards_count * judge_ratio,
        "training": trained * epochs_count,
        "critic_training": trained * epochs_count if row.trains_critic else 0.0,
    }
    parts = {name: seconds for name, seconds in parts.items() if seconds}
    whole = sum(parts.values())
    low, high = spread_of(run)["tokens_per_s"]
    return PreferenceStep(
        step_s=whole,
        parts=parts,
        examples_per_s=run.global_batch_count / whole,
        tokens_per_s=float(step.tokens_per_s.raw(worked.step_tokens, whole)),
        low_ratio=low,
        high_ratio=high,
    )
