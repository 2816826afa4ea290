"""Properties of bills: parts make the whole, waste is shown, trees agree with sweeps, prices carry their doubts."""

import time
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from money_world import API, CARD, offer, serving, training

from cabida import money
from cabida.errors import InvalidInput
from cabida.money.bills import serving as serving_bills
from cabida.text import use_language

TERMS = money.terms("USD", as_of="2026-11-30")
USAGE = money.Usage(1e6, 1000, 300, acceptance_ratio=0.9, failure_ratio=0.02, tries_count=2)
RUN = money.TrainingUse(
    ideal_hours=1000, wall_s=150 * 3600.0, goodput_ratio=0.9, dataset_gb=500, checkpoint_gb=110
)
WAYS = [
    offer("2.00"),
    offer("1.00", "spot"),
    offer("1.50", "reserved", term_months=12),
    offer("30000", "buy"),
    offer("0", "have", unit="accelerator_hour"),
    offer("16000", "have", unit="accelerator"),
]

ratios = st.floats(0.01, 1.0)
usages = st.builds(
    money.Usage,
    requests_per_month=st.floats(1, 1e9),
    input_tokens=st.floats(0, 1e5),
    output_tokens=st.floats(0, 1e4),
    cached_ratio=st.floats(0, 1),
    acceptance_ratio=ratios,
    failure_ratio=st.floats(0, 0.9),
    tries_count=st.integers(1, 5).map(float),
    failures_repeated=st.booleans(),
    utilisation_ratio=ratios,
    active_hours_per_month=st.floats(1, 730),
    review_money_per_output=st.floats(0, 1),
)


@settings(max_examples=60, deadline=None)
@given(usages, st.sampled_from(WAYS), st.integers(1, 9), st.integers(0, 2), st.sampled_from([1, 2, 8]))
def test_the_lines_make_the_total_and_the_interval_holds_it(usage, priced, replicas, spares, tp):
    cost = money.serving_cost(serving(priced, replicas, spares, tp), usage, TERMS)
    assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
    assert cost.per_accepted_low <= cost.per_accepted_money <= cost.per_accepted_high
    assert cost.per_accepted_money * cost.accepted_per_month == pytest.approx(cost.per_month_money)
    assert 0 < cost.coverage_ratio <= 1
    assert all(line.money > 0 for line in cost.lines if line.key != "residual")


@settings(max_examples=60, deadline=None)
@given(usages, st.integers(1, 9), st.integers(0, 3))
def test_what_is_held_is_split_without_loss(usage, replicas, spares):
    cost = money.serving_cost(
        serving(offer("1.50", "reserved", term_months=12), replicas, spares), usage, TERMS
    )
    held = 1.50 * 730 * (replicas + spares)
    parts = {key: cost.line(key) for key in ("compute", "idle", "retries_waste", "spares")}
    assert sum(parts.values()) == pytest.approx(held)
    assert parts["spares"] == pytest.approx(1.50 * 730 * spares)
    kept = usage.requests_per_month * cost.coverage_ratio / money.attempted_requests(usage)
    assert parts["compute"] == pytest.approx((parts["compute"] + parts["retries_waste"]) * kept)


@settings(max_examples=25, deadline=None)
@given(usages, st.sampled_from(WAYS))
def test_the_tree_says_the_same_as_the_sweep(usage, priced):
    candidate = serving(priced, 2, 1, 2)
    cost, tree = money.serving_cost(candidate, usage, TERMS), money.cost_tree(candidate, usage, TERMS)
    assert float(tree["unit_cost"]) == pytest.approx(cost.per_accepted_money)
    assert float(tree["cost_per_month"]) == pytest.approx(cost.per_month_money)
    for line in cost.lines:
        assert float(tree[f"cost.{line.key}"]) == pytest.approx(line.money)


