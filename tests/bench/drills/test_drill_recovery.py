"""Recovery on series whose truth is known: when it dips, when it is over, and what was lost meanwhile."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.bench.drills.acts import Drilled, plain
from cabida.bench.drills.judged import judged, recovered, recoveries
from cabida.bench.drills.recovery import counted_once, failures_allowed, slow_allowed, tokens_of, tries_of
from cabida.bench.keep.journal import Journal
from cabida.bench.keep.kept import read_journal
from cabida.bench.outcome import Outcome
from cabida.plan.bench import BenchPlan, Contender, Drill, Load, Run, Target

RATE, TTFT_S, LASTS_S = 20.0, 0.1, 0.5


def outcome(number, due_s, verdict="ok", ttft_s=TTFT_S, lasts_s=LASTS_S, **more):
    answered = verdict in ("ok", "truncated")
    return Outcome(
        id=f"steady/{number}", attempt=more.pop("attempt", 0), intended_s=due_s, verdict=verdict, sent_s=due_s,
        status=200 if answered else 0, first_token_s=due_s + ttft_s if answered else None,
        ended_s=due_s + (lasts_s if answered else 0.01), events_count=10 if answered else 0,
        output_tokens=more.pop("output_tokens", 50 if verdict == "ok" else None),
        counted_by="usage" if verdict == "ok" else "", **more,
    )  # fmt: skip


def series(until_s, bad=lambda due_s: "ok", ttft=lambda due_s, draw: TTFT_S, seed=3):
    draws = random.Random(seed)
    return [
        outcome(at, due_s, bad(due_s), ttft(due_s, draws.gauss(0, 1)))
        for at, due_s in enumerate(number / RATE for number in range(int(until_s * RATE)))
    ]


def a_drill(kind="kill", began_s=10.0, undo_s=None, **more):
    return Drilled("d", kind, began_s=began_s, acted_s=began_s + 0.01, undo_s=undo_s, undone_s=undo_s, **more)


def noisy(due_s, draw):
    return TTFT_S * (1.3**draw)


def test_recovery_ends_where_the_failures_end():
    outcomes = series(30, bad=lambda due_s: "refused" if 10 <= due_s < 13.5 else "ok", ttft=noisy)
    found = recovered(outcomes, a_drill())
    assert found.recovery_s == pytest.approx(3.5, abs=0.11)
    assert found.last_failed_s == pytest.approx(3.45, abs=0.01)
    assert found.lost_count == found.refused_count == 70
    assert found.by_verdict == (("refused", 70),)
    assert (found.before.failed_count, found.during.failed_count, found.after.failed_count) == (0, 70, 0)


def test_recovery_ends_where_the_slowness_ends():
    outcomes = series(30, ttft=lambda due_s, draw: noisy(due_s, draw) * (4 if 10 <= due_s < 15 else 1))
    found = recovered(outcomes, a_drill())
    assert found.recovery_s == pytest.approx(5.0, abs=0.5)
    assert found.lost_count == 0
    assert found.during.p50_s > 3 * found.before.p50_s
    assert found.after.p50_s == pytest.approx(found.before.p50_s, rel=0.2)


def test_half_of_the_replicas_slow_is_not_well():
    slow = iter(range(10**6))
    outcomes = series(
        20, ttft=lambda due_s, draw: noisy(due_s, draw) * (3 if due_s >= 10 and next(slow) % 2 else 1)
    )
    assert recovered(outcomes, a_drill()).recovery_s is None


def test_a_drill_that_nobody_feels_takes_no_time():
    found = recovered(series(20, ttft=noisy), a_drill("drain"))
    assert found.recovery_s == 0.0
    assert found.lost_count == 0
    assert judged(a_drill("drain"), found).verdict == "passed"


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_seldom_taken_for_a_dip(seed):
    found = recovered(series(40, ttft=noisy, seed=seed), a_drill(began_s=20.0))
    assert found.recovery_s is not None
    assert found.recovery_s < 2.0


def test_what_was_in_flight_is_told_apart():
    outcomes = [
        replace(one, verdict="truncated", output_tokens=None, ended_s=10.001)
        if one.intended_s < 10 < one.ended_s
        else one
        for one in series(20, ttft=noisy)
    ]
    found = recovered(outcomes, a_drill())
    assert found.recovery_s == 0.0
    assert found.lost_count == found.lost_in_flight_count == found.truncated_count == 9
    assert found.lost_tokens is None
    assert found.lost_uncounted_count == 9
    assert found.paid_tokens == found.delivered_tokens == 50 * (400 - 9)


def test_lost_tokens_where_they_were_counted():
    outcomes = series(20)
    outcomes[250] = replace(outcomes[250], verdict="truncated", output_tokens=17, counted_by="tokenizer")
    found = recovered(outcomes, a_drill())
    assert (found.lost_tokens, found.lost_uncounted_count) == (17, 0)
    assert found.paid_tokens - found.delivered_tokens == 17


def test_failures_as_many_as_before_are_usual():
    draws = random.Random(5)
    outcomes = series(60, bad=lambda due_s: "server-error" if draws.random() < 0.05 else "ok")
    found = recovered(outcomes, a_drill(began_s=30.0))
    assert found.recovery_s is not None
    assert found.recovery_s < 2.0
    worse = series(
        60, bad=lambda due_s: "server-error" if draws.random() < (0.05 if due_s < 30 else 0.4) else "ok"
    )
    assert recovered(worse, a_drill(began_s=30.0)).recovery_s is None


def test_the_budget_of_a_month():
    outcomes = series(20, bad=lambda due_s: "refused" if 10 <= due_s < 11 else "ok")
    found = recovered(outcomes, a_drill(), error_ratio_most=0.001)
    assert found.budget_used_ratio == pytest.approx(20 / (0.001 * RATE * 30 * 86400), rel=0.03)
    assert recovered(outcomes, a_drill()).budget_used_ratio is None


def test_retries_are_one_request_and_their_amplification_is_seen():
    outcomes = series(20)
    first = [
        replace(one, verdict="refused", final=False, output_tokens=None, first_token_s=None)
        for one in outcomes[200:240]
    ]
    again = [replace(one, attempt=1, first_token_s=one.intended_s + 0.3) for one in outcomes[200:240]]
    found = recovered([*outcomes[:200], *first, *again, *outcomes[240:]], a_drill())
    assert found.lost_count == 0
    assert found.refused_count == 40
    assert found.during.amplification_ratio > 1.5
    assert found.before.amplification_ratio == 1.0
    assert found.counted_once
    assert found.recovery_s == pytest.approx(2.0, abs=0.2)  # answered, but late: not well


def test_a_request_told_twice_is_not_counted_once():
    outcomes = series(20)
    assert counted_once(tries_of(outcomes))
    assert not counted_once(tries_of([*outcomes, outcomes[7]]))
    assert not counted_once(tries_of([*outcomes, replace(outcomes[7], attempt=1)]))
    assert not counted_once(tries_of([replace(outcomes[0], final=False)]))
    twice = recovered([*outcomes, outcomes[300]], a_drill())
    assert judged(a_drill(), twice).verdict == "failed"
    cut = [*outcomes[:-1], replace(outcomes[-1], verdict="cancelled")]
    assert recovered(cut, a_drill()).counted_once


def test_ready_said_too_early():
    outcomes = series(30, bad=lambda due_s: "server-error" if 10 <= due_s < 14 else "ok")
    found = recovered(outcomes, a_drill(ready_s=12.0))
    assert found.failed_after_ready_count == 40
    assert found.ready_early_s == pytest.approx(2.0, abs=0.1)
    fine = recovered(outcomes, a_drill(ready_s=14.0))
    assert (fine.failed_after_ready_count, fine.ready_early_s) == (0, 0.0)
    assert recovered(outcomes, a_drill()).ready_early_s is None


def test_whether_metrics_were_there():
    outcomes = series(20)
    assert recovered(outcomes, a_drill(), watched_s=[1.0, 5.0, 9.0]).metrics_after is False
    seen = recovered(outcomes, a_drill(), watched_s=[9.0, 10.5, 14.0, 19.9])
    assert seen.metrics_after
    assert seen.metrics_gap_s == pytest.approx(5.9)
    assert recovered(outcomes, a_drill()).metrics_after is None


def verdict(outcomes, drilled, until_s=None):
    return judged(drilled, recovered(outcomes, drilled), until_s=until_s)


def test_verdicts_and_their_reasons():
    down = series(20, bad=lambda due_s: "refused" if due_s >= 10 else "ok")
    assert verdict(down, a_drill(within_s=5.0), 20.0).verdict == "failed"
    assert verdict(down, a_drill(within_s=60.0), 20.0).verdict == "undecided"
    late = series(30, bad=lambda due_s: "refused" if 10 <= due_s < 18 else "ok")
    assert verdict(late, a_drill(within_s=5.0)).verdict == "failed"
    assert verdict(late, a_drill(within_s=10.0)).verdict == "passed"
    assert verdict(series(20), a_drill(began_s=0.1)).verdict == "undecided"
    assert verdict(series(20), Drilled("d", "kill", failed="the load ended")).verdict == "undecided"
    assert (
        verdict(series(20), Drilled("d", "kill", began_s=10.0, failed="no such process")).verdict
        == "undecided"
    )
    assert verdict(series(20), a_drill(failed="not undone")).verdict == "failed"
    one_lost = series(20, bad=lambda due_s: "truncated" if due_s == 10.5 else "ok")
    assert verdict(one_lost, a_drill("drain")).verdict == "failed"
    assert verdict(one_lost, a_drill("kill")).verdict == "passed"


def test_a_bad_deployment_must_be_taken_out_before_it_is_rolled_back():
    ejected = series(30, bad=lambda due_s: "malformed" if 10 <= due_s < 11 else "ok")
    assert verdict(ejected, a_drill("bad-deploy", undo_s=16.0)).verdict == "passed"
    endured = series(30, bad=lambda due_s: "malformed" if 10 <= due_s < 16 else "ok")
    found = verdict(endured, a_drill("bad-deploy", undo_s=16.0))
    assert found.recovery.recovery_s == pytest.approx(6.0, abs=0.1)
    assert found.recovery.ejected_s is None
    assert found.verdict == "failed"


def test_a_bad_deployment_that_nobody_felt_or_that_was_brief_is_not_said_to_have_stayed():
    assert verdict(series(30), a_drill("bad-deploy", undo_s=11.0)).verdict == "passed"
    felt = series(30, bad=lambda due_s: "server-error" if 10 <= due_s < 11.5 else "ok")
    brief = verdict(felt, a_drill("bad-deploy", undo_s=12.0))
    assert brief.recovery.recovery_s > 0
    assert (brief.verdict, "lasts" in brief.why) == ("undecided", True)


@given(st.integers(1, 40), st.integers(10, 300), st.integers(10, 100))
def test_allowances_are_counts_and_grow_with_what_was_usual(failed, before, count):
    failed = min(failed, before)
    allowed = failures_allowed(failed, before, count)
    assert failures_allowed(0, before, count) == 0
    assert 0 <= allowed <= count
    assert allowed >= failed * count // before
    assert failures_allowed(max(1, failed - 1), before, count) <= allowed
    assert 0 <= slow_allowed(before, count) <= count


def test_the_allowance_for_slowness_is_that_of_exceedances():
    """How often so many of n new values exceed the order statistic of m old ones, drawn."""
    draws = random.Random(11)
    m, n, beyond, tries = 60, 20, 0, 4000
    allowed = slow_allowed(m, n)
    for _ in range(tries):
        old = sorted(draws.random() for _ in range(m))
        beyond += sum(draws.random() > old[54 - 1] for _ in range(n)) > allowed
    assert beyond / tries < 0.01 + 3 * (0.01 / tries) ** 0.5  # at the level, and no tighter than it must be:
    assert slow_allowed(10_000, 10_000) == pytest.approx(1000 + 2.326 * (2 * 900) ** 0.5, rel=0.02)


def test_failures_allowed_by_the_law_of_draws_without_return():
    from scipy.stats import hypergeom

    for failed, before, count in ((10, 200, 40), (1, 30, 20), (25, 500, 100)):
        allowed = failures_allowed(failed, before, count)
        tail = [
            hypergeom.sf(more - 1, before + count, failed + more, count) for more in (allowed, allowed + 1)
        ]
        assert tail[0] >= 0.05 > tail[1]
    assert failures_allowed(200, 200, 40) == 40


def test_from_a_journal(tmp_path):
    plan = BenchPlan(
        "p", (Contender("a", Target("http://127.0.0.1:1/v1")),),
        (Run("steady", "drill", "a", Load(), drills=(Drill("kill"),)),), error_ratio_most=0.01,
    )  # fmt: skip
    outcomes = series(30, bad=lambda due_s: "refused" if 10 <= due_s < 12 else "ok", ttft=noisy)
    with Journal(tmp_path / "j", plan) as journal:
        base_s = journal._origin_s
        journal.event("run", run="steady", candidate="a", at_s=0.0)
        for one in outcomes:
            moved = {
                name: None if getattr(one, name) is None else getattr(one, name) + base_s
                for name in ("intended_s", "sent_s", "first_token_s", "ended_s")
            }
            journal.request(replace(one, **moved))
        drilled = a_drill(began_s=10.0 + base_s)
        journal.event("drill", step="ended", **{**plain(drilled, journal.at), "at_s": 12.5})
        journal.event(
            "drill", step="ended", **plain(Drilled("unmade", "drain", failed="no such program"), journal.at)
        )
        journal.event("watch", at_s=11.0, running_count=3)
        journal.event("run-end", run="steady", at_s=30.0)
    unmade, *found = recoveries(read_journal(tmp_path / "j"), "steady")
    assert (unmade.drilled.name, unmade.verdict, unmade.why) == ("unmade", "undecided", "no such program")
    assert len(found) == 1
    direct = recovered(outcomes, a_drill(), watched_s=[11.0], error_ratio_most=0.01)
    assert found[0].recovery.recovery_s == pytest.approx(direct.recovery_s, abs=0.1)
    assert found[0].recovery.lost_count == direct.lost_count == 40
    assert found[0].recovery.metrics_after
    assert found[0].recovery.budget_used_ratio == pytest.approx(direct.budget_used_ratio, rel=0.01)
    assert found[0].verdict == "passed"


def test_tokens_nobody_counted_are_not_zero():
    assert tokens_of(tries_of([outcome(1, 0.0, output_tokens=None)]))[:2] == (None, None)


@given(
    st.lists(st.sampled_from(("ok", "ok", "ok", "refused", "truncated")), min_size=40, max_size=160),
    st.integers(30, 80),
    st.floats(0.0, 1.0),
)
def test_whatever_fails_is_counted_and_well_means_a_window_without_it(verdicts, calm, slow):
    draws = random.Random(len(verdicts))
    outcomes = [outcome(at, at / RATE, ttft_s=noisy(0.0, draws.gauss(0, 1))) for at in range(calm)]
    began_s = calm / RATE + 1.0
    outcomes += [
        outcome(calm + at, began_s + at / RATE, verdict, TTFT_S * (8 if draws.random() < slow else 1))
        for at, verdict in enumerate(verdicts)
    ]
    shuffled = outcomes[:]
    draws.shuffle(shuffled)
    found = recovered(shuffled, a_drill(began_s=began_s))
    failed = [one for one in outcomes if one.verdict != "ok"]
    assert found.lost_count == len(failed)
    assert found.before.requests_count == calm
    assert found.during.requests_count + found.after.requests_count == len(verdicts)
    assert sum(count for _, count in found.by_verdict) == len(failed)
    if found.recovery_s is None:
        return
    assert found.recovery_s >= 0
    well_s = began_s + found.recovery_s
    window = [one for one in outcomes if well_s <= one.intended_s < well_s + found.window_s]
    if found.recovery_s > 0:
        assert all(one.verdict == "ok" for one in window)
    else:
        assert not failed
