"""Memory of vector indexes: what libraries' own documents say of them, and what must hold of any."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.memory.index import codes_of, index, index_tree, lists_of
from cabida.plan.index import KINDS, ON_GPU, STORED_BITS, VectorIndex

GIB = 2.0**30
CARD = facts.accelerator("h100-sxm-80")


def test_flat_is_four_bytes_a_number():
    assert index(VectorIndex(1e6, 768, "flat")).host_bytes == 1e6 * 768 * 4


@pytest.mark.parametrize(("stored", "share"), [("fp16", 2), ("int8", 4), ("binary", 32)])
def test_scalar_and_binary_quantisation(stored, share):
    whole = index(VectorIndex(1e6, 1024, "flat")).host_bytes
    assert index(VectorIndex(1e6, 1024, "flat", stored)).host_bytes == whole / share


@pytest.mark.parametrize("links", [8, 16, 32, 64])
def test_hnsw_links_within_the_range_its_authors_give(links):
    """hnswlib, ALGO_PARAMS.md: links take about M x 8 to 10 bytes an element, beside label, level and lock."""
    found = index(VectorIndex(1e6, 128, "hnsw", links_count=links))
    links_bytes = found.parts["graph"] / 1e6 - 8 - 100
    assert 8 * links <= links_bytes <= 10 * links + 5
    assert found.parts["vectors"] == 1e6 * 128 * 4


def test_ten_million_vectors_of_1024_in_hnsw():
    found = index(VectorIndex(10e6, 1024, "hnsw"))
    assert found.host_bytes / GIB == pytest.approx(10e6 * (4096 + 2 * 16 * 4 + 4 + 4.5 + 108) / GIB, rel=0.01)
    assert found.verdict == ""
    assert found.device_bytes == 0


def test_ivf_pq_as_cuvs_counts_it():
    """n (pq_dim pq_bits / 8 + 8) + clusters (20 + 4 dim) + 4 pq_dim pq_len 2^pq_bits."""
    one = VectorIndex(1e8, 96, "ivf-pq", accelerator=CARD, codes_count=48, lists_count=10000)
    expected = 1e8 * (48 + 8) + 10000 * (20 + 4 * 96) + 4 * 96 * 256 + 1.5 * GIB
    assert index(one).device_bytes == pytest.approx(expected)
    assert index(replace(one, keep_vectors=True)).host_bytes == 1e8 * 96 * 4


def test_cagra_as_cuvs_counts_it():
    one = VectorIndex(
        1e7, 128, "cagra", accelerator=CARD, graph_degree_count=32, intermediate_degree_count=64
    )
    found = index(one)
    assert found.parts["vectors"] == 1e7 * 128 * 4
    assert found.parts["graph"] == 1e7 * 32 * 4
    assert found.build_device_bytes == pytest.approx(1e7 * 128 * 4 + 1e7 * (4 + 5 * 64))
    assert found.build_host_bytes >= 1e7 * 64 * 4


def test_defaults_are_the_libraries_own():
    assert lists_of(VectorIndex(1e6, 128, "ivf-flat")) == 1000
    halves = {20: 16, 96: 96, 128: 64, 768: 384, 1024: 512, 1536: 768}
    assert {dims: codes_of(VectorIndex(1e6, dims, "ivf-pq")) for dims in halves} == halves


def test_replicas_growth_and_payload():
    one = VectorIndex(1e6, 256, "hnsw")
    today = index(one)
    assert index(replace(one, growth_ratio=1.0)).host_bytes == pytest.approx(2 * today.host_bytes)
    assert index(replace(one, replicas_count=3)).all_replicas_bytes == 3 * today.all_replicas_bytes
    assert index(replace(one, payload_bytes=1000.0)).host_bytes == today.host_bytes + 1e9


def test_what_does_not_fit_says_what_would():
    found = index(VectorIndex(40e6, 1024, "cagra", accelerator=CARD))
    assert found.verdict == "no"
    assert "fp16" in found.cure or "int8" in found.cure
    assert found.accelerators_count >= 2
    narrower = index(VectorIndex(40e6, 1024, "cagra", "int8", accelerator=CARD))
    assert narrower.verdict == "fits"
    huge = index(VectorIndex(1e12, 4096, "flat", "binary", accelerator=facts.accelerator("l4")))
    assert huge.verdict == "no"
    assert huge.cure


@given(
    st.sampled_from(ON_GPU), st.sampled_from(sorted(STORED_BITS)), st.floats(1, 1e10), st.integers(1, 8192),
)  # fmt: skip
def test_more_vectors_never_take_less_and_the_largest_fits(kind, stored, count, dims):
    one = VectorIndex(count, dims, kind, stored, accelerator=CARD)
    found, more = index(one), index(replace(one, vectors_count=2 * count))
    assert more.device_bytes >= found.device_bytes > 0
    assert found.build_device_bytes >= 0
    assert found.device_bytes == pytest.approx(sum(found.parts.values()))
    if found.largest_vectors_count >= 1:
        assert index(replace(one, vectors_count=found.largest_vectors_count)).verdict != "no"


@pytest.mark.parametrize("kind", KINDS)
def test_one_more_vector_takes_what_is_said(kind):
    one = VectorIndex(1e6, 512, kind, lists_count=1000)
    grown = index(replace(one, vectors_count=1e6 + 1e5)).host_bytes - index(one).host_bytes
    assert grown / 1e5 == pytest.approx(index(one).vector_bytes)
    tree = index_tree(one)
    assert math.fsum(float(node) for node in tree.values()) == pytest.approx(index(one).host_bytes)
