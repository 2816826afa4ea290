"""The process that measures, started and followed: whatever draws a picture or works out a figure is not in it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from cabida.bench.keep.journal import JOURNAL
from cabida.bench.run.beforehand import unready
from cabida.bench.run.consent import refusals
from cabida.bench.run.following import Following, Now
from cabida.bench.run.plain import plain_of
from cabida.errors import CabidaError, EndpointFailed, InvalidInput, Problem
from cabida.plan.bench import BenchPlan
from cabida.text import closest, locale, problem

LOOK_EVERY_S = 0.5
STOP_WITHIN_S = 20.0  # for what is in flight; undoing comes on top
ANSWER_CHARS_MOST = 100_000
INTERRUPTED = 130
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PRESSES_MOST = 2  # of Ctrl-C: an impatient second one would leave faults as they are


def run_plan(
    plan: BenchPlan,
    folder: Path | str,
    *,
    only: Sequence[str] = (),
    phases: Sequence[str] = (),
    resume: bool = False,
    yes: bool = False,
    workers_count: int = 1,
    on: str = "here",
    told: Callable[[Now], None] | None = None,
) -> dict[str, Any]:
    """Execute a plan's runs in a process of its own and keep all of it in ``folder``.

    Args:
        plan: what to run.
        folder: gets the journal and the copy of the plan.
        only: names of runs; all when empty.
        phases: only runs of these.
        resume: go on where an earlier try ended.
        yes: targets that aren't on this machine may be asked.
        workers_count: processes that share each run's load.
        on: where those besides the first run: "here", or "ray" for the nodes of a cluster.
        told: shown how it stands, about twice a second.

    Returns:
        ``folder``, ``interrupted`` (stopped by a person or a signal), ``notices`` (sentences).

    Raises:
        InvalidInput: CB-N001 no leave for a target elsewhere, CB-N002 no such run, what :func:`beforehand.unready`
            finds, or what the journal refuses.
        EndpointFailed: CB-N003 the process ended early, or no endpoint could be used.
    """
    names = picked(plan, only, phases)
    against, notices = refusals(plan, names, yes=yes)
    if against := [*against, *unready(plan, names)]:
        raise InvalidInput(against)
    place = Path(folder)
    order = {
        "plan": plain_of(plan), "folder": str(place.absolute()), "only": names, "resume": resume,
        "language": locale(), "workers_count": workers_count, "on": on, "cwd": str(Path.cwd()),
    }  # fmt: skip
    with _started(order) as child:
        interrupted = _follow(child, place, told, stop_within_s(plan, names))
        answer = _answer(child)
    if problems := answer.get("problems"):
        kind: type[CabidaError] = (
            EndpointFailed if answer.get("exit") == EndpointFailed.exit_code else InvalidInput
        )
        raise kind([Problem(**one) for one in problems])
    if child.returncode not in (0, INTERRUPTED) or "ended" not in answer:
        why = f"signal {-child.returncode}" if (child.returncode or 0) < 0 else str(answer.get("why", ""))
        raise EndpointFailed([problem("CB-N003", ended=child.returncode, why=why, folder=str(place))])
    return {
        "folder": str(place),
        "interrupted": interrupted or child.returncode == INTERRUPTED,
        "notices": notices,
    }


def picked(plan: BenchPlan, only: Sequence[str], phases: Sequence[str]) -> list[str]:
    """Names of the runs that are asked for, in the plan's order."""
    names = [one.name for one in plan.runs]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise InvalidInput(
            [
                problem(
                    "CB-N002",
                    file=plan.file,
                    name=name,
                    near=closest(name, names) or "–",
                    all=", ".join(names),
                )
                for name in unknown
            ]
        )
    picked = [
        one.name
        for one in plan.runs
        if (not only or one.name in only) and (not phases or one.phase in phases)
    ]
    if not picked:
        raise InvalidInput([problem("CB-N005", file=plan.file)])
    return picked


@contextlib.contextmanager
def _started(order: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """The process; its order goes through a pipe, whose end it takes as the word to stop."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # it lets them through when it knows what to do with them
    try:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "cabida.bench.run.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    try:
        if child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(json.dumps(order).encode() + b"\n")
                child.stdin.flush()
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        child.wait()


def stop_within_s(plan: BenchPlan, names: Sequence[str]) -> float:
    """How long the process that measures may take to end once it is told to: its faults are undone in that time."""
    undoing = [one.within_s for run in plan.runs if run.name in names for one in run.drills if one.undo]
    return STOP_WITHIN_S + max(undoing, default=0.0)


def _follow(
    child: subprocess.Popen[bytes],
    folder: Path,
    told: Callable[[Now], None] | None,
    within_s: float = STOP_WITHIN_S,
) -> bool:
    """Wait for the end, showing how it stands; an interruption is passed on, and then waited for.

    A second one changes nothing, since faults are being undone; a third ends the process as it stands.
    """
    following, now = Following(folder / JOURNAL), Now()
    interrupted, by_s, presses = False, float("inf"), 0
    while child.poll() is None:
        try:
            for row in following.rows():
                now.take(row)
            if told is not None:
                told(now)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LOOK_EVERY_S)
        except KeyboardInterrupt:
            presses += 1
            if presses > PRESSES_MOST:
                raise
            if not interrupted:
                interrupted, by_s = True, monotonic() + within_s
            with contextlib.suppress(OSError):
                os.kill(child.pid, signal.SIGINT)
        if monotonic() > by_s:
            child.kill()
    return interrupted


def _answer(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The last line it wrote."""
    text = child.stdout.read(ANSWER_CHARS_MOST) if child.stdout is not None else b""
    for line in reversed(text.splitlines()):
        with contextlib.suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                return found
    return {}
