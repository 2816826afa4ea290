"""Offers side by side: what an hour comes to, what each lacks, what can be owed, and which is best, with its doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cabida.procure.nouns import Audit
from cabida.procure.subject import whole
from cabida.text import number, tr


@dataclass(frozen=True, slots=True)
class Beside:
    """One offer among others. Money is in the comparison's currency; ``None`` = the offer says too little."""

    quote_id: str
    vendor: str
    title: str
    file: str
    listed_money_per_hour: float | None
    useful_money_per_hour: float | None
    useful_low_money_per_hour: float | None
    useful_high_money_per_hour: float | None
    percentile_ratio: float | None
    completeness_ratio: float
    liability_money: float | None
    uptime_ratio: float | None
    down_hours: float | None
    blocking_count: int
    findings_count: int
    lacks: tuple[str, ...]  # what it lacks that blocks, by title
    unknown: tuple[str, ...]  # lines of its cost that nobody confirmed


@dataclass(frozen=True, slots=True)
class Comparison:
    """Offers, the cheapest useful hour first; those without a price last.

    Attributes:
        winner: index in ``rows``; ``None`` = none has a price.
        answer: who is best, in one sentence.
        doubts: why that may be wrong.
    """

    currency: str
    as_of: str
    rows: tuple[Beside, ...]
    winner: int | None
    answer: str
    doubts: tuple[str, ...]
    schema: str = "cabida/comparison/1"


def compare(audits: Sequence[Audit]) -> Comparison:
    """Offers audited in one currency on one day, side by side, in the language in use."""
    rows = sorted(map(_beside, audits), key=_order)
    currency = next((one.price.currency for one in audits if one.price.currency), "")
    priced = [one for one in rows if one.useful_money_per_hour is not None]
    as_of = max((one.as_of for one in audits), default="")
    if not priced:
        return Comparison(currency, as_of, tuple(rows), None, tr("procure.compare.none"), ())
    first = priced[0]
    useful, listed = (
        f"{whole(value or 0.0)} {currency}"
        for value in (first.useful_money_per_hour, first.listed_money_per_hour)
    )
    answer = tr("procure.compare.best", name=name_of(first), price=useful, listed=listed)
    return Comparison(currency, as_of, tuple(rows), 0, answer, tuple(_doubts(first, rows, audits, currency)))


def name_of(one: Beside) -> str:
    """Vendor and number."""
    return " ".join(part for part in (one.vendor, one.quote_id) if part) or one.file or one.title


def _order(one: Beside) -> tuple[bool, float, str]:
    price = one.useful_money_per_hour
    return price is None, price or 0.0, one.quote_id


def _beside(made: Audit) -> Beside:
    return Beside(
        made.quote_id, made.vendor, made.title, made.file, made.price.listed_money_per_hour,
        made.price.useful_money_per_hour, made.price.useful_low_money_per_hour, made.price.useful_high_money_per_hour,
        made.placed.percentile_ratio, made.completeness.score_ratio, made.liability.total_money,
        made.sla.availability_ratio, made.sla.down_hours, made.blocking, len(made.findings),
        tuple(one.title for one in made.gaps if one.severity == "blocking"), made.price.unknown,
    )  # fmt: skip


def _doubts(first: Beside, rows: Sequence[Beside], audits: Sequence[Audit], currency: str) -> list[str]:
    doubts: list[str] = []
    near = [
        one
        for one in rows[1:]
        if one.useful_low_money_per_hour is not None
        and one.useful_low_money_per_hour < (first.useful_high_money_per_hour or 0.0)
    ]
    if near:
        doubts.append(tr("procure.compare.overlap", names=", ".join(map(name_of, near)), count=len(near)))
    if first.blocking_count:
        doubts.append(tr("procure.compare.blocked", name=name_of(first), count=first.blocking_count))
    if first.unknown:
        doubts.append(
            tr("procure.compare.unknown", names=", ".join(tr(f"procure.line.{one}") for one in first.unknown))
        )
    unpriced = [name_of(one) for one in rows if one.useful_money_per_hour is None]
    if unpriced:
        doubts.append(tr("procure.compare.unpriced", names=", ".join(unpriced)))
    listed = min(
        (one for one in rows if one.listed_money_per_hour is not None),
        key=lambda one: one.listed_money_per_hour or 0.0,
    )
    if listed != first:
        doubts.append(tr("procure.compare.listed", name=name_of(listed),
                         price=f"{whole(listed.listed_money_per_hour or 0.0)} {currency}"))  # fmt: skip
    parts = {one.title.split(" · ")[0].partition(" × ")[2] or one.title for one in audits}
    if len(parts) > 1:
        doubts.append(tr("procure.compare.parts", count=number(len(parts)), names=", ".join(sorted(parts))))
    return doubts
