import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.truth.case import Case
from cabida.truth.predict import Answer, Prediction
from cabida.truth.score import error_ratio, fits_score, interval_score, metric_score, quantile, scores, worst


def a_prediction(
    measured, predicted, low=None, high=None, source="a/b", metric="tpot_ms", id="x"
) -> Prediction:
    case = Case(id, "serving", source, "vllm", "h100-sxm-80", "m", {"measured": {metric: measured}}, "f", 1)
    return Prediction(case, metric, measured, predicted, low or predicted / 1.2, high or predicted * 1.2)


def test_error_is_the_same_whichever_side_it_falls_on():
    assert error_ratio(a_prediction(100, 120)) == pytest.approx(0.2)
    assert error_ratio(a_prediction(120, 100)) == pytest.approx(0.2)
    assert error_ratio(a_prediction(50, 50)) == 0


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_error_is_symmetric_and_never_negative(measured, predicted):
    one, other = (
        error_ratio(a_prediction(measured, predicted)),
        error_ratio(a_prediction(predicted, measured)),
    )
    assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    assert one >= 0


def test_figures_of_hand_made_cases():
    rows = [a_prediction(100, predicted) for predicted in (100, 110, 120, 150)]
    found = metric_score(rows)
    assert found["n"] == 4
    assert found["median_error_ratio"] == pytest.approx(0.15)
    assert found["p90_error_ratio"] == pytest.approx(0.2 + 0.7 * 0.3)
    assert found["bias_ratio"] == pytest.approx(math.sqrt(1.1 * 1.2))
    assert found["within_interval_ratio"] == pytest.approx(0.75)  # 150 / 1.2 = 125 > 100
    assert found["interval_high_over_low"] == pytest.approx(1.44)


def test_headline_gives_every_source_one_voice():
    rows = [a_prediction(100, 110, source="big")] * 98 + [
        a_prediction(100, 150, source=name) for name in ("b", "c")
    ]
    found = metric_score(rows)
    assert found["median_error_ratio"] == pytest.approx(0.1)
    assert found["source_median_error_ratio"] == pytest.approx(0.5)
    assert found["sources"] == 3


def test_interval_score_rewards_narrow_and_punishes_missing():
    narrow, wide = a_prediction(100, 100, 95, 105), a_prediction(100, 100, 50, 200)
    missed = a_prediction(100, 120, 115, 125)
    assert interval_score(narrow) < interval_score(wide)
    assert interval_score(missed) == pytest.approx(math.log(125 / 115) + 20 * math.log(1.15))


def test_verdicts_are_counted_by_what_they_got_wrong():
    pairs = [
        ("fits", True),
        ("no", False),
        ("fits", False),
        ("no", True),
        ("tight", True),
        (None, True),
        ("fits", None),
    ]
    found = fits_score(Answer((), verdict, fitted) for verdict, fitted in pairs)
    assert found == {"n": 5, "correct": 2, "false_fits": 1, "false_refusals": 1, "undecided": 1}


def test_worst_lists_the_furthest_off_first():
    rows = [a_prediction(100, value, id=str(value)) for value in (101, 300, 30)]
    assert [one["id"] for one in worst(rows, 2)] == ["30", "300"]
    json.dumps(worst(rows))


def test_metrics_are_scored_apart():
    found = scores([a_prediction(1, 2, metric="ttft_ms"), a_prediction(1, 1, metric="tpot_ms")])
    assert found["ttft_ms"]["median_error_ratio"] == pytest.approx(1.0)
    assert found["tpot_ms"]["median_error_ratio"] == 0


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.floats(0, 1))
def test_quantile_stays_between_the_extremes(values, share):
    assert min(values) - 1e-9 <= quantile(values, share) <= max(values) + 1e-9
