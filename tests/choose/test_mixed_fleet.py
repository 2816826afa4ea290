"""A fleet of two types that beats every single one: against all fleets there are, and in each form of the record."""

from math import ceil, inf, isinf

import pytest
from test_mixing import BRIEF, decided

from cabida.choose import mixing
from cabida.report.fleet import fleet
from cabida.report.markdown import markdown

OWNED = 2
TEXT = (
    BRIEF.format(
        capacity="[on-demand]", data="any", cards="l40s", profile="office-hours Europe/Madrid"
    ).replace("providers: any", "providers: [DigitalOcean]")  # who rents out no RTX 4090
    + f"have: [{{accelerator: rtx4090, count: {OWNED}, owned: true, resale: 1200 USD each}}]\n"
)


@pytest.fixture(scope="module")
def made():
    brief, outcome, ask, means = decided(TEXT)
    asked = mixing.asked_of(brief, outcome.everything, ask, means, quick=True)
    held = next(kind for kind in asked.problem.kinds if kind.capacity == "have")
    rented = min(
        (kind for kind in asked.problem.kinds if kind.group != held.group and not kind.api),
        key=lambda kind: mixing.alone(asked, [kind]).money_per_month,
    )
    return outcome, asked, held, rented


def cheapest_by_hand(problem, held, rented):
    """All fleets of the two: what is held is kept at all hours, what is rented is on for the levels that need it."""
    levels, best = problem.futures[0].levels[0], inf
    assert len(problem.steps_months) == 1
    for lots in range(int(held.most_count) + 1):
        carried = lots * held.replicas_count * held.requests_per_s
        each = rented.replicas_count * rented.requests_per_s
        on = [max(0, ceil((level.need_per_s - carried) / each - 1e-9)) for level in levels]
        money = lots * held.money_per_month + max(on) * rented.money_per_month
        money += (
            sum(count * level.paid_hours for count, level in zip(on, levels, strict=True))
            * rented.money_per_hour
        )
        for level in levels:  # whoever serves a request for less goes first
            mine = min(level.need_per_s, carried)
            if rented.request_money < held.request_money:
                mine = max(0.0, level.need_per_s - on[levels.index(level)] * each)
            served = level.served_per_s * level.hours * 3600 / level.need_per_s
            rest = level.need_per_s - mine
            money += served * (mine * held.request_money[0] + rest * rented.request_money[0])
        for kind, most in ((held, lots), (rented, max(on))):
            if not isinf(kind.node_lots):
                money += ceil(most / kind.node_lots) * kind.node_money_per_month
        used = {name for kind, most in ((held, lots), (rented, max(on))) if most for name in kind.fixed}
        best = min(best, money + sum(problem.fixed[name] for name in used))
    return best


def test_the_fleet_found_is_the_cheapest_of_all_there_are(made):
    _, asked, held, rented = made
    problem = mixing.alone_of(asked, [held, rented])
    found = mixing.cheapest_whatever_cost(problem)
    assert found.money_per_month == pytest.approx(cheapest_by_hand(problem, held, rented), rel=3e-3)
    assert found.money_per_month < mixing.alone(asked, [rented]).money_per_month
    assert mixing.alone(asked, [held]) is None  # two cards don't hold the peak


def test_it_stands_beside_the_options_with_how_the_traffic_is_divided(made):
    outcome, _, _, _ = made
    decision = outcome.decision
    mix = decision.mix
    assert {part.accelerator for part in mix.parts} == {"rtx4090", "l40s"}
    assert sum(part.share_ratio for part in mix.parts) == pytest.approx(1.0)
    row = fleet(decision)
    assert any(flip.name == "mix" for flip in decision.flips)
    assert row.title.count(" + ") == len(mix.parts) - 1
    assert row.traffic.count("% of the requests") == len(mix.parts)
    assert "| mix |" in markdown(decision)


def test_no_row_where_one_option_is_as_good(made):
    from dataclasses import replace

    decision = made[0].decision
    assert fleet(replace(decision, flips=())) is None
    assert fleet(replace(decision, mix=None)) is None
