"""Apple silicon through ``sysctl`` and ``system_profiler``: one processor, one memory, and a limit to what is wired."""

from __future__ import annotations

import re
from typing import Any

from cabida.evidence.machine.nouns import Card, Roots, Trouble
from cabida.evidence.machine.probing import command, json_of, number_of

# Metal's recommendedMaxWorkingSetSize as llama.cpp prints it: two thirds of a small memory, three quarters of a large
LARGE_BYTES, SMALL_RATIO, LARGE_RATIO = 36 * 2**30, 2 / 3, 0.75
MIB = 2.0**20


def look(roots: Roots) -> tuple[dict[str, str], list[Card]] | Trouble | None:
    """The chip as a card whose memory is what Metal may wire; ``None`` on another system."""
    if roots.platform != "darwin":
        return None
    told = json_of(("system_profiler", "SPDisplaysDataType", "-json"), roots)
    said = settings(roots)
    rows = told.get("SPDisplaysDataType") if isinstance(told, dict) else None
    chips = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if not chips and "Apple" in said.get("machdep.cpu.brand_string", ""):
        chips = [{"sppci_model": said["machdep.cpu.brand_string"]}]
    if not chips:
        return told if isinstance(told, Trouble) else None
    return {}, [_card(at, row, said) for at, row in enumerate(chips)]


def settings(roots: Roots) -> dict[str, str]:
    """Memory, name of the processor and limit of wired memory, as ``sysctl`` prints them."""
    names = ("hw.memsize", "hw.ncpu", "machdep.cpu.brand_string", "iogpu.wired_limit_mb")
    found: dict[str, str] = {}
    for name in names:  # one by one: a name this system doesn't know fails the whole
        told = command(("sysctl", name), roots)
        if isinstance(told, str) and ":" in told:
            found[name] = told.partition(":")[2].strip()
    return found


def _card(index: int, row: dict[str, Any], said: dict[str, str]) -> Card:
    name = str(row.get("sppci_model") or row.get("_name") or "GPU")
    apple = name.startswith("Apple")
    total = _wired(said) if apple else _printed(str(row.get("spdisplays_vram", "")))
    vendor = "Apple" if apple else next((one for one in ("AMD", "NVIDIA", "Intel") if one in name), "")
    return Card(
        index=index,
        vendor=vendor,
        name=name,
        seen_by="system_profiler",
        total_bytes=total,
        display=bool(row.get("spdisplays_ndrvs")),
        integrated=vendor == "Intel",
        unified=apple,
        troubles=() if total else (Trouble("sysctl: memory", "unreadable"),),
    )


def _wired(said: dict[str, str]) -> float | None:
    """What Metal may hold: the limit when one was set, else the usual share of all memory."""
    limit = number_of(said.get("iogpu.wired_limit_mb", ""))
    if limit:
        return limit * MIB
    whole = number_of(said.get("hw.memsize", ""))
    if not whole:
        return None
    return whole * (LARGE_RATIO if whole >= LARGE_BYTES else SMALL_RATIO)


def _printed(text: str) -> float | None:
    """``8 GB`` in bytes."""
    found = re.match(r"\s*([\d.]+)\s*(GB|MB)", text)
    return float(found[1]) * (2.0**30 if found[2] == "GB" else MIB) if found else None
