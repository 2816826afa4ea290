"""Each figure a rule compares, a step before its bound and a step beyond; offers against what a decision needs."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from cabida import facts
from cabida.evidence.quotes import Amount, Credit, Quote, read_quote
from cabida.procure import audit, compare, placed, sums
from cabida.procure.offer import offer_of
from cabida.procure.owed import credit_at
from cabida.procure.subject import Subject
from cabida.report.store import load

FOLDER = Path(__file__).parent / "quotes"
HONEST = read_quote(FOLDER / "13-meridian-complete.yaml")
DECISION = load(Path(__file__).parents[1] / "report" / "golden" / "decision.en.json")
DAY = "2026-12-01"


def usd(value):
    return Amount(Decimal(value), "USD")


def codes(quote, **more):
    return {one.code: one for one in audit(quote, DAY, **more).findings}


BARE = {
    "monthly_price": None,
    "total_price": None,
    "total_commit": None,
    "minimum_commit_per_month": None,
    "items": (),
}
BOUNDS = {  # code: fields, the same a step further
    "CB-Q103 rounding": ("CB-Q103", {"monthly_price": usd("107800")}, {"monthly_price": usd("107900")}),  # 0.4 %
    "CB-Q103 of a year": (
        "CB-Q103",
        {**BARE, "unit": "gpu_year", "unit_price": usd("20148"), "monthly_price": usd("107456")},
        {**BARE, "unit": "gpu_year", "unit_price": usd("20148"), "monthly_price": usd("1289472")},
    ),
    "CB-Q104 of a month": (
        "CB-Q104",
        {**BARE, "unit": "gpu_month", "unit_price": usd("1679"), "total_price": usd("2578944")},
        {**BARE, "unit": "gpu_month", "unit_price": usd("1679"), "total_price": usd("3578944")},
    ),
    "CB-Q105": ("CB-Q105", {"total_commit": usd("2578944")}, {"total_commit": usd("2618944")}),
    "CB-Q107": (
        "CB-Q107", {"discount_ratio": None, "list_unit_price": usd("2.30")},
        {"discount_ratio": None, "list_unit_price": usd("2.28")},
    ),
    "CB-Q110": ("CB-Q110", {"month_hours": 730.5}, {"month_hours": 732.0}),
    "CB-Q111": ("CB-Q111", {"month_hours": 744.0}, {"month_hours": 745.0}),
    "CB-Q113": (
        "CB-Q113", {"minimum_commit_per_month": usd("107456")}, {"minimum_commit_per_month": usd("107956")},
    ),
    "CB-Q114": ("CB-Q114", {"minimum_quantity": 64.0}, {"minimum_quantity": 65.0}),
    "CB-Q115": ("CB-Q115", {"minimum_term_months": 24.0}, {"minimum_term_months": 25.0}),
    "CB-Q117": ("CB-Q117", {"upfront_ratio": 1.0}, {"upfront_ratio": 1.0001}),
    "CB-Q124": (
        "CB-Q124", {"accelerator_memory_usable_gib": 79.7}, {"accelerator_memory_usable_gib": 79.9},
    ),
    "CB-Q126": (
        "CB-Q126", {"accelerator_memory_usable_gib": 72.0}, {"accelerator_memory_usable_gib": 71.0},
    ),
    "CB-Q127": ("CB-Q127", {"tflops": 989.0}, {"tflops": 1979.0}),
    "CB-Q127 said": ("CB-Q127", {"tflops": 1979.0, "tflops_sparse": True}, {"tflops": 1979.0, "tflops_sparse": None}),
    "CB-Q132": ("CB-Q132", {"gemm_tflops": 400.0}, {"gemm_tflops": 395.0}),
    "CB-Q135": ("CB-Q135", {"nvlink_gb_per_s": 925.0}, {"nvlink_gb_per_s": 930.0}),
    "CB-Q142": ("CB-Q142", {}, {"accelerators_per_node_count": 16, "nodes_count": 4}),
    "CB-Q143": ("CB-Q143", {"node_power_kw": 5.6}, {"node_power_kw": 5.59}),
    "CB-Q144": ("CB-Q144", {"node_power_kw": 16.7, "rack_power_kw": 40.0},
                {"node_power_kw": 16.9, "rack_power_kw": 40.0}),
    "CB-Q145": ("CB-Q145", {"node_power_kw": 8.16}, {"node_power_kw": 8.1}),
    "CB-Q150": (
        "CB-Q150", {"nic_speed_gbit_per_s": 100.0, "allreduce_gb_per_s": None},
        {"nic_speed_gbit_per_s": 99.0, "allreduce_gb_per_s": None},
    ),
    "CB-Q151": ("CB-Q151", {"nic_speed_gbit_per_s": 1600.0}, {"nic_speed_gbit_per_s": 1601.0}),
    "CB-Q220": (  # 16 hours of a month are 97.81 %
        "CB-Q220", {"support_hours": "8x5", "uptime_ratio": 0.978}, {"support_hours": "8x5", "uptime_ratio": 0.979},
    ),
    "CB-Q154": ("CB-Q154", {"allreduce_gb_per_s": 439.0}, {"allreduce_gb_per_s": 441.0}),  # 8 x 400 Gbit/s, a tenth
    "CB-Q160": ("CB-Q160", {"expires": HONEST.issued}, {"expires": "2026-01-01"}),
    "CB-Q161": ("CB-Q161", {"expires": DAY}, {"expires": "2026-11-30"}),
    "CB-Q163": ("CB-Q163", {"issued": DAY, "delivery_date": None}, {"issued": "2026-12-02", "delivery_date": None}),
    "CB-Q172": ("CB-Q172", {"billing_granularity_s": 3600.0}, {"billing_granularity_s": 3700.0}),
    "CB-Q171": (
        "CB-Q171", {"purpose": "rent", "minimum_term_months": 1.0, "billing_granularity_s": 2_628_000.0},
        {"purpose": "rent", "minimum_term_months": 1.0, "billing_granularity_s": 2_800_000.0},
    ),
    "CB-Q178": ("CB-Q178", {"early_exit_fee": usd("2578944")}, {"early_exit_fee": usd("2578945")}),
    "CB-Q183": ("CB-Q183", {"auto_renewal": True, "renewal_notice_days": 729.0},
                {"auto_renewal": True, "renewal_notice_days": 730.0}),
    "CB-Q184": ("CB-Q184", {"auto_renewal": True, "renewal_notice_days": 89.0},
                {"auto_renewal": True, "renewal_notice_days": 90.0}),
    "CB-Q185": ("CB-Q185", {"warranty_months": 24.0}, {"warranty_months": 23.0}),
    "CB-Q188": ("CB-Q188", {"overage_unit_price": usd("2.87")}, {"overage_unit_price": usd("2.88")}),
    "CB-Q208": (
        "CB-Q208", {"rack_power_kw": 15.0, "notes": "The hall gives 15 kW per rack."},
        {"rack_power_kw": 15.1, "notes": "The hall gives 15 kW per rack."},
    ),
    "CB-Q210": ("CB-Q210", {"notes": "Downtime is at most 4 hours per month."},
                {"notes": "Downtime is at most 4.4 hours per month."}),  # 99.5 % are 3.65 h
    "CB-Q211": ("CB-Q211", {"notes": "We guarantee 99.5 % availability."},
                {"notes": "We guarantee 99.4 % availability."}),
    "CB-Q216": ("CB-Q216", {"credit_cap_ratio": 1.0}, {"credit_cap_ratio": 0.99}),
    "CB-Q217": (
        "CB-Q217", {"node_replacement_hours": 3.6, "hot_spares_count": 0, "uptime_scope": "node"},
        {"node_replacement_hours": 3.7, "hot_spares_count": 0, "uptime_scope": "node"},
    ),
    "CB-Q218": ("CB-Q218", {"goodput_ratio": 0.995}, {"goodput_ratio": 0.9951}),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_a_bound_is_told_beyond_it_and_not_at_it(name):
    code, fine, beyond = BOUNDS[name]
    assert code not in codes(replace(HONEST, **fine)), name
    assert code in codes(replace(HONEST, **beyond)), name


@pytest.mark.parametrize(("hours", "word"), [(720.0, "short"), (744.0, "beyond")])
def test_a_seller_s_month_is_short_of_a_year_or_beyond_it(hours, word):
    told = codes(replace(HONEST, month_hours=hours))["CB-Q110"].sentence
    others = {"short": "beyond", "beyond": "short"}
    assert word in told
    assert others[word] not in told


def test_instalments_after_a_deposit_are_of_what_is_left():
    """40 % of 10,000 ahead leave 6,000: 500 a month for a year, or 533.09 at one per cent a month."""
    for each, rate, told in (("500", None, False), ("533.09", 0.12, False), ("888.49", 0.12, True)):
        quote = Quote(purpose="buy", currency="USD", total_price=usd(10_000), upfront_ratio=0.4,
                      monthly_price=usd(each), financing_months=12.0, financing_rate_per_year=rate)  # fmt: skip
        assert ("CB-Q205" in codes(quote)) == told


# ---- against a decision


def needing(purpose="reserve", budget=None, limits=None, horizon=None, **fields):
    """Codes of what a decision for two H100 needs and an offer of two doesn't give."""
    brief = DECISION.brief | {
        "limits": limits or {},
        "budget": {"monthly_money": budget},
        "horizon_months": horizon,
    }
    fields = {
        "accelerators_count": 2,
        "nodes_count": 1,
        "accelerators_per_node_count": 2,
        "quantity": 2.0,
        **fields,
    }
    quote = replace(
        HONEST, purpose=purpose, monthly_price=None, total_price=None, total_commit=None, **fields
    )
    made = audit(quote, DAY, decision=replace(DECISION, brief=brief), currency=DECISION.currency)
    return {one.code for one in made.findings if one.kind == "need"}, made


