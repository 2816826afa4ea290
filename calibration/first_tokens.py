"""Fit what a first token takes outside the engine's steps against the simulation; write ``first_tokens.json``.

    python calibration/first_tokens.py [--cases cases/serving.jsonl] [--write]

Seconds of a prompt token before the engine sees it (tokenizer, chat template, transport: one figure for the servers
written in Python; TensorRT-LLM's runs show none), and steps by which a first token is late as the tool sees it, an
engine each. A fixed time of every request was tried as well: the fit makes it nothing. Each row is simulated once
without them; what is added then is linear in them. Rows are calm closed loops of InferenceX without speculation; the
loss is robust, on log ratios; a (model, card, engine) weighs by a root of its size. Models and cards are left out in
turn, and the runs of NVIDIA's gap analysis, which are never fitted, stand for a source left out.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from cabida.timing.engine.fluid import flow_of, most_batch
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.simulate import simulate_model
from serving import summary
from serving_rows import Row, rows

HOME = Path(__file__).parent.parent
DATA = HOME / "src" / "cabida" / "timing" / "data" / "first_tokens.json"
ENGINES = ("vllm", "sglang", "tensorrt-llm")
CROWDED = 256  # clients beyond which a first token tells of the queue alone
CALM_RATIO = 0.9  # of the batch that fits
CORNER = 0.15  # log error beyond which a row counts in proportion
LATE_STEPS = 1.0  # engines hand a step's tokens out while the next one runs (async or overlap scheduling)
PYTHON = ("vllm", "sglang")
FRONT_SCALE = 1e-6
WAYS = {"model": lambda row: row.model, "card": lambda row: row.deployment.accelerator.id}


def simulated(row: Row) -> tuple[float, float] | None:
    """(Mean time to a first token inside the engine, time per token) of a calm row; ``None`` = a crowded one."""
    model = step_model(row.deployment, row.memory)
    load, clients = row.load, row.load.concurrency or math.inf
    if clients > CROWDED or clients > CALM_RATIO * model.ranks_count * float(
        most_batch(flow_of(model, load))
    ):
        return None
    bare = replace(
        model, request_s=0.0, first_steps_count=0.0, harness_steps_count=0.0,
        scheduler=replace(model.scheduler, front_s_per_token=0.0),
    )  # fmt: skip
    speed = simulate_model(bare, load, {})
    return speed.ttft_s.mean, speed.tpot_s.mean


class Table:
    """Calm rows as arrays: seconds inside, what each figure adds, what was measured."""

    def __init__(self, found: list[Row]) -> None:
        told = [(row, inside) for row in found if (inside := simulated(row)) is not None]
        self.rows = [row for row, _ in told]
        self.inside_s = np.array([inside[0] for _, inside in told])
        place = np.array([ENGINES.index(row.engine) for row in self.rows])
        self.added = np.zeros(
            (len(told), 1 + len(ENGINES))
        )  # tokens of Python's servers, a step of each engine
        self.added[:, 0] = [FRONT_SCALE * row.load.input_tokens * (row.engine in PYTHON) for row in self.rows]
        self.added[np.arange(len(told)), 1 + place] = [inside[1] for _, inside in told]
        self.measured_s = np.array([row.ttft_s for row in self.rows])
        self.fitted = np.array([row.load.harness == "inferencex" for row in self.rows])
        keys = [(row.model, row.deployment.accelerator.id, row.engine) for row in self.rows]
        sizes = Counter(keys)
        self.weight = np.array([sizes[key] ** -0.25 for key in keys])

    def logs(self, values: np.ndarray) -> np.ndarray:
        """Log of predicted over measured; what the harness adds is no other tool's."""
        elsewhere = np.concatenate([values[:1], np.minimum(values[1:], LATE_STEPS)])
        added_s = np.where(self.fitted, self.added @ values, self.added @ elsewhere)
        return np.asarray(np.log((self.inside_s + added_s) / self.measured_s))

    def fit(self, chosen: np.ndarray) -> np.ndarray:
        """Figures that explain the chosen rows, none below nothing."""
        found = least_squares(
            lambda values: self.logs(values)[chosen] * self.weight[chosen],
            np.full(self.added.shape[1], 0.5),
            bounds=(0.0, np.inf),
            loss="soft_l1",
            f_scale=CORNER,
        )
        return np.asarray(found.x)


def report(table: Table, values: np.ndarray) -> dict[str, Any]:
    """Errors of the rows fitted, of models and cards left out, and of the source never fitted, by engine too."""
    left = {
        "fitted": (table.logs(values), table.fitted),
        "left out source": (table.logs(values), ~table.fitted),
    }
    for way, of in WAYS.items():
        keys = np.array([of(row) for row in table.rows])
        errors = np.full(len(keys), np.nan)
        for key in sorted(set(keys[table.fitted])):
            errors[keys == key] = table.logs(table.fit(table.fitted & (keys != key)))[keys == key]
        left[f"left out {way}"] = (errors, table.fitted)
    engines = np.array([row.engine for row in table.rows])
    return {
        way: {"all": summary(errors[use])}
        | {one: summary(errors[use & (engines == one)]) for one in ENGINES if (use & (engines == one)).any()}
        for way, (errors, use) in left.items()
    }


def main() -> None:
    """Fit, report, and write when asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, default=HOME / "cases" / "serving.jsonl")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wanted = [
        row for row in rows(options.cases)
        if row.mode == "agg" and row.engine in ENGINES and math.isfinite(row.ttft_s) and not row.load.requests_per_s
    ]  # fmt: skip
    table = Table(wanted)
    values = table.fit(table.fitted)
    found = report(table, values)
    for way, errors in found.items():
        for engine, one in errors.items():
            print(f"{way:16s} {engine:13s}", one)
    engines = {
        engine: {
            "front_s_per_token": float(f"{values[0] * FRONT_SCALE:.4g}") if engine in PYTHON else 0.0,
            "first_steps_count": round(min(LATE_STEPS, steps), 3),
            "harness_steps_count": round(max(steps - LATE_STEPS, 0.0), 3),
        }
        for engine, steps in zip(ENGINES, values[1:].tolist(), strict=True)
    }
    print(json.dumps(engines))
    if options.write:
        written = {
            "what": "fitted by calibration/first_tokens.py to InferenceX runs (cases/serving.jsonl, quality A)",
            "fitted": date.today().isoformat(), "rows": int(table.fitted.sum()), "engines": engines, "held_out": found,
        }  # fmt: skip
        DATA.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
