"""What inference-perf reports: ``summary_lifecycle_metrics.json`` and ``stage_N_lifecycle_metrics.json``.

Keys from ``inference_perf/reportgen/base.py`` of inference-perf 0.7.0: all times are seconds. TPOT is (last token -
first) / (tokens - 1) of a request: ours. Where it counts tokens with its own tokenizer while the server counts
otherwise, figures by the token are no figures of the model.
"""

from __future__ import annotations

from cabida.evidence.importers.benches.opening import Opened
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import MS_PER_S, Result, refuse_other_counts

NAME = "inference-perf"
SIGNS = ('"load_summary"', '"normalized_time_per_output_token"')
LATENCIES = {
    "time_to_first_token": "ttft_ms",
    "time_per_output_token": "tpot_ms",
    "inter_token_latency": "itl_ms",
    "request_latency": "e2e_ms",
}
RATES = {
    "requests_per_sec": "req_s",
    "output_tokens_per_sec": "output_tok_s",
    "total_tokens_per_sec": "total_tok_s",
    "input_tokens_per_sec": "input_tok_s",
}
STATISTICS = {
    "mean": "mean",
    "median": "p50",
    "p50": "p50",
    "p75": "p75",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
}
KNOWN = ("retries", "benchmark_time_seconds", "sessions", "adapters")
KNOWN_SUCCESSES = (
    "request_size_bytes", "image", "video", "audio", "token_count_mismatches", "client_fallback_requests",
    "goodput_metrics",
)  # fmt: skip


def known(found: Opened) -> bool:
    """Whether a file is one of its reports."""
    first = found.first
    wanted = (first.get("load_summary"), first.get("successes"), first.get("failures"))
    return all(isinstance(one, dict) for one in wanted)


def read(found: Opened) -> list[Result]:
    """One result a report: a stage, or all of them together."""
    return [_one(Page(table, line=line)) for line, table in found.tables()]


def _one(page: Page) -> Result:
    one = Result("inference-perf", page)
    asked, well, failures = page.table("load_summary"), page.table("successes"), page.table("failures")
    one.asked("concurrency", asked.number("concurrency"))
    if "concurrency" not in one.load:
        one.asked("requests_per_s", asked.number("requested_rate"))
    done, failed = well.number("count"), failures.number("count")
    one.asked("prompts", done)
    one.errors(failed, None if done is None or failed is None else done + failed)
    latency, rates = well.table("latency"), well.table("throughput")
    for theirs, ours in LATENCIES.items():
        table = latency.table(theirs)
        one.spread(
            ours,
            {name: table.number(key) for key, name in STATISTICS.items() if key in table.values},
            MS_PER_S,
        )
        table.passed(*table.values)
    latency.passed("normalized_time_per_output_token")
    for theirs, ours in RATES.items():
        one.put(ours, rates.number(theirs))
    rates.passed("images_per_sec", "videos_per_sec", "audios_per_sec")
    read_, wrote = well.table("prompt_tokens"), well.table("output_tokens")
    old_read, old_wrote = well.table("prompt_len"), well.table("output_len")
    one.asked("input_tokens", read_.number("mean") or old_read.number("mean"))
    one.asked("output_tokens", wrote.number("mean") or old_wrote.number("mean"))
    refuse_other_counts(one, wrote.number("mean"), old_wrote.number("mean"))
    for table in (asked, failures, read_, wrote, old_read, old_wrote):
        table.passed(*table.values)
    well.passed(*KNOWN_SUCCESSES)
    page.passed(*KNOWN)
    one.count(completed=done, duration_s=page.number("benchmark_time_seconds"))
    return one
