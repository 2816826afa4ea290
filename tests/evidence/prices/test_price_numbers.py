"""Figures as people and programs write them, each read one way or left aside for one reason."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.evidence.prices.nouns import Odd, Why
from cabida.evidence.prices.numbers import (
    amount,
    counted,
    currency_of,
    day,
    each,
    moment,
    nothing,
    plain,
    signed,
    stamped,
)

READ = [  # cell, decimal comma or None, what it is
    ("2.50", None, "2.50"),
    ("$1,234.50", None, "1234.50"),
    ("1.234,50 €", None, "1234.50"),
    ("€ 1.234,50", None, "1234.50"),
    ("EUR 3,9", None, "3.9"),
    ("US$2.69/h", None, "2.69"),
    ("1,234", False, "1234"),
    ("1,234", True, "1.234"),
    ("1.234", None, "1.234"),
    ("1.234", True, "1234"),
    ("1.234.567", None, "1234567"),
    ("1,234,567", None, "1234567"),
    ("0,123", None, "0.123"),
    ("1'234.5", None, "1234.5"),
    ("1\u00a0234,5", None, "1234.5"),
    ("1.1e-06", None, "1.1E-6"),
    (",5", None, "0.5"),
]
LEFT = [
    ("", "missing"),
    ("N/A", "missing"),
    ("-", "missing"),
    ("nan", "not_finite"),
    ("-inf", "not_finite"),
    ("∞", "not_finite"),
    ("-3", "negative"),
    ("$-3", "negative"),
    ("(3.00)", "negative"),
    ("1,234", "ambiguous"),
    ("2.5.0", "not_a_number"),
    ("1e99", "not_a_number"),
    ("1.2.3,4,5", "not_a_number"),
    ("call us", "not_a_number"),
    ("3 or 4", "not_a_number"),
    ("1_000", "not_a_number"),
    ("9" * 70, "not_a_number"),
]


@pytest.mark.parametrize(("text", "comma", "value"), READ)
def test_an_amount_is_read(text, comma, value):
    assert amount(text, decimal_comma=comma) == Decimal(value)


@pytest.mark.parametrize(("text", "why"), LEFT)
def test_an_amount_is_left_aside_for_its_reason(text, why):
    with pytest.raises(Odd) as odd:
        amount(text)
    assert odd.value.why == why


@given(st.decimals(min_value=0, max_value=10**9, places=4, allow_nan=False))
def test_what_is_written_in_either_way_is_read_back(value):
    english, spanish = f"{value:,.4f}", f"{value:,.4f}".translate(str.maketrans(",.", ".,"))
    assert amount(f"${english}") == amount(f"{spanish} €") == plain(f"{value:f}") == value
    assert signed(f"-{value:f}") == signed(f"({value:f})") == -value


@given(st.text(max_size=80))
def test_any_text_is_a_figure_or_has_a_reason(text):
    told = set()
    for read in (amount, plain, signed, counted, day, moment):
        try:
            assert read(text) is not None
        except Odd as odd:
            told.add(odd.why)
    assert told <= set(Why)


def test_currencies_are_found_beside_the_figure():
    found = [currency_of(text) for text in ("$3", "3 €", "£3", "US$ 3", "3 USD", "CHF 3", "3", "3 per hour")]
    assert found == ["USD", "EUR", "GBP", "USD", "USD", "CHF", "", ""]


def test_dates():
    assert (
        day("2026-11-30")
        == day("30/11/2026")
        == day("11/30/2026")
        == day("2026-11-30T10:00:00+02:00")
        == "2026-11-30"
    )
    assert day("2026-11-30T01:00:00+02:00") == "2026-11-29"
    assert moment("2026-09-01 00:00:00 UTC") == moment("2026-09-01T00:00:00Z") == "2026-09-01T00:00:00Z"
    assert day("n/a") == ""
    assert nothing("–")
    assert stamped("aws-20261107-2.csv") == stamped("prices_2026-11-07.csv") == "2026-11-07"
    assert stamped("20261307") == stamped("v20260230x") == stamped("model-123456789.csv") == ""


def test_shares_add_up_again():
    assert each(Decimal("55.04"), Decimal(8)) == Decimal("6.88")
    assert abs(each(Decimal(10), Decimal(3)) * 3 - 10) < Decimal("1e-9")
