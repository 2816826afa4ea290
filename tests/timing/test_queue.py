"""The scheduler against queueing theory, an independent simulator, and laws that hold for every run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving_fixtures import CARD, IDLE, TOKEN_S

from cabida.timing.engine.step_table import bare_table
from cabida.timing.queues import columns
from cabida.timing.queues.simulate import serve

PER_TOKEN_S = 1e-3
ONE_SLOT = replace(IDLE, table=bare_table(0.0, PER_TOKEN_S), sequences_most_count=1)


def poisson(rate, count, seed=0):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count))


@pytest.mark.parametrize(("drawn", "squared_variation"), [("exponential", 1.0), ("fixed", 0.0)])
def test_one_slot_waits_as_pollaczek_and_khinchine_say(drawn, squared_variation):
    count, use, service_s = 60_000, 0.7, 1.0
    rng = np.random.default_rng(1)
    work = rng.exponential(1000.0, count) if drawn == "exponential" else np.full(count, 1000.0)
    found = serve(ONE_SLOT, poisson(use / service_s, count), work, np.ones(count))
    waits = found["scheduled_s"] - found["arrival_s"]
    expected = 0.5 * (1 + squared_variation) * use / (1 - use) * service_s
    assert waits.mean() == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("drawn", ["geometric", "fixed"])
def test_equal_shares_take_as_long_as_processor_sharing_whatever_the_lengths(drawn):
    count, use, mean = 30_000, 0.6, 200
    rng = np.random.default_rng(2)
    answers = rng.geometric(1 / mean, count) if drawn == "geometric" else np.full(count, mean)
    shared = replace(IDLE, sequence_s=PER_TOKEN_S)
    found = serve(shared, poisson(use / (mean * PER_TOKEN_S), count), np.ones(count), answers + 1.0)
    stays = found["last_s"] - found["arrival_s"]
    assert stays.mean() == pytest.approx(mean * PER_TOKEN_S / (1 - use), rel=0.08)


def test_three_slots_agree_customer_by_customer_with_ciw():
    import ciw

    count, servers, tokens = 300, 3, 2000
    gaps = np.random.default_rng(3).exponential(1.0, count)
    service_s = 2.4
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps.tolist(), 1e9])],
        service_distributions=[ciw.dists.Deterministic(service_s)],
        number_of_servers=[servers],
    )
    oracle = ciw.Simulation(network)
    oracle.simulate_until_max_time(float(gaps.sum()) + 500.0)
    waits = np.array([r.waiting_time for r in sorted(oracle.get_all_records(), key=lambda r: r.arrival_date)])
    steady = replace(IDLE, launch_s=service_s / tokens, sequences_most_count=servers)
    found = serve(steady, np.cumsum(gaps), np.ones(count), np.full(count, float(tokens)))
    ours = found["scheduled_s"] - found["arrival_s"]
    assert waits.max() > 1.0
    assert np.abs(ours - waits[:count]).max() < 40 * service_s / tokens


@settings(max_examples=25, deadline=None)
@given(
    rate=st.floats(0.5, 40),
    kv_tokens=st.sampled_from([2010.0, 6000.0, 20_000.0, 450_000.0]),
    budget=st.sampled_from([256.0, 2048.0, 8192.0]),
    mixed=st.booleans(),
    reserve=st.sampled_from([0.0, 1.0]),
    prefix=st.sampled_from([0.0, 100.0]),
    seed=st.integers(0, 1000),
)
def test_every_token_asked_for_comes_out_once(rate, kv_tokens, budget, mixed, reserve, prefix, seed):
    rng = np.random.default_rng(seed)
    count = 120
    prompts, answers = rng.integers(101, 1500, count), rng.integers(1, 400, count)
    model = replace(CARD, kv_tokens=kv_tokens, budget_tokens=budget, mixed=mixed, reserve_ratio=reserve)
    found = serve(model, poisson(rate, count, seed), prompts, answers, prefix)
    totals = found["totals"]
    assert found["served"].all()
    assert totals[columns.GENERATED] == answers.sum()
    assert (found["arrival_s"] <= found["scheduled_s"]).all()
    assert (found["scheduled_s"] < found["first_s"]).all()
    assert (found["first_s"] <= found["last_s"] + 1e-12).all()
    read = prompts.sum() - prefix * (count - 1)
    if reserve:
        assert totals[columns.PREEMPTIONS] == 0
    if totals[columns.PREEMPTIONS] == 0:
        assert totals[columns.PREFILLED] == pytest.approx(read, abs=prefix * 40)
        in_service = (found["last_s"] - found["scheduled_s"]).sum()
        assert totals[columns.SEQUENCE_S] == pytest.approx(in_service, rel=1e-6)  # Little's law, sample path


def test_a_small_cache_preempts_and_still_serves():
    count = 60
    tight = replace(CARD, kv_tokens=4000.0)
    found = serve(tight, np.zeros(count), np.full(count, 500.0), np.full(count, 300.0))
    roomy = serve(CARD, np.zeros(count), np.full(count, 500.0), np.full(count, 300.0))
    assert found["totals"][columns.PREEMPTIONS] > 0
    assert found["served"].all()
    assert found["last_s"].max() > roomy["last_s"].max()
    assert found["totals"][columns.PREFILLED] > roomy["totals"][columns.PREFILLED]


def test_a_request_larger_than_the_cache_is_turned_away_and_the_rest_served():
    prompts = np.array([500.0, 9000.0, 500.0])
    found = serve(replace(CARD, kv_tokens=4000.0), np.zeros(3), prompts, np.full(3, 10.0))
    assert found["served"].tolist() == [True, False, True]


def test_closed_loop_throughput_is_clients_over_cycle():
    count, clients = 2000, 32
    rng = np.random.default_rng(5)
    prompts, answers = rng.integers(50, 1000, count), rng.integers(10, 400, count)
    found = serve(CARD, np.zeros(count), prompts, answers, clients=clients, think_s=0.05)
    middle = slice(200, 1500)
    sent, last = found["arrival_s"], found["last_s"]
    cycle = (last - sent)[middle].mean() + 0.05
    rate = 1300 / (sent[1500] - sent[200])
    assert rate == pytest.approx(clients / cycle, rel=0.03)


def test_static_batches_do_not_overlap():
    count = 40
    answers = np.random.default_rng(6).integers(10, 100, count)
    model = replace(CARD, sequences_most_count=8)
    found = serve(model, np.zeros(count), np.full(count, 100.0), answers, static=True)
    starts, ends = found["scheduled_s"].reshape(5, 8), found["last_s"].reshape(5, 8)
    assert (starts[1:].min(axis=1) >= ends[:-1].max(axis=1) - 1e-9).all()


def test_prompts_first_engines_hold_decoding_back():
    arrivals, prompts, answers = np.array([0.0, 0.05]), np.array([10.0, 100.0]), np.array([50.0, 1.0])
    apart = serve(replace(CARD, mixed=False), arrivals, prompts, answers)
    together = serve(CARD, arrivals, prompts, answers)
    assert apart["totals"][columns.STEPS] == together["totals"][columns.STEPS] + 1 == 51


def test_advancing_many_steps_at_once_changes_nothing():
    """A stream of far arrivals that are never admitted cuts the runs of steps short: same clock."""
    answers = np.array([300.0, 200.0, 100.0])
    whole = serve(CARD, np.zeros(3), np.full(3, 400.0), answers)
    late = np.concatenate([np.zeros(3), 0.02 + np.linspace(0, 1.5, 40)])
    slots = replace(CARD, sequences_most_count=4)
    cut = serve(
        slots, late, np.concatenate([np.full(3, 400.0), np.full(40, 1.0)]),
        np.concatenate([answers, np.ones(40)]),
    )  # fmt: skip
    extra = 40 * (CARD.sequence_s + TOKEN_S + 1e-3)
    assert whole["last_s"][0] <= cut["last_s"][0] < whole["last_s"][0] + extra
