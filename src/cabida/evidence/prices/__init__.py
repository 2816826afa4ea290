"""Price lists, catalogues and bills that people already have, read into offers and billing lines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cabida.evidence.prices.billing import BillingLine

if TYPE_CHECKING:
    from cabida.evidence.prices.nouns import Read, Unread
    from cabida.evidence.prices.reading import read

_HOME = {"Read": "nouns", "Unread": "nouns", "read": "reading"}
__all__ = ["BillingLine", "Read", "Unread", "read"]


def __getattr__(name: str) -> Any:
    """Names of the files, imported when first asked for."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"cabida.evidence.prices.{_HOME[name]}"), name)
