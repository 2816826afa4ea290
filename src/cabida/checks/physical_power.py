"""Power inside the machine beyond its supply's size: spikes by the ATX tables, rails, cables, adapters, EPS plugs."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from cabida.checks.build import Build, PartCard
from cabida.checks.physical import plugs_of
from cabida.checks.sentences import caution
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import number, percent

# What a card may draw over its rating (PCI-SIG lets 3x for 100 us; an RTX 5090 measured 1.57 under 1 ms, 1.28 for
# 10 ms) and what an ATX 3.x supply must ride over its own (200 %, 180 %, 160 %, 120 %). TweakTown 2022-04-22,
# HotHardware on ATX 3.0 tolerance testing, SlashGear 2025-07-07.
WINDOWS = (("100 µs", 3.0, 2.0), ("1 ms", 1.57, 1.8), ("10 ms", 1.28, 1.6), ("100 ms", 1.0, 1.2))
PLUG_W = 150.0  # an eight-pin plug of PCIe
SLOT_W = 75.0  # from the slot itself
SIXTEEN_W = 600.0  # a 12VHPWR or 12V-2x6 connector, continuously
VOLTS_W_PER_AMPS = 12.0


@formula
def excursion_w(spike_ratio: float, largest_card_w: float, other_w: float) -> float:
    """What a machine draws while its largest card spikes: PCI-SIG's 3x for 100 us; Igor's Lab on the RTX 5090."""
    return spike_ratio * largest_card_w + other_w


@formula
def ridden_w(tolerance_ratio: float, rated_w: float) -> float:
    """What an ATX 3.x supply must ride for a short time: 200 % for 100 us, 180 % for 1 ms, 160 % for 10 ms."""
    return tolerance_ratio * rated_w


@formula
def rail_w(rail_amps: float, rail_w_per_amps: float) -> float:
    """What one 12 V rail gives before its protection trips."""
    return rail_amps * rail_w_per_amps


def spikes(build: Build) -> Iterator[Caution]:
    """The ATX 3.x table, window by window: the first that the supply need not ride."""
    supply, cards = build.supply, [card.drawn_w or 0.0 for card in build.each]
    if supply.power_w is None or supply.atx is None or supply.atx < 3 or not cards:
        return
    largest = max(cards)
    for window, spike, tolerance in WINDOWS:
        drawn = excursion_w.raw(spike, largest, build.drawn_w - largest)
        ridden = ridden_w.raw(tolerance, supply.power_w)
        if drawn > ridden:
            values = {"drawn": number(drawn), "ridden": number(ridden), "tolerance": percent(tolerance, 3)}
            where = build.at("supply.power")
            yield caution("CB-K151", where=where, window=window, spike=number(spike), **values)
            return


def rails(build: Build) -> Iterator[Caution]:
    """A rail that is smaller than the card that hangs on it."""
    if build.supply.rail_a is None:
        return
    given = rail_w.raw(build.supply.rail_a, VOLTS_W_PER_AMPS)
    for card in build.cards:
        by_cable = (card.drawn_w or 0.0) - SLOT_W
        if by_cable > given:
            values = {"name": card.accelerator.name, "drawn": number(by_cable), "given": number(given)}
            yield caution(
                "CB-K152",
                "blocking",
                where=build.at("supply.rail"),
                amps=number(build.supply.rail_a),
                **values,
            )


def pigtails(build: Build) -> Iterator[Caution]:
    """Two heads of one cable in one card."""
    for card in build.cards if build.supply.pigtails else ():
        eights = sum(count for count, plug in plugs_of(card.accelerator) if plug in ("8-pin", "6-pin"))
        sockets = eights or _eights_for(card)
        if sockets > 1:
            where = build.at("supply.pigtails")
            yield caution("CB-K153", where=where, name=card.accelerator.name, count=sockets)


def adapters(build: Build) -> Iterator[Caution]:
    """A sixteen-pin card fed through eight-pin plugs: how many, each on a cable of its own."""
    plugs = build.supply.plugs
    if not plugs:
        return
    natives = sum(plug in ("16-pin", "12vhpwr", "12v-2x6") for plug in plugs)
    spare = sum(plug == "8-pin" for plug in plugs)
    for card in build.each:
        wanted = {plug for _, plug in plugs_of(card.accelerator)}
        if "16-pin" not in wanted:
            spare -= sum(count for count, plug in plugs_of(card.accelerator) if plug == "8-pin")
            continue
        if natives > 0:
            natives -= 1
            continue
        count = _eights_for(card)
        severity = "warning" if spare >= count else "blocking"
        values: dict[str, Any] = {"name": card.accelerator.name, "count": count, "spare": max(0, spare)}
        yield caution(
            "CB-K154",
            severity,
            where=build.at("supply.connectors"),
            drawn=number(card.drawn_w or 0.0),
            **values,
        )
        spare -= count


def _eights_for(card: PartCard) -> int:
    """Eight-pin plugs behind one sixteen-pin socket."""
    if not any(plug == "16-pin" for _, plug in plugs_of(card.accelerator)):
        return 0
    return max(2, ceil(((card.drawn_w or 0.0) - SLOT_W) / PLUG_W))


def beyond_the_plug(build: Build) -> Iterator[Caution]:
    """A card set to draw more than its one sixteen-pin plug carries."""
    for card in build.cards:
        sockets = sum(count for count, plug in plugs_of(card.accelerator) if plug == "16-pin")
        if sockets == 1 and (card.drawn_w or 0.0) > SIXTEEN_W:
            where = build.at(f"{card.path}.power")
            drawn, limit = number(card.drawn_w or 0.0), number(SIXTEEN_W)
            yield caution(
                "CB-K155", "blocking", where=where, name=card.accelerator.name, drawn=drawn, limit=limit
            )


def eps_for_cards(build: Build) -> Iterator[Caution]:
    """Data-centre cards take the processor's kind of plug, and the processor takes one itself."""
    wanted = sum(
        count for card in build.each for count, plug in plugs_of(card.accelerator) if plug == "8-pin eps"
    )
    if not wanted or not build.supply.plugs:
        return
    have = sum(plug == "8-pin eps" for plug in build.supply.plugs)
    if wanted <= have < wanted + 1:
        yield caution("CB-K156", where=build.at("supply.connectors"), wanted=wanted, have=have)


POWER_RULES = (spikes, rails, pigtails, adapters, beyond_the_plug, eps_for_cards)
