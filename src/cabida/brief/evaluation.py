"""Evaluation harnesses: what a brief says of the tasks a model is put to, how often, and who judges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cabida.brief import kinds
from cabida.brief.harness import ANSWER_TOKENS, JUDGE_OUTPUT_TOKENS, RUBRIC_TOKENS, Evaluation, EvaluationTask
from cabida.brief.kinds import word
from cabida.brief.shapes import Group, Listing, OneOf

TASK_KINDS = ("choices", "generated", "judged")
JUDGES = ("api", "own", "any")


def _one(kind: kinds.Kind) -> OneOf:
    return OneOf(scalar=kind)


TASK = OneOf(
    mapping=Group(
        "evaluation_task",
        {
            "name": _one(kinds.text("name", longest=120)),
            "kind": _one(word(*TASK_KINDS)),
            "samples": _one(kinds.AMOUNT),
            "prompt_tokens": _one(kinds.LENGTH),
            "shared_tokens": _one(kinds.TOKENS),
            "output_tokens": _one(kinds.LENGTH),
            "choices": _one(kinds.COUNT),
            "runs": _one(kinds.COUNT),
        },
        required=("kind", "samples", "prompt_tokens"),
    )
)
EVALUATION = Group(
    "harness",
    {
        "tasks": OneOf(sequence=Listing(TASK, longest=500, shortest=1)),
        "models_per_month": _one(kinds.POSITIVE),
        "judge": OneOf(
            scalar=kinds.text("model", longest=240),
            shorthand="model",
            mapping=Group(
                "judge",
                {
                    "model": _one(kinds.text("model", longest=240)),
                    "where": _one(word(*JUDGES)),
                    "votes": _one(kinds.COUNT),
                    "rubric_tokens": _one(kinds.TOKENS),
                    "output_tokens": _one(kinds.LENGTH),
                },
                required=("model",),
            ),
        ),
        "accepted": _one(kinds.KEPT),
    },
)


def evaluation_of(plain: dict[str, Any] | None) -> Evaluation | None:
    """The noun that the checked values stand for."""
    if plain is None:
        return None
    judge = plain.get("judge") or {}
    tasks = [_task(item, index) for index, item in enumerate(plain.get("tasks") or ())]
    return Evaluation(
        tasks=tuple(task for task in tasks if task is not None),
        models_per_month=plain.get("models_per_month"),
        judge=judge.get("model") or "",
        where=judge.get("where") or "any",
        votes_count=float(judge.get("votes") or 1),
        rubric_tokens=RUBRIC_TOKENS if judge.get("rubric_tokens") is None else judge["rubric_tokens"],
        judge_output_tokens=judge.get("output_tokens") or JUDGE_OUTPUT_TOKENS,
        accepted_ratio=plain.get("accepted"),
    )


def _task(plain: dict[str, Any], index: int) -> EvaluationTask | None:
    if not {"kind", "samples", "prompt_tokens"} <= plain.keys():
        return None  # a problem already says so
    return EvaluationTask(
        name=plain.get("name") or f"task-{index + 1}",
        kind=plain["kind"],
        samples_count=plain["samples"],
        prompt_tokens=plain["prompt_tokens"],
        shared_tokens=plain.get("shared_tokens") or 0.0,
        output_tokens=1.0 if plain["kind"] == "choices" else plain.get("output_tokens") or ANSWER_TOKENS,
        choices_count=int(plain.get("choices") or 4) if plain["kind"] == "choices" else 1,
        runs_count=float(plain.get("runs") or 1),
    )


def plain_evaluation(one: Evaluation) -> dict[str, Any]:
    """Written back, under the names of a brief."""
    return {
        "tasks": [
            {
                "name": task.name,
                "kind": task.kind,
                "samples": task.samples_count,
                "prompt_tokens": task.prompt_tokens,
                "shared_tokens": task.shared_tokens,
                "output_tokens": task.output_tokens,
                "choices": task.choices_count,
                "runs": int(task.runs_count),
            }
            for task in one.tasks
        ],
        "models_per_month": one.models_per_month,
        "judge": {
            "model": one.judge,
            "where": one.where,
            "votes": int(one.votes_count),
            "rubric_tokens": one.rubric_tokens,
            "output_tokens": one.judge_output_tokens,
        }
        if one.judge
        else None,
        "accepted": one.accepted_ratio,
    }


def faults(one: Evaluation) -> Iterator[tuple[str, str, dict[str, object]]]:
    """What can't be: (code, path, values)."""
    from cabida.facts.models import find_model
    from cabida.text import tr

    judged = any(task.kind == "judged" for task in one.tasks)
    if judged and not one.judge:
        yield "CB-B048", "evaluation.tasks", {}
    if one.judge and not judged and one.tasks:
        yield "CB-B049", "evaluation.judge", {"name": one.judge}
    if one.judge and find_model(one.judge) is None:
        yield "CB-B038", "evaluation.judge", {"name": one.judge, "cure": tr("brief.list_models")}
