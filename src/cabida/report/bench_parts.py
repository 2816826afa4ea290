"""The report of a benchmark in parts - sentences, tables, pictures - that each form shows in its own way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cabida import text
from cabida.report import bench_money
from cabida.report import bench_words as say
from cabida.report.bench_charts import distribution_chart, timeline_chart
from cabida.report.bench_letters import distribution_letters, timeline_letters
from cabida.report.bench_tables import beside, drills, latencies, measured, rates, steps, watched
from cabida.report.money_sections import Table
from cabida.report.svg import Chart, clip
from cabida.text import has_text, tr

MOST_REASONS = 6
MOST_SAMPLES, SAMPLE_CHARS = 10, 120  # all of them are in the journal


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the report. ``run`` is what its pictures in letters are drawn from."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    run: dict[str, Any] | None = None

    def letters(self, width: int = 72, *, plain: bool = False) -> list[list[str]]:
        """Its pictures in letters, each a list of lines."""
        if self.run is None:
            return []
        drawn = (
            timeline_letters(self.run, width, plain=plain),
            distribution_letters(self.run, width, plain=plain),
        )
        return [one for one in drawn if one]


def parts(answer: dict[str, Any], *, pictures: bool = True) -> list[Part]:
    """All parts in the language in use; ``pictures`` = with drawings."""
    found = [_overview(answer, pictures), _settles(answer)]
    if answer.get("normalised"):
        sentences, costs = bench_money.told(answer["normalised"])
        found.append(Part("money", tr("planned.money.title"), sentences, (costs,) if costs.rows else ()))
    for at, one in enumerate(answer["runs"]):
        if one["phase"] == "search" and not one["point_of"]:
            found.append(_search(answer, one, at))
        elif not one["point_of"]:
            found.append(_run(one, at, pictures))
    found.append(_samples(answer))
    return [_printable(one) for one in found if one.sentences or one.tables or one.charts]


def _printable(part: Part) -> Part:
    """Without control characters: names and reasons are somebody else's."""
    tables = tuple(
        Table(one.title, one.header, tuple(tuple(map(text.printable, row)) for row in one.rows))
        for one in part.tables
    )
    said = tuple(map(text.printable, part.sentences))
    return replace(part, title=text.printable(part.title), sentences=said, tables=tables)


def headline(answer: dict[str, Any]) -> str:
    """The first sentence: how much was asked and whether the figures can be relied on."""
    asked = sum(one["requests_count"] for one in answer["journals"])
    runs = len([one for one in answer["runs"] if not one["point_of"]]) or len(answer["runs"])
    bound = [one["label"] for one in answer["runs"] if one["summary"]["client_bound"]]
    told = tr("report.bench_headline", runs=say.count(runs), requests=say.count(asked))
    return f"{told} {tr('report.bench_client_bound', runs=', '.join(bound))}" if bound else told


def journal_notes(answer: dict[str, Any]) -> list[str]:
    """What became of the journals, where anything did."""
    found = []
    for one in answer["journals"]:
        where = {"folder": one["folder"]}
        if one["openings_count"] > 1:
            found.append(tr("report.bench_resumed", count=say.count(one["openings_count"] - 1), **where))
        if not one["ended"]:
            found.append(tr("report.bench_unended", **where))
        if one["torn"]:
            found.append(tr("report.bench_torn", **where))
        if one["broken_count"] or one["missing_count"]:
            lines = ", ".join(map(str, one["broken_lines"])) or say.UNKNOWN
            counts = {"broken": say.count(one["broken_count"]), "missing": say.count(one["missing_count"])}
            found.append(tr("report.bench_broken", lines=lines, **counts, **where))
        if one["unjudged_count"]:
            found.append(tr("report.bench_unjudged", count=say.count(one["unjudged_count"]), **where))
        if one["twice_count"] or one["again_count"]:
            counts = {"twice": say.count(one["twice_count"]), "again": say.count(one["again_count"])}
            found.append(tr("report.bench_repeated", **counts, **where))
    return found


def _overview(answer: dict[str, Any], pictures: bool) -> Part:
    header = tuple(
        tr(f"report.bench_{key}")
        for key in ("run", "candidate", "load", "served", "errors", "goodput", "state")
    )
    item = any("items_s" in one["summary"]["metrics"] for one in answer["runs"])
    metric = "e2e_ms_p95" if item else "ttft_ms_p95"
    header = (*header[:4], say.label(metric), *header[4:])
    rows = []
    for one in answer["runs"]:
        its = one["summary"]
        if not its["requests_count"] or one["point_of"] or one["phase"] == "memory":
            continue
        served = its["metrics"].get("req_s", {}).get("value")
        rows.append(
            (
                str(one["label"]),
                str(one["title"] or say.UNKNOWN),
                tr("report.bench_levels", count=say.count(its["points_count"]))
                if its["points_count"]
                else say.load(its),
                say.UNKNOWN if served is None else text.rate(served),
                say.figure(metric, its["metrics"].get(metric)),
                say.figure("error_ratio", its["error_ratio"]),
                say.figure("goodput_ratio", its["goodput_ratio"]),
                _state(one),
            )
        )
    whole = [one for one in answer["runs"] if not one["point_of"]]
    runs = [one for one in whole or answer["runs"] if one["distributions"]]
    drawn = (distribution_chart(runs, name, f"shares-{name}") for name in ("ttft_ms", "tpot_ms", "e2e_ms"))
    charts = tuple(one for one in drawn if one is not None) if pictures else ()
    tables = (Table("", header, tuple(rows)),) if rows else ()
    return Part("overview", tr("report.bench_part.overview"), tuple(journal_notes(answer)), tables, charts)


