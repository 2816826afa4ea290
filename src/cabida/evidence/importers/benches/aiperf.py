"""What aiperf and genai-perf export: ``profile_export_*.json``, ``.csv`` and aiperf's ``profile_export.jsonl``.

Keys from ``aiperf/common/models/export_models.py``, ``exporters`` and ``metrics/types`` of aiperf 0.13.0, and
``genai_perf/export_data``, ``metrics`` and ``profile_data_parser`` of genai-perf 0.0.16 (whose ``profile_export.json``,
perf_analyzer's, has the times of requests and no tokens). Each metric has its unit. What both call inter-token
latency is (request latency - TTFT) / (tokens - 1) of a request: ours is ``tpot_ms``. aiperf's inter-chunk latency is
our ``itl_ms``. Both count tokens with a tokenizer of their own; where aiperf also has the server's count (``usage_``)
and it is another, figures by the token are no figures of the model.
"""

from __future__ import annotations

import re
from typing import Any

from cabida.evidence.importers.benches.opening import CSV, Opened
from cabida.evidence.importers.benches.pages import Page, number_of
from cabida.evidence.importers.benches.result import Result, day_in, refuse_other_counts, statistics
from cabida.evidence.importers.said import model_name, weights_named

NAME = "aiperf"
SIGNS = ('"time_to_first_token"', '"request_throughput"', '"input_config"')
NS_PER_S = 1e9
UNITS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "sec": 1e3, "s": 1e3, "seconds": 1e3}
LATENCIES = {
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "tpot_ms",
    "inter_chunk_latency": "itl_ms",
    "request_latency": "e2e_ms",
}
RATES = {
    "request_throughput": "req_s",
    "output_token_throughput": "output_tok_s",
    "total_token_throughput": "total_tok_s",
    "input_token_throughput": "input_tok_s",
}
LENGTHS = {"input_sequence_length": "input_tokens", "output_sequence_length": "output_tokens"}
STATISTICS = {"avg": "mean", "p50": "p50", "p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99"}
KNOWN = (
    "schema_version", "aiperf_version", "benchmark_id", "run_info", "was_cancelled", "is_complete",
    "incomplete_reason", "error_summary", "start_time", "end_time", "branch_stats", "warmup_metrics", "metadata",
    "time_to_second_token", "output_token_throughput_per_user", "goodput", "good_request_count",
    "request_goodput", "output_token_count", "reasoning_token_count", "min_request_timestamp",
    "max_response_timestamp", "total_output_tokens", "total_reasoning_tokens", "total_isl", "total_osl",
    "error_isl", "total_error_isl", "sessions", "telemetry_stats", "prefill_throughput_per_user",
    "time_to_first_output_token", "pooled_spec_decode_acceptance_histogram", "thinking_efficiency",
    "overall_thinking_efficiency", "request_error_rate", "completed_request_count", "tokens_in_flight",
     "e2e_output_token_throughput", "decode_duration",
)  # fmt: skip
INPUT_RATES = ("input_tok_s", "total_tok_s")
USAGE = {"usage_prompt_tokens": "input_tokens", "usage_completion_tokens": "output_tokens"}
KNOWN_START = (
    "usage_",
    "effective_",
    "active_",
    "total_usage_",
    "http_req_",
    "stream_",
    "osl_mismatch",
    "credit_",
    "network_",
)
CSV_HEAD = ["Metric", "avg", "min", "max"]
IN_CSV = re.compile(r"^(?P<name>[^()]+?)(?: \((?P<unit>[^)]+)\))?$")
ENGINES = {"vllm": "vllm", "tensorrtllm": "tensorrt-llm", "tensorrtllm_engine": "tensorrt-llm"}


def known(found: Opened) -> bool:
    """Whether a file is one of theirs."""
    if found.kind == CSV:
        return bool(found.rows) and found.rows[0][:4] == CSV_HEAD
    first = found.first
    if _is_record(first) or _experiments(first):
        return True
    metric = first.get("request_latency") or first.get("request_throughput")
    return isinstance(metric, dict) and {"unit", "avg"} <= metric.keys()


def read(found: Opened) -> list[Result]:
    """One result a file: the statistics as exported, or those of the requests it gives one by one."""
    if found.kind == CSV:
        return [_of_csv(found)]
    if _is_record(found.first):
        return [_of_records(found)]
    if _experiments(found.first):
        return [_of_experiment(Page(one)) for one in _experiments(found.first)]
    return [_one(Page(table, line=line)) for line, table in found.tables()]


def _experiments(table: dict[str, Any]) -> list[dict[str, Any]]:
    told = table.get("experiments")
    rows = told if isinstance(told, list) else []
    return [one for one in rows if isinstance(one, dict) and {"experiment", "requests"} <= one.keys()]


