"""What SGLang's ``bench_serving`` appends to its JSON lines.

Keys from ``sglang/benchmark/serving.py`` of SGLang 0.5.23 (``bench_serving.py`` before): times are milliseconds,
TPOT is (latency - TTFT) / (tokens - 1) of a request, ITL the time between two pieces of a stream. ``backend`` is what
was told to be measured.
"""

from __future__ import annotations

from cabida.evidence.importers.benches.opening import Opened
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import Result
from cabida.evidence.importers.benches.vllm_bench import asked_of, figures_of
from cabida.evidence.importers.said import CACHES, TYPES, model_name, weights_named

NAME = "sglang-bench"
SIGNS = ('"mean_e2e_latency_ms"',)
FIGURES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2e_latency": "e2e_ms"}
ENGINES = {"sglang": "sglang", "sglang-native": "sglang", "sglang-oai": "sglang", "sglang-oai-chat": "sglang",
           "vllm": "vllm", "vllm-chat": "vllm", "lmdeploy": "lmdeploy", "lmdeploy-chat": "lmdeploy",
           "trt": "tensorrt-llm"}  # fmt: skip
KNOWN = (
    "tag", "sharegpt_output_len", "random_input_len", "random_output_len", "total_input_text_tokens",
    "total_input_vision_tokens", "total_output_tokens_retokenized",
    "output_throughput_retokenized", "total_throughput_retokenized",
    "max_concurrent_requests", "input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors",
    "cached_tokens", "cached_tokens_details", "cache_report", "goodput_slos_ms", "request_goodput", "slo_attainment",
    "slo_attainment_by_metric", "max_itl_ms",
)  # fmt: skip
SERVER = ("tp_size", "dp_size", "pp_size", "ep_size")


def known(found: Opened) -> bool:
    """Whether a file is one."""
    return found.first.keys() >= {"request_throughput", "mean_e2e_latency_ms", "completed", "duration"}


def read(found: Opened) -> list[Result]:
    """One result a line."""
    return [_one(Page(table, line=line)) for line, table in found.tables() if "mean_e2e_latency_ms" in table]


def _one(page: Page) -> Result:
    one = Result("sglang bench_serving", page)
    one.say("engine", ENGINES.get(page.words("backend")))
    _server(one, page.table("server_info"))
    completed, inputs = page.number("completed"), page.number("total_input_tokens")
    outputs = page.number("total_output_tokens")
    one.count(
        completed=completed, duration_s=page.number("duration"), input_tokens=inputs, output_tokens=outputs
    )
    asked_of(one, page, completed, inputs, outputs)
    dataset, ratio = page.words("dataset_name"), page.number("random_range_ratio")
    if dataset:
        one.load["dataset"] = dataset
    if dataset.startswith("random") and ratio is not None and ratio < 1:
        one.load["dataset"] = (
            f"{dataset}, range-ratio {ratio:g}"  # by which the spread of its lengths is known
        )
        one.note("lengths_drawn", ratio=f"{ratio:g}")
    one.put("req_s", page.number("request_throughput"))
    one.put("input_tok_s", page.number("input_throughput"))
    one.put("output_tok_s", page.number("output_throughput"))
    one.put("total_tok_s", page.number("total_throughput"))
    one.put("peak_output_tok_s", page.number("max_output_tokens_per_s"))
    one.put("achieved_concurrency", page.number("concurrency"))
    accepted = page.number("accept_length")
    if accepted is not None and accepted > 1.0:
        one.put("accept_len", accepted)
        one.more["spec_decode"] = True
    figures_of(one, page, FIGURES)
    errors = page.value("errors")
    if isinstance(errors, list):
        one.errors(float(sum(1 for text in errors if text)), float(len(errors)))
    page.passed(*KNOWN, *(key for key in page.values if key.startswith("std_")))
    return one


def _server(one: Result, page: Page) -> None:
    """What the server told of its settings (``/get_server_info``), where the tool asked for it."""
    if not page.values:
        return
    model = model_name(page.words("model_path"))
    one.say("model", model)
    one.say("engine_version", page.words("version"))
    one.say("weights", weights_named(model) or _typed(page))
    cache = page.words("kv_cache_dtype")
    one.say("kv_cache", CACHES.get(cache) or TYPES.get(cache))
    for ours, theirs in zip(("tp", "dp", "pp", "ep"), SERVER, strict=True):
        value = page.whole(theirs)
        if value and (value > 1 or ours == "tp"):
            one.say(ours, value)
    page.passed(*page.values)  # a hundred settings more


def _typed(page: Page) -> str:
    return "" if page.value("quantization") else TYPES.get(page.words("dtype"), "")
