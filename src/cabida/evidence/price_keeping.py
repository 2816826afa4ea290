"""Keeping what a price list says: one file is one transaction, sightings are only ever added.

What was read before is known by its content, so the same file given twice adds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.evidence.connect import alone, kept_text, placed, writing
from cabida.evidence.price_rows import COLUMNS, api_text, cells_digest, offer_cells, sources_text
from cabida.evidence.secrets import redacted
from cabida.evidence.shelf.auditing import noted
from cabida.facts.model import ApiOffer, Offer
from cabida.quantity import Source

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from cabida.evidence.prices.nouns import Read

TEXT_LETTERS = 500  # of a row that nobody could read
ROWS_AT_ONCE = 2_000
UNREAD_MOST = 10_000  # rows of one file kept so; more are counted
SIGHTED = ("digest", "import_id", "line", "recorded_at", "source_id")
OFFERS_INTO = (*SIGHTED, "field_sources", "name", *COLUMNS, "more")
API_INTO = (*SIGHTED, "provider", "model", "seen", "row")
IMPORT_INTO = (
    "id", "file_sha256", "file_name", "size_bytes", "format", "rows_count", "kept_count", "known_count", "unread_count",
    "first_seen", "content", "tool_version", "at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a price list."""

    import_id: int  # 0 = nothing in it was new
    at: str  # when, UTC
    new_count: int
    known_count: int
    unread_count: int


def add(found: Read, store: Path | str | None = None) -> Added:
    """Keep a price list, all of it or nothing.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be written.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with writing(store) as connection:
        alone(connection, "prices")
        _defer(connection)
        import_id = _next(connection, "price_imports")
        sources = _Sources(_next(connection, "price_sources"), import_id)
        rows = (
            (
                *_sighted(digest, import_id, line, at, sources, one),
                sources_text(one.field_sources),
                one.id,
                *cells,
            )
            for one, line in _numbered(found.offers, found.offer_lines)
            for cells in (offer_cells(one),)
            for digest in (cells_digest(cells),)
        )
        api_rows = (
            (*_sighted(cells_digest([text]), import_id, line, at, sources, one), *_served(one), text)
            for one, line in _numbered(found.api_offers, found.api_lines)
            for text in (api_text(one),)
        )
        connection.exec_driver_sql("SAVEPOINT before_it")
        new_count = _insert(connection, "price_sightings", OFFERS_INTO, rows)
        new_count += _insert(connection, "api_sightings", API_INTO, api_rows)
        _insert(
            connection, "price_sources", ("id", "import_id", "what", "url", "seen", "grade"), sources.rows()
        )
        all_count = len(found.offers) + len(found.api_offers)
        if not new_count and (not found.unread or _is_known(connection, found.sha256)):
            connection.exec_driver_sql("ROLLBACK TO before_it")
            return Added(0, at, 0, all_count, len(found.unread))
        row = _import(connection, found, import_id, (new_count, all_count - new_count), at)
        _insert(connection, "price_imports", IMPORT_INTO, [row])
        unread = [
            (import_id, one.line, kept_text(redacted(one.what[:TEXT_LETTERS])), one.why, one.near)
            for one in found.unread[:UNREAD_MOST]
        ]
        _insert(connection, "price_unread", ("import_id", "line", "text", "why", "near"), unread)
        noted(connection, "imported", "prices", str(import_id), name=found.name, after=found.sha256)
    return Added(import_id, at, new_count, all_count - new_count, len(found.unread))


class _Sources:
    """The distinct sources of one import, each with its number."""

    def __init__(self, first: int, import_id: int) -> None:
        self.first, self.import_id = first, import_id
        self.places: dict[Source, int] = {}
        self._last: Source | None = None
        self._place = 0

    def place(self, source: Source) -> int:
        if source is not self._last:  # a price list has few, each for many rows on end
            self._last, self._place = source, self.places.setdefault(source, self.first + len(self.places))
        return self._place

    def rows(self) -> list[tuple[Any, ...]]:
        return [(at, self.import_id, s.what, s.url, s.seen, s.grade) for s, at in self.places.items()]


def _numbered(offers: Sequence[Any], lines: Sequence[int]) -> Iterable[tuple[Any, int]]:
    return zip(offers, lines or [0] * len(offers), strict=True)


def _sighted(
    digest: bytes, import_id: int, line: int, at: str, sources: _Sources, one: Offer | ApiOffer
) -> tuple[Any, ...]:
    return digest, import_id, line, at, sources.place(one.source)


def _served(one: ApiOffer) -> tuple[str, str, str]:
    return one.provider, one.model, one.seen


def _next(connection: Connection, table: str) -> int:
    found = connection.exec_driver_sql(f"SELECT max(id) FROM {table}").scalar()
    return int(found or 0) + 1


def _insert(
    connection: Connection, table: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]
) -> int:
    """Add rows in bulk, those of a known digest left out; how many were new."""
    new_count = 0
    spare = " ON CONFLICT (digest) DO NOTHING" if "digest" in columns else ""
    places = ", ".join("?" * len(columns))
    named = ", ".join(f'"{column}"' for column in columns)
    into = placed(connection, f"INSERT INTO {table} ({named}) VALUES ({places}){spare}")
    left = iter(rows)
    while some := list(islice(left, ROWS_AT_ONCE)):
        new_count += connection.exec_driver_sql(into, some).rowcount
    return new_count


def _defer(connection: Connection) -> None:
    """Let rows point to an import that is kept after them: its own row says what was new in it."""
    postgres = connection.dialect.name == "postgresql"
    connection.exec_driver_sql(
        "SET CONSTRAINTS ALL DEFERRED" if postgres else "PRAGMA defer_foreign_keys = ON"
    )


def _is_known(connection: Connection, sha256: str) -> bool:
    query = placed(connection, "SELECT 1 FROM price_imports WHERE file_sha256 = ? LIMIT 1")
    return connection.exec_driver_sql(query, (sha256,)).first() is not None


def _import(
    connection: Connection, found: Read, import_id: int, counts: tuple[int, int], at: str
) -> tuple[Any, ...]:
    import cabida

    content, first = hashlib.sha256(), list[str]()
    for table in ("price_sightings", "api_sightings"):
        new = placed(connection, f"SELECT digest FROM {table} WHERE import_id = ? ORDER BY digest")
        content.update(b"".join(connection.exec_driver_sql(new, (import_id,)).scalars()))
        dated = placed(connection, f"SELECT min(seen) FROM {table} WHERE import_id = ? AND seen <> ''")
        seen = connection.exec_driver_sql(dated, (import_id,)).scalar()
        first += [seen] if seen else []
    return (
        import_id, found.sha256, found.name, found.size_bytes, found.format, found.rows_count, *counts,
        len(found.unread), min(first, default=""), content.hexdigest(), cabida.__version__, at,
    )  # fmt: skip
