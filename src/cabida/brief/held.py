"""What the buyer already has: accelerators owned or contracted, credits, committed spend and quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cabida.brief import kinds
from cabida.brief.kinds import word
from cabida.brief.model import HELD_KINDS, Held
from cabida.brief.shapes import Group, OneOf

if TYPE_CHECKING:
    from cabida.brief.amounts import Purse


def _one(kind: kinds.Kind) -> OneOf:
    return OneOf(scalar=kind)


HELD = OneOf(
    mapping=Group(
        "have",
        {
            "accelerator": _one(kinds.text("accelerator")),
            "count": _one(kinds.WHOLE),
            "kind": _one(word(*HELD_KINDS)),
            "owned": _one(kinds.FLAG),
            "until": _one(kinds.DATE),
            "resale": _one(kinds.money()),
            "price": _one(kinds.money("hour")),
            "credit": _one(kinds.money()),
            "desktop": _one(kinds.FLAG),
            "provider": _one(kinds.text("provider")),
            "region": _one(kinds.text("name")),
            "bought": _one(kinds.DATE),
            "paid": _one(kinds.money()),
            "resale_fall": _one(kinds.YEAR_RATE),
            "book": _one(kinds.money()),
            "committed": _one(kinds.SHARE),
            "sublet": _one(kinds.SHARE),
            "upfront": _one(kinds.money()),
            "spend": _one(kinds.money("month")),
            "discount": _one(kinds.SHARE),
        },
    )
)
GOES_WITH = {  # what is said of one kind of thing only
    "resale": ("owned",),
    "resale_fall": ("owned",),
    "bought": ("owned",),
    "paid": ("owned",),
    "book": ("owned",),
    "price": ("contracted",),
    "committed": ("contracted",),
    "sublet": ("contracted",),
    "upfront": ("contracted",),
    "credit": ("credit",),
    "spend": ("commitment",),
    "discount": ("commitment",),
}
NEEDS = {  # without which an entry means nothing
    "owned": ("accelerator",),
    "contracted": ("accelerator", "price"),
    "credit": ("credit",),
    "commitment": ("provider", "spend"),
    "quota": ("provider", "accelerator", "count"),
}


def held_of(plain: dict[str, Any], path: str, purse: Purse) -> Held:
    """One entry of ``have``; its kind is told by what is said of it."""

    def amount(key: str) -> float | None:
        return purse.take(plain.get(key), f"{path}.{key}")

    guessed = "contracted" if plain.get("owned") is False or plain.get("price") else "owned"
    guessed = "credit" if plain.get("credit") else "commitment" if plain.get("spend") else guessed
    count = plain.get("count")
    return Held(
        accelerator=plain.get("accelerator") or "",
        count=1 if count is None else count,
        kind=plain.get("kind") or ("owned" if plain.get("owned") else guessed),
        until=plain.get("until") or "",
        resale_money=amount("resale"),
        price_money_per_hour=amount("price"),
        credit_money=amount("credit"),
        desktop=bool(plain.get("desktop")),
        provider=plain.get("provider") or "",
        region=plain.get("region") or "",
        bought=plain.get("bought") or "",
        paid_money=amount("paid"),
        resale_fall_ratio=plain.get("resale_fall"),
        book_money=amount("book"),
        committed_ratio=plain.get("committed"),
        sublet_ratio=plain.get("sublet") or 0.0,
        upfront_money=amount("upfront"),
        spend_money_per_month=amount("spend"),
        discount_ratio=plain.get("discount") or 0.0,
    )


def plain_held(
    held: Held, currency: str, written: Callable[[float | None, str, str], str | None]
) -> dict[str, Any]:
    """The entry as a brief would say it, amounts ``written``; what says nothing is ``None`` or ""."""

    def money(value: float | None, period: str = "") -> str | None:
        return written(value, currency, period)

    return {
        "accelerator": held.accelerator,
        "count": held.count if held.accelerator else None,
        "kind": held.kind,
        "until": held.until,
        "resale": money(held.resale_money),
        "price": money(held.price_money_per_hour, "/h"),
        "credit": money(held.credit_money),
        "desktop": "true" if held.desktop else None,
        "provider": held.provider,
        "region": held.region,
        "bought": held.bought,
        "paid": money(held.paid_money),
        "resale_fall": held.resale_fall_ratio,
        "book": money(held.book_money),
        "committed": held.committed_ratio,
        "sublet": held.sublet_ratio or None,
        "upfront": money(held.upfront_money),
        "spend": money(held.spend_money_per_month, "/month"),
        "discount": held.discount_ratio or None,
    }


def misplaced(held: Held) -> Iterator[tuple[str, str]]:
    """What is said of an entry and doesn't go with its kind: the key, and the kind it goes with."""
    said = {
        "resale": held.resale_money,
        "resale_fall": held.resale_fall_ratio,
        "bought": held.bought or None,
        "paid": held.paid_money,
        "book": held.book_money,
        "price": held.price_money_per_hour,
        "committed": held.committed_ratio,
        "sublet": held.sublet_ratio or None,
        "upfront": held.upfront_money,
        "credit": held.credit_money,
        "spend": held.spend_money_per_month,
        "discount": held.discount_ratio or None,
    }
    for key, kinds_ in GOES_WITH.items():
        if said[key] is not None and held.kind not in kinds_:
            yield key, kinds_[0]


def lacking(held: Held, counted: bool) -> Iterator[str]:
    """What an entry of its kind must say and doesn't; ``counted`` = a count is written."""
    said = {
        "accelerator": bool(held.accelerator),
        "provider": bool(held.provider),
        "credit": held.credit_money is not None,
        "spend": held.spend_money_per_month is not None,
        "price": held.price_money_per_hour is not None,
        "count": counted,
    }
    yield from (key for key in NEEDS[held.kind] if not said[key])
