"""Owning: theory by hand, properties, and what a year's lines sum to."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from money_world import CARD, offer

from cabida import money
from cabida.money.own import against, ownership
from cabida.money.own.owned import RentSeen, ownership_of, rents_seen, with_value
from cabida.money.own.purchase import CAPITAL, RUNNING, Purchase, worked_out
from cabida.money.ways import Explained, Plain

TERMS = money.terms("USD", as_of="2026-11-30")
NODE = Purchase(CARD, offer("37500", "buy", accelerators_count=8), "server", 8, 8, 8, 1, 0.7, whole=True)


def told(**values):
    """The terms with these assumptions stated."""
    return money.terms("USD", as_of="2026-11-30", stated=values)


def worked_example():
    """The node of E05: 300,000 with 45,000 of network, 90,000 left after three years, nothing else unsaid."""
    return told(
        wacc_ratio=0.1, life_years=3.0, decay_ratio=1 - 0.3 ** (1 / 3), network_capital_ratio=1.15,
        node_staff_count=0.1, loaded_money_per_year=150_000.0, support_ratio_per_year=15_000 / 345_000,
        spares_ratio_per_year=0.0, licence_money_per_year=0.0, colocation_money_per_kw_per_month=200.0,
        node_availability_ratio=1.0,
    )  # fmt: skip


def e05(use=0.7):
    return replace(NODE, utilisation_ratio=use, reserved_kw=10.2)


def test_the_worked_node_to_the_digit():
    found = worked_out(Plain(worked_example()), e05())
    assert found["capital"] == pytest.approx(345_000)
    assert found["residual"] == pytest.approx(90_000)
    assert found["annuity"] == pytest.approx(111539.274924, abs=1e-4)
    assert found["owned"] == pytest.approx(166019.274924, abs=1e-4)
    assert found["available"] == pytest.approx(2.368997, abs=1e-6)
    assert found["useful"] == pytest.approx(3.384281, abs=1e-6)
    assert worked_out(Plain(worked_example()), e05(0.4))["useful"] == pytest.approx(5.922491, abs=1e-6)


def test_break_even_and_value_today_of_the_worked_node():
    whole = ownership_of(e05(), worked_example(), [RentSeen("stated", 2.69)])
    rent = whole.rents[0]
    assert rent.break_even_utilisation_ratio == pytest.approx(0.880668, abs=1e-6)
    assert whole.npv_money == pytest.approx(-412865.364388, abs=1e-3)
    assert rent.npv_money == pytest.approx(-328166.580316, abs=1e-3)
    assert rent.break_even_month is None  # E20: buying loses


def test_capital_recovery_is_the_payment_of_a_loan():
    """numpy-financial's pmt, written out: -pv (1+r)^n r / ((1+r)^n - 1) + fv r / ((1+r)^n - 1)."""
    rate, years, value, left = 0.08, 5, 1000.0, 200.0
    grown = (1 + rate) ** years
    payment = value * grown * rate / (grown - 1) - left * rate / (grown - 1)
    recovery = ownership.capital_recovery_ratio_per_year(rate, years)
    present = ownership.present_residual_money(left, rate, years)
    assert ownership.annual_capital_money_per_year(value, present, recovery) == pytest.approx(payment)


purchases = st.builds(
    lambda price, use, metered, kind: replace(
        NODE,
        offer=offer(str(price), "buy"),
        kind=kind,
        whole=False,
        utilisation_ratio=use,
        by_meter=metered,
        staffed=kind != "desk",
        unit_count=8 if kind != "desk" else 1,
    ),
    st.integers(200, 90_000),
    st.floats(0.02, 1.0),
    st.booleans(),
    st.sampled_from(["desk", "server", "rack"]),
)
terms_of = st.builds(
    lambda wacc, years, decay, tax: told(wacc_ratio=wacc, life_years=years, decay_ratio=decay, tax_ratio=tax),
    st.floats(0.001, 0.3), st.floats(0.5, 10), st.floats(0.0, 0.8), st.floats(0.0, 0.5),
)  # fmt: skip


@given(purchases, terms_of)
def test_lines_sum_to_their_totals_and_nothing_is_counted_twice(bought, terms):
    found = worked_out(Plain(terms), bought)
    assert sum(found[f"capital.{key}"] for key in CAPITAL) == pytest.approx(found["capital"])
    assert sum(found[f"running.{key}"] for key in RUNNING) == pytest.approx(found["running"])
    assert found["annuity"] + found["tax"] + found["running"] == pytest.approx(found["owned"])
    assert found["straight_line"] + found["financing"] == pytest.approx(found["annuity"])
    assert found["running.colocation"] == 0 or found["running.energy"] + found["running.cooling"] == 0


@given(purchases, terms_of)
def test_interest_never_makes_it_cheaper_and_none_makes_both_views_one(bought, terms):
    found = worked_out(Plain(terms), bought)
    assert found["annuity"] >= found["straight_line"] * (1 - 1e-9)
    free = worked_out(Plain(with_value(terms, "wacc_ratio", 0.0)), bought)
    assert free["annuity"] == pytest.approx(free["straight_line"], rel=1e-5)


