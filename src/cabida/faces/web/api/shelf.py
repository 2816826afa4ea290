"""The shelf: briefs with their versions, decisions, benchmark runs, tokens and the log of who changed what."""

import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response

from cabida.errors import Conflict
from cabida.evidence import shelf
from cabida.faces.web import access
from cabida.faces.web.api import told
from cabida.faces.web.api.asked import LONGEST_FILE
from cabida.faces.web.api.asking import ID
from cabida.faces.web.api.listing import (
    IfMatch,
    Paged,
    Pages,
    Searched,
    listed,
    one_schema,
    page_schema,
    version_of,
)
from cabida.faces.web.api.running import as_sent, worked_out
from cabida.faces.web.telling import NotFound, Refused
from cabida.text import problem, tr

Id = Annotated[str, Path(description="Its id.", max_length=100)]
NAME = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
BRIEF_TEXT = Annotated[str, Field(min_length=1, max_length=2**20)]
LONGEST_DAYS = 3660


class Strict(BaseModel):
    """Nothing that isn't known is taken."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewBrief(Strict):
    """A brief to keep."""

    name: NAME
    text: Annotated[BRIEF_TEXT, Field(description="Its YAML.")]


class ChangedBrief(Strict):
    """What changes of a brief; what is left out stays."""

    name: NAME | None = None
    text: BRIEF_TEXT | None = None


class NewDecision(Strict):
    """A decision to keep, made elsewhere."""

    decision: Annotated[dict[str, Any], Field(description="Its JSON, as the command line writes it.")]
    brief_id: ID | None = None
    brief_version: Annotated[int, Field(ge=0, le=10**6)] = 0


class NewToken(Strict):
    """A token to make: whoever has its secret may ask the server so."""

    name: NAME
    role: Annotated[str, Field(pattern=r"^(reader|editor)$", description="reader or editor.")]
    days: Annotated[int, Field(ge=1, le=LONGEST_DAYS, description="Until it ends.")] = 90


class NewRun(Strict):
    """A benchmark to keep: its plan, as `POST /bench/plan` writes it."""

    name: NAME
    plan: Annotated[str, Field(min_length=1, max_length=LONGEST_FILE, description="The plan: its YAML.")]


class OfDecisions(Pages):
    """Which decisions."""

    search: Annotated[str, Field(max_length=200, description="Letters of the name.")] = ""
    brief_id: Annotated[str, Field(max_length=100, description="Those that answer this brief.")] = ""


class OfLog(Pages):
    """Which lines of the log."""

    of: Annotated[str, Field(max_length=100, description="Id of a thing.")] = ""
    by: Annotated[str, Field(max_length=100, description="Whose changes.")] = ""


def _tagged(one: Any, status: int = 200, request: Request | None = None) -> Response:
    headers = {"ETag": f'"{one.version}"'}
    if status == 201 and request is not None:
        headers["Location"] = f"{request.url.path.rstrip('/')}/{one.id}"
    return JSONResponse(asdict(one), status, headers=headers)


def add_shelf(router: APIRouter) -> None:
    """Put the shelf's operations on the router."""
    _briefs(router)
    _decisions(router)
    _runs(router)
    _people(router)


