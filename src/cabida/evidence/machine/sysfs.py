"""What Linux shows of graphics cards under /sys/class/drm, whoever made them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cabida.evidence.machine.nouns import Roots
from cabida.evidence.machine.probing import line_of, number_of

MAKERS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
# one lane's rate in GT/s -> PCI Express generation
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


def devices(roots: Roots) -> Iterator[tuple[int, Path, str]]:
    """(number, device folder, maker) of each card of the direct rendering manager."""
    folder = roots.file("sys", "class", "drm")
    try:
        names = sorted(one.name for one in folder.iterdir() if re.fullmatch(r"card\d+", one.name))
    except OSError:
        return
    for name in sorted(names, key=lambda one: int(one[4:])):
        device = folder / name / "device"
        maker = MAKERS.get(line_of(device / "vendor").lower())
        if maker:
            yield int(name[4:]), device, maker


def address(device: Path) -> str:
    """Its bus address: ``0000:03:00.0``."""
    for line in _lines(device / "uevent"):
        if line.startswith("PCI_SLOT_NAME="):
            return line.partition("=")[2].strip().lower()
    try:
        return device.resolve().name.lower()
    except (OSError, RuntimeError):
        return ""


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as stream:
            return stream.read(4096).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def pci_id(device: Path) -> str:
    """Vendor and device: ``1002:74a1``."""
    parts = [line_of(device / name).lower().removeprefix("0x") for name in ("vendor", "device")]
    return ":".join(parts) if all(parts) else ""


def bus(device: Path) -> dict[str, Any]:
    """PCI Express generation and lanes, now and at most, as fields of a card."""
    return {
        "pcie_gen": _generation(device / "current_link_speed"),
        "pcie_gen_max": _generation(device / "max_link_speed"),
        "pcie_lanes": _lanes(device / "current_link_width"),
        "pcie_lanes_max": _lanes(device / "max_link_width"),
    }


def _generation(path: Path) -> int | None:
    rate = number_of(line_of(path))
    return GENERATIONS.get(rate) if rate else None


def _lanes(path: Path) -> int | None:
    width = number_of(line_of(path))
    return int(width) if width and width < 255 else None


def display(device: Path) -> bool | None:
    """Whether a screen hangs on one of its connectors."""
    try:
        states = [line_of(one) for one in device.glob("drm/card*/card*-*/status")]
    except OSError:
        return None
    return any(state == "connected" for state in states) if states else None


def power_limit_w(device: Path) -> float | None:
    """The cap of its power, W; the file counts microwatts."""
    for path in device.glob("hwmon/hwmon*/power1_cap"):
        watts = number_of(line_of(path))
        if watts:
            return watts / 1e6
    return None


def bar_bytes(device: Path) -> float | None:
    """Size of its largest memory window: all its memory where the window can be resized, else a part of it."""
    sizes = []
    for line in _lines(device / "resource"):
        parts = [number_of(word) for word in line.split()]
        if len(parts) == 3 and parts[0] is not None and parts[1]:
            sizes.append(parts[1] - parts[0] + 1)
    return max(sizes, default=None)


def graphics_on_bus(roots: Roots, maker: str) -> list[str]:
    """PCI ids of a maker's display and 3D controllers that sit on the bus, driver or not."""
    try:
        folders = sorted(roots.file("sys", "bus", "pci", "devices").iterdir())
    except OSError:
        return []
    return [
        pci_id(one)
        for one in folders
        if line_of(one / "vendor").lower() == maker
        and line_of(one / "class").startswith(("0x0300", "0x0302"))
    ]