@pytest.mark.parametrize("priced", WAYS, ids=lambda way: f"{way.capacity}-{way.unit}")
def test_the_tree_of_a_price_ends_at_its_sighting(priced):
    tree = money.cost_tree(serving(priced), USAGE, TERMS)
    leaves = tree["unit_cost"].leaves()
    sightings = [
        leaf
        for leaf in leaves
        if leaf.source and leaf.source.url == priced.source.url and "price" in leaf.name
    ]
    assert sightings or priced.amount == 0
    assert all(leaf.value == float(priced.amount) for leaf in sightings)
    assert len({id(leaf) for leaf in sightings}) <= 1


def test_a_rejected_answer_is_paid_for_but_not_counted():
    perfect = replace(USAGE, acceptance_ratio=1.0, failure_ratio=0.0, tries_count=1.0)
    half = replace(perfect, acceptance_ratio=0.5)
    candidate = serving(offer())
    good, bad = (money.serving_cost(candidate, usage, TERMS) for usage in (perfect, half))
    assert bad.per_accepted_money == pytest.approx(2 * good.per_accepted_money)
    assert bad.coverage_ratio == 0.5
    assert (good.line("retries_waste"), bad.line("retries_waste")) == (
        0.0,
        pytest.approx(bad.line("compute")),
    )


def test_idle_hours_cost_a_reservation_but_not_on_demand():
    half_day = replace(USAGE, active_hours_per_month=365.0)
    hourly = money.serving_cost(serving(offer("2.00")), half_day, TERMS)
    reserved = money.serving_cost(serving(offer("1.50", "reserved", term_months=12)), half_day, TERMS)

    def held(cost):
        return sum(cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))

    assert held(hourly) == pytest.approx(2 * 2.00 * 365)
    assert held(reserved) == pytest.approx(2 * 1.50 * 730)
    assert reserved.line("idle") > hourly.line("idle")
    assert reserved.committed_money == pytest.approx(2 * 1.50 * 730 * 12)


def test_power_is_billed_by_the_meter_or_by_reserved_kilowatt_never_both():
    candidate = serving(offer("30000", "buy"))
    rack = money.serving_cost(candidate, USAGE, TERMS)
    meter = money.serving_cost(candidate, USAGE, replace(TERMS, power_billing="energy"))
    assert rack.line("colocation") > 0
    assert rack.line("energy") == rack.line("cooling") == 0
    assert meter.line("colocation") == 0
    assert meter.line("cooling") == pytest.approx(0.58 * meter.line("energy"))


def test_machines_sold_whole_are_paid_whole():
    one = money.serving_cost(serving(offer("2.00", accelerators_count=8), replicas=1), USAGE, TERMS)
    assert sum(one.line(key) for key in ("compute", "idle", "retries_waste")) == pytest.approx(2.00 * 8 * 730)


def test_longer_resale_is_cheaper_owning():
    cheap, dear = (
        money.serving_cost(
            serving(offer("30000", "buy")), USAGE, money.terms("USD", stated={"decay_ratio": decay})
        )
        for decay in (0.1, 0.5)
    )
    assert cheap.per_month_money < dear.per_month_money


def test_the_reporting_currency_changes_figures_not_order():
    rates = [money.Rate("EUR", "USD", 1.25, "2026-11-30", "brief")]
    euros = money.terms("EUR", as_of="2026-11-30", rates=rates)
    for priced in WAYS:
        in_dollars = money.serving_cost(serving(priced), USAGE, TERMS).per_month_money
        assert money.serving_cost(serving(priced), USAGE, euros).per_month_money * 1.25 == pytest.approx(
            in_dollars
        )


def test_a_currency_without_a_rate_is_refused_with_its_cure():
    with pytest.raises(InvalidInput, match=r"CB-F006") as raised:
        money.serving_cost(serving(offer("2.00", currency="XAU")), USAGE, TERMS)
    assert "XAU" in raised.value.problems[0].what
    assert raised.value.problems[0].cure


