"""Every line of every kind of bill, and both ends of its interval, worked out beside it with plain arithmetic."""

from dataclasses import replace
from math import exp, hypot

import pytest
from money_world import API, CARD, offer, serving, training

from cabida import money
from cabida.facts.api_book import caching
from cabida.money.bills import media, retrieval
from cabida.money.bills.evaluation import API_RANGE, OWN_RANGE, JudgeUse, judging_money, with_judge
from cabida.money.prices.tenure import tenure_of

STATED = {
    "wacc_ratio": 0.1, "life_years": 4.0, "decay_ratio": 0.2, "busy_power_ratio": 0.8, "idle_power_ratio": 0.1,
    "host_power_ratio": 1.5, "electricity_money_per_kwh": 0.2, "pue_ratio": 1.5, "support_ratio_per_year": 0.1,
    "spares_ratio_per_year": 0.02, "licence_money_per_year": 1200.0, "server_capital_ratio": 1.5,
    "network_capital_ratio": 1.2, "own_staff_count": 0.5, "loaded_money_per_year": 120_000.0,
    "colocation_money_per_kw_per_month": 180.0, "extra_stored_gb": 100.0,
}  # fmt: skip
OWNED = money.terms("USD", as_of="2026-11-30", stated=STATED)
TERMS = money.terms("USD", as_of="2026-11-30", horizon_months=36)
USAGE = money.Usage(
    1e6, 1000, 300, acceptance_ratio=0.9, failure_ratio=0.04, tries_count=2, utilisation_ratio=0.6,
    active_hours_per_month=365.0, review_money_per_output=0.001,
)  # fmt: skip
RUN = money.TrainingUse(
    ideal_hours=1000, wall_s=150 * 3600.0, goodput_ratio=0.8, acceptance_ratio=0.5, dataset_gb=500,
    checkpoint_gb=110, checkpoints_kept_count=2.0, runs_per_month=0.5,
)  # fmt: skip
ACCEPTED, ATTEMPTS = 0.99 * 1e6, 0.99 / 0.9 / 0.96
SHARE = 0.99 / ATTEMPTS
RECOVERY = 0.1 / (1 - 1.1**-4)
GB = 8.03  # the weights of the model in 16 bits: 8.03e9 of two bytes are 16.06 GB, as many a replica


def base(name):
    return TERMS.ranges[name].base


def spans(terms, *names):
    return [
        ((r.base - r.low) / r.base, (r.high - r.base) / r.base)
        for r in (terms.ranges[name] for name in names)
    ]


def lines_of(cost):
    return {line.key: line.money for line in cost.lines}


@pytest.mark.parametrize("billing", ["energy", "reserved_kw"])
def test_a_bought_server(billing):
    terms = replace(OWNED, power_billing=billing)
    cost = money.serving_cost(serving(offer("30000", "buy"), replicas=4), USAGE, terms)
    capital = 4 * 30_000 * 1.5 * 1.2
    month = capital * RECOVERY / 12
    used = 0.6 * 365 / 730  # what is owned is paid all month
    watts = 700 * (used * 0.8 + (1 - used) * 0.1) * 1.5
    power = watts / 1000 * 4 * 730 * 0.2
    owners = (
        {"energy": power, "cooling": power * 0.5}
        if billing == "energy"
        else {"colocation": 700 * 1.5 * 4 / 1000 * 180}
    )
    assert lines_of(cost) == pytest.approx(
        owners
        | {
            "compute": month * used * SHARE,
            "idle": month * (1 - used),
            "retries_waste": month * used * (1 - SHARE),
            "residual": -4 * 30_000 * 0.8**4 / 1.1**4 * RECOVERY / 12,
            "support": capital * 0.12 / 12,
            "licences": 4 * 1200 / 12,
            "storage": (100 + 4 * 2 * GB) * base("storage_money_per_gb_per_month"),
            "serving_stack": base("serving_stack_money_per_month"),
            "observability": base("observability_node_money_per_month"),
            "platform_labour": 0.5 * 120_000 / 12,
            "review": ACCEPTED * 0.001,
        }
    )
    assert cost.per_month_money == pytest.approx(sum(lines_of(cost).values()))
    assert cost.per_accepted_money == pytest.approx(cost.per_month_money / ACCEPTED)
    assert (cost.capex_money, cost.committed_money) == pytest.approx((capital, capital))


