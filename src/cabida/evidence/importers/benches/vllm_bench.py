"""What ``vllm bench serve``, ``latency`` and ``throughput`` save.

Keys from ``vllm/benchmarks/serve.py``, ``latency.py`` and ``throughput.py`` of vLLM 0.32.0 (and of the scripts under
``benchmarks/`` before 0.9): times of ``serve`` are milliseconds, those of ``latency`` seconds. TPOT is (latency -
TTFT) / (tokens - 1) of a request: ours. ``backend`` names the kind of request that is sent, not the engine that
answers it, so it is left out, save where only one engine has that kind.
"""

from __future__ import annotations

from typing import Any

from cabida.evidence.importers.benches.opening import Opened
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import MS_PER_S, Result, day_in, statistics
from cabida.evidence.importers.said import model_name, weights_named

NAME = "vllm-bench"
SIGNS = ('"total_token_throughput"', '"avg_latency"', '"total_num_tokens"')
PERCENTILES = {
    "mean": "mean",
    "median": "p50",
    "p50": "p50",
    "p75": "p75",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
}
FIGURES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms"}
ENGINES = {"sglang": "sglang", "tensorrt-llm": "tensorrt-llm", "tgi": "tgi", "lmdeploy": "lmdeploy"}
KNOWN = (
    "date", "endpoint_type", "label", "tokenizer_id", "burstiness", "ramp_up_strategy", "ramp_up_start_rps",
    "ramp_up_end_rps", "request_goodput", "input_lens", "output_lens", "ttfts", "itls", "latencies", "start_times",
    "queue_times", "generated_texts", "errors", "max_concurrent_requests", "rtfx", "best_of", "use_beam_search",
    "rps_change_events", "spec_decode_acceptance_rate", "spec_decode_num_drafts", "spec_decode_draft_tokens",
    "spec_decode_accepted_tokens", "spec_decode_per_position_acceptance_rates", "total_input",
)  # fmt: skip
LENGTHS = {"input_tokens": "input_lens", "output_tokens": "output_lens"}


def known(found: Opened) -> bool:
    """Whether a file is one of the three."""
    keys = found.first.keys()
    return (
        any(wanted <= keys for wanted in (_SERVE, _LATENCY, _THROUGHPUT))
        and "mean_e2e_latency_ms" not in keys
    )


_SERVE = {"request_throughput", "total_token_throughput", "completed", "duration"}
_LATENCY = {"avg_latency", "latencies", "percentiles"}
_THROUGHPUT = {"elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second"}


def read(found: Opened) -> list[Result]:
    """One result a run: several where runs were appended."""
    made = []
    for line, table in found.tables():
        page = Page(table, line=line)
        if table.keys() >= _SERVE:
            made.append(_serve(page))
        elif table.keys() >= _LATENCY:
            made.append(_latency(page))
        elif table.keys() >= _THROUGHPUT:
            made.append(_throughput(page))
    return made


def named(one: Result, page: Page, *keys: str) -> None:
    """The model under one of these keys, and the weight format that its name says."""
    model = model_name(page.words(*keys))
    one.say("model", model)
    one.say("weights", weights_named(model))


def _serve(page: Page) -> Result:
    one = Result("vllm bench serve", page, date=day_in(page.words("date")))
    named(one, page, "model_id")
    one.say("engine", ENGINES.get(page.words("backend", "endpoint_type")))
    if {"total_input_sequences", "input_sequence_throughput"} & page.values.keys():
        return _embedding(one, page)
    completed, took = page.number("completed"), page.number("duration")
    inputs, outputs = page.number("total_input_tokens"), page.number("total_output_tokens")
    one.count(completed=completed, duration_s=took, input_tokens=inputs, output_tokens=outputs)
    asked_of(one, page, completed, inputs, outputs)
    one.put("req_s", page.number("request_throughput"))
    one.put("output_tok_s", page.number("output_throughput"))
    one.put("total_tok_s", page.number("total_token_throughput"))
    one.put("peak_output_tok_s", page.number("max_output_tokens_per_s"))
    one.put("accept_len", page.number("spec_decode_acceptance_length"))
    if "accept_len" in one.measured:
        one.more["spec_decode"] = True
    figures_of(one, page, FIGURES)
    failed = page.number("failed")
    if failed is None and completed is not None and (tried := page.number("num_prompts")):
        failed = max(0.0, tried - completed)
    one.errors(failed, None if completed is None or failed is None else completed + failed)
    for key in page.values:
        if key.startswith(("std_", "probe_", "mean_client_queue", "median_client_queue", "diffusion_")):
            page.passed(key)
    page.passed(*KNOWN)
    return one


