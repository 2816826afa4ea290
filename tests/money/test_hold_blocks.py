"""Capacity blocks: whole steps, paid before they begin, idle time charged."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import offer, serving, training

from cabida import money
from cabida.money.bills.tenures import block_hours

TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=12)
BLOCK = offer("2.00", "block", accelerators_count=8, upfront_ratio=1.0)
USED = 1 / 0.9 / 0.9  # of an hour of ideal work: goodput, and runs thrown away


def run(ideal_hours, **more):
    return money.TrainingUse(
        ideal_hours=8 * ideal_hours, wall_s=ideal_hours / 0.9 * 3600, goodput_ratio=0.9, **more
    )


def paid(ideal_hours, priced=BLOCK):
    cost = money.training_cost(training(priced), run(ideal_hours), TERMS)
    assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
    return sum(cost.line(key) for key in ("compute", "failed_runs", "idle")), cost


@settings(max_examples=60, deadline=None)
@given(st.floats(0.5, 400))
def test_the_bill_is_a_staircase(hours):
    money_, cost = paid(hours)
    step = 24 if hours * USED <= 14 * 24 else 168
    steps = money_ / (8 * 2.00 * step)
    assert steps == pytest.approx(round(steps), abs=1e-6)
    assert (steps - 1) * step <= hours * USED + 1e-6 <= steps * step + 1e-5
    assert cost.line("idle") >= -1e-9
    assert cost.committed_money == pytest.approx(money_)
    more, _ = paid(hours + 1)
    assert more >= money_ - 1e-6


def test_the_next_day_is_paid_whole():
    steps = [block_hours.raw(hours, 24.0, 336.0, 168.0) for hours in (24.0, 24.1, 336.0, 336.1, 505)]
    assert steps == [24, 48, 336, 504, 672]
    one, _ = paid(23.9 / USED)
    two, cost = paid(24.1 / USED)
    assert two == pytest.approx(2 * one)
    assert cost.line("idle") == pytest.approx(2.00 * 8 * 23.9)


def test_runs_a_month_do_not_share_a_block():
    often = money.training_cost(training(BLOCK), replace(run(10), runs_per_month=30.0), TERMS)
    assert often.per_month_money == pytest.approx(paid(10)[1].per_month_money)


def test_the_tree_of_a_run_in_a_block_is_its_bill():
    tree = money.training_tree(training(BLOCK), run(30), TERMS)
    assert float(tree["cost_per_run"]) == pytest.approx(paid(30)[1].per_month_money)
    assert "block_hours" in {node.name for node in tree["cost.idle"].nodes()}


def batch(hours, runs):
    return money.Usage(
        1e6, 500, 200, utilisation_ratio=0.9, active_hours_per_month=hours, batch=True, runs_per_month=runs
    )


@pytest.mark.parametrize(
    ("hours", "runs", "days"), [(4, 1, 1), (30, 1, 2), (60, 2, 4), (100, 30, 30), (8, 4, 4)]
)
def test_a_batch_pays_a_block_for_each_run(hours, runs, days):
    cost = money.serving_cost(serving(BLOCK, 8), batch(hours, runs), TERMS)
    held = sum(cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert held == pytest.approx(8 * 2.00 * 24 * days)
    assert cost.line("compute") == pytest.approx(held * 0.9 * hours / (24 * days))
    assert cost.committed_money == pytest.approx(held)


def test_runs_that_follow_closely_take_no_more_than_all_days():
    cost = money.serving_cost(serving(BLOCK, 8), batch(300, 60), TERMS)
    held = sum(cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert held == pytest.approx(8 * 2.00 * 24 * 31)


def test_the_minimum_of_an_offer_is_taken_and_its_rest_is_idle():
    few = offer("2.00", minimum_count=16)
    usage = money.Usage(1e6, 500, 200, utilisation_ratio=0.5)
    cost = money.serving_cost(serving(few, 4), usage, TERMS)
    assert cost.line("compute") + cost.line("idle") == pytest.approx(16 * 730 * 2.00)
    assert cost.line("compute") == pytest.approx(4 * 730 * 2.00 * 0.5)
    plain = money.serving_cost(serving(offer("2.00"), 4), usage, TERMS)
    assert plain.line("compute") == pytest.approx(cost.line("compute"))
    assert money.tenure_of(few, serving(few).deployment.accelerator, TERMS, 20).accelerators_count == 20
