"""Briefs and decisions kept for a team: what was asked and what was answered, found again by an id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cabida.plan import Decision

if TYPE_CHECKING:
    from cabida.evidence.shelf import KeptBrief, KeptDecision, Page


def briefs(
    *, search: str = "", after: str = "", most: int = 50, store: Path | str | None = None
) -> Page[KeptBrief]:
    """The briefs that are kept, the newest first, without their texts.

    Args:
        search: a part of the name; capitals and accents make no difference.
        after: ``next`` of the page before.
        most: briefs at once, up to 500.
        store: file or PostgreSQL address; the usual one when left out.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E029, the store can't be read.
    """
    from cabida.evidence import shelf

    return shelf.briefs(search=search, after=after, most=most, store=store)


def decisions(
    *,
    search: str = "",
    brief_id: str = "",
    after: str = "",
    most: int = 50,
    store: Path | str | None = None,
) -> Page[KeptDecision]:
    """The decisions that are kept, the newest first; :func:`load_decision` opens one by its id.

    Args:
        search: a part of the name or of the winner; capitals and accents make no difference.
        brief_id: those that answer this brief; "" = all.
        after: ``next`` of the page before.
        most: decisions at once, up to 500.
        store: file or PostgreSQL address; the usual one when left out.

    Raises:
        InvalidInput: CB-E226, no such cursor; CB-E010 to CB-E029, the store can't be read.
    """
    from cabida.evidence import shelf

    return shelf.kept_decisions(search=search, brief_id=brief_id, after=after, most=most, store=store)


def keep_brief(
    brief: Path | str, *, name: str = "", by: str = "", store: Path | str | None = None
) -> KeptBrief:
    """Keep a brief's file; once more, what has changed in it is a new version of the same brief.

    The same brief is the one of that name whose newest version is by the same person: nobody's work is written over.

    Args:
        brief: the YAML file.
        name: as people call it; the name in the brief when left out.
        by: who; the user of this machine when left out.
        store: file or PostgreSQL address; the usual one when left out.

    Raises:
        InvalidInput: CB-B001 to CB-B017, the file is no brief; CB-E221 to CB-E225, a name or text that isn't taken.
        Conflict: CB-E231, somebody changed it this very moment.
    """
    from cabida.brief.lines import read_lines, read_text

    text = read_text(Path(brief), str(brief))
    said = read_lines(text, str(brief))[0].value
    named = said.get("name") if isinstance(said, dict) else None
    own = named.value if named is not None and isinstance(named.value, str) else ""
    return _kept(name or own or Path(brief).stem, text, by, store)


def keep_decision(
    decision: Decision | Path | str,
    *,
    brief: KeptBrief | None = None,
    by: str = "",
    store: Path | str | None = None,
) -> KeptDecision:
    """Keep a decision; the same one by the same person is kept once.

    Args:
        decision: itself, or the path of its JSON.
        brief: kept brief that it answers.
        by: who; the user of this machine when left out.
        store: file or PostgreSQL address; the usual one when left out.

    Raises:
        InvalidInput: CB-R001 to CB-R007, it is no decision; CB-E223 to CB-E225, it isn't taken.
    """
    from cabida.evidence import shelf
    from cabida.report.store import load, to_json

    text = to_json(decision if isinstance(decision, Decision) else load(decision))
    answers: dict[str, Any] = {} if brief is None else {"brief_id": brief.id, "brief_version": brief.version}
    return shelf.add_decision(text, **answers, by=by, store=store)


def keep_answer(
    brief: Path | str, decision: Decision, *, store: Path | str | None = None
) -> tuple[KeptBrief, KeptDecision]:
    """Keep a brief and what was decided on it; a brief that came from the shelf stays as it is.

    Raises:
        InvalidInput: as :func:`keep_brief` and :func:`keep_decision`.
    """
    from cabida.evidence import shelf
    from cabida.evidence.shelf.named import is_named

    if is_named(brief, "b"):
        kept = shelf.brief(str(brief), store=store)
    else:
        kept = _kept(decision.name, decision.brief_text, "", store)
    return kept, keep_decision(decision, brief=kept, store=store)


def _kept(name: str, text: str, by: str, store: Path | str | None) -> KeptBrief:
    from cabida.evidence import shelf

    who = shelf.actor(by)
    for one in _of_name(name, store):
        if one.changed_by == who:
            return shelf.change_brief(one.id, version=one.version, text=text, by=who, store=store)
    return shelf.add_brief(name, text, by=who, store=store)


def _of_name(name: str, store: Path | str | None) -> Iterator[KeptBrief]:
    """The briefs of exactly this name, the newest first."""
    from cabida.evidence import shelf
    from cabida.evidence.shelf.bounds import MOST_AT_ONCE, plain_name

    plain, after = plain_name(name), ""
    while True:
        page = shelf.briefs(search=plain, after=after, most=MOST_AT_ONCE, store=store)
        yield from (one for one in page.items if one.name == plain)
        if not (after := page.next):
            return
