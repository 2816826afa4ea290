"""The price book: sightings shipped, the user's own files, and what was imported into the store.

Two dates govern it. ``as_of`` is of the world: a price seen later doesn't exist. ``recorded_by`` is of the store: a
price imported later wasn't known, so a decision worked out again finds the book it was made with. Without a store it
costs one look at the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida import facts
from cabida.errors import InvalidInput
from cabida.evidence.connect import damaged, refusal
from cabida.evidence.connect import rows as rows_of
from cabida.evidence.place import Where, store_path
from cabida.evidence.price_rows import COLUMNS, ID_LETTERS, api_of, offer_of
from cabida.facts import known
from cabida.facts.model import ApiOffer, Offer
from cabida.quantity import Source
from cabida.text import tr

if TYPE_CHECKING:
    from cabida.evidence.price_keeping import Added
    from cabida.evidence.prices.nouns import Read

MANY = 500  # accelerators in one question
_SEEN = "((o.seen <> '' AND o.seen <= ?) OR (o.seen = '' AND substr(o.recorded_at, 1, 10) <= ?))"
_BY = "o.recorded_at <= ?"
ALIKE = ", ".join(f"o.{name}" for name in COLUMNS if name not in ("region", "node_shape"))


@dataclass(frozen=True, slots=True)
class Imported:
    """One import of a price list."""

    id: int
    file_name: str
    file_sha256: str
    format: str
    at: str
    rows_count: int
    kept_count: int
    known_count: int
    unread_count: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A row of a price list that nobody could read."""

    file_name: str
    line: int
    text: str
    why: str  # text evidence.import_why.*
    near: str
    at: str


def add(found: Read, store: Path | str | None = None) -> Added:
    """Keep what a price list said in the store, all of it or nothing (``price_keeping.add``)."""
    from cabida.evidence.price_keeping import add as keep

    return keep(found, store)


def offers(
    as_of: str | None = None,
    accelerators: Collection[str] | None = None,
    *,
    recorded_by: str = "",
    once: bool = False,
    store: Path | str | None = None,
) -> tuple[Offer, ...]:
    """Rent and purchase sightings: shipped, one's own, imported.

    Args:
        as_of: ISO date; those seen later are left out. An imported one without a date counts from the day it was
            recorded; others without one only when no date is asked for.
        accelerators: ids; only theirs are read. ``None`` = all.
        recorded_by: ISO date and time, UTC; what was imported later is left out. "" = all.
        once: of imported prices alike in all but their region within a country and their machine only the first:
            all that a choice needs, and much less to read.
        store: file of the store; as ``store_path`` finds it when left out.

    Raises:
        InvalidInput: CB-E010 to CB-E018, there is a store that can't be read.
    """
    listed = facts.offers(as_of)
    if accelerators is not None:
        listed = tuple(one for one in listed if one.accelerator in accelerators)
    own = imported(as_of, accelerators, recorded_by=recorded_by, once=once, store=store)
    return (*listed, *own)


def imported(
    as_of: str | None = None,
    accelerators: Collection[str] | None = None,
    *,
    recorded_by: str = "",
    once: bool = False,
    store: Path | str | None = None,
) -> tuple[Offer, ...]:
    """Only the sightings of the store, oldest import first."""
    stamp, recorded_by = _stamp(store), recorded_by or known.recorded_by()
    wanted = None if accelerators is None else tuple(sorted(accelerators))
    return _imported(stamp, as_of, wanted, recorded_by, once) if stamp else ()


def api_offers(
    as_of: str | None = None, *, recorded_by: str = "", store: Path | str | None = None
) -> tuple[ApiOffer, ...]:
    """Prices of models behind APIs: shipped, one's own, imported."""
    return (*facts.api_offers(as_of), *_own_api(as_of, recorded_by, store))


