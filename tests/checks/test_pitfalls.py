"""Each classic mistake is found where it is made, and nowhere else."""

from dataclasses import replace

import pytest

from cabida import checks
from cabida.brief import Brief
from cabida.brief.model import Acceptance, Limits, ModelChoice, Team, Traffic
from cabida.checks.claims import sparse_claims
from cabida.checks.pitfalls import hourly_money
from cabida.plan import CostLine, Estimate, Option

BRIEF = Brief(
    name="t",
    workload="realtime-inference",
    models=(ModelChoice("llama-3.1-8b", {"bf16": Acceptance(0.93, "400 tickets", "measured")}),),
    traffic=Traffic(growth_per_year_ratio=0.2),
    team=Team(0.5),
    currency="USD",
    horizon_months=36,
)


def option(accelerator="h100-sxm-80", unit=0.002, held=2000.0, **more):
    plain = {
        "rank": 1, "id": accelerator, "title": f"1x {accelerator}", "status": "satisfies", "reasons": (),
        "accelerator": accelerator, "accelerators_count": 1, "replicas_count": 1, "spare_replicas_count": 0,
        "split": "single", "weights": "bf16", "kv_cache": "bf16", "engine": "vllm", "engine_version": "0.31.0",
        "model": "llama-3.1-8b", "provider": "p", "capacity": "on-demand", "region": "", "price_seen": "2026-11-20",
        "metrics": {}, "memory": {"headroom": 20e9}, "usable_bytes": 80e9, "latency_quantiles": {},
        "cost_lines": (CostLine("compute", held * 0.6), CostLine("idle", held * 0.4), CostLine("review", 1.0)),
        "cost_per_month_money": held, "unit_cost": Estimate(unit, unit, unit, "formula"), "best_probability": 1.0,
        "expected_regret_money": 0.0, "command": "",
    }  # fmt: skip
    return Option(**(plain | more))


def codes(*options, brief=BRIEF, as_of="2026-11-30"):
    return [warning.code for warning in checks.pitfalls(brief, options, as_of)]


def test_a_sound_decision_is_left_alone():
    assert codes(option()) == []


def test_the_cheapest_hour_is_not_the_cheapest_output():
    found = checks.pitfalls(BRIEF, [option(), option("l40s", 0.003, 700.0)], "2026-11-30")
    assert [warning.code for warning in found] == ["CB-K001"]
    assert "1.5 times" in found[0].sentence


def test_a_runs_hour_is_not_cheaper_because_more_accelerators_share_its_bill():
    def run(card, count, minutes, paid, unit):
        took = Estimate(minutes, minutes, minutes, "formula")
        lines = (
            CostLine("compute", paid * 0.9),
            CostLine("failed_runs", paid * 0.1),
            CostLine("network", 9.0),
        )
        return option(
            card, unit, accelerators_count=count, metrics={"minutes_to_target": took}, cost_lines=lines
        )

    few, many = run("h100-sxm-80", 4, 600, 80.0, 80.0), run("a100-sxm-80", 16, 300, 160.0, 160.0)
    assert [hourly_money(one) for one in (few, many)] == [pytest.approx(2.0), pytest.approx(2.0)]
    cheap = run("a100-sxm-80", 16, 600, 160.0, 160.0)
    assert "CB-K001" in codes(few, cheap)
    assert "CB-K001" not in codes(few, run("a100-sxm-80", 16, 200, 160.0, 160.0))


def test_the_strongest_card_is_not_the_best():
    assert "CB-K002" in codes(option("l40s", 0.001, 700.0), option("h200-sxm-141", 0.002))


def test_fitting_is_not_enough():
    assert "CB-K003" in codes(option(memory={"headroom": 1e9}))
    missed = option("l40s", status="misses", reasons=("TTFT p95 of 3 s, asked 0.8 s",))
    assert "CB-K004" in codes(option(), missed)


@pytest.mark.parametrize(
    ("accelerator", "split", "code"),
    [("l40s", "tp4", "CB-K005"), ("rtx4090", "tp2", "CB-K006"), ("mi300x", "tp2 pp2", "CB-K007")],
)
def test_tensor_parallel_over_a_narrow_road(accelerator, split, code):
    assert code in codes(option(accelerator, split=split, accelerators_count=4))
    assert code not in codes(option(accelerator))


