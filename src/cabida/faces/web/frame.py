"""How a page is made: its template, the language, look and rights of who asks, and the words every page may use."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.text import (
    LANGUAGES,
    LOCALES,
    duration,
    has_text,
    language,
    locale,
    money,
    number,
    of_language,
    percent,
    rate,
    size,
    tr,
)  # fmt: skip

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response

PLACES = (  # the way through the house: path, text of its name
    ("/", "web.place.home"),
    ("/briefs", "web.place.briefs"),
    ("/decisions", "web.place.decisions"),
    ("/quotes", "web.place.quotes"),
    ("/bench", "web.place.bench"),
    ("/catalogue", "web.place.catalogue"),
)


@cache
def static(name: str) -> str:
    """The address of a file of ``static``, with a digest of its content, so that browsers keep it until it changes."""
    content = (Path(__file__).parent / "static" / name).read_bytes()
    return f"/static/{name}?{hashlib.sha256(content).hexdigest()[:12]}"


def language_name(code: str) -> str:
    """What a language or locale calls itself."""
    own = f"web.language.{code}"
    return tr(own) if has_text(own) else of_language("name", code)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cabida.faces.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,  # code isn't either
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "tr": tr, "number": number, "money": money, "percent": percent, "duration": duration, "rate": rate,
        "size": size, "places": PLACES, "languages": LANGUAGES, "locales": LOCALES, "static": static,
        "language_name": language_name,
    }  # fmt: skip
    return environment


def compile_all() -> None:
    """Compile every template, so that nobody's first page waits for it."""
    for name in _environment().list_templates():
        _environment().get_template(name)


def page(
    request: Request, name: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> Response:
    """The template ``name`` as an answer.

    A template extends ``base.html.j2`` and fills its blocks ``title`` and ``main``; a part of a page, swapped in by
    htmx, is a template of its own that extends nothing. Beside ``values`` a template has ``request``, ``person`` (name
    and role), ``nonce`` (of inline scripts), ``csrf`` (the token every form carries in its field of that name),
    ``language`` and ``locale``, ``theme`` (light, dark, "" = as the system), ``alone`` (nobody needs a token here), and
    ``static(name)``, the address of a file of ``static``.
    """
    from starlette.responses import HTMLResponse

    state = request.state
    text = _environment().get_template(name).render(
        request=request,
        person=getattr(state, "person", None),
        nonce=getattr(state, "nonce", ""),
        csrf=getattr(state, "csrf", ""),
        language=language(),
        locale=locale(),
        theme=getattr(state, "theme", ""),
        alone=request.app.state.settings.open_to_loopback_only,
        **values,
    )  # fmt: skip
    return HTMLResponse(text, status_code=status, headers=headers)
