"""What a benchmark taught, in a few sentences that come before everything else; and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cabida import text
from cabida.report import bench_money
from cabida.report import bench_words as say
from cabida.report.bench_run_parts import is_undecided, level, missed_at
from cabida.text import tr

MOST_LEARNT = 8
Row = dict[str, Any]


def learnt(answer: dict[str, Any]) -> list[str]:
    """Sentences: the decision's answer where there is one, then what each run found, then how much that is worth."""
    whole = [one for one in answer["runs"] if not one["point_of"]]
    found = list(bench_money.told(answer["normalised"])[0][:1]) if answer.get("normalised") else []
    bound = [one["label"] for one in whole if one["summary"]["client_bound"]]
    warned = [tr("report.bench_client_bound", runs=", ".join(bound))] if bound else []
    several = [said for one in sorted(whole, key=_weight) if (said := _of_run(one, answer))]
    found += [*warned, *several[: MOST_LEARNT - len(found)]]
    asked = sum(one["requests_count"] for one in answer["journals"])
    return [*found, tr("report.bench_headline", runs=say.count(len(whole)), requests=say.count(asked))]


def _weight(one: Row) -> int:
    """What says how much is held comes first, then what couldn't be made, then the rest."""
    order = {"search": 0, "load": 1, "drill": 3, "training": 3, "memory": 4}
    return 2 if one["failed"] else order.get(one["phase"], 5)


def _of_run(one: Row, answer: dict[str, Any]) -> str:
    """What a run found, in one sentence; "" = nothing that is worth one."""
    told = _found(one, answer)
    return text.printable(f"{one['label']}: {told}") if told else ""


def _found(one: Row, answer: dict[str, Any]) -> str:
    its = one["summary"]
    if one["failed"]:
        return tr("report.bench_not_made", why=one["failed"])
    if one["phase"] == "search":
        return _search(one, answer)
    if one["drills"]:
        return _drills(one)
    if one["phase"] == "memory":
        edge = one["edge"] or {}
        safe, context = edge.get("safe_concurrency"), edge.get("context_tokens_most")
        if context is None:
            return ""
        if safe is None:
            return tr("report.bench_learnt.context", context=say.count(context))
        return tr("report.bench_learnt.memory", context=say.count(context), safe=say.count(safe))
    if one["phase"] == "training":
        for name in ("tokens_s_per_gpu", "tokens_s", "step_time_s"):
            if (figure := its["measured_figures"].get(name)) and figure["value"] is not None:
                return f"{say.label(name)} {say.figure(name, figure)}."
        return ""
    return _load(its) if its["requests_count"] and not its["client_bound"] else ""


def _search(one: Row, answer: dict[str, Any]) -> str:
    said = one["ended"].get("sought")
    if not isinstance(said, dict):
        return ""
    closed = bool(said.get("closed"))
    held, failed = (said.get(key) for key in ("level", "failed_level"))
    points = [
        each for each in answer["runs"] if (each["folder"], each["point_of"]) == (one["folder"], one["run"])
    ]
    if held is None:
        key = "undecided" if is_undecided(said) else "none"
        return "" if failed is None else tr(f"report.bench_learnt.{key}", failed=level(failed, closed))
    if failed is None or said.get("why") == "client":
        key = "client" if said.get("why") == "client" else "most"
        return tr(f"report.bench_learnt.{key}", level=level(held, closed))
    why = missed_at(points, failed)
    key = "holds_why" if why else "holds"
    return tr(f"report.bench_learnt.{key}", level=level(held, closed), failed=level(failed, closed), why=why)


def _drills(one: Row) -> str:
    passed = sum(each["verdict"] == "passed" for each in one["drills"])
    others = [
        f"{say.drill(each)} {tr('report.bench_drill.' + each['verdict'])}"
        for each in one["drills"]
        if each["verdict"] != "passed"
    ]
    told = tr("report.bench_learnt.drills", passed=say.count(passed), all=say.count(len(one["drills"])))
    return f"{told} {', '.join(others)}." if others else told


def _load(its: dict[str, Any]) -> str:
    """The objective that says most: one that is missed, else one that is open, else the first."""
    load = say.load(its)
    if its["saturated"]:
        return tr("report.bench_learnt.saturated", load=load)
    met = its["objectives"]
    for wanted, key in ((False, "missed"), (None, "open"), (True, "met")):
        for each in met:
            if each["met"] is wanted:
                return tr(f"report.bench_learnt.{key}", load=load, **say.objective(each))
    for name in ("ttft_ms_p95", "e2e_ms_p95"):
        if (figure := its["metrics"].get(name)) and figure["value"] is not None:
            return tr(
                "report.bench_learnt.load", load=load, metric=say.label(name), value=say.figure(name, figure)
            )
    return ""


def next_steps(
    answer: dict[str, Any],
    folders: Sequence[Path | str],
    *,
    store: Path | str | None,
    kept: bool,
    decided: bool,
) -> list[dict[str, str]]:
    """What to type next: ``why`` (a word of ``report.bench_next.*``) and ``command``.

    Args:
        answer: of :func:`cabida.report.bench.bench_answer`.
        folders: of the journals.
        store: file of the evidence store; ``None`` = the usual one.
        kept: what was observed was put into the store.
        decided: the decision it was made for was looked at.
    """
    places = [str(one) for one in folders]
    return [
        {"why": why, "command": shlex.join(command)}
        for why, command in _steps(answer, places, store, kept, decided)
    ]


def _steps(
    answer: dict[str, Any], places: list[str], store: Path | str | None, kept: bool, decided: bool
) -> Iterator[tuple[str, list[str]]]:
    in_store = [] if store is None else ["--store", str(store)]
    for one in answer["journals"]:
        failed = any(each["failed"] and each["folder"] == one["folder"] for each in answer["runs"])
        if not one["ended"] or failed:
            yield (
                "again" if failed else "resume",
                [
                    "cabida",
                    "bench",
                    "run",
                    str(Path(one["folder"]) / "plan.yaml"),
                    "--out",
                    one["folder"],
                    "--resume",
                ],
            )
    if answer["decision"] and not decided:
        yield "decision", ["cabida", "bench", "report", *places, "--decision", answer["decision"]]
    if not any(one.get("refused") == "" for one in answer["runs"]):
        return
    if not kept:
        yield "keep", ["cabida", "bench", "report", *places, "--keep", *in_store]
    yield "calibrate", ["cabida", "calibrate", *in_store]
    yield "recommend", ["cabida", "recommend", "BRIEF"]
