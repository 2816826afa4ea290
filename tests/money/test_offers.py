"""Prices: what can be believed, how old it is, and which ways to hold an accelerator follow."""

from dataclasses import replace
from decimal import Decimal

import pytest
from money_world import CARD, offer

from cabida import money
from cabida.money.prices import commitment
from cabida.money.prices.believed import judged

TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=36)


def plausible(book, terms):
    found = judged(book, terms)
    return found.kept, [one.offer for one in found.aside]


def test_cheapest_first_one_per_provider_and_capacity():
    book = [
        offer("2.00"),
        offer("2.50", id="dear"),
        offer("1.90", provider="Elsewhere"),
        offer("1.00", "spot"),
    ]
    found = money.offers_for(CARD, 1, book, TERMS)
    prices = [tenure.hourly_money for tenure in found]
    assert prices == sorted(prices)
    hourly = [tenure for tenure in found if tenure.capacity == "on-demand"]
    assert [tenure.offer.provider for tenure in hourly] == ["Elsewhere", "Somewhere"]
    assert hourly[0].sightings_count == 2
    assert hourly[0].median_money_per_hour == pytest.approx(1.95)


def test_only_the_last_sighting_of_a_thing_counts():
    book = [offer("1.00", seen="2026-01-01"), offer("3.00", seen="2026-11-20", id="new")]
    found = money.offers_for(CARD, 1, book, TERMS, capacity=["on-demand"])
    assert [tenure.money_per_hour for tenure in found] == [3.0]


def test_absurd_prices_are_set_aside_where_they_can_be_seen():
    book = [
        offer("2.00"),
        offer("2.20", provider="B"),
        offer("0.01", provider="C"),
        offer("99", provider="D"),
    ]
    kept, aside = plausible(book, TERMS)
    assert {item.provider for item in aside} == {"C", "D"}
    assert len(kept) + len(aside) == len(book)


def test_a_lone_hosts_low_is_not_the_market():
    book = [offer(price, provider=f"p{price}") for price in ("2.00", "2.20", "1.90")]
    book += [offer(price, provider="Market", provider_kind="marketplace") for price in ("0.40", "1.40")]
    aside = plausible(book, TERMS)[1]
    assert [str(item.amount) for item in aside] == ["0.40"]
    own = offer("0", "have", provider="own")
    assert own in plausible([*book, own], TERMS)[0]
    assert plausible([*book, own], TERMS)[1] == aside


@pytest.mark.parametrize(
    ("more", "flag"),
    [
        ({"seen": "2026-10-01"}, "stale"),
        ({"seen": "2026-10"}, "stale"),
        ({"seen": ""}, "undated"),
        ({"provider_kind": "marketplace", "seen": "2026-11-28"}, "stale"),
        ({"provider_kind": "marketplace", "seen": "2026-11-30"}, "marketplace"),
        ({"capacity": "spot"}, "spot"),
    ],
)
def test_doubtful_prices_are_flagged_and_say_so(more, flag):
    tenure = money.tenure_of(offer("2.00", more.pop("capacity", "on-demand"), **more), CARD, TERMS)
    assert flag in tenure.flags
    assert any(warning.sentence for warning in money.price_warnings(tenure, TERMS.as_of))


def test_fresh_prices_are_not_flagged_and_an_undated_quote_is():
    assert money.price_flags(offer("2.00"), "2026-11-30") == ()
    assert money.price_flags(offer("2.00", sighting="quote"), "2026-11-30") == ()
    assert money.price_flags(offer("2.00", seen="", sighting="quote"), "2026-11-30") == ("undated",)


def test_an_older_price_is_a_wider_one():
    fresh, stale, undated = (
        money.tenure_of(offer("2.00", seen=seen), CARD, TERMS) for seen in ("2026-11-20", "2026-05-20", "")
    )

    def width(tenure):
        return tenure.high_money_per_hour / tenure.low_money_per_hour

    assert width(fresh) < width(stale) < width(undated)


def test_unpublished_reservations_are_derived_and_flagged():
    found = money.offers_for(CARD, 1, [offer("2.00")], TERMS)
    reserved = {tenure.committed_months: tenure for tenure in found if tenure.capacity == "reserved"}
    assert reserved[12].money_per_hour == pytest.approx(2.00 * (1 - 0.34))
    assert reserved[36].money_per_hour == pytest.approx(2.00 * (1 - 0.54))
    assert all("assumed" in tenure.flags for tenure in reserved.values())


@pytest.mark.parametrize("sighting", ["quote", "user", "table", "bill"])
def test_no_reservation_is_made_up_from_what_one_was_quoted(sighting):
    """What a seller takes off a price of one's own only he can say; off a list price it is assumed, and flagged."""
    book = [offer("2.00", sighting=sighting)]
    assert {tenure.capacity for tenure in money.offers_for(CARD, 8, book, TERMS)} == {"on-demand"}


