"""What takes long: asked for, told about while it runs, and answered with when it is done."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response, StreamingResponse

from cabida.errors import InvalidInput, Problem
from cabida.evidence import shelf
from cabida.faces.web import access
from cabida.faces.web.api import told
from cabida.faces.web.api.asked import form_of
from cabida.faces.web.api.asking import EXIT, EXITS, content_of, given_fields
from cabida.faces.web.api.listing import Pages, listed, one_schema, page_schema
from cabida.faces.web.api.running import worked_out
from cabida.faces.web.api.usecases import BRIEF, Given
from cabida.text import locale, problem, tr

LONGEST_WAIT_S = 60
Key = Annotated[
    str | None,
    Header(
        description="Your name of this request: the same key again gives the same job back, asked once.",
        min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$",
    ),
]  # fmt: skip
Wait = Annotated[
    int, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for the answer; 0 = the job at once.")
]
Id = Annotated[str, Path(description="Id of the job.", max_length=100)]
BRIEF_GIVEN = Given("brief", BRIEF)
OWN_BRIEF = Given("brief", BRIEF, needed=False)
RecommendAsked: Any = form_of(
    "recommend", "RecommendAsked", left_out=("brief",),
    more={**given_fields((BRIEF_GIVEN,)),
          "name": (Annotated[str, Field(max_length=200)], Field("", description="What to call it."))},
)  # fmt: skip
RerunAsked: Any = form_of(
    "rerun", "RerunAsked", left_out=("decision", "brief"), more=given_fields((OWN_BRIEF,))
)
CalibrateAsked: Any = form_of("calibrate", "CalibrateAsked", left_out=("files", "undo", "listing"))


class OfJobs(Pages):
    """Which jobs."""

    state: Annotated[
        str,
        Field(
            pattern=r"^(|waiting|running|done|failed|cancelled|interrupted)$", description="How they stand."
        ),
    ] = ""
    kind: Annotated[str, Field(max_length=40, description="Of which kind.")] = ""


def _job_responses(answer: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    done = {
        "description": "It was done while the request waited: the answer.",
        "headers": {
            EXIT: {"description": EXITS, "schema": {"type": "integer"}},
            "Location": {"description": "The job.", "schema": {"type": "string"}},
        },
        "content": {"application/json": {"schema": answer}},
    }
    begun = one_schema("Job", "It is asked for; look at it at `Location`.", Location="The job.")
    return {200: done, 202: begun, **told.responses(404, 409, 415, 422)}


def add_jobs(router: APIRouter) -> None:
    """Put the operations that are jobs on the router, and those about jobs."""
    _asked(router)
    _looked_at(router)


def _asked(router: APIRouter) -> None:
    whole = {"type": "object", "description": "The decision, as `cabida recommend --json` prints it."}

    @router.post("/recommend", tags=["decisions"], status_code=202, responses=_job_responses(whole))
    async def post_recommend(
        request: Request,
        asked: Annotated[RecommendAsked, Body()],
        wait: Wait = 0,
        idempotency_key: Key = None,
    ) -> Response:
        """Decide on a brief: a ranked, explained, dated decision, kept on the shelf.

        A job. Its `result` names the decision, which `GET /decisions/{id}` gives; with `wait` the decision itself is
        the answer when it is there in time.
        """
        said = _said(asked, ("name", "assume", "as_of", "scenarios", "seed"), all="every")
        said |= await worked_out(request, lambda: _brief(asked))
        if not said.get("brief_id") and not said.get("text"):
            raise InvalidInput([problem("CB-S041", where="brief", why=tr("web.api.wrong.missing"))])
        return await _job(request, "recommend", said, wait, idempotency_key)

    @router.post(
        "/decisions/{id}/rerun", tags=["decisions"], status_code=202,
        responses=_job_responses({"type": "object", "description": "As `cabida rerun --json` prints it."}),
    )  # fmt: skip
    async def post_decisions_one_rerun(
        request: Request, id: Annotated[str, Path(max_length=100)], asked: Annotated[RerunAsked, Body()],
        wait: Wait = 0, idempotency_key: Key = None,
    ) -> Response:  # fmt: skip
        """Decide again with the prices, facts and evidence there are now: does the winner stay. A job."""
        said = {"decision": id, **_said(asked, ("same", "as_of"))}
        said |= await worked_out(request, lambda: _brief(asked))
        await worked_out(request, lambda: shelf.kept_decision(id))
        return await _job(request, "remake", said, wait, idempotency_key)

    @router.post(
        "/calibration", tags=["evidence"], status_code=202,
        responses=_job_responses({"type": "object", "description": "As `cabida calibrate --json` prints it."}),
    )  # fmt: skip
    async def post_calibration(
        request: Request,
        asked: Annotated[CalibrateAsked, Body()],
        wait: Wait = 0,
        idempotency_key: Key = None,
    ) -> Response:
        """Learn from the observations of the store, so that predictions for what you have get nearer. A job."""
        return await _job(request, "calibrate", _said(asked, ("dry_run",)), wait, idempotency_key)


def _said(asked: BaseModel, names: tuple[str, ...], **renamed: str) -> dict[str, Any]:
    """What was said of these fields, under the names that jobs have for them."""
    pairs = {**{name: name for name in names}, **renamed}
    found = {name: getattr(asked, field) for name, field in pairs.items() if field in asked.model_fields_set}
    return {"language": locale(), **found}


def _brief(asked: Any) -> dict[str, Any]:
    """The brief of a job: its id and version on the shelf, or its text."""
    if asked.brief_id is not None and asked.brief is None:
        kept = shelf.brief(asked.brief_id, asked.brief_version)
        return {"brief_id": kept.id, "brief_version": kept.version}
    content = content_of(OWN_BRIEF, asked)
    return {} if content is None else {"text": content.decode("utf-8")}


async def _job(request: Request, kind: str, asked: dict[str, Any], wait_s: int, key: str | None) -> Response:
    """Ask for a job: 202 and where it is, or 200 and its answer when that comes in time."""
    person = access.editor(request)
    jobs = request.app.state.jobs
    made = await worked_out(request, lambda: jobs.submit(kind, asked, person, key=key or ""))
    if wait_s:
        made = await jobs.ended(made.id, wait_s)
    headers = {"Location": f"/api/v1/jobs/{made.id}"}
    if wait_s and made.state == "failed":
        raise InvalidInput([Problem(**one) for one in made.errors])
    if wait_s and made.state == "done":
        answer, code = await worked_out(request, lambda: answer_of(made))
        return Response(answer, media_type="application/json", headers={**headers, EXIT: str(code)})
    return JSONResponse(plain(made), 202, headers=headers)


def answer_of(job: Any) -> tuple[str, int]:
    """What the command line would print for a job that is done, and its exit code."""
    result = dict(job.result or {})
    code = int(result.pop("exit_code", 0))
    if job.kind == "remake":
        from cabida.faces.web.api.doings import remade

        return json.dumps(remade(result), ensure_ascii=False), code
    if job.kind == "recommend":
        return shelf.decision_text(result["decision"]), code
    return json.dumps(result.get("answer", result), ensure_ascii=False), code


def plain(job: Any, *, whole: bool = True) -> dict[str, Any]:
    """A job as programs see it: not on which server, nor under which key it was asked; in lists without its texts."""
    found = asdict(job)
    if not whole:
        found["asked"].pop("text", None)
    for name in ("server", "key"):
        found.pop(name, None)
    found["errors"] = list(found["errors"])
    return found


def _looked_at(router: APIRouter) -> None:
    @router.get("/jobs", tags=["jobs"], responses={200: page_schema("Job"), **told.responses(422)})
    async def get_jobs(request: Request, asked: Annotated[OfJobs, Query()]) -> Response:
        """What was asked for in the background, the newest first."""
        found = await worked_out(
            request,
            lambda: shelf.jobs(state=asked.state, kind=asked.kind, after=asked.after, most=asked.most),
        )
        return listed(request, found, lambda one: plain(one, whole=False))

    @router.get("/jobs/{id}", tags=["jobs"], responses={200: one_schema("Job"), **told.responses(404, 422)})
    async def get_jobs_one(request: Request, id: Id) -> Response:
        """A job: how it stands, and what came out."""
        return JSONResponse(plain(await worked_out(request, lambda: request.app.state.jobs.job(id))))

    @router.delete(
        "/jobs/{id}", tags=["jobs"], responses={200: one_schema("Job"), **told.responses(404, 422)}
    )
    async def delete_jobs_one(request: Request, id: Id) -> Response:
        """Cancel a job; one that is over stays as it ended."""
        person, jobs = access.editor(request), request.app.state.jobs
        return JSONResponse(plain(await worked_out(request, lambda: jobs.cancel(id, person), writes=True)))

    @router.get(
        "/jobs/{id}/events", tags=["jobs"],
        responses={200: {"description": "Server-sent events: `state`, `progress` and, last, `end`; each with the "
                                        "job as JSON.",
                         "content": {"text/event-stream": {"schema": {"type": "string"}}}},
                   **told.responses(404, 422)},
    )  # fmt: skip
    async def get_jobs_one_events(request: Request, id: Id) -> Response:
        """How a job goes on, told as it happens (server-sent events), until it is over."""
        await worked_out(request, lambda: request.app.state.jobs.job(id))
        return StreamingResponse(
            _events(request, id), media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )  # fmt: skip


async def _events(request: Request, id: str) -> AsyncIterator[str]:
    state = ""
    async for seen in request.app.state.jobs.follow(id):
        if seen is None:
            if await request.is_disconnected():
                return
            yield ": still here\n\n"
            continue
        seq, job = seen
        name = "end" if job.over else "progress" if job.state == state else "state"
        state = job.state
        yield f"id: {seq}\nevent: {name}\ndata: {json.dumps(plain(job, whole=False), ensure_ascii=False)}\n\n"
