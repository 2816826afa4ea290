"""A machine and its cards as plain rows: GiB where people read GiB, ``None`` where nothing could be read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cabida.evidence.machine import Card, Machine, Trouble, match
from cabida.report.metrics import GIB
from cabida.text import has_text, tr


def machine_row(machine: Machine) -> dict[str, Any]:
    """The machine around the cards."""
    return {
        "system": machine.system,
        "release": machine.release,
        "processor": machine.processor,
        "cores": machine.cores_count,
        "memory_gib": _gib(machine.memory_bytes),
        "memory_free_gib": _gib(machine.memory_free_bytes),
        "memory_limited": machine.memory_limited,
        "driver": machine.driver,
        "cuda": machine.cuda,
        "rocm": machine.rocm,
        "not_read": [trouble_row(one) for one in machine.troubles],
    }


def frameworks_row(machine: Machine) -> dict[str, str]:
    """Frameworks by name, with "" where the version wasn't asked."""
    return dict(machine.frameworks)


def card_row(card: Card, machine: Machine) -> dict[str, Any]:
    """One card: what it is, how full, how it is tied in."""
    found = match(card)
    return {
        "index": card.index,
        "name": card.name,
        "vendor": card.vendor,
        "gpu": found.accelerator.id if found and found.known else None,
        "uuid": card.uuid,
        "pci": card.pci,
        "capability": card.capability,
        "memory_gib": _gib(card.total_bytes),
        "used_gib": _gib(card.used_bytes),
        "free_gib": _gib(card.free_bytes),
        "users": None if card.users is None else [_user(one) for one in card.users],
        "pcie": {
            "generation": card.pcie_gen,
            "lanes": card.pcie_lanes,
            "generation_most": card.pcie_gen_max,
            "lanes_most": card.pcie_lanes_max,
        },
        "link": card.link_kind,
        "peers": list(card.peers),
        "driver": machine.rocm if card.vendor == "AMD" else machine.driver if card.vendor == "NVIDIA" else "",
        "power_limit_w": card.power_limit_w,
        "ecc": card.ecc,
        "mig": card.mig,
        "slices": [
            {
                "profile": one.profile,
                "uuid": one.uuid,
                "memory_gib": _gib(one.total_bytes),
                "used_gib": _gib(one.used_bytes),
            }
            for one in card.slices
        ],
        "display": card.display,
        "integrated": card.integrated,
        "unified": card.unified,
        "not_read": [trouble_row(one) for one in card.troubles],
    }


def _user(one: Any) -> dict[str, Any]:
    row = asdict(one)
    return {
        "pid": row["pid"],
        "name": row["name"],
        "used_gib": _gib(row["used_bytes"]),
        "graphics": row["graphics"],
    }


def trouble_row(one: Trouble) -> dict[str, str]:
    """What could not be read, and why, in words."""
    key = f"evidence.machine.trouble.{one.reason}"
    why = tr(key if has_text(key) else "evidence.machine.trouble.failed")
    own = (
        f" ({one.detail})" if one.detail and one.reason == "failed" else ""
    )  # its own words, where we have none
    sentence = f"{one.probe}: {why}{own}"
    return {"probe": one.probe, "reason": one.reason, "sentence": sentence, "detail": one.detail}


def _gib(size: float | None) -> float | None:
    return None if size is None else size / GIB


def counted(machine: Machine) -> int:
    """Cards that can hold a model by themselves; graphics on the processor are none."""
    return sum(not card.integrated and match(card) is not None for card in machine.cards)
