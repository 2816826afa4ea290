"""MIG advice (B24): the smallest slice, what it loses, what would be better; a slice's price; no replica over two."""

import pytest

from cabida import app, facts
from cabida.errors import InvalidInput
from cabida.facts import mig
from cabida.text import use_language

MODEL = "Qwen/Qwen3-4B"


def advice(gpu="h100-sxm-80", model=MODEL, **flags):
    return app.fit(model, gpu=gpu, **{"max_model_len": 8192, **flags})["mig"]


def test_the_smallest_slice_fits_and_the_next_smaller_does_not():
    found = advice()
    assert found["gpu"] == "h100-sxm-80:1g.20gb"
    assert found["at_once"] == 4
    names = [one.name for one in mig.profiles("h100-sxm-80")]
    smaller = names[: names.index("1g.20gb")]
    assert app.fit(MODEL, gpu=found["gpu"], max_model_len=8192)["verdict"] == "fits"
    for name in smaller:
        assert app.fit(MODEL, gpu=f"h100-sxm-80:{name}", max_model_len=8192)["verdict"] != "fits"


def test_more_context_or_more_at_once_asks_for_a_larger_slice():
    sizes = [advice(**more)["usable_gib"] for more in ({}, {"max_model_len": 40960, "concurrency": 4})]
    assert sizes[0] < sizes[1]


def test_advice_says_what_is_lost_and_what_would_be_better():
    told = " ".join(advice()["sentences"])
    for word in ("4 at once", "NVLink", "tensor parallel", "one tenant", "MPS", "time slicing", "card whole"):
        assert word in told
    found = advice()
    assert found["copies_without_walls"] > found["at_once"]
    small = facts.accelerator(found["smaller"])
    assert small.usable_bytes < facts.accelerator("h100-sxm-80").usable_bytes
    assert app.fit(MODEL, gpu=small.id, max_model_len=8192)["verdict"] == "fits"


def test_advice_in_spanish_says_the_same():
    use_language("es")
    try:
        told = advice()["sentences"]
    finally:
        use_language("en")
    assert len(told) == len(advice()["sentences"])
    assert "partición" in told[0]


@pytest.mark.parametrize(
    ("gpu", "model", "more"),
    [
        ("l40s", MODEL, {}),  # can't be cut
        ("h100-sxm-80", "meta-llama/Llama-3.3-70B-Instruct", {}),  # doesn't fit at all
        ("h100-sxm-80", "Qwen/Qwen3-32B", {}),  # only the whole card holds it
        ("h100-sxm-80", MODEL, {"gpus": 2}),  # several cards: somebody wants their links
        ("h100-sxm-80:1g.20gb", MODEL, {}),  # a slice already
    ],
)
def test_no_advice_where_there_is_none_to_give(gpu, model, more):
    assert advice(gpu, model, **more) is None


@pytest.mark.parametrize("split", [{"tp": 2}, {"pp": 2}, {"gpus": 2}])
@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_a_replica_never_spans_two_slices(split, engine):
    with pytest.raises(InvalidInput) as refused:
        app.fit(MODEL, gpu="h100-sxm-80:1g.10gb", engine=engine, max_model_len=4096, **split)
    assert refused.value.problems[0].code == "CB-K098"


def test_a_training_run_stays_on_its_slice():
    asked = {"gpu": "h100-sxm-80:3g.40gb", "method": "lora"}
    assert app.fit("Qwen/Qwen3-0.6B", **asked)["verdict"] == "fits"
    with pytest.raises(InvalidInput) as refused:
        app.fit("Qwen/Qwen3-0.6B", gpus=2, **asked)
    assert refused.value.problems[0].code == "CB-K098"


def test_a_slice_is_slower_than_its_card_by_about_its_share_of_bandwidth():
    asked = {"max_model_len": 8192, "concurrency": 1.0, "enforce_eager": False}
    whole = app.speed(MODEL, gpu="h100-sxm-80", **asked)["metrics"]["tpot_ms_mean"].value
    cut = app.speed(MODEL, gpu="h100-sxm-80:1g.20gb", **asked)["metrics"]["tpot_ms_mean"].value
    assert 1.5 < cut / whole < 4.2  # a quarter of the bandwidth; overheads on the processor stay


def test_a_slice_costs_its_part_of_the_card():
    asked = {"max_model_len": 8192, "as_of": "2026-11-30", "capacity": ("on-demand",)}
    whole = app.cost(MODEL, gpu="h100-sxm-80", **asked)["rows"]
    cut = app.cost(MODEL, gpu="h100-sxm-80:1g.20gb", **asked)["rows"]
    prices = sorted((row["provider"], row["price_money_per_hour"] / 4) for row in whole)
    assert sorted((row["provider"], row["price_money_per_hour"]) for row in cut) == [
        (provider, pytest.approx(price)) for provider, price in prices
    ]
    assert all("slice" in row["flags"] for row in cut)
    assert not any("slice" in row["flags"] for row in whole)
