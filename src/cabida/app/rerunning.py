"""Living decisions: made again with what is known now, made again as they were, and held beside each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.app.deciding import decided, sha256_of
from cabida.errors import InvalidInput, Problem
from cabida.facts.known import as_known
from cabida.text import iso_day, problem, speaking

if TYPE_CHECKING:
    from cabida.brief import Brief
    from cabida.plan import Decision, Progress
    from cabida.report.diff import Difference

BRIEF_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Rerun:
    """A decision made again.

    Attributes:
        decision: as it is now.
        difference: from the one before.
        identical: of one made again at its own date and time: whether its JSON is the same, byte for byte; else
            ``None``.
    """

    decision: Decision
    difference: Difference
    identical: bool | None = None


def rerun(
    decision: Path | str | Decision,
    *,
    same: bool = False,
    as_of: str | None = None,
    brief: Path | str | None = None,
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Rerun:
    """The same brief decided again, with the prices, facts and evidence there are now.

    Args:
        decision: JSON of a decision, or the decision.
        same: at its own date and with what was recorded by then; with the version that made it, the result is the same
            to the byte, and ``identical`` says whether it is.
        as_of: ISO date to decide at; today when left out.
        brief: another text in its place; the one that the decision keeps when left out.
        out: folder for the record of the new decision.
        progress: told what is being done.

    Raises:
        InvalidInput: the decision or the brief can't be read, a file that the brief names is gone (CB-Y001) or another
            than it was (CB-Y002, of ``same``), ``same`` was asked together with another day or brief (CB-Y003) or of
            another version (CB-Y004).
    """
    import cabida
    from cabida.app import load_decision
    from cabida.report import write
    from cabida.report.diff import difference
    from cabida.report.store import to_json

    before = decision if not isinstance(decision, Path | str) else load_decision(decision)
    named = str(decision) if isinstance(decision, Path | str) else before.name
    if same and (as_of or brief):
        raise InvalidInput([problem("CB-Y003")])
    if same and before.version != cabida.__version__:
        raise InvalidInput([problem("CB-Y004", file=named, made=before.version, here=cabida.__version__)])
    day = before.as_of if same else iso_day(as_of or "") or date.today().isoformat()
    with speaking(before.language), as_known(day, before.made_at if same else ""):
        read = _brief_of(before, day, brief, named)
        _same_files(before, read, named, same=same)
        flags = {name: before.flags.get(name) for name in ("assume", "all", "scenarios")}
        flags["assume"] = before.flags.get("assume", True)  # of a decision that doesn't say: go on as it did
        after = decided(read, day, flags, seed=before.seed, progress=progress)
        identical = None
        if same:
            after = replace(after, made_at=before.made_at, elapsed_s=before.elapsed_s)
            if not before.flags:
                after = replace(after, flags={})
            identical = to_json(after) == to_json(before)
        found = difference(before, after)
    if out is not None:
        write(after, out)
    return Rerun(after, found, identical)


def diff(
    before: Path | str | Decision,
    after: Path | str | Decision,
    *,
    as_of: str | None = None,
    assume: bool = False,
    progress: Progress | None = None,
) -> Difference:
    """What changed between two decisions, and whether the winner did.

    Args:
        before: a decision or its JSON; a brief (``.yaml``) is decided first.
        after: the same; two briefs are decided at one date.
        as_of: ISO date for briefs; today when left out.
        assume: briefs go on with graded defaults where they leave something open.
        progress: told what is being done.

    Raises:
        InvalidInput: a file can't be read, or the decisions are of different work (CB-Y005).
    """
    from cabida.report.diff import difference

    one, two = (_read(each, as_of, assume, progress) for each in (before, after))
    if one.workload != two.workload or one.denominator != two.denominator:
        raise InvalidInput([problem("CB-Y005", one=one.denominator, two=two.denominator)])
    return difference(one, two)


def _read(
    told: Path | str | Decision, as_of: str | None, assume: bool, progress: Progress | None
) -> Decision:
    from cabida.app import load_decision, recommend
    from cabida.evidence.shelf.named import is_named

    if not isinstance(told, Path | str):
        return told
    if Path(told).suffix.lower() in BRIEF_ENDINGS or is_named(told, "b"):
        return recommend(told, as_of=as_of, assume=assume, progress=progress)
    return load_decision(told)


def _brief_of(before: Decision, day: str, other: Path | str | None, named: str) -> Brief:
    from cabida.brief.read import parse_brief
    from cabida.evidence import book

    if other is not None:
        from cabida.app import load_brief

        return load_brief(other, as_of=day)
    file = str(before.brief.get("file") or "brief.yaml")
    try:
        return parse_brief(before.brief_text, file=file, as_of=day, sellers=book.sellers)
    except InvalidInput as error:
        raise InvalidInput([_told(one, named) for one in error.problems]) from None


def _told(one: Problem, named: str) -> Problem:
    """A trace that is gone is told as what it is; every other fault of the brief stands as it is."""
    return problem("CB-Y001", file=named, why=one.what) if one.code == "CB-B016" else one


def _same_files(before: Decision, read: Brief, named: str, *, same: bool) -> None:
    held = before.flags.get("trace_sha256")
    if same and held and read.traffic.trace and sha256_of(read.traffic.trace) != held:
        raise InvalidInput([problem("CB-Y002", file=named, trace=read.traffic.trace)])


def plain(made: Rerun) -> dict[str, Any]:
    """A rerun as plain data: ``winner_changed``, ``identical`` and what changed."""
    from dataclasses import asdict

    return {"identical": made.identical, "as_of": made.decision.as_of, **asdict(made.difference)}
