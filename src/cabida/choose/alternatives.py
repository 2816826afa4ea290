"""The best option of each other model and weight format, and the acceptance that would make it the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cabida.choose import drivers
from cabida.choose.options import format_of, model_of
from cabida.choose.worked import Worked
from cabida.plan import Flip
from cabida.text import percent, tr

MOST_TOLD = 8
ACCEPTANCE_STEP = 0.002


class Turns(Protocol):
    """What finds the value of an input at which another option costs less than the first one."""

    def turn(
        self, options: Sequence[Worked], driver: str, values: Sequence[float], now: float
    ) -> Turned | None:
        """Where the first of ``values`` is at which it does; ``None`` where none is."""


class Turned(Protocol):
    """Where an input turns the answer."""

    @property
    def at(self) -> float:
        """The value."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A model in a format, and the best option that serves it."""

    model: str
    format: str
    best: Worked


def best_of_formats(worked: Sequence[Worked]) -> list[Kept]:
    """The best option of each model in each format, what satisfies first, then the cheapest; APIs stand apart."""
    best: dict[tuple[str, str], Worked] = {}
    for one in sorted(worked, key=lambda each: (*each.order, each.candidate.id)):
        if one.status != "ruled_out":
            best.setdefault((model_of(one), format_of(one)), one)
    return [Kept(model, form, one) for (model, form), one in best.items()]


def alternative_flips(
    first: Worked,
    worked: Sequence[Worked],
    turning: Turns,
    named: Callable[[Worked], str],
    told: Callable[[float], str],
) -> Iterator[Flip]:
    """One flip for the best option of each other model, and of each other format of the first one's model.

    ``at`` is the acceptance at which it wins, its own rising (or the first one's falling, where that isn't enough).

    Args:
        first: the option that wins.
        worked: everything worked out.
        turning: makes the bills anew.
        named: an option in words.
        told: a unit cost in words.
    """
    mine, models = model_of(first), set()
    for kept in best_of_formats(worked)[: 4 * MOST_TOLD]:
        other = kept.model != mine
        if (
            kept.best is first
            or (kept.model, kept.format) == (mine, format_of(first))
            or kept.model in models
        ):
            continue
        if other:
            models.add(kept.model)  # its formats are told apart only once it is the answer
        if kept.format == "api" and not other:
            continue  # told by flips of its own
        yield _flip("model" if other else "format", kept, first, turning, named, told)


def _flip(
    name: str,
    kept: Kept,
    first: Worked,
    turning: Turns,
    named: Callable[[Worked], str],
    told: Callable[[float], str],
) -> Flip:
    best = kept.best
    values: dict[str, object] = {
        "what": _short(kept.model) if name == "model" else _format_name(kept.format),
        "option": named(best),
        "cost": told(best.cost.per_accepted_money),
        "now": percent(best.acceptance_ratio),
        "winner": _short(model_of(first)) if name == "model" else _format_name(format_of(first)),
        "own": percent(first.acceptance_ratio),
    }
    now, key = best.acceptance_ratio, best.candidate.id
    if best.status != "satisfies":
        why = best.reasons[0] if best.reasons else ""
        return Flip(name, "", now, None, "", tr("choose.alternative.misses", **values, why=why))
    turn = turning.turn([first, best], drivers.acceptance_driver(best), _rising(now), now)
    if turn is not None:
        sentence = tr("choose.alternative.rising", **values, at=percent(turn.at, 3))
        return Flip(name, "", now, turn.at, key, sentence)
    own = first.acceptance_ratio
    turn = turning.turn([first, best], drivers.acceptance_driver(first), _falling(own), own)
    if turn is not None:
        sentence = tr("choose.alternative.falling", **values, at=percent(turn.at, 3))
        return Flip(name, "", own, turn.at, key, sentence)
    return Flip(name, "", now, None, "", tr("choose.alternative.never", **values))


def _rising(now: float) -> list[float]:
    return [
        min(1.0, now + ACCEPTANCE_STEP * step) for step in range(1, int((1 - now) / ACCEPTANCE_STEP + 1.5))
    ]


def _falling(now: float) -> list[float]:
    return [now - ACCEPTANCE_STEP * step for step in range(1, int(now / ACCEPTANCE_STEP))]


def _format_name(form: str) -> str:
    return tr("choose.alternative.api") if form == "api" else form


def _short(model: str) -> str:
    return model.rpartition("/")[2]


def shown_of(worked: Sequence[Worked]) -> frozenset[str]:
    """Ids of what is shown whatever it costs: the best of each model and format that satisfies."""
    return frozenset(
        kept.best.candidate.id for kept in best_of_formats(worked) if kept.best.status == "satisfies"
    )
