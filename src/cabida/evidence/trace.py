"""A request trace as the simulation takes it: three columns of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cabida.brief import trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def read_trace(path: Path | str) -> tuple[Floats, Floats, Floats]:
    """Arrivals (s), input and output lengths (tokens) of a CSV, sorted by arrival.

    Raises:
        InvalidInput: what :func:`cabida.brief.trace.read_trace` refuses, each with its line.
    """
    import numpy as np

    arrivals, inputs, outputs = np.array(trace.read_trace(Path(path))).T.copy()
    return arrivals, inputs, outputs
