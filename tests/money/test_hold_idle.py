"""Idle capacity follows from the load curve, and the tree says how."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import offer, serving

from cabida import money
from cabida.money.bills import idle
from cabida.money.terms import LoadCurve
from cabida.money.ways import Plain

TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=12)
# twelve hours on two replicas, twelve on six: four are switched on once a day
CURVE = LoadCurve(4.0, 4, 24.0, 0.25, 6, 3.0, 1.0)


def usage(curve=CURVE):
    hours, busy = idle.switched(Plain(TERMS), curve)
    return money.Usage(1e6, 900, 300, utilisation_ratio=busy, active_hours_per_month=hours, curve=curve)


def test_replicas_are_paid_while_they_start():
    hours, busy = idle.switched(Plain(TERMS), CURVE)
    on = 4 + 4 * 0.25 / 24
    assert hours == pytest.approx(730 * on / 6)
    assert busy == pytest.approx(3.0 / on)


@pytest.mark.parametrize("capacity", ["on-demand", "reserved", "spot"])
@pytest.mark.parametrize("spares", [0, 1])
def test_the_tree_is_the_bill_and_goes_down_to_the_curve(capacity, spares):
    term = 12 if capacity == "reserved" else 0
    candidate = serving(offer("2.00", capacity, term_months=term), 6, spares=spares)
    cost, tree = (one(candidate, usage(), TERMS) for one in (money.serving_cost, money.cost_tree))
    assert float(tree["cost.idle"]) == pytest.approx(cost.line("idle"))
    assert float(tree["cost_per_month"]) == pytest.approx(cost.per_month_money)
    names = {node.name for node in tree["cost.idle"].nodes()}
    assert {"on_replicas_count", "busy_ratio", "held_use_ratio", "needed_replicas_count"} <= names


def test_what_can_be_switched_off_is_idle_only_while_on():
    hourly, reserved = (
        money.serving_cost(serving(offer("2.00", kind, term_months=term), 6), usage(), TERMS)
        for kind, term in (("on-demand", 0), ("reserved", 12))
    )
    on = 4 + 4 * 0.25 / 24
    assert hourly.line("idle") == pytest.approx(2.00 * 730 * (on - 3.0))
    assert reserved.line("idle") == pytest.approx(2.00 * 730 * (6 - 3.0))
    assert hourly.line("compute") == pytest.approx(reserved.line("compute"))


def test_hours_changed_afterwards_are_not_told_as_the_curves():
    changed = replace(usage(), active_hours_per_month=100.0)
    tree = money.cost_tree(serving(offer("2.00"), 6), changed, TERMS)
    assert "on_replicas_count" not in {node.name for node in tree["cost.idle"].nodes()}
    cost = money.serving_cost(serving(offer("2.00"), 6), changed, TERMS)
    assert float(tree["cost_per_month"]) == pytest.approx(cost.per_month_money)


@settings(max_examples=60, deadline=None)
@given(st.floats(1, 50), st.integers(0, 20), st.floats(0, 2), st.floats(0.01, 1))
def test_slower_starts_and_more_of_them_never_make_it_cheaper(needed, starts, lag, load):
    def bill(count, hours):
        curve = LoadCurve(needed, count, 24.0, hours, 60, load * needed, 1.0)
        return money.serving_cost(serving(offer("2.00"), 60), usage(curve), TERMS).line("idle")

    assert bill(starts, lag) >= bill(starts, lag / 2) - 1e-6
    assert bill(starts + 1, lag) >= bill(starts, lag) - 1e-6
