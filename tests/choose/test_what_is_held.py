"""What is held, through a whole decision: decided on the margin, capped by quotas, late when it arrives too late."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_hand_checked import AS_OF, brief_of

from cabida.choose import decide
from cabida.choose.ask import ask_of
from cabida.choose.explained import cost_tree_of
from cabida.choose.held import left_months, quota_of, quotas_of
from cabida.choose.held_told import held_cautions
from cabida.choose.means import means_of
from cabida.choose.owned import energy_tree
from cabida.choose.reckoned import Reckoner
from cabida.choose.turns import flips
from cabida.choose.worlds import Fixed
from cabida.facts import accelerator
from cabida.money.bills.serving import serving_bill
from cabida.money.ways import Plain
from cabida.text import money as money_text

CONTRACT = "{accelerator: h100-sxm-80, count: 8, kind: contracted, price: 2 USD/h"


def held_tenure(have, **more):
    means = means_of(brief_of(have=f"[{have}]", **more), AS_OF)
    ways = means.tenures(accelerator("h100-sxm-80"), 1)
    return means, next(one for one in ways if one.capacity == "have"), ways


def test_a_contract_is_decided_on_what_using_it_adds():
    means, owed, _ = held_tenure(f"{CONTRACT}, until: 2031-01-01}}", horizon="12 months")
    assert owed.money_per_hour == 0
    assert [one.money_per_month for one in means.owed] == [2 * 8 * 730]
    assert [told.name for told in means.assumed if told.name == "have.contract"]
    _, free, _ = held_tenure(f"{CONTRACT}}}", horizon="12 months")
    assert free.money_per_hour == 2.0
    _, sublet, _ = held_tenure(f"{CONTRACT}, until: 2031-01-01, sublet: 40 %}}", horizon="12 months")
    assert sublet.money_per_hour == pytest.approx(0.8)
    _, half, _ = held_tenure(f"{CONTRACT}, until: 2031-01-01, committed: 50 %}}", horizon="12 months")
    assert half.money_per_hour == pytest.approx(1.0)


def test_a_contract_that_ends_is_replaced_at_the_books_price():
    _, kept, ways = held_tenure(f"{CONTRACT}, until: 2027-08-31}}", horizon="12 months")
    rent = min(one.money_per_hour for one in ways if one.capacity in ("on-demand", "reserved"))
    share = left_months("2027-08-31", AS_OF, 12.0) / 12
    assert kept.money_per_hour <= rent * (1 - share) * 1.2
    assert kept.money_per_hour == pytest.approx(0 * share + rent * (1 - share), rel=0.2)  # of eight at once


def test_what_is_owed_stands_in_every_ledger_and_in_no_bill():
    brief = brief_of(have=f"[{CONTRACT}, until: 2028-12-31}}]", horizon="12 months")
    for option in decide(brief, AS_OF).decision.options:
        owed = [row.cash.get("owed", 0.0) for row in option.ledger[1:]]
        assert owed == pytest.approx([11680.0] * 12)
        if option.capacity == "have":
            assert all("rent" not in row.cash for row in option.ledger)
            assert sum(line.money for line in option.cost_lines if line.key in ("compute", "idle")) == 0


def test_an_api_is_paid_for_the_traffic_of_each_month():
    growing = brief_of(
        traffic="{requests_per_s: {mean: 4, peak: 12}, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}, growth: 44 %/year}",
        consider="{capacity: [api], providers: any, accelerators: any}",
    )
    option = decide(growing, AS_OF).decision.options[0]
    called = [row.cash["rent"] for row in option.ledger[1:]]
    assert called[12] / called[0] == pytest.approx(1.44, rel=1e-4)  # a year apart
    planned = sum(line.money for line in option.cost_lines if line.key in ("compute", "retries_waste"))
    assert called[0] < planned < called[-1]
    assert (called[11] * called[12]) ** 0.5 == pytest.approx(planned, rel=1e-4)  # of the horizon's middle


def test_what_is_bought_as_traffic_grows_comes_by_the_board():
    growing = brief_of(
        traffic="{requests_per_s: {mean: 40, peak: 120}, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}, growth: 100 %/year}",
        consider="{capacity: [buy], providers: any, accelerators: [h100-sxm-80]}",
        limits="{data: any, needed_by: 2027-12-01, availability: none, risk: medium}",
    )
    found = decide(growing, AS_OF, show_all=True)
    lots = []
    for option, one in zip(found.decision.options, found.worked, strict=True):
        bought = [
            row.cash["purchase"] / one.tenure.capital_money for row in option.ledger if "purchase" in row.cash
        ]
        assert all(count == pytest.approx(4 * round(count / 4), abs=1e-4) for count in bought)
        lots.append(len(bought))
    assert max(lots) > 1


def test_a_quota_caps_and_is_said():
    plain = brief_of()
    winner = next(
        one for one in decide(plain, AS_OF, show_all=True).worked if one.tenure and one.tenure.scalable
    )
    offer = winner.tenure.offer
    have = f"[{{kind: quota, provider: {offer.provider}, accelerator: {offer.accelerator}, count: 0}}]"
    capped = decide(brief_of(have=have), AS_OF, show_all=True)
    same = [
        one
        for one in capped.worked
        if one.tenure
        and one.tenure.offer.provider == offer.provider
        and one.tenure.offer.accelerator == offer.accelerator
        and one.tenure.capacity not in ("buy", "have")
    ]
    assert same
    assert all(one.status != "satisfies" for one in same)
    assert any(offer.provider in " ".join(one.reasons) and "quota" in " ".join(one.reasons) for one in same)


def test_a_quota_holds_in_its_region():
    brief = brief_of(have="[{kind: quota, provider: p, accelerator: l40s, region: madrid, count: 4}]")
    quotas = quotas_of(brief)
    offer = next(one for one in means_of(brief, AS_OF).offers["l40s"])
    assert quota_of(quotas, replace(offer, provider="P", region="Madrid")) == 4
    assert quota_of(quotas, replace(offer, provider="P", region="Paris")) == 0  # leave to take none there
    assert quota_of(quotas, replace(offer, provider="P", region="")) is None
    assert quota_of(quotas, replace(offer, provider="Q", region="Madrid")) is None


def test_what_arrives_too_late_misses_by_days():
    soon = "{data: any, needed_by: 2026-12-02, availability: none, risk: medium}"
    by_kind = {}
    for one in decide(brief_of(limits=soon), AS_OF, show_all=True).worked:
        if one.tenure:
            by_kind.setdefault(one.tenure.capacity, []).append(one)
    assert all("days after 2026-12-02" in " ".join(one.reasons) for one in by_kind["buy"])
    assert not any("days after" in " ".join(one.reasons) for one in by_kind["on-demand"])
    stated = soon.replace("}", ", lead: {on-demand: 5 days, buy: 1 day}}")
    told = decide(brief_of(limits=stated), AS_OF, show_all=True).worked
    hourly = [one for one in told if one.tenure and one.tenure.capacity == "on-demand"]
    assert hourly
    assert all("as the brief says" in " ".join(one.reasons) for one in hourly)
    bought = [one for one in told if one.tenure and one.tenure.capacity == "buy"]
    assert not any("days after" in " ".join(one.reasons) for one in bought)


def test_a_worn_card_takes_its_replacement():
    card = "{accelerator: l40s, count: 1, resale: 4000 USD"
    young = means_of(brief_of(have=f"[{card}}}]", horizon="24 months"), AS_OF)
    worn = means_of(brief_of(have=f"[{card}, until: 2027-11-30}}]", horizon="24 months"), AS_OF)
    kept, renewed = (
        next(one for one in means.tenures(accelerator("l40s"), 1) if one.capacity == "have")
        for means in (young, worn)
    )
    assert renewed.capital_money > kept.capital_money == 4000
    assert [told.name for told in worn.assumed if told.name == "have.worn"]


def test_walk_away_prices_tie_in_a_decision():
    outcome = decide(brief_of(), AS_OF, show_all=True)
    options = outcome.decision.options
    first = options[0]
    assert first.walk_away is not None
    assert first.walk_away.amount is None or first.walk_away.amount >= first.walk_away.now_amount
    offers = {one.candidate.id: (one.tenure.offer.id, one.tenure.discount) for one in outcome.worked}
    told = 0
    able = [other for other in options if other.status in ("chosen", "satisfies")]
    for one in options[1:]:
        mine = [other for other in able if offers[other.id] == offers[one.id]]
        if one.status == "satisfies" and one is mine[0]:  # another setup under its offer rises with it
            assert one.walk_away.rival == first.id
            assert one.walk_away.discount_ratio is None or one.walk_away.discount_ratio >= -1e-9
            told += 1
        else:
            assert one.walk_away is None
    assert told
    assert offers[first.walk_away.rival] != offers[first.id]


def test_a_credit_that_the_choice_does_not_spend_is_told():
    credit = "{{kind: credit, provider: {at}, credit: 20000 USD, until: 2027-09-30}}"
    offer = decide(brief_of(), AS_OF).worked[0].tenure.offer
    elsewhere = decide(brief_of(have=f"[{credit.format(at='nobody')}]"), AS_OF).decision
    (told,) = [one for one in elsewhere.warnings if one.code == "CB-X026"]
    assert "20,000 USD" in told.sentence
    assert "2027-09-30" in told.sentence
    there = decide(brief_of(have=f"[{credit.format(at=offer.provider)}]"), AS_OF).decision
    assert not [one for one in there.warnings if one.code == "CB-X026"]


def test_a_lone_option_is_not_said_to_stay_the_cheapest():
    brief = brief_of()
    outcome, terms = decide(brief, AS_OF, show_all=True), means_of(brief, AS_OF).terms
    told = flips(brief, outcome.worked[:1], outcome.decision.options[:1], ask_of(brief), terms)
    assert [one.name for one in told] == ["only"]
    assert "stays the cheapest" not in " ".join(one.sentence for one in told)


TRAFFIC = (
    "{requests_per_s: {mean: 12, peak: 40, profile: office-hours Europe/Madrid},"
    " input_tokens: {p50: 900, p95: 3500}, output_tokens: {p50: 250, p95: 700}}"
)


def test_what_does_not_reach_is_rented_beside_it():
    """Both together carry the peak; lines, tree and ledger tell the same money."""
    brief = brief_of(have="[{accelerator: l40s, count: 4, owned: true, resale: 4000 USD}]", traffic=TRAFFIC)
    outcome = decide(brief, AS_OF, show_all=True)
    pairs = zip(outcome.decision.options, outcome.worked, strict=True)
    option, both = next(pair for pair in pairs if pair[1].cost.line("rented"))
    each = both.candidate.deployment.parallel.accelerators_count
    rented = both.beside.candidate
    replicas = both.candidate.replicas_count + rented.replicas_count
    assert both.candidate.replicas_count * each == both.tenure.accelerators_count == 4
    wanted = both.wanted_requests_per_s * replicas / both.candidate.replicas_count
    assert replicas * both.capacity_requests_per_s >= wanted * (1 - 1e-9)
    assert rented.spare_replicas_count == 1  # n+1: what is rented stands in
    assert sum(line.money for line in both.cost.lines) == pytest.approx(both.cost.per_month_money)
    tree = cost_tree_of(both, means_of(brief, AS_OF))
    assert tree["cost_per_month"].value == pytest.approx(both.cost.per_month_money)
    assert tree["unit_cost"].value == pytest.approx(both.cost.per_accepted_money)
    assert option.ledger[1].cash["rent"] == pytest.approx(both.cost.line("rented"), abs=0.01)
    assert both.cost.line("rented") < sum(
        one.cost.per_month_money
        for one in outcome.worked
        if one.candidate.deployment
        and one.candidate.deployment.name == both.candidate.deployment.name
        and one.tenure.id == both.beside.tenure.id
    )
    assert any(one.capacity == "have" and one.status == "misses" for one in outcome.decision.options)


def test_what_is_rented_beside_a_contract_pays_interruptions_and_nothing_twice():
    """Spot's interruptions are in the line, what leaves the provider once; electricity is of both."""
    risky = "{data: any, needed_by: 2027-06-01, availability: none, risk: high}"
    here = "{capacity: [spot], providers: any, accelerators: [l40s]}"
    contract = "[{accelerator: l40s, count: 4, kind: contracted, price: 0.8 USD/h}]"
    brief = brief_of(have=contract, traffic=TRAFFIC, limits=risky, consider=here)
    outcome = decide(brief, AS_OF, show_all=True)
    means = means_of(brief, AS_OF)
    pairs = zip(outcome.decision.options, outcome.worked, strict=True)
    option, both = next(pair for pair in pairs if pair[1].cost.line("rented"))
    rented = both.beside
    bill = serving_bill(Plain(means.terms), rented.candidate, rented.usage, rented.tenure)
    assert rented.tenure.capacity == "spot"
    assert bill["interruptions"] > 0
    kept = ("compute", "idle", "retries_waste", "spares", "observability", "interruptions")
    assert both.cost.line("rented") == pytest.approx(sum(bill[key] for key in kept))
    alone = next(one for one in outcome.worked if one.tenure.capacity == "have" and one.beside is None)
    assert both.cost.line("network") == pytest.approx(alone.cost.line("network"))
    month = option.metrics["energy_kwh_per_month"].value
    assert option.metrics["energy_kwh_per_output"].value == pytest.approx(
        month / both.cost.accepted_per_month
    )
    assert month > energy_tree(replace(both, beside=None), means)["energy_kwh_per_month"].value * 1.1


