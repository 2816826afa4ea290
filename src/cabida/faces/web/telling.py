"""Errors as answers: a page for people, the same problems as JSON for programs, in the language of who asks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, Problem
from cabida.text import problem

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LOG = logging.getLogger("cabida.web")
PROBLEM_JSON = "application/problem+json"
MOST_PROBLEMS = 200  # told at once


class NotFound(CabidaError):
    """There is nothing of that name or at that address."""

    exit_code = 3


class Forbidden(CabidaError):
    """Who asks may not do this."""

    exit_code = 3


class NeedsToken(CabidaError):
    """Who asks has not said who they are, or not so that it holds."""

    exit_code = 3


class Refused(CabidaError):
    """A request that is refused for its own sake: too large, too slow, too many, of the wrong kind.

    ``status`` is HTTP's, ``after_s`` when it may be tried again.
    """

    exit_code = 3

    def __init__(self, problems: Problem | Sequence[Problem], status: int, after_s: float = 0.0) -> None:
        super().__init__(problems)
        self.status = status
        self.after_s = after_s


STATUSES: dict[str, int] = {
    "UsageProblem": 400,
    "InvalidInput": 422,
    "Conflict": 409,
    "EndpointFailed": 502,
    "AuditBlocked": 422,
    "NotFound": 404,
    "NotThere": 404,
    "Forbidden": 403,
    "NeedsToken": 401,
}

AWAY = (
    "CB-E010",
    "CB-E018",
    "CB-E021",
    "CB-E026",
)  # the store can't be had just now: busy, full of others, gone
BACK_S = 5.0  # when to try again then


def store_away(error: BaseException) -> bool:
    """Whether an error says no more than that the store can't be had just now."""
    return isinstance(error, CabidaError) and any(one.code in AWAY for one in error.problems)


def status_of(error: BaseException) -> int:
    """HTTP's status of an error."""
    if isinstance(error, Refused):
        return error.status
    if store_away(error):
        return 503
    if isinstance(error, CabidaError):
        names = (one.__name__ for one in type(error).__mro__)
        return next((STATUSES[name] for name in names if name in STATUSES), 422)
    return int(getattr(error, "status_code", 500))


def problems_of(request: Request, error: BaseException) -> tuple[Problem, ...]:
    """What is wrong, in the language in use; of something unexpected nothing but where to look it up."""
    from starlette.exceptions import HTTPException

    if isinstance(error, CabidaError):
        return error.problems[:MOST_PROBLEMS]
    if isinstance(error, HTTPException):
        code = {404: "CB-S001", 405: "CB-S002", 413: "CB-S011"}.get(error.status_code, "CB-S003")
        detail = error.detail if isinstance(error.detail, str) else ""
        return (problem(code, path=request.url.path[:200], method=request.method, why=detail[:200]),)
    return (problem("CB-S000", request=getattr(request.state, "id", "")),)


def as_data(problems: Sequence[Problem]) -> dict[str, Any]:
    """Problems as programs get them, the shape of ``--json``."""
    return {"errors": [one.as_dict() for one in problems]}


def for_programs(request: Request) -> bool:
    """Whether a program asks, so that JSON is the answer."""
    path = request.url.path
    if path.startswith(("/api/", "/mcp", "/healthz", "/readyz", "/metrics")):
        return True
    accepts = request.headers.get("accept", "")
    return "json" in accepts and "text/html" not in accepts


def told(request: Request, error: BaseException) -> Response:
    """The answer that tells ``error``: JSON for programs, for people a page, or its part when htmx asks for one."""
    from starlette.responses import JSONResponse

    from cabida.faces.web.frame import page

    status = status_of(error)
    if status >= 500 and not isinstance(error, CabidaError):
        LOG.error("unexpected", exc_info=error, extra={"request": getattr(request.state, "id", "")})
    problems = problems_of(request, error)
    headers = dict(getattr(error, "headers", None) or {})
    if after_s := getattr(error, "after_s", BACK_S if store_away(error) else 0.0):
        headers["Retry-After"] = str(max(1, round(after_s)))
    if for_programs(request):
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse(as_data(problems), status_code=status, headers=headers, media_type=PROBLEM_JSON)
    request.state.problems = problems
    if request.headers.get("hx-request"):
        headers |= {"HX-Retarget": "#told", "HX-Reswap": "innerHTML show:top"}
        return page(request, "problems.html.j2", status=status, headers=headers, problems=problems)
    return page(request, "error.html.j2", status=status, headers=headers, problems=problems, code=status)


def listen(app: Any) -> None:
    """Have every error that leaves a page or the API told so; what is unexpected the door tells."""
    from starlette.exceptions import HTTPException

    async def tell(request: Request, error: Exception) -> Response:
        return told(request, error)

    for kind in (CabidaError, HTTPException):
        app.add_exception_handler(kind, tell)
