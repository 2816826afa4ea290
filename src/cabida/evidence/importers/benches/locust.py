"""What locust writes with ``--csv``: ``*_stats.csv`` and ``*_stats_history.csv``.

Columns from ``locust/stats.py`` of locust 2.47.0: times are milliseconds, those above 100 rounded to two digits. A
response time is that of a whole answer, unless a task reports a time under a name of its own: one called TTFT is
taken as such. Failed requests are counted among the requests, and their times among the times. A history of every
request (``--csv-full-history``) has the percentiles of the last seconds, not of the run.
"""

from __future__ import annotations

import re

from cabida.evidence.importers.benches.opening import CSV, Opened
from cabida.evidence.importers.benches.pages import Page
from cabida.evidence.importers.benches.result import MIXED, WINDOW, Result, day_of

NAME = "locust"
SIGNS = ()
STATS = ["Type", "Name", "Request Count", "Failure Count"]
HISTORY = ["Timestamp", "User Count", "Type", "Name"]
ALL = "Aggregated"
FIRST = re.compile(r"ttft|first[ _-]?token", re.IGNORECASE)
PERCENTILES = {"75%": "p75", "90%": "p90", "95%": "p95", "99%": "p99"}
MIXED_RATIO = 0.01  # of requests that failed: beyond it their times are no times of answers
STEADY_RATIO = 0.9  # of the rows with the last number of users, for it to be that of the run
KNOWN = (
    "Type", "Name", "Min Response Time", "Max Response Time", "Average Content Size", "66%", "80%", "98%", "99.9%",
    "99.99%", "100%", "50%", "Total Min Response Time", "Total Max Response Time", "Total Average Content Size",
    "Timestamp", "User Count", "Requests/s", "Failures/s",
)  # fmt: skip


def known(found: Opened) -> bool:
    """Whether a file is either of the two."""
    return found.kind == CSV and bool(found.rows) and found.rows[0][:4] in (STATS, HISTORY)


def read(found: Opened) -> list[Result]:
    """One result a kind of request; of a history one, as it stood at the end."""
    head = found.rows[0]
    pages = [
        Page(dict(zip(head, row, strict=False)), line=line)
        for line, row in enumerate(found.rows[1:], 2)
        if len(row) == len(head)
    ]
    if head[:4] == HISTORY:
        made = _history([page for page in pages if page.words("Name") == ALL])
        if any(page.words("Name") != ALL for page in pages):
            for one in made:
                one.refuse(WINDOW, *(f"e2e_ms_{name}" for name in PERCENTILES.values()))
        return made
    named = [page for page in pages if page.words("Name") != ALL]
    return [_one(page, "") for page in named or pages]


def _history(pages: list[Page]) -> list[Result]:
    if not pages:
        return []
    last = pages[-1]
    users = [page.number("User Count") for page in pages]
    busy = [count for count in users if count]
    held = busy[-1] if busy else None
    one = _one(last, "Total ")
    started, ended = pages[0].number("Timestamp"), last.number("Timestamp")
    tried, failed = last.number("Total Request Count"), last.number("Total Failure Count")
    if started and ended and ended > started and tried is not None and failed is not None:
        one.put("req_s", (tried - failed) / (ended - started))
        one.quality = "B"
    one.date = day_of(ended)
    if held and busy.count(held) >= STEADY_RATIO * len(busy):
        one.asked("concurrency", held)
    else:
        one.note("users_changed")
    return [one]


def _one(page: Page, prefix: str) -> Result:
    one = Result("locust", page)
    ours = "ttft_ms" if FIRST.search(page.words("Name")) else "e2e_ms"
    tried = page.number(f"{prefix}Request Count")
    failed = page.number(f"{prefix}Failure Count")
    one.put(f"{ours}_mean", page.number(f"{prefix}Average Response Time"))
    one.put(f"{ours}_p50", page.number(f"{prefix}Median Response Time"))
    for theirs, name in PERCENTILES.items():
        one.put(f"{ours}_{name}", page.number(theirs))
    rate, lost = page.number("Requests/s"), page.number("Failures/s")
    if not prefix and rate is not None and lost is not None:
        one.put("req_s", rate - lost)
    one.asked("prompts", tried)
    one.errors(failed, tried)
    if one.measured.get("error_ratio", 0.0) > MIXED_RATIO:
        one.refuse(MIXED, *(name for name in list(one.measured) if "_ms_" in name))
    one.note("rounded_times")
    page.passed(*KNOWN)
    return one
