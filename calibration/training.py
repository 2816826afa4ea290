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
from cabida.timing.runs.training_device import format_of, peak_of
from training_priors import FAMILIES, template
from training_rows import ROOT, Row, model_group, rows

FILE = ROOT / "src/cabida/timing/data/training.json"
SHARPNESS = 60.0  # one over the variance of a residual taken as noise: 13 %
EXACT_ROUNDS = 5
EXACT = ("sources",)  # ways to leave rows out that are refitted anew
INSIDE, LEVELS = 0.9, (0.9, 0.92, 0.94, 0.96, 0.98, 0.99, 1.0)
FEWEST_GROUPS = 2
FEWEST_SHOWN = 10  # rows of a group worth a line
ENOUGH_ROWS = 20  # from which a family of frameworks has an interval of its own
PARTED = ("families", "attention", "formats")  # a row reads one table of each
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


def kinds_of(row: Row) -> set[tuple[str, ...]]:
    """Tables of coefficients that a row reads, of those that other rows have tables of their own in."""
    family = family_of(row.run.framework)
    kernels = template()["families"][family]["attention"] if row.run.flash_attention else "eager"
    return {
        ("families", family),
        ("attention", kernels),
        ("formats", format_of(row.run, peak_of(row.run)[0])),
    }


def covariance(data: dict[str, Any], paths: list[tuple[str, ...]]) -> np.ndarray:
    """Of the priors' logarithms: what frameworks share moves all of them, seen or unseen, with those that are seen."""
    entries = [at(data, path) for path in paths]
    found = np.diag([entry["sd"] ** 2 for entry in entries])
    for one, first in enumerate(entries):
        for other, second in enumerate(entries):
            if "shared" in first and first["shared"] == second.get("shared"):
                found[one, other] += first["shared"][1] ** 2
    return found


class Fit:
    """Levenberg-Marquardt with reweighting on log residuals and log-normal priors."""

    def __init__(self) -> None:
        self.data = template()
        self.paths = knobs(self.data)
        self.centre = np.array([math.log(at(self.data, path)["value"]) for path in self.paths])
        self.precision = np.linalg.inv(covariance(self.data, self.paths))

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
            normal = jacobian.T @ (robust[:, None] * jacobian) + self.precision
            slope = jacobian.T @ (robust * residual) + self.precision @ (vector - self.centre)
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
        kinds = [kinds_of(row) for row in chosen]
        for column, path in enumerate(self.paths):
            told = [at for at, kind in enumerate(kinds) if path[0] not in PARTED or path[:2] in kind]
            moved = vector.copy()
            moved[column] += 0.02
            changed = self.residuals(moved, [chosen[at] for at in told])
            jacobian[told, column] = (changed - residual[told]) / 0.02
        return jacobian

    def cost(self, residual: np.ndarray, vector: np.ndarray, scale: np.ndarray) -> float:
        loss = 2 * 0.12**2 * (np.sqrt(1 + (residual / 0.12) ** 2) - 1)
        off = vector - self.centre
        return float((scale * SHARPNESS * loss).sum() + off @ self.precision @ off)


def summary(errors: np.ndarray) -> dict[str, float]:
    off = np.exp(np.abs(errors)) - 1
    return {
        "n": len(errors),
        "median_error_ratio": round(float(np.median(off)), 4),
        "p90_error_ratio": round(float(np.quantile(off, 0.9)), 4),
        "bias_ratio": round(float(np.exp(np.median(errors))), 4),
    }


def held_out(
    fit: Fit,
    chosen: list[Row],
    start: np.ndarray,
    whole: np.ndarray,
    slopes: np.ndarray,
    groups: list[str],
    exact: bool = False,
) -> np.ndarray:
    """Errors of each group predicted by a fit that never saw it.

    Refitted along the residuals' slopes at the whole fit, or from there with slopes worked out anew (``exact``).
    """
    errors, names = np.zeros(len(chosen)), np.array(groups)
    for group in sorted(set(groups)):
        seen = names != group
        kept = [row for row, flag in zip(chosen, seen, strict=True) if flag]
        left = [index for index, name in enumerate(groups) if name == group]
        if exact:
            vector, _ = fit.solve(kept, start, rounds=EXACT_ROUNDS)
            errors[left] = fit.residuals(vector, [chosen[index] for index in left])
            continue
        scale = weights(kept) * 120 / len(kept)
        moved = np.zeros(len(start))
        for _ in range(6):
            residual = whole[seen] + slopes[seen] @ moved
            robust = scale * SHARPNESS / np.sqrt(1 + (residual / 0.12) ** 2)
            normal = slopes[seen].T @ (robust[:, None] * slopes[seen]) + fit.precision
            slope = slopes[seen].T @ (robust * residual) + fit.precision @ (start + moved - fit.centre)
            moved = moved - np.linalg.solve(normal, slope)
        errors[left] = fit.residuals(start + moved, [chosen[index] for index in left])
    return errors


