"""A decision as versioned JSON, and back to the same object.

Numbers that JSON lacks (infinity, not-a-number) are written as the words ``"inf"``, ``"-inf"`` and
``"nan"`` where a number is expected.
"""

from __future__ import annotations

import json
import math
import re
import stat
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from cabida.errors import InvalidInput, Problem
from cabida.evidence.shelf.named import decision_named
from cabida.files import read_text, write_text
from cabida.plan import Decision
from cabida.plan.decision import SCHEMA
from cabida.report.belongs import misfits
from cabida.text import problem, tr

LARGEST_BYTES = 64_000_000  # of a decision; one with every option is 3 MB
LARGEST = 1.7976931348623157e308  # of a float; an integer may be longer
_ESCAPE = re.compile(  # a pair, half of one (no file of text can hold it) or another escape
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
ODD_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_dict(decision: Decision) -> dict[str, Any]:
    """The decision as plain dictionaries, lists, numbers and text, in the order of its fields."""
    plain = _plain(decision)
    return {"schema": plain.pop("schema"), **plain}


def to_json(decision: Decision) -> str:
    """The decision as indented JSON text, ending in a line break."""
    return json.dumps(to_dict(decision), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str, *, file: str = "") -> Decision:
    """Read what ``to_json`` wrote.

    Args:
        text: JSON text of schema ``cabida/decision/1``.
        file: name shown in errors.

    Raises:
        InvalidInput: not JSON (CB-R001), another schema (CB-R002) or a field that doesn't belong (CB-R003).
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput([problem("CB-R001", file=file, line=error.lineno, why=error.msg)]) from None
    except RecursionError:
        raise InvalidInput([problem("CB-R001", file=file, line=0, why="nesting")]) from None
    except ValueError as error:  # a number of more digits than are ever read
        raise InvalidInput(
            [problem("CB-R001", file=file, line=0, why=str(error).partition(";")[0])]
        ) from None
    if half := next((one for one in _ESCAPE.finditer(text) if one["half"]), None):
        line = text.count("\n", 0, half.start()) + 1
        why = tr("report.half_character", escape=half["half"])
        raise InvalidInput([problem("CB-R001", file=file, line=line, why=why)])
    found = data.get("schema") if isinstance(data, dict) else None
    if found != SCHEMA:
        raise InvalidInput([problem("CB-R002", file=file, line=0, found=str(found), expected=SCHEMA)])
    problems: list[Problem] = []
    decision = _build(Decision, data, "", file, problems)
    if problems:
        raise InvalidInput(problems)
    assert isinstance(decision, Decision)
    for misfit in misfits(decision):
        found = _shown(misfit.found)
        problems.append(
            problem("CB-R003", file=file, line=0, where=misfit.where, expected=misfit.expected, found=found)
        )
    if problems:
        raise InvalidInput(problems)
    return decision


def save(decision: Decision, path: Path | str) -> Path:
    """Write the decision's JSON to ``path``, atomically."""
    return write_text(path, to_json(decision))


def load(path: Path | str) -> Decision:
    """Read a decision from a file, or by its id from the shelf. A missing or unreadable file is CB-R004."""
    if (kept := decision_named(path)) is not None:
        return from_json(kept, file=str(path))
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise InvalidInput([problem("CB-R004", file=str(path), line=0, why=tr("report.no_file"))])
        text = read_text(path, LARGEST_BYTES)
    except (OSError, ValueError) as error:
        why = (
            "UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", "") or str(error)
        )
        raise InvalidInput([problem("CB-R004", file=str(path), line=0, why=why)]) from None
    return from_json(text, file=str(path))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def _build(kind: Any, value: Any, where: str, file: str, problems: list[Problem]) -> Any:
    """Value as ``kind``; what doesn't belong is added to ``problems``."""

    def wrong(expected: str) -> None:
        shown = _shown(value)
        problems.append(problem("CB-R003", file=file, line=0, where=where, expected=expected, found=shown))

    if kind is Any:
        return value
    if isinstance(kind, type) and is_dataclass(kind):
        return _build_dataclass(kind, value, where, file, problems)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return _build(next(one for one in inner if one is not type(None)), value, where, file, problems)
    if origin is tuple:
        if not isinstance(value, list):
            return wrong("list")
        return tuple(_build(inner[0], one, f"{where}[{at}]", file, problems) for at, one in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            return wrong("object")
        return {key: _build(inner[1], one, f"{where}.{key}", file, problems) for key, one in value.items()}
    if kind is float:
        if isinstance(value, str) and value in ODD_NUMBERS:
            return ODD_NUMBERS[value]
        sound = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
        return value if sound or value != value else wrong("number")
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else wrong("integer")
    return (
        value if isinstance(value, kind) else wrong({str: "text", bool: "true or false"}.get(kind, "value"))
    )


def _shown(value: Any) -> str:
    """What was found, as JSON; a long one as its beginning and three dots."""
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"


@cache
def _parts(kind: Any) -> tuple[dict[str, Field[Any]], dict[str, Any]]:
    """The fields of a dataclass and what each of them is."""
    return {part.name: part for part in fields(kind)}, get_type_hints(kind)


def _build_dataclass(kind: Any, value: Any, where: str, file: str, problems: list[Problem]) -> Any:
    if not isinstance(value, dict):
        problems.append(
            problem("CB-R003", file=file, line=0, where=where, expected="object", found=_shown(value))
        )
        return None
    before, (known, hints) = len(problems), _parts(kind)
    for name in value.keys() - known.keys():
        problems.append(problem("CB-R006", file=file, line=0, where=f"{where}.{name}".lstrip(".")))
    built: dict[str, Any] = {}
    for name, part in known.items():
        here = f"{where}.{name}".lstrip(".")
        if name in value:
            built[name] = _build(hints[name], value[name], here, file, problems)
        elif part.default is MISSING and part.default_factory is MISSING:
            problems.append(problem("CB-R007", file=file, line=0, where=here))
    return kind(**built) if len(problems) == before else None
