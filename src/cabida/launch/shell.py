"""Putting a command together: quoting, options that are left out when they are the default, comments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from cabida.facts.releases import numbers

Option = tuple[str, object]  # ("--flag", value); True = a bare flag; None and False are left out


def assemble(program: str, *words: str, options: Iterable[Option] = (), notes: Iterable[str] = ()) -> str:
    """The program and its words, then one option a line, under the notes as comments.

    ``program`` is trusted text of this package; words and values are quoted for a POSIX shell.
    """
    lines = [" ".join([program, *(quoted(word) for word in words)])]
    for name, value in options:
        if value is None or value is False:
            continue
        lines.append(name if value is True else f"{name} {quoted(_plain(value))}")
    comments = [f"# {' '.join(note.split())}\n" for note in notes if note]
    return "".join(comments) + " \\\n  ".join(lines)


def quoted(word: str) -> str:
    """``word`` as one shell word; a variable that must be set (``${NAME:?}``) stays one."""
    return f'"{word}"' if re.fullmatch(r"\$\{[A-Z_]+:\?\}", word) else shlex.quote(word)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def at_least(version: str, wanted: str) -> bool:
    """Whether ``version`` is ``wanted`` or later; an unknown version counts as the latest."""
    return not numbers(version) or numbers(version) >= numbers(wanted)
