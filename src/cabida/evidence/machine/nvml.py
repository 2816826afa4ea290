"""NVIDIA cards through NVML. Every call may fail alone: an old driver, a right that is missing, a card that is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cabida.evidence.machine.nouns import Card, Roots, Slice, Trouble, User
from cabida.evidence.machine.probing import line_of

MOST_LINKS, MOST_SLICES, MOST_CARDS = 36, 16, 128


class Asking:
    """Calls to NVML that note why one has no answer instead of raising."""

    def __init__(self, binding: Any) -> None:
        self.binding = binding
        self.troubles: list[Trouble] = []
        self._reasons = {
            binding.NVML_ERROR_NO_PERMISSION: "no_permission",
            binding.NVML_ERROR_FUNCTION_NOT_FOUND: "old_driver",
            binding.NVML_ERROR_GPU_IS_LOST: "lost",
            binding.NVML_ERROR_TIMEOUT: "timeout",
        }
        self._absent = {
            binding.NVML_ERROR_NOT_SUPPORTED,
            binding.NVML_ERROR_NOT_FOUND,
            binding.NVML_ERROR_INVALID_ARGUMENT,
        }

    def ask(self, what: str, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """The answer, or ``None``; a card without such a thing is no trouble."""
        try:
            return call(*args, **named)
        except self.binding.NVMLError as error:
            code = getattr(error, "value", None)
            if code not in self._absent:
                self.troubles.append(Trouble(f"nvml: {what}", self._reasons.get(code, "failed"), str(error)))
            return None

    def taken(self) -> tuple[Trouble, ...]:
        """The troubles since last asked, each once; a lost card has no other."""
        found, self.troubles = tuple(dict.fromkeys(self.troubles)), []
        lost = [Trouble("nvml", one.reason, one.detail) for one in found if one.reason == "lost"]
        return tuple(lost[:1]) or found


def look(roots: Roots) -> tuple[dict[str, str], list[Card]] | Trouble | None:
    """Driver and CUDA versions and the cards; ``None`` without the library, a :class:`Trouble` when it won't start."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            return None
        reasons = {
            pynvml.NVML_ERROR_NO_PERMISSION: "no_permission",
            pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "no_driver",
            pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "mismatch",
        }
        return Trouble("nvml", reasons.get(error.value, "failed"), str(error))
    try:
        asking = Asking(pynvml)
        count = min(asking.ask("count", pynvml.nvmlDeviceGetCount) or 0, MOST_CARDS)
        handles = [asking.ask("handle", pynvml.nvmlDeviceGetHandleByIndex, at) for at in range(count)]
        told = asking.taken()
        cards = [
            _card(at, handle, asking, roots) if handle is not None else _silent(at, told)
            for at, handle in enumerate(handles)
        ]
        return _versions(asking), _linked(cards, handles, asking)
    finally:
        pynvml.nvmlShutdown()


def _versions(asking: Asking) -> dict[str, str]:
    n = asking.binding
    cuda = asking.ask("cuda", n.nvmlSystemGetCudaDriverVersion_v2)
    return {
        "driver": asking.ask("driver", n.nvmlSystemGetDriverVersion) or "",
        "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "",
    }


def _silent(index: int, troubles: tuple[Trouble, ...]) -> Card:
    return Card(index, "NVIDIA", "NVIDIA GPU", "nvml", troubles=troubles)


