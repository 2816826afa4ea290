"""Units at the doors: what is read, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.units import parse, parse_money, unit_of


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("80 GiB", "bytes", 80 * 2**30),
        ("80 GB", "bytes", 80e9),
        ("350 ms", "s", 0.35),
        ("0.1 %", "ratio", 0.001),
        ("1.2 M tokens", "tokens", 1.2e6),
        ("24 months", "months", 24),
        ("2 years", "months", 24),
        ("1 year", "s", 8760 * 3600),
        ("12 /min", "per_s", 0.2),
        ("400 Gbit/s", "bytes_per_s", 50e9),
        ("1,200 GB/s", "bytes_per_s", 1.2e12),
        (12, "tokens", 12.0),
    ],
)
def test_parse(text, kind, value):
    assert parse(text, kind) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("80 parsecs", "bytes"),
        ("fast", "s"),
        ("", "s"),
        ("-", "count"),
        ("2,5 TB/s", "bytes_per_s"),
        ("1,20", "count"),
    ],
)
def test_what_is_not_a_quantity_is_refused(text, kind):
    with pytest.raises(ValueError, match=r"no number|is not one of|marks no thousands"):
        parse(text, kind)


def test_money():
    assert parse_money("2.10 EUR/h") == (2.1, "EUR", "hour")
    assert parse_money("18000 EUR") == (18000.0, "EUR", "")
    assert parse_money("$3/h") == (3.0, "USD", "hour")
    assert parse_money("0.15 USD/kWh") == (0.15, "USD", "kwh")
    with pytest.raises(ValueError, match="not an amount"):
        parse_money("3 EUR per fortnight")
    with pytest.raises(ValueError, match="marks no thousands"):
        parse_money("2,10 EUR/h")


@given(st.floats(0, 1e12))
def test_gib_and_gb_are_different_words(value):
    assert parse(f"{value:.6f} GiB", "bytes") == pytest.approx(
        parse(f"{value:.6f} GB", "bytes") * 1.073741824
    )


def test_units_in_names():
    assert unit_of("kv_bytes_per_token").text == "B/token"
    assert unit_of("price_money_per_hour").text == "money/h"
    assert unit_of("no_unit_here") is None
