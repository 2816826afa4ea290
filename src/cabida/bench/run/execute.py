"""A plan's runs, one after another, into its journal."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from cabida.bench.accept.rules import rules
from cabida.bench.keep.journal import Journal
from cabida.bench.load.limits import Budget
from cabida.bench.run import phases
from cabida.bench.run.followers import Followers
from cabida.bench.run.place import Going, place
from cabida.errors import CabidaError, EndpointFailed, InvalidInput, Problem
from cabida.plan.bench import Run

PHASES = {"load": phases.load, "search": phases.search, "drill": phases.drills, "memory": phases.memory}


async def execute(
    journal: Journal, names: Sequence[str], stop: asyncio.Event, followers: Followers | None = None
) -> None:
    """Make the runs named so, in the plan's order, until ``stop`` is set.

    Args:
        journal: open; it says whether an earlier part is gone on with.
        names: of runs of its plan.
        stop: set it to end: what is in flight may end, faults are undone.
        followers: processes that share each load.

    Raises:
        InvalidInput: a rule, a prompt file, a tokenizer or a drill can't be used.
        EndpointFailed: an endpoint doesn't answer at all.
    """
    plan = journal.plan
    earlier = _earlier(journal) if journal.resume else Earlier()
    salt = earlier.salt or secrets.token_hex(4)
    if not earlier.salt:
        journal.event("begin", salt=salt)
    most = plan.policy.requests_most
    going = Going(
        journal=journal,
        plan=plan,
        stop=stop,
        budget=Budget(most, earlier.attempts_count),
        rules=rules(plan.rules, where=plan.where, file=plan.file),
        followers=followers,
        salt=salt,
        done=earlier.done,
        spent_s=earlier.spent_s,
    )
    wanted = [one for one in plan.runs if one.name in names]
    failed: dict[type[CabidaError], list[Problem]] = {}
    for at, run in enumerate(wanted, 1):
        if stop.is_set() or run.name in earlier.over:
            continue
        journal.event(
            "run", run=run.name, phase=run.phase, candidate=run.candidate, place=at, of=len(wanted),
            duration_s=run.duration_s or run.load.duration_s, load=asdict(run.load),
        )  # fmt: skip
        try:
            await _made(going, run)
        except CabidaError as error:  # the others may still be measured
            failed[type(error)] = [*failed.get(type(error), ()), *error.problems]
            why = "; ".join(str(one) for one in error.problems)
            journal.event("run-end", run=run.name, stopped="failed", why=why)
    if failed and not stop.is_set():
        journal.event("end")  # of all that could be made
    for kind in (InvalidInput, EndpointFailed):
        if kind in failed:
            raise kind(list(dict.fromkeys(failed[kind])))


async def _made(going: Going, run: Run) -> None:
    if run.job is not None or run.phase == "training":
        await phases.training(going, run)
        return
    async with place(going, run, watched=run.phase != "memory") as one:
        await PHASES[run.phase](one, run)


@dataclass(frozen=True, slots=True)
class Earlier:
    """Of the parts before: attempts, requests that ended, runs that are over, how long the others lasted."""

    attempts_count: int = 0
    done: frozenset[str] = frozenset()
    over: frozenset[str] = frozenset()
    spent_s: dict[str, float] = field(default_factory=dict)
    salt: str = ""


def _earlier(journal: Journal) -> Earlier:
    from cabida.bench.keep.kept import done_ids, read_journal

    kept = read_journal(journal.folder)
    over = {
        str(row.get("run"))
        for row in kept.events.get("run-end", ())
        if row.get("stopped") not in ("stopped", "failed", None)
    }
    spent_s = {}
    for name in kept.runs:
        rows = kept.requests.rows_of(name)
        if name not in over and len(rows):
            times = kept.requests.times
            spent_s[name] = float(times["ended_s"][rows].max() - times["intended_s"][rows].min())
    salt = next((str(row.get("salt", "")) for row in kept.events.get("begin", ())), "")
    return Earlier(kept.requests.count, frozenset(done_ids(journal.folder)), frozenset(over), spent_s, salt)
