"""Around the machine: the circuit it hangs on, the uninterruptible supply, heat and noise in the room."""

from __future__ import annotations

from collections.abc import Iterator
from math import log10

from cabida.checks.build import Build
from cabida.checks.physical import (
    BTU_PER_W,
    CONTINUOUS_RATIO,
    UPS_FACTOR_RATIO,
    UPS_LABEL_RATIO,
    circuit_w,
    heat_btu,
    ups_va,
)
from cabida.checks.sentences import caution
from cabida.plan import Caution
from cabida.quantity import formula
from cabida.text import number, percent


@formula
def wall_w(load_w: float, efficiency_ratio: float) -> float:
    """What the socket gives for what the parts draw; the difference is the supply's own heat."""
    return load_w / efficiency_ratio


def drawn_at_the_wall_w(build: Build) -> float:
    """At full load; where nobody said how good the supply is, what its load draws, which is the least."""
    return float(wall_w.raw(build.drawn_w, build.supply.efficiency_ratio or 1.0))


def circuit(build: Build) -> Iterator[Caution]:
    """Four fifths of a breaker for what runs all day: law in North America, a margin elsewhere."""
    place = build.place
    if place.volts is None or place.amps is None or not build.cards:
        return
    drawn = drawn_at_the_wall_w(build) + place.other_w
    whole = circuit_w.raw(place.volts, place.amps, 1.0)
    steady = circuit_w.raw(place.volts, place.amps, CONTINUOUS_RATIO)
    values = {"drawn": number(drawn), "volts": number(place.volts), "amps": number(place.amps)}
    values |= {"steady": number(steady), "whole": number(whole)}
    where = build.at("circuit.amps")
    if drawn > whole:
        yield caution("CB-K170", "blocking", where=where, **values)
    elif drawn > steady:
        severity = "blocking" if place.american else "warning"
        yield caution("CB-K171" if place.american else "CB-K172", severity, where=where, **values)


def ups(build: Build) -> Iterator[Caution]:
    """Volt-amperes and watts, both; a unit that says only volt-amperes may give three fifths of them."""
    place = build.place
    if not build.cards or (place.ups_va is None and place.ups_w is None):
        return
    drawn = drawn_at_the_wall_w(build)
    needed = ups_va.raw(drawn, UPS_FACTOR_RATIO)
    if place.ups_va is not None and place.ups_va < needed:
        values = {"have": number(place.ups_va), "needed": number(needed), "drawn": number(drawn)}
        yield caution("CB-K173", where=build.at("ups.va"), **values)
    if place.ups_w is not None and place.ups_w < drawn:
        yield caution("CB-K174", where=build.at("ups.power"), have=number(place.ups_w), drawn=number(drawn))
    label_w = (place.ups_va or 0.0) * UPS_LABEL_RATIO
    if place.ups_w is None and place.ups_va is not None and needed <= place.ups_va and label_w < drawn:
        values = {"have": number(place.ups_va), "given": number(label_w), "drawn": number(drawn)}
        yield caution("CB-K175", where=build.at("ups.va"), share=percent(UPS_LABEL_RATIO), **values)


def heat(build: Build) -> Iterator[Caution]:
    """What leaves the socket heats the room."""
    drawn, cooling = drawn_at_the_wall_w(build), build.place.cooling_w
    if not build.cards or cooling is None or drawn <= cooling:
        return
    values = {"heat": number(drawn), "btu": number(heat_btu.raw(drawn, BTU_PER_W)), "have": number(cooling)}
    yield caution("CB-K176", "blocking", where=build.at("room.cooling"), **values)


def noise(build: Build) -> Iterator[Caution]:
    """Levels add by their power; nobody publishes them for a reference card, so they must be asked for."""
    limit, cards = build.place.noise_db, list(build.each)
    if limit is None or not cards:
        return
    where = build.at("room.noise")
    said = [card.noise_db for card in cards]
    if any(level is None for level in said):
        names = ", ".join(dict.fromkeys(card.accelerator.name for card in cards if card.noise_db is None))
        yield caution("CB-K177", "info", where=where, names=names, limit=number(limit))
        return
    level = 10 * log10(sum(10 ** ((one or 0.0) / 10) for one in said))
    if level > limit:
        yield caution("CB-K178", where=where, level=number(level), limit=number(limit), count=len(cards))


ROOM_RULES = (circuit, ups, heat, noise)
