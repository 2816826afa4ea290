"""Figures of a run, held against a server whose speed is known."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_trials import failed, outcome, plan, poisson, written

from cabida.bench.keep import read_journal, requests_of, summary
from cabida.bench.keep.asked import asked_of
from cabida.bench.keep.figures import SCHEMA, summaries, summed
from cabida.bench.outcome import FAILED, VERDICTS
from cabida.errors import InvalidInput
from cabida.plan.bench import Load, Run


def of(outcomes, *, window=(0.0, 60.0), load=None, objectives=None, **more):
    requests = requests_of(outcomes)
    asked = asked_of(requests, requests.rows_of("steady"))
    load = load or {"kind": "poisson", "requests_per_s": 20.0}
    return summed(
        requests, asked, run="steady", load=load, window=window, objectives=objectives or {}, **more
    )


def steady(seconds=60.0, per_s=20.0, **more):
    return [outcome(at, due, **more) for at, due in enumerate(poisson(seconds, per_s))]


def test_a_server_of_known_speed():
    told = steady()
    one = of(told, objectives={"ttft": {"p95": 0.5}})
    figures = {name: figure.value for name, figure in one.metrics.items()}
    assert figures["ttft_ms_mean"] == pytest.approx(200.0)
    assert figures["ttft_ms_p95"] == pytest.approx(200.0)
    assert figures["tpot_ms_p50"] == pytest.approx(10.0)
    assert figures["itl_ms_p99"] == pytest.approx(10.0)
    assert figures["e2e_ms_mean"] == pytest.approx(691.0)
    assert one.service["ttft_ms_mean"].value == pytest.approx(199.0)
    assert one.offered_req_s == pytest.approx(len(told) / 60.0)
    assert figures["req_s"] == pytest.approx(20.0, rel=0.1)
    assert figures["output_tok_s"] == pytest.approx(50 * len(told) / 60.0, rel=0.03)
    assert figures["total_tok_s"] == pytest.approx(150 * len(told) / 60.0, rel=0.03)
    assert one.goodput_ratio.value == 1.0
    assert one.objectives[0].met is True
    assert one.saturated is False
    assert one.amplification_ratio == 1.0
    assert one.error_ratio.value == 0.0
    assert one.error_ratio.high > 0.0
    assert one.counted_by == {"usage": len(told)}
    assert one.accepted_count is None
    assert one.schema == SCHEMA
    json.dumps(one.plain(), allow_nan=False)


@pytest.mark.parametrize(("each", "met"), [(0, True), (3, False), (40, None)])
def test_the_share_that_may_fail_is_an_objective_too(each, met):
    """3 % may fail: none does; each third does; each fortieth does, and that can't be told from 3 %."""
    told = [
        failed(at, due, "server-error") if each and at % each == 0 else outcome(at, due)
        for at, due in enumerate(poisson(60.0, 20.0))
    ]
    one = of(told, error_ratio_most=0.03)
    assert [(its.metric, its.met, its.limit_ratio) for its in one.objectives] == [("error_ratio", met, 0.03)]
    assert one.objectives[0].value_ratio == one.error_ratio.value
    assert of(told).objectives == ()


def test_a_late_client_hides_nothing():
    """Requests that left two seconds late took two seconds longer, whatever the server did."""
    late = [outcome(at, due, ttft_s=2.2, sent_s=due + 2.0) for at, due in enumerate(poisson(60, 20))]
    one = of(late)
    assert one.metrics["ttft_ms_mean"].value == pytest.approx(2200.0)
    assert one.service["ttft_ms_mean"].value == pytest.approx(200.0)


def test_retries_count_from_the_first_intention_and_are_told_apart():
    told = []
    for at, due in enumerate(poisson(60, 10)):
        if at % 2:
            told.append(failed(at, due, "rate-limited", final=False))
            told.append(outcome(at, due + 1.0, attempt=1))
        else:
            told.append(outcome(at, due))
    one = of(told)
    assert one.requests_count * 1.5 == pytest.approx(one.attempts_count, abs=1)
    assert one.amplification_ratio == pytest.approx(1.5, abs=0.01)
    assert one.verdicts == {"ok": one.requests_count}
    assert one.attempt_verdicts["rate-limited"] == one.attempts_count - one.requests_count
    assert one.metrics["ttft_ms_p50"].value == pytest.approx(700.0, abs=501)
    assert one.metrics["ttft_ms_p90"].value == pytest.approx(1200.0)


