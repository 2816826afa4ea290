"""A drill judged: its cost, from a run's outcomes or from a journal, and whether it was passed, with the reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from cabida.bench.drills.acts import MOMENTS, Drilled, drilled_of
from cabida.bench.drills.recovery import (
    MONTH_S,
    UNSERVED,
    Baseline,
    Recovery,
    Try,
    baseline,
    counted_once,
    stretch,
    tokens_of,
    tries_of,
    well_from,
)
from cabida.bench.outcome import VERDICTS, Outcome
from cabida.text import duration, tr

if TYPE_CHECKING:
    from cabida.bench.keep.kept import Kept

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"
EJECTION_WINDOWS = (
    2.0  # a bad version has to be up so long: one until it is taken out, one to see that all is well
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A drill with its verdict ("passed", "failed", "undecided") and the reason, in the language in use."""

    drilled: Drilled
    recovery: Recovery
    verdict: str
    why: str


def recovered(
    outcomes: Iterable[Outcome],
    drilled: Drilled,
    *,
    from_s: float = 0.0,
    until_s: float | None = None,
    watched_s: Sequence[float] | None = None,
    error_ratio_most: float | None = None,
) -> Recovery:
    """What a drill cost, from the outcomes of its run.

    Args:
        outcomes: every attempt, in any order, on the drill's clock.
        drilled: what the drill did.
        from_s: warm-up left out of the baseline.
        until_s: next drill or end of the run; ``None`` = the last request.
        watched_s: moments of rows of metrics; ``None`` = nobody watched.
        error_ratio_most: of requests that may fail in a month, for the error budget.
    """
    began_s = from_s if drilled.began_s is None else drilled.began_s
    calm = [(from_s, max(from_s, began_s))]
    return _recovery(tries_of(outcomes), drilled, calm, until_s, watched_s, error_ratio_most)


def _recovery(
    tries: list[Try],
    drilled: Drilled,
    calm: Sequence[tuple[float, float]],
    until_s: float | None,
    watched_s: Sequence[float] | None,
    error_ratio_most: float | None,
) -> Recovery:
    """``tries`` from the first calm stretch on; what ends at ``until_s`` or later is the next drill's."""
    tries.sort(key=lambda one: (one.due_s, one.attempt))
    end_s = until_s if until_s is not None else max((one.due_s for one in tries), default=0.0) + 1e-6
    later = {one.request for one in tries if until_s is not None and one.ended_s >= until_s}
    tries = [one for one in tries if calm[0][0] <= one.due_s < end_s and one.request not in later]
    once = counted_once(tries)
    tries = [one for one in tries if one.verdict != "cancelled"]
    empty = stretch(())
    if drilled.began_s is None:
        return Recovery(drilled.name, drilled.kind, stretch(tries), empty, empty)
    began_s = drilled.began_s
    finals = [one for one in tries if one.final]
    usual = baseline(finals, calm)
    well_s = well_from(finals, usual, began_s, end_s) if usual else None
    split_s = end_s if well_s is None else well_s
    hit = [one for one in tries if one.ended_s >= began_s]
    failed = [one for one in hit if one.verdict != "ok"]
    lost = [one for one in failed if one.final]
    paid, delivered, _, _ = tokens_of(tries)
    _, _, lost_tokens, uncounted = tokens_of(hit)
    ready_early_s, after_ready = _ready_early(drilled, well_s, finals, end_s)
    metrics_after, gap_s = _metrics(watched_s, began_s, end_s)
    by = Counter(one.verdict for one in failed)
    return Recovery(
        drilled.name,
        drilled.kind,
        before=stretch([one for one in tries if _within(one, calm)]),
        during=stretch([one for one in hit if one.due_s < split_s]),
        after=stretch([one for one in hit if one.due_s >= split_s]),
        window_s=usual.window_s if usual else None,
        recovery_s=None if well_s is None else well_s - began_s,
        last_failed_s=max((one.due_s - began_s for one in lost), default=None),
        ejected_s=_ejected(finals, usual, drilled),
        lost_count=len(lost),
        lost_in_flight_count=sum(one.due_s < began_s for one in lost),
        truncated_count=by["truncated"],
        refused_count=sum(by[verdict] for verdict in UNSERVED),
        by_verdict=tuple(sorted(by.items())),
        lost_tokens=lost_tokens,
        lost_uncounted_count=uncounted,
        budget_used_ratio=budget_used_ratio(len(lost), usual, error_ratio_most),
        paid_tokens=paid,
        delivered_tokens=delivered,
        counted_once=once,
        ready_early_s=ready_early_s,
        failed_after_ready_count=after_ready,
        metrics_after=metrics_after,
        metrics_gap_s=gap_s,
        log_after=drilled.details.get("log_grew"),
    )


