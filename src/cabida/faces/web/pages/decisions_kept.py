"""Decisions as pages need them: read once and kept while there is room, what is made of them kept beside them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from cabida.errors import InvalidInput, NotThere
from cabida.faces.web.telling import NotFound
from cabida.text import locale, problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from cabida.evidence.shelf.nouns import KeptDecision
    from cabida.plan import Decision, Option

MOST_KEPT = 12  # decisions read
MOST_KEPT_CHARS = 12_000_000  # of their texts together; as objects they take some three times as much
MOST_MADE = 32  # parts of pages made of one decision
MOST_MOVED = 3  # what-ifs of one decision, each as large as itself
MOST_CHANGES = 60  # inputs set at once
LONGEST_NAME = 200
SET = "set."  # before the name of an input in an address: set.price_money_per_hour=2.5
Made = TypeVar("Made")


@dataclass(slots=True)
class Kept:
    """A decision that was read, and what was made of it; it never changes, so neither do they."""

    id: str
    decision: Decision
    chars: int
    made: OrderedDict[Any, tuple[Any]] = field(default_factory=OrderedDict)
    moved: OrderedDict[Any, tuple[Any]] = field(default_factory=OrderedDict)
    lock: Any = field(default_factory=Lock)

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, made once for each ``key`` in the language in use; the oldest is forgotten first."""
        return self._once(self.made, MOST_MADE, (locale(), key), make)

    def once_moved(self, changes: Mapping[str, float], make: Callable[[], Decision]) -> Decision:
        """The decision with these inputs set, as ``make`` works it out; only the last few are kept."""
        return self._once(self.moved, MOST_MOVED, tuple(sorted(changes.items())), make)

    def _once(
        self, room: OrderedDict[Any, tuple[Any]], most: int, key: Any, make: Callable[[], Made]
    ) -> Made:
        with self.lock:
            if (known := room.get(key)) is not None:
                room.move_to_end(key)
                found: Made = known[0]
                return found
        made = make()
        with self.lock:
            room[key] = (made,)
            while len(room) > most:
                room.popitem(last=False)
        return made


class Shelved:
    """Decisions read from the shelf, the ones asked for last, bounded in number and size."""

    def __init__(self, most: int = MOST_KEPT, most_chars: int = MOST_KEPT_CHARS) -> None:
        self._most, self._most_chars = most, most_chars
        self._known: OrderedDict[str, Kept] = OrderedDict()
        self._lock = Lock()

    def read(self, id: str, text_of: Callable[[], str]) -> Kept:
        """The decision ``id``, from ``text_of`` where it isn't known yet."""
        with self._lock:
            if (known := self._known.get(id)) is not None:
                self._known.move_to_end(id)
                return known
        from cabida.report.store import from_json

        text = text_of()
        fresh = Kept(id, from_json(text), len(text))
        with self._lock:
            self._known[id] = fresh
            while len(self._known) > 1 and (
                len(self._known) > self._most
                or sum(one.chars for one in self._known.values()) > self._most_chars
            ):
                self._known.popitem(last=False)
        return fresh


def store_of(request: Request) -> str | None:
    """Where the server keeps things; ``None`` = where everybody's commands do."""
    return request.app.state.settings.store or None


def about(request: Request, id: str) -> KeptDecision:
    """What the shelf says about a decision.

    Raises:
        NotThere: CB-E238, there is none of that id, or it was dropped.
    """
    from cabida.evidence import shelf

    found = shelf.kept_decision(id[:LONGEST_NAME], store=store_of(request))
    if found.gone:
        raise NotThere([problem("CB-E238", id=id[:40])])
    return found


def read(request: Request, about: KeptDecision) -> Kept:
    """The content of a decision, which many may keep and which is read once."""
    from cabida.evidence import shelf

    store = store_of(request)
    return _shelved(request).read(about.digest, lambda: shelf.decision_text(about.id, store=store))


def asked(request: Request) -> tuple[KeptDecision, Kept]:
    """The decision that the address names, and what the shelf says about it."""
    found = about(request, str(request.path_params["id"]))
    return found, read(request, found)


def _shelved(request: Request) -> Shelved:
    state = request.app.state
    if not hasattr(state, "shelved_decisions"):
        state.shelved_decisions = Shelved()
    found: Shelved = state.shelved_decisions
    return found


def option_of(decision: Decision, rank: str) -> Option:
    """The option of that rank.

    Raises:
        NotFound: there is none.
    """
    found = next((one for one in decision.options if str(one.rank) == rank), None)
    if found is None:
        known = ", ".join(str(one.rank) for one in decision.options[:40]) or "–"
        raise NotFound([problem("CB-S081", name=decision.name[:60], id=rank[:20], known=known)])
    return found


def changes_of(request: Request) -> dict[str, float]:
    """The inputs that an address sets, ``set.NAME=VALUE``; what is left empty is not set.

    Raises:
        InvalidInput: a value is no number (CB-S060), or too many are set (CB-S082).
    """
    found: dict[str, float] = {}
    problems = []
    for key, value in request.query_params.multi_items():
        name, told = key.removeprefix(SET)[:LONGEST_NAME], value.strip()[:40]
        if key.startswith(SET) and told:
            try:
                found[name] = float(told.replace(",", "."))
            except ValueError:
                problems.append(problem("CB-S060", name=name, text=told))
    if len(found) > MOST_CHANGES:
        problems.append(problem("CB-S082", count=len(found), most=MOST_CHANGES))
    if problems:
        raise InvalidInput(problems)
    return found


def changed(kept: Kept, changes: Mapping[str, float]) -> Decision:
    """The decision with these inputs set. InvalidInput: see :func:`cabida.app.what_if`."""
    from cabida.app import what_if
    from cabida.choose.recompute import tidy

    def make() -> Decision:
        ready = kept.once("tidy", lambda: replace(kept.decision, trees=tidy(kept.decision.trees)))
        found = what_if(ready, changes)
        return kept.decision if found is ready else found

    return kept.once_moved(changes, make) if changes else kept.decision
