"""What is under contract until a day inside the horizon, in a mix: used until then, something else after."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_hand_checked import AS_OF, brief_of

from cabida.choose import decide, mixing
from cabida.choose.ask import ask_of
from cabida.choose.held import left_months
from cabida.choose.means import means_of
from cabida.choose.mix_ending import on_steps
from cabida.money.hold.mix import Future, Kind, Level, Problem
from cabida.money.hold.mix_levels import steps_of
from cabida.money.hold.mix_solve import solve
from cabida.report.store import from_json, to_json

UNTIL = "2027-06-01"
CONTRACT = "{{accelerator: h100-sxm-80, count: {count}, kind: contracted, price: 2 USD/h, until: {until}}}"
TRAFFIC = (
    "{requests_per_s: {mean: 30, peak: 100, profile: office-hours Europe/Madrid},"
    " input_tokens: {p50: 900, p95: 3500}, output_tokens: {p50: 250, p95: 700}}"
)


def decided(*contracts):
    rows = ", ".join(CONTRACT.format(count=count, until=until) for count, until in contracts)
    brief = brief_of(
        have=f"[{rows}]",
        traffic=TRAFFIC,
        limits="{data: any, needed_by: 2026-12-20, availability: none, risk: medium}",
        consider="{capacity: [on-demand], providers: any, accelerators: [l40s, h100-sxm-80]}",
    )
    return brief, decide(brief, AS_OF), means_of(brief, AS_OF)


def test_what_is_owed_until_june_is_used_until_june_and_something_else_after():
    brief, outcome, means = decided((8, UNTIL))
    mix = outcome.decision.mix
    held = next(part for part in mix.parts if part.capacity == "have")
    months = left_months(UNTIL, AS_OF, 24.0)
    assert held.ends_months == pytest.approx(months)
    assert held.begins_months == 0
    assert held.money_per_month == pytest.approx(0, abs=200)  # sunk: no rent, only who watches it
    assert held.share_ratio == pytest.approx(months / 24, rel=0.02)
    later = [part for part in mix.parts if part.capacity == "on-demand"]
    assert all(part.begins_months == pytest.approx(months) for part in later)
    assert sum(part.share_ratio for part in later) == pytest.approx(1 - months / 24, rel=0.02)
    assert f"until {UNTIL}" in mix.sentence
    assert f"from {UNTIL} on" in mix.sentence
    assert list(dict.fromkeys(level.begins for level in mix.levels)) == ["", UNTIL]
    for level in mix.levels:
        at, gone = mix.parts.index(held), level.begins == UNTIL
        assert (level.replicas_count[at] == 0) == (level.served_per_s[at] == 0) == gone
        others = sum(level.replicas_count) - level.replicas_count[at]
        assert (others > 0) == gone
        assert sum(level.served_per_s) == pytest.approx(level.requests_per_s)
    assert from_json(to_json(outcome.decision)).mix == mix
    asked = mixing.asked_of(brief, outcome.everything, ask_of(brief), means, quick=True)
    kind = next(kind for kind in asked.problem.kinds if kind.capacity == "have")
    assert mixing.alone(asked, [kind]) is None  # alone it serves nothing from June on
    renting = [kind for kind in asked.problem.kinds if kind.capacity == "on-demand"]
    alone = solve(asked.problem.only(renting)).money_per_month
    before = asked.problem.steps_months[0] / 24
    fixed = sum(asked.problem.fixed.values())
    assert mix.money_per_month == pytest.approx(fixed + (alone - fixed) * (1 - before), rel=0.02)


def test_each_contract_of_an_accelerator_ends_on_its_own_day():
    brief, outcome, means = decided((2, "2028-03-01"), (6, UNTIL))
    asked = mixing.asked_of(brief, outcome.everything, ask_of(brief), means, quick=True)
    held = sorted(
        (kind.until_months, kind.most_count) for kind in asked.problem.kinds if kind.capacity == "have"
    )
    days = [(left_months(day, AS_OF, 24.0), count) for day, count in ((UNTIL, 6), ("2028-03-01", 2))]
    assert held == [(pytest.approx(months), count) for months, count in days]
    for day in ("2031-01-01", "2028-11-29"):  # a day before the end is the end
        brief, outcome, means = decided((8, day))
        asked = mixing.asked_of(brief, outcome.everything, ask_of(brief), means, quick=True)
        assert {kind.until_months for kind in asked.problem.kinds} == {inf}
        assert asked.problem.steps_months == (24.0,)


def test_what_is_gone_is_begun_no_more():
    """Six months of one at 1 a month and twelve of renting at 10, by hand; renewing the first would cost 18."""
    level = Level(1.0, 1.0, 730.0, 730.0)
    steps = (6.0, 12.0)
    future = Future("base", 1.0, ((level,), (level,)), (1.0, 1.0))
    held = Kind(
        "held", "g", "have", 1.0, money_per_month=1.0, term_months=6.0, most_count=1, until_months=6.0
    )
    rented = Kind("rented", "g", "on-demand", 1.0, money_per_hour=10 / 730)
    found = solve(Problem((held, rented), (future,), steps))
    assert found.money_per_month == pytest.approx((6 * 1 + 12 * 10) / 18)
    assert found.starts[0] == (1, 0)
    renewed = replace(held, until_months=inf)
    assert solve(Problem((renewed, rented), (future,), steps)).money_per_month == pytest.approx(1.0)
    assert solve(Problem((held,), (future,), steps)) is None


@given(st.floats(1, 120), st.lists(st.floats(0, 130), max_size=4), st.booleans())
def test_steps_make_up_the_horizon_and_begin_where_what_is_held_ends(horizon, ends, changing):
    steps = steps_of(horizon, changing=changing, ends_months=ends)
    assert sum(steps) == pytest.approx(horizon)
    assert min(steps) > 0
    kind = Kind("held", "g", "have", 1.0, term_months=inf)
    assert on_steps(kind, steps) is kind
    for end in ends:
        found = on_steps(replace(kind, until_months=end), steps)
        assert found.most_count == 0 or found.until_months <= end + 1e-6
        starts = [sum(steps[:at]) for at in range(1, len(steps))]
        assert found.most_count == 0 or any(
            found.until_months == pytest.approx(cut) for cut in (*starts, horizon)
        )