def _within(one: Try, calm: Sequence[tuple[float, float]]) -> bool:
    return any(from_s <= one.due_s and one.ended_s < until_s for from_s, until_s in calm)


def budget_used_ratio(
    lost_count: int, usual: Baseline | None, error_ratio_most: float | None
) -> float | None:
    """Failures over those that a month of requests at the rate before may have (Google's SRE workbook, chapter 2)."""
    if usual is None or not error_ratio_most:
        return None
    return lost_count / (error_ratio_most * usual.rate_per_s * MONTH_S)


def _ejected(finals: Sequence[Try], usual: Baseline | None, drilled: Drilled) -> float | None:
    if usual is None or drilled.undo_s is None or drilled.began_s is None:
        return None
    found = well_from(finals, usual, drilled.began_s, drilled.undo_s)
    return None if found is None else found - drilled.began_s


def _ready_early(
    drilled: Drilled, well_s: float | None, finals: Sequence[Try], end_s: float
) -> tuple[float | None, int]:
    if drilled.ready_s is None:
        return None, 0
    failed = sum(one.verdict != "ok" and one.due_s >= drilled.ready_s for one in finals)
    last_s = end_s if well_s is None else well_s
    return (max(0.0, last_s - drilled.ready_s) if failed else 0.0), failed


def _metrics(
    watched_s: Sequence[float] | None, began_s: float, end_s: float
) -> tuple[bool | None, float | None]:
    if watched_s is None:
        return None, None
    seen = sorted(one for one in watched_s if began_s <= one <= end_s)
    edges = [began_s, *seen, end_s]
    gap_s = max(later - earlier for earlier, later in pairwise(edges))
    return bool(seen), gap_s


def judged(drilled: Drilled, recovery: Recovery, *, until_s: float | None = None) -> Judged:
    """The verdict. ``until_s`` is when the load ended, on the drill's clock (``None`` = long after)."""
    verdict, why = _judged(drilled, recovery, until_s)
    return Judged(drilled, recovery, verdict, why)


def _judged(drilled: Drilled, recovery: Recovery, until_s: float | None) -> tuple[str, str]:
    if drilled.began_s is None or (drilled.failed and drilled.acted_s is None):
        return UNDECIDED, drilled.failed or tr("drills.never_began")
    if drilled.failed:
        return FAILED, drilled.failed
    if drilled.kind == "checkpoint":
        return _judged_checkpoint(drilled)
    if not recovery.counted_once:
        return FAILED, tr("drills.counted_twice")
    if drilled.kind == "cold-start" and drilled.ready_asked and drilled.ready_s is None:
        return FAILED, tr("drills.never_ready", within=duration(drilled.within_s))
    if recovery.window_s is None:
        if drilled.kind == "cold-start":
            return PASSED, tr("drills.started")
        return UNDECIDED, tr("drills.no_baseline")
    if drilled.kind == "drain" and recovery.lost_count:
        return FAILED, tr("drills.drain_lost", count=recovery.lost_count)
    if recovery.recovery_s is None:
        seen_s = None if until_s is None else until_s - drilled.began_s
        if seen_s is not None and seen_s < drilled.within_s:
            return UNDECIDED, tr(
                "drills.ended_before", seen=duration(seen_s), within=duration(drilled.within_s)
            )
        return FAILED, tr("drills.never_well", within=duration(drilled.within_s))
    if recovery.recovery_s > drilled.within_s:
        values = {"took": duration(recovery.recovery_s), "within": duration(drilled.within_s)}
        return FAILED, tr("drills.too_late", **values)
    if drilled.kind == "bad-deploy" and recovery.ejected_s is None and recovery.recovery_s > 0:
        up_s = (drilled.undo_s or drilled.began_s) - drilled.began_s
        if up_s < EJECTION_WINDOWS * recovery.window_s:  # no whole window after it could have been taken out
            values = {"up": duration(up_s), "needed": duration(EJECTION_WINDOWS * recovery.window_s)}
            return UNDECIDED, tr("drills.too_brief", **values)
        return FAILED, tr("drills.not_ejected")
    if recovery.recovery_s == 0 and not recovery.lost_count:
        return PASSED, tr("drills.nothing_felt", window=duration(recovery.window_s))
    if recovery.recovery_s == 0:
        return PASSED, tr("drills.only_in_flight", count=recovery.lost_count)
    return PASSED, tr("drills.well_after", took=duration(recovery.recovery_s), count=recovery.lost_count)


