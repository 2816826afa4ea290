"""One decision from a brief that has been read: completed, decided, with what starts it and what it was told."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput

if TYPE_CHECKING:
    from cabida.brief import Brief
    from cabida.choose import Outcome
    from cabida.plan import Decision, Progress


def decided(
    brief: Brief,
    day: str,
    flags: Mapping[str, Any],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    on: str = "here",
) -> Decision:
    """The decision on a brief.

    Args:
        brief: as read.
        day: ISO date; facts and prices seen later don't exist.
        flags: ``assume``, ``all`` and ``scenarios``, as ``recommend`` takes them; kept in the decision.
        seed: of every draw and simulation.
        progress: told what is being done.
        on: where scenarios are worked out.

    Raises:
        InvalidInput: the brief is of a class not served yet, or lacks what the decision waits for.
    """
    from cabida import brief as briefs
    from cabida.app.mixing import drawn_mix
    from cabida.choose import decide

    began = datetime.now(UTC).isoformat(timespec="seconds")
    if (refusal := briefs.not_yet(brief)) is not None:
        raise InvalidInput([refusal])
    whole = briefs.complete(brief, assume=bool(flags.get("assume")), as_of=day)
    outcome = decide(whole, day, seed, progress, show_all=bool(flags.get("all")))
    decision = with_commands(outcome)
    if scenarios := int(flags.get("scenarios") or 0):
        decision = replace(decision, mix=drawn_mix(whole, outcome, scenarios, on))
    kept = {"assume": False, "all": False, "scenarios": 0, **flags}
    if brief.traffic.trace:
        kept["trace_sha256"] = sha256_of(brief.traffic.trace)
    return replace(decision, made_at=began, flags=kept)


def sha256_of(path: Path | str) -> str:
    """SHA-256 of a file that a brief names."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def with_commands(outcome: Outcome) -> Decision:
    """The decision with the exact command that starts each option, and its setup as plain data."""
    from cabida import launch
    from cabida.launch.setups import setup_of

    things = [one.candidate.thing for one in outcome.worked]
    beside = [one.beside.command if one.beside else "" for one in outcome.worked]
    commands = [
        "\n\n".join(filter(None, (launch.command(thing), more))) if thing else ""
        for thing, more in zip(things, beside, strict=True)
    ]
    saved = [getattr(one.speed, "checkpoint_interval_s", None) for one in outcome.worked]
    setups = [setup_of(thing, interval) for thing, interval in zip(things, saved, strict=True)]
    told = zip(outcome.decision.options, commands, setups, strict=True)
    made = (replace(option, command=text, setup=setup) for option, text, setup in told)
    return replace(outcome.decision, options=tuple(made))
