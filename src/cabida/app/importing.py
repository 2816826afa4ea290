"""Price files people already have, into the price book: each file whole or not at all, each row kept or told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.text import has_text, iso_day, problem, tr

if TYPE_CHECKING:
    from cabida.evidence.prices import Read
    from cabida.evidence.prices.nouns import Told

MOST_FIRST = 3  # rows told of each reason
SPREADSHEETS = (".csv", ".xlsx")


def import_prices(
    files: Sequence[Path | str],
    *,
    as_of: str | None = None,
    provider: str = "",
    currency: str = "",
    keep: bool = True,
    store: Path | str | None = None,
    progress: Told | None = None,
) -> dict[str, Any]:
    """Read price lists, catalogues and bills, and keep what they say in the store.

    Args:
        files: SkyPilot's and gpuhunt's CSV, ec2instances', LiteLLM's, OpenRouter's and OpenCost's JSON, FOCUS bills,
            price lists as CSV or XLSX.
        as_of: ISO date the undated rows were seen.
        provider: whose prices they are, where a file doesn't say.
        currency: of prices that name none.
        keep: whether to store them; ``False`` only reads.
        store: file of the store; as ``evidence.place.store_path`` finds it when left out.
        progress: told every few thousand rows.

    Returns:
        ``files``, a row for each: format, counts, notes, reasons of what was left aside; ``errors``, the problems of
        files of which nothing could be read; ``kept``, whether anything was stored.

    Raises:
        InvalidInput: CB-U005, ``as_of`` is no date; CB-E010 to CB-E018, the store can't be written.
    """
    from cabida.evidence import book
    from cabida.evidence.prices.reading import read, without_collecting

    day = iso_day(as_of or "")
    rows: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    with without_collecting():
        for file in files:
            try:
                found = read(file, provider=provider, currency=currency, as_of=day, progress=progress)
            except InvalidInput as error:
                errors += [one.as_dict() for one in error.problems]
                continue
            row = told(found, str(file))
            if keep and (found.offers or found.api_offers or found.unread):
                added = book.add(found, store)
                row |= {"new_count": added.new_count, "known_count": added.known_count}
            rows.append(row)
    return {"files": rows, "errors": errors, "kept": keep}


def told(found: Read, file: str) -> dict[str, Any]:
    """What became of one file, as plain data."""
    counts = Counter(one.why for one in found.unread)
    reasons = [
        {
            "why": why,
            "sentence": tr(f"evidence.import_why.{why}"),
            "count": count,
            "first": [asdict(one) for one in _first(found, why)],
        }
        for why, count in counts.most_common()
    ]
    days = [one.seen for one in found.offers if one.seen] + [one.seen for one in found.api_offers if one.seen]
    days += [one.charge_start[:10] for one in (found.billing[:1] + found.billing[-1:])]
    return {
        "file": file,
        "format": found.format,
        "rows_count": found.rows_count,
        "offers_count": len(found.offers),
        "api_offers_count": len(found.api_offers),
        "billing_count": len(found.billing),
        "repeated_count": found.repeated_count,
        "beside_count": found.beside_count,
        "unread_count": len(found.unread),
        "unread": reasons,
        "aside": _aside(found),
        "first_seen": min(days, default=""),
        "last_seen": max(days, default=""),
        "dated": found.dated,
        "undated_count": found.undated_count,
        "notes": [tr(f"evidence.import_note.{key}", **values) for key, values in found.notes],
    }


def _first(found: Read, why: str) -> list[Any]:
    first: list[Any] = []
    for one in found.unread:
        if one.why == why:
            first.append(one)
            if len(first) == MOST_FIRST:
                break
    return first


def _aside(found: Read) -> dict[str, Any]:
    """Which of the prices lie outside what others ask for the same, and won't be used: how many, the first of them."""
    from cabida import facts, money
    from cabida.money.prices.believed import judged

    if not found.offers:
        return {"count": 0, "first": []}
    parts = {one.accelerator for one in found.offers}
    listed = [one for one in facts.offers() if one.accelerator in parts]
    try:
        judgement = judged([*listed, *found.offers], money.terms("USD", as_of=date.today().isoformat()))
    except InvalidInput as error:  # a currency without a rate: nothing to hold its prices against
        return {"count": 0, "first": [], "problem": error.problems[0].as_dict()}
    lines = {id(one): line for one, line in zip(found.offers, found.offer_lines, strict=True)}
    own = [one for one in (*judgement.aside, *judgement.doubted) if id(one.offer) in lines]
    return {
        "count": sum(id(one.offer) in lines for one in judgement.aside),
        "doubted_count": sum(id(one.offer) in lines for one in judgement.doubted),
        "first": [
            {
                "line": lines[id(one.offer)],
                "gpu": one.offer.accelerator,
                "capacity": one.offer.capacity,
                "amount": float(one.offer.amount),
                "currency": one.offer.currency,
                "ratio": one.ratio,
                "reason": one.reason,
                "sentence": _sentence(one.reason),
            }
            for one in own[:MOST_FIRST]
        ],
    }


def _sentence(reason: str) -> str:
    key = f"money.aside.{reason}"
    return tr(key) if has_text(key) else reason


def write_template(file: Path | str) -> Path:
    """Write a price list to fill in: a header, a few rows that show how, as CSV or as a spreadsheet by its name.

    Raises:
        InvalidInput: CB-E056, the name ends otherwise; CB-R005, it can't be written there.
    """
    from cabida.evidence.prices.template import as_csv, write_xlsx
    from cabida.files import write_text

    path = Path(file)
    if path.suffix.lower() not in SPREADSHEETS:
        raise InvalidInput([problem("CB-E056", file=str(path))])
    if path.suffix.lower() == ".csv":
        return write_text(path, as_csv())
    try:
        write_xlsx(path)
    except OSError as error:
        raise InvalidInput([problem("CB-R005", file=str(path), line=0, why=error.strerror or "")]) from None
    return path