def test_a_part_that_holds_what_is_planned_has_enough_memory():
    option = DECISION.options[0]
    used = sum(value for key, value in option.memory.items() if key != "headroom") / 2**30
    assert 50 < used < 79
    assert "CB-Q232" not in needing(accelerator_memory_usable_gib=79.0)[0]
    assert "CB-Q232" not in needing(accelerator_memory_usable_gib=used + 0.1)[0]
    assert "CB-Q232" in needing(accelerator_memory_usable_gib=used - 0.1)[0]


def test_as_many_as_are_planned_are_enough():
    planned = DECISION.options[0].accelerators_count
    for count, told in ((planned, False), (planned + 8, False), (planned - 1, True)):
        found, _ = needing(
            accelerators_count=count, nodes_count=1, accelerators_per_node_count=count, quantity=count
        )
        assert ("CB-Q231" in found) == told, count


def test_a_budget_is_held_against_the_bill_of_a_month():
    _, made = needing()
    month = next(one.money for one in made.price.lines if one.key == "compute")
    assert month > 1000
    assert "CB-Q236" in needing(budget=month - 1)[0]
    assert "CB-Q236" not in needing(budget=month + 1)[0]


@pytest.mark.parametrize(
    ("purpose", "told"), [("rent", True), ("reserve", True), ("buy", False), ("cluster", False)]
)
def test_own_premises_are_not_rented(purpose, told):
    assert ("CB-Q239" in needing(purpose, limits={"own_premises": True})[0]) == told
    assert "CB-Q239" not in needing(purpose)[0]


