"""What the user's own observations say of predictions: a correction, kept apart from the shipped coefficients.

Each observation left a residual, log(measured / predicted), of the seconds of a step and of the time to a first
token. A residual is a sum of parts: one its engine has in common everywhere, one with its card, one with its model,
one of that very setup, and a rest. How large each part is (``own`` in ``data/spread.json``) comes from public
residuals, so that few observations suffice: the correction of a setup is the best linear estimate of its parts
given all residuals (Henderson 1975; a normal prior of that width, as in empirical Bayes), near nothing where nothing
alike was observed. ``cabida calibrate`` writes the file; nothing is fitted in here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.facts.known import recorded_by
from cabida.files import home
from cabida.text import problem, tr
from cabida.timing.intervals import MEASURED, residual_facts

if TYPE_CHECKING:
    from cabida.plan import Deployment
    from cabida.timing.engine.steps import StepModel

FORMAT = 1
MOST_RESIDUAL = 50.0  # logarithm of what was measured over what was predicted; within a few tenths as a rule
STEP, FIRST = "step", "first_token"
FIGURE_OF = {STEP: "tpot_s", FIRST: "ttft_s"}
PARTS = ("engine", "engine card", "engine model", "engine card model")
# what a residual is a residual of
COEFFICIENTS = ("serving.json", "kernels.json", "links.json", "first_tokens.json")
_used: ContextVar[bool] = ContextVar("own calibration used", default=True)
_tried: ContextVar[tuple[Residual, ...] | None] = ContextVar("residuals on trial", default=None)

CALIBRATED_BY = "(cabida calibrate)"  # ends what a decision says of one's own calibration, in every language


@dataclass(frozen=True, slots=True)
class Setup:
    """What residuals are alike by."""

    engine: str
    card: str
    model: str

    def shares(self, other: Setup, part: str) -> bool:
        """Whether both have this part of the residual in common."""
        return all(getattr(self, word) == getattr(other, word) for word in part.split())


@dataclass(frozen=True, slots=True)
class Residual:
    """What one observation left: logarithms of measured over predicted."""

    id: str
    setup: Setup
    values: tuple[tuple[str, float], ...]  # STEP, FIRST


@dataclass(frozen=True, slots=True)
class Correction:
    """What to multiply a prediction by, and how much of its doubt is left (variance now over variance before)."""

    ratio: float = 1.0
    doubt_ratio: float = 1.0
    known_ratio: float = 0.0  # of the parts' variance: what the observations took away


NONE = Correction()


def own_path() -> Path:
    """The user's calibration: ``CABIDA_CALIBRATION``, else beside the evidence store's usual place (XDG)."""
    said = os.environ.get("CABIDA_CALIBRATION", "").strip()
    if said:
        return home() / said[2:] if said.startswith("~/") else Path(said)
    data = os.environ.get("XDG_DATA_HOME", "").strip()
    base = Path(data) if data and Path(data).is_absolute() else home() / ".local" / "share"
    return base / "cabida" / "calibration.json"


@contextmanager
def without_own() -> Iterator[None]:
    """Predict as shipped, whatever the user has observed."""
    token = _used.set(False)
    try:
        yield
    finally:
        _used.reset(token)


@contextmanager
def with_own(residuals: Sequence[Residual]) -> Iterator[None]:
    """Predict as if these were what the user has observed."""
    token = _tried.set(tuple(residuals))
    try:
        yield
    finally:
        _tried.reset(token)


def own_residuals() -> tuple[Residual, ...]:
    """The residuals in force; none without a calibration, or when it was made with other coefficients."""
    if not _used.get():
        return ()
    tried = _tried.get()
    if tried is not None:
        return tried
    try:
        path = own_path()
        stamp = path.stat().st_mtime_ns
    except (OSError, RuntimeError):
        return ()
    try:
        residuals, coefficients, _ = read_own(str(path), stamp, recorded_by())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidInput([problem("CB-V013", file=str(path))]) from None
    return residuals if coefficients == coefficients_digest() else ()


@lru_cache(maxsize=4)
def read_own(path: str, stamp: int, known_by: str = "") -> tuple[tuple[Residual, ...], str, str]:
    """Residuals of a calibration file, the digest of the coefficients they are residuals of, and the day of the last.

    ``stamp`` is when it was written: a newer file is read anew. ``known_by`` is a time (ISO, UTC) at which it is looked
    at: runs made later don't exist, runs undone later still count.

    Raises:
        ValueError, KeyError, TypeError: it is no such file.
    """
    del stamp
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    if found["format"] != FORMAT:
        raise ValueError(path)
    last = max((run["at"] for run in _runs(found, known_by)), default="")
    return of_file(found, known_by), str(found["coefficients"]), str(last)[:10]


def _runs(held: dict[str, Any], known_by: str) -> list[dict[str, Any]]:
    """The runs in force at a time, the oldest first; "" = now."""
    if not known_by:
        return list(held["runs"])
    undone = [run for run in held.get("undone", []) if run["undone"] > known_by]
    return sorted(
        (run for run in [*held["runs"], *undone] if run["at"] <= known_by), key=lambda run: run["at"]
    )


def of_file(held: dict[str, Any], known_by: str = "") -> tuple[Residual, ...]:
    """The residuals of a calibration file, the last word on each observation.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is no such file, or a residual is no number.
    """
    last: dict[str, Residual] = {}
    for run in _runs(held, known_by):
        for one in run["observations"]:
            setup = Setup(*(_word(one[part]) for part in ("engine", "card", "model")))
            values = tuple(sorted((what, _finite(value)) for what, value in one["residuals"].items()))
            last[_word(one["id"])] = Residual(one["id"], setup, values)
    return tuple(last.values())


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MOST_RESIDUAL:
        raise ValueError(value)
    return value


def digest_of(residuals: Sequence[Residual]) -> str:
    """Digest of a calibration: "" for none. A decision states it."""
    if not residuals:
        return ""
    plain = sorted(
        [one.id, one.setup.engine, one.setup.card, one.setup.model, *one.values] for one in residuals
    )
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def calibration_digest() -> str:
    """Digest of the calibration that predictions use now; "" for none."""
    return digest_of(own_residuals())


def is_own_calibration(source: Mapping[str, str]) -> bool:
    """Whether a source of a decision is one's own calibration: shipped measurements may lack an address as well."""
    return (
        source.get("grade") == MEASURED and not source.get("url") and CALIBRATED_BY in source.get("what", "")
    )


