"""Reading a benchmark's plan: all faults at once, each with its line and its cure."""

from __future__ import annotations

from pathlib import Path

from cabida.bench.planned.build import build
from cabida.bench.planned.fields import WHOLE_PLAN
from cabida.bench.planned.free import lift, without_secrets
from cabida.brief.lines import read_lines, read_text
from cabida.brief.shapes import Walk, walk
from cabida.errors import InvalidInput, Problem
from cabida.plan.bench import BenchPlan
from cabida.text import problem, tr

OF_BRIEFS = {"CB-B001": "CB-P010", "CB-B005": "CB-P011", "CB-B008": "CB-P012"}  # told of a brief there


def read_plan(path: str | Path) -> BenchPlan:
    """The plan in a YAML file; times in seconds, lengths in tokens, sizes in bytes, money in its currency.

    Args:
        path: the file, at most 1 MB of UTF-8.

    Raises:
        InvalidInput: with every fault of the file (``CB-P###``, ``CB-B###``), each with its line. A key written in
            the open is refused and not repeated.
    """
    try:
        text = read_text(Path(path), str(path))
    except InvalidInput as error:
        raise InvalidInput([_of_plan(one) for one in error.problems]) from None
    return parse_plan(text, file=str(path))


def parse_plan(text: str, *, file: str = "bench.yaml") -> BenchPlan:
    """The plan in a YAML text; ``file`` is what problems call it. Raises as :func:`read_plan` does."""
    try:
        tree, problems = read_lines(text, file)
    except InvalidInput as error:
        raise InvalidInput([_of_plan(one) for one in error.problems]) from None
    found = Walk(file, problems=problems, whole=tr("planned.the_plan"))
    tree = without_secrets(tree, "", found)
    lifted = lift(tree, found)
    plain = walk(tree, WHOLE_PLAN, "", found) or {}
    plan = build(plain, lifted.values, found)
    if found.problems or plan is None:
        raise InvalidInput(sorted(found.problems, key=lambda one: one.line))
    return plan


def _of_plan(one: Problem) -> Problem:
    """A problem of the whole file in a plan's words."""
    code = OF_BRIEFS.get(one.code)
    return problem(code, file=one.file, line=one.line, told=one.what.rpartition(": ")[2]) if code else one