def test_a_team_nobody_stated_grows_with_its_machines():
    """Nine machines of eight: a fixed part and a share for each; a stated team has counted its machines."""
    many = serving(offer("30000", "buy", accelerators_count=8), replicas=72)
    cost = money.serving_cost(many, USAGE, TERMS)
    people = base("own_staff_count") + 9 * base("node_staff_count")
    assert cost.line("platform_labour") == pytest.approx(people * base("loaded_money_per_year") / 12)
    assert cost.line("observability") == pytest.approx(9 * base("observability_node_money_per_month"))


def test_rent_by_the_hour_with_a_spare_and_both_ends():
    cost = money.serving_cost(serving(offer("2.00"), replicas=3, spares=1), USAGE, TERMS)
    serving_money, spare_money = 3 * 365 * 2.0, 730 * 2.0  # a spare that is off is none
    leaves_gb = 1e6 * ATTEMPTS * 300 * base("streamed_bytes_per_token") / 1e9
    people = base("rent_staff_count") + base("rent_node_staff_count")
    assert lines_of(cost) == pytest.approx(
        {
            "compute": serving_money * 0.6 * SHARE,
            "idle": serving_money * 0.4,
            "retries_waste": serving_money * 0.6 * (1 - SHARE),
            "spares": spare_money,
            "storage": (base("extra_stored_gb") + 4 * 2 * GB) * base("storage_money_per_gb_per_month"),
            "network": leaves_gb * base("egress_money_per_gb"),
            "serving_stack": base("serving_stack_money_per_month"),
            "observability": base("observability_node_money_per_month"),
            "platform_labour": people * base("loaded_money_per_year") / 12,
            "review": ACCEPTED * 0.001,
        }
    )
    held = serving_money + spare_money
    named = {
        "storage": "storage_money_per_gb_per_month", "network": "egress_money_per_gb",
        "serving_stack": "serving_stack_money_per_month", "observability": "observability_node_money_per_month",
        "platform_labour": "rent_staff_count",
    }  # fmt: skip
    parts = [(held * below, held * above) for below, above in spans(TERMS, "fresh_price_ratio")]
    parts += [
        (cost.line(key) * below, cost.line(key) * above)
        for key, (below, above) in zip(named, spans(TERMS, *named.values()), strict=True)
    ]
    low, high = (hypot(*side) for side in zip(*parts, strict=True))
    assert cost.per_accepted_low == pytest.approx((cost.per_month_money - low) / ACCEPTED)
    assert cost.per_accepted_high == pytest.approx((cost.per_month_money + high) / ACCEPTED)
    assert cost.capex_money == cost.committed_money == 0


def test_a_reservation_is_owed_to_its_end():
    cost = money.serving_cost(serving(offer("1.50", "reserved", term_months=12)), USAGE, TERMS)
    assert cost.committed_money == pytest.approx(2 * 730 * 1.5 * 12)


def test_a_month_behind_an_api_and_both_ends():
    usage = replace(USAGE, cached_ratio=0.4)
    cost = money.api_cost(API, usage, TERMS)
    first = (600 * 0.20 + 400 * 0.05 + 300 * 0.60) / 1e6
    charged = 1 - 0.04 * (1 - base("api_failed_charged_ratio"))
    tokens = 1e6 * charged * ATTEMPTS * first
    people = base("api_staff_count") * base("loaded_money_per_year") / 12
    assert lines_of(cost) == pytest.approx(
        {
            "compute": tokens * SHARE,
            "retries_waste": tokens * (1 - SHARE),
            "serving_stack": base("api_gateway_money_per_month"),
            "platform_labour": people,
            "review": ACCEPTED * 0.001,
        }
    )
    failed, staff = TERMS.ranges["api_failed_charged_ratio"], TERMS.ranges["api_staff_count"]
    price = TERMS.ranges["fresh_price_ratio"]
    lost = [tokens / charged * (1 - 0.04 * (1 - ratio)) for ratio in (failed.low, failed.high)]
    low = hypot(tokens * (1 - price.low), people * (1 - staff.low / staff.base), tokens - lost[0])
    high = hypot(tokens * (price.high - 1), people * (staff.high / staff.base - 1), lost[1] - tokens)
    assert cost.per_accepted_low == pytest.approx((cost.per_month_money - low) / ACCEPTED)
    assert cost.per_accepted_high == pytest.approx((cost.per_month_money + high) / ACCEPTED)


