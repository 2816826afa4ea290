"""Weight and cache formats: bits per weight as stored, and the names people call them by."""

from __future__ import annotations

import re
from functools import cache

from cabida.errors import InvalidInput
from cabida.facts import store
from cabida.facts.model import WeightFormat
from cabida.text import problem

_NOTE = re.compile(r"\s*\([^)]*\)")


@cache
def formats() -> dict[str, WeightFormat]:
    """All formats by id."""
    return {record.id: record for record in store.table("formats")}


@cache
def _by_name() -> dict[str, WeightFormat]:
    named: dict[str, WeightFormat] = {}
    for record in formats().values():
        for name in (record.id, *record.aliases):
            named.setdefault(_plain(name), record)
    return named


def weight_format(ref: str) -> WeightFormat:
    """The format called ``ref``: an id, an alias (``awq``, ``gguf-Q4_K_M``, ``w8a8``), notes in brackets aside.

    Raises:
        InvalidInput: CB-F014 when there is none of that name; names the nearest.
    """
    found = find_format(ref)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(_plain(_NOTE.sub("", ref)), list(_by_name()), n=3, cutoff=0.4)
        nearest = (
            ", ".join(dict.fromkeys(_by_name()[name].id for name in near)) or "bf16, fp8, awq-int4, q4_k_m"
        )
        raise InvalidInput(problem("CB-F014", ref=ref, nearest=nearest, known=", ".join(formats())))
    return found


def find_format(ref: str) -> WeightFormat | None:
    """The format called ``ref``, or ``None``."""
    named = _by_name()
    return named.get(_plain(ref)) or named.get(_plain(_NOTE.sub("", ref)))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())
