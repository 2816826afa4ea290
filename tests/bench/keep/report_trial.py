"""A benchmark with everything in it: a steady run, a drill, a search, a client that was too slow."""

from __future__ import annotations

import random
from dataclasses import asdict, replace

from kept_trials import SETUP, failed, outcome, plan, poisson

from cabida.bench.keep import Journal
from cabida.bench.load.health import HealthSample
from cabida.bench.watch.memory import MemoryEdge, Step
from cabida.plan.bench import Contender, Drill, Expected, Load, Run, Target, Turn


def trial(folder, *, bound=False, seconds=40.0, word="") -> None:
    """``word`` gets into every name and text that somebody else chooses."""
    dice = random.Random(3)
    target = Target("http://127.0.0.1:8000/v1")
    setup = {**SETUP, "gpu": "h100-sxm-80"}
    contender = Contender("here", target, title=f"2 × H100 {word}", setup=setup)
    runs = (
        Run(
            "steady", "load", "here", load=Load("poisson", requests_per_s=20.0), why=f"It decides {word}",
            expected=(Expected("ttft_ms_p95", 250.0, 150.0, 400.0, "predicted"),),
            decides=(
                Turn("ttft_ms_p95", "above", 240.0, f"take the H200 {word}"),
                Turn("ttft_ms_p95", "above", 900.0, "take two"),
                Turn("ttft_ms_p50", "below", 200.0, "take one"),
            ),
        ),
        Run("kill", "drill", "here", load=Load("poisson", requests_per_s=20.0), drills=(Drill("kill"),)),
        Run("seek", "search", "here", load=Load("poisson", requests_per_s=40.0),
            decides=(Turn("req_s", "below", 15.0, "take four"),)),
        Run("edge", "memory", "here", expected=(Expected("kv_cache_tokens", 120e3, 100e3, 140e3),)),
    )  # fmt: skip
    of = replace(plan(*runs), contenders=(contender,), name=f"trial {word}", error_ratio_most=0.01)
    with Journal(folder, of) as journal:
        start = -journal.at(0.0)

        def told(run, at, due, **more):
            journal.request(
                outcome(at, start + due, run=run, ttft_s=dice.uniform(0.1, 0.3), text=f"said {word}",
                        accepted=at % 7 != 0, broken_rules=() if at % 7 else (f"json {word}",), **more)
            )  # fmt: skip

        journal.event("run", run="steady", candidate="here", at_s=0.0)
        for at, due in enumerate(poisson(seconds, 20)):
            told("steady", at, due)
        for at in range(int(seconds * 4)):
            lag = 0.2 if bound else 0.0002
            journal.event("health", **HealthSample(
                at_s=at * 0.25, lasted_s=0.25, cpu_ratio=0.97 if bound else 0.2, ticks_count=10, lag_s_mean=lag,
                lag_s_most=lag, lags_s=(lag,) * 10, sent_count=5, late_s_mean=lag, late_s_most=lag).plain()
            )  # fmt: skip
        journal.event(
            "run-end", run="steady", at_s=seconds + 1, steady_from_s=5.0, steady_until_s=seconds, client_bound=bound,
            client_why="lag" if bound else "", client_windows=[[0.0, seconds]] if bound else [],
        )  # fmt: skip
        began = 100.0
        journal.event("run", run="kill", candidate="here", at_s=began)
        for at, due in enumerate(poisson(seconds, 20, seed=2)):
            hit = 15.0 < due < 18.0 and at % 2
            if hit:
                journal.request(failed(at, start + began + due, "refused", run="kill", why=f"no one {word}"))
            else:
                told("kill", at, began + due)
        journal.event(
            "drill", at_s=began + 15.0, step="ended", name=f"kill it {word}", drill="kill", began_s=began + 15.0,
            acted_s=began + 15.01, undo_s=began + 17.9, undone_s=began + 18.0, within_s=60.0, commands=[],
        )  # fmt: skip
        journal.event("run-end", run="kill", at_s=began + seconds + 1, client_bound=False)
        began = 200.0
        journal.event("run", run="seek", candidate="here", at_s=began)
        for point, per_s in enumerate((10.0, 20.0, 30.0)):
            free = 0.0
            for at, due in enumerate(poisson(20, per_s, seed=point)):
                free = max(free, due) + 0.04
                journal.request(
                    outcome(
                        at,
                        start + began + due,
                        ttft_s=free - due,
                        tpot_s=0.002,
                        tokens=2,
                        run=f"seek/{point}",
                    )
                )
            journal.event("point", run=f"seek/{point}", requests_per_s=per_s, at_s=began + 20)
            began += 30.0
        sought = {"level": 20.0, "failed_level": 30.0, "why": "found", "measured_count": 3, "closed": False}
        journal.event("run-end", run="seek", at_s=began, stopped="found", sought=sought)
        _memory(journal, began + 10)
        journal.event("end", at_s=began)


def _memory(journal, began):
    edge = MemoryEdge(
        8000, "usage", "too-long", 8192, True, 4000, 12, 13, "preempted", 10, 0.1, 118_000.0, 0.97, None, None,
        {"gpu.0": 70e9}, {"gpu.0": 80e9}, 40, 1, 0, 0.0, 0, "found", (),
    )  # fmt: skip
    journal.event("run", run="edge", candidate="here", at_s=began)
    journal.request(outcome(0, began - journal.at(0.0), run="edge/1"))
    journal.event(
        "memory-step", run="edge", at_s=began + 1, **asdict(Step("context", 8000, 1, "ok", held_tokens=8100))
    )
    for at in range(5):
        journal.event("watch", run="edge", at_s=began + at, running_count=at, kv_used_ratio=0.2 * at)
    journal.event("memory", run="edge", at_s=began + 5, **edge.plain())
    journal.event("run-end", run="edge", at_s=began + 6, stopped="found", measured=edge.measured)
