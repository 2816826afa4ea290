"""One row more in a hand-kept file, as text: what stands there already, comments and order, stays as it is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import yaml

MARKS = ("source", "field_sources")  # written after what they stand for


def yaml_row(noun: type, raw: Mapping[str, Any]) -> str:
    """A record as the files of the tables write it: a field a line in the order of its noun, what nests in braces."""
    hints = get_type_hints(noun)
    names = [own.name for own in fields(noun)]
    told = [name for name in names if name in raw and name not in MARKS]
    told += [name for name in raw if name not in names]
    lines = [f"{name}: {_flow(raw[name], is_text=_is_text(hints.get(name)))}" for name in told]
    if "source" in raw:
        lines.append(f"source: {_flow(raw['source'], is_text=True)}")
    if own_sources := raw.get("field_sources"):
        lines.append("field_sources:")
        lines += [f"  {_scalar(name)}: {_flow(one, is_text=True)}" for name, one in own_sources.items()]
    return "".join(f"{'- ' if at == 0 else '  '}{line}\n" for at, line in enumerate(lines))


def _is_text(hint: Any) -> bool:
    """Whether YAML would have to keep a value of this kind from being taken for a number or a yes."""
    kinds = get_args(hint) if get_origin(hint) in (tuple, dict) else (hint,)
    return str in kinds[-1:] or str in kinds[:1] or any(str in get_args(kind) for kind in kinds)


def _flow(value: Any, *, is_text: bool) -> str:
    if isinstance(value, Mapping):
        told = ((key, _flow(part, is_text=is_text and key != "seen")) for key, part in value.items())
        inside = ", ".join(f"{_scalar(key)}: {part}" for key, part in told)
        return f"{{{inside}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_flow(part, is_text=is_text) for part in value)}]"
    return _scalar(str(value), is_text=is_text)


def _scalar(value: str, *, is_text: bool = True) -> str:
    """As it is where YAML reads it so, inside braces too; else in double quotes."""
    read = yaml.SafeLoader if is_text else yaml.BaseLoader
    try:
        same = yaml.load(f"[{value}]", Loader=read) == [value]
    except yaml.YAMLError:
        same = False
    return value if same else json.dumps(value, ensure_ascii=not value.isprintable())


def with_yaml_row(text: str, row: str, place: int, under: str = "") -> str | None:
    """``text`` with a row more in its list; ``None`` when that list isn't written one row under another.

    Args:
        text: the file: a list, or with ``under`` lists by name.
        row: the row, as :func:`yaml_row` writes it.
        place: before which row it goes, by number; that of all rows = behind the last.
        under: the name of the list.
    """
    root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    node = root
    if under:
        if root is None:
            return f"{_ended(text)}{under}:\n{_indented(row, 2)}"
        if not isinstance(root, yaml.MappingNode) or root.flow_style:
            return None
        node = next((part for key, part in root.value if key.value == under), None)
        if node is None:
            return f"{_ended(text)}{under}:\n{_indented(row, 2)}"
    if not isinstance(node, yaml.SequenceNode) or node.flow_style or not node.value:
        return None
    rows = node.value
    lines = _ended(text).splitlines(keepends=True)
    dash = node.start_mark.column
    line = rows[place].start_mark.line if place < len(rows) else node.end_mark.line
    if place >= len(rows) and node.end_mark.column > 0:
        line = len(lines)
    while place and line > rows[place - 1].start_mark.line + 1 and _says_nothing(lines[line - 1]):
        line -= 1
    return "".join([*lines[:line], _indented(row, dash), *lines[line:]])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _indented(row: str, columns: int) -> str:
    return "".join(" " * columns + line for line in row.splitlines(keepends=True))


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def with_listed(text: str, at_row: int, key: str, value: str, place: int) -> str | None:
    """``text`` with a value more in the list ``key: [a, b]`` of one row; ``None`` when it isn't written so."""
    root = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    row = root.value[at_row] if isinstance(root, yaml.SequenceNode) else None
    held = row.value if isinstance(row, yaml.MappingNode) else []
    node = next((part for name, part in held if name.value == key), None)
    if not isinstance(node, yaml.SequenceNode) or not node.flow_style or not node.value:
        return None
    lines = text.splitlines(keepends=True)
    quoted = f'"{value}"' if getattr(node.value[-1], "style", None) == '"' else _scalar(value)
    if place < len(node.value):
        mark, written = node.value[place].start_mark, f"{quoted}, "
    else:
        mark, written = node.value[-1].end_mark, f", {quoted}"
    line = lines[mark.line]
    lines[mark.line] = line[: mark.column] + written + line[mark.column :]
    return "".join(lines)


def with_names(text: str, id: str, names: Sequence[str]) -> str:
    """``text``, lists of names by id, with one more at its end."""
    return f"{_ended(text)}{_scalar(id)}: {_flow(list(names), is_text=True)}\n"


def with_csv_row(text: str, cells: Mapping[str, str]) -> str:
    """``text`` with a row more at its end, under the columns of its first line."""
    end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    out = io.StringIO()
    csv.DictWriter(out, columns(text), restval="", lineterminator=end).writerow(cells)
    return (text if text.endswith("\n") else text + end) + out.getvalue()


def csv_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """A row as cells: what the source says in columns of their own, lists with spaces between."""
    source = row.get("source") or {}
    told = {name: value for name, value in row.items() if name != "source"}
    told |= {"seen": source.get("seen", ""), "grade": source.get("grade", "quoted")}
    told |= {"source_what": source.get("what", ""), "source_url": source.get("url", "")}
    return {
        name: " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in told.items()
        if value not in ("", (), [], {}, None) or name == "source_url"
    }


def columns(text: str) -> list[str]:
    """The names of the columns of a CSV text."""
    return next(csv.reader(io.StringIO(text, newline="")), [])


def with_json_row(text: str, row: Mapping[str, Any], ids: Sequence[str]) -> str:
    """``text``, a JSON object a line, with one more where its id belongs in the alphabet."""
    lines = [f"{line}\n" for line in _ended(text).split("\n")[:-1]]
    written = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
    place = next((at for at, id in enumerate(ids) if id.lower() > str(row["id"]).lower()), len(lines))
    return "".join([*lines[:place], written, *lines[place:]])