def test_how_long_an_api_keeps_a_prefix_is_in_its_interval():
    """At a rate where the life decides whether a prefix is found, the ends lie where the lives' ends put them."""
    usage = money.Usage(3e4, 2000, 300, shared_prefix_tokens=1500)
    rule = caching(API.provider)

    def tokens(ttl_s):
        hit = 1 - exp(-3e4 / (730 * 3600) * ttl_s)
        read = 1500 * hit
        return 3e4 * ((2000 - read) * 0.20 + read * 0.05 + 300 * 0.60) / 1e6

    cost, fresh = money.api_cost(API, usage, TERMS), TERMS.ranges["fresh_price_ratio"]
    paid = tokens(rule.ttl_s)
    assert cost.line("compute") == pytest.approx(paid)
    staff, people = TERMS.ranges["api_staff_count"], cost.line("platform_labour")
    low = hypot(paid * (1 - fresh.low), people * (1 - staff.low / staff.base), paid - tokens(rule.high_ttl_s))
    high = hypot(
        paid * (fresh.high - 1), people * (staff.high / staff.base - 1), tokens(rule.low_ttl_s) - paid
    )
    assert rule.low_ttl_s < rule.ttl_s < rule.high_ttl_s
    assert cost.per_accepted_low == pytest.approx((cost.per_month_money - low) / 3e4)
    assert cost.per_accepted_high == pytest.approx((cost.per_month_money + high) / 3e4)


def test_a_run_by_the_hour_and_both_ends():
    cost = money.training_cost(training(offer("2.00")), RUN, TERMS)
    failed = TERMS.ranges["failed_run_ratio"]
    months = 150 / 730 / (1 - failed.base)  # people and disks are there while runs fail, too
    disk = base("storage_money_per_gb_per_month") * months
    people = base("training_staff_count") * base("loaded_money_per_year") / 12 * months
    assert lines_of(cost) == pytest.approx(
        {
            "compute": 2000,
            "failed_runs": (1000 / 0.8 / (1 - failed.base) - 1000) * 2.0,
            "storage": 500 * disk,
            "checkpoints": 220 * disk,
            "network": 110 * base("egress_money_per_gb"),
            "platform_labour": people,
        }
    )
    assert cost.per_month_money == pytest.approx(sum(lines_of(cost).values()))
    assert cost.per_accepted_money == pytest.approx(cost.per_month_money / 0.5)
    paid = 1000 / 0.8 / (1 - failed.base) * 2.0
    (price,), (staff,) = spans(TERMS, "fresh_price_ratio"), spans(TERMS, "training_staff_count")
    repeated = paid + 720 * disk + people
    ends = [repeated * (1 - failed.base) / (1 - ratio) for ratio in (failed.low, failed.high)]
    low = hypot(paid * price[0], repeated - ends[0], people * staff[0])
    high = hypot(paid * price[1], ends[1] - repeated, people * staff[1])
    assert cost.per_accepted_low == pytest.approx((cost.per_month_money - low) / 0.5)
    assert cost.per_accepted_high == pytest.approx((cost.per_month_money + high) / 0.5)


def test_a_run_on_what_is_reserved_or_bought_pays_what_nobody_uses():
    used = 1000 / 0.8 / (1 - base("failed_run_ratio"))
    reserved = money.training_cost(training(offer("1.50", "reserved", term_months=12)), RUN, TERMS)
    assert reserved.line("idle") == pytest.approx((2 * 730 * 8 - used) * 1.5)  # a run every two months
    assert reserved.committed_money == pytest.approx(8 * 1.5 * 730 * 12)
    terms = replace(OWNED, power_billing="energy")
    bought = money.training_cost(training(offer("30000", "buy")), RUN, terms)
    hourly = 30_000 * 1.5 * 1.2 * RECOVERY / 8760
    busy = used / (2 * 730 * 8)
    power = 700 * (busy * 0.8 + (1 - busy) * 0.1) * 1.5 / 1000 * 8 * 1460 * 0.2
    assert bought.line("compute") == pytest.approx(1000 * hourly)
    assert bought.line("idle") == pytest.approx((2 * 730 * 8 - used) * hourly)
    assert bought.line("energy") == pytest.approx(power)
    assert bought.line("cooling") == pytest.approx(power * 0.5)
    assert bought.line("support") == pytest.approx(8 * 30_000 * 1.5 * 1.2 * 0.12 / 12 * 2)
    assert bought.line("residual") == pytest.approx(-8 * 30_000 * 0.8**4 / 1.1**4 * RECOVERY / 12 * 2)
    assert bought.line("licences") == pytest.approx(8 * 1200 / 12 * 2)
    assert bought.line("network") == 0
    assert bought.capex_money == bought.committed_money == pytest.approx(8 * 30_000 * 1.5 * 1.2)


