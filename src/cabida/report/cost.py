"""What a replica costs a month under each offer, and one accepted answer with it: ``cabida cost``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cabida import facts, timing
from cabida.errors import InvalidInput
from cabida.plan import Setup
from cabida.report.asked import asked, carried, doubts, load_of, named, refuse_load
from cabida.report.bills import bills
from cabida.report.metrics import speed_metrics
from cabida.text import problem

CLIENTS = 32.0  # of a question that says neither a rate nor how many


def cost_answer(
    model: str,
    gpu: str,
    flags: dict[str, Any],
    capacity: Sequence[str],
    currency: str,
    *,
    as_of: str,
    utilisation: float,
    acceptance: float,
    seed: int,
) -> dict[str, Any]:
    """The answer of ``cabida cost``; see :func:`cabida.app.cost`."""
    if flags.get("requests_per_s") is None and flags.get("concurrency") is None:
        flags["concurrency"] = CLIENTS
    asked_load, rest = load_of(flags)
    refuse_load(Setup(model=model, gpu=gpu, **rest), facts.model(model), asked_load)
    d, m, load = asked(model, gpu, flags)
    answer = timing.simulate(d, m, load, seed)
    rows = bills(
        d,
        load,
        answer.requests_per_s,
        utilisation_ratio=utilisation,
        currency=currency,
        as_of=as_of,
        capacity=tuple(capacity),
        acceptance_ratio=acceptance,
    )
    if not rows:
        raise InvalidInput([problem("CB-U015")])
    return {
        **named(d),
        "load": carried(load),
        "warnings": doubts(d),
        "as_of": as_of,
        "currency": currency,
        "utilisation": utilisation,
        "metrics": speed_metrics(answer),
        "rows": rows,
    }
