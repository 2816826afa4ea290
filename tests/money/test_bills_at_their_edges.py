"""Bills where something is zero, missing, spare or several: by hand."""

from dataclasses import replace
from math import exp, hypot

import pytest
from money_world import API, CARD, offer, serving, training

from cabida import facts, money
from cabida.money.bills import tenures
from cabida.money.bills.evaluation import JudgeUse, judged_tree, with_judge
from cabida.money.bills.retrieval import RetrievalUse, stages_bill, stages_money
from cabida.money.bills.serving import serving_bill
from cabida.money.bills.tenures import serverless_of
from cabida.money.bills.training import training_use
from cabida.money.currency import Rate
from cabida.money.hold.ledger import MonthBill, ledger
from cabida.money.hold.reserve import Commitment, Scenario, reserve
from cabida.money.own.footprint import Working, footprint
from cabida.money.own.owned import renewals_of, rents_seen
from cabida.money.own.owning import host_power
from cabida.money.own.purchase import Purchase
from cabida.money.prices import spot
from cabida.money.prices.offers import ways_for
from cabida.money.prices.serverless import workers
from cabida.money.prices.tenure import tenure_of
from cabida.money.ways import Explained, Plain

TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=36)
METERED = replace(TERMS, power_billing="energy")
USAGE = money.Usage(1e6, 1000, 300, utilisation_ratio=0.6)


def test_spares_of_ones_own_idle():
    """Three work six tenths of the time and one stands by: 0.45 of what is held."""
    cost = money.serving_cost(serving(offer("30000", "buy"), replicas=3, spares=1), USAGE, METERED)
    busy, idle = TERMS.base("busy_power_ratio"), TERMS.base("idle_power_ratio")
    card = 700 * (0.45 * busy + 0.55 * idle) * host_power(Plain(TERMS), CARD, at_desk=False)
    assert cost.line("energy") == pytest.approx(
        card / 1000 * 4 * 730 * TERMS.base("electricity_money_per_kwh")
    )


def test_a_machine_draws_what_its_kind_does_where_that_is_known():
    known = [
        (card, node)
        for card in facts.accelerators().values()
        if card.tdp_w and (node := facts.node_for(card)) is not None and node.power_w
    ]
    assert known
    for card, node in known:
        ratio = host_power(Plain(TERMS), card, at_desk=False)
        assert ratio == pytest.approx(node.power_w / (node.accelerators_count * card.tdp_w))
        assert ratio > 1
    card = known[0][0]
    assert host_power(Plain(TERMS), card, at_desk=True) == TERMS.base("desktop_host_power_ratio")
    stated = money.terms("USD", as_of="2026-11-30", stated={"host_power_ratio": 1.3})
    assert host_power(Plain(stated), card, at_desk=False) == 1.3
    unknown = replace(card, tdp_w=None)
    assert host_power(Plain(TERMS), unknown, at_desk=False) == TERMS.base("host_power_ratio")


def test_interruptions_in_the_interval_of_a_spot_bill():
    usage = replace(USAGE, request_s=20.0)
    cost = money.serving_cost(serving(offer("1.00", "spot")), usage, TERMS)
    held = 2 * 730 * 1.0
    ends = spot.served_ratio(offer("1.00", "spot"), TERMS, 1.0, 0.0, 10.0)
    assert cost.line("interruptions") == pytest.approx(held * (ends.base - 1))
    ranges = TERMS.ranges
    named = {
        "storage": "storage_money_per_gb_per_month", "network": "egress_money_per_gb",
        "serving_stack": "serving_stack_money_per_month", "observability": "observability_node_money_per_month",
        "platform_labour": "rent_staff_count",
    }  # fmt: skip
    above = [cost.line(key) * (ranges[name].high / ranges[name].base - 1) for key, name in named.items()]
    above += [held * (ranges["fresh_price_ratio"].high - 1), held * (ends.high - ends.base)]
    assert cost.per_accepted_high == pytest.approx((cost.per_month_money + hypot(*above)) / 1e6)
    below = [cost.line(key) * (1 - ranges[name].low / ranges[name].base) for key, name in named.items()]
    below += [held * (1 - ranges["fresh_price_ratio"].low), held * (ends.base - ends.low)]
    assert cost.per_accepted_low == pytest.approx((cost.per_month_money - hypot(*below)) / 1e6)


