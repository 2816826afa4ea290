"""The tables of a run: latencies, rates, what was predicted, drills, the steps of a ramp, what was watched."""

from __future__ import annotations

from typing import Any

from cabida import text
from cabida.bench.watch.told import verdict_words
from cabida.report import bench_words as say
from cabida.report.money_sections import Table
from cabida.text import has_text, tr

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
            rows.insert(0, (tr("report.bench_offered"), text.rate(its["offered_req_s"])))
        rows.append((tr("report.bench_errors"), say.shown("error_ratio", its["error_ratio"])))
        rows.append((tr("report.bench_accepted"), say.shown("acceptance_ratio", its["acceptance_ratio"])))
        rows.append((tr("report.bench_goodput"), say.shown("goodput_ratio", its["goodput_ratio"])))
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


def drills(one: dict[str, Any]) -> Table:
    """What each drill cost."""
    keys = ("drill", "verdict", "recovery", "lost", "truncated", "refused_count", "tokens_lost", "budget")
    rows = []
    for each in one["drills"]:
        its = each["recovery"]
        budget, took = its["budget_used_ratio"], its["recovery_s"]
        rows.append(
            (
                str(each["drilled"]["name"] or each["drilled"]["kind"]),
                _drill_verdict(each),
                say.UNKNOWN if took is None else text.duration(took) if took else "0 s",
                say.count(its["lost_count"]),
                say.count(its["truncated_count"]),
                say.count(its["refused_count"]),
                say.count(its["lost_tokens"]),
                say.UNKNOWN if budget is None else text.percent(budget),
            )
        )
    return Table(
        tr("report.bench_table.drills"), tuple(tr(f"report.bench_{key}") for key in keys), tuple(rows)
    )


def steps(one: dict[str, Any]) -> Table:
    """The steps of a ramp to the edge of memory."""
    keys = ("context", "at_once", "verdict", "held", "kv_used", "queued", "preempted")
    rows = []
    for step in one["steps"]:
        used, verdict = step.get("kv_used_ratio_most"), str(step.get("verdict") or "")
        rows.append(
            (
                say.count(step.get("context_tokens")),
                say.count(step.get("concurrency")),
                say.verdict(verdict) if verdict == "ok" else verdict_words(verdict),
                say.count(step.get("held_tokens")),
                say.UNKNOWN if used is None else text.percent(used),
                say.count(step.get("waiting_most")),
                say.count(step.get("preemptions_count")),
            )
        )
    header = tuple(tr(f"report.bench_{key}") for key in keys)
    return Table(tr("report.bench_table.steps"), header, tuple(rows))


def watched(one: dict[str, Any]) -> Table:
    """What was watched, over the window: mean and most of gauges, increase of counters."""
    found = one["watched"] or {}
    rows = []
    for name, gauge in found.get("figures", {}).items():
        if has_text(f"report.bench_watch.{name}"):
            shown = text.percent if name.endswith("_ratio") else text.number
            rows.append((tr(f"report.bench_watch.{name}"), shown(gauge["mean"]), shown(gauge["most"])))
    for name, value in found.get("increases", {}).items():
        if has_text(f"report.bench_watch.{name}"):
            rows.append((tr(f"report.bench_watch.{name}"), "", text.number(value, 6)))
    for name, value in (found.get("memory_most_bytes") or {}).items():
        rows.append((tr("report.bench_watch.memory", card=name), "", text.size(value)))
    if found.get("power_mean_w") is not None:
        rows.append((tr("report.bench_watch.power"), f"{text.number(found['power_mean_w'])} W", ""))
    if found.get("energy_j") is not None:
        rows.append((tr("report.bench_watch.energy"), "", f"{text.number(found['energy_j'] / 3600)} Wh"))
    if found.get("prefix_hit_ratio") is not None:
        rows.append((tr("report.bench_watch.prefix_hit_ratio"), text.percent(found["prefix_hit_ratio"]), ""))
    header = tuple(tr(f"report.bench_{key}") for key in ("watched", "mean", "most"))
    return Table(tr("report.bench_table.watched"), header, tuple(rows))


def _drill_verdict(each: dict[str, Any]) -> str:
    name = tr(f"report.bench_drill.{each['verdict']}")
    return f"{name}: {each['why']}" if each["why"] else name