def _of_experiment(page: Page) -> Result:
    """One load of perf_analyzer, from the nanoseconds at which each request left and each piece of its answer came."""
    one = Result("genai-perf", page)
    asked = page.table("experiment")
    key = {"concurrency": "concurrency", "request_rate": "requests_per_s"}.get(asked.words("mode"))
    if key:
        one.asked(key, asked.number("value"))
    sent, first, last = [], [], []
    for row in page.tables("requests"):
        start, told = row.number("timestamp"), row.value("response_timestamps")
        came = [at for at in map(number_of, told if isinstance(told, list) else ()) if at is not None]
        if start is not None and came:
            sent.append(start)
            first.append(came[0] - start)
            last.append(came[-1] - start)
            one.more["streamed"] = one.more.get("streamed", False) or len(came) > 1
        row.done()
    if one.more.pop("streamed", False):
        one.spread("ttft_ms", dict(statistics(first)), UNITS["ns"])
    one.spread("e2e_ms", dict(statistics(last)), UNITS["ns"])
    if sent and (took := max(at + whole for at, whole in zip(sent, last, strict=True)) - min(sent)) > 0:
        one.put("req_s", len(sent) / took * NS_PER_S)
    one.asked("prompts", float(len(sent)))
    one.quality = "B"
    one.note("worked_out", count=len(sent))
    page.passed("window_boundaries")
    asked.done()
    return one


def _is_record(table: dict[str, Any]) -> bool:
    metrics, metadata = table.get("metrics"), table.get("metadata")
    return isinstance(metrics, dict) and isinstance(metadata, dict) and "request_start_ns" in metadata


def _one(page: Page) -> Result:
    ours = any(key in page.values for key in ("aiperf_version", "schema_version", "benchmark_id", "run_info"))
    settings = page.table("input_config")
    ours = ours or "loadgen" in settings.values or "phases" in settings.values
    one = Result("aiperf" if ours else "genai-perf", page, date=day_in(page.words("start_time")))
    for theirs, name in LATENCIES.items():
        table = page.table(theirs)
        times = UNITS.get(table.words("unit"))
        if times is not None:
            one.spread(name, {stat: table.number(key) for key, stat in STATISTICS.items()}, times)
        table.passed(*table.values)
    means: dict[str, float | None] = {}
    for theirs in (*RATES, *LENGTHS, *USAGE, "effective_concurrency"):
        table = page.table(theirs)
        means[theirs] = table.number("avg")
        table.done()
    for theirs, name in RATES.items():
        one.put(name, means[theirs])
    one.put("achieved_concurrency", means["effective_concurrency"])
    _lengths(one, means)
    requests, errors = page.table("request_count"), page.table("error_request_count")
    took = page.table("benchmark_duration")
    done, failed = requests.number("avg"), errors.number("avg")
    one.asked("prompts", done)
    one.errors(failed or 0.0 if ours and done is not None else failed, (done or 0.0) + (failed or 0.0))
    scale = UNITS.get(took.words("unit"))
    if scale is not None and (value := took.number("avg")) is not None:
        one.count(completed=done, duration_s=value * scale / 1e3)
    _settings(one, settings)
    _cards(one, page.table("telemetry_data"))
    for table in (requests, errors, took):
        table.passed(*table.values)
    page.passed(*KNOWN, *(key for key in page.values if key.startswith(KNOWN_START)))
    return one


def _lengths(one: Result, means: dict[str, float | None]) -> None:
    """Mean lengths, by the server's own count where there is one; figures of another count are refused."""
    for (theirs, ours), counted in zip(USAGE.items(), LENGTHS, strict=True):
        one.asked(ours, means.get(theirs) or means.get(counted))
    refuse_other_counts(one, means.get("usage_completion_tokens"), means.get("output_sequence_length"))
    refuse_other_counts(
        one, means.get("usage_prompt_tokens"), means.get("input_sequence_length"), INPUT_RATES
    )


def _settings(one: Result, settings: Page) -> None:
    """Clients, rate and model, wherever the release keeps them."""
    names = settings.value("model_names") or settings.table("endpoint").value("model_names")
    items = settings.table("models").tables("items")
    model = names[0] if isinstance(names, list) and names else names
    if not isinstance(model, str):
        model = items[0].words("name") if items else settings.words("model")
    one.say("model", model_name(model))
    one.say("weights", weights_named(model))
    one.say("engine", ENGINES.get(settings.table("endpoint").words("backend")))
    stimulus = settings.table("perf_analyzer").table("stimulus")
    load = settings.table("loadgen")
    phases = [page for page in settings.tables("phases") if page.words("kind", "name") != "warmup"]
    if "profiling" in settings.values:
        phases.append(settings.table("profiling"))
    main = phases[-1] if phases else Page({})
    one.asked(
        "concurrency",
        stimulus.number("concurrency") or load.number("concurrency") or main.number("concurrency"),
    )
    rate = stimulus.number("request_rate") or load.number("request_rate") or main.number("rate")
    one.asked("requests_per_s", rate)
    if "requests_per_s" in one.load and main.number("rate"):
        one.load.pop("concurrency", None)  # of a phase with a rate it is a ceiling
    if len(phases) > 1:
        one.note("several_phases", count=len(phases))
        for key in ("concurrency", "requests_per_s"):
            one.load.pop(key, None)
    settings.done()


