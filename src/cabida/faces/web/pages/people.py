"""Who may come in: logging in and out, tokens made and revoked, and the log of who changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cabida.errors import CabidaError
from cabida.faces.web import access, limits
from cabida.faces.web.frame import page
from cabida.faces.web.pages.home import local
from cabida.faces.web.telling import problems_of, status_of
from cabida.text import has_text, problem, tr

if TYPE_CHECKING:
    from starlette.requests import Request

DAYS = (7, 30, 90, 180, 365)
USUAL_DAYS = 90
LINES = 50


async def login(request: Request) -> Response:
    """The page where somebody says who they are, and what happens when they do."""
    state, settings = request.app.state, request.app.state.settings
    if request.method != "POST":
        next_ = local(request.query_params.get("next", "/"))
        if request.state.person is not None:
            return RedirectResponse(next_, 303)
        return page(request, "login.html.j2", next=next_, problems=())
    form = await request.form(max_fields=8, max_files=0)
    next_, secret = local(str(form.get("next") or "/")), str(form.get("token") or "").strip()
    where = limits.place_of(request.client.host if request.client else "")
    guesses = state.guesses
    if waits := guesses.waits_s(where):
        raise limits.too_many(waits)
    person = await run_in_threadpool(state.known.holder, secret) if 0 < len(secret) <= 200 else None
    if person is None:
        guesses.wrong(where)
        problems = (problem("CB-S008"),)
        return page(request, "login.html.j2", status=401, next=next_, problems=problems)
    guesses.right(where)
    answer = RedirectResponse(next_, 303)
    session = access.new_session(state.key, person.token, settings.session_s)
    answer.set_cookie(
        access.SESSION, session, max_age=int(settings.session_s), httponly=True, samesite="strict",
        secure=settings.https,
    )  # fmt: skip
    return answer


def logout(request: Request) -> Response:
    """The end of a session, here and in the browser."""
    if request.state.session:
        request.app.state.known.end(request.state.session)
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(
        access.SESSION, httponly=True, samesite="strict", secure=request.app.state.settings.https
    )
    return answer


def people(request: Request) -> Response:
    """Who has a token; editors make and revoke them here."""
    return _people(request)


def _people(request: Request, *, secret: str = "", error: CabidaError | None = None) -> Response:
    from datetime import UTC, datetime

    from cabida.evidence.shelf import tokens

    now = datetime.now(UTC).isoformat(timespec="seconds")
    return page(
        request,
        "people.html.j2",
        status=status_of(error) if error else 200,
        tokens=[(one, one.holds(now)) for one in tokens()],
        secret=secret,
        days=DAYS,
        usual_days=USUAL_DAYS,
        problems=problems_of(request, error) if error else (),
    )


async def new_token(request: Request) -> Response:
    """A token, shown this once."""
    from cabida.evidence import shelf

    person = access.editor(request)
    form = await request.form(max_fields=8, max_files=0)
    days = str(form.get("days") or "")
    try:
        _, secret = await run_in_threadpool(
            lambda: shelf.new_token(
                str(form.get("name") or ""),
                str(form.get("role") or ""),
                days=int(days) if days.isdecimal() and len(days) < 6 else 0,
                by=person.name,
            )
        )
    except CabidaError as error:
        return await run_in_threadpool(_people, request, error=error)
    return await run_in_threadpool(_people, request, secret=secret)


def revoke(request: Request) -> Response:
    """A token that opens nothing any more."""
    from cabida.evidence import shelf

    person = access.editor(request)
    shelf.revoke_token(request.path_params["id"], by=person.name)
    request.app.state.known.forget()
    return RedirectResponse("/people", 303)


def log(request: Request) -> Response:
    """Who changed what, the newest first."""
    from cabida.evidence.shelf import audit_log

    asked = {name: request.query_params.get(name, "")[:100] for name in ("of", "by", "after")}
    lines = audit_log(of=asked["of"], by=asked["by"], after=asked["after"], most=LINES)
    words = {one.what: what_was_done(one.what) for one in lines.items}
    return page(request, "log.html.j2", lines=lines, asked=asked, words=words)


def what_was_done(word: str) -> str:
    """A word of the log in the language in use."""
    key = f"web.log.what.{word}"
    return tr(key) if has_text(key) else word


ROUTES = [
    Route("/login", login, methods=["GET", "POST"], name="login"),
    Route("/logout", logout, methods=["POST"], name="logout"),
    Route("/people", people, name="people"),
    Route("/people/tokens", new_token, methods=["POST"], name="new_token"),
    Route("/people/tokens/{id}/revoke", revoke, methods=["POST"], name="revoke"),
    Route("/log", log, name="log"),
]
