"""Figures as people read them: honest digits, units one would say, both languages."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_sample import decision

from cabida.errors import InvalidInput
from cabida.plan import Estimate
from cabida.report import tree, words
from cabida.text import speaking


def test_digits_follow_the_interval():
    assert words.span(Estimate(541.3, 402.2, 763.9, ""), 1, "ms") == "540 ms [400–760]"
    assert words.span(Estimate(0.00213, 0.0018, 0.0026, ""), 1, "EUR") == "0.0021 EUR [0.0018–0.0026]"
    assert words.span(Estimate(33.83, 33.83, 33.83, ""), 1, "GiB") == "33.83 GiB"
    assert words.span(Estimate(math.inf, 1, 2, ""), 1, "s") == "∞"
    assert words.span(Estimate(541.3, 402.2, math.inf, ""), 1, "ms") == "540 ms [400–∞]"


def test_no_end_of_a_wide_interval_is_shown_as_nothing():
    assert words.span(Estimate(10.503, 0.218, 10.855, ""), 1, "req/s") == "11 req/s [0.22–11]"
    assert words.span(Estimate(14.95, 13.29, 91.65, ""), 1, "ms") == "15 ms [13–90]"
    assert words.span(Estimate(450.0, 380.0, 6020.0, ""), 1, "ms") == "450 ms [380–6,000]"


@given(st.floats(1e-6, 1e9), st.floats(0.01, 0.9), st.floats(0.01, 3))
def test_what_is_shown_is_within_a_fifth_of_the_interval(value, below, above):
    low, high = value * (1 - below), value * (1 + above)
    shown = words.span(Estimate(value, low, high, ""))
    numbers = [
        float(one.replace(",", ""))
        for one in shown.replace("[", " ").replace("]", " ").replace("–", " ").split()
    ]
    step = (high - low) / 5
    assert all(abs(a - b) <= step / 2 * 1.001 for a, b in zip(numbers, (value, low, high), strict=True))


def test_times_take_the_unit_a_person_would_say():
    figure = words.figure
    assert figure("ttft_ms_p95", Estimate(1200, 800, 1900, "")) == "1.2 s [0.8–1.9]"
    assert figure("minutes_to_target", Estimate(300, 250, 400, "")) == "5.0 h [4.2–6.7]"
    assert figure("step_time_s", Estimate(0.2, 0.15, 0.25, "")) == "200 ms [150–250]"
    assert figure("mfu_ratio", Estimate(0.41, 0.35, 0.47, "")) == "41 % [35–47]"


def test_spanish_writes_commas():
    with speaking("es"):
        assert words.span(Estimate(1234.5, 1000.4, 1500.2, ""), 1, "ms") == "1.230 ms [1.000–1.500]"
        assert words.label("ttft_ms_mean") == "TTFT medio"


def test_labels_fall_back_to_the_name():
    assert words.label("ttft_ms_p95") == "TTFT p95"
    assert words.label("odd_thing_count") == "odd thing count"


@pytest.mark.parametrize(
    "stated",
    [{"ttft_p95": "800 ms"}, {"latency_s": {"ttft": {"p95": 0.8}}}, {"ttft_p95": 0.8, "error_rate": "0.1 %"}],
)
def test_objectives_are_read_as_written_or_as_kept(stated):
    from dataclasses import replace

    assert words.objectives(replace(decision(), brief={"objectives": stated})) == {"ttft_p95": 0.8}


def test_a_shared_node_is_shown_once():
    top = tree.branch([*decision().trees, {"id": 9, "name": "twice", "value": 1, "inputs": [4, 1]}], 9)
    text = "\n".join(tree.lines(top))
    assert text.count("equation") == 0
    assert len([line for line in text.splitlines() if "accelerators_count = 4" in line]) == 2
    shared = [
        {"id": 1, "name": "a", "value": 1, "inputs": [2, 2]},
        {"id": 2, "name": "b", "value": 2, "inputs": [3]},
    ]
    shared.append({"id": 3, "name": "c", "value": 3, "inputs": []})
    shown = list(tree.lines(tree.branch(shared, 1)))
    assert len([line for line in shown if "c = 3" in line]) == 1
    assert any("b = 2   (worked out above)" in line for line in shown)


def test_depth_cuts_the_tree():
    assert len(list(tree.lines(tree.branch(decision().trees, 1, depth=0)))) == 1
    assert len(list(tree.lines(tree.branch(decision().trees, 1)))) == 5


def test_nodes_under_a_figure_and_a_name_that_is_wrong():
    found = tree.nodes_under(decision(), "cost_per_month_money")
    assert [node["id"] for node in found] == [1, 2, 3, 5, 6]
    assert tree.nodes_under(decision(), "price_money_per_hour")[0]["value"] == 3.1
    with pytest.raises(InvalidInput, match="weights_bytes"):
        tree.nodes_under(decision(), "weight_bytes")


def test_grades_count_the_leaves():
    assert tree.grades(decision()) == {"vendor": 1, "quoted": 2, "derived": 1}


def test_money_in_a_tree_can_be_reckoned_with():
    def shown(name, value, unit, low=None, high=None):
        return tree.value_of({"name": name, "value": value, "unit": unit, "low": low, "high": high}, "EUR")

    assert shown("total_money_per_month", 10170.142, "money/month", 9100.0, 14000.0).startswith(
        "10,170.14 EUR/month ["
    )
    assert shown("price_money_per_hour", 1.99, "USD/h") == "1.99 USD/h"
    assert shown("converted_money_per_hour", 1.7812388, "money/h") == "1.7812 EUR/h"
    assert shown("unit_cost", 0.00080914565, "money/output") == "0.00080915 EUR/output"
    assert shown("exchange_ratio", 0.89509488, "") == "0.895095"
    assert shown("accepted_outputs_per_month", 12165999.06, "output/month") == "12,166,000 outputs/month"
    assert shown("utilisation_ratio", 0.9114109, "") == "0.911411"


def test_what_is_counted_is_in_the_plural_unless_it_is_one():
    assert words.unit("token", value=16_380) == "tokens"
    assert words.unit("token", value=1.0) == "token"
    assert words.unit("token/s", value=7.5) == "tokens/s"
    assert words.unit("GiB", value=2.0) == "GiB"
    with speaking("es"):
        assert words.unit("request/month", value=2.0) == "peticiones/mes"
    node = {"name": "context_tokens", "value": 16_380, "low": 16_380, "high": 16_380, "unit": "token"}
    assert tree.value_of(node, "EUR") == "16,380 tokens"
