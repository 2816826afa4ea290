"""A what-if against the decision made again from the brief, its order and limits by hand, and what it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cabida
from cabida.choose.levers import levers
from cabida.choose.what_if import what_if
from cabida.errors import InvalidInput
from cabida.report.store import from_json, to_json

EXAMPLES = Path(__file__).parents[2] / "examples"
AS_OF = "2026-11-30"
AGAIN = {  # example -> what is changed in its text, and the same as levers
    "qlora-70b": (
        (("loaded_cost: 110000", "loaded_cost: 140000"), ("accepted_runs: 0.6", "accepted_runs: 0.5")),
        {"loaded_money_per_year": 140000.0, "model_acceptance_ratio": 0.5},
    ),
    "student-4090": (
        (("electricity: 0.22", "electricity: 0.35"), ("pue: 1}", "pue: 1.3}")),
        {"electricity_money_per_kwh": 0.35, "desktop_pue_ratio": 1.3, "1.pue_ratio": 1.3},
    ),
    "speech-transcription": (
        (("review_per_output: 0.90", "review_per_output: 2.40"), ("loaded_cost: 80000", "loaded_cost: 60000")),
        {"review_money_per_output": 0.12, "loaded_money_per_year": 60000.0},
    ),
}  # fmt: skip


def brief_of(name, folder, changes=()):
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def decisions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("what-if")
    return {name: cabida.recommend(brief_of(name, folder), as_of=AS_OF, language="en") for name in AGAIN}


@pytest.fixture
def run(decisions):
    return decisions["qlora-70b"]


@pytest.mark.parametrize("name", AGAIN)
def test_bills_are_those_of_the_brief_decided_again(name, decisions, tmp_path):
    changes, moved = AGAIN[name]
    known = {one.name for one in levers(decisions[name])}
    tried = what_if(decisions[name], {lever: value for lever, value in moved.items() if lever in known})
    again = cabida.recommend(brief_of(name, tmp_path, changes), as_of=AS_OF, language="en", all=True)
    by_id = {one.id: one for one in again.options}
    same = [(one, by_id[one.id]) for one in tried.options if one.id in by_id]
    assert len(same) >= 5
    for ours, theirs in same:
        assert ours.cost_per_month_money == pytest.approx(theirs.cost_per_month_money, rel=1e-9)
        assert ours.unit_cost.value == pytest.approx(theirs.unit_cost.value, rel=1e-9)
        mine = {line.key: line.money for line in ours.cost_lines if line.money}
        assert mine == pytest.approx({line.key: line.money for line in theirs.cost_lines}, rel=1e-9)
        for metric, found in ours.metrics.items():
            assert found.value == pytest.approx(theirs.metrics[metric].value, rel=1e-9), metric
        assert (ours.status == "misses") == (theirs.status == "misses")
        if ours.status == "misses":
            assert set(ours.reasons) == set(theirs.reasons)


def test_nothing_changed_is_the_decision_itself(run):
    assert what_if(run, {}) is run
    assert what_if(run, {"loaded_money_per_year": 110000.0}) is run


def test_a_what_if_is_read_back_as_it_was_written(run):
    tried = what_if(run, {"loaded_money_per_year": 90000.0})
    assert from_json(to_json(tried)) == tried
    assert what_if(from_json(to_json(run)), {"loaded_money_per_year": 90000.0}) == tried


def test_what_rested_on_the_old_figures_is_left_out(run):
    tried = what_if(run, {"loaded_money_per_year": 90000.0})
    assert (tried.flips, tried.measurements, tried.swings, tried.curves, tried.mix) == ((), (), (), (), None)
    assert tried.draws_count == 0
    assert all(one.best_probability == 0 and one.walk_away is None for one in tried.options)
    assert tried.warnings[-1].code == "CB-X096"
    assert tried.assumptions[-1].name == "loaded_money_per_year"
    assert "90,000" in tried.answer
    assert "110,000" in tried.answer


def test_the_interval_of_a_bill_stays_as_wide_in_proportion(run):
    tried = what_if(run, {"loaded_money_per_year": 220000.0})
    before = {one.id: one.unit_cost for one in run.options}
    for one in tried.options:
        was = before[one.id]
        assert one.unit_cost.low / one.unit_cost.value == pytest.approx(was.low / was.value)
        assert one.unit_cost.high / one.unit_cost.value == pytest.approx(was.high / was.value)


def test_intervals_of_the_nodes_are_those_of_their_other_leaves(run):
    """Only the price of the first option is known by a range; once it is set, its bill has the others' range alone."""
    price = next(one for one in levers(run) if one.name == "1.price_money_per_hour")
    node = {one["id"]: one for one in run.trees}[price.nodes[0]]
    assert node["low"] < node["value"] < node["high"]
    tried = what_if(run, {price.name: price.value * 1.000001})
    at = run.options[0].trees["unit_cost"]
    before = {one["id"]: one for one in run.trees}[at]
    after = {one["id"]: one for one in tried.trees}[at]
    assert before["high"] - before["low"] > after["high"] - after["low"] > 0
    leaf = {one["id"]: one for one in tried.trees}[price.nodes[0]]
    assert (leaf["low"], leaf["high"], leaf["grade"]) == (leaf["value"], leaf["value"], "assumed")


def test_a_dear_first_option_goes_where_its_cost_puts_it(run):
    first = run.options[0]
    tried = what_if(run, {"1.price_money_per_hour": next(
        one.high for one in levers(run) if one.name == "1.price_money_per_hour")})  # fmt: skip
    assert tried.options[0].id == run.options[1].id
    assert run.options[0].title in tried.answer
    costs = [one.unit_cost.value for one in tried.options if one.status in ("chosen", "satisfies")]
    assert costs == sorted(costs)
    assert (
        next(one for one in tried.options if one.id == first.id).unit_cost.value > 5 * first.unit_cost.value
    )


