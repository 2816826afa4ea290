"""``own`` and ``hold`` asked from Python: what can't be is refused, and all faults at once."""

import math

import pytest

import cabida
from cabida.errors import InvalidInput
from cabida.report.hold_asked import BOUNDS as OF_HOLD
from cabida.report.own_asked import BOUNDS as OF_OWN

DAY = "2026-11-30"
ODD = (math.nan, math.inf, -2.0, 1e300)


@pytest.mark.parametrize("name", OF_OWN)
@pytest.mark.parametrize("value", ODD)
def test_owning_takes_no_figure_that_cannot_be(name, value):
    with pytest.raises(InvalidInput) as refused:
        cabida.own("h100", as_of=DAY, **{name: value})
    assert [one.code for one in refused.value.problems] == ["CB-U066"]
    assert name in str(refused.value)


@pytest.mark.parametrize("name", [name for name in OF_HOLD if " " not in name and name != "hours"])
@pytest.mark.parametrize("value", ODD)
def test_holding_takes_no_figure_that_cannot_be(name, value):
    with pytest.raises(InvalidInput) as refused:
        cabida.hold("h100", as_of=DAY, **{name: value})
    assert [one.code for one in refused.value.problems] == ["CB-U066"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"reserved": {0: 1.0}}, "CB-U066"),
        ({"reserved": {12: math.nan}}, "CB-U066"),
        ({"hours": [math.nan] * 24}, "CB-U066"),
        ({"hours": [0.0] * 24}, "CB-U066"),
        ({"profile": "luna"}, "CB-U004"),
    ],
)
def test_holding_takes_no_demand_that_cannot_be(said, code):
    with pytest.raises(InvalidInput) as refused:
        cabida.hold("h100", as_of=DAY, **said)
    assert [one.code for one in refused.value.problems] == [code]


def test_all_faults_are_told_and_a_name_that_is_none_has_its_nearest():
    with pytest.raises(InvalidInput) as refused:
        cabida.own("h100", as_of=DAY, wacc=-1.0, price="30000", utilization=0.5)
    assert sorted(one.code for one in refused.value.problems) == ["CB-U002", "CB-U066", "CB-U066"]
    assert "utilisation" in str(refused.value)
