"""The tables of a run: latencies, rates, and what was predicted."""

from __future__ import annotations

from typing import Any

from cabida import text
from cabida.report import bench_words as say
from cabida.report.money_parts import Table
from cabida.text import tr

LATENCIES = ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms")
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
RATES = ("req_s", "output_tok_s", "total_tok_s", "items_s")


def latencies(its: dict[str, Any]) -> Table:
    """Latencies from when requests were due; where all of a row is unknown it says why."""
    header = (
        tr("report.bench_latency"),
        *(tr("report.mean") if one == "mean" else one for one in STATISTICS),
    )
    rows = []
    for family, kind in ((its["metrics"], ""), (its["service"], tr("report.bench_from_sent"))):
        for name in LATENCIES if not kind else ("ttft_ms", "e2e_ms"):
            figures = [family.get(f"{name}_{statistic}") for statistic in STATISTICS]
            if not any(figures) or (kind and not its["requests_count"]):
                continue
            label = f"{say.label(name)} {kind}".strip()
            if all(one is None or one["value"] is None for one in figures):
                if not kind and its["requests_count"] and figures[0]["why"] not in ("no_tokens", "none"):
                    rows.append((label, say.unknown(figures[0]), *("",) * (len(STATISTICS) - 1)))
                continue
            rows.append((label, *map(say.milliseconds, figures)))
    return Table(tr("report.bench_table.latency"), header, tuple(rows))


def rates(its: dict[str, Any]) -> Table:
    """What came a second, and the shares of requests that failed, were accepted, were good."""
    found = [(name, its["metrics"].get(name)) for name in RATES]
    rows = [(say.label(name), say.shown(name, one)) for name, one in found if one and its["requests_count"]]
    if its["requests_count"]:
        if its["offered_req_s"] is not None:
            rows.insert(0, (say.label("offered_req_s"), text.rate(its["offered_req_s"])))
        rows.append((say.label("error_ratio"), say.shown("error_ratio", its["error_ratio"])))
        rows.append((say.label("acceptance_ratio"), say.shown("acceptance_ratio", its["acceptance_ratio"])))
        rows.append((say.label("goodput_ratio"), say.shown("goodput_ratio", its["goodput_ratio"])))
    return Table(
        tr("report.bench_table.rates"), (tr("report.metric_head"), tr("report.bench_measured")), tuple(rows)
    )


def measured(its: dict[str, Any]) -> Table:
    """Other figures of a run: of memory, of a training job."""
    rows = []
    for name, value in its["measured"].items():
        known = its["measured_figures"].get(name)
        if known is not None:
            rows.append((say.label(name), say.shown(name, known)))
        elif isinstance(value, bool):
            rows.append((say.label(name), tr("report.bench_yes" if value else "report.bench_no")))
        elif isinstance(value, int | float):
            rows.append((say.label(name), say.plain(name, float(value))))
    header = (tr("report.metric_head"), tr("report.bench_measured"))
    return Table(tr("report.bench_table.other"), header, tuple(rows))


def beside(one: dict[str, Any]) -> Table:
    """What was measured beside what the plan expected and what is predicted now."""
    keys = ("metric_head", "bench_measured", "bench_expected", "bench_predicted", "bench_lies")
    rows = []
    for row in one["beside"]:
        if not row["metric"]:
            continue
        metric = row["metric"]
        measured = {"value": row["measured"], "low": row["low"], "high": row["high"], "why": row["why"]}
        rows.append(
            (
                say.label(metric),
                say.shown(metric, measured),
                say.figure(metric, row["expected"]),
                say.figure(metric, row["predicted"], "predicted"),
                say.side(row["side"]),
            )
        )
    return Table(tr("report.bench_table.beside"), tuple(tr(f"report.{key}") for key in keys), tuple(rows))
