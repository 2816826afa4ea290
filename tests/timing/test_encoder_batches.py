"""Embedders and rerankers: measured tables, and what physics says must hold."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.plan.encoding import EncoderRun
from cabida.quantity import Quantity
from cabida.timing.stages.encoder_data import encoder_facts, host_of
from cabida.timing.stages.encoders import (
    Texts,
    encode_s,
    encoder_speed,
    encoder_speed_tree,
    host_encode_s,
    kernel_products_s,
    layer_params_count,
    longest_of,
)
from cabida.truth.encoder_speed_case import encoder_speed_figures

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases/media.jsonl").read_text(encoding="utf-8").splitlines()
    if '"embed"' in line or '"rerank"' in line
]


def run_of(model="BAAI/bge-large-en-v1.5", gpu="l4", engine="tei", weights="fp16", batch=32, tokens=256):
    return EncoderRun(
        facts.model(model), facts.accelerator(gpu), facts.weight_format(weights), engine, batch, tokens
    )


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_every_measured_row_is_answered_within_a_fifth(row):
    found = encoder_speed_figures(row)
    assert set(found) == set(row["measured"])
    for metric, (value, low, high) in found.items():
        assert low < value < high
        assert abs(value / row["measured"][metric] - 1) < 0.2


def test_weights_that_work_are_counted_as_published():
    """BERT-base has 85 million weights in its layers, BERT-large 302 million."""
    assert layer_params_count(facts.model("google-bert/bert-base-uncased")) == pytest.approx(85e6, rel=0.01)
    assert layer_params_count(facts.model("BAAI/bge-large-en-v1.5")) == pytest.approx(302e6, rel=0.01)


def test_facts_of_other_cards_lie_within_the_wide_interval():
    low, high = encoder_facts()["spread"]["unseen"]
    for fact in encoder_facts()["facts"]:
        run = run_of(fact["model"], fact["gpu"], fact["engine"], fact["weights"], fact["batch"])
        ratio = encoder_speed(run, Texts(fact["input_tokens"])).tokens_per_s / fact["tokens_s"]
        assert 1 / high <= ratio <= 1 / low * 1.05


def test_a_card_is_faster_than_a_host_and_padding_costs():
    texts = Texts(200, 0.5)
    model = facts.model("BAAI/bge-m3")
    assert host_encode_s(model, host_of("cloud-8-core-128"), texts, 32) > 5 * encode_s(
        run_of("BAAI/bge-m3"), texts, 32
    )
    padded = encoder_speed(run_of(engine="sentence-transformers"), Texts(200, 0.5, pairs=True))
    packed = encoder_speed(run_of(engine="tei"), Texts(200, 0.5, pairs=True))
    assert padded.padded_ratio > 1.5
    assert packed.padded_ratio == 1.0
    assert packed.texts_per_s > 1.5 * padded.texts_per_s
    assert longest_of(texts, 1) == 200


@given(count=st.integers(1, 512), tokens=st.integers(8, 512))
def test_more_or_longer_texts_never_take_less(count, tokens):
    run = run_of()
    now = encode_s(run, Texts(tokens), count)
    assert encode_s(run, Texts(tokens), count + 1) >= now
    assert encode_s(run, Texts(tokens + 1), count) >= now
    assert encode_s(run_of(gpu="h100-sxm-80"), Texts(tokens), count) <= now


def test_a_model_changed_under_its_own_name_is_timed_anew():
    """A file of one's own may say other widths of a shipped model."""
    shipped = facts.model("BAAI/bge-m3")
    deeper = replace(shipped, mlp=tuple(replace(one, intermediate_dim_count=8192) for one in shipped.mlp))
    card = facts.accelerator("l4")
    assert kernel_products_s(deeper, "fp16", 512, card) > 1.2 * kernel_products_s(shipped, "fp16", 512, card)


def test_the_tree_says_the_same():
    run, texts = run_of(), Texts(256)
    tree = encoder_speed_tree(run, texts)
    assert tree["encode_batch_s"].value == pytest.approx(encoder_speed(run, texts).batch_s)
    assert all(isinstance(node, Quantity) for node in tree.values())
    assert any(leaf.source.url == "cases/media.jsonl" for leaf in tree["encode_batch_s"].leaves())