def test_the_price_of_what_is_rented_beside_moves_an_option_too():
    brief = brief_of(have="[{accelerator: l40s, count: 4, owned: true, resale: 4000 USD}]", traffic=TRAFFIC)
    means, ask = means_of(brief, AS_OF), ask_of(brief)
    both = next(one for one in decide(brief, AS_OF, show_all=True).worked if one.cost.line("rented"))
    double = Fixed("price:l40s:rent", np.array([1.0, 2.0]))
    now, then = Reckoner(double, ask, means.terms).unit_costs(both)[0]
    assert now == pytest.approx(both.cost.per_accepted_money)
    assert then - now == pytest.approx(both.cost.line("rented") / both.cost.accepted_per_month)


def test_two_rows_of_one_card_are_one_way_to_hold_them_at_their_mean():
    """Four that bring 4,000 and two that bring 1,000: six are priced at 3,000 each, and resold as six."""
    rows = (
        "[{accelerator: l40s, count: 2, owned: true, resale: 1000 USD},"
        " {accelerator: l40s, count: 4, owned: true, resale: 4000 USD}]"
    )
    means = means_of(brief_of(have=rows), AS_OF)
    [way] = [one for one in means.tenures(accelerator("l40s"), 6) if one.capacity == "have"]
    assert float(way.offer.amount) == pytest.approx(3000)
    assert [(one.held.count, one.held.resale_money) for one in means.lasting["l40s"]] == [
        (6, 3000.0),
        (2, 1000.0),
    ]


