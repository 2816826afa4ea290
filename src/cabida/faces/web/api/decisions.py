"""A decision of the shelf: its record in every form, the inputs that may be set, and what another input would make."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, Field
from starlette.responses import JSONResponse, Response

from cabida.faces.web.api import told
from cabida.faces.web.api.asked import MOST_VALUES, Asked, no_text
from cabida.faces.web.api.asking import ID, given_contents, given_fields
from cabida.faces.web.api.running import worked_out
from cabida.faces.web.api.usecases import DECISION, Given

TYPES = {
    "html": "text/html; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pdf": "application/pdf",
}
QUOTE_TYPES = {
    "yaml": "application/yaml; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "xlsx": TYPES["xlsx"],
}
Form = Annotated[
    Literal["html", "md", "json", "xlsx", "pdf"], Query(alias="format", description="Of the record.")
]
Id = Annotated[str, Path(description="Id of the decision.", max_length=100)]
GIVEN = (Given("decision", DECISION),)
Changes = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=200)], Annotated[float, BeforeValidator(no_text)]],
    Field(
        max_length=MOST_VALUES, description="Inputs and what they are set to, by the names that levers have."
    ),
]


class DecisionAsked(Asked):
    """A decision: its JSON, or the id of one on the shelf."""

    decision: Annotated[dict[str, Any], Field(description="The decision: its JSON.")] | None = None
    decision_id: (
        Annotated[ID, Field(description="In its place: the id of a decision on the shelf.")] | None
    ) = None


class WhatIfAsked(DecisionAsked):
    """A decision and inputs set otherwise."""

    set: Changes


class RecordAsked(DecisionAsked):
    """A decision, inputs set otherwise, and the form that is wanted."""

    set: Changes = Field(default_factory=dict)
    format: Literal["html", "md", "json", "xlsx", "pdf"] = "json"


def _forms(types: dict[str, str]) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    schemas = {"json": {"type": "object"}, "yaml": {"type": "object"}}
    schemas |= {form: {**text, "format": "binary"} for form in ("xlsx", "pdf")}
    content = {kind.partition(";")[0]: {"schema": schemas.get(form, text)} for form, kind in types.items()}
    return {"description": "It, in the form asked for.", "content": content}


def add_decisions(router: APIRouter) -> None:
    """Put them on the router."""
    decision = {
        "description": "The decision.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }

    @router.get("/decisions/{id}", tags=["decisions"], responses={200: decision, **told.responses(404, 422)})
    async def get_decisions_one(request: Request, id: Id) -> Response:
        """A decision, whole: the JSON that `cabida recommend --json` printed."""
        from cabida.evidence import shelf

        text = await worked_out(request, lambda: shelf.decision_text(id))
        return Response(text, media_type="application/json")

    @router.get(
        "/decisions/{id}/record", tags=["decisions"], response_class=Response,
        responses={200: _forms(TYPES), **told.responses(404, 422)},
    )  # fmt: skip
    async def get_decisions_one_record(request: Request, id: Id, form: Form = "html") -> Response:
        """The record of a decision: one HTML page, Markdown, JSON, a workbook of live formulas or PDF."""
        return await _record(request, DecisionAsked.model_construct(decision_id=id), form, {})

    @router.post(
        "/record", tags=["decisions"], response_class=Response,
        responses={200: _forms(TYPES), **told.responses(404, 415, 422)},
    )  # fmt: skip
    async def post_record(request: Request, asked: Annotated[RecordAsked, Body()]) -> Response:
        """The same of a decision that comes with the request, with other inputs where `set` names any."""
        return await _record(request, asked, asked.format, asked.set)

    @router.post("/levers", tags=["decisions"], responses={
        200: {"description": "The inputs.", "content": {"application/json": {
            "schema": {"type": "array", "items": {"type": "object"}}}}}, **told.responses(404, 415, 422)})  # fmt: skip
    async def post_levers(request: Request, asked: Annotated[DecisionAsked, Body()]) -> Response:
        """The inputs of a decision's bills: those that may be set first, then the locked ones."""

        def found() -> list[Any]:
            from cabida import app
            from cabida.report.metrics import plain

            return [plain(asdict(one)) for one in app.levers(_read(asked))]

        return JSONResponse(await worked_out(request, found))

    @router.post("/what-if", tags=["decisions"], responses={200: decision, **told.responses(404, 415, 422)})
    async def post_what_if(request: Request, asked: Annotated[WhatIfAsked, Body()]) -> Response:
        """The decision with other prices, salaries or shares: worked out again, nothing searched."""

        def found() -> str:
            from cabida import app
            from cabida.report.store import to_json

            return to_json(app.what_if(_read(asked), asked.set))

        return Response(await worked_out(request, found), media_type="application/json")


