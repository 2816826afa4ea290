"""Accelerators of this machine once a second: NVIDIA through NVML, AMD through the driver's files.

Every call may fail alone; what is not read is not there, never zero. A card that is lost, an XID, new uncorrected
memory errors and the reasons a clock is held down are events.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cabida.evidence.machine import sysfs
from cabida.evidence.machine.nouns import Roots
from cabida.evidence.machine.nvml import MOST_CARDS, Asking, memory_of
from cabida.evidence.machine.probing import line_of, number_of

Row = dict[str, Any]
XIDS_MOST = 16  # read at once
# bits of nvmlClocksEventReasons (nvml.h) that mean slower than it could be
SLOWED = {
    0x4: "power-cap",
    0x8: "hardware-slowdown",
    0x20: "thermal",
    0x40: "hardware-thermal",
    0x80: "power-brake",
}
LIBRARY = "libnvidia-ml.so.1"


def slowed(bits: int) -> tuple[str, ...]:
    """Why a clock is held down; () = it isn't."""
    return tuple(name for bit, name in SLOWED.items() if bits & bit)


@dataclass(slots=True)
class Cards:
    """Cards of one maker while they are watched.

    Attributes:
        known: what each is, once: index, name, uuid, memory, power limit.
        trouble: why there are none, where a driver is there and doesn't answer.
    """

    known: list[Row] = field(default_factory=list)
    trouble: str = ""
    _read: Callable[[], tuple[Row, list[Row]]] = lambda: ({}, [])
    _close: Callable[[], None] = lambda: None

    def sample(self) -> tuple[Row, list[Row]]:
        """Figures now (``gpu.0.power_w``) and what happened since last time."""
        return self._read()

    def close(self) -> None:
        """Let the driver go."""
        self._close()


def opened(roots: Roots | None = None) -> Cards:
    """The cards of this machine, NVIDIA's first; without any, a Cards that knows none."""
    roots = roots or Roots()
    found = nvidia() if roots.nvml and sys.platform != "darwin" else Cards()
    return found if found.known or found.trouble else amd(roots)


def nvidia() -> Cards:
    """NVIDIA's cards. The binding is only loaded where the driver's library is."""
    try:
        ctypes.CDLL(LIBRARY if sys.platform != "win32" else "nvml.dll")
    except OSError:
        return Cards()
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Cards(trouble=str(error))
    asking = Asking(pynvml)
    count = min(asking.ask("count", pynvml.nvmlDeviceGetCount) or 0, MOST_CARDS)
    one = _Nvidia(
        asking, [asking.ask("handle", pynvml.nvmlDeviceGetHandleByIndex, at) for at in range(count)]
    )
    return Cards(one.known(), "", one.sample, one.close)


