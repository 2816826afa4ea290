"""The form of a brief, made from the table of what a brief may say: a new field needs no new page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.form import UNKNOWN, choices, empty, fields_of, role
from cabida.brief.schema import description
from cabida.brief.shapes import Group, OneOf, Table
from cabida.text import has_text, tr

UNITS: dict[str, tuple[str, ...]] = {  # of a kind of value: what may stand behind a number
    "duration": ("ms", "s", "min", "h", "days"),
    "months": ("months", "years", "weeks", "days"),
    "bytes": ("MB", "GB", "TB", "GiB", "TiB"),
    "power": ("W", "kW", "MW"),
    "share": ("", "%"),
    "growth": ("%/year",),
    "rate": ("", "/min", "/h", "/day"),
    "carbon": ("g/kWh",),
    "token_rate": ("tokens/s",),
}
PERIODS = {"month": "", "hour": "/h", "year": "/year", "kwh": "/kWh", "output": ""}
CURRENCIES = ("EUR", "USD", "MXN", "GBP")
LISTS = {"model": "models", "accelerator": "accelerators", "provider": "providers", "format": "formats",
         "engine": "engines", "place": "places", "profile": "profiles"}  # fmt: skip
CHOICES_SAID = re.compile(r"(?<=\?) \([^()]*\)$")  # words to type, where a list of them is shown
DATE = re.compile(r"\d{4}-\d\d-\d\d")
NUMBER = re.compile(r"[-+]?[\d.,]+(?:[eE][-+]?\d+)?")
SPLIT = re.compile(rf"({NUMBER.pattern}) ?(\S.*)?")
USUAL = ("p50", "p95")  # of lengths: enough to know them by
LONG = ("notes", "claims", "why")  # fields that take several lines
NEEDED = ("name", "workload")  # whoever asks knows these
FEW_PARTS = 8  # of a row that is shown whole
FRONT_PARTS = 3  # of a longer one
BLANK_ROWS = 1  # to fill in, at the end of each list


@dataclass(slots=True)
class View:
    """One place of the form.

    Attributes:
        path: as problems and the text name it.
        role: leaf, group, table, list or words (several of a few).
        label: what it is, or the question.
        hint: what a value looks like.
        value: of a leaf, as in the text; ``number`` and ``unit`` where it is one.
        options: words it may be: (word, what people call it).
        unknown: whether it says that nobody knows; ``may_be_unknown`` whether it asks.
        parts: what is inside a group, or the rows of a table or list.
        key: of a table's row.
        problems: told beside it.
        note: about what it says now.
        blank: of a row, whether it waits to be filled in; ``first`` one asked for openly, ``later`` one after others.
        whole: kind of value that may stand for the whole group, and be unknown.
    """

    path: str
    role: str
    label: str
    hint: str = ""
    help: str = ""
    value: str = ""
    number: str = ""
    unit: str = ""
    units: list[str] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    unknown: bool = False
    may_be_unknown: bool = False
    parts: list[View] = field(default_factory=list)
    key: str = ""
    key_list: str = ""
    problems: list[str] = field(default_factory=list)
    note: str = ""
    suggest: str = ""
    long: bool = False
    blank: bool = False
    first: bool = False
    later: bool = False
    whole: str = ""
    kind: str = ""
    most_front: int = 0

    @property
    def id(self) -> str:
        """Of the element, and of links to it."""
        return id_of(self.path)

    @property
    def is_date(self) -> bool:
        """Whether a browser may offer a calendar: one that is no date would be thrown away by it."""
        return self.kind == "date" and (not self.value or DATE.fullmatch(self.value) is not None)

    @property
    def says(self) -> bool:
        """Whether anything is said in it."""
        return bool(self.value or self.chosen or self.unknown) or any(one.says for one in self.parts)

    @property
    def front(self) -> list[View]:
        """What is shown of a row; the rest, where there is much, is a step away."""
        few = len(self.parts) <= FEW_PARTS and not self.most_front
        most = self.most_front or FRONT_PARTS
        return [
            one
            for place, one in enumerate(self.parts)
            if few or place < most or one.says or any(part.problems for part in one.every())
        ]

    @property
    def behind(self) -> list[View]:
        """What is a step away."""
        shown = {one.path for one in self.front}
        return [one for one in self.parts if one.path not in shown]

    def every(self) -> Iterable[View]:
        """It and all inside it."""
        yield self
        for one in self.parts:
            yield from one.every()


def id_of(path: str) -> str:
    """A path as the id of an element."""
    return "f-" + re.sub(r"[^\w]+", "-", path).strip("-")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a view needs beside the tree: questions by path, problems by path, the currency, notes on values."""

    questions: Mapping[str, Any]
    problems: Mapping[str, list[str]]
    currency: str = ""
    note: Callable[[str, str], str] = lambda kind, value: ""


