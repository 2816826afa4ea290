"""In the form of guidellm, aiperf, inference-perf and llmperf: the keys and units their users' scripts read.

Keys from guidellm 0.8.1 (``benchmark/schemas``), aiperf 0.13.0 (``common/models/export_models.py``), inference-perf
0.7.0 (``reportgen/base.py``) and llmperf's ``token_benchmark_ray.py``. What isn't known is null or absent, never
zero; guidellm's own loader wants whole distributions, which a summary doesn't have.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cabida.evidence.exports.measured import MS_PER_S, Measured

S = 1 / MS_PER_S
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
SECONDS_A_MINUTE = 60.0
LLMPERF_VERSION = "2023-08-31"


def _text(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def guidellm(runs: Sequence[Measured]) -> dict[str, str]:
    """``benchmarks.json``: every run is one of its benchmarks."""
    report = {
        "metadata": {"version": 2, "guidellm_version": None, "python_version": None, "platform": None},
        "config": {},
        "benchmarks": [_guidellm(one) for one in runs],
    }
    return {"benchmarks.json": _text(report)}


def _guidellm(one: Measured) -> dict[str, Any]:
    def by_status(values: dict[str, float | None]) -> dict[str, Any]:
        percentiles = {name: values[name] for name in values if name != "mean"}
        well = {"mean": values.get("mean"), "median": values.get("p50"), "percentiles": percentiles}
        return {"successful": well, "errored": None, "incomplete": None, "total": None}

    def latency(ours: str, times: float = 1.0) -> dict[str, Any]:
        return by_status({name: one.figure(f"{ours}_{name}", times) for name in STATISTICS})

    def mean(value: float | None) -> dict[str, Any]:
        return by_status({"mean": value})

    strategy: dict[str, Any]
    if one.requests_per_s is not None:
        strategy = {"type_": "poisson", "rate": one.requests_per_s}
    else:
        strategy = {"type_": "concurrent", "streams": one.concurrency}
    return {
        "type_": "generative_benchmark",
        "config": {"run_id": one.name, "strategy": strategy, "backend": {"model": one.model}},
        "metrics": {
            "request_totals": {
                "successful": one.completed_count, "incomplete": 0, "errored": one.failed_count,
                "total": one.completed_count + one.failed_count,
            },
            "requests_per_second": mean(one.figure("req_s")),
            "request_concurrency": mean(one.figure("achieved_concurrency")),
            "request_latency": latency("e2e_ms", S),
            "prompt_token_count": mean(one.input_tokens_mean),
            "output_token_count": mean(one.output_tokens_mean),
            "time_to_first_token_ms": latency("ttft_ms"),
            "inter_token_latency_ms": latency("tpot_ms"),
            "prompt_tokens_per_second": mean(one.figure("input_tok_s")),
            "output_tokens_per_second": mean(one.figure("output_tok_s")),
            "tokens_per_second": mean(one.figure("total_tok_s")),
        },
        "start_time": one.started_s,
        "end_time": None if one.started_s is None else one.started_s + one.duration_s,
        "duration": one.duration_s,
    }  # fmt: skip


def aiperf(runs: Sequence[Measured]) -> dict[str, str]:
    """``NAME/profile_export_aiperf.json``, a folder a run."""
    return {
        f"{file_name(one.name, at)}/profile_export_aiperf.json": _text(_aiperf(one))
        for at, one in enumerate(runs)
    }


def _aiperf(one: Measured) -> dict[str, Any]:
    def latency(ours: str) -> dict[str, Any]:
        found = {name: one.figure(f"{ours}_{name}") for name in STATISTICS}
        return {"unit": "ms", "avg": found.pop("mean"), **found}

    def flat(unit: str, value: float | None) -> dict[str, Any]:
        return {"unit": unit, "avg": value}

    tried = one.completed_count + one.failed_count
    means = {"isl": one.input_tokens_mean, "osl": one.output_tokens_mean}
    known = {name: {"mean": mean} for name, mean in means.items() if mean}
    lengths = {"prompts": known} if known else {}
    if one.requests_per_s is not None:
        phase: dict[str, Any] = {"type": "poisson", "rate": one.requests_per_s}
    else:
        phase = {"type": "concurrency", "concurrency": one.concurrency}
    found = {
        "schema_version": "1.4",
        "request_throughput": flat("requests/sec", one.figure("req_s")),
        "request_latency": latency("e2e_ms"),
        "request_count": flat("requests", float(one.completed_count)),
        "error_request_count": flat("requests", float(one.failed_count)),
        "time_to_first_token": latency("ttft_ms"),
        "inter_token_latency": latency("tpot_ms"),
        "inter_chunk_latency": latency("itl_ms"),
        "output_token_throughput": flat("tokens/sec", one.figure("output_tok_s")),
        "total_token_throughput": flat("tokens/sec", one.figure("total_tok_s")),
        "output_sequence_length": flat("tokens", one.output_tokens_mean),
        "input_sequence_length": flat("tokens", one.input_tokens_mean),
        "benchmark_duration": flat("sec", one.duration_s),
        "input_config": {
            "models": {"items": [{"name": one.model}]},
            "endpoint": {"urls": [one.url], "streaming": True} if one.url else None,
            "datasets": [{"name": "main", "type": "synthetic", **lengths}],
            "phases": [{"name": "profiling", "kind": "profiling", "requests": max(1, tried), **phase}],
        },
        "start_time": _iso(one.started_s),
        "end_time": _iso(None if one.started_s is None else one.started_s + one.duration_s),
    }
    # what has no figure is left out, as aiperf does
    return {
        key: value
        for key, value in found.items()
        if not isinstance(value, dict) or value.get("avg", 0) is not None
    }


def _iso(at_s: float | None) -> str | None:
    return None if at_s is None else datetime.fromtimestamp(at_s, UTC).replace(tzinfo=None).isoformat()


def inference_perf(runs: Sequence[Measured]) -> dict[str, str]:
    """``stage_N_lifecycle_metrics.json``: every run is a stage."""
    return {f"stage_{at}_lifecycle_metrics.json": _text(_stage(one)) for at, one in enumerate(runs)}


def _stage(one: Measured) -> dict[str, Any]:
    def latency(ours: str) -> dict[str, Any] | None:
        found = {name: one.figure(f"{ours}_{name}", S) for name in STATISTICS}
        found["median"] = found.pop("p50")
        told = {name: value for name, value in found.items() if value is not None}
        return told or None

    asked = one.requests_per_s
    tried = one.completed_count + one.failed_count
    load: dict[str, Any] = {
        "count": tried,
        "schedule_delay": None,
        "send_duration": one.duration_s,
        "requested_rate": asked,
        "achieved_rate": tried / one.duration_s if one.duration_s > 0 else None,
    }
    if one.concurrency is not None:
        load["concurrency"] = one.concurrency
    return {
        "load_summary": load,
        "successes": {
            "count": one.completed_count,
            "latency": {
                "request_latency": latency("e2e_ms"),
                "time_per_output_token": latency("tpot_ms"),
                "time_to_first_token": latency("ttft_ms"),
                "inter_token_latency": latency("itl_ms"),
            },
            "throughput": {
                "input_tokens_per_sec": one.figure("input_tok_s"),
                "output_tokens_per_sec": one.figure("output_tok_s"),
                "total_tokens_per_sec": one.figure("total_tok_s"),
                "requests_per_sec": one.figure("req_s"),
            },
            "prompt_tokens": {"total": one.input_tokens_count, "mean": one.input_tokens_mean},
            "output_tokens": {"total": one.output_tokens_count, "mean": one.output_tokens_mean},
        },
        "failures": {"count": one.failed_count, "request_latency": None},
        "benchmark_time_seconds": one.duration_s,
    }


def llmperf(runs: Sequence[Measured]) -> dict[str, str]:
    """``NAME_summary.json``, one a run."""
    return {f"{file_name(one.name, at)}_summary.json": _text(_llmperf(one)) for at, one in enumerate(runs)}


def _llmperf(one: Measured) -> dict[str, Any]:
    tried = one.completed_count + one.failed_count
    rate, tokens = one.figure("req_s"), one.output_tokens_mean
    whole = one.figure("e2e_ms_mean", S)
    found: dict[str, Any] = {
        "version": LLMPERF_VERSION,
        "name": f"{one.name}_summary",
        "model": one.model,
        "mean_input_tokens": one.input_tokens_mean,
        "mean_output_tokens": tokens,
        "num_concurrent_requests": one.concurrency,
        "results_number_input_tokens_mean": one.input_tokens_mean,
        "results_number_output_tokens_mean": tokens,
        # as llmperf has it: the whole time over all tokens
        "results_inter_token_latency_s_mean": whole / tokens if whole is not None and tokens else None,
    }
    for theirs, ours in (("ttft_s", "ttft_ms"), ("end_to_end_latency_s", "e2e_ms")):
        found[f"results_{theirs}_mean"] = one.figure(f"{ours}_mean", S)
        for name in STATISTICS[1:]:
            found[f"results_{theirs}_quantiles_{name}"] = one.figure(f"{ours}_{name}", S)
    return found | {
        "results_num_requests_started": tried,
        "results_error_rate": one.failed_count / tried if tried else None,
        "results_number_errors": one.failed_count,
        "results_mean_output_throughput_token_per_s": one.figure("output_tok_s"),
        "results_num_completed_requests": one.completed_count,
        "results_num_completed_requests_per_min": None if rate is None else rate * SECONDS_A_MINUTE,
        "timestamp": None if one.started_s is None else int(one.started_s),
    }


def file_name(name: str, at: int) -> str:
    """What of a run's name may be in that of a file."""
    kept = "".join(char if (char.isalnum() and char.isascii()) or char in "-_" else "-" for char in name)
    return kept.strip("-")[:80] or f"run-{at}"
