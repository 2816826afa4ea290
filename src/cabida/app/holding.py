"""How to hold accelerators over a demand: reserve, spot, blocks, serverless."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from cabida.errors import InvalidInput
from cabida.text import problem

MOST_HOURS = 8784  # of a leap year


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

    Raises:
        InvalidInput: lines that are no number, all at once (CB-R073); nothing in use in any hour (CB-R074).
    """
    found, faults = [], []
    lines = Path(path).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    for at, line in enumerate(lines[: MOST_HOURS + 2], 1):
        cell = line.rpartition(",")[2].strip().strip('"')
        if not cell:
            continue
        try:
            units = float(cell)
        except ValueError:
            units = -1.0
        if at == 1 and units < 0 and not any(letter.isdigit() for letter in cell):
            continue  # a heading
        if not 0 <= units <= 1e6:
            faults.append(problem("CB-R073", file=str(path), line=at, text=cell[:40]))
        else:
            found.append(units)
    if faults:
        raise InvalidInput(faults)
    if not any(found):
        raise InvalidInput([problem("CB-R074", file=str(path))])
    return tuple(found)
