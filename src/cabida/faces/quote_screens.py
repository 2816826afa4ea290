"""What ``quote add``, ``list`` and ``show`` show on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cabida.evidence.quotes.keeping import KeptQuote
from cabida.evidence.quotes.quote import FIELDS, Quote
from cabida.procure.subject import shown as value_shown
from cabida.procure.subject import title_of
from cabida.text import printable, tr

MOST_LEFT = 12


def added(kept: Sequence[KeptQuote]) -> Any:
    """What was kept, under which id, and what nobody understood."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = []
    for one in kept:
        key = "known" if not one.new else "replaced" if one.supersedes else "added"
        values = {
            "id": one.id,
            "vendor": one.quote.vendor,
            "before": one.supersedes,
            "count": len(one.quote.said()),
        }
        parts.append(Text(printable(tr(f"procure.kept.{key}", **values)), style="bold"))
        parts += [Text(line) for line in _left(one.quote)]
        parts.append(Text(tr("procure.kept.next", id=one.id)))
    return Group(*parts)


def listed(found: Sequence[KeptQuote], day: str) -> Any:
    """One row for each quote."""
    from rich.table import Table

    if not found:
        return tr("procure.kept.none")
    table = Table(box=None, pad_edge=False)
    for head in ("id", "vendor", "number", "part", "issued", "until"):
        table.add_column(tr(f"procure.kept.{head}"), overflow="fold")
    for one in found:
        until = one.quote.expires or "–"
        if one.expired(day):
            until = tr("procure.kept.expired", day=until)
        count = one.quote.accelerators_count
        part = f"{count} × {one.quote.accelerator}" if count else one.quote.accelerator or "–"
        cells = (one.id, one.quote.vendor or "–", one.quote.quote_id or "–", part, one.effective, until)
        table.add_row(*(printable(cell) for cell in cells))
    return table


def shown(quote: Quote) -> Any:
    """Every field that says something, with where it was read."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for head in ("field", "value", "place"):
        table.add_column(tr(f"procure.kept.{head}"), overflow="fold")
    for one in FIELDS:
        value = getattr(quote, one.name)
        if value is None:
            continue
        seen = quote.where(one.name)
        place = seen.place if seen else "–"
        if seen and seen.grade != "stated":
            place = f"{place} ({tr(f'procure.grade.{seen.grade}')})"
        table.add_row(title_of(one.name), printable(value_shown(one.name, value)), printable(place))
    items = [Text(printable(f"{item.place}: {item.what}")) for item in quote.items]
    return Group(table, *items, *(Text(line) for line in _left(quote)))


def _left(quote: Quote) -> list[str]:
    if not quote.left:
        return []
    lines = [tr("procure.kept.left", count=len(quote.left))]
    lines += [printable(f"  {one.place}: {one.words[:100]}") for one in quote.left[:MOST_LEFT]]
    more = len(quote.left) - MOST_LEFT
    return lines + ([tr("procure.kept.more", count=more)] if more > 0 else [])
