"""OpenCost's (and Kubecost's) allocations, ``/allocation/compute``: what each workload used of a cluster, priced.

Its costs are worked out from prices, not invoiced: they are ``effective``, and nothing is ``billed``. It names no
currency, so one has to be said.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from cabida.evidence.prices.billing import BillingLine
from cabida.evidence.prices.making import money_of
from cabida.evidence.prices.nouns import Asked, Odd, Read, Why
from cabida.evidence.prices.numbers import moment, nothing, signed
from cabida.evidence.prices.trees import text_of

NAME = "opencost"
PLACES = ("cluster", "node", "namespace", "controllerKind", "controller", "pod", "container")
PARTS = (
    "cpuCost",
    "gpuCost",
    "ramCost",
    "pvCost",
    "networkCost",
    "loadBalancerCost",
    "sharedCost",
    "externalCost",
)


def fits(tree: Any) -> bool:
    """Whether a JSON file is an answer of the allocation API."""
    return any(True for _ in _found(tree))


def _found(tree: Any) -> Any:
    sets = tree.get("data") if isinstance(tree, dict) else tree
    for one in sets if isinstance(sets, list) else [sets] if isinstance(sets, dict) else ():
        for name, allocation in one.items() if isinstance(one, dict) else ():
            if (
                isinstance(allocation, dict)
                and "totalCost" in allocation
                and ("window" in allocation or "start" in allocation)
            ):
                yield name, allocation


def bill(tree: Any, read: Read, asked: Asked, path: Path) -> None:
    """Read every allocation.

    Raises:
        InvalidInput: CB-E051, nobody said in which currency.
    """
    currency = money_of(asked, path)
    last = ""
    for place, (name, one) in enumerate(_found(tree), 1):
        read.rows_count += 1
        try:
            line = _line(place, name, one, currency, asked.provider)
        except Odd as odd:
            read.aside(place, name, odd.why)
            continue
        read.billing.append(line)
        last = max(last, line.charge_start[:10])
    if last:
        read.dated, read.seen = "row", last


def _number(one: dict[str, Any], key: str) -> Decimal | None:
    text = text_of(one.get(key))
    return None if nothing(text) else signed(text)


def _held(one: dict[str, Any], key: str) -> dict[str, Any]:
    found = one.get(key)
    return found if isinstance(found, dict) else {}


def _line(place: int, name: str, one: dict[str, Any], currency: str, provider: str) -> BillingLine:
    total = _number(one, "totalCost")
    if total is None:
        raise Odd(Why.MISSING)
    window, said = _held(one, "window"), _held(one, "properties")
    labels = _held(said, "labels")
    start = text_of(one.get("start")) or text_of(window.get("start"))
    end = text_of(one.get("end")) or text_of(window.get("end"))
    if not start:
        raise Odd(Why.NO_DATE)
    tags = {key: text_of(said.get(key)) for key in PLACES if text_of(said.get(key))}
    parts = {key: text_of(one[key]) for key in PARTS if text_of(one.get(key)) not in ("", "0", "0.0")}
    return BillingLine(
        moment(start),
        moment(end) if end else "",
        billed=None,
        effective=total,
        list=None,
        contracted=None,
        currency=currency,
        charge_category="Usage",
        resource_id=str(name)[:500],
        resource_type="allocation",
        region=text_of(labels.get("topology_kubernetes_io_region")),
        provider=provider,
        service="Kubernetes",
        sku_details=" ".join(f"{key}={value}" for key, value in parts.items())[:1_000],
        reservation_status="Unused" if str(name).startswith("__idle__") else "",
        consumed_quantity=_number(one, "gpuHours"),
        consumed_unit="GPU-Hours",
        tags={
            **{str(key)[:200]: text_of(value)[:1_000] for key, value in list(labels.items())[:200]},
            **tags,
        },
        line=place,
    )
