"""Evaluation harnesses: tasks as a batch, every model in turn, a judge somewhere."""

from dataclasses import replace

import pytest

from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.evaluation import assumed_of
from cabida.choose.harness_brief import batch_brief, request_tokens
from cabida.facts import model as model_of

AS_OF = "2026-11-30"
TEXT = """
name: harness
workload: evaluation
models: [meta-llama/Llama-3.1-8B-Instruct]
evaluation:
  tasks:
    - {name: exams, kind: choices, samples: 14042, prompt_tokens: 110, shared_tokens: 600, choices: 4}
    - {name: sums, kind: generated, samples: 1319, prompt_tokens: 90, shared_tokens: 850, output_tokens: 180, runs: 3}
    - {name: style, kind: judged, samples: 400, prompt_tokens: 350, output_tokens: 400}
  models_per_month: 60
  judge: {model: meta-llama/Llama-3.3-70B-Instruct, where: any, votes: 2}
  accepted: 0.9
objectives: {deadline: 1 h}
limits: {data: any, needed_by: 2027-01-15}
horizon: 12 months
team: {platform_engineers: 0.1, loaded_cost: 90000 USD/year}
consider: {capacity: [on-demand, spot], providers: any, accelerators: [l40s, a100-sxm-80, h100-sxm-80]}
"""


def brief_of(text=TEXT):
    return complete(parse_brief(text, as_of=AS_OF), as_of=AS_OF)


@pytest.fixture(scope="module")
def outcome():
    return decide(brief_of(), AS_OF)


def test_choices_read_their_prompt_once():
    exams, sums, _ = brief_of().evaluation.tasks
    assert request_tokens(exams) == 600 + 110 + 4 * 16
    assert request_tokens(sums) == 940
    one = replace(exams, choices_count=1)
    assert request_tokens(one) < request_tokens(exams) < 4 * request_tokens(one)


def test_the_batch_is_the_mixture_of_the_tasks():
    brief = brief_of()
    inner = batch_brief(brief, brief.evaluation, model_of("meta-llama/Llama-3.1-8B-Instruct"))
    whole = 14042 + 3 * 1319 + 400
    assert inner.traffic.items_count == whole
    tokens = sum(task.verdicts_count * request_tokens(task) for task in brief.evaluation.tasks)
    assert inner.traffic.input.mean_tokens == pytest.approx(tokens / whole)
    assert inner.models[0].weights["bf16"].ratio == 0.9
    assert "api" not in inner.consider.capacity  # an API hands out no likelihoods of prompts


def test_a_model_and_a_verdict_have_their_cost(outcome):
    first = outcome.decision.options[0]
    verdicts = (14042 + 3 * 1319 + 400) * 60
    assert outcome.decision.denominator == "accepted_verdict"
    assert first.unit_cost.value == pytest.approx(first.cost_per_month_money / (verdicts * 0.9), rel=1e-6)
    assert first.metrics["evaluated_model_money"].value == pytest.approx(first.cost_per_month_money / 60)
    assert first.metrics["minutes_per_model"].value <= 60
    parts = sum(first.metrics[f"minutes_{kind}"].value for kind in ("choices", "generated", "judged"))
    judging = first.metrics["minutes_judging"].value if "minutes_judging" in first.metrics else 0.0
    assert first.metrics["minutes_per_model"].value == pytest.approx(parts + judging)


def test_the_judge_is_paid_and_explained(outcome):
    decision = outcome.decision
    first = decision.options[0]
    nodes = {node["id"]: node for node in decision.trees}
    judging = next(line.money for line in first.cost_lines if line.key == "judging")
    assert judging > 0
    assert nodes[first.trees["cost.judging"]]["value"] == pytest.approx(judging)
    assert nodes[first.trees["evaluated_model_money"]]["value"] == pytest.approx(
        first.metrics["evaluated_model_money"].value
    )
    assert nodes[first.trees["unit_cost"]]["value"] == pytest.approx(first.unit_cost.value)
    assert "Llama-3.3-70B" in first.title


def test_a_judge_that_may_not_be_reached_runs_here():
    text = TEXT.replace("data: any", "data: US")
    for one in decide(brief_of(text), AS_OF).worked:
        assert one.status == "ruled_out" or one.beside.judge.offer is None


def test_three_models_take_longer_than_the_largest_alone_costs_each(outcome):
    several = TEXT.replace(
        "models: [meta-llama/Llama-3.1-8B-Instruct]",
        "models: [meta-llama/Llama-3.1-8B-Instruct, Qwen/Qwen3-32B]",
    )
    both = decide(brief_of(several), AS_OF).decision.options[0]
    assert both.model == "Qwen/Qwen3-32B"
    assert both.unit_cost.value > outcome.decision.options[0].unit_cost.value


def test_no_model_of_the_list_is_left_out_where_it_does_not_fit():
    """A large one in 4 bit on one card of 48 GB beside a middling one in 16: the other doesn't fit, and is named."""
    text = TEXT.replace(
        "models: [meta-llama/Llama-3.1-8B-Instruct]",
        "models: [{id: meta-llama/Llama-3.3-70B-Instruct, weights: {awq-int4: {acceptance: 0.9}}}, Qwen/Qwen3-32B]",
    ).replace("[l40s, a100-sxm-80, h100-sxm-80]", "[l40s]")
    lone, several = [], []
    for one in decide(brief_of(text), AS_OF).worked:
        if one.candidate.deployment:
            (lone if one.candidate.deployment.parallel.accelerators_count == 1 else several).append(one)
    assert lone
    assert all(one.status == "ruled_out" and "Qwen3-32B" in " ".join(one.reasons) for one in lone)
    assert any(one.status != "ruled_out" for one in several)
    narrow = text.replace("Qwen/Qwen3-32B]", "{id: Qwen/Qwen3-32B, weights: {awq-int4: {acceptance: 0.9}}}]")
    alone = [
        one
        for one in decide(brief_of(narrow), AS_OF).worked
        if one.candidate.deployment and one.candidate.deployment.parallel.accelerators_count == 1
    ]
    assert not any("Qwen3-32B" in " ".join(one.reasons) for one in alone)


def test_a_shorter_deadline_never_costs_less(outcome):
    hurried = decide(brief_of(TEXT.replace("deadline: 1 h", "deadline: 20 min")), AS_OF).decision.options[0]
    assert (
        hurried.status == "misses"
        or hurried.unit_cost.value >= 0.97 * outcome.decision.options[0].unit_cost.value
    )


@pytest.mark.parametrize(("text", "told"), [(TEXT, False), (TEXT.replace(", output_tokens: 400", ""), True)])
def test_the_length_of_answers_that_nobody_said_is_told(text, told):
    brief = brief_of(text)
    assert ("evaluation.answers" in {one.name for one in assumed_of(brief, brief.evaluation)}) == told


def test_no_evaluation_ends_before_an_engine_has_started():
    """Some GB of weights off a disk of 6.9 GB/s are a second or two, and an engine starts in 20."""
    hurried = decide(brief_of(TEXT.replace("deadline: 1 h", "deadline: 1 s")), AS_OF).decision.options[0]
    assert hurried.status == "misses"
    told = next(one for one in hurried.reasons if "start-up" in one)
    assert 21 <= float(told.split("takes ")[1].split(" s")[0]) < 40
