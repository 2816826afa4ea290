"""Vantage's ec2instances.info, ``instances.json``: AWS by region and system, on-demand, spot and reserved.

``pricing[region][system]`` holds texts in dollars an hour: ``ondemand``, ``spot_avg`` (``spot_min``, ``spot_max``),
``pct_interrupt`` (a band such as ``<5%``) and ``reserved`` (``yrTerm1Standard.noUpfront`` ...). Linux is read; other
systems sell the same card with a licence on it and are counted beside.
"""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from cabida.evidence.prices.making import Making, dated
from cabida.evidence.prices.nouns import Asked, Odd, Read, Why, refuse_row
from cabida.evidence.prices.numbers import amount, counted, nothing
from cabida.evidence.prices.parts import Part
from cabida.evidence.prices.trees import text_of

NAME, TITLE = "ec2instances", "ec2instances.info"
SYSTEM = "linux"
UPFRONT = {"noUpfront": 0.0, "partialUpfront": 0.5, "allUpfront": 1.0}  # AWS: partial is about half
_TERM = re.compile(r"yrTerm(?P<years>[13])(?P<kind>\w+)\.(?P<paid>\w+)")


def fits(tree: Any) -> bool:
    """Whether a JSON file is a list of EC2 instances."""
    return isinstance(tree, list) and any(
        isinstance(one, dict) and "instance_type" in one and "pricing" in one for one in tree[:50]
    )


def offers(tree: list[Any], read: Read, asked: Asked, path: Path) -> None:
    """Read every instance with an accelerator."""
    make = Making(read, asked, TITLE, "catalogue")
    seen = dated(read, asked, path)
    for place, one in enumerate(tree, 1):
        if not isinstance(one, dict) or not isinstance(one.get("pricing"), dict):
            read.rows_count += 1
            read.aside(place, text_of(one), "shape")
            continue
        machine, name = text_of(one.get("instance_type")), text_of(one.get("GPU_model"))
        held = text_of(one.get("GPU"))
        if held in ("", "0", "0.0") or nothing(name):
            read.rows_count += 1
            read.beside_count += 1
            continue
        try:
            count = counted(held)
            part = make.parts.named(name, _each_gib(one.get("GPU_memory"), count), machine)
        except Odd as odd:
            read.rows_count += 1
            read.aside(place, f"{machine}: {held} x {name}", odd.why, odd.near)
            continue
        _regions(make, place, machine, part, count, one["pricing"], seen)


def _each_gib(total: object, count: Decimal) -> Decimal | None:
    text = text_of(total)
    if nothing(text) or text in ("0", "0.0") or count < 1:
        return None
    return counted(text) / count


def _regions(
    make: Making, line: int, machine: str, part: Part, count: Decimal, pricing: dict[str, Any], seen: str
) -> None:
    read = make.read
    for region, systems in pricing.items():
        if not isinstance(systems, dict):
            read.rows_count += 1
            read.aside(line, f"{machine} {region}", "shape")
            continue
        for system, prices in systems.items():
            if system != SYSTEM or not isinstance(prices, dict):
                read.beside_count += isinstance(prices, dict)
                read.rows_count += isinstance(prices, dict)
                continue
            for what, text, said in _prices(prices):
                read.rows_count += 1
                if said.get("upfront_ratio") == UPFRONT["partialUpfront"]:
                    read.note("partial")
                try:
                    if region.startswith("cn-"):
                        refuse_row(Why.CURRENCY_UNSURE)
                    make.offer(
                        line,
                        "AWS",
                        part,
                        count,
                        amount(text),
                        seen=seen,
                        region=region,
                        machine=machine,
                        capacity=what,
                        **said,
                    )
                except Odd as odd:
                    read.aside(
                        line,
                        f"{machine} {region} {what} {said.get('term_months', '')}: {text}",
                        odd.why,
                        odd.near,
                    )


def _prices(prices: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The prices of one machine in one region that aren't empty: capacity, text, and what else is said."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    if not nothing(text := text_of(prices.get("ondemand"))):
        found.append(("on-demand", text, {}))
    if not nothing(text := text_of(prices.get("spot_avg"))):
        band = text_of(prices.get("pct_interrupt"))
        found.append(("spot", text, {"notes": f"interruption {band}"} if not nothing(band) else {}))
    reserved = prices.get("reserved")
    for term, paid in reserved.items() if isinstance(reserved, dict) else ():
        said = _TERM.fullmatch(term)
        if said and said["paid"] in UPFRONT and not nothing(text_of(paid)):
            more = {
                "term_months": 12 * int(said["years"]),
                "upfront_ratio": UPFRONT[said["paid"]],
                "notes": f"{said['kind']} {said['paid']}",
            }
            found.append(("reserved", text_of(paid), more))
    return found
