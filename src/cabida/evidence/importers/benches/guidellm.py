"""What guidellm reports: ``benchmarks.json``, ``.yaml`` and ``.csv``.

Keys from ``guidellm/benchmark`` of 0.2.1, 0.3.0 and 0.5.0 (report version 1) and 0.8.1 (version 2). Names ending in
``_ms`` are milliseconds, ``request_latency`` is seconds. Its time per output token divides by every token: up to 0.3
the time from first to last token, later the time from sending to the last one, first token and all. Neither is ours;
its inter-token latency, (last - first) / (tokens - 1) of a request, is, and is taken as ``tpot_ms``.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cabida.evidence.importers.benches.opening import CSV, Opened
from cabida.evidence.importers.benches.pages import Page, number_of
from cabida.evidence.importers.benches.result import MS_PER_S, Result, day_in, day_of
from cabida.evidence.importers.said import model_name, weights_named

NAME = "guidellm"
SIGNS = ('"generative_benchmark"', '"guidellm_version"')
WELL = "successful"
LATENCIES = {
    "time_to_first_token_ms": ("ttft_ms", 1.0),
    "inter_token_latency_ms": ("tpot_ms", 1.0),
    "request_latency": ("e2e_ms", MS_PER_S),
}
RATES = {
    "requests_per_second": "req_s",
    "output_tokens_per_second": "output_tok_s",
    "tokens_per_second": "total_tok_s",
    "prompt_tokens_per_second": "input_tok_s",
    "request_concurrency": "achieved_concurrency",
}
LENGTHS = {"prompt_token_count": "input_tokens", "output_token_count": "output_tokens"}
KNOWN_METRICS = (
    "total_token_count", "time_per_output_token_ms", "request_totals", "request_dispatch_delay",
    "request_scheduled_latency", "turn_predecessor_delay", "turn_scheduling_delay", "root_dispatch_delay",
    "request_streaming_iterations_count", "time_to_first_output_token_ms", "time_to_last_round_trip_ms",
    "avg_round_trip_time_ms", "output_tokens_per_iteration", "iter_tokens_per_iteration", "text", "image", "video",
    "audio", "tool_call", "turns", "slo_attainment", "slo_determined_requests", "request_goodput",
    "output_tokens_wo_first_per_iteration", "iter_tokens_per_iteration",
)  # fmt: skip
KNOWN = (
    "type_", "id_", "run_id", "extras", "requests", "request_samples", "scheduler_state", "warnings", "env_args",
    "warmup_duration", "cooldown_duration", "first_request_time", "last_request_time", "request_loader",
    "scheduler_metrics", "run_stats", "duration", "start_time", "end_time",
)  # fmt: skip
PERCENTILES = ("p75", "p90", "p95", "p99")
IN_CSV = {
    "Time to First Token / Successful ms": ("ttft_ms", 1.0),
    "Inter Token Latency / Successful ms": ("tpot_ms", 1.0),
    "Request Latency / Successful Sec": ("e2e_ms", MS_PER_S),
}
RATES_IN_CSV = {
    "Server Throughput / Successful Requests/Sec": "req_s",
    "Server Throughput / Successful Concurrency": "achieved_concurrency",
    "Token Throughput / Successful Output Tokens/Sec": "output_tok_s",
    "Token Throughput / Successful Total Tokens/Sec": "total_tok_s",
    "Token Throughput / Successful Input Tokens/Sec": "input_tok_s",
}
OLD_PERCENTILES = "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"
LISTED = ("min", "p0.1", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "max")
STREAMS = re.compile(r"(?:^|[^\w])(?:concurrent@|streams=|\w*concurren\w*=)(\d+)")
RATE = re.compile(r"(?:(?:constant|poisson|async)@|rate=)([\d.]+)")


def known(found: Opened) -> bool:
    """Whether a file is one of its reports."""
    if found.kind == CSV:
        head = found.rows[0] if found.rows else []
        return head[:3] == ["Type", "Run Id", "Id"] or (bool(head) and head[0] == "Run Info")
    rows = found.first.get("benchmarks")
    first = rows[0] if isinstance(rows, list) and rows else None
    return (
        isinstance(first, dict)
        and isinstance(first.get("metrics"), dict)
        and ("type_" in first or "scheduler_metrics" in first or "run_stats" in first)
    )


def read(found: Opened) -> list[Result]:
    """One result a benchmark: each rate or number of streams is one."""
    if found.kind == CSV:
        return _of_old_csv(found) if found.rows[0][0] == "Type" else _of_csv(found)
    made = []
    for line, table in found.tables():
        report = Page(table, line=line)
        report.passed("metadata", "args", "config", "conclusions")
        pages = report.tables("benchmarks")
        made += [_one(page) for page in pages]
        if pages:
            pages[0].children.append(_alone(report))
    return made


def _alone(report: Page) -> Page:
    """The report without its benchmarks, which tell their own unread keys."""
    alone = Page(
        {key: value for key, value in report.values.items() if key != "benchmarks"}, line=report.line
    )
    alone.seen = report.seen
    return alone


def _one(page: Page) -> Result:
    one = Result("guidellm", page)
    config = page.table("config") if "config" in page.values else page.table("args")
    _load(one, config.table("strategy"))
    _model(one, config.table("backend"), page.table("worker"))
    config.done()
    metrics = page.table("metrics")
    for theirs, (ours, times) in LATENCIES.items():
        well = metrics.table(theirs).table(WELL)
        table = well.table("percentiles")
        one.spread(ours, {"mean": well.number("mean"), "p50": well.number("median"),
                          **{name: table.number(name) for name in PERCENTILES}}, times)  # fmt: skip
    for theirs, ours in RATES.items():
        one.put(ours, metrics.table(theirs).table(WELL).number("mean"))
    for theirs, ours in LENGTHS.items():
        one.asked(ours, metrics.table(theirs).table(WELL).number("mean"))
    totals = (
        page.table("request_totals") if "request_totals" in page.values else metrics.table("request_totals")
    )
    if not totals.values:
        totals = page.table("run_stats").table("requests_made")
    _requests(one, totals.number(WELL), totals.number("errored"))
    totals.passed("incomplete", "total")
    one.date = day_of(
        page.number("start_time") or page.table("scheduler_metrics").number("measure_start_time")
    )
    for child in metrics.children:  # further statistics of a metric are known; further metrics aren't
        child.done()
    metrics.passed(*KNOWN_METRICS)
    page.passed(*KNOWN)
    for child in page.children:
        if child is not metrics:
            child.done()
    return one


def _requests(one: Result, well: float | None, errored: float | None) -> None:
    """Requests cut off by the end are neither answered nor failed."""
    one.asked("prompts", well)
    one.errors(errored, None if well is None or errored is None else well + errored)


def _model(one: Result, backend: Page, worker: Page) -> None:
    attributes = backend.table("attributes")
    model = backend.words("model") or attributes.words("model") or worker.words("backend_model")
    one.say("model", model_name(model))
    one.say("weights", weights_named(model))


def _load(one: Result, strategy: Page) -> None:
    kind = strategy.words("type_", "kind", "type")
    if kind == "synchronous":
        one.asked("concurrency", 1.0)
    elif kind == "concurrent":
        one.asked("concurrency", strategy.number("streams"))
    elif kind == "throughput":
        one.asked("concurrency", strategy.number("max_concurrency"))
        one.load.setdefault("concurrency", "offline")
    elif kind in ("constant", "poisson", "async"):
        one.asked("requests_per_s", strategy.number("rate"))


def _of_csv(found: Opened) -> list[Result]:
    """The CSV since 0.4: three rows of headings, a row a benchmark."""
    if len(found.rows) < 4:
        return []
    heads = [" / ".join(filter(None, (part.strip() for part in column)))
             for column in zip(*found.rows[:3], strict=False)]  # fmt: skip
    made = []
    for line, row in enumerate(found.rows[3:], 4):
        page = Page(dict(zip(heads, row, strict=False)), line=line)
        one = Result("guidellm", page, date=day_in(page.words("Timings / Start Time")))
        _strategy_words(one, page.words("Benchmark / Strategy"))
        _model(one, Page(_json(page.value("Run Info / Backend"))), Page({}))
        for shown, (ours, times) in IN_CSV.items():
            keys = (f"{shown} / Mean", f"{shown} / Median", f"{shown} / Percentiles")
            _cells(one, page, keys, ours, times)
        for shown, ours in RATES_IN_CSV.items():
            one.put(ours, page.number(f"{shown} / Mean"))
        for shown, ours in (("Input Tokens", "input_tokens"), ("Output Tokens", "output_tokens")):
            one.asked(ours, page.number(f"Token Metrics / Successful {shown} / Mean"))
        _requests(one, page.number("Request Counts / Successful"), page.number("Request Counts / Errored"))
        page.passed(*page.values)  # statistics, modalities and the scheduler's own times
        made.append(one)
    return made


def _of_old_csv(found: Opened) -> list[Result]:
    """The CSV of 0.2 and 0.3: one row of headings."""
    made = []
    for line, row in enumerate(found.rows[1:], 2):
        page = Page(dict(zip(found.rows[0], row, strict=False)), line=line)
        one = Result("guidellm", page, date=day_in(page.words("Start Time")))
        _load(one, Page(_json(page.value("Args")).get("strategy") or {}))
        if not one.load:
            _strategy_words(one, page.words("Name"))
        _model(one, Page({}), Page(_json(page.value("Worker"))))
        for theirs, (ours, times) in LATENCIES.items():
            shown = _old_heading(theirs)
            _cells(one, page, (f"{shown} mean", f"{shown} median", f"{shown} {OLD_PERCENTILES}"), ours, times)
        for theirs, ours in RATES.items():
            one.put(ours, page.number(f"{_old_heading(theirs)} mean"))
        for theirs, ours in LENGTHS.items():
            one.asked(ours, page.number(f"{_old_heading(theirs)} mean"))
        _requests(one, page.number("Successful Requests"), page.number("Errored Requests"))
        page.passed(*page.values)
        made.append(one)
    return made


def _old_heading(metric: str) -> str:
    return f"Successful {metric.replace('_', ' ').capitalize()}"


def _cells(one: Result, page: Page, keys: tuple[str, str, str], ours: str, times: float) -> None:
    """Mean, median and the list of percentiles of one metric, under these headings."""
    mean, median, listed = keys
    one.put(f"{ours}_mean", page.number(mean), times)
    one.put(f"{ours}_p50", page.number(median), times)
    parts = str(page.value(listed) or "").strip("[] ").split(",")
    if len(parts) == len(LISTED):
        for name, part in zip(LISTED, parts, strict=True):
            if name in PERCENTILES:
                one.put(f"{ours}_{name}", number_of(part), times)


def _strategy_words(one: Result, text: str) -> None:
    if "synchronous" in text and "async" not in text:
        one.asked("concurrency", 1.0)
    elif streams := STREAMS.search(text):
        one.asked("concurrency", float(streams[1]))
    elif rate := RATE.search(text):
        one.asked("requests_per_s", float(rate[1]))
    elif "throughput" in text:
        one.load["concurrency"] = "offline"


def _json(cell: object) -> dict[str, Any]:
    try:
        found = json.loads(str(cell))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