def asked_of(
    one: Result, page: Page, completed: float | None, inputs: float | None, outputs: float | None
) -> None:
    """The load: clients, rate, prompts, and the mean lengths of what was answered."""
    one.asked("concurrency", page.number("max_concurrency"))
    rate = page.value("request_rate")
    if rate not in ("inf", "trace") and (value := page.number("request_rate")) is not None:
        one.asked("requests_per_s", value)
    one.asked("prompts", page.number("num_prompts") or completed)
    if completed:
        one.asked("input_tokens", None if inputs is None else inputs / completed)
        one.asked("output_tokens", None if outputs is None else outputs / completed)
    if not {"concurrency", "requests_per_s"} & one.load.keys() and "prompts" in one.load:
        one.load["concurrency"] = "offline"  # all prompts at once, and nothing holds them back


def figures_of(one: Result, page: Page, names: dict[str, str]) -> None:
    """``mean_ttft_ms``, ``median_ttft_ms``, ``p99_ttft_ms`` ... under our names."""
    for theirs, ours in names.items():
        for key in list(page.values):
            head, _, tail = key.partition("_")
            if tail == f"{theirs}_ms":
                value = page.number(key)
                if head in PERCENTILES:
                    one.put(f"{ours}_{PERCENTILES[head]}", value)


def _embedding(one: Result, page: Page) -> Result:
    one.kind, one.setup["task"] = "media", "embed"
    completed, took = page.number("completed"), page.number("duration")
    one.count(completed=completed, duration_s=took)
    one.put("queries_s", page.number("request_throughput"))
    one.put("items_s", page.number("input_sequence_throughput"))
    one.put("input_tok_s", page.number("total_token_throughput"))
    figures_of(one, page, FIGURES)
    asked_of(one, page, completed, page.number("total_input_tokens"), None)
    page.passed(*KNOWN, "num_prompts", "total_input_sequences", "std_e2el_ms")
    return one


def _latency(page: Page) -> Result:
    one = Result("vllm bench latency", page, mode="static-batch")
    one.put("e2e_ms_mean", page.number("avg_latency"), MS_PER_S)
    told: Any = page.value("latencies")
    values = [value for value in told if isinstance(value, int | float)] if isinstance(told, list) else []
    table = page.table("percentiles")
    for percent in ("50", "75", "90", "99"):
        one.put(f"e2e_ms_p{percent}", table.number(percent), MS_PER_S)
    table.passed("10", "25")
    for name, value in statistics(values):
        one.put(f"e2e_ms_{name}", value, MS_PER_S)
    one.note("batch_unsaid")
    return one


def _throughput(page: Page) -> Result:
    one = Result("vllm bench throughput", page, mode="offline")
    named(one, page, "model_id")
    one.load["concurrency"] = "offline"
    one.asked("prompts", page.number("num_requests"))
    one.count(completed=page.number("num_requests"), duration_s=page.number("elapsed_time"))
    one.put("req_s", page.number("requests_per_second"))
    one.put("total_tok_s", page.number("tokens_per_second"))
    total, took = page.number("total_num_tokens"), one.counts.get("duration_s")
    if total is not None and took:
        one.count(input_tokens=total, output_tokens=0.0)
    return one
