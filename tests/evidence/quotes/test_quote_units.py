"""Units of a quote against what they are of: every way to write one, by what it measures; bounds of what is taken."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence.quotes import FIELDS, Amount, Credit, keep, kept, read_quote
from cabida.evidence.quotes.days import day
from cabida.evidence.quotes.fields import BY_NAME
from cabida.evidence.quotes.manner import Bad
from cabida.evidence.quotes.scales import PRICE_FACTORS, UNIT_FACTORS
from cabida.evidence.quotes.sheets import guarded
from cabida.evidence.quotes.values import value

WHOLE = Path(__file__).parents[2] / "procure" / "quotes" / "13-meridian-complete.yaml"
# what each unit is of one thing: seconds, bytes, bytes a second, watts, operations a second, times a second, tokens
SECONDS = {
    "s": 1, "sec": 1, "second": 1, "segundo": 1, "min": 60, "minute": 60, "minuto": 60, "h": 3600, "hr": 3600,
    "hour": 3600, "hora": 3600, "d": 86400, "day": 86400, "dia": 86400, "week": 7 * 86400, "wk": 7 * 86400,
    "semana": 7 * 86400, "calendarday": 86400, "dianatural": 86400,
}  # fmt: skip
MONTHS = {
    "month": 1,
    "mo": 1,
    "mes": 1,
    "mese": 1,
    "m": 1,
    "year": 12,
    "yr": 12,
    "y": 12,
    "ano": 12,
    "año": 12,
}
BYTES = {
    "mib": 2**20, "gb": 1e9, "gbytes": 1e9, "gib": 2**30, "tb": 1e12, "tib": 2**40, "pb": 1e15, "pib": 2**50,
}  # fmt: skip
RATES = {
    "MB/s": 1e6, "GB/s": 1e9, "GBps": 1e9, "TB/s": 1e12, "TBps": 1e12, "Mb/s": 1e6 / 8, "Gb/s": 1e9 / 8,
    "Gbit/s": 1e9 / 8, "Gbps": 1e9 / 8, "GbE": 1e9 / 8, "G": 1e9 / 8, "Tb/s": 1e12 / 8, "Tbit/s": 1e12 / 8,
    "Tbps": 1e12 / 8,
}  # fmt: skip
WATTS = {"w": 1, "watt": 1, "vatio": 1, "kw": 1000}
FLOPS = {"tflops": 1, "tflop/s": 1, "teraflops": 1, "pflops": 1000, "pflop/s": 1000, "petaflops": 1000}
OF = {  # unit of a field -> the table it is in, and what one of it is there
    "days": (SECONDS, 86400), "months": (MONTHS, 1), "h": (SECONDS, 3600), "min": (SECONDS, 60), "s": (SECONDS, 1),
    "GB": (BYTES, 1e9), "GiB": (BYTES, 2**30), "TB": (BYTES, 1e12), "GB/s": (RATES, 1e9), "Gbit/s": (RATES, 1e9 / 8),
    "W": (WATTS, 1), "kW": (WATTS, 1000), "TFLOPS": (FLOPS, 1),
}  # fmt: skip


@pytest.mark.parametrize("unit", OF)
def test_a_unit_is_as_many_of_another_as_both_measure(unit):
    table, one = OF[unit]
    for other, factor in UNIT_FACTORS[unit].items():
        assert float(factor) == pytest.approx(table[other] / one, rel=1e-12), other


def test_counts_by_the_second_are_sixty_by_the_minute():
    for unit in ("1/min", "tokens/min"):
        for other, factor in UNIT_FACTORS[unit].items():
            assert factor == (60 if other.endswith("/s") else 1), other
    assert {*UNIT_FACTORS} == {*OF, "1/min", "tokens/min", "1/s", "tokens"}
    assert UNIT_FACTORS["1/s"]["kiops"] == UNIT_FACTORS["tokens"]["k"] == 1000


YEARLY = {"month": 12, "gpu_month": 12, "year": 1, "gpu_year": 1}


def test_a_price_by_a_larger_unit_is_less_by_the_smaller():
    """20 by the terabyte are 0.02 by the gigabyte; 1,200 a year are 100 a month."""
    sizes = {"gb": 1e9, "gib": 2**30, "tb": 1e12}
    for other, factor in PRICE_FACTORS["gb"].items():
        assert float(factor) == pytest.approx(1e9 / sizes[other])
    for other, factor in PRICE_FACTORS["gb_month"].items():
        size = 1000 if "tb" in other else 1
        assert float(factor) == pytest.approx(1 / size / (12 if "year" in other else 1)), other
    for wanted in ("year", "gpu_year"):
        for other, factor in PRICE_FACTORS[wanted].items():
            assert float(factor) == YEARLY[other]
    for other, factor in PRICE_FACTORS["month"].items():
        assert float(factor) == pytest.approx(1 / 12 if other == "year" else 1)
    assert PRICE_FACTORS["million_tokens"]["thousand_tokens"] == 1000


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("support_price_per_year", "100 EUR per month", "1200"),
        ("support_fee_per_month", "1,200.00 EUR per year", "100"),
        ("licence_price_per_gpu_year", "50 EUR per GPU-month", "600"),
        ("input_price_per_million_tokens", "0.0005 USD per 1K tokens", "0.5"),
        ("storage_price_per_gb_month", "0.72 EUR per GB per year", "0.06"),
    ],
)
def test_prices_by_other_units(name, text, held):
    found = value(BY_NAME[name], text)
    assert float(found.value) == pytest.approx(float(held))


@given(st.integers(1, 99_999), st.sampled_from(["GB/s", "Gb/s", "TB/s", "MB/s", "Tbps"]))
def test_a_rate_is_the_same_whatever_it_is_written_in(count, unit):
    for name, one in (("allreduce_gb_per_s", 1e9), ("nic_speed_gbit_per_s", 1e9 / 8)):
        if unit in UNIT_FACTORS[BY_NAME[name].unit]:
            assert value(BY_NAME[name], f"{count} {unit}") == pytest.approx(count * RATES[unit] / one)


@pytest.mark.parametrize("field", [one for one in FIELDS if one.kind == "ratio"], ids=lambda one: one.name)
def test_a_share_is_a_hundredth_of_its_percent(field):
    for text, held in (("25 %", 0.25), ("0.5%", 0.005), ("100 %", 1.0), ("12,5 %", 0.125)):
        assert value(field, text) == pytest.approx(held)


def test_figures_beyond_reason_are_refused():
    assert value(BY_NAME["setup_fee"], "1000000000000000 USD") == Amount(Decimal(10) ** 15, "USD")
    for name, text in (("setup_fee", "1000000000000001 USD"), ("node_power_kw", "9999999999999999 kW")):
        with pytest.raises(Bad):
            value(BY_NAME[name], text)
    with pytest.raises(Bad):
        value(BY_NAME["tax_ratio"], "10001 %")


def test_a_step_of_credits_is_read_whichever_comes_first():
    field = BY_NAME["credit_ladder"]
    for text in ("below 99 %: 10 %", "10 % of the fee below 99 %", "10 % por debajo de 99 %", "99 %: 10 %"):
        assert value(field, text) == (Credit(0.99, 0.10),), text


def test_a_date_goes_by_the_order_of_the_others():
    assert day("03/04/2026", day_first=True) == "2026-04-03"
    assert day("03/04/2026", day_first=False) == "2026-03-04"
    assert day("31/12/2026") == "2026-12-31"
    with pytest.raises(Bad):
        day("03/04/2026")
    with pytest.raises(Bad):
        day("31/12/2026", day_first=False)


def test_what_is_said_twice_must_be_said_alike():
    once = "vendor: V\nregion: Madrid\n"
    assert (
        read_quote("q.csv", text="field,value\nvendor,V\nregion,Madrid\nregion,Madrid\n").region == "Madrid"
    )
    with pytest.raises(InvalidInput, match="CB-Q012"):
        read_quote("q.csv", text="field,value\nvendor,V\nregion,Madrid\nregion,Oslo\n")
    with pytest.raises(InvalidInput, match="CB-Q013"):
        read_quote("q.yaml", text=f"{once}unit_price: 2 USD/GPU-hour\noverage_unit_price: 3 USD/node-hour\n")
    assert read_quote(
        "q.yaml", text=f"{once}unit_price: 2 USD/GPU-hour\noverage_unit_price: 3 USD/GPU-hour\n"
    )


@given(st.sampled_from(["=", "+", "-", "@", "'", ""]), st.text("ab1 ", min_size=1, max_size=8))
def test_an_apostrophe_before_a_formula_is_no_part_of_what_is_said(sign, rest):
    said = f"{sign}x{rest}".strip()
    text = f'field,value\nvendor,V\nnotes,"{guarded(said)}"\n'
    assert (read_quote("q.csv", text=text).notes or "") == " ".join(said.split())


def test_a_quote_is_there_from_its_day_on(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "store.db"))
    keep([replace(read_quote(WHOLE), issued="2026-11-20")])
    assert kept("2026-11-19") == ()
    assert len(kept("2026-11-20")) == 1
    assert len(kept("2026-11-21")) == 1
