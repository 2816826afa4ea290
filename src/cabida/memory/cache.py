"""Remembering what was worked out for a model or an accelerator: they hold a dict, so they can't be hashed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cabida.facts.model import Sourced

Made = TypeVar("Made")
_ENTRIES_MOST = 20_000
_CACHE: dict[tuple[object, ...], tuple[Sourced, object]] = {}


def remembered(record: Sourced, key: tuple[object, ...], make: Callable[[], Made]) -> Made:
    """What ``make()`` gives for this very record and ``key``, worked out once.

    The record itself is kept beside the value, so that its identity can't pass to another object.
    """
    found = _CACHE.get((id(record), *key))
    if found is not None and found[0] is record:
        return found[1]  # type: ignore[return-value]
    if len(_CACHE) >= _ENTRIES_MOST:
        _CACHE.clear()
    made = make()
    _CACHE[(id(record), *key)] = (record, made)
    return made