def _briefs(router: APIRouter) -> None:
    tagged = {"ETag": "Its version, for If-Match."}

    @router.get("/briefs", tags=["briefs"], responses={200: page_schema("KeptBrief"), **told.responses(422)})
    async def get_briefs(request: Request, asked: Searched) -> Response:
        """The briefs that are kept, the newest first, without their texts."""
        found = await worked_out(
            request,
            lambda: shelf.briefs(search=asked.search, after=asked.after, most=asked.most),
        )
        return listed(request, found)

    @router.post(
        "/briefs", tags=["briefs"], status_code=201,
        responses={201: one_schema("KeptBrief", "It is kept.", **tagged, Location="Its address."),
                   **told.responses(415, 422)},
    )  # fmt: skip
    async def post_briefs(request: Request, asked: Annotated[NewBrief, Body()]) -> Response:
        """Keep a brief; it is version 1."""
        made = await worked_out(request, lambda: shelf.add_brief(asked.name, asked.text), writes=True)
        return _tagged(made, 201, request)

    @router.get(
        "/briefs/{id}",
        tags=["briefs"],
        responses={200: one_schema("KeptBrief", **tagged), **told.responses(404, 422)},
    )
    async def get_briefs_one(
        request: Request, id: Id, version: Annotated[int | None, Query(ge=1, le=10**6)] = None
    ) -> Response:
        """A brief as it is, or as it was in one version."""
        return _tagged(await worked_out(request, lambda: shelf.brief(id, version)))

    @router.get(
        "/briefs/{id}/versions", tags=["briefs"],
        responses={200: page_schema("KeptBrief"), **told.responses(404, 422)},
    )  # fmt: skip
    async def get_briefs_one_versions(request: Request, id: Id) -> Response:
        """Every version of a brief without its text, the newest first."""
        found = await worked_out(request, lambda: shelf.brief_versions(id))
        return listed(request, shelf.Page(tuple(found)))

    @router.put(
        "/briefs/{id}", tags=["briefs"],
        responses={200: one_schema("KeptBrief", **tagged), **told.responses(404, 412, 415, 422, 428)},
    )  # fmt: skip
    async def put_briefs_one(
        request: Request, id: Id, asked: Annotated[ChangedBrief, Body()], if_match: IfMatch = None
    ) -> Response:
        """Keep a new version of a brief. `If-Match` names the version that you changed."""
        seen = version_of(if_match)
        return _tagged(await _newest(
            request, lambda: shelf.change_brief(
                id, version=seen, name=asked.name, text=asked.text),
        ))  # fmt: skip

    @router.delete(
        "/briefs/{id}", tags=["briefs"],
        responses={200: one_schema("KeptBrief", **tagged), **told.responses(404, 412, 422, 428)},
    )  # fmt: skip
    async def delete_briefs_one(request: Request, id: Id, if_match: IfMatch = None) -> Response:
        """Take a brief off the list; its versions stay. `If-Match` names the version that you saw."""
        seen = version_of(if_match)
        return _tagged(await _newest(request, lambda: shelf.drop_brief(id, version=seen)))


async def _newest(request: Request, work: Any) -> Any:
    """A change that holds for the version that was seen; another is told as 412, since a header named it."""
    try:
        return await worked_out(request, work, writes=True)
    except Conflict as error:
        raise Refused(error.problems, 412) from None


def _decisions(router: APIRouter) -> None:
    @router.get(
        "/decisions", tags=["decisions"], responses={200: page_schema("KeptDecision"), **told.responses(422)}
    )
    async def get_decisions(request: Request, asked: Annotated[OfDecisions, Query()]) -> Response:
        """The decisions that are kept, the newest first, without their content."""
        found = await worked_out(
            request,
            lambda: shelf.kept_decisions(
                search=asked.search, brief_id=asked.brief_id, after=asked.after, most=asked.most),
        )  # fmt: skip
        return listed(request, found)

    @router.post(
        "/decisions", tags=["decisions"], status_code=201,
        responses={201: one_schema("KeptDecision", "It is kept.", Location="Its address."),
                   **told.responses(404, 415, 422)},
    )  # fmt: skip
    async def post_decisions(request: Request, asked: Annotated[NewDecision, Body()]) -> Response:
        """Keep a decision that was made elsewhere."""

        def keep() -> Any:
            from cabida.report.store import from_json

            text = json.dumps(asked.decision)
            from_json(text, file="decision.json")  # only what can be read again is kept
            return shelf.add_decision(text, brief_id=asked.brief_id or "", brief_version=asked.brief_version)

        made = await worked_out(request, keep, writes=True)
        headers = {"Location": f"{request.url.path.rstrip('/')}/{made.id}"}
        return JSONResponse(asdict(made), 201, headers=headers)

    @router.get(
        "/decisions/{id}/about", tags=["decisions"],
        responses={200: one_schema("KeptDecision"), **told.responses(404, 422)},
    )  # fmt: skip
    async def get_decisions_one_about(request: Request, id: Id) -> Response:
        """A decision without its content: its brief, day, winner and cost."""
        found = await worked_out(request, lambda: shelf.kept_decision(id))
        return JSONResponse(asdict(found))

    @router.delete(
        "/decisions/{id}", tags=["decisions"],
        responses={200: one_schema("KeptDecision"), **told.responses(404, 409, 422)},
    )  # fmt: skip
    async def delete_decisions_one(request: Request, id: Id) -> Response:
        """Take a decision off the list."""

        def drop() -> Any:
            shelf.drop_decision(id)
            return shelf.kept_decision(id)

        return JSONResponse(asdict(await worked_out(request, drop, writes=True)))


