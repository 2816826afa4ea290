"""What would stop a run hours into a benchmark, found before the first request: its files, loads, drills and job."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from cabida.bench.drills.checks import faults as drill_faults
from cabida.bench.drills.jobs import Reading
from cabida.bench.drills.process import shown
from cabida.bench.load.arrivals import faults as load_faults
from cabida.bench.load.arrivals import looked_at
from cabida.bench.load.texts import texts
from cabida.bench.wire.tokens import token_counter
from cabida.errors import InvalidInput, Problem
from cabida.plan.bench import BenchPlan, Job, Run
from cabida.text import problem

LOADED = ("load", "drill")  # phases whose load is made as it stands; a search and a ramp make their own
WHOLE_MOST_BYTES = (
    20_000_000  # a file of prompts that is read through beforehand; of a larger one, that it is there
)


def unready(plan: BenchPlan, names: list[str]) -> list[Problem]:
    """Everything that would keep the runs named so from being made, each with its file and line; empty = nothing known.

    Problems of a load (CB-G001 to CB-G003, CB-B039), a file of prompts (CB-G007), a tokenizer (CB-W014, CB-W015), a
    drill (CB-D001 to CB-D014), a job's patterns (CB-D030, CB-D031) and program (CB-D032).
    """
    found: list[Problem] = []
    wanted = [(at, run) for at, run in enumerate(plan.runs) if run.name in names]
    for at, run in wanted:
        found += _of_run(plan, run, f"runs[{at}]")
    asked = {run.candidate for _, run in wanted if run.job is None}
    if asked and plan.prompts.source != "synthetic":
        found += _told(lambda: _prompts(plan.prompts.file, plan.prompts.source))
    for at, one in enumerate(plan.contenders):
        target = one.target
        if one.name in asked and target.tokenizer and target.api in ("chat", "completions"):
            line = plan.where.get(f"contenders[{at}].target.tokenizer", 0)
            found += _placed(_told(lambda file=target.tokenizer: token_counter(file)), plan, line)  # type: ignore[misc]
    return list(dict.fromkeys(found))


def _of_run(plan: BenchPlan, run: Run, path: str) -> Iterator[Problem]:
    line = plan.where.get(path, 0)
    if run.job is not None:
        yield from _placed(_of_job(run.job), plan, plan.where.get(f"{path}.job", line))
    elif run.phase in LOADED:
        wrong = load_faults(run.load)
        yield from _placed(wrong, plan, plan.where.get(f"{path}.load", line))
        if not wrong and run.load.kind == "trace":
            yield from _told(lambda: looked_at(run.load))
    for at, one in enumerate(run.drills):
        told = drill_faults(one, has_proxy=True, has_job=run.job is not None)
        yield from _placed(told, plan, plan.where.get(f"{path}.drills[{at}]", line))


def _of_job(job: Job) -> Iterator[Problem]:
    yield from _told(lambda: Reading(job.patterns))
    folder, program = Path(job.folder or "."), job.command[0] if job.command else ""
    if not folder.is_dir() or not (shutil.which(program) or (folder / program).is_file()):
        yield problem("CB-D032", command=shown(" ".join(job.command)), why=os.strerror(errno.ENOENT))


def _prompts(file: str, source: str) -> None:
    path = Path(file)
    if not path.is_file() or path.stat().st_size <= WHOLE_MOST_BYTES:
        texts(file, source)


def _told(look: Callable[[], object]) -> list[Problem]:
    """The problems of whoever reads it for the run, told now."""
    try:
        look()
    except InvalidInput as error:
        return list(error.problems)
    return []


def _placed(found: list[Problem] | Iterator[Problem], plan: BenchPlan, line: int) -> list[Problem]:
    """The same with the place in the plan, where they name no file of their own."""
    return [one if one.file else replace(one, file=plan.file, line=line) for one in found]
