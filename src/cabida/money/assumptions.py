"""What is taken when a brief is silent: one dated, sourced range per figure, shipped as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from cabida.plan import Assumption
from cabida.quantity import Source
from cabida.text import has_text, number, tr


@dataclass(frozen=True, slots=True)
class Range:
    """A figure with its 90 % range and its source; ``money`` ones are in US dollars as shipped."""

    low: float
    base: float
    high: float
    source: Source
    money: bool = False

    def scaled(self, ratio: float) -> Range:
        """In another currency, when it is money at all."""
        if not self.money or ratio == 1.0:
            return self
        return Range(self.low * ratio, self.base * ratio, self.high * ratio, self.source, True)

    def as_assumption(self, name: str, currency: str) -> Assumption:
        """For the decision record: value and range, why, and how it would be found out."""
        unit = f" {currency}" if self.money else ""
        value = f"{number(self.base)}{unit} [{number(self.low)}–{number(self.high)}]"
        key = f"money.find_out.{name}"
        how = tr(key) if has_text(key) else tr("money.find_out.other")
        return Assumption(name, value, self.because(name), how, self.source.grade)

    def because(self, name: str) -> str:
        """Why it was taken, in the language in use where it is the shipped figure; a place's own says its source."""
        shipped, key = assumed_ranges().get(name), f"money.because.{name}"
        as_shipped = shipped is not None and shipped.source == self.source
        return tr(key) if as_shipped and has_text(key) else self.source.what


@cache
def _shipped() -> dict[str, Any]:
    file = resources.files("cabida.money") / "data" / "assumptions.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


@cache
def assumed_ranges() -> dict[str, Range]:
    """All shipped assumptions by name, money in US dollars."""
    return {str(row["name"]): _range(row) for row in _shipped()["assumptions"]}


def can_be(name: str, value: float) -> bool:
    """Whether an assumption can have a value: no negative time, no share that leaves nothing to divide by."""
    shipped = assumed_ranges()[name]
    if shipped.low < 0:
        return value > -1
    if name.endswith(("_unavailable_ratio", "_discount_ratio", "decay_ratio", "failed_run_ratio")):
        return 0 <= value < 1
    if name.endswith("_availability_ratio"):
        return 0 < value <= 1
    if name.endswith(("_hours", "_s", "_days", "_years", "_per_s", "_price_ratio", "pue_ratio")):
        return value > 0 or value == shipped.low == 0
    return value >= 0


def codes_of(country: str) -> tuple[str, ...]:
    """Codes under which facts may know a place, nearest first: as given, three letters, the European Union."""
    two = country.upper()
    three: dict[str, str] = dict(_shipped()["three_letters"])
    union = ("EU",) if two in _shipped()["european_union"] else ()
    return (two, *((three[two],) if two in three else ()), *union)


def _range(row: dict[str, object]) -> Range:
    source = Source(str(row["source"]), str(row["url"]), str(row["seen"]), str(row["grade"]))
    low, base, high = (float(str(row[key])) for key in ("low", "base", "high"))
    return Range(low, base, high, source, bool(row.get("money", False)))
