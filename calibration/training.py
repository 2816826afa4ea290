"""Fit the coefficients of training speed to ``cases/training.jsonl`` and write ``timing/data/training.json``.

    python calibration/training.py            # fit, hold out, write
    python calibration/training.py --check    # fail when the shipped file isn't what this script writes

Few coefficients with physical meaning, each pulled towards a prior; rows weighted so that one big table
doesn't decide; whole sources and whole models held out. The interval comes from the held-out residuals.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
from collections import Counter
from typing import Any

import numpy as np

from cabida.memory.lens import PLAIN
from cabida.timing.devices.training_data import family_of, shipped
from cabida.timing.runs.training import worked_out
from training_priors import FAMILIES, template
from training_rows import ROOT, Row, model_group, rows

FILE = ROOT / "src/cabida/timing/data/training.json"
SHARPNESS = 60.0  # one over the variance of a residual taken as noise: 13 %
FEWEST_SHOWN = 10  # rows of a group worth a line
ENOUGH_ROWS = 20  # from which a family of frameworks has an interval of its own
FITTED = "fitted to cases/training.jsonl"


def weights(chosen: list[Row]) -> np.ndarray:
    """Weights: a setup measured many times counts little more than once, and so does a big source."""
    setups, sources = Counter(row.setup for row in chosen), Counter(row.source for row in chosen)
    raw = np.array([1 / math.sqrt(setups[row.setup]) / sources[row.source] ** 0.35 for row in chosen])
    return raw / raw.mean()


def knobs(table: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of the entries to fit."""
    if isinstance(table, dict):
        if "sd" in table:
            return [at]
        return [path for key, part in table.items() for path in knobs(part, (*at, key))]
    return []


def at(table: Any, path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        table = table[key]
    return table


class Fit:
    """Levenberg-Marquardt with reweighting on log residuals and log-normal priors."""

    def __init__(self) -> None:
        self.data = template()
        self.paths = knobs(self.data)
        self.centre = np.array([math.log(at(self.data, path)["value"]) for path in self.paths])
        self.sd = np.array([at(self.data, path)["sd"] for path in self.paths])

    def with_values(self, vector: np.ndarray) -> dict[str, Any]:
        for path, value in zip(self.paths, vector, strict=True):
            at(self.data, path)["value"] = math.exp(value)
        return self.data

    def residuals(self, vector: np.ndarray, chosen: list[Row]) -> np.ndarray:
        data = self.with_values(vector)
        out = np.empty(len(chosen))
        for index, row in enumerate(chosen):
            worked = worked_out(row.run, PLAIN, data)
            rate = worked.step_tokens / worked.step_s / row.run.accelerators_count
            out[index] = math.log(rate / row.measured)
        return out

    def solve(
        self, chosen: list[Row], start: np.ndarray | None = None, rounds: int = 12
    ) -> tuple[np.ndarray, np.ndarray]:
        vector = self.centre.copy() if start is None else start.copy()
        scale = weights(chosen) * 120 / len(chosen)
        damping = 1e-2
        residual = self.residuals(vector, chosen)
        for _ in range(rounds):
            jacobian = self.slopes(vector, chosen, residual)
            robust = scale * SHARPNESS / np.sqrt(1 + (residual / 0.12) ** 2)
            normal = jacobian.T @ (robust[:, None] * jacobian) + np.diag(1 / self.sd**2)
            slope = jacobian.T @ (robust * residual) + (vector - self.centre) / self.sd**2
            before = self.cost(residual, vector, scale)
            for _ in range(6):
                trial = vector - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), slope)
                trial_residual = self.residuals(trial, chosen)
                after = self.cost(trial_residual, trial, scale)
                if after < before:
                    vector, residual, damping = trial, trial_residual, damping / 4
                    break
                damping *= 6
            if before - after < 1e-3 * before:
                break
        return vector, np.sqrt(np.diag(np.linalg.inv(normal)))

    def slopes(self, vector: np.ndarray, chosen: list[Row], residual: np.ndarray) -> np.ndarray:
        """Change of every residual with every coefficient's logarithm, by differences."""
        jacobian = np.zeros((len(chosen), len(vector)))
        for column in range(len(vector)):
            moved = vector.copy()
            moved[column] += 0.02
            jacobian[:, column] = (self.residuals(moved, chosen) - residual) / 0.02
        return jacobian

    def cost(self, residual: np.ndarray, vector: np.ndarray, scale: np.ndarray) -> float:
        loss = 2 * 0.12**2 * (np.sqrt(1 + (residual / 0.12) ** 2) - 1)
        return float((scale * SHARPNESS * loss).sum() + (((vector - self.centre) / self.sd) ** 2).sum())


