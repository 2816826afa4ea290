"""Each pitfall of briefs, decisions and quotes: one case where it is made, one next to it where it is not."""

from dataclasses import replace

import pytest

from cabida import checks, facts
from cabida.brief import parse_brief
from cabida.brief.model import Acceptance, Budget, Limits, ModelChoice, Objectives, Team
from cabida.checks.catalogue import BRIEF as IN_BRIEF
from cabida.checks.catalogue import DECISION, PLACES, QUOTE, pitfall_list
from cabida.plan import CostLine, Estimate, Option

AS_OF = "2026-11-30"
SERVICE = """name: t
workload: realtime-inference
models: [{id: llama-3.1-8b, weights: {bf16: {acceptance: 0.93, how: measured on 400 tickets}}}]
traffic:
  requests_per_s: {mean: 2, peak: 5}
  input_tokens: {p50: 900, p95: 3000}
  output_tokens: {p50: 200, p95: 600}
  growth: 30 %
objectives: {ttft_p95: 2 s}
horizon: 24 months
team: {platform_engineers: 1}
currency: USD
"""
TUNING = """name: t
workload: full-finetune
models: [{id: llama-3.1-8b}]
training: {tokens: 50M, seq_len: 4096, target: {metric: loss, value: 1.2}, evaluation: {passes: 4}, checkpoint: 30 min}
horizon: 12 months
currency: USD
"""
NIGHTLY = """name: t
workload: batch-inference
models: [{id: llama-3.1-8b}]
traffic:
  {items: 10000, window: 2 h, every: day, input_tokens: {p50: 900, p95: 3000}, output_tokens: {p50: 200, p95: 600}}
horizon: 24 months
currency: USD
"""


def in_brief(text, changes=()):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return {one.code for one in checks.brief_pitfalls(parse_brief(text, as_of=AS_OF), AS_OF)}


def with_(line):
    return (("currency: USD\n", f"currency: USD\n{line}\n"),)


@pytest.mark.parametrize("text", [SERVICE, TUNING, NIGHTLY], ids=["service", "tuning", "nightly"])
def test_a_careful_brief_is_left_alone(text):
    assert in_brief(text) == set()


