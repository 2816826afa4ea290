"""Reading a brief: all errors at once, each with its line and its cure."""

from __future__ import annotations

from pathlib import Path

from cabida.brief.build import build
from cabida.brief.contradictions import contradictions
from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.lines import read_lines, read_text
from cabida.brief.model import Brief
from cabida.brief.shapes import Walk, walk
from cabida.errors import InvalidInput


def read_brief(path: str | Path, *, as_of: str = "") -> Brief:
    """The brief in a YAML file.

    Args:
        path: the file, at most 1 MB of UTF-8.
        as_of: ISO date against which deadlines are judged; "" = today.

    Raises:
        InvalidInput: with every problem of the file (``CB-B###``), each with its line.
    """
    return parse_brief(read_text(Path(path), str(path)), file=str(path), as_of=as_of)


def parse_brief(text: str, *, file: str = "brief.yaml", as_of: str = "") -> Brief:
    """The brief in a YAML text; ``file`` is what problems call it.

    Raises:
        InvalidInput: with every problem of the text, each with its line.
    """
    tree, problems = read_lines(text, file)
    found = Walk(file, problems=problems)
    plain = walk(tree, WHOLE_BRIEF, "", found) or {}
    brief = build(plain, found, text)
    if all_problems := [*found.problems, *contradictions(brief, found, as_of)]:
        raise InvalidInput(sorted(all_problems, key=lambda item: item.line))
    return brief
