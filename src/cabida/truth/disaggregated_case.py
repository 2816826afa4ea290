"""A disaggregated serving case: its decode workers see prompts that others have already read."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from cabida import memory
from cabida.plan import Deployment, Load
from cabida.text import tr
from cabida.timing.engine.steps import step_model
from cabida.timing.intervals import factors
from cabida.timing.queues.handed_over import written_s
from cabida.timing.spread import spread_of
from cabida.truth.case import Figures
from cabida.truth.names import Unanswerable, reading
from cabida.truth.serving_case import MS, deployment_of, load_of, roomy
from cabida.truth.unstated import WORKERS, decode_workers_count, left_unsaid, tokens_per_step

COUNTED = re.compile(
    r"prefill workers (?P<readers>\d*) \(tp(?P<read_tp>\d+),adp(?P<read_dp>\d+),ep(?P<read_ep>\d+)[^)]*\), "
    r"decode workers (?P<decode>\d*) \(tp(?P<tp>\d+),adp(?P<dp>\d+),ep(?P<ep>\d+)(?:,bs(?P<batch>\d*))?"
)
HANDED_OVER = "handed over"  # the word of a regime whose prompts others have read


def disaggregated_figures(row: dict[str, Any]) -> Figures:
    """TPOT of the decode workers, each with its share of the clients. TTFT depends on the hand-over: not predicted.

    Raises:
        Unanswerable: the case doesn't say how its workers are split, or lacks load or format.
    """
    d, load = decode_worker(row)
    reader, readers = prompt_worker(row)
    workers = workers_count(row)
    models = [step_model(one, roomy(memory.serving(one), load)) for one in (reader, d)]
    whole = replace(load, concurrency=(load.concurrency or 1.0) * workers)
    low, high = factors(spread_of(d, load, missing_of(row)), "tpot_s")
    value = written_s(models[0], readers, models[1], workers, whole) * MS / tokens_per_step(row)
    return dict.fromkeys(("tpot_ms", "tpot_ms_mean"), (value, value * low, value * high))


def missing_of(row: dict[str, Any]) -> tuple[str, ...]:
    """What the case leaves unsaid, and that its prompts were handed over."""
    counted = COUNTED.search(row.get("note", ""))
    uncounted = (WORKERS,) if counted is not None and not counted["decode"] else ()
    return (*left_unsaid({**row, "tp": 1}), *uncounted, HANDED_OVER)


def _counted(row: dict[str, Any]) -> re.Match[str]:
    found = COUNTED.search(row.get("note", ""))
    if found is None:
        why = tr("truth.why.workers")
        raise Unanswerable(why)
    return found


def workers_count(row: dict[str, Any]) -> int:
    """Decode workers of the run: as counted, else as many as such runs have."""
    counted = _counted(row)
    return int(counted["decode"] or decode_workers_count(int(counted["tp"]) * int(counted["dp"])))


@reading
def decode_worker(row: dict[str, Any]) -> tuple[Deployment, Load]:
    """One decode worker and its share of the clients."""
    counted = _counted(row)
    tp, dp, ep = (int(counted[name]) for name in ("tp", "dp", "ep"))
    workers = workers_count(row)
    together = workers * dp * float(counted["batch"]) if counted["batch"] else None
    one = {**row, "gpus": tp * dp, "tp": tp, "dp": dp, "ep": ep, "mode": "agg"}
    load = load_of(one, together)
    share = replace(load, concurrency=max(1.0, (load.concurrency or 1.0) / workers), prompts_count=None)
    return deployment_of(one, load), share


@reading
def prompt_worker(row: dict[str, Any]) -> tuple[Deployment, float]:
    """One worker that reads prompts, and how many there are: infinite where the row doesn't count them."""
    counted = _counted(row)
    tp, dp, ep = (int(counted[name]) for name in ("read_tp", "read_dp", "read_ep"))
    one = {**row, "gpus": tp * dp, "tp": tp, "dp": dp, "ep": ep, "mode": "agg"}
    return deployment_of(one, decode_worker(row)[1]), float(counted["readers"] or math.inf)
