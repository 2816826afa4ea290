"""Prompts read by some replicas and answers written by others: what the hand-over costs, and when splitting pays."""

from dataclasses import replace

import pytest
from serving_fixtures import deployment

from cabida import memory
from cabida.plan import Load
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.disaggregated import Disaggregated, hand_over_link, two_pools
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_pools

ONE = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80")
BOTH = Disaggregated(ONE, 1, ONE, 1)
LOAD = Load(4000, 200, requests_per_s=5, input_spread_ratio=0.4, output_spread_ratio=0.4)


def simulated(both, load, **more):
    return simulate_pools(two_pools(both), load, {}, routing="least-loaded", **more)


def test_inside_a_machine_a_cache_travels_over_its_links_and_beyond_it_over_the_network():
    assert hand_over_link(BOTH).kind == "nvlink4"
    assert hand_over_link(replace(BOTH, readers_count=6, writers_count=6)).kind == "network"
    far, _ = two_pools(replace(BOTH, readers_count=6, writers_count=6))
    near, _ = two_pools(BOTH)
    assert far.hand_s_per_token > 2 * near.hand_s_per_token


def test_a_token_takes_its_bytes_over_the_rate():
    near, _ = two_pools(BOTH)
    per_token = memory.serving(ONE).kv_bytes_per_token
    assert per_token == 2 * 32 * 8 * 128 * 2
    assert near.hand_s_per_token == pytest.approx(per_token / hand_over_link(BOTH).other_bytes_per_s)


def test_what_is_fixed_delays_a_hand_over_and_holds_up_no_other():
    """A second request over HTTP takes its time beside the link, not on it: readers give out what they read."""
    reader, writer = two_pools(BOTH)
    load = replace(LOAD, input_tokens=200, requests_per_s=20)
    slow = simulate_pools((replace(reader, hand_s=0.2), writer), load, {}, requests_count=400)
    quick = simulate_pools((replace(reader, hand_s=0.0), writer), load, {}, requests_count=400)
    assert slow.ttft_s.mean - quick.ttft_s.mean == pytest.approx(0.2, rel=0.1)
    assert not slow.saturated


def test_answers_flow_evenly_where_no_prompt_interrupts_them():
    apart = simulated(BOTH, LOAD, requests_count=400)
    model = step_model(ONE, memory.serving(ONE))
    together = simulate_pools((Pool(model, 2),), LOAD, {}, routing="least-loaded", requests_count=400)
    assert apart.itl_s.p99 < 0.5 * together.itl_s.p99
    assert apart.requests_per_s == pytest.approx(together.requests_per_s, rel=0.05)


def test_readers_are_the_limit_of_long_prompts_and_more_of_them_the_cure():
    load = replace(LOAD, input_tokens=12_000, requests_per_s=3.5)
    few, more = (simulated(replace(BOTH, readers_count=n), load, requests_count=300) for n in (1, 3))
    assert more.ttft_s.mean < few.ttft_s.mean
    assert more.requests_per_s >= 0.99 * few.requests_per_s


def test_same_seed_same_answer():
    first, second = (simulated(BOTH, LOAD, requests_count=150, seed=4) for _ in range(2))
    assert first == second
