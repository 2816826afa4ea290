"""What a difference says, one change at a time, on a decision of three options."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cabida
from cabida import app
from cabida.errors import InvalidInput
from cabida.plan.decision import Replica
from cabida.report.diff import difference, flat, likeness
from cabida.report.store import load, save
from cabida.text import speaking, tr
from cabida.timing.own import is_own_calibration

DECISION = load(Path(__file__).parents[1] / "report" / "golden" / "decision.en.json")
FIRST, SECOND, *OTHERS = DECISION.options


def of(*options, **more):
    return replace(DECISION, options=tuple(options), **more)


def kinds(found):
    return {one.kind for one in found.changes}


def test_the_decision_of_the_tests_has_a_first_and_another():
    assert FIRST.status == "chosen"
    assert SECOND.status in ("satisfies", "misses")
    assert likeness(FIRST) != likeness(SECOND)


def test_who_was_first_is_told_with_what_became_of_it():
    now = replace(SECOND, status="chosen", rank=1)
    was = replace(FIRST, status="satisfies", rank=2)
    found = difference(DECISION, of(now, was, *OTHERS))
    assert found.winner_changed
    assert (found.winner_before.title, found.winner_after.title) == (FIRST.title, SECOND.title)
    assert (found.old_winner_now.title, found.old_winner_now.rank) == (FIRST.title, 2)
    assert found.new_winner_then.title == SECOND.title
    assert found.new_winner_then.rank == SECOND.rank
    gone = difference(DECISION, of(now))
    assert gone.old_winner_now is None


def test_nothing_that_satisfies_is_a_change_though_the_nearest_is_the_same():
    nearest = replace(FIRST, status="misses", reasons=("too dear",))
    found = difference(DECISION, of(nearest, verdict="nothing_satisfies"))
    assert found.winner_changed
    assert found.verdicts == ("satisfied", "nothing_satisfies")
    assert difference(of(nearest, verdict="nothing_satisfies"), DECISION).winner_changed
    still = of(nearest, verdict="nothing_satisfies")
    assert not difference(
        still, of(replace(SECOND, status="misses"), verdict="nothing_satisfies")
    ).winner_changed


def test_first_or_second_of_those_that_satisfy_is_no_change_of_standing():
    changed = difference(of(FIRST), of(replace(FIRST, status="satisfies")))
    assert "option" not in kinds(changed)
    missed = difference(of(FIRST), of(replace(FIRST, status="misses")))
    assert [(one.before, one.after) for one in missed.changes if one.kind == "option"] == [
        ("satisfies", "misses")
    ]
    came = difference(of(FIRST), of(FIRST, SECOND))
    assert ("", "satisfies" if SECOND.status == "chosen" else SECOND.status) in {
        (one.before, one.after) for one in came.changes if one.kind == "option"
    }


def priced(money, count):
    return replace(FIRST, replica=Replica(count, 1.0, 2.0, money))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((4.0, 2), (4.0, 2), None),
        ((4.0, 2), (8.0, 4), None),  # of one accelerator the same
        ((4.0, 2), (4.0, 4), ("2.0", "1.0")),
        ((4.0, 2), (4.4, 2), ("2.0", "2.2")),
        ((4.0, 2), (4.0 * (1 + 1e-6), 2), ("2.0", "2.000002")),
        ((4.0, 2), (4.0 * (1 + 1e-12), 2), None),
        ((None, 2), (4.0, 2), None),
    ],
)
def test_a_price_is_of_an_accelerator_hour(before, after, told):
    found = [
        one for one in difference(of(priced(*before)), of(priced(*after))).changes if one.kind == "price"
    ]
    assert [(one.before, one.after) for one in found] == ([told] if told else [])


def test_warnings_that_come_and_go_are_told():
    warned = replace(DECISION, warnings=DECISION.warnings[:1])
    without = replace(DECISION, warnings=())
    for one, two, side in ((warned, without, "before"), (without, warned, "after")):
        found = [each for each in difference(one, two).changes if each.kind == "warning"]
        assert [each.name for each in found] == [DECISION.warnings[0].code]
        assert getattr(found[0], side) == DECISION.warnings[0].sentence


NAME = st.text("xyz", min_size=1, max_size=2)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc", min_size=1, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("xyz", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(NAME, PLAIN, max_size=4))
def test_a_brief_is_flat_by_path_and_what_is_empty_is_left_out(plain):
    found = flat(plain)
    assert all(isinstance(value, str) for value in found.values())
    assert flat({**plain, "name": "other", "file": "other.yaml"}) == found
    more = flat({**plain, "added": {"deep": [{"one": 1}]}})
    assert more == {**found, "added.deep[0].one": "1"}


def test_work_of_another_kind_or_counted_otherwise_is_not_compared(tmp_path):
    save(DECISION, tmp_path / "one.json")
    for name, changed in (
        ("kind", replace(DECISION, workload="batch-inference")),
        ("count", replace(DECISION, denominator="accepted document")),
    ):
        save(changed, tmp_path / f"{name}.json")
        with pytest.raises(InvalidInput, match="CB-Y005"):
            cabida.diff(tmp_path / "one.json", tmp_path / f"{name}.json")
    assert not cabida.diff(tmp_path / "one.json", tmp_path / "one.json").changes


@pytest.mark.parametrize(
    "more", [{"as_of": "2027-01-01"}, {"brief": "b.yaml"}, {"as_of": "2027-01-01", "brief": "b"}]
)
def test_the_same_again_takes_neither_another_day_nor_another_brief(more):
    with pytest.raises(InvalidInput, match="CB-Y003"):
        app.rerun(DECISION, same=True, **more)
    with pytest.raises(InvalidInput, match="CB-Y004"):
        app.rerun(replace(DECISION, version="0.0.1"), same=True)


def test_a_shipped_measurement_without_an_address_is_no_measurement_of_ones_own():
    shipped = {
        "what": "dense fp16 rate of a card, measured",
        "url": "",
        "seen": "2026-11-01",
        "grade": "measured",
    }
    for language in ("en", "es"):
        with speaking(language):
            told = tr("timing.own_calibration", digest="abc", count=3)
        own = {"what": told, "url": "", "seen": "2026-11-02", "grade": "measured"}
        assert [is_own_calibration(one) for one in (shipped, own, own | {"url": "https://example.org"})] == [
            False, True, False,
        ]  # fmt: skip
