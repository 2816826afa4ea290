"""Engines that do not look at their line in every step: SGLang's interval, TensorRT-LLM's waits for company."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from serving_fixtures import IDLE, deployment

from cabida import memory
from cabida.plan import Load
from cabida.timing.engine.step_table import bare_table
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.scripts import script_of, started
from cabida.timing.queues.simulate import serve, simulate_model

STEP_S = 0.01
CLOCK = replace(IDLE, launch_s=STEP_S, table=bare_table(0.0, 0.0))  # every step takes as long
LONG = 1000.0


def waits(model, arrivals):
    """Steps from arrival to the first token of what comes while a first, long request decodes."""
    many = len(arrivals)
    found = serve(model, np.array([0.0, *arrivals]), np.full(many + 1, 10.0), np.array([LONG] + [5.0] * many))
    return (found["first_s"][1:] - found["arrival_s"][1:]) / STEP_S


def habits(**changed):
    return replace(CLOCK, scheduler=replace(CLOCK.scheduler, **changed))


def test_who_comes_between_two_looks_waits_for_the_next():
    model = habits(poll_steps=30.0)
    for arrival in (0.055, 0.155, 0.255, 1.005, 2.345):
        left = waits(model, [arrival])[0]
        decoded = arrival / STEP_S - 1  # the first step read the prompt
        assert left == pytest.approx(np.ceil(decoded / 30) * 30 - decoded + 1, abs=0.01), arrival
    spread = waits(model, list(np.arange(0.5, 9.0, 0.137)))
    assert spread.mean() == pytest.approx(16, abs=3)
    assert waits(CLOCK, [0.055])[0] == pytest.approx(1.5, abs=0.01)


def test_a_prompt_is_held_back_for_others_and_goes_when_they_fill_the_step():
    model = replace(habits(hold_steps=20.0, hold_ratio=0.9), budget_tokens=100.0)
    assert waits(model, [0.055])[0] == pytest.approx(21.5, abs=0.01)
    together = waits(
        model, [0.055 + 0.001 * place for place in range(9)]
    )  # nine of ten tokens, and one decodes
    assert together.max() < 3
    later = waits(model, [0.055, 0.105])
    assert later[0] - later[1] == pytest.approx(5, abs=0.01)  # they go together


def test_ranks_wait_until_each_has_a_prompt_or_so_many_steps():
    ranks = replace(habits(poll_steps=60.0, poll_ranks=True), ranks_count=2, shared_ratio=0.5)
    arrivals = np.array([0.0, 0.0, 0.205, 0.305])
    outputs = np.array([LONG, LONG, 5.0, 5.0])
    found = serve(ranks, arrivals, np.full(4, 10.0), outputs)
    steps = (found["first_s"] - arrivals) / STEP_S
    assert steps[2] == pytest.approx(11.5, abs=1.01)  # the second one came ten steps later
    assert steps[3] == pytest.approx(1.5, abs=1.01)
    alone = serve(ranks, arrivals[:3], np.full(3, 10.0), outputs[:3])
    assert (alone["first_s"][2] - 0.205) / STEP_S == pytest.approx(42, abs=2)


def test_scripts_say_how_a_server_was_started_and_settings_reach_the_scheduler():
    asked = {"moe": True, "tp": 8, "ranks_count": 1, "tokens": (1024, 1024)}
    busy = script_of("inferencex", "sglang", "fp8", "Blackwell", clients=64, **asked)
    calm = script_of("inferencex", "sglang", "fp8", "Blackwell", clients=4, **asked)
    assert (busy.scheduler_recv_interval, calm.scheduler_recv_interval) == (30, 10)
    assert script_of("", "sglang", "fp8", "Blackwell", clients=4, **asked) is None
    d = deployment("Qwen/Qwen3-4B", "b200-sxm-180", engine="sglang")
    d = replace(d, settings=started(d.settings, busy))
    assert step_model(d, memory.serving(d)).scheduler.poll_steps == 30
    speculating = replace(d, settings=replace(d.settings, draft_tokens=3))
    assert step_model(d, memory.serving(d)).sequences_most_count > 48
    assert step_model(speculating, memory.serving(speculating)).sequences_most_count == 48
    ranks = replace(d, parallel=replace(d.parallel, dp=2))
    assert (
        step_model(ranks, memory.serving(ranks)).scheduler.poll_steps == 1
    )  # it has no such wait between ranks


def test_max_utilisation_admits_more_and_preempts_where_no_evict_waits():
    """TensorRT-LLM's two policies on a cache a third of what the requests come to."""
    d = deployment("Qwen/Qwen3-4B", "l40s", engine="tensorrt-llm")
    load = Load(500, 500, concurrency=64, output_spread_ratio=0.5)
    found = {}
    for policy in ("", "MAX_UTILIZATION"):
        one = replace(d, settings=replace(d.settings, capacity_scheduler_policy=policy))
        model = replace(step_model(one, memory.serving(one)), kv_tokens=20_000.0)
        found[policy] = simulate_model(model, load, {}, requests_count=600)
    safe, full = found[""], found["MAX_UTILIZATION"]
    assert safe.preemptions_count == 0 < full.preemptions_count
    assert full.batch_mean > 1.1 * safe.batch_mean
    assert full.ttft_s.mean < safe.ttft_s.mean
