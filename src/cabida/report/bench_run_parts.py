"""What one run showed: its sentences, its tables, its picture; and what a search found, level by level."""

from __future__ import annotations

from typing import Any

from cabida import text
from cabida.report import bench_words as say
from cabida.report.bench_charts import timeline_chart
from cabida.report.bench_part import Part
from cabida.report.bench_phase_tables import drills, reasons, steps, watched
from cabida.report.bench_tables import beside, latencies, measured, rates
from cabida.report.money_parts import Table
from cabida.text import has_text, tr

MOST_REASONS = 6
Row = dict[str, Any]


def run_part(one: Row, at: int, pictures: bool) -> Part:
    """A run that stands for itself."""
    its = one["summary"]
    title = tr("report.bench_part.run", run=one["label"])
    if one["failed"]:
        return Part(f"run-{at}", title, tuple(each for each in (one["why"], not_made(one)) if each))
    asked = bool(its["requests_count"]) and not one["is_job"] and one["phase"] != "memory"
    speeds = [latencies(its), rates(its)] if asked else []
    tables = [*speeds, measured(its), steps(one), beside(one), *drills(one), watched(one)]
    drawn = timeline_chart(one, f"timeline-{at}") if pictures and asked else None
    return Part(
        f"run-{at}",
        title,
        tuple(_sentences(one, asked)),
        tuple(table for table in tables if table.rows),
        (drawn,) if drawn else (),
        one if asked else None,
    )


def not_made(one: Row) -> str:
    """Why a run could not be made."""
    told = tr("report.bench_not_made", why=one["failed"])
    return told[:1].upper() + told[1:]


def _sentences(one: Row, asked: bool) -> list[str]:
    its = one["summary"]
    found = [one["why"], *one["told"], *reasons(one), say.fit(one["fit"])]
    if asked:
        window = text.duration(its["until_s"] - its["from_s"])
        counts = {"requests": say.count(its["requests_count"]), "all": say.count(its["all_requests_count"])}
        found.append(tr("report.bench_asked", load=say.load(its), window=window, **counts))
        found.append(_ended(its))
        found.append(_outputs(its))
        if its["client_bound"]:
            found.append(tr("report.bench_client", why=its["client_why"] or tr("report.bench_client_slow")))
        elif its["client_bound"] is None:
            found.append(tr("report.bench_client_unwatched"))
        if its["saturated"]:
            found.append(tr("report.bench_saturated", growth=text.rate(its["backlog_growth_per_s"])))
        found += [_objective(met) for met in its["objectives"]]
        found += [
            tr(f"keep.note.{note}")
            for note in its["notes"]
            if note != "client" and has_text(f"keep.note.{note}")
        ]
    if one["refused"] and one["phase"] != "drill":
        found.append(tr("report.bench_refused", why=_refused(one["refused"])))
    return [sentence for sentence in found if sentence]


def _refused(code: str) -> str:
    key = f"keep.refused.{code}"
    return tr(key) if has_text(key) else code


def _ended(its: dict[str, Any]) -> str:
    ends = ", ".join(f"{say.verdict(name)} {say.count(count)}" for name, count in its["verdicts"].items())
    told = tr("report.bench_ended", ends=ends)
    if its["attempts_count"] > its["requests_count"]:
        ratio = text.number(its["amplification_ratio"], 3)
        told += " " + tr("report.bench_amplified", attempts=say.count(its["attempts_count"]), ratio=ratio)
    reasons = [f"{say.reason(name)} ({say.count(count)})" for name, count in its["reasons"].items()]
    if reasons:
        told += " " + tr("report.bench_reasons", reasons="; ".join(reasons[:MOST_REASONS]))
    return told


def _outputs(its: dict[str, Any]) -> str:
    told = tr(
        "report.bench_outputs",
        generated=say.count(its["generated_count"]),
        valid=say.count(its["valid_count"]),
        accepted=say.count(its["accepted_count"])
        if its["accepted_count"] is not None
        else tr("report.bench_no_rules"),
    )
    broken = [f"{name} ({say.count(count)})" for name, count in its["broken_rules"].items()]
    if broken:
        told += " " + tr("report.bench_broken_rules", rules=", ".join(broken[:MOST_REASONS]))
    by = [
        f"{tr(f'report.bench_by.{name}')} ({say.count(count)})" for name, count in its["counted_by"].items()
    ]
    lengths = [its["input_tokens_mean"], its["output_tokens_mean"]]
    if all(one is not None for one in lengths):
        means = {"input": text.number(lengths[0]), "output": text.number(lengths[1])}
        told += " " + tr("report.bench_tokens", by=", ".join(by), **means)
    return told


def _objective(met: dict[str, Any]) -> str:
    state = {True: "met", False: "missed", None: "open"}[met["met"]]
    told = tr(f"report.bench_objective.{state}", **say.objective(met))
    return told[:1].upper() + told[1:]


