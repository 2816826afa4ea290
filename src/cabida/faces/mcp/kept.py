"""What the shelf of the store keeps, as tools and resources ask for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cabida.errors import CabidaError, InvalidInput
from cabida.faces.mcp.args import LONG_CHARS, Arg
from cabida.faces.mcp.tool import Asked, Told, Tool
from cabida.text import problem, tr

if TYPE_CHECKING:
    from cabida.evidence.shelf.nouns import KeptBrief

MOST_ROWS = 50
MOST = Arg("most", "integer", low=1, high=MOST_ROWS)
LIST = (Arg("search"), MOST, Arg("after"))


def brief_text(store: str | None, id: str) -> str:
    """The newest text of a brief that is kept.

    Raises:
        InvalidInput: CB-O008, there is none of that id.
    """
    from cabida.evidence import shelf

    with suppress(CabidaError):
        found = shelf.brief(id, store=store)
        if not found.gone:
            return found.text
    raise InvalidInput([problem("CB-O008", id=id[:80])])


def decision_text(store: str | None, id: str) -> str | None:
    """The JSON of a decision that is kept; ``None`` = there is none of that id."""
    from cabida.evidence import shelf

    with suppress(CabidaError):
        return None if shelf.kept_decision(id, store=store).gone else shelf.decision_text(id, store=store)
    return None


def _listed(asked: Asked, page: Any, left_out: tuple[str, ...]) -> Told:
    rows = [
        {name: value for name, value in asdict(one).items() if name not in left_out} for one in page.items
    ]
    data = {"rows": rows, "rows_count": len(rows), "next": page.next}
    return Told(data, tr("mcp.say.rows", count=len(rows)))


def _briefs(asked: Asked) -> Told:
    from cabida.evidence import shelf

    page = shelf.briefs(**_page(asked), store=asked.store)
    return _listed(asked, page, ("text", "gone", "made_at", "made_by"))


def _page(asked: Asked) -> dict[str, Any]:
    return {"search": asked.get("search", ""), "after": asked.get("after", ""), "most": asked.get("most", 20)}


def _decisions(asked: Asked) -> Told:
    from cabida.evidence import shelf

    page = shelf.kept_decisions(**_page(asked), store=asked.store)
    told = _listed(asked, page, ("gone", "digest", "exit_code"))
    held = asked.place.held.of(asked.person)
    now = [{"id": id, "name": one.name, "as_of": one.as_of, "answer": one.answer} for id, one in held.items()]
    return Told(told.data | {"held": now}, told.say)


def _brief(asked: Asked) -> Told:
    from cabida.evidence import shelf

    found = shelf.brief(asked.said["id"], asked.get("version"), store=asked.store)
    return _told(found, tr("mcp.say.brief", name=found.name, version=found.version))


def _told(found: KeptBrief, say: str) -> Told:
    return Told(asdict(found), say, links={f"cabida://briefs/{found.id}": found.name})


def _keep(asked: Asked) -> Told:
    from cabida.evidence import shelf
    from cabida.faces.mcp.given import brief_of

    text, _ = brief_of(asked)
    by, store = asked.person, asked.store
    if "id" not in asked.said:
        made = shelf.add_brief(asked.get("name", "brief"), text, by=by, store=store)
    else:
        made = shelf.change_brief(
            asked.said["id"], version=asked.get("version", 0), name=asked.get("name"), text=text, by=by, store=store
        )  # fmt: skip
    data = {"id": made.id, "name": made.name, "version": made.version}
    return Told(data, tr("mcp.say.kept", id=made.id), links={f"cabida://briefs/{made.id}": made.name})


VERSION = Arg("version", "integer", low=0, high=1_000_000)
TOOLS = (
    Tool("briefs", _briefs, LIST, {"rows": "array", "next": "string"}, ("briefs",)),
    Tool(
        "brief", _brief, (Arg("id", needed=True, said="brief_id"), VERSION),
        {"id": "string", "text": "string", "version": "integer"},
    ),
    Tool(
        "brief_keep", _keep,
        (
            Arg("brief", needed=True, most=LONG_CHARS), Arg("name", said="brief_name"), Arg("id", said="brief_id"),
            VERSION,
        ),
        {"id": "string", "version": "integer"}, ("keep_brief",), changes=True,
    ),
    Tool("decisions", _decisions, LIST, {"rows": "array", "held": "array", "next": "string"}, ("decisions",)),
)  # fmt: skip
