"""Rows of a case file, such as ``cabida observations export`` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from cabida.evidence.importers.run import MOST, SCARCE, Run
from cabida.evidence.lines import Numbered
from cabida.evidence.secrets import redacted

SIGNS = ('"measured":', '"measured" :')
WORDS = ()
KINDS = ("memory", "serving", "training", "media")
MOST_ROWS, MOST_CHARACTERS = 100_000, 1 << 28  # of one file
BELOW_ZERO = ("non_torch_gib", "graph_gib", "loss", "train_loss", "eval_loss")  # differences, logarithms
MOST_DIGITS = 40  # of a whole number
DEEPEST = 8  # tables in tables


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run a row; a line that is no row is kept as unknown."""
    runs: list[Run] = []
    odd = Run("")
    held = 0
    for number, text in lines:
        row = _row(text)
        held += len(text)
        if row is None or len(runs) >= MOST_ROWS or held > MOST_CHARACTERS:
            odd.keep((number, text))
        else:
            runs.append(Run("", measured=row["measured"], more={"row": row}))
    return [*runs, odd] if odd.kept else runs


def _row(text: str) -> dict[str, Any] | None:
    try:
        row = json.loads(text, parse_constant=lambda _: None, parse_float=_finite, parse_int=_whole)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or row.get("kind") not in KINDS:
        return None
    tables = [row.get(key, {}) for key in ("measured", "args", "load", "training")]
    if not all(isinstance(one, dict) for one in tables) or not row.get("measured"):
        return None
    if not all(_can_be(name, value) for name, value in row["measured"].items()):
        return None
    made: dict[str, Any] = _without_secrets(row)
    return made


def _finite(text: str) -> float:
    value = float(text)
    if not abs(value) < math.inf:
        raise ValueError(text)
    return value


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(text[:MOST_DIGITS])
    return int(text)


def _can_be(metric: str, value: Any) -> bool:
    """Whether something could measure this. Memory may be below zero: what is left, or a difference printed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    return abs(value) < MOST and (value >= 0 or metric in SCARCE or metric in BELOW_ZERO)


def _without_secrets(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return redacted(value)
    if depth > DEEPEST:
        return None
    if isinstance(value, dict):
        return {str(key): _without_secrets(one, depth + 1) for key, one in value.items()}
    return [_without_secrets(one, depth + 1) for one in value] if isinstance(value, list) else value
