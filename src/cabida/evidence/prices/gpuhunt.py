"""gpuhunt's catalogue (dstack), ``PROVIDER.csv``: spot is a row of its own, the price is of an instance.

Columns: instance_name, location, price, cpu, memory, gpu_count, gpu_name, gpu_memory, spot, disk_size, gpu_vendor,
flags, cpu_arch, provider_data. The version ``YYYYMMDD-N`` in a name is the date.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from cabida.evidence.prices.making import Making, dated, whose
from cabida.evidence.prices.nouns import Asked, Odd, Read, Table, Why, refuse_row
from cabida.evidence.prices.numbers import amount, counted, nothing

NAME, TITLE = "gpuhunt", "gpuhunt catalogue"
COLUMNS = ("instancename", "location", "price", "gpucount", "gpuname", "gpumemory", "spot", "provider")
TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


def fits(table: Table) -> bool:
    """Whether the columns are gpuhunt's."""
    return table.has("instancename", "gpuname", "gpucount", "price", "spot")


def offers(table: Table, read: Read, asked: Asked, path: Path) -> None:
    """Read the rows of one provider (of several, where a column ``provider`` says whose)."""
    make = Making(read, asked, TITLE, "catalogue")
    theirs = table.at("provider")
    provider = "" if theirs >= 0 and not asked.provider else whose(asked, path)
    seen = dated(read, asked, path)
    name, machine, count, price = (table.at(one) for one in ("gpuname", "instancename", "gpucount", "price"))
    spot, region, size = (table.at(one) for one in ("spot", "location", "gpumemory"))
    for line, row in table.rows:
        if nothing(row[name]) or row[count].strip() in ("0", "0.0"):
            read.beside_count += 1
            continue
        try:
            memory = None if size < 0 or nothing(row[size]) else counted(row[size])
            part = make.parts.named(row[name], _sold(memory), row[machine].strip())
            kind = row[spot].strip().lower()
            if kind not in (*TRUE, *FALSE):
                refuse_row(Why.BAD_SPOT)
            make.offer(
                line,
                provider or row[theirs].strip(),
                part,
                counted(row[count]),
                amount(row[price]),
                "spot" if kind in TRUE else "on-demand",
                seen=seen,
                region=row[region].strip() if region >= 0 else "",
                machine=row[machine].strip(),
            )
        except Odd as odd:
            read.aside(line, row, odd.why, odd.near)


def _sold(memory: Decimal | None) -> Decimal | None:
    return memory if memory is None or memory >= 1 else None
