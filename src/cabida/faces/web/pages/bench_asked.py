"""What pages of benchmarks are asked: the plan, the endpoint's address and key; and how a kept run stands."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, InvalidInput, Problem
from cabida.faces.web import access, doing_bench
from cabida.text import number, problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.evidence.shelf import KeptRun
    from cabida.plan.bench import BenchPlan

LONGEST_KEY = 4_000
MOST_PLAN = 1_000_000
LONGEST_URL = 2_000
UNDER_WAY = ("waiting", "running", "stopping")


def refuse_unreachable(request: Request, plan: BenchPlan) -> None:
    """Refuse a plan that asks what the server may not, or names a key that its people may not use.

    Raises:
        InvalidInput: CB-S020 to CB-S022 of an address, CB-S093 of a key of the server's machine.
    """
    settings = request.app.state.settings
    found: list[Problem] = []
    for url in doing_bench.addresses(plan):
        try:
            access.reachable(url, settings)
        except InvalidInput as error:
            found += error.problems
    if not settings.open_to_loopback_only:
        named = doing_bench.keys_named(plan)
        found += [problem("CB-S093", name=one[:80]) for one in named if not doing_bench.NAMED.fullmatch(one)]
    if found:
        raise InvalidInput(found)


def key_of(said: str) -> tuple[str, str]:
    """Where the run's key is, and the key itself where it was typed; both "" when none was.

    Raises:
        InvalidInput: CB-S094, it can't be a key; what was typed is not repeated.
    """
    text = said.strip()
    if not text:
        return "", ""
    if text.startswith(("env:", "keyring:")):
        return text, ""
    if len(text) > LONGEST_KEY or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidInput([problem("CB-S094", most=number(LONGEST_KEY, 6))])
    return doing_bench.HELD, text


def begin(request: Request, run: KeptRun, *, key: str, most: int, resume: bool = False) -> None:
    """Have a kept run made in the background; a typed key goes to its process alone.

    Raises:
        InvalidInput: the plan or the key isn't taken. Refused: too many wait.
    """
    from cabida.evidence import shelf

    settings, jobs = request.app.state.settings, request.app.state.jobs
    person = access.editor(request)
    where, typed = key_of(key)
    plan = doing_bench.with_key(doing_bench.plan_for_server(run.plan_text), where)
    refuse_unreachable(request, plan)
    asked = {
        "run": run.id,
        "name": run.name,
        "key": where,
        "most": most,
        "resume": resume,
        "public_only": not (settings.open_to_loopback_only or settings.private_addresses),
        "held": secrets.token_hex(8) if typed else "",
    }
    folder = str(doing_bench.folder_of(run.id, settings.store))
    shelf.change_run(run.id, state="waiting", folder=folder)
    if typed:
        jobs.held[asked["held"]] = typed
    try:
        job = jobs.submit("bench", asked, person)
    except CabidaError:
        jobs.held.pop(asked["held"], None)
        shelf.change_run(run.id, state=run.state)
        raise
    shelf.change_run(run.id, job=job.id)


def end(request: Request, run: KeptRun) -> None:
    """End a run as Ctrl-C does: what is in flight ends, the journal stays. One that isn't under way stays as it is."""
    from cabida.evidence import shelf

    person = access.editor(request)
    state = state_of(request, run)
    if state in ("waiting", "running"):
        shelf.change_run(
            run.id, state="cancelled", by=person.name, store=request.app.state.settings.store or None
        )
        if state == "waiting" and run.job:
            request.app.state.jobs.cancel(run.job, person)


def state_of(request: Request, run: KeptRun) -> str:
    """How a run stands: as it is kept, unless its job ended without a word."""
    if not run.job or run.state not in ("waiting", "running", "cancelled"):
        return run.state
    try:
        job = request.app.state.jobs.job(run.job)
    except CabidaError:
        return run.state if run.state == "cancelled" else "interrupted"
    if not job.over:
        return "stopping" if run.state == "cancelled" else run.state if run.state == "running" else job.state
    return run.state if run.state == "cancelled" or job.state == "done" else job.state


def problems_of(request: Request, run: KeptRun) -> list[dict[str, Any]]:
    """What went wrong with a run, as its job and its report tell it."""
    told = list((run.summary or {}).get("problems", ()))
    if not told and run.job:
        try:
            told = list(request.app.state.jobs.job(run.job).errors)
        except CabidaError:
            return []
    return told


def folder_shown(run: KeptRun) -> str:
    """The folder of its journal: only the one that runs of this server have."""
    return run.folder


def runs_count(run: KeptRun) -> int:
    """How many runs its plan makes; 0 = the plan can't be read."""
    try:
        return len(doing_bench.plan_for_server(run.plan_text).runs)
    except CabidaError:
        return 0
