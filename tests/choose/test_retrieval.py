"""Answers out of a corpus: stages add up as a distribution, and everything is paid."""

from dataclasses import replace
from itertools import pairwise

import pytest

from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.ask import ask_of
from cabida.choose.encoders import passages_tokens
from cabida.choose.fronts import fronts_of, ingestion_of
from cabida.choose.means import means_of
from cabida.choose.owned import energy_tree
from cabida.choose.retrieval import generator_brief, together, usual_front
from cabida.money.bills.retrieval import STAGES
from cabida.timing.speed import Distribution

AS_OF = "2026-11-30"
TEXT = """
name: corpus
workload: retrieval
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: {acceptance: 0.9, how: measured}}}]
retrieval:
  documents: 200 k
  document_tokens: 1800
  embedder: BAAI/bge-m3
  reranker: BAAI/bge-reranker-v2-m3
  candidates: 30
  passages: 6
  updated_per_day: 3000
  reembeddings_per_year: 2
  moderation_per_request: 0.0002 USD
traffic:
  requests_per_s: {mean: 2, peak: 6, profile: office-hours Europe/Madrid}
  input_tokens: {p50: 350, p95: 900}
  output_tokens: {p50: 200, p95: 500}
objectives: {ttft_p95: 2 s, e2e_p95: 20 s}
limits: {data: any, needed_by: 2027-02-01}
horizon: 12 months
team: {platform_engineers: 0.2, loaded_cost: 90000 USD/year}
costs: {review_per_output: 0.001 USD}
consider: {capacity: [on-demand, reserved], providers: any, accelerators: [l4, l40s, rtx4090, a100-sxm-80]}
"""


def brief_of(text=TEXT):
    return complete(parse_brief(text, as_of=AS_OF), as_of=AS_OF)


@pytest.fixture(scope="module")
def brief():
    return brief_of()


@pytest.fixture(scope="module")
def fronts(brief):
    return fronts_of(brief, ask_of(brief), means_of(brief, AS_OF), 0.9)


@pytest.fixture(scope="module")
def outcome(brief):
    return decide(brief, AS_OF)


def test_fronts_are_none_slower_and_dearer(fronts):
    assert fronts
    money = [one.month_money for one in fronts]
    mean = [sum(one.services_s.values()) for one in fronts]
    assert all(later > 0.98 * before for before, later in pairwise(money))
    assert mean == sorted(mean, reverse=True)


def test_a_front_is_slower_under_load_than_alone_and_its_percentiles_do_not_add(fronts):
    from cabida.timing.stages.pipeline import joined

    for one in fronts:
        assert one.latency.mean >= 0.999 * sum(one.services_s.values())
        parts = [joined([stage]).p95 for stage in one.stages]
        assert one.latency.p95 <= 1.001 * sum(parts)
        assert one.latency.p95 >= max(parts)


def test_passages_grow_the_prompt_and_the_front_takes_its_part_of_the_objectives(brief, fronts):
    usual = usual_front(fronts, ask_of(brief))
    inner = generator_brief(brief, brief.retrieval, usual)
    assert inner.traffic.input.mean_tokens == pytest.approx(
        brief.traffic.input.mean_tokens + passages_tokens(brief.retrieval)
    )
    assert inner.objectives.latency_s["ttft"]["p95"] == pytest.approx(2.0 - usual.latency.p95)
    assert inner.workload == "realtime-inference"


def test_together_lies_between_the_longest_part_and_the_sum(outcome):
    one = next(item for item in outcome.worked if item.candidate.deployment and item.speed)
    front = one.beside.front
    alone = replace(
        one.speed, ttft_s=Distribution(0.3, 0.25, 0.7, 1.0, (0.1, 0.13, 0.15, 0.2, 0.25, 0.4, 0.6, 0.7, 1.0))
    )
    whole = together(alone, front)
    assert whole.ttft_s.p95 < 0.7 + front.latency.p95
    assert whole.ttft_s.p95 > max(0.7, front.latency.p95)
    assert whole.ttft_s.mean == pytest.approx(0.3 + front.latency.mean, rel=0.02)
    assert whole.tpot_s == alone.tpot_s


