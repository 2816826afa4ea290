"""What a brief says of who stands behind its decision, and after how long it is looked at again."""

from __future__ import annotations

from typing import Any

from cabida.brief import kinds
from cabida.brief.model import Signing
from cabida.brief.shapes import Group, OneOf

ROLES = ("finance", "platform", "product")
NAME = OneOf(scalar=kinds.text("name", longest=120))
SIGN_OFF = Group(
    "sign_off",
    {
        "author": NAME,
        "approvers": OneOf(mapping=Group("approvers", dict.fromkeys(ROLES, NAME))),
        "review_after": OneOf(scalar=kinds.MONTHS),
    },
)


def signing_of(plain: dict[str, Any] | None) -> Signing | None:
    """The noun that the checked values stand for."""
    if plain is None:
        return None
    named = plain.get("approvers") or {}
    return Signing(
        author=plain.get("author") or "",
        approvers=tuple((role, named[role]) for role in ROLES if named.get(role)),
        review_after_months=plain.get("review_after"),
    )


def plain_signing(signing: Signing) -> dict[str, Any]:
    """As a brief writes it."""
    months = signing.review_after_months
    return {
        "author": signing.author or None,
        "approvers": dict(signing.approvers) or None,
        "review_after": None if months is None else f"{months!r} months",
    }
