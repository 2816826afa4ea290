"""What an operation takes, made from the flags of the command that asks the same: one truth for both faces.

A field is called as its flag is (``--max-model-len`` is ``max_model_len``), has its type, bounds, choices and usual
value, and its help as description. Flags about the terminal and about files of this machine have no field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Literal

import click
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from cabida.text import has_text, speaking, tr

NEVER = frozenset(  # the terminal's, this machine's files, and what a server says of itself
    ("as_json", "lang", "out", "svg", "store", "force", "on", "key", "template", "yes", "write", "predictions",
     "keep_prompts", "help", "gpu_named", "model_named")
)  # fmt: skip
LONGEST_TEXT, LONGEST_FILE, MOST_VALUES = 2_000, 4 * 2**20, 64
MOST_WHOLE = 2**53
DAY = r"^\d{4}-\d{2}-\d{2}$"
SAID = r"\S"  # something else than blanks


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value of a request goes: a flag or an argument of the command."""

    name: str  # the command's own name of it
    field: str  # what the request calls it
    flag: str  # "--tp"; "" = an argument
    is_switch: bool = False
    is_pairs: bool = False  # NAME=VALUE


class Asked(BaseModel):
    """What every request has in common: nothing that isn't known is taken."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=False)


def command_of(words: str) -> click.Command:
    """The command ``words`` names: ``prices list``."""
    from cabida.faces.cli import COMMANDS

    first, *rest = words.split()
    found: click.Command = getattr(import_module(f"cabida.faces.{COMMANDS[first]}"), first)
    for word in rest:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, words
        found = inner
    return found


@cache
def places(words: str, left_out: tuple[str, ...] = ()) -> tuple[Place, ...]:
    """Where the fields of an operation go in its command, ``left_out`` aside."""
    found = []
    for param in command_of(words).params:
        name = param.name or ""
        if name in NEVER or name in left_out:
            continue
        flag = max(param.opts, key=len) if isinstance(param, click.Option) else ""
        field = flag.lstrip("-").replace("-", "_") or name.rstrip("_")
        switch = isinstance(param, click.Option) and param.is_flag
        found.append(Place(name, field, flag, switch, _is_pairs(param)))
    return tuple(found)


def _is_pairs(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and param.multiple and "=" in (param.metavar or "")


def form_of(
    words: str,
    name: str,
    *,
    left_out: tuple[str, ...] = (),
    as_text: bool = False,
    more: Mapping[str, Any] | None = None,
    most: Mapping[str, int] | None = None,
) -> type[BaseModel]:
    """A model of what the command takes.

    Args:
        words: the command: ``prices list``.
        name: of the model.
        left_out: parameters that come another way.
        as_text: values arrive as text (a query, a form), not as JSON.
        most: of fields that may not be as large as the command takes them.
        more: fields beside them: ``{"brief_id": (str, Field(...))}``.
    """
    params = {one.name: one for one in command_of(words).params}
    fields: dict[str, Any] = {}
    with speaking("en"):
        for place in places(words, left_out):
            param = params[place.name]
            kind = _kind(param, as_text=as_text, is_pairs=place.is_pairs)
            if place.field in (most or {}):
                kind = Annotated[kind, Field(le=(most or {})[place.field])]
            needed = param.required or (param.nargs == -1 and isinstance(param, click.Argument))
            told = Field(
                ... if needed else None,
                alias=place.field,
                description=_help(words, param),
                json_schema_extra=_usual(param, (most or {}).get(place.field)),
            )
            fields[f"{place.name}_" if place.name.startswith("model_") else place.name] = (kind, told)
    made: type[BaseModel] = create_model(name, __base__=Asked, **fields, **dict(more or {}))
    return made


def _usual(param: click.Parameter, most: int | None) -> Any:
    """Puts the flag's own default where the model has none, and a bound that is lower than the flag's."""
    usual = param.default
    shown = isinstance(usual, str | int | float | bool) and usual not in ("", None, False)

    def put(schema: dict[str, Any]) -> None:
        schema.pop("default", None)
        if most is not None:
            schema.pop("le", None)
            schema["maximum"] = most
        if shown:
            schema["default"] = usual

    return put


def _help(words: str, param: click.Parameter) -> str:
    command, name = words.split()[-1], param.name
    for key in (f"faces.option.{command}.{name}", f"faces.option.{name}"):
        if has_text(key):
            return tr(key)
    return tr(f"web.api.field.{name}") if has_text(f"web.api.field.{name}") else ""


def no_text(value: Any) -> Any:
    """A number of JSON is written as one: neither text nor true."""
    if isinstance(value, str | bool):
        message = "a number"
        raise ValueError(message)  # noqa: TRY004 - pydantic tells a ValueError as its finding
    return value


def _kind(param: click.Parameter, *, as_text: bool, is_pairs: bool) -> Any:
    one: Any = _one(param, as_text=as_text)
    if is_pairs and not as_text:
        key = Annotated[str, Field(min_length=1, max_length=200)]
        value = Annotated[float, BeforeValidator(no_text)] | Annotated[str, Field(max_length=200)]
        return Annotated[dict[key, value], Field(max_length=MOST_VALUES)]
    if param.nargs == -1 or getattr(param, "multiple", False):
        least = 1 if param.nargs == -1 else 0
        return Annotated[list[one], Field(min_length=least, max_length=MOST_VALUES)]
    return one


def _one(param: click.Parameter, *, as_text: bool) -> Any:
    kind, strict = param.type, [] if as_text else [BeforeValidator(no_text)]
    if param.name == "as_of":
        return Annotated[str, Field(pattern=DAY)]
    if isinstance(param, click.Option) and param.is_flag:
        return bool if as_text else Annotated[bool, Field(strict=True)]
    if isinstance(kind, click.Choice):
        return Literal[tuple(kind.choices)]
    if isinstance(kind, click.FloatRange):
        return Annotated[(float, _bounds(kind, 1e15), *strict)]
    if isinstance(kind, click.IntRange):
        return Annotated[(int, _bounds(kind, MOST_WHOLE), *strict)]
    if isinstance(kind, click.types.IntParamType):
        return Annotated[(int, Field(ge=-MOST_WHOLE, le=MOST_WHOLE), *strict)]
    if isinstance(kind, click.Path):  # its content
        return Annotated[str, Field(min_length=1, max_length=LONGEST_FILE)]
    return Annotated[str, Field(pattern=SAID, max_length=LONGEST_TEXT)]


def _bounds(kind: click.FloatRange | click.IntRange, most: float) -> Any:
    low = -most if kind.min is None else kind.min
    high = most if kind.max is None else kind.max
    bounds: dict[str, Any] = {"gt" if kind.min_open else "ge": low, "lt" if kind.max_open else "le": high}
    return Field(**bounds)


def words_of(asked: BaseModel, words: str, left_out: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    """The request as the command's flags and its arguments; what wasn't said is left to the command."""
    said = {
        info.alias or name: getattr(asked, name)
        for name, info in type(asked).model_fields.items()
        if name in asked.model_fields_set
    }
    flags: list[str] = []
    arguments: list[str] = []
    for place in places(words, left_out):
        value = said.get(place.field)
        if value is None:
            continue
        if not place.flag:
            arguments += [str(one) for one in value] if isinstance(value, list) else [str(value)]
        else:
            flags += _typed(place, value)
    return flags, arguments


def _typed(place: Place, value: Any) -> list[str]:
    if place.is_switch:
        return [place.flag] if value else []
    if isinstance(value, dict):
        value = [f"{name}={_text(one)}" for name, one in value.items()]
    many: Sequence[Any] = value if isinstance(value, list) else [value]
    return [f"{place.flag}={_text(one)}" for one in many]


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
