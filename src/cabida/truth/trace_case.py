"""A public run request by request: the same requests through our scheduler, percentile by percentile."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from cabida import facts, memory, timing
from cabida.plan import Deployment, Parallel, Settings
from cabida.plan.decision import STATISTICS
from cabida.text import tr
from cabida.truth.names import Unanswerable, accelerator_of, known_model, reading, stated_format
from cabida.units import MS_PER_S

COLUMNS = ("arrival_s", "input_tokens", "output_tokens")
MS = float(MS_PER_S)


def trace_figures(setup: Path) -> dict[str, tuple[float, float]]:
    """Measured and predicted latencies of a trace, by metric.

    Args:
        setup: the JSON beside the trace's CSV: what was run, and the figures measured.

    Raises:
        Unanswerable: the model, format or accelerator isn't known.
    """
    import numpy as np

    row: dict[str, Any] = json.loads(setup.read_text(encoding="utf-8"))
    with setup.with_suffix(".csv").open(encoding="utf-8", newline="") as lines:
        requests = list(csv.DictReader(lines))
    columns = [np.array([float(one[name]) for one in requests]) for name in COLUMNS]
    d = deployment_of(row)
    speed = timing.simulate_trace(d, memory.serving(d), *columns)
    found = {}
    for metric, shape in (("ttft_ms", speed.ttft_s), ("tpot_ms", speed.tpot_s)):
        for statistic in STATISTICS:
            name = f"{metric}_{statistic}"
            if name in row["measured"]:
                found[name] = (float(row["measured"][name]), getattr(shape, statistic) * MS)
    return found


@reading
def deployment_of(row: dict[str, Any]) -> Deployment:
    """The deployment a trace ran on."""
    args = row["args"]
    model = known_model(row["model"])
    weights = stated_format(args["dtype"])
    if model is None or weights is None:
        why = tr("truth.why.dtype", model=row["model"], format=args["dtype"])
        raise Unanswerable(why)
    accelerator = accelerator_of(row)
    return Deployment(
        model=model,
        accelerator=accelerator,
        parallel=Parallel(tp=row.get("tp") or 1, dp=row.get("dp") or 1, ep=row.get("ep") or 1),
        weights=weights,
        kv_cache=facts.weight_format("bf16"),
        engine=row["engine"],
        engine_version=row["engine_version"],
        settings=Settings(
            max_model_len=args.get("max_model_len"),
            max_num_seqs=args.get("max_num_seqs"),
            max_num_batched_tokens=args.get("max_num_batched_tokens"),
            gpu_memory_utilization=args.get("gpu_memory_utilization"),
        ),
        node=facts.node_for(accelerator),
    )
