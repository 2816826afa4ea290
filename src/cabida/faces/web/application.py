"""The application: pages, API and files under one roof."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, MutableMapping

    from fastapi import FastAPI
    from starlette.responses import Response

    from cabida.faces.web.settings import Settings

PAGES = (
    "home",
    "people",
    "jobs",
    "decisions",
    "decisions_option",
    "decisions_explain",
    "decisions_what_if",
    "compare",
    "briefs",
    "quotes",
    "catalogue",
    "bench",
)  # files of ``pages``; each lists its ROUTES
STATIC = Path(__file__).parent / "static"


def application(settings: Settings) -> FastAPI:
    """The application that answers people and programs."""
    from fastapi import FastAPI
    from starlette.middleware import Middleware
    from starlette.middleware.gzip import GZipMiddleware

    from cabida.faces.web import access, api, frame, limits, ops, telling
    from cabida.faces.web.door import Door
    from cabida.faces.web.jobs import Jobs

    key, known, guesses = access.new_key(), access.Known(), limits.Guesses()

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        async with app.state.jobs:
            if settings.warm and not settings.jobs_here:
                asyncio.get_running_loop().run_in_executor(None, frame.compile_all)
            yield

    app = FastAPI(
        title="Cabida",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=living,
        middleware=[
            Middleware(ops.Watch),
            Middleware(Door, settings=settings, known=known, key=key, guesses=guesses),
            Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5),
        ],
    )
    app.state.settings, app.state.key, app.state.known, app.state.guesses = settings, key, known, guesses
    app.state.counts = ops.Counts()
    app.state.jobs = Jobs(settings, app.state.counts)
    telling.listen(app)
    app.mount("/static", _files(), name="static")
    for name in PAGES:
        app.router.routes.extend(import_module(f"cabida.faces.web.pages.{name}").ROUTES)
    app.router.routes.extend(ops.ROUTES)
    api.include(app)
    if find_spec("mcp") is not None:
        from cabida.faces.mcp.http import route

        app.router.routes.append(route(settings))
    return app


def _files() -> Any:
    """The files of ``static``: kept by browsers for a year when their address names their content."""
    from starlette.staticfiles import StaticFiles

    class Files(StaticFiles):
        async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
            answer = await super().get_response(path, scope)
            lasts = (
                "public, max-age=31536000, immutable" if scope.get("query_string") else "public, max-age=300"
            )
            answer.headers.setdefault("Cache-Control", lasts)
            return answer

    return Files(directory=STATIC)