BRIEFS = {  # code: brief, what makes the mistake, what is like it and does not
    "CB-K300": (SERVICE, (("{mean: 2, peak: 5}", "2"),), (("{mean: 2, peak: 5}", "{mean: 2, profile: evening}"),)),
    "CB-K301": (SERVICE, (("ttft_p95", "ttft_p50"),), (("ttft_p95: 2 s", "ttft_p50: 1 s, ttft_p99: 4 s"),)),
    "CB-K302": (SERVICE, (("  growth: 30 %\n", ""),), (("growth: 30 %", "growth: 0 %"),)),
    "CB-K303": (SERVICE, (("p95: 3000", "p95: 125000"),), (("p95: 3000", "p95: 90000"),)),
    "CB-K304": (NIGHTLY, with_("consider: {capacity: [buy]}"), with_("consider: {capacity: [buy, spot]}")),
    "CB-K305": (SERVICE, with_("consider: {capacity: [spot]}"), with_("consider: {capacity: [spot, on-demand]}")),
    "CB-K306": (
        TUNING,
        ((", checkpoint: 30 min", ""), *with_("consider: {capacity: [spot]}")),
        with_("consider: {capacity: [spot]}"),
    ),
    "CB-K307": (
        SERVICE,
        (("platform_engineers: 1", "platform_engineers: 0.5"), *with_("limits: {availability: n+1}")),
        with_("limits: {availability: n+1}"),
    ),
    "CB-K308": (SERVICE, (("acceptance: 0.93", "acceptance: 1"),), (("acceptance: 0.93", "acceptance: 0.99"),)),
    "CB-K309": (
        SERVICE,
        (("400 tickets}", "400 tickets}, awq-int4: {acceptance: 0.93, how: measured on 400 tickets}"),),
        (("400 tickets}", "400 tickets}, awq-int4: {acceptance: 0.91, how: measured on 400 tickets}"),),
    ),
    "CB-K310": (SERVICE, with_("consider: {accelerators: [l40s]}"), with_("consider: {accelerators: [l40s, l4]}")),
    "CB-K311": (
        SERVICE,
        (("output_tokens: {p50: 200, p95: 600}", "output_tokens: 300"),),
        (("output_tokens: {p50: 200, p95: 600}", "output_tokens: {mean: 300, p95: 800}"),),
    ),
    "CB-K312": (
        SERVICE,
        with_("costs: {pue: 1}\nlimits: {power: 12 kW}"),
        with_("costs: {pue: 1.3}\nlimits: {power: 12 kW}"),
    ),
    "CB-K313": (SERVICE, with_("costs: {depreciation: 84 months}"), with_("costs: {depreciation: 48 months}")),
    "CB-K314": (SERVICE, with_("costs: {resale: 90 %}"), with_("costs: {resale: 40 %}")),
    "CB-K315": (
        SERVICE,
        with_("consider: {accelerators: [v100-sxm2-32, l4]}"),
        with_("consider: {accelerators: [t4, l4]}"),
    ),
    "CB-K316": (
        SERVICE,
        with_("limits: {needed_by: 2026-12-20, lead: {buy: 8 weeks}}"),
        with_("limits: {needed_by: 2027-12-20, lead: {buy: 8 weeks}}"),
    ),
    "CB-K317": (
        TUNING,
        ((", target: {metric: loss, value: 1.2}, evaluation: {passes: 4}", ""),),
        ((", target: {metric: loss, value: 1.2}", ""),),
    ),
    "CB-K016": (SERVICE, with_("notes: the A100 SXM with 624 TFLOPS"), with_("notes: the A100 SXM with 312 TFLOPS")),
    "CB-K318": (
        SERVICE,
        with_("claims: ['9,000 tokens/s on the L40S']"),
        with_("claims: ['9,000 tokens/s on the L40S at concurrency 128']"),
    ),
    "CB-K319": (SERVICE, with_("notes: somebody offers it at 1.99 USD/h"), with_("notes: 1.99 USD per output")),
    "CB-K330": (
        SERVICE,
        with_("consider: {accelerators: [h20-96, l4]}"),
        with_("consider: {accelerators: [h200-sxm-141, l4]}"),
    ),
    "CB-K331": (SERVICE, with_("notes: we want H100"), with_("notes: we want H100 SXM")),
}  # fmt: skip


@pytest.mark.parametrize("code", sorted(BRIEFS))
def test_a_brief_that_makes_the_mistake_and_one_that_does_not(code):
    text, wrong, right = BRIEFS[code]
    assert code in in_brief(text, wrong)
    assert code not in in_brief(text, right)


def option(accelerator="h100-sxm-80", unit=0.002, held=2000.0, **more):
    plain = {
        "rank": 1, "id": accelerator, "title": f"1x {accelerator}", "status": "satisfies", "reasons": (),
        "accelerator": accelerator, "accelerators_count": 1, "replicas_count": 2, "spare_replicas_count": 1,
        "split": "single", "weights": "bf16", "kv_cache": "bf16", "engine": "vllm", "engine_version": "0.31.0",
        "model": "llama-3.1-8b", "provider": "p", "capacity": "on-demand", "region": "", "price_seen": "2026-11-20",
        "metrics": {"ttft_ms_p95": Estimate(900.0, 700.0, 1200.0, "simulated")}, "memory": {"headroom": 20e9},
        "usable_bytes": 80e9, "latency_quantiles": {},
        "cost_lines": (CostLine("compute", held * 0.6), CostLine("idle", held * 0.4), CostLine("review", 1.0)),
        "cost_per_month_money": held, "unit_cost": Estimate(unit, unit, unit, "formula"), "best_probability": 1.0,
        "expected_regret_money": 0.0, "command": "",
    }  # fmt: skip
    return Option(**(plain | more))


