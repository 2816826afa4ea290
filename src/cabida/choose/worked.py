"""A candidate worked out: what it holds, how fast it is, what it costs, and whether it will do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cabida.brief import Acceptance
from cabida.memory import MediaMemory, ServingMemory, SpeechMemory, TrainingMemory
from cabida.money.prices.tenure import Tenure
from cabida.money.terms import Cost, TrainingUse, Usage
from cabida.plan import Candidate, Caution, Estimate, Load, Measurement
from cabida.quantity import Quantity
from cabida.timing import MediaSpeed, ServingSpeed, SpeechSpeed, TrainingSpeed

if TYPE_CHECKING:
    from cabida.choose.means import Means

Room = ServingMemory | TrainingMemory | MediaMemory | SpeechMemory
Speed = ServingSpeed | TrainingSpeed | MediaSpeed | SpeechSpeed
STATUS_ORDER = ("satisfies", "misses", "ruled_out")


class Companion(Protocol):
    """What works beside a deployment, with a bill, figures and trees of its own: stages before it, a judge after it."""

    @property
    def title(self) -> str:
        """In words, for the option's title."""

    @property
    def command(self) -> str:
        """What starts it; "" where nothing has to be."""

    def metrics(self) -> Mapping[str, Estimate]:
        """Its figures, under metric names."""

    def grown(self, tree: dict[str, Quantity], means: Means) -> dict[str, Quantity]:
        """The cost tree with its bill."""

    def trees(self) -> dict[str, Quantity]:
        """Where its other figures come from."""

    def cautions(self) -> Iterable[Caution]:
        """What to doubt about it."""

    def measurements(self) -> Iterable[Measurement]:
        """What to measure of it before signing."""


@dataclass(frozen=True, slots=True)
class Worked:
    """One candidate with all its figures. ``capacity_requests_per_s`` is one replica's, 0 for training and APIs."""

    candidate: Candidate
    cost: Cost
    usage: Usage | TrainingUse
    acceptance: Acceptance
    acceptance_ratio: float
    tenure: Tenure | None = None
    room: Room | None = None
    speed: Speed | None = None
    load: Load | None = None  # of one replica at the peak
    capacity_requests_per_s: float = 0.0
    wanted_requests_per_s: float = 0.0
    status: str = "satisfies"
    reasons: tuple[str, ...] = ()
    miss_ratio: float = 1.0  # what it would need over what the brief allows, at the limit it misses by most
    replicas_most_count: float = float("inf")  # of what is held there is no more
    beside: Companion | None = None
    wall_s: float = 0.0  # of a run as it is held: on spot, interruptions included
    tie_money: float = 0.0  # by how much an output of what one has may be dearer than the cheapest's

    @property
    def order(self) -> tuple[int, float, float]:
        """Best first: what satisfies, then what misses its limits by least, then the cheapest per accepted output."""
        return STATUS_ORDER.index(self.status), self.miss_ratio, self.cost.per_accepted_money
