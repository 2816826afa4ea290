"""A brief on the desk: its text, the form made from it, and what is said of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cabida.app.writing import Written, looked_over, measured, too_much, tree_or_nothing
from cabida.brief.fields import WHOLE_BRIEF
from cabida.brief.form import same, tree_of
from cabida.brief.placing import placed
from cabida.errors import InvalidInput, Problem
from cabida.faces.web.pages.briefs_form import Form, form_of
from cabida.faces.web.pages.briefs_posted import Posted, tree_from
from cabida.text import number, tr

LONGEST_NAME = 120


@dataclass(slots=True)
class Desk:
    """What a page of the form shows.

    Attributes:
        text: the YAML; ``base`` the text that the form was made from, which differs while the YAML can't be read.
        tree: what the form has in its fields.
        looked: what is wrong, missing, taken for granted.
        id, version: of the kept brief that it began as; "" and 0 of a new one.
        notes: what happened that people should know; ``saved`` where it was saved just now.
        problems: of what was asked, beside those of the brief.
        refused: whether a decision was asked for that can't be made yet.
        readable: whether the text can be read.
    """

    text: str
    base: str
    tree: dict[str, Any]
    looked: Written
    form: Form
    id: str = ""
    version: int = 0
    notes: list[str] = field(default_factory=list)
    saved: str = ""
    problems: list[Problem] = field(default_factory=list)
    refused: bool = False
    readable: bool = True

    @property
    def action(self) -> str:
        """Where the form goes."""
        return f"/briefs/{self.id}" if self.id else "/briefs/new"

    @property
    def title(self) -> str:
        """The brief's name, or that it is new."""
        name = self.tree.get("name")
        return name if isinstance(name, str) and name else tr("pages_brief.new")

    @property
    def state(self) -> str:
        """One sentence on how far it is."""
        looked = self.looked
        if looked.faults:
            return tr("pages_brief.mend", count=len(looked.faults))
        if looked.blocking:
            return tr("pages_brief.find_out", count=len(looked.blocking))
        if looked.missing:
            return tr("pages_brief.ready_assumed", count=len(looked.missing))
        return tr("pages_brief.ready")

    @property
    def progress(self) -> str:
        """How many questions have an answer."""
        form = self.form
        key = "pages_brief.answered_unknown" if form.unknown_count else "pages_brief.answered"
        return tr(key, count=form.answered_count, of=form.asked_count, unknown=form.unknown_count)


def named(desk: Desk) -> str:
    """The name under which a brief is kept."""
    name = tree_or_nothing(desk.text).get("name")
    return " ".join(name.split())[:LONGEST_NAME] if isinstance(name, str) and name.split() else "brief"


def desk_of(text: str, here: bool, *, id: str = "", version: int = 0) -> Desk:
    """A text on the desk, and the form that shows it."""
    plain = text.replace("\r\n", "\n")
    readable = _readable(plain)
    looked = looked_over(plain, here=here)
    tree = tree_or_nothing(plain)
    return Desk(plain, plain, tree, looked, form_of(tree, looked), id, version, readable=readable)


def _readable(text: str) -> bool:
    if too_much(text):
        return False
    try:
        tree_of(text)
    except InvalidInput:
        return False
    return True


def worked_on(posted: Posted, here: bool) -> Desk:
    """What was sent, form and text put together.

    What was changed in the form since it was made from ``base`` goes into the text, which may have been changed too.
    Where both changed the same thing, the form holds. A text that can't be read stays as it is, and the form with it.
    """
    text, base = _text(posted, "yaml"), _text(posted, "base")
    id, version = _text(posted, "brief")[:60], _text(posted, "version")
    number_of = int(version) if version.isdecimal() and len(version) < 9 else 0
    before = tree_or_nothing(base)
    do = _text(posted, "do")
    without = do.removeprefix("remove:") if do.startswith("remove:") else ""
    wanted = tree_from(posted, before, without)
    if not _readable(text):
        looked = looked_over(text, here=here)
        desk = Desk(text, base, wanted, looked, form_of(wanted, looked), id, number_of, readable=False)
        desk.notes.append(tr("pages_brief.unread"))
        return desk
    merged = wanted if text == base else _together(before, wanted, tree_of(text))
    kept_comments = True
    if not same(merged, tree_of(text), WHOLE_BRIEF):
        text, kept_comments = placed(text, merged)
    desk = desk_of(text, here, id=id, version=number_of)
    if not kept_comments:
        desk.notes.append(tr("pages_brief.rewritten"))
    return desk


def _text(posted: Posted, name: str) -> str:
    return (posted.get(name) or [""])[-1].replace("\r\n", "\n")


def _together(before: Any, mine: Any, theirs: Any) -> Any:
    """Three ways of one tree: what ``mine`` changed, and what ``theirs`` did where mine changed nothing."""
    if mine == before:
        return theirs
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        old = before if isinstance(before, Mapping) else {}
        keys = [*theirs, *(key for key in mine if key not in theirs)]
        found = {key: _together(old.get(key), mine.get(key), theirs.get(key)) for key in keys}
        return {key: value for key, value in found.items() if value is not None}
    return mine


def filled_from_log(desk: Desk, name: str, content: bytes, here: bool) -> Desk:
    """The desk with the traffic that a log or a trace shows in place of what was said of it.

    Raises:
        InvalidInput: CB-I001 to CB-I025, CB-B039: it can't be read.
    """
    from pathlib import Path
    from tempfile import TemporaryDirectory

    traffic = desk.tree.get("traffic") or {}
    profile = str((traffic.get("requests_per_s") or {}).get("profile") or traffic.get("profile") or "")
    zone = profile.partition(" ")[2] if "," not in profile else ""
    with TemporaryDirectory() as folder:
        file = Path(folder) / (name or "log")
        file.write_bytes(content)
        try:
            found = measured(file, zone)
        except InvalidInput as error:  # a path of this machine is nobody's business
            raise InvalidInput([_without_folder(one, folder) for one in error.problems]) from None
    said = found.traffic
    kept = {
        key: one for key, one in traffic.items() if key not in ("requests_per_day", "concurrency", "trace")
    }
    rate = kept.get("requests_per_s") or {}
    if "profile" in rate and "profile" not in said:  # a trace says nothing of the hours
        said = {**said, "requests_per_s": {**said.get("requests_per_s", {}), "profile": rate["profile"]}}
    text, comments = placed(desk.text, {**desk.tree, "traffic": {**kept, **said}})
    done = desk_of(text, here, id=desk.id, version=desk.version)
    done.notes.append(tr("pages_brief.log_done", file=name, count=number(found.requests_count, 6)))
    if len(found.models) > 1:
        done.notes.append(tr("pages_brief.log_models", count=len(found.models), model=found.models[0]))
    done.notes += [one.replace(f"{folder}/", "") for one in found.notes]
    if not comments:
        done.notes.append(tr("pages_brief.rewritten"))
    return done


def _without_folder(one: Problem, folder: str) -> Problem:
    def plain(text: str) -> str:
        return text.replace(f"{folder}/", "")

    return Problem(one.code, plain(one.what), plain(one.cure), plain(one.why), plain(one.file), one.line)
