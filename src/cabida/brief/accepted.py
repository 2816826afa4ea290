"""Warnings that somebody has read and lives with: who, why, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

from cabida.brief import kinds
from cabida.brief.model import KnownRisk
from cabida.brief.shapes import Group, Listing, OneOf
from cabida.errors import Problem
from cabida.text import ROOM_OF_CODE, has_text, problem

if TYPE_CHECKING:
    from cabida.brief.model import Brief

SHORTEST_WHY_CHARS = 8  # "ok" is no reason
CLAIMS = "CB-B060"  # a well-known figure that is wrong: told as an error and as a warning
RISK = OneOf(
    mapping=Group(
        "accepted_risks",
        {
            "code": OneOf(scalar=kinds.text("name", longest=20)),
            "by": OneOf(scalar=kinds.text("name", longest=120)),
            "why": OneOf(scalar=kinds.TEXT),
            "until": OneOf(scalar=kinds.DATE),
        },
        required=("code", "by", "why"),
    )
)
ACCEPTED_RISKS = OneOf(sequence=Listing(RISK, longest=200), mapping=RISK.mapping, spread=True)


def known_risks_of(plain: Any) -> tuple[KnownRisk, ...]:
    """Those of a brief, as the walk returns them; what lacks its code, its name or its why is told by the walk."""
    rows = [plain] if isinstance(plain, dict) else plain or []
    return tuple(
        KnownRisk(row["code"].upper(), row["by"], row["why"], row.get("until") or "")
        for row in rows
        if {"code", "by", "why"} <= row.keys()
    )


def plain_risk(risk: KnownRisk) -> dict[str, str]:
    """One as a brief would say it."""
    return {"code": risk.code, "by": risk.by, "why": risk.why, "until": risk.until}


def can_be_accepted(code: str) -> bool:
    """Whether ``code`` is a warning: it has a cure and, unlike an error, no ``what``."""
    room = ROOM_OF_CODE.get(code[3:4], "")
    key = f"{room}.{code}"
    return code == CLAIMS or (bool(room) and has_text(f"{key}.cure") and not has_text(f"{key}.what"))


def unsound_risks(brief: Brief, as_of: str) -> Iterator[Problem]:
    """Codes that no warning has, dates that are past, reasons that are none, and what is accepted twice."""
    today = as_of or date.today().isoformat()
    seen: set[str] = set()
    for index, risk in enumerate(brief.accepted_risks):
        path = f"accepted_risks[{index}]"

        def told(code: str, key: str, path: str = path, **values: object) -> Problem:
            where = f"{path}.{key}"
            return problem(code, file=brief.file, line=brief.line(where), path=where, **values)

        if not can_be_accepted(risk.code):
            yield told("CB-B065", "code", said=risk.code)
        if risk.until and risk.until <= today:
            yield told("CB-B066", "until", date=risk.until, today=today, said=risk.code)
        if len(risk.why.strip()) < SHORTEST_WHY_CHARS:
            yield told("CB-B067", "why", why=risk.why, least=SHORTEST_WHY_CHARS)
        if risk.code in seen:
            yield told("CB-B068", "code", said=risk.code)
        seen.add(risk.code)