def test_api_bills_cached_input_and_batch_apart():
    plain = money.Usage(1e6, 1000, 200)
    cached = replace(plain, cached_ratio=0.5)
    tokens = money.api_cost(API, plain, TERMS).line("compute")
    assert tokens == pytest.approx(1e6 * (1000 * 0.20 + 200 * 0.60) / 1e6)
    assert money.api_cost(API, cached, TERMS).line("compute") == pytest.approx(1000 * 0.125 + 200 * 0.60)
    assert money.api_cost(API, replace(plain, batch=True), TERMS).line("compute") == pytest.approx(100 + 60)
    assert float(money.api_tree(API, cached, TERMS)["unit_cost"]) == pytest.approx(
        money.api_cost(API, cached, TERMS).per_accepted_money
    )


def test_an_api_charges_failed_and_rejected_attempts():
    cost = money.api_cost(API, USAGE, TERMS)
    paid = cost.line("compute") + cost.line("retries_waste")
    charged = 1 - USAGE.failure_ratio / 2  # half of the failed ones, assumed
    assert paid == pytest.approx(money.attempted_requests(USAGE) * charged * (1000 * 0.20 + 300 * 0.60) / 1e6)


@pytest.mark.parametrize("priced", WAYS, ids=lambda way: f"{way.capacity}-{way.unit}")
def test_a_run_adds_up_and_its_tree_agrees(priced):
    cost = money.training_cost(training(priced), RUN, TERMS)
    tree = money.training_tree(training(priced), RUN, TERMS)
    assert sum(line.money for line in cost.lines) == pytest.approx(cost.per_month_money)
    assert float(tree["unit_cost"]) == pytest.approx(cost.per_accepted_money)
    assert cost.per_accepted_low <= cost.per_accepted_money <= cost.per_accepted_high


def test_a_run_on_demand_is_hours_over_goodput():
    stated = {"failed_run_ratio": 0.0}
    cost = money.training_cost(training(offer("2.00")), RUN, money.terms("USD", stated=stated))
    assert cost.line("compute") == pytest.approx(2000)
    assert cost.line("failed_runs") == pytest.approx(2000 / 0.9 - 2000)


def test_half_the_hours_lost_to_failed_runs_doubles_hours_people_and_disks_once():
    whole, half = (
        money.training_cost(
            training(offer("2.00")), RUN, money.terms("USD", stated={"failed_run_ratio": ratio})
        )
        for ratio in (0.0, 0.5)
    )
    paid = [one.line("compute") + one.line("failed_runs") for one in (whole, half)]
    assert paid[1] == pytest.approx(2 * paid[0])
    for name in ("storage", "checkpoints", "platform_labour"):
        assert half.line(name) == pytest.approx(2 * whole.line(name))
        assert whole.line(name) > 0 or name == "storage"
    assert half.line("network") == whole.line("network")
    tree = money.training_tree(training(offer("2.00")), RUN, TERMS)
    assert [one.name for one in tree["cost_per_run"].nodes()].count("failed_run_ratio") == 1


def test_half_the_runs_good_doubles_the_cost_of_an_accepted_model():
    half = money.training_cost(training(offer("2.00")), replace(RUN, acceptance_ratio=0.5), TERMS)
    assert half.per_accepted_money == pytest.approx(2 * half.per_month_money)


def test_a_burst_on_a_bought_machine_pays_for_its_idle_months():
    rare, often = (
        money.training_cost(training(offer("30000", "buy")), replace(RUN, runs_per_month=often), TERMS)
        for often in (0.25, 4.0)
    )
    assert rare.line("idle") > 5 * rare.line("compute")
    assert often.per_month_money < rare.per_month_money


def test_spot_training_pays_for_interruptions():
    stretch = money.stretch_ratio(money.tenure_of(offer("1.00", "spot"), CARD, TERMS), RUN, TERMS, 4)
    assert 1.0 < stretch < 2.0
    spot, calm = (
        money.training_cost(training(offer("1.00", capacity)), RUN, TERMS).line("failed_runs")
        for capacity in ("spot", "on-demand")
    )
    assert spot > calm


