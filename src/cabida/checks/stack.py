"""A software stack in words ("vllm 0.9, torch 2.7, cuda 12.8, driver 560, RTX 5090"): what of it does not go together.

Each refusal names the nearest that would run, and where that is written. The tables are the software facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cabida.checks import stack_builds, stack_cards, stack_engines, stack_parts
from cabida.checks.install import install
from cabida.checks.sentences import caution
from cabida.checks.stack_parts import sourced
from cabida.checks.stack_unread import refuse_twice, unread
from cabida.checks.stack_words import SoftwareStack, read_stack
from cabida.plan import Caution

STATES = {"blocking": "no", "warning": "steps"}  # of a stack, by the worst that was found


def check_stack(text: str, as_of: str = "") -> tuple[Caution, ...]:
    """What of a stack does not go together (blocking), needs a step (warning), and what is fine (info)."""
    refuse_twice(text)
    found = judge_stack(read_stack(text, as_of))
    if left := unread(text):
        return (*found, caution("CB-K057", "warning" if not found else "info", words=", ".join(left)))
    return found or (caution("CB-K061", "info"),)


def judge_stack(stack: SoftwareStack) -> tuple[Caution, ...]:
    """The same of a stack whose parts are known, nothing said twice."""
    found = [one for rule in RULES for one in rule(stack)]
    if not any(one.severity == "blocking" for one in found) and not stack.detected:
        found += _to_install(stack)
    return tuple({one.sentence: one for one in found}.values())


def _to_install(stack: SoftwareStack) -> Iterator[Caution]:
    """The pinned lines of each engine on the first card that it is to run on."""
    for id, version in stack.engines.items():
        if not stack.cards or stack.system in ("windows", "mac"):
            continue
        flavour = stack_engines.flavour_of(stack, id, version)
        row = install(id, version, stack.cards[0], stack.as_of, flavour)
        if row.lines and (row.release or version):  # without either the lines pin nothing
            yield sourced(caution("CB-K280", "info", lines=" ; ".join(row.lines)), row.source)


def state_of(found: tuple[Caution, ...]) -> str:
    """Of a checked stack: runs, steps (runs with what is said) or no."""
    severities = {one.severity for one in found}
    return next((state for severity, state in STATES.items() if severity in severities), "runs")


RULES: tuple[Callable[[SoftwareStack], Iterator[Caution]], ...] = (
    stack_builds.drivers,
    stack_builds.toolkits,
    stack_builds.pytorch,
    stack_builds.rocm,
    stack_builds.python,
    stack_parts.named_parts,
    stack_engines.engines,
    stack_engines.formats,
    stack_engines.release_rules,
    stack_cards.links,
    stack_cards.slices,
    stack_cards.memory_errors,
    stack_cards.variants,
    stack_cards.licences,
)

__all__ = ["RULES", "SoftwareStack", "check_stack", "judge_stack", "read_stack", "state_of"]
