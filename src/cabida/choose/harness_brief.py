"""A harness as one batch for the search of deployments: a verdict an item, lengths the mixture of the tasks'."""

from __future__ import annotations

import math
from dataclasses import replace

from cabida import facts
from cabida.brief import Acceptance, Brief, ModelChoice
from cabida.brief.harness import Evaluation, EvaluationTask
from cabida.brief.jobs import Lengths
from cabida.choose.means import QUEUED_CAPACITIES
from cabida.facts.model import Model
from cabida.quantity import formula
from cabida.timing.runs.goodput import failure_facts

ENGINE_START_S = (
    20.0  # assumed: process, kernels and graphs of an engine whose machine and image are there already
)
# of a paged cache: what each further choice of a sample computes again beyond the shared prefix
BLOCK_TOKENS = 16.0
SPREAD_RATIO = 0.4  # of prompt and answer lengths inside a task: assumed


def request_tokens(task: EvaluationTask) -> float:
    """Tokens of one verdict's prompt: shared part, the question, and what each choice reads again."""
    again = BLOCK_TOKENS * task.choices_count if task.kind == "choices" else 0.0
    return task.shared_tokens + task.prompt_tokens + again


@formula
def least_start_s(weights_bytes: float, read_bytes_per_s: float, engine_s: float) -> float:
    """The soonest an engine answers: its share of the weights off a local disk, and its own start."""
    return weights_bytes / read_bytes_per_s + engine_s


def soonest_s(weights_bytes: float) -> float:
    """:func:`least_start_s` with the disk of ``data/failures.json`` and the assumed start of an engine.

    Args:
        weights_bytes: of one accelerator; all read at once.
    """
    read = failure_facts()["storage"]["local-nvme"]["read_bytes_per_s_per_accelerator"]
    return float(least_start_s.raw(weights_bytes, read, ENGINE_START_S))


def batch_brief(brief: Brief, evaluation: Evaluation, model: Model) -> Brief:
    """The harness as one batch: a verdict an item, lengths the mixture of the tasks', the deadline its window."""
    tasks, whole = evaluation.tasks, evaluation.verdicts_count
    shares = [task.verdicts_count / whole for task in tasks]
    shared = sum(share * task.shared_tokens for share, task in zip(shares, tasks, strict=True))
    likely = evaluation.accepted_ratio if evaluation.accepted_ratio is not None else 1.0
    kept = Acceptance(likely, "evaluation.accepted", "assumed")
    named = next((choice.weights for choice in brief.models if facts.model(choice.id).id == model.id), {})
    formats = {name: given if given.ratio is not None else kept for name, given in named.items()} or {
        model.native_format or "bf16": kept
    }  # another format would be another model to judge
    capacity = brief.consider.capacity
    if any(task.kind == "choices" for task in tasks):  # no API hands out the likelihood of a prompt
        capacity = tuple(one for one in (capacity or QUEUED_CAPACITIES) if one not in ("api", "have"))
    return replace(
        brief,
        workload="batch-inference",
        models=(ModelChoice(model.id, formats),),
        traffic=replace(
            brief.traffic,
            items_count=whole,
            window_s=brief.objectives.deadline_s,
            runs_per_month=evaluation.models_per_month,
            input=_mixture(shares, [request_tokens(task) for task in tasks]),
            output=_mixture(shares, [task.output_tokens for task in tasks]),
            shared_prefix_tokens=min(shared, min(request_tokens(task) for task in tasks)),
        ),
        objectives=replace(brief.objectives, latency_s={}),
        consider=replace(brief.consider, capacity=capacity),
        budget=replace(brief.budget, monthly_money=None, total_money=None),
    )


def _mixture(shares: list[float], means: list[float]) -> Lengths:
    """A log-normal with the mean and the variance of the tasks' mixture."""
    mean = sum(share * one for share, one in zip(shares, means, strict=True))
    square = sum(share * one * one for share, one in zip(shares, means, strict=True)) * math.exp(
        SPREAD_RATIO**2
    )
    sigma = math.sqrt(math.log(max(square / mean**2, 1.0)))
    middle = mean * math.exp(-(sigma**2) / 2)

    def at(z: float) -> float:
        return max(1.0, middle * math.exp(sigma * z))

    longest = max(means) * math.exp(SPREAD_RATIO * 2.33)
    return Lengths(mean, at(0.0), at(1.645), min(at(2.326), longest), longest, sigma, ("mean", "max"))