def test_of_a_contract_what_is_not_used_is_still_sublet():
    """Eight owed, some used: the others bring their share back; a bought replacement resells at the card's price."""
    brief = brief_of(have=f"[{CONTRACT}, until: 2028-12-31, sublet: 40 %}}]", horizon="12 months")
    outcome = decide(brief, AS_OF, show_all=True)
    pairs = zip(outcome.decision.options, outcome.worked, strict=True)
    for option, one in pairs:
        left = 8 - one.tenure.accelerators_count if option.capacity == "have" else 8
        back = sum(row.cash.get("sublet", 0.0) for row in option.ledger)
        assert back == pytest.approx(-0.4 * 2 * 730 * 12 * left, abs=0.5)
    worn = "[{accelerator: l40s, count: 1, resale: 4000 USD, until: 2027-11-30}]"
    [lasting] = means_of(brief_of(have=worn, horizon="24 months"), AS_OF).lasting["l40s"]
    assert 0 < lasting.new_price_money < lasting.new_capital_money


def test_a_purchase_of_what_is_held_in_part_says_what_the_rest_alone_would_cost():
    more = {"consider": "{capacity: [buy], providers: any, accelerators: [l40s]}", "traffic": TRAFFIC}
    have = "[{accelerator: l40s, count: 2, owned: true, resale: 4000 USD}]"
    outcome = decide(brief_of(have=have, **more), AS_OF)
    (told,) = [one.sentence for one in outcome.decision.warnings if one.code == "CB-X027"]
    bought = next(one for one in outcome.worked if one.tenure.capacity == "buy")
    own = next(one for one in outcome.worked if one.tenure.capacity == "have")
    assert bought.tenure.accelerators_count > 2
    saved = 2 * (bought.tenure.money_per_hour - own.tenure.money_per_hour) * 730
    assert money_text(saved, "USD") in told
    none = decide(brief_of(**more), AS_OF).decision
    assert not [one for one in none.warnings if one.code == "CB-X027"]


