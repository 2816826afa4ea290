"""Fit the few constants of training memory that no source code tells, whole sources left out.

python calibration/training_memory.py

Unknown are: what the allocator holds beyond tensors, the context of a process, what its peers take, and how many
bytes of a logit are alive at the peak of a loss that PyTorch works out step by step. Everything else in
``src/cabida/memory`` is counted. Each source is answered with constants fitted to the others; the spread of what
then remains is the interval that ``cabida.memory.training`` gives. Printed beside what is shipped, in
``src/cabida/memory/training_constants.py``.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cabida import memory
from cabida.memory import loss
from cabida.memory import training_constants as known
from cabida.memory.constants import GIB
from cabida.memory.training import spread_of
from cabida.plan import TrainingRun
from cabida.truth.case import Case, read_cases
from cabida.truth.habits import as_scripted
from cabida.truth.names import Unanswerable
from cabida.truth.score import quantile
from cabida.truth.training_case import contradicted, counted_bytes, training_run
from cabida.truth.tuning_case import tuning_run_of

ROOT = Path(__file__).parents[1]
FILES = ("cases/memory.jsonl", "cases/training.jsonl")
GRID = {
    "slack_ratio": (0.08, 0.1, 0.12, 0.14, 0.16, 0.18),
    "context_gib": (0.5, 0.75, 1.0),
    "peer_gib": (0.5, 0.75, 1.0, 1.5),
    "logit_bytes_per_element": (8.0, 9.0, 10.0, 11.0, 12.0, 13.0),
}
TAIL_WEIGHT = 0.25  # of the 90th percentile beside the median, in what is made small


@dataclass(frozen=True, slots=True)
class Measured:
    """One printed peak and the run behind it."""

    case: Case
    run: TrainingRun
    peak_bytes: float

    @property
    def kind(self) -> str:
        """Which of the intervals it belongs to."""
        spread = spread_of(self.run)
        names = ("ADAPTER", "QUANTISED", "FULL", "UNSEEN", "UNNAMED")
        return next(name for name in names if getattr(known, f"{name}_SPREAD_RATIO") is spread)


def measured(case: Case) -> Measured | None:
    """The row as one accelerator's peak in bytes; ``None`` when it says none, or too little."""
    row = case.row
    try:
        if case.kind == "memory":
            run = tuning_run_of(row)
            size = case.measured.get("peak_gib_per_gpu")
            whole = case.measured.get("peak_gib_total")
            size = size or (whole and whole / run.accelerators_count)
            unit = GIB
        else:
            run = as_scripted(training_run(row), row)
            size = case.measured.get("peak_mem_gib")
            unit = 1e9 if "litgpt" in str(row.get("framework")).lower() else GIB
            if size and "total over the GPUs" in row.get("note", ""):
                size /= run.accelerators_count
            if contradicted(row, memory.training(run)):
                return None
    except Unanswerable:
        return None
    return Measured(case, run, size * unit) if isinstance(size, (int, float)) and size > 0 else None


def all_measured() -> list[Measured]:
    """Every peak of the carried cases that can be answered."""
    cases, problems = read_cases([ROOT / name for name in FILES])
    if problems:
        raise SystemExit("\n".join(map(str, problems)))
    training = (
        one for one in cases if one.kind == "training" or one.row.get("task") in ("finetune", "train")
    )
    return [found for one in training if (found := measured(one)) is not None]


def use(choice: dict[str, float]) -> None:
    """Put these constants in place of the shipped ones."""
    known.SLACK_RATIO = replace(known.SLACK_RATIO, value=choice["slack_ratio"])
    known.TRAINING_CONTEXT_BYTES = replace(known.TRAINING_CONTEXT_BYTES, value=choice["context_gib"] * GIB)
    known.TRAINING_PEER_BYTES = replace(known.TRAINING_PEER_BYTES, value=choice["peer_gib"] * GIB)
    loss.WHOLE = replace(loss.WHOLE, value=choice["logit_bytes_per_element"])


def residual(one: Measured) -> float:
    """Logarithm of predicted over measured with the constants in place."""
    return math.log(counted_bytes(one.case.row, memory.training(one.run)) / one.peak_bytes)


def badness(residuals: dict[str, list[float]], sources: Iterable[str]) -> float:
    """Median and tail of the errors of each source, every source counting the same."""
    sums = []
    for source in sources:
        errors = [abs(value) for value in residuals[source]]
        sums.append(statistics.median(errors) + TAIL_WEIGHT * quantile(errors, 0.9))
    return statistics.fmean(sums)


def told(residuals: list[float]) -> str:
    """Median and 90th percentile of exp(|residual|) - 1."""
    errors = [math.exp(abs(value)) - 1 for value in residuals]
    return f"n {len(errors):3d} median {statistics.median(errors):6.1%} p90 {quantile(errors, 0.9):6.1%}"


def shipped() -> dict[str, float]:
    """What is in ``training_constants.py``, in the units of the grid."""
    return {
        "slack_ratio": known.SLACK_RATIO.value,
        "context_gib": known.TRAINING_CONTEXT_BYTES.value / GIB,
        "peer_gib": known.TRAINING_PEER_BYTES.value / GIB,
        "logit_bytes_per_element": loss.WHOLE.value,
    }


def main() -> None:
    """Fit with each source left out, and print both errors and the spreads."""
    rows, before = all_measured(), shipped()
    by_source: dict[str, list[Measured]] = defaultdict(list)
    for one in rows:
        by_source[one.case.source].append(one)
    choices = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    choices.append(before)
    table: list[dict[str, list[float]]] = []
    for choice in choices:
        use(choice)
        table.append({source: [residual(one) for one in part] for source, part in by_source.items()})
    left: dict[str, list[float]] = {}
    print("source left out                 with constants fitted to the others     with those shipped")
    for source in by_source:
        others = [name for name in by_source if name != source]
        best = min(range(len(choices)), key=lambda index: badness(table[index], others))
        left[source] = table[best][source]
        print(f"{source:32s} {told(left[source])}   {told(table[-1][source])}   {choices[best]}")
    best = min(range(len(choices)), key=lambda index: badness(table[index], by_source))
    print(f"all sources: {choices[best]}\nshipped:     {before}")
    print(f"left out {told([value for part in left.values() for value in part])}")
    print(f"shipped  {told([value for part in table[-1].values() for value in part])}")
    spreads(by_source, left)


def spreads(by_source: dict[str, list[Measured]], left: dict[str, list[float]]) -> None:
    """Measured over predicted with the source left out, 5th and 95th percentile by kind of run."""
    kinds: dict[str, list[float]] = defaultdict(list)
    for source, part in by_source.items():
        for one, value in zip(part, left[source], strict=True):
            kinds[one.kind].append(math.exp(-value))
    for name, ratios in sorted(kinds.items()):
        constant: Any = getattr(known, f"{name}_SPREAD_RATIO")
        low, high = quantile(ratios, 0.05), quantile(ratios, 0.95)
        print(
            f"{name:10s} n {len(ratios):3d} [{low:.3f}, {high:.3f}] shipped [{constant.low:.3f}, {constant.high:.3f}]"
        )


if __name__ == "__main__":
    main()
