"""Fit the serving coefficients to measured rows and write ``src/cabida/timing/data/serving.json``.

    python calibration/serving.py [--cases cases/serving.jsonl] [--write] [--leave source,model,card,engine]
                                  [--residuals FILE.jsonl]

One fit for all rows: the logarithm of a coefficient is that of all engines together plus what an engine, a kind
of card or of kernel changes (``serving_terms.py``), each held to no change as firmly as it says. The loss is
robust, on log ratios; a (source, model, accelerator) group weighs by a root of its size. ``--leave`` reports
the error of whole sources, models, cards and engines left out of the fit, and ``--residuals`` writes it by row.
``--leave version`` predicts each engine's later versions by fits that know only its earlier ones.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from cabida.plan import Load
from cabida.timing.engine.coefficients import Coefficients
from cabida.timing.engine.fluid import Flow, closed, most_batch, waves_ratio
from cabida.timing.engine.step_table import parts_of
from cabida.timing.engine.step_time import Costs
from cabida.timing.engine.steps import step_model_with
from cabida.timing.spread import version_number
from serving_rows import Row, rows
from serving_terms import CENTRE, NAMES, Terms, terms_of

HOME = Path(__file__).parent.parent
DATA = HOME / "src" / "cabida" / "timing" / "data" / "serving.json"
IS_RATIO = np.array([name.endswith("_ratio") for name in NAMES])
IN_TABLE = [NAMES.index(name) for name in (
    "bandwidth_ratio", "compute_ratio", "routed_bandwidth_ratio", "routed_compute_ratio", "link_ratio",
    "elements_ratio", "starts_ratio",
)]  # fmt: skip
CROWDED = 256  # clients beyond which time to first token says more about the harness than about the engine
TTFT_WEIGHT = 0.35
RATE_WEIGHT = 0.8
CORNER = 0.15  # log error beyond which a row counts in proportion, not squared
METRICS = ("tpot_s", "ttft_s", "output_tokens_per_s")
WAYS = {
    "source": lambda row: row.source,
    "model": lambda row: row.model,
    "card": lambda row: row.deployment.accelerator.id,
    "engine": lambda row: row.engine,
}
STEP = 1e-3
LATER = "version"
EARLIER = 40  # rows of an engine before a version that say how it was until then


class Table:
    """Rows as arrays: constants as a linear map of the coefficients, kernels by tokens, flows, what was measured."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        absent = {name: (math.inf if ratio else 0.0) for name, ratio in zip(NAMES, IS_RATIO, strict=True)}
        base = np.array([self._constants(row, Coefficients(**absent)) for row in rows])
        maps = [
            np.array([self._constants(row, Coefficients(**{**absent, name: 1.0})) for row in rows]) - base
            for name in NAMES
        ]
        self.base, self.maps = base, np.stack(maps, axis=2)
        self.parts = np.array([parts_of(row.deployment) for row in rows])  # (n, kinds, 69)
        models = [step_model_with(row.deployment, row.memory, CENTRE) for row in rows]
        of = lambda pick: np.array([float(pick(row, model)) for row, model in zip(rows, models, strict=True)])  # noqa: E731
        ranks = of(lambda _r, m: m.ranks_count)
        self.ranks = ranks
        self.flow = Flow(
            of(lambda r, _m: r.load.input_tokens), 0.0 * ranks, of(lambda r, _m: r.load.output_tokens),
            of(lambda _r, m: m.budget_tokens), of(lambda _r, m: m.sequences_most_count),
            of(lambda r, m: max(m.kv_tokens, 2 * (r.load.input_tokens + r.load.output_tokens))),
            of(lambda _r, m: m.window_tokens), 0.0 * ranks, 0.0 * ranks,
            of(lambda _r, m: 1.0 if m.mixed else 0.0),
            of(lambda r, _m: 1.0 if r.load.input_spread_ratio == 0 else 0.0),
            of(lambda r, _m: _rounds(r.load)),
            of(lambda _r, m: m.reserve_ratio),
        )  # fmt: skip
        clients = of(lambda r, _m: r.load.concurrency or 1.0)
        most = np.maximum(most_batch(self.flow), 1)
        self.clients = np.where(np.isinf(clients), 2 * most, clients / ranks)
        self.queued = np.isinf(clients) & of(lambda r, _m: bool(r.load.prompts_count)).astype(bool)
        self.prompts = np.maximum(of(lambda r, _m: r.load.prompts_count or 1) / ranks, 1.0)
        self.measured = {
            name: np.array([getattr(row, name) for row in rows], dtype=float) for name in METRICS
        }
        known = np.isfinite(self.measured["tpot_s"])
        self.measured["output_tokens_per_s"][known] = np.nan  # says the same again
        self.calm = (clients <= CROWDED) & (self.clients <= 0.9 * most_batch(self.flow))
        gap = np.array([row.source.endswith(" gap") for row in rows])  # its clients' delays are nobody else's
        own = _weights(rows)
        self.weights = {
            "tpot_s": own,
            "ttft_s": np.where(self.calm & ~gap, TTFT_WEIGHT, 0.0) * own,
            "output_tokens_per_s": RATE_WEIGHT * own,
        }

    @staticmethod
    def _constants(row: Row, c: Coefficients) -> tuple[float, ...]:
        model = step_model_with(row.deployment, row.memory, c)
        late = model.delay_steps(row.load.harness) + model.scheduler.waited_steps
        return (*model.constants, model.request_s, late)

    def logs(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Log of predicted over measured by metric under log coefficients ``x`` (n, names); NaN where unmeasured."""
        phi = np.exp(np.where(IS_RATIO, -x, x))
        constants = self.base + np.einsum("ncj,nj->nc", self.maps, phi)
        table = np.maximum.accumulate(np.einsum("nkt,nk->nt", self.parts, phi[:, IN_TABLE]), axis=1)
        costs = Costs(tuple(constants[:, :-2].T), table)
        flow = replace(self.flow, request_s=constants[:, -2], first_steps_count=constants[:, -1])
        state = closed(costs, flow, self.clients)
        rate = state.requests_per_s * np.where(self.queued, waves_ratio(costs, flow, self.prompts), 1.0)
        found = {
            "tpot_s": state.tpot_s,
            "ttft_s": state.ttft_s,
            "output_tokens_per_s": rate * self.ranks * flow.output_tokens,
        }
        return {name: np.log(found[name] / self.measured[name]) for name in METRICS}


def _rounds(load: Load) -> float:
    """Requests each client sends; infinite where the row does not say."""
    return load.prompts_count / load.concurrency if load.prompts_count and load.concurrency else math.inf


def _weights(rows: list[Row]) -> np.ndarray:
    keys = [(row.source, row.model, row.deployment.accelerator.id) for row in rows]
    sizes = {key: keys.count(key) for key in set(keys)}
    weights = np.array([sizes[key] ** -0.3 for key in keys])
    doubtful = np.array([0.8 if row.doubtful else 1.0 for row in rows])
    return weights / weights.mean() * doubtful


def fit(table: Table, terms: Terms, chosen: np.ndarray, start: np.ndarray, rounds: int = 12) -> np.ndarray:
    """Values of the terms that explain the chosen rows: Gauss-Newton on a robust loss, damped when it overshoots.

    A term moves one coefficient of some rows, so all derivatives follow from one step along each coefficient.
    """
    values, damping = start.copy(), 1e-3
    loss, errors = _loss(table, terms, chosen, values)
    for _ in range(rounds):
        slopes = {name: np.zeros((len(table.rows), len(NAMES))) for name in METRICS}
        x = terms.logs(values)
        for index in range(len(NAMES)):
            moved = table.logs(x + STEP * (np.arange(len(NAMES)) == index))
            for name in METRICS:
                slopes[name][:, index] = (moved[name] - errors[name]) / STEP
        normal = np.diag(terms.firmness**2)
        pull = -(terms.firmness**2) * (values - terms.prior)
        for name in METRICS:
            use = chosen & np.isfinite(errors[name]) & (table.weights[name] > 0)
            jacobian = slopes[name][use][:, terms.place] * terms.design[use]
            weight = table.weights[name][use] ** 2 / np.sqrt(1 + (errors[name][use] / CORNER) ** 2)
            normal += jacobian.T @ (weight[:, None] * jacobian)
            pull -= jacobian.T @ (weight * errors[name][use])
        for _ in range(6):
            trial = values + np.linalg.solve(normal + damping * np.diag(np.diag(normal)), pull)
            found, left = _loss(table, terms, chosen, trial)
            if found < loss:
                break
            damping *= 8
        else:
            break
        gained = (loss - found) / loss
        values, loss, errors, damping = trial, found, left, max(damping / 4, 1e-6)
        if gained < 3e-4:
            break
    return values


def _loss(
    table: Table, terms: Terms, chosen: np.ndarray, values: np.ndarray
) -> tuple[float, dict[str, np.ndarray]]:
    errors = table.logs(terms.logs(values))
    total = float(((terms.firmness * (values - terms.prior)) ** 2).sum())
    for name in METRICS:
        one = np.nan_to_num(errors[name][chosen])
        soft = 2 * CORNER**2 * (np.sqrt(1 + (one / CORNER) ** 2) - 1)
        total += float((table.weights[name][chosen] ** 2 * soft).sum())
    return total, errors


def held_out(
    table: Table, terms: Terms, groups: list[str], start: np.ndarray, rounds: int = 4
) -> dict[str, np.ndarray]:
    """Errors of each group under coefficients fitted without it."""
    names = np.array(groups)
    left = {name: np.full(len(groups), np.nan) for name in METRICS}
    for group in sorted(set(groups)):
        inside = names == group
        values = fit(table, terms, ~inside, start, rounds)
        for name, errors in table.logs(terms.logs(values)).items():
            left[name][inside] = errors[inside]
    return left


def later_versions(
    table: Table, terms: Terms, start: np.ndarray, rounds: int = 4
) -> dict[str, dict[str, np.ndarray]]:
    """Errors of an engine's later versions under coefficients fitted without them: one for each version to stop at."""
    engines = np.array([row.engine for row in table.rows])
    numbers = [version_number(row.deployment.engine_version) for row in table.rows]
    found = {}
    for engine in sorted(set(engines) - {"generic"}):
        of = np.array([number is not None for number in numbers]) & (engines == engine)
        known = sorted({number for number, one in zip(numbers, of, strict=True) if one and number})
        for version in known[1:]:
            later = of & np.array([number is not None and number >= version for number in numbers])
            if (of & ~later).sum() < EARLIER:
                continue
            values = fit(table, terms, ~later, start, rounds)
            logs = table.logs(terms.logs(values))
            name = f"{LATER} {engine} {'.'.join(map(str, version))}"
            found[name] = {metric: np.where(later, errors, np.nan) for metric, errors in logs.items()}
    return found


def summary(values: np.ndarray) -> dict[str, float]:
    """Count, median and 90th percentile of exp(|error|) - 1, and bias."""
    values = values[np.isfinite(values)]
    if not len(values):
        return {"n": 0}
    ratio = np.exp(np.abs(values)) - 1
    return {
        "n": len(values), "median_error_ratio": round(float(np.median(ratio)), 4),
        "p90_error_ratio": round(float(np.quantile(ratio, 0.9)), 4),
        "bias_ratio": round(float(np.exp(np.median(values))), 4),
    }  # fmt: skip


def by_source(rows: list[Row], values: np.ndarray) -> float:
    """Median over sources of each source's median error."""
    sources = np.array([row.source for row in rows])
    known = np.isfinite(values)
    medians = [np.median(np.exp(np.abs(values[known & (sources == one)])) - 1) for one in set(sources[known])]
    return round(float(np.median(medians)), 4) if medians else math.nan


def report_of(table: Table, left: dict[str, np.ndarray]) -> dict[str, Any]:
    """Summary by metric; first tokens only where the queue is calm."""
    shown = left | {"ttft_s": np.where(table.calm, left["ttft_s"], np.nan)}
    return {
        name: summary(values) | {"source_median_error_ratio": by_source(table.rows, values)}
        for name, values in shown.items()
    }


def show(way: str, report: dict[str, Any]) -> None:
    """One line per metric."""
    for metric, one in report.items():
        if one["n"]:
            print(
                f"{way:18s} {metric:20s} n={one['n']:5d} median {one['median_error_ratio']:.3f} "
                f"p90 {one['p90_error_ratio']:.3f} bias {one['bias_ratio']:.3f} by source "
                f"{one['source_median_error_ratio']:.3f}",
                flush=True,
            )


def write_residuals(path: Path, table: Table, left: dict[str, dict[str, np.ndarray]]) -> None:
    """One line per row, metric and way of leaving out: the log error of the prediction without it."""
    with path.open("w", encoding="utf-8") as out:
        for way, errors in left.items():
            for metric, values in errors.items():
                for row, value in zip(table.rows, values, strict=True):
                    if math.isfinite(value):
                        line = {
                            "id": row.id, "source": row.source, "model": row.model, "engine": row.engine,
                            "card": row.deployment.accelerator.id, "metric": metric, "way": way,
                            "log_error": round(float(value), 4),
                        }  # fmt: skip
                        out.write(json.dumps(line) + "\n")


def main() -> None:
    """Fit, report, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=HOME / "cases" / "serving.jsonl")
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--leave", default="", help="ways of leaving out, by comma: " + ", ".join([*WAYS, LATER])
    )
    parser.add_argument("--residuals", type=Path)
    options = parser.parse_args()
    found = [row for row in rows(options.cases) if row.load.requests_per_s is None]
    table = Table(found)
    terms = terms_of(found)
    everything = np.ones(len(found), bool)
    values = fit(table, terms, everything, terms.prior.copy())
    left = {"fitted": table.logs(terms.logs(values))}
    for way in [one for one in options.leave.split(",") if one]:
        if way == LATER:
            left |= later_versions(table, terms, values)
        else:
            left[way] = held_out(table, terms, [WAYS[way](row) for row in found], values)
    report = {way: report_of(table, errors) for way, errors in left.items()}
    for way, one in report.items():
        show(way, one)
    if options.residuals:
        write_residuals(options.residuals, table, left)
    if options.write:
        written = {
            "what": "fitted by calibration/serving.py to public serving measurements (cases/serving.jsonl, quality A)",
            "fitted": date.today().isoformat(),
            "rows": len(found),
            "sources": sorted({row.source for row in found}),
            "accelerators": sorted({row.deployment.accelerator.id for row in found}),
            **terms.named(values),
            "held_out": {way: one for way, one in report.items() if not way.startswith(LATER)},
        }
        DATA.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
