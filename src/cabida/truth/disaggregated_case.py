"""A disaggregated serving case: its decode workers see prompts that others have already read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import memory, timing
from cabida.plan import Deployment, Load
from cabida.text import tr
from cabida.timing.intervals import factors
from cabida.timing.spread import spread_of
from cabida.truth.case import Figures
from cabida.truth.names import Unanswerable, reading
from cabida.truth.serving_case import MS, deployment_of, load_of, roomy
from cabida.truth.unstated import WORKERS, decode_workers_count, left_unsaid

COUNTED = re.compile(
    r"prefill workers (?P<prefill>\d*) \([^)]*\), "
    r"decode workers (?P<decode>\d*) \(tp(?P<tp>\d+),adp(?P<dp>\d+),ep(?P<ep>\d+)(?:,bs(?P<batch>\d*))?"
)
HANDED_OVER = "handed over"  # the word of a regime whose prompts others have read


def disaggregated_figures(row: dict[str, Any]) -> Figures:
    """TPOT of the decode workers, each with its share of the clients. TTFT depends on the hand-over: not predicted.

    Raises:
        Unanswerable: the case doesn't say how its workers are split, or lacks load or format.
    """
    d, load = decode_worker(row)
    m = roomy(memory.serving(d), load)
    speed = timing.fluid(d, m, load)
    low, high = factors(spread_of(d, load, missing_of(row)), "tpot_s")
    value = speed.tpot_s.mean * MS
    return dict.fromkeys(("tpot_ms", "tpot_ms_mean"), (value, value * low, value * high))


def missing_of(row: dict[str, Any]) -> tuple[str, ...]:
    """What the case leaves unsaid, and that its prompts were handed over."""
    counted = COUNTED.search(row.get("note", ""))
    uncounted = (WORKERS,) if counted is not None and not counted["decode"] else ()
    return (*left_unsaid({**row, "tp": 1}), *uncounted, HANDED_OVER)


@reading
def decode_worker(row: dict[str, Any]) -> tuple[Deployment, Load]:
    """One decode worker and what it carries: the prompt counts as already cached, but is attended to."""
    counted = COUNTED.search(row.get("note", ""))
    if counted is None:
        why = tr("truth.why.workers")
        raise Unanswerable(why)
    tp, dp, ep = (int(counted[name]) for name in ("tp", "dp", "ep"))
    workers = int(counted["decode"] or decode_workers_count(tp * dp))
    together = workers * dp * float(counted["batch"]) if counted["batch"] else None
    one = {**row, "gpus": tp * dp, "tp": tp, "dp": dp, "ep": ep, "mode": "agg"}
    load = load_of(one, together)
    clients = max(1.0, (load.concurrency or 1.0) / workers)
    cached = replace(
        load, concurrency=clients, shared_prefix_tokens=load.input_tokens - 1, prompts_count=None
    )
    return deployment_of(one, load), cached
