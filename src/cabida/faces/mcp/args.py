"""What a tool is asked with: its arguments, their JSON Schema, and what is wrong with what somebody sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.text import LOCALES, closest, has_text, number, problem, tr

JSON_TYPES = {
    "string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "strings": "array",
    "numbers": "array", "map": "object",
}  # fmt: skip
FEW_FLAGS = 12  # that a description names; of more the command's help and the errors tell
SHORT_CHARS, LONG_CHARS, MOST_ITEMS = 400, 200_000, 200


@dataclass(frozen=True, slots=True)
class Arg:
    """One argument.

    Attributes:
        name: as it is sent.
        kind: one of ``JSON_TYPES``; of ``map`` the values are numbers, or anything plain where ``flags`` are named.
        needed: whether there is no answer without it.
        low: least of a number.
        high: most of a number.
        among: the choices, where there are some.
        most: characters of a text, items of a list.
        said: name of its description in the texts, where it isn't its own.
        flags: of a map, the names it may have, each with the kind it takes.
        keys: texts that describe it, the first that is there; ``mcp.arg.NAME`` by itself.
    """

    name: str
    kind: str = "string"
    needed: bool = False
    low: float | None = None
    high: float | None = None
    among: tuple[str, ...] = ()
    most: int = 0
    said: str = ""
    flags: Mapping[str, str] | None = None
    keys: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, described in the language in use."""
        found: dict[str, Any] = {"type": JSON_TYPES[self.kind]}
        if self.kind in ("strings", "numbers"):
            found["items"] = {"type": self.kind.removesuffix("s")}
        if self.among:
            found["enum"] = list(self.among)
        found |= {
            name: value
            for name, value in (("minimum", self.low), ("maximum", self.high))
            if value is not None
        }
        told = self.described()
        return found | ({"description": told} if told else {})

    def described(self) -> str:
        """What it is, in the language in use; "" = its name says it."""
        own = f"mcp.arg.{self.said or self.name}"
        text = next((tr(key) for key in (own, *self.keys) if has_text(key)), "")
        if self.flags is not None and text and len(self.flags) <= FEW_FLAGS:
            text += ": " + ", ".join(self.flags)
        return text

    def fault(self, value: Any) -> str:
        """What is wrong with a value, in the language in use; "" = nothing."""
        kind = self.kind
        if kind in ("strings", "numbers"):
            if not isinstance(value, list):
                return tr("mcp.no_list")
            if len(value) > (self.most or MOST_ITEMS):
                return tr("mcp.too_many", most=self.most or MOST_ITEMS)
            each = Arg(
                self.name,
                kind.removesuffix("s"),
                low=self.low,
                high=self.high,
                among=self.among,
                most=LONG_CHARS,
            )
            return next((why for one in value if (why := each.fault(one))), "")
        if kind == "map":
            return self._fault_of_map(value)
        if kind == "boolean":
            return "" if isinstance(value, bool) else tr("mcp.no_flag")
        if kind == "string":
            return self._fault_of_text(value)
        return self._fault_of_number(value)

    def _fault_of_text(self, value: Any) -> str:
        if not isinstance(value, str):
            return tr("mcp.no_text")
        most = self.most or SHORT_CHARS
        if len(value) > most:
            return tr("mcp.too_long", most=number(most, 6))
        if self.among and value not in self.among:
            return tr("mcp.no_choice", choices=", ".join(self.among))
        return ""

    def _fault_of_number(self, value: Any) -> str:
        whole = self.kind == "integer"
        sound = isinstance(value, int) if whole else isinstance(value, int | float)
        if not sound or isinstance(value, bool) or not math.isfinite(value):
            return tr("mcp.no_whole") if whole else tr("mcp.no_number")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            low, high = (number(one) if one is not None else "…" for one in (self.low, self.high))
            return tr("mcp.beyond", low=low, high=high)
        return ""

    def _fault_of_map(self, value: Any) -> str:
        if not isinstance(value, dict):
            return tr("mcp.no_map")
        if len(value) > MOST_ITEMS:
            return tr("mcp.too_many", most=MOST_ITEMS)
        for name, one in value.items():
            kind = "number" if self.flags is None else self.flags.get(name)
            if kind is None:
                return tr("mcp.no_flag_of", name=name[:60], near=closest(name, self.flags or ()) or "–")
            if why := Arg(name, kind, low=self.low, high=self.high).fault(one):
                return f"{name[:60]}: {why}"
        return ""


LANG = Arg("lang", among=LOCALES)
DETAIL = Arg("detail", among=("brief", "all"))
AT = Arg("at", most=200)
ALWAYS = (LANG, DETAIL, AT)
AS_OF = Arg("as_of")
CURRENCY = Arg("currency")
SEED = Arg("seed", "integer", low=0, high=2**31 - 1)


def schema_of(args: Sequence[Arg]) -> dict[str, Any]:
    """The JSON Schema of what a tool takes."""
    needed = [one.name for one in args if one.needed]
    made: dict[str, Any] = {
        "type": "object",
        "properties": {one.name: one.schema() for one in (*args, *ALWAYS)},
        "additionalProperties": False,
    }
    return made | ({"required": needed} if needed else {})


def taken(tool: str, args: Sequence[Arg], sent: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent, where nothing is wrong with it; what was sent as ``null`` was not sent.

    Raises:
        InvalidInput: CB-O002 to CB-O004, everything that is wrong with it at once.
    """
    said = {name: value for name, value in sent.items() if value is not None}
    if faults := list(_faults(tool, (*args, *ALWAYS), said)):
        raise InvalidInput(faults)
    return said


def _faults(tool: str, args: Sequence[Arg], said: Mapping[str, Any]) -> Iterator[Problem]:
    known = {one.name: one for one in args}
    for name in said.keys() - known.keys():
        near = closest(name, known) or ", ".join(known)
        yield problem("CB-O002", tool=tool, name=name[:60], near=near)
    for one in args:
        if one.needed and one.name not in said:
            yield problem("CB-O003", tool=tool, name=one.name)
        elif one.name in said and (why := one.fault(said[one.name])):
            yield problem("CB-O004", tool=tool, name=one.name, why=why)
