"""The first page: what one can do here, and what was done last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from cabida.faces.web.frame import page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def home(request: Request) -> Response:
    """The first page."""
    return page(request, "home.html.j2")


ROUTES = [Route("/", home, name="home")]
