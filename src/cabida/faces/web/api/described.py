"""The description of the API (OpenAPI 3.1): what FastAPI knows of it, and the shapes that all answers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cabida.faces.web.api.told import PROBLEMS

if TYPE_CHECKING:
    from fastapi import FastAPI

GROUPS = {
    "answers": "Questions about memory, speed, money and this machine.",
    "briefs": "What a team needs: briefs with every version.",
    "decisions": "Decisions: made, kept, opened number by number, set otherwise, started.",
    "jobs": "What is worked out in the background.",
    "catalogue": "GPUs, models, engines: facts with date, source and grade.",
    "prices": "The price book: prices, their history, what is set aside.",
    "quotes": "Vendors' quotes: kept, audited, compared, answered.",
    "bench": "Benchmarks: planned, kept, reported.",
    "evidence": "What was measured: logs, traffic, bills, calibration.",
    "checks": "What of a stack, a PC or a rack does not go together.",
    "people": "Tokens, and who changed what.",
}


def described(app: FastAPI) -> dict[str, Any]:
    """The description, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    from fastapi.openapi.utils import get_openapi

    from cabida import __version__

    settings = app.state.settings
    found = get_openapi(
        title="Cabida", version=__version__, description=_said(settings), routes=app.routes,
        tags=[{"name": name, "description": said} for name, said in GROUPS.items()],
    )  # fmt: skip
    parts = found.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas |= {"Problems": PROBLEMS, **_nouns()}
    parts["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of /people; none on your own machine.",
        }
    }
    if not settings.open_to_loopback_only:
        found["security"] = [{"token": []}]
    for methods in found["paths"].values():
        for one in methods.values():
            if one["summary"].lower().replace(" ", "_") == one["operationId"]:  # nobody gave it one
                one["summary"] = one["description"].partition(". ")[0].partition("\n")[0].rstrip(".")
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return found


def _said(settings: Any) -> str:
    return (
        "Every use case of the command line, with the same JSON. A request's fields are the command's flags; files "
        "come as their content or as the id of what is on the shelf, never as a path. What takes long is a job: "
        "`202`, its address in `Location`, and `?wait=` for those who can wait. Problems come in one shape, in the "
        "language of `Accept-Language` (`en`, `es`, `es-MX`) or `?lang=`. Answers have the exit code of the command "
        "in `Cabida-Exit-Code`.\n\n"
        f"Limits: bodies of {settings.most_upload_bytes:,} bytes, {settings.requests_per_minute:,} requests a minute, "
        f"{settings.most_waiting_each} jobs of one person waiting, lists of 200 items a page."
    )


def _nouns() -> dict[str, Any]:
    """Schemas of what the shelf keeps, made from its dataclasses."""
    from pydantic import TypeAdapter

    from cabida.evidence.shelf import nouns

    found = {}
    for kind in (nouns.KeptBrief, nouns.KeptDecision, nouns.KeptRun, nouns.Token, nouns.Job, nouns.AuditLine):
        schema = TypeAdapter(kind).json_schema(mode="serialization")
        schema["description"] = (kind.__doc__ or "").partition("\n")[0]
        for hidden in ("folder", "server", "key"):
            schema["properties"].pop(hidden, None)
        schema["required"] = sorted(schema["properties"])
        schema["additionalProperties"] = False
        schema.pop("$defs", None)
        found[kind.__name__] = schema
    return found
