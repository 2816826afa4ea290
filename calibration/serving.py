"""Fit the serving coefficients to measured rows and write ``src/cabida/timing/data/serving.json``.

    python calibration/serving.py [--cases cases/serving.jsonl] [--write]

Few coefficients per engine, a robust loss on log ratios, every (source, model, accelerator) group weighed by
the root of its size. The error reported is that of whole models and whole sources left out of the fit.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, fields, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from cabida.plan import Load
from cabida.timing.coefficients import Coefficients, groups_of
from cabida.timing.fluid import Flow, closed, most_batch
from cabida.timing.steps import step_model_with
from serving_rows import Row, World, rows, shipped_world

HOME = Path(__file__).parent.parent
DATA = HOME / "src" / "cabida" / "timing" / "data" / "serving.json"
NAMES = [field.name for field in fields(Coefficients)]
IS_RATIO = np.array([name.endswith("_ratio") for name in NAMES])
CENTRE = Coefficients(  # where a coefficient goes when no row speaks: physics and single-kernel measurements
    bandwidth_ratio=0.8, context_bandwidth_ratio=0.75, routed_bandwidth_ratio=0.7, compute_ratio=0.7,
    routed_compute_ratio=0.3, attended_compute_ratio=0.45, link_ratio=0.5, step_s=8e-4, layer_s=2.5e-5,
    prompt_layer_s=5e-4, moe_layer_s=4e-5, sequence_s=8e-6, exchange_s=1.2e-5, request_s=1e-2,
    first_steps_count=1.0, harness_steps_count=6.0,
)  # fmt: skip
LOOSENESS = 0.6  # a coefficient e times off its centre weighs like this many standard residuals
ENGINE_LOOSENESS = 1.5  # the same for an engine's coefficient off that of all engines together
FACTORS = (  # what else changes a coefficient, which, and how firmly it is held at no change
    ("engine", "llama.cpp gddr", "bandwidth_ratio", 1.0), ("engine", "llama.cpp hbm", "bandwidth_ratio", 1.0),
    ("engine", "llama.cpp unified", "bandwidth_ratio", 1.0), ("engine", "llama.cpp gddr", "layer_s", 3.0),
    ("memory", "gddr", "bandwidth_ratio", 4.0), ("memory", "gddr", "compute_ratio", 1.0),
    ("memory", "gddr", "exchange_s", 1.0), ("segment", "consumer", "compute_ratio", 1.5),
    ("vendor", "amd", "bandwidth_ratio", 3.0), ("vendor", "amd", "layer_s", 1.0),
    ("vendor", "amd", "prompt_layer_s", 1.0),
    ("vendor", "amd", "moe_layer_s", 1.0), ("vendor", "amd", "compute_ratio", 4.0),
    ("kernel", "mxfp4 native", "routed_bandwidth_ratio", 1.0), ("kernel", "mxfp4 native", "moe_layer_s", 1.0),
    ("kernel", "mxfp4 native", "prompt_layer_s", 1.0),
    ("kernel", "mxfp4 by 16 bit", "routed_bandwidth_ratio", 1.0), ("kernel", "mxfp4 by 16 bit", "moe_layer_s", 1.0),
    ("kernel", "mxfp4 by 16 bit", "routed_compute_ratio", 1.0),
    ("engine", "llama.cpp gddr", "compute_ratio", 1.0), ("engine", "llama.cpp hbm", "compute_ratio", 1.0),
    ("format", "gguf gddr", "compute_ratio", 1.0), ("format", "gguf hbm", "compute_ratio", 1.0),
    ("format", "int4 gddr", "compute_ratio", 5.0),
    ("format", "int4 gddr", "bandwidth_ratio", 1.0), ("format", "int4 hbm", "bandwidth_ratio", 1.0),
    ("format", "gguf hbm", "bandwidth_ratio", 1.0), ("format", "gguf gddr", "bandwidth_ratio", 1.0),
)  # fmt: skip
PRIOR_FACTORS = {  # where a factor goes when no row speaks: no change, but for these
    # No fitted row of AMD multiplies enough to show it. Three that are not fitted do: Llama-2-70B offline in MLPerf
    # v5.1 (MI300X and MI325X beside H100 and H200), ROCm/vllm's throughput table of 8 x MI300X, and the same vLLM on
    # one MI300X and one H200 (alpharomercoma/MI300X-vs-H200: prompts of an 8B 2.06 times as fast on the latter).
    ("vendor", "amd", "compute_ratio"): 0.65,
}
FIRMNESS = {  # times the looseness: what physics holds tighter, what a harness leaves open
    "bandwidth_ratio": 5.0, "context_bandwidth_ratio": 3.0, "compute_ratio": 2.0, "first_steps_count": 4.0,
    "request_s": 10.0, "harness_steps_count": 0.1, "routed_compute_ratio": 3.0, "routed_bandwidth_ratio": 2.0,
}  # fmt: skip
CROWDED = 256  # clients beyond which time to first token says more about the harness than about the engine
TTFT_WEIGHT = 0.35
FITTED_ENGINES = ("vllm", "sglang", "tensorrt-llm")


class Table:
    """Rows as arrays: constants as a linear map of the coefficients, flows, and what was measured."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        absent = {name: (math.inf if ratio else 0.0) for name, ratio in zip(NAMES, IS_RATIO, strict=True)}
        base = np.array([self._constants(row, Coefficients(**absent)) for row in rows])
        maps = [
            np.array([self._constants(row, Coefficients(**{**absent, name: 1.0})) for row in rows]) - base
            for name in NAMES
        ]
        self.base, self.maps = base, np.stack(maps, axis=2)
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
        )  # fmt: skip
        clients = of(lambda r, _m: r.load.concurrency or 1.0)
        self.clients = np.where(np.isinf(clients), 2 * np.maximum(most_batch(self.flow), 1), clients / ranks)
        self.offline = np.isinf(clients)
        self.tpot, self.ttft, self.rate = (
            np.array([getattr(row, name) for row in rows])
            for name in ("tpot_s", "ttft_s", "output_tokens_per_s")
        )
        self.calm = (clients <= CROWDED) & (self.clients <= 0.9 * most_batch(self.flow))
        gap = np.array([row.source.endswith(" gap") for row in rows])  # its clients' delays are nobody else's
        self.fit_ttft = np.where(self.calm & ~gap, TTFT_WEIGHT, 0.0)
        self.weights = _weights(rows)
        self.balance = _balance(rows)

    @staticmethod
    def _constants(row: Row, c: Coefficients) -> tuple[float, ...]:
        model = step_model_with(row.deployment, row.memory, c)
        return (*model.constants, model.request_s, model.delay_steps(row.load.harness))

    def predict(
        self, x: np.ndarray, factors: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """TPOT, TTFT and output tokens/s under log coefficients ``x`` (and log factors of it by row)."""
        logs = np.broadcast_to(x, (len(self.rows), len(NAMES))) if factors is None else x + factors
        phi = np.exp(np.where(IS_RATIO, -logs, logs))
        constants = self.base + np.einsum("ncj,nj->nc", self.maps, phi)
        flow = replace(self.flow, request_s=constants[:, 15], first_steps_count=constants[:, 16])
        state = closed(tuple(constants[:, :15].T), flow, self.clients)
        return state.tpot_s, state.ttft_s, state.requests_per_s * self.ranks * self.flow.output_tokens


def _rounds(load: Load) -> float:
    """Requests each client sends; infinite where the row does not say."""
    return load.prompts_count / load.concurrency if load.prompts_count and load.concurrency else math.inf


def _weights(rows: list[Row]) -> np.ndarray:
    keys = [(row.source, row.model, row.deployment.accelerator.id) for row in rows]
    sizes = {key: keys.count(key) for key in set(keys)}
    weights = np.array([sizes[key] ** -0.35 for key in keys])
    doubtful = np.array([0.8 if row.doubtful else 1.0 for row in rows])
    return weights / weights.mean() * doubtful


def _balance(rows: list[Row]) -> np.ndarray:
    """Weights that let many small sources speak beside one large table."""
    keys = [(row.source, row.model, row.deployment.accelerator.id) for row in rows]
    return np.array([keys.count(key) ** -0.25 for key in keys])


def errors(table: Table, x: np.ndarray) -> dict[str, np.ndarray]:
    """Log of predicted over measured by metric; NaN where a row has no such figure."""
    tpot, ttft, rate = table.predict(x)
    return {
        "tpot_s": np.log(tpot / table.tpot),
        "ttft_s": np.log(ttft / table.ttft),
        "output_tokens_per_s": np.where(np.isnan(table.tpot), np.log(rate / table.rate), np.nan),
    }


def fit(
    table: Table, chosen: np.ndarray, centre: np.ndarray, looseness: float = ENGINE_LOOSENESS
) -> np.ndarray:
    """Log coefficients that explain the chosen rows."""
    firm = np.array([FIRMNESS.get(name, 1.0) for name in NAMES])
    short = table.fit_ttft

    def residuals(x: np.ndarray) -> np.ndarray:
        found = errors(table, x)
        parts = [
            np.nan_to_num(found["tpot_s"]) * table.weights,
            np.nan_to_num(found["ttft_s"]) * short * table.weights,
            np.nan_to_num(found["output_tokens_per_s"]) * 0.6 * table.weights,
        ]
        return np.concatenate([*(part[chosen] for part in parts), looseness * firm * (x - centre)])

    return least_squares(residuals, centre, loss="soft_l1", f_scale=0.15, max_nfev=40).x


def held_out(table: Table, groups: list[str], centre: np.ndarray) -> dict[str, np.ndarray]:
    """Errors of each group under coefficients fitted without it."""
    names = np.array(groups)
    left: dict[str, np.ndarray] = {}
    for name in sorted(set(groups)):
        inside = names == name
        found = errors(table, fit(table, ~inside, centre))
        for metric, values in found.items():
            left.setdefault(metric, np.full(len(groups), np.nan))[inside] = values[inside]
    return left


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


def is_core(row: Row) -> bool:
    """Rows that speak about the three engines on the hardware most were measured on."""
    card = row.deployment.accelerator
    usual = card.vendor == "NVIDIA" and "hbm" in card.memory_kind.lower()
    return usual and row.engine in FITTED_ENGINES and row.deployment.weights.id != "mxfp4"


def members(row: Row) -> set[tuple[str, str]]:
    """The groups of ``FACTORS`` a row belongs to."""
    d = row.deployment
    return set(groups_of(row.engine, d.accelerator, d.weights))


def fit_factors(table: Table, base: np.ndarray) -> np.ndarray:
    """Log factors of ``FACTORS``, each pulled towards none or its prior."""
    belongs = np.array(
        [[(group, key) in members(row) for group, key, *_ in FACTORS] for row in table.rows], float
    )
    firm = np.array([weight for *_, weight in FACTORS])
    prior = np.log([PRIOR_FACTORS.get(tuple(which), 1.0) for *which, _ in FACTORS])
    place = np.zeros((len(FACTORS), len(NAMES)))
    for index, (_, _, name, _) in enumerate(FACTORS):
        place[index, NAMES.index(name)] = 1.0

    def residuals(y: np.ndarray) -> np.ndarray:
        found = errors(table, base + (belongs * y) @ place)
        tpot = np.nan_to_num(found["tpot_s"]) * table.weights
        rate = np.nan_to_num(found["output_tokens_per_s"]) * table.weights
        ttft = np.nan_to_num(found["ttft_s"]) * table.weights * table.fit_ttft
        return np.concatenate([tpot, rate, ttft, firm * (y - prior)])

    y = least_squares(residuals, prior, loss="soft_l1", f_scale=0.2, max_nfev=40).x
    left = errors(table, base + (belongs * y) @ place)
    for metric, values in left.items():
        print("  factors", metric, summary(values))
    return y


def interval(values: np.ndarray, weights: np.ndarray, floor: float = 0.08) -> list[float]:
    """Factors that cover 90 % of held-out errors, never wider than 3.9 and never closer than repeated measurements."""
    known = np.isfinite(values)
    values, weights = values[known], weights[known]
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    low, high = -values[order][np.searchsorted(share, 0.95)], -values[order][np.searchsorted(share, 0.05)]
    excess = max(0.0, (high - low) - math.log(3.9)) / 2
    return [
        round(float(np.exp(min(low + excess, -floor))), 3),
        round(float(np.exp(max(high - excess, floor))), 3),
    ]


def spreads(left: dict[str, np.ndarray], weights: np.ndarray, widen: float = 1.0) -> dict[str, list[float]]:
    """Interval factors of every metric; gaps and whole answers follow the time per token."""
    tpot, rate = left["tpot_s"], left["output_tokens_per_s"]
    given = rate if np.isfinite(rate).sum() > np.isfinite(tpot).sum() / 4 else -tpot
    wide = {
        "tpot_s": interval(widen * tpot, weights),
        "ttft_s": interval(widen * left["ttft_s"], weights),
        "output_tokens_per_s": interval(widen * given, weights),
    }
    followers = {"itl_s": "tpot_s", "e2e_s": "tpot_s", "requests_per_s": "output_tokens_per_s",
                 "total_tokens_per_s": "output_tokens_per_s"}  # fmt: skip
    return wide | {name: wide[leader] for name, leader in followers.items()}


def both(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Two sets of errors together: a user's model may be among the fitted ones or not."""
    return {metric: np.concatenate([first[metric], second[metric]]) for metric in first}


def main(world: World | None = None) -> None:
    """Fit, report, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=HOME / "cases" / "serving.jsonl")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = [row for row in rows(options.cases, world or shipped_world()) if row.load.requests_per_s is None]
    core = [row for row in found if is_core(row)]
    centre = np.log([getattr(CENTRE, name) for name in NAMES])
    table = Table(core)
    everything = np.ones(len(core), bool)
    pooled = fit(table, everything, centre, LOOSENESS)
    fitted = {"generic": pooled}
    report: dict[str, Any] = {}
    spread: dict[str, Any] = {}
    for engine in FITTED_ENGINES:
        part = Table([row for row in core if row.engine == engine])
        x = fitted[engine] = fit(part, np.ones(len(part.rows), bool), pooled)
        by_model = held_out(part, [row.model for row in part.rows], pooled)
        by_card = held_out(part, [row.deployment.accelerator.id for row in part.rows], pooled)
        known = errors(part, x)
        for left in (by_model, by_card, known):
            left["ttft_s"] = np.where(part.calm, left["ttft_s"], np.nan)
        report[engine] = {
            "fitted": {metric: summary(values) for metric, values in errors(part, x).items()},
            "model left out": {metric: summary(values) for metric, values in by_model.items()},
            "accelerator left out": {metric: summary(values) for metric, values in by_card.items()},
        }
        spread[engine] = {
            "seen": spreads(both(known, by_model), np.concatenate([part.balance, part.balance])),
            "unseen": spreads(by_card, part.balance, 1.15),
        }
    left = held_out(table, [row.engine for row in core], centre)
    left["ttft_s"] = np.where(table.calm, left["ttft_s"], np.nan)
    report["generic"] = {"engine left out": {metric: summary(values) for metric, values in left.items()}}
    spread["generic"] = {"seen": spreads(left, table.balance), "unseen": spreads(left, table.balance, 1.15)}
    spread["llama.cpp"] = spread["generic"]
    others = Table([row for row in found if not is_core(row)])
    base = np.array([fitted.get(row.engine, pooled) for row in others.rows])
    y = fit_factors(others, base)
    factors: dict[str, dict[str, dict[str, float]]] = {}
    for (group, key, name, _), value in zip(FACTORS, y, strict=True):
        factors.setdefault(group, {}).setdefault(key, {})[name] = round(float(np.exp(value)), 3)
    engines = {name: _named(x) for name, x in fitted.items()} | {"llama.cpp": _named(pooled)}
    written = {
        "what": "fitted by calibration/serving.py to public serving measurements (cases/serving.jsonl, quality A)",
        "fitted": date.today().isoformat(),
        "rows": len(found),
        "sources": sorted({row.source for row in found}),
        "engines": engines,
        "factors": factors,
        "accelerators": sorted({row.deployment.accelerator.id for row in found}),
        "spread": spread,
        "held_out": report,
    }
    print(json.dumps({key: written[key] for key in ("engines", "factors", "spread", "held_out")}, indent=1))
    if options.write:
        DATA.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def _named(x: np.ndarray) -> dict[str, float]:
    return asdict(Coefficients(**dict(zip(NAMES, (float(f"{v:.4g}") for v in np.exp(x)), strict=True))))


if __name__ == "__main__":
    main()
