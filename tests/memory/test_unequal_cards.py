"""Layers over unequal cards: llama.cpp's rule by hand, and what any such split keeps."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.memory.unequal import layer_shares, shares_verdict

GIB = 2.0**30


def model(weights=36.0, cache=4.0, beside=0.5):
    return SimpleNamespace(
        weights_bytes=weights * GIB,
        required_kv_bytes=cache * GIB,
        activation_bytes=beside * GIB,
        graph_bytes=0.0,
        non_torch_bytes=0.0,
    )


def test_two_to_one_by_hand():
    """64 layers and an output over 24 and 12 GiB: k / 65 < 2/3 up to k = 43, so 44 layers; 20 and the output follow."""
    first, second = layer_shares(model(), 64, 4 * GIB, [24 * GIB, 12 * GIB])
    assert (first.layers_count, first.output) == (44, False)
    assert (second.layers_count, second.output) == (20, True)
    a_layer = (36 - 4 + 4) / 64
    assert first.needed_bytes / GIB == pytest.approx(44 * a_layer + 0.5)
    assert second.needed_bytes / GIB == pytest.approx(20 * a_layer + 4 + 0.5)


def test_a_sum_that_fits_is_no_fit_when_one_card_is_short():
    """44 GiB are asked of 24 + 24 free: together enough, but each card also needs its own buffers."""
    shares = layer_shares(model(weights=42.0, cache=4.0, beside=1.5), 10, 6 * GIB, [24 * GIB, 24 * GIB])
    assert sum(one.budget_bytes for one in shares) > 46 * GIB
    assert shares_verdict(shares) == "no"


def test_a_card_without_room_gets_nothing():
    full, free = layer_shares(model(), 32, GIB, [0.0, 48 * GIB])
    assert (full.layers_count, full.output) == (0, False)
    assert free.layers_count == 32
    assert layer_shares(model(), 32, GIB, [0.0, 0.0]) == ()
    assert shares_verdict(()) == "no"


@given(
    st.integers(1, 200),
    st.lists(st.floats(0.1, 200), min_size=1, max_size=16),
    st.floats(1, 500),
    st.floats(0, 50),
)
def test_every_layer_lies_somewhere_once_and_by_what_is_free(layers, free, weights, cache):
    shares = layer_shares(model(weights, cache), layers, 0.0, [one * GIB for one in free])
    assert sum(one.layers_count for one in shares) == layers
    assert sum(one.output for one in shares) == 1
    for one, room in zip(shares, free, strict=True):
        assert abs(one.layers_count + one.output - (layers + 1) * room / sum(free)) <= 1.0 + 1e-6
    assert sum(one.needed_bytes for one in shares) == pytest.approx(
        (weights + cache + 0.5 * len(free)) * GIB, rel=1e-9
    )
