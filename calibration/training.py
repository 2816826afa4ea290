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
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cabida.errors import CabidaError
from cabida.memory.lens import PLAIN
from cabida.plan import TrainingRun
from cabida.timing.training import worked_out
from cabida.truth.names import Unanswerable
from cabida.truth.training_case import training_run

ROOT = Path(__file__).parent.parent
FILE = ROOT / "src/cabida/timing/data/training.json"
SEEN = "2026-11-30"
NEWEST = 2026.5  # year of the newest container in the cases
FAMILIES = ("megatron", "megatron-deepspeed", "fsdp", "hf", "litgpt", "maxtext", "torchtune", "unknown")
SHARPNESS = 60.0  # one over the variance of a residual taken as noise: 13 %
FITTED = "fitted to cases/training.jsonl"


def entry(
    value: float, source: str, grade: str = "measured", low: float | None = None, high: float | None = None
) -> dict[str, Any]:
    made: dict[str, Any] = {"value": value, "source": source, "grade": grade}
    return made | ({"low": low, "high": high} if low is not None else {})


def prior(value: float, source: str, sd: float) -> dict[str, Any]:
    """A coefficient to fit: its prior and the standard deviation of its logarithm."""
    return entry(value, source) | {"sd": sd}


def template() -> dict[str, Any]:
    """The file before fitting: priors, and what isn't fitted."""
    launch = {"hf": 1.6e-3, "litgpt": 1.0e-3, "torchtune": 6e-4, "unknown": 8e-4}
    families = {
        name: {
            "slowness_ratio": prior(1.0, "the framework against the others", 0.2),
            "attention_ratio": prior(
                0.45, "FlashAttention-2 forward 328 of 989 TFLOPS on H100, 179 of 312 on A100", 0.35
            ),
            "tensor_exposed_ratio": prior(0.5, "tensor-parallel reductions partly hidden", 0.5),
            "launch_s_per_layer": prior(launch.get(name, 2.5e-4), "host time per layer and pass", 0.5),
        }
        for name in FAMILIES
    }
    for row in families["unknown"].values():
        row |= {"sd": 0.01, "grade": "assumed"}
    return {
        "what": "Coefficients of training speed; low and high are 90 % intervals. Written by calibration/training.py.",
        "seen": SEEN,
        "newest": NEWEST,
        "coefficients": {
            "training_matmul_ratio": prior(
                0.88, "share of the card's best matrix-multiply rate that training reaches", 0.1
            ),
            "moe_matmul_ratio": prior(0.65, "the same for grouped products of experts", 0.2),
            "half_tokens": prior(300.0, "micro-batch tokens at which products run at half speed", 0.7),
            "half_width_count": prior(200.0, "slice width at which products run at half speed", 0.7),
            "logits_copies_count": prior(6.0, "copies of the logits moved by head and loss", 0.4),
            "routed_copies_count": prior(20.0, "copies of a token's vector per expert moved by routing", 0.7),
            "state_copies_count": prior(
                60.0, "copies of a token's vector moved by the scan of a recurrent layer", 0.7
            ),
            "dequantise_ratio": prior(
                0.3, "share of memory bandwidth reached when unpacking 4-bit weights", 0.5
            ),
            "expert_exposed_ratio": prior(0.5, "share of the all-to-all that doesn't hide", 0.5),
            "data_exposed_ratio": prior(0.3, "share of the data-parallel exchange that doesn't hide", 0.5),
            "fixed_s": prior(0.02, "data loading, logging and synchronisation per step", 0.5),
            "yearly_ratio": prior(1.03, "slowness of a release per year of age, dense models", 0.03),
            "moe_yearly_ratio": prior(
                1.25, "slowness of a release per year of age, mixtures of experts", 0.1
            ),
            "context_exposed_ratio": entry(
                0.3, "few rows; taken as the data-parallel share", "assumed", 0.1, 0.6
            ),
            "host_exposed_ratio": entry(0.3, "host and device overlap imperfectly", "assumed", 0.1, 0.5),
            "offload_bytes_per_param": entry(
                32.0, "gradients out, weights back over the bus, Adam in host memory", "assumed", 20.0, 45.0
            ),
            "host_bytes_per_s": entry(
                25e9,
                "host memory per accelerator; PCIe 4 x16 alone is 25 to 28 GB/s measured",
                "assumed",
                12e9,
                60e9,
            ),
            "wall_ratio": entry(
                1.4,
                "GPU-hours of model cards (Llama 2 and 3.1) over steady-state tables",
                "derived",
                1.2,
                1.7,
            ),
        },
        "card_matmul_ratio": {
            "ampere": entry(
                0.87, "stas00/ml-engineering, best measured matrix multiply, A100", "measured", 0.81, 0.87
            ),
            "hopper": entry(
                0.80, "stas00/ml-engineering, best measured matrix multiply, H100", "measured", 0.78, 0.84
            ),
            "blackwell": entry(
                0.76,
                "stas00/ml-engineering, best measured matrix multiply, B200, B300, GB200",
                "measured",
                0.73,
                0.79,
            ),
            "ada": entry(0.80, "as Hopper; no public measurement seen", "assumed", 0.65, 0.9),
            "cdna3": entry(0.56, "stas00/ml-engineering, MI300X 0.51, MI325X 0.60", "measured", 0.51, 0.6),
            "cdna4": entry(0.68, "stas00/ml-engineering, MI355X", "measured", 0.6, 0.7),
            "volta": entry(
                0.75, "Megatron 2020 rows reach 0.58 of peak with recomputation", "derived", 0.6, 0.85
            ),
            "unknown": entry(0.75, "middle of the measured cards", "assumed", 0.5, 0.9),
        },
        "formats": {
            "bf16": {
                "format_ratio": entry(1.0, "by definition", "derived"),
                "copies_count": prior(60.0, "copies of a token's vector moved in each layer and pass", 0.4),
            },
            "fp8": {
                "format_ratio": prior(0.9, "8-bit products against their own peak", 0.15),
                "copies_count": prior(62.0, "the same with casts to 8 bit", 0.4),
            },
            "mxfp8": {
                "format_ratio": prior(0.85, "8-bit products with block scales", 0.15),
                "copies_count": prior(64.0, "the same with casts to block-scaled 8 bit", 0.4),
            },
            "nvfp4": {
                "format_ratio": prior(0.65, "4-bit products against their own peak", 0.2),
                "copies_count": prior(64.0, "the same with casts to 4 bit", 0.4),
            },
        },
        "families": families,
        "frameworks": [
            ["megatron-deepspeed", "megatron-deepspeed"],
            ["bridge", "megatron"],
            ["nemo", "megatron"],
            ["megatron", "megatron"],
            ["foundry", "fsdp"],
            ["composer", "fsdp"],
            ["torchtitan", "fsdp"],
            ["fsdp", "fsdp"],
            ["metaseq", "fsdp"],
            ["torchtune", "torchtune"],
            ["unsloth", "torchtune"],
            ["litgpt", "litgpt"],
            ["lightning", "litgpt"],
            ["qwen", "hf"],
            ["accelerate", "hf"],
            ["deepspeed", "hf"],
            ["transformers", "hf"],
            ["trl", "hf"],
            ["axolotl", "hf"],
            ["llama-factory", "hf"],
            ["llamafactory", "hf"],
            ["peft", "hf"],
            ["maxtext", "maxtext"],
            ["jax", "maxtext"],
            ["ngc", "megatron"],
            ["nvidia", "megatron"],
        ],
        "optimizers": {
            name: entry(value, why, "derived", value * 0.8, value * 1.2)
            for name, value, why in (
                (
                    "adamw",
                    30.0,
                    "gradient, master weights and two moments read, all but the gradient written, 32 bit",
                ),
                ("adamw-8bit", 18.0, "moments in 8 bit"),
                ("adamw-paged-8bit", 20.0, "moments in 8 bit, pages fetched at times"),
                ("adafactor", 16.0, "no full second moment"),
                ("sgd", 14.0, "one moment"),
                ("muon", 40.0, "one moment and five products of Newton-Schulz"),
            )
        },
        "spread": {},
        "held_out": {},
    }