def test_tokens_nobody_counted_have_no_tpot_and_no_rate():
    told = steady()
    for one in told[::3]:
        one.output_tokens, one.counted_by = None, ""
    one = of(told)
    assert one.unknown_tokens_count == len(told[::3])
    assert one.counted_by["unknown"] == len(told[::3])
    assert one.metrics["output_tok_s"].value is None
    assert one.metrics["output_tok_s"].why == "unknown_tokens"
    assert one.metrics["tpot_ms_mean"].count == len(told) - len(told[::3])
    assert "unknown_tokens" in one.notes


def test_several_tokens_an_event_give_tpot_only():
    told = [outcome(at, due, events_count=25, gaps_s=(0.02,) * 24) for at, due in enumerate(poisson(60, 20))]
    one = of(told)
    assert one.metrics["tpot_ms_mean"].value == pytest.approx(10.0)
    assert one.metrics["itl_ms_mean"].value is None
    assert one.metrics["itl_ms_mean"].why == "several_tokens_an_event"


def test_events_that_were_read_together_give_no_gaps():
    told = [outcome(at, due, gaps_s=(0.05,) * 10) for at, due in enumerate(poisson(60, 20))]
    assert of(told).metrics["itl_ms_p99"].why == "read_together"


def test_a_token_that_only_ends_the_answer_spoils_nothing():
    told = [outcome(at, due, output_tokens=51) for at, due in enumerate(poisson(60, 20))]
    assert of(told).metrics["itl_ms_mean"].value == pytest.approx(10.0)


def test_answers_in_one_piece_have_neither():
    told = [
        outcome(at, due, first_token_s=None, last_token_s=None, events_count=0, gaps_s=())
        for at, due in enumerate(poisson(60, 20))
    ]
    one = of(told, objectives={"ttft": {"p95": 1.0}})
    for name in ("ttft_ms_mean", "tpot_ms_mean", "itl_ms_mean"):
        assert one.metrics[name].value is None
        assert one.metrics[name].why == "not_streamed"
    assert one.metrics["e2e_ms_mean"].value == pytest.approx(691.0)
    assert one.goodput_ratio.value is None
    assert one.objectives[0].met is None
    assert one.metrics["output_tok_s"].value == pytest.approx(1000, rel=0.1)


def test_failed_requests_are_not_good_and_those_cut_short_are_neither():
    told = steady(per_s=10.0)
    bad = [failed(10_000 + at, 0.3 + at * 0.5) for at in range(100)]
    cut = [failed(20_000 + at, 59.0, "cancelled") for at in range(30)]
    one = of([*told, *bad, *cut], objectives={"e2e": {"p99": 10.0}})
    assert one.verdicts["cancelled"] == 30
    assert one.error_ratio.value == pytest.approx(100 / (len(told) + 100))
    assert one.goodput_ratio.value == pytest.approx(len(told) / (len(told) + 100))
    assert "cut_short" in one.notes
    assert one.reasons["server-error: 500"] == 100


def test_generated_valid_and_accepted_are_three_counts():
    told = steady(accepted=True)
    for one in told[:50]:
        one.accepted, one.broken_rules = False, ("json",)
    for one in told[50:70]:
        one.verdict, one.accepted = "truncated", None
    one = of(told, objectives={"e2e": {"p99": 10.0}})
    assert one.generated_count == len(told)
    assert one.valid_count == len(told) - 20
    assert one.accepted_count == len(told) - 70
    assert one.broken_rules == {"json": 50}
    assert one.goodput_ratio.value == pytest.approx((len(told) - 70) / len(told))


def test_a_queue_that_grows_is_saturation_and_chance_is_not():
    dice = random.Random(2)
    free, told = 0.0, []
    for at, due in enumerate(poisson(60, 30)):  # one at a time, 25 a second
        free = max(free, due) + 0.04
        told.append(outcome(at, due, ttft_s=free - due, tokens=1, events_count=1, gaps_s=()))
    one = of(told, load={"kind": "poisson"})
    assert one.saturated is True
    assert one.backlog_growth_per_s == pytest.approx(5.0, rel=0.4)
    calm = [outcome(at, due, ttft_s=dice.expovariate(0.5)) for at, due in enumerate(poisson(90, 20, seed=4))]
    assert of(calm, window=(20.0, 80.0)).saturated is False
    assert of(told, load={"kind": "closed"}).saturated is None


