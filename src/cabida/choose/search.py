"""What a search over deployments or runs produced."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.choose.ask import Ask
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked


@dataclass(frozen=True, slots=True)
class Search:
    """Candidates worked out, the others counted by why they fell, and the demand on a service."""

    worked: list[Worked]
    tally: Tally
    ask: Ask | None = None  # of a service; a run has none
