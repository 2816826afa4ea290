"""What a price file says once it is read, and what of it stayed unread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NoReturn

from cabida.evidence.prices.billing import BillingLine
from cabida.facts.model import ApiOffer, Offer

MOST_SHOWN = 200  # characters kept of what couldn't be read
MOST_NAME = 120  # of a name that becomes part of a record


@dataclass(frozen=True, slots=True)
class Unread:
    """A row that was left aside: the line it begins at, its text, and why.

    ``why`` is a key of the texts ``evidence.import_why.*``; ``near`` the nearest name that is known, where a name
    was not.
    """

    line: int
    what: str
    why: str
    near: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person says of a file that the file doesn't: whose prices, in which money, seen when ("" = not said)."""

    provider: str = ""
    currency: str = ""
    as_of: str = ""
    today: str = ""  # ISO date of the reading: the date of the source, never of a price


@dataclass(slots=True)
class Read:
    """One price file, catalogue or bill.

    ``offer_lines`` and ``api_lines`` give the line of each offer. ``dated`` says where the date of undated rows was
    taken from: ``row``, ``asked``, ``name``, ``inside`` or "" when there is none. ``beside_count`` are rows that sell
    no accelerator, ``repeated_count`` those that say what an earlier one said. ``notes`` are keys and values of the
    texts ``evidence.import_note.*``.
    """

    name: str
    format: str
    sha256: str = ""
    size_bytes: int = 0
    rows_count: int = 0
    offers: list[Offer] = field(default_factory=list)
    api_offers: list[ApiOffer] = field(default_factory=list)
    billing: list[BillingLine] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    offer_lines: list[int] = field(default_factory=list)
    api_lines: list[int] = field(default_factory=list)
    beside_count: int = 0
    repeated_count: int = 0
    dated: str = ""
    seen: str = ""
    notes: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def note(self, key: str, **values: str) -> None:
        """Say something of the whole file, once."""
        if (key, values) not in self.notes:
            self.notes.append((key, values))

    def aside(self, line: int, what: str | Iterable[str], why: str, near: str = "") -> None:
        """Leave a row aside, with the reason."""
        text = what if isinstance(what, str) else ",".join(what)
        self.unread.append(Unread(line, text[:MOST_SHOWN], str(why), near))

    @property
    def undated_count(self) -> int:
        """Prices that nothing dates."""
        return sum(not one.seen for one in self.offers) + sum(not one.seen for one in self.api_offers)

    @property
    def kept_count(self) -> int:
        """Offers, prices of APIs and lines of a bill."""
        return len(self.offers) + len(self.api_offers) + len(self.billing)


class Why(StrEnum):
    """Why a row is left aside: the texts ``evidence.import_why.*``."""

    AMBIGUOUS = "ambiguous"
    AMBIGUOUS_DATE = "ambiguous_date"
    BAD_CAPACITY = "bad_capacity"
    BAD_COUNT = "bad_count"
    BAD_DATE = "bad_date"
    BAD_PERCENT = "bad_percent"
    BAD_SPOT = "bad_spot"
    BAD_TERM = "bad_term"
    BAD_UNIT = "bad_unit"
    CELL_TOO_LONG = "cell_too_long"
    CELLS = "cells"
    CURRENCY_UNSURE = "currency_unsure"
    FREE = "free"
    MISSING = "missing"
    NEGATIVE = "negative"
    NO_ANSWER_PRICE = "no_answer_price"
    NO_CURRENCY = "no_currency"
    NO_DATE = "no_date"
    NO_PROVIDER = "no_provider"
    NO_RATE = "no_rate"
    NO_TOKEN_PRICE = "no_token_price"
    NOT_A_NUMBER = "not_a_number"
    NOT_FINITE = "not_finite"
    OTHER_MEMORY = "other_memory"
    QUOTES = "quotes"
    SHAPE = "shape"
    UNKNOWN_PART = "unknown_part"
    VARIES = "varies"
    ZERO = "zero"


class Odd(ValueError):
    """A row can't be read; ``why`` is a key of the texts ``evidence.import_why.*``."""

    def __init__(self, why: str, near: str = "") -> None:
        super().__init__(why)
        self.why, self.near = why, near


def refuse_row(why: Why, near: str = "") -> NoReturn:
    """Leave the row that is being read aside.

    Raises:
        Odd: always.
    """
    raise Odd(why, near)


@dataclass(slots=True)
class Table:
    """Rows of cells under names; ``keys`` are the names without case, accents and punctuation."""

    names: list[str]
    keys: dict[str, int]
    rows: Iterator[tuple[int, Sequence[str]]]
    decimal_comma: bool = False  # how the file writes numbers, where its delimiter says so
    header_line: int = 1

    def at(self, *names: str) -> int:
        """The place of the first of these columns that is there, -1 when none is."""
        return next((self.keys[name] for name in names if name in self.keys), -1)

    def has(self, *names: str) -> bool:
        """Whether all of these columns are there."""
        return all(name in self.keys for name in names)


Told = Callable[[str, int, int], None]  # what, done, of
