"""Benchmarks that happened only in numbers: a server of known speed, asked by a clock that is an argument."""

from __future__ import annotations

import random
from collections.abc import Iterator

from cabida.bench.keep import Journal
from cabida.bench.outcome import Outcome
from cabida.plan.bench import BenchPlan, Contender, Load, Run, Target

SETUP = {
    "engine": "vllm",
    "engine_version": "0.10.0",
    "model": "llama-3.1-8b",
    "weights": "bf16",
    "gpu": "h100-sxm-80gb",
    "gpus": 1,
    "tp": 1,
}


def plan(*runs: Run, **more) -> BenchPlan:
    target = Target("http://127.0.0.1:8000/v1", model="m", key="env:SOME_KEY")
    contender = Contender("here", target, setup=dict(SETUP))
    runs = runs or (Run("steady", "load", "here", load=Load("poisson", requests_per_s=20.0)),)
    return BenchPlan("trial", (contender,), runs, **{"objectives": {"ttft": {"p95": 0.5}}, **more})


def outcome(at: int, due_s: float, *, ttft_s=0.2, tpot_s=0.01, tokens=50, run="steady", **more) -> Outcome:
    """An answer whose every token came in an event and a read of its own."""
    first = due_s + ttft_s
    last = first + tpot_s * (tokens - 1)
    said = {
        "attempt": 0,
        "verdict": "ok",
        "status": 200,
        "sent_s": due_s + 0.001,
        "first_byte_s": first - 0.001,
        "first_token_s": first,
        "last_token_s": last,
        "ended_s": last + 0.001,
        "finish_reason": "stop",
        "events_count": tokens,
        "gaps_s": (tpot_s,) * (tokens - 1),
        "input_tokens": 100,
        "output_tokens": tokens,
        "counted_by": "usage",
    }
    return Outcome(id=f"{run}/{at}", intended_s=due_s, **{**said, **more})


def failed(at: int, due_s: float, verdict: str = "server-error", *, run="steady", **more) -> Outcome:
    said = {"attempt": 0, "sent_s": due_s, "ended_s": due_s + 0.05, "why": "500", "status": 500}
    return Outcome(id=f"{run}/{at}", intended_s=due_s, verdict=verdict, **{**said, **more})


def poisson(seconds: float, per_s: float, seed: int = 1) -> Iterator[float]:
    dice = random.Random(seed)
    at = dice.expovariate(per_s)
    while at < seconds:
        yield at
        at += dice.expovariate(per_s)


def written(folder, outcomes, *, of=None, run="steady", end=True, window=None, **ended) -> None:
    """A journal of one run; times of the outcomes count from its opening."""
    journal = Journal(folder, of or plan()).open()
    start = -journal.at(0.0)
    journal.event("run", run=run, candidate="here", at_s=0.0)
    for one in outcomes:
        for name in ("intended_s", "sent_s", "first_byte_s", "first_token_s", "last_token_s", "ended_s"):
            if getattr(one, name) is not None:
                setattr(one, name, getattr(one, name) + start)
        journal.request(one)
    if end:
        span = {"steady_from_s": window[0], "steady_until_s": window[1]} if window else {}
        last = max((one.ended_s - start for one in outcomes), default=0.0)
        journal.event("run-end", run=run, at_s=last, **span, **ended)
        journal.event("end")
    journal.close()
