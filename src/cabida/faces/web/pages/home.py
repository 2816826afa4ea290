"""The first page: what one can do here, and what was done last; how it looks and in which language."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from cabida.faces.web.door import LANGUAGE, THEME
from cabida.faces.web.frame import page
from cabida.text import LOCALES

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_LAST = 6
LOOKED_AGAIN_S = 60.0  # at this machine's cards
YEAR_S = 365 * 86_400
_cards: tuple[float, list[dict[str, Any]]] = (0.0, [])


def home(request: Request) -> Response:
    """The first page."""
    from cabida.brief.examples import example_names
    from cabida.evidence.shelf import kept_decisions

    last = kept_decisions(most=MOST_LAST)
    return page(request, "home.html.j2", last=last, examples_count=len(example_names()))


def here(request: Request) -> Response:
    """This machine's GPUs, a part of the first page; nothing where there are none or others ask too."""
    alone = request.app.state.settings.open_to_loopback_only
    cards = _looked() if alone else []
    if not request.headers.get("hx-request"):
        return RedirectResponse("/", 303)
    return page(request, "here.html.j2", cards=cards)


def _looked() -> list[dict[str, Any]]:
    global _cards
    at, cards = _cards
    if not at or time.monotonic() - at > LOOKED_AGAIN_S:
        from cabida.evidence.machine import look
        from cabida.report.here_cards import card_row

        machine = look()
        cards = [card_row(card, machine) for card in machine.cards]
        _cards = (time.monotonic(), cards)
    return cards


def look(request: Request) -> Response:
    """Keep the language or the look that somebody chose, and go back to where they were."""
    answer = RedirectResponse(local(request.query_params.get("next", "/")), 303)
    secure = request.app.state.settings.https
    chosen = request.query_params.get("language", "")
    if chosen in LOCALES:
        answer.set_cookie(LANGUAGE, chosen, max_age=YEAR_S, httponly=True, samesite="lax", secure=secure)
    theme = request.query_params.get("theme", "")
    if theme in ("light", "dark", "system"):
        answer.set_cookie(THEME, theme, max_age=YEAR_S, httponly=True, samesite="lax", secure=secure)
    return answer


def local(path: str) -> str:
    """``path`` when it leads to a page of this server, else the first page."""
    sound = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if sound and len(path) < 2000 else "/"


ROUTES = [
    Route("/", home, name="home"),
    Route("/here", here, name="here"),
    Route("/look", look, name="look"),
]