@pytest.mark.parametrize(("day", "told"), [("2027-01-31", False), ("2027-01-30", True)])
def test_what_comes_a_day_late_is_late(day, told):
    found, _ = needing(
        limits={"needed_by": day}, delivery_date="2027-01-31", issued="2026-11-20", lead_time_days=None
    )
    assert ("CB-Q234" in found) == told


@pytest.mark.parametrize(("horizon", "told"), [(24, False), (23, True), (36, False)])
def test_a_term_beyond_the_horizon_is_told(horizon, told):
    assert ("CB-Q235" in needing(horizon=horizon, term_months=24.0)[0]) == told


# ---- money


def test_what_is_bought_draws_the_power_of_all_machines():
    quote = Quote(purpose="buy", accelerator="H100", form_factor="SXM", accelerators_count=32, nodes_count=4,
                  accelerators_per_node_count=8, unit="gpu", unit_price=usd(25_000), currency="USD")  # fmt: skip
    needs = {"electricity_money_per_kwh": 0.2, "pue_ratio": 1.5}

    def power(**said):
        made = audit(replace(quote, **said), DAY, needs=needs)
        by_name = {node["name"]: node["value"] for node in made.trees}
        line = next(one for one in made.price.lines if one.key == "power")
        assert line.money == pytest.approx(
            by_name["machines_kw"] * by_name["busy_power_ratio"] * 1.5 * 730 * 0.2
        )
        return by_name["machines_kw"], line.known

    assert power(node_power_kw=10.2) == (pytest.approx(40.8), True)
    drawn, known = power()
    assert 32 * 0.7 < drawn < 32 * 0.7 * 2.5  # kilowatts of the cards, and their machines
    assert not known
    assert power(accelerator_power_w=350.0)[0] == pytest.approx(drawn / 2)


