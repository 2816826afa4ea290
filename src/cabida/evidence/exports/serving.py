"""In the form of ``vllm bench serve`` and SGLang's ``bench_serving``: one object a run, a line each.

Keys and units as in ``vllm/benchmarks/serve.py`` of vLLM 0.32.0 (a line each is its ``--append-result``) and
``sglang/benchmark/serving.py`` of SGLang 0.5.23. A latency that isn't known is left out, as
vLLM leaves out what it wasn't asked for; anything else is null, never zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from cabida.evidence.exports.measured import Measured

HEADS = {"mean": "mean", "median": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
VLLM = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms"}
SGLANG = {"e2e_latency": "e2e_ms", "ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms"}


def vllm(runs: Sequence[Measured]) -> dict[str, str]:
    """``results.json``: of several runs a line each, as ``--append-result`` has them."""
    return {"results.json": "\n".join(json.dumps(_vllm(one)) for one in runs) + "\n"}


def sglang(runs: Sequence[Measured]) -> dict[str, str]:
    """``results.jsonl``."""
    return {"results.jsonl": "".join(json.dumps(_sglang(one)) + "\n" for one in runs)}


def _latencies(one: Measured, names: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for theirs, ours in names.items():
        told = {f"{head}_{theirs}_ms": one.figure(f"{ours}_{statistic}") for head, statistic in HEADS.items()}
        found |= {key: value for key, value in told.items() if value is not None}
    return found


def _vllm(one: Measured) -> dict[str, Any]:
    at = (
        None
        if one.started_s is None
        else datetime.fromtimestamp(one.started_s, UTC).strftime("%Y%m%d-%H%M%S")
    )
    return {
        "date": at,
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": one.name,
        "model_id": one.model,
        "tokenizer_id": one.model,
        "num_prompts": one.completed_count + one.failed_count,
        "request_rate": "inf" if one.requests_per_s is None else one.requests_per_s,
        "burstiness": 1.0 / one.burst_ratio,  # its gaps' shape
        "max_concurrency": one.concurrency,
        "duration": one.duration_s,
        "completed": one.completed_count,
        "failed": one.failed_count,
        "total_input_tokens": one.input_tokens_count,
        "total_output_tokens": one.output_tokens_count,
        "request_throughput": one.figure("req_s"),
        "request_goodput": None,
        "output_throughput": one.figure("output_tok_s"),
        "total_token_throughput": one.figure("total_tok_s"),
        **_latencies(one, VLLM),
    }


def _sglang(one: Measured) -> dict[str, Any]:
    return {
        "tag": one.name,
        "backend": one.engine or "sglang-oai-chat",
        "dataset_name": "cabida",
        "request_rate": math.inf if one.requests_per_s is None else one.requests_per_s,
        "max_concurrency": one.concurrency,
        "server_info": {"model_path": one.model} if one.model else None,
        "duration": one.duration_s,
        "completed": one.completed_count,
        "total_input_tokens": one.input_tokens_count,
        "total_output_tokens": one.output_tokens_count,
        "request_throughput": one.figure("req_s"),
        "input_throughput": one.figure("input_tok_s"),
        "output_throughput": one.figure("output_tok_s"),
        "total_throughput": one.figure("total_tok_s"),
        **_latencies(one, SGLANG),
        "concurrency": one.figure("achieved_concurrency"),
        "accept_length": None,
        "errors": [""] * one.completed_count + ["failed"] * one.failed_count if one.failed_count else None,
    }
