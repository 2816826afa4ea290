"""Benchmarks begun and ended by programs: the same run as from its page, with the same refusals."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from cabida.evidence import shelf
from cabida.faces.web import access
from cabida.faces.web.api import told
from cabida.faces.web.api.jobs import plain
from cabida.faces.web.api.listing import one_schema
from cabida.faces.web.api.running import worked_out
from cabida.faces.web.doing_bench import MOST_REQUESTS
from cabida.faces.web.pages import bench_asked as run

Id = Annotated[str, Path(description="Id of the benchmark.", max_length=100)]


class RunStarted(BaseModel):
    """How a benchmark is begun."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: Annotated[
        str,
        Field(
            max_length=run.LONGEST_KEY,
            description="The endpoint's key, told to this run's process alone; or where it is: `env:NAME`.",
        ),
    ] = ""
    most: Annotated[int, Field(ge=0, le=MOST_REQUESTS, description="Requests at most; 0 = as planned.")] = 0
    resume: Annotated[bool, Field(description="Go on where one that was cut short ended.")] = False


def add_bench(router: APIRouter) -> None:
    """Put the two operations on the router."""

    @router.post(
        "/runs/{id}/start", tags=["bench"], status_code=202,
        responses={202: one_schema("Job", "It is asked for; look at it at `Location`.", Location="The job."),
                   **told.responses(404, 409, 415, 422)},
    )  # fmt: skip
    async def post_runs_one_start(request: Request, id: Id, asked: Annotated[RunStarted, Body()]) -> Response:
        """Measure as the plan of a kept benchmark says. A job; one that is under way is answered with, not begun twice.

        Plans that start programs or open files of the server's machine, and addresses and keys that the server keeps
        to itself, are refused.
        """
        access.editor(request)

        def begin() -> Any:
            kept = shelf.kept_run(id)
            if run.state_of(request, kept) not in run.UNDER_WAY:
                run.begin(request, kept, key=asked.key, most=asked.most, resume=asked.resume)
                kept = shelf.kept_run(id)
            return request.app.state.jobs.job(kept.job)

        job = await worked_out(request, begin, writes=True)
        return JSONResponse(plain(job), 202, headers={"Location": f"/api/v1/jobs/{job.id}"})

    @router.post(
        "/runs/{id}/stop", tags=["bench"],
        responses={200: one_schema("KeptRun", "It ends; what was measured stays."), **told.responses(404, 422)},
    )  # fmt: skip
    async def post_runs_one_stop(request: Request, id: Id) -> Response:
        """End a benchmark as Ctrl-C does: what is in flight ends, and what was measured stays."""
        from cabida.faces.web.api.shelf import run_told

        access.editor(request)

        def stop() -> Any:
            run.end(request, shelf.kept_run(id))
            return shelf.kept_run(id)

        return JSONResponse(run_told(await worked_out(request, stop, writes=True)))
