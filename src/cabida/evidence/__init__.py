"""What was observed: request traces, engines' logs and other tools' tables, and the store that keeps them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cabida.evidence.likeness import alike
    from cabida.evidence.observation import Observation
    from cabida.evidence.read import ReadFile, read_file
    from cabida.evidence.store import add, forget, stored

_HOME = {
    "alike": "likeness",
    "Observation": "observation",
    "ReadFile": "read",
    "read_file": "read",
    "add": "store",
    "forget": "store",
    "stored": "store",
}

__all__ = ["Observation", "ReadFile", "add", "alike", "forget", "read_file", "stored"]


def __getattr__(name: str) -> Any:
    """Names of the files, imported when first asked for."""
    if name not in _HOME:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"cabida.evidence.{_HOME[name]}"), name)
