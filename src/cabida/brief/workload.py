"""Which workload this is, and the sentence that says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cabida.brief.model import SERVED_WORKLOADS, TRAINING_WORKLOADS, Brief
from cabida.errors import Problem
from cabida.text import problem, tr

ARRIVES_IN = {"audio": "0.2"}  # kinds of media that are read and not decided
_OF_METHOD = {
    "pretrain": "pretraining",
    "full": "full-finetune",
    "lora": "adapter-finetune",
    "qlora": "adapter-finetune",
}


class Workload(NamedTuple):
    """A workload class and why it is that one."""

    name: str
    why: str


def infer_workload(plain: Mapping[str, Any]) -> str:
    """The class that the fields point to when none was stated; realtime inference when nothing points."""
    training = plain.get("training")
    if training is not None:
        return _OF_METHOD.get(training.get("method") or "", "full-finetune")
    if plain.get("media") is not None:
        return "media-generation"
    if plain.get("retrieval") is not None:
        return "retrieval"
    if plain.get("evaluation") is not None:
        return "evaluation"
    traffic, objectives = plain.get("traffic") or {}, plain.get("objectives") or {}
    in_batches = traffic.get("items") or traffic.get("window") or objectives.get("deadline")
    if in_batches and not _latencies(objectives):
        return "batch-inference"
    return "realtime-inference"


def _latencies(objectives: Mapping[str, Any]) -> bool:
    return any(key.startswith(("ttft", "tpot", "itl", "e2e")) for key in objectives)


def classify(brief: Brief) -> Workload:
    """The brief's class and, in one sentence, what in the brief makes it so."""
    stated = "workload" in brief.where and "workload" not in brief.unknown
    evidence = _evidence(brief)
    lead = tr("brief.why.stated") if stated else tr("brief.why.inferred")
    return Workload(brief.workload, f"{lead} {evidence}")


def _evidence(brief: Brief) -> str:
    if brief.training is not None:
        return tr("brief.why.training", method=brief.training.method)
    if brief.media is not None:
        return tr("brief.why.media", kind=brief.media.kind)
    if brief.retrieval is not None:
        return tr("brief.why.retrieval")
    if brief.evaluation is not None:
        return tr("brief.why.evaluation", count=len(brief.evaluation.tasks))
    if brief.traffic.items_count is not None or brief.traffic.window_s is not None:
        return tr("brief.why.batch")
    if brief.objectives.latency_s:
        return tr("brief.why.latency", metrics=", ".join(sorted(brief.objectives.latency_s)))
    return tr("brief.why.nothing")


def contradictions(brief: Brief) -> list[Problem]:
    """The stated class against what the fields say."""
    found: list[Problem] = []
    training = brief.training
    if training is not None and "training" in brief.where:
        implied = _OF_METHOD[training.method]
        if brief.workload not in TRAINING_WORKLOADS:
            found.append(_against(brief, "training", implied))
        elif "training.method" in brief.where and implied != brief.workload:
            found.append(_against(brief, "training.method", implied))
    if brief.media is not None and brief.workload != "media-generation":
        found.append(_against(brief, "media", "media-generation"))
    for name in ("retrieval", "evaluation"):
        if getattr(brief, name) is not None and brief.workload != name:
            found.append(_against(brief, name, name))
    if brief.is_training and brief.objectives.latency_s:
        metric = next(iter(brief.objectives.latency_s))
        key = f"{metric}_{next(iter(brief.objectives.latency_s[metric]))}"
        found.append(_against(brief, f"objectives.{key}", "realtime-inference"))
    if brief.workload == "batch-inference" and "ttft" in brief.objectives.latency_s:
        key = f"ttft_{next(iter(brief.objectives.latency_s['ttft']))}"
        found.append(_against(brief, f"objectives.{key}", "realtime-inference"))
    return found


def _against(brief: Brief, path: str, implied: str) -> Problem:
    return problem(
        "CB-B030",
        file=brief.file,
        line=brief.line("workload") or brief.line(path),
        workload=brief.workload,
        path=path,
        at=brief.line(path),
        implied=implied,
    )


def not_yet(brief: Brief) -> Problem | None:
    """The problem to answer with when this job is read but not decided yet, and in which version it comes."""
    if brief.media is None or brief.media.kind not in ARRIVES_IN:
        return None
    return problem(
        "CB-B050",
        file=brief.file,
        line=brief.line("media.kind"),
        workload=tr(f"brief.media.{brief.media.kind}"),
        version=ARRIVES_IN[brief.media.kind],
        served=", ".join(SERVED_WORKLOADS),
    )
