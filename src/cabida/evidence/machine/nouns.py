"""What was seen of this machine: itself, its cards, who uses them, and what could not be read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

USUAL_PATIENCE_S = 8.0  # a driver that wakes eight cards one by one takes seconds


def _patience_s() -> float:
    """How long to wait for drivers: CABIDA_PROBE_S, within reason, else the usual."""
    try:
        asked = float(os.environ.get("CABIDA_PROBE_S", ""))
    except ValueError:
        return USUAL_PATIENCE_S
    return min(max(asked, 0.1), 600.0) if asked == asked else USUAL_PATIENCE_S


@dataclass(frozen=True, slots=True)
class Roots:
    """Where to look; tests look elsewhere."""

    root: Path = Path("/")
    path: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))
    platform: str = sys.platform
    nvml: bool = True
    limit_s: float = field(default_factory=_patience_s)  # for all probes together

    def file(self, *parts: str) -> Path:
        """A path below the root."""
        return self.root.joinpath(*parts)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that could not be read. ``reason`` names a text: ``evidence.machine.trouble.<reason>``."""

    probe: str  # nvml, nvidia-smi, "nvml: processes" ...
    reason: str  # timeout, no_permission, old_driver, lost, failed, no_driver, unreadable
    detail: str = ""  # in the words of whoever failed


@dataclass(frozen=True, slots=True)
class User:
    """A process that holds memory of a card."""

    pid: int
    name: str
    used_bytes: float | None
    graphics: bool = False  # a screen, not a computation


@dataclass(frozen=True, slots=True)
class Slice:
    """A MIG instance of a card."""

    profile: str  # 1g.10gb; "" when the driver doesn't name it
    uuid: str
    total_bytes: float | None
    used_bytes: float | None
    free_bytes: float | None


@dataclass(frozen=True, slots=True)
class Card:
    """One graphics card as its driver shows it. ``None`` = not readable or not there."""

    index: int
    vendor: str  # NVIDIA, AMD, Apple, Intel
    name: str
    seen_by: str  # nvml, nvidia-smi, sysfs, system_profiler
    uuid: str = ""
    pci: str = ""  # bus address, lower case: 0000:01:00.0
    pci_id: str = ""  # vendor and device: 8086:e20b
    total_bytes: float | None = None
    used_bytes: float | None = None
    free_bytes: float | None = None
    reserved_bytes: float | None = None  # kept by the driver, in neither of the two
    users: tuple[User, ...] | None = None
    capability: str = ""  # 8.9, gfx942
    pcie_gen: int | None = None
    pcie_lanes: int | None = None
    pcie_gen_max: int | None = None
    pcie_lanes_max: int | None = None
    link_kind: str = ""  # nvlink, xgmi
    links_count: int = 0  # active ones of this card
    peers: tuple[int, ...] = ()  # cards reached over them
    power_limit_w: float | None = None
    ecc: bool | None = None
    mig: bool | None = None
    slices: tuple[Slice, ...] = ()
    display: bool | None = None
    integrated: bool = False  # on the processor, living in host memory: never a card of its own
    unified: bool = False  # shares its memory with the processor by design, and is meant to compute
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine as it was found."""

    system: str  # Linux, Darwin, Windows
    release: str
    processor: str
    cores_count: int | None
    memory_bytes: float | None
    memory_free_bytes: float | None
    memory_limited: bool  # by a container
    driver: str = ""
    cuda: str = ""  # newest toolkit the driver carries
    rocm: str = ""
    frameworks: dict[str, str] = field(default_factory=dict)  # name -> version, "" when not told
    hides: dict[str, str] = field(default_factory=dict)  # variables that hide cards from engines, as set
    cards: tuple[Card, ...] = ()
    troubles: tuple[Trouble, ...] = ()
