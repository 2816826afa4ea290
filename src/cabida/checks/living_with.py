"""Warnings that somebody accepts knowingly: one step milder, never hidden, and told when they are gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cabida.checks.sentences import caution, cure_of
from cabida.plan import AcceptedRisk, Caution

if TYPE_CHECKING:
    from cabida.brief import KnownRisk

MILDER = {"blocking": "warning", "warning": "info", "info": "info"}
NO_LONGER = "CB-K350"


def weighed(
    found: Iterable[Caution], accepted: Sequence[KnownRisk], *, whole: bool = True
) -> tuple[Caution, ...]:
    """Each warning once, with its cure; those of a code in ``accepted`` with who accepts them and why.

    Args:
        found: in the order they are told.
        accepted: of the brief.
        whole: everything that could be found was looked for, so that what is accepted and not found is gone.
    """
    told = [one if one.cure else replace(one, cure=cure_of(one.code)) for one in dict.fromkeys(found)]
    by_code = {risk.code: risk for risk in accepted}
    weighed = [_accepted(one, by_code[one.code]) if one.code in by_code else one for one in told]
    gone = [risk for risk in accepted if risk.code not in {one.code for one in told}] if whole else []
    return (*weighed, *(caution(NO_LONGER, "warning", accepted=risk.code, by=risk.by) for risk in gone))


def _accepted(one: Caution, risk: KnownRisk) -> Caution:
    return replace(one, severity=MILDER[one.severity], accepted=AcceptedRisk(risk.by, risk.why, risk.until))
