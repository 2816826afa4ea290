"""A rack of machines: power and what is left when a feed fails, cooling, units, weight, network ports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

from cabida.checks.build import Build, Rack, RackNode
from cabida.checks.physical import BTU_PER_W, CONTINUOUS_RATIO, heat_btu
from cabida.checks.sentences import caution
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import number, tr
from cabida.units import W_PER_KW

AIR_RACK_W = (
    40_800.0  # four DGX H100 of 10.2 kW: NVIDIA's densest air-cooled rack, DGX SuperPOD data centre design
)
TILE_RATIO = (
    1 / 3
)  # of a rack's weight on one tile of a raised floor: IBM, floor construction and floor loading
LIQUID = ("gb200", "gb300")  # racks of them come with liquid cooling only: GB200 NVL72, GB300 NVL72


@dataclass(frozen=True, slots=True)
class Body:
    """A machine as it stands in a rack; ``None`` = not seen."""

    units_count: float | None = None
    weight_kg: float | None = None
    supplies_count: int | None = None
    supply_w: float | None = None
    ports_count: int | None = None
    power_w: float | None = None
    source: str = ""


_H100_GUIDE = "docs.nvidia.com/dgx/dgxh100-user-guide: 8U, 130.45 kg, 6 supplies of 3.3 kW (4+2), 8 ports"
_NVL72 = "tomshardware.com via sg.news.yahoo.com, GTC 2024: 120 kW, 1.36 t"
BODIES = {
    "dgx-h100": Body(8, 130.45, 6, 3300.0, 8, source=_H100_GUIDE),
    "dgx-h200": Body(8, 130.45, 6, 3300.0, 8, source=_H100_GUIDE),
    "dgx-b200": Body(10, 142.4, 6, 3300.0, 8, source="docs.nvidia.com/dgx/dgxb200-user-guide/introduction"),
    "gb200-nvl72-rack": Body(weight_kg=1360.0, ports_count=72, power_w=120e3, source=_NVL72),
}


@formula
def node_power_w(accelerator_w: float, accelerators_count: float, machine_ratio: float) -> float:
    """A machine's most, from its accelerators: 10.2 kW over 8 x 700 W in DGX H100, 14.3 over 8 x 1 kW in DGX B200."""
    return accelerator_w * accelerators_count * machine_ratio


@formula
def feed_w(
    voltage_w_per_amps: float, feed_amps: float, phases_factor_ratio: float, continuous_ratio: float
) -> float:
    """What a feed carries all day: volts between lines, amperes, root of three for three phases, four fifths of it."""
    return voltage_w_per_amps * feed_amps * phases_factor_ratio * continuous_ratio


MACHINE_RATIO = 1.8


def machine_w(node: RackNode) -> float | None:
    """What one machine draws at most: as said, as its facts say, else 1.8 times its accelerators."""
    body = BODIES.get(node.name)
    known = (
        node.node.power_w if node.node and node.accelerators_count == node.node.accelerators_count else None
    )
    if node.power_w is not None or known is not None:
        return node.power_w if node.power_w is not None else known
    if body is not None and body.power_w is not None:
        return body.power_w
    rated = node.accelerator.tdp_w if node.accelerator else None
    return None if rated is None else node_power_w.raw(rated, node.accelerators_count, MACHINE_RATIO)


def rack_w(build: Build) -> float | None:
    """All machines together; ``None`` when one's power is not known."""
    each = [machine_w(node) for node in build.nodes]
    if any(one is None for one in each):
        return None
    return sum((one or 0.0) * node.count for one, node in zip(each, build.nodes, strict=True))


def _of(node: RackNode, name: str) -> float | None:
    """As said, else as seen of this machine."""
    said: float | None = getattr(node, name)
    return said if said is not None else getattr(BODIES.get(node.name, Body()), name)


def total(build: Build, name: str) -> float | None:
    """Units, weight or ports of all machines; ``None`` when one's are not known."""
    each = [(_of(node, name), node.count) for node in build.nodes]
    return None if any(one is None for one, _ in each) else sum((one or 0.0) * count for one, count in each)


def feed_of(rack: Rack) -> float | None:
    """What one feed carries all day."""
    if rack.feed_w is not None:
        return rack.feed_w
    if rack.feed_volts is None or rack.feed_amps is None:
        return None
    phases = sqrt(3) if rack.feed_phases_count == 3 else 1.0
    return float(feed_w.raw(rack.feed_volts, rack.feed_amps, phases, CONTINUOUS_RATIO))


def power(build: Build) -> Iterator[Caution]:
    """The rack's limit, and what its feeds carry with one of them gone."""
    rack, drawn = build.rack, rack_w(build)
    if rack is None or drawn is None:
        return
    if rack.power_w is not None and drawn > rack.power_w:
        where = build.at("rack.power")
        yield caution("CB-K180", "blocking", where=where, drawn=_kw(drawn), have=_kw(rack.power_w))
    each, count = feed_of(rack), rack.feeds_count
    if each is None or count is None:
        return
    where = build.at("rack.feeds")
    if drawn > each * count:
        yield caution("CB-K181", "blocking", where=where, drawn=_kw(drawn), each=_kw(each), count=count)
        return
    left = count / 2 if rack.redundancy == "2n" else count - 1
    if rack.redundancy != "none" and drawn > each * left:
        severity = "blocking" if rack.redundancy else "warning"
        values: dict[str, Any] = {"count": count, "left": _kw(each * left), "asked": rack.redundancy or "n+1"}
        yield caution("CB-K182", severity, where=where, drawn=_kw(drawn), each=_kw(each), **values)