@dataclass(frozen=True)
class Row:
    """A case that can be fitted: its run, tokens/s per accelerator, and what it is grouped by."""

    run: TrainingRun
    measured: float
    source: str
    model: str
    setup: tuple[object, ...]


def rows() -> list[Row]:
    found = []
    for line in (ROOT / "cases/training.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        measured = case["measured"]
        whole_project = "total_gpu_hours" in measured and "tokens_trained_t" in measured
        if case["quality"] == "C" or whole_project or "not stated" in case["precision"]:
            continue
        try:
            run = training_run(case)
        except (Unanswerable, CabidaError):
            continue
        rate = measured.get("tokens_s_per_gpu")
        if rate is None and "step_time_s" in measured and case.get("global_batch"):
            rate = run.global_batch_count * run.seq_tokens / run.accelerators_count / measured["step_time_s"]
        if rate is None or not case.get("gpus") or (run.accelerators_count > 8 and not case.get("tp")):
            continue
        model = case["model"]
        setup = (
            case["source"],
            model.split()[0],
            case["gpu"],
            run.precision,
            run.accelerators_count,
            case["task"],
            run.seq_tokens,
        )
        found.append(Row(run, rate, source_of(case["source"]), model, setup))
    return found


def source_of(text: str) -> str:
    """Repository a source names; files of one repository are one source."""
    return text.split()[0]


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
        damping, jacobian = 1e-2, np.zeros((len(chosen), len(vector)))
        residual = self.residuals(vector, chosen)
        for _ in range(rounds):
            for column in range(len(vector)):
                moved = vector.copy()
                moved[column] += 0.02
                jacobian[:, column] = (self.residuals(moved, chosen) - residual) / 0.02
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
    """Errors of each group predicted by a fit that never saw it."""
    errors = np.zeros(len(chosen))
    for group in sorted(set(groups)):
        seen = [row for row, name in zip(chosen, groups, strict=True) if name != group]
        left = [index for index, name in enumerate(groups) if name == group]
        vector, _ = fit.solve(seen, start, rounds=4)
        errors[left] = fit.residuals(vector, [chosen[index] for index in left])
    return errors


def model_group(row: Row) -> str:
    """Siblings of an architecture search count as one model when they only differ in depth and width."""
    return re.sub(r"BLOOM.*", "BLOOM", row.model)


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


def rounded(table: Any) -> Any:
    if isinstance(table, dict):
        return {key: rounded(part) for key, part in table.items() if key != "sd"}
    return float(f"{table:.4g}") if isinstance(table, float) else table


def fitted() -> dict[str, Any]:
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
    moe = np.array([row.run.model.is_moe for row in chosen])
    names = np.array([model_group(row) for row in chosen])
    data["spread"] = {
        "dense": spread(by_model[~moe], chosen, list(names[~moe])),
        "moe": spread(by_model[moe], chosen, list(names[moe])),
        "dense_unknown": spread(
            by_source[~moe], chosen, [row.source for row, flag in zip(chosen, moe, strict=True) if not flag]
        ),
        "wall": {"low": 1.0, "high": 1.2},
    }
    data["spread"]["moe_unknown"] = {
        "low": round(data["spread"]["moe"]["low"] * 0.85, 3),
        "high": round(data["spread"]["moe"]["high"] / 0.85, 3),
        "n": int(moe.sum()),
    }
    data["held_out"] = {
        "in_sample": summary(inside),
        "left_out_models": summary(by_model),
        "left_out_sources": summary(by_source),
        "left_out_models_by": {name: summary(by_model[names == name]) for name in sorted(set(names))},
        "left_out_sources_by": {
            name: summary(by_source[np.array([row.source == name for row in chosen])])
            for name in sorted({row.source for row in chosen})
        },
    }
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
                    for key in ("dense", "moe", "dense_unknown", "moe_unknown", "wall")
                }
            }
        )
        if wanted.priors
        else fitted()
    )
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if wanted.check:
        return 0 if FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    print(json.dumps(data["held_out"], indent=1 if wanted.json else None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
