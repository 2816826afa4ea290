"""The HTTP API: every use case, the same JSON as the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

VERSION = "v1"
ROOT = f"/api/{VERSION}"


def include(app: FastAPI) -> None:
    """Put the API, its description and the page that lists it on an application that has its settings."""
    from fastapi import APIRouter

    from cabida.faces.web import access
    from cabida.faces.web.api import told
    from cabida.faces.web.api.asking import add_use_cases
    from cabida.faces.web.api.bench import add_bench
    from cabida.faces.web.api.decisions import add_decisions, add_quote_texts
    from cabida.faces.web.api.described import described
    from cabida.faces.web.api.jobs import add_jobs
    from cabida.faces.web.api.page import ROUTES
    from cabida.faces.web.api.reading import Read
    from cabida.faces.web.api.running import Room
    from cabida.faces.web.api.shelf import add_shelf
    from cabida.faces.web.api.usecases import USE_CASES

    app.state.room = Room()
    router = APIRouter(prefix=ROOT, route_class=Read, generate_unique_id_function=lambda one: one.name)
    for add in (add_jobs, add_bench, add_shelf, add_decisions, add_quote_texts, add_use_cases):
        add(router)
    app.include_router(router)
    app.router.routes.extend(ROUTES)
    told.listen(app)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    asking = [f"{ROOT}{one.path}" for one in USE_CASES if one.method == "POST" and not one.writes]
    access.changes_nothing(*asking, *(f"{ROOT}/{one}" for one in ("record", "levers", "what-if")))
