"""YAML as launch files hold it: comments above, keys in the order given, every text safe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cabida.text import printable


def as_text(document: Any, notes: Iterable[str] = ()) -> str:
    """A document under comments."""
    return as_texts([document], notes)


def as_texts(documents: Iterable[Any], notes: Iterable[str] = ()) -> str:
    """Several documents in one file under comments."""
    import yaml

    class Plain(yaml.SafeDumper):
        """Says everything where it stands."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    parts = [
        yaml.dump(one, Dumper=Plain, sort_keys=False, allow_unicode=True, width=110, default_flow_style=False)
        for one in documents
    ]
    return comments(notes) + "---\n".join(parts)


def comments(notes: Iterable[str]) -> str:
    """One comment line each; a line break or control character in a note never ends it."""
    return "".join(f"# {' '.join(printable(note).split())}\n" for note in notes if note)
