"""How often the better of two measured setups is the one predicted to be better.

A pair: two different setups that one source measured on the same workload, their figures more than 10 % apart.
An absolute error that both share costs nothing here: this is what a choice between setups rests on.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from cabida.truth.predict import Prediction

APART_RATIO = 1.10
MOST_SETUPS = 300  # of one workload that are paired: beyond that every second, third ... of them
RATES = ("output_tok_s", "total_tok_s", "decode_tok_s", "prefill_tok_s", "req_s", "tokens_s_per_gpu", "it_s")
TIMES = ("tpot_ms", "itl_ms", "ttft_ms", "e2e_ms", "step_time_s", "minutes_to_target", "seconds_per_item")
OF_SYSTEM = ("output_tok_s", "total_tok_s", "decode_tok_s", "prefill_tok_s", "req_s", "it_s")
WORKLOAD = (
    "kind", "task", "mode", "load", "seq_len", "global_batch", "micro_batch", "resolution", "frames", "steps",
    "batch", "precision",
)  # fmt: skip
SAID_ABOUT_IT = ("id", "note", "quality", "date", "source", "measured", "gpu_raw")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two setups on one workload: how many times the second's figure the first's is, measured and predicted."""

    source: str
    measured_ratio: float
    predicted_ratio: float

    @property
    def is_right(self) -> bool:
        """Whether the one measured larger is predicted larger."""
        return (self.measured_ratio > 1) == (self.predicted_ratio > 1) and self.predicted_ratio != 1


def pair_scores(predictions: Iterable[Prediction]) -> dict[str, dict[str, dict[str, Any]]]:
    """``faster``: by metric, how often the better of two setups is told. ``cheaper``: per accelerator of one kind.

    Per accelerator of the same kind, what is done for the same money is compared without any price being needed.
    """
    speeds = [one for one in predictions if is_speed(one.metric)]
    return {
        "faster": _scores(speeds, same_card=False),
        "cheaper": _scores([one for one in speeds if _per_card(one.metric)], same_card=True),
    }


def is_speed(metric: str) -> bool:
    """Whether the metric says how fast something is: a rate, or a time in any of its statistics."""
    return metric in RATES or metric.startswith(TIMES)


def _per_card(metric: str) -> bool:
    return metric in OF_SYSTEM or metric == "tokens_s_per_gpu"


def _scores(predictions: list[Prediction], *, same_card: bool) -> dict[str, dict[str, Any]]:
    by_metric: dict[str, list[Prediction]] = defaultdict(list)
    for one in predictions:
        by_metric[one.metric].append(one)
    found = {metric: list(pairs(part, same_card=same_card)) for metric, part in sorted(by_metric.items())}
    return {metric: score_of(part) for metric, part in found.items() if part}


def pairs(predictions: Iterable[Prediction], *, same_card: bool = False) -> Iterator[Pair]:
    """Pairs among the predictions of one metric; with ``same_card`` the figures are per accelerator of one kind."""
    alike: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
    sources: dict[str, str] = {}
    for one in predictions:
        count = _count(one) if same_card else 1.0
        if count is None:
            continue
        each = count if one.metric in OF_SYSTEM else 1.0
        key = _workload(one) + (one.case.gpu if same_card else "")
        sources[key] = one.case.source
        alike[key].append((_setup(one), one.measured / each, one.predicted / each))
    for key, rows in alike.items():
        some = rows[:: math.ceil(len(rows) / MOST_SETUPS)]
        for (setup, measured, predicted), (other, theirs, guess) in combinations(some, 2):
            ratio = measured / theirs
            if setup != other and max(ratio, 1 / ratio) > APART_RATIO:
                yield Pair(sources[key], ratio, predicted / guess)


def score_of(found: list[Pair]) -> dict[str, Any]:
    """Count, share told right, and the median over sources of each source's share."""
    by_source: dict[str, list[bool]] = defaultdict(list)
    for one in found:
        by_source[one.source].append(one.is_right)
    return {
        "n": len(found),
        "sources": len(by_source),
        "right_ratio": sum(one.is_right for one in found) / len(found),
        "source_median_right_ratio": median(sum(part) / len(part) for part in by_source.values()),
    }


def _count(one: Prediction) -> float | None:
    given = one.case.row.get("gpus")
    if not isinstance(given, int | float) or isinstance(given, bool) or given <= 0:
        return None
    return float(given) if one.case.gpu != "not stated" else None


def _workload(one: Prediction) -> str:
    case = one.case
    said = {name: case.row[name] for name in WORKLOAD if name in case.row and name != _chosen(case.kind)}
    return json.dumps([case.source, case.model, said], sort_keys=True, default=str)


def _chosen(kind: str) -> str:
    """What is part of the workload in one kind of case and a choice of the setup in another."""
    return "micro_batch" if kind == "training" else "precision" if kind == "media" else ""


def _setup(one: Prediction) -> str:
    skipped = {*SAID_ABOUT_IT, *WORKLOAD} - {_chosen(one.case.kind)}
    said = {name: value for name, value in one.case.row.items() if name not in skipped}
    return json.dumps(said, sort_keys=True, default=str)
