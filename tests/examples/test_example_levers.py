"""The trees of every example: each bill has one, all of it works out again, and every input of a bill is classed."""

import math
from pathlib import Path

import pytest

from cabida.choose.levers import bills_of, levers
from cabida.choose.what_if import recomputes, what_if

EXAMPLES = sorted(file.stem for file in (Path(__file__).parents[2] / "examples").glob("*.yaml"))


@pytest.fixture(params=EXAMPLES)
def decision(request, decided):
    return decided(request.param)[0]


def test_every_node_works_out_to_what_is_stored(decision):
    found = recomputes(decision)
    assert len(found) == len(decision.trees)
    for node in decision.trees:
        assert found[node["id"]] == pytest.approx(node["value"], rel=1e-12, abs=0), node["name"]


def test_every_shown_option_has_the_tree_of_its_bill(decision):
    values = {node["id"]: node["value"] for node in decision.trees}
    for option in decision.options:
        whole = option.trees.get("cost_per_month", option.trees.get("cost_per_run"))
        assert values[whole] == pytest.approx(option.cost_per_month_money, rel=1e-12)
        assert values[option.trees["unit_cost"]] == pytest.approx(option.unit_cost.value, rel=1e-12)
        for line in option.cost_lines:
            assert values[option.trees[f"cost.{line.key}"]] == pytest.approx(line.money, rel=1e-12)
        for name, at in bills_of(option.trees).items():
            if name in option.metrics:
                assert values[at] == pytest.approx(option.metrics[name].value, rel=1e-12)


def test_every_input_of_a_bill_is_classed(decision):
    known = levers(decision)
    assert {one.why for one in known if one.locked and "known to be read" in one.why} == set()
    assert all(one.why for one in known if one.locked)
    assert len({one.name for one in known}) == len(known)
    placed = [at for one in known for at in one.nodes]
    assert len(set(placed)) == len(placed)


def test_the_inputs_that_may_move_hold_their_value_and_move_their_bills(decision):
    free = [one for one in levers(decision) if not one.locked]
    assert free
    for one in free:
        assert one.low <= one.value <= one.high
        assert one.low < one.high
    still = what_if(decision, {one.name: one.value for one in free})
    assert still is decision


def test_each_end_of_each_input_can_be_worked_out(decision):
    """What is tried at its ends leaves numbers, an order and a verdict; the options stay the same ones."""
    free = [one for one in levers(decision) if not one.locked]
    for ends in ({one.name: one.low for one in free}, {one.name: one.high for one in free}):
        moved = what_if(decision, ends)
        assert {one.id for one in moved.options} == {one.id for one in decision.options}
        assert [one.rank for one in moved.options] == list(range(1, len(moved.options) + 1))
        assert all(math.isfinite(one.unit_cost.value) for one in moved.options)
        able = [one for one in moved.options if one.status in ("chosen", "satisfies")]
        assert moved.verdict == ("satisfied" if able else "nothing_satisfies")
        assert able == list(moved.options[: len(able)])
