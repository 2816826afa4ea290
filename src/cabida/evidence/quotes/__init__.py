"""Vendor quotes: their fields, read from any form a vendor sends, and kept."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cabida.evidence.quotes.quote import FIELDS, Amount, Credit, Field, Left, Quote, QuoteItem, Seen

if TYPE_CHECKING:
    from cabida.evidence.quotes.forms import template
    from cabida.evidence.quotes.keeping import keep, kept
    from cabida.evidence.quotes.reading import read_quote, read_quotes

_HOME = {
    "template": "forms",
    "keep": "keeping",
    "kept": "keeping",
    "read_quote": "reading",
    "read_quotes": "reading",
}
__all__ = [
    "FIELDS",
    "Amount",
    "Credit",
    "Field",
    "Left",
    "Quote",
    "QuoteItem",
    "Seen",
    "keep",
    "kept",
    "read_quote",
    "read_quotes",
    "template",
]


def __getattr__(name: str) -> Any:
    """Names of the files, imported when first asked for."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"cabida.evidence.quotes.{_HOME[name]}"), name)