def summary(errors: np.ndarray) -> dict[str, float]:
    off = np.exp(np.abs(errors)) - 1
    return {
        "n": len(errors),
        "median_error_ratio": round(float(np.median(off)), 4),
        "p90_error_ratio": round(float(np.quantile(off, 0.9)), 4),
        "bias_ratio": round(float(np.exp(np.median(errors))), 4),
    }


def held_out(fit: Fit, chosen: list[Row], start: np.ndarray, groups: list[str]) -> np.ndarray:
    """Errors of each group predicted by a fit that never saw it: refitted along the slopes at the whole fit."""
    whole = fit.residuals(start, chosen)
    slopes, errors, names = fit.slopes(start, chosen, whole), np.zeros(len(chosen)), np.array(groups)
    for group in sorted(set(groups)):
        seen = names != group
        kept = [row for row, flag in zip(chosen, seen, strict=True) if flag]
        scale = weights(kept) * 120 / len(kept)
        moved = np.zeros(len(start))
        for _ in range(6):
            residual = whole[seen] + slopes[seen] @ moved
            robust = scale * SHARPNESS / np.sqrt(1 + (residual / 0.12) ** 2)
            normal = slopes[seen].T @ (robust[:, None] * slopes[seen]) + np.diag(1 / fit.sd**2)
            slope = slopes[seen].T @ (robust * residual) + (start + moved - fit.centre) / fit.sd**2
            moved = moved - np.linalg.solve(normal, slope)
        left = [index for index, name in enumerate(groups) if name == group]
        errors[left] = fit.residuals(start + moved, [chosen[index] for index in left])
    return errors


def spread(errors: np.ndarray, chosen: list[Row], groups: list[str]) -> dict[str, float]:
    """Factors on a rate that hold 90 % of held-out residuals, every group with the same voice."""
    counts = Counter(groups)
    weight = np.array([1 / math.sqrt(counts[name]) for name in groups])
    order = np.argsort(-errors)  # predicted too fast first: measured / predicted lowest first
    ratio, share = np.exp(-errors[order]), np.cumsum(weight[order]) / weight.sum()
    return {
        "low": round(float(np.interp(0.05, share, ratio)), 3),
        "high": round(float(np.interp(0.95, share, ratio)), 3),
        "n": len(errors),
    }


def families_of(chosen: list[Row]) -> list[str]:
    return [family_of(row.run.framework) for row in chosen]


def by_way(
    fit: Fit, chosen: list[Row], vector: np.ndarray, groups: list[str]
) -> tuple[np.ndarray, list[str]]:
    return held_out(fit, chosen, vector, groups), groups


def grouped(errors: np.ndarray, groups: list[str]) -> dict[str, dict[str, float]]:
    """The summary of each group with enough rows to have one."""
    names = np.array(groups)
    return {
        name: summary(errors[names == name])
        for name in sorted(set(groups))
        if (names == name).sum() >= FEWEST_SHOWN
    }


