"""``speed`` of embedders and rerankers."""

import pytest

import cabida
from cabida.errors import InvalidInput


def test_an_embedder_has_rates_with_intervals():
    found = cabida.speed("BAAI/bge-m3", gpu="l4", input_tokens=400)
    rate = found["metrics"]["items_s"]
    assert rate.low < rate.value < rate.high
    assert found["metrics"]["input_tok_s"].value == pytest.approx(400 * rate.value)
    assert rate.basis == "calibrated"
    assert cabida.speed("BAAI/bge-m3", gpu="h100-sxm-80")["metrics"]["items_s"].basis == "physics"


def test_texts_that_arrive_wait():
    calm = cabida.speed("BAAI/bge-m3", gpu="l4", requests_per_s=5.0)["metrics"]
    busy = cabida.speed("BAAI/bge-m3", gpu="l4", requests_per_s=60.0)["metrics"]
    assert calm["alone_ms"].value <= calm["e2e_ms_p50"].value <= calm["e2e_ms_p99"].value
    assert busy["e2e_ms_p95"].value > calm["e2e_ms_p95"].value


def test_saturation_is_said_instead_of_a_percentile():
    found = cabida.speed("BAAI/bge-m3", gpu="l4", requests_per_s=100_000.0)
    assert found["saturated"]
    assert "e2e_ms_p95" not in found["metrics"]


def test_an_unknown_engine_says_which_there_are():
    with pytest.raises(InvalidInput, match=r"tei.*CB-U019"):
        cabida.speed("BAAI/bge-m3", gpu="l4", engine="vespa")


def test_longer_pairs_are_slower_and_a_larger_card_faster():
    short = cabida.speed("BAAI/bge-reranker-v2-m3", gpu="l4", input_tokens=128)["metrics"]["items_s"].value
    long = cabida.speed("BAAI/bge-reranker-v2-m3", gpu="l4", input_tokens=512)["metrics"]["items_s"].value
    large = cabida.speed("BAAI/bge-reranker-v2-m3", gpu="h100-sxm-80", input_tokens=512)["metrics"][
        "items_s"
    ].value
    assert long < short / 3.5
    assert large > 4 * long


@pytest.mark.parametrize("asked", [{}, {"concurrency": 8}, {"concurrency": 500}])
def test_the_batch_that_is_told_is_the_batch_that_is_timed(asked):
    found = cabida.speed("BAAI/bge-m3", gpu="l4", engine="tei", **asked)
    rate, batch_s = found["metrics"]["items_s"].value, found["metrics"]["batch_ms"].value / 1000
    assert rate * batch_s == pytest.approx(found["batch"], rel=0.02)
    assert found["batch"] <= asked.get("concurrency", 64)
