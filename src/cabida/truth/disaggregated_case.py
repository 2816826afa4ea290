"""A disaggregated serving case: its decode workers see prompts that others have already read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import memory, timing
from cabida.plan import Deployment, Load
from cabida.text import tr
from cabida.truth.case import Figures
from cabida.truth.names import Unanswerable, reading
from cabida.truth.serving_case import MS, deployment_of, load_of

WORKERS = re.compile(r"prefill workers (\d+) \([^)]*\), decode workers (\d+) \(tp(\d+),adp(\d+),ep(\d+)")


def disaggregated_figures(row: dict[str, Any]) -> Figures:
    """TPOT of the decode workers, each with its share of the clients. TTFT depends on the hand-over: not predicted.

    Raises:
        Unanswerable: the case doesn't count its workers, or lacks lengths, load or format.
    """
    d, load = decode_worker(row)
    m = memory.serving(d)
    if m.kv_pool_tokens < load.input_tokens + load.output_tokens:
        why = tr("truth.why.no_fit")
        raise Unanswerable(why)
    speed = timing.fluid(d, m, load)
    value, (low, high) = speed.tpot_s.mean * MS, speed.spread["tpot_s"]
    return dict.fromkeys(("tpot_ms", "tpot_ms_mean"), (value, value * low, value * high))


@reading
def decode_worker(row: dict[str, Any]) -> tuple[Deployment, Load]:
    """One decode worker and what it carries: the prompt counts as already cached, but is attended to."""
    counted = WORKERS.search(row.get("note", ""))
    if counted is None:
        why = tr("truth.why.workers")
        raise Unanswerable(why)
    workers, tp, dp, ep = (int(number) for number in counted.groups()[1:])
    one = {**row, "gpus": tp * dp, "tp": tp, "dp": dp, "ep": ep, "mode": "agg"}
    load = load_of(one)
    clients = max(1.0, (load.concurrency or 1.0) / workers)
    cached = replace(
        load, concurrency=clients, shared_prefix_tokens=load.input_tokens - 1, prompts_count=None
    )
    return deployment_of(one, load), cached
