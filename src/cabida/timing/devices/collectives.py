"""How long accelerators take to exchange data: latency, the middle of the curve, and the large-payload rate.

Rates follow the convention of nccl-tests: the *bus rate* is what one link carries, whatever the count.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cabida.facts.model import Accelerator, Node
from cabida.quantity import Source

TYPICAL_MACHINE_COUNT = 8  # accelerators of a server nobody described
TYPICAL_NETWORK_BYTES_PER_S = 12.5e9  # per accelerator, assumed: 100 Gb/s each, the least of the GPU clouds
TYPICAL_PCIE_GEN = 4
PCIE_BYTES_PER_S_BY_GEN = {3: 15.75e9, 4: 31.5e9, 5: 63e9, 6: 126e9}  # x16, one way, PCI-SIG


@dataclass(frozen=True, slots=True)
class Link:
    """What joins the accelerators of one group: a kind (row of ``data/links.json``) and its figures."""

    kind: str
    latency_s: float
    ramp_s_per_sqrt_byte: float
    all_reduce_bytes_per_s: float
    other_bytes_per_s: float
    source: Source


@cache
def _file() -> dict[str, Any]:
    text = (Path(__file__).parent.parent / "data" / "links.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def link_facts() -> dict[str, dict[str, Any]]:
    """Rows of ``data/links.json`` by kind of link."""
    links: dict[str, dict[str, Any]] = _file()["links"]
    return links


def pcie_bytes_per_s(accelerator: Accelerator) -> float:
    """One-way rate of the accelerator's slot; PCIe 4 x16 where its generation was not seen."""
    typical = PCIE_BYTES_PER_S_BY_GEN[TYPICAL_PCIE_GEN]
    by_gen = PCIE_BYTES_PER_S_BY_GEN.get(accelerator.pcie_gen or TYPICAL_PCIE_GEN, typical)
    return by_gen * (accelerator.pcie_lanes or 16) / 16


def linked_count(accelerator: Accelerator, node: Node | None) -> int:
    """How many accelerators reach each other without the network: a machine, or a larger link domain."""
    machine = node.accelerators_count if node is not None else TYPICAL_MACHINE_COUNT
    return max(accelerator.link_domain_count, machine)


def link_between(accelerators: int, accelerator: Accelerator, node: Node | None = None) -> Link:
    """The slowest link a group of ``accelerators`` has to cross.

    A group larger than the machine (or the NVLink domain) crosses the network, whose share per node
    bounds the ring as nccl-tests report it.
    """
    inside = linked_count(accelerator, node)
    local = _local_link(min(accelerators, inside), accelerator, node)
    if accelerators <= inside:
        return local
    network = _network_link(inside, node)
    return Link(
        "network",
        local.latency_s + network.latency_s,
        max(local.ramp_s_per_sqrt_byte, network.ramp_s_per_sqrt_byte),
        min(local.all_reduce_bytes_per_s, network.all_reduce_bytes_per_s),
        min(local.other_bytes_per_s, network.other_bytes_per_s),
        network.source,
    )


def collective_s(
    op: str, payload_bytes: float, accelerators: int, accelerator: Accelerator, node: Node | None = None
) -> float:
    """Seconds one collective takes.

    Args:
        op: all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or p2p.
        payload_bytes: the whole buffer (for all_gather and reduce_scatter: the gathered one; for
            all_to_all: what one accelerator sends).
        accelerators: how many take part.
        accelerator: what they are.
        node: the machine they sit in; None = a typical one.

    Source: alpha-beta model with a square-root middle, Thakur et al. 2005, fitted to public nccl-tests runs.
    """
    if accelerators < 2 or payload_bytes <= 0:
        return 0.0
    link = link_between(accelerators, accelerator, node)
    share = (accelerators - 1) / accelerators
    if op == "all_reduce":
        wire_bytes, rate = 2 * share * payload_bytes, link.all_reduce_bytes_per_s
    elif op in ("all_gather", "reduce_scatter"):
        wire_bytes, rate = share * payload_bytes, link.other_bytes_per_s
    elif op == "all_to_all":
        wire_bytes, rate = _all_to_all(payload_bytes, share, accelerators, link, accelerator, node)
    else:
        wire_bytes, rate = payload_bytes, link.other_bytes_per_s
    return float(link.latency_s + link.ramp_s_per_sqrt_byte * payload_bytes**0.5 + wire_bytes / rate)


def _all_to_all(
    payload_bytes: float,
    share: float,
    accelerators: int,
    link: Link,
    accelerator: Accelerator,
    node: Node | None,
) -> tuple[float, float]:
    """Bytes and rate of the busiest wire; over a network every accelerator only has its part of the node's."""
    if link.kind != "network":
        return share * payload_bytes, link.other_bytes_per_s
    inside = linked_count(accelerator, node)
    return (accelerators - inside) / accelerators * payload_bytes, link.other_bytes_per_s / inside


def _local_link(accelerators: int, accelerator: Accelerator, node: Node | None) -> Link:
    kind = _kind(accelerators, accelerator, node)
    return _link(kind, link_facts()[kind], local_rate(kind, accelerators, accelerator, node))


def local_rate(kind: str, accelerators: int, accelerator: Accelerator, node: Node | None) -> float:
    """One-way rate of an accelerator's link inside its machine, as the data sheet has it, bytes/s."""
    rate = node.link_bytes_per_s if node is not None and node.link_bytes_per_s else None
    rate = rate or accelerator.link_bytes_per_s
    if kind.startswith("pcie") or not rate:
        rate = pcie_bytes_per_s(accelerator)
    if kind == "xgmi":  # a mesh: a small group only has the links between its own members
        rate *= min(1.0, max(accelerators - 1, 1) / max(accelerator.link_domain_count - 1, 1))
    return rate


def _network_link(inside: int, node: Node | None) -> Link:
    rate = node.network_bytes_per_s if node is not None and node.network_bytes_per_s else None
    return _link("network", link_facts()["network"], rate or inside * TYPICAL_NETWORK_BYTES_PER_S)


def _link(kind: str, row: dict[str, Any], rate: float) -> Link:
    return Link(
        kind,
        row["latency_s"],
        row["ramp_s_per_sqrt_byte"],
        rate * row["all_reduce_ratio"],
        rate * row["other_ratio"],
        Source(row["source"], "", _file()["seen"], row["grade"]),
    )


def _kind(accelerators: int, accelerator: Accelerator, node: Node | None) -> str:
    """Row of ``data/links.json`` for a group inside one machine."""
    words = accelerator.link_kind.lower()
    domain = accelerator.link_domain_count
    if "nvlink" in words or "nvswitch" in words:
        if domain >= 8:
            generation = next((digit for digit in words if digit.isdigit()), "3")
            return f"nvlink{generation}" if f"nvlink{generation}" in link_facts() else "nvlink3"
        if accelerators <= domain and domain > 1:
            return "nvlink-bridge"
    for name in ("xgmi", "ici", "roce"):
        if name in words and domain > 1:
            return name
    if accelerator.segment == "consumer" or (node is not None and "no p2p" in node.fabric.lower()):
        return "pcie"
    return "pcie-p2p"
