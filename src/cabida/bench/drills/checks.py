"""Whether a drill can be done as it is planned, and what it would do, told before anything is."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

from cabida.bench.drills.process import SIGNALS, shown, worker
from cabida.errors import CabidaError, InvalidInput, Problem
from cabida.plan.bench import DRILLS, Drill
from cabida.text import closest, duration, number, printable, problem, tr

NETWORK = ("slow-network", "cut-network")
SIGNALLED = ("kill", "restart", "cold-start", "command")


def faults(one: Drill, *, has_proxy: bool, has_job: bool = False) -> list[Problem]:
    """Everything that keeps a drill from being done; empty = nothing known.

    CB-D001 no such kind, CB-D002 it lacks what its kind needs, CB-D003 a number that can't be, CB-D014 a signal
    that isn't sent, CB-D005 no proxy to slow or cut, CB-D006 no such program, CB-D007 no job to stop and go on.
    """
    name = printable(one.name or one.kind)
    if one.kind not in DRILLS:
        near = closest(one.kind, DRILLS) or ", ".join(DRILLS)
        return [problem("CB-D001", kind=printable(one.kind), near=near)]
    found = [
        problem("CB-D003", name=name, field=field, value=str(value))
        for field in ("at_s", "delay_s", "jitter_s", "bytes_per_s", "cut_after_bytes", "lasts_s", "within_s")
        if (value := getattr(one, field)) is not None and not _sound(field, value)
    ]
    if lacks := _lacks(one):
        found.append(problem("CB-D002", name=name, kind=one.kind, needs=tr(f"drills.needs_{lacks}")))
    if one.pid_file and one.signal not in SIGNALS:
        found.append(problem("CB-D014", signal=printable(one.signal), known=", ".join(SIGNALS)))
    if one.kind in NETWORK and not has_proxy:
        found.append(problem("CB-D005", name=name))
    if one.kind == "checkpoint" and not has_job:
        found.append(problem("CB-D007", name=name))
    for arguments in (one.command, one.undo):
        if arguments and shutil.which(arguments[0]) is None:
            found.append(problem("CB-D006", name=name, program=printable(arguments[0])))
    return found


def refuse_unsound(one: Drill, *, has_proxy: bool, has_job: bool = False) -> None:
    """Raise all faults of a drill at once.

    Raises:
        InvalidInput: those of :func:`faults`.
    """
    if found := faults(one, has_proxy=has_proxy, has_job=has_job):
        raise InvalidInput(found)


def _sound(field: str, value: float) -> bool:
    least = 1e-9 if field in ("bytes_per_s", "within_s") else 0.0
    return isinstance(value, int | float) and math.isfinite(value) and value >= least


def _lacks(one: Drill) -> str:
    """The name of what the kind needs and the drill doesn't have."""
    if one.kind in SIGNALLED and not (one.pid_file or one.command):
        return "target"
    if one.kind == "drain" and not one.command:
        return "command"
    if one.kind == "bad-deploy" and not (one.command and one.undo):
        return "both"
    if one.kind == "cold-start" and not one.undo:
        return "start"
    if one.kind == "slow-network" and not (one.delay_s or one.jitter_s or one.bytes_per_s):
        return "slowness"
    if one.kind in NETWORK and one.lasts_s <= 0:
        return "duration"
    return ""


def described(one: Drill) -> list[str]:
    """What the drill would do, line by line, in the language in use; nothing is done.

    The process that a pid file names now is told with it, or why it would not be signalled.
    """
    lines = [tr("drills.plan_at", name=printable(one.name or one.kind), at=duration(one.at_s))]
    if one.kind in NETWORK:
        lines.append(_network(one))
    if one.pid_file:
        lines.append(tr("drills.plan_signal", signal=f"SIG{one.signal}", who=_who(one.pid_file)))
    if one.command:
        lines.append(tr("drills.plan_command", command=_shown(one.command)))
    if one.kind == "checkpoint":
        lines.append(tr("drills.plan_checkpoint"))
    if one.lasts_s:
        lines.append(tr("drills.plan_lasts", duration=duration(one.lasts_s)))
    if one.undo:
        lines.append(tr("drills.plan_undo", command=_shown(one.undo)))
    elif one.kind in NETWORK:
        lines.append(tr("drills.plan_undo_network"))
    elif one.signal == "STOP" and one.pid_file:
        lines.append(tr("drills.plan_undo_continue"))
    else:
        lines.append(tr("drills.plan_undo_none"))
    if one.ready:
        lines.append(tr("drills.plan_ready", url=printable(one.ready), within=duration(one.within_s)))
    return lines


def _network(one: Drill) -> str:
    if one.kind == "cut-network":
        return (
            tr("drills.plan_refuse")
            if one.cut_after_bytes is None
            else tr("drills.plan_cut", count=one.cut_after_bytes)
        )
    how = [tr("drills.slow_delay", delay=duration(one.delay_s))] if one.delay_s else []
    how += [tr("drills.slow_jitter", jitter=duration(one.jitter_s))] if one.jitter_s else []
    how += [tr("drills.slow_rate", rate=number(one.bytes_per_s))] if one.bytes_per_s else []
    return tr("drills.plan_slow", how=", ".join(how))


def _who(pid_file: str) -> str:
    try:
        found = worker(pid_file)
    except CabidaError as error:
        return tr("drills.plan_nobody", file=printable(pid_file), why=error.problems[0].what)
    name = ""
    try:
        name = Path(f"/proc/{found.pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        name = "?"
    return tr("drills.plan_somebody", file=printable(pid_file), pid=found.pid, name=printable(name))


def _shown(arguments: tuple[str, ...]) -> str:
    return " ".join(shown(part) for part in arguments)