def _runs(router: APIRouter) -> None:
    @router.get("/runs", tags=["bench"], responses={200: page_schema("KeptRun"), **told.responses(422)})
    async def get_runs(request: Request, asked: Paged) -> Response:
        """The benchmarks that are kept, the newest first."""
        found = await worked_out(request, lambda: shelf.kept_runs(after=asked.after, most=asked.most))
        return listed(request, found, run_told)

    @router.post(
        "/runs", tags=["bench"], status_code=201,
        responses={201: one_schema("KeptRun", "It is kept.", Location="Its address."), **told.responses(415, 422)},
    )  # fmt: skip
    async def post_runs(request: Request, asked: Annotated[NewRun, Body()]) -> Response:
        """Keep the plan of a benchmark, as `POST /bench/plan` writes it; `POST /runs/{id}/start` runs it."""

        def keep() -> Any:
            from pathlib import Path as File
            from tempfile import TemporaryDirectory

            from cabida.bench.planned import read_plan

            with TemporaryDirectory(prefix="cabida-") as folder:
                file = File(folder) / "plan.yaml"
                file.write_text(asked.plan, encoding="utf-8")
                with as_sent(folder):
                    read_plan(file)
            return shelf.add_run(asked.name, asked.plan)

        made = await worked_out(request, keep, writes=True)
        return JSONResponse(
            run_told(made), 201, headers={"Location": f"{request.url.path.rstrip('/')}/{made.id}"}
        )

    @router.get(
        "/runs/{id}", tags=["bench"], responses={200: one_schema("KeptRun"), **told.responses(404, 422)}
    )
    async def get_runs_one(request: Request, id: Id) -> Response:
        """A benchmark: its plan, and how it stands."""
        return JSONResponse(run_told(await worked_out(request, lambda: shelf.kept_run(id))))

    @router.get(
        "/runs/{id}/report", tags=["bench"],
        responses={200: {"description": "What it showed.", "content": {"application/json": {
            "schema": {"type": "object"}}}}, **told.responses(404, 422)},
    )  # fmt: skip
    async def get_runs_one_report(request: Request, id: Id) -> Response:
        """What a benchmark showed: figures with intervals, measured beside predicted, and what it settles."""

        def report() -> Any:
            from cabida.faces.web.api.running import answered

            kept = shelf.kept_run(id)
            if not kept.folder:
                raise NotFound([problem("CB-S042", kind=tr("web.kind.report"), name=id)])
            return answered("bench report", (), [kept.folder]).data

        return JSONResponse(await worked_out(request, report))


def run_told(one: Any) -> dict[str, Any]:
    """A benchmark without the folder that the server keeps it in."""
    plain = asdict(one)
    del plain["folder"]
    return plain


def _people(router: APIRouter) -> None:
    made = {"type": "object", "required": ["token", "secret"], "properties": {
        "token": {"$ref": "#/components/schemas/Token"}, "secret": {"type": "string"}}}  # fmt: skip

    @router.get("/tokens", tags=["people"], responses={200: page_schema("Token"), **told.responses(422)})
    async def get_tokens(request: Request) -> Response:
        """The tokens there are; never their secrets. Editors only."""
        access.editor(request)
        return listed(
            request,
            shelf.Page(tuple(await worked_out(request, lambda: shelf.tokens()))),
        )

    @router.post(
        "/tokens", tags=["people"], status_code=201,
        responses={201: {"description": "It is made; its secret is told this once.",
                         "content": {"application/json": {"schema": made}}}, **told.responses(415, 422)},
    )  # fmt: skip
    async def post_tokens(request: Request, asked: Annotated[NewToken, Body()]) -> Response:
        """Make a token. Its secret is told once and kept nowhere."""
        token, secret = await worked_out(
            request,
            lambda: shelf.new_token(asked.name, asked.role, days=asked.days),
            writes=True,
        )
        return JSONResponse(
            {"token": asdict(token), "secret": secret}, 201, headers={"Cache-Control": "no-store"}
        )

    @router.delete(
        "/tokens/{id}", tags=["people"], responses={200: one_schema("Token"), **told.responses(404, 422)}
    )
    async def delete_tokens_one(request: Request, id: Id) -> Response:
        """Revoke a token: from now on it opens nothing."""

        def revoke() -> Any:
            shelf.revoke_token(id)
            return next((one for one in shelf.tokens() if one.id == id), None)

        return JSONResponse(asdict(await worked_out(request, revoke, writes=True)))

    @router.get("/log", tags=["people"], responses={200: page_schema("AuditLine"), **told.responses(422)})
    async def get_log(request: Request, asked: Annotated[OfLog, Query()]) -> Response:
        """Who changed what, the newest first."""
        found = await worked_out(
            request,
            lambda: shelf.audit_log(of=asked.of, by=asked.by, after=asked.after, most=asked.most),
        )
        return listed(request, found)