def test_a_published_reservation_is_not_derived_again():
    book = [offer("2.00"), offer("1.40", "reserved", term_months=12)]
    reserved = [tenure for tenure in money.offers_for(CARD, 1, book, TERMS) if tenure.capacity == "reserved"]
    assert [tenure.flags for tenure in reserved] == [()]


def test_nobody_sells_an_analysts_constant():
    book = [offer("1.30", sighting="analyst", provider_kind="analyst"), offer("2.00")]
    assert all(tenure.offer.sighting != "analyst" for tenure in money.offers_for(CARD, 1, book, TERMS))


def test_places_and_providers_rule_out_but_not_what_one_has():
    book = [
        offer("2.00"),
        offer("2.00", provider="B", country="US"),
        offer("0", "have", provider="own", country=""),
    ]
    found = money.offers_for(CARD, 1, book, TERMS, countries=["DE"], providers=["Somewhere"])
    assert {tenure.offer.provider for tenure in found} == {"Somewhere", "own"}


def test_a_card_for_a_desk_takes_a_pc_and_one_for_a_rack_takes_a_server():
    desk = replace(CARD, segment="consumer", tdp_w=450.0)
    bought = offer("1800", "buy")
    assert money.tenure_of(bought, desk, TERMS).capital_money == pytest.approx(1800 + 1200)
    assert money.tenure_of(bought, CARD, TERMS).capital_money == pytest.approx(1800 * 1.4 * 1.15)
    assert money.tenure_of(replace(bought, accelerators_count=8), CARD, TERMS, 3).accelerators_count == 8


def test_the_place_sets_electricity_and_carbon():
    from money_world import SAID

    from cabida.facts.model import EnergyFact

    facts = [
        EnergyFact("electricity_price_industrial", "Nowhere", "NW", 0.1, "EUR/kWh", "2026", "", SAID),
        EnergyFact("electricity_price_business", "Nowhere", "NW", 0.3, "EUR/kWh", "2024", "", SAID),
        EnergyFact("electricity_price_business", "Nowhere", "NW", 0.2, "EUR/kWh", "2025-H1", "", SAID),
        EnergyFact("electricity_price_business", "Nowhere", "NW", 0.4, "EUR/kWh", "2024-Q4", "", SAID),
    ]
    rates = [money.Rate("EUR", "USD", 1.25, "2026-11-30", "brief")]
    terms = money.terms("USD", country="nw", rates=rates, energy=facts)
    assert terms.base("electricity_money_per_kwh") == pytest.approx(0.25)
    for day, expected in (("2026-02-01", 0.25), ("2024-12-31", 0.5), ("2024-09-30", 0.375)):
        then = money.terms("USD", as_of=day, country="nw", rates=rates, energy=facts)
        assert then.base("electricity_money_per_kwh") == pytest.approx(expected)
    before = money.terms("USD", as_of="2023-06-01", country="nw", rates=rates, energy=facts)
    world = money.terms("USD", as_of="2023-06-01")
    assert before.ranges["electricity_money_per_kwh"] == world.ranges["electricity_money_per_kwh"]
    assert money.terms("USD", country="nw", energy=facts, stated={"electricity_money_per_kwh": 0.1}).base(
        "electricity_money_per_kwh"
    ) == pytest.approx(0.1)


def test_what_is_taken_is_told_with_how_to_find_out():
    told = TERMS.assumptions(["wacc_ratio", "loaded_money_per_year"])
    assert [item.name for item in told] == ["wacc_ratio", "loaded_money_per_year"]
    assert all(item.why and item.how_to_find_out and item.value for item in told)
    assert "USD" in told[1].value
    assert money.terms("USD", stated={"wacc_ratio": 0.08}).assumptions(["wacc_ratio"]) == ()


def test_every_assumption_has_a_range_a_reason_and_a_unit():
    from cabida.money.assumptions import assumed_ranges
    from cabida.units import unit_of

    for name, found in assumed_ranges().items():
        assert found.low <= found.base <= found.high, name
        assert len(found.source.what) > 10, name
        assert unit_of(name) is not None, name
        assert TERMS.leaf(name).source == found.source


def test_spot_price_counts_its_interruptions():
    slowdown = commitment.spot_slowdown(120.0, 300.0, 21600.0)
    assert slowdown == pytest.approx(1.128831, rel=1e-6)


def test_reserve_quantity_never_loses_to_its_neighbours():
    demand = [0, 1, 1, 2, 3, 5, 8, 8, 8, 2]
    for ratio in (0.1, 0.3, 0.5, 0.9, 1.0):
        best = commitment.reserve_quantity(demand, ratio, 1.0)
        costs = [commitment.profile_money(demand, held, ratio, 1.0) for held in range(10)]
        assert costs[best] == pytest.approx(min(costs))


