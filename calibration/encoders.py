"""Fits ``timing/data/encoders.json`` to the embed and rerank rows of the cases, whole models left out in turn.

Usage: python calibration/encoders.py [--write] [--residuals FILE.jsonl]
Prints each row beside its prediction from all rows and from those of other models. Two sources hold everything
there is: tables of the sentence-transformers documentation (V100, fp32) and four facts of infinity's page on
benchmarking. Left out of the fit: the share that memory streams at, and what MS MARCO texts measure, which are read.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from cabida.timing.stages import encoder_data, encoders
from cabida.truth.encoder_speed_case import fact_run, figure_runs

ROOT = Path(__file__).parents[1]
FITTED = {  # start, and what is known before any row: mean and deviation of the logarithm
    "encoder_matmul_ratio": (0.6, 0.5),
    "half_width_count": (300.0, 1.0),
    "kernel_share_ratio": (0.8, 0.3),
    "launch_s": (1.0e-5, 0.5),
    "host_text_s": (2.0e-5, 0.7),
    "host_token_s": (3.5e-7, 0.7),
}
SPREAD = (0.25, 0.5)  # of MS MARCO lengths: fitted too, through the rows of pairs, which are padded


def observations() -> list[tuple[str, str, str, Any, float]]:
    """(id, source, model, what predicts it, measured texts per second) of every figure there is."""
    found = []
    for line in (ROOT / "cases/media.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("task") not in ("embed", "rerank"):
            continue
        for metric, run, texts in figure_runs(row):
            found.append(
                (f"{row['id']} {metric}", row["source"], row["model"], (run, texts), row["measured"][metric])
            )
    for index, fact in enumerate(encoder_data.encoder_facts()["facts"]):
        run, texts = fact_run(fact)
        rate = fact["tokens_s"] / texts.mean_tokens
        found.append(
            (f"fact-{index} {fact['gpu']} {fact['engine']}", "infinity", fact["model"], (run, texts), rate)
        )
    return found


def set_to(values: np.ndarray) -> None:
    """Puts coefficients in place."""
    loaded = encoder_data.encoder_facts()
    for name, value in zip(FITTED, values, strict=False):
        loaded["coefficients"][name]["value"] = float(math.exp(value))
    for lengths in loaded["lengths"].values():
        lengths["spread_ratio"] = float(math.exp(values[-1]))


def log_errors(rows: list[Any]) -> np.ndarray:
    """ln(predicted / measured) of each row as the coefficients stand."""
    spread = encoder_data.encoder_facts()["lengths"]["msmarco_passage"]["spread_ratio"]
    found = []
    for _, source, _, (run, texts), measured in rows:
        if source != "infinity":
            texts = encoders.Texts(texts.mean_tokens, spread, texts.pairs)
        found.append(math.log(encoders.encoder_speed(run, texts).texts_per_s / measured))
    return np.array(found)


def fit(rows: list[Any]) -> np.ndarray:
    """Logarithms of the coefficients: least squares with a robust loss, each held by what was known before."""
    start = np.log([value for value, _ in FITTED.values()] + [SPREAD[0]])
    widths = np.array([width for _, width in FITTED.values()] + [SPREAD[1]])

    def residuals(values: np.ndarray) -> np.ndarray:
        set_to(values)
        return np.concatenate([log_errors(rows) / 0.1, (values - start) / widths])

    return np.asarray(least_squares(residuals, start, loss="soft_l1").x)


def ratio(values: np.ndarray, share: float) -> float:
    """A quantile of exp(|ln error|) - 1."""
    return float(np.quantile(np.exp(np.abs(values)) - 1, share))


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true")
    asked.add_argument("--residuals")
    options = asked.parse_args()
    rows = observations()
    whole = fit(rows)
    set_to(whole)
    fitted = log_errors(rows)
    held = np.zeros(len(rows))
    for model in sorted({row[2] for row in rows}):
        inside = [row for row in rows if row[2] != model]
        outside = [index for index, row in enumerate(rows) if row[2] == model]
        set_to(fit(inside))
        held[outside] = log_errors([rows[index] for index in outside])
    set_to(whole)
    by_source: dict[str, np.ndarray] = {}
    for row, all_rows, without in zip(rows, fitted, held, strict=True):
        print(
            f"{row[0]:40s} {row[2]:36s} {row[4]:9.1f} /s  "
            f"fitted {math.exp(all_rows):5.2f}  left out {math.exp(without):5.2f}"
        )
    for word, source in (
        ("sentence-transformers' tables", "sentence-transformers"),
        ("infinity's facts", "infinity"),
    ):
        inside = [row for row in rows if source not in row[1]]
        outside = [row for row in rows if source in row[1]]
        set_to(fit(inside))
        errors = log_errors(outside)
        print(
            f"source left out, {word}: median {ratio(errors, 0.5):.1%}, p90 {ratio(errors, 0.9):.1%}, n {len(outside)}"
        )
        by_source[source] = errors
    set_to(whole)
    print(f"models left out: median {ratio(held, 0.5):.1%}, p90 {ratio(held, 0.9):.1%}, n {len(rows)}")
    for name in FITTED:
        print(f"{name} {encoder_data.encoder_facts()['coefficients'][name]['value']:.4g}")
    print("spread of lengths", encoder_data.encoder_facts()["lengths"]["msmarco_passage"]["spread_ratio"])
    if options.residuals:
        lines = [
            {
                "id": row[0].split()[0],
                "source": row[1],
                "model": row[2],
                "card": row[3][0].accelerator.id,
                "engine": row[3][0].engine,
                "metric": "queries_s" if "queries_s" in row[0] else "items_s",
                "way": "model",
                "log_error": float(error),
            }
            for row, error in zip(rows, held, strict=True)
        ]
        Path(options.residuals).write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )
    if options.write:
        write(rows, held, by_source)


def write(rows: list[Any], held: np.ndarray, by_source: dict[str, np.ndarray]) -> None:
    """The file with what was fitted, its source, and intervals from what was left out."""
    loaded = encoder_data.encoder_facts()
    for name in FITTED:
        loaded["coefficients"][name]["value"] = float(f"{loaded['coefficients'][name]['value']:.4g}")
    for lengths in loaded["lengths"].values():
        lengths["spread_ratio"] = round(lengths["spread_ratio"], 3)
    low, high = np.quantile(-held, [0.05, 0.95])
    widest = max(float(np.max(np.abs(by_source["infinity"]))), -float(low), float(high))
    loaded["spread"] = {
        "seen": [round(math.exp(low), 3), round(math.exp(high), 3)],
        "unseen": [round(math.exp(-widest), 3), round(math.exp(widest), 3)],
        "n": len(rows),
        "source": "models left out in turn (seen); the worst row of the source that was left out whole (unseen)",
    }
    loaded["held_out"] = {
        "median_error_ratio": round(ratio(held, 0.5), 3),
        "p90_error_ratio": round(ratio(held, 0.9), 3),
        "way": "whole models",
        "source_median_error_ratio": {
            source: round(ratio(errors, 0.5), 3) for source, errors in by_source.items()
        },
    }
    lines = [f' "{key}": {pretty(value)}' for key, value in loaded.items()]
    encoder_data.FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def pretty(value: Any) -> str:
    """One row a line."""
    if isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()):
        inner = ",\n".join(
            f"  {json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in value.items()
        )
        return "{\n" + inner + "\n }"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in value) + "\n ]"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
