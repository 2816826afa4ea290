"""A second card beside the one at hand: one option with one bill, one tree and one ledger."""

from __future__ import annotations

import pytest
from test_hand_checked import AS_OF, brief_of

from cabida.choose import decide
from cabida.choose.ask import ask_of
from cabida.choose.explained import cost_tree_of
from cabida.choose.ledgers import ledger_of
from cabida.choose.means import means_of
from cabida.choose.walking import _dearer
from cabida.facts import accelerator

PC_MONEY, RESALE_MONEY, FALL = 1200.0, 1000.0, 0.282  # of the shipped assumptions, and of the brief
CARD = "{{accelerator: rtx4090, count: {count}, owned: true, resale: 1000 USD}}"


def student(count=1, **more):
    parts = {
        "have": f"[{CARD.format(count=count)}]",
        "consider": "{capacity: [buy], providers: any, accelerators: [rtx4090]}",
        "limits": "{data: any, availability: none, risk: medium}",
        "traffic": "{requests_per_s: {mean: 2, peak: 6}, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}}",
        "horizon": "36 months",
    }
    return brief_of(**(parts | more))


def ways(brief, count):
    found = means_of(brief, AS_OF).tenures(accelerator("rtx4090"), count)
    return [way for way in found if way.held], [
        way for way in found if way.capacity == "buy" and not way.held
    ]


@pytest.mark.parametrize(
    ("held", "count", "machines"), [(1, 2, 0), (1, 3, 1), (2, 3, 1), (3, 5, 1), (2, 4, 2)]
)
def test_the_card_beside_a_lone_one_pays_no_second_pc(held, count, machines):
    both, bought = ways(student(held), count)
    assert both
    for way in both:
        alone = next(one for one in bought if one.offer.id == way.offer.id)
        card = alone.capital_money - PC_MONEY
        assert way.bought_count == count - held
        assert way.capital_money * count == pytest.approx(card * (count - held) + PC_MONEY * machines)
        assert way.hourly_money < alone.hourly_money
        assert way.id != alone.id


def test_only_cards_at_a_desk_are_topped_up_and_only_where_buying_is_allowed():
    assert not ways(student(2), 2)[0]  # they reach
    assert not ways(student(1), 9)[0]  # no desk any more
    assert not ways(student(consider="{capacity: [on-demand], providers: any, accelerators: [rtx4090]}"), 2)[
        0
    ]
    spark = student(have="[{accelerator: gb10-dgx-spark, count: 1, owned: true}]")
    assert not any(way.held for way in means_of(spark, AS_OF).tenures(accelerator("gb10-dgx-spark"), 2))
    rack = student(have="[{accelerator: h100-sxm-80, count: 1, owned: true}]")
    assert not any(way.held for way in means_of(rack, AS_OF).tenures(accelerator("h100-sxm-80"), 4))


def test_bill_tree_and_ledger_tell_the_same_money():
    brief = student()
    outcome, means = decide(brief, AS_OF, show_all=True), means_of(brief, AS_OF)
    pairs = zip(outcome.decision.options, outcome.worked, strict=True)
    option, one = next(pair for pair in pairs if pair[1].tenure.held and pair[1].tenure.bought_count == 1)
    card = (
        next(way for way in ways(brief, 2)[1] if way.offer.id == one.tenure.offer.id).capital_money - PC_MONEY
    )
    assert "1 already held, 1 bought" in option.title
    assert one.cost.capex_money == pytest.approx(card)
    tree = cost_tree_of(one, means)
    assert tree["cost_per_month"].value == pytest.approx(one.cost.per_month_money)
    assert sum(line.money for line in one.cost.lines) == pytest.approx(one.cost.per_month_money)
    assert any(node.name == "desktop_room_count" for node in tree["cost_per_month"].nodes())
    held = sum(one.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares", "residual"))
    assert held == pytest.approx(one.tenure.hourly_money * 730, rel=1e-3)
    assert option.ledger[0].cash == {"purchase": pytest.approx(card, abs=0.01)}
    back = (card + RESALE_MONEY) * (1 - FALL) ** 3
    assert option.ledger[-1].cash["resale"] == pytest.approx(-back, abs=0.02)
    assert option.ownership.capital_money == pytest.approx(card)
    assert any(told.name == "desktop_room_count" for told in outcome.decision.assumptions)
    assert not [told for told in outcome.decision.warnings if told.code == "CB-X027"]
    dearer = _dearer(one.tenure, one, means, 2.0)
    assert dearer.capital_money * 2 == pytest.approx(2 * card)
    assert dearer.held == one.tenure.held


def test_what_is_bought_later_stands_in_a_pc_of_its_own():
    growing = student(
        traffic="{requests_per_s: {mean: 1, peak: 3}, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}, growth: 120 %/year}"
    )
    outcome, means = decide(growing, AS_OF, show_all=True), means_of(growing, AS_OF)
    lots = 0
    for one in outcome.worked:
        if one.tenure.held is None:
            continue
        card = ways(growing, one.tenure.accelerators_count)[1][0].capital_money - PC_MONEY
        rows = ledger_of(one, ask_of(growing), means)
        paid = [row.cash["purchase"] for row in rows if "purchase" in row.cash]
        counts = [round((money + PC_MONEY * (at == 0)) / (card + PC_MONEY)) for at, money in enumerate(paid)]
        for at, (money, count) in enumerate(zip(paid, counts, strict=True)):
            assert money == pytest.approx(count * (card + PC_MONEY) - PC_MONEY * (at == 0), abs=0.02)
        lots = max(lots, len(paid))
    assert lots > 1
