"""A brief as it is being written: what it says, what is wrong, missing, taken for granted or a classic mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from cabida.brief.form import UNKNOWN, Tree, something, tree_of
from cabida.brief.model import Missing
from cabida.errors import InvalidInput, Problem
from cabida.plan import Caution
from cabida.text import problem

if TYPE_CHECKING:
    from pathlib import Path

    from cabida.brief import Brief, Lengths

TOP = ""  # path of what is about the whole text
MOST_PIECES = 4000  # lines and commas of a text that is looked over while somebody waits
MOST_TOLD = 100  # problems told at once
_PLACE = re.compile(r"[\w.+-]+(?:\[\d+\][\w.+-]*)*")


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem and the path of the brief it is about; "" = the whole text."""

    path: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class Measured:
    """The traffic that a log or a trace shows: fields of ``traffic`` as a form has them.

    Attributes:
        traffic: of the model most asked.
        requests_count: in the file.
        models: names of all that were asked, the most asked first.
        notes: what was left out, and why.
    """

    traffic: dict[str, Any]
    requests_count: int
    models: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """How far a brief is.

    Attributes:
        workload: its class, stated or told by the rest; "" = it can't be read.
        why: one sentence on why it is of that class.
        faults: what must be mended before anything is decided.
        missing: what it leaves open. What blocks waits for an answer, or for a person who allows assumptions.
        claims: figures in its notes that are known to be wrong.
        pitfalls: classic mistakes that it makes already.
    """

    workload: str = ""
    why: str = ""
    faults: tuple[Fault, ...] = ()
    missing: tuple[Missing, ...] = ()
    claims: tuple[Fault, ...] = ()
    pitfalls: tuple[Caution, ...] = ()

    @property
    def blocking(self) -> tuple[Missing, ...]:
        """What the decision waits for."""
        return tuple(one for one in self.missing if one.blocking)

    @property
    def decides(self) -> bool:
        """Whether it can be decided as it is."""
        return not self.faults and not self.blocking

    @property
    def decides_with_assumptions(self) -> bool:
        """Whether it can be decided when what is missing may be assumed."""
        return not self.faults and all(one.default for one in self.blocking)


def looked_over(text: str, *, as_of: str = "", here: bool = False, file: str = "brief.yaml") -> Written:
    """Everything that can be said of a brief's text while it is written; nothing is raised.

    Args:
        text: YAML, as far as it is.
        as_of: ISO date it is judged against; "" = today.
        here: whether who asks sits at this machine, so that files of it may be named.
        file: what problems call it.
    """
    from contextlib import nullcontext

    from cabida.facts.known import by_name_only

    if too_much(text):
        return Written(faults=(Fault(TOP, problem("CB-B009", file=file, line=1, limit=MOST_PIECES)),))
    with nullcontext() if here else by_name_only():
        return _looked_over(text, as_of, file)


def _looked_over(text: str, as_of: str, file: str) -> Written:
    from cabida.brief import classify, missing, not_yet, parse_brief
    from cabida.evidence import book

    if not something(text):
        text = f"{text}\nname: brief\n"
    try:
        brief = parse_brief(text, file=file, as_of=as_of, sellers=book.sellers)
    except InvalidInput as invalid:
        return Written(workload=_class_of(text), faults=_placed(text, file, invalid.problems[:MOST_TOLD]))
    refusal = not_yet(brief)
    kind = classify(brief)
    faults = _placed(text, file, [refusal] if refusal else [])
    claims, pitfalls = _careful(brief, as_of) if not faults else ((), ())
    return Written(
        kind.name,
        kind.why,
        faults,
        tuple(missing(brief, as_of)),
        _placed(text, file, claims),
        tuple(pitfalls),
    )


def _careful(brief: Brief, as_of: str) -> tuple[Iterable[Problem], Iterable[Caution]]:
    """Wrong figures and classic mistakes; of a brief that lacks too much, only the figures."""
    from cabida.brief import claims, complete
    from cabida.checks import brief_pitfalls, weighed

    try:
        whole = complete(brief, assume=True, as_of=as_of)
        found = brief_pitfalls(whole, as_of or date.today().isoformat())
    except InvalidInput:
        return claims(brief), ()
    return claims(brief), weighed(found, brief.accepted_risks, whole=False)


