"""Offers as rows of the store and back: each field in a column of its own, amounts as decimal text.

What a sighting is told by - its source, its name - is no part of what it is: the same price of the same thing on the
same day, read from another copy, is the same sighting.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any

from cabida.facts import store
from cabida.facts.model import ApiOffer, Offer
from cabida.quantity import Source

COLUMNS = (  # fields of an offer, in the order of the table
    "provider", "provider_kind", "accelerator", "accelerators_count", "region", "country", "capacity", "term_months",
    "upfront_ratio", "amount", "unit", "currency", "seen", "effective", "sighting", "sample_count", "low_amount",
    "high_amount", "condition", "notes", "form_factor", "fraction_ratio", "node_shape", "minimum_count", "includes",
    "median_amount", "until", "tax_ratio",
)  # fmt: skip
APART = ("id", "source", "field_sources")
AMOUNTS = tuple(COLUMNS.index(name) for name in ("amount", "low_amount", "high_amount", "median_amount"))
INCLUDES = COLUMNS.index("includes")
LATER = tuple(own.name for own in fields(Offer) if own.name not in (*COLUMNS, *APART))  # kept as JSON
LATER_DEFAULTS = {own.name: own.default for own in fields(Offer) if own.name in LATER}
API_FIELDS = tuple(sorted(own.name for own in fields(ApiOffer) if own.name not in APART))
API_LISTS = tuple(own.name for own in fields(ApiOffer) if str(own.type).startswith("tuple"))
DIGEST_BYTES = 16
ID_LETTERS = 8  # of the digest, behind a name, so that no two sightings share one
_FIELDS, _API_FIELDS, _API_LISTS = attrgetter(*COLUMNS), attrgetter(*API_FIELDS), attrgetter(*API_LISTS)
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)
_BEFORE = COLUMNS.index("notes") + 1  # an offer's source stands behind its notes


def offer_cells(one: Offer) -> list[Any]:
    """The fields of an offer as the table keeps them, without who told it."""
    cells = list(_FIELDS(one))
    for at in AMOUNTS:
        if cells[at] is not None:
            cells[at] = str(cells[at])
    cells[INCLUDES] = "\n".join(cells[INCLUDES])
    cells.append(_later(one) if LATER else "")
    return cells


def _later(one: Offer) -> str:
    said = {name: getattr(one, name) for name in LATER if getattr(one, name) != LATER_DEFAULTS[name]}
    return json.dumps(said, ensure_ascii=False, default=str) if said else ""


def cells_digest(cells: Sequence[Any]) -> bytes:
    """What a sighting is known by: its content."""
    said = _joined(len(cells)) % tuple(cells)
    return hashlib.blake2b(said.encode(), digest_size=DIGEST_BYTES).digest()


@cache
def _joined(count: int) -> str:
    return "\x1f".join(["%s"] * count)


def named(name: str, digest: bytes) -> str:
    """The id of a stored sighting: as the importer called it, and the beginning of its digest."""
    return f"{name}-{digest.hex()[:ID_LETTERS]}"


def offer_of(name: str, digest: bytes, cells: Sequence[Any], source: Source, own_sources: str) -> Offer:
    """The offer of a row; ``cells`` are ``COLUMNS`` and what came later."""
    values = list(cells[:-1])
    for at in AMOUNTS:
        if values[at] is not None:
            values[at] = Decimal(values[at])
    values[INCLUDES] = tuple(values[INCLUDES].split("\n")) if values[INCLUDES] else ()
    own = sources_of(own_sources) if own_sources else {}
    make: Any = Offer  # by place: a hundred thousand of them are read
    made: Offer = make(named(name, digest), *values[:_BEFORE], source, own, *values[_BEFORE:])
    return replace(made, **json.loads(cells[-1])) if cells[-1] else made


def sources_text(own: dict[str, Source]) -> str:
    """Sources of single fields as JSON; "" = none."""
    if not own:
        return ""
    told = {name: [one.what, one.url, one.seen, one.grade] for name, one in own.items()}
    return json.dumps(told, ensure_ascii=False)


def sources_of(text: str) -> dict[str, Source]:
    """Inverse of ``sources_text``."""
    return {name: Source(*row) for name, row in json.loads(text).items()} if text else {}


def api_text(one: ApiOffer) -> str:
    """Every field of an API price but its sources and its name, as JSON."""
    if any(_API_LISTS(one)):
        row = store.encode([one], ApiOffer)["rows"][0]
        said = {
            own.name: cell for own, cell in zip(fields(ApiOffer), row, strict=True) if own.name in API_FIELDS
        }
    else:  # the same, where no field holds records of its own
        said = dict(zip(API_FIELDS, _API_FIELDS(one), strict=True))
    return _JSON.encode(said)


def api_of(name: str, digest: bytes, text: str, source: Source) -> ApiOffer:
    """Inverse of ``api_text``; a field that came later has its default."""
    said = {**json.loads(text), "id": named(name, digest), "source": 0, "field_sources": {}}
    known = [own for own in fields(ApiOffer) if own.name in said]
    row = [source.what, source.url, source.seen, source.grade]
    payload = {
        "noun": "ApiOffer",
        "fields": [(own.name, str(own.type)) for own in known],
        "sources": [row],
        "rows": [[said[own.name] for own in known]],
    }
    (made,) = store.decode(payload)
    return made  # type: ignore[no-any-return]