def _card(index: int, handle: Any, asking: Asking, roots: Roots) -> Card:
    n, ask = asking.binding, asking.ask
    pci = ask("pci", n.nvmlDeviceGetPciInfo, handle)
    total, used, free, reserved = memory_of(handle, asking)
    capability = ask("capability", n.nvmlDeviceGetCudaComputeCapability, handle)
    power = ask("power", n.nvmlDeviceGetEnforcedPowerLimit, handle)
    ecc = ask("ecc", n.nvmlDeviceGetEccMode, handle)
    mig = ask("mig", n.nvmlDeviceGetMigMode, handle)
    display = ask("display", n.nvmlDeviceGetDisplayActive, handle)
    return Card(
        index=index,
        vendor="NVIDIA",
        name=str(ask("name", n.nvmlDeviceGetName, handle) or "NVIDIA GPU"),
        seen_by="nvml",
        uuid=str(ask("uuid", n.nvmlDeviceGetUUID, handle) or ""),
        pci=_bus(pci),
        total_bytes=total,
        used_bytes=used,
        free_bytes=free,
        reserved_bytes=reserved,
        users=_users(handle, asking, roots),
        capability=f"{capability[0]}.{capability[1]}" if capability else "",
        pcie_gen=ask("pcie", n.nvmlDeviceGetCurrPcieLinkGeneration, handle),
        pcie_lanes=ask("pcie", n.nvmlDeviceGetCurrPcieLinkWidth, handle),
        pcie_gen_max=ask("pcie", n.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        pcie_lanes_max=ask("pcie", n.nvmlDeviceGetMaxPcieLinkWidth, handle),
        links_count=_links(handle, asking),
        power_limit_w=power / 1000 if power else None,
        ecc=bool(ecc[0]) if ecc else None,
        mig=bool(mig[0]) if mig else None,
        slices=_slices(handle, asking) if mig and mig[0] else (),
        display=None if display is None else bool(display),
        troubles=asking.taken(),
    )


def _bus(pci: Any) -> str:
    """``00000000:01:00.0`` as Linux writes it."""
    if pci is None:
        return ""
    text = pci.busId.decode() if isinstance(pci.busId, bytes) else str(pci.busId)
    return text.lower()[-12:]


def memory_of(handle: Any, asking: Asking) -> tuple[float | None, float | None, float | None, float | None]:
    """Total, used, free and reserved bytes of a card or slice; older drivers count what they reserve as used."""
    n = asking.binding
    before = len(asking.troubles)
    found = asking.ask("memory", n.nvmlDeviceGetMemoryInfo, handle, version=n.nvmlMemory_v2)
    if found is not None and found.total:
        return float(found.total), float(found.used), float(found.free), float(found.reserved)
    if any(one.reason == "old_driver" for one in asking.troubles[before:]):
        del asking.troubles[before:]
    found = asking.ask("memory", n.nvmlDeviceGetMemoryInfo, handle)
    if found is None or not found.total:
        return None, None, None, None
    return float(found.total), float(found.used), float(found.free), None


def _users(handle: Any, asking: Asking, roots: Roots) -> tuple[User, ...] | None:
    """Who holds memory, most first; ``None`` when the driver doesn't say."""
    n = asking.binding
    computing = _processes("ComputeRunningProcesses", handle, asking)
    drawing = _processes("GraphicsRunningProcesses", handle, asking)
    if computing is None and drawing is None:
        return None
    found: dict[int, User] = {}
    for one, graphics in [*((p, False) for p in computing or ()), *((p, True) for p in drawing or ())]:
        before = found.get(one.pid)
        if before is None:
            name = line_of(roots.file("proc", str(one.pid), "comm"))
            name = asking.ask("process", n.nvmlSystemGetProcessName, one.pid) or name
            found[one.pid] = User(one.pid, _short(str(name)), _held(one), graphics)
        else:
            found[one.pid] = replace(before, used_bytes=max(before.used_bytes or 0.0, _held(one) or 0.0))
    asking.troubles[:] = [one for one in asking.troubles if one.probe != "nvml: process"]
    return tuple(sorted(found.values(), key=lambda one: -(one.used_bytes or 0.0)))


def _processes(kind: str, handle: Any, asking: Asking) -> list[Any] | None:
    """Processes by the newest call this driver has."""
    n, before = asking.binding, len(asking.troubles)
    for call in (f"nvmlDeviceGet{kind}_v3", f"nvmlDeviceGet{kind}_v2"):
        found: list[Any] | None = asking.ask("processes", getattr(n, call), handle)
        if found is not None:
            del asking.troubles[before:]
            return found
        if not any(one.reason == "old_driver" for one in asking.troubles[before:]):
            break
    return None


def _held(process: Any) -> float | None:
    return None if process.usedGpuMemory is None else float(process.usedGpuMemory)


def _short(name: str) -> str:
    """A program's name without its folder and arguments."""
    return (name.split(" ")[0].replace("\\", "/").rsplit("/", 1)[-1] or name or "?")[:40]


def _links(handle: Any, asking: Asking) -> int:
    """Active NVLinks of one card."""
    n, active = asking.binding, 0
    for link in range(MOST_LINKS):
        state = asking.ask("nvlink", n.nvmlDeviceGetNvLinkState, handle, link)
        if state is None:
            break
        active += bool(state)
    return active


def _linked(cards: list[Card], handles: list[Any], asking: Asking) -> list[Card]:
    """The cards, each with the others it reaches over NVLink."""
    n = asking.binding
    peers: dict[int, set[int]] = {at: set() for at in range(len(cards))}
    linked = [at for at, card in enumerate(cards) if card.links_count]
    for at in linked:
        for other in linked[linked.index(at) + 1 :]:
            status = asking.ask(
                "links", n.nvmlDeviceGetP2PStatus, handles[at], handles[other], n.NVML_P2P_CAPS_INDEX_NVLINK
            )
            if status == n.NVML_P2P_STATUS_OK:
                peers[at].add(other)
                peers[other].add(at)
    return [
        replace(card, link_kind="nvlink" if peers[at] else "", peers=tuple(sorted(peers[at])))
        for at, card in enumerate(cards)
    ]


def _slices(handle: Any, asking: Asking) -> tuple[Slice, ...]:
    """The MIG instances of one card."""
    n = asking.binding
    most = asking.ask("mig", n.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    found = []
    for at in range(min(most, MOST_SLICES)):
        one = asking.ask("mig", n.nvmlDeviceGetMigDeviceHandleByIndex, handle, at)
        if one is None:
            continue
        total, used, free, _ = memory_of(one, asking)
        name = str(asking.ask("mig name", n.nvmlDeviceGetName, one) or "")
        uuid = str(asking.ask("mig uuid", n.nvmlDeviceGetUUID, one) or "")
        profile = name.rpartition("MIG ")[2].strip().lower() if "MIG " in name else ""
        found.append(Slice(profile, uuid, total, used, free))
    return tuple(found)
