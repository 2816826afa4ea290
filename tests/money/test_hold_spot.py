"""Spot: bands become intervals, intervals become intervals of the bill, and simulation agrees."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import CARD, offer, serving, training

from cabida import money
from cabida.money.assumptions import assumed_ranges
from cabida.money.bills import tenures
from cabida.money.prices import spot
from cabida.money.prices.tenure import with_stand_ins
from cabida.quantity import Source

TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=12)
USAGE = money.Usage(1e6, 1000, 300, utilisation_ratio=0.7, request_s=8.0)
RUN = money.TrainingUse(ideal_hours=8 * 200, wall_s=220 * 3600, goodput_ratio=0.92, checkpoint_gb=112)
BAND = "interrupted <5% a month"


@pytest.mark.parametrize(
    ("said", "band"),
    [
        (BAND, "0_5"),
        ("frequency of interruption: 5-10%", "5_10"),
        ("interrupted 10-15 % of instances", "10_15"),
        ("pct_interrupt 15-20%", "15_20"),
        ("interruption >20%", "20_100"),
        ("interrupted 3%", "0_5"),
    ],
)
def test_a_published_band_is_read(said, band):
    found = spot.band_of(offer("1.00", "spot", notes=said))
    assert found == f"interrupted_{band}_between_interruptions_hours"
    assert found in assumed_ranges()


@pytest.mark.parametrize(
    "said", ["", "Interruptible estimated at ~50% of on-demand", "20% off", "interruptible"]
)
def test_what_is_no_band_is_none(said):
    assert spot.band_of(offer("1.00", "spot", notes=said)) == ""


def test_the_bands_are_the_intervals_of_the_exponential_law():
    for low, high, middle in ((0.5, 5, 2.5), (5, 10, 7.5), (10, 15, 12.5), (15, 20, 17.5), (20, 60, 30)):
        edge = {0.5: 0}.get(low, low), {60: 100}.get(high, high)
        found = assumed_ranges()[f"interrupted_{edge[0]}_{edge[1]}_between_interruptions_hours"]
        for share, hours in ((high, found.low), (middle, found.base), (low, found.high)):
            assert hours == pytest.approx(spot.between_interruptions_hours.raw(share / 100, 1.0), rel=1e-3)


def test_spot_without_interruption_data_is_flagged():
    unknown, known = (money.tenure_of(offer("1.00", "spot", notes=said), CARD, TERMS) for said in ("", BAND))
    assert "interruptions" in unknown.flags
    assert "interruptions" not in known.flags
    told = [one.sentence for one in money.price_warnings(unknown, "2026-11-30")]
    assert any("how often" in one for one in told)


def _ranges(hours, restart):
    source = Source("a test")
    return {"restart_s": money.Range(restart, restart, restart, source)}, money.Range(
        hours, hours, hours, source
    )


@settings(max_examples=60, deadline=None)
@given(st.floats(1, 600), st.floats(0, 3600), st.floats(0.5, 1e6))
def test_an_hour_of_useful_work_is_never_cheaper_than_the_spot_price(write_s, restart_s, hours):
    slow = spot.run_slowdown(write_s, *_ranges(hours, restart_s))
    assert 1.0 <= slow.base <= spot.MOST_STRETCH_RATIO
    assert slow.low == slow.base == slow.high
    rarer = spot.run_slowdown(write_s, *_ranges(hours * 2, restart_s))
    assert rarer.base <= slow.base + 1e-12


def test_without_interruptions_there_is_no_slowdown():
    assert spot.run_slowdown(60.0, *_ranges(1e9, 600)).base == pytest.approx(1.0, abs=1e-3)


def test_a_simulated_run_takes_as_long_as_the_formula_says():
    hours, write_s, restart_s = 3.0, 90.0, 400.0
    slow = spot.run_slowdown(write_s, *_ranges(hours, restart_s)).base
    from cabida.timing.runs.goodput import best_interval_s

    between, draw = hours * 3600, random.Random(7)
    interval = best_interval_s(write_s, between)
    wall = done = 0.0
    while done < 3000 * interval:
        left, needed = draw.expovariate(1 / between), interval + write_s
        while left < needed:  # stopped: a restart, itself interrupted at times, and the segment anew
            wall += left
            left = draw.expovariate(1 / between)
            while left < restart_s:
                wall += left
                left = draw.expovariate(1 / between)
            wall += restart_s
            left = draw.expovariate(1 / between)
        wall += needed
        done += interval
    assert wall / done == pytest.approx(slow, rel=0.02)


def test_a_spot_bill_adds_up_and_carries_what_is_not_known():
    unknown, known = (offer("1.00", "spot", notes=said) for said in ("", BAND))
    costs = [money.serving_cost(serving(one), USAGE, TERMS) for one in (unknown, known)]
    for cost in costs:
        assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
        assert cost.line("interruptions") > 0
        assert cost.per_accepted_low < cost.per_accepted_money < cost.per_accepted_high
    spread = [one.per_accepted_high - one.per_accepted_low for one in costs]
    assert spread[0] > spread[1]
    plain = money.serving_cost(serving(offer("1.00")), USAGE, TERMS)
    held = sum(plain.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert sum(costs[1].line(key) for key in ("compute", "idle", "retries_waste", "spares")) == pytest.approx(
        held
    )


def test_what_stands_in_for_spot_is_the_same_seller_by_the_hour():
    sold = [offer("1.00", "spot"), offer("2.40"), offer("2.00", provider="Other")]
    made = with_stand_ins([money.tenure_of(one, CARD, TERMS) for one in sold])
    assert made[0].stand_in_money_per_hour == pytest.approx(2.40)
    assert made[1].stand_in_money_per_hour == 0.0
    dear, cheap = (replace(made[0], stand_in_money_per_hour=price) for price in (3.0, 1.5))
    candidate = serving(sold[0])
    costs = [money.serving_cost(candidate, USAGE, TERMS, one).per_month_money for one in (dear, cheap)]
    assert costs[0] > costs[1]


def test_the_tree_of_a_spot_bill_is_its_bill():
    candidate = serving(offer("1.00", "spot", notes=BAND))
    cost, tree = money.serving_cost(candidate, USAGE, TERMS), money.cost_tree(candidate, USAGE, TERMS)
    assert float(tree["cost.interruptions"]) == pytest.approx(cost.line("interruptions"))
    assert float(tree["cost_per_month"]) == pytest.approx(cost.per_month_money)
    leaves = {leaf.name for leaf in tree["cost.interruptions"].leaves()}
    assert {"interrupted_0_5_between_interruptions_hours", "restart_s", "spot_unavailable_ratio"} <= leaves


def test_a_run_on_spot_carries_its_interruptions_interval():
    wide, narrow = (
        money.training_cost(training(offer("1.00", "spot", notes=said)), RUN, TERMS) for said in ("", BAND)
    )
    assert (
        wide.per_accepted_high / wide.per_accepted_money
        > narrow.per_accepted_high / narrow.per_accepted_money
    )
    assert wide.per_month_money > narrow.per_month_money
    tree = money.training_tree(training(offer("1.00", "spot")), RUN, TERMS)
    assert float(tree["cost_per_run"]) == pytest.approx(wide.per_month_money)
    assert "checkpoint_slowdown_ratio" in {node.name for node in tree["cost_per_run"].nodes()}


def test_a_run_waits_for_spot_but_does_not_pay_for_waiting():
    tenure = money.tenure_of(offer("1.00", "spot", notes=BAND), CARD, TERMS, 8)
    lasting = money.stretch_ratio(tenure, RUN, TERMS, 1)
    paid = tenures.stretch_interval(tenure, RUN, TERMS, 1).base
    assert lasting == pytest.approx(paid / (1 - TERMS.base("spot_unavailable_ratio")))


def test_what_the_brief_states_wins_over_the_band():
    terms = money.terms("USD", as_of="2026-11-30", stated={"between_interruptions_hours": 4.0})
    often = money.serving_cost(serving(offer("1.00", "spot", notes=BAND)), USAGE, terms)
    seldom = money.serving_cost(serving(offer("1.00", "spot", notes=BAND)), USAGE, TERMS)
    assert often.line("interruptions") > seldom.line("interruptions")


def test_many_worlds_at_once_are_the_worlds_one_by_one():
    import numpy as np

    from cabida.money.bills.serving import serving_bill
    from cabida.money.bills.training import training_bill
    from cabida.money.ways import Plain

    hours, name = np.array([3.0, 72.0, 3000.0]), "between_interruptions_hours"
    terms = replace(TERMS, ranges=TERMS.ranges | {name: replace(TERMS.ranges[name], base=hours)})
    sold = offer("1.00", "spot")
    for at, between in enumerate(hours):
        one = money.terms("USD", as_of="2026-11-30", stated={name: float(between)})
        served = serving_bill(Plain(terms), serving(sold), USAGE, money.tenure_of(sold, CARD, TERMS))["total"]
        assert served[at] == pytest.approx(money.serving_cost(serving(sold), USAGE, one).per_month_money)
        ran = training_bill(Plain(terms), training(sold), RUN, money.tenure_of(sold, CARD, TERMS, 8))["total"]
        assert ran[at] == pytest.approx(money.training_cost(training(sold), RUN, one).per_month_money)
