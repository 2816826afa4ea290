"""Step caching: features kept from one step to the next, so that only a share of the denoiser's work is done."""

from __future__ import annotations

import re

from cabida.quantity import formula
from cabida.timing.stages.media_rates import coefficient, shipped


@formula
def interval_computed_ratio(interval_steps: float, shallow_ratio: float) -> float:
    """DeepCache: every so many steps in full, the others through the outermost blocks alone. Ma et al. 2023."""
    return (1 + (interval_steps - 1) * shallow_ratio) / interval_steps


def computed_ratio(text: str) -> float:
    """Share of a run's denoising that is worked out under the cache that ``text`` names; 1 without one.

    ``DeepCache I=3``, ``FBCache rdt0.08``, ``TeaCache``, ``T-GATE`` ... as people write them.
    """
    lowered = text.lower()
    if "deepcache" in lowered:
        interval = re.search(r"(?:i|interval|n)\s*=?\s*(\d+)", lowered.replace("deepcache", ""))
        shallow = coefficient("shallow_ratio", "caches", "deepcache").value
        return float(interval_computed_ratio.raw(float(interval[1]) if interval else 3.0, shallow))
    for name in shipped()["caches"]:
        if name in lowered:
            return coefficient("computed_ratio", "caches", name).value
    return 1.0
