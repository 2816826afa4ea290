"""Where the intervals of media memory come from, and how far its figures are off with whole sources left out.

``python calibration/media_memory.py`` prints, for images and clips, the 5th and 95th percentile of measured over
predicted peak memory of ``cases/media.jsonl``: over all sources weighed alike, and over all but each one. Shipped
factors (``SPREAD`` in ``cabida.memory.media_constants``) are set by hand from them. Activations aren't fitted at
all: they are the live tensors of published code (``media_traces.py``), so every row is one that was never fitted.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from pathlib import Path

from cabida.memory.media_constants import SPREAD
from cabida.truth.validate import predicted

CASES = Path(__file__).parent.parent / "cases" / "media.jsonl"
SHARES = (0.05, 0.95)


def ratios() -> dict[str, dict[str, list[float]]]:
    """Measured over predicted, by task and source."""
    found: dict[str, dict[str, list[float]]] = {"image": defaultdict(list), "video": defaultdict(list)}
    for one in predicted([CASES], widest=99.0):
        if one.metric == "peak_mem_gib":
            task = "image" if one.case.row["task"] == "t2i" else "video"
            found[task][one.case.source].append(one.measured / one.predicted)
    return found


def quantile(sources: dict[str, list[float]], share: float) -> float:
    """Weighted quantile: each source counts by the square root of its rows, so that no table decides."""
    weighed = sorted((value, len(rows) ** -0.5) for rows in sources.values() for value in rows)
    whole, seen = sum(weight for _, weight in weighed), 0.0
    for value, weight in weighed:
        seen += weight
        if seen >= share * whole:
            return value
    return weighed[-1][0]


def main() -> None:
    """Print the factors of each task."""
    for task, sources in ratios().items():
        low, high = (quantile(sources, share) for share in SHARES)
        medians = [abs(statistics.median(rows) - 1) for rows in sources.values()]
        print(f"{task}: {low:.3f} .. {high:.3f} over {len(sources)} sources, shipped {SPREAD[task]}")
        print(f"  median over sources of each source's median: off by {statistics.median(medians):.1%}")
        for left_out in sources:
            rest = {name: rows for name, rows in sources.items() if name != left_out}
            low, high = (quantile(rest, share) for share in SHARES)
            held = statistics.mean(low <= value <= high for value in sources[left_out])
            print(f"  without {left_out}: {low:.3f} .. {high:.3f} would hold {held:.0%} of its rows")


if __name__ == "__main__":
    main()
