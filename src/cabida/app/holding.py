"""How to hold accelerators over a demand: reserve, spot, blocks, serverless."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.files import HAND_KEPT_BYTES_MOST, read_bytes
from cabida.text import problem

MOST_HOURS = 8784  # of a leap year
MOST_UNITS = 1e6
LAST_HOUR = 23  # of a day; a count of hours begins anew behind it
HOUR_AND_UNITS = 2  # cells of a line


def hold(
    gpu: str,
    *,
    mean: float = 1.0,
    peak: float | None = None,
    profile: str = "office-hours",
    hours: Sequence[float] = (),
    horizon_months: int = 12,
    growth: float = 0.0,
    currency: str = "USD",
    provider: str = "",
    on_demand: float | None = None,
    reserved: Mapping[int, float] | None = None,
    upfront: float | None = None,
    resale: float | None = None,
    minimum: int | None = None,
    job_hours: float = 24.0,
    checkpoint_gb: float = 100.0,
    assume: Mapping[str, float] | None = None,
    as_of: str = "",
) -> dict[str, Any]:
    """How many accelerators to reserve and for how long, what would be stranded, and what the other ways really cost.

    Args:
        gpu: accelerator, or a MIG slice of one: ``h100-sxm-80:1g.10gb``.
        mean: accelerators in use on average over the profile, today.
        peak: those of the busiest hour; the profile's own when left out.
        profile: named shape of the week.
        hours: accelerators in use by hour, in place of a named profile.
        horizon_months: how long the need lasts.
        growth: of the demand in a year.
        currency: what amounts are in.
        provider: only what this one sells.
        on_demand: price of an hour; the book's lowest when left out.
        reserved: term in months -> price of an hour, in place of the book's.
        upfront: share of a reservation that is paid on day one.
        resale: share of unused months that can be passed on.
        minimum: fewest that can be reserved.
        job_hours: a piece of work that spot and a capacity block are priced for.
        checkpoint_gb: size of its checkpoint.
        assume: assumption -> value in place of the shipped one.
        as_of: ISO date; prices seen later don't exist. Today when left out.

    Raises:
        InvalidInput: unknown accelerator or assumption, no price by the hour, or a mean the profile can't have.
    """
    from cabida.report.hold import hold_answer
    from cabida.report.hold_asked import Asked

    asked = Asked(
        gpu, profile, mean, peak, tuple(hours), horizon_months, growth, currency.upper(), provider, on_demand,
        dict(reserved) if reserved else None, upfront, resale, minimum, job_hours, checkpoint_gb, assume,
    )  # fmt: skip
    return hold_answer(asked, as_of or date.today().isoformat())


def hours_of(path: Path | str) -> tuple[float, ...]:
    """Accelerators in use by hour from a file, one number a line; blank lines and a first line of words are skipped.

    The number is the last cell of its line. Cells stand between semicolons or tabs, where a comma is a decimal one; or
    between commas: then ``1,5`` is hour 1 and 5 in use, and only where the first cells count hours.

    Raises:
        OSError: it is no regular file, or too large for a year of hours.
        InvalidInput: lines that are no number, or may be two, all at once (CB-R073); nothing in use in any hour
            (CB-R074); more hours than a year has (CB-R077).
    """
    lines = read_bytes(path, HAND_KEPT_BYTES_MOST).decode("utf-8-sig", errors="replace").splitlines()
    found, faults, counted = [], [], []
    for at, line in enumerate(lines, 1):
        cells = _cells(line)
        cell = cells[-1]
        if not cell:
            continue
        units = _units(cell)
        if at == 1 and units < 0 and not any(letter.isdigit() for letter in cell):
            continue  # a heading
        if not 0 <= units <= MOST_UNITS:
            faults.append(problem("CB-R073", file=str(path), line=at, text=cell[:40]))
            continue
        found.append(units)
        if len(cells) == HOUR_AND_UNITS and cells[0].isdecimal() and "," in line:
            counted.append((at, int(cells[0][:9]), line))
    faults += [
        problem("CB-R073", file=str(path), line=at, text=line[:40])
        for (_, before, _), (at, hour, line) in itertools.pairwise(counted)
        if hour != before + 1 and not (hour in (0, 1) and before >= LAST_HOUR)
    ]
    if len(counted) == 1:  # nothing shows that it counts hours
        faults.append(problem("CB-R073", file=str(path), line=counted[0][0], text=counted[0][2][:40]))
    if faults:
        raise InvalidInput(faults)
    if not any(found):
        raise InvalidInput([problem("CB-R074", file=str(path))])
    if len(found) > MOST_HOURS:
        raise InvalidInput(
            [problem("CB-R077", file=str(path), count=f"{len(found):,}", most=f"{MOST_HOURS:,}")]
        )
    return tuple(found)


def _cells(line: str) -> list[str]:
    """The cells of a line; behind a semicolon or a tab a comma is a decimal one."""
    between = next((one for one in (";", "\t") if one in line), ",")
    cells = [cell.strip().strip('"') for cell in line.split(between)]
    return cells if between == "," else [cell.replace(",", ".") for cell in cells]


def _units(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return -1.0