def current_api_offers(
    as_of: str | None = None,
    models: Collection[str] | None = None,
    *,
    recorded_by: str = "",
    store: Path | str | None = None,
) -> tuple[ApiOffer, ...]:
    """The last price of each provider's model (and window of hours); where two sources differ, the dearer.

    What one wrote down oneself counts whatever a list says.
    """
    from cabida.facts import api_book, overlay

    written = {one.id for one in overlay.own("api_offers")}
    current = {(*api_book.key_of(one), one.hours_utc): one for one in facts.api_offers(as_of, models)}
    own: dict[tuple[str, str, str], ApiOffer] = {}
    for one in _own_api(as_of, recorded_by, store):
        key = (*api_book.key_of(one), one.hours_utc)
        ended = as_of is not None and one.until and one.until <= as_of
        wanted = not ended and (models is None or one.model in models)
        if wanted and (key not in own or one.seen > own[key].seen):
            own[key] = one
    for key, one in own.items():
        if key not in current:
            current[key] = one
        elif current[key].id not in written:
            current[key] = api_book.checked(current[key], one)
    return tuple(current.values())


def _own_api(as_of: str | None, recorded_by: str, store: Path | str | None) -> tuple[ApiOffer, ...]:
    stamp = _stamp(store)
    return _imported_api(stamp, as_of, recorded_by or known.recorded_by()) if stamp else ()


def digest_over(
    facts_digest: str, as_of: str | None = None, *, recorded_by: str = "", store: Path | str | None = None
) -> str:
    """The digest of the facts, another one when imported prices lie beside them, so that a decision cites these too."""
    stamp = _stamp(store)
    if not stamp:
        return facts_digest
    query = "SELECT content FROM price_imports AS o WHERE o.kept_count > 0"
    where, values = _limits(None, recorded_by or known.recorded_by())
    if as_of:
        where.append("(CASE first_seen WHEN '' THEN substr(at, 1, 10) ELSE first_seen END) <= ?")
        values.append(as_of)
    query += "".join(f" AND {one}" for one in where).replace("o.recorded_at", "o.at")
    contents = sorted(_rows(stamp, query, values))
    if not contents:
        return facts_digest
    return hashlib.sha256("\n".join([facts_digest, *(row[0] for row in contents)]).encode()).hexdigest()


def sellers(store: Path | str | None = None) -> tuple[str, ...]:
    """Providers of imported prices."""
    stamp = _stamp(store)
    query = "SELECT provider FROM price_sightings UNION SELECT provider FROM api_sightings"
    return tuple(sorted(row[0] for row in _rows(stamp, query, ()))) if stamp else ()


def imports(store: Path | str | None = None) -> tuple[Imported, ...]:
    """Every import of a price list, oldest first."""
    stamp = _stamp(store)
    columns = "id, file_name, file_sha256, format, at, rows_count, kept_count, known_count, unread_count"
    rows = _rows(stamp, f"SELECT {columns} FROM price_imports ORDER BY id", ()) if stamp else []
    return tuple(Imported(*row) for row in rows)


def unread(store: Path | str | None = None) -> tuple[Unread, ...]:
    """Rows of imported price lists that nobody could read, in the order of their files."""
    stamp = _stamp(store)
    query = (
        "SELECT i.file_name, u.line, u.text, u.why, u.near, i.at FROM price_unread AS u "
        "JOIN price_imports AS i ON i.id = u.import_id ORDER BY u.id"
    )
    return tuple(Unread(*row) for row in _rows(stamp, query, ())) if stamp else ()


def where_from(id: str, store: Path | str | None = None) -> tuple[str, int, str]:
    """File, line and time of recording of an imported sighting; ("", 0, "") of any other."""
    stamp = _stamp(store)
    if not stamp:
        return "", 0, ""
    name, _, tail = id.rpartition("-")
    for table, called in (
        ("price_sightings", "o.name"),
        ("api_sightings", "lower(replace(o.provider || '-' || o.model, '/', '-'))"),
    ):
        query = (
            f"SELECT o.digest, i.file_name, o.line, o.recorded_at FROM {table} AS o JOIN price_imports AS i "
            f"ON i.id = o.import_id WHERE {called} = ?"
        )
        for digest, file, line, at in _rows(stamp, query, (name,)):
            if digest.hex()[:ID_LETTERS] == tail:
                return str(file), int(line), str(at)
    return "", 0, ""


