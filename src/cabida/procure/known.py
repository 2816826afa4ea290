"""What an audit is weighed with, all of it data: severities, what answers what, ranges for what is left open."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from cabida.evidence.quotes.fields import FIELDS, Field
from cabida.money.assumptions import Range
from cabida.procure.nouns import Completeness, Gap
from cabida.procure.subject import Subject, title_of
from cabida.quantity import Source
from cabida.text import has_text, tr


@cache
def data() -> dict[str, Any]:
    """``data/weights.json``."""
    file = resources.files("cabida.procure") / "data" / "weights.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


@cache
def ranges() -> dict[str, Range]:
    """The audit's own assumptions by name."""
    seen = data()["seen"]
    return {
        row["name"]: Range(row["low"], row["base"], row["high"], Source(row["why"], "", seen, "assumed"))
        for row in data()["assumptions"]
    }


def is_included(s: Subject, name: str) -> bool:
    """Whether what a price would be for is among what the offer says is included."""
    said = " · ".join(s.quote.includes or ()).lower()
    return any(word in said for word in data()["included_in"].get(name, ()))


def told(s: Subject, name: str) -> bool:
    """Whether the offer says a field, or something else that answers it."""
    if s.get(name) is not None or is_included(s, name):
        return True
    rules = data()["answered_by"].get(name, ())
    return any(_holds(s, one) for one in rules if not one.endswith("=None"))


def answered(s: Subject, name: str) -> bool:
    """Whether a field need not be asked for: it is told, or what it belongs to is left open and asked for itself."""
    return told(s, name) or any(_holds(s, one) for one in data()["answered_by"].get(name, ()))


def _holds(s: Subject, rule: str) -> bool:
    for part in rule.split("+"):
        name, equals, value = part.partition("=")
        found = s.get(name)
        if (str(found) != value and not (value == "0" and found == 0)) if equals else found is None:
            return False
    return True


def asked_of(s: Subject) -> list[Field]:
    """The fields that are asked of an offer of this purpose."""
    return [one for one in FIELDS if one.severity(s.purpose)]


def gaps(s: Subject) -> tuple[Gap, ...]:
    """What the offer leaves open, the worst first, in the order of the table."""
    order = list(data()["weights"])
    found = [
        Gap(one.name, one.group, one.severity(s.purpose), title_of(one.name), _question(one))
        for one in asked_of(s)
        if not answered(s, one.name)
    ]
    return tuple(sorted(found, key=lambda gap: order.index(gap.severity)))


def _question(one: Field) -> str:
    return tr(one.question) if has_text(one.question) else tr("procure.ask_for", title=title_of(one.name))


def completeness(s: Subject) -> Completeness:
    """Weight of what is said over the weight of what is asked; saying less never makes it more."""
    weights = data()["weights"]
    said, asked = dict.fromkeys(weights, 0), dict.fromkeys(weights, 0)
    for one in asked_of(s):
        severity = one.severity(s.purpose)
        asked[severity] += 1
        said[severity] += told(s, one.name)
    whole = sum(weights[name] * count for name, count in asked.items())
    part = sum(weights[name] * count for name, count in said.items())
    return Completeness(part / whole if whole else 1.0, said, asked)
