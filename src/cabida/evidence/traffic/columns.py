"""Requests as columns of numbers: some twenty bytes for a request of an access log, whatever was asked in it."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.text import printable, problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

REQUESTS_MOST = 20_000_000
MODELS_MOST = 1000
MODEL_CHARS_MOST = 200
TOKENS_MOST = 1_000_000_000
DURATION_S_MOST = 7 * 86_400.0
OK, FAILED, CUT = 200, 1, 499  # FAILED: it did, and no code says how
NAN = float("nan")


@dataclass(slots=True)
class Requests:
    """Requests in the order they were read.

    Attributes:
        from_s, until_s: what begins outside of them is left out, and counted.
        resolution_s: the coarsest clock that they were stamped by.
        at: arrival, seconds since 1970; the others by name, lacking until something says them.
        models: names, by the number in the column ``model``.
        fresh: nothing but whole lines tells a request that two files hold: they are kept, as hashes.
    """

    from_s: float = -inf
    until_s: float = inf
    resolution_s: float = 0.0
    at: array[float] = field(default_factory=lambda: array("d"))
    status: array[int] = field(default_factory=lambda: array("h"))
    model: array[int] = field(default_factory=lambda: array("h"))
    file: array[int] = field(default_factory=lambda: array("h"))
    models: dict[str, int] = field(default_factory=dict)
    models_left_count: int = 0
    outside_count: int = 0
    place: int = 0
    untimed: Counter[int] = field(default_factory=Counter)
    _more: dict[str, array[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.at)

    def add(
        self,
        at_s: float,
        *,
        status: int = 0,
        model: str = "",
        duration_s: float | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
        id_hash: int = 0,
        body_hash: int = 0,
        line_hash: int = 0,
    ) -> bool:
        """Take one in; ``None`` and 0 = not said.

        Returns:
            Whether it lies within the time asked for.

        Raises:
            InvalidInput: CB-I003, there are more than REQUESTS_MOST.
        """
        if not self.from_s <= at_s < self.until_s:
            self.outside_count += 1
            return False
        if len(self.at) >= REQUESTS_MOST:
            raise InvalidInput([problem("CB-I003", most=f"{REQUESTS_MOST:,}")])
        self.at.append(at_s)
        self.status.append(status)
        number = self.models.get(model)
        self.model.append(self._model(model) if number is None else number)
        self.file.append(self.place)
        if duration_s is not None and 0 <= duration_s < DURATION_S_MOST:
            self._put("duration", "f", NAN, duration_s)
        if input_tokens is not None:
            self._put("input", "i", -1, input_tokens)
        if output_tokens is not None:
            self._put("output", "i", -1, output_tokens)
        if cached_tokens is not None:
            self._put("cached", "i", -1, cached_tokens)
        if id_hash:
            self._put("id", "q", 0, id_hash)
        if body_hash:
            self._put("body", "q", 0, body_hash)
        if line_hash:
            self._put("line", "q", 0, line_hash)
        return True

    def add_plain(self, at_s: float, status: int, duration_s: float | None, line_hash: int = 0) -> None:
        """The same for what web servers write, of which there may be ten million lines."""
        if not self.from_s <= at_s < self.until_s or len(self.at) >= REQUESTS_MOST:
            self.add(at_s)  # counts or refuses it
            return
        self.at.append(at_s)
        self.status.append(status)
        self.model.append(self.models[""] if "" in self.models else self._model(""))
        self.file.append(self.place)
        if duration_s is not None and duration_s < DURATION_S_MOST:
            column = self._more.get("duration")
            if column is not None and len(column) == len(self.at) - 1:
                column.append(duration_s)
            else:
                self._put("duration", "f", NAN, duration_s)
        if line_hash:
            self._put("line", "q", 0, line_hash)

    def _model(self, name: str) -> int:
        shown = printable(name)[:MODEL_CHARS_MOST]
        if shown not in self.models and len(self.models) >= MODELS_MOST:
            self.models_left_count += 1
            shown = "…"
        return self.models.setdefault(shown, len(self.models))

    def _put(self, name: str, code: str, lacking: float, value: float) -> None:
        """A value in a column that is as long as the others only once something needs it."""
        column = self._more.get(name)
        if column is None:
            column = self._more[name] = array(code)
        short = len(self.at) - 1 - len(column)
        if short:
            column.extend(array(code, [lacking]) * short)
        column.append(value)

    def columns(self) -> Columns:
        """All of them, sorted by arrival, and then by what else they say: the order of reading is gone.

        What was read is given up, since twice it would be too much.
        """
        import numpy as np

        found: dict[str, Any] = {
            "at": np.frombuffer(self.at, dtype=np.float64) if self.at else np.empty(0),
            "status": _numbers(self.status, "h", len(self.at), 0),
            "model": _numbers(self.model, "h", len(self.at), 0),
            "file": _numbers(self.file, "h", len(self.at), 0),
        }
        for name, column in self._more.items():
            found[name] = _numbers(column, column.typecode, len(self.at), NAN if column.typecode == "f" else
                                   0 if column.typecode == "q" else -1)  # fmt: skip
        keys = [found[name] for name in ("model", "duration", "output", "input", "status") if name in found]
        order = np.lexsort((*keys, found["at"]))
        keys.clear()
        for name in found:
            found[name] = found[name][order]
        self.at, self.status, self.model, self.file = array("d"), array("h"), array("h"), array("h")
        self._more.clear()
        return Columns(found, self.resolution_s)


def _numbers(column: array[Any], code: str, count: int, lacking: float) -> Any:
    import numpy as np

    short = count - len(column)
    read = np.frombuffer(column, dtype=np.dtype(code)) if column else np.empty(0, dtype=np.dtype(code))
    return np.concatenate([read, np.full(short, lacking, dtype=read.dtype)]) if short else read


@dataclass(slots=True)
class Columns:
    """Requests by arrival, each of its columns an array of the same length.

    ``at``, ``status`` (0 = not said), ``model``, ``file``; where anything said them ``duration`` (NaN = not
    said), ``input``, ``output``, ``cached`` (-1), ``id``, ``body``, ``line`` (0).
    """

    by_name: dict[str, Any]
    resolution_s: float = 0.0

    def __len__(self) -> int:
        return len(self.by_name["at"])

    @property
    def at(self) -> Floats:
        """Arrivals, ascending, seconds since 1970."""
        found: Floats = self.by_name["at"]
        return found

    def get(self, name: str) -> Any | None:
        """A column; ``None`` = nothing says it."""
        return self.by_name.get(name)

    def where(self, chosen: Any) -> Columns:
        """Only those; of all of them no second copy is made."""
        if chosen.all():
            return self
        return Columns({name: column[chosen] for name, column in self.by_name.items()}, self.resolution_s)

    def known(self, name: str) -> Any:
        """The values of a column that are said; empty where none is."""
        import numpy as np

        column = self.by_name.get(name)
        if column is None:
            return np.empty(0)
        return column[~np.isnan(column)] if column.dtype.kind == "f" else column[column >= 0]


def whole_tokens(value: object) -> int | None:
    """A count of tokens as somebody's log says it; ``None`` where it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value) if value.strip() else None
        except ValueError:
            return None
    if not isinstance(value, int | float) or not isfinite(value) or not 0 <= value < TOKENS_MOST:
        return None
    return round(value)
