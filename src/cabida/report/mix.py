"""The answer of ``cabida mix``: the mix with what it stands on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cabida.plan import Decision
from cabida.plan.mix import Mix


def mix_answer(decision: Decision, mix: Mix) -> dict[str, Any]:
    """The mix of a decision as plain data, with its date, seed, currency and what one output is."""
    return {
        "name": decision.name,
        "workload": decision.workload,
        "as_of": decision.as_of,
        "seed": decision.seed,
        "currency": decision.currency,
        "denominator": decision.denominator,
        "version": decision.version,
        "facts_digest": decision.facts_digest,
        "decision": decision.answer,
        "mix": asdict(mix),
    }