def view(path: str, shape: OneOf, tree: Any, asked: Asked, group: str = "brief") -> View:
    """One place with all that is inside it.

    Args:
        path: of the place.
        shape: what may stand there.
        tree: what does, ``None`` = nothing.
        asked: what is asked, and what is wrong.
        group: name of the group it is a field of.
    """
    what = role(shape)
    key = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
    question = asked.questions.get(path)
    told = description(group, key) if _described(group, key) else ""
    short = f"pages_brief.short.{group}.{key}"
    own = f"pages_brief.question.{path}"
    label = tr(own) if has_text(own) else question.text if question else ""
    label = label or (tr(short) if has_text(short) else told.rstrip("."))
    one = View(path, what, label or key, problems=list(asked.problems.get(path, ())))
    one.help = told if label and told.rstrip(".") != label else ""
    tree = empty(shape) if tree is None else tree
    if what == "leaf":
        _fill(one, shape, str(tree), asked, question.example if question else "")
    elif what == "list":
        _listed(one, shape, tree, asked, group)
    elif isinstance(shape.mapping, Table):
        _tabled(one, shape, tree, asked)
    else:
        _grouped(one, shape, tree, asked)
    if question:
        one.may_be_unknown = path not in NEEDED and (what == "leaf" or bool(shape.shorthand))
        one.label = CHOICES_SAID.sub("", one.label) if one.options else one.label
        if path == "workload":
            one.hint, one.help = "", ""
        one.hint = one.hint or f"{tr('brief.template.example')} {_plainly(question.example)}"
    return one


def _described(group: str, key: str) -> bool:
    return has_text(f"brief.field.{group}.{key}") or has_text(f"brief.field.{group}.{key.partition('_')[0]}")


def _plainly(example: str) -> str:
    return example.strip("{}[]")


def _fill(one: View, shape: OneOf, value: str, asked: Asked, example: str) -> None:
    kind = shape.scalar
    one.kind = kind.name if kind else "free"
    one.unknown = value.lower() == UNKNOWN
    one.value = "" if one.unknown else value
    words = choices(kind)
    if one.kind == "flag":
        words = ("true", "false")
    if words and len(words) <= 20:
        one.options = [(word, word_of(word)) for word in words]
        return
    one.suggest = LISTS.get(one.kind, "currencies" if one.kind == "currency" else "")
    one.long = shape.free or re.sub(r"\[\d+\]$", "", one.path).rpartition(".")[2] in LONG
    one.hint = tr(f"brief.kind.{one.kind}") if kind else tr("pages_brief.free")
    one.units = units_of(one.kind, asked.currency)
    if one.units:
        one.number, one.unit = split(one.value, one.units)
        if not one.value:
            one.unit = _unit_in(example, one.units)
            one.hint = ""
    if example:
        one.hint = f"{tr('brief.template.example')} {split(example, one.units)[0] if one.units else example}"
    if one.value:
        one.note = asked.note(one.kind, one.value)


def _unit_in(example: str, units: list[str]) -> str:
    unit = split(example, units)[1]
    return unit or units[0]


def units_of(kind: str, currency: str) -> list[str]:
    """What may stand behind a number of this kind; none = it has no units to choose from."""
    if kind.startswith("money"):
        period = PERIODS.get(kind.removeprefix("money_per_"), "")
        codes = dict.fromkeys((*((currency,) if currency else ()), *CURRENCIES))
        return [f"{code}{period}" for code in codes]
    return list(UNITS.get(kind, ()))


