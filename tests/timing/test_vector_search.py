"""Vector search: published figures, and what physics says must hold."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.plan.index import VectorIndex
from cabida.timing.stages.encoder_data import host_of
from cabida.timing.stages.vector_search import search_speed, search_tree

HOST = host_of("cloud-8-core-128")
L4 = facts.accelerator("l4")
GRAVITON = replace(HOST, cores_count=64, bytes_per_s=307e9)  # c7g.metal: eight channels of DDR5-4800


@pytest.mark.parametrize(("recall", "measured"), [(0.972, 228_422), (0.993, 131_654)])
def test_hnsw_beside_usearch(recall, measured):
    """USearch BENCHMARKS.md: a million vectors of 256 fp32, M 16, 64 cores of Graviton 3."""
    found = search_speed(VectorIndex(1e6, 256), GRAVITON, recall, 1)
    assert found.searches_per_s == pytest.approx(measured, rel=0.25)


def test_hnsw_insertions_beside_usearch():
    """The same page: 75,640 insertions/s at ef 128, that is about 48,000 at the default 200."""
    found = search_speed(VectorIndex(1e6, 256), GRAVITON, 0.97, 1)
    assert found.inserts_per_s == pytest.approx(75_640 * 128 / 200, rel=0.3)


def test_flat_is_bytes_over_bandwidth():
    found = search_speed(VectorIndex(1e7, 1024, kind="flat", stored="fp16", accelerator=L4), HOST)
    assert found.search_s == pytest.approx(1e7 * 1024 * 2 / (300e9 * 0.7), rel=0.01)
    assert found.recall_ratio == 1.0


def test_one_million_vectors_are_clustered_in_seconds_on_a_card_and_minutes_on_a_host():
    """FAISS' guide: HNSW of a million vectors takes minutes on a few cores; IVF training seconds on a card."""
    graph = search_speed(VectorIndex(1e6, 128), HOST)
    coded = search_speed(VectorIndex(1e6, 128, kind="ivf-pq", accelerator=L4), HOST)
    assert 30 < graph.build_s < 600
    assert 0.05 < coded.build_s < 30


@given(
    kind=st.sampled_from(["hnsw", "flat", "ivf-flat", "ivf-pq"]),
    size=st.floats(1e4, 1e8),
    recall=st.floats(0.7, 0.995),
)
def test_more_vectors_or_more_recall_never_take_less(kind, size, recall):
    one = VectorIndex(size, 768, kind=kind)
    now = search_speed(one, HOST, recall)
    assert search_speed(replace(one, vectors_count=size * 2), HOST, recall).search_s >= now.search_s
    assert search_speed(one, HOST, recall + 0.004).search_s >= now.search_s
    assert search_speed(one, replace(HOST, bytes_per_s=2 * HOST.bytes_per_s), recall).search_s <= now.search_s
    assert now.spread[0] <= 1 <= now.spread[1]


@pytest.mark.parametrize("kind", ["hnsw", "flat", "ivf-flat", "ivf-pq", "cagra"])
def test_the_tree_says_the_same(kind):
    for card in (None, L4) if kind not in ("hnsw", "cagra") else ((None,) if kind == "hnsw" else (L4,)):
        one = VectorIndex(1e7, 1024, kind=kind, accelerator=card)
        assert search_tree(one, HOST)["search_s"].value == pytest.approx(search_speed(one, HOST).search_s)


def test_few_lists_are_never_probed_more_than_whole_in_the_tree_either():
    one = VectorIndex(1e5, 256, kind="ivf-flat", lists_count=4)
    tree = search_tree(one, HOST, 0.9999)["search_s"].value
    assert tree == pytest.approx(search_speed(one, HOST, 0.9999).search_s)
    assert tree <= search_speed(replace(one, kind="flat"), HOST).search_s * 1.01