def test_the_stages_before_a_generator():
    card = tenure_of(offer("0.80"), CARD, TERMS, 1)
    use = retrieval.RetrievalUse(
        tenure=card, cards_count=2, shares={"embedding": 0.2, "reranking": 0.5, "searching": 0.3}, hosts_count=3,
        host_money_per_hour=1.1, host_currency="USD", host_source="a list", stored_gb=400.0, ingestion=card,
        ingested_tokens_per_month=7.2e9, ingested_tokens_per_s=20_000.0, attempted_requests_per_month=1e6,
        moderation_money_per_request=0.0004,
    )  # fmt: skip
    held, disk = 2 * 730 * 0.80, 400 * base("storage_money_per_gb_per_month")
    lines = retrieval.stages_money(use, TERMS)
    assert lines == pytest.approx(
        {
            "embedding": held * 0.2,
            "reranking": held * 0.5,
            "index_hosting": 3 * 1.1 * 730 + held * 0.3 + disk,
            "ingestion": 7.2e9 / 20_000 / 3600 * 0.80,
            "moderation": 400.0,
        }
    )
    cost = money.serving_cost(serving(offer("2.00")), USAGE, TERMS)
    whole = retrieval.with_stages(cost, use, TERMS)
    assert whole.per_month_money == pytest.approx(cost.per_month_money + sum(lines.values()))
    assert whole.per_accepted_money == pytest.approx(whole.per_month_money / ACCEPTED)
    fresh, kept = spans(TERMS, "fresh_price_ratio", "storage_money_per_gb_per_month")
    for side, end in enumerate((whole.per_accepted_low, whole.per_accepted_high)):
        before = (cost.per_accepted_low, cost.per_accepted_high)[side] - cost.per_accepted_money
        prices = held * fresh[side], lines["ingestion"] * fresh[side], 3 * 1.1 * 730 * 0.3, disk * kept[side]
        apart = hypot(before, *(part / ACCEPTED for part in prices))
        assert abs(end - whole.per_accepted_money) == pytest.approx(apart)
    without = retrieval.with_stages(cost, replace(use, tenure=None, ingestion=None, hosts_count=0), TERMS)
    assert without.per_month_money == pytest.approx(cost.per_month_money + disk + 400.0)


def test_a_filter_on_every_picture_and_the_disk_under_them():
    cost = money.serving_cost(serving(offer("2.00")), USAGE, TERMS)
    assets = media.Assets(item_bytes=2e6, kept_months=3.0, moderation_money_per_output=0.001)
    assert assets.stored_gb(1e6) == pytest.approx(6000)  # 2 GB a thousand, a million a month, three months
    assert assets.sent_gb(1e6) == pytest.approx(2000)
    filtered = media.with_assets(cost, USAGE, assets)
    more = 1e6 * ATTEMPTS * 0.001  # rejects are filtered too
    assert filtered.line("moderation") == pytest.approx(more)
    assert filtered.per_month_money == pytest.approx(cost.per_month_money + more)
    for name in ("per_accepted_money", "per_accepted_low", "per_accepted_high"):
        assert getattr(filtered, name) - getattr(cost, name) == pytest.approx(more / ACCEPTED)
    tree = money.cost_tree(serving(offer("2.00")), USAGE, TERMS)
    grown = media.assets_tree(tree, USAGE, assets, TERMS)
    assert float(grown["cost_per_month"]) == pytest.approx(filtered.per_month_money)
    assert float(grown["unit_cost"]) == pytest.approx(filtered.per_accepted_money)
    none = replace(assets, moderation_money_per_output=0.0)
    assert media.with_assets(cost, USAGE, none) is cost
    assert media.assets_tree(tree, USAGE, none, TERMS) is tree


def test_a_judge_by_the_call_and_on_what_is_held():
    cost = money.serving_cost(serving(offer("2.00")), USAGE, TERMS)
    called = JudgeUse(1e5, 1500, 50, 0.0, offer=API)
    own = JudgeUse(1e5, 1500, 50, 0.0, hours_per_month=20.0, accelerators_count=2, money_per_hour=2.0)
    by_batch = 1e5 * (1500 * 0.10 + 50 * 0.30) / 1e6
    assert judging_money(called, TERMS) == pytest.approx(by_batch)
    assert judging_money(own, TERMS) == pytest.approx(20 * 2 * 2.0)
    assert judging_money(None, TERMS) == 0
    for use, more, (low, high) in ((called, by_batch, API_RANGE), (own, 80.0, OWN_RANGE)):
        judged = with_judge(cost, use, TERMS)
        assert judged.line("judging") == pytest.approx(more)
        assert judged.per_month_money == pytest.approx(cost.per_month_money + more)
        assert judged.per_accepted_low - cost.per_accepted_low == pytest.approx(more * low / ACCEPTED)
        assert judged.per_accepted_high - cost.per_accepted_high == pytest.approx(more * high / ACCEPTED)
        assert low < 1 < high
