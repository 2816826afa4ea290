"""What is expected of an answer may stand beside its prompt, and a judge may be shown both."""

import json

import pytest

from cabida.bench.keep.journal import JOURNAL
from cabida.bench.load.prompts import prompts
from cabida.bench.run.consent import refusals
from cabida.bench.run.parent import run_plan
from cabida.bench.selfcheck.starting import calibrated
from cabida.plan.bench import BenchPlan, Contender, Load, Policy, Prompts, Rule, Run, Target

LINES = [
    {"prompt": "2 + 2?", "reference": "4"},
    {
        "messages": [{"role": "system", "content": "count"}, {"role": "user", "content": "2 + 3?"}],
        "reference": 5,
    },
    {"prompt": "And now?"},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return path


def test_a_deck_knows_what_its_file_expects(file):
    deck = prompts(Prompts("jsonl", str(file)), Target("http://127.0.0.1/v1"), 1)
    assert [deck.expected(k) for k in (0, 1, 2, 3)] == [
        ("2 + 2?", "4"),
        ("2 + 3?", 5),
        ("And now?", None),
        ("2 + 2?", "4"),
    ]
    assert prompts(Prompts(), Target("http://127.0.0.1/v1"), 1).expected(0) == ("", None)


def test_answers_of_a_run_are_held_against_their_own_references(file, tmp_path):
    with calibrated(manner="ttft=1,itl=0,n=2,say=4") as server:
        judge = {
            "target": {"url": server.url, "model": "judge,ttft=1,itl=0,n=1,say=yes"},
            "prompt": "{prompt} {output}",
        }
        plan = BenchPlan(
            "references",
            (Contender("one", Target(server.url, "mock")),),
            (Run("steady", "load", "one", Load("closed", concurrency=3, requests_count=12)),),
            prompts=Prompts("jsonl", str(file)),
            rules=(Rule("exact", {"reference": True}), Rule("judge", judge)),
        )
        run_plan(plan, tmp_path / "run")
    rows = [
        json.loads(line) for line in (tmp_path / "run" / JOURNAL).read_text(encoding="utf-8").splitlines()
    ]
    found = {one["id"]: one for one in rows if one.get("kind") == "judged"}
    assert [found[f"steady/{k}"].get("ok") for k in range(12)] == [True, False, None] * 4
    assert all(found[f"steady/{k}"]["broken"] == ["exact"] for k in range(1, 12, 3))
    assert all(found[f"steady/{k}"]["unjudged"] == ["exact"] for k in range(2, 12, 3))
    (spent,) = (one["spent"] for one in rows if "spent" in one)
    assert (spent["asked_count"], spent["failed_count"]) == (8, 0)  # not about what was rejected already


def test_a_judge_elsewhere_needs_leave_as_any_target_does():
    judge = {"target": "http://192.0.2.7/v1", "prompt": "{output}"}
    run = Run("steady", "load", "one", Load("closed", concurrency=1, requests_count=1))
    contenders = (Contender("one", Target("http://127.0.0.1:9/v1")),)
    plan = BenchPlan("far", contenders, (run,), rules=(Rule("judge", judge),), policy=Policy(requests_most=5))
    (told,), _ = refusals(plan, ["steady"], yes=False)
    assert told.code == "CB-N001"
    assert "192.0.2.7" in told.what
    assert refusals(plan, ["steady"], yes=True)[0] == []


def test_a_rule_that_cant_be_put_is_told_before_anything_is_asked():
    run = Run("steady", "load", "one", Load("closed", concurrency=1, requests_count=1))
    contenders = (Contender("one", Target("http://127.0.0.1:9/v1")),)
    plan = BenchPlan("wrong", contenders, (run,), rules=(Rule("regex", "("), Rule("length", 3)))
    assert [one.code for one in refusals(plan, ["steady"], yes=False)[0]] == ["CB-A002", "CB-A002"]