def test_where_the_client_was_the_bottleneck_its_latencies_are_not_the_servers():
    one = of(steady(), bound=True, why="lag", objectives={"ttft": {"p95": 0.5}})
    for name, figure in one.metrics.items():
        if "_ms_" in name:
            assert figure.value is None
            assert figure.why == "client"
    assert one.seen_by_client["ttft_ms_mean"].value == pytest.approx(200.0)
    assert one.service == {}
    assert one.goodput_ratio.value is None
    assert one.goodput_req_s is None
    assert one.objectives[0].met is None
    assert one.metrics["req_s"].value is not None


def test_objectives_are_met_missed_or_open():
    dice = random.Random(1)
    told = [outcome(at, due, ttft_s=dice.uniform(0.1, 0.3)) for at, due in enumerate(poisson(60, 20))]
    one = of(told, objectives={"ttft": {"p50": 0.2005, "p95": 0.5, "p99": 0.25}})
    assert [each.met for each in one.objectives] == [None, True, False]


def test_only_what_was_due_in_the_window_counts():
    told = steady(seconds=60.0)
    for one in told:
        if one.intended_s < 30.0:  # warm-up, slower
            one.first_token_s += 1.0
            one.last_token_s += 1.0
            one.ended_s += 1.0
    one = of(told, window=(30.0, 60.0))
    assert one.metrics["ttft_ms_p99"].value == pytest.approx(200.0)
    assert one.all_requests_count == len(told)
    assert one.requests_count < len(told)


def test_vectors_have_items_and_no_tokens():
    told = [
        outcome(at, due, first_token_s=None, last_token_s=None, events_count=0, gaps_s=(), items_count=4,
                output_tokens=None, counted_by="")
        for at, due in enumerate(poisson(60, 20))
    ]  # fmt: skip
    one = of(told, api="embeddings")
    assert one.metrics["items_s"].value == pytest.approx(80.0, rel=0.1)
    assert one.metrics["ttft_ms_mean"].why == "no_tokens"
    assert "output_tok_s" not in one.metrics
    assert one.unknown_tokens_count == 0


def test_nothing_at_all_is_unknown_and_not_zero():
    one = of([])
    assert one.requests_count == 0
    assert one.amplification_ratio is None
    assert one.error_ratio.value is None
    assert all(figure.value is None for figure in one.metrics.values())
    json.dumps(one.plain(), allow_nan=False)


def test_from_a_journal_with_its_window_and_its_client(tmp_path):
    written(tmp_path, steady(), window=(10.0, 50.0), client_bound=True, client_why="cpu")
    one = summary(read_journal(tmp_path), "steady")
    assert (one.from_s, one.until_s) == (10.0, 50.0)
    assert one.client_bound is True
    assert one.client_why == "cpu"
    assert one.candidate == "here"
    assert one.load["requests_per_s"] == 20.0
    assert summary(read_journal(tmp_path), "steady", client_bound=False).metrics["ttft_ms_mean"].value
    with pytest.raises(InvalidInput) as caught:
        summary(read_journal(tmp_path), "other")
    assert caught.value.problems[0].code == "CB-J008"
    assert "steady" in str(caught.value)


