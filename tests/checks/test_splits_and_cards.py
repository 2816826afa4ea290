"""Lawful splits, and cards in a case."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import checks, facts
from cabida.checks.physical import plugs_of, supply_w
from cabida.checks.plan import bus_bytes_per_s
from cabida.facts.model import AttentionLayers, MlpLayers
from cabida.plan import Parallel

MODEL = facts.model("llama-3.1-8b")  # 32 heads, 8 of keys and values, 32 layers
SXM, DESK = facts.accelerator("h100-sxm-80"), facts.accelerator("rtx4090")


def codes(parallel, model=MODEL, accelerator=SXM, node=None):
    return {
        warning.code: warning.severity for warning in checks.judge_split(parallel, model, accelerator, node)
    }


def test_what_divides_is_lawful():
    assert codes(Parallel(tp=8)) == {}
    assert codes(Parallel(tp=8, pp=4)) == {}


@pytest.mark.parametrize(
    ("parallel", "code"),
    [
        (Parallel(tp=3), "CB-K020"),
        (Parallel(tp=12), "CB-K020"),
        (Parallel(pp=33), "CB-K024"),
        (Parallel(tp=8, ep=8), "CB-K025"),
    ],
)
def test_what_does_not_divide_is_refused(parallel, code):
    assert codes(parallel)[code] == "blocking"


def test_key_value_heads_are_copied_or_refused():
    assert codes(Parallel(tp=16))["CB-K022"] == "info"
    odd = replace(MODEL, attention=(AttentionLayers("full", 32, 48, 6, 128, 128),))
    assert codes(Parallel(tp=4), odd)["CB-K021"] == "blocking"


def test_tensor_parallel_divides_the_padded_vocabulary_too():
    """llm-d-planner 194: vLLM deals out whole rows of embedding and head, padded to 64."""
    wide = replace(MODEL, attention=(AttentionLayers("full", 32, 48, 12, 128, 128),), vocab_count=151_655)
    assert codes(Parallel(tp=4), wide) == {}  # 151,680 rows
    assert codes(Parallel(tp=12), replace(wide, vocab_count=100_352))["CB-K032"] == "blocking"
    assert "CB-K032" not in codes(Parallel(tp=12), replace(wide, vocab_count=128_256))


def test_experts_divide():
    experts = replace(MODEL, mlp=(MlpLayers(32, 1024, experts_count=60, experts_per_token_count=4),))
    assert codes(Parallel(tp=8, ep=8), experts)["CB-K026"] == "blocking"
    assert "CB-K026" not in codes(Parallel(tp=4, ep=4), experts)
    assert codes(Parallel(tp=2, ep=4), experts)["CB-K027"] == "blocking"


def test_links_are_judged():
    assert codes(Parallel(tp=2), accelerator=DESK)["CB-K029"] == "warning"
    assert codes(Parallel(tp=16), accelerator=SXM, node=facts.node_for("h100-sxm-80"))["CB-K028"] == "warning"
    assert codes(Parallel(tp=4), accelerator=facts.accelerator("rtx3090"))["CB-K030"] == "warning"


def test_a_gen4_bus_of_16_lanes_is_31_gb_s():
    assert bus_bytes_per_s(DESK) == pytest.approx(31.5e9, rel=0.01)


@given(st.integers(1, 16), st.integers(1, 64))
def test_a_split_is_lawful_exactly_when_it_divides(tp, pp):
    blocking = "blocking" in codes(Parallel(tp=tp, pp=pp)).values()
    kv_fits = 8 % tp == 0 or tp % 8 == 0
    assert blocking == (32 % tp != 0 or not kv_fits or pp > 32)


def test_supply_rides_the_spike_of_one_card_and_the_load_of_many():
    assert supply_w([575.0]) == pytest.approx(1.57 * 575 + 300)
    assert supply_w([350.0] * 8) == pytest.approx(1.1 * 3100)
    assert supply_w([450.0], atx3=False) > supply_w([450.0])


@given(st.lists(st.floats(50, 600), min_size=1, max_size=4), st.floats(50, 600))
def test_another_card_never_needs_less(cards, another):
    assert supply_w([*cards, another]) >= supply_w(cards)


def test_a_case_that_takes_them_says_nothing():
    machine = checks.Machine(
        supply_w=1600, slots_count=8, length_mm=360, plugs=("16-pin", "16-pin"), pcie_gen=5
    )
    assert checks.housing_problems([DESK, DESK], machine) == ()


def test_a_case_that_does_not_says_all_of_it_at_once():
    small = checks.Machine(supply_w=650, slots_count=3, length_mm=280, plugs=("8-pin",), pcie_gen=3)
    found = {warning.code for warning in checks.housing_problems([DESK, DESK], small)}
    assert found == {"CB-K040", "CB-K041", "CB-K042", "CB-K044", "CB-K045"}


def test_a_passive_card_is_refused_at_a_desk():
    card = facts.accelerator("l40s")
    assert "CB-K043" in {warning.code for warning in checks.housing_problems([card], checks.Machine())}
    assert checks.housing_problems([card], checks.Machine(server_airflow=True)) == ()


def test_plugs_are_read_from_the_facts():
    assert plugs_of(DESK) == [(1, "16-pin")]
    assert plugs_of(facts.accelerator("w7900")) == [(2, "8-pin")]
    assert plugs_of(facts.accelerator("a100-pcie-80")) == [(1, "8-pin eps")]
    assert plugs_of(facts.accelerator("l4")) == []