def _judged_checkpoint(drilled: Drilled) -> tuple[str, str]:
    resumed_s, lost = drilled.details.get("resume_s"), drilled.details.get("steps_lost")
    if resumed_s is None:
        return FAILED, tr("drills.not_resumed")
    if lost is None:
        return UNDECIDED, tr("drills.no_step_numbers")
    first, told, resumed = (
        drilled.details.get(name) for name in ("first_step", "checkpoint_step", "resumed_step")
    )
    if told is not None and resumed is not None and (resumed == 1 or (first or 0) >= resumed < told):
        return FAILED, tr("drills.from_scratch", step=resumed)
    return PASSED, tr("drills.resumed", took=duration(float(resumed_s)), count=lost)


def recoveries(kept: Kept, run: str) -> list[Judged]:
    """Every drill of a run in a journal, judged; usual is what was seen before them and between, when all was well."""
    rows = [row for row in kept.of_run("drill", run) if row.get("step") == "ended"]
    drills = sorted((drilled_of(row) for row in rows), key=lambda one: one.began_s or 0.0)
    watched = kept.of_run("watch", run)
    watched_s = [float(row["at_s"]) for row in watched] if kept.events.get("watch") else None
    ended = kept.ended_run(run).get("at_s")
    tries = tries_in(kept, run)
    ratio = kept.plan.get("error_ratio_most")
    from_s = float(kept.begun(run).get("at_s", 0.0)) + float(
        (kept.planned_run(run).get("load") or {}).get("warm_up_s") or 0.0
    )
    found: list[Judged] = []
    calm: list[tuple[float, float]] = []
    for at, one in enumerate(drills):
        next_s = drills[at + 1].began_s if at + 1 < len(drills) else None
        calm.append((from_s, max(from_s, one.began_s or from_s)))
        recovery = _recovery(list(tries), one, calm, next_s, watched_s, ratio)
        found.append(judged(one, recovery, until_s=next_s if next_s is not None else ended))
        over = [moment for name in MOMENTS if (moment := getattr(one, name)) is not None]
        if one.began_s is not None:
            over.append(math.inf if recovery.recovery_s is None else one.began_s + recovery.recovery_s)
        from_s = max([from_s, *over])
        if (
            from_s == math.inf
        ):  # never seen well again: what follows is no baseline, but what came before still is
            from_s = (
                next_s
                if next_s is not None
                else max([calm[-1][1], *(one for one in over if one != math.inf)])
            )
    return found


def tries_in(kept: Kept, run: str) -> list[Try]:
    """The attempts of a run in a journal."""
    requests = kept.requests
    rows = requests.rows_of(run)
    times = [requests.times[name][rows].tolist() for name in ("intended_s", "first_token_s", "ended_s")]
    counts = [requests.counts[name][rows].tolist() for name in ("output_tokens", "events_count")]
    plain = [
        getattr(requests, name)[rows].tolist() for name in ("run", "number", "attempt", "verdict", "final")
    ]
    found = []
    for code, number, attempt, place, final, due_s, first_s, ended_s, tokens, events in zip(
        *plain, *times, *counts, strict=True
    ):
        verdict = VERDICTS[place]
        latency_s = (first_s if first_s == first_s else ended_s) - due_s
        found.append(
            Try(
                f"{code}/{number}", attempt, due_s, ended_s, verdict, final,
                latency_s if verdict == "ok" else None, int(tokens) if tokens >= 0 else None, events > 0,
            )
        )  # fmt: skip
    return found
