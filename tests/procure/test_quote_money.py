"""What an offer comes to, against figures worked out by hand."""

import math
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.evidence.quotes import Amount, Credit, Quote, read_quote
from cabida.expression import expression
from cabida.procure import audit

FOLDER = Path(__file__).parent / "quotes"
HONEST = read_quote(FOLDER / "13-meridian-complete.yaml")
DAY = "2026-12-01"
NEEDS = {
    "utilisation_ratio": 0.5, "stored_gb": 10_000.0, "egress_gb_per_month": 1000.0, "staff_count": 1.0,
    "loaded_money_per_year": 120_000.0, "migration_days": 11.0, "wacc_ratio": 0.1,
}  # fmt: skip


def usd(value, currency="USD"):
    return Amount(Decimal(value), currency)


def test_all_that_a_month_costs_by_hand():
    price = audit(HONEST, DAY, needs=NEEDS).price
    lines = {one.key: one.money for one in price.lines}
    assert price.listed_money_per_hour == pytest.approx(2.30)
    assert lines["compute"] == pytest.approx(2.30 * 64 * 730)
    assert lines["storage"] == pytest.approx(10_000 / 0.8 * 0.05)
    assert lines["egress"] == lines["support"] == lines["setup"] == lines["licence"] == lines["prepaid"] == 0
    assert lines["platform"] == pytest.approx(10_000)
    assert lines["migration"] == pytest.approx(11 * 120_000 / 220 / 24)
    whole = sum(lines.values())
    assert price.month_money == pytest.approx(whole)
    assert price.useful_money_per_hour == pytest.approx(whole / (64 * 730 * 0.995 * 0.97 * 0.5))
    assert price.useful_low_money_per_hour <= price.useful_money_per_hour <= price.useful_high_money_per_hour


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"unit": "gpu_hour", "unit_price": usd("2.00")}, 2.0),
        ({"unit": "node_hour", "unit_price": usd("16.00")}, 2.0),
        ({"unit": "gpu_month", "unit_price": usd("1460"), "month_hours": 730.0}, 2.0),
        ({"unit": "gpu_month", "unit_price": usd("1460"), "month_hours": 720.0}, 1460 / 720),
        ({"unit": "node_month", "unit_price": usd("11680"), "month_hours": 730.0}, 2.0),
        ({"unit": "gpu_year", "unit_price": usd("17520")}, 2.0),
        ({"unit": "total", "unit_price": usd("280320"), "term_months": 12.0}, 2.0),
        ({"monthly_price": usd("23360")}, 2.0),
        (
            {"unit": "gpu_hour", "unit_price": usd("2.42"), "tax_treatment": "included", "tax_ratio": 0.21},
            2.0,
        ),
        (
            {"unit": "gpu_hour", "unit_price": usd("2.42"), "tax_treatment": "excluded", "tax_ratio": 0.21},
            2.42,
        ),
    ],
    ids=range(10),
)
def test_every_unit_comes_to_an_accelerator_hour(said, expected):
    quote = Quote(accelerator="H100", form_factor="SXM", accelerators_count=16, accelerators_per_node_count=8,
                  currency="USD", purpose="reserve", **said)  # fmt: skip
    assert audit(quote, DAY).price.listed_money_per_hour == pytest.approx(expected)


def test_a_purchase_is_its_annuity_over_the_hours_of_a_year():
    quote = Quote(accelerator="H100", form_factor="SXM", accelerators_count=8, currency="USD", purpose="buy",
                  unit="system", unit_price=usd("240000"))  # fmt: skip
    made = audit(quote, DAY, needs={"wacc_ratio": 0.1, "life_years": 4.0})
    annuity = 30_000 * 0.1 / (1 - 1.1**-4)
    assert made.price.listed_money_per_hour == pytest.approx(annuity / 8760)
    assert made.liability.total_money == pytest.approx(240_000)
    assert {one.key for one in made.price.lines if not one.known} >= {"power", "support", "platform"}


def test_what_nobody_says_is_a_range_and_never_nothing():
    bare = replace(HONEST, storage_price_per_gb_month=None, egress_price_per_gb=None, setup_fee=None, includes=None,
                   support_fee_per_month=None, upfront_ratio=None, licence_price_per_gpu_year=None,
                   licences_included=None)  # fmt: skip
    made = audit(bare, DAY)
    unknown = {one.key: one for one in made.price.lines if not one.known}
    assert {"storage", "egress", "support", "setup", "prepaid", "licence"} <= set(unknown)
    assert all(one.high_money > 0 for one in unknown.values())
    assert set(unknown) <= set(made.price.unknown)
    assert made.price.useful_high_money_per_hour > audit(HONEST, DAY).price.useful_high_money_per_hour


