"""What moves a serving coefficient: the engine, the card, the format, the kind of attention."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from cabida.timing.engine.coefficients import Coefficients, groups_of
from serving_rows import Row

NAMES = [field.name for field in fields(Coefficients)]
CENTRE = Coefficients(  # where a coefficient goes when no row speaks: physics and single-kernel measurements
    bandwidth_ratio=1.0, context_bandwidth_ratio=1.0, routed_bandwidth_ratio=1.0, compute_ratio=0.9,
    routed_compute_ratio=0.9, attended_compute_ratio=0.9, link_ratio=0.9, elements_ratio=0.9, starts_ratio=1.2,
    step_s=5e-4,
    layer_s=1e-5, prompt_layer_s=3e-4, moe_layer_s=1e-5, sequence_s=5e-6, exchange_s=2e-6, request_s=1e-2,
    first_steps_count=1.0, harness_steps_count=6.0,
)  # fmt: skip
LOOSENESS = 0.6  # a coefficient e times off its centre weighs like this many standard residuals
FIRMNESS = {  # times the looseness: what physics holds tighter, what a harness leaves open
    "bandwidth_ratio": 5.0, "context_bandwidth_ratio": 4.0, "compute_ratio": 4.0, "first_steps_count": 4.0,
    "request_s": 10.0, "attended_compute_ratio": 4.0, "elements_ratio": 4.0, "starts_ratio": 1.5,
    "harness_steps_count": 0.1,
    "routed_compute_ratio": 3.0, "routed_bandwidth_ratio": 2.0,
}  # fmt: skip
ENGINES = ("vllm", "sglang", "tensorrt-llm")
ENGINE_LOOSENESS = 1.0  # an engine's coefficient off that of all engines together
# Curves of cards with GDDR were measured on server cards: they correct errors inside the same memory and hold a lower
# clock under load than their data sheets state, so GeForce may come nearer to its own.
FACTORS = (  # what else changes a coefficient, which, and how firmly it is held at no change
    ("engine", "llama.cpp gddr", "bandwidth_ratio", 1.5), ("engine", "llama.cpp hbm", "bandwidth_ratio", 1.0),
    ("engine", "llama.cpp unified", "bandwidth_ratio", 1.0), ("engine", "llama.cpp gddr", "layer_s", 3.0),
    ("memory", "gddr", "bandwidth_ratio", 4.0), ("memory", "gddr", "compute_ratio", 1.0),
    ("memory", "gddr", "exchange_s", 1.0), ("segment", "consumer", "compute_ratio", 0.5),
    ("segment", "consumer", "bandwidth_ratio", 1.0),
    ("vendor", "amd", "bandwidth_ratio", 3.0), ("vendor", "amd", "layer_s", 1.0),
    ("vendor", "amd", "prompt_layer_s", 1.0),
    ("vendor", "amd", "moe_layer_s", 1.0), ("vendor", "amd", "compute_ratio", 8.0),
    ("kernel", "mxfp4 native", "routed_bandwidth_ratio", 1.0), ("kernel", "mxfp4 native", "moe_layer_s", 1.0),
    ("kernel", "mxfp4 native", "prompt_layer_s", 1.0),
    ("kernel", "mxfp4 by 16 bit", "routed_bandwidth_ratio", 1.0), ("kernel", "mxfp4 by 16 bit", "moe_layer_s", 1.0),
    ("kernel", "mxfp4 by 16 bit", "routed_compute_ratio", 1.0),
    ("engine", "llama.cpp gddr", "compute_ratio", 5.0), ("engine", "llama.cpp hbm", "compute_ratio", 1.0),
    ("format", "gguf gddr", "compute_ratio", 1.0), ("format", "gguf hbm", "compute_ratio", 1.0),
    ("format", "int4 gddr", "compute_ratio", 5.0),
    ("format", "int4 gddr", "bandwidth_ratio", 1.0), ("format", "int4 hbm", "bandwidth_ratio", 1.0),
    ("format", "gguf hbm", "bandwidth_ratio", 1.0), ("format", "gguf gddr", "bandwidth_ratio", 1.0),
)  # fmt: skip
ARCHITECTURE_FACTORS = (  # each engine tunes its kernels and graphs for one generation of cards at a time
    "layer_s", "moe_layer_s", "prompt_layer_s", "exchange_s", "sequence_s", "routed_bandwidth_ratio",
    "bandwidth_ratio", "starts_ratio",
)  # fmt: skip
ARCHITECTURE_FIRMNESS = 2.5
SINCE_FACTORS = ("layer_s", "moe_layer_s", "prompt_layer_s")  # fewer kernels a layer, started more quickly
SINCE_FIRMNESS = 2.0
ROWS_LEAST = 15  # of an engine on a generation
PRIOR_FACTORS = {  # where a factor goes when no row speaks: no change, but for these
    # No fitted row of AMD multiplies enough to show it. Three that are not fitted do: Llama-2-70B offline in MLPerf
    # v5.1 (MI300X and MI325X beside H100 and H200), ROCm/vllm's throughput table of 8 x MI300X, and the same vLLM on
    # one MI300X and one H200 (alpharomercoma/MI300X-vs-H200: prompts of an 8B 2.06 times as fast on the latter).
    ("vendor", "amd", "compute_ratio"): 0.9,
}


@dataclass(frozen=True)
class Terms:
    """Terms of the fit: each moves one coefficient of the rows it belongs to.

    ``design`` (rows, terms) says how much of a term a row has, ``place`` which coefficient it moves.
    """

    labels: tuple[tuple[str, str, str], ...]  # (group, key, coefficient); group "all" and "engine alone"
    design: np.ndarray
    place: np.ndarray
    prior: np.ndarray
    firmness: np.ndarray

    def logs(self, values: np.ndarray) -> np.ndarray:
        """Log coefficients of every row, shape (rows, names)."""
        found = np.zeros((len(self.design), len(NAMES)))
        for index, place in enumerate(self.place):
            found[:, place] += self.design[:, index] * values[index]
        return found

    def named(self, values: np.ndarray) -> dict[str, Any]:
        """The two tables of the data file: coefficients by engine, factors by group and key."""
        pooled = dict.fromkeys(NAMES, 0.0)
        own: dict[str, dict[str, float]] = {engine: {} for engine in ENGINES}
        factors: dict[str, dict[str, dict[str, float]]] = {}
        for (group, key, name), value in zip(self.labels, values, strict=True):
            if group == "all":
                pooled[name] = value
            elif group == "engine alone":
                own[key][name] = value
            else:
                factors.setdefault(group, {}).setdefault(key, {})[name] = round(float(np.exp(value)), 3)
        engines = {"generic": pooled, "llama.cpp": pooled}
        engines |= {
            engine: {name: pooled[name] + own[engine].get(name, 0.0) for name in NAMES} for engine in ENGINES
        }
        return {
            "engines": {
                engine: {name: float(f"{np.exp(value):.4g}") for name, value in logs.items()}
                for engine, logs in engines.items()
            },
            "factors": factors,
        }


def _seen(
    members: list[set[tuple[str, str]]], group: str, names: tuple[str, ...], firm: float
) -> list[tuple[str, str, str, float]]:
    """Terms of every key of a group that enough rows have."""
    seen = [key for one in members for name, key in one if name == group]
    keys = sorted({key for key in seen if seen.count(key) >= ROWS_LEAST})
    return [(group, key, name, firm) for key in keys for name in names]


def terms_of(rows: list[Row]) -> Terms:
    """The terms, and how much of each a row has."""
    members = [set(groups_of(row.deployment)) for row in rows]
    centre = asdict(CENTRE)
    labels: list[tuple[str, str, str]] = []
    columns, prior, firmness = [], [], []
    for name in NAMES:
        labels.append(("all", "", name))
        columns.append(np.ones(len(rows)))
        prior.append(np.log(centre[name]))
        firmness.append(LOOSENESS * FIRMNESS.get(name, 1.0))
    for engine in ENGINES:
        for name in NAMES:
            labels.append(("engine alone", engine, name))
            columns.append(np.array([float(row.engine == engine) for row in rows]))
            prior.append(0.0)
            firmness.append(ENGINE_LOOSENESS * FIRMNESS.get(name, 1.0))
    for group, key, name, firm in (
        *FACTORS,
        *_seen(members, "engine's architecture", ARCHITECTURE_FACTORS, ARCHITECTURE_FIRMNESS),
        *_seen(members, "since", SINCE_FACTORS, SINCE_FIRMNESS),
    ):
        labels.append((group, key, name))
        columns.append(np.array([float((group, key) in one) for one in members]))
        prior.append(np.log(PRIOR_FACTORS.get((group, key, name), 1.0)))
        firmness.append(firm)
    place = np.array([NAMES.index(name) for *_, name in labels])
    return Terms(tuple(labels), np.stack(columns, axis=1), place, np.array(prior), np.array(firmness))
