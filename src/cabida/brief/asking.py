"""The questions ``cabida init`` asks, per class, and the commented brief it writes from the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cabida.brief.examples import example_text
from cabida.brief.model import TRAINING_WORKLOADS, WORKLOADS
from cabida.errors import InvalidInput
from cabida.text import closest, problem, speaking, tr

SCHEMA_LINE = "# yaml-language-server: $schema=./brief.schema.json"
COMMENT_COLUMN = 46


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``path`` is where the answer goes; ``example`` is an answer as it would be written.

    ``default`` is what stands in the brief when nobody answers: mostly ``unknown``, which is legal and
    is then listed by ``cabida check``.
    """

    path: str
    example: str
    default: str = "unknown"

    @property
    def text(self) -> str:
        """The question in the language in use."""
        return tr(f"brief.question.{self.path}")


_MODEL = Question(
    "models", "[{id: meta-llama/Llama-3.3-70B-Instruct, weights: {fp8: 0.94, awq-int4: unknown}}]"
)
_TRAINED = Question("models", "[meta-llama/Llama-3.1-8B]")
_LENGTHS = (
    Question("traffic.input_tokens", "{p50: 900, p95: 3500}"),
    Question("traffic.output_tokens", "{p50: 250, p95: 700}"),
    Question("traffic.shared_prefix_tokens", "600", "0"),
)
_SERVED = (
    Question("acceptance.retries", "1", "0"),
    Question("acceptance.failure_rate", "0.2 %", "0"),
)
_SHARED = (
    Question("have", "[{accelerator: l40s, count: 4, owned: true, resale: 4500 EUR each}]", "[]"),
    Question("limits.data", "EU"),
    Question("limits.needed_by", "2027-02-01"),
    Question("limits.availability", "n+1", "none"),
    Question("limits.risk", "low", "medium"),
    Question("budget.monthly", "18000 EUR"),
    Question("currency", "EUR", "EUR"),
    Question("horizon", "24 months"),
    Question("team.platform_engineers", "0.5"),
    Question("team.loaded_cost", "85000 EUR/year"),
    Question("consider.capacity", "[on-demand, reserved, spot, block, serverless, buy, api]", "any"),
    Question("consider.providers", "[lambda, nebius]", "any"),
    Question("consider.accelerators", "[h100-sxm-80, l40s]", "any"),
)
_TRAINING = (
    Question("training.tokens", "300 M"),
    Question("training.seq_len", "4096"),
    Question("training.global_batch", "128"),
    Question("training.epochs", "3", "1"),
    Question("training.optimizer", "adamw", "any"),
    Question("training.sharding", "fsdp", "any"),
    Question("training.precision", "bf16", "bf16"),
    Question("training.evaluation", "{passes: 10, tokens: 2 M}", "0"),
    Question("training.checkpoint", "1 h"),
    Question("training.failed_runs", "10 %"),
    Question("objectives.deadline", "5 days"),
)
_SERVING = {
    "realtime-inference": (
        _MODEL,
        Question("traffic.requests_per_s", "{mean: 4, peak: 12, profile: office-hours Europe/Madrid}"),
        *_LENGTHS,
        Question("objectives.ttft_p95", "800 ms"),
        Question("objectives.itl_p95", "50 ms"),
        Question("objectives.error_rate", "0.1 %"),
        *_SERVED,
    ),
    "batch-inference": (
        _MODEL,
        Question("traffic.items", "1.2 M"),
        Question("traffic.window", "6 h"),
        Question("traffic.every", "day"),
        *_LENGTHS,
        *_SERVED,
    ),
    "retrieval": (
        _MODEL,
        Question("retrieval.documents", "200 k"),
        Question("retrieval.document_tokens", "1500", "1200"),
        Question("retrieval.embedder", "BAAI/bge-m3"),
        Question("retrieval.reranker", "BAAI/bge-reranker-v2-m3", "none"),
        Question("retrieval.passages", "6", "5"),
        Question("retrieval.updated_per_day", "2000", "0"),
        Question("traffic.requests_per_s", "{mean: 2, peak: 6, profile: office-hours Europe/Madrid}"),
        *_LENGTHS,
        Question("objectives.ttft_p95", "1.5 s"),
        *_SERVED,
    ),
    "evaluation": (
        _MODEL,
        Question(
            "evaluation.tasks",
            "[{kind: choices, samples: 14000, prompt_tokens: 120, shared_tokens: 700}, "
            "{kind: judged, samples: 500, prompt_tokens: 300, output_tokens: 500}]",
        ),
        Question("evaluation.models_per_month", "20"),
        Question("evaluation.judge", "{model: meta-llama/Llama-3.3-70B-Instruct, where: any}"),
        Question("evaluation.accepted", "0.95"),
        Question("objectives.deadline", "4 h"),
    ),
    "media-generation": (
        Question("models", "[black-forest-labs/FLUX.1-dev]"),
        Question("media.kind", "image", "image"),
        Question("media.items_per_month", "50000"),
        Question("media.steps", "28"),
        Question("media.review_per_output", "0.03 EUR"),
        Question("media.moderation_per_output", "0.001 EUR"),
        Question("objectives.e2e_p95", "45 s"),
        *_SERVED,
    ),
}


def questions(workload: str) -> tuple[Question, ...]:
    """What to ask for one class: step 1 of choosing, in the order a person would tell it.

    Raises:
        InvalidInput: no such class (``CB-B018``).
    """
    if workload not in WORKLOADS:
        near = closest(workload, WORKLOADS)
        cure = tr("brief.closest", near=near) if near else tr("brief.choices", choices=", ".join(WORKLOADS))
        raise InvalidInput(problem("CB-B018", path="workload", word=workload, cure=cure))
    if workload in TRAINING_WORKLOADS:
        method = {"pretraining": "pretrain", "full-finetune": "full", "adapter-finetune": "qlora"}[workload]
        return (_TRAINED, Question("training.method", method, method), *_TRAINING, *_SHARED)
    return (*_SERVING.get(workload, _SERVING["realtime-inference"]), *_SHARED)


def template(
    workload: str,
    language_code: str = "",
    from_example: str = "",
    answers: Mapping[str, str] | None = None,
) -> str:
    """A commented brief that reads without a fault.

    Args:
        workload: one of the eight classes.
        language_code: "en" or "es" for the comments; "" = the language in use.
        from_example: name of an example to hand back instead, its schema looked for beside it.
        answers: path -> answer as it would be written; what isn't answered says ``unknown`` or its default.

    Raises:
        InvalidInput: no such class or example.
    """
    if from_example:
        first, _, rest = example_text(from_example).partition("\n")
        return f"{SCHEMA_LINE}\n{rest}" if "$schema=" in first else f"{first}\n{rest}"
    with speaking(language_code):
        return "\n".join(_lines(workload, answers or {})) + "\n"


def _lines(workload: str, answers: Mapping[str, str]) -> list[str]:
    written = [
        SCHEMA_LINE,
        f"# {tr('brief.template.intro')}",
        f"# {tr('brief.template.unknown')}",
        "",
        f"name: {answers.get('name', 'my-workload')}",
        f"workload: {workload}",
    ]
    section = ""
    for question in questions(workload):
        head, _, key = question.path.partition(".")
        if head != section:
            written += ["", f"{head}:"] if key else [""]
            section = head
        value = answers.get(question.path) or question.default
        line = f"  {key}: {value}" if key else f"{head}: {value}"
        written.append(
            f"{line:<{COMMENT_COLUMN}}  # {question.text} {tr('brief.template.example')} {question.example}"
        )
    return written
