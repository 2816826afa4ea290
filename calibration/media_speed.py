"""Where ``timing/data/media.json`` comes from: few coefficients of physics, fitted to the rows that carry seconds.

``python calibration/media_speed.py`` fits them to ``cases/media.jsonl`` (log error, each page by the root of its rows,
large errors weighing less), prints how far predictions are off with whole pages, whole models and whole cards left
out, and the factors of the 90 % interval that the left-out rows give. ``--write`` stores them. Each coefficient is
drawn to its starting value, which is what its source says: what few rows speak of hardly moves. What leaving a group
out changes is solved along the slopes of the whole fit; fitting anew without three of the groups gave the same errors.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cabida import timing
from cabida.plan.media import MediaRun
from cabida.timing.stages import media_rates
from cabida.timing.stages.media import regime
from cabida.timing.stages.media_caches import computed_ratio
from cabida.truth.case import Case, read_cases
from cabida.truth.media_case import habits_of, media_run
from cabida.truth.media_speed_case import as_run
from cabida.truth.names import Unanswerable

CASES = Path(__file__).parent.parent / "cases" / "media.jsonl"
FIGURES = ("seconds_per_item", "it_s")
# coefficient -> (start, how far its logarithm may stray): see each one's note in the file
FREE: dict[tuple[str, ...], tuple[float, float]] = {
    ("coefficients", "product_ratio"): (0.9, 0.15),
    ("coefficients", "convolution_ratio"): (0.9, 0.15),
    ("coefficients", "attention_ratio"): (0.85, 0.15),
    ("coefficients", "softmax_count"): (3.0, 0.3),
    ("coefficients", "start_s"): (0.05, 1.0),
    ("architectures", "turing"): (0.6, 0.5),
    ("architectures", "volta"): (0.9, 0.2),
    ("architectures", "ada"): (1.1, 0.3),
    ("architectures", "hopper"): (1.0, 0.2),
    ("compilers", "eager", "fused_ratio"): (0.8, 0.3),
    ("compilers", "compile", "fused_ratio"): (0.25, 0.5),
    ("compilers", "graph", "fused_ratio"): (0.2, 0.5),
    ("compilers", "eager", "copied_ratio"): (1.0, 0.3),
    ("compilers", "eager", "fed_flop_count"): (700.0, 0.5),
    ("compilers", "compile", "fed_flop_count"): (800.0, 0.5),
    ("compilers", "graph", "fed_flop_count"): (1200.0, 0.5),
    ("compilers", "eager", "launch_s"): (3e-5, 0.5),
    ("compilers", "compile", "launch_s"): (2e-5, 0.5),
    ("compilers", "graph", "launch_s"): (2e-6, 0.5),
    ("compilers", "eager", "wide_bits"): (96.0, 0.5),
    ("hosts", "consumer"): (0.6, 0.3),
    ("formats", "fp8", "compile"): (0.9, 0.3),
    ("formats", "fp8", "eager"): (0.6, 0.5),
    ("formats", "int8", "compile"): (0.9, 0.3),
    ("formats", "int8", "eager"): (0.08, 0.5),
    ("formats", "int4-weights", "compile"): (0.2, 0.5),
    ("formats", "int4-weights", "eager"): (0.2, 0.5),
    ("caches", "deepcache"): (0.145, 0.3),
    ("caches", "fbcache"): (0.6, 0.2),
}


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A measured figure and the run it is of."""

    case: Case
    figure: str
    measured: float
    read: MediaRun

    @property
    def page(self) -> str:
        """The page it stands on: a source's pages are tables of their own."""
        return " ".join(str(self.case.row["source"]).split()[:2])

    def run(self) -> MediaRun:
        """The run; how much a cache leaves to do depends on coefficients."""
        if self.read.computed_ratio == 1:
            return self.read
        text = " ".join(str(one).lower() for one in self.case.row["optimisations"])
        return replace(self.read, computed_ratio=computed_ratio(text))

    def residual(self) -> float:
        """Logarithm of predicted over measured seconds."""
        found = timing.media_speed(self.run())
        predicted = found.item_s if self.figure == "seconds_per_item" else found.step_s
        measured = self.measured if self.figure == "seconds_per_item" else 1 / self.measured
        return math.log(predicted / measured)


