"""SkyPilot's catalogue, ``catalogs/vN/CLOUD/vms.csv``: a price is of an instance, spot beside on-demand.

Columns in any order: InstanceType, AcceleratorName, AcceleratorCount, Price, SpotPrice, Region, AvailabilityZone,
GpuInfo (JSON, or a Python dict as text); each cloud leaves some out. Nothing in the file is dated.
"""

from __future__ import annotations

import ast
import json
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

from cabida.evidence.prices.making import Making, dated, whose
from cabida.evidence.prices.nouns import Asked, Odd, Read, Table, Why
from cabida.evidence.prices.numbers import amount, counted, nothing
from cabida.evidence.prices.parts import Part

NAME, TITLE = "skypilot", "SkyPilot catalogue"
MOST_INFO = 4_000  # characters of a GpuInfo cell that are looked at
COLUMNS = (
    "instancetype", "acceleratorname", "acceleratorcount", "price", "spotprice", "region", "gpuinfo",
)  # fmt: skip
UNSAID_GIB = {"A100": Decimal(40), "V100": Decimal(16)}  # SkyPilot's names without a size mean these


def fits(table: Table) -> bool:
    """Whether the columns are SkyPilot's."""
    return table.has("instancetype", "acceleratorname", "price") and table.has("region")


def offers(table: Table, read: Read, asked: Asked, path: Path) -> None:
    """Read the rows of one cloud."""
    make = Making(read, asked, TITLE, "catalogue")
    provider, seen = whose(asked, path), dated(read, asked, path)
    at = {name: place for name in COLUMNS if (place := table.at(name)) >= 0}
    absent = dict.fromkeys(COLUMNS, "")
    for line, row in table.rows:
        name = row[at["acceleratorname"]].strip()
        if nothing(name):
            read.beside_count += 1
            continue
        try:
            _row(make, line, {**absent, **{key: row[place] for key, place in at.items()}}, provider, seen)
        except Odd as odd:
            read.aside(line, row, odd.why, odd.near)


def _row(make: Making, line: int, row: dict[str, str], provider: str, seen: str) -> None:
    name, machine = row["acceleratorname"].strip(), row["instancetype"].strip()
    count = counted(row["acceleratorcount"] or "1")
    memory = memory_gib(row["gpuinfo"]) or UNSAID_GIB.get(name)
    part = _part(make, name, memory, machine, count)
    prices = [
        (capacity, row[key])
        for capacity, key in (("on-demand", "price"), ("spot", "spotprice"))
        if not nothing(row[key])
    ]
    if not prices:
        raise Odd(Why.MISSING)
    odd = None
    for capacity, text in prices:
        try:
            make.offer(
                line,
                provider,
                part,
                count,
                amount(text),
                capacity,
                seen=seen,
                region=row["region"].strip(),
                machine=machine,
            )
        except Odd as one:
            odd = one
    if odd:
        raise odd


def _part(make: Making, name: str, memory: Decimal | None, machine: str, count: Decimal) -> Part:
    """The part; some clouds tell the memory of all of them together."""
    if memory is None or count < 1:
        return make.parts.named(name, None, machine)
    try:
        return make.parts.named(name, memory, machine)
    except Odd as odd:
        if odd.why != Why.OTHER_MEMORY or count == 1:
            raise
        return make.parts.named(name, memory / count, machine)


@lru_cache(maxsize=4_096)
def memory_gib(text: str) -> Decimal | None:
    """The memory of one accelerator that a GpuInfo cell tells, in GiB; ``None`` when it doesn't.

    ``{'Gpus': [{'Name': 'H100', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 655360}``,
    as JSON or as Python writes it; a plain name ("H100") tells nothing.
    """
    if len(text) > MOST_INFO or not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    try:
        card = found["Gpus"][0]
        size = Decimal(str(card["MemoryInfo"]["SizeInMiB"])) / 1024
    except (KeyError, IndexError, TypeError, ArithmeticError):
        return None
    return size if size.is_finite() and 1 <= size <= 2_000 else None
