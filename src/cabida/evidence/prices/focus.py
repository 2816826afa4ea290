"""FOCUS 1.0 to 1.3, the open format of cloud bills: every line of it, and the prices of accelerators paid in it.

A row needs BillingCurrency, ChargePeriodStart and one of BilledCost and EffectiveCost. What FOCUS 1.3 renames
(ServiceProviderName for ProviderName) is read under either name. Costs may be below zero: credits and refunds.

A price paid is the effective cost over the hours used, of all lines of a machine of a known shape in one region under
one pricing category, dated by its last charge. Corrections, unused commitments and what isn't billed by the hour are
in the bill but in no price. Where a machine's cores, memory and GPUs are lines of their own, the GPUs' hours over how
many it has are the machine's hours, and all those lines its cost; without a line of its GPUs there is no price.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from cabida.evidence.prices.billing import BillingLine
from cabida.evidence.prices.making import Making
from cabida.evidence.prices.nouns import Asked, Odd, Read, Table, Why, refuse_row
from cabida.evidence.prices.numbers import moment, nothing, signed
from cabida.evidence.prices.parts import Part, fraction, in_machine

NAME, TITLE = "focus", "FOCUS bill"
COLUMNS = {  # our name -> the names it has had, newest first
    "charge_category": ("chargecategory",),
    "pricing_category": ("pricingcategory",),
    "commitment_id": ("commitmentdiscountid",),
    "commitment_status": ("commitmentdiscountstatus",),
    "reservation_status": ("capacityreservationstatus",),
    "resource_id": ("resourceid",),
    "resource_type": ("resourcetype",),
    "region": ("regionid", "region"),
    "provider": ("serviceprovidername", "providername", "provider"),
    "service": ("servicename",),
    "sku": ("skuid",),
    "sku_details": ("skupricedetails",),
    "consumed_unit": ("consumedunit", "usageunit"),
    "pricing_unit": ("pricingunit",),
    "invoice_id": ("invoiceid",),
    "charge_class": ("chargeclass",),
    "description": ("chargedescription",),
    "service_category": ("servicecategory",),
    "reservation_id": ("capacityreservationid",),
}
COSTS = {
    "billed": "billedcost",
    "effective": "effectivecost",
    "list": "listcost",
    "contracted": "contractedcost",
}
QUANTITIES = {
    "consumed_quantity": ("consumedquantity", "usagequantity"),
    "pricing_quantity": ("pricingquantity",),
}
NAMING = (  # columns that may name the machine, the surest first
    "xinstancetype", "skupricedetails", "xskudetails", "skumeter", "resourcetype", "chargedescription",
    "xskudescription",
    "xusagetype", "skupriceid", "resourcename",
)  # fmt: skip
EVERY = (
    "billingcurrency", "chargeperiodstart", "chargeperiodend", "tags", *COSTS.values(), *NAMING,
    *(name for theirs in (*COLUMNS.values(), *QUANTITIES.values()) for name in theirs),
)  # fmt: skip
CAPACITY = {"standard": "on-demand", "dynamic": "spot", "committed": "reserved"}
HOURS = ("hour", "hours", "hr", "hrs", "h", "1 hour", "compute hours", "instance-hours", "instance hours")
MOST_TAGS, MOST_TAG = 200, 1_000
GPU_HOURS = ("gpu hour", "gpu hours", "gpu-hour", "gpu-hours")
DESCRIBING = ("chargedescription", "xskudescription", "skumeter")  # what is charged, in the seller's words
_HOST_PART = re.compile(r"(?<!tensor )(?<![\d-])(?<!\d )\b(?:cores?|ram|v?cpus?|ocpus?)\b", re.IGNORECASE)
_GPU_PART = re.compile(r"\bgpus?(?: running| attached| per |[ -]hour)", re.IGNORECASE)
_AWS = re.compile(r"\b((?:[gp]\d\w{0,4}|gr6f?|trn\d\w?|p6-b[23]00)\.(?:\d{0,3}x?large|metal))\b")
_AZURE = re.compile(r"\b(N[CDV]\d{1,3}\w*(?:_[A-Za-z0-9]+)*_v\d)\b")
_GCP = re.compile(r"\b((?:a[234]x?|g2)-[a-z]+-\d{1,3}g?)\b")
_OCI = re.compile(r"\b((?:BM|VM)\.GPU[\w.-]*\.\d{1,2})\b")


def fits(table: Table) -> bool:
    """Whether the columns are those of FOCUS."""
    return table.has("billingcurrency") + table.has("chargeperiodstart") + table.has(
        "chargecategory"
    ) >= 2 and (table.has("billedcost") or table.has("effectivecost"))


@dataclass(slots=True)
class _Paid:
    """What was paid for the hours of one machine in one place under one pricing category, whole or in parts."""

    part: Part
    count: int
    cost: Decimal
    hours: Decimal
    last: str
    line: int
    lines: int
    gpu_alone: bool = False  # only its GPUs have been seen charged


def bill(table: Table, read: Read, asked: Asked, path: Path) -> None:
    """Read every charge, then what accelerators cost in it."""
    texts = {name: place for name, theirs in COLUMNS.items() if (place := table.at(*theirs)) >= 0}
    costs = {name: table.at(theirs) for name, theirs in COSTS.items()}
    counts = {name: table.at(*theirs) for name, theirs in QUANTITIES.items()}
    start, end, money, tags = (
        table.at(one) for one in ("chargeperiodstart", "chargeperiodend", "billingcurrency", "tags")
    )
    if start < 0 or not table.has("billedcost") or not table.has("effectivecost"):
        missing = [
            name
            for name in ("ChargePeriodStart", "BilledCost", "EffectiveCost")
            if name.lower() not in table.keys
        ]
        read.note("lacks_columns", names=", ".join(missing))
    number = _numbers(table.decimal_comma)
    paid: dict[tuple[str, ...], _Paid] = {}
    machines = _Machines(table)
    asked_currency = asked.currency.upper()
    for line, row in table.rows:
        try:
            if start < 0:
                refuse_row(Why.NO_DATE)
            amounts = {name: number(row[place]) if place >= 0 else None for name, place in costs.items()}
            if amounts["billed"] is None and amounts["effective"] is None:
                refuse_row(Why.MISSING)
            currency = (row[money].strip().upper() if money >= 0 else "") or asked_currency
            if not currency:
                refuse_row(Why.NO_CURRENCY)
            said: dict[str, Any] = {name: row[place] for name, place in texts.items() if row[place]}
            said |= amounts
            said |= {name: number(row[place]) if place >= 0 else None for name, place in counts.items()}
            one = BillingLine(
                moment(row[start]),
                moment(row[end]) if end >= 0 and row[end].strip() else "",
                currency=currency,
                tags=_tags(row[tags]) if tags >= 0 and row[tags] else {},
                line=line,
                **said,
            )
        except Odd as odd:
            read.aside(line, row, odd.why)
            continue
        read.billing.append(one)
        if (machine := machines.of(row)) is not None:
            _pay(paid, one, machine, machines.charged(row))
    _prices(Making(read, asked, TITLE, "bill", "measured"), paid)
    days = (
        sorted({read.billing[0].charge_start[:10], read.billing[-1].charge_start[:10]})
        if read.billing
        else []
    )
    if days:
        read.dated, read.seen = "row", days[-1]


def _numbers(decimal_comma: bool) -> Callable[[str], Decimal | None]:
    @lru_cache(maxsize=100_000)
    def number(text: str) -> Decimal | None:
        return None if nothing(text) else signed(text, decimal_comma=decimal_comma)

    return number


@lru_cache(maxsize=20_000)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    text = text.strip()
    try:
        found = (
            json.loads(text)
            if text[:1] in "{["
            else dict(part.split("=", 1) for part in re.split(r"[,;]", text) if "=" in part)
        )
    except (ValueError, RecursionError):
        return (("", text[:MOST_TAG]),)
    if isinstance(found, list):  # [{"key": ..., "value": ...}] or [[key, value]]
        found = dict(_pair(one) for one in found[:MOST_TAGS])
    pairs = list(found.items())[:MOST_TAGS] if isinstance(found, dict) else []
    return tuple(
        (str(key)[:MOST_TAG], "" if value is None else str(value)[:MOST_TAG]) for key, value in pairs
    )


def _pair(one: object) -> tuple[str, object]:
    if isinstance(one, dict):
        return str(one.get("key", one.get("Key", ""))), one.get("value", one.get("Value", ""))
    return (str(one[0]), one[1]) if isinstance(one, list) and len(one) == 2 else ("", str(one))


def _tags(text: str) -> dict[str, str]:
    return dict(_pairs(text))


class _Machines:
    """The machine that a row names: in its SKU's details, its resource type, its description or a column of its own."""

    def __init__(self, table: Table) -> None:
        self.places = [place for name in NAMING if (place := table.at(name)) >= 0]
        self.described = [place for name in DESCRIBING if (place := table.at(name)) >= 0]

    def of(self, row: object) -> tuple[str, Part, int] | None:
        """Its name, its accelerator and how many it has; ``None`` when none is known."""
        for place in self.places:
            if found := _machine(row[place]):  # type: ignore[index]
                return found
        return None

    def charged(self, row: object) -> str:
        """Which part of a machine a row charges: "gpu", "host" (its cores or memory), or "" for all of it."""
        return _charged(" | ".join(row[place] for place in self.described))  # type: ignore[index]


