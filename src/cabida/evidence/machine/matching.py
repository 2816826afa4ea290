"""A card that was seen, as an accelerator: ours by name and memory where we know it, else by what was measured."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date

from cabida import facts
from cabida.evidence.machine.nouns import Card, Machine, Slice
from cabida.facts import mig
from cabida.facts.model import Accelerator
from cabida.quantity import Source

NEAR_RATIO = 0.06  # measured over known memory: ECC, carve-outs and driver versions move it by less
CHIP_RATIO = 0.03
LAPTOP = re.compile(r"laptop|mobile|\bmax-?q\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Match:
    """An accelerator with this machine's memory. ``known`` = its speed facts are ours; else only memory is."""

    accelerator: Accelerator
    known: bool
    measured: bool  # whether the memory is this machine's, not the catalogue's


def match(card: Card) -> Match | None:
    """The accelerator a card is, or ``None`` for graphics on the processor and for one whose memory nobody knows."""
    if card.integrated:
        return None
    ours = _ours(card)
    if ours is not None:
        return Match(
            _measured(ours, card.total_bytes, card.seen_by), known=True, measured=card.total_bytes is not None
        )
    return Match(_unknown(card, card.total_bytes), known=False, measured=True) if card.total_bytes else None


def match_slice(card: Card, one: Slice) -> Match | None:
    """The same of a MIG instance."""
    whole = match(card)
    if whole is None:
        return None
    cut = mig.slice_of(facts.accelerators()[whole.accelerator.id], one.profile) if whole.known else None
    if cut is not None:
        return Match(
            _measured(cut, one.total_bytes, card.seen_by), known=True, measured=one.total_bytes is not None
        )
    if not one.total_bytes:
        return None
    name = f"{card.name} MIG {one.profile}".strip()
    return Match(_unknown(replace(card, name=name), one.total_bytes, mig.FORM), known=False, measured=True)


def _ours(card: Card) -> Accelerator | None:
    """The catalogue's accelerator of this name (or device id), else of this chip, with memory that agrees."""
    named = facts.find_accelerator(card.name) or (
        facts.find_accelerator(f"pci {card.pci_id}") if card.pci_id else None
    )
    if named is not None:  # a name we know with another memory is another card: half of an MI250X is no MI210
        return named if card.unified or _is_that(card.total_bytes, named) else None
    if card.vendor != "AMD" or LAPTOP.search(card.name) or not card.capability or not card.total_bytes:
        return None
    alike = [
        one
        for one in facts.accelerators().values()
        if one.vendor == "AMD"
        and one.capability == card.capability
        and _near(card.total_bytes, one.usable_bytes, CHIP_RATIO)
    ]
    return alike[0] if len(alike) == 1 else None


def _is_that(measured: float | None, known: Accelerator) -> bool:
    """Whether memory agrees; with ECC switched off a card shows as much as its label."""
    with_all = measured is not None and known.usable_bytes < measured <= known.label_memory_bytes
    return with_all or _near(measured, known.usable_bytes, NEAR_RATIO)


def _near(measured: float | None, known: float, ratio: float) -> bool:
    return measured is None or abs(measured / known - 1) <= ratio


def _seen(by: str) -> Source:
    return Source(f"this machine, {by}", "", date.today().isoformat(), "measured")


def _measured(ours: Accelerator, total: float | None, by: str) -> Accelerator:
    if total is None:
        return ours
    return replace(ours, usable_bytes=total, field_sources={**ours.field_sources, "usable_bytes": _seen(by)})


def _unknown(card: Card, total: float, form: str = "unknown") -> Accelerator:
    """An accelerator of which only what was measured is known."""
    return Accelerator(
        id=re.sub(r"[^a-z0-9.]+", "-", card.name.lower()).strip("-") or "gpu",
        name=card.name,
        vendor=card.vendor,
        architecture=architecture_of(card) or _chip(card),
        capability=card.capability,
        form_factor="unified" if card.unified else form,
        segment="consumer",
        year=None,
        label_memory_bytes=total,
        usable_bytes=total,
        memory_kind="unknown",
        memory_bytes_per_s=None,
        flop_per_s={},
        matmul_ratio=None,
        l2_bytes=None,
        tdp_w=card.power_limit_w,
        pcie_gen=card.pcie_gen_max,
        pcie_lanes=card.pcie_lanes_max,
        link_kind="none",
        link_bytes_per_s=None,
        link_domain_count=1,
        ecc=card.ecc,
        mig_instances_count=None,
        price_money=None,
        physical={},
        confidence="C",
        notes="",
        source=_seen(card.seen_by),
    )


def _chip(card: Card) -> str:
    """What to call the architecture of a chip nobody listed: ``sm_130``, ``gfx1300``."""
    if card.vendor == "NVIDIA" and card.capability:
        return "sm_" + card.capability.replace(".", "")
    return card.capability or "unknown"


def architecture_of(card: Card) -> str:
    """Key into the software facts by compute capability, gfx name or Apple's chip; "" when none says."""
    apple = re.match(r"Apple (M\d+)", card.name)
    if apple:
        return f"apple-{apple[1].lower()}"
    for name, row in facts.software()["architectures"].items():
        if (
            isinstance(row, dict)
            and card.capability
            and card.capability in [*row.get("cc", ()), *row.get("gfx", ())]
        ):
            return str(name)
    return ""


def processor(machine: Machine) -> Match | None:
    """The processor with the memory that is free now, for llama.cpp; ``None`` when the memory is not readable."""
    free = machine.memory_free_bytes or machine.memory_bytes
    if not free:
        return None
    card = Card(0, "CPU", machine.processor or "CPU", machine.system or "host")
    made = _unknown(card, free)
    return Match(replace(made, id="cpu", architecture="cpu", form_factor="host"), known=False, measured=True)
