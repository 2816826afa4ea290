import pytest

from cabida.truth.case import Case
from cabida.truth.pairs import pair_scores
from cabida.truth.predict import Prediction


def measured(
    value, said, gpu="a100", metric="output_tok_s", source="a/b", concurrency=8, gpus=1, **more
) -> Prediction:
    row = {"load": {"input_tokens": 100, "concurrency": concurrency}, "gpu": gpu, "gpus": gpus, **more}
    case = Case(f"{gpu}-{value}", "serving", source, "vllm", gpu, "m", row, "f", 1)
    return Prediction(case, metric, value, said, said / 2, said * 2)


def test_the_faster_of_two_is_told_or_not():
    rows = [measured(100, 90, "a100"), measured(200, 250, "h100"), measured(150, 80, "l40s")]
    found = pair_scores(rows)["faster"]["output_tok_s"]
    assert found["n"] == 3
    assert found["right_ratio"] == pytest.approx(2 / 3)  # l40s beats a100 and isn't said to


def test_what_lies_within_a_tenth_is_no_pair():
    assert pair_scores([measured(100, 100, "a100"), measured(109, 90, "h100")])["faster"] == {}
    assert pair_scores([measured(100, 100, "a100"), measured(111, 90, "h100")])["faster"] != {}


@pytest.mark.parametrize("other", [{"source": "c/d"}, {"concurrency": 16}, {"metric": "req_s"}])
def test_another_source_load_or_metric_is_no_pair(other):
    assert pair_scores([measured(100, 100, "a100"), measured(200, 200, "h100", **other)])["faster"] == {}


def test_one_setup_measured_twice_is_no_pair():
    assert pair_scores([measured(100, 100), measured(200, 200)])["faster"] == {}


def test_a_time_is_told_as_well_as_a_rate_and_memory_is_not():
    times = [measured(10, 12, "h100", "tpot_ms"), measured(20, 19, "a100", "tpot_ms")]
    assert pair_scores(times)["faster"]["tpot_ms"]["right_ratio"] == 1
    sizes = [measured(10, 12, "h100", "peak_mem_gib"), measured(20, 19, "a100", "peak_mem_gib")]
    assert pair_scores(sizes) == {"faster": {}, "cheaper": {}}


def test_what_does_more_for_the_money_is_told_per_accelerator_of_one_kind():
    rows = [measured(100, 100, gpus=1), measured(160, 220, gpus=2)]  # 80 each, said 110 each
    found = pair_scores(rows)
    assert found["faster"]["output_tok_s"]["right_ratio"] == 1
    assert found["cheaper"]["output_tok_s"]["right_ratio"] == 0
    assert pair_scores([rows[0], measured(160, 220, "h100", gpus=2)])["cheaper"] == {}


def test_every_source_has_one_voice_in_the_headline():
    large = [measured(100 * 2**step, 100 * 2**step, f"card{step}") for step in range(6)]
    small = [measured(100, 200, "a100", source="c/d"), measured(200, 100, "h100", source="c/d")]
    found = pair_scores(large + small)["faster"]["output_tok_s"]
    assert (found["n"], found["sources"]) == (16, 2)
    assert found["right_ratio"] == pytest.approx(15 / 16)
    assert found["source_median_right_ratio"] == pytest.approx(0.5)


def test_said_to_be_the_same_is_not_told_right():
    assert (
        pair_scores([measured(1, 5, "a100"), measured(2, 5, "h100")])["faster"]["output_tok_s"]["right_ratio"]
        == 0
    )