class _Nvidia:
    """NVML's cards, asked again and again."""

    def __init__(self, asking: Asking, handles: list[Any]) -> None:
        self.asking, self.handles = asking, handles
        self.lost: set[int] = set()
        self.ecc: dict[int, int] = {}
        self.reasons: dict[int, tuple[str, ...]] = {}
        self.old: set[str] = set()  # calls that this driver has not
        self.events = self._register()

    def known(self) -> list[Row]:
        """What each card is."""
        n, ask = self.asking.binding, self.asking.ask
        found = []
        for at, handle in enumerate(self.handles):
            memory = ask("memory", n.nvmlDeviceGetMemoryInfo, handle)
            limit = ask("limit", n.nvmlDeviceGetEnforcedPowerLimit, handle)
            found.append(
                {
                    "gpu": at,
                    "name": str(ask("name", n.nvmlDeviceGetName, handle) or "NVIDIA GPU")[:80],
                    "uuid": str(ask("uuid", n.nvmlDeviceGetUUID, handle) or "")[:80],
                    "memory_total_bytes": float(memory.total) if memory and memory.total else None,
                    "power_limit_w": limit / 1000 if limit else None,
                    "driver": str(ask("driver", n.nvmlSystemGetDriverVersion) or "")[:40],
                }
            )
        self.asking.taken()
        return found

    def sample(self) -> tuple[Row, list[Row]]:
        """Figures and events of all cards."""
        row: Row = {}
        told: list[Row] = []
        for at, handle in enumerate(self.handles):
            found = self._one(handle)
            lost = any(one.reason == "lost" for one in self.asking.taken())
            if lost and at not in self.lost:
                told.append({"event": "gpu-lost", "gpu": at})
                self.lost.add(at)
            elif not lost and found and at in self.lost:
                told.append({"event": "gpu-back", "gpu": at})
                self.lost.discard(at)
            told += self._events(at, found)
            row |= {f"gpu.{at}.{name}": value for name, value in found.items()}
        return row, told + self._xids()

    def _one(self, handle: Any) -> dict[str, float]:
        """Figures of one card; those it has not are left out."""
        n = self.asking.binding
        found: dict[str, float] = {}

        def put(name: str, value: float | None, scale: float = 1.0) -> None:
            if value is not None:
                found[name] = value * scale

        put("power_w", self._ask("nvmlDeviceGetPowerUsage", handle), 1e-3)
        if any(one.reason == "lost" for one in self.asking.troubles):
            return found
        put("power_limit_w", self._ask("nvmlDeviceGetEnforcedPowerLimit", handle), 1e-3)
        put("energy_j", self._ask("nvmlDeviceGetTotalEnergyConsumption", handle), 1e-3)
        total, used, _, _ = memory_of(handle, self.asking)
        put("memory_used_bytes", used)
        put("memory_total_bytes", total)
        busy = self._ask("nvmlDeviceGetUtilizationRates", handle)
        if busy is not None:
            put("busy_ratio", busy.gpu, 0.01)
            put("memory_busy_ratio", busy.memory, 0.01)
        put("clock_hz", self._ask("nvmlDeviceGetClockInfo", handle, n.NVML_CLOCK_SM), 1e6)
        put("memory_clock_hz", self._ask("nvmlDeviceGetClockInfo", handle, n.NVML_CLOCK_MEM), 1e6)
        put("temperature_c", self._ask("nvmlDeviceGetTemperature", handle, n.NVML_TEMPERATURE_GPU))
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
        put(
            "throttle_bits",
            self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle) if bits is None else bits,
        )
        for name, kind in (
            ("ecc_corrected_count", n.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            ("ecc_uncorrected_count", n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        ):
            put(name, self._ask("nvmlDeviceGetTotalEccErrors", handle, kind, n.NVML_VOLATILE_ECC))
        put("pcie_replays_count", self._ask("nvmlDeviceGetPcieReplayCounter", handle))
        return found

    def _ask(self, call: str, *args: Any) -> Any:
        """The answer to one call, or ``None``; a call that the driver lacks is not made again."""
        if call in self.old:
            return None
        function = getattr(self.asking.binding, call, None)
        found = None if function is None else self.asking.ask(call, function, *args)
        if function is None or (
            self.asking.troubles and self.asking.troubles[-1].probe == f"nvml: {call}"
            and self.asking.troubles[-1].reason == "old_driver"
        ):  # fmt: skip
            self.old.add(call)
        return found

    def _events(self, at: int, found: dict[str, float]) -> list[Row]:
        told: list[Row] = []
        if (errors := found.get("ecc_uncorrected_count")) is not None:
            before = self.ecc.get(at)
            self.ecc[at] = int(errors)
            if before is not None and errors > before:
                told.append({"event": "ecc", "gpu": at, "count": int(errors) - before})
        if (bits := found.get("throttle_bits")) is not None:
            reasons = slowed(int(bits))
            if reasons != self.reasons.get(at, ()):
                told.append(
                    {"event": "slowed" if reasons else "full-speed", "gpu": at, "reasons": list(reasons)}
                )
            self.reasons[at] = reasons
        return told

    def _register(self) -> Any:
        """A set that collects XIDs; ``None`` where the driver tells none (a container may not)."""
        n = self.asking.binding
        events = self.asking.ask("events", n.nvmlEventSetCreate)
        if events is not None:
            for handle in self.handles:
                self.asking.ask(
                    "events", n.nvmlDeviceRegisterEvents, handle, n.nvmlEventTypeXidCriticalError, events
                )
        self.asking.taken()
        return events

    def _xids(self) -> list[Row]:
        """XIDs since last time; NVML hands them out one by one and says "timeout" when there is none left."""
        n, told = self.asking.binding, []
        for _ in range(XIDS_MOST if self.events is not None else 0):
            one = self.asking.ask("events", n.nvmlEventSetWait_v2, self.events, 0)
            if one is None:
                break
            told.append({"event": "xid", "gpu": self._place(one.device), "code": int(one.eventData)})
        self.asking.taken()
        return told

    def _place(self, device: Any) -> int | None:
        address = ctypes.cast(device, ctypes.c_void_p).value
        for at, handle in enumerate(self.handles):
            if handle is not None and ctypes.cast(handle, ctypes.c_void_p).value == address:
                return at
        return None

    def close(self) -> None:
        """Let NVML go."""
        n = self.asking.binding
        if self.events is not None:
            self.asking.ask("events", n.nvmlEventSetFree, self.events)
        self.asking.ask("end", n.nvmlShutdown)


# figures of the amdgpu driver: file below the device (or its hwmon), and what makes it our unit
AMD_FILES = {
    "memory_used_bytes": ("mem_info_vram_used", 1.0),
    "memory_total_bytes": ("mem_info_vram_total", 1.0),
    "busy_ratio": ("gpu_busy_percent", 0.01),
    "memory_busy_ratio": ("mem_busy_percent", 0.01),
    "pcie_replays_count": ("pcie_replay_count", 1.0),
    "power_w": ("hwmon/power1_average hwmon/power1_input", 1e-6),
    "power_limit_w": ("hwmon/power1_cap", 1e-6),
    "energy_j": ("hwmon/energy1_input", 1e-6),
    "clock_hz": ("hwmon/freq1_input", 1.0),
    "memory_clock_hz": ("hwmon/freq2_input", 1.0),
    "temperature_c": ("hwmon/temp2_input hwmon/temp1_input", 1e-3),  # the hottest spot where it is told
    "memory_temperature_c": ("hwmon/temp3_input", 1e-3),
}


def amd(roots: Roots) -> Cards:
    """AMD's cards by the files that the kernel documents for amdgpu (power, hwmon, RAS)."""
    devices = [device for _, device, maker in sysfs.devices(roots) if maker == "AMD"]
    before: dict[int, float] = {}
    known = [
        {
            "gpu": at,
            "name": line_of(device / "product_name")[:80] or f"AMD GPU {sysfs.pci_id(device)}".strip(),
            "uuid": line_of(device / "unique_id")[:80],
            "memory_total_bytes": number_of(line_of(device / "mem_info_vram_total")) or None,
            "power_limit_w": sysfs.power_limit_w(device),
            "driver": "amdgpu",
        }
        for at, device in enumerate(devices)
    ]

    def sample() -> tuple[Row, list[Row]]:
        row: Row = {}
        told: list[Row] = []
        for at, device in enumerate(devices):
            row |= {f"gpu.{at}.{name}": value for name, value in _amd_one(device).items()}
            errors = row.get(f"gpu.{at}.ecc_uncorrected_count")
            if errors is not None:
                if errors > before.get(at, errors):
                    told.append({"event": "ecc", "gpu": at, "count": int(errors - before[at])})
                before[at] = errors
        return row, told

    return Cards(known, "", sample)


def _amd_one(device: Path) -> dict[str, float]:
    monitor = next(iter(sorted(device.glob("hwmon/hwmon*"))), None)
    found: dict[str, float] = {}
    for name, (files, scale) in AMD_FILES.items():
        for file in files.split():
            below = file.removeprefix("hwmon/")
            place = device / file if below == file else monitor / below if monitor else None
            value = number_of(line_of(place)) if place else None
            if value is not None:
                found[name] = value * scale
                break
    with contextlib.suppress(OSError):
        for line in (device / "ras" / "umc_err_count").read_text("ascii", "replace")[:4096].splitlines():
            kind, _, count = line.partition(":")
            value = number_of(count)
            ours = {"ue": "ecc_uncorrected_count", "ce": "ecc_corrected_count"}.get(kind.strip())
            if ours and value is not None:
                found[ours] = value
    return found