def _state(one: dict[str, Any]) -> str:
    """Whether the figures are the server's, and whether it held its objectives; of a search whether it found any."""
    its = one["summary"]
    if its["client_bound"]:
        return tr("report.bench_state.client")
    if its["saturated"]:
        return tr("report.bench_state.saturated")
    if its["points_count"]:
        sought = one["ended"].get("sought")
        found = isinstance(sought, dict) and sought.get("level") is not None
        return tr(f"report.bench_state.{'found' if found else 'none_found'}")
    met = [one["met"] for one in its["objectives"]]
    if not met:
        return tr("report.bench_state.none")
    key = "missed" if False in met else "open" if None in met else "met"
    return tr(f"report.bench_state.{key}")


def _settles(answer: dict[str, Any]) -> Part:
    told = [f"{one['label']}: {say.turned(turn)}" for one in answer["runs"] for turn in one["settles"]]
    return Part("settles", tr("report.bench_part.settles"), tuple(told))


def _search(answer: dict[str, Any], one: dict[str, Any], at: int) -> Part:
    """What a search found, and its points in the order of their load."""
    points = [
        each for each in answer["runs"] if (each["folder"], each["point_of"]) == (one["folder"], one["run"])
    ]
    points.sort(key=lambda each: each["summary"]["offered_req_s"] or 0.0)
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
                say.figure("ttft_ms_p95", its["metrics"].get("ttft_ms_p95")),
                say.figure("tpot_ms_p95", its["metrics"].get("tpot_ms_p95")),
                say.figure("goodput_ratio", its["goodput_ratio"]),
                _state(each),
            )
        )
    found = [sentence for sentence in (one["why"], _sought(one), *one["told"]) if sentence]
    tables = (Table("", header, tuple(rows)), beside(one))
    title = tr("report.bench_part.search", run=one["label"])
    return Part(f"run-{at}", title, tuple(found), tuple(each for each in tables if each.rows))


def _sought(one: dict[str, Any]) -> str:
    """How far the objectives were met."""
    sought = one["ended"].get("sought")
    if not isinstance(sought, dict) or not has_text(f"report.bench_sought.{sought.get('why')}"):
        return tr("report.bench_sought.stopped")
    levels = []
    for value in (sought.get("level"), sought.get("failed_level")):
        known = isinstance(value, int | float)
        closed = tr("report.bench_load.closed", count=say.count(value)) if known else say.UNKNOWN
        levels.append(closed if sought.get("closed") or not known else text.rate(float(value or 0.0)))
    return tr(f"report.bench_sought.{sought['why']}", level=levels[0], failed=levels[1])


def _run(one: dict[str, Any], at: int, pictures: bool) -> Part:
    its = one["summary"]
    speeds = [latencies(its), rates(its)] if one["phase"] != "memory" else []
    tables = [*speeds, measured(its), steps(one), beside(one), drills(one), watched(one)]
    drawn = timeline_chart(one, f"timeline-{at}") if pictures and speeds else None
    return Part(
        f"run-{at}",
        tr("report.bench_part.run", run=one["label"]),
        tuple(_sentences(one)),
        tuple(table for table in tables if table.rows),
        (drawn,) if drawn else (),
        one if speeds else None,
    )


def _sentences(one: dict[str, Any]) -> list[str]:
    its = one["summary"]
    found = []
    if one["why"]:
        found.append(one["why"])
    found += one["told"]
    if its["requests_count"] and one["phase"] != "memory":
        window = text.duration(its["until_s"] - its["from_s"])
        counts = {"requests": say.count(its["requests_count"]), "all": say.count(its["all_requests_count"])}
        found.append(tr("report.bench_asked", load=say.load(its), window=window, **counts))
        found.append(_ended(its))
        found.append(_outputs(its))
    if its["client_bound"]:
        found.append(tr("report.bench_client", why=its["client_why"] or tr("report.bench_client_slow")))
    elif its["client_bound"] is None and its["requests_count"] and one["phase"] != "memory":
        found.append(tr("report.bench_client_unwatched"))
    if its["saturated"]:
        found.append(tr("report.bench_saturated", growth=text.rate(its["backlog_growth_per_s"])))
    found += [_objective(met) for met in its["objectives"]]
    found += [f"{_name(each['drilled'])}: {each['why']}" for each in one["drills"] if each["why"]]
    found += [
        tr(f"keep.note.{note}") for note in its["notes"] if note != "client" and has_text(f"keep.note.{note}")
    ]
    if one["refused"]:
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
    share = met.get("limit_ratio")
    limit, value = (met["limit_s"], met["value_s"]) if share is None else (share, met["value_ratio"])
    said = text.duration if share is None else text.percent
    return tr(
        f"report.bench_objective.{state}",
        metric=say.label(met["metric"]), limit=said(limit), value=say.UNKNOWN if value is None else said(value),
    )  # fmt: skip


def _name(drilled: dict[str, Any]) -> str:
    return str(drilled["name"] or drilled["kind"])


def _samples(answer: dict[str, Any]) -> Part:
    header = (tr("report.bench_request"), tr("report.bench_accepted"), tr("report.bench_output"))
    shown = sorted(answer["samples"], key=lambda one: one["accepted"] is not False)[:MOST_SAMPLES]
    said = {True: tr("report.bench_yes"), False: tr("report.bench_no"), None: say.UNKNOWN}
    rows = tuple((one["id"], said[one["accepted"]], clip(one["text"], SAMPLE_CHARS)) for one in shown)
    tables = (Table("", header, rows),) if rows else ()
    return Part("samples", tr("report.bench_part.samples"), (), tables)
