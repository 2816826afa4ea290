"""The catalogue: accelerators, models, prices and facts, each in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse
from starlette.routing import Route

from cabida.faces.web.pages import (
    catalogue_facts,
    catalogue_gpus,
    catalogue_lists,
    catalogue_models,
    catalogue_prices,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def first(request: Request) -> Response:
    """The catalogue begins with accelerators."""
    return RedirectResponse("/catalogue/gpus", status_code=307)


ROUTES = [
    Route("/catalogue", first, name="catalogue"),
    Route("/catalogue/gpus", catalogue_gpus.gpus),
    Route("/catalogue/gpus/compare", catalogue_gpus.beside),
    Route("/catalogue/gpus/{id}", catalogue_gpus.gpu),
    Route("/catalogue/models", catalogue_models.models),
    Route("/catalogue/models/{id:path}", catalogue_models.model),
    Route("/catalogue/prices", catalogue_prices.prices),
    Route("/catalogue/prices/api", catalogue_prices.api),
    Route("/catalogue/prices/aside", catalogue_prices.aside),
    Route("/catalogue/prices/rates", catalogue_prices.rates),
    Route("/catalogue/prices/import", catalogue_lists.bring),
    Route("/catalogue/prices/import", catalogue_lists.brought, methods=["POST"]),
    Route("/catalogue/prices/template.{form}", catalogue_lists.template),
    Route("/catalogue/price", catalogue_prices.one_price),
    Route("/catalogue/facts", catalogue_facts.facts),
    Route("/catalogue/facts/{kind}", catalogue_facts.kind),
    Route("/catalogue/fact", catalogue_facts.fact),
]