def test_a_reservation_nobody_published_is_told_and_what_is_rented_is_owed_to_nobody():
    derived = tenure_of(offer("2.00"), CARD, TERMS, 8, "reserved_12_discount_ratio")
    plain = tenure_of(offer("2.00"), CARD, TERMS, 8)
    notes = [
        len(money.serving_cost(serving(offer("2.00"), 8), USAGE, TERMS, one).notes)
        for one in (derived, plain)
    ]
    assert notes[0] == notes[1] + 1
    use = money.TrainingUse(ideal_hours=1000, wall_s=150 * 3600.0)
    assert money.training_cost(training(offer("2.00")), use, TERMS, plain).committed_money == 0
    owed = money.training_cost(training(offer("2.00")), use, TERMS, derived).committed_money
    assert owed == pytest.approx(derived.money_per_hour * 8 * 730 * 12)


def test_what_a_run_uses_by_hand():
    run = training(offer("2.00"), 8).run
    use = training_use(
        run, 3.6e9, 50_000.0, 90_000.0, acceptance_ratio=0.5, dataset_bytes=4e12, checkpoint_bytes=1.1e11,
        runs_per_month=2.0,
    )  # fmt: skip
    assert use.ideal_hours == pytest.approx(8 * 20)  # 72,000 s
    assert use.goodput_ratio == pytest.approx(0.8)
    assert (use.dataset_gb, use.checkpoint_gb) == pytest.approx((4000, 110))
    assert (use.acceptance_ratio, use.runs_per_month, use.wall_s) == (0.5, 2.0, 90_000.0)
    assert training_use(run, 3.6e9, 50_000.0, 1.0).goodput_ratio == 1.0  # never above one


def test_serverless_hours_are_all_workers_and_their_share_is_of_them():
    priced = offer("3.00", "serverless", includes=("host",))
    usage = replace(USAGE, request_s=5.0, profile=(0.5, 1.5))
    tenure = tenure_of(priced, CARD, TERMS, 4)
    one = serving(priced, 4)
    hours = serverless_of(one.deployment, 4, usage, 1.0, TERMS).worker_hours_per_month
    bill = serving_bill(Plain(TERMS), one, usage, tenure)
    held = sum(bill[key] for key in ("compute", "idle", "retries_waste", "spares"))
    assert held == pytest.approx(hours * 3.0)
    assert bill["idle"] == pytest.approx(held * (1 - 4 * 0.6 * 730 / hours))
    assert bill["spares"] == 0