def test_every_term_is_paid_and_adds_up(outcome):
    first = next(one for one in outcome.decision.options if "encoders on its cards" not in one.title)
    keys = {line.key for line in first.cost_lines}
    assert {*STAGES, "compute", "review"} <= keys
    assert sum(line.money for line in first.cost_lines) == pytest.approx(first.cost_per_month_money)
    month = {line.key: line.money for line in first.cost_lines}
    attempts = 2 * 730 * 3600
    assert month["moderation"] == pytest.approx(0.0002 * attempts, rel=0.01)
    assert first.status in ("chosen", "satisfies")
    assert first.metrics["ttft_ms_p95"].value <= 2000
    assert first.metrics["ttft_ms_p95"].value > first.metrics["before_generation_ms_p95"].value


def test_the_trees_say_the_same(outcome):
    decision = outcome.decision
    first = decision.options[0]
    nodes = {node["id"]: node for node in decision.trees}
    for name in (
        "unit_cost",
        "cost.embedding",
        "cost.index_hosting",
        "search_s",
        "rerank_s",
        "generation_cost",
    ):
        assert name in first.trees, name
    assert nodes[first.trees["unit_cost"]]["value"] == pytest.approx(first.unit_cost.value)
    assert nodes[first.trees["cost_per_month"]]["value"] == pytest.approx(first.cost_per_month_money)


def test_ingestion_takes_the_tokens_there_are(brief):
    found = ingestion_of(brief, brief.retrieval, means_of(brief, AS_OF))
    per_document = brief.retrieval.chunks_per_document * brief.retrieval.chunk_tokens
    expected = 3000 * 730 / 24 * per_document + 200e3 * per_document * 2 / 12
    assert found.tokens_per_month == pytest.approx(expected)
    assert found.hours_per_month == pytest.approx(expected / found.tokens_per_s / 3600)
    hurried = ingestion_of(brief, replace(brief.retrieval, reembedding_s=600.0), means_of(brief, AS_OF))
    assert hurried.cards_count > found.cards_count


def test_a_tighter_objective_never_costs_less(outcome):
    tight = decide(brief_of(TEXT.replace("ttft_p95: 2 s", "ttft_p95: 700 ms")), AS_OF).decision.options[0]
    assert (
        tight.status == "misses"
        or tight.unit_cost.value >= 0.999 * outcome.decision.options[0].unit_cost.value
    )


def test_encoders_on_the_generators_cards_take_its_memory_and_time():
    """Nothing is held for them, but the generator needs more replicas, each with a smaller pool."""
    patient = TEXT.replace("{ttft_p95: 2 s, e2e_p95: 20 s}", "{ttft_p95: 6 s, e2e_p95: 90 s}")
    outcome = decide(brief_of(patient), AS_OF, show_all=True)
    shared = [one for one in outcome.worked if one.beside.shared]
    assert shared
    for one in shared:
        assert one.candidate.deployment.settings.gpu_memory_utilization < 0.9
        assert "embedding" not in {line.key for line in one.cost.lines}
        plain = next(
            other
            for other in outcome.worked
            if not other.beside.shared and other.candidate.deployment.name == one.candidate.deployment.name
        )
        assert one.candidate.replicas_count >= plain.candidate.replicas_count
        assert one.room.kv_pool_tokens < plain.room.kv_pool_tokens


def test_without_a_reranker_nothing_is_reranked():
    text = TEXT.replace("  reranker: BAAI/bge-reranker-v2-m3\n", "")
    first = decide(brief_of(text), AS_OF).decision.options[0]
    assert "rerank_ms_p95" not in first.metrics
    assert "reranking" not in {line.key for line in first.cost_lines}


def test_what_the_brief_leaves_unsaid_of_the_corpus_is_told(outcome):
    told = {one.name: one.value for one in outcome.decision.assumptions}
    assert told["retrieval.chunk_tokens"] == "400"
    assert not {"retrieval.document_tokens", "retrieval.candidates"} & told.keys()  # the brief says them


def test_cards_that_encode_draw_electricity_too(outcome, brief):
    means = means_of(brief, AS_OF)
    found = {True: 0, False: 0}
    for one in outcome.worked:
        if one.tenure is None:
            continue
        use, alone = one.beside.front.use, energy_tree(replace(one, beside=None), means)
        whole = energy_tree(one, means)["energy_kwh_per_month"].value
        own_cards = use.tenure is not None and use.cards_count > 0
        more = whole - alone["energy_kwh_per_month"].value
        if own_cards:
            idle = one.beside.front.accelerator.tdp_w * means.terms.base("idle_power_ratio") / 1000
            assert more > idle * use.cards_count * 730
        else:
            assert more == 0
        found[own_cards] += 1
    assert found[True]
