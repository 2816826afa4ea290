"""A plan as plain data and back, for the process that runs it."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from cabida.plan.bench import BenchPlan


def plain_of(plan: BenchPlan) -> dict[str, Any]:
    """The plan as JSON can hold it."""
    return asdict(plan)


def plan_of(plain: dict[str, Any]) -> BenchPlan:
    """The plan that :func:`plain_of` wrote.

    Raises:
        TypeError, KeyError, ValueError: it is another's.
    """
    return cast("BenchPlan", made(BenchPlan, plain))


@cache
def _hints(noun: Any) -> dict[str, Any]:
    return get_type_hints(noun)


def made(kind: Any, value: Any) -> Any:
    """``value`` as an instance of ``kind``: dataclasses from tables, tuples from lists.

    Raises:
        TypeError, KeyError, ValueError: it can't be one.
    """
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        inner = [one for one in get_args(kind) if one is not NoneType]
        return None if value is None else made(inner[0], value)
    if is_dataclass(kind):
        hints = _hints(cast("Any", kind))
        known = {one.name for one in fields(kind)}
        if unknown := set(value) - known:
            raise KeyError(sorted(unknown)[0])
        return cast("Any", kind)(**{name: made(hints[name], part) for name, part in value.items()})
    if origin is tuple:
        parts = get_args(kind)
        if len(parts) == 2 and parts[1] is Ellipsis:
            return tuple(made(parts[0], one) for one in value)
        return tuple(made(part, one) for part, one in zip(parts, value, strict=True))
    if origin is dict:
        return {str(name): made(get_args(kind)[1], part) for name, part in value.items()}
    return float(value) if kind is float else value
