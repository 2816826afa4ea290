"""A candidate worked out: what it holds, how fast it is, what it costs, and whether it will do."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.brief import Acceptance
from cabida.memory import ServingMemory, TrainingMemory
from cabida.money.tenure import Tenure
from cabida.money.terms import Cost, TrainingUse, Usage
from cabida.plan import Candidate, Load
from cabida.timing import ServingSpeed, TrainingSpeed

STATUS_ORDER = ("satisfies", "misses", "ruled_out")


@dataclass(frozen=True, slots=True)
class Worked:
    """One candidate with all its figures. ``capacity_requests_per_s`` is one replica's, 0 for training and APIs."""

    candidate: Candidate
    cost: Cost
    usage: Usage | TrainingUse
    acceptance: Acceptance
    acceptance_ratio: float
    tenure: Tenure | None = None
    room: ServingMemory | TrainingMemory | None = None
    speed: ServingSpeed | TrainingSpeed | None = None
    load: Load | None = None  # of one replica at the peak
    capacity_requests_per_s: float = 0.0
    wanted_requests_per_s: float = 0.0
    status: str = "satisfies"
    reasons: tuple[str, ...] = ()
    miss_ratio: float = 1.0  # what it would need over what the brief allows, at the limit it misses by most
    replicas_most_count: float = float("inf")  # of what is held there is no more
    wall_s: float = 0.0  # of a run as it is held: on spot, interruptions included

    @property
    def order(self) -> tuple[int, float, float]:
        """Best first: what satisfies, then what misses its limits by least, then the cheapest per accepted output."""
        return STATUS_ORDER.index(self.status), self.miss_ratio, self.cost.per_accepted_money
