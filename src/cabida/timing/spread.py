"""How wrong serving predictions are, by what is known: factors of the 90 % interval from held-out rows."""

from __future__ import annotations

from cabida.plan import Deployment
from cabida.timing.coefficients import engine_key, serving_facts


def spread_of(d: Deployment) -> dict[str, tuple[float, float]]:
    """Interval factors by metric for one deployment: metric -> (low, high), both multiply the prediction."""
    facts = serving_facts()
    regime = "seen" if d.accelerator.id in facts["accelerators"] else "unseen"
    found = facts["spread"][engine_key(d.engine)][regime]
    return {metric: (float(low), float(high)) for metric, (low, high) in found.items()}