def _cards(one: Result, page: Page) -> None:
    """The accelerators watched while it ran."""
    names = set()
    for key in page.table("endpoints").values:
        cards = page.table("endpoints").table(key).table("gpus")
        names |= {cards.table(card).words("gpu_name") for card in cards.values}
    names.discard("")
    if len(names) == 1:
        one.say("gpu_raw", names.pop())
    page.done()


def _of_csv(found: Opened) -> Result:
    ours = "sum" in found.rows[0] or "std" in found.rows[0]
    one = Result("aiperf" if ours else "genai-perf")
    heads: list[str] = []
    counts: dict[str, float | None] = {}
    for row in found.rows:
        if row and row[0] == "Metric":
            heads = row
        elif row and len(row) > 1 and heads and (shown := IN_CSV.match(row[0])):
            name = shown["name"].strip().lower().replace(" ", "_")
            cells = dict(zip(heads, row, strict=False))
            mean = number_of(cells.get("avg") or cells.get("Value"))
            counts[name] = mean
            if name in LATENCIES and (times := UNITS.get(shown["unit"] or "")) is not None:
                told = {stat: number_of(cells.get(key)) for key, stat in STATISTICS.items()}
                one.spread(LATENCIES[name], told, times)
            elif name in RATES:
                one.put(RATES[name], mean)
        elif row and row[0] == "Endpoint":
            break
    one.put("achieved_concurrency", counts.get("effective_concurrency"))
    _lengths(one, counts)
    done, failed = counts.get("request_count"), counts.get("error_request_count")
    one.asked("prompts", done)
    one.errors(failed, (done or 0.0) + (failed or 0.0))
    one.count(completed=done, duration_s=counts.get("benchmark_duration"))
    return one


def _cell(page: Page) -> float | None:
    """A value in milliseconds or tokens."""
    unit = page.words("unit")
    times = 1.0 if unit == "tokens" else UNITS.get(unit)
    value = page.number("value")
    return None if value is None or times is None or value < 0 else value * times


def _of_records(found: Opened) -> Result:
    """The statistics of requests given one by one."""
    one = Result("aiperf", Page({}, line=1))
    values: dict[str, list[float]] = {}
    failed = done = 0
    starts, ends = [], []
    for line, table in found.tables():
        page = Page(table, line=line)
        metadata, metrics = page.table("metadata"), page.table("metrics")
        if metadata.words("benchmark_phase") == "warmup":
            continue
        if page.value("error") or metadata.value("was_cancelled"):
            failed += 1
            continue
        done += 1
        start, end = metadata.number("request_start_ns"), metadata.number("request_end_ns")
        starts += [start] if start is not None else []
        ends += [end] if end is not None else []
        told = {name: _cell(metrics.table(name)) for name in (*LATENCIES, *LENGTHS, *USAGE)}
        tokens = told["usage_completion_tokens"]
        first, whole = told["time_to_first_token"], told["request_latency"]
        if tokens and tokens > 1 and first is not None and whole is not None:
            told["inter_token_latency"] = (whole - first) / (tokens - 1)
        for length, usage in zip(LENGTHS, USAGE, strict=True):
            told[length] = told[usage] or told[length]
        for name, value in told.items():
            values.setdefault(name, []).extend([value] if value is not None else [])
    for theirs, ours in LATENCIES.items():
        one.spread(ours, dict(statistics(values.get(theirs, ()))))
    for theirs, ours in LENGTHS.items():
        one.asked(ours, dict(statistics(values.get(theirs, ()))).get("mean"))
    took = (max(ends) - min(starts)) / 1e9 if starts and ends else 0.0
    if took > 0:
        one.put("req_s", done / took)
        written = values.get("output_sequence_length", [])
        if len(written) == done:  # a sum without some of them is the rate of the others alone
            one.put("output_tok_s", sum(written) / took)
    one.asked("prompts", float(done))
    one.errors(float(failed), float(done + failed))
    one.quality = "B"
    one.note("worked_out", count=done)
    return one
