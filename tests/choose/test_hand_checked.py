"""A decision's figures by hand: replicas, hours, growth, budgets, dates, credits and intervals."""

from dataclasses import replace
from math import ceil, sqrt

import pytest
from choose_briefs import AS_OF

from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.ask import START_UP_HOURS, ask_of, shift_of
from cabida.choose.means import means_of
from cabida.choose.splits import serving_splits
from cabida.facts import accelerator, model, node_for
from cabida.memory import ServingMemory
from cabida.money import serving_cost


def brief_of(**more):
    """A chat service of an 8B model on a few cards, with the given parts replaced."""
    parts = {
        "workload": "realtime-inference",
        "models": "[{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: {acceptance: 0.9, how: measured}}}]",
        "traffic": "{requests_per_s: {mean: 4, peak: 12, profile: office-hours Europe/Madrid},"
        " input_tokens: {p50: 900, p95: 3500}, output_tokens: {p50: 250, p95: 700}}",
        "objectives": "{ttft_p95: 1 s, itl_p95: 50 ms}",
        "limits": "{data: any, needed_by: 2027-06-01, availability: n+1, risk: medium}",
        "horizon": "24 months",
        "team": "{platform_engineers: 0.5, loaded_cost: 120000 USD/year}",
        "consider": "{capacity: [on-demand, reserved, buy], providers: any, accelerators: [l40s, h100-sxm-80]}",
    } | more
    text = "name: hand\n" + "".join(f"{key}: {value}\n" for key, value in parts.items() if value)
    return complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)


@pytest.fixture(scope="module")
def chat():
    return decide(brief_of(), AS_OF, show_all=True)


def test_replicas_hold_the_peak_with_its_margin_and_every_option_a_spare(chat):
    for option, one in zip(chat.decision.options, chat.worked, strict=True):
        if not one.candidate.deployment:
            continue
        wanted = 12 * 1.1  # peak, medium risk; one try, no failures
        assert one.wanted_requests_per_s == pytest.approx(wanted)
        assert option.replicas_count == ceil(wanted / one.capacity_requests_per_s - 1e-9)
        assert option.spare_replicas_count == 1


def test_the_replicas_of_the_first_options_are_explained_down_to_the_brief(chat):
    nodes = {node["id"]: node for node in chat.decision.trees}
    explained = [one for one in chat.decision.options if "needed_replicas_count" in one.trees]
    assert explained
    for option in explained:
        root = nodes[option.trees["needed_replicas_count"]]
        assert root["value"] == option.replicas_count
        needed, carried = (nodes[one["id"]] for one in root["inputs"])
        assert needed["value"] == pytest.approx(12 * 1.1)
        assert carried["grade"] == "simulated"


