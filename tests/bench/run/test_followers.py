"""Processes that share a load: what becomes of one is told, and takes the others neither along nor by surprise."""

import asyncio
import os
import signal
from dataclasses import asdict

import orjson
import pytest

from cabida.bench.clock import now_s
from cabida.bench.load.drive import Driven
from cabida.bench.load.limits import Budget
from cabida.bench.outcome import Outcome
from cabida.bench.run.followers import Followers, Piped
from cabida.bench.run.shares import reserved, settled
from cabida.bench.selfcheck.starting import calibrated
from cabida.errors import EndpointFailed
from cabida.plan.bench import BenchPlan, Load, Prompts, Spread, Target


class Scripted:
    """A link whose other end says what it is told to, and then nothing until it is stopped."""

    def __init__(self, *lines, ends=False):
        self.lines, self.ends, self.ordered = list(lines), ends, []
        self.stopped = asyncio.Event()

    async def send(self, line):
        if self.ends and not self.lines:
            raise BrokenPipeError
        self.ordered.append(orjson.loads(line))
        if self.ordered[-1]["do"] == "stop":
            self.stopped.set()

    async def line(self):
        if self.lines:
            return orjson.dumps(self.lines.pop(0))
        if self.ends:
            return b""
        await self.stopped.wait()
        return orjson.dumps({"driven": asdict(Driven(0.0, ended="stopped")), "sketches": {}})

    async def close(self):
        pass


def driven_by(followers, told, **more):
    asked = {
        "seed": 1, "salt": "", "done": [], "all_count": len(followers.all) + 1, "start_s": now_s(), "spent_s": None,
        "repeated": False, "budgets": [None] * len(followers.all), "told": told, "stop": asyncio.Event(),
    }  # fmt: skip
    return followers.drive("run", Load(concurrency=8, duration_s=60.0), **(asked | more))


def test_one_that_dies_is_told_and_the_others_are_stopped_first():
    async def tried():
        outcome = asdict(Outcome("run/2", 0, 5.0, "ok", ended_s=6.0, gaps_s=(0.1,)))
        staying, dying = Scripted({"outcome": outcome}), Scripted({"health": {"at_s": 1.0, "lasted_s": 1.0,
            "cpu_ratio": 0.1, "ticks_count": 0, "lag_s_mean": None, "lag_s_most": None}}, ends=True)  # fmt: skip
        followers, found = Followers([staying, dying]), []
        with pytest.raises(EndpointFailed, match="CB-N010"):
            await driven_by(followers, found.append)
        return staying, found

    staying, found = asyncio.run(tried())
    assert staying.ordered[-1]["do"] == "stop"
    assert [(one.id, one.gaps_s) for one in found] == [("run/2", (0.1,))]


def test_what_is_left_of_a_load_that_failed_is_no_answer_to_what_comes_next():
    async def tried():
        left = {"outcome": {}}, {"health": {}}
        pongs = [{"pong": n, "now_s": now_s() + 100.0} for n in range(7)]
        followers = Followers([Scripted(*left, *pongs, {"begun": True})])
        await followers.begin(BenchPlan("p", (), ()), Target("http://127.0.0.1:1/v1"), None, keep_text=False)
        return followers.all[0].ahead_s

    assert asyncio.run(tried()) == pytest.approx(100.0, abs=1.0)


def test_sketches_of_a_load_before_are_none_of_a_follower_that_sits_out():
    async def tried():
        followers = Followers([Scripted(), Scripted()])
        followers.all[1].sketches = {"ttft": "of before"}
        stop = asyncio.Event()
        stop.set()
        await driven_by(followers, lambda _: None, all_count=2, budgets=[None], stop=stop)
        return [one.sketches for one in followers.all]

    assert asyncio.run(tried()) == [{}, {}]


@pytest.mark.parametrize("most", [None, 100, 101, 1])
def test_the_ceiling_is_one_though_others_have_parts_of_it(most):
    """Whatever the leader takes meanwhile, what all spend is never above it, and nothing of it is lost."""
    budget = Budget(most, spent=0)
    parts = reserved(budget, 3)
    mine = sum(budget.take() for _ in range(1000))
    theirs = [1000 if part is None else part - (part > 1) for part in parts]
    settled(budget, parts, theirs)
    assert budget.spent_count == mine + sum(theirs)
    assert most is None or budget.spent_count <= most
    assert most is None or budget.left_count == sum(part > 1 for part in parts if part is not None)


def test_a_follower_that_is_killed_ends_the_load_in_words_and_a_resumed_one_lasts_what_is_left():
    async def tried(url):
        followers = Followers([await Piped.started(), await Piped.started()])
        plan = BenchPlan("p", (), (), prompts=Prompts(input=Spread(16.0), output=Spread(4.0)))
        try:
            await followers.begin(plan, Target(url, "mock,ttft=5,itl=1,n=4"), None, keep_text=False)
            began_s, found = now_s(), []
            done = await driven_by(followers, found.append, spent_s=59.5, done=["run/1"])
            took_s = now_s() - began_s
            killed = []

            def told(one):
                if not killed:
                    killed.append(one)
                    os.kill(followers.all[0].link.process.pid, signal.SIGKILL)

            with pytest.raises(EndpointFailed, match="CB-N010"):
                await driven_by(followers, told)
            with pytest.raises(EndpointFailed, match="CB-N010"):
                await followers.begin(plan, Target(url, "mock"), None, keep_text=False)
        finally:
            await followers.close()
        return took_s, done, found

    with calibrated() as server:
        took_s, done, found = asyncio.run(tried(server.url))
    assert took_s < 30.0  # not the 60 of the plan
    assert sum(one.asked_count for one in done) == len(found) > 0
    assert "run/1" not in {one.id for one in found}
