"""Readers and writers apart: the two ends of what their steady state can be."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import facts, memory
from cabida.plan import Deployment, Load, Parallel
from cabida.timing.engine.steps import StepModel, step_model, step_s
from cabida.timing.queues.handed_over import read_s, written_s

LOAD = Load(2048, 256, concurrency=64)


def worker(tp: int = 1) -> StepModel:
    accelerator = facts.accelerator("h200-sxm-141")
    fp8 = facts.weight_format("fp8")
    d = Deployment(
        facts.model("meta-llama/Llama-3.1-8B"), accelerator, Parallel(tp=tp), fp8, fp8, "vllm", "0.11.0",
        node=facts.node_for(accelerator),
    )  # fmt: skip
    return step_model(d, memory.serving(d))


def test_readers_without_end_leave_every_client_to_the_writers_but_for_reading():
    model = worker()
    context = LOAD.input_tokens + 0.5 * LOAD.output_tokens
    all_of_them = step_s(model, decode_count=64, decode_context_tokens=64 * context)
    assert 0.8 * all_of_them < written_s(model, float("inf"), model, 1, LOAD) <= all_of_them


def test_one_reader_for_many_writers_leaves_them_nearly_alone():
    model = worker()
    context = LOAD.input_tokens + 0.5 * LOAD.output_tokens
    alone = step_s(model, decode_count=1, decode_context_tokens=context)
    starved = written_s(replace(model, request_s=1.0), 1, model, 8, LOAD)
    assert starved == pytest.approx(alone, rel=0.05)


@settings(deadline=None)
@given(st.integers(1, 16), st.floats(1, 512))
def test_more_readers_never_quicken_a_token_and_more_writers_never_slow_one(readers, clients):
    model = worker()
    load = replace(LOAD, concurrency=clients)
    few, many = (written_s(model, count, model, 2, load) for count in (readers, readers + 1))
    assert many >= few * (1 - 1e-6)
    assert written_s(model, readers, model, 4, load) <= few * (1 + 1e-6)


def test_a_prompt_beyond_the_budget_is_read_in_steps():
    model = replace(worker(), budget_tokens=1024.0)
    assert read_s(model, 2048) > 1.5 * read_s(model, 1024)
