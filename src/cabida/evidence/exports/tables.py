"""As a table, a row a run; and as case files, which hold all that was said."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from cabida.evidence.exports.measured import Measured

FIRST = ("run", "model", "engine", "concurrency", "requests_per_s", "input_tokens", "output_tokens", "duration_s",
         "completed", "failed")  # fmt: skip
LOCUST = ("Type", "Name", "Request Count", "Failure Count", "Median Response Time", "Average Response Time",
          "Min Response Time", "Max Response Time", "Average Content Size", "Requests/s", "Failures/s")  # fmt: skip
LOCUST_PERCENTILES = {"50%": "p50", "66%": "", "75%": "", "80%": "", "90%": "p90", "95%": "p95", "98%": "",
                      "99%": "p99", "99.9%": "", "99.99%": "", "100%": ""}  # fmt: skip
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is run by a spreadsheet


def table(runs: Sequence[Measured]) -> dict[str, str]:
    """``runs.csv``: figures under the names of the case format; an empty cell is not known."""
    names = list(dict.fromkeys(name for one in runs for name in one.figures))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*FIRST, *names])
    for one in runs:
        said = (_safe(one.name), _safe(one.model), _safe(one.engine), one.concurrency, one.requests_per_s,
                one.input_tokens_mean, one.output_tokens_mean, one.duration_s, one.completed_count,
                one.failed_count)  # fmt: skip
        writer.writerow(
            ["" if cell is None else cell for cell in (*said, *(one.figure(name) for name in names))]
        )
    return {"runs.csv": out.getvalue()}


def locust(runs: Sequence[Measured]) -> dict[str, str]:
    """``cabida_stats.csv``, as locust 2.47.0 writes its requests: a row a run, times of whole answers in milliseconds.

    Percentiles that were not worked out are ``N/A``, as locust has it where there are none.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*LOCUST, *LOCUST_PERCENTILES])
    for one in runs:
        failures = one.failed_count / one.duration_s if one.duration_s > 0 else None
        rate = one.figure("req_s")
        named = (one.figure(f"e2e_ms_{key}") if key else None for key in LOCUST_PERCENTILES.values())
        row = ("POST", _safe(one.name), one.completed_count + one.failed_count, one.failed_count,
               one.figure("e2e_ms_p50"), one.figure("e2e_ms_mean"), None, None, None,
               None if rate is None or failures is None else rate + failures, failures, *named)  # fmt: skip
        writer.writerow(["N/A" if cell is None else cell for cell in row])
    return {"cabida_stats.csv": out.getvalue()}


def cases(runs: Sequence[Measured]) -> dict[str, str]:
    """``cases.jsonl``: what ``cabida validate`` and ``cabida calibrate`` read; runs without a case are left out."""
    rows = [one.case for one in runs if one.case]
    return {"cases.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)}


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULAS) else text
