"""Where a run's steady part begins, and how sure its mean is: standard output analysis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GROUP_COUNT = 5
BATCHES_COUNT = 20  # between the 10 and 30 of Schmeiser 1982
STUDENT_T = 2.093  # 97.5 % point, 19 degrees of freedom


def warm_up_count(series: Floats) -> int:
    """Observations to leave out at the start by MSER-5: the cut that makes the mean of the rest most certain.

    White 1997 ("An effective truncation heuristic for bias reduction in simulation output"); White, Cobb,
    Spratt 2000: means of five, and no cut beyond the middle.

    Args:
        series: shape (n,), in order.
    """
    import numpy as np

    groups = len(series) // GROUP_COUNT
    if groups < 4:
        return 0
    means = series[: groups * GROUP_COUNT].reshape(groups, GROUP_COUNT).mean(axis=1)
    left = np.arange(groups, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(means[::-1] ** 2)[::-1]
    error = (squares - total**2 / left) / left.astype(float) ** 2
    return int(np.argmin(error[: groups // 2 + 1])) * GROUP_COUNT


def half_width_ratio(series: Floats) -> float:
    """Half the 95 % interval of the mean over the mean, by batch means; infinite where there is too little.

    Schmeiser 1982; Law 2015, section 9.5.3.

    Args:
        series: shape (n,), steady, in order.
    """
    each = len(series) // BATCHES_COUNT
    if each < 2:
        return math.inf
    means = series[: each * BATCHES_COUNT].reshape(BATCHES_COUNT, each).mean(axis=1)
    mean = float(means.mean())
    if mean <= 0:
        return math.inf
    return float(STUDENT_T * means.std(ddof=1) / math.sqrt(BATCHES_COUNT) / mean)
