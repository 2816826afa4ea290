"""A parts file: a PC or a rack as YAML with known keys. Every fault at once, each with its line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cabida import facts
from cabida.brief import kinds
from cabida.brief.kinds import Kind, number, word
from cabida.brief.lines import Said, read_lines, read_text
from cabida.brief.schema import schema_of
from cabida.brief.shapes import Group, Listing, OneOf, Table, Walk, walk
from cabida.checks.build import Board, Build, PartCard, Place, Rack, RackNode, Supply
from cabida.errors import InvalidInput
from cabida.facts.hardware import find_accelerator
from cabida.text import closest, problem, tr

BTU_PER_W = 3.412
Plain = dict[str, Any]
PLUGS = ("6-pin", "8-pin", "12-pin", "16-pin", "12vhpwr", "12v-2x6", "8-pin-eps", "4-pin-eps")


def _measure(name: str, unit: str, high: float, low: float = 0.0) -> Kind:
    return number(name, "count", low=low, high=high, above=low == 0.0, suffix=rf"\s*(?:{unit})$")


LENGTH_MM = _measure("millimetres", "mm", 5000)
VOLTS = _measure("volts", "V", 1000)
AMPS = _measure("amps", "A", 4000)
VA = _measure("volt_amperes", "VA", 1e7)
DECIBELS = _measure("decibels", r"dB(?:\s*\(?A\)?)?", 140)
KILOGRAMS = _measure("kilograms", "kg", 1e5)
LOAD = _measure("floor_load", r"kg\s*/\s*m(?:2|²)", 1e5)
AREA = _measure("square_metres", "m(?:2|²)", 1000)
SLOTS = _measure("slots", "slots?|ranuras?", 64)
UNITS = _measure("rack_units", "U|RU", 100)
ATX = _measure("atx", "ATX", 4, low=1)
GENERATION = _measure("generation", "gen", 9)
LANES = number("whole", "count", low=1, high=256, whole=True, suffix=r"^\s*x")


def _heat(said: str) -> float:
    """Watts, or BTU per hour, as air conditioners are sold."""
    text = said.strip()
    for ending in ("BTU/h", "BTU"):
        if text.lower().endswith(ending.lower()):
            return float(kinds.AMOUNT.read(text[: -len(ending)].strip())) / BTU_PER_W
    return float(kinds.POWER.read(text))


HEAT = Kind("heat", _heat, {"type": "string"})


def _one(kind: Kind) -> OneOf:
    return OneOf(scalar=kind)


def _list(kind: Kind) -> OneOf:
    return OneOf(sequence=Listing(_one(kind), longest=64), spread=True)


CARD = OneOf(
    mapping=Group(
        "parts_card",
        {
            "card": _one(kinds.text("accelerator", longest=80)),
            "count": _one(number("whole", "count", low=1, high=64, whole=True)),
            "slots": _one(SLOTS),
            "length": _one(LENGTH_MM),
            "power": _one(kinds.POWER),
            "noise": _one(DECIBELS),
            "condition": _one(word("new", "used", "refurbished")),
            "bought": _one(kinds.DATE),
            "price": _one(kinds.money()),
            "warranty": _one(kinds.MONTHS),
            "mined": _one(kinds.FLAG),
        },
        required=("card",),
    )
)
FEED = Group(
    "parts_feeds",
    {
        "count": _one(number("whole", "count", low=1, high=16, whole=True)),
        "power": _one(kinds.POWER),
        "volts": _one(VOLTS),
        "amps": _one(AMPS),
        "phases": _one(number("whole", "count", low=1, high=3, whole=True)),
    },
)
NODE = OneOf(
    mapping=Group(
        "parts_node",
        {
            "node": _one(kinds.text("name", longest=80)),
            "accelerator": _one(kinds.text("accelerator", longest=80)),
            "accelerators": _one(number("whole", "count", low=1, high=144, whole=True)),
            "count": _one(number("whole", "count", low=1, high=1000, whole=True)),
            "power": _one(kinds.POWER),
            "units": _one(UNITS),
            "weight": _one(KILOGRAMS),
            "cooling": _one(word("air", "liquid", "immersion")),
            "supplies": OneOf(
                mapping=Group(
                    "parts_supplies",
                    {
                        "count": _one(number("whole", "count", low=1, high=32, whole=True)),
                        "power": _one(kinds.POWER),
                    },
                )
            ),
            "ports": _one(number("whole", "count", low=0, high=200, whole=True)),
        },
    )
)
SECTIONS = {
    "cards": OneOf(sequence=Listing(CARD, longest=64), mapping=CARD.mapping, spread=True),
    "supply": OneOf(
        mapping=Group(
            "parts_supply",
            {
                "power": _one(kinds.POWER),
                "atx": _one(ATX),
                "connectors": OneOf(
                    mapping=Table(word(*PLUGS), _one(number("whole", "count", high=40, whole=True)))
                ),
                "pigtails": _one(kinds.FLAG),
                "rail": _one(AMPS),
                "efficiency": _one(number("share", "ratio", low=0.5, high=1.0)),
            },
        )
    ),
    "case": OneOf(
        mapping=Group(
            "parts_case",
            {
                "slots": _one(SLOTS),
                "length": _one(LENGTH_MM),
                "airflow": _one(word("desktop", "server", "open")),
            },
        )
    ),
    "board": OneOf(
        mapping=Group(
            "parts_board",
            {
                "lanes": _list(LANES),
                "generation": _one(GENERATION),
                "spacing": _list(SLOTS),
                "bifurcation": _one(kinds.FLAG),
                "resizable_bar": _one(kinds.FLAG),
            },
        )
    ),
    "cpu": OneOf(
        mapping=Group(
            "parts_cpu", {"name": _one(kinds.text("name")), "power": _one(kinds.POWER), "lanes": _one(LANES)}
        )
    ),
    "rest": OneOf(mapping=Group("parts_rest", {"power": _one(kinds.POWER)}), scalar=kinds.POWER, shorthand="power"),
    "circuit": OneOf(
        mapping=Group(
            "parts_circuit",
            {
                "volts": _one(VOLTS),
                "amps": _one(AMPS),
                "country": _one(kinds.PLACE),
                "other": _one(kinds.POWER),
            },
        )
    ),
    "ups": OneOf(mapping=Group("parts_ups", {"va": _one(VA), "power": _one(kinds.POWER)})),
    "room": OneOf(mapping=Group("parts_room", {"cooling": _one(HEAT), "noise": _one(DECIBELS)})),
    "nodes": OneOf(sequence=Listing(NODE, longest=64), mapping=NODE.mapping, spread=True),
    "rack": OneOf(
        mapping=Group(
            "parts_rack",
            {
                "units": _one(UNITS),
                "power": _one(kinds.POWER),
                "feeds": OneOf(mapping=FEED),
                "redundancy": _one(word("none", "n+1", "2n")),
                "cooling": _one(word("air", "liquid", "immersion")),
                "weight": _one(KILOGRAMS),
                "load_limit": _one(KILOGRAMS),
                "floor": _one(LOAD),
                "area": _one(AREA),
                "ports": _one(number("whole", "count", low=0, high=5000, whole=True)),
            },
        )
    ),
    "horizon": _one(kinds.MONTHS),
}  # fmt: skip
WHOLE = OneOf(mapping=Group("parts", SECTIONS))


@dataclass(frozen=True, slots=True)
class _Reading:
    plain: Plain
    walk: Walk

    def fault(self, code: str, path: str, **values: object) -> None:
        self.walk.refuse(code, self.walk.where.get(path, 0), path=path, **values)


SCHEMA = Path(__file__).with_name("parts.schema.json")  # for editors


def schema_text() -> str:
    """The JSON Schema of a parts file, as the file keeps it."""
    title = tr("checks.parts_file")
    return json.dumps(schema_of(WHOLE, title[:1].upper() + title[1:]), indent=1, ensure_ascii=False) + "\n"


def is_structured(tree: Said) -> bool:
    """Whether a file is one of sections rather than of words: some of its values are lists or mappings."""
    items = tree.value if isinstance(tree.value, dict) else {}
    return any(isinstance(item.value, dict | list) for item in items.values())


def read_build(path: Path | str) -> Build | None:
    """What a parts file says; ``None`` when it is one of words.

    Raises:
        InvalidInput: it can't be read, or has unknown keys, values out of range, unknown cards or nodes, or names
            neither; with every fault and its line.
    """
    try:
        Path(path).stat()
    except (OSError, ValueError) as error:
        raise InvalidInput(
            problem("CB-K082", file=str(path), why=getattr(error, "strerror", None) or str(error))
        ) from None
    text = read_text(Path(path), str(path))
    try:
        tree, problems = read_lines(text, str(path))
    except InvalidInput:
        if "{" in text or "- " in text:
            raise
        return None
    if not is_structured(tree):
        return None
    into = Walk(str(path), problems=problems, whole=tr("checks.parts_file"))
    reading = _Reading(walk(tree, WHOLE, "", into) or {}, into)
    build = _build(reading)
    if not build.cards and not build.nodes and not into.problems:
        into.problems.append(problem("CB-K083", file=str(path)))
    if into.problems:
        raise InvalidInput(sorted(into.problems, key=lambda one: one.line))
    return build


def _rows(plain: Any) -> list[Plain]:
    return [plain] if isinstance(plain, dict) else list(plain or [])


def _build(reading: _Reading) -> Build:
    plain = reading.plain
    board, cpu, case, circuit, ups, room = (
        plain.get(key) or {} for key in ("board", "cpu", "case", "circuit", "ups", "room")
    )
    cards = [_card(row, f"cards[{i}]", reading) for i, row in enumerate(_rows(plain.get("cards")))]
    nodes = [_node(row, f"nodes[{i}]", reading) for i, row in enumerate(_rows(plain.get("nodes")))]
    rest = (plain.get("rest") or {}).get("power")
    return Build(
        cards=tuple(one for one in cards if one is not None),
        supply=_supply(plain.get("supply") or {}),
        case_slots_count=int(case["slots"]) if "slots" in case else None,
        case_length_mm=case.get("length"),
        airflow=case.get("airflow") or "",
        board=Board(
            lanes=tuple(board.get("lanes") or ()),
            generation=int(board["generation"]) if "generation" in board else None,
            spacing=tuple(board.get("spacing") or ()),
            bifurcation=board.get("bifurcation"),
            resizable_bar=board.get("resizable_bar"),
            processor_lanes_count=cpu.get("lanes"),
        ),
        processor_w=cpu.get("power"),
        rest_w=Build().rest_w if rest is None else rest,
        place=Place(
            volts=circuit.get("volts"),
            amps=circuit.get("amps"),
            country=circuit.get("country") or "",
            other_w=circuit.get("other") or 0.0,
            ups_va=ups.get("va"),
            ups_w=ups.get("power"),
            cooling_w=room.get("cooling"),
            noise_db=room.get("noise"),
        ),
        nodes=tuple(one for one in nodes if one is not None),
        rack=_rack(plain["rack"]) if plain.get("rack") else None,
        horizon_months=plain.get("horizon"),
        file=reading.walk.file,
        where=reading.walk.where,
    )


def _card(row: Plain, path: str, reading: _Reading) -> PartCard | None:
    if "card" not in row:
        return None
    found = find_accelerator(row["card"])
    if found is None:
        reading.fault("CB-B028", f"{path}.card", name=row["card"], cure=_nearest(row["card"]))
        return None
    money = row.get("price")
    return PartCard(
        accelerator=found,
        count=row.get("count") or 1,
        slots=row.get("slots"),
        length_mm=row.get("length"),
        power_w=row.get("power"),
        noise_db=row.get("noise"),
        condition=row.get("condition") or "new",
        bought=row.get("bought") or "",
        price_money=money.amount if money else None,
        currency=(money.currency if money else "") or "USD",
        warranty_months=row.get("warranty"),
        mined=row.get("mined"),
        path=path,
    )


def _nearest(name: str) -> str:
    near = closest(name, facts.accelerators()) or next(iter(facts.accelerators()))
    return tr("brief.closest", near=near)


def _supply(plain: Plain) -> Supply:
    plugs = [
        name.replace("-eps", " eps")
        for name, count in (plain.get("connectors") or {}).items()
        for _ in range(count or 0)
    ]
    return Supply(
        power_w=plain.get("power"),
        atx=plain.get("atx"),
        plugs=tuple(plugs),
        rail_a=plain.get("rail"),
        pigtails=plain.get("pigtails"),
        efficiency_ratio=plain.get("efficiency"),
    )


def _node(row: Plain, path: str, reading: _Reading) -> RackNode | None:
    name, card_name = row.get("node") or "", row.get("accelerator") or ""
    node = facts.nodes().get(name)
    if node is None and not card_name:
        near = closest(name, facts.nodes()) or "dgx-h100"
        reading.fault("CB-K084", path, name=name or "-", near=near)
        return None
    card = find_accelerator(card_name or (node.accelerator if node else "-"))
    if card is None:
        cure = _nearest(card_name)
        reading.fault("CB-B028", f"{path}.accelerator", name=card_name, cure=cure)
        return None
    supplies = row.get("supplies") or {}
    return RackNode(
        name=name or card.name,
        accelerator=card,
        accelerators_count=row.get("accelerators") or (node.accelerators_count if node else 8),
        node=node,
        count=row.get("count") or 1,
        power_w=row.get("power"),
        units_count=row.get("units"),
        weight_kg=row.get("weight"),
        cooling=row.get("cooling") or "",
        supplies_count=supplies.get("count"),
        supply_w=supplies.get("power"),
        ports_count=row.get("ports"),
        path=path,
    )


def _rack(plain: Plain) -> Rack:
    feeds = plain.get("feeds") or {}
    return Rack(
        units_count=plain.get("units"),
        power_w=plain.get("power"),
        feeds_count=feeds.get("count"),
        feed_w=feeds.get("power"),
        feed_volts=feeds.get("volts"),
        feed_amps=feeds.get("amps"),
        feed_phases_count=feeds.get("phases") or 1,
        redundancy=plain.get("redundancy") or "",
        cooling=plain.get("cooling") or "",
        weight_kg=plain.get("weight"),
        load_limit_kg=plain.get("load_limit"),
        floor_kg_per_m2=plain.get("floor"),
        area_m2=plain.get("area"),
        ports_count=plain.get("ports"),
    )
