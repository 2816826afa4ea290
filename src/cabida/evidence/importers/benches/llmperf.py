"""What llmperf saves: ``*_summary.json`` and ``*_individual_responses.json``.

Keys from ``token_benchmark_ray.py``, ``src/llmperf/common_metrics.py`` and ``utils.py`` of llmperf 2.0 (results
version 2023-08-31): times are seconds. Its inter-token latency is the whole time of a request, the first token's
too, over its tokens; ours, (whole - first) / (tokens - 1), follows request by request from the individual
responses, and from the means of a summary nearly. Its tokens are those of the Llama 2 tokenizer, whatever the model.
"""

from __future__ import annotations

from cabida.evidence.importers.benches.opening import Opened
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import MS_PER_S, Result, day_of, statistics
from cabida.evidence.importers.said import model_name, weights_named

NAME = "llmperf"
SIGNS = ('"results_ttft_s_mean"', '"end_to_end_latency_s"')
FIGURES = {"ttft_s": "ttft_ms", "end_to_end_latency_s": "e2e_ms"}
PERCENTILES = ("p50", "p75", "p90", "p95", "p99")
KNOWN = (
    "version", "name", "stddev_input_tokens", "stddev_output_tokens", "results_error_code_frequency",
    "results_num_requests_started", "results_num_completed_requests",
)  # fmt: skip
KNOWN_START = (
    "results_inter_token_latency_s_", "results_request_output_throughput", "results_number_input_tokens_",
    "results_number_output_tokens_", "additional_sampling_params",
)  # fmt: skip
SECONDS_A_MINUTE = 60.0


def known(found: Opened) -> bool:
    """Whether a file is either of the two."""
    keys = found.first.keys()
    return "results_ttft_s_mean" in keys or keys >= {
        "ttft_s",
        "end_to_end_latency_s",
        "inter_token_latency_s",
    }


def read(found: Opened) -> list[Result]:
    """One result a file."""
    if "results_ttft_s_mean" in found.first:
        return [_summary(Page(table, line=line)) for line, table in found.tables()]
    return [_individual(found)]


def _summary(page: Page) -> Result:
    one = Result("llmperf", page, date=day_of(page.number("timestamp")))
    model = page.words("model")
    one.say("model", model_name(model))
    one.say("weights", weights_named(model))
    one.asked("concurrency", page.number("num_concurrent_requests"))
    one.asked("input_tokens", page.number("results_number_input_tokens_mean", "mean_input_tokens"))
    one.asked("output_tokens", page.number("results_number_output_tokens_mean", "mean_output_tokens"))
    page.passed("mean_input_tokens", "mean_output_tokens")
    for theirs, ours in FIGURES.items():
        one.put(f"{ours}_mean", page.number(f"results_{theirs}_mean"), MS_PER_S)
        for name in PERCENTILES:
            one.put(f"{ours}_{name}", page.number(f"results_{theirs}_quantiles_{name}"), MS_PER_S)
        page.passed(*(key for key in page.values if key.startswith(f"results_{theirs}_")))
    one.put("output_tok_s", page.number("results_mean_output_throughput_token_per_s"))
    minute = page.number("results_num_completed_requests_per_min")
    one.put("req_s", minute, 1 / SECONDS_A_MINUTE)
    done = page.number("results_num_completed_requests")
    one.asked("prompts", done)
    one.errors(page.number("results_number_errors"), page.number("results_num_requests_started"))
    page.passed("results_error_rate")
    _tpot_of_means(one)
    one.note("llama_tokens")
    page.passed(*KNOWN, *(key for key in page.values if key.startswith(KNOWN_START)))
    return one


def _tpot_of_means(one: Result) -> None:
    whole, first = one.measured.get("e2e_ms_mean"), one.measured.get("ttft_ms_mean")
    tokens = one.load.get("output_tokens")
    if whole and first and tokens and tokens > 1 and whole > first:
        one.put("tpot_ms_mean", (whole - first) / (tokens - 1))
        one.quality = "B"
        one.note("tpot_of_means")


def _individual(found: Opened) -> Result:
    one = Result("llmperf", Page({}, line=1))
    first, whole, per_token, inputs, outputs = [], [], [], [], []
    failed = count = 0
    for line, table in found.tables():
        page = Page(table, line=line)
        count += 1
        if page.value("error_code") is not None:
            failed += 1
            continue
        ttft, e2e, tokens = (
            page.number(key) for key in ("ttft_s", "end_to_end_latency_s", "number_output_tokens")
        )
        read_ = page.number("number_input_tokens")
        inputs += [read_] if read_ else []
        outputs += [tokens] if tokens else []
        if ttft is None or e2e is None:
            continue
        first.append(ttft)
        whole.append(e2e)
        if tokens and tokens > 1:
            per_token.append((e2e - ttft) / (tokens - 1))
    for ours, values in (("ttft_ms", first), ("e2e_ms", whole), ("tpot_ms", per_token)):
        one.spread(ours, dict(statistics(values)), MS_PER_S)
    one.asked("input_tokens", dict(statistics(inputs)).get("mean"))
    one.asked("output_tokens", dict(statistics(outputs)).get("mean"))
    one.asked("prompts", float(count - failed))
    one.errors(float(failed), float(count))
    one.quality = "B"
    one.note("worked_out", count=count - failed)
    one.note("llama_tokens")
    return one