def test_a_bill_the_brief_states_is_taken_as_it_is():
    stated = {"storage_money_per_month": 77.0, "observability_money_per_month": 5.0}
    cost = money.serving_cost(serving(offer("2.00")), USAGE, money.terms("USD", stated=stated))
    assert (cost.line("storage"), cost.line("observability")) == (77.0, 5.0)


def test_a_machine_at_a_desk_has_no_gateway_and_a_stated_team_is_the_whole_team():
    desk = replace(CARD, segment="consumer", tdp_w=350.0)
    at_desk = serving(offer("700", "buy"), accelerator=desk)
    cost = money.serving_cost(at_desk, USAGE, TERMS)
    assert cost.line("serving_stack") == cost.line("observability") == 0
    assert cost.line("platform_labour") == pytest.approx(0.05 * 150_000 / 12)
    told = {"desktop_staff_count": 0.0, "rent_staff_count": 0.0, "serving_stack_money_per_month": 9.0}
    stated = money.terms("USD", stated=told)
    assert money.serving_cost(at_desk, USAGE, stated).line("serving_stack") == 9.0
    assert money.serving_cost(at_desk, USAGE, stated).line("platform_labour") == 0
    assert money.serving_cost(serving(offer("2.00")), USAGE, stated).line("platform_labour") == 0


def test_a_hundred_microseconds_a_bill():
    candidate, tenure = serving(offer("2.00")), money.tenure_of(offer("2.00"), CARD, TERMS, 2)
    began = time.perf_counter()
    for _ in range(500):
        money.serving_cost(candidate, USAGE, TERMS, tenure)
    assert (time.perf_counter() - began) / 500 < 400e-6  # 25 µs when nothing else runs


def test_notes_speak_the_readers_language():
    use_language("es")
    try:
        cost = money.serving_cost(serving(offer("1.00", "spot")), USAGE, TERMS)
    finally:
        use_language("en")
    assert cost.notes[0].startswith("Las réplicas spot")


