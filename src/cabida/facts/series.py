"""Machine-made series at compile time: price sightings, measurements, energy figures, exchange rates.

A sighting that names no known part is kept apart, never dropped in silence. Which of the others can be believed is
judged where prices are used (``money.prices.believed``), against all that is known then.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts import load
from cabida.facts.model import Accelerator, ApiOffer, EnergyFact, Offer
from cabida.quantity import Source

GATHERED = "2026-11-30"  # when rows without a date of their own were read


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


def offers(data: Path, *, mapped: bool = True) -> list[Offer]:
    """Rent and purchase sightings of known parts, or those of others."""
    known = {record.id for record in load.read_records(data / "accelerators.yaml", Accelerator)}
    found = (*priced(data / "offers_rent.csv"), *priced(data / "offers_buy.csv"))
    return [offer for offer in found if (offer.accelerator in known) == mapped]


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
