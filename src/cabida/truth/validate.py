"""Predict measured cases and score the predictions: ``cabida validate``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.files import write_text
from cabida.plan import Progress
from cabida.timing.own import without_own
from cabida.truth.case import Case, read_cases
from cabida.truth.names import Unanswerable
from cabida.truth.pairs import pair_scores
from cabida.truth.predict import WIDEST_RATIO, Answer, Prediction, answer
from cabida.truth.score import as_row, breakdown, fits_score, scores, worst

TOLD_EVERY = 50


def validate(
    files: Sequence[Path | str],
    predictions: Path | str | None = None,
    progress: Progress | None = None,
    *,
    calibrated: bool = False,
) -> dict[str, Any]:
    """Score predictions on measured cases.

    Args:
        files: JSONL files of cases.
        predictions: where to write each prediction, one JSON object a line.
        progress: told what is being done, how many are done and of how many.
        calibrated: predict with the user's own calibration; else as shipped.

    Returns:
        ``files, rows, answered, skipped, metrics, fits, pairs, by, worst``; see README of the cases for the format.

    Raises:
        InvalidInput: CB-V001 to CB-V005, every malformed line with its file and number.
    """
    cases, problems = read_cases(files)
    if problems:
        raise InvalidInput(problems)
    return scored(cases, [str(file) for file in files], predictions, progress, calibrated=calibrated)


def scored(
    cases: list[Case],
    names: Sequence[str],
    predictions: Path | str | None = None,
    progress: Progress | None = None,
    *,
    calibrated: bool = False,
) -> dict[str, Any]:
    """Score predictions on cases; ``names`` says where they are from. See :func:`validate`."""
    with nullcontext() if calibrated else without_own():
        answers, skipped = answered(cases, progress)
    if predictions is not None:
        figures = (one for found in answers for one in found.predictions)
        lines = (json.dumps(as_row(one), allow_nan=False) + "\n" for one in figures)
        write_text(predictions, "".join(lines))
    return {"files": list(names), "rows": len(cases), **found_of(answers, skipped)}


def found_of(answers: list[Answer], skipped: list[dict[str, str]]) -> dict[str, Any]:
    """What the answers come to: ``answered, skipped, metrics, fits, pairs, by, worst``."""
    figures = [one for found in answers for one in found.predictions]
    return {
        "answered": len(answers),
        "skipped": skipped,
        "metrics": scores(figures),
        "fits": fits_score(answers),
        "pairs": pair_scores(figures),
        "by": {
            "source": breakdown(figures, lambda one: one.case.source),
            "engine": breakdown(figures, lambda one: one.case.engine),
            "gpu": breakdown(figures, lambda one: one.case.gpu),
            "model": breakdown(figures, lambda one: one.case.model),
        },
        "worst": worst(figures),
    }


def answered(
    cases: list[Case], progress: Progress | None = None, widest: float = WIDEST_RATIO
) -> tuple[list[Answer], list[dict[str, str]]]:
    """Answers to the cases that can be answered, and the others with the reason why not."""
    answers: list[Answer] = []
    skipped: list[dict[str, str]] = []
    for done, case in enumerate(cases, 1):
        try:
            answers.append(answer(case, widest))
        except Unanswerable as reason:
            skipped.append({"id": case.id, "why": str(reason)})
        if progress is not None and (done % TOLD_EVERY == 0 or done == len(cases)):
            progress("validate", done, len(cases))
    return answers, skipped


def predicted(files: Sequence[Path | str], widest: float = WIDEST_RATIO) -> list[Prediction]:
    """Every prediction of the files, unscored: what calibration scripts start from."""
    cases, _ = read_cases(files)
    with without_own():
        return [one for found in answered(cases, widest=widest)[0] for one in found.predictions]