@pytest.mark.parametrize("missing", ["currency", "unit_price", "accelerators_count"])
def test_without_a_figure_there_is_no_price_and_it_says_why(missing):
    empty = {
        "currency": {"currency": None, **dict.fromkeys(("monthly_price", "total_price", "total_commit")),
                     "unit_price": usd("2.30", "")},
        "unit_price": dict.fromkeys(("unit_price", "unit", "monthly_price", "total_price", "total_commit")),
        "accelerators_count": {"accelerators_count": None, "nodes_count": None, "quantity": None},
    }[missing]  # fmt: skip
    price = audit(replace(HONEST, **empty), DAY).price
    assert price.useful_money_per_hour is None
    assert price.why_not


def test_a_currency_nobody_has_a_rate_for_is_told():
    made = audit(replace(HONEST, unit_price=usd("2.30", "XAF"), currency="XAF"), DAY)
    assert made.price.useful_money_per_hour is None
    assert "XAF" in made.price.why_not


def test_euros_are_converted_at_a_dated_rate():
    made = audit(HONEST, DAY, currency="EUR")
    assert made.price.currency == "EUR"
    assert made.price.listed_money_per_hour == pytest.approx(2.30 / 1.1172, rel=1e-3)
    assert "2026-10-30" in made.price.rate


def test_trees_come_to_the_figures_they_explain():
    made = audit(HONEST, DAY, needs=NEEDS)
    by_id = {node["id"]: node for node in made.trees}
    assert by_id[made.figures["all_in_money_per_hour"]]["value"] == made.price.useful_money_per_hour
    assert by_id[made.figures["worst_case_money"]]["value"] == made.liability.total_money
    for node in made.trees:
        if node["equation"]:
            values = {one["param"]: by_id[one["id"]]["value"] for one in node["inputs"]}
            assert expression(node["equation"]).value(values) == pytest.approx(node["value"], rel=1e-12)


def test_cash_by_month_sums_to_what_is_owed():
    quote = replace(HONEST, upfront_ratio=0.25, setup_fee=usd("1000"), payment_terms_days=45.0)
    owed = audit(quote, DAY).liability
    assert sum(one.cash_money for one in owed.months) == pytest.approx(2_578_944 + 1000)
    assert owed.months[0].cash_money == pytest.approx(0.25 * 2_578_944 + 1000)
    assert owed.months[1].cash_money == owed.months[2].cash_money == 0  # 45 days: two bills late
    assert owed.months[-1].owed_money == 0
    left = [one.owed_money for one in owed.months]
    assert left == sorted(left, reverse=True)
    assert left[0] == pytest.approx(0.25 * 0.75 * 2_578_944)  # a quarter of the rest


def test_the_worst_case_holds_renewal_fee_and_rise():
    quote = replace(HONEST, auto_renewal=True, renewal_notice_days=30.0, early_exit_fee=usd("50000"),
                    early_exit_fee_ratio=None, price_adjustment_limit_ratio_per_year=0.05,
                    price_adjustment_clause="Up to 5 % a year")  # fmt: skip
    owed = audit(quote, DAY).liability
    parts = dict(owed.parts)
    assert parts["commitment"] == pytest.approx(2_578_944)
    assert parts["renewal"] == pytest.approx(2_578_944)
    assert parts["exit"] == pytest.approx(50_000)
    assert parts["adjustment"] == pytest.approx(
        2_578_944 * 0.025
    )  # nothing in the first year, 5 % in the second
    assert parts["overage"] is None
    assert owed.total_money == pytest.approx(sum(value for value in parts.values() if value is not None))


def test_a_month_at_the_promise_in_hours_and_money():
    level = audit(HONEST, DAY).sla
    assert level.down_hours == pytest.approx(0.005 * 730)
    assert level.lost_money == pytest.approx(0.005 * 730 * 64 * 2.30)
    assert level.credit_money == pytest.approx(64 * 730 * 2.30)  # a tenth down: below 95 %, all of it
    capped = audit(replace(HONEST, credit_cap_ratio=0.1, credit_ladder=(Credit(0.995, 0.1),)), DAY).sla
    assert capped.credit_money == pytest.approx(64 * 730 * 2.30 * 0.1)