def own_source() -> tuple[dict[str, str], ...]:
    """The calibration in force as a source that a decision states; none without one."""
    residuals = own_residuals()
    if not residuals:
        return ()
    told = tr("timing.own_calibration", digest=digest_of(residuals), count=len(residuals))
    path = own_path()
    seen = read_own(str(path), path.stat().st_mtime_ns, recorded_by())[2] if _tried.get() is None else ""
    return ({"what": told, "url": "", "seen": seen, "grade": MEASURED},)


@lru_cache(maxsize=1)
def coefficients_digest() -> str:
    """Digest of the shipped coefficients: residuals of others are no residuals of these."""
    digest = hashlib.sha256()
    for name in COEFFICIENTS:
        digest.update((Path(__file__).parent / "data" / name).read_bytes())
    return digest.hexdigest()[:16]


def setup_of(d: Deployment) -> Setup:
    """What a deployment's residuals are alike by."""
    from cabida.timing.engine.coefficients import engine_key

    return Setup(engine_key(d.engine), d.accelerator.id, d.model.id)


def correction(d: Deployment, what: str) -> Correction:
    """The correction of a deployment's step (``STEP``) or time to first token (``FIRST``)."""
    residuals = own_residuals()
    return corrected_by(residuals, setup_of(d), what) if residuals else NONE


@lru_cache(maxsize=4096)
def corrected_by(residuals: tuple[Residual, ...], target: Setup, what: str) -> Correction:
    """Best linear estimate of the target's residual given those observed."""
    return corrected_from(sums_of(residuals, what), target, what)


def sums_of(residuals: Sequence[Residual], what: str) -> dict[Setup, tuple[int, float]]:
    """How many residuals each setup left, and their sum."""
    found: dict[Setup, tuple[int, float]] = {}
    for one in residuals:
        if (value := dict(one.values).get(what)) is not None:
            count, total = found.get(one.setup, (0, 0.0))
            found[one.setup] = count + 1, total + value
    return found


