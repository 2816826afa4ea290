"""A benchmark's plan executed, told, exported; and the client's own test."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, EndpointFailed, Problem
from cabida.text import printable, problem, tr

SAID_OF_LOGS = ("model", "gpu", "gpus", "engine", "engine_version", "weights", "kv_cache")

if TYPE_CHECKING:
    from cabida.bench.keep.kept import Kept
    from cabida.bench.run.following import Now
    from cabida.bench.selfcheck.selftest import Level, SelfTest
    from cabida.plan.bench import BenchPlan


def bench_run(
    plan: Path | str | BenchPlan,
    *,
    out: Path | str | None = None,
    only: Sequence[str] = (),
    phases: Sequence[str] = (),
    resume: bool = False,
    yes: bool = False,
    max_requests: int | None = None,
    dry_run: bool = False,
    store: Path | str | None = None,
    workers: int = 1,
    on: str = "here",
    told: Callable[[Now], None] | None = None,
) -> dict[str, Any]:
    """Make a plan's runs against its endpoints; what they showed, and what it settles.

    Args:
        plan: file of the plan.
        out: folder of the journal; ``bench-NAME`` here when left out.
        only: names of runs; all when empty.
        phases: only runs of these.
        resume: go on with the journal that is there.
        yes: targets elsewhere may be loaded, up to ``max_requests``.
        max_requests: ceiling of requests, retries counted; the plan's own when left out.
        dry_run: only tell what would be run.
        store: file of the evidence store that keeps what was observed.
        workers: processes that share each load.
        on: where they run: "here", or "ray" for a cluster.
        told: shown how it stands.

    Raises:
        InvalidInput: the plan has faults, or a target elsewhere may not be loaded.
        EndpointFailed: no run could be made. Where others could, what they showed is answered, with the ``problems``
            of those that couldn't and the ``exit`` code that they mean.
    """
    from cabida.bench.planned import read_plan
    from cabida.bench.run.parent import run_plan

    read = read_plan(plan) if isinstance(plan, str | Path) else plan
    if max_requests is not None:
        read = replace(read, policy=replace(read.policy, requests_most=max_requests))
    folder = Path(out) if out else _folder_of(read)
    if dry_run:
        return {
            "runs_planned": _planned(read, only, phases),
            "folder": str(folder),
            "currency": read.currency,
        }
    try:
        done = run_plan(
            read,
            folder,
            only=only,
            phases=phases,
            resume=resume,
            yes=yes,
            workers_count=workers,
            on=on,
            told=told,
        )
    except CabidaError as error:
        if not _others_made(folder, error):
            raise
        problems = [one.as_dict() for one in error.problems]
        done = {"folder": str(folder), "interrupted": False, "problems": problems, "exit": error.exit_code}
    answer = bench_report([folder], store=store, keep=True) | done
    if not answer.get("problems") and (told_off := _nothing_answered(answer["runs"])):
        answer |= {"problems": [told_off.as_dict()], "exit": EndpointFailed.exit_code}
    logs = _logs(read, only, phases, store)
    return answer | {"logs": logs} if logs else answer


def _logs(
    plan: BenchPlan, only: Sequence[str], phases: Sequence[str], store: Path | str | None
) -> list[dict[str, Any]]:
    """What the engines' logs say of memory, kept as observations; a log that says nothing of it is left out."""
    from contextlib import suppress

    from cabida.bench.run.parent import picked
    from cabida.errors import InvalidInput
    from cabida.report.observed import observe_files

    names = picked(plan, only, phases)
    wanted = {one.candidate for one in plan.runs if one.name in names}
    found: list[dict[str, Any]] = []
    for one in plan.contenders:
        if one.name in wanted and one.target.log:
            said = {name: one.setup[name] for name in SAID_OF_LOGS if one.setup.get(name) not in (None, "")}
            with suppress(InvalidInput):
                found.append(observe_files([one.target.log], store, keep=True, said=said))
    return found


def _nothing_answered(runs: Sequence[dict[str, Any]]) -> Problem | None:
    """The problem of a benchmark whose requests all came to nothing; drills break servers on purpose."""
    sent = [one["summary"] for one in runs if one["phase"] != "drill" and one["summary"]["requests_count"]]
    if not sent or any(one["generated_count"] for one in sent):
        return None
    reasons: Counter[str] = Counter()
    for one in sent:
        reasons.update(one["reasons"])
    why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(3))
    count = sum(one["all_requests_count"] for one in sent)
    return problem("CB-N030", count=count, why=printable(why) or tr("bench.no_reason"))


