"""Whether cards can be fed and housed: power supply, connectors, case. The rules carry their sources."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cabida.checks.sentences import caution
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import number

CPU_W = 150.0  # a desktop processor under load, when the parts list does not say
REST_W = 150.0  # board, memory, disks and fans: Intel's worked example of an ATX 3.0 supply (2022)
ATX2_RATIO = 1.45 / 1.1  # the same PC on an older supply: 1,100 W instead of 750 W in that example
PLUG = r"\d+-pin(?: EPS)?|12VHPWR|12V-2x6"  # a power connector as people write it
ADAPTERS = {"12-pin": 2, "16-pin": 3}  # how many 8-pin plugs of 150 W an adapter joins


CONTINUOUS_RATIO = (
    0.8  # of a breaker, for what runs three hours and more: NEC 210.19(A), 210.20(A), 125 % of the load
)
UPS_FACTOR_RATIO = (
    0.9  # watts over volt-amperes of supplies that correct theirs: indigipc.com, UPS sizing, 2026
)
UPS_LABEL_RATIO = 0.6  # watts a cheap unit gives for its volt-amperes: sweetwater.com, choosing a UPS
BTU_PER_W = 3.412  # in an hour


@formula
def circuit_w(voltage_w_per_amps: float, circuit_amps: float, continuous_ratio: float) -> float:
    """What a circuit gives all day: NEC 210.20(A) lets a breaker carry four fifths of its rating continuously."""
    return voltage_w_per_amps * circuit_amps * continuous_ratio


@formula
def ups_va(load_w: float, factor_w_per_va: float) -> float:
    """Volt-amperes of an uninterruptible supply for a load in watts."""
    return load_w / factor_w_per_va


@formula
def heat_btu(load_w: float, heat_btu_per_w: float) -> float:
    """All power drawn leaves as heat; air conditioners are sold by BTU (in an hour)."""
    return load_w * heat_btu_per_w


@formula
def steady_supply_w(cards_w: float, processor_w: float, rest_w: float) -> float:
    """Supply for a steady load with a tenth to spare."""
    return 1.1 * (cards_w + processor_w + rest_w)


@formula
def spike_supply_w(largest_card_w: float, other_cards_w: float, processor_w: float, rest_w: float) -> float:
    """Supply that rides one card's spike: an RTX 5090 rated 575 W drew 901 W for under a millisecond (1.57)."""
    return 1.57 * largest_card_w + other_cards_w + processor_w + rest_w


def supply_w(
    cards_w: Sequence[float], processor_w: float = CPU_W, *, atx3: bool = True, rest_w: float = REST_W
) -> float:
    """Smallest supply for these cards: the steady rule (stricter before ATX 3) or the spike rule, the larger."""
    largest = max(cards_w, default=0.0)
    steady = steady_supply_w.raw(sum(cards_w), processor_w, rest_w)
    spike = spike_supply_w.raw(largest, sum(cards_w) - largest, processor_w, rest_w)
    return float(max(steady * (1.0 if atx3 else ATX2_RATIO), spike))


@dataclass(frozen=True, slots=True)
class Machine:
    """A PC as a parts list tells it; ``None`` = not said."""

    supply_w: float | None = None
    atx3: bool = True
    processor_w: float = CPU_W
    slots_count: int | None = None  # width free for cards, in slots
    length_mm: float | None = None  # longest card the case takes
    plugs: tuple[str, ...] = ()  # power connectors the supply brings, by name
    pcie_gen: int | None = None
    server_airflow: bool = False
    spikes_tested: bool = False  # ATX 3.x said, with its 16-pin connector: units without may skip that test
    rest_w: float = REST_W


def housing_problems(cards: Sequence[Accelerator], machine: Machine) -> tuple[Caution, ...]:
    """What keeps these cards from working in this machine (blocking), and what slows them (warning)."""
    found = [
        *_supply(cards, machine),
        *_space(cards, machine),
        *_plugs(cards, machine),
        *_bus(cards, machine),
    ]
    return tuple(found)


