"""A formula is the same arithmetic for floats, arrays and quantities, and remembers where numbers came from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.equation import NotAFormula, check_dimensions, read_equation
from cabida.quantity import (
    Formula,
    Quantity,
    Source,
    assumed,
    ceil_to,
    leaf,
    least,
    lookup,
    most,
    simulated,
    total,
    tree_nodes,
    where,
)
from cabida.units import BITS_PER_BYTE, S_PER_HOUR

SHEET = Source("datasheet", "https://example.org/sheet", "2026-11-01", "vendor")


def body_bytes(params_count, weight_bits):
    """Bytes of the body."""
    return params_count * weight_bits / BITS_PER_BYTE


def read_time_s(body_bytes, memory_bytes_per_s, efficiency_ratio, floor_s):
    """Time to read once, never below the floor."""
    read_s = body_bytes / (memory_bytes_per_s * efficiency_ratio)
    return most(read_s, floor_s) + total(floor_s, least(read_s, floor_s))


def two_reads_s(first_s, second_s):
    """Two reads in a row."""
    return first_s + second_s


BODY, READ, TWO = Formula(body_bytes), Formula(read_time_s), Formula(two_reads_s)


def body() -> Quantity:
    return BODY(leaf("params_count", 8e9, SHEET), leaf("weight_bits", 16, SHEET))


def test_floats_in_float_out():
    assert BODY(8e9, 16) == BODY.raw(8e9, 16) == 16e9


def test_arrays_give_the_same_as_floats():
    efficiency = np.array([0.5, 0.8])
    by_array = READ.raw(16e9, 3.35e12, efficiency, 0.006)
    assert by_array == pytest.approx([READ.raw(16e9, 3.35e12, e, 0.006) for e in efficiency])


def test_quantity_keeps_value_unit_equation_and_leaves():
    read = READ(
        body(), leaf("memory_bytes_per_s", 3.35e12, SHEET), assumed("efficiency_ratio", 0.8, "house"), 1e-3
    )
    assert read.value == READ.raw(16e9, 3.35e12, 0.8, 1e-3)
    assert read.unit.text == "s"
    assert "body_bytes / (memory_bytes_per_s * efficiency_ratio)" in read.equation
    assert {part.name: part.grade for part in read.leaves()} == {
        "params_count": "vendor",
        "weight_bits": "vendor",
        "memory_bytes_per_s": "vendor",
        "efficiency_ratio": "assumed",
        "floor_s": "derived",
    }


def test_a_quantity_of_another_unit_is_refused():
    with pytest.raises(TypeError, match=r"wants B, got"):
        READ(leaf("kv_bytes_per_token", 1.0, SHEET), 3e12, 0.8, 0.0)


def test_interval_and_grade_follow_the_leaf_that_causes_most_of_it():
    read = READ(
        body(),
        leaf("memory_bytes_per_s", 3.35e12, SHEET, 3.3e12, 3.4e12),
        assumed("efficiency_ratio", 0.8, "house", 0.6, 0.9),
        0.0,
    )
    low, high = read.interval
    assert low < float(read) < high
    assert read.grade == "assumed"
    assert read.swings[0][0].name == "efficiency_ratio"


def test_a_shared_node_is_listed_once_and_moves_both_sides():
    shared = leaf("first_s", 2.0, SHEET, 1.0, 3.0)
    both = TWO(shared, shared.named("second_s"))
    nodes, index = tree_nodes({"both_s": TWO(shared, shared)})
    assert len(nodes) == 2
    assert index["both_s"] == 1
    assert TWO(shared, shared).interval == (2.0, 6.0)
    assert both.value == 4.0


def test_a_simulated_leaf_says_so():
    part = simulated("first_s", 1.0, 0.8, 1.3, seed=7)
    assert part.grade == "simulated"
    assert "seed 7" in part.source.what


@given(st.floats(1e6, 1e12), st.floats(1, 16), st.floats(0.1, 10))
def test_scaling_an_input_scales_the_result(params, bits, factor):
    assert BODY.raw(params * factor, bits) == pytest.approx(factor * BODY.raw(params, bits))


def test_dimensions_are_checked_with_the_result():
    check_dimensions(BODY.equation)
    check_dimensions(READ.equation)


def missing_conversion_s(wait_hours):
    """Forgets 3600."""
    return wait_hours


def unlike_sum_s(first_s, size_bytes):
    """Adds apples to pears."""
    return first_s + size_bytes


def with_conversion_s(wait_hours):
    """Remembers 3600."""
    return wait_hours * S_PER_HOUR


def test_a_forgotten_conversion_is_found():
    with pytest.raises(NotAFormula, match="should be s, its expression is h"):
        check_dimensions(read_equation(missing_conversion_s))
    with pytest.raises(NotAFormula, match="unlike units"):
        check_dimensions(read_equation(unlike_sum_s))
    check_dimensions(read_equation(with_conversion_s))


def looping_s(first_s):
    """Loops."""
    for _ in range(3):
        first_s = first_s + first_s
    return first_s


def calling_s(first_s):
    """Calls outside the vocabulary."""
    return abs(first_s)


def nameless(first_s):
    """No unit in the name."""
    return first_s


def denying_ratio(first_ratio):
    """Turns a number around as if it were true or false."""
    return not first_ratio


@pytest.mark.parametrize("function", [looping_s, calling_s, nameless, denying_ratio])
def test_what_is_not_straight_line_is_refused(function):
    with pytest.raises(NotAFormula):
        check_dimensions(read_equation(function))


def test_vocabulary():
    assert ceil_to(17, 16) == 32
    assert ceil_to(32, 16) == 32
    assert list(ceil_to(np.array([1.0, 16.0, 17.0]), 16)) == [16, 16, 32]
    assert where(3 > 2, 1, 0) == 1
    assert list(where(np.array([True, False]), 1, 0)) == [1, 0]
    assert list(least(np.array([1.0, 5.0]), 3.0)) == [1, 3]


@given(st.floats(-5, 15))
def test_lookup_agrees_with_numpy(value):
    xs, ys = (0.0, 1.0, 10.0), (0.0, 4.0, 5.0)
    assert lookup(value, xs, ys) == pytest.approx(float(np.interp(value, xs, ys)))
    assert math.isfinite(lookup(value, xs, ys))
