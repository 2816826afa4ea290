"""A warning in one paragraph: its sentence and code, its cure, and who lives with it."""

from __future__ import annotations

from cabida.plan import Caution
from cabida.text import printable, tr


def accepted(one: Caution) -> str:
    """Who accepts it, why and until when; "" when nobody does."""
    if one.accepted is None:
        return ""
    until = tr("report.accepted.until", day=one.accepted.until) if one.accepted.until else ""
    told = tr("report.accepted", by=one.accepted.by, why=one.accepted.why.strip().rstrip("."), until=until)
    return " ".join(printable(told).split())


def whole(one: Caution) -> str:
    """All of it, on one line."""
    cure = tr("report.cure", cure=one.cure) if one.cure else ""
    return " ".join(told for told in (f"{one.sentence} [{one.code}]", cure, accepted(one)) if told)