def test_what_nobody_says_of_data_that_leaves_is_by_the_accelerator():
    made = audit(replace(HONEST, includes=(), egress_price_per_gb=usd("0.10")), DAY)
    egress = next(one for one in made.price.lines if one.key == "egress")
    assert egress.money == pytest.approx(64 * 20 * 0.10)
    assert egress.high_money > 64 * 400 * 0.10
    stored = next(one for one in made.price.lines if one.key == "storage")
    assert stored.money == pytest.approx(64 * 200 / 0.8 * 0.05)


def test_sums_of_an_offer_by_hand():
    raw = {name: getattr(sums, name).raw for name in dir(sums) if hasattr(getattr(sums, name), "raw")}
    assert raw["listed_money_per_hour"](1210, 0.9, 0.21, 730, 8) == pytest.approx(1210 * 0.9 / 1.21 / 5840)
    assert raw["bought_money_per_hour"](30_000, 0.3, 8760) == pytest.approx(9000 / 8760)
    assert raw["compute_money_per_month"](2, 8, 0.5) == 2 * 8 * 0.5 * 730
    assert raw["offered_storage_money_per_month"](800, 0.05, 0.8) == pytest.approx(50)
    assert raw["offered_egress_money_per_month"](1000, 300, 0.1) == pytest.approx(70)
    assert raw["offered_egress_money_per_month"](100, 300, 0.1) == 0
    assert raw["offered_support_money_per_month"](1000, 0.03, 20) == pytest.approx(50)
    assert raw["setup_money_per_month"](1200, 24) == 50
    assert raw["prepaid_money_per_month"](240_000, 0.1) == pytest.approx(1000)  # half of it is out on average
    assert raw["migration_money_per_month"](10, 600, 12) == 500
    assert raw["platform_money_per_month"](0.5, 120_000) == 5000
    assert raw["licence_money_per_month"](1200, 8, 2) == 1600
    assert raw["powered_money_per_month"](10, 0.8, 1.5, 0.2) == pytest.approx(10 * 0.8 * 1.5 * 730 * 0.2)
    assert raw["unrecovered_tax_money_per_month"](1000, 0.21) == 210
    assert raw["credited_money_per_month"](1000, 0.25) == 250
    assert raw["useful_hours_per_month"](8, 0.9, 0.8, 0.5) == pytest.approx(8 * 730 * 0.36)
    assert raw["all_in_money_per_month"](*range(1, 12)) == 66
    assert raw["all_in_money_per_hour"](1000, 500) == 2
    assert raw["down_hours_per_month"](0.99) == pytest.approx(7.3)
    assert raw["lost_money_per_month"](7.3, 2, 8) == pytest.approx(116.8)
    assert raw["committed_money"](1000, 12) == 12_000
    assert raw["raised_money"](12_000, 0.05) == 600
    assert raw["renewed_money"](1000, 12) == 12_000
    assert raw["left_early_money"](12_000, 0.5) == 6000
    assert raw["worst_case_money"](1, 2, 3, 4, 5, 6) == 21
    assert len(raw) == 24  # none is left out


@pytest.mark.parametrize(
    ("uptime", "share"), [(0.999, 0.0), (0.995, 0.0), (0.9949, 0.1), (0.99, 0.1), (0.98, 0.25), (0.9, 0.25)]
)
def test_the_ladder_pays_below_its_step_and_the_most_that_is_reached(uptime, share):
    quote = replace(HONEST, credit_ladder=(Credit(0.995, 0.10), Credit(0.99, 0.25)), credit_cap_ratio=None)
    assert credit_at(Subject(quote, DAY), uptime) == share
    capped = replace(quote, credit_cap_ratio=0.2)
    assert credit_at(Subject(capped, DAY), uptime) == min(share, 0.2)


def test_leaving_costs_the_fee_or_the_rest_whichever_is_less():
    made = audit(
        replace(HONEST, early_exit_fee=usd("300000"), early_exit_fee_ratio=None, upfront_ratio=0.0), DAY
    )
    owed = [one.owed_money for one in made.liability.months]
    month = 2_578_944 / 24
    assert owed[0] == 300_000
    assert owed[23] == pytest.approx(month)
    assert owed[22] == pytest.approx(2 * month)
    assert max(owed) == 300_000


