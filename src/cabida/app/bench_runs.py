"""A benchmark's plan executed, told, exported; and the client's own test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cabida.bench.run.following import Now
    from cabida.bench.selfcheck.selftest import Level, SelfTest
    from cabida.plan.bench import BenchPlan


def bench_run(
    plan: Path | str | BenchPlan,
    *,
    out: Path | str | None = None,
    only: Sequence[str] = (),
    phases: Sequence[str] = (),
    resume: bool = False,
    yes: bool = False,
    max_requests: int | None = None,
    dry_run: bool = False,
    store: Path | str | None = None,
    workers: int = 1,
    on: str = "here",
    told: Callable[[Now], None] | None = None,
) -> dict[str, Any]:
    """Make a plan's runs against its endpoints; what they showed, and what it settles.

    Args:
        plan: file of the plan.
        out: folder of the journal; ``bench-NAME`` here when left out.
        only: names of runs; all when empty.
        phases: only runs of these.
        resume: go on with the journal that is there.
        yes: targets elsewhere may be loaded, up to ``max_requests``.
        max_requests: ceiling of requests, retries counted; the plan's own when left out.
        dry_run: only tell what would be run.
        store: file of the evidence store that keeps what was observed.
        workers: processes that share each load.
        on: where they run: "here", or "ray" for a cluster.
        told: shown how it stands.

    Raises:
        InvalidInput: the plan has faults, or a target elsewhere may not be loaded.
        EndpointFailed: an endpoint can't be measured.
    """
    from cabida.bench.planned import read_plan
    from cabida.bench.run.parent import run_plan

    read = read_plan(plan) if isinstance(plan, str | Path) else plan
    if max_requests is not None:
        read = replace(read, policy=replace(read.policy, requests_most=max_requests))
    folder = Path(out) if out else Path(f"bench-{read.name}")
    if dry_run:
        return {
            "runs_planned": _planned(read, only, phases),
            "folder": str(folder),
            "currency": read.currency,
        }
    done = run_plan(
        read,
        folder,
        only=only,
        phases=phases,
        resume=resume,
        yes=yes,
        workers_count=workers,
        on=on,
        told=told,
    )
    from cabida.report.bench import bench_answer

    return bench_answer([folder]) | done


def _planned(plan: BenchPlan, only: Sequence[str], phases: Sequence[str]) -> list[dict[str, Any]]:
    """The runs that would be made, as plain data."""
    from dataclasses import asdict

    from cabida.bench.run.parent import picked

    names = picked(plan, only, phases)
    return [asdict(one) for one in plan.runs if one.name in names]


def bench_report(
    folders: Sequence[Path | str],
    *,
    decision: Path | str = "",
    store: Path | str | None = None,
    keep: bool = False,
) -> dict[str, Any]:
    """What benchmarks showed: each run's figures with intervals, beside what was predicted, and what they settle.

    Args:
        folders: of journals.
        decision: file of the decision they were made for; its costs are worked out anew with what was measured.
        store: file of the evidence store.
        keep: put what was observed into the store.
    """
    from cabida.report.bench import answer

    return answer(folders, decision=decision, store=store, keep=keep)


def bench_selftest(
    streams: Sequence[int] = (), *, told: Callable[[Level], None] = lambda _: None
) -> SelfTest:
    """The load client of this machine against a server that knows the truth.

    Raises:
        EndpointFailed: the server or the client did not start.
    """
    from cabida.bench.selfcheck.selftest import STREAMS, selftest

    return selftest(tuple(streams) or STREAMS, told=told)