def rows() -> list[Row]:
    """Every figure of images and clips that is answered."""
    found = []
    for case in read_cases([CASES])[0]:
        if case.row.get("task") not in ("t2i", "t2v", "i2v"):
            continue
        if not case.row.get("steps") and not case.row.get("resolution"):
            continue
        try:
            run = as_run(case.row, media_run(case.row))
        except Unanswerable:
            continue
        names = (
            FIGURES if steps_said(case) else FIGURES[1:]
        )  # seconds of steps that nobody counted teach nothing
        found += [Row(case, name, float(case.measured[name]), run) for name in names if name in case.measured]
    return found


def steps_said(case: Case) -> bool:
    """Whether the row, or the scripts of its source, say how many steps it took."""
    return bool(
        case.row.get("steps") or habits_of(str(case.row["source"]), str(case.row["task"])).get("steps")
    )


def put(values: dict[tuple[str, ...], float]) -> None:
    """Take these coefficients for now."""
    for path, value in values.items():
        entry = media_rates.shipped()
        for key in path:
            entry = entry[key]
        entry["value"] = value
    media_rates.coefficient.cache_clear()


STARTS = np.log([start for start, _ in FREE.values()])
PULLS = 0.15 / np.array([stray for _, stray in FREE.values()])  # of a row's weight, to the start


def at(logs: np.ndarray, some: list[Row]) -> np.ndarray:
    """Residuals of rows under coefficients whose logarithms these are."""
    put({path: math.exp(value) for path, value in zip(FREE, logs, strict=True)})
    return np.array([row.residual() for row in some])


def slopes(logs: np.ndarray, some: list[Row], here: np.ndarray) -> np.ndarray:
    """How each residual changes with each logarithm, by differences."""
    columns = []
    for index in range(len(logs)):
        moved = logs.copy()
        moved[index] += 0.01
        columns.append((at(moved, some) - here) / 0.01)
    return np.array(columns).T