def _read(asked: BaseModel) -> Any:
    from cabida.report.store import from_json

    ((name, content),) = given_contents(GIVEN, asked).values()
    return from_json(content.decode("utf-8"), file=name)


async def _record(request: Request, asked: BaseModel, form: str, changes: dict[str, float]) -> Response:
    def written() -> tuple[str, bytes]:
        from cabida import app

        decision = _read(asked)
        made = app.record(decision, form, changes)
        return decision.name, made if isinstance(made, bytes) else made.encode("utf-8")

    name, content = await worked_out(request, written)
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "-_") else "-" for one in name)[:80]
    how = "inline" if form == "json" else "attachment"
    headers = {"Content-Disposition": f'{how}; filename="{plain or "decision"}.{form}"'}
    return Response(content, media_type=TYPES[form], headers=headers)


def add_quote_texts(router: APIRouter) -> None:
    """What goes to a vendor: the form, the letter, the annex."""
    from cabida.faces.web.api.asked import form_of

    needs: Any = form_of(
        "quote audit", "QuoteTextAsked", left_out=("quote", "decision", "letter", "annex", "all_"),
        more=given_fields((Given("decision", DECISION, "--decision", needed=False),)),
    )  # fmt: skip
    markdown = {"description": "Markdown.", "content": {"text/markdown": {"schema": {"type": "string"}}}}

    @router.get(
        "/quotes/template", tags=["quotes"], response_class=Response,
        responses={200: _forms(QUOTE_TYPES), **told.responses(422)},
    )  # fmt: skip
    async def get_quotes_template(
        request: Request,
        form: Annotated[Literal["yaml", "csv", "xlsx"], Query()] = "yaml",
        purpose: Annotated[Literal["rent", "reserve", "buy", "api", "cluster"] | None, Query()] = None,
    ) -> Response:
        """A form for a vendor to fill in, in the language of the request."""

        def made() -> str | bytes:
            from cabida import app

            return app.quote_template(form, purpose=purpose or "")

        content = await worked_out(request, made)
        headers = {"Content-Disposition": f'attachment; filename="quote.{form}"'}
        return Response(content, media_type=QUOTE_TYPES[form], headers=headers)

    def add(kind: str, said: str) -> None:
        @router.post(
            f"/quotes/{{id}}/{kind}", tags=["quotes"], response_class=Response, summary=said,
            operation_id=f"post_quotes_one_{kind}", description=f"{said} Markdown.",
            responses={200: markdown, **told.responses(404, 415, 422)},
        )  # fmt: skip
        async def post(
            request: Request, id: Annotated[str, Path(max_length=100)], asked: Annotated[needs, Body()]
        ) -> Response:
            def written() -> str:
                return _quote_text(kind, id, asked)

            return Response(await worked_out(request, written), media_type="text/markdown")

    add("letter", "The questions to send back to the vendor, by severity.")
    add("annex", "The acceptance tests with their floors, as an annex to the contract.")


def _quote_text(kind: str, id: str, asked: Any) -> str:
    from cabida import app
    from cabida.evidence.quotes.keeping import is_name
    from cabida.faces.commands_quote_audit import needs_of
    from cabida.faces.web.telling import NotFound
    from cabida.report.store import from_json
    from cabida.text import problem, tr

    if not is_name(id):
        raise NotFound([problem("CB-S042", kind=tr("web.kind.quote"), name=id[:60])])
    files = given_contents((Given("decision", DECISION, "--decision", needed=False),), asked)
    decision = from_json(files["--decision"][1].decode("utf-8")) if files else None
    said = {
        name: getattr(asked, name)
        for name in asked.model_fields_set
        if name not in ("decision", "decision_id", "as_of")
    }
    made = app.quote_audit(
        app.quote_read(id),
        decision=decision,
        as_of=getattr(asked, "as_of", None),
        **needs_of(said),
    )
    return app.quote_letter(made) if kind == "letter" else app.quote_annex(made)