def corrected_from(sums: Mapping[Setup, tuple[int, float]], target: Setup, what: str) -> Correction:
    """:func:`corrected_by` of counts and sums.

    Residuals of one setup differ by their rest alone, so their mean says all that they say: its rest is that of one
    over their number (Henderson 1975, best linear unbiased prediction), and thousands of runs cost what setups do.
    """
    widths = widths_of(what)
    prior, rest = sum(widths[part] for part in PARTS), widths["rest"]
    if not sums or prior <= 0:
        return NONE
    alike = [[_alike(one, other, widths) for other in sums] for one in sums]
    for place, (count, _) in enumerate(sums.values()):
        alike[place][place] += rest / count
    towards = [_alike(target, one, widths) for one in sums]
    weights = solve(alike, towards)
    means = [total / count for count, total in sums.values()]
    mean = math.fsum(w * value for w, value in zip(weights, means, strict=True))
    left = max(0.0, prior - math.fsum(w * k for w, k in zip(weights, towards, strict=True)))
    return Correction(math.exp(mean), (left + rest) / (prior + rest), 1.0 - left / prior)


def _alike(one: Setup, other: Setup, widths: dict[str, float]) -> float:
    return math.fsum(widths[part] for part in PARTS if one.shares(other, part))


def widths_of(what: str) -> dict[str, float]:
    """Variances of the parts of a residual, from public ones."""
    table = residual_facts()["kinds"]["serving"]["metrics"][FIGURE_OF[what]]
    found: dict[str, float] = table["own"]
    return found


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solution of a symmetric positive definite system (Cholesky): small, and the same on every machine."""
    size = len(right)
    low = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            inner = math.fsum(low[i][k] * low[j][k] for k in range(j))
            low[i][j] = math.sqrt(matrix[i][i] - inner) if i == j else (matrix[i][j] - inner) / low[j][j]
    half: list[float] = []
    for i in range(size):
        half.append((right[i] - math.fsum(low[i][k] * half[k] for k in range(i))) / low[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (half[i] - math.fsum(low[k][i] * found[k] for k in range(i + 1, size))) / low[i][i]
    return found


def corrected(model: StepModel, d: Deployment) -> StepModel:
    """A step model with the user's corrections in it; the same one where there are none."""
    if not own_residuals():
        return model
    step, first = correction(d, STEP).ratio, correction(d, FIRST).ratio
    slower = {name: getattr(model, name) * step for name in STEP_SECONDS}
    return replace(model, table=tuple(one * step for one in model.table), first_token_ratio=first, **slower)


STEP_SECONDS = (
    "launch_s", "sequence_s", "head_read_s", "head_s_per_token", "context_s_per_token", "window_s_per_token",
    "state_s_per_sequence", "attended_s_per_token", "prompt_launch_s", "host_s",
)  # fmt: skip


def own_note(d: Deployment) -> dict[str, Any]:
    """What an answer says of the calibration it used: ``observations`` (of this setup, else of its engine), ``digest``.

    Empty where none speaks.
    """
    here, alike = observed_count(d) if own_residuals() else (0, 0)
    if not here and not alike:
        return {}
    return {"observations": here or alike, "same_setup": bool(here), "digest": calibration_digest()}


def observed_count(d: Deployment) -> tuple[int, int]:
    """How many of the user's observations are of this very setup, and how many share its engine."""
    mine = setup_of(d)
    held = [one.setup for one in own_residuals()]
    return sum(one == mine for one in held), sum(one.engine == mine.engine for one in held)


def narrowed(ends: tuple[float, float], d: Deployment, what: str) -> tuple[float, float]:
    """Interval factors around a corrected prediction: what was observed needs no more allowing for."""
    found = correction(d, what)
    if found is NONE:
        return ends
    low, high = math.log(ends[0]), math.log(ends[1])
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    middle, half = middle * (1.0 - found.known_ratio), half * math.sqrt(found.doubt_ratio)
    return math.exp(min(middle - half, 0.0)), math.exp(max(middle + half, 0.0))


def plain(residuals: Sequence[Residual]) -> list[dict[str, Any]]:
    """Residuals as the file holds them."""
    return [
        {
            "id": one.id, "engine": one.setup.engine, "card": one.setup.card, "model": one.setup.model,
            "residuals": dict(one.values),
        }
        for one in residuals
    ]  # fmt: skip
