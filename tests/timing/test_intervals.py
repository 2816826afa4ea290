"""Intervals of speed: what they promise, and that every word of a regime is read."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.plan import Deployment, Load, Parallel
from cabida.timing.intervals import (
    CLOSEST_RATIO,
    LEADERS,
    factors,
    factors_in,
    interval,
    residual_facts,
    shared_parts,
)
from cabida.timing.spread import FIGURES, family_of, regime_of, spread_of, version_number, version_word

WORDS = st.dictionaries(st.sampled_from(["", "engine=a", "card=b", "load=c"]), st.floats(-3, 3))


def deployment(gpu: str = "h100-sxm-80", engine: str = "vllm", version: str = "0.10.0") -> Deployment:
    accelerator = facts.accelerator(gpu)
    return Deployment(
        facts.model("meta-llama/Llama-3.1-8B"), accelerator, Parallel(), facts.weight_format("fp8"),
        facts.weight_format("fp8"), engine, version, node=facts.node_for(accelerator),
    )  # fmt: skip


ENDS = st.floats(0.01, 5)


@given(WORDS, ENDS, ENDS, st.booleans(), st.lists(st.sampled_from(["engine=a", "odd=word"]), unique=True))
def test_the_prediction_is_inside_and_no_interval_is_closer_than_repeated_runs(
    scale, below, above, told, regime
):
    table = {"scale": scale, "below": below, "above": above, "widest_ratio": 3.99 if told else 0.0}
    ends = factors_in({"tpot_s": table}, "tpot_s", tuple(regime))
    if told:
        assert ends[1] <= ends[0] * 3.99 * (1 + 1e-9)
    else:
        assert ends[0] <= 1 / (1 + CLOSEST_RATIO) + 1e-12
        assert ends[1] >= 1 + CLOSEST_RATIO - 1e-12
    assert ends[0] < 1 < ends[1]


def test_words_multiply_the_scale_and_a_figure_few_measured_takes_a_share_of_its_leaders():
    tables = {
        "tpot_s": {"scale": {"": math.log(0.2), "load=c": math.log(2)}, "below": 1.0, "above": 1.5},
        "itl_s": {"scale": {"": math.log(0.5)}, "leader_ratio": 0.5, "below": 1.0, "above": 1.0},
    }
    regime = ("load=c", "engine=z")
    assert factors_in(tables, "tpot_s", regime) == pytest.approx((math.exp(-0.4), math.exp(0.6)))
    both = 0.5 * 0.4**0.5
    assert factors_in(tables, "itl_s", regime) == pytest.approx((math.exp(-both), math.exp(both)))


def test_what_is_not_known_never_makes_an_interval_closer():
    for table in residual_facts()["kinds"]["serving"]["metrics"].values():
        for word, effect in table["scale"].items():
            assert effect >= 0 or not word.endswith(("=unseen", "=unknown", "=newer", "=generic"))
            assert effect >= 0 or not word.startswith("missing=")


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
def test_a_version_newer_than_any_measured_has_wider_intervals_than_the_newest_measured(engine):
    measured = ".".join(map(str, residual_facts()["kinds"]["serving"]["engines"][engine]))
    load = Load(1024, 256, requests_per_s=1.0)
    known, newer = (spread_of(deployment(engine=engine, version=one), load) for one in (measured, "99.0"))
    for figure, (low, high) in known.items():
        assert newer[figure][0] <= low, figure
        assert newer[figure][1] >= high, figure
    low, high = known["tpot_s"]
    assert newer["tpot_s"][1] / newer["tpot_s"][0] > 1.05 * high / low


def test_a_model_of_a_measured_models_shape_is_as_well_known():
    tuned = replace(deployment(), model=facts.model("meta-llama/Llama-3.3-70B-Instruct"))
    assert "model=meta-llama/Llama-3.1-70B" in regime_of(tuned)
    other = replace(deployment(), model=facts.model("Qwen/Qwen3-14B"))
    assert "model=unseen" in regime_of(other)


def test_a_closed_loops_rate_is_as_sure_as_its_time_per_token():
    found = spread_of(deployment(), Load(1024, 256, concurrency=8))
    quick, slow = found["tpot_s"]
    assert found["output_tokens_per_s"] == pytest.approx((1 / slow, 1 / quick))


def test_a_card_or_an_engine_nobody_measured_is_less_sure_and_says_physics():
    load = Load(1024, 256, concurrency=8)
    known, foreign = spread_of(deployment(), load), spread_of(deployment("arc-pro-b60-24", "tgi"), load)
    wide = [ends["tpot_s"][1] / ends["tpot_s"][0] for ends in (known, foreign)]
    assert wide[0] < wide[1]
    assert (known.basis, foreign.basis) == ("calibrated", "physics")


def test_what_is_left_unsaid_is_assumed():
    said = spread_of(deployment(), Load(512, 128, concurrency=4), missing=("lengths",))
    assert said.basis == "assumed"
    assert "missing=lengths" in regime_of(deployment(), None, ("lengths",))


def test_every_figure_has_an_interval_and_tails_are_not_their_means():
    found = spread_of(deployment(), Load(1024, 256, concurrency=8))
    assert set(found) == set(FIGURES)
    assert factors(found, "ttft_s", "p99") == found["ttft_s_tail"]
    assert factors(found, "ttft_s", "mean") == found["ttft_s"]
    assert factors({}, "ttft_s", "p99") == (1.0, 1.0)
    assert all(leader in {*LEADERS.values(), *FIGURES} for leader in LEADERS.values())


def test_versions_are_known_newer_or_unknown():
    latest = ".".join(map(str, residual_facts()["kinds"]["serving"]["engines"]["vllm"]))
    assert version_word("vllm", latest) == "known"
    assert version_word("vllm", "999.0") == "newer"
    assert version_word("vllm", "nightly") == "unknown"
    assert version_number("v0.11.2rc1") == (0, 11, 2)


def test_coverage_is_that_of_the_residuals_it_was_fitted_to():
    """The data file says how many rows and sources speak; a figure nobody measured knows nothing."""
    metrics = residual_facts()["kinds"]["serving"]["metrics"]
    assert metrics["tpot_s"]["rows"] > 3000
    assert metrics["tpot_s"]["sources"] >= 5
    parts = shared_parts()
    assert set(parts) == {"engine", "accelerator", "model", "setup"}
    assert 0 < sum(parts.values()) < 1
    low, high = interval("serving", "no such figure", ())
    assert high / low > 100


@pytest.mark.parametrize(("clients", "word"), [(1, "1"), (4, "4"), (5, "16"), (2000, "over 1024")])
def test_clients_of_one_rank_are_counted_in_steps(clients, word):
    assert f"clients={word}" in regime_of(deployment(), Load(1024, 256, clients))


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("meta-llama/Llama-3.1-8B", "dense full"),
        ("google/gemma-3-27b-it", "dense mixed"),
        ("openai/gpt-oss-120b", "moe mixed"),
        ("deepseek-ai/DeepSeek-V3", "moe latent"),
    ],
)
def test_models_that_err_alike_are_a_family(model, family):
    assert family_of(replace(deployment(), model=facts.model(model))) == family
