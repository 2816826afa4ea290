"""One load shared by several processes, and told as one."""

from __future__ import annotations

from collections.abc import Sequence

from cabida.bench.load.bound import Bound, bound
from cabida.bench.load.drive import Driven
from cabida.bench.load.limits import Budget
from cabida.bench.outcome import Outcome
from cabida.bench.run.place import Place
from cabida.bench.run.sketches import Sketches
from cabida.plan.bench import Load


def processes_count(one: Place, load: Load) -> int:
    """How many processes share a load; no more than it has requests at once, and one where a proxy is in between."""
    followers = one.going.followers
    if one.proxy is not None:
        return 1
    every = 1 + (len(followers.all) if followers is not None else 0)
    return every if load.kind != "closed" else max(1, min(every, load.concurrency or 1))


def reserved(budget: Budget, count: int) -> list[int | None]:
    """What each of the others may spend of the ceiling; it is taken from the leader's budget, which keeps its part."""
    left = budget.left_count
    if left is None:
        return [None] * (count - 1)
    parts = [left // count + (at < left % count) for at in range(1, count)]
    budget.spent_count += sum(parts)
    return list(parts)


def settled(budget: Budget, parts: Sequence[int | None], spent: Sequence[int]) -> None:
    """The others have spent so much of their parts: what is left of them is the leader's again."""
    budget.spent_count += sum(spent) - sum(part or 0 for part in parts)


def together(all: Sequence[Driven]) -> Driven:
    """Parts of one load as one."""
    counts = (
        "asked_count",
        "attempts_count",
        "answered_count",
        "failed_count",
        "cancelled_count",
        "in_flight_most",
    )
    return Driven(
        started_s=min(one.started_s for one in all),
        sending_ended_s=max(one.sending_ended_s for one in all),
        ended_s=max(one.ended_s for one in all),
        ended=next(
            (one.ended for one in all if one.ended in ("stopped", "ceiling", "overrun")), all[0].ended
        ),
        **{name: sum(getattr(one, name) for one in all) for name in counts},
    )


def bound_of(one: Place, load: Load, rows: list[Outcome]) -> Bound | None:
    """Whether any process that asked was the bottleneck, each held against what it asked itself."""
    count = processes_count(one, load)
    followers = one.going.followers
    sampled = [one.samples, *(each.samples for each in (followers.all if followers else ()))][:count]
    found = [
        bound(samples, mine, is_beside=one.wire.endpoint.loopback)
        for at, samples in enumerate(sampled)
        if samples and (mine := [each for each in rows if count == 1 or _place_of(each, count) == at])
    ]
    return joined(found) if found else None


def _place_of(one: Outcome, count: int) -> int:
    last = one.id.rpartition("/")[2]
    return int(last) % count if last.isdecimal() else 0


def journal_sketch(one: Place, run: str) -> None:
    """The sketches of all processes added up, beside the requests themselves."""
    followers = one.going.followers
    for each in followers.all if followers is not None else ():
        one.sketches.merge(each.sketches)
    one.going.journal.event("sketch", run=run, latencies_ms=one.sketches.plain())
    one.sketches = Sketches()


def joined(found: Sequence[Bound]) -> Bound:
    """What several processes say of themselves, as one: the windows of all, and of each figure the worst."""

    def worst(name: str) -> float | None:
        return max((value for one in found if (value := getattr(one, name)) is not None), default=None)

    return Bound(
        windows=tuple(
            sorted((window for one in found for window in one.windows), key=lambda each: each.from_s)
        ),
        watched_s=max(one.watched_s for one in found),
        bound_s=max(one.bound_s for one in found),
        cpu_ratio=worst("cpu_ratio"),
        lag_s_mean=worst("lag_s_mean"),
        lag_s_p99=worst("lag_s_p99"),
        late_s_mean=worst("late_s_mean"),
        error_ratio=worst("error_ratio"),
        error_p99_ratio=worst("error_p99_ratio"),
        is_beside=any(one.is_beside for one in found),
    )
