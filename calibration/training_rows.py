"""Cases of training speed that can be fitted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cabida.errors import CabidaError
from cabida.plan import TrainingRun
from cabida.truth.names import Unanswerable, known_model
from cabida.truth.training_case import as_timed, is_guessed, printed_steps, training_run, unphysical

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Row:
    """A case that can be fitted: its run, tokens/s per accelerator, and what it is grouped by."""

    run: TrainingRun
    measured: float
    source: str
    model: str
    setup: tuple[object, ...]


def rows(guessed: bool = False) -> list[Row]:
    """Cases that print their split and precision; ``guessed``: those that leave either to be guessed, never fitted."""
    found = []
    for line in (ROOT / "cases/training.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        measured = case["measured"]
        whole_project = "total_gpu_hours" in measured and "tokens_trained_t" in measured
        if case["quality"] == "C" or whole_project:
            continue
        try:
            run = as_timed(training_run(case), case)
        except (Unanswerable, CabidaError):
            continue
        rate = measured.get("tokens_s_per_gpu")
        if rate is None and "step_time_s" in measured and case.get("global_batch"):
            step_tokens = run.global_batch_count * run.seq_tokens / printed_steps(run, case)
            rate = step_tokens / run.accelerators_count / measured["step_time_s"]
        if rate is None or not case.get("gpus") or is_guessed(case) != guessed:
            continue
        if unphysical(run, rate) or not (known_model(case["model"]) or case.get("hidden")):
            continue
        model = case["model"]
        setup = (
            case["source"],
            model.split()[0],
            case["gpu"],
            run.precision,
            run.accelerators_count,
            case["task"],
            run.seq_tokens,
        )
        found.append(Row(run, rate, source_of(case["source"]), model, setup))
    return found


def source_of(text: str) -> str:
    """Repository a source names; files of one repository are one source."""
    return text.split()[0]


def model_group(row: Row) -> str:
    """The model's name; the sizes of an architecture search are models of their own (left out together as a source)."""
    return row.model