def solved(logs: np.ndarray, here: np.ndarray, slope: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One Gauss-Newton step: weighted rows, large errors weighing less (Huber), and the pull to the starts."""
    robust = weights * np.minimum(1.0, 0.15 / np.maximum(np.abs(here), 1e-9)) ** 0.5
    matrix = np.vstack([slope * robust[:, None], np.diag(PULLS)])
    goal = np.concatenate([-here * robust, PULLS * (STARTS - logs)])
    step = np.linalg.lstsq(matrix, goal, rcond=None)[0]
    return logs + np.clip(step, -0.5, 0.5)


def weights_of(some: list[Row]) -> np.ndarray:
    """Each page counts by the root of its rows."""
    counts: dict[str, int] = defaultdict(int)
    for row in some:
        counts[row.page] += 1
    return np.array([counts[row.page] ** -0.25 for row in some])


@dataclass(frozen=True)
class Fit:
    """All rows fitted, and what leaving some out would change of it."""

    rows: list[Row]
    logs: np.ndarray
    here: np.ndarray
    slope: np.ndarray

    def held_out(self, group: Callable[[Row], str]) -> dict[Row, float]:
        """Residual of each row under coefficients solved without its group: three steps along the same slopes."""
        found: dict[Row, float] = {}
        names = [group(row) for row in self.rows]
        weights = weights_of(self.rows)
        for name in sorted(set(names)):
            left = np.array([one != name for one in names])
            logs, here = self.logs, self.here
            for _ in range(3):
                logs = solved(logs, here, self.slope, weights * left)
                here = self.here + self.slope @ (logs - self.logs)
            out = [row for row, stays in zip(self.rows, left, strict=True) if not stays]
            found |= dict(zip(out, at(logs, out), strict=True))
        at(self.logs, [])
        return found


def fitted(some: list[Row], rounds: int = 7) -> Fit:
    """Coefficients that rows give, stored at four digits."""
    logs = STARTS.copy()
    for _ in range(rounds):
        here = at(logs, some)
        logs = solved(logs, here, slopes(logs, some, here), weights_of(some))
    logs = np.log([float(f"{math.exp(value):.4g}") for value in logs])
    here = at(logs, some)
    return Fit(some, logs, here, slopes(logs, some, here))


def told(name: str, residuals: dict[Row, float]) -> None:
    """One way of leaving out: pooled median and p90, median over sources of each one's median."""
    errors = sorted(math.expm1(abs(float(one))) for one in residuals.values())
    by: dict[str, list[float]] = defaultdict(list)
    for row, one in residuals.items():
        by[row.case.source].append(math.expm1(abs(one)))
    headline = statistics.median(statistics.median(some) for some in by.values())
    p90 = errors[int(0.9 * len(errors))]
    print(
        f"{name:28s} n={len(errors)} headline {headline:.1%} median {statistics.median(errors):.1%} p90 {p90:.1%}"
    )


def quantile(values: list[tuple[float, float]], share: float) -> float:
    """Weighted quantile of (value, weight)."""
    whole, seen = sum(weight for _, weight in values), 0.0
    for value, weight in sorted(values):
        seen += weight
        if seen >= share * whole:
            return value
    return max(values)[0]


def factors(residuals: dict[tuple[str, Row], float]) -> list[float]:
    """Factors of the 90 % interval: quantiles of measured over predicted, each page by the root of its rows.

    At 6 and 94 of a hundred: 88 % of rows that were left out, and 91 to 94 % of all once they are seen.
    """
    counts: dict[str, int] = defaultdict(int)
    for _, row in residuals:
        counts[row.page] += 1
    weighed = [(math.exp(-one), counts[row.page] ** -0.5) for (_, row), one in residuals.items()]
    return [round(quantile(weighed, 0.06), 3), round(quantile(weighed, 0.94), 3)]


def spreads(residuals: dict[tuple[str, Row], float]) -> dict[str, dict[str, list[float]]]:
    """Factors by regime, from pages, models and cards left out in turn.

    For networks or cards nobody measured they are wider by a third, in logarithms.
    """
    seen = {"all": factors(residuals)}
    for name in sorted({regime(row.read) for _, row in residuals}):
        seen[name] = factors({key: one for key, one in residuals.items() if regime(key[1].read) == name})
    unseen = {name: [round(low**1.33, 3), round(high**1.33, 3)] for name, (low, high) in seen.items()}
    return {"seen": seen, "unseen": unseen}


def main() -> None:
    """Fit, leave out, print, and with --write store."""
    every = rows()
    ways: dict[str, Callable[[Row], str]] = {
        "whole pages left out": lambda row: row.page,
        "whole models left out": lambda row: row.read.pipeline.id,
        "whole cards left out": lambda row: row.read.accelerator.id,
    }
    if "--quick" in sys.argv:
        ways = {}
    made = fitted(every)
    tables = {name: made.held_out(group) for name, group in ways.items()}
    seen = dict(zip(every, at(made.logs, every), strict=True))
    for path, value in zip(FREE, made.logs, strict=True):
        print(f"  {'.'.join(path):40s} {math.exp(value):.4g}")
    told("all rows seen", seen)
    for name, table in tables.items():
        told(name, table)
    by: dict[str, list[float]] = defaultdict(list)
    for row, one in (tables.get("whole pages left out") or seen).items():
        by[row.page].append(one)
    for page, some in by.items():
        errors = sorted(math.expm1(abs(one)) for one in some)
        bias = math.exp(statistics.median(some))
        print(f"    {page:80s} n={len(some):3d} median {statistics.median(errors):.1%} bias {bias:.2f}")
    if "--write" in sys.argv and tables:
        media_rates.shipped()["spread"] = spreads(
            {(way, row): one for way, table in tables.items() for row, one in table.items()}
        )
        print(media_rates.shipped()["spread"])
    if "--write" in sys.argv:
        media_rates.FILE.write_text(json.dumps(media_rates.shipped(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
