"""Plans made from decisions: what is measured, for how long by which statistics, at what cost, and what it decides."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

from cabida.app import bench_plan, recommend
from cabida.bench.keep.statistics import wilson_interval
from cabida.bench.planned import parse_plan, plan_of_decision, plan_yaml
from cabida.bench.planned.needed import (
    half_width_ratio,
    log_sigma,
    mean_requests_count,
    percentile_requests_count,
    share_requests_count,
    verdict_requests_count,
)
from cabida.bench.planned.wanted import Wanted
from cabida.errors import InvalidInput
from cabida.plan import Decision
from cabida.report.store import to_json
from cabida.text import use_language

DAY = "2026-11-30"


def decided(name: str) -> Decision:
    return recommend(f"examples/{name}.yaml", assume=True, as_of=DAY)


@pytest.fixture(scope="module")
def chat() -> Decision:
    return decided("chat-llama-70b")


@pytest.mark.parametrize(
    ("share", "sigma", "width"), [(0.95, 0.5, 0.1), (0.99, 0.4, 0.1), (0.5, 0.8, 0.1), (0.95, 0.3, 0.2)]
)
def test_as_many_requests_as_said_give_the_precision_said(share: float, sigma: float, width: float) -> None:
    """2,000 samples of that size from the law: 95 of 100 of their percentiles lie within the half width."""
    count = percentile_requests_count(share, sigma, width)
    rng = np.random.default_rng(5)
    true = np.exp(sigma * _quantile(share))
    found = np.quantile(np.exp(sigma * rng.standard_normal((2000, count))), share, axis=1)
    within = (np.abs(np.log(found / true)) <= width).mean()
    floor = log(0.025) / log(share)
    assert within >= 0.93
    if count > floor + 1:  # not more than needed, where the floor doesn't decide
        assert within <= 0.975
        assert half_width_ratio(share, sigma, count) == pytest.approx(width, rel=0.02)


def _quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def test_means_shares_and_spreads() -> None:
    rng = np.random.default_rng(1)
    count = mean_requests_count(0.8, 0.1)
    means = np.exp(0.8 * rng.standard_normal((2000, count))).mean(axis=1)
    true = np.exp(0.8**2 / 2)
    assert 0.92 <= (np.abs(means / true - 1) <= 0.1).mean() <= 0.98
    assert share_requests_count(0.001) == 3000
    assert pytest.approx(0.05, rel=0.01) == (1 - 0.001) ** 3000
    assert log_sigma(100.0, 100.0 * np.exp(0.7 * _quantile(0.95)), 0.5, 0.95) == pytest.approx(0.7)
    assert log_sigma(100.0, 90.0, 0.5, 0.95) == 0.0


@pytest.mark.parametrize("most", [0.05, 0.01, 0.001])
def test_a_search_can_pass_a_rate_at_which_nothing_is_late_or_lost(most: float) -> None:
    count = verdict_requests_count(most)
    assert wilson_interval(0, count)[1] < most
    assert wilson_interval(0, count // 2)[1] > most


def test_half_the_width_takes_four_times_the_requests() -> None:
    wide, narrow = (percentile_requests_count(0.95, 1.0, width) for width in (0.1, 0.05))
    assert narrow == pytest.approx(4 * wide, rel=0.01)


def test_the_plan_measures_what_is_worth_most_and_says_what_it_decides(chat: Decision) -> None:
    plan = plan_of_decision(chat, file="out/chat.json")
    ids = [one.option for one in plan.contenders]
    assert ids[0] == chat.options[0].id
    assert set(ids) <= {one.option for one in chat.measurements} | {chat.options[0].id}
    assert len(ids) <= 4
    searches = [one for one in plan.runs if one.phase == "search"]
    for one in searches:
        measured = next(
            m for m in chat.measurements if m.option == _option(plan, one.candidate) and m.driver == "speed"
        )
        assert one.worth_money == pytest.approx(measured.worth_money, rel=1e-3)
        assert one.decides[0].at == pytest.approx(measured.turns_at, rel=1e-3)
        assert one.decides[0].metric == "req_s"
    assert plan.decision == "out/chat.json"
    assert (plan.currency, plan.denominator) == (chat.currency, chat.denominator)
    assert plan.objectives == chat.brief["objectives"]["latency_s"]


def _option(plan, name: str) -> str:
    return next(one.option for one in plan.contenders if one.name == name)


def test_loads_are_one_replicas_share(chat: Decision) -> None:
    plan = plan_of_decision(chat)
    for contender in plan.contenders:
        option = next(one for one in chat.options if one.id == contender.option)
        runs = {
            one.name.removeprefix(contender.name).strip(): one
            for one in plan.runs
            if one.candidate == contender.name
        }
        assert runs["peak"].load.requests_per_s == pytest.approx(option.replica.requests_per_s, rel=1e-3)
        ratio = Wanted(chat, chat.brief).mean_over_peak_ratio()
        assert 0 < ratio < 1
        assert runs["mean"].load.requests_per_s == pytest.approx(
            option.replica.requests_per_s * ratio, rel=1e-3
        )
        assert runs["search"].load.requests_per_s == pytest.approx(
            option.replica.capacity_requests_per_s, rel=1e-3
        )
        expected = {one.metric: one for one in runs["peak"].expected}
        assert expected["ttft_ms_p95"].value == pytest.approx(option.metrics["ttft_ms_p95"].value, rel=1e-3)
        (req_s,) = runs["search"].expected
        assert req_s.value == pytest.approx(option.replica.capacity_requests_per_s, rel=1e-3)
        assert req_s.high / req_s.low == pytest.approx(
            option.metrics["req_s"].high / option.metrics["req_s"].low, rel=1e-2
        )
        assert contender.setup["gpus"] == option.replica.accelerators_count
        assert contender.setup["engine"] == option.engine
        assert contender.price_money_per_hour == pytest.approx(option.replica.money_per_hour, rel=1e-3)


def test_cost_is_time_by_price(chat: Decision) -> None:
    plan = plan_of_decision(chat)
    price = {one.name: one.price_money_per_hour for one in plan.contenders}
    for run in plan.runs:
        if run.phase in ("load", "search"):
            assert run.cost_money == pytest.approx(price[run.candidate] * run.duration_s / 3600, rel=6e-3)


def test_the_ceiling_where_an_api_is_asked_leaves_the_others_their_requests(chat: Decision) -> None:
    own = chat.options[0]
    api = replace(chat.options[1], capacity="api", provider="seller", replica=None)
    mixed = replace(chat, options=(own, api))
    plan = plan_of_decision(mixed, options=("1", api.id))
    of_own = [
        one for one in plan.runs if one.candidate == plan.contenders[0].name and one.load.requests_per_s
    ]
    assert {one.phase for one in of_own} >= {"load", "search"}
    assert plan.policy.requests_most > sum(one.load.requests_per_s * one.duration_s for one in of_own)


def test_an_hour_at_a_low_rate_is_said_to_be_short_and_costs_what_it_asks(chat: Decision) -> None:
    api = replace(chat.options[1], capacity="api", provider="seller", replica=None)
    quiet = {
        **chat.brief["traffic"],
        "requests_per_s_mean": 0.005,
        "requests_per_s_peak": 0.01,
        "profile": (),
    }
    (run,) = plan_of_decision(
        replace(chat, options=(api,), brief={**chat.brief, "traffic": quiet}), options=(api.id,)
    ).runs
    few = round(run.load.requests_per_s * run.duration_s)
    assert few < run.load.requests_count
    assert f" {few} requests in " in run.why
    (busy,) = plan_of_decision(replace(chat, options=(api,)), options=(api.id,)).runs
    assert busy.load.requests_count == run.load.requests_count
    assert "more time would narrow it" not in busy.why
    lasting = replace(chat, options=(api,), brief={**chat.brief, "traffic": quiet})
    assert run.cost_money == Wanted(lasting, lasting.brief).cost_money(api, 0.0, few)


def test_a_looser_precision_takes_less_time(chat: Decision) -> None:
    def lasts(width: float) -> float:
        return sum(one.duration_s or 0.0 for one in plan_of_decision(chat, half_width_ratio=width).runs)

    assert lasts(0.3) < lasts(0.1)


def test_failures_are_made_where_the_brief_counts_on_them_and_once(chat: Decision) -> None:
    kinds = [one.drills[0].kind for one in plan_of_decision(chat).runs if one.phase == "drill"]
    assert kinds[:4] == ["kill", "drain", "restart", "bad-deploy"]
    assert len(kinds) == len(set(kinds))
    calm = replace(
        chat,
        brief={**chat.brief, "limits": {**chat.brief["limits"], "availability": "none"},
               "objectives": {**chat.brief["objectives"], "error_ratio": None}},
    )  # fmt: skip
    assert "kill" not in [one.drills[0].kind for one in plan_of_decision(calm).runs if one.drills]


def test_a_burst_of_the_brief_is_the_burst_of_the_load(chat: Decision) -> None:
    bursty = replace(chat, brief={**chat.brief, "traffic": {**chat.brief["traffic"], "burst_ratio": 4.0}})
    peak = next(one for one in plan_of_decision(bursty).runs if one.name.endswith("peak"))
    assert (peak.load.kind, peak.load.burst_ratio) == ("gamma", 4.0)


def test_options_are_picked_by_number_or_id_and_unknown_ones_are_told(chat: Decision) -> None:
    plan = plan_of_decision(chat, options=("3", chat.options[0].id, "3"))
    assert [one.option for one in plan.contenders] == [chat.options[2].id, chat.options[0].id]
    with pytest.raises(InvalidInput) as told:
        plan_of_decision(chat, options=("99", "x"), file="chat.json")
    assert [one.code for one in told.value.problems] == ["CB-P030", "CB-P030"]
    with pytest.raises(InvalidInput) as told:
        plan_of_decision(replace(chat, options=()))
    assert told.value.problems[0].code == "CB-P031"


def test_rules_of_the_brief_become_the_plans_and_then_answers_keep_their_own_length(chat: Decision) -> None:
    ruled = replace(chat, brief={**chat.brief, "rules": [{"kind": "regex", "value": "^ok", "name": "ok"}]})
    plan = plan_of_decision(ruled)
    assert [(one.kind, one.value, one.name) for one in plan.rules] == [("regex", "^ok", "ok")]
    assert not plan.prompts.exact_output
    assert plan_of_decision(chat).prompts.exact_output


@pytest.mark.parametrize(
    ("name", "phases", "apis"),
    [
        ("support-chat", {"load"}, {"chat"}),  # an API wins: its latency is what nobody knows
        ("qlora-70b", {"training", "drill"}, {"chat"}),
        pytest.param("media-images", {"load"}, {"images"}, marks=pytest.mark.long),
        pytest.param(
            "rag-support",
            {"memory", "load", "search", "drill"},
            {"chat", "embeddings", "rerank"},
            marks=pytest.mark.long,
        ),
    ],
)
def test_each_class_of_work_is_measured_by_what_it_offers(
    name: str, phases: set[str], apis: set[str]
) -> None:
    decision = decided(name)
    for language in ("en", "es"):
        use_language(language)
        try:
            plan = plan_of_decision(decision)
            text = plan_yaml(plan, language)
        finally:
            use_language("en")
        assert replace(parse_plan(text), where={}, file="") == plan
        assert {one.phase for one in plan.runs} == phases
        assert {one.target.api for one in plan.contenders} == apis
        assert all(one.why for one in plan.runs)
        assert all(one.duration_s for one in plan.runs)
    if name == "support-chat":
        assert plan.policy.requests_most
        assert plan.contenders[0].target.key == "env:CABIDA_BENCH_KEY"
        assert plan.runs[0].cost_money > 0
        assert not plan.prompts.exact_output
    if name == "media-images":
        own = [one for one in plan.runs if one.candidate == plan.contenders[0].name]
        assert [one.worth_money is None for one in own] == [True] * (len(own) - 1) + [
            own[-1].worth_money is None
        ]
        price = plan.contenders[0].price_money_per_hour
        charged = [
            one.cost_money / price - one.duration_s / 3600 for one in own if one.cost_money is not None
        ]
        assert charged == pytest.approx([0.25] + [0.0] * (len(charged) - 1), abs=0.01)
    if name == "qlora-70b":
        steps = plan.runs[0]
        assert {one.metric for one in steps.expected} == {
            "tokens_s_per_gpu",
            "step_time_s",
            "peak_gib_per_gpu",
        }
        assert steps.job.command
        assert steps.decides[0].metric == "tokens_s_per_gpu"


def test_a_file_of_a_decision_a_brief_with_a_target_and_a_target_alone(chat: Decision, tmp_path) -> None:
    file, out = tmp_path / "chat.json", tmp_path / "bench.yaml"
    file.write_text(to_json(chat), encoding="utf-8")
    told = bench_plan(file, out=out)
    assert told["file"] == str(out)
    assert parse_plan(out.read_text(encoding="utf-8")).decision == str(file)
    assert told["cost_money"] == pytest.approx(sum(one["cost_money"] for one in told["plan"]["runs"]))
    aimed = bench_plan(file, target="http://10.0.0.1:9/v1", model="m", key="env:K")["plan"]["contenders"][0]
    assert (aimed["target"]["url"], aimed["target"]["model"], aimed["target"]["key"]) == (
        "http://10.0.0.1:9/v1",
        "m",
        "env:K",
    )
    brief = bench_plan(
        "examples/support-chat.yaml", target="http://127.0.0.1:8000/v1", model="m", assume=True, as_of=DAY
    )
    assert [one["name"] for one in brief["plan"]["runs"]] == ["memory", "mean", "peak", "search"]
    assert not any(one["expected"] for one in brief["plan"]["runs"])
    assert brief["plan"]["runs"][2]["load"]["requests_per_s"] == 9.0
    batch = bench_plan(
        "examples/nightly-batch.yaml", target="http://127.0.0.1:8000/v1", model="m", assume=True, as_of=DAY
    )
    assert [one["name"] for one in batch["plan"]["runs"]] == ["memory", "x1", "x8", "x64"]
    assert all(one["load"]["requests_per_s"] is None for one in batch["plan"]["runs"])
    alone = bench_plan(target="http://127.0.0.1:8000/v1", model="m")
    assert parse_plan(alone["text"]).contenders[0].target.model == "m"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({}, "CB-P032"),
        ({"target": "localhost:8000"}, "CB-P002"),
        ({"target": "http://127.0.0.1/v1", "key": "sk-abcdefghijklmnopqrstuvwxyz"}, "CB-P001"),
    ],
)
def test_what_is_typed_is_held_to_the_same_rules(said: dict[str, str], code: str) -> None:
    with pytest.raises(InvalidInput) as told:
        bench_plan(**said)
    assert told.value.problems[0].code == code
    assert "sk-abc" not in str(told.value)


@pytest.mark.long
def test_a_decision_made_on_the_way_is_kept_beside_the_plan(tmp_path) -> None:
    out = tmp_path / "bench.yaml"
    told = bench_plan("examples/qlora-70b.yaml", assume=True, as_of=DAY, out=out)
    kept = tmp_path / "bench.decision.json"
    assert told["plan"]["decision"] == str(kept)
    again = bench_plan(kept)
    assert again["plan"]["runs"] == told["plan"]["runs"]
