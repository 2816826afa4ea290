"""What each workload class needs to know: one row a need, with what is taken when nobody says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from cabida.brief.model import SERVED_WORKLOADS, TRAINING_WORKLOADS, Brief
from cabida.brief.retrieval import DEFAULT_EMBEDDER

INFERENCE = ("realtime-inference", "batch-inference", "retrieval")
EVERYTHING = SERVED_WORKLOADS
LEAD_DAYS = 60


@dataclass(frozen=True, slots=True)
class Need:
    """One thing some classes need. ``key`` leads to its texts: ``brief.need.<key>.name|why|how``.

    ``default`` is written as it would stand in the brief; "" means there is nothing sensible to take.
    ``blocking`` ones stop the decision unless assumptions were allowed; the others are taken and flagged.
    """

    key: str
    path: str
    classes: tuple[str, ...]
    lacks: Callable[[Brief], bool]
    default: Callable[[Brief, str], str]
    blocking: bool = True


def _always(text: str) -> Callable[[Brief, str], str]:
    return lambda brief, as_of: text


def _needed_by(brief: Brief, as_of: str) -> str:
    start = date.fromisoformat(as_of) if as_of else date.today()
    return (start + timedelta(days=LEAD_DAYS)).isoformat()


def unsaid(brief: Brief, path: str) -> bool:
    """Whether the brief says nothing under ``path``, and nothing was taken for it either."""
    taken = any(item.path == path for item in brief.assumed)
    return not taken and (path not in brief.where or path in brief.unknown)


def _no_rate(brief: Brief) -> bool:
    traffic = brief.traffic
    return traffic.requests_per_s_mean is None and traffic.concurrency is None and not traffic.trace


def _no_tokens(brief: Brief) -> bool:
    return brief.training is None or brief.training.tokens_count is None


def _no_deadline(brief: Brief) -> bool:
    objectives = brief.objectives
    return objectives.deadline_s is None and objectives.time_to_target_s is None


def _tokens_default(brief: Brief, as_of: str) -> str:
    return "" if brief.workload == "pretraining" else "10 M"


def _global_batch(brief: Brief, as_of: str) -> str:
    return {"pretraining": "1024", "full-finetune": "128"}.get(brief.workload, "32")


def _seq_len(brief: Brief, as_of: str) -> str:
    return "4096" if brief.workload == "pretraining" else "2048"


def _loaded_cost(brief: Brief, as_of: str) -> str:
    return f"100000 {brief.currency}/year"


NEEDS: tuple[Need, ...] = (
    Need("models", "models", EVERYTHING, lambda b: not b.models, _always("")),
    Need(
        "rate",
        "traffic.requests_per_s",
        ("realtime-inference", "retrieval"),
        _no_rate,
        _always("{mean: 1, peak: 3}"),
    ),
    Need(
        "items", "traffic.items", ("batch-inference",), lambda b: b.traffic.items_count is None, _always("")
    ),
    Need(
        "window",
        "traffic.window",
        ("batch-inference",),
        lambda b: b.traffic.window_s is None and b.objectives.deadline_s is None,
        _always("8 h"),
    ),
    Need(
        "every",
        "traffic.every",
        ("batch-inference",),
        lambda b: b.traffic.runs_per_month is None,
        _always("day"),
        blocking=False,
    ),
    Need(
        "input",
        "traffic.input_tokens",
        INFERENCE,
        lambda b: b.traffic.input is None and not b.traffic.trace,
        _always("{p50: 800, p95: 3000}"),
    ),
    Need(
        "output",
        "traffic.output_tokens",
        INFERENCE,
        lambda b: b.traffic.output is None and not b.traffic.trace,
        _always("{p50: 250, p95: 800}"),
    ),
    Need(
        "ttft",
        "objectives.ttft_p95",
        ("realtime-inference", "retrieval"),
        lambda b: not {"ttft", "e2e"} & b.objectives.latency_s.keys(),
        _always("2 s"),
    ),
    Need(
        "itl",
        "objectives.itl_p95",
        ("realtime-inference",),
        lambda b: not {"tpot", "itl", "e2e"} & b.objectives.latency_s.keys(),
        _always("100 ms"),
    ),
    Need(
        "documents",
        "retrieval.documents",
        ("retrieval",),
        lambda b: b.retrieval is None or b.retrieval.documents_count is None,
        _always(""),
    ),
    Need(
        "embedder",
        "retrieval.embedder",
        ("retrieval",),
        lambda b: b.retrieval is None or not b.retrieval.embedder,
        _always(DEFAULT_EMBEDDER),
    ),
    Need(
        "tasks",
        "evaluation.tasks",
        ("evaluation",),
        lambda b: b.evaluation is None or not b.evaluation.tasks,
        _always(""),
    ),
    Need(
        "models_per_month",
        "evaluation.models_per_month",
        ("evaluation",),
        lambda b: b.evaluation is None or b.evaluation.models_per_month is None,
        _always("8"),
    ),
    Need(
        "verdicts",
        "evaluation.accepted",
        ("evaluation",),
        lambda b: b.evaluation is None or b.evaluation.accepted_ratio is None,
        _always("0.95"),
        blocking=False,
    ),
    Need(
        "evaluation_deadline",
        "objectives.deadline",
        ("evaluation",),
        lambda b: b.objectives.deadline_s is None,
        _always("8 h"),
    ),
    Need("media_kind", "media.kind", ("media-generation",), lambda b: b.media is None, _always("")),
    Need(
        "media_items",
        "media.items_per_month",
        ("media-generation",),
        lambda b: b.media is not None and b.media.items_per_month is None,
        _always(""),
    ),
    Need("tokens", "training.tokens", TRAINING_WORKLOADS, _no_tokens, _tokens_default),
    Need(
        "seq_len",
        "training.seq_len",
        TRAINING_WORKLOADS,
        lambda b: b.training is None or b.training.seq_tokens is None,
        _seq_len,
    ),
    Need("deadline", "objectives.deadline", TRAINING_WORKLOADS, _no_deadline, _always("30 days")),
    Need(
        "global_batch",
        "training.global_batch",
        TRAINING_WORKLOADS,
        lambda b: b.training is None or b.training.global_batch_count is None,
        _global_batch,
        blocking=False,
    ),
    Need(
        "checkpoint",
        "training.checkpoint",
        TRAINING_WORKLOADS,
        lambda b: b.training is None or b.training.checkpoint_interval_s is None,
        _always("1 h"),
        blocking=False,
    ),
    Need(
        "failed_runs",
        "training.failed_runs",
        TRAINING_WORKLOADS,
        lambda b: unsaid(b, "training.failed_runs"),
        _always("10 %"),
        blocking=False,
    ),
    Need(
        "data",
        "limits.data",
        EVERYTHING,
        lambda b: unsaid(b, "limits.data"),
        _always("any"),
    ),
    Need("needed_by", "limits.needed_by", EVERYTHING, lambda b: not b.limits.needed_by, _needed_by),
    Need(
        "horizon",
        "horizon",
        EVERYTHING,
        lambda b: b.horizon_months is None,
        _always("12 months"),
        blocking=False,
    ),
    Need(
        "team",
        "team.platform_engineers",
        EVERYTHING,
        lambda b: unsaid(b, "team.platform_engineers"),
        _always("0.25"),
        blocking=False,
    ),
    Need(
        "loaded_cost",
        "team.loaded_cost",
        EVERYTHING,
        lambda b: (
            b.team.loaded_cost_per_year_money is None
            and (b.team.platform_engineers_fte > 0 or "team.platform_engineers" not in b.where)
        ),
        _loaded_cost,
        blocking=False,
    ),
)