@given(purchases, terms_of)
def test_at_the_rent_where_it_flips_both_are_worth_the_same_today(bought, terms):
    useful = worked_out(Plain(terms), bought)["useful"]
    whole = ownership_of(bought, terms, [RentSeen("stated", useful)])
    assert whole.rents[0].npv_money == pytest.approx(whole.npv_money, rel=1e-9)
    assert whole.rents[0].flips_at_money_per_hour == pytest.approx(useful)


@given(purchases, terms_of, st.floats(0.05, 30))
def test_break_even_use_is_where_the_useful_hour_costs_the_rent(bought, terms, rent):
    even = ownership_of(bought, terms, [RentSeen("stated", rent)]).rents[0].break_even_utilisation_ratio
    if even <= 1:
        there = worked_out(Plain(terms), replace(bought, utilisation_ratio=even))
        assert there["useful"] == pytest.approx(rent, rel=1e-6)
        if not bought.by_meter:  # E06's closed form
            closed = ownership.break_even_utilisation_ratio.raw(there["owned"], there["delivered"], rent)
            assert even == pytest.approx(closed, rel=1e-6)
    else:
        assert worked_out(Plain(terms), replace(bought, utilisation_ratio=1.0))["useful"] > rent * (1 - 1e-9)


@given(purchases, terms_of, st.floats(0.02, 0.98))
def test_a_useful_hour_costs_less_the_more_it_is_used(bought, terms, use):
    less, more = (
        worked_out(Plain(terms), replace(bought, utilisation_ratio=each))["useful"]
        for each in (use, use + 0.02)
    )
    assert more < less


@given(purchases, terms_of, st.floats(0.05, 30), st.integers(1, 40_000))
def test_a_dearer_card_is_never_ahead_earlier(bought, terms, rent, more):
    dearer = replace(bought, offer=replace(bought.offer, amount=bought.offer.amount + Decimal(more)))
    months = [
        ownership_of(one, terms, [RentSeen("stated", rent)]).rents[0].break_even_month
        for one in (bought, dearer)
    ]
    cheap, dear = (month if month is not None else float("inf") for month in months)
    assert cheap <= dear


def test_renewal_without_progress_is_the_annuity_and_with_it_sooner():
    still = ownership_of(e05(), with_value(worked_example(), "progress_ratio", 0.0), [])
    three = next(one for one in still.renewals if one.years == 3)
    assert three.money_per_year == pytest.approx(still.owned_money_per_year)
    quick = ownership_of(e05(), with_value(worked_example(), "progress_ratio", 0.6), [])
    assert quick.renewal_years < still.renewal_years


@given(st.integers(1, 60), st.integers(0, 12), st.floats(0.5, 1.0))
def test_spares_deliver_more_and_never_more_than_is_needed(needed, spare, up):
    alone = against.delivered_count(needed, needed, up)
    helped = against.delivered_count(needed, needed + spare, up)
    assert alone == pytest.approx(needed * up)
    assert alone - 1e-9 <= helped <= needed + 1e-9


def test_spares_of_a_fleet_too_large_for_plain_factorials():
    held = against.nodes_for_availability(4000, 0.98, 0.99)
    assert 4082 < held < 4120  # the mean alone needs 4082
    assert against.delivered_count(4000, held, 0.98) == pytest.approx(4000, rel=1e-3)


def test_income_tax_changes_nothing_where_money_is_free():
    """Without interest all of the capital is depreciation, so tax takes the same share of owning and renting."""
    terms = with_value(told(tax_ratio=0.3), "wacc_ratio", 0.0)
    found = worked_out(Plain(terms), NODE)
    assert found["tax"] == pytest.approx(0.0, abs=1e-2)
    paid = worked_out(Plain(told(tax_ratio=0.3)), NODE)
    by_hand = (paid["annuity"] - 0.3 * paid["straight_line"] + 0.7 * paid["running"]) / 0.7
    assert paid["owned"] == pytest.approx(by_hand)


def test_every_figure_explains_itself_with_the_value_of_the_sweep():
    plain, explained = worked_out(Plain(TERMS), e05()), worked_out(Explained(TERMS, {}), e05())
    for name, value in plain.items():
        assert float(explained[name]) == pytest.approx(value), name
    low, high = explained["useful"].interval
    assert low < plain["useful"] < high


def test_a_marketplace_is_no_comparison_for_a_server_but_is_for_a_pc():
    book = [
        offer("1.00", provider="Hosts", provider_kind="marketplace"),
        offer("2.50", provider="Cloud"),
        offer("3.50"),
    ]
    tenures = money.offers_for(CARD, 1, book, TERMS)
    server = {one.kind: one.money_per_hour for one in rents_seen(tenures, at_desk=False)}
    assert server == {"cheapest": 2.5, "median": 3.0}
    at_home = {one.kind: one.money_per_hour for one in rents_seen(tenures, at_desk=True, stated_money=2.0)}
    assert at_home == {"stated": 2.0, "cheapest": 1.0, "median": 2.5}