def test_an_old_sighting_is_history_while_a_newer_one_of_its_part_exists():
    old, new = offer("1.00", provider="Old", seen="2026-05-24"), offer("2.00", provider="New")
    assert [
        t.offer.provider for t in money.offers_for(CARD, 1, [old, new], TERMS, capacity=["on-demand"])
    ] == ["New"]
    assert [t.offer.provider for t in money.offers_for(CARD, 1, [old], TERMS, capacity=["on-demand"])] == [
        "Old"
    ]
    spot = offer("0.90", "spot", provider="Spot", seen="2026-05-24")
    assert "Spot" in {t.offer.provider for t in money.offers_for(CARD, 1, [old, new, spot], TERMS)}
    quoted = replace(old, sighting="quote", seen="2025-01-01")
    assert "Old" in {t.offer.provider for t in money.offers_for(CARD, 1, [quoted, new], TERMS)}


def test_a_stale_price_is_likelier_to_be_too_low_and_the_older_the_wider():
    two, eight = (
        money.tenure_of(offer("2.00", seen=seen), CARD, TERMS) for seen in ("2026-10-01", "2026-04-04")
    )
    assert (two.low_money_per_hour, two.high_money_per_hour) == pytest.approx(
        (1.8, 2.6)
    )  # 60 days: 0.9 to 1.3
    assert eight.low_money_per_hour == pytest.approx(
        2 * 0.9**2
    )  # 240 days: four times the age, twice the spread
    assert eight.high_money_per_hour == pytest.approx(2 * 1.3**2)


def test_a_single_hosts_price_does_not_hold_for_a_fleet():
    book = [
        offer("2.00", provider_kind="marketplace", provider="Market"),
        offer("2.50", provider="Tier", notes="on-demand-community; x"),
        offer("3.00", provider="Cloud"),
    ]
    few, many = (
        {t.offer.provider for t in money.offers_for(CARD, count, book, TERMS, capacity=["on-demand"])}
        for count in (16, 17)
    )
    assert few == {"Market", "Tier", "Cloud"}
    assert many == {"Cloud"}


def test_a_lone_spot_price_is_held_against_the_on_demand_ones():
    book = [
        offer("4.00"),
        offer("3.00", provider="B"),
        offer("0.50", "spot", provider="M", provider_kind="marketplace"),
    ]
    assert [str(item.amount) for item in plausible(book, TERMS)[1]] == ["0.50"]  # under a quarter of 3.50
    assert plausible([*book[:2], replace(book[2], amount=Decimal("0.90"))], TERMS)[1] == []


def test_modules_are_bought_by_the_board_and_cards_one_by_one():
    bought = offer("30000", "buy")
    assert money.tenure_of(bought, CARD, TERMS, 3).accelerators_count == 4
    newer = replace(CARD, id="b200-sxm-180", architecture="Blackwell", form_factor="SXM6 (HGX)")
    assert money.tenure_of(replace(bought, accelerator=newer.id), newer, TERMS, 3).accelerators_count == 8
    rack = replace(newer, id="gb200", form_factor="superchip", link_domain_count=72)
    assert money.tenure_of(replace(bought, accelerator=rack.id), rack, TERMS, 3).accelerators_count == 72
    card = replace(CARD, form_factor="PCIe", link_domain_count=2)
    assert money.tenure_of(bought, card, TERMS, 3).accelerators_count == 3
    assert money.tenure_of(offer("2.00"), newer, TERMS, 3).accelerators_count == 3  # rented as sold


def test_a_lone_low_is_held_against_old_prices_too():
    old = [
        offer(price, "spot", provider=f"p{price}", seen="2026-05-24") for price in ("0.30", "0.35", "0.40")
    ]
    low = offer("0.09", "spot", provider="M", provider_kind="marketplace")
    book = [*old, low, offer("0.60", "spot", provider="N"), offer("0.35")]
    found = money.offers_for(CARD, 1, book, TERMS)
    assert {t.offer.provider for t in found if t.capacity == "spot"} == {
        "N"
    }  # lower quartile 0.195, half of it 0.0975


def test_a_quote_that_holds_is_not_history_when_its_seller_asks_others_more():
    quote = offer("1.50", id="quote", sighting="quote", seen="2026-10-01", until="2026-12-31")
    book = [offer("4.25", id="page", seen="2026-11-09"), offer("4.00", provider="B"), quote]
    found = money.offers_for(CARD, 1, book, TERMS, capacity=("on-demand",))
    assert [(one.offer.id, one.offer.provider) for one in found] == [
        ("quote", "Somewhere"),
        (book[1].id, "B"),
    ]
    older = replace(quote, id="older", amount=Decimal("1.40"), seen="2026-09-01")
    assert money.offers_for(CARD, 1, [*book, older], TERMS)[0].offer.id == "quote"  # its last one