def supplies(build: Build) -> Iterator[Caution]:
    """A machine's own supplies with one of them gone."""
    for node in build.nodes:
        count, each, drawn = _of(node, "supplies_count"), _of(node, "supply_w"), machine_w(node)
        if count is None or each is None or drawn is None:
            continue
        if (count - 1) * each < drawn:
            severity = "blocking" if count * each < drawn else "warning"
            values = {"name": node.name, "count": number(count), "each": _kw(each), "drawn": _kw(drawn)}
            yield caution("CB-K183", severity, where=build.at(f"{node.path}.supplies"), **values)


def needs_liquid(node: RackNode) -> bool:
    """Whether it comes with liquid cooling only."""
    card = node.accelerator
    return node.cooling == "liquid" or (card is not None and (card.id in LIQUID or _liquid(card)))


def _liquid(card: Accelerator) -> bool:
    return "liquid" in card.form_factor.lower()


def cooling(build: Build) -> Iterator[Caution]:
    """Liquid where machines need it, and air where it can still carry the heat away."""
    rack, drawn = build.rack, rack_w(build)
    if rack is None:
        return
    where = build.at("rack.cooling")
    for node in build.nodes:
        if rack.cooling == "air" and (needs_liquid(node) or node.cooling == "immersion"):
            kind = node.cooling or "liquid"
            yield caution(
                "CB-K184", "blocking", where=where, name=node.name, kind=tr(f"checks.cooling.{kind}")
            )
    if rack.cooling == "air" and drawn is not None and drawn > AIR_RACK_W:
        yield caution("CB-K185", where=where, drawn=_kw(drawn), limit=_kw(AIR_RACK_W))
    if rack.cooling == "immersion" and any(node.cooling != "immersion" for node in build.nodes):
        names = ", ".join(node.name for node in build.nodes if node.cooling != "immersion")
        yield caution("CB-K186", where=where, names=names)
    room = build.place.cooling_w
    if drawn is not None and room is not None and drawn > room:
        values = {"heat": number(drawn), "btu": number(heat_btu.raw(drawn, BTU_PER_W)), "have": number(room)}
        yield caution("CB-K176", "blocking", where=build.at("room.cooling"), **values)


def space(build: Build) -> Iterator[Caution]:
    """Rack units and network ports."""
    rack = build.rack
    if rack is None:
        return
    units, ports = total(build, "units_count"), total(build, "ports_count")
    if units is not None and rack.units_count is not None and units > rack.units_count:
        where = build.at("rack.units")
        yield caution("CB-K187", "blocking", where=where, needed=number(units), have=number(rack.units_count))
    if ports is not None and rack.ports_count is not None and ports > rack.ports_count:
        where = build.at("rack.ports")
        yield caution("CB-K188", "blocking", where=where, needed=number(ports), have=rack.ports_count)


def weight(build: Build) -> Iterator[Caution]:
    """What the frame carries, and what the floor under it does."""
    rack, load = build.rack, total(build, "weight_kg")
    if rack is None or load is None:
        return
    if rack.load_limit_kg is not None and load > rack.load_limit_kg:
        where = build.at("rack.load_limit")
        yield caution("CB-K189", "blocking", where=where, load=number(load), have=number(rack.load_limit_kg))
    whole = load + (rack.weight_kg or 0.0)
    if rack.floor_kg_per_m2 is not None and rack.area_m2:
        pressed = whole / rack.area_m2
        if pressed > rack.floor_kg_per_m2:
            values = {"pressed": number(pressed), "have": number(rack.floor_kg_per_m2)}
            values |= {"whole": number(whole), "tile": number(whole * TILE_RATIO)}
            yield caution("CB-K190", "blocking", where=build.at("rack.floor"), **values)


def not_known(build: Build) -> Iterator[Caution]:
    """What nobody said and no source says, so that it was not checked."""
    lacking = [
        f"{node.name}: {tr(f'checks.rack.{key}')}"
        for node in build.nodes
        for key, known in (
            ("power", machine_w(node)),
            ("units", _of(node, "units_count")),
            ("weight", _of(node, "weight_kg")),
            ("supplies", _of(node, "supplies_count")),
            ("ports", _of(node, "ports_count")),
        )
        if known is None
    ]
    if lacking:
        yield caution("CB-K191", "info", where=build.at("nodes"), lacking="; ".join(lacking))


def in_all(build: Build) -> Iterator[Caution]:
    """The rack in one line."""
    if not build.nodes:
        return
    drawn = rack_w(build)
    units, load = total(build, "units_count"), total(build, "weight_kg")
    unknown = tr("checks.rack.unknown")
    values: dict[str, Any] = {
        "machines": sum(node.count for node in build.nodes),
        "accelerators": sum(node.count * node.accelerators_count for node in build.nodes),
        "drawn": f"{_kw(drawn)} kW" if drawn is not None else unknown,
        "btu": number(heat_btu.raw(drawn, BTU_PER_W)) if drawn is not None else unknown,
        "units": number(units) if units is not None else unknown,
        "weight": f"{number(load)} kg" if load is not None else unknown,
    }
    yield caution("CB-K192", "info", where=build.at("nodes"), **values)


def _kw(watts: float) -> str:
    return number(watts / W_PER_KW)


RACK_RULES = (power, supplies, cooling, space, weight, not_known, in_all)
