"""A brief says what makes an output acceptable; it is read, written and put as it stands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.bench.accept.rules import rules
from cabida.bench.outcome import Outcome
from cabida.brief.fields import RULES as RULES_OF_A_BRIEF
from cabida.brief.model import AcceptanceRule
from cabida.brief.read import parse_brief
from cabida.brief.render import render
from cabida.errors import InvalidInput
from cabida.plan.bench import RULES, Rule

BRIEF = """
workload: realtime-inference
models: [{id: qwen2.5-7b-instruct}]
acceptance:
  retries: 1
  rules:
    - kind: json-schema
      value:
        type: object
        required: [answer]
        properties: {answer: {type: string, minLength: 2}}
    - {kind: regex, value: "42", name: the answer}
    - {kind: numeric, value: {value: 42, tolerance: 0.5}}
    - kind: finish-reason
"""


def test_rules_are_read_as_yaml_means_them():
    brief = parse_brief(BRIEF, as_of="2026-11-30")
    form, pattern, numeric, finish = brief.rules
    assert form.value["properties"]["answer"]["minLength"] == 2
    assert pattern == AcceptanceRule("regex", "42", "the answer")
    assert numeric.value == {"value": 42, "tolerance": 0.5}
    assert finish == AcceptanceRule("finish-reason")
    put_to = rules([Rule(one.kind, one.value, one.name) for one in brief.rules])
    assert put_to.judge(Outcome("a", 0, 0.0, "ok", text='{"answer": "42"}', finish_reason="stop")) == (
        True,
        (),
    )


def test_one_rule_needs_no_list():
    brief = parse_brief(
        "workload: evaluation\nacceptance: {rules: {kind: exact, value: 'yes'}}", as_of="2026-11-30"
    )
    assert brief.rules == (AcceptanceRule("exact", "yes"),)


def test_kinds_of_a_brief_are_those_of_a_plan():
    assert RULES_OF_A_BRIEF == RULES


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("{kind: regexp, value: a}", "CB-B018"),
        ("{value: a}", "CB-B"),
        ("{kind: regex, pattern: a}", "CB-B003"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line(rule, code):
    with pytest.raises(InvalidInput, match=code) as refused:
        parse_brief(f"workload: evaluation\nacceptance:\n  rules:\n    - {rule}\n", as_of="2026-11-30")
    assert 4 in {one.line for one in refused.value.problems}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6, allow_nan=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=8)
    | st.sampled_from(["42", "yes", "null", "1e3", "?", "unknown", "any", "2026-11-30", "a b", "true"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(deadline=None)
@given(VALUES)
def test_what_is_written_is_read_again(value):
    brief = parse_brief(BRIEF, as_of="2026-11-30")
    object.__setattr__(brief, "rules", (AcceptanceRule("regex", value, "n"),))
    assert parse_brief(render(brief), as_of="2026-11-30").rules == (AcceptanceRule("regex", value, "n"),)
