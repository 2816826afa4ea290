"""How likely an objective is kept, and what a seller leaves unsaid."""

import pytest
from choose_briefs import AS_OF
from hypothesis import given
from hypothesis import strategies as st
from test_nearest import TEXT

from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.told import kept_probability


def test_a_limit_at_the_ends_of_the_interval_is_kept_with_five_and_ninety_five_percent():
    assert kept_probability(1.0, 0.5, 2.0, 2.0) == pytest.approx(0.95, abs=1e-3)
    assert kept_probability(1.0, 0.5, 2.0, 0.5) == pytest.approx(0.05, abs=1e-3)
    assert kept_probability(1.0, 0.5, 2.0, 1.0) == pytest.approx(0.5)


def test_without_an_interval_it_is_kept_or_not():
    assert kept_probability(1.0, 1.0, 1.0, 1.1) == 1.0
    assert kept_probability(1.0, 1.0, 1.0, 0.9) == 0.0


@given(st.floats(0.01, 10), st.floats(0.1, 0.99), st.floats(1.01, 10), st.floats(0.01, 10))
def test_a_looser_limit_is_never_less_likely_kept(value, low, high, limit):
    chance = kept_probability(value, low, high, limit)
    assert 0 <= chance <= kept_probability(value, low, high, limit * 1.5) <= 1


def decided(data):
    text = TEXT.format(ttft="400 ms", itl="40 ms", budget=50_000).replace("data: any", f"data: {data}")
    return decide(complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF), AS_OF).decision


def test_an_objective_inside_the_interval_is_told_with_its_probability():
    found = decided("any")
    first = found.options[0]
    low, high = first.metrics["ttft_ms_p95"].low, first.metrics["ttft_ms_p95"].high
    told = [one.sentence for one in found.warnings if one.code == "CB-X022"]
    if low < 400 < high or first.metrics["itl_ms_p95"].high > 40:
        assert any("probability" in sentence for sentence in told)
    else:
        assert not told


def test_every_option_of_an_unstated_place_says_so_where_data_may_not_be_anywhere():
    rented = [one for one in decided("EU only").options if one.status == "satisfies" and one.accelerator]
    assert rented
    assert all(one.region or one.reasons for one in rented)
    assert not any(one.reasons for one in decided("any").options if one.status == "satisfies")


def test_the_figure_that_is_shown_is_the_one_in_the_middle():
    assert kept_probability(1.0, 0.9, 8.0, 1.0) == pytest.approx(0.5)  # however lopsided its interval
    assert kept_probability(1.0, 0.9, 8.0, 8.0) == pytest.approx(0.95, abs=1e-3)
    assert kept_probability(1.0, 0.9, 8.0, 0.9) == pytest.approx(0.05, abs=1e-3)
    assert kept_probability(1.0, 2.0, 8.0, 4.0) == pytest.approx(0.5)
