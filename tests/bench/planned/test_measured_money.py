"""From a journal to money: what was measured of each contender, and what it costs then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cabida.app import bench_report, recommend
from cabida.app.bench_money import bench_normalised, measured_of
from cabida.bench.clock import now_s
from cabida.bench.keep import Journal
from cabida.bench.keep.figures import summaries
from cabida.bench.keep.kept import read_journal
from cabida.bench.outcome import Outcome
from cabida.choose.normalise import Measured
from cabida.plan import Decision
from cabida.plan.bench import BenchPlan, Contender, Load, Policy, Rule, Run, Target
from cabida.report.bench_money import told
from cabida.report.bench_parts import parts
from cabida.report.store import save
from cabida.text import use_language

DAY = "2026-11-30"


@pytest.fixture(scope="module")
def chat() -> Decision:
    return recommend("examples/chat-llama-70b.yaml", assume=True, as_of=DAY)


def plan_for(option: str, *, replicas: int = 1) -> BenchPlan:
    runs = (
        Run("peak", "load", "a", Load("poisson", requests_per_s=2.0, duration_s=60.0)),
        Run("search", "search", "a", Load("poisson", requests_per_s=2.0, duration_s=60.0)),
    )
    contender = Contender("a", Target("http://127.0.0.1:8000/v1"), option=option, replicas_count=replicas)
    return BenchPlan("p", (contender,), runs, rules=(Rule("regex", "ok"),), policy=Policy(retries_count=1))


def answered(at: int, due_s: float, **more: object) -> Outcome:
    said = {
        "verdict": "ok", "status": 200, "sent_s": due_s, "first_token_s": due_s + 0.2, "last_token_s": due_s + 1.0,
        "ended_s": due_s + 1.0, "finish_reason": "stop", "input_tokens": 10, "output_tokens": 20,
        "counted_by": "usage", "accepted": at % 5 != 0,
    }  # fmt: skip
    return Outcome(f"peak/{at}", 0, due_s, **{**said, **more})


def journalled(folder: Path, plan: BenchPlan, sought: dict[str, object]) -> None:
    """200 requests: one in ten fails and is repeated well; four of five answers are accepted."""
    with Journal(folder, plan) as journal:
        start_s = now_s()
        journal.event("run", run="peak", candidate="a", at_s=0.0)
        for at in range(200):
            due_s = start_s + at * 0.3
            if at % 10 == 3:
                failed = {
                    "verdict": "server-error",
                    "why": "500",
                    "status": 500,
                    "final": False,
                    "accepted": None,
                }
                journal.request(
                    answered(at, due_s, ended_s=due_s + 0.1, first_token_s=None, last_token_s=None, **failed)
                )
                journal.request(replace(answered(at, due_s), attempt=1))
            else:
                journal.request(answered(at, due_s))
        journal.event("run-end", run="peak", at_s=61.0)
        journal.event("run", run="search", candidate="a", at_s=61.0)
        journal.event("run-end", run="search", at_s=200.0, stopped="found", sought=sought)
        journal.event("end")


def found_of(folder: Path, plan: BenchPlan):
    kept = read_journal(folder)
    (found,) = measured_of(kept, plan, summaries(kept))
    return found


FOUND = {"level": 6.0, "failed_level": 6.3, "why": "found", "closed": False}


def test_a_journal_says_what_was_measured(tmp_path: Path) -> None:
    plan = plan_for("x", replicas=2)
    journalled(tmp_path / "j", plan, FOUND)
    found = found_of(tmp_path / "j", plan)
    assert found.option == "x"
    assert (found.speed, found.speed_low, found.speed_high, found.meets) == (
        3.0,
        3.0,
        3.15,
        True,
    )  # of each replica
    assert found.acceptance_ratio == pytest.approx(0.8, abs=0.03)
    assert found.failure_ratio == pytest.approx(20 / 220, abs=0.02)
    assert found.amplification_ratio == pytest.approx(1.1, abs=0.02)


@pytest.mark.parametrize(
    "sought",
    [
        {"level": 6.0, "failed_level": None, "why": "enough", "closed": False},
        {"level": 6.0, "failed_level": 8.0, "why": "client", "closed": False},
    ],
)
def test_a_rate_that_nothing_but_the_client_ended_is_a_lower_bound(
    tmp_path: Path, chat: Decision, sought: dict[str, object]
) -> None:
    first = chat.options[0]
    predicted = first.replica.capacity_requests_per_s
    for ratio, speed_ratio in ((0.5, None), (1.5, 1.5)):
        folder = tmp_path / f"{ratio}"
        journalled(folder, plan_for(first.id), {**sought, "level": predicted * ratio})
        found = found_of(folder, plan_for(first.id))
        assert (found.speed, found.speed_low, found.speed_high, found.meets) == (
            None,
            pytest.approx(predicted * ratio),
            None,
            True,
        )
        row = bench_normalised(chat, measured=[Measured(first.id, speed_low=found.speed_low)])["rows"][0]
        assert row["speed_ratio"] == (None if speed_ratio is None else pytest.approx(speed_ratio))


@pytest.mark.parametrize(("limit_s", "known"), [(5.0, True), (0.05, False)])
def test_what_a_closed_load_carried_beyond_the_objectives_is_no_speed(
    tmp_path: Path, limit_s: float, known: bool
) -> None:
    plan = plan_for("x")
    closed = replace(plan.runs[0], load=Load("closed", concurrency=8, duration_s=60.0))
    plan = replace(plan, runs=(closed, plan.runs[1]), objectives={"ttft": {"p95": limit_s}})
    journalled(tmp_path / "j", plan, {})
    assert (found_of(tmp_path / "j", plan).speed is not None) == known


NEVER = {"level": None, "failed_level": 1.0, "why": "never"}


@pytest.mark.parametrize(
    ("sought", "speed", "meets"),
    [
        ({"level": None, "failed_level": 0.1, "why": "never", "closed": False}, None, False),
        ({**NEVER, "closed": False, "failed_verdict": "open"}, None, None),
        ({**NEVER, "closed": False, "failed_verdict": "fail"}, None, False),
        ({**NEVER, "closed": True, "failed_verdict": "fail"}, None, False),
        ({**NEVER, "closed": True, "failed_verdict": "open"}, None, None),
        ({**NEVER, "closed": True}, None, None),
        ({"level": 64, "failed_level": 128, "why": "found", "closed": True}, None, None),
        ({}, None, None),
    ],
)
def test_a_search_that_found_no_rate_gives_none(
    tmp_path: Path, sought: dict[str, object], speed: float | None, meets: bool | None
) -> None:
    plan = plan_for("x")
    journalled(tmp_path / "j", plan, sought)
    found = found_of(tmp_path / "j", plan)
    assert (found.speed, found.meets) == (speed, meets)


def test_the_decision_is_paid_anew_with_what_a_journal_holds(tmp_path: Path, chat: Decision) -> None:
    first = chat.options[0]
    slow = first.replica.capacity_requests_per_s * 0.5
    plan = plan_for(first.id)
    journalled(
        tmp_path / "j", plan, {"level": slow, "failed_level": slow * 1.05, "why": "found", "closed": False}
    )
    answer = bench_normalised(chat, [tmp_path / "j"])
    own = answer["rows"][0]
    assert (own["option"], own["title"], own["own_offer"]) == (first.id, first.title, True)
    assert own["predicted_unit_money"] == pytest.approx(first.unit_cost.value, rel=1e-6)
    assert own["speed_ratio"] == pytest.approx(0.5)
    assert own["measured_unit_money"] > own["predicted_unit_money"]
    assert own["amplification_ratio"] == pytest.approx(1.1, abs=0.02)
    assert answer["changed"]
    assert answer["before"] == first.id
    assert answer["after_title"]
    assert answer["saved_month_money"] > 0
    assert answer["left_out"] == []


def test_what_two_benchmarks_measured_of_an_option_counts_together(chat: Decision) -> None:
    first = chat.options[0]
    predicted = first.replica.capacity_requests_per_s
    parts_of = [
        Measured(first.id, predicted * 0.9, predicted * 0.85, predicted),
        Measured(first.id, acceptance_ratio=0.5),
        Measured(first.id, predicted * 0.8, acceptance_ratio=0.7),
    ]
    rows = [bench_normalised(chat, measured=parts_of[:count])["rows"][0] for count in (1, 2, 3)]
    assert [(row["speed_ratio"], row["measured_acceptance_ratio"]) for row in rows] == [
        (pytest.approx(0.9), None),
        (pytest.approx(0.9), 0.5),
        (pytest.approx(0.8), 0.7),
    ]
    assert rows[2]["measured_unit_low_money"] is None
    gone = bench_normalised(chat, measured=[parts_of[0], Measured(first.id, meets=False)])
    assert gone["rows"][0]["measured_unit_money"] is None


def test_an_option_that_is_no_more_is_told(tmp_path: Path, chat: Decision) -> None:
    plan = plan_for("gone")
    journalled(tmp_path / "j", plan, FOUND)
    answer = bench_normalised(chat, [tmp_path / "j"])
    assert answer["left_out"] == ["gone"]
    assert answer["rows"] == []
    assert not answer["changed"]


def test_the_report_tells_it_in_both_languages(tmp_path: Path, chat: Decision) -> None:
    first = chat.options[0]
    slow = first.replica.capacity_requests_per_s * 0.5
    plan = plan_for(first.id)
    journalled(
        tmp_path / "j", plan, {"level": slow, "failed_level": slow * 1.05, "why": "found", "closed": False}
    )
    answer = bench_report([tmp_path / "j"], decision=_saved(tmp_path, chat), predict=False)
    for language, words in (("en", "it saves"), ("es", "ahorra")):
        use_language(language)
        try:
            (part,) = [one for one in parts(answer, pictures=False) if one.key == "money"]
        finally:
            use_language("en")
        assert words in part.sentences[0]
        (table,) = part.tables
        assert len(table.rows) == len(answer["normalised"]["rows"]) >= 2
        assert all(len(row) == len(table.header) for row in table.rows)
        assert "±" in table.rows[0][7]
    stays = bench_normalised(chat, measured=[Measured(first.id, first.replica.capacity_requests_per_s)])
    assert "stays the cheapest" in told(stays)[0][0]
    assert len(told(stays)[0]) == 1
    second = chat.options[1]
    beside = bench_normalised(chat, measured=[Measured(second.id, second.replica.capacity_requests_per_s)])
    assert beside["after"] == first.id  # the winner has no row: its cost is told all the same
    assert beside["after_predicted_unit_money"] == pytest.approx(first.unit_cost.value)
    assert any(first.title in one and "was not measured" in one for one in told(beside)[0])
    unseen = told(bench_normalised(chat, measured=[Measured(first.id, acceptance_ratio=0.9)]))[0]
    assert any("counts on the predicted one" in one and first.title in one for one in unseen)
    out = bench_normalised(chat, measured=[Measured(first.id, meets=False)])
    assert "does not keep the objectives" in told(out)[0][0]
    assert "changes a cost" in told(bench_normalised(chat, measured=[Measured(first.id)]))[0][0]


def _saved(folder: Path, decision: Decision) -> Path:
    return save(decision, folder / "decision.json")
