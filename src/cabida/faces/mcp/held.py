"""Decisions that a server holds while it runs, each for the one who asked for it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cabida.plan import Decision

MOST_HELD = 64
LETTERS = 12


class Held:
    """The last decisions by person and id; the id is of their content, so the same decision has the same."""

    def __init__(self) -> None:
        self._decisions: OrderedDict[tuple[str, str], Decision] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, person: str, decision: Decision) -> str:
        """Hold a decision; its id."""
        from cabida.report.store import to_json

        id = "h-" + hashlib.sha256(to_json(decision).encode()).hexdigest()[:LETTERS]
        with self._lock:
            self._decisions[person, id] = decision
            self._decisions.move_to_end((person, id))
            while len(self._decisions) > MOST_HELD:
                self._decisions.popitem(last=False)
        return id

    def get(self, person: str, id: str) -> Decision | None:
        """The decision of that id, for the person who has it."""
        with self._lock:
            return self._decisions.get((person, id))

    def of(self, person: str) -> dict[str, Decision]:
        """Those of a person by id, the newest first."""
        with self._lock:
            mine = [(id, one) for (who, id), one in self._decisions.items() if who == person]
        return dict(reversed(mine))
