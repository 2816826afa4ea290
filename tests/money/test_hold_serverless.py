"""Serverless workers against a simulated one, and against machines that are always on."""

import random
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import CARD, offer, serving

from cabida import money
from cabida.money.bills.tenures import serverless_of, serverless_ratios
from cabida.money.prices import serverless
from cabida.money.prices.tenure import bills_host_apart

TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=12)
DAY = tuple([0.1] * 12 + [1.9] * 12)
HOURLY, SECONDS = offer("2.00"), offer("3.60", "serverless", includes=("host",))


def simulated(rate, service_s, idle_s, cold_s, count=60_000):
    """Share of the time one worker is on, and share of requests that wait, requests coming at random."""
    draw = random.Random(3)
    arrivals = list(accumulate(draw.expovariate(rate) for _ in range(count)))
    ready = off = -1e18
    on = waited = 0.0
    for at in arrivals:
        if at > off:  # nobody is on: this one wakes the worker
            ready, off = at + cold_s, at + cold_s + service_s + idle_s
            on, waited = on + cold_s + service_s + idle_s, waited + 1
        else:
            waited += at < ready
            until = max(at, ready) + service_s + idle_s
            on, off = on + max(0.0, until - off), max(off, until)
    return on / arrivals[-1], waited / count


@pytest.mark.parametrize(
    ("rate", "service_s", "idle_s", "cold_s"),
    [(0.002, 3, 60, 90), (0.02, 3, 60, 90), (0.02, 20, 5, 200), (0.05, 2, 30, 10), (0.001, 0.5, 300, 0)],
)
def test_a_simulated_worker_is_on_as_long_as_the_formula_says(rate, service_s, idle_s, cold_s):
    found = serverless.workers(rate, 100.0, request_s=service_s, idle_s=idle_s, cold_s=cold_s)
    on, waited = simulated(rate, service_s, idle_s, cold_s)
    assert found.on_count == pytest.approx(on, rel=0.03)
    assert found.cold_ratio == pytest.approx(waited, rel=0.05)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-4, 20), st.floats(0.5, 5), st.floats(0, 30), st.floats(0, 300), st.floats(0, 200))
def test_workers_stay_between_the_work_and_always_on(rate, each, request_s, idle_s, cold_s):
    found = serverless.workers(rate, each, request_s=request_s, idle_s=idle_s, cold_s=cold_s)
    assert 0 <= found.on_count <= rate / each + 1 + 1e-9
    assert found.on_count >= min(rate / each, (rate / each) // 1) - 1e-9
    assert 0 <= found.cold_ratio <= 1
    longer = serverless.workers(rate, each, request_s=request_s, idle_s=idle_s + 10, cold_s=cold_s)
    assert longer.on_count >= found.on_count - 1e-12
    assert longer.cold_ratio <= found.cold_ratio + 1e-12
    free = serverless.workers(
        rate, each, request_s=request_s, idle_s=idle_s, cold_s=cold_s, start_billed_ratio=0.0
    )
    assert free.on_count <= found.on_count + 1e-12


def test_a_warm_worker_answers_at_once():
    found = serverless.workers(0.01, 1.0, DAY, cold_s=60.0, warm_count=1.0)
    assert found.on_count == pytest.approx(1.0)
    assert found.cold_ratio == 0.0
    assert serverless.workers(0.0, 1.0).on_count == 0.0


def month(requests, **more):
    """A month on one replica that carries four requests a second, followed by the hour."""
    rate = requests / 730 / 3600
    return money.Usage(
        requests, 1000, 300, utilisation_ratio=min(1.0, rate / 4.0), profile=DAY, request_s=5.0, **more
    )


def held(priced, requests, **more):
    cost = money.serving_cost(serving(priced, 1), month(requests, **more), TERMS)
    assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
    return sum(cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))


def test_serverless_wins_when_little_is_asked_and_loses_when_much_is():
    assert held(SECONDS, 500) < held(HOURLY, 500) / 3
    assert held(SECONDS, 8e6) > held(HOURLY, 8e6)
    bills = [held(SECONDS, requests) for requests in (100, 1000, 10_000, 100_000, 1e6, 5e6)]
    assert bills == sorted(bills)
    dearer = offer("4.00", "serverless", includes=("host",))
    assert held(dearer, 1000) > held(SECONDS, 1000)


