"""One prediction for each figure of a case, with its 90 % interval."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cabida.errors import CabidaError
from cabida.text import problem, tr
from cabida.truth.case import Case
from cabida.truth.names import Malformed, Unanswerable, known_model
from cabida.truth.sound import faults

WIDEST_RATIO = 4.0  # an interval wider than this says nothing
HYBRID = ", mixed attention"
UNKNOWN = (0.6, 1.6)  # factors for a metric nobody measured in such a case


@dataclass(frozen=True, slots=True)
class Prediction:
    """One figure predicted and measured."""

    case: Case
    metric: str
    measured: float
    predicted: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What we say of a case: its figures, and whether it fits beside whether it did (``None`` = not asked)."""

    predictions: tuple[Prediction, ...]
    verdict: str | None
    fitted: bool | None


@cache
def memory_spread() -> dict[str, Any]:
    """``data/intervals.json``: factors of the 90 % interval of memory figures, by metric and kind of engine."""
    text = (Path(__file__).parent / "data" / "intervals.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def answer(case: Case, widest: float = WIDEST_RATIO) -> Answer:
    """Predict a case; figures whose interval is wider than ``widest`` (high over low) are no answers.

    Raises:
        Unanswerable: with the reason.
    """
    row = case.row
    odd = faults(row)
    if odd:
        why = str(problem("CB-V005", file=case.file, line=case.line, reason="; ".join(odd)))
        raise Unanswerable(why)
    try:
        figures, verdict = _figures(case)
    except CabidaError as error:
        raise Unanswerable(str(error.problems[0])) from error
    except Malformed as error:
        told = problem("CB-V005", file=case.file, line=case.line, reason=str(error))
        raise Unanswerable(str(told)) from error
    predictions = tuple(
        Prediction(case, metric, float(measured), *figures[metric])
        for metric, measured in case.measured.items()
        if metric in figures and _is_number(measured) and _is_number(figures[metric][0])
    )
    kept = tuple(one for one in predictions if one.high <= widest * one.low)
    fitted = _fitted(case)
    if not kept and (verdict is None or fitted is None):
        why = tr("truth.why.too_wide" if predictions else "truth.why.no_figure")
        raise Unanswerable(why)
    return Answer(kept, verdict if fitted is not None else None, fitted)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def _fitted(case: Case) -> bool | None:
    if case.kind == "memory":
        said = case.measured.get("fits")
        return said if isinstance(said, bool) else None
    if case.kind == "training" and (case.measured.get("oom") or "peak_mem_gib" in case.measured):
        return not case.measured.get("oom")
    return None


def _figures(case: Case) -> tuple[dict[str, tuple[float, float, float]], str | None]:
    if case.kind == "memory" and case.row.get("task", "inference") != "inference":
        from cabida.truth.tuning_case import tuning_figures

        return tuning_figures(case.row)
    if case.kind == "memory":
        from cabida.truth.memory_case import memory_figures

        plain, verdict = memory_figures(case.row)
        return {
            metric: value if isinstance(value, tuple) else _spread(metric, value, case)
            for metric, value in plain.items()
        }, verdict
    if case.kind == "serving":
        from cabida.truth.disaggregated_case import disaggregated_figures
        from cabida.truth.serving_case import serving_figures

        disaggregated = case.row.get("mode") == "disagg"
        return (disaggregated_figures if disaggregated else serving_figures)(case.row), None
    if case.kind == "training":
        from cabida.truth.training_case import training_figures

        return training_figures(case.row)
    from cabida.truth.media_case import media_figures

    return media_figures(case.row), None


def _spread(metric: str, value: float, case: Case) -> tuple[float, float, float]:
    """A memory figure with the interval of its kind."""
    low, high = interval_factors(metric, kind_of(case))
    return value, value * low, value * high


def kind_of(case: Case) -> str:
    """Kinds of memory case that err alike: one engine's start-up, or the training of one method."""
    if case.kind == "memory" and case.row.get("task", "inference") == "inference":
        return f"{case.engine}{HYBRID}" if _is_hybrid(case) else case.engine
    return "training"


def _is_hybrid(case: Case) -> bool:
    """Whether the model mixes kinds of attention: its cache is laid out in ways that engines keep changing."""
    model = known_model(case.model) or known_model(str(case.row.get("arch")))
    return model is None or any(group.kind in ("sliding", "linear") for group in model.attention)


def interval_factors(metric: str, kind: str) -> tuple[float, float]:
    """Factors of the 90 % interval of a memory metric: of its kind where enough rows speak, else of all."""
    table = memory_spread()["factors"].get(metric, {})
    if (
        metric.endswith("_total") and kind not in table and "all" not in table
    ):  # as one accelerator's share of it
        return interval_factors(f"{metric.removesuffix('_total')}_per_gpu", kind)
    everything = "all" + (HYBRID if kind.endswith(HYBRID) else "")
    low, high = table.get(kind) or table.get(everything) or table.get("all") or UNKNOWN
    return float(low), float(high)
