"""The steady state without a simulation: Little's law, limits, and agreement with the simulation."""

from dataclasses import replace

import pytest
from serving_fixtures import CARD, READ_S, TOKEN_S, deployment

from cabida import memory, timing
from cabida.plan import Load
from cabida.timing.engine.fluid import at_batch, bounds_of, closed, flow_of, fluid_of, most_batch
from cabida.timing.queues.simulate import simulate_model

SHAPES = [(1000, 200), (200, 800), (3000, 100)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("clients", [1, 8, 48])
def test_closed_loop_obeys_littles_law(shape, clients):
    flow = flow_of(CARD, Load(*shape, concurrency=clients))
    state = closed(CARD.costs, flow, float(clients))
    cycle = state.ttft_s + flow.output_tokens * state.tpot_s
    assert state.requests_per_s * cycle == pytest.approx(clients, rel=0.02)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("clients", [1, 8, 48])
def test_closed_loop_agrees_with_the_simulation(shape, clients):
    load = Load(*shape, concurrency=clients, input_spread_ratio=0.5, output_spread_ratio=0.5)
    quick, slow = fluid_of(CARD, load, {}), simulate_model(CARD, load, {}, requests_count=800)
    assert quick.tpot_s.mean == pytest.approx(slow.tpot_s.mean, rel=0.15)
    assert quick.output_tokens_per_s == pytest.approx(slow.output_tokens_per_s, rel=0.15)


@pytest.mark.parametrize("shape", SHAPES)
def test_open_arrivals_agree_with_the_simulation_below_saturation(shape):
    most = bounds_of(CARD, Load(*shape)).requests_per_s_max
    load = Load(*shape, requests_per_s=0.5 * most, input_spread_ratio=0.5, output_spread_ratio=0.5)
    quick, slow = fluid_of(CARD, load, {}), simulate_model(CARD, load, {}, requests_count=1500)
    assert not quick.saturated
    reading = (
        shape[0] > 10 * shape[1]
    )  # prompts then are most of the work, and wait for each other: too quick by a third
    assert quick.batch_mean == pytest.approx(slow.batch_mean, rel=0.25 if reading else 0.1)
    assert quick.tpot_s.mean == pytest.approx(slow.tpot_s.mean, rel=0.2 if reading else 0.1)
    assert quick.ttft_s.mean == pytest.approx(slow.ttft_s.mean, rel=0.35 if reading else 0.2)


def test_more_than_it_can_carry_is_saturated():
    most = bounds_of(CARD, Load(1000, 200)).requests_per_s_max
    assert fluid_of(CARD, Load(1000, 200, requests_per_s=1.05 * most), {}).saturated
    assert not fluid_of(CARD, Load(1000, 200, requests_per_s=0.9 * most), {}).saturated


def test_a_small_cache_limits_the_batch():
    flow = flow_of(replace(CARD, kv_tokens=11_000.0), Load(1000, 200))
    assert most_batch(flow) == pytest.approx(10.0)


def test_bounds_bound():
    load = Load(1000, 200)
    best = bounds_of(CARD, load)
    for clients in (1, 16, 128):
        speed = fluid_of(CARD, replace(load, concurrency=clients), {})
        assert speed.ttft_s.mean >= best.ttft_s
        assert speed.tpot_s.mean >= best.tpot_s
        assert speed.requests_per_s <= 1.001 * best.requests_per_s_max


def test_equal_requests_on_a_prompts_first_engine_march_in_step():
    model = replace(CARD, mixed=False, budget_tokens=4000.0)
    load = Load(1000, 200, concurrency=32)
    quick, slow = fluid_of(model, load, {}), simulate_model(model, load, {}, requests_count=640)
    assert quick.ttft_s.mean == pytest.approx(slow.ttft_s.mean, rel=0.1)
    assert quick.tpot_s.mean == pytest.approx(slow.tpot_s.mean, rel=0.1)
    assert quick.requests_per_s == pytest.approx(slow.requests_per_s, rel=0.1)
    unlike = replace(load, input_spread_ratio=0.5, output_spread_ratio=0.5)
    assert fluid_of(model, unlike, {}).ttft_s.mean < 0.6 * quick.ttft_s.mean


def test_a_shared_prefix_saves_its_prefill():
    plain = at_batch(CARD.costs, flow_of(CARD, Load(2000, 200)), 16.0)
    shared = at_batch(CARD.costs, flow_of(CARD, Load(2000, 200, shared_prefix_tokens=1500)), 16.0)
    assert shared.ttft_s < plain.ttft_s
    assert shared.requests_per_s > plain.requests_per_s


def test_without_prefix_caching_a_shared_prefix_saves_nothing():
    bare = replace(CARD, shares_prefixes=False)
    load = Load(2000, 200, concurrency=8, shared_prefix_tokens=1500)
    assert fluid_of(bare, load, {}) == fluid_of(bare, replace(load, shared_prefix_tokens=0.0), {})
    assert simulate_model(bare, load, {}).ttft_s.mean > simulate_model(CARD, load, {}).ttft_s.mean


def test_data_parallel_ranks_share_the_load():
    d = deployment("Qwen/Qwen3-4B", "l40s")
    two = replace(d, parallel=replace(d.parallel, dp=2))
    one_speed = timing.fluid(d, memory.serving(d), Load(500, 200, concurrency=8))
    two_speed = timing.fluid(two, memory.serving(two), Load(500, 200, concurrency=16))
    assert two_speed.output_tokens_per_s == pytest.approx(2 * one_speed.output_tokens_per_s, rel=1e-6)
    assert two_speed.tpot_s.mean == pytest.approx(one_speed.tpot_s.mean, rel=1e-6)


def test_bandwidth_alone_limits_a_lone_stream_and_products_alone_a_full_batch():
    """Throughput at the ends: one token per reading of the weights, then the tokens the products allow."""
    bare = replace(CARD, launch_s=0.0, sequence_s=0.0, context_s_per_token=0.0, attended_s_per_token=0.0)
    lone = fluid_of(bare, Load(1, 1000, concurrency=1), {}).output_tokens_per_s
    assert lone == pytest.approx(1 / READ_S, rel=0.01)
    wide = replace(bare, sequences_most_count=200_000, budget_tokens=1e6, kv_tokens=1e12)
    full = fluid_of(wide, Load(1000, 1000, concurrency=100_000), {}).total_tokens_per_s
    assert full == pytest.approx(1 / TOKEN_S, rel=0.03)


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize(("clients", "spread"), [(1, 0.0), (16, 0.0), (16, 0.5)])
def test_the_shortest_gap_between_tokens_is_a_quiet_step(mixed, clients, spread):
    """Where prompts go alone, a gap holds the prompt's step beside a quiet one: nothing negative is left."""
    model = replace(CARD, mixed=mixed)
    load = Load(2000, 20, concurrency=clients, input_spread_ratio=spread, output_spread_ratio=spread)
    quick, slow = fluid_of(model, load, {}).itl_s, simulate_model(model, load, {}, requests_count=800).itl_s
    assert quick.quantiles[0] == pytest.approx(slow.quantiles[0], rel=0.25)
    assert list(quick.quantiles) == sorted(quick.quantiles)
