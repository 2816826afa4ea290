"""What a plan's comments claim is so: whose lengths they are, and whether anything is charged."""

from __future__ import annotations

from dataclasses import replace

from cabida.bench.planned import parse_plan, plan_of_target, plan_yaml
from cabida.plan.bench import Prompts, Spread, Target

TARGET = Target("http://127.0.0.1:8000/v1", model="m")


def test_lengths_that_nobody_said_are_not_called_those_of_a_brief() -> None:
    plan = plan_of_target(TARGET)
    text = plan_yaml(plan, "en")
    assert "put your own lengths here" in text
    assert "lengths of the brief" not in text
    assert parse_plan(text).prompts == plan.prompts
    said = plan_yaml(replace(plan, prompts=Prompts(input=Spread(900.0))), "en")
    assert "lengths of the brief" in said


def test_setting_up_is_told_as_charged_only_where_something_costs() -> None:
    plan = plan_of_target(TARGET)
    assert "is charged" not in plan_yaml(plan, "en")
    paid = replace(plan, runs=(replace(plan.runs[0], cost_money=1.0), *plan.runs[1:]))
    assert "is charged" in plan_yaml(paid, "en")
