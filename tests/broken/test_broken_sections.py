"""Faults in the sections of media, corpora and harnesses: each is refused at its line, none is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

import cabida
from cabida.errors import CabidaError

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("example", "said", "instead", "code"),
    [
        ("evaluation-nightly", "prompt_tokens: 110", "prompt_tokens: 1000000", "CB-B033"),
        ("evaluation-nightly", "shared_tokens: 600", "shared_tokens: 10000000", "CB-B033"),
        ("evaluation-nightly", "name: exams", "name: sums", "CB-B036"),
        ("rag-support", "reranker: BAAI/bge-reranker-v2-m3", "reranker: BAAI/bge-m3", "CB-B054"),
        ("speech-transcription", "horizon: 24 months", "objectives: {e2e_p95: 1 s}\nhorizon: 24 months", "CB-B053"),
    ],
)  # fmt: skip
def test_the_fault_is_told_with_its_line(tmp_path, example, said, instead, code):
    text = (EXAMPLES / f"{example}.yaml").read_text(encoding="utf-8")
    assert said in text
    path = tmp_path / "brief.yaml"
    path.write_text(text.replace(said, instead, 1), encoding="utf-8")
    with pytest.raises(CabidaError) as refused:
        cabida.recommend(path, as_of="2026-11-30")
    assert code in {one.code for one in refused.value.problems}
    assert all(one.line for one in refused.value.problems)


def test_more_orders_than_copies_can_carry_are_not_told_as_a_slow_item(tmp_path):
    text = (EXAMPLES / "media-images.yaml").read_text(encoding="utf-8")
    path = tmp_path / "brief.yaml"
    path.write_text(text.replace("items_per_month: 60000", "items_per_month: 1e15", 1), encoding="utf-8")
    decision = cabida.recommend(path, as_of="2026-11-30")
    counts = {one.code: one.count for one in decision.rejections}
    assert counts["too_many_orders"] > counts["too_slow_an_item"]  # the latter miss 45 s alone