def test_each_point_of_a_search_stands_for_itself(tmp_path):
    from cabida.bench.keep import Journal

    one = plan(Run("seek", "search", "here", load=Load("poisson", requests_per_s=10.0)))
    with Journal(tmp_path, one) as journal:
        start = -journal.at(0.0)
        for point, per_s in enumerate((5.0, 10.0)):
            for at, due in enumerate(poisson(20, per_s)):
                journal.request(outcome(at, start + 30 * point + due, run=f"seek/{point}"))
            journal.event("point", run=f"seek/{point}", requests_per_s=per_s, good=True)
        sought = {"level": 10.0, "failed_level": 12.0, "why": "found", "measured_count": 2}
        journal.event("run-end", run="seek", stopped="found", sought=sought)
    kept = read_journal(tmp_path)
    assert kept.runs == ["seek"]
    found = summaries(kept)
    assert [each.run for each in found] == ["seek", "seek/0", "seek/1"]
    assert [each.load.get("requests_per_s") for each in found[1:]] == [5.0, 10.0]
    assert found[2].metrics["req_s"].value == pytest.approx(10.0, rel=0.25)
    whole = found[0].metrics
    assert list(whole) == ["req_s"]
    assert (whole["req_s"].value, whole["req_s"].low, whole["req_s"].high) == (10.0, 10.0, 12.0)
    assert found[0].points_count == 2


def test_names_with_strokes_are_names(tmp_path):
    from cabida.bench.keep import Journal

    one = plan(Run("meta/8b", "load", "here"), Run("meta/8b search", "search", "here"))
    with Journal(tmp_path, one) as journal:
        start = -journal.at(0.0)
        for name in ("meta/8b", "meta/8b search/1"):
            for at, due in enumerate(poisson(20, 5)):
                journal.request(outcome(at, start + due, run=name))
    assert [each.run for each in summaries(read_journal(tmp_path))] == [
        "meta/8b", "meta/8b search", "meta/8b search/1"
    ]  # fmt: skip


def test_a_client_that_was_slow_for_a_moment_spoils_only_that_moment(tmp_path):
    told = [
        outcome(at, due, ttft_s=1.2 if 30.0 <= due < 32.0 else 0.2) for at, due in enumerate(poisson(60, 20))
    ]
    moment = [[29.9, 33.3]]
    written(
        tmp_path / "few",
        told,
        window=(10.0, 60.0),
        client_bound=True,
        client_why="lag",
        client_windows=moment,
    )
    one = summary(read_journal(tmp_path / "few"), "steady")
    assert one.client_bound is False
    assert 30 < one.left_out_count < 100
    assert "client_windows" in one.notes
    assert one.metrics["ttft_ms_p99"].value == pytest.approx(200.0)
    assert one.goodput_ratio.value == 1.0
    assert one.goodput_ratio.count == one.requests_count - one.left_out_count
    long = [[15.0, 33.3]]
    written(tmp_path / "much", told, window=(10.0, 60.0), client_bound=True, client_windows=long)
    assert summary(read_journal(tmp_path / "much"), "steady").client_bound is True
    written(tmp_path / "unsaid", told, window=(10.0, 60.0), client_bound=True)
    assert summary(read_journal(tmp_path / "unsaid"), "steady").client_bound is True


verdict = st.sampled_from(VERDICTS)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 60), verdict, st.integers(0, 3), st.booleans()), max_size=60))
def test_every_request_is_counted_once(asked):
    told = []
    for at, (due, how, retries, held) in enumerate(asked):
        for attempt in range(retries):
            told.append(failed(at, due + attempt, final=False, attempt=attempt))
        last = due + retries
        if how == "ok":
            told.append(outcome(at, last, attempt=retries, accepted=held))
        else:
            told.append(failed(at, last, how, attempt=retries))
    random.Random(0).shuffle(told)
    one = of(told, window=(0.0, 61.0))
    assert one.requests_count == one.all_requests_count == len(asked)
    assert one.attempts_count == len(told)
    assert sum(one.verdicts.values()) == len(asked)
    assert sum(one.attempt_verdicts.values()) == len(told)
    bad = sum(one.verdicts.get(name, 0) for name in FAILED)
    if one.error_ratio.value is not None:
        assert one.error_ratio.value * one.error_ratio.count == pytest.approx(bad)
    assert one.valid_count <= one.generated_count <= len(asked)
    assert one.accepted_count is None or one.accepted_count <= one.valid_count


def test_thinned_gaps_still_tell_the_gaps(monkeypatch):
    monkeypatch.setattr("cabida.bench.keep.requests.GAPS_MOST", 2000)
    told = steady()
    requests = requests_of(told)
    assert requests.gaps_stride > 1
    assert len(requests.gaps_us) <= 2000
    assert np.all(requests.gaps_us == 10_000)
    assert of(told).metrics["itl_ms_mean"].value == pytest.approx(10.0)
