"""What the pages of quotes show, as rows of text: the list, the figures above an audit, what was read and where."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cabida.text import money, number, percent, printable, tr

if TYPE_CHECKING:
    from cabida.evidence.quotes.keeping import KeptQuote
    from cabida.evidence.quotes.quote import Quote
    from cabida.procure import Audit
    from cabida.report.quote import Part

TONES = {"sound": "satisfies", "doubts": "misses", "blocked": "ruled_out"}


def listed(found: Sequence[KeptQuote], day: str) -> list[dict[str, Any]]:
    """One row for each quote: who, what, from when to when, and whether it still holds on ``day``."""
    from cabida import facts

    rows = []
    for one in found:
        quote = one.quote
        card = facts.find_accelerator(quote.accelerator) if quote.accelerator else None
        part = card.name if card is not None else quote.accelerator or ""
        rows.append(
            {
                "id": one.id,
                "vendor": printable(quote.vendor or "–"),
                "number": printable(quote.quote_id or "–"),
                "part": printable(part) or "–",
                "count": number(quote.accelerators_count, 6) if quote.accelerators_count else "–",
                "purpose": tr(f"procure.purpose.{quote.sort}") if quote.sort else "–",
                "from": one.effective,
                "until": quote.expires or "–",
                "expired": one.expired(day),
                "supersedes": one.supersedes,
                "fields": len(quote.said()),
                "left": len(quote.left),
                "form": quote.form,
            }
        )
    return rows


def verdict_tone(verdict: str) -> str:
    """The colour of a verdict, by the class that the record's statuses have."""
    return TONES[verdict]


def score(made: Audit) -> list[dict[str, str]]:
    """The few figures that stand above an audit; what the quote doesn't say is told as unknown."""
    price, unknown = made.price, tr("procure.unknown")
    useful = price.useful_money_per_hour
    span = ""
    if useful is not None:
        span = f"{number(price.useful_low_money_per_hour or 0.0)} – {number(price.useful_high_money_per_hour or 0.0)}"
    return [
        {
            "name": tr("pages_quotes.tile.complete"),
            "value": percent(made.completeness.score_ratio, 3),
            "note": tr("pages_quotes.tile.complete_note", count=len(made.gaps)),
        },
        {
            "name": tr("pages_quotes.tile.blocking"),
            "value": number(made.blocking, 6),
            "note": tr("pages_quotes.tile.blocking_note", count=len(made.findings)),
        },
        {
            "name": tr("pages_quotes.tile.listed"),
            "value": unknown if price.listed_money_per_hour is None
            else money(price.listed_money_per_hour, price.currency),
            "note": tr("pages_quotes.tile.hour"),
        },
        {
            "name": tr("pages_quotes.tile.useful"),
            "value": unknown if useful is None else money(useful, price.currency),
            "note": span or tr("pages_quotes.tile.hour"),
        },
        {
            "name": tr("pages_quotes.tile.worst"),
            "value": unknown if made.liability.total_money is None
            else money(made.liability.total_money, made.liability.currency),
            "note": tr("pages_quotes.tile.worst_note"),
        },
    ]  # fmt: skip


def read_groups(quote: Quote) -> list[dict[str, Any]]:
    """Every field that says something, group by group, with where it was read, in which words and how surely."""
    from cabida.evidence.quotes.fields import FIELDS
    from cabida.procure.subject import shown, title_of

    groups: dict[str, list[dict[str, str]]] = {}
    for one in FIELDS:
        value = getattr(quote, one.name)
        if value is None:
            continue
        seen = quote.where(one.name)
        groups.setdefault(one.group, []).append(
            {
                "title": title_of(one.name),
                "value": printable(shown(one.name, value)),
                "place": placed(printable(seen.place), quote.file) if seen else "–",
                "words": printable(seen.words[:200]) if seen else "",
                "grade": tr(f"procure.grade.{seen.grade}") if seen and seen.grade != "stated" else "",
            }
        )
    return [{"title": tr(f"procure.group.{key}"), "rows": rows} for key, rows in groups.items()]


def lined(part: Part, file: str) -> Part:
    """A part whose places in the vendor's own file, which the page names once, are told by their lines."""
    tables = tuple(
        replace(one, rows=tuple(tuple(placed(cell, file) for cell in row) for row in one.rows))
        for one in part.tables
    )
    return replace(part, tables=tables) if file else part


def placed(told: str, file: str) -> str:
    """Places in ``file`` by their lines alone: ``offer.pdf:p2:14`` as page 2, line 14."""
    if not file:
        return told
    return re.sub(re.escape(file) + r":(?:p(\d+):)?(\d+)", _line, told)


def _line(found: re.Match[str]) -> str:
    key = "pages_quotes.page_line" if found[1] else "pages_quotes.line"
    return tr(key, page=found[1], line=found[2])


def needed(query: Mapping[str, str], names: Sequence[str], shares: Sequence[str]) -> list[dict[str, str]]:
    """What may be known of the need, with what was typed."""
    return [
        {
            "name": name,
            "title": tr(f"pages_quotes.need.{name}"),
            "unit": "%" if name in shares else "",
            "value": query.get(name, "")[:20],
        }
        for name in names
    ]
