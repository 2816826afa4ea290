"""Measured traffic as the YAML of a brief, and put into the text of one with its comments kept."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cabida.brief.read import parse_brief
from cabida.brief.render import THREE_DECIMALS, plain

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

WIDTH = 100
UNKNOWN = "unknown"
MARK = "traffic:"  # begins a comment that is ours, and may be replaced
ORDER = (
    "requests_per_s", "profile", "input_tokens", "output_tokens", "shared_prefix_tokens", "burst",
)  # fmt: skip
INSTEAD = {"requests_per_s": ("requests_per_day",)}  # said in another way, which would contradict


def figure(value: float, digits: int = 4) -> str:
    """A number as a brief takes it: no exponent, and never three decimals, which may be meant as thousands."""
    if value >= 10 ** (digits - 1):
        return str(round(value))
    text = f"{value:.{digits}g}"
    text = f"{value:.9f}".rstrip("0") if "e" in text else text
    return f"{text}0" if THREE_DECIMALS.match(text) else text


def values(found: Mapping[str, Any]) -> dict[str, str]:
    """Traffic's fields as YAML in flow style, of what a log says; what it doesn't say is ``unknown``.

    Args:
        found: figures as :mod:`cabida.evidence.traffic.summary` gives them.
    """
    rates, prefix, seen = found["requests_per_s"], found["prefix"], found["burst"]
    parts = [f"{name}: {figure(rates[name])}" for name in ("mean", "peak") if rates[name]]
    shared = prefix["tokens_mean"] if prefix else None
    weights = found["profile"]["weights"]
    return {
        "requests_per_s": f"{{{', '.join(parts)}}}" if parts else UNKNOWN,
        "profile": f"[{', '.join(f'{one:.2f}' if one >= 0.1 else f'{one:.4f}' for one in weights)}]"
        if weights
        else UNKNOWN,
        "input_tokens": _lengths(found["input_tokens"]),
        "output_tokens": _lengths(found["output_tokens"]),
        "shared_prefix_tokens": UNKNOWN if shared is None else str(round(shared)),
        "burst": UNKNOWN if seen is None else figure(seen["ratio"], 3),
    }


def _lengths(spread: Mapping[str, Any] | None) -> str:
    if spread is None or (spread["most"] or spread["mean"]) < 1:
        return UNKNOWN
    said = {"mean": spread["mean"], "p50": spread["p50"], "p95": spread["p95"], "max": spread["most"]}
    shown = {name: max(1, round(value)) for name, value in said.items() if value is not None}
    if shown.get("max") is not None and shown["max"] == shown.get("p50"):
        return str(shown["max"])
    return f"{{{', '.join(f'{name}: {value}' for name, value in shown.items())}}}"


def block(said: Mapping[str, str], comments: Mapping[str, str]) -> str:
    """The section ``traffic`` of a brief. ``comments`` stand above a field, that of "" above all."""
    lines = ["traffic:"]
    for name in ("", *ORDER):
        if comments.get(name):
            lines += [f"  # {line}" for line in textwrap.wrap(comments[name], WIDTH - 4)]
        if name:
            lines.append(f"  {name}: {_wrapped(said[name], 4)}")
    return "\n".join(lines) + "\n"


def _wrapped(value: str, indent: int) -> str:
    if len(value) < WIDTH - 24:
        return value
    return f"\n{' ' * indent}".join(textwrap.wrap(value, WIDTH - 24))


def placed(
    text: str, said: Mapping[str, str], file: str, comments: Mapping[str, str] | None = None
) -> str | None:
    """The text of a brief with these fields in its traffic, everything else as it was.

    What isn't known leaves what the brief says of it.

    Args:
        text: the brief.
        said: fields as :func:`values` gives them.
        file: what problems call it.
        comments: what to say behind a field where nobody says anything; what was said so before is replaced.

    Returns:
        The new text; ``None`` = it can't be put in so that all else reads as before.

    Raises:
        InvalidInput: the brief can't be read, or what is put in contradicts the rest of it.
    """
    before = parse_brief(text, file=file)
    known = {name: said[name] for name in ORDER if said[name] != UNKNOWN}
    gone = [other for name in known for other in INSTEAD.get(name, ())]
    changed = _changed(text, known, gone, comments or {})
    if changed is None:
        return None
    after = parse_brief(changed, file=file)
    old, new = plain(before), plain(after)
    kept = ("concurrency", "items", "window", "every", "growth", "trace")
    same = {**old, "traffic": {name: old.get("traffic", {}).get(name) for name in kept}}
    return (
        changed
        if same == {**new, "traffic": {name: new.get("traffic", {}).get(name) for name in kept}}
        else None
    )


def _changed(text: str, known: Mapping[str, str], gone: list[str], comments: Mapping[str, str]) -> str | None:
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        return None
    section = next((value for key, value in root.value if key.value == "traffic"), None)
    if section is None:
        return f"{text.rstrip()}\n\n{block(_all(known), comments)}" if known else text
    if isinstance(section, yaml.ScalarNode):  # nothing, or unknown
        end = section.end_mark.index
        inside = "".join(
            f"\n  {name}: {_wrapped(value, 4)}{_behind(comments, name)}" for name, value in known.items()
        )
        return f"{text[: section.start_mark.index].rstrip(' ')}{inside}{text[end:]}"
    if not isinstance(section, yaml.MappingNode) or not section.value:
        return None
    return _spliced(text, section, known, gone, comments)


def _all(known: Mapping[str, str]) -> dict[str, str]:
    return {name: known.get(name, UNKNOWN) for name in ORDER}


def _behind(comments: Mapping[str, str], name: str) -> str:
    return f"  # {MARK} {comments[name]}" if comments.get(name) else ""


def _spliced(
    text: str, section: MappingNode, known: Mapping[str, str], gone: list[str], comments: Mapping[str, str]
) -> str:
    """The mapping's values replaced where they stand, new ones behind the last, from the end to the beginning."""
    flow = bool(section.flow_style)
    column = section.value[0][0].start_mark.column
    there = {key.value for key, _ in section.value}
    new = [(name, value) for name, value in known.items() if name not in there]
    edits: list[tuple[int, int, str]] = []
    last = _end(section.value[-1][1], section.value[-1][0])
    if flow:
        added = "".join(f", {name}: {value}" for name, value in new)
    else:  # behind what is said of the last one
        line = text.find("\n", last)
        last = len(text) if line < 0 else line
        added = "".join(
            f"\n{' ' * column}{name}: {_wrapped(value, column + 2)}{_behind(comments, name)}"
            for name, value in new
        )
    for at, (key, value) in enumerate(section.value):
        end = _end(value, key)
        if key.value in known:
            said = known[key.value] if flow else _wrapped(known[key.value], column + 2)
            start, between = value.start_mark.index, text[key.end_mark.index : value.start_mark.index]
            nothing = value.start_mark.index < key.end_mark.index + 2
            if nothing or "\n" in between:
                comment = between.partition("#")[2].partition("\n")[0].rstrip()
                start, said = key.end_mark.index, f": {said}{f'  #{comment}' if comment else ''}"
            end = max(start, end)
            rest = text[end:].partition("\n")[0]
            if not flow and (not rest.strip() or rest.strip().startswith(f"# {MARK}")):
                said, end = said + _behind(comments, key.value), end + len(rest)
            edits.append((start, end, said))
        elif key.value in gone and at + 1 < len(section.value):
            edits.append((key.start_mark.index, section.value[at + 1][0].start_mark.index, ""))
        elif key.value in gone:
            start = text.rfind("," if flow else "\n", 0, key.start_mark.index)
            edits.append((start, end, ""))
    edits.append((last, last, added))
    for start, end, said in sorted(edits, key=lambda one: (one[0], one[1]), reverse=True):
        text = text[:start] + said + text[end:]
    return text


def _end(node: Node, key: Node) -> int:
    """Where what a node says ends: a block's own mark lies behind the comments that follow it."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        if not node.value and node.style is None:
            return int(key.end_mark.index) + 1
        return int(node.end_mark.index)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        inner = node.value[-1]
        return _end(inner[1], inner[0]) if isinstance(inner, tuple) else _end(inner, key)
    return int(node.end_mark.index)