def _others_made(folder: Path, error: CabidaError) -> bool:
    """Whether it is one run that could not be made, and others of the same journal were."""
    from cabida.bench.keep.kept import read_journal

    try:
        kept = read_journal(folder)
    except CabidaError:
        return False
    whys = [str(row.get("why")) for row in kept.events.get("run-end", ()) if row.get("stopped") == "failed"]
    ended = [row for row in kept.events.get("run-end", ()) if row.get("stopped") != "failed"]
    return bool(ended) and any(str(one) in why for one in error.problems for why in whys)


def _folder_of(plan: BenchPlan) -> Path:
    """``bench-NAME`` here; a name is one folder, whatever is in it."""
    return Path("bench-" + re.sub(r"[/\\\s]+", "-", plan.name)[:80])


def _planned(plan: BenchPlan, only: Sequence[str], phases: Sequence[str]) -> list[dict[str, Any]]:
    """The runs that would be made, as plain data; ``does`` tells line by line what their drills would do."""
    from dataclasses import asdict

    from cabida.bench.drills.checks import described
    from cabida.bench.run.parent import picked

    names = picked(plan, only, phases)
    return [
        asdict(one) | {"does": [line for drill in one.drills for line in described(drill)]}
        for one in plan.runs
        if one.name in names
    ]


def bench_report(
    folders: Sequence[Path | str],
    *,
    store: Path | str | None = None,
    keep: bool = False,
    predict: bool = True,
    decision: Path | str = "",
) -> dict[str, Any]:
    """What benchmarks showed: each run's figures with intervals, beside what was predicted, and what they settle.

    Args:
        folders: of journals.
        store: file of the evidence store.
        keep: put what was observed into the store; ``stored`` of the answer has the ids that are new, and ``next``
            what to type next.
        predict: hold it against what is predicted for the setup.
        decision: file of the decision it was made for: ``normalised`` has its costs with what was measured.

    Raises:
        InvalidInput: a folder has no journal, or the store can't be written.
    """
    from cabida.bench.keep.kept import read_journal
    from cabida.report.bench import bench_answer_of
    from cabida.report.bench_learnt import next_steps

    folders = list({Path(folder).resolve(): folder for folder in folders}.values())  # none counts twice
    journals = [read_journal(folder) for folder in folders]
    answer = bench_answer_of(journals, predict=predict)
    if decision:
        from cabida.app.bench_money import bench_normalised

        answer["normalised"] = bench_normalised(decision, folders)
    if keep:
        answer["stored"] = _kept(journals, store)
    answer["next"] = next_steps(answer, folders, store=store, kept=keep, decided=bool(decision))
    return answer


def _kept(journals: Sequence[Kept], store: Path | str | None) -> list[str]:
    """Put what the journals show into the evidence store; the ids that are new."""
    from cabida.bench.keep.figures import summaries
    from cabida.bench.keep.observed import observations, read_file_of
    from cabida.bench.run.plain import plan_of
    from cabida.evidence import add

    found: list[str] = []
    for kept in journals:
        read = read_file_of(kept, observations(kept, summaries(kept), plan_of(kept.plan).contenders))
        if read.observations:
            found += add(read, store)
    return found


def bench_write(answer: dict[str, Any], out: Path | str, language: str = "") -> list[Path]:
    """Write a benchmark's report (HTML, Markdown, JSON) into a folder; the files.

    Raises:
        InvalidInput: CB-R005, it can't be written there.
    """
    import json

    from cabida import text
    from cabida.files import write_text
    from cabida.report.bench_markdown import bench_markdown
    from cabida.report.bench_page import bench_page
    from cabida.report.metrics import plain

    speaking = language or text.locale()
    stem = Path(out) / "bench"
    forms = {
        ".html": bench_page(answer, speaking),
        ".md": bench_markdown(answer, speaking),
        ".json": json.dumps(plain(answer), ensure_ascii=False, indent=1, allow_nan=False) + "\n",
    }
    return [write_text(stem.with_suffix(suffix), text) for suffix, text in forms.items()]


def bench_selftest(
    streams: Sequence[int] = (), *, told: Callable[[Level], None] = lambda _: None
) -> SelfTest:
    """The load client of this machine against a server that knows the truth.

    Raises:
        EndpointFailed: the server or the client did not start.
    """
    from cabida.bench.selfcheck.selftest import STREAMS, selftest

    return selftest(tuple(streams) or STREAMS, told=told)
