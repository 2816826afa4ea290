"""A decision as its forms show it, and what its bills would be with other inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.plan import Decision

if TYPE_CHECKING:
    from cabida.choose.levers import Lever


def explain(
    decision: Path | str | Decision, name: str, changes: Mapping[str, float] | None = None
) -> list[dict[str, Any]]:
    """The nodes under one figure of a decision, the figure itself first; of a what-if where there are changes."""
    from cabida.report.tree import nodes_under

    return nodes_under(what_if(decision, changes or {}), name)


def record(
    decision: Path | str | Decision, form: str, changes: Mapping[str, float] | None = None
) -> str | bytes:
    """The record of a decision: text as html, md or json, the content of a file as xlsx or pdf.

    Args:
        decision: itself, or the path of its JSON; of a path, the signatures beside it are shown.
        form: html, md, json, xlsx or pdf.
        changes: inputs set for a what-if, by name; see :func:`what_if`.
    """
    from cabida import report

    shown = what_if(decision, changes or {})
    if isinstance(decision, Path | str) and form != "json" and not changes:
        from cabida.app.signing import signed

        shown = signed(shown, decision)
    return report.render_bytes(shown, form) if form in report.BINARY_FORMS else report.render(shown, form)


def what_if(decision: Path | str | Decision, changes: Mapping[str, float]) -> Decision:
    """The decision with other prices, salaries or shares: bills, limits and order worked out again, nothing searched.

    Args:
        decision: itself, or the path of its JSON.
        changes: name of an input of its bills -> value in the input's unit; :func:`levers` lists them.

    Raises:
        InvalidInput: a name that is no input (CB-X090), locked (CB-X091), of several inputs (CB-X093); a value out of
            range (CB-X092).
    """
    from cabida.report.store import load

    read = decision if isinstance(decision, Decision) else load(decision)
    if not changes:
        return read
    from cabida.choose.what_if import what_if as worked_out

    return worked_out(read, changes)


def levers(decision: Path | str | Decision) -> tuple[Lever, ...]:
    """The inputs of a decision's bills: those that may be set without searching again first, then the locked ones."""
    from cabida.choose.levers import levers as found
    from cabida.report.store import load

    return found(decision if isinstance(decision, Decision) else load(decision))
