"""Machine-made series at compile time: price sightings, measurements, energy figures, exchange rates.

A sighting that names no known part, or lies outside a tenth to ten times the median of its part and kind of
capacity, is kept aside with its reason, never dropped in silence.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts import load, store
from cabida.facts.model import Accelerator, ApiOffer, EnergyFact, Offer
from cabida.quantity import Source

GATHERED = "2026-11-30"  # when rows without a date of their own were read
# of the median: wider than any market, narrower than a slip of the decimal point
BAND = (Decimal("0.1"), Decimal(10))


@dataclass(frozen=True, slots=True)
class Sorted:
    """Sightings fit to be used, and those set aside with the reason (a key of the facts catalogue)."""

    kept: tuple[Offer, ...]
    aside: tuple[tuple[Offer, str], ...]


def measured(path: Path, noun: type) -> list[Any]:
    """Records of a JSON-lines file of measurements."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return _checked(noun, rows, path)


def _checked(noun: type, rows: list[dict[str, Any]], path: Path) -> list[Any]:
    made, wrong = [], list[Problem]()
    for place, row in enumerate(rows):
        one, problems = load.validated(noun, row, path.name, {(place,): place + 1}, (place,))
        made.append(one)
        wrong += problems
    if wrong:
        raise InvalidInput(wrong)
    return made


def _sourced(row: dict[str, str], seen: str) -> dict[str, Any]:
    what, url, grade = row.pop("source_what"), row.pop("source_url", ""), row.pop("grade", "quoted")
    return {"what": what, "url": url, "seen": seen or GATHERED, "grade": grade}


def _rows(path: Path, noun: type) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Each CSV row as the fields of its noun (with its source) and what else the file says."""
    names = {own.name for own in fields(noun)}
    for row in load.read_series(path):
        source = _sourced(row, row.get("seen", ""))
        cells: dict[str, Any] = {name: cell for name, cell in row.items() if name in names}
        if listed := cells.get("includes"):
            cells["includes"] = listed.split(" ")
        yield {**cells, "source": source}, row


@cache
def priced(path: Path) -> tuple[Offer, ...]:
    """All sightings of one file; the part as printed stands for the accelerator where none is known."""
    rows = []
    for row, rest in _rows(path, Offer):
        row.setdefault("accelerator", rest.get("part", ""))
        if why := rest.get("assumed"):
            row["field_sources"] = {
                "accelerator": {"what": why, "seen": row["source"]["seen"], "grade": "assumed"}
            }
        rows.append(row)
    return tuple(_checked(Offer, rows, path))


@cache
def offers(data: Path) -> Sorted:
    """Rent and purchase sightings, those outside the band or without a known part set aside."""
    known = {record.id for record in load.read_records(data / "accelerators.yaml", Accelerator)}
    found = (*priced(data / "offers_rent.csv"), *priced(data / "offers_buy.csv"))
    mapped = [offer for offer in found if offer.accelerator in known]
    middle = middles(mapped)
    kept, aside = [], [(offer, "unknown_part") for offer in found if offer.accelerator not in known]
    for offer in mapped:
        ratio = offer.amount / middle[offer.accelerator, offer.capacity]
        if BAND[0] <= ratio <= BAND[1]:
            kept.append(offer)
        else:
            aside.append((offer, "outside_band"))
    return Sorted(tuple(kept), tuple(aside))


def middles(found: list[Offer]) -> dict[tuple[str, str], Decimal]:
    """The median amount of each part under each kind of capacity."""
    groups: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for offer in found:
        groups[offer.accelerator, offer.capacity].append(offer.amount)
    return {key: median(amounts) for key, amounts in groups.items()}


def rejected_rows(data: Path) -> dict[str, Any]:
    """The sightings set aside, with their reasons, as snapshot data."""
    aside = offers(data).aside
    encoded = store.encode([offer for offer, _ in aside], Offer)
    return {**encoded, "reasons": [reason for _, reason in aside]}


def api_offers(data: Path) -> list[ApiOffer]:
    """Prices of models behind an API as sighted; the dated lists are ``api_package``'s."""
    path = data / "offers_api.csv"
    return _checked(ApiOffer, [row for row, _ in _rows(path, ApiOffer)], path)


def energy(data: Path) -> list[EnergyFact]:
    """Electricity, PUE, carbon, residual value, colocation and licences."""
    path = data / "energy.csv"
    return _checked(EnergyFact, [row for row, _ in _rows(path, EnergyFact)], path)


def exchange(data: Path) -> dict[str, Any]:
    """Month-end reference rates of the European Central Bank: units of a currency for one euro, by date."""
    table: dict[str, dict[str, float]] = defaultdict(dict)
    for row in load.read_series(data / "exchange.csv"):
        table[row["date"]][row["currency"]] = float(row["per_eur"])
    source = Source(
        "European Central Bank euro reference rates, last working day of the month (file eurofxref-hist)",
        "https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/",
        max(table),
        "vendor",
    )
    return {
        "source": [source.what, source.url, source.seen, source.grade],
        "per_eur": dict(sorted(table.items())),
    }