@pytest.mark.parametrize(
    ("months", "mean"),
    [(12.0, 0.0), (24.0, 0.05), (36.0, (0 + 0.1 + 0.21) / 3), (6.0, 0.0), (30.0, (0 + 0.1 + 0.21) / 3)],
)
def test_a_rise_begins_with_the_second_year(months, mean):
    quote = replace(HONEST, **BARE, term_months=months, minimum_term_months=None, unit_price=usd(2),
                    price_adjustment_clause="10 % a year at most",
                    price_adjustment_limit_ratio_per_year=0.10)  # fmt: skip
    parts = dict(audit(quote, DAY).liability.parts)
    assert parts["commitment"] == pytest.approx(2 * 64 * 730 * months)
    assert parts["adjustment"] == pytest.approx(parts["commitment"] * mean)


def test_a_machine_s_price_is_a_card_s_times_the_cards_in_it():
    quote = Quote(vendor="V", issued="2026-11-20", purpose="buy", accelerator="H100", form_factor="SXM",
                  accelerators_count=16, accelerators_per_node_count=8, unit="node", unit_price=usd(240_000),
                  currency="USD")  # fmt: skip
    row, lacking = offer_of(quote, DAY)
    assert not lacking
    assert Decimal(row["amount"]) == 30_000
    assert row["unit"] == "accelerator"
    assert Decimal(offer_of(replace(quote, unit="gpu"), DAY)[0]["amount"]) == 240_000
    assert offer_of(replace(quote, accelerators_per_node_count=None, unit="node"), DAY)[1]
    rent, _ = offer_of(
        replace(quote, purpose="reserve", unit="node_hour", unit_price=usd(16), term_months=12.0), DAY
    )
    assert (Decimal(rent["amount"]), rent["capacity"], rent["term_months"]) == (2, "reserved", 12)


def test_offers_whose_ranges_overlap_are_doubted():
    known = {
        "utilisation_ratio": 0.6, "stored_gb": 0.0, "egress_gb_per_month": 0.0, "staff_count": 1.0,
        "migration_days": 5.0,
    }  # fmt: skip

    def offer(name, price):
        return replace(audit(replace(HONEST, unit_price=usd(price), **BARE), DAY, needs=known), quote_id=name)

    near, far = (compare([offer("first", "2.00"), offer("other", price)]) for price in ("2.02", "20.00"))
    assert any("other" in one for one in near.doubts)
    assert not any("other" in one for one in far.doubts)


# ---- the book, and the floors


def sighting(provider, amount, seen):
    return SimpleNamespace(provider=provider, amount=Decimal(str(amount)), seen=seen, capacity="on-demand", country="",
                           source=SimpleNamespace(what="w", url=""))  # fmt: skip


def test_each_seller_s_last_price_counts_and_a_tie_counts_half(monkeypatch):
    sold = [
        sighting("a", 1, "2026-01-01"), sighting("a", 3, "2026-06-01"), sighting("b", 2, "2026-05-01"),
        sighting("c", 4, "2026-05-01"), sighting("d", 5, "2026-05-01"), sighting("e", 6, "2026-05-01"),
        sighting("e", 5.5, "2026-05-01"),
    ]  # fmt: skip
    monkeypatch.setattr(placed, "believed_offers", lambda *_: sold)
    for name, answer in (("votes", True), ("is_own", False), ("is_market", False)):
        monkeypatch.setattr(placed, name, lambda _, answer=answer: answer)
    monkeypatch.setattr(placed, "whole_money", lambda one, _: float(one.amount))
    subject = Subject(replace(HONEST, purpose="rent", term_months=None, minimum_term_months=None, country=None,
                              region=None), DAY)  # fmt: skip
    shares = {
        price: placed.placed(subject, price, SimpleNamespace()).percentile_ratio
        for price in (1.0, 2.0, 3.0, 3.5, 5.5, 9.0)
    }  # of 2, 3, 4, 5 and 5.5
    assert shares == {1.0: 0.0, 2.0: 0.1, 3.0: 0.3, 3.5: 0.4, 5.5: 0.9, 9.0: 1.0}
    assert placed.placed(subject, 3.0, SimpleNamespace()).median_money == 4.0


def test_floors_are_the_least_that_was_measured_and_leave_a_margin(monkeypatch):
    known = facts.measurements()
    triad = next(
        one
        for one in known
        if one.accelerator == "h100-sxm-80" and one.kind == "hbm_bandwidth" and one.what == "Triad"
    )
    for part in (0.5, 2.0):  # a card that was slower, one that was faster
        more = (*known, replace(triad, value=part * triad.value))
        monkeypatch.setattr(facts, "measurements", lambda more=more: more)
        floors = {one.key: one for one in audit(HONEST, DAY).annex}
        assert floors["bandwidth"].at == pytest.approx(0.95 * min(1.0, part) * triad.value / 1e9)
