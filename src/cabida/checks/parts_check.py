"""Everything there is to say of a parts file: each rule a small function over the build."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date

from cabida.checks.before_buying import before_buying
from cabida.checks.build import Build
from cabida.checks.physical import housing_problems
from cabida.checks.physical_power import POWER_RULES
from cabida.checks.physical_room import ROOM_RULES
from cabida.checks.physical_space import SPACE_RULES
from cabida.checks.racks import RACK_RULES
from cabida.checks.used import used_cards
from cabida.plan import Caution

PLACE_OF = {  # where in the file the rules for any machine look
    "CB-K040": "supply.power",
    "CB-K150": "supply.power",
    "CB-K041": "case.slots",
    "CB-K042": "case.length",
    "CB-K043": "case.airflow",
    "CB-K044": "supply.connectors",
    "CB-K045": "board.generation",
}
RULES: tuple[Callable[[Build], Iterator[Caution]], ...] = (
    *POWER_RULES,
    *SPACE_RULES,
    *ROOM_RULES,
    *RACK_RULES,
)
ORDER = ("blocking", "warning", "info")


def check_build(build: Build, as_of: str = "") -> tuple[Caution, ...]:
    """What blocks first, then what to mind, then what to know; each with its line in the file."""
    found = [*_housed(build), *(one for rule in RULES for one in rule(build))]
    found += [*used_cards(build, as_of or date.today().isoformat()), *before_buying(build)]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: ORDER.index(one.severity)))


def _housed(build: Build) -> Iterator[Caution]:
    """The rules for any machine; cards with sizes or draws of their own are looked at with these."""
    cards = [
        replace(
            card.accelerator, tdp_w=card.drawn_w, physical=_own(card.accelerator.physical, card.length_mm)
        )
        for card in build.each
    ]
    said = any(card.slots is not None for card in build.cards)
    adapters = any(
        plug in ("12vhpwr", "12v-2x6", "16-pin", "8-pin") for plug in build.supply.plugs
    )  # told with their number of plugs by a rule of its own
    for one in housing_problems(cards, build.machine) if cards else ():
        sixteen = one.code == "CB-K044" and "16-pin" in one.sentence
        if (one.code == "CB-K041" and said) or (sixteen and adapters):
            continue
        yield replace(one, where=build.at(PLACE_OF.get(one.code, "cards")))


def _own(physical: dict[str, str], length_mm: float | None) -> dict[str, str]:
    """Without the reference length where the card's own is known: that is looked at on its own line."""
    if length_mm is None:
        return physical
    return {key: value for key, value in physical.items() if key != "length_mm"}
