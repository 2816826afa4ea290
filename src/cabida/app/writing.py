"""A brief as it is being written: what it says, what is wrong, missing, taken for granted or a classic mistake."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from cabida.brief.form import Tree, tree_of
from cabida.brief.model import Missing
from cabida.errors import InvalidInput, Problem
from cabida.plan import Caution
from cabida.text import problem

if TYPE_CHECKING:
    from cabida.brief import Brief

TOP = ""  # path of what is about the whole text
MOST_TOLD = 100  # problems told at once
_PLACE = re.compile(r"[\w.+-]+(?:\[\d+\][\w.+-]*)*")


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem and the path of the brief it is about; "" = the whole text."""

    path: str
    problem: Problem


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

    with nullcontext() if here else by_name_only():
        return _looked_over(text, as_of, file)


def _looked_over(text: str, as_of: str, file: str) -> Written:
    from cabida.brief import classify, missing, not_yet, parse_brief
    from cabida.evidence import book

    if _says_nothing(text):
        text = f"{text}\nname: brief\n"
    try:
        brief = parse_brief(text, file=file, as_of=as_of, sellers=book.sellers)
    except InvalidInput as invalid:
        return Written(workload=_class_of(text), faults=_placed(text, file, invalid.problems[:MOST_TOLD]))
    except (ValueError, ArithmeticError):  # a figure beyond what a machine counts
        return Written(workload=_class_of(text), faults=(Fault(TOP, problem("CB-B009", file=file, limit="1e18")),))
    refusal = not_yet(brief)
    kind = classify(brief)
    faults = _placed(text, file, [refusal] if refusal else [])
    claims, pitfalls = _careful(brief, as_of) if not faults else ((), ())
    return Written(
        kind.name, kind.why, faults, tuple(missing(brief, as_of)), _placed(text, file, claims), tuple(pitfalls)
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


def tree_or_nothing(text: str) -> dict[str, Any]:
    """What a form shows of a text; of one that can't be read, nothing."""
    try:
        return tree_of(text)
    except InvalidInput:
        return {}


def _says_nothing(text: str) -> bool:
    """Whether there are only comments, so that it is the beginning of a brief and not a faulty one."""
    return not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


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
    except (InvalidInput, ValueError, ArithmeticError):
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