def test_the_power_that_is_limited_is_the_power_that_is_paid_for():
    """Colocation reserves what the limit is held against: the machine's own power over its accelerators'."""
    here = "{capacity: [buy], providers: any, accelerators: [b200-sxm-180]}"

    def bought(power):
        limits = f"{{data: any, needed_by: 2027-06-01, availability: none, risk: medium, power: {power} W}}"
        brief = brief_of(limits=limits, consider=here)
        first = min(
            (one for one in decide(brief, AS_OF, show_all=True).worked if one.tenure),
            key=lambda one: one.cost.per_month_money,
        )
        return first, means_of(brief, AS_OF).terms

    roomy, terms = bought(1_000_000)
    reserved_kw = roomy.cost.line("colocation") / terms.base("colocation_money_per_kw_per_month")
    assert roomy.status == "satisfies"
    assert bought(reserved_kw * 1000 * 1.001)[0].status == "satisfies"
    assert bought(reserved_kw * 1000 * 0.999)[0].status == "misses"


def test_a_resale_that_nobody_said_is_an_assumption():
    def names(have):
        return [one.name for one in means_of(brief_of(have=f"[{have}]"), AS_OF).assumed]

    assert "have.resale" in names("{accelerator: l40s, count: 4, owned: true}")
    assert "have.resale" not in names("{accelerator: l40s, count: 4, owned: true, resale: 4000 USD}")


