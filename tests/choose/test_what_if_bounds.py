"""What may be moved and how far, and what is left of a decision when it is: limits, ranks, replicas, ledgers."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cabida
from cabida.choose import what_if as module
from cabida.choose.lever_names import FREE, MONEY, PRICE, PUE
from cabida.choose.levers import bounds, levers, reason_locked
from cabida.choose.what_if import capital_nodes, what_if
from cabida.errors import InvalidInput

EXAMPLES = Path(__file__).parents[2] / "examples"
DAY = "2026-11-30"


@pytest.fixture(scope="module")
def run():
    return cabida.recommend(EXAMPLES / "qlora-70b.yaml", as_of=DAY, language="en")


@pytest.fixture(scope="module")
def student():
    return cabida.recommend(EXAMPLES / "student-4090.yaml", as_of=DAY, language="en")


def node(name, value=1.0, grade="assumed", what="said", **more):
    ends = {"low": None, "high": None, **more}
    return {"name": name, "value": value, "grade": grade, "source": {"what": what, "seen": ""}, **ends}


def test_an_input_may_be_moved_to_where_its_kind_ends(run):
    price = next(name for name, kind in FREE.items() if kind == PRICE)
    assert bounds(node(price, 2.0), run) == pytest.approx((0.2, 20.0))
    assert bounds(node(price, 2.0, low=0.05, high=99.0), run) == pytest.approx((0.05, 99.0))
    pue = next(name for name, kind in FREE.items() if kind == PUE)
    assert bounds(node(pue, 1.4), run) == (1.0, 3.0)
    assert bounds(node(pue, 0.9), run)[0] == 0.9  # what stands is never out of its own bounds
    assert bounds(node("acceptance_ratio", 0.005), run) == (0.005, 1.0)


def test_every_input_stands_inside_its_bounds(run, student):
    for decision in (run, student):
        for one in levers(decision):
            assert one.low <= one.value <= one.high, one.name
            assert one.locked == bool(one.why), one.name
            if one.locked:
                assert one.low == one.high
        free = [one for one in levers(decision) if not one.locked]
        assert free
        for one in free:
            if one.name.endswith("price_money_per_hour"):
                assert one.low <= one.value / 9.99
                assert one.high >= one.value * 9.99


def test_what_a_simulation_or_the_search_has_read_is_locked(run):
    free = next(one for one in levers(run) if not one.locked).name.rpartition(".")[2]
    assert reason_locked(node(free), run) == ""
    assert reason_locked(node(free, grade="simulated"), run) == "simulated"
    assert reason_locked(node(free, what=""), run) == "absent"
    assert reason_locked(node("nobody_knows_this"), run) == "unknown"
    again = replace(run, trees=(*run.trees, node("tries_count", 1.4)))
    once = replace(run, trees=tuple(one for one in run.trees if one["name"] != "tries_count"))
    assert reason_locked(node("acceptance_ratio"), again) == "tries"
    assert reason_locked(node("acceptance_ratio"), once) == ""


def test_a_value_beyond_either_end_is_refused(run):
    one = next(each for each in levers(run) if not each.locked and each.low > 0)
    for value in (one.low * 0.999, one.high * 1.001):
        with pytest.raises(InvalidInput, match="CB-X092"):
            what_if(run, {one.name: value})
    assert what_if(run, {one.name: one.high}) is not run


def test_a_replica_costs_what_its_price_has_moved_to(run):
    first = run.options[0]
    price = next(one for one in levers(run) if one.name == "1.price_money_per_hour")
    assert price.option == first.id
    assert first.replica.money_per_hour > 0
    for times in (0.5, 2.0):
        tried = what_if(run, {price.name: price.value * times})
        moved = next(one for one in tried.options if one.id == first.id)
        assert moved.replica.money_per_hour == pytest.approx(times * first.replica.money_per_hour)
        others = {one.id: one.replica for one in run.options if one.id != first.id}
        assert all(one.replica == others[one.id] for one in tried.options if one.id in others)


def test_what_no_longer_fits_the_budget_fits_again_when_it_is_cheaper(run):
    names = ("training_staff_count", "loaded_money_per_year")
    people = [one for one in levers(run) if one.name in names]
    dear = what_if(run, {one.name: one.high for one in people})
    assert dear.verdict == "nothing_satisfies"
    assert all(one.status == "misses" and one.reasons for one in dear.options)
    back = what_if(dear, {one.name: one.value for one in people})
    assert back.verdict == "satisfied"
    was = {one.id: (one.status, one.reasons) for one in run.options}
    assert {one.id: (one.status, one.reasons) for one in back.options} == was
    assert back.options[0].id == run.options[0].id


def test_months_as_they_were_planned_go_with_the_bill_they_were_planned_by(student):
    had = [one for one in student.options if one.ledger or one.ownership]
    assert had
    dearer = next(
        one for one in levers(student) if one.name.endswith("electricity_money_per_kwh") and not one.locked
    )
    tried = what_if(student, {dearer.name: dearer.value * 1.5})
    for one in tried.options:
        before = next(each for each in student.options if each.id == one.id)
        if one.cost_per_month_money != before.cost_per_month_money:
            assert one.ledger == ()
            assert one.ownership is None
        else:
            assert one.ledger == before.ledger


def test_a_purchase_is_held_against_the_budget_by_its_dearest_day(student):
    assert all(capital_nodes(one, student) == () for one in student.options if one.capacity != "buy")
    assert module._capital({1: 10.0, 2: 30.0, 3: 20.0}, (1, 2, 3)) == 30.0
    assert module._capital({}, ()) == 0.0


@pytest.mark.parametrize(("dearer", "first"), [(0.5, "had"), (0.99, "had"), (1.5, "rented")])
def test_what_one_has_is_taken_within_a_unit_or_a_hundredth_of_the_bill(student, dearer, first):
    """A bill of ten has a tie of one unit (a tenth), one of a thousand of a hundredth of it."""
    for bill in (10.0, 1000.0):
        tie = max(1.0, module.TIE_SHARE_RATIO * bill)
        had = next(one for one in student.options if one.capacity == "have")
        rented = next(one for one in student.options if one.capacity == "on-demand")
        count = 5.0  # outputs of a month
        cheap = replace(
            rented, status="satisfies", cost_per_month_money=bill,
            unit_cost=replace(rented.unit_cost, value=bill / count),
        )  # fmt: skip
        own = replace(
            had, status="satisfies", cost_per_month_money=bill + dearer * tie,
            unit_cost=replace(had.unit_cost, value=(bill + dearer * tie) / count),
        )  # fmt: skip
        ordered = module._own_first([cheap, own])
        assert (ordered[0] is own) == (first == "had"), bill


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_dearer_price_never_makes_an_option_cheaper(data, run, student):
    """Whatever price is raised, no bill falls, its own option's rises, and what misses a limit goes on missing it."""
    decision = data.draw(st.sampled_from([run, student]), label="decision")
    prices = [
        one for one in levers(decision) if not one.locked and FREE[one.name.split(".")[-1]] in (PRICE, MONEY)
    ]
    one = data.draw(st.sampled_from(prices), label="price")
    value = one.value + (one.high - one.value) * data.draw(st.floats(0.01, 1.0), label="how far")
    before = {each.id: each for each in decision.options}
    tried = what_if(decision, {one.name: value})
    for each in tried.options:
        was = before[each.id]
        assert each.cost_per_month_money >= was.cost_per_month_money * (1 - 1e-12)
        assert each.unit_cost.value >= was.unit_cost.value * (1 - 1e-12)
        if was.status == "misses":
            assert each.status == "misses"
    if one.option:
        own = next(each for each in tried.options if each.id == one.option)
        assert own.unit_cost.value > before[one.option].unit_cost.value
