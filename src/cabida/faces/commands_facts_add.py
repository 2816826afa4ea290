"""``facts add``: a row more in the tables of a source tree, or in one's own facts."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cabida.errors import UsageProblem
from cabida.faces.output import emit
from cabida.faces.words import Command, option, shared
from cabida.text import closest, problem, tr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from cabida.facts.adding import Addition

KINDS = (
    "accelerator", "node", "engine", "engine-version", "model", "price", "api-price", "energy", "format", "mig",
    "pipeline", "component",
)  # fmt: skip
LISTED = {  # where `cabida facts show ID` knows it
    "accelerator", "node", "engine", "format", "mig", "pipeline", "component", "model",
}  # fmt: skip
WIDEST = 160  # characters of a line of the diff on the screen


@click.command(cls=Command)
@click.argument("kind", metavar="KIND")
@option("--set", "sets", multiple=True, metavar="NAME=VALUE")
@option("--from", "given_from", type=click.Path(exists=True, path_type=Path), metavar="FILE")
@option("--source", metavar="TEXT")
@option("--url", metavar="ADDRESS")
@option("--seen", metavar="YYYY-MM-DD")
@option("--grade", type=click.Choice(["measured", "vendor", "quoted", "derived", "simulated", "assumed"]))
@option("--into", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@option("--dry-run", is_flag=True)
@shared
def add(
    kind: str,
    sets: tuple[str, ...],
    given_from: Path | None,
    into: Path | None,
    dry_run: bool,
    as_json: bool,
    as_of: str | None,
    **source: str | None,
) -> None:
    """A checked row more, with its source and the day it was seen."""
    from cabida.facts import adding

    if kind not in KINDS:
        near = closest(kind, KINDS) or ", ".join(KINDS)
        raise UsageProblem([problem("CB-U045", kind=kind, near=near)])
    told = {"what": source["source"], "url": source["url"], "seen": source["seen"], "grade": source["grade"]}
    data = into or adding.data_of_checkout()
    added = _prepared(kind, sets, given_from, told, data, as_of or "")
    if not dry_run:
        adding.write(added)
    answer = _answer(added, written=not dry_run)
    emit(answer, lambda: _screen(added, answer), as_json=as_json)


def _prepared(
    kind: str,
    sets: tuple[str, ...],
    given_from: Path | None,
    source: dict[str, str | None],
    data: Path | None,
    as_of: str,
) -> Addition:
    import datetime

    from cabida.errors import InvalidInput
    from cabida.facts import adding
    from cabida.facts.added_row import gathered

    if kind != "model":
        return adding.prepare(kind, gathered(adding.KINDS[kind].noun, sets, given_from, source), data, as_of)
    from cabida.facts.adding_model import prepare_model

    if data is None:
        raise InvalidInput(problem("CB-F068", kind=kind))
    return prepare_model(sets, given_from, source, data, as_of or datetime.date.today().isoformat())


def _answer(added: Addition, *, written: bool) -> dict[str, Any]:
    return {
        "kind": added.kind,
        "id": added.id,
        "row": added.row,
        "files": [_short(edit.path) for edit in added.edits],
        "diff": _diff(added),
        "written": written,
        "compiled": written and added.compiles,
        "next": _next(added, written=written),
    }


def _next(added: Addition, *, written: bool) -> list[str]:
    """What to type next."""
    if not written:
        return []
    show = f"cabida facts show {json.dumps(added.id) if ' ' in added.id else added.id}"
    if added.kind in ("price", "api-price") and added.compiles | (added.data is None):
        show = f"cabida prices {'list ' + str(added.row['accelerator']) if added.kind == 'price' else 'api'}"
    told = [show] if added.kind in LISTED or added.kind.endswith("price") else []
    if added.data is None:
        return ["cabida facts check", *told]
    first = [] if added.compiles else ["python -m cabida.facts.compile"]
    return [*first, "cabida facts check", *told, "pytest tests/facts"]


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _diff(added: Addition) -> str:
    lines: list[str] = []
    for edit in added.edits:
        before, after = edit.before.splitlines(), edit.after.splitlines()
        name = _short(edit.path)
        lines += difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="", n=1)
    return "\n".join(lines)


def _screen(added: Addition, answer: dict[str, Any]) -> RenderableType:
    """The diff, where it went, and what to type next."""
    from rich.console import Group
    from rich.text import Text

    lines = [
        Text(line, no_wrap=True, overflow="ignore") for line in _short_lines(answer["diff"].splitlines())
    ]
    files = ", ".join(answer["files"])
    if not answer["written"]:
        return Group(*lines, "", tr("faces.added.dry", id=added.id, files=files))
    told = [tr("faces.added.done", id=added.id, files=files)]
    if answer["compiled"]:
        told.append(tr("faces.added.compiled"))
    return Group(*lines, "", *told, tr("faces.added.next"), *(f"  {one}" for one in answer["next"]))


def _short_lines(lines: list[str]) -> Iterator[str]:
    """Long lines cut: one that was changed to what lies around the change, any other without its middle."""
    for at, line in enumerate(lines):
        other = ""
        if line[:1] == "-" and at + 1 < len(lines) and lines[at + 1][:1] == "+":
            other = lines[at + 1]
        elif line[:1] == "+" and at and lines[at - 1][:1] == "-":
            other = lines[at - 1]
        if len(line) <= WIDEST:
            yield line
        elif other:
            same = next((n for n, (a, b) in enumerate(zip(line[1:], other[1:], strict=False)) if a != b), 0)
            start = max(1, same - WIDEST // 4)
            yield f"{line[0]} … {line[start : start + WIDEST // 2]} …"
        else:
            yield f"{line[: WIDEST // 2]} … {line[-WIDEST // 2 :]}"