def test_what_is_owned_and_what_is_under_contract_of_one_card_stay_two_ways():
    """Neither counts the other's cards, and they can be told apart."""
    rows = (
        "[{accelerator: l40s, count: 2, owned: true, resale: 4000 USD},"
        " {accelerator: l40s, count: 6, kind: contracted, price: 1 USD/h, until: 2031-01-01}]"
    )
    means = means_of(brief_of(have=rows), AS_OF)
    few, many, more = (
        [one for one in means.tenures(accelerator("l40s"), count) if one.capacity == "have"]
        for count in (2, 6, 7)
    )
    assert len({one.id for one in few}) == 2
    assert [one.owned for one in many] == [False]
    assert not more
    outcome = decide(brief_of(have=rows), AS_OF, show_all=True)
    ids = [one.candidate.id for one in outcome.worked]
    assert len(ids) == len(set(ids))


def test_what_stands_idle_under_contract_is_counted_and_costed():
    """Eight owed: an option on another card leaves all of them idle, one on six of them the other two."""
    brief = brief_of(have=f"[{CONTRACT}, until: 2027-11-30, sublet: 25 %}}]", horizon="24 months")
    outcome, means = decide(brief, AS_OF, show_all=True), means_of(brief, AS_OF)
    seen = set()
    for option, one in zip(outcome.decision.options, outcome.worked, strict=True):
        told = [each.sentence for each in held_cautions(option, one, means) if each.code == "CB-X020"]
        idle = 8 - (one.tenure.accelerators_count if one.tenure.capacity == "have" else 0)
        seen.add(idle)
        assert len(told) == (idle > 0)
        if idle:
            monthly = idle * 2 * 0.75 * 730
            assert f": {idle} × H100" in told[0]
            assert money_text(monthly, "USD") in told[0]
            assert money_text(monthly * left_months("2027-11-30", AS_OF, 24.0), "USD") in told[0]
            assert "2027-11-30" in told[0]
    assert len(seen) > 1


def test_what_takes_a_contracts_place_is_on_with_the_demand():
    """Six months that add nothing, then the bill of renting by the hour: not all hours of what is rented."""
    have = f"[{CONTRACT}, until: 2027-06-01}}]"
    brief = brief_of(
        have=have,
        traffic=TRAFFIC,
        limits="{data: any, needed_by: 2026-12-20, availability: none, risk: medium}",
        consider="{capacity: [on-demand], providers: any, accelerators: [h100-sxm-80]}",
    )
    outcome, means = decide(brief, AS_OF, show_all=True), means_of(brief, AS_OF)
    after = 1 - left_months("2027-06-01", AS_OF, 24.0) / 24
    looked = 0
    for option, one in zip(outcome.decision.options, outcome.worked, strict=True):
        if option.capacity != "have" or one.status != "satisfies":
            continue
        rented = min(
            sum(other.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
            for other in outcome.worked
            if other.tenure.capacity == "on-demand"
            and other.candidate.deployment == one.candidate.deployment
            and other.candidate.replicas_count == one.candidate.replicas_count
        )
        held = sum(one.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
        assert held == pytest.approx(rented * after, rel=1e-6)
        assert sum(row.cash.get("rent", 0.0) for row in option.ledger) == pytest.approx(held * 24, abs=0.5)
        assert option.ledger[1].cash.get("rent", 0.0) == 0
        assert cost_tree_of(one, means)["cost_per_month"].value == pytest.approx(one.cost.per_month_money)
        looked += 1
    assert looked
    assert outcome.decision.options[0].capacity == "have"  # what is owed anyway is used first
