"""YAML as text with line numbers, and nothing more: no dates, no booleans, no code, no bombs.

A brief is small. What is too big, too deep or too clever is refused before it costs anything.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput, Problem
from cabida.text import problem, tr

if TYPE_CHECKING:
    from yaml.nodes import Node

LARGEST_FILE_BYTES = 1_000_000
LARGEST_DEPTH_COUNT = 12
LARGEST_NODES_COUNT = 20_000
LARGEST_ALIASES_COUNT = 20
PLAIN_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "seq", "map", "merge", "value")
_INTEGER = re.compile(r"[-+]?\d{1,18}")
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Said:
    """One value of the file: text, a list, a mapping, or ``None`` when nothing stands there.

    ``raw`` is a quoted text with the spaces and line breaks at its ends.
    """

    value: str | list[Said] | dict[str, Said] | None
    line: int
    quoted: bool = False
    raw: str = ""


class _Refused(Exception):
    """Stops reading at once; carries the problem."""

    def __init__(self, found: Problem) -> None:
        self.problem = found
        super().__init__(str(found))


def read_text(path: Path, file: str) -> str:
    """The text of a brief's file.

    Raises:
        InvalidInput: absent, not a file, too big (seen from its size, without reading it), not UTF-8.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InvalidInput(problem("CB-B001", file=file, why_not=tr("brief.shape.no_file")))
        if status.st_size > LARGEST_FILE_BYTES:
            raise InvalidInput(_too_big(file, status.st_size))
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        why_not = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(problem("CB-B001", file=file, why_not=why_not)) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidInput(problem("CB-B007", file=file, line=line)) from None


def _too_big(file: str, size_bytes: int) -> Problem:
    return problem(
        "CB-B005", file=file, size_mb=f"{size_bytes / 1e6:,.1f}", limit_mb=f"{LARGEST_FILE_BYTES / 1e6:g}"
    )


def read_lines(text: str, file: str = "") -> tuple[Said, list[Problem]]:
    """The tree under a text, and every duplicate key and odd key in it.

    Raises:
        InvalidInput: nothing can be read: not YAML, empty, not a mapping, too big, too deep, too many aliases.
    """
    if len(text) > LARGEST_FILE_BYTES:
        raise InvalidInput(_too_big(file, len(text)))
    try:
        root = _compose(text, file)
        if root is None:
            raise InvalidInput(problem("CB-B008", file=file, found=_kind_of(None)))
        problems: list[Problem] = []
        tree = _convert(root, file, problems, ())
    except _Refused as refused:
        raise InvalidInput(refused.problem) from None
    if not isinstance(tree.value, dict):
        raise InvalidInput(problem("CB-B008", file=file, line=tree.line, found=_kind_of(tree.value)))
    return tree, problems


def _kind_of(value: object) -> str:
    name = "list" if isinstance(value, list) else "nothing" if value is None else "text"
    return tr(f"brief.shape.{name}")


def _compose(text: str, file: str) -> Node | None:
    import yaml

    class Loader(yaml.SafeLoader):
        """Counts depth, nodes and aliases while the tree is composed."""

        depth = nodes = aliases = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            self.nodes += 1
            self.aliases += self.check_event(yaml.AliasEvent)
            self.depth += 1
            if self.nodes > LARGEST_NODES_COUNT:
                raise _Refused(problem("CB-B009", file=file, line=line, limit=LARGEST_NODES_COUNT))
            if self.aliases > LARGEST_ALIASES_COUNT:
                raise _Refused(problem("CB-B004", file=file, line=line, limit=LARGEST_ALIASES_COUNT))
            if self.depth > LARGEST_DEPTH_COUNT:
                raise _Refused(problem("CB-B017", file=file, line=line, limit=LARGEST_DEPTH_COUNT))
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    try:
        return yaml.compose(text, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(filter(None, (error.context, error.problem)))
        raise _Refused(problem("CB-B006", file=file, line=mark.line + 1 if mark else 1, what=what)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _Refused(problem("CB-B007", file=file, line=line)) from None
    except (ValueError, OverflowError, RecursionError, yaml.YAMLError) as error:
        raise _Refused(problem("CB-B006", file=file, line=1, what=str(error))) from None


def _convert(node: Node, file: str, problems: list[Problem], above: tuple[int, ...]) -> Said:
    import yaml

    line = node.start_mark.line + 1
    if id(node) in above:
        raise _Refused(problem("CB-B004", file=file, line=line, limit=LARGEST_ALIASES_COUNT))
    if node.tag.removeprefix("tag:yaml.org,2002:") not in PLAIN_TAGS:
        raise _Refused(problem("CB-B006", file=file, line=line, what=tr("brief.shape.tag", tag=node.tag)))
    if isinstance(node, yaml.ScalarNode):
        quoted = node.style is not None
        empty = not quoted and node.value.strip() in ("", "~", "null", "Null", "NULL")
        return Said(None if empty else node.value.strip(), line, quoted, node.value if quoted else "")
    inside = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        return Said([_convert(item, file, problems, inside) for item in node.value], line)
    return Said(_mapping(node, file, problems, inside), line)


def _mapping(node: Any, file: str, problems: list[Problem], inside: tuple[int, ...]) -> dict[str, Said]:
    import yaml

    found: dict[str, Said] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append(problem("CB-B006", file=file, line=line, what=tr("brief.shape.no_key")))
            continue
        key = str(key_node.value)
        if key in found:
            problems.append(problem("CB-B002", file=file, line=line, key=key, first=found[key].line))
            continue
        value = _convert(value_node, file, problems, inside)
        found[key] = Said(value.value, line, value.quoted, value.raw)
    return found


def as_yaml(said: Said) -> Any:
    """What a value means in YAML 1.2: quoted is text; else true, false, nothing, whole numbers, numbers, text."""
    if isinstance(said.value, list):
        return [as_yaml(one) for one in said.value]
    if isinstance(said.value, dict):
        return {key: as_yaml(one) for key, one in said.value.items()}
    if said.quoted or said.value is None:
        return said.raw if said.quoted else None
    if said.value.lower() in ("true", "false"):
        return said.value.lower() == "true"
    if _INTEGER.fullmatch(said.value):
        return int(said.value)
    if _FLOAT.fullmatch(said.value) and isfinite(number := float(said.value)):
        return number
    return said.value
