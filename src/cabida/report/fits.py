"""What ``fit`` answers: one deployment or run, several accelerators side by side, or the whole catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cabida import facts
from cabida.checks.plan import WRITERS
from cabida.errors import UsageProblem
from cabida.facts.model import Accelerator, Model
from cabida.memory.adapters import ADAPTER_METHODS
from cabida.plan import Setup
from cabida.report.fit_asked import refuse_contradictions, refuse_idle
from cabida.report.fit_catalogue import over_cards, over_models
from cabida.report.fit_serving import serving_answer
from cabida.report.fit_training import over_training, training_answer
from cabida.report.slices import slice_advice
from cabida.text import problem


def fits(
    setup: Setup,
    gpus: Sequence[str] = (),
    as_of: str | None = None,
    concurrency: int | None = None,
    min_context: int | None = None,
) -> dict[str, Any]:
    """One answer for a model on one accelerator; else ``rows``, the best first.

    Args:
        setup: what was typed; its ``gpu`` is left aside.
        gpus: accelerators by id or name; several are answered each for itself, never as one pool.
        as_of: leaves out accelerators that came later.
        concurrency: sequences that must be held at once.
        min_context: tokens each must be able to grow to; rows that can't are left out.

    Raises:
        UsageProblem: neither a model nor an accelerator (CB-U007).
        InvalidInput: something named is unknown, or the split is unlawful.
    """
    if setup.model is None and not gpus:
        raise UsageProblem([problem("CB-U007")])
    asked = {"concurrency": concurrency, "min_context": min_context}
    refuse_idle(_kind(setup), setup, [name for name, value in asked.items() if value is not None])
    cards = [facts.accelerator(one) for one in dict.fromkeys(gpus)]
    model = facts.model(setup.model) if setup.model is not None else None
    refuse_contradictions(setup, model, cards, concurrency, min_context)
    if min_context and setup.max_model_len is None:
        setup = replace(setup, max_model_len=min_context)
    sequences = concurrency or 1
    if model is not None and cards:
        answers = [_one(setup, model, card, sequences, as_of) for card in cards]
        return answers[0] if len(cards) == 1 else {"rows": answers}
    rows, tried_count = _rows(setup, model, cards, as_of, sequences)
    kept = rows
    if concurrency or min_context:
        kept = [row for row in rows if row["runs"] and row["verdict"] != "no" and _reaches(row, min_context)]
    left_out = tried_count - len(kept)
    return {"rows": kept, "left_out": left_out} if left_out or kept is not rows else {"rows": rows}


def _kind(setup: Setup) -> str:
    """The kind of question, as flags go with it."""
    if not setup.method:
        return "serving"
    return "adapters" if setup.method in ADAPTER_METHODS else "training"


def _reaches(row: dict[str, Any], min_context: int | None) -> bool:
    """Whether the model itself goes that far; memory alone is not enough."""
    own = row.get("model_context_tokens")
    return min_context is None or own is None or own >= min_context


def _one(setup: Setup, model: Model, card: Accelerator, sequences: int, as_of: str | None) -> dict[str, Any]:
    if setup.method:
        return training_answer(setup, model, card)
    answer = serving_answer(setup, model, card, sequences)
    return answer | {"mig": slice_advice(setup, model, card, answer, sequences, as_of)}


def _rows(
    setup: Setup, model: Model | None, cards: list[Accelerator], as_of: str | None, sequences: int
) -> tuple[list[dict[str, Any]], int]:
    """The rows, and how many were asked about: what a split does not divide has none."""
    cards = cards or list(facts.accelerators(as_of).values())
    tried_count = len(cards) * (1 if model is not None else sum(one.task in WRITERS for one in _models()))
    if setup.method:
        return over_training(setup, model, cards), tried_count
    if model is not None:
        return over_cards(setup, model, cards, sequences), tried_count
    return over_models(setup, cards, sequences), tried_count


def _models() -> list[Model]:
    return list(facts.models().values())
