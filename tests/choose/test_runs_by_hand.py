"""A training decision's figures by hand: hours from FLOPs, the bill from hours, checkpoints, dates and budgets."""

from dataclasses import replace

import pytest
from choose_briefs import AS_OF

from cabida.brief import complete, parse_brief
from cabida.choose import decide
from cabida.choose.ask import START_UP_HOURS
from cabida.choose.means import means_of
from cabida.choose.sure import surely_fits
from cabida.choose.told import cost_tree_of
from cabida.choose.training import STAGES_EARN_RATIO, Timed, _preference
from cabida.facts import accelerator

TOKENS = 100_000 * 2 * 1000  # samples x epochs x mean length


def brief_of(training="", limits="needed_by: 2027-06-01, ", budget=""):
    """A full fine-tune of an 8B model on H100 or A100."""
    text = f"""
name: hand
workload: full-finetune
models: [{{id: meta-llama/Llama-3.1-8B}}]
training: {{method: full, samples: 100 k, epochs: 2, sample_tokens: {{mean: 1000, p95: 2500}}, seq_len: 4096,
  global_batch: 64, optimizer: adamw, precision: bf16, failed_runs: 20 %, accepted_runs: 0.5, runs: 4, {training}}}
objectives: {{deadline: 5 days}}
limits: {{data: any, {limits}availability: none, risk: medium}}
{budget}
horizon: 12 months
team: {{platform_engineers: 0.2, loaded_cost: 120000 USD/year}}
consider: {{capacity: [on-demand], providers: any, accelerators: [h100-sxm-80, a100-sxm-80]}}
"""
    return complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)


@pytest.fixture(scope="module")
def tuned():
    return decide(brief_of(), AS_OF, show_all=True)


def test_hours_are_flops_over_peak_times_mfu(tuned):
    for option, one in zip(tuned.decision.options, tuned.worked, strict=True):
        run, speed = one.candidate.run, one.speed
        peak = accelerator(option.accelerator).flop_per_s["bf16"]
        ideal_s = TOKENS * speed.flop_per_token / (peak * speed.mfu_ratio * run.accelerators_count)
        wall_s = ideal_s / speed.goodput_ratio
        assert one.usage.wall_s >= ideal_s
        assert one.usage.wall_s - START_UP_HOURS * 3600 == pytest.approx(wall_s, rel=0.02)
        assert one.usage.ideal_hours == pytest.approx(ideal_s * run.accelerators_count / 3600, rel=0.01)
        assert 6 * 8.03e9 * 0.9 < speed.flop_per_token < 6 * 8.03e9 * 1.3  # six a parameter, and attention
        assert 0.1 < speed.mfu_ratio < 0.75


def test_a_run_pays_its_hours_its_failures_and_half_its_models(tuned):
    for option, one in zip(tuned.decision.options, tuned.worked, strict=True):
        paid = one.usage.ideal_hours / one.usage.goodput_ratio / 0.8 * one.tenure.money_per_hour
        assert one.cost.line("compute") + one.cost.line("failed_runs") == pytest.approx(paid)
        assert option.unit_cost.value == pytest.approx(option.cost_per_month_money / 0.5)
        assert sum(line.money for line in option.cost_lines) == pytest.approx(option.cost_per_month_money)
        low, high = (option.unit_cost.value / edge for edge in (option.unit_cost.low, option.unit_cost.high))
        slow = one.speed.spread["tokens_per_s_per_accelerator"][0]
        share = (one.cost.line("compute") + one.cost.line("failed_runs")) / one.cost.per_month_money
        assert 1 / high - 1 >= share * (1 / slow - 1) * 0.99  # as slow as that, it costs so much more
        assert low > 1


def test_finished_weights_leave_the_provider_and_optimizer_states_do_not(tuned):
    for one in tuned.worked:
        assert one.usage.checkpoint_gb == pytest.approx(8.03 * 14, rel=0.01)
        assert one.cost.line("network") == pytest.approx(8.03 * 2 * 0.05, rel=0.01)  # 16 GB at 0.05


def test_an_asked_checkpoint_interval_costs_what_it_costs():
    plain, often = (
        {one.candidate.id: one.usage.wall_s for one in decide(brief_of(said), AS_OF, show_all=True).worked}
        for said in ("", "checkpoint: 1 min")
    )
    same = plain.keys() & often.keys()
    assert same
    assert all(often[name] > plain[name] for name in same)  # written too often for how rarely machines stop


def test_the_day_it_is_needed_and_the_budget_of_all_runs_are_limits(tuned):
    middle = sorted(one.cost.per_month_money for one in tuned.worked)[len(tuned.worked) // 2]
    soon = decide(brief_of(limits="needed_by: 2026-12-01, "), AS_OF, show_all=True)
    for option, one in zip(soon.decision.options, soon.worked, strict=True):
        assert (option.status == "misses") == (one.wall_s > 86_400 or not surely_fits(one))
    dear = decide(brief_of(budget=f"budget: {{total: {4 * middle + 0.01:.4f} USD}}"), AS_OF, show_all=True)
    for option, one in zip(dear.decision.options, dear.worked, strict=True):
        over = option.cost_per_month_money > middle + 0.01
        assert (option.status == "misses") == (over or not surely_fits(one))
    monthly = decide(
        brief_of(budget=f"budget: {{monthly: {middle / 3 + 0.001:.4f} USD}}"), AS_OF, show_all=True
    )
    for option, one in zip(
        monthly.decision.options, monthly.worked, strict=True
    ):  # four runs: a third a month
        over = option.cost_per_month_money > middle + 0.02
        assert (option.status == "misses") == (over or not surely_fits(one))
    found = {one.status for one in dear.decision.options}
    assert found == {one.status for one in monthly.decision.options}
    assert {"chosen", "misses"} <= found


def test_stages_must_be_worth_their_trouble(tuned):
    brief = brief_of()
    one = tuned.worked[0]
    plain = Timed(replace(one.candidate.run, pp=1), one.room, one.speed, 100.0)
    stages = replace(plain, run=replace(one.candidate.run, pp=2), wall_s=100.0 / STAGES_EARN_RATIO * 1.001)
    assert _preference(plain, brief.training) < _preference(stages, brief.training)
    assert _preference(replace(stages, wall_s=90.0), brief.training) < _preference(plain, brief.training)


def test_the_tree_of_a_spot_run_is_its_bill():
    text = brief_of().text.replace("[on-demand]", "[spot, on-demand]")
    brief = complete(parse_brief(text, as_of=AS_OF), assume=True, as_of=AS_OF)
    means = means_of(brief, AS_OF)
    spot = [one for one in decide(brief, AS_OF, show_all=True).worked if one.tenure.capacity == "spot"]
    assert spot
    for one in spot:
        tree = cost_tree_of(one, means)
        assert tree["unit_cost"].value == pytest.approx(one.cost.per_accepted_money)
        assert one.wall_s > one.usage.wall_s  # interruptions make it longer