def spreads(chosen: list[Row], by_model: np.ndarray, by_source: np.ndarray) -> dict[str, Any]:
    """Intervals by kind of model and family of frameworks, where enough rows speak; of unknown families by source."""
    names, found = [model_group(row) for row in chosen], {}
    kinds = ["moe" if row.run.model.is_moe else "dense" for row in chosen]
    families = families_of(chosen)
    for kind in ("dense", "moe"):
        picked = np.array([one == kind for one in kinds])
        found[kind] = spread(
            by_model[picked], chosen, [name for name, flag in zip(names, picked, strict=True) if flag]
        )
        sources = [row.source for row, flag in zip(chosen, picked, strict=True) if flag]
        found[f"{kind}_unknown"] = spread(by_source[picked], chosen, sources)
        for family in sorted(set(families)):
            theirs = picked & np.array([one == family for one in families])
            if ENOUGH_ROWS <= theirs.sum() < picked.sum():
                held = [name for name, flag in zip(names, theirs, strict=True) if flag]
                found[f"{kind}_{family}"] = spread(by_model[theirs], chosen, held)
        for family in set(FAMILIES) - set(families):
            found[f"{kind}_{family}"] = found[f"{kind}_unknown"]
    found["wall"] = {"low": 1.0, "high": 1.2}
    return found


def rounded(table: Any) -> Any:
    if isinstance(table, dict):
        return {key: rounded(part) for key, part in table.items() if key != "sd"}
    return float(f"{table:.4g}") if isinstance(table, float) else table


def fitted(keep: bool) -> dict[str, Any]:
    """The file: coefficients, intervals, held-out figures. ``keep``: written before splits are guessed with it."""
    fit, chosen = Fit(), rows()
    vector, sd = fit.solve(chosen, rounds=25)
    inside = fit.residuals(vector, chosen)
    by_source = held_out(fit, chosen, vector, [row.source for row in chosen])
    by_model = held_out(fit, chosen, vector, [model_group(row) for row in chosen])
    data = copy.deepcopy(fit.with_values(vector))
    for path, value, deviation in zip(fit.paths, vector, sd, strict=True):
        row = at(data, path)
        row |= {"low": math.exp(value - 1.645 * deviation), "high": math.exp(value + 1.645 * deviation)}
        row["source"] = f"{row['source']}; {FITTED}"
    data["spread"] = spreads(chosen, by_model, by_source)
    if keep:
        data["spread"]["guessed"] = data["spread"]["dense_unknown"]
        FILE.write_text(json.dumps(rounded(data), ensure_ascii=False), encoding="utf-8")
        shipped.cache_clear()
    unfitted = rows(guessed=True)
    guessed = fit.residuals(vector, unfitted)
    data["spread"]["guessed"] = spread(guessed, unfitted, [row.source for row in unfitted])
    names = np.array([model_group(row) for row in chosen])
    ways = {
        "models": (by_model, list(names)),
        "sources": (by_source, [row.source for row in chosen]),
        "cards": by_way(fit, chosen, vector, [row.run.accelerator.id for row in chosen]),
        "frameworks": by_way(fit, chosen, vector, families_of(chosen)),
        "precisions": by_way(fit, chosen, vector, [row.run.precision for row in chosen]),
    }
    data["held_out"] = {"in_sample": summary(inside), "guessed": summary(guessed)}
    for way, (errors, groups) in ways.items():
        data["held_out"][f"left_out_{way}"] = summary(errors)
        data["held_out"][f"left_out_{way}_by"] = grouped(errors, groups)
    return rounded(data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--priors", action="store_true", help="write the priors, unfitted")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    data = (
        rounded(
            template()
            | {
                "spread": {
                    key: {"low": 0.6, "high": 1.6, "n": 0}
                    for key in ("dense", "moe", "dense_unknown", "moe_unknown", "guessed", "wall")
                }
            }
        )
        if wanted.priors
        else fitted(keep=not wanted.check)
    )
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if wanted.check:
        return 0 if FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    print(json.dumps(data["held_out"], indent=1 if wanted.json else None), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
