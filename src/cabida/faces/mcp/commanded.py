"""Tools made of commands: what a command takes and answers with ``--json``, an assistant asks and is answered alike.

The flags that matter are arguments of their own, with the command's help; all others go into ``more``, by name. What a
value may be is what the command says: it reads them as if they were typed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from cabida.faces.mcp.args import LONG_CHARS, Arg
from cabida.faces.mcp.given import named
from cabida.faces.mcp.tool import Asked, Told, Tool
from cabida.faces.web.api.asked import Place, command_of, places

Files = Callable[[Asked], Mapping[str, tuple[str, bytes]]]
Shape = Callable[[Any], dict[str, Any]]
Say = Callable[[Any], str]
OFTEN = frozenset(("reserved", "assume"))  # NAME=VALUE, repeated


def tool_of(
    name: str,
    words: str,
    first: str,
    say: Say,
    *,
    brief: Shape | None = None,
    whole: Shape | None = None,
    gives: str = "",
    needs: str = "",
    left_out: str = "",
    beside: Sequence[Arg] = (),
    files: Files | None = None,
    called: Mapping[str, str] | None = None,
    covers: str = "",
    **of_tool: Any,
) -> Tool:
    """A tool that runs a command.

    Args:
        name: of the tool.
        words: the command: ``prices list``.
        first: its fields that are arguments of their own.
        say: the answer in a sentence, of the command's data.
        brief: what of the data is shown first.
        whole: the data as an object, where the command gives a list.
        gives: what an answer has: ``rows:array``.
        needs: fields without which there is no answer, beside those that the command demands.
        left_out: the command's own names of what is not asked.
        beside: further arguments, which ``files`` makes something of.
        files: files that the command reads, by flag; "" = its argument.
        called: field of the command -> name of the argument.
        covers: use cases behind it.
        of_tool: see :class:`Tool`.
    """
    titles = dict(called or {})
    out = tuple(left_out.split())
    fields = {titles.get(one.field, one.field): one for one in places(words, out)}
    params = {one.name or "": one for one in command_of(words).params}
    needed = needs.split()
    args = [_arg(field, words, fields[field], params, needed=field in needed) for field in first.split()]
    others = {
        field: _arg(field, words, place, params).kind for field, place in fields.items()
        if field not in (*first.split(), "as_of") and not isinstance(params[place.name].type, click.Path)
    }  # fmt: skip
    args += beside
    if others:
        args.append(Arg("more", "map", flags=others, keys=("mcp.more",)))
    if any(one.name == "as_of" for one in command_of(words).params):
        args.append(Arg("as_of"))

    def does(asked: Asked) -> Told:
        from cabida.faces.web.api.running import answered

        said = {one: value for one, value in asked.said.items() if one in fields} | asked.get("more", {})
        typed = [_typed(asked, fields[field], value) for field, value in said.items()]
        flags = [one for each in typed for one in each if each and fields]
        arguments = [
            one for field, value in said.items() if not fields[field].flag for one in _plain(asked, value)
        ]
        found = answered(words, flags, arguments, files=files(asked) if files else None).data
        data = whole(found) if whole else found
        return Told(data, say(data), brief(data) if brief else None)

    kinds = dict(pair.split(":") for pair in gives.split())
    return Tool(name, does, tuple(args), kinds, tuple(covers.split()) or (name,), **of_tool)


def _arg(
    field: str,
    words: str,
    place: Place,
    params: Mapping[str, click.Parameter],
    *,
    needed: bool = False,
) -> Arg:
    param = params[place.name]
    kind = param.type
    many = param.nargs == -1 or getattr(param, "multiple", False)
    command = words.split()[-1]
    keys = (f"faces.option.{command}.{place.name}", f"faces.option.{place.name}")
    needed = needed or (isinstance(param, click.Argument) and param.required)
    if place.is_switch:
        return Arg(field, "boolean", needed, keys=keys)
    if place.is_pairs:
        return Arg(field, "map", needed, keys=keys)
    if isinstance(kind, click.FloatRange | click.IntRange | click.types.IntParamType):
        whole = isinstance(kind, click.types.IntParamType)
        return Arg(field, "integer" if whole else "number", needed, keys=keys)
    among = tuple(kind.choices) if isinstance(kind, click.Choice) else ()
    most = LONG_CHARS if isinstance(kind, click.Path) else 0
    return Arg(
        field, "strings" if many else "string", needed, among=among, most=0 if many else most, keys=keys
    )


def _typed(asked: Asked, place: Place, value: Any) -> list[str]:
    if not place.flag:
        return []
    if place.is_switch:
        return [place.flag] if value else []
    return [f"{place.flag}={one}" for one in _plain(asked, value)]


def _plain(asked: Asked, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{name}={_plain(asked, one)[0]}" for name, one in value.items()]
    if isinstance(value, list):
        return [one for each in value for one in _plain(asked, each)]
    if isinstance(value, str):
        return [named(asked, value)]
    return [repr(value) if isinstance(value, float) else str(value)]


def rows(found: Any) -> dict[str, Any]:
    """A list as an object."""
    return {"rows": found, "rows_count": len(found)}


def picked(name: str, columns: str, *beside: str) -> Shape:
    """Shows these columns of the rows under ``name``, and these fields beside them."""
    wanted = columns.split()

    def shown(data: Any) -> dict[str, Any]:
        told = [{one: row[one] for one in wanted if row.get(one) is not None} for row in data[name]]
        return {field: data[field] for field in beside if field in data} | {name: told}

    return shown


def without(*names: str) -> Shape:
    """Shows everything but these fields."""
    return lambda data: {name: value for name, value in data.items() if name not in names}
