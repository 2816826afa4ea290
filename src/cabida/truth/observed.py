"""What was observed beside what is predicted: one observation, or all that the store holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida.evidence import Observation, stored
from cabida.evidence.place import store_path
from cabida.plan import Progress
from cabida.truth.case import Case, case_of, read_cases
from cabida.truth.names import Unanswerable
from cabida.truth.predict import answer
from cabida.truth.score import error_ratio
from cabida.truth.validate import scored

NOT_STATED = "not stated"


@dataclass(frozen=True, slots=True)
class Beside:
    """One observation and what is predicted for it. ``figures`` by metric; ``why`` = why nothing is predicted."""

    figures: dict[str, dict[str, float]]  # metric -> measured, predicted, low, high, error_ratio
    verdict: str | None
    fitted: bool | None
    why: str = ""


def beside(one: Observation) -> Beside:
    """The predictions for an observation, each with its 90 % interval, and the verdict beside what happened."""
    case = _case(one)
    fitted = one.measured.get("fits") if isinstance(one.measured.get("fits"), bool) else None
    if case is None:
        return Beside({}, None, fitted, NOT_STATED)
    if "model" not in one.setup:
        return Beside({}, None, fitted, f"model {NOT_STATED}")
    try:
        found = answer(case)
    except Unanswerable as reason:
        return Beside({}, None, fitted, str(reason))
    figures = {
        each.metric: {
            "measured": each.measured,
            "predicted": each.predicted,
            "low": each.low,
            "high": each.high,
            "error_ratio": error_ratio(each),
        }
        for each in found.predictions
    }
    return Beside(figures, found.verdict, fitted)


def _case(one: Observation, file: str = "") -> Case | None:
    """The observation as a case; what a log leaves out that a case must name stands as not stated."""
    row = {"model": NOT_STATED, "source": NOT_STATED, **one.case()}
    if one.kind == "memory":
        row = {"engine": NOT_STATED, "gpus": 1, **row}
    made = case_of(row, file)
    return made if isinstance(made, Case) else None


def stored_cases(store: Path | str | None = None) -> list[Case]:
    """The observations of the store that count, as cases."""
    place = str(store_path(store))
    made = (_case(one.observation, place) for one in stored(store))
    return [one for one in made if one is not None]


def validate_stored(
    store: Path | str | None = None,
    files: Sequence[Path | str] = (),
    predictions: Path | str | None = None,
    progress: Progress | None = None,
    *,
    calibrated: bool = False,
) -> dict[str, Any]:
    """Score predictions on the observations of the store that count, and on case files beside them.

    Raises:
        InvalidInput: the store can't be read, or a file holds rows that are no cases.
    """
    place = str(store_path(store))
    cases, problems = read_cases(files)
    if problems:
        from cabida.errors import InvalidInput

        raise InvalidInput(problems)
    every = stored_cases(store) + cases
    return scored(
        every, [place, *(str(file) for file in files)], predictions, progress, calibrated=calibrated
    )
