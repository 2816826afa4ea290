"""What a benchmark showed, as plain data: its figures, what they are worth, and what they settle.

The forms - screen, page, Markdown - are made of this answer alone; ``--json`` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cabida.bench.drills.judged import recoveries
from cabida.bench.keep.asked import asked_of
from cabida.bench.keep.figures import Summary, summaries
from cabida.bench.keep.kept import Kept, read_journal
from cabida.bench.keep.observed import offered
from cabida.bench.run.plain import plan_of
from cabida.plan.bench import BenchPlan, Contender, Run
from cabida.report.bench_beside import beside_rows, fit_beside, settled
from cabida.report.bench_times import distributions, marks, timeline
from cabida.report.bench_watched import edge_of, steps_of, told_of, watched_of
from cabida.text import printable

SCHEMA = "cabida/bench-report/1"
MOST_SAMPLES = 100


def bench_answer(folders: Sequence[Path | str], *, predict: bool = True) -> dict[str, Any]:
    """What the journals of one or several folders say: :func:`bench_answer_of` of them.

    Raises:
        InvalidInput: CB-J006, CB-J007: a folder has no journal.
    """
    return bench_answer_of([read_journal(folder) for folder in folders], predict=predict)


def bench_answer_of(kept: Sequence[Kept], *, predict: bool = True) -> dict[str, Any]:
    """What journals say.

    Args:
        kept: each as it was read; one that was cut off is told as far as it goes.
        predict: hold what was measured against what is predicted for the setup, where that is stated.

    Returns:
        ``name, currency, journals, contenders, runs, samples``: per run its ``summary`` (:class:`Summary`), ``beside``
        (measured, expected by the plan, predicted now), ``settles`` (which turn of the plan happened; ``None`` =
        undecided), ``label``, ``drills``, ``survived`` (what outlived each drill), ``timeline``, ``marks``,
        ``distributions``, ``watched`` (with energy per token and per accepted output), ``failed`` (why it could not
        be made; "" = it was) and ``refused`` (why it teaches nothing; "" = it may). Points of a search have their
        figures alone.
    """
    plans = [_plan(one) for one in kept]
    first = next((one for one in plans if one is not None), None)
    return {
        "schema": SCHEMA,
        "name": printable(first.name if first else kept[0].folder.name if kept else ""),
        "currency": first.currency if first else "",
        "decision": first.decision if first else "",
        "journals": [_journal(one) for one in kept],
        "contenders": _contenders(plans),
        "runs": [
            {**row, "label": printable(f"{one.folder.name}: {row['run']}" if len(kept) > 1 else row["run"])}
            for one, plan in zip(kept, plans, strict=True)
            for row in _runs(one, plan, predict)
        ],
        "samples": [
            {"id": id, "accepted": accepted, "text": text}
            for one in kept
            for id, accepted, text in one.samples[:MOST_SAMPLES]
        ],
    }


def _plan(kept: Kept) -> BenchPlan | None:
    """The plan of the journal; ``None`` = another release's, which reads otherwise."""
    try:
        return plan_of(kept.plan)
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def _contenders(plans: Sequence[BenchPlan | None]) -> list[dict[str, Any]]:
    """The short name of each contender, with what stands behind it."""
    named = {one.name: one for plan in plans if plan is not None for one in plan.contenders}
    return [
        {"name": printable(one.name), "title": printable(one.title), "replicas_count": one.replicas_count,
         "url": printable(one.target.url), "model": printable(one.target.model)}
        for one in named.values()
    ]  # fmt: skip


def _journal(kept: Kept) -> dict[str, Any]:
    first, last = kept.openings[0], kept.openings[-1]
    return {
        "folder": str(kept.folder),
        "began": first.get("wall"),
        "went_on": last.get("wall") if len(kept.openings) > 1 else None,
        "version": last.get("version"),
        "rows_count": kept.rows_count,
        "requests_count": int(kept.requests.final.sum()),
        "attempts_count": kept.requests.count,
        "openings_count": len(kept.openings),
        "ended": kept.ended,
        "torn": kept.torn,
        "broken_count": kept.broken_count,
        "broken_lines": list(kept.broken_lines),
        "missing_count": kept.missing_count,
        "twice_count": kept.requests.twice_count,
        "again_count": kept.requests.again_count,
        "unjudged_count": kept.requests.unjudged_count,
    }


def _runs(kept: Kept, plan: BenchPlan | None, predict: bool) -> list[dict[str, Any]]:
    contenders = {one.name: one for one in plan.contenders} if plan else {}
    planned = {one.name: one for one in plan.runs} if plan else {}
    found = []
    for one in summaries(kept):
        whole = planned.get(kept.whole_run(one.run))
        found.append(_run(kept, one, whole, contenders.get(one.candidate), predict))
    return found


def _run(
    kept: Kept, one: Summary, planned: Run | None, contender: Contender | None, predict: bool
) -> dict[str, Any]:
    asked = asked_of(kept.requests, kept.requests.rows_of(one.run))
    whole = kept.whole_run(one.run)
    point = "" if whole == one.run else whole
    began_s = min(asked.first_s, one.from_s) if asked.count else one.from_s
    ended = kept.ended_run(one.run)
    row: dict[str, Any] = {
        "folder": str(kept.folder),
        "run": one.run,
        "point_of": point,
        "phase": one.phase,
        "candidate": one.candidate,
        "summary": one.plain(),
        "failed": printable(str(ended.get("why") or "")) if ended.get("stopped") == "failed" else "",
        "ended": _ended(ended),
    }
    if point:
        its = row["summary"]
        its["service"], its["seen_by_client"], its["load"] = {}, {}, _short(its["load"])
        told = next((each for each in kept.events.get("point", ()) if each.get("run") == one.run), None)
        return row | {"point": told, "settles": [], "timeline": None}
    taught = offered(one, contender) if contender else None
    levels = bool(one.points_count)
    predicted = predict and not row["failed"] and one.phase != "drill"  # no prediction is of faults
    return row | {
        "title": (contender.title or contender.name) if contender else one.candidate,
        "is_job": bool(planned and planned.job) or one.phase == "training",
        "why": planned.why if planned else "",
        "beside": beside_rows(one, planned, contender if predicted else None),
        "settles": [settled(one, turn) for turn in (planned.decides if planned else ())],
        "drills": [asdict(each) for each in recoveries(kept, one.run)]
        if kept.of_run("drill", one.run)
        else [],
        "survived": [dict(each) for each in kept.of_run("survived", one.run)],
        "timeline": None if levels or not asked.count else timeline(kept.requests, asked, began_s),
        "marks": [] if levels else marks(kept, one, began_s),
        "distributions": {} if levels else distributions(kept.requests, asked, one),
        "watched": watched_of(kept, one),
        "told": told_of(kept, one),
        "steps": steps_of(kept, one),
        "edge": edge_of(kept, one),
        "fit": fit_beside(one, contender if predict else None),
        "refused": taught.refused if taught else "no_model",
    }


def _ended(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the run's end told, without what the summary and the marks hold anyway."""
    left = ("measured", "client_windows", "client_why", "n", "c", "kind")
    return {name: value for name, value in row.items() if name not in left}


def _short(load: Mapping[str, Any]) -> dict[str, Any]:
    """How a point asked, in a few words."""
    return {name: load[name] for name in ("kind", "requests_per_s", "concurrency") if name in load}
