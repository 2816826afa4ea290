"""The phases: a load, the search for the highest rate, drills under load, the ramp to the edge of memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, replace
from math import inf
from typing import Any

from cabida.bench.clock import now_s
from cabida.bench.drills.acts import Drilled, drill
from cabida.bench.drills.acts import plain as plain_drilled
from cabida.bench.drills.checkpoints import checkpoint_drill
from cabida.bench.drills.jobs import Step, train
from cabida.bench.load.arrivals import trace_lengths
from cabida.bench.load.bound import Bound
from cabida.bench.load.drive import Driven, drive
from cabida.bench.load.points import Point, point
from cabida.bench.load.prompts import asks
from cabida.bench.load.seek import seek
from cabida.bench.load.steady import Steady, steady
from cabida.bench.outcome import Ask, Outcome
from cabida.bench.run.followers import STARTS_AFTER_S, all_or_none, shared_load
from cabida.bench.run.outlived import compared, looked
from cabida.bench.run.place import Going, Place, keep_row
from cabida.bench.run.shares import bound_of, journal_sketch, processes_count, reserved, settled, together
from cabida.bench.watch.memory import MemoryLimits, Tried
from cabida.bench.watch.memory import Step as MemoryStep
from cabida.bench.watch.ramping import ramp
from cabida.errors import CabidaError
from cabida.plan.bench import Drill, Load, Run

POINT_S = 60.0  # of one point of a search, unless the run says how long it may take
POINTS_EXPECTED = 12
POINT_LEAST_S = 2.0
SAMPLE_EVERY_S = 0.5  # of the watched figures while the ramp asks
ALIVE_EVERY_S = 1.0
WINDOWS_MOST = 200  # of the client, told in the journal


async def load(one: Place, run: Run) -> None:
    """Phase 2: one load to its end."""
    driven = await _driven(one, run.name, run.load)
    await _ended(one, run.name, run.load, driven)


async def _driven(
    one: Place, name: str, load: Load, *, begins_s: float | None = None, salt: str = ""
) -> Driven:
    going = one.going
    lengths = trace_lengths(load) if load.kind == "trace" else None
    seed = going.plan.seed * 1_000_003 + sum(name.encode()) * 101 + load.seed
    first = next(each.name for each in going.plan.runs if each.candidate == one.contender.name)
    repeated = name not in (first, f"{first}/1")
    deck = one.deck(seed, salt=salt, lengths=lengths, repeated=repeated)
    count = processes_count(one, load)
    wanted: Iterator[Ask | None] = asks(name, deck, one.body, done=going.done, share=(0, count))
    spent_s = going.spent_s.get(name)  # None: nothing of it was done
    if going.followers is None or count == 1:
        return await drive(
            load, wanted, one.wire, going.plan.policy, one.told, one.health, going.stop,
            budget=going.budget, start_s=begins_s, spent_s=spent_s,
        )  # fmt: skip
    start_s = begins_s if begins_s is not None else now_s() + STARTS_AFTER_S
    parts = reserved(going.budget, count)
    mine, theirs = await all_or_none(
        drive(
            shared_load(load, 0, count), wanted, one.wire, going.plan.policy, one.told_own, one.health, going.stop,
            budget=going.budget, start_s=start_s, spent_s=spent_s, rate_share=1.0 / count,
        ),
        going.followers.drive(
            name, load, seed=seed, salt=f"{going.salt} {salt}",
            done=[each for each in going.done if each.startswith(f"{name}/")], all_count=count,
            start_s=start_s, spent_s=spent_s, repeated=repeated, budgets=parts, told=one.told, stop=going.stop,
        ),
    )  # fmt: skip
    journal_sketch(one, name)
    settled(going.budget, parts, [each.attempts_count for each in theirs])
    return together([mine, *theirs])


async def _ended(
    one: Place, name: str, load: Load, driven: Driven | None, **more: Any
) -> tuple[Steady | None, Bound | None]:
    """What the run's end tells: the part that counts, and whether the client was the bottleneck."""
    await one.judged()
    rows, journal = one.outcomes.rows, one.going.journal
    part = steady(rows, warm_up_s=load.warm_up_s, kind=load.kind)
    held = bound_of(one, load, rows)
    told: dict[str, Any] = {}
    if part is not None:
        told |= {
            "steady_from_s": journal.at(part.from_s), "steady_until_s": journal.at(part.until_s),
            "steady": part.reached, "steady_why": part.why,
        }  # fmt: skip
    if held is not None:
        told |= {
            "client_bound": held.bound, "client_why": held.why, "client_cpu_ratio": held.cpu_ratio,
            "client_lag_s_p99": held.lag_s_p99, "client_bound_ratio": held.bound_ratio,
            "client_windows": [
                [round(journal.at(at_s), 6) for at_s in each] for each in held.spans(WINDOWS_MOST)
            ],
        }  # fmt: skip
    if driven is not None:
        told |= {
            "stopped": driven.ended, "attempts_count": driven.attempts_count,
            "amplification_ratio": driven.amplification_ratio, "in_flight_most": driven.in_flight_most,
        }  # fmt: skip
    told["own_limits_count"] = one.wire.own_limits_count
    journal.event("run-end", run=name, **(told | more))
    return part, held


