"""What to know before paying: the largest model the cards hold, what they need around them, what they will bring."""

from __future__ import annotations

from collections.abc import Iterator

from cabida.checks.build import Build
from cabida.checks.physical import BTU_PER_W, heat_btu, supply_w
from cabida.checks.physical_room import drawn_at_the_wall_w
from cabida.checks.sentences import caution
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import number, size
from cabida.units import BITS_PER_BYTE

ROOM_RATIO = 0.8  # of the memory for weights; the rest for context, activations and the engine
FOUR_BIT = 4.5  # bits of a weight in four-bit formats, scales included
SIXTEEN_BIT = 16.0


@formula
def largest_params_count(
    usable_bytes: float, weights_ratio: float, weight_bits: float, bits_per_byte: float
) -> float:
    """Parameters whose weights fit in a share of the memory: bits of memory over bits of one weight."""
    return usable_bytes * weights_ratio * bits_per_byte / weight_bits


def before_buying(build: Build) -> Iterator[Caution]:
    """In one line each: memory and models; supply, draw and heat."""
    cards = list(build.each)
    if not cards:
        return
    usable = sum(card.accelerator.usable_bytes for card in cards)
    billions = {
        name: number(largest_params_count.raw(usable, ROOM_RATIO, bits, BITS_PER_BYTE) / 1e9, 2)
        for name, bits in (("four", FOUR_BIT), ("sixteen", SIXTEEN_BIT))
    }
    yield caution("CB-K375", "info", memory=size(usable), **billions)
    drawn = drawn_at_the_wall_w(build)
    processor = build.machine.processor_w
    needed = supply_w(
        [card.drawn_w or 0.0 for card in cards],
        processor,
        atx3=build.machine.atx3,
        rest_w=build.rest_w,
    )
    counts: dict[str, int] = {}
    for card in cards:
        counts[card.accelerator.name] = counts.get(card.accelerator.name, 0) + 1
    listed = ", ".join(f"{count}x {name}" for name, count in counts.items())
    btu = number(heat_btu.raw(drawn, BTU_PER_W))
    yield caution("CB-K376", "info", cards=listed, supply=number(needed), drawn=number(drawn), btu=btu)
