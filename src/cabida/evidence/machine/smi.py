"""NVIDIA cards through ``nvidia-smi``, where the library can't be loaded."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import Any

from cabida.evidence.machine.nouns import Card, Roots, Slice, Trouble, User
from cabida.evidence.machine.probing import command, count_of, number_of

MIB = 2.0**20
BASIC = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "memory.total",
    "memory.used",
    "memory.free",
    "driver_version",
)
FULL = (
    *BASIC,
    *("pcie.link.gen.current", "pcie.link.gen.max", "pcie.link.width.current", "pcie.link.width.max"),
    *("power.limit", "ecc.mode.current", "display_active", "mig.mode.current", "compute_cap"),
)


def look(roots: Roots) -> tuple[dict[str, str], list[Card]] | Trouble | None:
    """Driver version and cards; ``None`` without the command, a :class:`Trouble` when it has no answer."""
    told: str | Trouble | None = None
    for fields in (FULL, BASIC):  # an old one refuses fields it doesn't know
        told = command(
            ("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"), roots
        )
        if isinstance(told, str):
            rows = [row for row in csv.reader(io.StringIO(told), skipinitialspace=True) if row]
            users = _users(roots)
            cards = [_card(at, dict(zip(fields, row, strict=False)), users) for at, row in enumerate(rows)]
            if any(card.mig for card in cards):
                cards = _cut(cards, roots)
            driver = next((row[7].strip() for row in rows if len(row) > 7 and row[7][:1].isdigit()), "")
            return {"driver": driver, "cuda": _cuda(roots)}, cards
        if told is None or told.reason == "timeout":
            return told
    return told if isinstance(told, Trouble) else None


def _cuda(roots: Roots) -> str:
    """The CUDA version in the head of the plain table."""
    told = command(("nvidia-smi",), roots)
    found = re.search(r"CUDA Version:\s*([\d.]+)", told) if isinstance(told, str) else None
    return found[1] if found else ""


def _cut(cards: list[Card], roots: Roots) -> list[Card]:
    """The cards with their MIG instances, by the list that ``nvidia-smi -L`` prints."""
    told = command(("nvidia-smi", "-L"), roots)
    found: dict[int, list[Slice]] = {}
    at = -1
    for line in told.splitlines() if isinstance(told, str) else ():
        if card := re.match(r"GPU (\d+):", line):
            at = int(card[1])
        elif one := re.match(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (\S+)\)", line):
            found.setdefault(at, []).append(Slice(one[1].lower(), one[2], None, None, None))
    return [replace(card, slices=tuple(found.get(card.index, ()))) for card in cards]


def _users(roots: Roots) -> dict[str, list[User]] | None:
    fields = "gpu_uuid,pid,process_name,used_memory"
    told = command(("nvidia-smi", f"--query-compute-apps={fields}", "--format=csv,noheader,nounits"), roots)
    if not isinstance(told, str):
        return None
    found: dict[str, list[User]] = {}
    for row in csv.reader(io.StringIO(told), skipinitialspace=True):
        if len(row) == 4 and (pid := count_of(row[1])) is not None:
            name = row[2].replace("\\", "/").rsplit("/", 1)[-1][:40]
            found.setdefault(row[0].strip(), []).append(User(pid, name, _mib(row[3])))
    return found


def _mib(text: str) -> float | None:
    value = number_of(text)
    return None if value is None else value * MIB


def _card(at: int, row: dict[str, str], users: dict[str, list[User]] | None) -> Card:
    def said(name: str) -> str:
        return row.get(name, "").strip()

    uuid = said("uuid")
    if len(row) < 5:  # "Unable to determine the device handle for GPU ...: GPU is lost"
        whole = ", ".join(row.values())
        reason = "lost" if "lost" in whole.lower() else "failed"
        return Card(
            at, "NVIDIA", "NVIDIA GPU", "nvidia-smi", troubles=(Trouble("nvidia-smi", reason, whole[:200]),)
        )
    more: dict[str, Any] = {
        name: {"enabled": True, "disabled": False}.get(said(field).lower())
        for name, field in (
            ("ecc", "ecc.mode.current"),
            ("mig", "mig.mode.current"),
            ("display", "display_active"),
        )
    }
    return Card(
        index=count_of(said("index")) or at,
        vendor="NVIDIA",
        name=said("name") or "NVIDIA GPU",
        seen_by="nvidia-smi",
        uuid=uuid,
        pci=said("pci.bus_id").lower()[-12:],
        total_bytes=_mib(said("memory.total")),
        used_bytes=_mib(said("memory.used")),
        free_bytes=_mib(said("memory.free")),
        users=None if users is None else tuple(users.get(uuid, ())),
        capability=said("compute_cap") if number_of(said("compute_cap")) else "",
        pcie_gen=count_of(said("pcie.link.gen.current")),
        pcie_lanes=count_of(said("pcie.link.width.current")),
        pcie_gen_max=count_of(said("pcie.link.gen.max")),
        pcie_lanes_max=count_of(said("pcie.link.width.max")),
        power_limit_w=number_of(said("power.limit")),
        **more,
    )
