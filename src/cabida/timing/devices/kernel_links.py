"""How long engines' own exchanges take inside a step: all-reduces and the dispatch of tokens to experts.

Small messages decide here, sent from recorded graphs: start and steps per rank come from measured kernels, the rate of
large ones from the link. ``collectives.py`` answers for NCCL at training's sizes and across machines.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from cabida.facts.model import Accelerator, Node
from cabida.timing.devices.collectives import (
    TYPICAL_PCIE_GEN,
    Link,
    collective_s,
    link_between,
    link_facts,
    linked_count,
    local_rate,
)
from cabida.timing.devices.kernel_curves import (
    CollectiveCurve,
    ExchangeCurve,
    all_reduce_kernel_s,
    exchange_kernel_s,
)
from cabida.timing.devices.kernel_lookup import ANY, curve_of, is_measured

Bytes = float | tuple[float, ...]
FAMILY = "all_reduce"
PLAIN = "pcie-p2p"  # what PCIe was measured with
STAGED = "pcie"  # through the host's memory


def link_curve(kind: str, accelerator: Accelerator) -> str:
    """The measured kind of link that is most like this one: NVLink by generation, PCIe by generation."""
    if is_measured(accelerator.capability, FAMILY):
        return accelerator.capability
    if kind.startswith("pcie"):
        name = f"pcie{accelerator.pcie_gen or TYPICAL_PCIE_GEN}"
        return name if is_measured(name, FAMILY) else f"pcie{TYPICAL_PCIE_GEN}"
    return kind


def all_reduce_s(
    payload_bytes: Bytes, count: int, accelerator: Accelerator, node: Node | None = None, engine: str = ANY
) -> Any:
    """Seconds of one all-reduce in a step.

    Args:
        payload_bytes: the buffer, a number or a tuple of them (then an array).
        count: how many accelerators take part.
        accelerator: what they are.
        node: their machine; None = a typical one.
        engine: whose kernel; ``nccl`` for NCCL's own.

    Across machines the local part comes first and last, and one accelerator per machine meets the others in between.
    """
    if count < 2:
        return np.zeros(len(payload_bytes)) if isinstance(payload_bytes, tuple) else 0.0
    inside = linked_count(accelerator, node)
    local = _local(payload_bytes, min(count, inside), accelerator, node, engine)
    if count <= inside:
        return local
    each = payload_bytes if isinstance(payload_bytes, tuple) else (payload_bytes,)
    beyond = [collective_s("all_reduce", size, count, accelerator, node) for size in each]
    return np.maximum(local, np.array(beyond) if isinstance(payload_bytes, tuple) else beyond[0])


def _local(payload_bytes: Bytes, count: int, accelerator: Accelerator, node: Node | None, engine: str) -> Any:
    link = link_between(count, accelerator, node)
    curve, rate = _curve_and_rate(link, count, accelerator, node, engine)
    return _all_reduce(curve, rate, payload_bytes, count)


def _curve_and_rate(
    link: Link, count: int, accelerator: Accelerator, node: Node | None, engine: str
) -> tuple[tuple[float, ...], float]:
    """A measured link's curve with its own rate; else the common curve with the rate that was seen of that link."""
    name = link_curve(link.kind, accelerator)
    rate = local_rate(link.kind, count, accelerator, node)
    if link.kind == STAGED:  # engines' own kernels need to reach the peers' memory
        engine = "nccl"
    if is_measured(name, FAMILY):
        facts = link_facts()
        slower = facts[link.kind]["all_reduce_ratio"] / facts[PLAIN]["all_reduce_ratio"]
        return curve_of(FAMILY, name, "bf16", engine), rate * (
            slower if link.kind.startswith("pcie") else 1.0
        )
    common = CollectiveCurve(*curve_of(FAMILY, "other", "bf16", ANY))
    return tuple(common._replace(link_ratio=1.0, crowd_ratio=0.0)), link.all_reduce_bytes_per_s


@lru_cache(maxsize=8192)
def _all_reduce(curve: tuple[float, ...], link_bytes_per_s: float, payload_bytes: Bytes, count: int) -> Any:
    size = np.array(payload_bytes) if isinstance(payload_bytes, tuple) else float(payload_bytes)
    found = all_reduce_kernel_s(CollectiveCurve(*curve), link_bytes_per_s, size, float(count))
    if isinstance(found, np.ndarray):
        found.setflags(write=False)
        return found
    return float(found)


def exchange_s(
    tokens: Bytes,
    hidden: float,
    per_token: float,
    ranks: int,
    accelerator: Accelerator,
    node: Node | None = None,
    *,
    prompt: bool,
    dispatch_bits: float = 8.0,
) -> Any:
    """Seconds of sending tokens to their experts and their results back, one layer.

    Args:
        tokens: of one rank.
        hidden: width of the model.
        per_token: experts a token chooses.
        ranks: how many share the experts out.
        accelerator: what they are.
        node: their machine; None = a typical one.
        prompt: the kernel for many tokens, which sends a token once to each rank; else the one for few, which sends it
            to each expert (DeepEP: normal and low latency).
        dispatch_bits: of one value on the way there; results come back in 16 bit.

    Source: DeepEP as measured by aiconfigurator-core inside machines; across machines bound by the network's share.
    """
    size = np.array(tokens) if isinstance(tokens, tuple) else float(tokens)
    if ranks < 2:
        return size * 0.0
    inside = linked_count(accelerator, node)
    link = link_between(min(ranks, inside), accelerator, node)
    name = link_curve(link.kind, accelerator)
    rate = local_rate(link.kind, min(ranks, inside), accelerator, node)
    kernel = "normal" if prompt else "low"
    copies = ranks * (1 - (1 - 1 / ranks) ** per_token) if prompt else per_token
    found = size * 0.0
    for way, bits in (("dispatch", dispatch_bits), ("combine", 16.0)):
        curve = ExchangeCurve(*curve_of("exchange", name, f"{kernel}-{way}", ANY))
        found = found + exchange_kernel_s(curve, rate, size, hidden, copies * (ranks - 1) / ranks, bits)
        if ranks > inside:
            network = link_between(ranks, accelerator, node)
            there = copies * (ranks - inside) / ranks * size * hidden * bits / 8
            found = found + network.latency_s + there / (network.other_bytes_per_s / inside)
    return found
