"""AMD cards through the amdgpu driver's files, with ``amd-smi`` or ``rocm-smi`` for a name the files don't give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cabida.evidence.machine import sysfs
from cabida.evidence.machine.nouns import Card, Roots, Trouble, User
from cabida.evidence.machine.probing import json_of, line_of, number_of

# chips with the graphics on the processor ("APU" in LLVM's AMDGPU usage guide); those of UNIFIED are meant to compute
INTEGRATED = ("gfx801", "gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103",
              "gfx1150", "gfx1152", "gfx1153")  # fmt: skip
UNIFIED = ("gfx1151",)
LEAST_OF_ITS_OWN_BYTES = 2.5 * 2**30  # a carve-out of host memory is usually 0.5 or 2 GiB
XGMI = 11  # type of an input-output link in the kernel's topology


def look(roots: Roots) -> tuple[dict[str, str], list[Card]] | None:
    """ROCm version and the cards; ``None`` without an AMD card."""
    found = [(number, device) for number, device, maker in sysfs.devices(roots) if maker == "AMD"]
    if not found:
        return None
    nodes = _topology(roots)
    holders = _holders(roots)
    cards = [_card(at, device, nodes, holders) for at, (_, device) in enumerate(found)]
    if any(card.name.startswith("AMD GPU") and not card.integrated for card in cards):
        cards = _named(cards, roots)
    version = line_of(roots.file("opt", "rocm", ".info", "version")).partition("-")[0]
    return {"rocm": version}, cards


def _card(
    index: int, device: Path, nodes: dict[str, dict[str, Any]], holders: dict[str, list[User]] | None
) -> Card:
    total = number_of(line_of(device / "mem_info_vram_total"))
    used = number_of(line_of(device / "mem_info_vram_used"))
    pci = sysfs.address(device)
    node = nodes.get(pci, {})
    chip = node.get("chip", "")
    small = total is not None and total < LEAST_OF_ITS_OWN_BYTES
    id = sysfs.pci_id(device)
    troubles = [] if total else [Trouble("amdgpu: memory", "unreadable")]
    if chip in UNIFIED and total is not None:  # what the driver may map beside its carve-out
        total += number_of(line_of(device / "mem_info_gtt_total")) or 0.0
        used = (used or 0.0) + (number_of(line_of(device / "mem_info_gtt_used")) or 0.0)
    return Card(
        index=index,
        vendor="AMD",
        name=line_of(device / "product_name") or f"AMD GPU {id}".strip(),
        seen_by="sysfs",
        uuid=line_of(device / "unique_id"),
        pci=pci,
        pci_id=id,
        total_bytes=total or None,
        used_bytes=used,
        free_bytes=total - used if total and used is not None else None,
        users=None if holders is None else tuple(holders.get(str(node.get("id", "")), ())),
        capability=chip,
        **sysfs.bus(device),
        link_kind="xgmi" if node.get("links") else "",
        links_count=node.get("links", 0),
        power_limit_w=sysfs.power_limit_w(device),
        display=sysfs.display(device),
        integrated=chip not in UNIFIED and (chip in INTEGRATED or small),
        unified=chip in UNIFIED,
        troubles=tuple(troubles),
    )


def _topology(roots: Roots) -> dict[str, dict[str, Any]]:
    """Chip and number of XGMI links by bus address, from the kernel's compute topology."""
    found: dict[str, dict[str, Any]] = {}
    folder = roots.file("sys", "class", "kfd", "kfd", "topology", "nodes")
    try:
        nodes = sorted(folder.iterdir())
    except OSError:
        return found
    for node in nodes:
        said = _properties(node / "properties")
        version, place = int(said.get("gfx_target_version", 0)), int(said.get("location_id", 0))
        if not version:
            continue
        pci = f"{int(said.get('domain', 0)):04x}:{place >> 8:02x}:{place >> 3 & 31:02x}.{place & 7:x}"
        links = sum(_properties(one).get("type") == XGMI for one in node.glob("io_links/*/properties"))
        found[pci] = {"chip": chip_of(version), "links": links, "id": line_of(node / "gpu_id")}
    return found


def _holders(roots: Roots) -> dict[str, list[User]] | None:
    """Who computes on each card, by the driver's number of it, most first; ``None`` where that is not readable."""
    found: dict[str, list[User]] = {}
    try:
        folders = [
            one for one in roots.file("sys", "class", "kfd", "kfd", "proc").iterdir() if one.name.isdigit()
        ]
    except OSError:
        return None
    for folder in folders:
        name = line_of(roots.file("proc", folder.name, "comm")) or "?"
        for path in folder.glob("vram_*"):
            if size := number_of(line_of(path)):
                found.setdefault(path.name.removeprefix("vram_"), []).append(
                    User(int(folder.name), name, size)
                )
    return {card: sorted(users, key=lambda one: -(one.used_bytes or 0.0)) for card, users in found.items()}


def chip_of(version: int) -> str:
    """``90402`` as gfx942: major, minor and stepping, the last two in hexadecimal."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _properties(path: Path) -> dict[str, float]:
    try:
        with path.open("rb") as stream:
            text = stream.read(16384).decode("utf-8", "replace")
    except OSError:
        return {}
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: value for pair in pairs if len(pair) == 2 and (value := number_of(pair[1])) is not None}


def _named(cards: list[Card], roots: Roots) -> list[Card]:
    """The cards under the names the tools print, by bus address; as they were where no tool answers."""
    from dataclasses import replace

    names: dict[str, str] = {}
    told = json_of(("rocm-smi", "--showproductname", "--showbus", "--json"), roots)
    for one in told.values() if isinstance(told, dict) else ():
        if isinstance(one, dict):
            name = next((one[key] for key in ("Card Series", "Card series") if one.get(key)), "")
            names[str(one.get("PCI Bus", "")).lower()] = str(name)
    return [replace(card, name=names.get(card.pci) or card.name) for card in cards]
