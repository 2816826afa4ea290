"""An answer to a question: the nouns it is made of, and how they are told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cabida.text import duration, has_text, money, number, percent, tr


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of an answer.

    Attributes:
        of: what it is a figure of: a card, a model on cards, an option; "" = the whole.
        name: text ``asking.figure.NAME``.
        value: ``None`` = not known.
        unit: money, count, ratio, gib, tokens, tok_s, req_s, s, ms, hours_per_day or text.
        low, high: 90 % interval, where there is one.
        basis: measured, calibrated, physics, formula, simulated, assumed, or the seller and day of a price.
    """

    of: str
    name: str
    value: float | str | None
    unit: str
    low: float | None = None
    high: float | None = None
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What the question left open, what was taken instead, and the flag that says otherwise."""

    name: str  # text asking.taken.NAME
    value: str
    flag: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A question answered by computation.

    Attributes:
        intent: what was understood.
        answer: one sentence.
        figures: behind it.
        taken: assumed, each with the flag that changes it.
        commands: that give the same figures in full.
        sources: of facts and prices.
        notes: further sentences: what limits it, what to say for a better answer.
    """

    question: str
    intent: str
    answer: str
    currency: str
    as_of: str
    figures: tuple[Figure, ...] = ()
    taken: tuple[Taken, ...] = ()
    commands: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    understood: dict[str, Any] = field(default_factory=dict)


def told(value: float | str | None, unit: str, currency: str) -> str:
    """A figure as people read it."""
    if value is None:
        return tr("asking.unknown")
    if isinstance(value, str):
        return value
    suffix = {"gib": " GiB", "tokens": " tokens", "tok_s": " tok/s", "req_s": " req/s", "ms": " ms"}
    if unit == "money":
        return money(value, currency)
    if unit == "ratio":
        return percent(value)
    if unit == "s":
        return duration(value)
    if unit == "hours_per_day":
        return tr("asking.hours_per_day", hours=number(value))
    return number(value, 6 if value >= 1000 and float(value).is_integer() else 3) + suffix.get(
        unit, f" {unit}" if "/" in unit or unit.isupper() else ""
    )


def rows(answer: Answer) -> list[tuple[str, str, str, str, str]]:
    """Each figure: of what, which, its value, its interval, its basis."""
    made = []
    for one in answer.figures:
        low, high = (
            told(end, one.unit, answer.currency) if end is not None else "" for end in (one.low, one.high)
        )
        between = f"{low} – {high}" if low and high and low != high else ""
        basis = tr(f"asking.basis.{one.basis}") if has_text(f"asking.basis.{one.basis}") else one.basis
        made.append(
            (
                one.of,
                tr(f"asking.figure.{one.name}"),
                told(one.value, one.unit, answer.currency),
                between,
                basis,
            )
        )
    return made


def assumed(answer: Answer) -> list[str]:
    """What was taken where the question said nothing, each with its flag."""
    return [f"{tr(f'asking.taken.{one.name}')}: {one.value} ({one.flag})" for one in answer.taken]