Stamp = tuple[Where, int, int, int | str, int | str]


def _stamp(store: Path | str | None) -> Stamp | None:
    """The store as it is now, so that what was read is read again when it grows; ``None`` without a store."""
    try:
        path = store_path(store)
    except InvalidInput as error:
        if store is not None or error.problems[0].code != "CB-E011":
            raise
        return None  # nobody's home: nothing was ever imported
    if not isinstance(path, Path):
        last = "SELECT id, at, content FROM price_imports ORDER BY id DESC LIMIT 1"
        found = rows_of(path, last)  # prices are only ever added
        return (path, int(found[0][0]), 0, str(found[0][1]), str(found[0][2])) if found else None
    try:
        own, log = path.stat(), path.with_name(path.name + "-wal")
        extra = log.stat() if log.exists() else None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refusal(path, f"unable to open: {error.strerror}") from None
    if not path.is_file():
        raise refusal(path, f"unable to open: {tr('facts.not_a_file')}")
    wal = (extra.st_mtime_ns, extra.st_size) if extra else (0, 0)
    return path, own.st_mtime_ns, own.st_size, *wal


def _rows(stamp: Stamp, query: str, values: Sequence[Any]) -> list[Any]:
    return rows_of(stamp[0], query, values)


@contextmanager
def _whole(stamp: Stamp) -> Iterator[None]:
    """Tell a row that nobody of this program wrote as damage to the store."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise damaged(stamp[0], f"malformed row: {error}") from None


def _limits(as_of: str | None, recorded_by: str) -> tuple[list[str], list[Any]]:
    where, values = list[str](), list[Any]()
    if as_of is not None:
        where.append(_SEEN)
        values += [as_of, as_of]
    if recorded_by:
        where.append(_BY)
        values.append(recorded_by)
    return where, values


@lru_cache(maxsize=8)
def _imported(
    stamp: Stamp, as_of: str | None, accelerators: tuple[str, ...] | None, recorded_by: str, once: bool
) -> tuple[Offer, ...]:
    where, values = _limits(as_of, recorded_by)
    columns = ", ".join(f"o.{name}" for name in COLUMNS)
    query = (
        f"SELECT s.what, s.url, s.seen, s.grade, o.field_sources, o.name, o.digest, {columns}, o.more "
        "FROM price_sightings AS o JOIN price_sources AS s ON s.id = o.source_id"
    )
    parts: list[Sequence[str]] = [()]
    if accelerators is not None:
        parts = [accelerators[at : at + MANY] for at in range(0, len(accelerators), MANY)]
    rows = list[Any]()
    for part in parts:
        own = [f"o.accelerator IN ({', '.join('?' * len(part))})"] if part else []
        told = " WHERE " + " AND ".join([*own, *where]) if own or where else ""
        if once:
            told = f" WHERE o.id IN (SELECT min(o.id) FROM price_sightings AS o{told} GROUP BY {ALIKE})"
        rows += _rows(stamp, f"{query}{told} ORDER BY o.id", [*part, *values])
    sources: dict[tuple[str, ...], Source] = {}
    made = []
    with _whole(stamp):
        for row in rows:
            source = sources.get(row[:4]) or sources.setdefault(row[:4], Source(*row[:4]))
            made.append(offer_of(row[5], row[6], row[7:], source, row[4]))
    return tuple(made)


@lru_cache(maxsize=8)
def _imported_api(stamp: Stamp, as_of: str | None, recorded_by: str) -> tuple[ApiOffer, ...]:
    where, values = _limits(as_of, recorded_by)
    query = (
        'SELECT s.what, s.url, s.seen, s.grade, o.digest, o."row", o.provider, o.model FROM api_sightings AS o '
        "JOIN price_sources AS s ON s.id = o.source_id"
    )
    told = " WHERE " + " AND ".join(where) if where else ""
    rows = _rows(stamp, f"{query}{told} ORDER BY o.id", values)
    with _whole(stamp):
        return tuple(
            api_of(f"{row[6]}-{row[7]}".replace("/", "-").lower(), row[4], row[5], Source(*row[:4]))
            for row in rows
        )
