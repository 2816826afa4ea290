"""A PC or a rack as a parts file tells it; ``None`` = not said. ``at`` finds the line of each thing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cabida.checks.physical import Machine
from cabida.facts.model import Accelerator, Node

PROCESSOR_W = 150.0  # a desktop processor under load, when nobody says
NORTH_AMERICA = ("US", "CA", "MX")


@dataclass(frozen=True, slots=True)
class PartCard:
    """Cards of one kind. Slots, length, power and noise of the very card where they differ from the reference one.

    Attributes:
        condition: new, used or refurbished.
        price_money: of one, in ``currency``.
        mined: whether it mined currency; noise_db: dB(A) of one, under load.
    """

    accelerator: Accelerator
    count: int = 1
    slots: float | None = None
    length_mm: float | None = None
    power_w: float | None = None
    noise_db: float | None = None
    condition: str = "new"
    bought: str = ""
    price_money: float | None = None
    currency: str = ""
    warranty_months: float | None = None
    mined: bool | None = None
    path: str = ""

    @property
    def drawn_w(self) -> float | None:
        """What one draws: as said, else as rated."""
        return self.power_w if self.power_w is not None else self.accelerator.tdp_w


@dataclass(frozen=True, slots=True)
class Supply:
    """A power supply. ``rail_a``: of its largest 12 V rail; ``pigtails``: two heads of one cable are used."""

    power_w: float | None = None
    atx: float | None = None
    plugs: tuple[str, ...] = ()
    rail_a: float | None = None
    pigtails: bool | None = None
    efficiency_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """A motherboard: lanes of each slot, in order; slots' widths from each to the next."""

    lanes: tuple[int, ...] = ()
    generation: int | None = None
    spacing: tuple[float, ...] = ()
    bifurcation: bool | None = None
    resizable_bar: bool | None = None
    processor_lanes_count: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where it stands: circuit, uninterruptible supply and room."""

    volts: float | None = None
    amps: float | None = None
    country: str = ""
    other_w: float = 0.0  # what else hangs on the circuit
    ups_va: float | None = None
    ups_w: float | None = None
    cooling_w: float | None = None
    noise_db: float | None = None

    @property
    def american(self) -> bool:
        """Whether the 80 % rule for continuous loads is law there."""
        return self.country in NORTH_AMERICA or (not self.country and (self.volts or 230.0) < 150)


@dataclass(frozen=True, slots=True)
class RackNode:
    """Machines of one kind in a rack, with what the file says of them."""

    name: str
    accelerator: Accelerator | None
    accelerators_count: int
    node: Node | None = None
    count: int = 1
    power_w: float | None = None
    units_count: float | None = None
    weight_kg: float | None = None
    cooling: str = ""
    supplies_count: int | None = None
    supply_w: float | None = None
    ports_count: int | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Rack:
    """One rack: what it takes, what feeds and cools it, what it stands on."""

    units_count: float | None = None
    power_w: float | None = None
    feeds_count: int | None = None
    feed_w: float | None = None
    feed_volts: float | None = None
    feed_amps: float | None = None
    feed_phases_count: int = 1
    redundancy: str = ""  # none, n+1, 2n
    cooling: str = ""
    weight_kg: float | None = None
    load_limit_kg: float | None = None
    floor_kg_per_m2: float | None = None
    area_m2: float | None = None
    ports_count: int | None = None


@dataclass(frozen=True, slots=True)
class Build:
    """Everything a parts file says."""

    cards: tuple[PartCard, ...] = ()
    supply: Supply = Supply()
    case_slots_count: int | None = None
    case_length_mm: float | None = None
    airflow: str = ""  # desktop, server, open
    board: Board = Board()
    processor_w: float | None = None
    rest_w: float = 150.0
    place: Place = Place()
    nodes: tuple[RackNode, ...] = ()
    rack: Rack | None = None
    horizon_months: float | None = None
    file: str = ""
    where: dict[str, int] = field(default_factory=dict)

    def at(self, path: str) -> str:
        """``FILE:LINE`` of ``path``, or of the nearest part of it that the file has; "" when nothing of it is there."""
        while path:
            if path in self.where:
                return f"{self.file}:{self.where[path]}"
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return ""

    @property
    def each(self) -> Iterator[PartCard]:
        """Every card, one by one."""
        return (card for card in self.cards for _ in range(card.count))

    @property
    def drawn_w(self) -> float:
        """All of it, at full load."""
        cards = sum(card.drawn_w or 0.0 for card in self.each)
        return cards + (PROCESSOR_W if self.processor_w is None else self.processor_w) + self.rest_w

    @property
    def machine(self) -> Machine:
        """The same as the rules for cards in a machine take it."""
        atx = self.supply.atx
        sixteen = any(plug in ("12vhpwr", "12v-2x6", "16-pin") for plug in self.supply.plugs)
        return Machine(
            supply_w=self.supply.power_w,
            atx3=atx is None or atx >= 3,
            processor_w=PROCESSOR_W if self.processor_w is None else self.processor_w,
            slots_count=self.case_slots_count,
            length_mm=self.case_length_mm,
            plugs=self.supply.plugs,
            pcie_gen=self.board.generation,
            server_airflow=self.airflow == "server",
            spikes_tested=atx is not None and atx >= 3 and sixteen,
            rest_w=self.rest_w,
        )