def test_a_bill_over_the_budget_is_no_longer_an_answer(run):
    """4,000 USD are there for six runs: six hundred and sixty-six each, whatever else happens."""
    tried = what_if(run, {"training_staff_count": 20.0})
    over = [one for one in tried.options if one.cost_per_month_money * 6 > 4000]
    assert over
    assert {one.status for one in over} == {"misses"}
    assert all("4,000 USD" in " ".join(one.reasons) for one in over)
    assert all(one.status != "misses" for one in tried.options if one not in over)


def test_what_one_has_stays_first_within_a_unit_of_the_currency(decisions):
    """Of two options whose runs cost the same to within a unit, the one that is there already is taken."""
    student = decisions["student-4090"]
    had = next(one for one in student.options if one.capacity == "have")
    other = next(one for one in student.options if one.capacity == "on-demand")
    price = next(
        one for one in levers(student) if one.option == other.id and "price_money_per_hour" in one.name
    )
    by_name = {price.name: price.low}
    tried = what_if(student, by_name)
    rented = next(one for one in tried.options if one.id == other.id)
    assert tried.options[0].id == had.id
    assert had.unit_cost.value - rented.unit_cost.value <= 1.0


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("loaded_money_per_yaer", 1.0, "CB-X090"),
        ("goodput_ratio", 0.9, "CB-X091"),
        ("1.ideal_hours", 9.0, "CB-X091"),
        ("vocab_count", 9.0, "CB-X091"),
        ("loaded_money_per_year", -1.0, "CB-X092"),
        ("loaded_money_per_year", float("nan"), "CB-X092"),
        ("model_acceptance_ratio", 1.5, "CB-X092"),
        ("price_money_per_hour", 2.0, "CB-X093"),
    ],
)
def test_what_is_no_lever_is_refused_by_name(run, name, value, code):
    with pytest.raises(InvalidInput) as raised:
        what_if(run, {"loaded_money_per_year": 90000.0} | {name: value})
    assert [one.code for one in raised.value.problems] == [code]
    assert name in raised.value.problems[0].what
    assert raised.value.problems[0].cure


def test_all_that_is_wrong_is_told_at_once(run):
    with pytest.raises(InvalidInput) as raised:
        what_if(run, {"nonsense": 1.0, "1.ideal_hours": 2.0, "loaded_money_per_year": 1e12})
    assert [one.code for one in raised.value.problems] == ["CB-X090", "CB-X091", "CB-X092"]


def test_acceptance_is_locked_where_rejects_are_tried_again(decisions):
    speech = decisions["speech-transcription"]
    tries = {node["value"] for node in speech.trees if node["name"] == "tries_count"}
    acceptance = [one for one in levers(speech) if one.name.endswith("acceptance_ratio")]
    assert acceptance
    assert {one.locked for one in acceptance} == {tries != {1.0}}


def test_trees_that_go_in_circles_or_hang_in_the_air_are_refused(run):
    node = next(one for one in run.trees if one["inputs"])
    loop = {**node, "inputs": [{"param": part["param"], "id": node["id"]} for part in node["inputs"]]}
    air = {**node, "inputs": [{"param": part["param"], "id": 10**9} for part in node["inputs"]]}
    for bad in (loop, air):
        trees = tuple(bad if one is node else one for one in run.trees)
        with pytest.raises(InvalidInput, match="CB-X095"):
            levers(replace(run, trees=trees))


@pytest.mark.parametrize("equation", ["__import__('os').system('x')", "1 +", "9 ** 9 ** 9 ** 9", "1 / 0"])
def test_equations_from_a_file_are_arithmetic_or_refused(run, equation):
    price = next(one for one in levers(run) if one.name == "1.price_money_per_hour")
    trees = tuple(
        {**one, "equation": equation} if any(part["id"] in price.nodes for part in one["inputs"]) else one
        for one in run.trees
    )
    with pytest.raises(InvalidInput, match="CB-X095"):
        what_if(replace(run, trees=trees), {price.name: price.value * 2})


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_two_steps_are_as_good_as_one(data, decisions):
    """Setting one input and then another gives what setting both at once gives; going back gives the old bills."""
    decision = decisions[data.draw(st.sampled_from(sorted(AGAIN)), label="decision")]
    shared = [one for one in levers(decision) if not one.locked and "." not in one.name and one.value > 0]
    one, two = (shared[data.draw(st.integers(0, 10**6), label="lever") % len(shared)] for _ in range(2))
    parts = [data.draw(st.floats(0, 1), label="how far") for _ in range(2)]
    first, second = (near(each, part) for each, part in zip((one, two), parts, strict=True))
    if one is two:
        first = second
    both = what_if(decision, {one.name: first, two.name: second})
    after = what_if(what_if(decision, {one.name: first}), {two.name: second})
    assert bills(after) == pytest.approx(bills(both), rel=1e-12)
    back = what_if(what_if(decision, {one.name: first}), {one.name: one.value})
    assert bills(back) == pytest.approx(bills(decision), rel=1e-12)


def near(lever, part):
    """Between half and twice its value, as far as it may be moved."""
    low, high = max(lever.low, lever.value / 2), min(lever.high, lever.value * 2)
    return low + (high - low) * part


def bills(decision):
    return {one.id: one.unit_cost.value for one in decision.options}