def search_part(one: Row, points: list[Row], at: int) -> Part:
    """What a search found, and its points in the order of their load."""
    header = (
        tr("report.bench_load"), tr("report.bench_served"), say.label("ttft_ms_p95"), say.label("tpot_ms_p95"),
        tr("report.bench_goodput"), tr("report.bench_state"),
    )  # fmt: skip
    rows = []
    for each in points:
        its = each["summary"]
        served = its["metrics"].get("req_s", {}).get("value")
        rows.append(
            (
                say.load(its),
                say.UNKNOWN if served is None else text.rate(served),
                _of_point(each, "ttft", "p95"),
                _of_point(each, "tpot", "p95"),
                say.figure("goodput_ratio", its["goodput_ratio"]),
                state(each),
            )
        )
    why = () if not one["failed"] else (not_made(one),)
    found = [one["why"], *why, *(() if why else (sought(one, points),)), *one["told"]]
    tables = (Table("", header, tuple(rows)), beside(one), watched(one))
    title = tr("report.bench_part.search", run=one["label"])
    return Part(
        f"run-{at}", title, tuple(each for each in found if each), tuple(each for each in tables if each.rows)
    )


def _of_point(one: Row, name: str, statistic: str) -> str:
    """A latency of a point; where much of it was the client's, what the search itself went by."""
    metric = f"{name}_ms_{statistic}"
    figure = one["summary"]["metrics"].get(metric)
    if figure is not None and figure["value"] is not None:
        return say.figure(metric, figure)
    for check in (one["point"] or {}).get("checks") or ():
        if (check.get("metric"), check.get("statistic")) == (name, statistic) and check.get(
            "value"
        ) is not None:
            return text.duration(float(check["value"]))
    return say.UNKNOWN


def state(one: Row) -> str:
    """Whether the figures are the server's, and whether it held its objectives."""
    its, point = one["summary"], one.get("point")
    if one["failed"]:
        return tr("report.bench_state.not_made")
    if point and point.get("verdict") in POINTS:
        saturated = point.get("why") == "saturated"
        key = "saturated" if saturated else POINTS[str(point["verdict"])]
        return tr(f"report.bench_state.{key}")
    if its["client_bound"]:
        return tr("report.bench_state.client")
    if its["saturated"]:
        return tr("report.bench_state.saturated")
    if its["points_count"]:
        sought = one["ended"].get("sought")
        found = isinstance(sought, dict) and sought.get("level") is not None
        return tr(f"report.bench_state.{'found' if found else 'none_found'}")
    met = [each["met"] for each in its["objectives"]]
    if not met:
        return tr("report.bench_state.none")
    key = "missed" if False in met else "open" if None in met else "met"
    return tr(f"report.bench_state.{key}")


POINTS = {"pass": "met", "fail": "missed", "open": "open", "unknown": "client"}


def sought(one: Row, points: list[Row]) -> str:
    """How far the objectives were met, and what failed beyond."""
    said = one["ended"].get("sought")
    if not isinstance(said, dict) or not has_text(f"report.bench_sought.{said.get('why')}"):
        return tr("report.bench_sought.stopped")
    levels = [level(said.get(key), bool(said.get("closed"))) for key in ("level", "failed_level")]
    key = "undecided" if is_undecided(said) else said["why"]
    told = tr(f"report.bench_sought.{key}", level=levels[0], failed=levels[1])
    why = missed_at(points, said.get("failed_level"))
    return f"{told} {tr('report.bench_missed_at', level=levels[1], why=why)}" if why else told


def is_undecided(said: Row) -> bool:
    """Whether too few requests are all that kept the lowest level of a search from passing: nothing was missed."""
    return said.get("why") == "never" and said.get("failed_verdict") == "open"


def level(value: Any, closed: bool) -> str:
    """A level of a search: a rate, or requests at once."""
    if not isinstance(value, int | float):
        return say.UNKNOWN
    return tr("report.bench_load.closed", count=say.count(value)) if closed else text.rate(float(value))


def missed_at(points: list[Row], value: Any) -> str:
    """What went wrong at the level of a search that failed: an objective with its figure, or that it was too much."""
    for each in points:
        point = each["point"] or {}
        if value is None or value not in (point.get("requests_per_s"), point.get("concurrency")):
            continue
        if point.get("why") == "saturated":
            return tr("report.bench_state.saturated")
        checks = [one for one in point.get("checks") or () if isinstance(one.get("value"), int | float)]
        for verdict in ("missed", "open"):
            for check in (one for one in checks if one.get("verdict") == verdict):
                said = f"{say.label('error_ratio')} {text.percent(check['value'])}"
                if has_text(f"report.metric.{check.get('metric')}_ms"):
                    label = say.label(f"{check['metric']}_ms_{check['statistic']}")
                    said = f"{label} {text.duration(check['value'])}"
                return said if verdict == "missed" else f"{said}, {tr('report.bench_state.open')}"
    return ""
