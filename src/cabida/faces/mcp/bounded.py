"""An answer made to fit: what is shown, what is left out, and how to have the rest.

A model reads an answer into a context that it shares with everything else. So an answer is at most ``BRIEF_TOKENS``
long unless all of it is asked for, and then at most ``ALL_TOKENS``: lists are shown to their first items, texts to
their first lines, numbers to four digits, and ``left_out`` says of each how much there is.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from cabida.errors import InvalidInput
from cabida.text import problem

BRIEF_TOKENS, ALL_TOKENS = 2_000, 20_000
DIGITS = 4  # of a number in a brief answer
STEPS = (  # items of a list, characters of a text, levels
    (60, 6000, 9), (60, 5000, 9), (50, 4500, 9), (40, 4000, 9), (40, 3500, 9), (30, 3000, 9), (30, 2500, 9),
    (25, 2000, 9), (20, 1500, 9), (18, 1200, 8), (15, 900, 8), (12, 600, 8), (10, 450, 7), (8, 350, 7), (7, 300, 7),
    (6, 260, 6), (5, 220, 6), (4, 180, 5), (3, 160, 5), (3, 120, 4), (2, 100, 4), (1, 80, 3), (1, 60, 2),
)  # fmt: skip
ESTIMATE = {"value", "low", "high", "basis"}
MOST_TOLD = 6  # places that are told of where something is left out
_PIECES = re.compile(r"[A-Za-zÀ-ÿ]+|\d|[^\sA-Za-zÀ-ÿ\d]+|\s+")
_STEP = re.compile(r"\.?([\w-]+)|\[(-?\d{1,9})\]|\[(\d{0,9}):(\d{0,9})\]")
LETTERS_PER_TOKEN, SIGNS_PER_TOKEN = 3.2, 1.5


def tokens(text: str) -> int:
    """How many tokens a text is, by rule: each digit one, a word or a run of signs one for each few characters begun.

    Over an answer it counts no fewer than a tokenizer that takes digits one by one: tested with SmolLM2's.
    """
    count = 0
    for piece in _PIECES.findall(text):
        if piece[0].isspace():
            count += piece.count("\n") + (len(piece) > 1)
        elif piece[0].isalpha():
            count += math.ceil(len(piece) / LETTERS_PER_TOKEN)
        elif piece[0].isdigit():
            count += 1
        else:
            count += math.ceil(len(piece) / SIGNS_PER_TOKEN) if piece.isascii() else 2 * len(piece)
    return count


def compact(data: Any) -> str:
    """Plain data as JSON without a needless space."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def part_at(data: Any, at: str) -> Any:
    """The part of plain data that a path leads to: ``options[0].metrics``, ``rows[20:40]``, ``text[0:50]`` (lines).

    Raises:
        InvalidInput: CB-O009, it leads nowhere.
    """
    here, place = data, 0
    while place < len(at):
        step = _STEP.match(at, place)
        try:
            here = _stepped(here, step)
        except (KeyError, IndexError, TypeError):
            there = ", ".join(map(str, here))[:300] if isinstance(here, dict) else _shape(here)
            raise InvalidInput(
                [problem("CB-O009", at=at[:200], done=at[:place] or "–", there=there)]
            ) from None
        place = step.end() if step else len(at)
    return here


def _stepped(here: Any, step: re.Match[str] | None) -> Any:
    if step is None:
        raise KeyError
    name, index, first, last = step.groups()
    if name is not None:
        if not isinstance(here, dict):
            raise KeyError(name)
        return here[name]
    if isinstance(here, str):
        here = here.splitlines()
        return "\n".join(here[_cut(first, last)]) if index is None else here[int(index)]
    if not isinstance(here, list):
        raise TypeError
    return here[_cut(first, last)] if index is None else here[int(index)]


def _cut(first: str | None, last: str | None) -> slice:
    return slice(int(first) if first else 0, int(last) if last else None)


def _shape(here: Any) -> str:
    if isinstance(here, list):
        return f"[0:{len(here)}]"
    return f"[0:{len(here.splitlines())}]" if isinstance(here, str) else type(here).__name__


def bounded(data: dict[str, Any], budget: int, *, rounded: bool = True) -> dict[str, Any]:
    """``data`` within a budget of tokens; what is left out stands under ``left_out`` as place -> [shown, of]."""
    whole = _lean(data) if rounded else data
    for items, chars, levels in STEPS:
        left: dict[str, list[int]] = {}
        made = _shown(whole, items, chars, levels, "", left)
        told: dict[str, Any] = made | ({"left_out": _first(left)} if left else {})
        if tokens(compact(told)) <= budget:
            return told
    kept = {name: value for name, value in made.items() if not isinstance(value, dict | list)}
    while tokens(compact(kept)) > budget and kept:
        kept.popitem()
    return kept | {"left_out": {name: [0, 1] for name in list(made)[:MOST_TOLD] if name not in kept}}


def _first(left: dict[str, list[int]]) -> dict[str, list[int]]:
    nearest = sorted(left, key=lambda place: (place.count(".") + place.count("["), -left[place][1]))
    return {place: left[place] for place in nearest[:MOST_TOLD]}


def _lean(value: Any) -> Any:
    """Without what is unknown or empty, numbers to a few digits, a figure with its interval as [value, low, high]."""
    if isinstance(value, dict):
        if value.keys() == ESTIMATE:
            return [_lean(value[name]) for name in ("value", "low", "high")]
        made = {name: _lean(one) for name, one in value.items()}
        return {name: one for name, one in made.items() if one is not None and one not in ("", [], {})}
    if isinstance(value, list):
        return [_lean(one) for one in value]
    if isinstance(value, float):
        short = float(f"{value:.{DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value


def _cut_short(text: str, chars: int) -> str:
    """The beginning of a text, to the end of a line where it has some."""
    lines, _, _ = text[:chars].rpartition("\n")
    return (lines if len(lines) > chars // 2 else text[:chars]) + "…"


def _shown(value: Any, items: int, chars: int, levels: int, at: str, left: dict[str, list[int]]) -> Any:
    if isinstance(value, str):
        if len(value) <= chars:
            return value
        left[at] = [chars, len(value)]
        return _cut_short(value, chars)
    if not isinstance(value, dict | list) or not value:
        return value
    if levels == 0:
        left[at] = [0, len(value)]
        return "…"
    if isinstance(value, list):
        if len(value) > items:
            left[at] = [items, len(value)]
        return [
            _shown(one, items, chars, levels - 1, f"{at}[{index}]", left)
            for index, one in enumerate(value[:items])
        ]
    most = max(items * 4, 12) if at else len(value)
    if len(value) > most:
        left[at] = [most, len(value)]
    return {
        name: _shown(one, items, chars, levels - 1, f"{at}.{name}" if at else name, left)
        for name, one in list(value.items())[:most]
    }
