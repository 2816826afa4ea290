"""A brief's text with other values in it, everything else where it stood, comments too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.form import ANY, UNKNOWN, Tree, fields_of, role, same, something, tree_of, trimmed
from cabida.brief.lines import read_lines
from cabida.brief.shapes import OneOf, Table
from cabida.errors import InvalidInput

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, SequenceNode

WIDTH = 100
MOST_EDITS = 80  # beyond it the text is written anew
_PLAIN = re.compile(r"[^\W_][\w .:/%+()=~@€£$-]*")
_COMMENT = re.compile(r"(^|\s)#")


class _Whole(Exception):
    """The text can't be mended in place."""


def placed(text: str, wanted: dict[str, Any]) -> tuple[str, bool]:
    """The text that says what the tree ``wanted`` says, and whether what stands elsewhere is as it was.

    A text that can't be mended in place, such as one with anchors, is written anew, without its comments.

    Raises:
        InvalidInput: the text can't be read.
    """
    if not something(text):
        return f"{text.rstrip()}\n{written(wanted)}".lstrip("\n"), True
    changed = text
    try:
        for _ in range(MOST_EDITS):
            edit = _next_edit(changed, wanted)
            if edit is None:
                break
            start, end, new = edit
            changed = changed[:start] + new + changed[end:]
        if same(tree_of(changed), wanted, WHOLE_BRIEF):
            return changed, True
    except (_Whole, InvalidInput):
        read_lines(text)
    new = written(wanted)
    return new, _COMMENT.search(text) is None


def written(wanted: dict[str, Any]) -> str:
    """A tree as the text of a brief, without comments, in the order of the table of fields."""
    fields = fields_of(WHOLE_BRIEF)
    tree = trimmed(wanted, WHOLE_BRIEF)
    rows = [(key, tree[key]) for key in fields if key in tree] if isinstance(tree, dict) else []
    return "".join(f"{_line(key, value, fields[key], 0)}\n" for key, value in rows)


def scalar(value: str) -> str:
    """One value as YAML says it, quoted where it must be."""
    plain = _PLAIN.fullmatch(value) and ": " not in value and value[-1] not in ": "
    if plain and value.lower() not in ("null", "~"):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return re.sub(
        r"[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]", lambda m: f"\\u{ord(m[0]):04x}", quoted
    )


def flow(tree: Tree, shape: OneOf) -> str:
    """A tree on one line."""
    if isinstance(tree, str):
        if shape.free:
            return free(tree)
        if shape.sequence is not None and shape.scalar is not None and "," in tree:
            return f"[{', '.join(scalar(one.strip()) for one in tree.split(',') if one.strip())}]"
        return scalar(tree) if tree else UNKNOWN
    if isinstance(tree, list):
        item = shape.sequence.item if shape.sequence else shape
        if not tree and shape.spread:
            return ANY
        if len(tree) == 1 and isinstance(tree[0], str) and shape.scalar is not None:
            return scalar(tree[0])
        return f"[{', '.join(flow(one, item) for one in tree)}]"
    if isinstance(shape.mapping, Table):
        if shape.sequence is not None and tree and not any(tree.values()):
            return f"[{', '.join(scalar(key) for key in tree)}]"
        inner = shape.mapping.item
        return f"{{{', '.join(f'{scalar(key)}: {flow(one, inner)}' for key, one in tree.items())}}}"
    if shape.shorthand and list(tree) == [shape.shorthand]:
        return scalar(tree[shape.shorthand])
    if not tree:
        return UNKNOWN
    fields = fields_of(shape)
    return f"{{{', '.join(f'{key}: {flow(tree[key], fields[key])}' for key in fields if key in tree)}}}"


def free(typed: str) -> str:
    """Plain data as it was typed where it is YAML on one line, else as a text."""
    import yaml

    try:
        node = yaml.compose(f"{{value: {typed}}}", Loader=yaml.SafeLoader) if "\n" not in typed else None
        tree, problems = read_lines(f"value: {typed}") if node is not None else (None, [])
    except (yaml.YAMLError, InvalidInput, ValueError):
        return json.dumps(typed, ensure_ascii=False)
    sound = tree is not None and not problems and list(tree.value or ()) == ["value"]
    alone = node is not None and len(node.value) == 1 and not _COMMENT.search(typed)
    return typed if sound and alone else json.dumps(typed, ensure_ascii=False)


