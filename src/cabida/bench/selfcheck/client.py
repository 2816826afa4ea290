"""Our own client in a process of its own, as a benchmark runs it, journal included: what it saw, and what it took.

``python -m cabida.bench.selfcheck.client`` reads one line of JSON, ``{"url", "model", "streams", "requests"}``, and
prints one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from typing import Any

import orjson

from cabida.bench.clock import now_s
from cabida.bench.keep.journal import Journal
from cabida.bench.load.bound import bound
from cabida.bench.load.drive import drive
from cabida.bench.load.health import Health, HealthSample
from cabida.bench.load.prompts import asks, prompts
from cabida.bench.outcome import Outcome
from cabida.bench.wire.address import endpoint
from cabida.bench.wire.dialects.bodies import request_body
from cabida.bench.wire.exchange import Wire
from cabida.bench.wire.loop import run
from cabida.plan.bench import BenchPlan, Load, Policy, Prompts, Spread, Target

INPUT_TOKENS = 64.0


async def measured(order: dict[str, Any], folder: str) -> dict[str, Any]:
    """One closed load against the calibrated server, measured as any run is."""
    target = Target(order["url"], order["model"])
    load = Load("closed", concurrency=order["streams"], requests_count=order["requests"])
    policy = Policy()
    outcomes: list[Outcome] = []
    samples: list[HealthSample] = []
    deck = prompts(Prompts(input=Spread(INPUT_TOKENS)), target, 1)
    with Journal(folder, BenchPlan("selftest", (), (), keep_samples="none")) as journal:

        def told(outcome: Outcome) -> None:
            journal.request(outcome)
            outcomes.append(outcome)

        def health_told(sample: HealthSample) -> None:
            journal.event("health", **sample.plain())
            samples.append(sample)

        async with Wire(endpoint(target), policy) as wire, Health(health_told) as health:
            first = next(asks("first", deck, lambda one: request_body(target, one)))
            if first is not None:  # as every run begins: whether the server keeps connections is known then
                first.intended_s = now_s()
                await wire.ask(first)
                await wire.settle()
            await wire.warm(order["streams"])
            began_s, cpu_s = now_s(), time.process_time()
            listed = asks("selftest", deck, lambda one: request_body(target, one))
            await drive(load, listed, wire, policy, told, health, asyncio.Event())
            cpu_s, took_s = time.process_time() - cpu_s, now_s() - began_s
    judged = bound(samples, outcomes, is_beside=True)
    return {
        "cpu_s": cpu_s,
        "took_s": took_s,
        "rss_bytes": peak_rss_bytes(),
        "flagged": judged.bound,
        "why": judged.why,
        "rows": [
            [
                one.id, one.verdict, one.intended_s, one.sent_s, one.first_token_s, one.last_token_s,
                one.output_tokens, judged.withheld(one),
            ]
            for one in outcomes
        ],
    }  # fmt: skip


def peak_rss_bytes() -> int | None:
    """The most memory this process has held, where the system tells."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 - pathlib isn't needed otherwise
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:")), None)
    except OSError:
        return None


def main() -> None:
    """Read the order, measure, tell."""
    order = orjson.loads(sys.stdin.buffer.readline())
    with tempfile.TemporaryDirectory(prefix="cabida-selftest-") as folder:
        left = memoryview(orjson.dumps(run(measured(order, folder))) + b"\n")
        while left:  # a pipe may take less than all, and an unbuffered stdout leaves it at that
            left = left[os.write(sys.stdout.fileno(), left) :]


if __name__ == "__main__":
    main()
