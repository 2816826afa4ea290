"""Money month by month: what leaves is what counts, to the cent; pledges pay no more than there is."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.money.hold.ledger import Anyway, Drawn, Kept, MonthBill, ledger, month_after, shares, spread
from cabida.money.hold.loan import Loan, instalment_money
from cabida.money.own.ownership import exponential_residual_money

MONEY = st.floats(0, 5e6)
HORIZON = st.floats(0.3, 75)


@st.composite
def bills_of(draw, months):
    base = {name: draw(MONEY) for name in ("rent", "energy", "people", "other")}
    counts = sorted(draw(st.lists(st.integers(1, 40), min_size=months, max_size=months)))
    return [MonthBill(count, count, base, base["rent"]) for count in counts]


@st.composite
def situations(draw):
    horizon = draw(HORIZON)
    months = len(shares(horizon))
    held = draw(st.integers(0, 8))
    kept = Kept(
        capital_money=draw(st.floats(0, 4e5)),
        price_money=draw(st.floats(0, 4e5)),
        decay_ratio=draw(st.floats(0, 0.9)),
        life_months=draw(st.floats(1, 80)),
        held_count=held,
        book_money=draw(st.none() | st.floats(0, 4e5)),
        renewed_at_months=draw(st.none() | st.floats(0, 90)),
    )
    loan = Loan(draw(st.floats(0, 1)), draw(st.floats(0, 0.6)), draw(st.floats(1, 90)))
    return {
        "bills": draw(bills_of(months)),
        "horizon_months": horizon,
        "begins": "2026-11-30",
        "kept": draw(st.none() | st.just(kept)),
        "loan": draw(st.none() | st.just(loan)),
        "prepaid_ratio": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "term_months": draw(st.sampled_from([0, 1, 12, 36])),
        "drawn": [
            Drawn("credit", draw(MONEY), draw(HORIZON)),
            Drawn("commitment", draw(MONEY), draw(HORIZON), 0.1),
        ],
        "anyway": [Anyway(draw(MONEY), draw(HORIZON), draw(MONEY), draw(MONEY))],
    }


@given(situations())
@settings(max_examples=150, deadline=None)
def test_cash_and_expense_come_to_the_same_to_the_cent(situation):
    rows = ledger(**situation)
    cents = [
        (round(row.cash_money * 100), round(row.expense_money * 100), round(row.paid_before_money * 100))
        for row in rows
    ]
    cash, expense, before = (sum(column) for column in zip(*cents, strict=True))
    assert expense == cash + before
    for row in rows:
        assert sum(round(part * 100) for part in row.cash.values()) == round(row.cash_money * 100)
        assert sum(round(part * 100) for part in row.expense.values()) == round(row.expense_money * 100)
    assert [row.month for row in rows] == list(range(len(rows)))
    assert rows[-1].cash_cumulative_money == pytest.approx(cash / 100)


@given(situations())
@settings(max_examples=100, deadline=None)
def test_a_credit_pays_no_more_than_is_left_of_it_or_is_spent_and_ends_on_its_day(situation):
    rows = ledger(**situation)
    credit = next(one for one in situation["drawn"] if one.kind == "credit")
    paid = -sum(row.cash.get("credit", 0.0) for row in rows)
    lost = sum(row.credit_lost_money for row in rows)
    assert paid <= round(credit.money, 2) + 0.005
    assert paid + lost + rows[-1].credit_left_money == pytest.approx(round(credit.money, 2), abs=0.011)
    for row in rows[1:]:
        taken = -row.cash.get("credit", 0.0) - row.cash.get("commitment", 0.0)
        bill = situation["bills"][row.month - 1]
        assert taken <= bill.spend_money + 0.01
        if credit.months <= row.month - 1:
            assert "credit" not in row.cash


@given(st.integers(-(10**9), 10**9), st.lists(st.floats(0, 1e6), min_size=1, max_size=80))
def test_cents_are_spread_to_the_cent(cents, weights):
    parts = spread(cents, weights)
    assert sum(parts) == (cents if sum(weights) else 0)
    whole = sum(weights)
    for upto, weight in zip(accumulate(parts), accumulate(weights), strict=True):
        assert not whole or abs(upto - cents * weight / whole) <= 0.51 + abs(cents) * 1e-9


def test_a_purchase_by_hand():
    """8,000 for one card resold after two years at half; a loan of half at 12 % over a year."""
    bills = [MonthBill(1, 1, {"energy": 10.0})] * 24
    kept = Kept(8000.0, 8000.0, 1 - 0.5**0.5, 48.0)
    rows = ledger(bills, 24.0, "2027-01-31", kept=kept, loan=Loan(0.5, 0.12, 12.0))
    assert rows[0].cash == {"purchase": 8000.0, "loan": -4000.0}
    assert rows[1].cash["interest"] == 40.0
    each = 4000 * 0.01 / (1 - 1.01**-12)  # numpy-financial's pmt
    assert instalment_money.raw(4000.0, 0.01, 12.0) == pytest.approx(each)
    assert rows[1].cash["interest"] + rows[1].cash["principal"] == pytest.approx(each, abs=0.01)
    assert "principal" not in rows[13].cash
    assert rows[24].cash["resale"] == -4000.0
    assert sum(row.expense.get("depreciation", 0.0) for row in rows) == pytest.approx(4000.0)
    interest = sum(row.cash.get("interest", 0.0) for row in rows)
    assert interest == pytest.approx(12 * each - 4000, abs=0.05)
    assert rows[-1].expense_cumulative_money == pytest.approx(4000 + 240 + interest)
    assert [row.begins for row in rows[:4]] == ["2027-01-31", "2027-01-31", "2027-02-28", "2027-03-31"]


def test_growing_capacity_is_bought_when_it_is_needed_and_renewed_at_its_end_of_life():
    bills = [MonthBill(count, count, {}) for count in (1, 1, 2, 2)]
    kept = Kept(100.0, 0.0, 0.3, 2.0)
    rows = ledger(bills, 4.0, "2027-01-01", kept=kept)
    assert [row.cash.get("purchase", 0.0) for row in rows] == [100.0, 0.0, 0.0, 200.0, 0.0]
    assert [row.expense.get("depreciation", 0.0) for row in rows] == [0.0, 50.0, 50.0, 100.0, 100.0]


def test_what_is_held_is_written_off_and_sold():
    bills = [MonthBill(1, 2, {})] * 12
    kept = Kept(0.0, 1000.0, 0.282, 48.0, held_count=2, book_money=900.0)
    rows = ledger(bills, 12.0, "2027-01-01", kept=kept)
    resale = 2 * exponential_residual_money.raw(1000.0, 0.282, 1.0)
    assert rows[-1].cash == {"resale": pytest.approx(-resale)}
    assert rows[0].paid_before_money == 1800.0
    assert rows[-1].expense_cumulative_money == pytest.approx(1800 - resale)
    unknown = ledger(bills, 12.0, "2027-01-01", kept=Kept(0.0, 1000.0, 0.282, 48.0, held_count=2))
    assert unknown[-1].expense_cumulative_money == pytest.approx(-resale)


def test_a_reservation_is_prepaid_by_the_term_and_counts_by_the_month():
    rows = ledger(
        [MonthBill(1, 1, {"rent": 100.0})] * 18, 18.0, "2027-01-01", prepaid_ratio=1.0, term_months=12
    )
    assert rows[0].cash == {"prepaid": 1200.0}
    assert rows[12].cash == {"prepaid": 600.0}
    assert all(row.expense == {"rent": 100.0} for row in rows[1:])


def test_a_credit_that_ends_is_lost_and_said():
    rows = ledger(
        [MonthBill(1, 1, {"rent": 100.0}, 100.0)] * 6, 6.0, "2027-01-01", drawn=[Drawn("credit", 500.0, 2.5)]
    )
    assert [row.cash.get("credit", 0.0) for row in rows] == [0.0, -100.0, -100.0, -50.0, 0.0, 0.0, 0.0]
    assert [row.credit_lost_money for row in rows] == [0.0, 0.0, 0.0, 250.0, 0.0, 0.0, 0.0]
    assert [row.credit_left_money for row in rows][:4] == [500.0, 400.0, 300.0, 0.0]


def test_a_commitment_is_owed_by_all_and_covers_what_is_spent_there():
    anyway = [Anyway(80.0, 3.0)]
    drawn = [Drawn("commitment", 80.0, 3.0, 0.1)]
    bills = [MonthBill(1, 1, {"rent": 100.0}, 100.0)] * 4
    using = ledger(bills, 4.0, "2027-01-01", drawn=drawn, anyway=anyway)
    assert [row.cash_money for row in using] == [
        0.0,
        90.0,
        90.0,
        90.0,
        100.0,
    ]  # 100 less 10 %, of which 80 is owed
    other = ledger(bills, 4.0, "2027-01-01", anyway=anyway)
    assert [row.cash_money for row in other] == [0.0, 180.0, 180.0, 180.0, 100.0]


def test_the_month_that_breaks_the_budget_is_the_first_marked():
    bills = [MonthBill(1, 1, {"rent": 100.0})] * 6
    rows = ledger(bills, 6.0, "2027-01-01", total_budget_money=350.0)
    assert [row.month for row in rows if row.over_budget] == [4, 5, 6]
    rows = ledger(bills, 6.0, "2027-01-01", monthly_budget_money=100.0)
    assert not any(row.over_budget for row in rows)


def test_months_end_with_the_month():
    assert month_after("2026-11-30", 3) == "2027-02-28"
    assert shares(2.25) == [1.0, 1.0, 0.25]
