"""Credits and promised spend in a mix: one kind alone costs what its bill says, and no pledge is spent twice."""

from dataclasses import replace

import pytest
from test_mixing import realtime

from cabida.choose import mixing
from cabida.money.bills.service_api import api_cost
from cabida.money.bills.serving import serving_cost
from cabida.money.hold.mix import Future, Kind, Level, Problem, Purse
from cabida.money.hold.mix_solve import solve
from cabida.money.terms import Pledge


def with_pledges(make):
    brief, outcome, ask, means = realtime(capacity="any", cards="l40s")
    free = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    pledges = make(free)
    means = replace(means, terms=replace(means.terms, pledges=pledges))
    return outcome, means, mixing.asked_of(brief, outcome.everything, ask, means, quick=True)


@pytest.mark.parametrize(
    ("kind", "money", "months", "discount"),
    [("credit", 3000.0, 24.0, 0.0), ("credit", 1e9, 6.0, 0.0), ("commitment", 400.0, 24.0, 0.1)],
)
def test_one_kind_alone_costs_what_its_bill_says(kind, money, months, discount):
    outcome, means, asked = with_pledges(lambda _: (Pledge(kind, "", "", money, months, discount),))
    bills = {}
    for one in outcome.everything:
        if one.candidate.api:
            bills[one.candidate.id] = api_cost(one.candidate.api, one.usage, means.terms)
        elif one.tenure is not None and one.beside is None:
            bills[one.candidate.id] = serving_cost(one.candidate, one.usage, means.terms, one.tenure)
    seen = set()
    for each in asked.problem.kinds:
        if each.name in bills:
            found = mixing.alone(asked, [each])
            assert found.money_per_month == pytest.approx(bills[each.name].per_month_money, rel=0.01), (
                each.name
            )
            seen.add(each.capacity)
    assert {"on-demand", "api"} <= seen


def test_a_pledge_at_one_seller_draws_the_mix_there():
    one = Level(4.0, 4.0, 730.0, 730.0)
    kinds = (
        Kind("a", "g", "on-demand", 1.0, money_per_hour=1.0),
        Kind("b", "g", "on-demand", 1.0, money_per_hour=1.2, pledges=("credit",)),
    )
    plain = Problem(kinds, (Future("base", 1.0, ((one,),), (1.0,)),), (12.0,))
    assert solve(plain).lots[0][0][0] == (4, 0)
    month = 1.2 * 730
    some = replace(plain, pledges=(Purse("credit", "credit", 2 * month * 12, 12.0),))
    found = solve(some)
    assert found.lots[0][0][0] == (2, 2)  # as many as the credit pays for
    assert found.money_per_month == pytest.approx(2 * 730)
    assert found.kind_money == pytest.approx((2 * 730, 0.0))
    short = replace(plain, pledges=(Purse("credit", "credit", 1e9, 1.0),))
    assert solve(short).lots[0][0][0] == (4, 0)  # a month of it is worth less than eleven at the dearer price


def test_two_pledges_take_off_no_more_than_is_spent():
    one = Level(1.0, 1.0, 730.0, 730.0)
    kind = Kind("a", "g", "reserved", 1.0, money_per_month=1000.0, term_months=12.0, pledges=("c", "p"))
    plain = Problem((kind,), (Future("base", 1.0, ((one,),), (1.0,)),), (12.0,))
    purses = (Purse("p", "commitment", 600.0, 12.0, 0.1), Purse("c", "credit", 1e6, 12.0))
    assert solve(replace(plain, pledges=purses)).money_per_month == pytest.approx(0.0, abs=1e-6)
    assert solve(replace(plain, pledges=purses[:1])).money_per_month == pytest.approx(300.0)
    low = replace(plain, pledges=(purses[0], Purse("c", "credit", 1200.0, 12.0)))
    assert solve(low).money_per_month == pytest.approx(200.0)
    part = replace(kind, spent_month_ratio=0.5)
    assert solve(replace(low, kinds=(part,), pledges=purses)).money_per_month == pytest.approx(500.0)
