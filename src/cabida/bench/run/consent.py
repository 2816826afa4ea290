"""Whether a plan's targets may be asked: sound addresses, and leave to load what isn't on this machine."""

from __future__ import annotations

from cabida.bench.accept.rules import rules
from cabida.bench.wire.address import endpoint
from cabida.errors import InvalidInput, Problem
from cabida.plan.bench import BenchPlan
from cabida.text import problem


def refusals(plan: BenchPlan, names: list[str], *, yes: bool) -> tuple[list[Problem], list[str]]:
    """What speaks against asking the targets of the runs named so and the judges, and what one should know of them.

    Returns:
        Problems: faults of an address, its key or a rule; CB-N001 of one elsewhere without leave or without a ceiling
        of requests. And notices, as sentences.
    """
    wanted = {one.candidate for one in plan.runs if one.name in names and one.job is None}
    found: list[Problem] = []
    notices: list[str] = []
    allowed = yes and plan.policy.requests_most is not None
    targets = [one.target for one in plan.contenders if one.name in wanted]
    try:
        put = rules(plan.rules, where=plan.where, file=plan.file) if wanted else rules(())
        targets += [
            opinion.target for _, opinion in put.opinions
        ]  # a judge is asked no more often than they are
    except InvalidInput as error:
        found += error.problems
    for target in targets:
        try:
            place = endpoint(target)
        except InvalidInput as error:
            found += error.problems
            continue
        notices += place.notices
        if not place.loopback and not allowed:
            found.append(problem("CB-N001", file=plan.file, url=place.url))
    return list(dict.fromkeys(found)), list(dict.fromkeys(notices))
