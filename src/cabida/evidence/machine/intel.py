"""Intel cards through the i915 and xe drivers' files, with ``xpu-smi`` for names and memory where it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cabida.evidence.machine import sysfs
from cabida.evidence.machine.nouns import Card, Roots, Trouble
from cabida.evidence.machine.probing import json_of, line_of, number_of

LEAST_WINDOW_BYTES = 2.0**30
ON_THE_PROCESSOR = ":00:02."  # where Intel's integrated graphics always sit on the bus


def look(roots: Roots) -> tuple[dict[str, str], list[Card]] | None:
    """The cards; ``None`` without one."""
    found = [device for _, device, maker in sysfs.devices(roots) if maker == "Intel"]
    if not found:
        return None
    told = _told(roots) if any(ON_THE_PROCESSOR not in sysfs.address(one) for one in found) else {}
    return {}, [_card(at, device, told) for at, device in enumerate(found)]


def _card(index: int, device: Path, told: dict[str, dict[str, Any]]) -> Card:
    pci, id = sysfs.address(device), sysfs.pci_id(device)
    integrated = ON_THE_PROCESSOR in pci
    said = told.get(pci, {})
    total = None if integrated else _memory(device, said)
    return Card(
        index=index,
        vendor="Intel",
        name=str(said.get("device_name") or f"Intel GPU {id}").strip(),
        seen_by="sysfs",
        uuid=str(said.get("uuid", "")),
        pci=pci,
        pci_id=id,
        total_bytes=total,
        **sysfs.bus(device),
        power_limit_w=sysfs.power_limit_w(device),
        display=sysfs.display(device),
        integrated=integrated,
        troubles=() if total or integrated else (Trouble("intel: memory", "unreadable"),),
    )


def _memory(device: Path, said: dict[str, Any]) -> float | None:
    """Local memory: as the tool says, as older drivers say, else the size of the window onto it."""
    for text in (str(said.get("memory_physical_size_byte", "")), line_of(device.parent / "lmem_total_bytes")):
        if size := number_of(text):
            return size
    window = sysfs.bar_bytes(device)
    return window if window and window >= LEAST_WINDOW_BYTES else None  # else only a part shows


def _told(roots: Roots) -> dict[str, dict[str, Any]]:
    """What ``xpu-smi`` says of each card, by bus address."""
    listed = json_of(("xpu-smi", "discovery", "-j"), roots)
    devices = listed.get("device_list") if isinstance(listed, dict) else None
    found: dict[str, dict[str, Any]] = {}
    for one in devices if isinstance(devices, list) else ():
        if isinstance(one, dict):
            found[str(one.get("pci_bdf_address", "")).lower()] = one
            more = json_of(("xpu-smi", "discovery", "-d", str(one.get("device_id", 0)), "-j"), roots)
            one.update(more if isinstance(more, dict) else {})
    return found
