"""Percentiles under load: reproducible, sane at the limits, and as measured in public request traces."""

import ast
import csv
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from serving_fixtures import CARD, deployment

from cabida import facts, memory, timing
from cabida.plan import Deployment, Load, Parallel, Settings
from cabida.timing.queues.simulate import simulate_model

TRACES = Path(__file__).parents[2] / "cases" / "traces"
BUSY = Load(1000, 200, requests_per_s=10, input_spread_ratio=0.5, output_spread_ratio=0.5)


def test_same_seed_same_answer_other_seed_another():
    assert simulate_model(CARD, BUSY, {}, seed=3) == simulate_model(CARD, BUSY, {}, seed=3)
    assert simulate_model(CARD, BUSY, {}, seed=3) != simulate_model(CARD, BUSY, {}, seed=4)


PLAIN = """
import sys
sys.path.insert(0, {here!r})
from test_simulate import BUSY, CARD, simulate_model
speed = simulate_model(CARD, BUSY, {{}}, requests_count=60)
print(speed.ttft_s.quantiles + speed.e2e_s.quantiles)
"""


def test_without_numba_the_same_code_gives_the_same_answer():
    from cabida.timing.queues import queue

    assert hasattr(queue.run, "py_func"), "numba is part of what make test sets up"
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN.format(here=str(Path(__file__).parent))],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    speed = simulate_model(CARD, BUSY, {}, requests_count=60)
    assert speed.ttft_s.quantiles + speed.e2e_s.quantiles == pytest.approx(
        ast.literal_eval(plain.stdout), rel=1e-9
    )


def test_quantiles_rise_and_bursts_hurt():
    calm = simulate_model(CARD, BUSY, {}, requests_count=2000)
    bursty = simulate_model(CARD, replace(BUSY, burst_ratio=8.0), {}, requests_count=2000)
    for shape in (calm.ttft_s, calm.tpot_s, calm.itl_s, calm.e2e_s):
        assert list(shape.quantiles) == sorted(shape.quantiles)
        assert shape.p50 <= shape.p95 <= shape.p99
    assert bursty.ttft_s.p95 > 1.5 * calm.ttft_s.p95


@pytest.mark.parametrize("seed", [0, 2])
def test_an_interval_of_a_rate_that_is_kept_up_with_ends_at_it(seed):
    spread = {"requests_per_s": (0.5, 1.5)}
    calm = simulate_model(CARD, replace(BUSY, requests_per_s=1), spread, seed=seed)
    assert calm.requests_per_s == 1
    assert 0.95 < calm.rate_factors[0] < calm.rate_factors[1] == 1
    near = simulate_model(CARD, replace(BUSY, requests_per_s=15), spread, seed=seed)
    assert 0.5 <= near.rate_factors[0] < 0.9, "the replica's own most may lie below what arrives"


def test_rate_of_an_open_queue_is_the_arrival_rate_until_it_saturates():
    below = simulate_model(CARD, BUSY, {}, requests_count=3000)
    assert not below.saturated
    assert below.requests_per_s == 10, "of the rate, not of one draw's arrivals"
    assert below.output_tokens_per_s == 10 * 200
    above = simulate_model(CARD, replace(BUSY, requests_per_s=60), {}, requests_count=3000)
    assert above.saturated
    assert above.requests_per_s < 40
    assert math.isinf(above.ttft_s.p99), "what grows for as long as it lasts has no percentile"
    counted = simulate_model(CARD, replace(BUSY, requests_per_s=60, prompts_count=3000), {})
    assert counted.saturated
    assert math.isfinite(counted.ttft_s.p99)


def test_everything_queued_at_once_runs_at_full_batch():
    offline = simulate_model(CARD, Load(500, 300, concurrency=math.inf), {}, requests_count=1500)
    many = simulate_model(CARD, Load(500, 300, concurrency=256), {}, requests_count=1500)
    assert offline.output_tokens_per_s == pytest.approx(many.output_tokens_per_s, rel=0.1)
    assert not offline.saturated


def test_a_cache_too_small_for_one_request_serves_nothing():
    none = simulate_model(
        replace(CARD, kv_tokens=500.0), Load(1000, 200, requests_per_s=1), {}, requests_count=20
    )
    assert none.saturated
    assert none.requests_per_s == 0.0


def test_intervals_come_with_the_deployment():
    d = deployment("meta-llama/Llama-3.1-8B", "h100-sxm-80")
    speed = timing.simulate(d, memory.serving(d), BUSY, requests_count=200)
    assert {"tpot_s", "ttft_s"} <= set(speed.spread)
    for low, high in speed.spread.values():
        assert low < 1 < high
    low, high = speed.spread["tpot_s"]
    assert high / low <= 4


def traced(name):
    """A public run: its deployment, the cache it reported, and its requests."""
    setup = json.loads((TRACES / f"{name}.json").read_text())
    with (TRACES / f"{name}.csv").open() as lines:
        table = np.array([[float(cell) for cell in row] for row in list(csv.reader(lines))[1:]])
    card, bf16, given = facts.accelerator(setup["gpu"]), facts.weight_format("bf16"), setup["args"]
    d = Deployment(
        facts.model(setup["model"]), card, Parallel(tp=setup["tp"], dp=setup["dp"], ep=setup.get("ep", 1)),
        bf16, bf16, setup["engine"], setup["engine_version"],
        Settings(
            max_num_seqs=given["max_num_seqs"], max_num_batched_tokens=given["max_num_batched_tokens"],
            max_model_len=given["max_model_len"],
        ),
        facts.node_for(card),
    )  # fmt: skip
    return d, table


RUNS = (
    "vllm-0.19.0-rtx4090-llama-3.1-8b-tp1",
    "vllm-0.19.0-rtxpro6000-server-qwen3-30b-a3b-instruct-2507-dp2-ep2",
)


def percentiles(speed, table):
    """Ours over measured of each percentile, by latency."""
    ttft, e2e = table[:, 4] - table[:, 0], table[:, 5] - table[:, 0]
    tpot = (table[:, 5] - table[:, 4]) / (table[:, 2] - 1)
    places = ((0.5, 4), (0.95, 7), (0.99, 8))
    return {
        name: [
            getattr(speed, name).quantiles[place] / np.quantile(measured, share) for share, place in places
        ]
        for name, measured in (("ttft_s", ttft), ("tpot_s", tpot), ("e2e_s", e2e))
    }


@pytest.mark.parametrize("name", RUNS)
def test_public_traces_request_by_request(name):
    """casys-kaist/LLMServingSim, vLLM 0.19: without a profile of the card, from its data sheet."""
    d, table = traced(name)
    found = percentiles(
        timing.simulate_trace(d, memory.serving(d), table[:, 0], table[:, 1], table[:, 2]), table
    )
    for latency, ratios in found.items():
        assert ratios == pytest.approx([1, 1, 1], rel=0.1), latency
