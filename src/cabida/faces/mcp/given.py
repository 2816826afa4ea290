"""What a call brings along: a brief, a decision, a quote as text, or the name of something that is here.

Over a network nothing of this machine's disk is named. Where an assistant runs beside a person, files are, but only
those under the folder that the server was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.errors import InvalidInput
from cabida.faces.mcp.tool import Asked, Place
from cabida.text import closest, problem

if TYPE_CHECKING:
    from cabida.brief.lines import Said
    from cabida.plan import Decision

EXAMPLE = "example:"
BRIEF_ENDINGS = (".yaml", ".yml")
_TEXT = re.compile(r"\n|:\s")
_PATH = re.compile(r"[./~\\]|[A-Za-z]:\\|.*\.\.(?:/|\\|$)", re.DOTALL)
_ENDS = (".json", ".gguf", ".safetensors", ".yaml", ".yml", ".csv", ".txt", ".bin", ".pt", ".pth")


def path_of(place: Place, text: str) -> Path:
    """A file or folder that was named, under the server's folder.

    Raises:
        InvalidInput: CB-O006, no file may be named; CB-O005, it lies elsewhere (a link is where it leads to).
    """
    if place.root is None:
        raise InvalidInput([problem("CB-O006", path=text[:200])])
    root = place.root.resolve()
    try:
        found = (root / Path(text).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        found = None
    if found is None or not found.is_relative_to(root):
        raise InvalidInput([problem("CB-O005", path=text[:200], root=str(root))])
    return found


def looks_like_path(text: str, *, here: bool = True) -> bool:
    """Whether a name may be meant as a path; ``here``: of this machine, where one may lie under a plain name."""
    if here and text.startswith(("hf:", "http://", "https://")):
        return False
    if _PATH.match(text) or text.lower().endswith(_ENDS):
        return True
    try:
        return here and Path(text).exists()
    except (OSError, ValueError):
        return False


def named(asked: Asked, text: str) -> str:
    """A model's name as it is; one that is a path, as that path under the server's folder."""
    if not looks_like_path(text, here=asked.place.root is not None):
        return text
    return str(path_of(asked.place, text))


def names_in(asked: Asked, *names: str) -> dict[str, Any]:
    """Those of these arguments that were sent, names of models among them held to the server's folder."""
    return {
        name: named(asked, value) if isinstance(value, str) else value
        for name, value in asked.only(*names).items()
    }


def flags_of(asked: Asked) -> dict[str, Any]:
    """The further flags of a call (``more``), names among them held to the server's folder."""
    said = asked.get("more", {})
    return {name: named(asked, value) if isinstance(value, str) else value for name, value in said.items()}


def brief_of(asked: Asked, name: str = "brief") -> tuple[str, str]:
    """The YAML of a brief and what to call it: a text, ``example:NAME``, one of the shelf, or a file.

    Raises:
        InvalidInput: CB-O005 to CB-O008, CB-B037 no such example; what reading it raises.
    """
    from cabida.brief.examples import example_text

    said = str(asked.said[name])
    if said.startswith(EXAMPLE):
        return example_text(said.removeprefix(EXAMPLE)), "brief.yaml"
    if _TEXT.search(said):
        _refuse_paths(asked.place, said)
        return said, "brief.yaml"
    if said.lower().endswith(BRIEF_ENDINGS):
        from cabida.brief.lines import read_text

        path = path_of(asked.place, said)
        text = read_text(path, said)
        _refuse_paths(asked.place, text)
        return text, str(path)
    from cabida.faces.mcp import kept

    return kept.brief_text(asked.store, said), "brief.yaml"


def _refuse_paths(place: Place, text: str) -> None:
    """Refuse a brief that names a file beyond the server's folder; elsewhere no file that it names is opened."""
    from cabida.brief.lines import read_lines

    if place.root is None:
        return
    said, _ = read_lines(text, "brief.yaml")
    for path in (one for one in _texts(said) if _PATH.match(one)):
        path_of(place, path)


def _texts(said: Said) -> Iterator[str]:
    value = said.value
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)


def brief_file(asked: Asked, name: str = "brief") -> Path:
    """The brief as a file, for use cases that read one."""
    text, file = brief_of(asked, name)
    if file != "brief.yaml":
        return Path(file)
    return as_file(asked, "brief.yaml", text)


def as_file(asked: Asked, name: str, text: str) -> Path:
    """A text as a file that is gone after the call."""
    path = asked.folder / name
    path.write_text(text, encoding="utf-8")
    return path


def decision_of(asked: Asked, name: str = "decision") -> Decision:
    """A decision by its id, or from its file.

    Raises:
        InvalidInput: CB-O005 to CB-O007; what reading it raises.
    """
    said = str(asked.said[name])
    if (found := asked.place.held.get(asked.person, said)) is not None:
        return found
    if said.lower().endswith(".json"):
        from cabida.report.store import load

        return load(path_of(asked.place, said))
    from cabida.faces.mcp import kept

    text = kept.decision_text(asked.store, said)
    if text is not None:
        from cabida.report.store import from_json

        return from_json(text, file=said)
    mine = asked.place.held.of(asked.person)
    near = closest(said, mine) or ", ".join(list(mine)[:5]) or "–"
    raise InvalidInput([problem("CB-O007", id=said[:80], near=near)])


def decision_file(asked: Asked, name: str = "decision") -> Path:
    """A decision as a file, for use cases that read one."""
    from cabida.report.store import to_json

    return as_file(asked, f"{name}.json", to_json(decision_of(asked, name)))


def parts_of(asked: Asked, name: str, file: str) -> Path | str:
    """A stack or a list of parts: words as they are, a text of several lines as a file, a file under the folder."""
    said = str(asked.said[name])
    if "\n" in said:
        return as_file(asked, file, said)
    return path_of(asked.place, said) if said.strip().lower().endswith((".yaml", ".yml", ".txt")) else said
