"""Quotes in the evidence store: added, never changed; of the same vendor and number the last one counts.

What is kept is every field, where each was read and in which words, and the digest of the file; not the file itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.evidence.connect import alone, reading, there, writing
from cabida.evidence.place import store_path
from cabida.evidence.quotes.forms import template
from cabida.evidence.quotes.quote import Left, Quote, QuoteItem, Seen
from cabida.evidence.quotes.reading import read_quote
from cabida.evidence.shelf.auditing import noted
from cabida.facts.known import recorded_by
from cabida.text import closest, problem


@dataclass(frozen=True, slots=True)
class KeptQuote:
    """A quote of the store.

    Attributes:
        id: how commands name it: ``q1``.
        effective: ISO date it is from: issued, else recorded.
        recorded_at: ISO date and time it was added, UTC.
        supersedes: id of the version before it, "" for a first one.
        new: whether it was added just now; the same content again is known already.
    """

    id: str
    quote: Quote
    effective: str
    recorded_at: str
    supersedes: str = ""
    new: bool = False

    def expired(self, day: str) -> bool:
        """Whether it no longer holds on an ISO date; one that doesn't say until when always holds."""
        return bool(self.quote.expires) and str(self.quote.expires) < day


def keep(quotes: Sequence[Quote], store: Path | str | None = None) -> tuple[KeptQuote, ...]:
    """Add quotes to the store, in one transaction.

    Raises:
        InvalidInput: CB-Q020, one names no vendor; CB-E010 to CB-E018, the store can't be written.
    """
    from sqlalchemy import insert, select

    from cabida.evidence.schema import QUOTES

    if nameless := [one for one in quotes if not one.vendor]:
        raise InvalidInput([problem("CB-Q020", file=one.file) for one in nameless])
    at = datetime.now(UTC).isoformat(timespec="seconds")
    digests = []
    with writing(store) as connection:
        alone(connection, "quotes")
        known = {row[0] for row in connection.execute(select(QUOTES.c.digest))}
        fresh = set()
        for quote in quotes:
            row = _row(quote, at)
            digests.append(row["digest"])
            if row["digest"] not in known:
                made = connection.execute(insert(QUOTES).values(**row))
                id = f"q{made.inserted_primary_key[0]}"  # type: ignore[index]
                known.add(row["digest"])
                fresh.add(row["digest"])
                name = " ".join(filter(None, (row["vendor"], row["quote_id"])))
                noted(connection, "kept", "quote", id, name=name, after=row["digest"].hex())
    every = dict(_all(store, "", ""))
    return tuple(replace(every[digest], new=digest in fresh) for digest in digests)


def kept(as_of: str = "", *, store: Path | str | None = None, every: bool = False) -> tuple[KeptQuote, ...]:
    """The quotes of the store, oldest first; empty without a store.

    Args:
        as_of: ISO date; those from later days don't exist. "" = all.
        store: file of the store.
        every: also versions that a later one supersedes.

    Raises:
        InvalidInput: CB-E010 to CB-E018, the store can't be read.
    """
    found = [one for _, one in _all(store, as_of, recorded_by())]
    passed = {one.supersedes for one in found}
    return tuple(one for one in found if every or one.id not in passed)


def quote_named(id: str, store: Path | str | None = None) -> KeptQuote:
    """One quote of the store by its id (``q3``).

    Raises:
        InvalidInput: CB-Q021, there is none.
    """
    every = {one.id: one for one in kept(store=store, every=True)}
    if id not in every:
        near = closest(id, every) or ", ".join([*every][:5]) or "–"
        raise InvalidInput([problem("CB-Q021", id=id[:60], near=near)])
    return every[id]


def is_name(text: str) -> bool:
    """Whether a text is the id of a kept quote rather than a file."""
    return len(text) <= 20 and re.fullmatch(r"q[0-9]+", text) is not None and not Path(text).exists()


def _row(quote: Quote, at: str) -> dict[str, Any]:
    content = str(template("yaml", "en", "", quote))
    return {
        "digest": hashlib.sha256(content.encode("utf-8")).digest(),
        "vendor": quote.vendor or "",
        "quote_id": quote.quote_id or "",
        "purpose": quote.sort,
        "effective": quote.issued or at[:10],
        "expires": quote.expires or "",
        "recorded_at": at,
        "file_name": quote.file,
        "file_sha256": quote.sha256,
        "form": quote.form,
        "content": content,
        "seen": json.dumps(
            {
                "seen": [asdict(one) for one in quote.seen],
                "left": [asdict(one) for one in quote.left],
                "items": [one.place for one in quote.items],
            },
            ensure_ascii=False,
        ),
    }


def _all(store: Path | str | None, as_of: str, by: str) -> list[tuple[bytes, KeptQuote]]:
    from sqlalchemy import select

    from cabida.evidence.schema import QUOTES

    path = store_path(store)
    if not there(path):
        return []
    query = select(QUOTES).order_by(QUOTES.c.id)
    if as_of:
        query = query.where(QUOTES.c.effective <= as_of)
    if by:
        query = query.where(QUOTES.c.recorded_at <= by)
    found: list[tuple[bytes, KeptQuote]] = []
    last: dict[tuple[str, str], str] = {}
    with reading(path) as connection:
        for row in connection.execute(query).mappings():
            id, named = f"q{row['id']}", (row["vendor"], row["quote_id"])
            before = last.get(named, "") if row["quote_id"] else ""
            last[named] = id
            one = KeptQuote(id, _quote(row), row["effective"], row["recorded_at"], before)
            found.append((row["digest"], one))
    return found


def _quote(row: Any) -> Quote:
    """The quote as it was read; its places are those of the vendor's file."""
    read, beside = _read(row["content"]), json.loads(row["seen"])
    places = beside.get("items", [])
    if len(places) == len(read.items):  # stores of earlier releases have none
        read = replace(read, items=tuple(map(_placed, read.items, places)))
    return replace(
        read,
        file=row["file_name"],
        sha256=row["file_sha256"],
        form=row["form"],
        seen=tuple(Seen(**one) for one in beside["seen"]),
        left=tuple(Left(**one) for one in beside["left"]),
    )


@lru_cache(maxsize=512)
def _read(content: str) -> Quote:
    """What was kept, read again; a row never changes, so once is enough."""
    return read_quote("quote.yaml", text=content)


def _placed(item: QuoteItem, place: str) -> QuoteItem:
    return replace(item, place=place)
