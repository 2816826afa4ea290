"""One look at this machine: every probe at once, none longer than its limit, nothing raised."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from cabida.evidence.machine import amd, apple, host, intel, nvml, smi, sysfs
from cabida.evidence.machine.nouns import Card, Machine, Roots, Trouble
from cabida.evidence.machine.probing import asked

HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


def look(roots: Roots | None = None) -> Machine:
    """What this machine has, as far as it can be read."""
    roots = roots or Roots()
    answers = asked(
        {
            "host": lambda: host.look(roots),
            "frameworks": lambda: host.frameworks(roots),
            "nvidia": lambda: _nvidia(roots),
            "amd": lambda: amd.look(roots),
            "intel": lambda: intel.look(roots),
            "apple": lambda: apple.look(roots),
        },
        roots.limit_s,
    )
    troubles = [one for one in answers.values() if isinstance(one, Trouble)]
    versions: dict[str, str] = {}
    cards: list[Card] = []
    for name in ("nvidia", "amd", "intel", "apple"):
        if isinstance(answers[name], tuple):
            told, seen, *more = answers[name]
            versions |= told
            cards += seen
            troubles += more[0] if more else []
    around = answers["host"] if isinstance(answers["host"], dict) else _unknown()
    found = answers["frameworks"] if isinstance(answers["frameworks"], dict) else {}
    if silent := _silent(roots, cards):
        known = any(one.probe in ("nvidia", "nvml", "nvidia-smi") for one in troubles)
        troubles += [] if known else [Trouble("nvidia", "no_driver", silent)]
    cards = [_shared(card, around) for card in cards]
    numbered = (
        tuple(replace(card, index=at) for at, card in enumerate(cards)) if _mixed(cards) else tuple(cards)
    )
    return Machine(
        **around,
        driver=versions.get("driver", ""),
        cuda=versions.get("cuda", ""),
        rocm=versions.get("rocm", ""),
        frameworks=found,
        hides={name: os.environ[name] for name in HIDING if name in os.environ},
        cards=numbered,
        troubles=tuple(dict.fromkeys(troubles)),
    )


def _unknown() -> dict[str, Any]:
    return {
        "system": "",
        "release": "",
        "processor": "",
        "cores_count": None,
        "memory_bytes": None,
        "memory_free_bytes": None,
        "memory_limited": False,
    }


def _shared(card: Card, around: dict[str, Any]) -> Card:
    """A card of NVIDIA's without memory of its own (GB10, Jetson): it lives in the machine's."""
    whole, free = around["memory_bytes"], around["memory_free_bytes"]
    if card.vendor != "NVIDIA" or card.total_bytes or card.troubles or not whole:
        return card
    used = None if free is None else whole - free
    return replace(card, unified=True, total_bytes=whole, used_bytes=used, free_bytes=free)


def _mixed(cards: list[Card]) -> bool:
    """Whether cards of several makers would share numbers."""
    return len({card.vendor for card in cards}) > 1


def _nvidia(roots: Roots) -> Any:
    """NVML first, ``nvidia-smi`` where the library is not there or does not start."""
    told = nvml.look(roots) if roots.nvml else None
    if isinstance(told, tuple):
        return told
    instead = smi.look(roots)
    if isinstance(instead, tuple):
        return (*instead, [told] if told is not None else [])
    return told if told is not None else instead


def _silent(roots: Roots, cards: list[Card]) -> str:
    """PCI ids of NVIDIA cards that the kernel sees and no driver answers for, "" when there are none."""
    seen = {card.pci for card in cards if card.vendor == "NVIDIA"}
    if seen:
        return ""
    return ", ".join(sysfs.graphics_on_bus(roots, "0x10de"))
