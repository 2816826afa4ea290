"""A job while it is worked out: what is being done, how far it is, and where it leads when it is over."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from cabida.errors import Problem
from cabida.faces.web import access, limits
from cabida.faces.web.frame import page
from cabida.text import has_text, tr

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.evidence.shelf import Job

PLANNED = {
    "recommend": ("screen", "simulate", "keep"),
    "rerun": ("screen", "simulate"),
}  # stages told before they begin
NAMED = re.compile(r"^name:[ \t]*([^\n#]+)", re.MULTILINE)
MOST_STREAMS = 50  # that one person follows at once
REFRESH_S = 2  # of the page, where scripts don't run
TRY_AGAIN_MS = 2000  # for a browser whose line broke


def job_page(request: Request) -> Response:
    """A job; one that is done leads on to what it made."""
    job = request.app.state.jobs.job(request.path_params["id"])
    if (to := leads_to(job)) and not request.query_params.get("stay"):
        return RedirectResponse(to, 303)
    return page(request, "job.html.j2", job=job, **shown(job), refresh_s=REFRESH_S)


def leads_to(job: Job) -> str:
    """The page of what a job made; "" while it is worked out, or where it made nothing of its own."""
    result = job.result or {}
    for name, path in (("decision", "/decisions/"), ("run", "/bench/")):
        if job.state == "done" and isinstance(found := result.get(name), str) and found:
            return path + found
    return ""


def shown(job: Job) -> dict[str, Any]:
    """A job in words: its stages in their order, each with how far it is, and its problems."""
    told = {one["what"]: one for one in job.progress.get("stages", ())}
    names = list(dict.fromkeys([*PLANNED.get(job.kind, ()), *told]))
    last = next(reversed(told), "")
    stages = []
    for name in names:
        one = told.get(name)
        state = "later" if one is None else "now" if name == last and not job.over else "over"
        stages.append(
            {"name": named(name), "state": state, "done": one and one["done"], "of": one and one["of"]}
        )
    problems = [Problem(**one) for one in job.errors]
    now = next((one for one in stages if one["state"] == "now"), None)
    return {"stages": stages, "now": now, "problems": problems, "about": name_of(job)}


def named(stage: str) -> str:
    """A stage in the language in use; as it calls itself where it has no text."""
    key = f"faces.progress.{stage}"
    return tr(key) if has_text(key) else stage[:200]


def name_of(job: Job) -> str:
    """What a job is about, as people call it."""
    asked = job.asked
    typed = NAMED.search(str(asked.get("text") or "")[:20_000])
    name = (
        asked.get("name")
        or (typed and typed[1].strip("'\" "))
        or asked.get("brief_id")
        or asked.get("decision")
    )
    return str(name or "")[:120]


def cancel(request: Request) -> Response:
    """End a job that somebody no longer wants."""
    person = access.editor(request)
    job = request.app.state.jobs.cancel(request.path_params["id"], person)
    return RedirectResponse(f"/jobs/{job.id}?stay=1", 303)


def as_event(kind: str, seq: int, data: str) -> str:
    """One server-sent event."""
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"event: {kind}\nid: {seq}\n{lines}\n"


def followed(request: Request, id: str, tell: Callable[[int, Job], list[str]]) -> StreamingResponse:
    """The events of a job as they come, from where the browser left off, with a sign of life in between.

    Args:
        request: that asks; its ``Last-Event-ID`` says what it has seen.
        id: of the job.
        tell: the events of a change; the last is of a job that is over.

    Raises:
        Refused: this person follows too many already (429).
    """
    seen = request.headers.get("last-event-id", "")
    after = int(seen) if seen.isdecimal() and len(seen) < 10 else 0

    board, person = request.app.state.jobs.board, request.state.person
    if board.watching[person.name] >= MOST_STREAMS:
        raise limits.too_many(10.0)

    async def events() -> AsyncIterator[str]:
        board.watching[person.name] += 1
        try:
            yield f"retry: {TRY_AGAIN_MS}\n\n"
            async for change in request.app.state.jobs.follow(id, after):
                if change is None:
                    yield ": still there\n\n"
                    continue
                for one in tell(*change):
                    yield one
        finally:
            board.watching[person.name] -= 1
            if not board.watching[person.name]:
                del board.watching[person.name]

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


async def parts(request: Request) -> Response:
    """The page's own events: the part of it that changes, made here."""
    id = request.path_params["id"]
    await run_in_threadpool(request.app.state.jobs.job, id)  # which says so when there is none

    def tell(seq: int, job: Job) -> list[str]:
        if job.over:
            return [as_event("end", seq, json.dumps({"go": leads_to(job)}))]
        part = page(request, "job_part.html.j2", job=job, **shown(job)).body
        return [as_event("part", seq, bytes(part).decode())]

    return followed(request, id, tell)


async def events(request: Request) -> Response:
    """A job's events for programs: ``state``, ``progress``, and ``end`` with the result or the problems."""
    id = request.path_params["id"]
    await run_in_threadpool(request.app.state.jobs.job, id)
    state = ""

    def tell(seq: int, job: Job) -> list[str]:
        nonlocal state
        made = []
        if job.state != state and not job.over:
            state = job.state
            made.append(as_event("state", seq, json.dumps({"id": job.id, "state": state})))
        if job.progress and not job.over:
            made.append(as_event("progress", seq, json.dumps(job.progress, ensure_ascii=False)))
        if job.over:
            told = {"id": job.id, "state": job.state, "result": job.result, "errors": list(job.errors)}
            made.append(as_event("end", seq, json.dumps(told, ensure_ascii=False)))
        return made

    return followed(request, id, tell)


ROUTES = [
    Route("/jobs/{id}", job_page, name="job"),
    Route("/jobs/{id}/cancel", cancel, methods=["POST"], name="cancel_job"),
    Route("/jobs/{id}/parts", parts, name="job_parts"),
    Route("/api/jobs/{id}/events", events, name="job_events"),
]
