"""Measured all-reduces and exchanges with experts as rows for ``calibration/kernels.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cabida.facts.hardware import accelerator
from cabida.timing.devices.collectives import link_between, link_facts, local_rate
from cabida.timing.devices.kernel_curves import (
    CollectiveCurve,
    ExchangeCurve,
    all_reduce_kernel_s,
    exchange_kernel_s,
)
from kernel_groups import (
    Group,
    group,
)
from kernel_rows import CARDS, Columns, files, newest, read, text_mask

# ---- all-reduces and the way to experts and back; the kind of link stands where the architecture does


WIRE_ROWS_LEAST = 30  # of one version: tables of collectives are short


def link_group(card: str, engine: str, fmt: str, columns: Columns, count: int) -> Group:
    one = accelerator(CARDS[card])
    link = link_between(count, one)
    found = group(card, engine, fmt, "bf16", columns)
    kind = f"pcie{one.pcie_gen}" if link.kind.startswith("pcie") else link.kind
    found.architecture = kind if one.vendor == "NVIDIA" else one.capability
    found.rows["link"] = np.full(len(columns["latency"]), local_rate(link.kind, count, one, None))
    return found


def all_reduce_groups(systems: Path) -> list[Group]:
    """Engines' own all-reduces from recorded graphs, and NCCL's."""
    found = []
    for card, engine, _, part in newest(
        systems, "comm", "custom_allreduce_perf", "op_name", least=WIRE_ROWS_LEAST, older=True
    ):
        name = engine.split()[0]
        if engine != name and not over_pcie(card):
            continue  # of machines with NVLink the newest tells it all; over PCIe each machine is another
        recorded = part.get("kernel_source", part["latency"])
        eager = text_mask(recorded, lambda name: "eager" in str(name))
        part = {key: value[~eager] for key, value in part.items()} if not eager.all() else part
        found.append(link_group(card, name, "bf16", part, 8))
    for card, _, _, part in newest(
        systems, "comm", "nccl_perf", "op_name", nccl_all_reduce, least=WIRE_ROWS_LEAST
    ):
        found.append(link_group(card, "nccl", "bf16", part, 8))
    for one in found:
        one.rows["payload"] = 2.0 * one.rows["message_size"]
        one.rows["count"] = one.rows["num_gpus"].astype(float)
        one.rows["weight"][one.rows["count"] > 8] = 0.0  # beyond one machine
    return [kept for kept in map(reaching, found) if len(kept.rows["s"])]


def nccl_all_reduce(columns: Columns) -> np.ndarray:
    return (columns["op_name"] == "all_reduce") & (columns["nccl_dtype"] == "half")


def over_pcie(card: str) -> bool:
    return link_between(8, accelerator(CARDS[card])).kind.startswith("pcie")


def reaching(one: Group) -> Group:
    """Without the counts at which a machine's slots don't reach each other at half the rate seen elsewhere.

    One of the two L40S machines crosses its sockets beyond two cards, at a fifteenth of the link: the other, the
    published nccl-tests behind ``links.json`` and TensorRT-LLM's published runs over four and eight cards don't.
    """
    if not over_pcie(one.card):
        return one
    rows, seen = one.rows, link_facts()["pcie-p2p"]["all_reduce_ratio"]
    keep = np.full(len(rows["s"]), True)
    for count in set(rows["count"]):
        of_count = rows["count"] == count
        largest = of_count & (rows["payload"] == rows["payload"][of_count].max())
        rate = 2 * (count - 1) / count * rows["payload"][largest] / rows["s"][largest]
        if rate.max() < 0.5 * seen * rows["link"][largest].max():
            keep &= ~of_count
    one.rows = {key: value[keep] for key, value in rows.items()}
    return one


def all_reduce_s(values: np.ndarray, rows: Columns) -> Any:
    return all_reduce_kernel_s(CollectiveCurve(*values), rows["link"], rows["payload"], rows["count"])


def exchange_groups(systems: Path) -> list[Group]:
    """DeepEP inside one machine: eight ranks, four on the GB cards."""
    found = []
    for kernel, table, sent in (
        ("low", "wideep_deepep_ll_perf", "avg_t_us"),
        ("normal", "wideep_deepep_normal_perf", "transmit_us"),
    ):
        seen = set()
        for card, engine, path in files(systems, "comm", table):
            if card in seen:
                continue
            seen.add(card)
            columns = read(path, lambda c: c["node_num"] == 1, ms=f"dispatch_{sent}")
            if kernel == "normal":
                columns = {key: value[columns["dispatch_sms"] == 20] for key, value in columns.items()}
            ranks = 4.0 if card.startswith("gb") else 8.0
            for way, bits in (("dispatch", 8.0), ("combine", 16.0)):
                part = columns | {"latency": columns[f"{way}_{sent}"] / 1e3}
                one = link_group(card, engine, f"{kernel}-{way}", part, int(ranks))
                chosen = one.rows["num_topk"].astype(float)
                copies = ranks * (1 - (1 - 1 / ranks) ** chosen) if kernel == "normal" else chosen
                one.rows["copies"] = copies * (ranks - 1) / ranks
                one.rows["bits"] = np.full(len(chosen), bits)
                found.append(one)
    return found


def exchange_s(values: np.ndarray, rows: Columns) -> Any:
    tokens, hidden = rows["num_token"].astype(float), rows["hidden_size"].astype(float)
    return exchange_kernel_s(
        ExchangeCurve(*values), rows["link"], tokens, hidden, rows["copies"], rows["bits"]
    )
