"""MLPerf LoadGen's ``mlperf_log_summary.txt``.

Wording from ``loadgen/results.cc`` of mlcommons/inference (LoadGen 4 to 6): times are nanoseconds. The time per output
token is (latency - first token's) / (tokens - 1) of a sample: ours. The mean length of answers is tokens over samples
per second. What a server run was offered is the rate it was scheduled at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cabida.evidence.importers.benches.pages import number_of
from cabida.evidence.importers.benches.result import Result, run_of
from cabida.evidence.importers.run import LINE_KEPT, Run
from cabida.evidence.lines import Numbered

SIGNS = ("MLPerf Results Summary",)
WORDS = ()
NS_TO_MS = 1e-6
MODES = {"Server": "mlperf-server", "Offline": "mlperf-offline", "SingleStream": "single",
         "Interactive": "mlperf-interactive", "MultiStream": "mlperf-multistream"}  # fmt: skip
PAIR = re.compile(r"^\s{0,4}([A-Za-z0-9][\w .()/%'-]{0,80}?)\s*:\s*(.*)$")
PERCENTILE = re.compile(r"^(\d+\.\d+) percentile (first token |time to output token|)\s?(?:latency )?\(ns\)$")
FIGURES = {"": "e2e_ms", "first token ": "ttft_ms", "time to output token": "tpot_ms"}
MEANS = {
    "Mean latency (ns)": "e2e_ms_mean",
    "Mean First Token latency (ns)": "ttft_ms_mean",
    "Mean Time to Output Token (ns)": "tpot_ms_mean",
}
RATES = {
    "Samples per second": "req_s",
    "Completed samples per second": "req_s",
    "Tokens per second": "output_tok_s",
    "Completed tokens per second": "output_tok_s",
    "QPS w/ loadgen overhead": "req_s",
    "TPS w/ loadgen overhead": "output_tok_s",
    "Tokens per second (inferred)": "output_tok_s",
    "Completed tokens per second (inferred)": "output_tok_s",
}
KNOWN = re.compile(
    r"^(?:=+|\s*$|MLPerf Results|Additional Stats|Test Parameters Used|Recommendations|No (?:warnings|errors)| \* |"
    r"(?:TTFT |TPOT )?Early Stopping Result|\s+\S)"
)
SETTINGS = re.compile(r"^[a-z][a-z0-9_]*(?: \([a-z]+\))? ?: ")
NAMED = ("Min ", "Max ", "Mode", "Performance constraints", "Early stopping", "QPS w/o", "TPS w/o", "Min duration",
         "Min queries", "Per-query latency", "TTFT Early", "TPOT Early", "Early Stopping")  # fmt: skip


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run a summary; several may have been put together."""
    runs: list[Run] = []
    one: Result | None = None
    odd: list[Numbered] = []
    for line in lines:
        if "MLPerf Results Summary" in line[1]:
            runs += _ended(one, odd)
            one, odd = Result("mlperf loadgen"), []
        elif one is not None and not _took(one, line[1]):
            odd.append(line)
    return [*runs, *_ended(one, odd)]


def _ended(one: Result | None, odd: list[Numbered]) -> list[Run]:
    if one is None:
        return []
    samples, tokens = one.measured.get("req_s"), one.measured.get("output_tok_s")
    if samples and tokens:
        one.asked("output_tokens", tokens / samples)
    run = run_of(one)
    for line in odd:
        run.keep(line)
    return [run]


def _took(one: Result, text: str) -> bool:
    """Whether a line said something, or is known to say nothing wanted."""
    found = PAIR.match(text)
    if not found:
        return bool(KNOWN.match(text))
    name, value = found[1].strip(), found[2].strip()
    number = number_of(value)
    if name == "Scenario":
        one.mode = MODES.get(value, f"mlperf-{value.lower()[:20]}")
        if value == "SingleStream":
            one.load["concurrency"] = 1
        elif value == "Offline":
            one.load["concurrency"] = "offline"
    elif name == "SUT name":
        one.note("system_named", name=value[:LINE_KEPT])
    elif name == "Result is":
        one.more["valid"] = value == "VALID"
        if value != "VALID":
            one.quality = "C"
            one.note("not_valid")
    elif name == "Scheduled samples per second":
        one.asked("requests_per_s", number)
    elif name in MEANS:
        one.put(MEANS[name], number, NS_TO_MS)
    elif name in RATES:
        one.put(RATES[name], number)
    elif told := PERCENTILE.match(name):
        if float(told[1]) in (50.0, 90.0, 95.0, 99.0):
            one.put(f"{FIGURES[told[2]]}_p{int(float(told[1]))}", number, NS_TO_MS)
    else:
        return name.startswith(NAMED) or bool(SETTINGS.match(text)) or "percentile latency" in name
    return True
