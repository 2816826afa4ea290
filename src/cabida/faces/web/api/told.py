"""What is wrong with a request, as problems; and how every operation's answers to that are described."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cabida.errors import Problem
from cabida.text import has_text, number, problem, tr

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

MOST_TOLD = 50
PROBLEMS = {
    "type": "object",
    "description": "What is wrong: all of it at once, each with its code, its cause and what to do next.",
    "required": ["errors"],
    "properties": {
        "errors": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["code", "what", "why", "cure", "file", "line"],
                "properties": {
                    "code": {"type": "string", "pattern": "^CB-[A-Z]\\d{3}$"},
                    "what": {"type": "string"},
                    "why": {"type": "string"},
                    "cure": {"type": "string"},
                    "file": {"type": "string"},
                    "line": {"type": "integer", "minimum": 0},
                },
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}
ALWAYS = (400, 401, 403, 405, 408, 413, 414, 429, 431, 500, 503)
SAID = {
    400: "The request can't be read, or what it says doesn't go together.",
    401: "No token came, or one that doesn't hold (servers open to others).",
    403: "Whoever holds this token may only read.",
    404: "There is nothing of that name.",
    405: "This address isn't asked so.",
    406: "None of the forms asked for exists.",
    408: "The body came too slowly.",
    409: "It was changed meanwhile, or the key of the request was used for another.",
    412: "It was changed meanwhile: `If-Match` names another version.",
    413: "The body is larger than the server takes.",
    414: "The address is too long.",
    415: "The body is of another kind than this operation takes.",
    422: "What was asked can't be answered as it stands; each problem says why and what to do.",
    428: "`If-Match` is missing: say which version you change.",
    429: "Too many requests; `Retry-After` says when to come again.",
    431: "The headers are too large.",
    500: "Something unexpected; the problem names the request in the server's log.",
    502: "The endpoint that was to be measured failed.",
    503: "The server is busy or stops; `Retry-After` says when to come again.",
}


def responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The answers of an operation that tell problems, for its description."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problems"}}}
    return {code: {"description": SAID[code], "content": content} for code in sorted({*ALWAYS, *codes})}


def listen(app: FastAPI) -> None:
    """Have what FastAPI finds wrong with a request told as every other problem is."""
    from fastapi.exceptions import RequestValidationError

    from cabida.faces.web.telling import Refused, told

    async def tell(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = error.errors()
        unread = any(one.get("type") == "json_invalid" for one in found)
        return told(request, Refused(problems_of(found), 400 if unread else 422))

    app.add_exception_handler(RequestValidationError, tell)


def problems_of(found: Sequence[Any]) -> list[Problem]:
    """Pydantic's findings as problems: where, and in our words why."""
    return [_one(found_one) for found_one in found[:MOST_TOLD]]


def _one(found: Any) -> Problem:
    where = [str(part)[:60] for part in found.get("loc", ()) if not str(part).startswith("function-")]
    place = ".".join(where[1:]) if len(where) > 1 else (where or ["body"])[0]
    kind = str(found.get("type", ""))
    if kind == "json_invalid":
        return problem("CB-S047", why=str((found.get("ctx") or {}).get("error", ""))[:120])
    return problem("CB-S041", where=place, why=_why(kind, found))


def _why(kind: str, found: Any) -> str:
    key = f"web.api.wrong.{kind}"
    values = {
        name: number(value) if isinstance(value, int | float) else str(value)[:300]
        for name, value in (found.get("ctx") or {}).items()
        if not isinstance(value, BaseException)
    }
    if has_text(key):
        try:
            return tr(key, **values)
        except (KeyError, IndexError):
            pass
    return tr("web.api.wrong.else")