def test_the_percentile_counts_sellers_and_names_days():
    cheap, dear = (audit(replace(HONEST, unit_price=usd(price)), DAY).placed for price in ("1.00", "20.00"))
    assert cheap.percentile_ratio == 0.0
    assert dear.percentile_ratio == 1.0
    assert cheap.sightings_count == dear.sightings_count >= 5
    assert cheap.first_seen <= cheap.last_seen <= DAY
    assert cheap.sources
    early = audit(HONEST, "2025-06-01").placed
    assert early.last_seen <= "2025-06-01"


def test_too_few_sellers_are_too_few_to_say():
    rare = replace(HONEST, accelerator="NVIDIA GH200 96GB", form_factor=None, accelerator_memory_gb=96.0)
    found = audit(rare, "2025-03-01").placed
    assert found.percentile_ratio is None
    assert found.scope


@settings(max_examples=40, deadline=None)
@given(
    price=st.decimals("0.5", "20", places=2), count=st.integers(1, 512), term=st.integers(1, 36),
    uptime=st.floats(0.95, 0.9999), upfront=st.floats(0, 1),
)  # fmt: skip
def test_more_of_anything_never_costs_less(price, count, term, uptime, upfront):
    quote = Quote(accelerator="H100", form_factor="SXM", accelerators_count=count, currency="USD", unit="gpu_hour",
                  unit_price=Amount(price, "USD"), term_months=float(term), uptime_ratio=uptime,
                  upfront_ratio=upfront, purpose="reserve")  # fmt: skip
    made, dearer = audit(quote, DAY), audit(replace(quote, setup_fee=usd("100000")), DAY)
    assert made.price.useful_money_per_hour >= made.price.listed_money_per_hour
    assert math.isfinite(made.price.useful_high_money_per_hour)
    known = replace(quote, setup_fee=usd("0"))
    assert dearer.price.useful_money_per_hour > audit(known, DAY).price.useful_money_per_hour
    assert sum(one.cash_money for one in made.liability.months) == pytest.approx(
        dict(made.liability.parts)["commitment"]
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"unit": "rack_hour", "quantity": 2.0, "unit_price": "73.60"}, 2.30),  # two racks of 32 make the 64
        ({"unit": "system", "quantity": 4.0, "unit_price": "160000"}, 10_000),
    ],
)
def test_a_unit_of_several_is_divided_by_what_is_in_one(said, expected):
    quote = replace(HONEST, **{**said, "unit_price": usd(said["unit_price"]), "monthly_price": None})
    trees = audit(quote, DAY).trees
    name = "purchase_money" if said["unit"] == "system" else "listed_money_per_hour"
    assert next(node for node in trees if node["name"] == name)["value"] == pytest.approx(expected)


def test_a_rack_of_a_part_that_comes_in_none_has_no_count_of_its_own():
    bare = replace(
        HONEST, unit="rack_hour", quantity=None, unit_price=usd("73.60"), monthly_price=None, total_price=None,
        total_commit=None, accelerators_count=None, nodes_count=None, accelerators_per_node_count=None,
    )  # fmt: skip
    price = audit(bare, DAY).price
    assert price.listed_money_per_hour is None
    assert price.why_not


def test_tax_is_taken_out_of_support_by_the_year_and_of_a_fee_to_leave():
    taxed = replace(HONEST, tax_treatment="included", tax_ratio=0.25, includes=(), support_fee_per_month=None,
                    support_price_per_year=usd("15000"), early_exit_fee=usd("1250"),
                    early_exit_fee_ratio=None)  # fmt: skip
    found = audit(taxed, DAY)
    lines = {one.key: one.money for one in found.price.lines}
    assert lines["support"] == pytest.approx(15_000 / 1.25 / 12)
    assert found.liability.months[0].owed_money == pytest.approx(1000)


def test_a_purchase_priced_by_the_hour_has_no_sum_that_is_owed():
    hourly = replace(HONEST, purpose="buy", unit="gpu_hour", total_price=None, total_commit=None)
    found = audit(hourly, DAY)
    assert found.purpose == "buy"
    assert found.liability.total_money is None


def test_an_audit_gives_the_language_back():
    import cabida
    from cabida.text import language, use_language

    use_language("en")
    made = cabida.quote_audit(HONEST, as_of=DAY, language="es")
    cabida.quote_letter(made)
    assert language() == "en"


def test_what_nobody_asks_for_is_not_passed_over():
    import cabida

    with pytest.raises(TypeError, match="utilization_ratio"):
        cabida.quote_audit(HONEST, as_of=DAY, utilization_ratio=0.5)
