"""What is held already: pledges come off the bill and never exceed it; walking away ties through the bill itself."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import API, CARD, offer, serving, training

from cabida.money import TrainingUse, Usage, api_cost, api_tree, cost_tree, serving_cost, terms, training_cost
from cabida.money.bills.training import training_tree
from cabida.money.hold.held import contract_money_per_hour, owed_money_per_month, renewed_price_money
from cabida.money.hold.walk_away import price_factor
from cabida.money.prices.tenure import tenure_of
from cabida.money.terms import Pledge

TERMS = terms("USD", as_of="2026-11-30", horizon_months=12.0)
USAGE = Usage(requests_per_month=1e6, input_tokens=900, output_tokens=250, active_hours_per_month=400.0)
RUN = TrainingUse(ideal_hours=400.0, wall_s=60 * 3600.0, goodput_ratio=0.9, runs_per_month=1 / 12)
MONEY = st.floats(0, 1e6)
PLEDGES = st.lists(
    st.builds(
        Pledge,
        st.sampled_from(["credit", "commitment"]),
        st.sampled_from(["", "somewhere", "Elsewhere"]),
        st.sampled_from(["", "h100-sxm-80", "l40s"]),
        MONEY,
        st.floats(0.1, 12),
        st.floats(0, 0.5),
    ),
    max_size=4,
)


@given(PLEDGES, st.sampled_from(["on-demand", "spot", "reserved", "buy"]))
@settings(max_examples=60, deadline=None)
def test_a_bill_with_pledges_adds_up_and_takes_off_no_more_than_there_is(pledges, capacity):
    candidate = serving(offer(capacity=capacity))
    plain = serving_cost(candidate, USAGE, TERMS)
    cost = serving_cost(candidate, USAGE, replace(TERMS, pledges=tuple(pledges)))
    assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
    off = -(cost.line("credit") + cost.line("commitment"))
    assert cost.per_month_money == pytest.approx(plain.per_month_money - off)
    good = [one for one in pledges if one.provider != "Elsewhere" and one.accelerator != "l40s"]
    credits = sum(one.money for one in good if one.kind == "credit")
    there = sum(
        plain.line(key) for key in ("compute", "idle", "retries_waste", "spares", "storage", "network")
    )
    assert -cost.line("credit") * 12 <= credits * (1 + 1e-9) + 1e-6
    assert -1e-9 <= off <= there * (1 + 1e-9)
    if capacity == "buy" or not good:
        assert off == 0


def test_credits_and_commitments_by_hand():
    candidate = serving(offer())
    plain = serving_cost(candidate, USAGE, TERMS)
    there = sum(
        plain.line(key) for key in ("compute", "idle", "retries_waste", "spares", "storage", "network")
    )
    small = replace(TERMS, pledges=(Pledge("credit", "Somewhere", "", 1200.0, 12.0),))
    assert serving_cost(candidate, USAGE, small).line("credit") == pytest.approx(-100.0)
    short = replace(TERMS, pledges=(Pledge("credit", "Somewhere", "", 1e9, 3.0),))
    assert serving_cost(candidate, USAGE, short).line("credit") == pytest.approx(
        -there / 4
    )  # three months of twelve
    spend = replace(TERMS, pledges=(Pledge("commitment", "Somewhere", "", 500.0, 12.0, 0.1),))
    assert serving_cost(candidate, USAGE, spend).line("commitment") == pytest.approx(-(there * 0.1 + 500.0))
    elsewhere = replace(TERMS, pledges=(Pledge("credit", "Elsewhere", "", 1200.0, 12.0),))
    assert serving_cost(candidate, USAGE, elsewhere) == plain
    api = api_cost(API, USAGE, small)
    assert api.line("credit") == pytest.approx(-100.0)
    card = replace(TERMS, pledges=(Pledge("credit", "Somewhere", CARD.id, 1200.0, 12.0),))
    assert api_cost(API, USAGE, card).line("credit") == 0  # for cards alone


def test_a_run_draws_a_credit_while_it_lasts():
    candidate = training(offer())
    plain = training_cost(candidate, RUN, TERMS)
    held = replace(TERMS, pledges=(Pledge("credit", "Somewhere", "", 300.0, 1.0),))
    assert training_cost(candidate, RUN, held).per_month_money == pytest.approx(plain.per_month_money - 300.0)
    more = replace(TERMS, pledges=(Pledge("credit", "Somewhere", "", 1e9, 12.0),))
    there = sum(
        plain.line(key) for key in ("compute", "failed_runs", "idle", "storage", "checkpoints", "network")
    )
    assert training_cost(candidate, RUN, more).line("credit") == pytest.approx(-there)


def test_the_tree_is_the_bill():
    held = replace(
        TERMS,
        pledges=(
            Pledge("credit", "", "", 900.0, 7.0),
            Pledge("commitment", "Somewhere", "", 200.0, 12.0, 0.05),
        ),
    )
    candidate, run = serving(offer()), training(offer())
    cost, tree = serving_cost(candidate, USAGE, held), cost_tree(candidate, USAGE, held)
    assert tree["cost_per_month"].value == pytest.approx(cost.per_month_money)
    assert tree["cost.credit"].value == pytest.approx(cost.line("credit"))
    assert api_tree(API, USAGE, held)["cost_per_month"].value == pytest.approx(
        api_cost(API, USAGE, held).per_month_money
    )
    assert training_tree(run, RUN, held)["cost_per_run"].value == pytest.approx(
        training_cost(run, RUN, held).per_month_money
    )


@given(st.floats(0.2, 20), st.sampled_from(["on-demand", "spot", "reserved", "buy"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_at_the_price_one_walks_away_at_the_bill_ties(target_ratio, capacity, credited):
    held = replace(TERMS, pledges=(Pledge("credit", "Somewhere", "", 9000.0, 6.0),)) if credited else TERMS
    amount = "20000" if capacity == "buy" else "2.00"
    candidate = serving(offer(amount, capacity))

    def bill(factor):
        dear = replace(candidate.offer, amount=candidate.offer.amount * Decimal(repr(max(factor, 1e-9))))
        return serving_cost(candidate, USAGE, held, tenure_of(dear, CARD, held, 2)).per_accepted_money

    target = bill(1.0) * target_ratio
    found = price_factor(bill, target)
    if found is None:
        assert bill(0.0) > target
    else:
        assert bill(found) == pytest.approx(target, rel=1e-6)
        assert (found > 1) == (target_ratio > 1) or target_ratio == pytest.approx(1)


def test_no_price_does_it():
    assert price_factor(lambda factor: 10 + factor, 5.0) is None
    assert price_factor(lambda factor: 10.0, 12.0) is None
    assert price_factor(lambda factor: 10 + 2 * factor, 16.0) == pytest.approx(3.0)
    assert price_factor(lambda factor: max(10.0, 4 + 4 * factor), 12.0) == pytest.approx(2.0)


def test_what_using_a_contract_adds():
    added = contract_money_per_hour.raw
    assert added(2.0, 1.0, 0.0, 1.0, 0.0) == 0  # owed anyway
    assert added(2.0, 0.0, 0.0, 1.0, 0.0) == 2.0
    assert added(2.0, 1.0, 0.4, 1.0, 0.0) == pytest.approx(0.8)  # what others would have paid
    assert added(2.0, 0.5, 0.0, 0.5, 3.0) == pytest.approx(
        0.5 * 1.0 + 0.5 * 3.0
    )  # half the need after its end
    assert owed_money_per_month.raw(2.0, 0.5, 8.0, 730.0) == 5840.0
    assert renewed_price_money.raw(1000.0, 4000.0, 24.0, 12.0, 48.0) == 2000.0


def test_an_owned_card_loses_what_its_owner_says():
    own = replace(offer("4000", "have"), unit="accelerator")
    slow = terms("USD", as_of="2026-11-30", horizon_months=12.0, stated={f"held_{CARD.id}_decay_ratio": 0.05})
    kept, said = tenure_of(own, CARD, TERMS), tenure_of(own, CARD, slow)
    assert said.money_per_hour < kept.money_per_hour
    cost, dear = serving_cost(serving(own), USAGE, slow), serving_cost(serving(own), USAGE, TERMS)
    assert cost.line("residual") < dear.line("residual") < 0
    assert tenure_of(offer("4000", "buy"), CARD, slow) == tenure_of(offer("4000", "buy"), CARD, TERMS)