def _line(key: str, tree: Tree, shape: OneOf, indent: int) -> str:
    """``key: value`` in a block, over several lines where one is too short; without a line break at its end."""
    said = f"{' ' * indent}{scalar(key)}: {flow(tree, shape)}"
    lone = isinstance(tree, dict) and shape.shorthand and list(tree) == [shape.shorthand]
    if (
        isinstance(tree, str)
        and "\n" in tree
        and not shape.free
        and not re.search(r"[^\n\S ]|[\x00-\x09]", tree)
    ):
        inside = "\n".join(f"{' ' * (indent + 2)}{line}".rstrip() for line in tree.strip().split("\n"))
        return f"{' ' * indent}{scalar(key)}: |-\n{inside}"
    if len(said) <= WIDTH or isinstance(tree, str) or lone or not tree:
        return said
    head = f"{' ' * indent}{scalar(key)}:\n"
    if isinstance(tree, list):
        item = shape.sequence.item if shape.sequence else shape
        return head + "\n".join(_item(one, item, indent + 2) for one in tree)
    if isinstance(shape.mapping, Table):
        if shape.sequence is not None and not any(tree.values()):
            return said
        inner = shape.mapping.item
        return head + "\n".join(_line(name, one, inner, indent + 2) for name, one in tree.items())
    fields = fields_of(shape)
    return head + "\n".join(
        _line(name, tree[name], fields[name], indent + 2) for name in fields if name in tree
    )


def _item(tree: Tree, shape: OneOf, indent: int) -> str:
    said = f"{' ' * indent}- {flow(tree, shape)}"
    if len(said) <= WIDTH or not isinstance(tree, dict) or role(shape) != "group":
        return said
    fields = fields_of(shape)
    lines = "\n".join(_line(name, tree[name], fields[name], indent + 2) for name in fields if name in tree)
    return f"{' ' * indent}- {lines.lstrip()}"


Edit = tuple[int, int, str]


def _next_edit(text: str, wanted: dict[str, Any]) -> Edit | None:
    import yaml

    said, problems = read_lines(text)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if problems or not isinstance(root, yaml.MappingNode) or _shared(root, set()):
        raise _Whole
    return next(_in_mapping(text, root, said.value, WHOLE_BRIEF, trimmed(wanted, WHOLE_BRIEF)), None)


def _shared(node: Node, seen: set[int]) -> bool:
    import yaml

    if id(node) in seen:
        return True
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        return any(_shared(key, seen) or _shared(value, seen) for key, value in node.value)
    return isinstance(node, yaml.SequenceNode) and any(_shared(one, seen) for one in node.value)


def _in_mapping(text: str, node: MappingNode, said: Any, shape: OneOf, wanted: Any) -> Iterator[Edit]:
    """What is to be changed inside a mapping, one edit at a time."""
    from cabida.brief.form import told

    table = isinstance(shape.mapping, Table)
    inner = dict.fromkeys((*said, *wanted), shape.mapping.item) if table else fields_of(shape)  # type: ignore[union-attr]
    there = {key.value: (at, key, value) for at, (key, value) in enumerate(node.value)}
    for name, field in inner.items():
        new = wanted.get(name)
        if name not in there:
            if new is not None and (new or table):
                yield _inserted(text, node, name, new, field, list(inner))
            continue
        at, _key, _value = there[name]
        old = told(said[name], field)
        if table and new is None:
            yield _removed(text, node, at)
        elif (
            not same(old, new if new is not None else "", field)
            if role(field) == "leaf"
            else not same(old, new or {}, field)
        ):
            yield from _changed(text, node, at, said[name], field, new, table)


def _changed(
    text: str, node: MappingNode, at: int, said: Any, shape: OneOf, new: Any, table: bool
) -> Iterator[Edit]:
    import yaml

    _key, value = node.value[at]
    if not new and not table:
        if shape.spread and shape.sequence is not None and shape.sequence.shortest:
            yield _replaced(text, node, at, [], shape)
        else:
            yield _removed(text, node, at)
        return
    inside = isinstance(value, yaml.MappingNode) and value.value and isinstance(new, dict)
    if inside and role(shape) in ("group", "table") and _fits(new, shape):
        yield from _in_mapping(text, value, said.value, shape, new)
        return
    if isinstance(value, yaml.SequenceNode) and value.value and role(shape) == "list" and new:
        yield _in_list(text, node, at, said, shape, new)
        return
    yield _replaced(text, node, at, new, shape)


def _fits(new: dict[str, Any], shape: OneOf) -> bool:
    """Whether a mapping can say it: a length that is fixed can't stand beside a median."""
    if isinstance(shape.mapping, Table):
        return not (shape.sequence is not None and new and not any(new.values()))
    return all(name in shape.mapping.fields for name in new) if shape.mapping else False


