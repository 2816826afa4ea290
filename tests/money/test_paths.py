"""Rent, reserve, buy, API and hybrid, side by side."""

from dataclasses import replace

import pytest
from money_world import API, CARD, offer, serving

from cabida import money

TERMS = money.terms("USD", as_of="2026-11-30")
PROFILE = [0.25] * 12 + [1.75] * 12  # half the day at a seventh of the peak
USAGE = money.Usage(1e6, 1000, 300, utilisation_ratio=0.7, active_hours_per_month=730 * 4 / 7)
BOOK = [
    offer("3.00"),
    offer("1.80", "reserved", term_months=12),
    offer("30000", "buy"),
    offer("1.20", "spot"),
]


def all_routes(**more):
    tenures = money.offers_for(CARD, 7, BOOK, TERMS)
    replicas = money.replicas_by_hour(PROFILE, 4.0, 1.0)
    return {
        route.kind: route
        for route in money.routes(serving(BOOK[0], 7), USAGE, TERMS, tenures, replicas=replicas, **more)
    }


def test_replicas_follow_the_profile():
    assert money.replicas_by_hour(PROFILE, 4.0, 1.0) == [1] * 12 + [7] * 12
    assert money.replicas_by_hour([1.0], 0.3, 0.1) == [3]


def test_each_path_is_there_cheapest_first():
    found = all_routes(apis=[API])
    assert set(found) == {"on-demand", "reserved", "buy", "spot", "hybrid", "api"}
    costs = [route.cost.per_accepted_money for route in found.values()]
    assert costs == sorted(costs)


def test_a_reserved_base_with_rented_peaks_beats_both_of_its_parts():
    found = all_routes()
    assert found["hybrid"].reserved_replicas_count == 1
    held = sum(found["hybrid"].cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert held == pytest.approx(730 * (1.80 + 6 * 3.00 / 2))
    worked = 7 * 0.7 * 4 / 7  # replicas' worth of work, over the mean of 4 held
    assert found["hybrid"].cost.line("idle") == pytest.approx(held * (1 - worked / 4))
    assert found["hybrid"].cost.per_month_money < found["on-demand"].cost.per_month_money
    assert found["hybrid"].cost.per_month_money < found["reserved"].cost.per_month_money
    assert sum(line.money for line in found["hybrid"].cost.lines) == pytest.approx(
        found["hybrid"].cost.per_month_money
    )
    assert found["hybrid"].cost.committed_money == pytest.approx(1.80 * 730 * 12)


def test_a_base_above_the_trough_is_held_all_day():
    cheap = [offer("3.00"), offer("0.90", "reserved", term_months=12)]
    tenures = money.offers_for(CARD, 7, cheap, TERMS)
    found = {
        r.kind: r
        for r in money.routes(serving(cheap[0], 7), USAGE, TERMS, tenures, replicas=[1] * 12 + [7] * 12)
    }
    assert found["hybrid"].reserved_replicas_count == 7
    assert found["hybrid"].cost.line("idle") == pytest.approx(7 * 0.90 * 730 * (1 - 0.7 * 4 / 7))


def test_a_commitment_says_from_which_use_on_it_pays():
    found = all_routes()
    assert found["reserved"].pays_above_ratio == pytest.approx(0.6)
    assert found["on-demand"].pays_above_ratio is None
    owned = found["buy"].cost
    keys = ("compute", "idle", "retries_waste", "residual", "colocation", "support")
    assert found["buy"].pays_above_ratio == pytest.approx(
        sum(owned.line(key) for key in keys) / (7 * 730 * 3.00)  # eight are bought, seven work
    )


def test_at_the_turning_point_renting_and_reserving_cost_the_same():
    usage = replace(USAGE, active_hours_per_month=730 * 0.6)
    rented, reserved = (
        money.serving_cost(serving(priced, 7), usage, TERMS).per_month_money for priced in (BOOK[0], BOOK[1])
    )
    assert rented == pytest.approx(reserved)
