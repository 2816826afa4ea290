"""Each limit of a machine, a room and a rack: told a step beyond what is worked out by hand, silent at it."""

from dataclasses import replace
from math import ceil

import pytest

from cabida.checks import check_parts
from cabida.checks.build import Board, Build, PartCard, Place, Rack, RackNode, Supply
from cabida.checks.parts import read_parts
from cabida.checks.parts_check import check_build
from cabida.checks.physical import supply_w
from cabida.checks.racks import feed_of, machine_w, rack_w, total
from cabida.checks.used import left_money, used_cards
from cabida.facts.hardware import find_accelerator, nodes

DAY = "2026-11-30"


def card(name, **more):
    return PartCard(find_accelerator(name), **more)


def codes(build):
    return {one.code: one for one in check_build(build, DAY)}


def pc(*cards, **more):
    return Build(cards=cards, airflow="open", processor_w=150.0, rest_w=150.0, **more)


TWO = card("rtx4090", count=2)  # 900 W; 1,200 W with the rest
LIMITS = {  # what is held against a limit, by a value: code, the last value that is fine, the first that is not
    "supply by its steady load": (
        lambda w: pc(card("rtx4090", count=8), supply=Supply(power_w=w)), "CB-K040", 1.1 * 3900, 1.1 * 3900 - 1,
    ),
    "supply by the spike of a card": (lambda w: pc(TWO, supply=Supply(power_w=w)), "CB-K040", 1456.5, 1456.0),
    "supply before ATX 3": (
        lambda w: pc(TWO, supply=Supply(power_w=w, atx=2.4)), "CB-K040", 1320 * 1.45 / 1.1 + 0.1, 1739.0,
    ),
    "spike in the first window": (  # 3 x 575 + 300 over twice the rating
        lambda w: pc(card("rtx5090"), supply=Supply(power_w=w, atx=3.1)), "CB-K151", 1012.5, 1012.0,
    ),
    "rail under a card less its slot": (
        lambda a: pc(card("rtx4090"), supply=Supply(rail_a=a)), "CB-K152", 31.25, 31.2,
    ),
    "plug of sixteen pins": (lambda w: pc(card("rtx5090", power_w=w)), "CB-K155", 600.0, 600.5),
    "longest card": (lambda mm: pc(card("rtx4090"), case_length_mm=mm), "CB-K042", 304.0, 303.0),
    "makers' cards are longer": (lambda mm: pc(card("rtx4090"), case_length_mm=mm), "CB-K165", 344.0, 343.0),
    "makers' cards are longer than none to spare": (
        lambda mm: pc(card("rtx4090"), case_length_mm=mm), "CB-K165", 344.0, 304.0,
    ),
    "lanes of the processor": (
        lambda n: pc(TWO, board=Board(lanes=(16, 16), processor_lanes_count=n)), "CB-K163", 32, 31,
    ),
    "lanes a card can't use": (
        lambda n: pc(card("rtx4060ti-16", count=2), board=Board(lanes=(16, 16), processor_lanes_count=n)),
        "CB-K163", 16, 15,
    ),
    "slots": (lambda n: pc(TWO, case_slots_count=n), "CB-K041", 6, 5),
    "circuit in all": (lambda a: pc(TWO, place=Place(volts=100.0, amps=a)), "CB-K170", 12.0, 11.9),
    "circuit all day in North America": (
        lambda other: pc(TWO, place=Place(volts=120.0, amps=15.0, country="US", other_w=other)),
        "CB-K171", 240.0, 241.0,
    ),
    "circuit all day elsewhere": (
        lambda other: pc(TWO, place=Place(volts=230.0, amps=10.0, country="ES", other_w=other)),
        "CB-K172", 640.0, 641.0,
    ),
    "circuit behind a supply that loses a fifth": (
        lambda other: pc(TWO, supply=Supply(efficiency_ratio=0.8), place=Place(
            volts=230.0, amps=10.0, country="ES", other_w=other)), "CB-K172", 340.0, 341.0,
    ),
    "volt-amperes of a UPS": (lambda va: pc(TWO, place=Place(ups_va=va)), "CB-K173", 1200 / 0.9 + 0.1, 1333.0),
    "watts of a UPS": (lambda w: pc(TWO, place=Place(ups_w=w)), "CB-K174", 1200.0, 1199.0),
    "watts of a UPS that doesn't say": (lambda va: pc(TWO, place=Place(ups_va=va)), "CB-K175", 2000.0, 1999.0),
    "air of the room": (lambda w: pc(TWO, place=Place(cooling_w=w)), "CB-K176", 1200.0, 1199.0),
    "noise of two": (  # 40 dB twice is 43.01
        lambda db: pc(replace(TWO, noise_db=40.0), place=Place(noise_db=db)), "CB-K178", 43.02, 43.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_told_beyond_it_and_not_at_it(name):
    made, code, fine, beyond = LIMITS[name]
    assert code not in codes(made(fine)), name
    assert code in codes(made(beyond)), name


@pytest.mark.parametrize(
    ("country", "volts", "code", "severity"),
    [("US", 230.0, "CB-K171", "blocking"), ("MX", 127.0, "CB-K171", "blocking"), ("", 120.0, "CB-K171", "blocking"),
     ("ES", 230.0, "CB-K172", "warning"), ("", 230.0, "CB-K172", "warning")],
)  # fmt: skip
def test_four_fifths_of_a_breaker_are_law_in_north_america(country, volts, code, severity):
    found = codes(pc(TWO, place=Place(volts=volts, amps=1200 / volts / 0.9, country=country)))
    assert found[code].severity == severity
    assert {"CB-K171", "CB-K172"} & set(found) == {code}


@pytest.mark.parametrize(("eights", "severity"), [(3, "warning"), (2, "blocking")])
def test_an_adapter_takes_as_many_plugs_as_the_card_draws(eights, severity):
    """450 W less the slot's 75 are three plugs of 150."""
    found = codes(pc(card("rtx4090"), supply=Supply(plugs=("8-pin",) * eights)))
    assert found["CB-K154"].severity == severity


@pytest.mark.parametrize(("plugs", "told"), [(1, False), (2, True), (3, False), (4, False)])
def test_a_plug_of_the_processors_kind_is_left_for_the_processor(plugs, told):
    """Two cards take one each; with three there is one for the processor, with one there are too few anyway."""
    build = Build(
        cards=(card("a100-pcie-80", count=2),), airflow="server", supply=Supply(plugs=("8-pin eps",) * plugs)
    )
    assert ("CB-K156" in codes(build)) == told


def test_a_bus_of_an_older_generation_halves_the_rate_each_time():
    for generation, share in ((4, "0.5"), (3, "0.25")):
        found = codes(pc(card("rtx5090"), board=Board(generation=generation)))["CB-K045"]
        assert share in found.sentence
    assert "CB-K045" not in codes(pc(card("rtx5090"), board=Board(generation=5)))


@pytest.mark.parametrize(
    ("text", "count"),
    [("2x RTX 4090", 2), ("RTX 4090 x2", 2), ("4 x RTX 3090", 4), ("RTX 3090", 1), ("RTX 4090, RTX 4090", 2)],
)
def test_as_many_cards_as_the_words_say(text, count):
    cards, _ = read_parts(text)
    assert len(cards) == count
    needed = supply_w([one.tdp_w for one in cards])
    said = check_parts(f"{text}, {ceil(needed)} W ATX 3.1")
    assert not [one for one in said if one.code in ("CB-K040", "CB-K150")]


# ---- racks


def machine(count=4, **more):
    node = nodes()["dgx-h100"]
    return RackNode("dgx-h100", find_accelerator("h100-sxm-80"), 8, node=node, count=count, **more)


def rack(node=None, **more):
    node = node if isinstance(node, tuple) else (node or machine(),)
    return Build(nodes=node, rack=Rack(**more))


RACKS = {  # four machines of 10.2 kW, 8 units and 130.45 kg
    "power": (lambda w: rack(power_w=w), "CB-K180", 40_800.0, 40_700.0),
    "feeds together": (lambda w: rack(feeds_count=2, feed_w=w, redundancy="none"), "CB-K181", 20_400.0, 20_300.0),
    "feeds with one gone": (lambda w: rack(feeds_count=3, feed_w=w, redundancy="n+1"), "CB-K182", 20_400.0, 20_300.0),
    "half of the feeds gone": (lambda w: rack(feeds_count=4, feed_w=w, redundancy="2n"), "CB-K182", 20_400.0, 20_300.0),
    "units": (lambda n: rack(units_count=n), "CB-K187", 32, 31),
    "ports": (lambda n: rack(ports_count=n), "CB-K188", 32, 31),
    "frame": (lambda kg: rack(load_limit_kg=kg), "CB-K189", 521.8, 521.0),
    "floor under the frame too": (
        lambda kg: rack(floor_kg_per_m2=kg, area_m2=0.5, weight_kg=100.0), "CB-K190", 1243.6, 1243.0,
    ),
    "air": (lambda n: rack(machine(n), cooling="air"), "CB-K185", 4, 5),
    "a machine's own supplies": (lambda n: rack(machine(1, supplies_count=n)), "CB-K183", 5, 4),  # 3.3 kW each
}  # fmt: skip


@pytest.mark.parametrize("name", RACKS)
def test_a_limit_of_a_rack_is_told_beyond_it_and_not_at_it(name):
    made, code, fine, beyond = RACKS[name]
    assert code not in codes(made(fine)), name
    assert code in codes(made(beyond)), name


def test_three_phases_carry_the_root_of_three_and_four_fifths_of_it():
    assert feed_of(Rack(feed_volts=400.0, feed_amps=32.0, feed_phases_count=3)) == pytest.approx(
        17_736, abs=1
    )
    assert feed_of(Rack(feed_volts=230.0, feed_amps=32.0, feed_phases_count=1)) == pytest.approx(5888)
    assert feed_of(Rack(feed_volts=230.0)) is None


def test_what_a_rack_holds_is_all_of_its_machines():
    build = rack((machine(3), machine(1, power_w=8000.0, units_count=6.0, weight_kg=100.0)))
    assert rack_w(build) == pytest.approx(3 * 10_200 + 8000)
    assert total(build, "units_count") == 3 * 8 + 6
    assert total(build, "weight_kg") == pytest.approx(3 * 130.45 + 100)
    unknown = rack((machine(3), RackNode("x", None, 8)))
    assert rack_w(unknown) is None
    assert total(unknown, "weight_kg") is None
    other = RackNode("x", find_accelerator("h100-sxm-80"), 8)
    assert machine_w(other) == pytest.approx(8 * 700 * 1.8)


# ---- cards somebody had before


def test_a_warranty_is_over_after_its_months_and_not_before():
    for bought, term, over in (("2023-12-15", None, False), ("2023-11-01", None, True), ("2025-11-01", 12.0, True),
                               ("2025-12-15", 12.0, False), ("2022-01-01", 60.0, False)):  # fmt: skip
        build = Build(cards=(card("rtx4090", condition="used", bought=bought, warranty_months=term),))
        found = {one.code for one in used_cards(build, DAY)}
        assert ("CB-K193" in found) == over, bought
        assert ("CB-K195" in found) == (bought < "2023-11-30"), bought


def test_what_is_left_of_a_card_falls_by_its_share_each_year():
    assert left_money.raw(1000, 0.3, 1) == pytest.approx(700)
    assert left_money.raw(1000, 0.3, 2) == pytest.approx(490)
    assert left_money.raw(1000, 0.1, 2) > left_money.raw(1000, 0.3, 2)


@pytest.mark.parametrize(
    ("name", "count", "code"),
    [("rtx4090", 1, None), ("rtx4090", 2, "CB-K168"), ("arc-b580-12", 1, "CB-K167"), ("l40s", 2, None)],
)
def test_a_board_without_resizable_bar_holds_back_several_cards_or_intels(name, count, code):
    found = codes(pc(card(name, count=count), board=Board(resizable_bar=False)))
    assert {"CB-K167", "CB-K168"} & set(found) == ({code} if code else set())
    assert not {"CB-K167", "CB-K168"} & set(
        codes(pc(card(name, count=count), board=Board(resizable_bar=True)))
    )
