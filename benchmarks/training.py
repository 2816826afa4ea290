"""Training steps against published runs that no fit has seen, and how long asking takes.

    python benchmarks/training.py [--json]

``selene``: GPT-22B to 1T on A100 as NVIDIA measured them (arXiv 2205.05198), the runs Calculon was validated on;
none of them is in ``cases/``. ``speed``: answers a second of one process, layouts searched a second.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from cabida import facts, timing
from cabida.plan import TrainingRun
from cabida.timing.runs.layouts import best_layouts, layouts
from cabida.truth.training_case import shaped_model

HERE = Path(__file__).parent
SEQ_TOKENS = 2048
TIMES = 300


def selene_run(row: dict[str, Any], recompute: str) -> TrainingRun:
    """A row of ``selene.json`` as a run."""
    model = shaped_model(row | {"source": "arXiv 2205.05198"})
    return TrainingRun(
        model=model,
        accelerator=facts.accelerator("a100-sxm-80"),
        accelerators_count=row["gpus"],
        method="pretrain",
        precision="fp16",
        weights=facts.weight_format("bf16"),
        optimizer="adamw",
        sharding="none",
        seq_tokens=SEQ_TOKENS,
        micro_batch_count=row["micro_batch"],
        global_batch_count=row["batch"],
        tp=row["tp"],
        pp=row["pp"],
        recompute=recompute,
        framework="Megatron-LM",
        framework_version="2022-05",
        flash_attention=False,
        virtual_stages_count=row["virtual"],
        node=facts.node_for(facts.accelerator("a100-sxm-80")),
    )


def selene() -> list[dict[str, Any]]:
    """Measured and predicted seconds of every row, with the interval."""
    table = json.loads((HERE / "selene.json").read_text(encoding="utf-8"))
    found = []
    for row in table["rows"]:
        for recompute in ("full", "selective"):
            speed = timing.training(selene_run(row, recompute))
            low, high = speed.spread["step_s"]
            measured = row[f"{recompute}_s"]
            found.append(
                {
                    "model": row["model"],
                    "recompute": recompute,
                    "measured_s": measured,
                    "predicted_s": speed.step_s,
                    "error_ratio": math.exp(abs(math.log(speed.step_s / measured))) - 1,
                    "inside": speed.step_s * low <= measured <= speed.step_s * high,
                }
            )
    return found


def per_s(work: Any, times: int) -> float:
    """How often a second."""
    work()
    begun = time.perf_counter()
    for _ in range(times):
        work()
    return times / (time.perf_counter() - begun)


def asking() -> dict[str, float]:
    """Answers and layouts a second."""
    run = selene_run(json.loads((HERE / "selene.json").read_text(encoding="utf-8"))["rows"][1], "selective")
    wide = replace(run, sharding="zero-1", global_batch_count=512)
    count = sum(1 for _ in layouts(wide))
    begun = time.perf_counter()
    best_layouts(wide)
    return {
        "answers_per_s": per_s(lambda: timing.training(run), TIMES),
        "layouts_count": count,
        "layout_search_s": time.perf_counter() - begun,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    rows, speed = selene(), asking()
    errors = [row["error_ratio"] for row in rows]
    found = {
        "selene": rows,
        "selene_median_error_ratio": statistics.median(errors),
        "selene_worst_error_ratio": max(errors),
        "speed": speed,
    }
    if wanted.json:
        print(json.dumps(found, indent=1))
        return 0
    for row in rows:
        print(
            f"{row['model']:9} {row['recompute']:9} measured {row['measured_s']:6.2f} s, predicted "
            f"{row['predicted_s']:6.2f} s, error {row['error_ratio']:.1%}, {'in' if row['inside'] else 'OUT'}"
        )
    print(f"median {found['selene_median_error_ratio']:.1%}, worst {found['selene_worst_error_ratio']:.1%}")
    print(", ".join(f"{name} {value:.4g}" for name, value in speed.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
