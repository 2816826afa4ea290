"""Parts of a plan that mean what plain YAML means: a request's body, a rule's value, the words of a command.

They are lifted out of the tree before it is checked, so that text keeps its spaces and its kind. Keys, tokens and
passwords anywhere in the file are noted and taken out, so that no message can repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cabida.brief.lines import Said, as_yaml
from cabida.brief.shapes import Walk
from cabida.evidence.secrets import redacted
from cabida.text import tr

_REFERENCE = re.compile(r"\$\{?\w+\}?")
_POINTED = re.compile(r"(env:\w+|keyring:[^\s/]+/\S+)")
KEYS_OF_HEADERS = (
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
    "ocp-apim-subscription-key",
)


@dataclass(slots=True)
class Lifted:
    """Free values by their path: ``contenders[0].setup``."""

    values: dict[str, Any] = field(default_factory=dict)


def lift(tree: Said, walk: Walk) -> Lifted:
    """Takes the free parts out of ``tree``; what is wrong with them goes into ``walk``."""
    lifted = Lifted()

    def take(items: dict[str, Said], key: str, path: str, read: Callable[[Said, str, Walk], Any]) -> None:
        said = items.get(key)
        if said is None:
            return
        walk.where.setdefault(f"{path}.{key}", said.line)
        lifted.values[f"{path}.{key}"] = read(said, f"{path}.{key}", walk)
        items[key] = Said(None, said.line)

    for path, contender in _entries(tree, "contenders", "", walk):
        take(contender, "setup", path, _mapping)
        take(contender, "launch", path, _text)
        target = contender.get("target")
        if target is not None and isinstance(target.value, dict):
            take(target.value, "body", f"{path}.target", _mapping)
            take(target.value, "headers", f"{path}.target", _headers)
    for path, rule in _entries(tree, "rules", "", walk):
        take(rule, "value", path, lambda said, _path, _walk: as_yaml(said))
    for path, run in _entries(tree, "runs", "", walk):
        job = run.get("job")
        if job is not None and isinstance(job.value, dict):
            take(job.value, "command", f"{path}.job", _words)
            take(job.value, "patterns", f"{path}.job", _texts)
        for below, drill in _entries(Said(run, 0), "drills", f"{path}.", walk):
            take(drill, "command", below, _words)
            take(drill, "undo", below, _words)
    return lifted


def _entries(said: Said, key: str, above: str, walk: Walk) -> Iterator[tuple[str, dict[str, Said]]]:
    """Entries of a list that are mappings, with their paths. An empty entry would shift the others: it is refused."""
    parent = said.value if isinstance(said.value, dict) else {}
    listed = parent.get(key)
    if listed is None or not isinstance(listed.value, list):
        return
    for at, entry in enumerate(listed.value):
        path = f"{above}{key}[{at}]"
        if isinstance(entry.value, dict):
            yield path, entry.value
        elif not isinstance(entry.value, list):
            walk.refuse("CB-P004", entry.line, path=path)


def _written(said: Said) -> str:
    return said.raw if said.quoted else str(said.value) if said.value is not None else ""


def _mapping(said: Said, path: str, walk: Walk) -> dict[str, Any]:
    if isinstance(said.value, dict):
        found: dict[str, Any] = as_yaml(said)
        return found
    if said.value is not None:
        _wrong(said, path, "brief.shape.mapping", walk)
    return {}


def _text(said: Said, path: str, walk: Walk) -> str:
    if isinstance(said.value, list | dict):
        _wrong(said, path, "brief.shape.text", walk)
        return ""
    return _written(said)


def _texts(said: Said, path: str, walk: Walk) -> dict[str, str]:
    if not isinstance(said.value, dict):
        if said.value is not None:
            _wrong(said, path, "brief.shape.mapping", walk)
        return {}
    return {key: _text(one, f"{path}.{key}", walk) for key, one in said.value.items()}


def _headers(said: Said, path: str, walk: Walk) -> dict[str, str]:
    found = _texts(said, path, walk)
    for name, value in found.items():
        if name.lower() in KEYS_OF_HEADERS and value:
            walk.refuse("CB-P001", said.line, path=f"{path}.{name}")
        if re.search(r"[\x00-\x1f\x7f]", name + value) or not re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name):
            walk.refuse("CB-P005", said.line, path=path)
    return found


def _words(said: Said, path: str, walk: Walk) -> tuple[str, ...]:
    """The program and its arguments, each for itself: no shell takes them apart."""
    if isinstance(said.value, list) and not any(isinstance(one.value, list | dict) for one in said.value):
        return tuple(_written(one) for one in said.value)
    if said.value is not None:
        walk.refuse("CB-P006", said.line, path=path)
    return ()


def _wrong(said: Said, path: str, expected: str, walk: Walk) -> None:
    shape = "list" if isinstance(said.value, list) else "mapping" if isinstance(said.value, dict) else "text"
    walk.refuse("CB-B012", said.line, path=path, found=tr(f"brief.shape.{shape}"), expected=tr(expected))


def without_secrets(said: Said, path: str, walk: Walk, key: str = "") -> Said:
    """The tree with every key, token or password left out, each noted by its line alone."""
    if isinstance(said.value, list):
        listed = [without_secrets(one, f"{path}[{at}]", walk, key) for at, one in enumerate(said.value)]
        return Said(_after_flags(listed, said, path, walk), said.line)
    if isinstance(said.value, dict):
        below = {
            name: without_secrets(one, f"{path}.{name}" if path else name, walk, name)
            for name, one in said.value.items()
        }
        return Said(below, said.line)
    if said.value is not None and _is_secret(_written(said), key):
        walk.refuse("CB-P001", said.line, path=path)
        walk.taken.add(path)
        return Said(None, said.line)
    return said


def _after_flags(listed: list[Said], said: Said, path: str, walk: Walk) -> list[Said]:
    """Words of a command: a key that follows its flag as a word of its own."""
    for at in range(1, len(listed)):
        flag, word = listed[at - 1], listed[at]
        if isinstance(flag.value, str) and isinstance(word.value, str) and flag.value.startswith("-"):
            pair = f"{flag.value} {word.value}"
            if not _is_secret(flag.value, "") and _is_secret(pair, ""):
                walk.refuse("CB-P001", word.line or said.line, path=f"{path}[{at}]")
                listed[at] = Said(None, word.line)
    return listed


def _is_secret(text: str, key: str) -> bool:
    """Whether something of it would be blanked. What only points to a key ($NAME, env:NAME) is none."""
    if _POINTED.fullmatch(text):
        return False
    shown = _REFERENCE.sub("None", text)
    parts = [shown[at : at + 3000] for at in range(0, len(shown), 2500)] or [""]
    if any(redacted(part) != part for part in parts):
        return True
    named = f"{key}: {shown}"[:3000]
    return bool(key) and redacted(named) != named