@lru_cache(maxsize=100_000)
def _charged(text: str) -> str:
    if any(_GPU_PART.search(part) for part in text.split(" | ")):
        return "gpu"
    return "host" if _HOST_PART.search(text) else ""


@lru_cache(maxsize=100_000)
def _machine(text: str) -> tuple[str, Part, int] | None:
    for shape in (_AWS, _AZURE, _GCP, _OCI):
        for name in shape.findall(text[:2_000]):
            try:
                if sold := fraction(name):
                    return name, sold, 1
            except Odd:
                continue
            if held := in_machine(name):
                return name, Part(held[0]), held[1]
    return None


def _pay(
    paid: dict[tuple[str, ...], _Paid], one: BillingLine, machine: tuple[str, Part, int], charged: str
) -> None:
    if one.effective is None or one.charge_category.lower() not in ("usage", ""):
        return
    if one.charge_class or "unused" in (one.commitment_status.lower(), one.reservation_status.lower()):
        return
    capacity = CAPACITY.get(one.pricing_category.lower())
    units = one.consumed_unit.lower(), one.pricing_unit.lower()
    of_gpus = charged == "gpu" or any(unit in GPU_HOURS for unit in units)
    hours = Decimal(0) if charged == "host" and not of_gpus else _hours(one, units)
    if capacity is None or hours is None:
        return
    name, part, count = machine
    if of_gpus:
        hours /= count
    key = (one.provider, name, one.region, capacity, one.currency)
    if key not in paid:
        paid[key] = _Paid(
            part, count, Decimal(0), Decimal(0), one.charge_start[:10], one.line, 0, gpu_alone=True
        )
    own = paid[key]
    own.cost, own.hours, own.lines = own.cost + one.effective, own.hours + hours, own.lines + 1
    own.last, own.gpu_alone = max(own.last, one.charge_start[:10]), own.gpu_alone and of_gpus


def _hours(one: BillingLine, units: tuple[str, str]) -> Decimal | None:
    """Hours of a charge, in the unit it is consumed or priced in; ``None`` where neither is an hour."""
    for unit, quantity in zip(units, (one.consumed_quantity, one.pricing_quantity), strict=True):
        if unit in HOURS + GPU_HOURS and quantity is not None:
            return quantity if quantity > 0 else None
    return None


def _prices(make: Making, paid: dict[tuple[str, ...], _Paid]) -> None:
    for (provider, name, region, capacity, currency), own in paid.items():
        if not own.hours:  # cores and memory alone
            continue
        try:
            if own.cost <= 0:
                refuse_row(Why.NEGATIVE if own.cost < 0 else Why.ZERO)
            make.offer(
                own.line,
                make.asked.provider or provider or "unknown",
                own.part,
                Decimal(own.count),
                own.cost / own.hours,
                capacity,
                seen=own.last,
                region=region,
                machine=name,
                currency=currency,
                notes=f"{own.hours.normalize():f} h" + ("; host billed separately" if own.gpu_alone else ""),
                sample_count=own.lines,
            )
        except Odd as odd:
            make.read.aside(own.line, f"{provider} {name} {region} {capacity}", odd.why)