async def search(one: Place, run: Run) -> None:
    """Phase 2: the highest rate, or concurrency, that meets the plan's objectives."""
    going, journal = one.going, one.going.journal
    closed = run.load.kind == "closed"
    found = 0

    async def measure(level: float, duration_s: float) -> Point:
        nonlocal found
        found += 1
        name = f"{run.name}/{found}"
        one.begin_part()
        wanted = replace(run.load, duration_s=duration_s, requests_count=None)
        wanted = replace(wanted, concurrency=int(level)) if closed else replace(wanted, requests_per_s=level)
        driven = await _driven(one, name, wanted, salt=f"{found}")
        part, held = await _ended(one, name, wanted, driven)
        told = point(
            level, one.outcomes.rows, part, going.plan.objectives,
            error_ratio_most=going.plan.error_ratio_most, bound=held, closed=closed, stride=one.outcomes.stride,
        )  # fmt: skip
        key = "concurrency" if closed else "requests_per_s"
        plain = asdict(told)
        plain.pop("level")
        good = told.verdict == "pass"
        journal.event("point", run=name, good=good, **{key: level}, **plain)
        return told

    limit = run.duration_s or POINT_S * POINTS_EXPECTED
    first = float(run.load.concurrency or 8) if closed else float(run.load.requests_per_s or 1.0)
    sought = await _stoppable(
        going,
        seek(
            measure,
            first=first,
            least=1.0 if closed else 0.01,
            most=float(going.plan.policy.connections_most) if closed else inf,
            measured_most=POINTS_EXPECTED,
            longer_most=1,
            duration_s=max(limit / POINTS_EXPECTED, POINT_LEAST_S),
            whole=closed,
        ),
    )
    told = {} if sought is None else {
        "level": sought.level, "failed_level": sought.failed_level, "why": sought.why,
        "measured_count": sought.measured_count, "closed": closed,
        "failed_verdict": next((one.verdict for one in sought.points if one.level == sought.failed_level), ""),
    }  # fmt: skip
    journal.event("run-end", run=run.name, stopped="stopped" if sought is None else "found", sought=told)


async def _stoppable(going: Going, wanted: Any) -> Any:
    """What ``wanted`` gives, or ``None`` once the benchmark is to stop and it has had a moment to."""
    task, stop = asyncio.ensure_future(wanted), asyncio.ensure_future(going.stop.wait())
    await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if task.done():
        return task.result()
    await asyncio.wait((task,), timeout=10.0)
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return None
    return None if task.cancelled() or task.exception() else task.result()


async def drills(one: Place, run: Run) -> None:
    """Phase 3: a load, and failures made on purpose while it runs."""
    begins_s = now_s() + 0.2
    acts = [asyncio.ensure_future(_drill(one, each, begins_s)) for each in run.drills]
    try:
        driven = await _driven(one, run.name, run.load, begins_s=begins_s)
        await asyncio.gather(*acts)
    finally:
        for act in acts:
            act.cancel()
        await asyncio.gather(*acts, return_exceptions=True)
    await _ended(one, run.name, run.load, driven)


async def _drill(one: Place, wanted: Drill, begins_s: float) -> None:
    going = one.going
    body = one.body(one.deck(going.plan.seed, salt="ready").at(0))

    async def first_token() -> bool:
        if not going.budget.take():
            return False
        return (await one.wire.ask(Ask("ready/0", body, now_s()))).verdict == "ok"

    before = await looked(one)
    try:
        await drill(
            wanted, going.journal, begins_s=begins_s, proxy=one.proxy, first_token=first_token,
            log=one.contender.target.log, stop=going.stop,
        )  # fmt: skip
        await compared(one, wanted.name or wanted.kind, before)
    except CabidaError as error:  # the load goes on: what it showed without the drill is still a measurement
        failed = Drilled(wanted.name or wanted.kind, wanted.kind, within_s=wanted.within_s, failed=str(error))
        going.journal.event("drill", step="ended", **plain_drilled(failed, going.journal.at))


