"""What a person gives of a row: ``NAME=VALUE`` on the command line, a YAML file, the source and the day it was seen."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import yaml

from cabida.errors import InvalidInput, Problem
from cabida.facts import load
from cabida.text import problem, tr

SOURCE_KEYS = ("what", "url", "seen", "grade")
LEAST_CHARS = 3  # of the name of a document


@dataclass(frozen=True, slots=True)
class Given:
    """A row as given, and where. ``lines`` are those of ``file`` ("" = all was typed), ``at`` the row's place in it."""

    row: dict[str, Any]
    file: str = ""
    lines: load.Lines = field(default_factory=dict)
    at: tuple[str | int, ...] = ()
    typed: frozenset[str] = frozenset()  # fields of the command line, which stand in no file
    wrong: tuple[Problem, ...] = ()

    def validated(self, noun: type, row: Mapping[str, Any]) -> tuple[Any, list[Problem]]:
        """The record that a row is, and what is wrong with it field by field.

        A row with faults gives the record without them where it can do without, so that the rest can be looked at.
        """
        lines = {**self.lines, **{(*self.at, name): 0 for name in self.typed}}
        one, wrong = load.validated(noun, row, self.file, lines, self.at)
        if one is None:
            sound = {
                name: value
                for name, value in row.items()
                if len(load.validated(noun, _without(row, name), "", {}, ())[1]) >= len(wrong)
            }
            one = load.validated(noun, sound, "", {}, ())[0]
        return one, [replace(told, file="") if told.line == 0 else told for told in wrong]

    def problem(self, code: str, *place: str, **values: Any) -> Problem:
        """A problem of the field at ``place``, with its line where a file gave it."""
        told = problem(code, record=str(self.row.get("id", "?")), **values)
        return self.placed(told, *place)

    def placed(self, told: Problem, *place: str) -> Problem:
        """A problem with the file and line of a field; without either where it was typed."""
        if not self.file or (place and place[0] in self.typed) or told.file:
            return told
        keys = [(*self.at, *place[:size]) for size in range(len(place), -1, -1)]
        return replace(
            told, file=self.file, line=next((self.lines[key] for key in keys if key in self.lines), 0)
        )

    def with_source(self, raw: Mapping[str, Any], today: str) -> tuple[dict[str, Any], list[Problem]]:
        """The row with a whole source, and what the one given lacks (CB-F061, CB-F062, CB-F063).

        What lacks is filled with ``today``, so that the rest of the row can be looked at; such a row is refused.
        """
        said = raw.get("source")
        source = dict(said) if isinstance(said, Mapping) else {"what": str(said)} if said else {}
        wrong: list[Problem] = []
        what, url, seen = (str(source.get(name) or "").strip() for name in ("what", "url", "seen"))
        seen = seen or str(raw.get("seen") or "").strip()
        if len(what) < LEAST_CHARS and not url:
            wrong.append(self.problem("CB-F061", "source"))
            what = "?" * LEAST_CHARS
        if url and not url.startswith(("https://", "http://")):
            reason = tr("facts.no_web_address")
            wrong.append(
                self.problem("CB-F004", "source", "url", field="source.url", value=url[:60], reason=reason)
            )
        if not seen:
            wrong.append(self.problem("CB-F062", "source"))
        elif (day := _day(seen)) is None:
            reason = tr("facts.no_day")
            wrong.append(
                self.problem("CB-F004", "source", "seen", field="source.seen", value=seen, reason=reason)
            )
        elif day > today:
            wrong.append(
                self.problem("CB-F063", "source", "seen", field="source.seen", day=seen, today=today)
            )
        named = what if len(what) >= LEAST_CHARS else url.partition("://")[2] or url
        told = {**source, "what": named, "url": url}
        told["seen"] = seen if _day(seen) else today
        told.setdefault("grade", "quoted")
        whole = {key: told[key] for key in (*SOURCE_KEYS, *(key for key in told if key not in SOURCE_KEYS))}
        if not url:
            del whole["url"]
        return {**raw, "source": whole}, wrong


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _day(text: str) -> str | None:
    try:
        return datetime.date.fromisoformat(text).isoformat() if len(text) == len("2026-11-30") else None
    except ValueError:
        return None


def gathered(
    noun: type,
    sets: Sequence[str] = (),
    file: Path | None = None,
    source: Mapping[str, str | None] | None = None,
) -> Given:
    """The row that a file and the command line give together; what was typed goes before what stands in the file.

    Args:
        noun: the class of the row.
        sets: ``NAME=VALUE``; ``flop_per_s.bf16=989 TFLOPS`` is an entry of a table, ``[a, b]`` a list.
        file: YAML of one row: fields, or a list of one.
        source: what, url, seen, grade, as far as they were typed.

    Raises:
        InvalidInput: CB-F002, CB-F066, the file can't be read or isn't one row.
    """
    row, lines, at = _of_file(file) if file is not None else ({}, {}, ())
    wrong: list[Problem] = []
    typed: set[str] = set()
    for text in sets:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            wrong.append(problem("CB-F070", text=text[:60]))
            continue
        path = _path(name.strip())
        if path in {_path(other.partition("=")[0].strip()) for other in sets[: sets.index(text)]}:
            wrong.append(problem("CB-F071", name=name.strip()))
        typed.add(path[0])
        _put(row, path, _value(noun, path, value.strip()))
    told = {key: value for key, value in (source or {}).items() if value}
    if told:
        typed.add("source")
        before = row.get("source")
        row["source"] = {
            **(before if isinstance(before, dict) else {"what": before} if before else {}),
            **told,
        }
    return Given(row, str(file or ""), lines, at, frozenset(typed), tuple(wrong))


def _of_file(file: Path) -> tuple[dict[str, Any], load.Lines, tuple[str | int, ...]]:
    raw, lines = load.read_yaml(file)
    at: tuple[str | int, ...] = ()
    if isinstance(raw, list) and len(raw) == 1:
        raw, at = raw[0], (0,)
    if not isinstance(raw, dict):
        raise InvalidInput(problem("CB-F066", file=str(file), reason=tr("facts.not_one_row")))
    return raw, lines, at


def _path(name: str) -> tuple[str, ...]:
    """``flop_per_s.bf16`` as its parts; the key of a field's own source may have a point inside."""
    first, _, rest = name.partition(".")
    if first == "field_sources" and "." in rest:
        inner, _, last = rest.rpartition(".")
        return (first, inner, last)
    return (first, rest) if rest else (first,)


def _put(row: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        inner = row.get(key)
        row[key] = inner = dict(inner) if isinstance(inner, dict) else {}
        row = inner
    row[path[-1]] = value


def _value(noun: type, path: tuple[str, ...], text: str) -> Any:
    """A list or a table where brackets say so, or where the field is a list; else the text as it is."""
    names = {own.name for own in fields(noun)}
    kind = get_type_hints(noun)[path[0]] if len(path) == 1 and path[0] in names else None
    if text[:1] in ("[", "{") and kind is not str:
        try:
            return yaml.load(text, Loader=yaml.BaseLoader)
        except yaml.YAMLError:
            return text
    if get_origin(kind) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text
