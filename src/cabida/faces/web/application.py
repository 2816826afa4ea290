"""The application: pages, API and files under one roof."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from cabida.faces.web.settings import Settings

PAGES = ("home",)  # files of ``pages``; each lists its ROUTES
STATIC = Path(__file__).parent / "static"


def application(settings: Settings) -> FastAPI:
    """The application that answers people and programs."""
    from fastapi import FastAPI
    from starlette.staticfiles import StaticFiles

    app = FastAPI(title="Cabida", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.state.settings = settings
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for name in PAGES:
        app.router.routes.extend(import_module(f"cabida.faces.web.pages.{name}").ROUTES)
    return app