async def memory(one: Place, run: Run) -> None:
    """Phase 1: longer and more prompts until the engine refuses, waits, preempts or falls."""
    going, journal, plan = one.going, one.going.journal, one.going.plan
    tried_count = 0

    async def ask_at(context_tokens: int, concurrency: int) -> Tried:
        nonlocal tried_count
        tried_count += 1
        name = f"{run.name}/{tried_count}"
        deck = one.deck(plan.seed, salt=name)
        answer = max(1, round(plan.prompts.output.mean_tokens)) if concurrency > 1 else 1
        words = one.measured.words_count(context_tokens) if one.measured else context_tokens
        made = (deck.of_words(words, at) for at in range(concurrency))
        bodies = [_body(one, text, answer) for text in made]
        due_s = now_s()
        waiting = [
            asyncio.ensure_future(_asked(one, Ask(f"{name}/{at}", body, due_s, context_tokens, answer)))
            for at, body in enumerate(bodies)
        ]
        rows: list[dict[str, Any]] = []
        while True:
            for row in await one.watcher.sample():
                rows.append(row)
                keep_row(one, row, run.name)
            _, left = await asyncio.wait(waiting, timeout=SAMPLE_EVERY_S)
            if not left:
                break
        outcomes = tuple(each for task in waiting if (each := task.result()) is not None)
        return Tried(outcomes, tuple(rows), await _alive(one))

    async def back() -> bool:
        await asyncio.sleep(ALIVE_EVERY_S)
        return await _alive(one)

    wanted = run.load
    limits = MemoryLimits(
        context_target_tokens=max(1, round(plan.prompts.input.mean_tokens)),
        concurrency_most=wanted.concurrency or MemoryLimits().concurrency_most,
        requests_most=min(
            each for each in (wanted.requests_count, going.budget.left_count, MemoryLimits().requests_most)
            if each is not None
        ),
        duration_s=run.duration_s or MemoryLimits().duration_s,
    )  # fmt: skip

    def told(step: MemoryStep) -> None:
        journal.event("memory-step", run=run.name, **asdict(step))

    edge = await _stoppable(going, ramp(ask_at, limits, facts=one.watcher.facts, back=back, told=told))
    if edge is not None:
        journal.event("memory", run=run.name, **edge.plain())
    measured = edge.measured if edge is not None else {}
    journal.event("run-end", run=run.name, stopped=edge.ended if edge else "stopped", measured=measured)


def _body(one: Place, text: str, answer: int) -> bytes:
    from cabida.bench.wire.dialects.bodies import request_body

    return request_body(one.contender.target, text, answer, exact_output=one.going.plan.prompts.exact_output)


async def _asked(one: Place, ask: Ask) -> Outcome | None:
    """One request of a ramp; ``None`` when the ceiling of requests is reached."""
    if not one.going.budget.take():
        return None
    outcome = await one.wire.ask(ask)
    one.going.journal.request(outcome)
    one.outcomes.add(outcome)
    return outcome


async def _alive(one: Place) -> bool:
    """Whether the server answers a shortest request."""
    if not one.going.budget.take():
        return True
    answer = await one.wire.ask(Ask("alive/0", _body(one, "a", 1), now_s()))
    return answer.verdict == "ok"


async def training(going: Going, run: Run) -> None:
    """A training job's steps, or its checkpoint drills, each with lives of its own.

    Raises:
        InvalidInput: a pattern or a drill can't be used.
        EndpointFailed: the job can't be started, ends with an error, or tells no step.
    """
    journal, job = going.journal, run.job
    measured: dict[str, Any] = {}
    more: dict[str, Any] = {}

    def told(step: Step) -> None:
        values = {"values": step.values}
        journal.event("step", run=run.name, at_s=journal.at(step.at_s), step=step.step, **values)

    if job is not None and run.phase == "training":
        trained = await train(job, told=told, stop=going.stop)
        for metric, figure in trained.figures.items():
            measured[metric] = figure.value
            journal.event("figure", run=run.name, metric=metric, **asdict(figure))
        more = {"lines_count": trained.lines_count, "format": trained.format, "took_s": trained.took_s}
    for each in run.drills:
        if job is not None and not going.stop.is_set():
            await checkpoint_drill(each, job, journal, stop=going.stop)
    ended = "stopped" if going.stop.is_set() else "ended"
    journal.event("run-end", run=run.name, stopped=ended, measured=measured, **more)