def test_a_spare_is_on_all_month_while_the_others_follow_the_demand():
    usage = replace(USAGE, active_hours_per_month=292.0, utilisation_ratio=0.5)
    cost = money.serving_cost(serving(offer("2.00"), replicas=6, spares=1), usage, TERMS)
    assert cost.line("spares") == pytest.approx(2.00 * 730)
    held = sum(cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
    assert held == pytest.approx(2.00 * (6 * 292 + 730))
    assert cost.line("compute") + cost.line("retries_waste") == pytest.approx(2.00 * 6 * 292 * 0.5)


def test_what_is_contracted_by_the_hour_pays_no_rack_and_no_resale():
    contracted = offer("1.20", "have", sighting="user")
    cost = money.serving_cost(serving(contracted, replicas=2), USAGE, TERMS)
    assert all(cost.line(key) == 0 for key in ("energy", "cooling", "colocation", "residual", "licences"))
    assert sum(cost.line(key) for key in ("compute", "idle", "retries_waste")) == pytest.approx(
        1.20 * 2 * 730
    )
    owned = money.serving_cost(serving(offer("0", "have", unit="accelerator"), replicas=2), USAGE, TERMS)
    assert owned.line("colocation") > 0


def test_long_prompts_pay_the_long_price():
    tiered = replace(API, tier_above_tokens=200_000, tier_input_amount=Decimal("0.40"))
    short, long = (replace(USAGE, input_tokens=tokens, batch=False) for tokens in (150_000.0, 250_000.0))
    dear, plain = (money.api_cost(offer, long, TERMS).per_month_money for offer in (tiered, API))
    tokens = money.attempted_requests(long) * (1 - long.failure_ratio / 2) * 250_000 / 1e6
    assert dear - plain == pytest.approx(tokens * (0.40 - 0.20))
    assert (
        money.api_cost(tiered, short, TERMS).per_month_money
        == money.api_cost(API, short, TERMS).per_month_money
    )


def test_a_pc_at_a_desk_has_its_own_disk_and_a_room_of_them_does_not():
    desk = replace(CARD, segment="consumer", tdp_w=450.0, form_factor="PCIe", link_domain_count=1)
    few, many = (
        money.serving_cost(serving(offer("1800", "buy"), replicas=count, accelerator=desk), USAGE, TERMS)
        for count in (8, 9)
    )
    assert few.line("storage") == few.line("serving_stack") == few.line("colocation") == 0
    assert min(many.line(key) for key in ("storage", "serving_stack", "colocation", "observability")) > 0
    assert many.line("platform_labour") > 5 * few.line("platform_labour")


@pytest.mark.parametrize("billing", ["energy", "reserved_kw"])
def test_a_line_at_the_ends_of_its_assumption_is_what_the_interval_takes(billing):
    """Cooling follows what PUE is over one, resale what is left after a life of falling, others in proportion."""
    plain = money.terms(power_billing=billing)
    candidate, usage = serving(offer("20000", "buy")), money.Usage(1e6, 500, 200)

    def lines(name, edge):
        found = plain.ranges[name]
        moved = replace(found, base=getattr(found, edge))
        return money.serving_cost(candidate, usage, replace(plain, ranges={**plain.ranges, name: moved}))

    now, life = money.serving_cost(candidate, usage, plain), plain.base("life_years")
    seen = set()
    for key, name in serving_bills.RANGE_OF.items():
        if now.line(key) and key != "support":  # a part of it follows failures
            found = plain.ranges[name]
            ends = serving_bills._ends(key, found.low, found.base, found.high, life)
            for edge, ratio in zip(("low", "high"), ends, strict=True):
                assert lines(name, edge).line(key) == pytest.approx(now.line(key) * ratio), (key, edge)
            seen.add(key)
    assert "residual" in seen
    assert ("cooling" in seen) == (billing == "energy")


def test_a_foreign_price_is_explained_in_its_sellers_currency():
    euros = money.terms("EUR", as_of="2026-11-30")
    rented = money.cost_tree(serving(offer("2.00")), USAGE, euros)["cost_per_month"]
    bought = money.cost_tree(serving(offer("30000", "buy")), USAGE, euros)["cost_per_month"]
    called = money.api_tree(API, USAGE, euros)["cost_per_month"]
    found = {
        (node.name, node.unit.text)
        for tree in (rented, bought, called)
        for node in tree.nodes()
        if node.name.endswith(("price_money", "_per_hour", "_per_mtok")) and not node.inputs
    }
    assert {
        ("price_money_per_hour", "USD/h"),
        ("price_money", "USD"),
        ("input_money_per_mtok", "USD/Mtok"),
    } <= found
    assert not any(unit.startswith("money") for _, unit in found)
    made = {node.name: node.unit.text for tree in (rented, called) for node in tree.nodes() if node.inputs}
    assert made["converted_money_per_hour"] == "money/h"
    assert made["converted_money_per_mtok"] == "money/Mtok"
    at_home = money.cost_tree(serving(offer("2.00", currency="EUR")), USAGE, euros)["cost_per_month"]
    assert {node.unit.text for node in at_home.nodes() if node.name == "price_money_per_hour"} == {"money/h"}


def test_a_batch_leaves_as_a_file_and_a_service_as_a_stream():
    service, batch = (
        money.serving_cost(serving(offer("2.00")), replace(USAGE, batch=batch), TERMS).line("network")
        for batch in (False, True)
    )
    tokens = serving_bills.attempted_requests(USAGE) * 300
    price = TERMS.base("egress_money_per_gb")
    assert service == pytest.approx(tokens * TERMS.base("streamed_bytes_per_token") / 1e9 * price)
    assert batch == pytest.approx(tokens * TERMS.base("written_bytes_per_token") / 1e9 * price)
    assert batch < service / 10
