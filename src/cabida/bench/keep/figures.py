"""The figures of one run over its steady window, each with its interval, or why it isn't known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from cabida.bench.keep.asked import Asked, asked_of
from cabida.bench.keep.ends import client_of, figure_of_row, found_rate, number_of, windows_of
from cabida.bench.keep.kept import Kept
from cabida.bench.keep.latency import in_windows, latencies, values_of
from cabida.bench.keep.objectives import Met, good_flags, judged, judged_errors
from cabida.bench.keep.requests import COUNTED_BY, Requests
from cabida.bench.keep.statistics import BATCHES, Figure, rate, share
from cabida.bench.keep.throughput import backlog_growth, came_by, output_tokens_by, saturated
from cabida.bench.outcome import VERDICTS
from cabida.errors import InvalidInput
from cabida.text import problem

SCHEMA = "cabida/bench-summary/1"
UNKNOWN_MOST_RATIO = 0.01  # of answers whose tokens nobody counted, above which no token rate is told
SHORTEST_S, FEWEST_REQUESTS = 5.0, 30  # of a window that may teach anything
TINY_S = 1e-6
WHOLE = ("memory", "training")
ITEM_APIS = ("embeddings", "rerank", "images")


@dataclass(frozen=True, slots=True)
class Summary:
    """What one run showed, as plain data.

    Attributes:
        load: what was asked for: kind, concurrency, requests_per_s ...
        from_s, until_s: the window, seconds of the journal; requests that were due in it are counted.
        all_requests_count: warm-up included. requests_count, attempts_count: of the window.
        amplification_ratio: attempts for each request.
        verdicts: how requests ended; attempt_verdicts: how attempts did. reasons: "verdict: why", of the whole run.
        generated_count, valid_count, accepted_count: answers that gave anything; that came whole and well-formed;
            that met every rule (``None`` = there are no rules). acceptance_ratio: of those that rules could judge.
        error_ratio: of requests, after their last attempt; those cut short by the end of the run left out.
        metrics: by the names of the cases (``ttft_ms_p95``, ``output_tok_s``, ``req_s`` ...); latency counts from
            the moment a request was due. service: the same from the moment its last attempt was sent.
        goodput_ratio, goodput_req_s: requests that met all objectives, failed ones counted as not good.
        offered_req_s: due in the window, a second.
        saturated: more waited at its end than at its beginning, beyond chance (open loads; ``None`` = closed).
        backlog_growth_per_s: requests that had to wait in addition, a second.
        counted_by: answers by who counted their tokens. unknown_tokens_count: those nobody did; they have no TPOT.
        client_bound: the client was the bottleneck: latencies are its own, withheld from ``metrics`` and told under
            ``seen_by_client``; ``None`` = nobody looked.
        measured: other figures of the run (memory, training), under the names of the cases; measured_figures: those of
            them that have an interval, with it.
        left_out_count: requests that came or were due while the client was too slow, where that was a small part of
            the window: they are in no latency and no goodput.
        points_count: levels of a search or a ramp that the counts are of; its points stand by themselves.
        notes: words of ``keep.note.*``.
    """

    run: str
    phase: str
    candidate: str
    load: dict[str, Any]
    from_s: float
    until_s: float
    all_requests_count: int
    requests_count: int
    attempts_count: int
    amplification_ratio: float | None
    verdicts: dict[str, int]
    attempt_verdicts: dict[str, int]
    reasons: dict[str, int]
    generated_count: int
    valid_count: int
    accepted_count: int | None
    broken_rules: dict[str, int]
    unjudged_rules: dict[str, int]
    error_ratio: Figure
    acceptance_ratio: Figure
    metrics: dict[str, Figure]
    service: dict[str, Figure]
    goodput_ratio: Figure
    goodput_req_s: float | None
    objectives: tuple[Met, ...]
    offered_req_s: float | None
    saturated: bool | None
    backlog_growth_per_s: float | None
    counted_by: dict[str, int]
    unknown_tokens_count: int
    input_tokens_mean: float | None
    output_tokens_mean: float | None
    cached_tokens_mean: float | None
    client_bound: bool | None
    client_why: str
    seen_by_client: dict[str, Figure]
    measured: dict[str, Any] = field(default_factory=dict)
    replicas: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ended: bool = True
    measured_figures: dict[str, Figure] = field(default_factory=dict)
    left_out_count: int = 0
    points_count: int = 0
    interval_ratio: float = 0.9
    schema: str = SCHEMA

    @property
    def window_s(self) -> float:
        """Length of the window."""
        return self.until_s - self.from_s

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


def summary(
    kept: Kept,
    run: str,
    *,
    from_s: float | None = None,
    until_s: float | None = None,
    client_bound: bool | None = None,
    client_why: str = "",
) -> Summary:
    """The figures of one run, or of one point of a search (``search/3``).

    Args:
        kept: the journal.
        run: its name.
        from_s: where the steady window begins, seconds of the journal; else as the run's end tells it, else all.
        until_s: where it ends.
        client_bound: whether the client was the bottleneck; else as the run's end tells it.
        client_why: why it was.

    Raises:
        InvalidInput: CB-J008, there is no such run.
    """
    name = kept.whole_run(run)
    planned = kept.planned_run(run) or kept.planned_run(name)
    ended, begun = kept.ended_run(run), kept.begun(run) or kept.begun(name)
    rows = kept.requests.rows_of(run)
    if not len(rows) and not planned and not begun:
        raise InvalidInput(
            [problem("CB-J008", file=str(kept.folder), run=run, runs=", ".join(kept.runs) or "–")]
        )
    asked = asked_of(kept.requests, rows)
    told_from, told_until = number_of(ended.get("steady_from_s")), number_of(ended.get("steady_until_s"))
    start = from_s if from_s is not None else told_from
    end = until_s if until_s is not None else told_until
    phase = str(planned.get("phase") or begun.get("phase") or "load")
    if phase in WHOLE:  # nothing in it has to settle
        start, end = number_of(begun.get("at_s")), number_of(ended.get("at_s"))
    broken = (
        phase == "drill" and from_s is None and until_s is None
    )  # what is steady leaves out what was broken
    if broken:
        start, end = told_from if _load(planned).get("warm_up_s") is not None else None, None
    notes = [] if phase in WHOLE or (start is not None and end is not None) else ["whole_run"]
    notes = ["drill_whole"] if broken else notes
    start = asked.first_s if start is None else start
    point = next((one for one in kept.events.get("point", ()) if one.get("run") == run), {})
    load = {**_load(planned), **_load(begun), **_load(point)}
    load |= {key: point[key] for key in ("requests_per_s", "concurrency") if key in point}
    open_load = load.get("kind", "closed") != "closed"
    if end is None:  # what is still under way when nothing is due any more is no longer that load
        end = asked.due_s[-1] + TINY_S if open_load and asked.count else asked.last_s
    windows = windows_of(ended)
    if client_bound is None:
        client_bound, windows = client_of(ended, windows, (start, end))
    measured = ended.get("measured")
    contender = kept.contender(name)
    target = contender.get("target")
    made = summed(
        kept.requests,
        asked,
        run=run,
        phase=phase,
        candidate=str(contender.get("name") or begun.get("candidate") or ""),
        api=str(target.get("api", "chat")) if isinstance(target, dict) else "chat",
        load=load,
        window=(start, max(start, end)),
        objectives=kept.plan.get("objectives") or {},
        error_ratio_most=kept.plan.get("error_ratio_most"),
        bound=client_bound,
        client_windows=windows,
        why=client_why or str(ended.get("client_why") or ""),
        measured=measured if isinstance(measured, dict) else {},
        notes=notes,
        ended=(bool(ended) or run != name) and ended.get("stopped") != "stopped",
    )
    told = {str(row.get("metric")): figure_of_row(row) for row in kept.of_run("figure", run)}
    return replace(made, measured_figures=told) if told else made


def summaries(kept: Kept) -> list[Summary]:
    """Every run of the journal; a search is followed by its points, and has of itself only the rate that it found."""
    found = []
    for run in kept.runs:
        points = kept.points_of(run)
        whole = summary(kept, run)
        found.append(_of_points(whole, kept.ended_run(run), len(points)) if points else whole)
        found += [summary(kept, point) for point in points] if whole.phase != "memory" else []
    return found


def _of_points(whole: Summary, ended: Mapping[str, Any], count: int) -> Summary:
    """Counts of all levels together; latencies of them together would be none of any."""
    sought = ended.get("sought")
    metrics = {}
    if whole.phase == "search":
        metrics["req_s"] = found_rate(sought) if isinstance(sought, dict) else Figure(None, why="not_found")
    return replace(
        whole, metrics=metrics, service={}, seen_by_client={}, goodput_ratio=Figure(None, why="levels"),
        goodput_req_s=None, objectives=(), offered_req_s=None, saturated=None, backlog_growth_per_s=None,
        client_bound=None, client_why="", notes=(), points_count=count,
    )  # fmt: skip


def summed(
    all: Requests,
    asked: Asked,
    *,
    run: str,
    phase: str = "load",
    candidate: str = "",
    api: str = "chat",
    load: Mapping[str, Any],
    window: tuple[float, float],
    objectives: Mapping[str, Mapping[str, float]],
    error_ratio_most: float | None = None,
    bound: bool | None = None,
    client_windows: Sequence[tuple[float, float]] = (),
    why: str = "",
    measured: Mapping[str, Any] | None = None,
    notes: list[str] | None = None,
    ended: bool = True,
) -> Summary:
    """The figures of requests in memory or from a journal; :func:`summary` says what each argument is."""
    start, end = window
    here = asked.due_in(start, end)
    verdicts = _counted(all.verdict[here.row])
    cut = verdicts.get("cancelled", 0)
    ok = here.where(all.verdict[here.row] == 0)
    told = all.accepted[ok.row]
    judged_count = int((told >= 0).sum())
    accepted = int((told == 1).sum()) if judged_count else None
    failed = here.count - cut - ok.count
    found = list(notes or [])
    theirs = in_windows(all, here, client_windows)
    free = ok.where(~theirs[all.verdict[here.row] == 0]) if theirs.any() else ok
    values = values_of(all, free, api)
    metrics = latencies(values)
    seen: dict[str, Figure] = {}
    if bound:
        seen, metrics = (
            metrics,
            {name: Figure(None, count=one.count, why="client") for name, one in metrics.items()},
        )
    service = latencies(values_of(all, free, api, service=True)) if not bound else {}
    known = all.counts["output_tokens"][ok.row] >= 0
    unknown = 0 if api in ITEM_APIS else int((~known).sum())
    edges = np.linspace(start, end, BATCHES + 1)
    done = asked.where(all.verdict[asked.row] == 0)
    rates = _rates(all, done, edges, api, unknown > UNKNOWN_MOST_RATIO * max(1, ok.count))
    metrics |= rates if here.count else {name: Figure(None, why="none") for name in rates}
    good, unseen = good_flags(all, here, objectives, api)
    good &= ~theirs
    told_count = here.count - int((theirs | (all.verdict[here.row] == VERDICTS.index("cancelled"))).sum())
    unseen = "client" if bound else unseen if objectives else "no_objectives"
    attempts = int(here.attempts.sum())
    open_load = load.get("kind", "closed") != "closed"
    growth = backlog_growth(asked, start, end) if here.count else None
    found += ["client"] if bound else ["client_windows"] if theirs.any() else []
    found += ["cut_short"] if cut > 0.01 * max(1, here.count) else []
    found += ["unknown_tokens"] if unknown else []
    found += ["resumed"] if len(np.unique(all.part[asked.row])) > 1 else []
    found += ["unended"] if asked.unended_count else []
    found += ["short"] if end - start < SHORTEST_S or here.count < FEWEST_REQUESTS else []
    tallies = [all.tallies[name] for name in all.runs if name == run or name.startswith(f"{run}/")]
    window_s = end - start
    errors = share(failed, here.count - cut)
    return Summary(
        run=run,
        phase=phase,
        candidate=candidate,
        load=dict(load),
        from_s=start,
        until_s=end,
        all_requests_count=asked.count,
        requests_count=here.count,
        attempts_count=attempts,
        amplification_ratio=attempts / here.count if here.count else None,
        verdicts=verdicts,
        attempt_verdicts=_counted(all.verdict[here.every]),
        reasons=_merged(one.reasons for one in tallies),
        generated_count=int(_gave(all, here).sum()),
        valid_count=int((all.valid[ok.row] != 0).sum()),
        accepted_count=accepted,
        broken_rules=_merged(one.broken_rules for one in tallies),
        unjudged_rules=_merged(one.unjudged_rules for one in tallies),
        error_ratio=errors,
        acceptance_ratio=Figure(None, why="no_rules") if accepted is None else share(accepted, judged_count),
        metrics=metrics,
        service=service,
        goodput_ratio=Figure(None, count=here.count, why=unseen)
        if unseen
        else share(int(good.sum()), told_count),
        goodput_req_s=None
        if unseen or window_s <= 0 or not told_count
        else float(good.sum()) / told_count * (here.count - cut) / window_s,
        objectives=judged(objectives, metrics) + judged_errors(error_ratio_most, errors),
        offered_req_s=here.count / window_s if window_s > 0 else None,
        saturated=saturated(asked, start, end) if open_load and here.count else None,
        backlog_growth_per_s=growth,
        counted_by=_by(all, ok),
        unknown_tokens_count=unknown,
        input_tokens_mean=_mean_of(all, ok, "input_tokens"),
        output_tokens_mean=_mean_of(all, ok, "output_tokens"),
        cached_tokens_mean=_mean_of(all, ok, "cached_tokens"),
        client_bound=bound,
        client_why=why,
        seen_by_client=seen,
        measured=dict(measured or {}),
        replicas=_merged(one.replicas for one in tallies),
        notes=tuple(dict.fromkeys(found)),
        ended=ended,
        left_out_count=int(theirs.sum()),
    )


def _rates(all: Requests, done: Asked, edges: Any, api: str, uncounted: bool) -> dict[str, Figure]:
    """What was served a second, over the window."""
    ended_s = all.times["ended_s"][done.row]
    found = {"req_s": rate(came_by(ended_s, np.ones(done.count), edges), edges)}
    if api in ITEM_APIS:
        items = np.clip(all.counts["items_count"][done.row], 0, None)
        found["items_s"] = rate(came_by(ended_s, items, edges), edges)
        return found
    if uncounted:
        return found | {name: Figure(None, why="unknown_tokens") for name in ("output_tok_s", "total_tok_s")}
    output = output_tokens_by(all, done, edges)
    found["output_tok_s"] = rate(output, edges)
    inputs = all.counts["input_tokens"][done.row]
    if done.count and (inputs < 0).mean() > UNKNOWN_MOST_RATIO:
        return found | {"total_tok_s": Figure(None, why="unknown_tokens")}
    first_s = all.times["first_token_s"][done.row]
    read_s = np.where(np.isnan(first_s), ended_s, first_s)
    found["total_tok_s"] = rate(output + came_by(read_s, np.clip(inputs, 0, None), edges), edges)
    return found


def _gave(all: Requests, here: Asked) -> Any:
    """Which requests gave any output."""
    first = ~np.isnan(all.times["first_token_s"][here.row])
    return first | (all.counts["items_count"][here.row] > 0) | (all.verdict[here.row] == 0)


def _counted(codes: Any) -> dict[str, int]:
    found = np.bincount(codes.astype(np.int64), minlength=len(VERDICTS))
    return {name: int(count) for name, count in zip(VERDICTS, found, strict=False) if count}


def _by(all: Requests, ok: Asked) -> dict[str, int]:
    found = np.bincount(all.counted_by[ok.row].astype(np.int64), minlength=len(COUNTED_BY))
    return {name or "unknown": int(count) for name, count in zip(COUNTED_BY, found, strict=True) if count}


def _mean_of(all: Requests, ok: Asked, name: str) -> float | None:
    values = all.counts[name][ok.row]
    known = values[values >= 0]
    return float(known.mean()) if len(known) else None


def _merged(counters: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in counters:
        for name, count in one.items():
            total[name] = total.get(name, 0) + count
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _load(row: Mapping[str, Any]) -> dict[str, Any]:
    given = row.get("load")
    return (
        {key: value for key, value in given.items() if value not in (None, "", (), [])}
        if isinstance(given, dict)
        else {}
    )
