"""Real replicas behind a real balancer: killed, drained, restarted, badly deployed, under load and told rightly."""

import asyncio

import pytest

from cabida.bench.clock import now_s
from cabida.bench.drills.acts import drill
from cabida.bench.drills.judged import recoveries
from cabida.bench.keep.journal import Journal
from cabida.bench.keep.kept import read_journal
from cabida.bench.load.drive import drive
from cabida.bench.load.health import Health
from cabida.bench.load.prompts import asks, prompts
from cabida.bench.watch.sampling import watcher
from cabida.bench.wire import Wire, endpoint, request_body
from cabida.bench.wire.loop import run
from cabida.plan.bench import BenchPlan, Contender, Drill, Load, Policy, Prompts, Run, Spread, Target

LASTS_S = 41.0


def the_drills(cluster):
    first, second = cluster.replicas
    named = (cluster.socket, "be/s1")
    health = f"{first.url}/health"
    return (
        Drill(
            "kill", "kill", at_s=6.0, pid_file=first.pid_file, undo=cluster.tend("start", first), ready=health,
            lasts_s=1.5, within_s=30.0,
        ),
        Drill(
            "drain", "drain", at_s=13.0, command=cluster.tend("maintain", first, named=named),
            undo=cluster.tend("back", first, named=named), ready=health, lasts_s=1.0, within_s=30.0,
        ),
        Drill(
            "restart", "restart", at_s=20.0, command=cluster.tend("restart", first, second), ready=health,
            within_s=30.0,
        ),
        Drill(
            "bad-deploy", "bad", at_s=31.0, command=cluster.tend("bad", first), undo=cluster.tend("good", first),
            ready=health, lasts_s=4.0, within_s=30.0,
        ),
    )  # fmt: skip


async def drilled_run(plan, journal, cluster):
    """The load with its drills, each by the clock: what the load came to, the drills, the outcomes."""
    run_, target = plan.runs[0], plan.contenders[0].target
    outcomes, stop = [], asyncio.Event()

    def told(outcome):
        outcomes.append(outcome)
        journal.request(outcome)

    async def one(each, begins_s):
        done = await drill(each, journal, begins_s=begins_s, stop=stop)
        assert done.failed == ""
        return done

    def watched(row):
        journal.event("watch", run=run_.name, **{**row, "at_s": journal.at(row["at_s"])})

    there = endpoint(target)
    deck = prompts(plan.prompts, target, seed=1)
    async with Wire(there, plan.policy) as wire, Health() as health:
        seen = watcher(target, endpoint=there, gpus=False)
        await seen.begin()
        watching = asyncio.ensure_future(seen.run(watched, stop))
        begins_s = now_s() + 0.2
        journal.event("run", run=run_.name, candidate="a")
        drilling = [asyncio.ensure_future(one(each, begins_s)) for each in run_.drills]
        driven = await drive(
            run_.load, asks(run_.name, deck, lambda prompt: request_body(target, prompt, prompt.output_tokens, True)),
            wire, plan.policy, told, health, start_s=begins_s,
        )  # fmt: skip
        drilled = await asyncio.gather(*drilling)
        stop.set()
        await watching
        seen.close()
        journal.event("run-end", run=run_.name)
    return driven, drilled, outcomes


def failed_between(outcomes, from_s, until_s, journal):
    """Verdicts of failed requests that were due then, by the journal's clock; there must be some requests."""
    due = [one for one in outcomes if from_s < journal.at(one.intended_s) < until_s and one.ended_s]
    assert due
    return [one.verdict for one in due if one.verdict != "ok" and journal.at(one.ended_s) < until_s]


@pytest.mark.long  # tests/bench/real does the same through the command line every time
def test_kill_drain_restart_and_bad_deployment_of_real_engines(cluster, tmp_path):
    first = cluster.replicas[0]
    target = Target(
        f"{cluster.url}/v1",
        "smollm2",
        api="completions",
        metrics=f"{cluster.replicas[1].url}/metrics",
        log=first.log,
    )
    plan = BenchPlan(
        "drills", (Contender("a", target),),
        (Run("steady", "drill", "a", Load("poisson", requests_per_s=4.0, duration_s=LASTS_S), the_drills(cluster)),),
        Prompts(input=Spread(12.0), output=Spread(8.0)), policy=Policy(total_s=60.0), error_ratio_most=0.01,
    )  # fmt: skip
    with Journal(tmp_path / "run", plan) as journal:
        driven, _, outcomes = run(drilled_run(plan, journal, cluster))
    assert driven.asked_count == driven.answered_count + driven.failed_count
    assert len({one.id for one in outcomes}) == len(outcomes) == driven.attempts_count
    kill, drain, restart, bad = recoveries(read_journal(tmp_path / "run"), "steady")

    print([(one.verdict, one.why, one.recovery) for one in (kill, drain, restart, bad)])
    # kill -9: what was in flight there is cut, what came later is sent to the other replica
    killed_s, drained_s = kill.drilled.acted_s, drain.drilled.began_s
    assert failed_between(outcomes, killed_s, drained_s, journal) == []
    assert {verdict for verdict, _ in kill.recovery.by_verdict} <= {"truncated", "reset", "server-error"}
    assert kill.drilled.unready_s is not None
    assert kill.drilled.ready_s > kill.drilled.undo_s
    # drained and stopped: nobody notices
    assert drain.recovery.lost_count == 0
    assert not drain.recovery.by_verdict
    # both restarted: there is nobody to answer, and then there is
    assert restart.recovery.lost_count > 0
    assert restart.recovery.refused_count > 0
    assert restart.recovery.recovery_s is None or restart.recovery.recovery_s > 0
    # a bad deployment answers HTTP and not the API: the balancer takes it out before it is rolled back
    moments = bad.drilled
    assert failed_between(outcomes, moments.acted_s + 2.0, moments.undo_s, journal) == []
    assert all(one.recovery.counted_once for one in (kill, drain, restart, bad))
    assert all(one.recovery.metrics_after for one in (kill, drain, bad))