def test_generated_is_not_accepted():
    unsaid = replace(BRIEF, models=(ModelChoice("llama-3.1-8b"),))
    assumed = replace(BRIEF, models=(ModelChoice("llama-3.1-8b", {"bf16": Acceptance(0.9)}),))
    assert codes(option(), brief=unsaid) == ["CB-K008"]
    assert codes(option(), brief=assumed) == ["CB-K009"]


def test_somebody_runs_it():
    nobody = replace(BRIEF, team=Team(0.0))
    paid = (CostLine("compute", 100.0), CostLine("platform_labour", 1900.0))
    assert codes(option(cost_lines=paid), brief=nobody) == ["CB-K010"]
    assert codes(option(), brief=nobody) == ["CB-K031"]
    assert codes(option("", accelerators_count=0, capacity="api"), brief=nobody) == []


def test_long_promises_for_todays_model():
    still = replace(BRIEF, traffic=Traffic())
    assert "CB-K011" in codes(option(capacity="reserved"), brief=still)
    assert "CB-K011" not in codes(option(capacity="on-demand"), brief=still)
    assert "CB-K011" not in codes(option(capacity="reserved"))


def test_buying_for_a_burst():
    idle = (CostLine("compute", 100.0), CostLine("idle", 900.0))
    assert "CB-K012" in codes(option(capacity="buy", cost_lines=idle))
    assert "CB-K012" in codes(option(capacity="buy"), brief=replace(BRIEF, horizon_months=3))
    assert "CB-K012" not in codes(option(capacity="buy"))


def test_power_and_case():
    found = {w.code: w for w in checks.pitfalls(BRIEF, [option("rtx4090", capacity="buy")], "2026-11-30")}
    assert "1,010 W" in found["CB-K013"].sentence  # 1.57 x 450 + 300
    tight = replace(BRIEF, limits=Limits(power_w=400.0))
    warnings = checks.pitfalls(tight, [option("rtx4090", capacity="buy")], "2026-11-30")
    assert (warnings[0].code, warnings[0].severity) == ("CB-K014", "blocking")


def test_new_cards_need_new_software():
    assert "CB-K015" in codes(option("rtx5090"))
    assert "CB-K015" not in codes(option("rtx5090"), as_of="2028-01-01")


def test_sparse_rates_are_told_apart():
    said = replace(BRIEF, notes="We want the A100 because of its 624 TFLOPS.")
    assert "CB-K016" in codes(option(), brief=said)


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("H100 SXM: 1,979 TFLOPS BF16", 989.4),
        ("el A100 da 624 TFLOPS", 312.0),
        ("B200, 4.5 PFLOPS bf16", 2250.0),
        ("A100 312 TFLOPS", None),
        ("A100 624 TOPS INT8", None),
        ("H100, 1979 TFLOPS BF16 with sparsity", None),
        ("RTX 4090: 330 TFLOPS", None),  # its dense FP8 rate, or its sparse FP16 one: nobody can tell
        ("a model of 624 TFLOPS", None),
    ],
)
def test_claims(text, dense):
    found = sparse_claims(text)
    assert [claim.dense_tflops for claim in found] == ([pytest.approx(dense)] if dense else [])


def test_the_800_gb_s_rule_is_tested_not_believed():
    assert "CB-K017" in codes(option("l4"))


def test_consumer_cards_in_a_data_centre():
    assert "CB-K018" in codes(option("rtx4090"))
    assert "CB-K018" not in codes(option("rtx4090", capacity="have"))
    assert "CB-K018" not in codes(option("rx7900xtx"))


def test_int8_where_there_is_none():
    assert "CB-K019" in codes(option("b300-sxm-288", weights="int8-w8a8"))
    assert "CB-K019" not in codes(option("b300-sxm-288", weights="fp8"))


def test_every_sentence_exists_in_both_languages():
    import json
    import re
    from importlib import resources

    texts = [
        json.loads((resources.files("cabida") / "locale" / code / "checks.json").read_text("utf-8"))
        for code in ("en", "es")
    ]
    assert texts[0].keys() == texts[1].keys()
    worded = [key for key, text in texts[0].items() if re.search(r"[a-z]{3}", re.sub(r"\{.*?\}", "", text))]
    assert [key for key in worded if texts[0][key] == texts[1][key]] == []
