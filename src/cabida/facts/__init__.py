"""What the world is: hardware, models, software and prices, each with its date, its source and its grade.

Everything is read from one compiled snapshot, on demand; a user's own files lie over it (``facts.overlay``).
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cabida.facts.check import check
    from cabida.facts.drafts import draft
    from cabida.facts.formats import formats, weight_format
    from cabida.facts.hardware import (
        Description,
        accelerator,
        accelerators,
        classes,
        collectives,
        describe,
        engine,
        engines,
        find_accelerator,
        measurements,
        node,
        node_for,
        nodes,
        software,
    )
    from cabida.facts.load import schema
    from cabida.facts.market import (
        analyst_offers,
        api_offers,
        currencies,
        energy,
        exchange_rate,
        offers,
        unmapped_offers,
    )
    from cabida.facts.models import model, models
    from cabida.facts.own import add
    from cabida.facts.pipelines import components, components_of, find_pipeline, pipeline, pipelines

_ROOMS = {
    "check": "check",
    "drafts": "draft",
    "formats": "formats weight_format",
    "hardware": "Description accelerator accelerators classes collectives describe engine engines find_accelerator "
    "measurements node node_for nodes software",
    "load": "schema",
    "market": "analyst_offers api_offers currencies energy exchange_rate offers unmapped_offers",
    "models": "model models",
    "own": "add",
    "pipelines": "components components_of find_pipeline pipeline pipelines",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = [
    "Description",
    "accelerator",
    "accelerators",
    "add",
    "analyst_offers",
    "api_offers",
    "check",
    "classes",
    "collectives",
    "components",
    "components_of",
    "currencies",
    "describe",
    "digest",
    "draft",
    "energy",
    "engine",
    "engines",
    "exchange_rate",
    "find_accelerator",
    "find_pipeline",
    "formats",
    "measurements",
    "model",
    "models",
    "node",
    "node_for",
    "nodes",
    "offers",
    "pipeline",
    "pipelines",
    "schema",
    "software",
    "unmapped_offers",
    "weight_format",
]


def __getattr__(name: str) -> Any:
    """Names of the sub-rooms, imported when first asked for."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    found = getattr(import_module(f"cabida.facts.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def digest() -> str:
    """SHA-256 of the facts in force: the shipped snapshot, a user's own files, another version of the API prices."""
    from cabida.facts import api_book, overlay, store

    return api_book.digest_over(overlay.digest_over(store.stamps()["digest"]))


class _Room(ModuleType):
    """This package, whose functions ``model``, ``models``, ``formats`` and ``check`` share names with its files.

    Importing a file sets it as an attribute of its package; here that must not hide the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room
