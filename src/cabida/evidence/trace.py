"""Reading a request trace: ``arrival_s,input_tokens,output_tokens``, further columns ignored."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

from cabida.errors import InvalidInput
from cabida.text import problem, tr

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

COLUMNS = ("arrival_s", "input_tokens", "output_tokens")
MOST_PROBLEMS = 20


def read_trace(path: Path | str) -> tuple[Floats, Floats, Floats]:
    """Arrivals (s), input and output lengths (tokens) of a CSV, sorted by arrival.

    Raises:
        InvalidInput: unreadable (CB-U014), a column or every row missing (CB-U012), a cell that is no number of
            zero or more (CB-U013), each with its line.
    """
    import numpy as np

    file = str(path)
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            lacking = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            rows = [] if lacking else [(reader.line_num, [row[name] for name in COLUMNS]) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or tr("faces.not_utf8")
        raise InvalidInput([problem("CB-U014", file=file, why=why)]) from None
    if lacking or not rows:
        raise InvalidInput([problem("CB-U012", file=file, line=1, what=", ".join(lacking or COLUMNS))])
    values = [_numbers(cells) for _, cells in rows]
    faults = [
        problem("CB-U013", file=file, line=line, found=",".join(map(str, cells)))
        for (line, cells), found in zip(rows, values, strict=True)
        if found is None
    ]
    if faults:
        raise InvalidInput(faults[:MOST_PROBLEMS])
    table = np.array(sorted(row for row in values if row is not None))
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()


def _numbers(cells: list[str]) -> list[float] | None:
    try:
        found = [float(cell) for cell in cells]
    except (TypeError, ValueError):
        return None
    return found if all(math.isfinite(one) and one >= 0 for one in found) else None