def too_much(text: str) -> bool:
    """Whether a text is far longer than any brief, so that a form of it would be no help."""
    return text.count("\n") + text.count(",") > MOST_PIECES


def measured(file: Path, timezone: str = "") -> Measured:
    """What a log, an export or a trace (``arrival_s,input_tokens,output_tokens``) says of the traffic.

    Args:
        file: on this machine.
        timezone: whose hours the profile has; "" = UTC.

    Raises:
        InvalidInput: CB-I001 to CB-I025, CB-B039: it can't be read.
    """
    from cabida.app.arriving import traffic
    from cabida.brief.trace import COLUMNS

    with file.open("rb") as stream:
        head = stream.readline(2000).decode("utf-8", "replace")
    if all(name in head for name in COLUMNS):
        return _of_trace(file)
    found = traffic([file], timezone=timezone)
    first = found["traffic"][0]
    said = tree_of(first["yaml"]).get("traffic", {})
    count = sum(one.get("requests_count") or 0 for one in found["files"])
    names = tuple(str(one["model"] or "?") for one in found["traffic"])
    kept = {key: one for key, one in said.items() if not _nobody_knows(one)}
    return Measured(kept, count, names, tuple(str(one) for one in found["notes"]))


def _of_trace(file: Path) -> Measured:
    from cabida.brief.trace import read_trace, summarise
    from cabida.evidence.traffic.block import figure

    rows = read_trace(file)
    found = summarise(rows)

    def lengths(one: Lengths) -> dict[str, str]:
        said = {key: getattr(one, f"{key}_tokens") for key in ("mean", "p50", "p95", "max")}
        return {key: str(max(1, round(value))) for key, value in said.items()}

    rate = {"mean": figure(found.requests_per_s_mean), "peak": figure(found.requests_per_s_peak)}
    told: dict[str, Any] = {"requests_per_s": rate, "burst": figure(found.burst_ratio, 3)}
    told |= {"input_tokens": lengths(found.input), "output_tokens": lengths(found.output)}
    return Measured(told, len(rows))


def _nobody_knows(one: Any) -> bool:
    return one == UNKNOWN or (isinstance(one, dict) and set(one.values()) == {UNKNOWN})


def tree_or_nothing(text: str) -> dict[str, Any]:
    """What a form shows of a text; of one that can't be read, nothing."""
    try:
        return {} if too_much(text) else tree_of(text)
    except InvalidInput:
        return {}


def _class_of(text: str) -> str:
    said: Tree = tree_or_nothing(text).get("workload", "")
    return str(said)


def _placed(text: str, file: str, problems: Iterable[Problem]) -> tuple[Fault, ...]:
    where = _where(text, file)
    return tuple(Fault(_path(one, where), one) for one in problems)


def _where(text: str, file: str) -> dict[str, int]:
    from cabida.brief.fields import WHOLE_BRIEF
    from cabida.brief.lines import read_lines
    from cabida.brief.shapes import Walk, walk

    found = Walk(file)
    try:
        tree, _ = read_lines(text, file)
        walk(tree, WHOLE_BRIEF, "", found)
    except InvalidInput:
        return {}
    return found.where


def _path(one: Problem, where: dict[str, int]) -> str:
    """The path that a problem names; else the first thing said on its line."""
    named = _PLACE.match(one.what)
    if named and _of_brief(named[0].rstrip(".")):
        return named[0].rstrip(".")
    on_line = [path for path, line in where.items() if line == one.line]
    said = [path for path in on_line if path in one.what]
    return max(said, key=len) if said else (on_line[0] if on_line else TOP)


def _of_brief(path: str) -> bool:
    from cabida.brief.fields import BRIEF

    head, dot, _ = path.partition(".")
    return head.partition("[")[0] in BRIEF.fields and (bool(dot) or "[" in head or head == path)
