"""Lines ``:::MLLOG {...}``: MLPerf training runs, and LoadGen's ``mlperf_log_detail.txt``.

Keys from ``mlperf_logging/mllog/constants.py`` and ``mllog.py`` of mlcommons/logging (6.0), whose times are
milliseconds since 1970, and from ``loadgen/results.cc`` and ``logging.h`` of mlcommons/inference. The time to target is
that between ``run_start`` and ``run_stop`` of a run whose status is success; a run that was aborted has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from cabida.evidence.importers.benches.loadgen import MODES, NS_TO_MS
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import MOST, MS_PER_S, Result, day_of, run_of
from cabida.evidence.importers.run import Run
from cabida.evidence.lines import Numbered

MARK = ":::MLLOG "
SIGNS = (":::MLLOG {",)
WORDS = (":::MLLOG",)
MS_PER_MINUTE = 60_000.0
LOADGEN = "mlperf::logging"
TASKS = {"llama2_70b_lora": "lora"}
SIZES = {"global_batch_size": "global_batch", "max_sequence_length": "seq_len"}
SPLITS = {"tensor_parallelism": "tp", "pipeline_parallelism": "pp", "context_parallelism": "cp",
          "expert_parallelism": "ep", "data_parallelism": "dp"}  # fmt: skip
MOST_FIGURES = 100_000  # throughputs of one run
PERCENTILE = re.compile(
    r"result_(?P<first>first_token_)?(?P<tpot>time_per_output_token_)?(?P<p>50|90|95|99)\.00_percentile_(?:latency_)?ns$"
)
DETAIL = {
    "result_mean_latency_ns": ("e2e_ms_mean", NS_TO_MS),
    "result_first_token_mean_latency_ns": ("ttft_ms_mean", NS_TO_MS),
    "result_time_to_output_token_mean": ("tpot_ms_mean", NS_TO_MS),
    "result_samples_per_second": ("req_s", 1.0),
    "result_completed_samples_per_sec": ("req_s", 1.0),
    "result_tokens_per_second": ("output_tok_s", 1.0),
    "result_completed_tokens_per_second": ("output_tok_s", 1.0),
    "result_inferred_tokens_per_second": ("output_tok_s", 1.0),
    "result_inferred_completed_tokens_per_second": ("output_tok_s", 1.0),
}


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run of what LoadGen tells, and one for each run of training from ``run_start`` to ``run_stop``."""
    served: Result | None = None
    trained: list[_Training] = []
    setup = _Training()
    odd: list[Numbered] = []
    for line in lines:
        event = _event(line)
        if event is None:
            odd.append(line)
        elif event.words("namespace") == LOADGEN:
            served = served or Result("mlperf loadgen")
            _detail(served, event)
        elif event.words("key") == "run_start" and setup.started_ms is not None:
            trained.append(setup)
            setup = _Training(setup.said)
            setup.take(event)
        else:
            setup.take(event)
    trained += [setup] if setup.started_ms is not None else []
    runs = [run_of(served)] if served is not None else []
    runs += [run_of(one.result()) for one in trained]
    runs = runs or [Run("")]
    for line in odd:
        runs[-1].keep(line)
    return runs


def _event(line: Numbered) -> Page | None:
    _, mark, text = line[1].partition(MARK)
    if not mark:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (
        Page(found, line=line[0]) if isinstance(found, dict) and isinstance(found.get("key"), str) else None
    )


def _detail(one: Result, event: Page) -> None:
    key, value = event.words("key"), event.number("value")
    if key in DETAIL:
        metric, times = DETAIL[key]
        one.put(metric, value, times)
    elif found := PERCENTILE.match(key):
        base = "ttft_ms" if found["first"] else "tpot_ms" if found["tpot"] else "e2e_ms"
        one.put(f"{base}_p{found['p']}", value, NS_TO_MS)
    elif key == "effective_scenario":
        name = event.words("value")
        one.mode = MODES.get(name, f"mlperf-{name.lower()[:20]}")
        if name in ("Offline", "SingleStream"):
            one.load["concurrency"] = "offline" if name == "Offline" else 1
    elif key == "result_scheduled_samples_per_sec":
        one.asked("requests_per_s", value)
    elif key == "result_validity":
        one.more["valid"] = event.words("value") == "VALID"
        if not one.more["valid"]:
            one.quality = "C"
            one.note("not_valid")


class _Training:
    """One training run, while its lines are read. ``said`` is what was told before it began."""

    def __init__(self, said: dict[str, Any] | None = None) -> None:
        self.said: dict[str, Any] = dict(said or {})
        self.started_ms: float | None = None
        self.stopped_ms: float | None = None
        self.status = ""
        self.samples: float | None = None
        self.rates: list[float] = []
        self.reached: float | None = None

    def take(self, event: Page) -> None:
        """One line."""
        key, value, metadata = event.words("key"), event.number("value"), event.table("metadata")
        at = event.number("time_ms")
        if key == "run_start":
            self.started_ms = at
        elif key == "run_stop":
            self.stopped_ms, self.status = at, metadata.words("status")
            self.samples = metadata.number("samples_count") or self.samples
        elif key == "eval_accuracy":
            self.reached = value
            told = metadata.number("samples_count")  # ``epoch_num`` counts epochs
            self.samples = self.samples if told is None else told
        elif key == "tracked_stats":
            rate = event.table("value").number("throughput")
            if rate is not None and rate > 0 and len(self.rates) < MOST_FIGURES:
                self.rates.append(rate)
        elif key == "submission_benchmark":
            self.said["model"] = event.words("value")
        elif key in ("submission_org", "submission_platform", "submission_division"):
            self.said[key] = event.words("value")
        elif key in SIZES or key in SPLITS or key == "gradient_accumulation_steps":
            self.said[key] = value

    def result(self) -> Result:
        """As a result of training."""
        one = Result("mlperf training", kind="training", date=day_of((self.started_ms or 0.0) / MS_PER_S))
        model = self.said.get("model") or ""
        one.setup = {"task": TASKS.get(model, "pretrain")}
        one.say("model", model)
        for theirs, ours in SPLITS.items():
            value = self.said.get(theirs)
            if value and 1 <= value < MOST and value.is_integer():
                one.say(ours, int(value))
        for theirs, ours in SIZES.items():
            value = self.said.get(theirs)
            if value and 0 < value < MOST:
                one.more[ours] = int(value) if value.is_integer() else value
        if platform := self.said.get("submission_platform"):
            one.note("system_named", name=platform)
        took = None
        if self.started_ms is not None and self.stopped_ms is not None:
            took = self.stopped_ms - self.started_ms
        if self.status == "success":
            one.put("minutes_to_target", took, 1 / MS_PER_MINUTE)
            if self.samples and self.samples > 0:
                one.put("samples_to_target", self.samples)
        elif took is not None:
            one.put("total_minutes", took, 1 / MS_PER_MINUTE)
            one.note("target_missed", status=self.status or "-")
        else:
            one.note("run_unfinished")
        if self.rates:
            one.put("samples_s", sum(self.rates) / len(self.rates))
        return one
