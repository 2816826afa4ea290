"""Mixed capacity, against brute force."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.money.hold.hybrid import Capacity, cheapest_mix, meet_hour

kinds = st.lists(st.tuples(st.floats(0.5, 20), st.floats(1, 30)), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(kinds, st.floats(1, 60))
def test_the_mix_is_the_cheapest_there_is(pairs, need):
    offered = [Capacity(f"k{index}", price, size) for index, (price, size) in enumerate(pairs)]
    found, counts = cheapest_mix(offered, need)
    tops = [range(int(need // kind.mtok_per_hour) + 2) for kind in offered]
    brute = min(
        sum(units * kind.money_per_hour for units, kind in zip(row, offered, strict=True))
        for row in product(*tops)
        if sum(units * kind.mtok_per_hour for units, kind in zip(row, offered, strict=True)) >= need - 1e-9
    )
    assert found == pytest.approx(brute)
    assert sum(counts[kind.name] * kind.mtok_per_hour for kind in offered) >= need - 1e-6


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 50), st.floats(1, 10), st.floats(1, 20), st.floats(0.1, 10), st.integers(0, 3))
def test_an_hour_is_met_by_the_cheapest_whole_units_and_api(demand, size, price, api, held):
    reserved, hourly = Capacity("r", 1.0, 4.0), Capacity("h", price, size)
    plan = meet_hour(demand, reserved, held, hourly, api)
    left = max(0.0, demand - 4.0 * held)
    brute = min(units * price + max(0.0, left - units * size) * api for units in range(int(left / size) + 2))
    assert plan.money - held * 1.0 == pytest.approx(brute, abs=1e-9)
    assert plan.reserved_mtok + plan.on_demand_count * size + plan.api_mtok >= demand - 1e-9


def test_nothing_to_serve_with_is_an_error():
    with pytest.raises(ValueError, match="left"):
        meet_hour(9.0, Capacity("r", 1.0, 4.0), 1, None, None)
    with pytest.raises(ValueError, match="no kind"):
        cheapest_mix([], 1.0)