def split(value: str, units: list[str]) -> tuple[str, str]:
    """A number and its unit, where the value is just these; else all of it and no unit."""
    found = SPLIT.fullmatch(value)
    if found is None:
        return value, ""
    number, unit = found[1], found[2] or ""
    return (number, unit) if unit in units and joined(number, unit) == value else (value, "")


def joined(number: str, unit: str) -> str:
    """A number with its unit as the text has it; what is no plain number keeps the unit that was typed with it."""
    plain = number.strip()
    return f"{plain} {unit}".strip() if NUMBER.fullmatch(plain) else plain


def word_of(word: str) -> str:
    """What people call a word of the brief."""
    for key in (f"pages_brief.word.{word}", f"brief.workload.{word}", f"choose.capacity.{word}"):
        if has_text(key):
            return tr(key)
    return word


def _listed(one: View, shape: OneOf, tree: Any, asked: Asked, group: str) -> None:
    item = shape.sequence.item if shape.sequence else shape
    words = choices(item.scalar)
    if words and len(words) <= 20:
        one.role, one.chosen = "words", [str(word) for word in tree]
        one.options = [(word, word_of(word)) for word in words]
        return
    rows = list(tree) if isinstance(tree, list) else []
    for place in range(len(rows) + BLANK_ROWS):
        path = f"{one.path}[{place}]"
        row = view(path, item, rows[place] if place < len(rows) else None, asked, group)
        row.label = tr("pages_brief.row", number=place + 1)
        row.help, row.blank, row.later = "", place >= len(rows), place > 0
        row.first = place == 0 and one.path in asked.questions and len(row.parts) <= FEW_PARTS
        one.parts.append(row)


def _tabled(one: View, shape: OneOf, tree: Any, asked: Asked) -> None:
    table = shape.mapping
    if not isinstance(table, Table):
        return
    rows = [*tree.items(), *[("", None)] * BLANK_ROWS]
    for place, (key, value) in enumerate(rows):
        row = view(f"{one.path}[{place}]", table.item, value, asked, "table")
        named = f"{one.path}.{key}"
        row.problems += [
            text for path, texts in asked.problems.items() if _under(path, named, row) for text in texts
        ]
        row.key, row.blank, row.role = key, not key, "row" if row.role == "leaf" else row.role
        row.label = tr("pages_brief.row", number=place + 1)
        row.may_be_unknown = bool(table.item.shorthand)
        one.parts.append(row)
    one.key_list = LISTS.get(table.keys.name, "currencies" if table.keys.name == "currency" else "")
    words = choices(table.keys)
    one.options = [(word, word_of(word)) for word in words] if words and len(words) <= 20 else []
    one.hint = tr(f"brief.kind.{table.keys.name}")


def _under(path: str, named: str, row: View) -> bool:
    return bool(named[-1] != ".") and (path == named or path.startswith(f"{named}."))


def _grouped(one: View, shape: OneOf, tree: Any, asked: Asked) -> None:
    group = shape.mapping
    name = group.name if isinstance(group, Group) else ""
    fields = fields_of(shape)
    if name == "lengths":  # the two that are enough come first, then the others
        order, one.most_front = (
            sorted(fields, key=lambda key: (key not in USUAL, key == shape.shorthand)),
            len(USUAL),
        )
    else:
        order = list(fields)
    for key in order:
        inner = fields[key]
        one.parts.append(view(f"{one.path}.{key}", inner, tree.get(key), asked, name))
    short = tree.get(shape.shorthand)
    if shape.shorthand:
        one.whole = shape.shorthand
        one.unknown = isinstance(short, str) and short.lower() == UNKNOWN
    for part in one.parts:
        if one.unknown and part.path == f"{one.path}.{shape.shorthand}":
            part.unknown = False  # told once, of the group


def everything() -> dict[str, OneOf]:
    """The fields of a brief at the top."""
    return fields_of(WHOLE_BRIEF)
