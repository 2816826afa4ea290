"""Room on the board and in the case: slots, spacing, lanes, bifurcation, the card's own size, air, resizable BAR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cabida.checks.build import Build, PartCard
from cabida.checks.sentences import caution
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import number, percent

LANE_BYTES_PER_S = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}  # one way, one lane
PARTNER_MM = 40.0  # by how much makers' own cards outgrow the reference one, at the least to leave


@formula
def slot_bytes_per_s(lane_bytes_per_s: float, lanes_count: float) -> float:
    """One way through a slot: PCI-SIG's rate per lane after its encoding, times its lanes."""
    return lane_bytes_per_s * lanes_count


def _width(card: PartCard) -> float | None:
    if card.slots is not None:
        return card.slots
    said = card.accelerator.physical.get("slots", "")
    return float(said) if said.replace(".", "", 1).isdecimal() else None


def too_few_slots(build: Build) -> Iterator[Caution]:
    """More cards than the board has slots for."""
    cards = len(list(build.each))
    slots = len(build.board.lanes)
    if slots and cards > slots and build.board.bifurcation is not False:
        severity = "warning" if build.board.bifurcation else "blocking"
        yield caution("CB-K160", severity, where=build.at("board.lanes"), cards=cards, slots=slots)


def spacing(build: Build) -> Iterator[Caution]:
    """A card that covers the slot of the next one."""
    cards = list(build.each)
    for index, (card, free) in enumerate(zip(cards[:-1], build.board.spacing, strict=False)):
        width = _width(card)
        if width is not None and width > free:
            values = {"name": card.accelerator.name, "width": number(width), "free": number(free)}
            yield caution("CB-K161", "blocking", where=build.at("board.spacing"), slot=index + 1, **values)


def lanes(build: Build) -> Iterator[Caution]:
    """Slots with fewer lanes than the card in them has."""
    told: set[tuple[str, int]] = set()
    generation = build.board.generation
    for card, given in zip(build.each, build.board.lanes, strict=False):
        wanted = card.accelerator.pcie_lanes or 16
        speaks = card.accelerator.pcie_gen
        if given >= wanted or (card.accelerator.id, given) in told:
            continue
        told.add((card.accelerator.id, given))
        speed = min(one for one in (generation or speaks or 4, speaks or generation or 4))
        rate = slot_bytes_per_s.raw(LANE_BYTES_PER_S.get(speed, 1.969e9), given)
        values: dict[str, Any] = {
            "name": card.accelerator.name,
            "given": given,
            "wanted": wanted,
            "generation": speed,
        }
        yield caution(
            "CB-K162",
            where=build.at("board.lanes"),
            rate=number(rate / 1e9, 2),
            share=percent(given / wanted),
            **values,
        )


def processor_lanes(build: Build) -> Iterator[Caution]:
    """More lanes on the slots than the processor has."""
    have = build.board.processor_lanes_count
    used = sum(
        min(given, card.accelerator.pcie_lanes or 16)
        for card, given in zip(build.each, build.board.lanes, strict=False)
    )
    if have is not None and used > have:
        yield caution("CB-K163", where=build.at("cpu.lanes"), used=used, have=have)


def split_slots(build: Build) -> Iterator[Caution]:
    """More cards than slots, on a board that can't split one."""
    cards, slots = len(list(build.each)), len(build.board.lanes)
    if slots and cards > slots and build.board.bifurcation is False:
        yield caution("CB-K164", "blocking", where=build.at("board.bifurcation"), cards=cards, slots=slots)


def makers_own(build: Build) -> Iterator[Caution]:
    """Reference sizes of cards that makers sell longer and thicker."""
    if build.case_length_mm is None:
        return
    for card in build.cards:
        length = card.accelerator.physical.get("length_mm", "")
        if card.length_mm is not None or card.accelerator.segment != "consumer" or not length:
            continue
        left = build.case_length_mm - float(length)
        if 0 <= left < PARTNER_MM:
            values = {"name": card.accelerator.name, "length": length, "left": number(left)}
            yield caution("CB-K165", where=build.at(f"{card.path}.card"), **values)


def own_size(build: Build) -> Iterator[Caution]:
    """The very card's length and width against the case."""
    for card in build.cards:
        limit = build.case_length_mm
        if card.length_mm is not None and limit is not None and card.length_mm > limit:
            values = {"name": card.accelerator.name, "length": number(card.length_mm), "have": number(limit)}
            yield caution("CB-K042", "blocking", where=build.at(f"{card.path}.length"), **values)
    widths = [_width(card) for card in build.each]
    have = build.case_slots_count
    said = any(card.slots is not None for card in build.cards)
    if said and have is not None and all(width is not None for width in widths):
        needed = sum(width or 0.0 for width in widths)
        if needed > have:
            yield caution(
                "CB-K041", "blocking", where=build.at("case.slots"), needed=number(needed), have=have
            )


def open_cards_side_by_side(build: Build) -> Iterator[Caution]:
    """Cards that blow their heat into the case, one against the other."""
    cards = [card for card in build.each if card.accelerator.segment == "consumer"]
    widths = [_width(card) for card in cards]
    have = build.case_slots_count
    if len(cards) < 2 or have is None or build.airflow == "open" or not all(widths):
        return
    free = have - sum(width or 0.0 for width in widths)
    if 0 <= free < len(cards) - 1:
        yield caution("CB-K166", where=build.at("case.slots"), count=len(cards), free=number(free))


def resizable_bar(build: Build) -> Iterator[Caution]:
    """A board without resizable BAR, under cards that need it."""
    if build.board.resizable_bar is not False:
        return
    where = build.at("board.resizable_bar")
    for card in build.cards:
        if card.accelerator.vendor == "Intel":
            yield caution("CB-K167", where=where, name=card.accelerator.name)
        elif card.accelerator.segment == "consumer" and len(list(build.each)) > 1:
            yield caution("CB-K168", "info", where=where, name=card.accelerator.name)


SPACE_RULES = (
    too_few_slots,
    spacing,
    lanes,
    processor_lanes,
    split_slots,
    makers_own,
    own_size,
    open_cards_side_by_side,
    resizable_bar,
)
