"""What an audit of an offer finds, as plain data: every finding with its figures and where they were read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "cabida/audit/1"
SEVERITIES = ("blocking", "important", "useful")  # worst first


@dataclass(frozen=True, slots=True)
class Read:
    """A field of the offer that something rests on: its value as shown, where it was read, the words there."""

    field: str
    shown: str
    where: str = ""  # FILE:LINE, sheet!cell, page
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something of the offer that contradicts itself, the facts, or what is asked for.

    Attributes:
        code: CB-Q..., texts ``procure.<code>.what|cure``.
        kind: contradiction | trap | need | gap.
        reads: the fields it rests on.
        question: what to ask the seller, a sentence; "" where there is nothing to ask.
    """

    code: str
    severity: str
    kind: str
    sentence: str
    question: str = ""
    reads: tuple[Read, ...] = ()
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """A field that the offer leaves open, and the question that closes it."""

    field: str
    group: str
    severity: str
    title: str
    question: str


def blocking_count(gaps: Sequence[Gap], findings: Sequence[Finding]) -> int:
    """How many of them block."""
    return sum(one.severity == "blocking" for one in gaps) + sum(
        one.severity == "blocking" for one in findings
    )


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of what matters the offer says, by severity.

    Attributes:
        score_ratio: weight of what is said over the weight of all that is asked, 0 to 1.
        said: severity -> fields said; asked: severity -> fields asked.
    """

    score_ratio: float
    said: dict[str, int]
    asked: dict[str, int]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a month's cost. ``known`` = the offer or whoever asks says it; else a range nobody confirmed."""

    key: str
    money: float
    low_money: float
    high_money: float
    known: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What an accelerator-hour costs, in ``currency``: as listed, and all-in for an hour of useful work.

    ``None`` = the offer says too little, and ``why_not`` what is missing.
    """

    currency: str
    accelerators_count: int | None
    listed_money_per_hour: float | None
    useful_money_per_hour: float | None
    useful_low_money_per_hour: float | None
    useful_high_money_per_hour: float | None
    lines: tuple[Line, ...]
    month_money: float | None
    utilisation_ratio: float | None
    unknown: tuple[str, ...]  # keys of lines nobody confirmed
    rate: str = ""  # the rate of exchange as a sentence
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a price stands in the dated book.

    Attributes:
        percentile_ratio: share of the book's prices below it, ties by half; ``None`` = too few to say.
        sightings_count: prices compared with, each seller once.
        first_seen, last_seen: ISO dates of the oldest and the newest.
    """

    percentile_ratio: float | None
    sightings_count: int
    low_money: float | None
    median_money: float | None
    high_money: float | None
    first_seen: str
    last_seen: str
    scope: str  # what was compared, a sentence
    sources: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MonthOwed:
    """One month of the contract: cash that leaves, and all that would still be owed when leaving at its end."""

    month: int
    cash_money: float
    owed_money: float | None


@dataclass(frozen=True, slots=True)
class Liability:
    """The worst case: what can be owed when nothing goes as planned. ``None`` parts are unknown, not nothing."""

    currency: str
    total_money: float | None
    parts: tuple[tuple[str, float | None], ...]
    months: tuple[MonthOwed, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sla:
    """The service level in hours and money, of a month at the promised availability, and of one a tenth down."""

    availability_ratio: float | None
    down_hours: float | None
    lost_money: float | None
    credit_money: float | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Floor:
    """One acceptance test: what is measured, with what, and the least (or most) that passes.

    Attributes:
        at: the figure; ``None`` = a state (no errors), told in ``passes``.
        side: least | most | exactly.
        source: where the figure comes from; basis: measured, vendor, derived, simulated, quoted.
    """

    key: str
    test: str
    tool: str
    passes: str
    at: float | None = None
    unit: str = ""
    side: str = "least"
    source: str = ""
    basis: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """One offer, audited on a day."""

    quote_id: str
    vendor: str
    title: str  # 32 × H100 SXM5 80 GB, reserved 12 months
    as_of: str
    language: str
    purpose: str
    verdict: str  # sound | doubts | blocked
    answer: str  # one sentence
    completeness: Completeness
    gaps: tuple[Gap, ...]
    findings: tuple[Finding, ...]
    price: Price
    placed: Placed
    liability: Liability
    sla: Sla
    annex: tuple[Floor, ...]
    against: dict[str, Any] | None  # the decision it was held against, and what changes with its price
    trees: tuple[dict[str, Any], ...] = ()
    figures: dict[str, int] = field(default_factory=dict)  # name -> node of ``trees``
    digest: str = ""  # of the offer
    schema: str = SCHEMA
    file: str = ""
    accelerator: str = ""  # id of the part in the catalogue; "" = none that we know
    clauses: tuple[str, ...] = ()  # of the annex, besides its tests

    @property
    def blocking(self) -> int:
        """How many gaps and findings block the purchase."""
        return blocking_count(self.gaps, self.findings)
