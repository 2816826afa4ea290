"""The report of a benchmark in parts - sentences, tables, pictures - that each form shows in its own way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cabida import text
from cabida.report import bench_money
from cabida.report import bench_words as say
from cabida.report.bench_charts import distribution_chart
from cabida.report.bench_learnt import learnt
from cabida.report.bench_part import Part
from cabida.report.bench_run_parts import run_part, search_part, state
from cabida.report.money_parts import Table
from cabida.report.svg import clip
from cabida.text import tr

MOST_SAMPLES, MOST_ACCEPTED, SAMPLE_CHARS = 10, 3, 120  # all of them are in the journal


def parts(answer: dict[str, Any], *, pictures: bool = True) -> list[Part]:
    """All parts in the language in use; ``pictures`` = with drawings."""
    found = [_overview(answer, pictures), _settles(answer)]
    if answer.get("normalised"):
        sentences, costs = bench_money.told(answer["normalised"])
        found.append(Part("money", tr("planned.money.title"), sentences, (costs,) if costs.rows else ()))
    told: set[str] = set()  # what is said of one run is not said of the next
    for at, one in enumerate(answer["runs"]):
        if one["point_of"]:
            continue
        shown = {**one, "told": [each for each in one["told"] if each not in told]}
        told.update(one["told"])
        if one["phase"] == "search":
            found.append(search_part(shown, _points(answer, one), at))
        else:
            found.append(run_part(shown, at, pictures))
    found += [_samples(answer), _next(answer)]
    return [_printable(one) for one in found if one.sentences or one.tables or one.charts]


def _points(answer: dict[str, Any], one: dict[str, Any]) -> list[dict[str, Any]]:
    """The points of a search, in the order of their load."""
    found = [
        each for each in answer["runs"] if (each["folder"], each["point_of"]) == (one["folder"], one["run"])
    ]
    return sorted(
        found,
        key=lambda each: (
            each["summary"]["load"].get("concurrency") or each["summary"]["offered_req_s"] or 0.0
        ),
    )


def _printable(part: Part) -> Part:
    """Without control characters: names and reasons are somebody else's."""
    tables = tuple(
        Table(
            text.printable(one.title),
            tuple(map(text.printable, one.header)),
            tuple(tuple(map(text.printable, row)) for row in one.rows),
        )
        for one in part.tables
    )
    said = tuple(map(text.printable, part.sentences))
    return replace(part, title=text.printable(part.title), sentences=said, tables=tables)


def headline(answer: dict[str, Any]) -> str:
    """The first paragraph: what was learnt, and whether it can be relied on."""
    return " ".join(learnt(answer))


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
        if one["point_of"] or one["phase"] == "memory" or not (its["requests_count"] or one["failed"]):
            continue
        if one["failed"]:
            rows.append((one["label"], one["candidate"], *(say.UNKNOWN,) * (len(header) - 3), state(one)))
            continue
        served = its["metrics"].get("req_s", {}).get("value")
        rows.append(
            (
                str(one["label"]),
                str(one["candidate"] or say.UNKNOWN),
                tr("report.bench_levels", count=say.count(its["points_count"]))
                if its["points_count"]
                else say.load(its),
                say.UNKNOWN if served is None else text.rate(served),
                say.value(metric, its["metrics"].get(metric)),
                say.value("error_ratio", its["error_ratio"]),
                say.value("goodput_ratio", its["goodput_ratio"]),
                state(one),
            )
        )
    whole = [one for one in answer["runs"] if not one["point_of"]]
    runs = [one for one in whole or answer["runs"] if one.get("distributions") and one["phase"] == "load"]
    drawn = (distribution_chart(runs, name, f"shares-{name}") for name in ("ttft_ms", "tpot_ms", "e2e_ms"))
    charts = tuple(one for one in drawn if one is not None) if pictures else ()
    tables = (Table("", header, tuple(rows)),) if rows else ()
    said = (*journal_notes(answer), *_stands_for(answer))
    return Part("overview", tr("report.bench_part.overview"), said, tables, charts)


def _stands_for(answer: dict[str, Any]) -> list[str]:
    """What stands behind the short name of each contender, where it has a title."""
    return [
        tr("report.bench_stands_for", name=one["name"], title=one["title"])
        for one in answer["contenders"]
        if one["title"] and one["title"] != one["name"]
    ]


def _next(answer: dict[str, Any]) -> Part:
    """What to type now."""
    said = [tr(f"report.bench_next.{one['why']}", command=one["command"]) for one in answer.get("next", ())]
    return Part("next", tr("report.bench_part.next"), tuple(said))


def _settles(answer: dict[str, Any]) -> Part:
    told = [f"{one['label']}: {say.turned(turn)}" for one in answer["runs"] for turn in one["settles"]]
    return Part("settles", tr("report.bench_part.settles"), tuple(told))


def _samples(answer: dict[str, Any]) -> Part:
    header = (tr("report.bench_request"), tr("report.bench_accepted"), tr("report.bench_output"))
    rejected = [one for one in answer["samples"] if one["accepted"] is False]
    others = [one for one in answer["samples"] if one["accepted"] is not False]
    shown = [*rejected[:MOST_SAMPLES], *others[:MOST_ACCEPTED]]
    said = {True: tr("report.bench_yes"), False: tr("report.bench_no"), None: say.UNKNOWN}
    rows = tuple((one["id"], said[one["accepted"]], clip(one["text"], SAMPLE_CHARS)) for one in shown)
    tables = (Table("", header, rows),) if rows else ()
    return Part("samples", tr("report.bench_part.samples"), (), tables)
