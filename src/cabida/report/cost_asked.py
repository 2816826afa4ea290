"""What a question about cost has no use for: once said it is refused, never passed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cabida.errors import UsageProblem
from cabida.report.cost_rows import Billing
from cabida.report.run_speed import IDLE_DEFAULTS, as_typed
from cabida.text import problem, tr

FLAT = (1.0,)
OF_TERMS = {  # field of the billing -> the flag that says it
    "utilisation_ratio": "utilisation", "acceptance_ratio": "acceptance", "failure_ratio": "failures",
    "retries_count": "retries", "review_money_per_output": "review", "moderation_money_per_output": "moderation",
    "currency": "currency", "capacity": "capacity", "country": "country", "stated": "assume",
}  # fmt: skip
NOT_OF_A_RUN = ("utilisation", "failures", "retries", "review", "moderation")
NOT_OF_SERVING = ("dataset_bytes", "runs", "item_bytes", "kept_months")


def refuse_idle(
    kind: str,
    billing: Billing,
    flags: Mapping[str, Any],
    demand: float | None,
    profile: Sequence[float],
    spares: int,
) -> None:
    """Refuse what was said and changes nothing in a question of this kind (``serving``, ``training``, ``items``).

    Raises:
        UsageProblem: CB-U046, nothing in such a question uses it; CB-U050, it goes with ``--demand``.
    """
    said = _said(billing)
    idle = [name for name in NOT_OF_A_RUN if name in said] if kind == "training" else []
    if kind == "serving":
        idle += [name for name in NOT_OF_SERVING if flags.get(name) is not None]
    if idle:
        _refuse(idle, tr(f"speed.about.{kind}"), tr("cost.leave_out"))
    alone = {"--profile": tuple(profile) != FLAT, "--spares": bool(spares)}
    if demand is None and (names := ", ".join(name for name, given in alone.items() if given)):
        raise UsageProblem([problem("CB-U050", one=names, other="--demand")])


def refuse_beside_options(
    gpu: str, billing: Billing, flags: Mapping[str, Any], beside: Mapping[str, Any]
) -> None:
    """Refuse what a brief or a decision says for itself.

    Raises:
        UsageProblem: CB-U046, with all of it.
    """
    said = [*_said(billing), *(name for name, value in beside.items() if value)]
    said += [
        name
        for name, value in flags.items()
        if value not in (None, "", 0, 0.0, False, ()) and value != IDLE_DEFAULTS.get(name)
    ]
    if gpu:
        said.insert(0, "gpu")
    if said:
        _refuse(said, tr("cost.options_of"), tr("cost.says_itself"))


def _said(billing: Billing) -> list[str]:
    told, usual = asdict(billing), asdict(Billing())
    return [flag for name, flag in OF_TERMS.items() if told[name] != usual[name]]


def _refuse(names: Sequence[str], kind: str, cure: str) -> None:
    flags = ", ".join(map(as_typed, names))
    raise UsageProblem([problem("CB-U046", flags=flags, kind=kind, cure=cure)])
