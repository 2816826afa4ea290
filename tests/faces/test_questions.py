"""``fit``, ``speed`` and ``cost`` as functions: what flags mean, and what the answers keep."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import app, facts
from cabida.errors import InvalidInput
from cabida.evidence.trace import read_trace
from cabida.plan import Setup
from cabida.plan.setup import deployment, split, training_run

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
SPEED = {"gpu": "h100-sxm-80", "input_tokens": 500.0, "output_tokens": 100.0}
sizes = st.one_of(st.none(), st.sampled_from([1, 2, 4, 8]))


@given(st.integers(1, 64), sizes, sizes, sizes, sizes, st.booleans())
def test_a_split_uses_every_accelerator_or_is_refused(gpus, tp, pp, dp, cp, data):
    setup, node = Setup(gpus=gpus, tp=tp, pp=pp, dp=dp, cp=cp), facts.node_for("h100-sxm-80")
    if gpus % math.prod(one or 1 for one in (tp, pp, dp, cp)):
        with pytest.raises(InvalidInput, match="CB-U010"):
            split(setup, node, data=data)
        return
    if dp is not None:  # nothing may be left to take up the rest
        dp = gpus // math.prod(one or 1 for one in (tp, pp, cp))
        setup = Setup(gpus=gpus, tp=tp or 1, pp=pp or 1, dp=dp, cp=cp)
    found = split(setup, node, data=data)
    assert found.accelerators_count == gpus
    assert all(
        asked in (None, have)
        for asked, have in ((tp, found.tp), (pp, found.pp), (dp, found.dp), (cp, found.cp))
    )


@pytest.mark.parametrize(
    ("flags", "tp", "pp", "dp"),
    [
        ({"gpus": 8}, 8, 1, 1),
        ({"gpus": 16}, 8, 2, 1),
        ({"nodes": 2}, 8, 2, 1),
        ({"gpus": 4, "tp": 2}, 2, 1, 2),
        ({"tp": 2, "pp": 2}, 2, 2, 1),
        ({}, 1, 1, 1),
    ],
)
def test_what_is_left_open_is_split_the_usual_way(flags, tp, pp, dp):
    found = split(Setup(**flags), facts.node_for("h100-sxm-80"))
    assert (found.tp, found.pp, found.dp) == (tp, pp, dp)


def test_training_leaves_the_rest_to_data_parallelism():
    run = training_run(
        Setup(gpus=16, tp=2, method="full"), facts.model(LLAMA), facts.accelerator("h100-sxm-80")
    )
    assert (run.tp, run.data_parallel_count, run.sharding) == (2, 8, "ddp")
    assert run.weights.id == "bf16"
    tuned = training_run(Setup(method="qlora"), facts.model(LLAMA), facts.accelerator("rtx3090"))
    assert tuned.weights.id == "bnb-nf4"


def test_the_engine_is_one_that_runs():
    def engine(gpu, weights):
        return deployment(Setup(weights=weights), facts.model(LLAMA), facts.accelerator(gpu)).engine

    assert engine("h100-sxm-80", "fp8") == "vllm"
    assert engine("rtx3090", "q4_k_m") == "llama.cpp"
    assert engine("m3-ultra", "q4_k_m") == "llama.cpp"


def test_speed_keeps_order_and_seed():
    first = app.speed(LLAMA, **SPEED, requests_per_s=4.0, seed=3)
    metrics = first["metrics"]
    for name in ("ttft", "tpot", "e2e"):
        values = [metrics[f"{name}_ms_{one}"].value for one in ("p50", "p95", "p99")]
        assert values == sorted(values)
    assert all(one.low <= one.value <= one.high for one in metrics.values())
    assert app.speed(LLAMA, **SPEED, requests_per_s=4.0, seed=3) == first


def test_a_context_nobody_asked_for_is_cut_but_an_asked_one_is_not():
    assert app.speed(LLAMA, **SPEED | {"gpu": "l4"}, concurrency=1.0)["max_model_len"] < 131072
    with pytest.raises(InvalidInput, match="CB-U011"):
        app.speed(LLAMA, **SPEED | {"gpu": "l4"}, concurrency=1.0, max_model_len=131072)


def test_cost_is_sorted_dated_and_has_every_term():
    answer = app.cost(LLAMA, **SPEED, as_of="2026-11-30", currency="EUR", requests_per_s=2.0)
    months = [row["cost_per_month_money"] for row in answer["rows"]]
    assert months == sorted(months)
    for row in answer["rows"]:
        assert sum(row["lines"].values()) == pytest.approx(row["cost_per_month_money"])
        assert row["seen"] <= "2026-11-30"
        unit, per_mtok = row["metrics"]["accepted_answer_money"], row["metrics"]["output_mtok_money"]
        assert per_mtok.value == pytest.approx(unit.value * 1e6 / 100)
        assert unit.low <= unit.value <= unit.high
    busier = app.cost(
        LLAMA, **SPEED, as_of="2026-11-30", requests_per_s=2.0, acceptance=0.5, capacity=("reserved",)
    )
    calmer = app.cost(LLAMA, **SPEED, as_of="2026-11-30", requests_per_s=2.0, capacity=("reserved",))
    assert {row["capacity"] for row in busier["rows"]} == {"reserved"}
    pair = (
        busier["rows"][0]["metrics"]["accepted_answer_money"],
        calmer["rows"][0]["metrics"]["accepted_answer_money"],
    )
    assert pair[0].value == pytest.approx(2 * pair[1].value, rel=0.05)


def test_a_year_with_overhead_costs_the_building_too():
    plain, building = app.energy(400, 0.15), app.energy(400, 0.15, pue=1.58, hours=100)
    assert building["cost_money"].value == pytest.approx(plain["cost_money"].value * 1.58 * 100 / 8760)
    prices = [row["money_per_mtok"] for row in plain["api"]]
    assert prices == sorted(prices)


def test_a_trace_is_read_and_sorted(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("extra,arrival_s,input_tokens,output_tokens\nx,2,30,3\ny,1,20,2\n", encoding="utf-8")
    arrivals, inputs, outputs = read_trace(file)
    assert (list(arrivals), list(inputs), list(outputs)) == ([1, 2], [20, 30], [2, 3])
    assert app.speed(LLAMA, gpu="l4", trace=file)["metrics"]["ttft_ms_p50"].value > 0


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("arrival_s,input_tokens\n1,2\n", ["CB-B039"]),
        ("", ["CB-B039"]),
        ("arrival_s,input_tokens,output_tokens\n", ["CB-B039"]),
        ("arrival_s,input_tokens,output_tokens\n1,2\nnan,1,1\n1,-1,1\n1,2,3\n", ["CB-B039"] * 3),
    ],
)
def test_a_bad_trace_is_told_line_by_line(tmp_path, text, codes):
    file = tmp_path / "t.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_trace(file)
    assert [one.code for one in caught.value.problems] == codes
    if len(codes) > 1:
        assert [one.line for one in caught.value.problems] == [2, 3, 4]


def test_a_trace_that_is_not_text(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="CB-B007"):
        read_trace(tmp_path / "t.csv")