WHOLE = parse_brief(SERVICE, as_of=AS_OF)
RUN = parse_brief(TUNING, as_of=AS_OF)
LONG = {"minutes_to_target": Estimate(4000.0, 3000.0, 5000.0, "formula")}
NEAR = Estimate(0.002, 0.001, 0.0035, "simulated")
IDLE = (CostLine("compute", 300.0), CostLine("idle", 700.0))
CHOSEN = {  # code: brief, option with the mistake, option without
    "CB-K332": (WHOLE, option(cost_lines=IDLE), option()),
    "CB-K333": (WHOLE, option(memory={"headroom": 60e9}), option()),
    "CB-K334": (WHOLE, option(cost_lines=(CostLine("compute", 800.0), CostLine("review", 1200.0))), option()),
    "CB-K335": (
        WHOLE,
        option("rtx5060ti-16", split="tp2", accelerators_count=2),
        option("rtx5060ti-16", accelerators_count=2),
    ),
    "CB-K336": (RUN, option("rtx4090", metrics=LONG), option("l40s", metrics=LONG)),
    "CB-K337": (WHOLE, option("rtx5090", capacity="buy", accelerators_count=2), option("l4", capacity="buy")),
    "CB-K338": (WHOLE, option("l40s", capacity="buy"), option("l40s", capacity="buy", accelerators_count=8)),
    "CB-K339": (WHOLE, option("rtx3090", capacity="buy"), option("rtx5090", capacity="buy")),
    "CB-K340": (WHOLE, option(unit_cost=NEAR), option()),
    "CB-K341": (
        WHOLE,
        option(capacity="spot", spare_replicas_count=0),
        option(capacity="spot", spare_replicas_count=1),
    ),
    "CB-K342": (WHOLE, option(replicas_count=1, spare_replicas_count=0), option()),
    "CB-K343": (
        replace(WHOLE, limits=Limits(countries=("EU",))),
        option("", accelerators_count=0, capacity="api"),
        option(),
    ),
    "CB-K344": (replace(WHOLE, budget=Budget(monthly_money=2500.0)), option(unit_cost=NEAR), option()),
    "CB-K345": (
        replace(WHOLE, objectives=Objectives({"itl": {"p95": 0.1}})),
        option(metrics={"ttft_ms_p95": Estimate(15e3, 1e4, 2e4, "simulated")}),
        option(),
    ),
    "CB-K330": (WHOLE, option("h800-sxm-80"), option()),
    "CB-K315": (WHOLE, option("v100-sxm2-32"), option()),
}


@pytest.mark.parametrize("code", sorted(CHOSEN))
def test_a_choice_that_makes_the_mistake_and_one_that_does_not(code):
    brief, wrong, right = CHOSEN[code]
    assert code in {one.code for one in checks.pitfalls(brief, [wrong], AS_OF)}
    assert code not in {one.code for one in checks.pitfalls(brief, [right], AS_OF)}


SOUND = {
    "purpose": "reserve", "accelerator": "h100-sxm-80", "form_factor": "SXM", "accelerator_memory_gb": 80,
    "accelerator_memory_usable_gib": 79.6, "nodes_count": 2, "interconnect": "infiniband", "unit": "gpu_hour",
    "tflops": 989.4, "tflops_precision": "bf16", "term_months": 12, "uptime_ratio": 0.999,
    "credit_ladder": ((0.99, 0.1),), "accelerators_per_node_count": 8, "node_power_kw": 10.2,
    "accelerator_power_w": 700,
}  # fmt: skip
QUOTES = {
    "CB-K016": {"tflops": 1978.9},
    "CB-K018": {"accelerator": "rtx4090", "form_factor": "PCIe", "accelerator_power_w": 450},
    "CB-K315": {"accelerator": "v100-sxm2-32"},
    "CB-K318": {"notes": "up to 20,000 tokens/s"},
    "CB-K330": {"accelerator": "h800-sxm-80"},
    "CB-K331": {"accelerator": "H100", "form_factor": None},
    "CB-K360": {"accelerator_power_w": 500},
    "CB-K361": {"accelerator": "b200-sxm-180", "accelerator_power_w": None},
    "CB-K362": {
        "accelerator": "b300-sxm-288",
        "accelerator_memory_gb": 288,
        "accelerator_memory_usable_gib": None,
    },
    "CB-K363": {"interconnect": None},
    "CB-K364": {"oversubscription_factor": 3.0},
    "CB-K365": {"term_months": 36},
    "CB-K366": {"auto_renewal": True, "renewal_notice_days": 90},
    "CB-K367": {"model": "some-model-latest"},
    "CB-K368": {"credit_ladder": None},
    "CB-K369": {"condition": "used"},
    "CB-K370": {"node_power_kw": 5.0},
    "CB-K371": {"idle_billing": True},
}