def test_a_month_is_price_times_accelerators_times_hours(chat):
    looked = 0
    for option, one in zip(chat.decision.options, chat.worked, strict=True):
        if one.tenure is None or one.tenure.capacity == "buy":
            continue
        each = one.candidate.deployment.parallel.accelerators_count
        active = one.usage.active_hours_per_month if one.tenure.scalable else 730
        serving = one.tenure.accelerators_count - each  # what is left over by the machine serves too
        held = sum(one.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
        assert held == pytest.approx(one.tenure.money_per_hour * (serving * active + each * 730))
        assert sum(line.money for line in option.cost_lines) == pytest.approx(option.cost_per_month_money)
        accepted = 4 * 3600 * 730 * 0.9
        assert option.unit_cost.value == pytest.approx(option.cost_per_month_money / accepted)
        assert one.cost.line("platform_labour") == pytest.approx(0.5 * 120_000 / 12)
        looked += 1
    assert looked > 10


def test_a_unit_cost_interval_holds_what_a_slow_replica_would_cost(chat):
    for option, one in zip(chat.decision.options, chat.worked, strict=True):
        if one.tenure is None or not one.capacity_requests_per_s:
            continue
        per_second = option.metrics["req_s"].low / option.replicas_count
        slow = ceil(one.wanted_requests_per_s / per_second - 1e-9) + 1
        held = sum(one.cost.line(key) for key in ("compute", "idle", "retries_waste", "spares"))
        grown = held * (slow / (option.replicas_count + 1) - 1) / one.cost.accepted_per_month
        # all that is not known is drawn together: the slow end alone is not quite its 95th percentile
        assert option.unit_cost.high >= option.unit_cost.value + 0.9 * grown


def test_memory_parts_and_headroom_are_the_whole_card(chat):
    for option in chat.decision.options:
        if option.memory:
            assert sum(option.memory.values()) == pytest.approx(option.usable_bytes)


def test_what_is_to_spare_is_what_the_load_leaves_of_the_pool(chat):
    pools = [
        (option, one)
        for option, one in zip(chat.decision.options, chat.worked, strict=True)
        if isinstance(one.room, ServingMemory) and one.room.cache_is_pool
    ]
    assert pools
    for option, one in pools:
        pool = one.room.kv_pool_bytes
        load = option.metrics["kv_use_ratio"].value * pool
        assert option.memory["headroom"] == pytest.approx(pool - max(load, one.room.required_kv_bytes))
        assert 0 < option.memory["reserve"] < 0.2 * option.usable_bytes
        assert option.memory["headroom"] > 0


def test_probabilities_make_one_and_the_least_regret_is_the_likeliest_or_near(chat):
    able = [one for one in chat.decision.options if one.status in ("chosen", "satisfies")]
    assert sum(one.best_probability for one in able) == pytest.approx(1.0)
    assert all(one.expected_regret_money >= 0 for one in able)
    for one in able:  # an option whose whole interval lies above another's has no chance
        if any(other.unit_cost.high < one.unit_cost.low for other in able):
            assert one.best_probability < 0.05


def test_hours_follow_the_profile_and_each_start_is_paid():
    ask = replace(ask_of(brief_of()), profile=(0.5,) * 12 + (1.5,) * 12, mean_requests_per_s=10.0)
    ask = replace(ask, peak_requests_per_s=15.0, margin_ratio=1.0)
    shift = shift_of(ask, 5.0, 1.0)
    on = (1 * 12 + 3 * 12 + 2 * START_UP_HOURS) / 24  # 5/s at night, 15/s by day: one and three; two starts
    assert shift.replicas_count == 3
    assert shift.active_hours_per_month == pytest.approx(730 * on / 3)
    assert shift.utilisation_ratio == pytest.approx(10 / (5 * on))


def test_growth_sizes_for_the_middle_of_the_horizon_and_says_so():
    traffic = (
        "{requests_per_s: {mean: 4, peak: 12}, growth: 44 %/year,"
        " input_tokens: {p50: 900, p95: 3500}, output_tokens: {p50: 250, p95: 700}}"
    )
    ask = ask_of(brief_of(traffic=traffic, horizon="12 months"))
    assert ask.peak_requests_per_s == pytest.approx(12 * 1.2)
    assert ask.mean_requests_per_s == pytest.approx(4 * sqrt(1.44))
    told = next(item for item in ask.assumptions if item.name == "planned_traffic_ratio")
    assert told.value == "1.2"
    assert "1.44" in told.why
    assert ask_of(brief_of()).growth_ratio == 1.0


def test_a_batch_is_done_within_its_window_start_included():
    brief = brief_of(
        workload="batch-inference",
        traffic="{items: 90000, window: 8 h, every: day, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}}",
        objectives="{}",
    )
    assert ask_of(brief).peak_requests_per_s == pytest.approx(90_000 / ((8 - START_UP_HOURS) * 3600))


def test_budgets_and_delivery_rule_out_with_their_figures():
    limits = "{data: any, needed_by: 2026-12-15, availability: none, risk: medium}"
    brief = brief_of(limits=limits, budget="{total: 100000 USD}", horizon="24 months")
    outcome = decide(brief, AS_OF, show_all=True)
    for option in outcome.decision.options:
        over = option.cost_per_month_money * 24 > 100_000
        late = option.capacity == "buy"  # 84 days for a server, 15 until it is needed
        assert (option.status == "misses") == (over or late)
        assert len(option.reasons) == over + late
    assert {one.capacity for one in outcome.decision.options} >= {"on-demand", "buy"}


def test_what_is_bought_comes_by_the_board_and_is_resold_with_the_need(chat):
    bought = [one for one in chat.worked if one.tenure and one.tenure.capacity == "buy"]
    modules = [one for one in bought if one.tenure.offer.accelerator == "h100-sxm-80"]
    assert modules
    assert all(one.tenure.accelerators_count % 4 == 0 for one in modules)
    assert means_of(brief_of(), AS_OF).terms.base("life_years") == 2.0
    assert means_of(brief_of(horizon="60 months"), AS_OF).terms.base("life_years") == 4.0
    said = means_of(brief_of(costs="{depreciation: 36 months}"), AS_OF)
    assert said.terms.base("life_years") == 3.0


def test_a_credit_lowers_the_rent_and_is_no_free_hardware():
    have = "[{accelerator: h100-sxm-80, credit: 14016 USD}]"
    brief = brief_of(have=have, horizon="12 months")
    means, without = means_of(brief, AS_OF), means_of(replace(brief, have=()), AS_OF)
    card = accelerator("h100-sxm-80")
    assert {t.capacity for t in means.tenures(card, 8)} == {t.capacity for t in without.tenures(card, 8)}
    rented = [
        one
        for one in decide(brief, AS_OF, show_all=True).worked
        if one.tenure and one.tenure.offer.accelerator == "h100-sxm-80"
    ]
    kinds = {one.tenure.capacity for one in rented}
    assert "on-demand" in kinds
    for one in rented:
        drawn = one.cost.line("credit")
        assert one.tenure.capacity != "buy" or drawn == 0
        assert -1168 - 1e-9 <= drawn <= 0  # 14016 over twelve months
        plain = serving_cost(one.candidate, one.usage, without.terms, one.tenure)
        assert one.cost.per_month_money == pytest.approx(plain.per_month_money + drawn)


def test_what_ends_before_it_is_needed_is_not_held():
    have = "[{accelerator: h100-sxm-80, count: 8, kind: contracted, price: 1.2 USD/h, until: 2027-01-01}]"
    assert "h100-sxm-80" not in means_of(brief_of(have=have), AS_OF).held_counts


def test_what_is_held_is_counted_whole_and_never_wins_traffic_it_cannot_carry():
    have = "[{accelerator: l40s, count: 4, owned: true}]"
    traffic = (
        "{requests_per_s: {mean: 40, peak: 120}, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}}"
    )
    decision = decide(brief_of(have=have, traffic=traffic), AS_OF).decision
    held = next(one for one in decision.options if one.capacity == "have" and one.status == "misses")
    assert held.accelerators_count == held.replicas_count * (2 if held.split == "tp2" else 1) == 4
    above = next((flip for flip in decision.flips if flip.name == "utilisation_above"), None)
    assert above is None or above.flips_to != held.id


def test_no_replica_spans_machines_over_a_bus():
    llama = model("meta-llama/Llama-3.3-70B-Instruct")
    for name in ("l4", "l40s", "a40"):
        card = accelerator(name)
        node = node_for(card)
        counts = [one.accelerators_count for one in serving_splits(llama, card, node)]
        assert max(counts) <= (node.accelerators_count if node else 4)
    card = accelerator("h100-sxm-80")
    assert 16 in [one.accelerators_count for one in serving_splits(llama, card, node_for(card))]


def test_a_run_over_machines_is_sold_by_someone_who_sells_machines():
    means = means_of(
        brief_of(consider="{capacity: [on-demand, spot], providers: any, accelerators: any}"), AS_OF
    )
    card = accelerator("h100-sxm-80")
    apart, joined = means.tenures(card, 64, 1), means.tenures(card, 64, 64)
    assert {t.offer.provider for t in joined} < {t.offer.provider for t in apart}
    assert all(t.offer.provider in means.machine_sellers for t in joined)
    assert not [t for t in joined if t.offer.provider_kind in ("marketplace", "serverless")]


@pytest.mark.parametrize(("team", "people"), [("0", 0.0), ("0.01", 100.0), ("2", 300.0)])
def test_an_api_takes_no_more_people_than_there_are(team, people):
    brief = brief_of(
        consider="{capacity: [api], providers: any, accelerators: any}",
        team=f"{{platform_engineers: {team}, loaded_cost: 120000 USD/year}}",
    )
    option = decide(brief, AS_OF).decision.options[0]
    assert sum(line.money for line in option.cost_lines if line.key == "platform_labour") == pytest.approx(
        people
    )


def test_fields_without_effect_and_apis_taken_alike_are_told():
    brief = brief_of(
        objectives="{ttft_p95: 1 s, itl_p95: 50 ms, error_rate: 0.1 %}",
        consider="{capacity: [api], providers: any, accelerators: any}",
        team="{platform_engineers: unknown}",
    )
    decision = decide(brief, AS_OF).decision
    told = {item.name for item in decision.assumptions}
    assert {"objectives.error_rate", "api_staff_count"} <= told
    assert "team.platform_engineers" not in told  # the bill takes the API's share of people, not that default
    assert decision.options[0].capacity == "api"
    assert {"CB-X016", "CB-X019"} <= {caution.code for caution in decision.warnings}
    tokens = decision.options[0].cost_lines[0].money / (4 * 3600 * 730) * 1000  # a thousand prompts' worth
    assert any(item.cost_money == pytest.approx(tokens, rel=0.3) for item in decision.measurements)
    usual = decision.options[0]
    assert usual.unit_cost.low < usual.unit_cost.value < usual.unit_cost.high


def test_spot_is_no_spare_and_a_service_that_must_go_on_has_none():
    spot = "{capacity: [spot, on-demand], providers: any, accelerators: [l40s, h100-sxm-80]}"
    for availability, barred in (("n+1", True), ("none", False)):
        limits = f"{{data: any, needed_by: 2027-06-01, availability: {availability}, risk: medium}}"
        decision = decide(brief_of(consider=spot, limits=limits), AS_OF, show_all=True).decision
        taken = {one.status for one in decision.options if one.capacity == "spot"}
        assert taken == ({"ruled_out"} if barred else taken - {"ruled_out"})


def test_what_is_held_without_room_for_the_spare_is_told_so():
    traffic = (
        "{requests_per_s: {mean: 1, peak: 3}, input_tokens: {p50: 900, p95: 3500},"
        " output_tokens: {p50: 250, p95: 700}}"
    )
    have = "[{accelerator: h100-sxm-80, count: 1, owned: true}]"
    only = "{capacity: [on-demand], providers: any, accelerators: [h100-sxm-80]}"
    decision = decide(brief_of(have=have, traffic=traffic, consider=only), AS_OF).decision
    held = next(one for one in decision.options if one.capacity == "have")
    assert held.status == "misses"
    assert "n+1" not in held.reasons[0]
    assert "spare" in held.reasons[0]
    assert " 2 accelerators" in held.reasons[0]


def test_what_is_contracted_elsewhere_is_not_ones_own_premises():
    limits = "{data: own premises, needed_by: 2027-06-01, availability: none, risk: medium}"
    rented = "{accelerator: h100-sxm-80, count: 8, kind: contracted, price: 1.2 USD/h}"
    have = f"[{rented}, {{accelerator: l40s, count: 2, owned: true}}]"
    means = means_of(brief_of(have=have, limits=limits), AS_OF)
    assert {t.capacity for t in means.tenures(accelerator("h100-sxm-80"), 2)} == {"buy"}
    assert {t.capacity for t in means.tenures(accelerator("l40s"), 2)} == {"buy", "have"}


def test_a_contract_paid_on_and_a_team_too_small_are_told():
    have = "[{accelerator: v100-sxm2-32, count: 8, kind: contracted, price: 1.5 USD/h, until: 2027-12-01}]"
    decision = decide(brief_of(have=have), AS_OF).decision
    assert decision.options[0].accelerator != "v100-sxm2-32"
    told = next(item.sentence for item in decision.warnings if item.code == "CB-X020")
    assert "8,760" in told  # 1.5 x 8 x 730
    small = "{platform_engineers: 0.05, loaded_cost: 120000 USD/year}"
    have = "[{accelerator: h100-sxm-80, count: 16, owned: true}]"
    own = "{data: own premises, needed_by: 2027-06-01, availability: n+1, risk: medium}"
    decision = decide(brief_of(team=small, have=have, limits=own), AS_OF).decision
    assert decision.options[0].capacity == "have"
    assert "0.12" in next(
        item.sentence for item in decision.warnings if item.code == "CB-X021"
    )  # 0.1 + one machine
    assert "CB-X021" not in {item.code for item in decide(brief_of(), AS_OF).decision.warnings}