def ends(errors: np.ndarray, groups: np.ndarray, level: float) -> tuple[float, float]:
    """Factors on a rate that hold ``level`` of residuals, every group with the same voice."""
    counts = Counter(groups.tolist())
    weight = np.array([1 / math.sqrt(counts[name]) for name in groups.tolist()])
    order = np.argsort(-errors)  # predicted too fast first: measured / predicted lowest first
    ratio, share = np.exp(-errors[order]), np.cumsum(weight[order]) / weight.sum()
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], share, ratio)
    return float(low), float(high)


def inside_ratio(errors: np.ndarray, groups: np.ndarray, level: float) -> float:
    """Share of the rows that lie inside factors worked out without their group."""
    inside = 0
    for group in sorted(set(groups.tolist())):
        left = groups == group
        low, high = ends(errors[~left], groups[~left], level)
        inside += int(((np.exp(-errors[left]) >= low) & (np.exp(-errors[left]) <= high)).sum())
    return inside / len(errors)


def spread(errors: np.ndarray, names: list[str]) -> dict[str, float]:
    """The narrowest factors that, worked out without a group, hold 90 % of the rows of groups so left out."""
    groups = np.array(names)
    if len(set(names)) <= FEWEST_GROUPS:  # nothing to leave out: all that was seen
        low, high = ends(errors, groups, 1.0)
        return {"low": round(low, 3), "high": round(high, 3), "n": len(errors)}
    found = [(level, inside_ratio(errors, groups, level)) for level in LEVELS]
    level, inside = next((one for one in found if one[1] >= INSIDE), found[-1])
    low, high = ends(errors, groups, level)
    return {"low": round(low, 3), "high": round(high, 3), "n": len(errors), "inside": round(inside, 3)}


def families_of(chosen: list[Row]) -> list[str]:
    return [family_of(row.run.framework) for row in chosen]


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
            by_model[picked], [name for name, flag in zip(names, picked, strict=True) if flag]
        )
        sources = [row.source for row, flag in zip(chosen, picked, strict=True) if flag]
        found[f"{kind}_unknown"] = spread(by_source[picked], sources)
        for family in sorted(set(families)):
            theirs = picked & np.array([one == family for one in families])
            if ENOUGH_ROWS <= theirs.sum() < picked.sum():
                held = [name for name, flag in zip(names, theirs, strict=True) if flag]
                found[f"{kind}_{family}"] = spread(by_model[theirs], held)
        for family in set(FAMILIES) - set(families):
            found[f"{kind}_{family}"] = found[f"{kind}_unknown"]
    found["wall"] = {"low": 1.0, "high": 1.2}
    return found


def rounded(table: Any) -> Any:
    if isinstance(table, dict):
        return {key: rounded(part) for key, part in table.items() if key not in ("sd", "shared")}
    return float(f"{table:.5g}") if isinstance(table, float) else table


def fitted(keep: bool, exact: bool = False) -> dict[str, Any]:
    """The file: coefficients, intervals, held-out figures. ``keep``: written before splits are guessed with it."""
    fit, chosen = Fit(), rows()
    vector, sd = fit.solve(chosen, rounds=25)
    inside = fit.residuals(vector, chosen)
    slopes = fit.slopes(vector, chosen, inside)
    ways = {
        "models": [model_group(row) for row in chosen],
        "sources": [row.source for row in chosen],
        "cards": [row.run.accelerator.id for row in chosen],
        "frameworks": families_of(chosen),
        "precisions": [row.run.precision for row in chosen],
    }
    errors = {
        way: held_out(fit, chosen, vector, inside, slopes, groups, exact and way in EXACT)
        for way, groups in ways.items()
    }
    data = copy.deepcopy(fit.with_values(vector))
    for path, value, deviation in zip(fit.paths, vector, sd, strict=True):
        row = at(data, path)
        row |= {"low": math.exp(value - 1.645 * deviation), "high": math.exp(value + 1.645 * deviation)}
        row["source"] = f"{row['source']}; {FITTED}"
    data["spread"] = spreads(chosen, errors["models"], errors["sources"])
    # runs whose split or type is guessed: nothing but rows of other sources says how far off they lie
    data["spread"]["guessed"] = data["spread"]["dense_unknown"]
    if keep:
        FILE.write_text(json.dumps(rounded(data), ensure_ascii=False), encoding="utf-8")
        shipped.cache_clear()
    guessed = fit.residuals(vector, rows(guessed=True))
    data["held_out"] = {"in_sample": summary(inside), "guessed": summary(guessed)}
    for way, groups in ways.items():
        data["held_out"][f"left_out_{way}"] = summary(errors[way])
        data["held_out"][f"left_out_{way}_by"] = grouped(errors[way], groups)
    return rounded(data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--priors", action="store_true", help="write the priors, unfitted")
    parser.add_argument("--quick", action="store_true", help="leave out along slopes, a try")
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
        else fitted(keep=not wanted.check, exact=not wanted.quick)
    )
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if wanted.check:
        return 0 if FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    print(json.dumps(data["held_out"], indent=1 if wanted.json else None), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