def test_a_sound_quote_is_left_alone():
    assert checks.quote_pitfalls(SOUND) == ()
    assert checks.quote_pitfalls({}) == ()  # blanks are unknown


@pytest.mark.parametrize("code", sorted(QUOTES))
def test_a_quote_that_holds_the_trap(code):
    quote = {key: value for key, value in (SOUND | QUOTES[code]).items() if value is not None}
    found = {one.code: one for one in checks.quote_pitfalls(quote)}
    assert code in found
    assert found[code].cure


CLASSIC = {f"CB-K{index:03d}" for index in (*range(1, 20), 31)}  # tests/checks/test_pitfalls.py
ELSEWHERE = {"CB-K350"}  # tests/checks/test_accepted_risks.py


def test_every_pitfall_of_the_catalogue_is_tried():
    tried = {IN_BRIEF: set(BRIEFS), DECISION: set(CHOSEN) | set(BRIEFS) | CLASSIC, QUOTE: set(QUOTES)}
    for code, places in PLACES.items():
        assert code in ELSEWHERE or all(code in tried[place] for place in places), code
    assert len(pitfall_list()) == len(PLACES) > 60


@pytest.mark.parametrize("language", ["en", "es"])
def test_each_has_a_name_a_sentence_and_a_cure(language, monkeypatch):
    from cabida import text

    text.use_language(language)
    try:
        for one in pitfall_list():
            assert all((one.name, one.sentence, one.cure)), one.code
            assert "{" not in one.sentence + one.cure
    finally:
        text.use_language("en")


def test_numbers_are_the_ones_of_the_facts():
    export = next(
        one for one in checks.quote_pitfalls(SOUND | {"accelerator": "h800-sxm-80"}) if one.code == "CB-K330"
    )
    whole, cut = facts.accelerator("h100-sxm-80"), facts.accelerator("h800-sxm-80")
    share = cut.link_bytes_per_s / whole.link_bytes_per_s
    assert f"{share * 100:.0f} %" in export.sentence
    cap = next(
        one for one in checks.quote_pitfalls(SOUND | {"accelerator_power_w": 350}) if one.code == "CB-K360"
    )
    assert "50 %" in cap.sentence


def test_people_and_formats_without_figures_say_nothing():
    plain = replace(WHOLE, models=(ModelChoice("llama-3.1-8b", {"bf16": Acceptance()}),), team=Team(0.0))
    assert not {"CB-K308", "CB-K309"} & {one.code for one in checks.brief_pitfalls(plain, AS_OF)}


def test_a_sentence_left_open_keeps_the_words_of_its_counts():
    told = {one.code: one.sentence for one in pitfall_list()}
    assert "give notice … days before" in told["CB-K366"]
    assert not any("{" in one or "…  " in one for one in told.values())


def test_the_page_has_the_catalogue_of_today():
    from pathlib import Path

    from cabida.checks.catalogue import page

    told = (Path(__file__).parents[2] / "docs" / "pitfalls.md").read_text(encoding="utf-8")
    assert page(told) == told  # else: python -m cabida.checks.catalogue docs/pitfalls.md
