"""``quote``: vendors' offers taken in, kept, shown, and given to the price book."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.text import iso_day, problem, tr

if TYPE_CHECKING:
    from cabida.evidence.quotes import Quote
    from cabida.evidence.quotes.keeping import KeptQuote


def quote_template(form: str = "yaml", *, purpose: str = "", language: str = "") -> str | bytes:
    """A form for a vendor to fill in.

    Args:
        form: yaml, csv or xlsx (bytes).
        purpose: rent, reserve, buy, api or cluster: only what is asked of such an offer; "" = everything.
        language: of the questions; the one in use when left out.

    Raises:
        InvalidInput: CB-Q029, there is no such form or purpose.
    """
    from cabida.evidence.quotes import template
    from cabida.evidence.quotes.fields import PURPOSES
    from cabida.evidence.quotes.forms import FORMS

    odd = [
        problem("CB-Q029", value=value, known=", ".join(known))
        for value, known in ((form, FORMS), (purpose or PURPOSES[0], PURPOSES))
        if value not in known
    ]
    if odd:
        raise InvalidInput(odd)
    return template(form, language, purpose)


def quote_add(
    file: Path | str,
    *,
    vendor: str = "",
    quote_id: str = "",
    content: str | bytes | None = None,
    store: Path | str | None = None,
) -> tuple[KeptQuote, ...]:
    """Read a vendor's file and keep its quotes in the evidence store; the same content again is one row.

    Args:
        file: YAML, CSV, XLSX, PDF or text; ``-`` for standard input.
        vendor: whose quotes they are, where the file doesn't say.
        quote_id: number of the quote, where the file doesn't say.
        content: what the file holds, when it is given instead of read; ``file`` is then only its name.
        store: file of the store.

    Raises:
        InvalidInput: CB-Q001 to CB-Q016, it can't be read; CB-Q017, it says another vendor or number;
            CB-Q020, nobody says whose it is; CB-E010 to CB-E018, the store can't be written.
    """
    from cabida.evidence.quotes import keep, read_quotes

    found = tuple(
        _completed(one, {"vendor": vendor, "quote_id": quote_id}) for one in read_quotes(file, text=content)
    )
    return keep(found, store)


def _completed(quote: Quote, said: dict[str, str]) -> Quote:
    """The quote with what a person says of it; what the file itself says is not overruled."""
    from cabida.evidence.quotes import Seen
    from cabida.evidence.quotes.values import clean

    given = {name: clean(text) for name, text in said.items() if text}
    for name, text in given.items():
        held = getattr(quote, name)
        if held not in (None, text):
            raise InvalidInput([problem("CB-Q017", file=quote.file, name=name, held=held, text=text)])
    fresh = {name: text for name, text in given.items() if getattr(quote, name) is None}
    seen = tuple(Seen(name, tr("procure.said_by_hand"), text) for name, text in fresh.items())
    return replace(quote, **fresh, seen=(*quote.seen, *seen))  # type: ignore[arg-type]


def quotes(
    as_of: str | None = None, *, store: Path | str | None = None, every: bool = False
) -> tuple[KeptQuote, ...]:
    """The quotes kept, oldest first; with ``every`` also those that a later version supersedes."""
    from cabida.evidence.quotes import kept

    return kept(iso_day(as_of or ""), store=store, every=every)


def quote_read(named: Path | str, *, store: Path | str | None = None) -> Quote:
    """A quote by its id in the store (``q3``) or from its file."""
    from cabida.evidence.quotes.keeping import is_name, quote_named
    from cabida.evidence.quotes.reading import read_quote

    return quote_named(str(named), store).quote if is_name(str(named)) else read_quote(named)


def quote_offer(named: Path | str | Quote, *, store: Path | str | None = None) -> str:
    """The quote's price as a row for one's own facts (``cabida-facts/offers.yaml``), to be ranked with the rest.

    Raises:
        InvalidInput: CB-Q022, it says too little for a price of an accelerator-hour.
    """
    import yaml

    from cabida.procure.offer import offer_of

    quote = quote_read(named, store=store) if isinstance(named, Path | str) else named
    row, lacking = offer_of(quote)
    if lacking:
        raise InvalidInput(
            [problem("CB-Q022", file=quote.file or str(quote.vendor), lacking=", ".join(lacking))]
        )
    return str(yaml.safe_dump({"offers": [row]}, sort_keys=False, allow_unicode=True))


def quote_price(named: Path | str | Quote, *, store: Path | str | None = None) -> dict[str, Any]:
    """Keep a quote's price in the price book of the store, to be ranked with every other; the same again adds nothing.

    Returns:
        ``id`` of the price, ``new`` (whether it was added just now) and ``row``, the offer as plain data.

    Raises:
        InvalidInput: CB-Q022, it says too little for a price; CB-F004, a part of it can't be; CB-E010 to CB-E018,
            the store can't be written.
    """
    from cabida.evidence import book
    from cabida.evidence.price_rows import cells_digest, offer_cells
    from cabida.evidence.price_rows import named as stored_id
    from cabida.evidence.prices.nouns import Read
    from cabida.facts import load
    from cabida.facts.model import Offer
    from cabida.procure.offer import offer_of

    quote = quote_read(named, store=store) if isinstance(named, Path | str) else named
    file = quote.file or str(quote.vendor)
    row, lacking = offer_of(quote)
    if lacking:
        raise InvalidInput([problem("CB-Q022", file=file, lacking=", ".join(lacking))])
    made, wrong = load.validated(Offer, row, file, {}, ())
    if wrong:
        raise InvalidInput(wrong)
    added = book.add(Read(file, "quote", quote.sha256, rows_count=1, offers=[made], offer_lines=[1]), store)
    return {
        "id": stored_id(made.id, cells_digest(offer_cells(made))),
        "new": added.new_count > 0,
        "row": row,
    }