def test_demand_that_doubles_is_rented_doubled():
    growing = (Scenario("doubling", 1.0, 0.0, 1.0),)
    found = reserve([1.0], 2.0, Commitment(12, 1.0), growing, 12)
    assert found.on_demand_money == pytest.approx(2 * 2.0 * 730 * 12)  # a second one from the first month
    assert (found.count, found.money) == (2, pytest.approx(2 * 730 * 12))
    shrinking = (Scenario("halving", -0.5, 0.0, 1.0),)
    fewer = reserve([4.0], 2.0, Commitment(12, 1.0), shrinking, 12)
    months = [-(-4 * 0.5 ** ((month + 0.5) / 12) // 1) for month in range(12)]
    assert fewer.on_demand_money == pytest.approx(2.0 * 730 * sum(months))


def test_eight_years_of_renewals_and_the_last_day_a_rent_was_seen():
    bought = Purchase(CARD, offer("30000", "buy"), "server", 8, 8, 8, 1, 0.6)
    assert [one.years for one in renewals_of(bought, TERMS)] == [1, 2, 3, 4, 5, 6, 7, 8]
    rents = [
        tenure_of(offer(price, provider=price, seen=day), CARD, TERMS)
        for price, day in (("2.00", "2026-11-02"), ("3.00", "2026-11-20"))
    ]
    assert [one.seen for one in rents_seen(rents, at_desk=False)] == ["2026-11-02", "2026-11-20"]


def test_a_ledger_tells_the_replicas_of_each_month():
    bills = [MonthBill(count, count, {"rent": 100.0 * count}) for count in (1, 2, 3)]
    assert [row.replicas_count for row in ledger(bills, 3.0, "2027-01-01")] == [1, 1, 2, 3]


def test_the_tree_of_judged_runs_is_their_bill():
    candidate = serving(offer("2.00"))
    cost, tree = money.serving_cost(candidate, USAGE, TERMS), money.cost_tree(candidate, USAGE, TERMS)
    for use in (JudgeUse(1e5, 1500, 50, 0.0, offer=API), None):
        grown, judged = judged_tree(tree, use, 40.0, TERMS), with_judge(cost, use, TERMS)
        assert float(grown["cost.judging"]) == pytest.approx(judged.line("judging"))
        assert float(grown["cost_per_month"]) == pytest.approx(judged.per_month_money)
        assert float(grown["unit_cost"]) == pytest.approx(judged.per_accepted_money)
        assert float(grown["evaluated_model_money"]) == pytest.approx(judged.per_month_money / 40)


def test_a_worker_beside_full_ones_sleeps_when_little_is_left():
    found = workers(10.01, 10.0, request_s=1.0, idle_s=10.0)
    assert found.on_count == pytest.approx(1 + 1 - exp(-0.01 * 11))


def test_serverless_workers_carry_what_the_replicas_do():
    """A million a month on 4 replicas busy six tenths of half the month: 1.2 of them at work on average."""
    usage = replace(USAGE, request_s=5.0, active_hours_per_month=365.0)
    found = serverless_of(serving(offer("3.00", "serverless"), 4).deployment, 4, usage, 1.1, TERMS)
    rate = 1.1e6 / (730 * 3600)
    cold = TERMS.base("engine_start_s") + 16.06 / TERMS.base("cold_gb_per_s")
    hand = workers(
        rate, rate / 1.2, request_s=5.0, idle_s=TERMS.base("serverless_idle_s"), cold_s=cold,
        start_billed_ratio=TERMS.base("serverless_start_billed_ratio"),
    )  # fmt: skip
    assert found.cold_s == pytest.approx(cold)
    assert found.worker_hours_per_month == pytest.approx(730 * hand.on_count)
    assert found.cold_ratio == pytest.approx(hand.cold_ratio)


def test_a_run_on_spot_waits_a_quarter_of_the_time():
    assert tenures.run_months.raw(730 * 3600, 1.2, 0.25) == pytest.approx(1.6)
    assert spot.waited_slowdown_ratio.raw(1.2, 0.25) == pytest.approx(1.6)


def test_a_server_bought_whole_has_its_machine_in_the_price():
    cost = money.serving_cost(serving(offer("40000", "buy", accelerators_count=8), 8), USAGE, TERMS)
    assert cost.capex_money == pytest.approx(8 * 40_000 * TERMS.base("network_capital_ratio"))


@pytest.mark.parametrize(
    ("stated", "billing"),
    [
        ({}, ""),
        ({"electricity_money_per_kwh": 0.1}, "energy"),
        ({"pue_ratio": 1.2}, "energy"),
        ({"colocation_money_per_kw_per_month": 150.0}, ""),
        ({"electricity_money_per_kwh": 0.1, "colocation_money_per_kw_per_month": 150.0}, ""),
    ],
)
def test_who_states_a_tariff_is_billed_by_the_meter(stated, billing):
    assert money.terms("USD", as_of="2026-11-30", stated=stated).power_billing == billing


def test_an_api_binds_nobody_and_its_price_is_converted_once():
    euros = money.terms("EUR", as_of="2026-11-30", rates=[Rate("USD", "EUR", 0.8, "2026-11-30", "brief")])
    plain, converted = (money.api_cost(API, USAGE, terms) for terms in (TERMS, euros))
    assert converted.line("compute") == pytest.approx(0.8 * plain.line("compute"))
    assert (plain.capex_money, plain.committed_money) == (0, 0)
    tree = money.api_tree(API, USAGE, euros)
    assert float(tree["cost.compute"]) == pytest.approx(converted.line("compute"))


def test_prepaid_rent_of_months_that_differ_is_spread_as_they_are():
    bills = [MonthBill(1, 1, {"rent": 100.0}), MonthBill(3, 3, {"rent": 300.0})]
    rows = ledger(bills, 2.0, "2027-01-01", prepaid_ratio=0.5, term_months=2)
    assert rows[0].cash == {"prepaid": 200.0}
    assert [row.cash["rent"] for row in rows[1:]] == [50.0, 150.0]
    assert [row.expense["rent"] for row in rows[1:]] == [100.0, 300.0]
    half = ledger([MonthBill(1, 1, {"rent": 100.0})] * 2, 1.5, "2027-01-01")
    assert [row.cash.get("rent") for row in half] == [None, 100.0, 50.0]


def test_a_whole_server_is_paid_back_without_another_around_it():
    cost = money.serving_cost(serving(offer("40000", "buy", accelerators_count=8), 8), USAGE, TERMS)
    rate, life = TERMS.base("wacc_ratio"), TERMS.base("life_years")
    month = cost.capex_money * rate / (1 - (1 + rate) ** -life) / 12
    assert sum(cost.line(key) for key in ("compute", "idle", "retries_waste", "spares")) == pytest.approx(
        month
    )


def test_nothing_accepted_has_no_electricity_of_its_own():
    bought = tenure_of(offer("30000", "buy"), CARD, TERMS, 8)
    assert footprint(CARD, bought, Working(8, 730.0, 0.5, 0.0), TERMS) == {}


def test_only_who_stays_in_business_is_assumed_to_reserve():
    kinds = {
        kind: {one.capacity for one in ways_for(CARD, 1, [offer("2.00", provider_kind=kind)], TERMS)}
        for kind in ("hyperscaler", "neocloud", "marketplace", "reseller")
    }
    assert kinds["hyperscaler"] == kinds["neocloud"] == {"on-demand", "reserved"}
    assert kinds["marketplace"] == kinds["reseller"] == {"on-demand"}
    community = offer("2.00", notes="community; anything")
    assert {one.capacity for one in ways_for(CARD, 1, [community], TERMS)} == {"on-demand"}


@pytest.mark.parametrize("billing", ["energy", "reserved_kw"])
def test_cards_that_encode_are_paid_as_their_owner_pays(billing):
    stated = {
        "wacc_ratio": 0.1, "life_years": 4.0, "busy_power_ratio": 0.8, "idle_power_ratio": 0.1, "pue_ratio": 1.5,
        "host_power_ratio": 1.5, "electricity_money_per_kwh": 0.2, "support_ratio_per_year": 0.1,
        "spares_ratio_per_year": 0.02, "licence_money_per_year": 1200.0, "server_capital_ratio": 1.5,
        "network_capital_ratio": 1.2, "decay_ratio": 0.2, "colocation_money_per_kw_per_month": 180.0,
    }  # fmt: skip
    terms = replace(money.terms("USD", as_of="2026-11-30", stated=stated), power_billing=billing)
    bought = tenure_of(offer("8000", "buy"), CARD, terms, 4)
    use = RetrievalUse(
        tenure=bought, cards_count=4, shares={"embedding": 0.25}, hosts_count=0, host_money_per_hour=0.0,
        host_currency="USD", host_source="", stored_gb=0.0, ingestion=None, ingested_tokens_per_month=0.0,
        ingested_tokens_per_s=1.0, attempted_requests_per_month=0.0, moderation_money_per_request=0.0, busy_ratio=0.5,
    )  # fmt: skip
    recovery = 0.1 / (1 - 1.1**-4)
    capital = 4 * 8000 * 1.5 * 1.2
    month = capital * recovery / 12 - 4 * 8000 * 0.8**4 / 1.1**4 * recovery / 12
    month += capital * 0.12 / 12 + 4 * 1200 / 12
    metered = 700 * (0.5 * 0.8 + 0.5 * 0.1) * 1.5 / 1000 * 4 * 730 * 0.2 * 1.5
    month += metered if billing == "energy" else 700 * 1.5 / 1000 * 4 * 180
    assert stages_money(use, terms)["embedding"] == pytest.approx(month / 4)
    paid = tenure_of(offer("0", "have", unit="accelerator"), CARD, terms, 4)
    power = metered if billing == "energy" else 700 * 1.5 / 1000 * 4 * 180
    own = stages_money(replace(use, tenure=paid), terms)["embedding"]
    assert own == pytest.approx((power + 4 * 1200 / 12) / 4)
    batch = replace(use, ingestion=bought, ingested_tokens_per_month=3600.0 * 7)
    whole = float(stages_money(replace(use, busy_ratio=1.0), terms)["embedding"]) * 4
    assert stages_money(batch, terms)["ingestion"] == pytest.approx(7 * whole / 4 / 730)
    told = stages_bill(Explained(terms, {}), batch)
    assert {name: float(value) for name, value in told.items()} == pytest.approx(stages_money(batch, terms))
    kinds = ("energy_money_per_month", "colocation_money_per_month")
    power_told = [one.name for one in told["embedding"].nodes() if one.name in kinds and float(one)]
    assert power_told == [kinds[billing == "reserved_kw"]]


def test_rented_cards_are_looked_after_by_eights_however_they_are_sold():
    """A card on a machine of its own takes no more of one's own people than one of eight; owned ones by the node."""
    single = facts.node_for(facts.accelerator("gh200-96"))
    assert single.accelerators_count == 1
    for node, capacity, watched in (
        (None, "on-demand", 2),
        (single, "on-demand", 2),
        (single, "buy", 12),
    ):  # boards of four
        candidate = serving(offer("2.00", capacity), replicas=9)
        candidate = replace(candidate, deployment=replace(candidate.deployment, node=node))
        bill = money.serving_cost(candidate, USAGE, TERMS)
        each = TERMS.base("observability_node_money_per_month")
        assert bill.line("observability") == pytest.approx(watched * each), capacity