def test_spares_are_no_workers():
    usage = month(1e5)
    with_spare = money.serving_cost(serving(SECONDS, 1, spares=1), usage, TERMS)
    assert with_spare.line("spares") == 0
    assert with_spare.line("compute") + with_spare.line("idle") == pytest.approx(held(SECONDS, 1e5))


def test_a_worker_that_stays_on_costs_all_hours():
    always = held(SECONDS, 500, warm_workers_count=1.0)
    assert always == pytest.approx(730 * 3.60)


def test_what_is_billed_beside_the_accelerator_is_in_the_price():
    apart = offer("3.60", "serverless", notes="CPU/RAM/storage billed separately")
    assert bills_host_apart(apart)
    assert not bills_host_apart(SECONDS)
    host = TERMS.base("serverless_host_money_per_hour")
    assert money.tenure_of(apart, CARD, TERMS).money_per_hour == pytest.approx(3.60 + host)
    assert held(apart, 1e5) == pytest.approx(held(SECONDS, 1e5) * (3.60 + host) / 3.60)
    tree = money.cost_tree(serving(apart, 1), month(1e5), TERMS)
    assert "serverless_host_money_per_hour" in {leaf.name for leaf in tree["cost_per_month"].leaves()}


def test_the_tree_is_the_bill():
    candidate, usage = serving(SECONDS, 1), month(1e5)
    cost = money.serving_cost(candidate, usage, TERMS)
    assert float(money.cost_tree(candidate, usage, TERMS)["cost_per_month"]) == pytest.approx(
        cost.per_month_money
    )
    assert cost.committed_money == 0


def test_larger_weights_start_later():
    found = serverless_of(serving(SECONDS, 1).deployment, 1, month(1e4), 1.0, TERMS)
    assert found.cold_s == pytest.approx(60 + 16.06 / 1.0)
    slow = money.terms("USD", as_of="2026-11-30", stated={"cold_gb_per_s": 0.1})
    later = serverless_of(serving(SECONDS, 1).deployment, 1, month(1e4), 1.0, slow)
    assert later.cold_s > found.cold_s
    assert later.worker_hours_per_month > found.worker_hours_per_month


def test_a_batch_is_paid_while_it_runs():
    usage = replace(month(1e5, batch=True), active_hours_per_month=100.0)
    cost = money.serving_cost(serving(SECONDS, 1), usage, TERMS)
    assert sum(cost.line(key) for key in ("compute", "idle")) == pytest.approx(100 * 3.60)


def test_what_is_not_known_of_starts_and_time_outs_is_in_the_interval():
    little, much = (money.serving_cost(serving(SECONDS, 1), month(asked), TERMS) for asked in (2000, 8e6))
    spread = [one.per_accepted_high / one.per_accepted_money for one in (little, much)]
    assert spread[0] > spread[1]
    assert much.per_accepted_low < much.per_accepted_money < much.per_accepted_high
    ends = [
        serverless_ratios(serving(SECONDS, 1).deployment, 1, month(asked), 1.0, TERMS)
        for asked in (2000, 8e7)
    ]
    assert ends[0][0] < 1 < ends[0][1]
    assert ends[1] == (1.0, 1.0)


def test_many_worlds_at_once_are_the_worlds_one_by_one():
    import numpy as np

    from cabida.money.bills.serving import serving_bill
    from cabida.money.ways import Plain

    idles, asked = np.array([5.0, 60.0, 300.0]), np.array([1e3, 1e5, 3e6])
    name = "serverless_idle_s"
    terms = replace(TERMS, ranges=TERMS.ranges | {name: replace(TERMS.ranges[name], base=idles)})
    candidate, tenure = serving(SECONDS, 1), money.tenure_of(SECONDS, CARD, TERMS)
    used = asked / 730 / 3600 / 4.0
    usage = replace(month(1e5), requests_per_month=asked, utilisation_ratio=used)
    together = serving_bill(Plain(terms), candidate, usage, tenure)["total"]
    for at, idle_s in enumerate(idles):
        one = money.terms("USD", as_of="2026-11-30", stated={name: float(idle_s)})
        alone = money.serving_cost(candidate, month(float(asked[at])), one, tenure)
        assert together[at] == pytest.approx(alone.per_month_money)
