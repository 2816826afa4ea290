"""The jobs that the API adds: a decision made again in full, and learning from what was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Tell = Callable[[str, int, int], None]


def remake(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """A kept decision decided again, as ``cabida rerun`` does; the new one is kept beside it.

    Args:
        asked: ``decision`` (its id); ``same``, ``as_of``, and ``text`` or ``brief_id`` of another brief in its place.
        tell: of the progress.

    Returns:
        ``before`` and ``decision``, ids; ``identical`` (of ``same``, else ``None``) and the command's ``exit_code``.
    """
    from cabida.app.rerunning import rerun
    from cabida.evidence import shelf
    from cabida.report.store import from_json, to_json

    before = shelf.kept_decision(str(asked["decision"]))
    brief_id, version = str(asked.get("brief_id") or ""), int(asked.get("brief_version") or 0)
    text = shelf.brief(brief_id, version or None).text if brief_id else str(asked.get("text") or "")
    with TemporaryDirectory(prefix="cabida-") as folder:
        brief = Path(folder) / "brief.yaml" if text else None
        if brief is not None:
            brief.write_text(text, encoding="utf-8")
        made = rerun(
            from_json(shelf.decision_text(before.id), file="decision.json"),
            same=bool(asked.get("same")), as_of=asked.get("as_of") or None, brief=brief, progress=tell,
        )  # fmt: skip
    if not text:
        brief_id, version = before.brief_id, before.brief_version
    kept = shelf.add_decision(to_json(made.decision), brief_id=brief_id, brief_version=version)
    code = 0
    if made.decision.verdict == "nothing_satisfies" and not asked.get("same"):
        code = 4
    elif made.identical is False or (made.identical is None and made.difference.winner_changed):
        code = 7
    return {"before": before.id, "decision": kept.id, "identical": made.identical, "exit_code": code}


def remade(result: dict[str, Any]) -> dict[str, Any]:
    """What ``cabida rerun --json`` prints of such a job."""
    from cabida.app.rerunning import Rerun, plain
    from cabida.evidence import shelf
    from cabida.report.diff import difference
    from cabida.report.metrics import plain as as_data
    from cabida.report.store import from_json
    from cabida.text import speaking

    before, after = (from_json(shelf.decision_text(result[name])) for name in ("before", "decision"))
    with speaking(before.language):
        made = Rerun(after, difference(before, after), result.get("identical"))
    found: dict[str, Any] = as_data(plain(made))
    return found


def calibrate(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """Learn from the observations of the store.

    Args:
        asked: ``dry_run``.
        tell: of the progress.

    Returns:
        ``answer``: as ``cabida calibrate --json`` prints it.
    """
    from cabida import app
    from cabida.report.metrics import plain

    return {"answer": plain(app.calibrate((), keep=not asked.get("dry_run"), progress=tell))}
