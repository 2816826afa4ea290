"""Where an input turns the answer: by the bills themselves, a little before the value told and a little beyond it."""

from dataclasses import replace
from math import inf

import pytest

from cabida.choose import drivers
from cabida.choose.assumed import assumption_flips
from cabida.choose.turns import Turning, flips
from cabida.plan import Assumption, Flip


@pytest.fixture(scope="module")
def turning(outcome):
    return Turning(outcome.ask, outcome.means.terms)


@pytest.fixture(scope="module")
def told(outcome):
    return {one.name: one for one in outcome.decision.flips}


def cheapest(turning, able, driver, value):
    costs = {
        one.candidate.id: turning.cost(one, driver, value) - (one is able[0]) * one.tie_money for one in able
    }
    first = able[0].candidate.id
    return first if costs[first] <= min(costs.values()) * (1 + 1e-9) else min(costs, key=costs.__getitem__)


def test_prices_speed_and_traffic_turn_where_they_say(outcome, able, turning, told):
    first = able[0]
    moved = {  # name of the flip -> driver, and the side on which another wins
        "price": (drivers.price_driver(first), 1), "speed": (drivers.speed_driver(first), -1),
        "utilisation_below": ("traffic", -1), "utilisation_above": ("traffic", 1),
    }  # fmt: skip
    rates = {
        "price": first.tenure.money_per_hour, "speed": first.capacity_requests_per_s,
        "utilisation_below": outcome.ask.peak_requests_per_s, "utilisation_above": outcome.ask.peak_requests_per_s,
    }  # fmt: skip
    for name, (driver, side) in moved.items():
        flip = told[name]
        assert flip.now == pytest.approx(rates[name]), name
        ratio = flip.at / flip.now
        assert (ratio > 1) == (side > 0), name
        before, after = ratio * (1 - side * 1e-3), ratio * (1 + side * 1e-3)
        assert cheapest(turning, able, driver, before) == first.candidate.id, name
        assert cheapest(turning, able, driver, after) != first.candidate.id, name


def test_acceptance_falls_until_another_format_wins(able, turning, told):
    flip, driver = told["acceptance"], drivers.acceptance_driver(able[0])
    others = [able[0], *(one for one in able if drivers.acceptance_driver(one) != driver)]
    assert flip.at < flip.now == able[0].acceptance_ratio
    assert cheapest(turning, others, driver, flip.at + 0.002) == able[0].candidate.id
    assert cheapest(turning, others, driver, flip.at - 0.002) == flip.flips_to


def test_what_one_has_stays_for_as_long_as_its_tie(outcome, able, turning):
    """A first option that may be a twentieth dearer keeps its place to a higher price."""
    driver, values = drivers.price_driver(able[0]), [1 + step / 200 for step in range(1, 800)]
    rivals = [one for one in able if one.tenure.offer.accelerator != able[0].tenure.offer.accelerator]
    plain = turning.turn([able[0], *rivals], driver, values)
    tied = replace(able[0], tie_money=0.05 * able[0].cost.per_accepted_money)
    later = turning.turn([tied, *rivals], driver, values)
    assert later.at > plain.at > 1
    assert turning.cost(tied, driver, later.at) - tied.tie_money == pytest.approx(
        min(turning.cost(one, driver, later.at) for one in rivals), rel=1e-2
    )


def test_who_can_not_carry_the_traffic_is_no_answer_to_it(able, turning):
    held = replace(able[0], replicas_most_count=float(able[0].candidate.replicas_count))
    assert turning.cost(held, "traffic", 1.0) < inf
    assert turning.cost(held, "traffic", 50.0) == inf
    assert turning.cost(able[0], "traffic", 50.0) < inf


def barred(outcome, able, ratio):
    """Flips of a decision whose limits rule out an option that costs so much of the first."""
    first, other = able[0], able[-1]
    cost = replace(other.cost, per_accepted_money=ratio * first.cost.per_accepted_money)
    worked = [*able[:-1], replace(other, status="ruled_out", cost=cost)]
    options = [next(o for o in outcome.decision.options if o.id == one.candidate.id) for one in worked]
    found = flips(outcome.means.brief, worked, options, outcome.ask, outcome.means.terms)
    return {one.name: one for one in found}


def test_what_a_limit_costs_is_the_share_that_the_barred_one_would_save(outcome, able):
    flip = barred(outcome, able, 0.8)["limits"]
    assert flip.now == able[0].cost.per_accepted_money
    assert flip.at == pytest.approx(0.8 * flip.now)
    assert flip.flips_to == able[-1].candidate.id
    assert "20 %" in flip.sentence
    assert "limits" not in barred(outcome, able, 1.2)


# ---- assumptions


def flip_of(name, known, outcome, able, turning):
    given = (Assumption(name, "x", "y", "z"),)
    (made,) = assumption_flips(given, (), known, able, turning, lambda id: id)
    return made


def test_the_nearer_end_of_the_traffic_is_told(outcome, able, turning):
    below = Flip("utilisation_below", "req/s", 8.0, 2.0, "b", "B.")
    above = Flip("utilisation_above", "req/s", 8.0, 12.0, "a", "A.")
    for known, near, at in (((below, above), "a", 1.5), ((below, replace(above, at=64.0)), "b", 0.25)):
        found = flip_of("traffic_ratio", known, outcome, able, turning)
        assert (found.now, found.at, found.flips_to) == (1.0, at, near)
        planned = flip_of("planned_traffic_ratio", known, outcome, able, turning)
        assert (planned.now, planned.at) == (1.25, pytest.approx(1.25 * at))
    never = flip_of("traffic_ratio", (), outcome, able, turning)
    assert never.at is None


def test_a_margin_turns_the_answer_at_its_own_value(outcome, able, turning):
    found = flip_of("capacity_margin_ratio", (), outcome, able, turning)
    assert found.now == outcome.ask.margin_ratio == 1.1
    assert 1.1 < found.at <= 2.2
    ratio = found.at / found.now
    assert cheapest(turning, able, "margin", ratio * 0.99) == able[0].candidate.id
    assert cheapest(turning, able, "margin", ratio * 1.01) != able[0].candidate.id


def test_a_tie_names_how_wide_it_is_and_how_wide_it_must_be(outcome, able, turning):
    """What one has is dearer by a tenth and taken because the tie is a fifth: below a tenth the other would be."""
    each, money = able[0].cost.accepted_per_month, able[0].cost.per_accepted_money
    had = replace(able[0], tie_money=0.2 * money, cost=replace(able[0].cost, per_accepted_money=1.1 * money))
    rival = replace(able[1], cost=replace(able[1].cost, per_accepted_money=money))
    found = flip_of("tie_money", (), outcome, [had, rival], turning)
    assert found.now == pytest.approx(0.2 * money * each)
    assert found.at == pytest.approx(0.1 * money * each)
    assert found.flips_to == rival.candidate.id