def _supply(cards: Sequence[Accelerator], machine: Machine) -> list[Caution]:
    if machine.supply_w is None:
        return []
    drawn = [card.tdp_w or 0.0 for card in cards]
    needed = supply_w(drawn, machine.processor_w, atx3=machine.atx3, rest_w=machine.rest_w)
    if machine.supply_w >= needed:
        return []
    steady = steady_supply_w.raw(sum(drawn), machine.processor_w, machine.rest_w)
    if machine.spikes_tested and machine.supply_w >= steady:
        return [caution("CB-K150", have=number(machine.supply_w), needed=number(needed))]
    return [caution("CB-K040", "blocking", have=number(machine.supply_w), needed=number(needed))]


def _space(cards: Sequence[Accelerator], machine: Machine) -> list[Caution]:
    found = []
    widths = [_figure(card.physical.get("slots", "")) for card in cards]
    if machine.slots_count is not None and all(widths) and sum(w or 0 for w in widths) > machine.slots_count:
        found.append(
            caution(
                "CB-K041", "blocking", needed=number(sum(w or 0 for w in widths)), have=machine.slots_count
            )
        )
    for card in {card.id: card for card in cards}.values():
        length = _figure(card.physical.get("length_mm", ""))
        if machine.length_mm is not None and length and length > machine.length_mm:
            found.append(
                caution(
                    "CB-K042",
                    "blocking",
                    name=card.name,
                    length=number(length),
                    have=number(machine.length_mm),
                )
            )
        if card.segment == "datacenter" and not machine.server_airflow:
            found.append(caution("CB-K043", "blocking", name=card.name))
    return found


def _plugs(cards: Sequence[Accelerator], machine: Machine) -> list[Caution]:
    if not machine.plugs:
        return []
    wanted: dict[str, int] = {}
    for card in cards:
        for count, plug in plugs_of(card):
            wanted[plug] = wanted.get(plug, 0) + count
    have: dict[str, int] = {}
    for name in machine.plugs:
        have[_plug(name)] = have.get(_plug(name), 0) + 1
    spare = have.get("8-pin", 0) - wanted.get("8-pin", 0)
    for plug, each in ADAPTERS.items():
        while spare >= each and have.get(plug, 0) < wanted.get(plug, 0):
            spare, have[plug] = spare - each, have.get(plug, 0) + 1
    return [
        caution("CB-K044", "blocking", plug=plug, needed=count, have=have.get(plug, 0))
        for plug, count in wanted.items()
        if have.get(plug, 0) < count
    ]


def _bus(cards: Sequence[Accelerator], machine: Machine) -> list[Caution]:
    slow = [card for card in cards if machine.pcie_gen and (card.pcie_gen or 0) > machine.pcie_gen]
    return [
        caution(
            "CB-K045", "warning", name=card.name, gen=card.pcie_gen, have=machine.pcie_gen, lanes=card.pcie_lanes or 16,
            share=number(2.0 ** ((machine.pcie_gen or 0) - (card.pcie_gen or 0)), 2),
        )
        for card in {card.id: card for card in slow}.values()
    ]  # fmt: skip


def plugs_of(card: Accelerator) -> list[tuple[int, str]]:
    """Power connectors of a card: ``2x 8-pin`` as [(2, "8-pin")]; a slot-powered card has none."""
    text = card.physical.get("power_connector", card.physical.get("power_connectors", ""))
    return [
        (int(count or 1), _plug(name))
        for count, name in re.findall(rf"(?:(\d)\s*x\s*)?({PLUG})", text, re.IGNORECASE)
    ]


def _plug(name: str) -> str:
    plain = name.lower().strip()
    return "16-pin" if plain in ("12vhpwr", "12v-2x6", "16-pin") else plain


def _figure(text: str) -> float | None:
    found = re.search(r"\d+(?:\.\d+)?", text)
    return float(found.group()) if found else None
