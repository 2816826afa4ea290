"""Which options nothing beats on all counts: cost of an output, time, doubt and freedom to change (Pareto front).

The brief's denominator alone ranks; the front says what a reader with other weights would still have to look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, log

from cabida.brief import Brief
from cabida.choose.told import kept_probability
from cabida.choose.worked import Worked
from cabida.timing import ServingSpeed, metric_s
from cabida.timing.intervals import factors as interval_factors

# differences nobody would decide by: counts that differ by less are alike, and the cheapest stands for them
COST_STEP_RATIO, TIME_STEP_RATIO, CHANCE_STEP, FREEDOM_STEP = 0.01, 0.05, 0.05, 0.1


@dataclass(frozen=True, slots=True)
class Counts:
    """What an option is judged by. Smaller is better in all but ``freedom_ratio``; ``None`` = not known.

    Attributes:
        unit_money: one accepted output.
        time_ratio: the time promised over what the brief allows, the tightest objective's; seconds where none is set.
        miss_ratio: chance that an objective is not kept; without one, how far its cost may rise, over its cost.
        freedom_ratio: share of the drawn futures in which it needs no other purchase.
    """

    unit_money: float
    time_ratio: float | None = None
    miss_ratio: float | None = None
    freedom_ratio: float | None = None

    @property
    def steps(self) -> tuple[float | None, ...]:
        """The counts in steps that make a difference, all of them better when smaller."""
        return (
            _logged(self.unit_money, COST_STEP_RATIO),
            _logged(self.time_ratio, TIME_STEP_RATIO),
            None if self.miss_ratio is None else float(floor(self.miss_ratio / CHANCE_STEP + 1e-9)),
            None if self.freedom_ratio is None else -float(floor(self.freedom_ratio / FREEDOM_STEP + 1e-9)),
        )


def _logged(value: float | None, step_ratio: float) -> float | None:
    if value is None:
        return None
    return float(floor(log(value) / log(1 + step_ratio) + 1e-9)) if value > 0 else -inf


def front(points: Sequence[Counts]) -> list[bool]:
    """Whether each is on the front: none is at least as good in all counts, and better in one.

    Options with the same things unknown stand against each other; of those alike in every count the cheapest is on
    it, the first of equals. O(n log n) to sort, and each is held against the front's members alone.
    """
    steps = [one.steps for one in points]
    order = sorted(range(len(points)), key=lambda at: (_sortable(steps[at]), points[at].unit_money, at))
    members: dict[tuple[bool, ...], list[int]] = {}
    for at in order:  # whoever beats it comes before it
        alike = members.setdefault(tuple(value is None for value in steps[at]), [])
        if not any(beats(steps[other], steps[at]) or steps[other] == steps[at] for other in alike):
            alike.append(at)
    found = {at for alike in members.values() for at in alike}
    return [at in found for at in range(len(points))]


def beats(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    """Whether ``one`` is nowhere worse than ``other`` and somewhere better; never where one knows more."""
    if any((a is None) != (b is None) for a, b in zip(one, other, strict=True)):
        return False
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _sortable(steps: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(inf if value is None else value for value in steps)


def counts_of(one: Worked, brief: Brief, freedom_ratio: float | None) -> Counts:
    """What the brief judges an option by: its latency, or when it is done."""
    time, miss = _of_service(one, brief) if isinstance(one.speed, ServingSpeed) else _of_run(one, brief)
    cost = one.cost
    if miss is None and not _promises(brief) and cost.per_accepted_money > 0:
        miss = max(0.0, cost.per_accepted_high / cost.per_accepted_money - 1)
    unit = max(0.0, cost.per_accepted_money - one.tie_money)  # what one has is taken though a little dearer
    return Counts(unit, time, miss, freedom_ratio)


def _promises(brief: Brief) -> bool:
    """Whether the brief sets any time."""
    wanted = brief.objectives
    return bool(any(wanted.latency_s.values()) or wanted.deadline_s or wanted.time_to_target_s)


def _of_service(one: Worked, brief: Brief) -> tuple[float | None, float | None]:
    speed, limits = one.speed, brief.objectives.latency_s
    assert isinstance(speed, ServingSpeed)
    ratios, chances = [], []
    for metric, by_statistic in limits.items():
        for statistic, limit_s in by_statistic.items():
            value_s = metric_s(speed, f"{metric}_s_{statistic}")
            low, high = interval_factors(speed.spread, f"{metric}_s", statistic)
            ratios.append(value_s / limit_s)
            chances.append(kept_probability(value_s, low, high, limit_s))
    if not ratios:
        return None, None  # a batch is done within its window, whatever it runs on
    return max(ratios), 1 - min(chances)


def _of_run(one: Worked, brief: Brief) -> tuple[float | None, float | None]:
    limit_s = brief.objectives.time_to_target_s or brief.objectives.deadline_s
    spread = getattr(one.speed, "spread", {})
    if not one.wall_s:
        return None, None
    if not limit_s:
        return one.wall_s, None
    low, high = spread.get("time_to_target_s", (1.0, 1.0))
    return one.wall_s / limit_s, 1 - kept_probability(one.wall_s, low, high, limit_s)


def on_front(able: Sequence[Worked], brief: Brief, freedom: dict[str, float | None]) -> set[str]:
    """Ids of the options on the front. ``able`` satisfy the brief; ``freedom`` is each one's share of futures by id."""
    marks = front([counts_of(one, brief, freedom.get(one.candidate.id)) for one in able])
    return {one.candidate.id for one, mark in zip(able, marks, strict=True) if mark}