def _in_list(text: str, parent: MappingNode, at: int, said: Any, shape: OneOf, new: list[Any]) -> Edit:
    import yaml

    from cabida.brief.form import told

    node: SequenceNode = parent.value[at][1]
    item = shape.sequence.item if shape.sequence else shape
    old = [told(one, item) for one in said.value]
    if len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            if same(before, after, item):
                continue
            child = node.value[place]
            if (
                isinstance(child, yaml.MappingNode)
                and child.value
                and isinstance(after, dict)
                and _fits(after, item)
            ):
                edit = next(_in_mapping(text, child, said.value[place].value, item, after), None)
                if edit is not None and edit[0] >= 0:
                    return edit
            if isinstance(child, yaml.MappingNode) and not child.flow_style:
                break
            return child.start_mark.index, _end(text, child), flow(after, item)
    kept = all(same(one, other, item) for one, other in zip(old, new, strict=False))
    if kept and len(new) > len(old):
        end = _end(text, node.value[-1])
        if node.flow_style:
            return end, end, ", " + flow(new[len(old)], item)
        line = _line_end(text, end)
        column = _dash_column(text, node.value[-1].start_mark.index)
        return line, line, "\n" + _item(new[len(old)], item, column)
    gone = next((i for i in range(len(old)) if i >= len(new) or not same(old[i], new[i], item)), None)
    shorter = gone is not None and len(new) < len(old)
    if shorter and not node.flow_style and len(node.value) > 1:
        start = text.rfind("\n", 0, node.value[gone].start_mark.index) + 1
        return start, min(len(text), _line_end(text, _end(text, node.value[gone])) + 1), ""
    return _replaced(text, parent, at, new, shape)


def _dash_column(text: str, start: int) -> int:
    line = text.rfind("\n", 0, start) + 1
    return text.index("-", line, start) - line if "-" in text[line:start] else 2


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _inserted(text: str, node: MappingNode, name: str, new: Tree, shape: OneOf, order: list[str]) -> Edit:
    """Behind the last of what comes before it in the table of fields, else at the end."""
    rank = {one: place for place, one in enumerate(order)}
    here = rank.get(name, len(order))
    before = [pair for pair in node.value if rank.get(pair[0].value, len(order)) < here]
    key, value = before[-1] if before else node.value[-1]
    end = _end(text, value, key)
    if node.flow_style:
        return end, end, f", {scalar(name)}: {flow(new, shape)}"
    line = _line_end(text, end)
    return line, line, "\n" + _line(name, new, shape, key.start_mark.column)


def _removed(text: str, node: MappingNode, at: int) -> Edit:
    key, value = node.value[at]
    start, end = key.start_mark.index, _end(text, value, key)
    if node.flow_style:
        if at + 1 < len(node.value):
            return start, node.value[at + 1][0].start_mark.index, ""
        return (text.rfind(",", 0, start) if at else start), end, ""
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip() or len(node.value) == 1:  # behind a dash, or the only one
        raise _Whole
    return line, min(len(text), _line_end(text, end) + 1), ""


def _replaced(text: str, node: MappingNode, at: int, new: Tree, shape: OneOf) -> Edit:
    key, value = node.value[at]
    said = flow(new, shape)
    colon = text.index(":", key.end_mark.index)
    end = max(colon + 1, _end(text, value, key))
    old = text[colon + 1 : end]
    if node.flow_style:
        return colon + 1, end, " " + said
    block = _line(key.value, new, shape, key.start_mark.column)
    rest = block[block.index(":", len(block) - len(block.lstrip()) + len(scalar(key.value))) + 1 :]
    comment = _first_comment(old)
    if "\n" in rest or not comment:
        lead = (
            old[: len(old) - len(old.lstrip(" "))]
            if "\n" not in rest and old.strip() and "\n" not in old
            else ""
        )
        return colon + 1, end, (lead or " ") + rest.lstrip(" ") if "\n" not in rest else rest
    return colon + 1, end, f" {said}  {comment}"


def _first_comment(old: str) -> str:
    """What stands behind ``key:`` when its value is on the lines below."""
    first = old.partition("\n")[0].strip() if "\n" in old else ""
    return first if first.startswith("#") else ""


def _end(text: str, node: Node, key: Node | None = None) -> int:
    """Where what a node says ends: a block's own mark lies behind the comments that follow it."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        if not node.value and node.style is None:
            return text.index(":", key.end_mark.index) + 1 if key is not None else int(node.start_mark.index)
        end = int(node.end_mark.index)
        return (
            int(node.start_mark.index) + len(text[node.start_mark.index : end].rstrip())
            if node.style in ("|", ">")
            else end
        )
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1], last[0]) if isinstance(last, tuple) else _end(text, last)
    return int(node.end_mark.index)
