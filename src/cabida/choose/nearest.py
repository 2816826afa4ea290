"""When nothing keeps the objectives: what comes nearest, and by how much it misses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cabida.choose.ask import Ask
from cabida.choose.limits import missing, slow_answers
from cabida.choose.means import Means
from cabida.choose.priced import Runnable, priced
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.timing import ServingSpeed
from cabida.timing.engine.fluid import bounds_of
from cabida.timing.engine.steps import StepModel

TRIED = 6  # deployments looked at, the least late first
LOOSENED = (1.1, 1.6, 2.5, 4.0)  # objectives are let go by these factors beyond the least late lone request


def lateness(steps: StepModel, ask: Ask) -> dict[str, tuple[float, float]]:
    """What a lone request takes at best against each objective, seconds: name -> (best, limit)."""
    alone = bounds_of(steps, ask.shape)
    whole_s = alone.ttft_s + ask.shape.output_tokens * alone.tpot_s
    best = {"ttft": alone.ttft_s, "tpot": alone.tpot_s, "itl": alone.tpot_s}
    return {
        name: (best.get(name.partition("_")[0], whole_s), limit) for name, limit in ask.objectives.items()
    }


def nearest_serving(slow: Sequence[Runnable], ask: Ask, means: Means, seed: int) -> Iterator[Worked]:
    """The least late deployments that can be had, worked out under objectives loosened until one keeps them.

    Each says which objective of the brief it misses, and by how much.
    """
    able = [one for one in slow if one.tenures(means)]
    ratios = {id(one): _ratio(one.steps, ask) for one in able}
    able.sort(
        key=lambda one: (ratios[id(one)], one.deployment.parallel.accelerators_count, one.deployment.name)
    )
    for factor in LOOSENED if able else ():
        loosened = max(1.0, ratios[id(able[0])]) * factor
        softer = replace(ask, objectives={name: limit * loosened for name, limit in ask.objectives.items()})
        found = [worked for one in able[:TRIED] for worked in priced(one, softer, means, seed, Tally())]
        if found:
            yield from (_told(worked, ask) for worked in found)
            return


def _ratio(steps: StepModel, ask: Ask) -> float:
    return max((best / limit for best, limit in lateness(steps, ask).values()), default=1.0)


def _told(worked: Worked, ask: Ask) -> Worked:
    """What it misses of the brief's own objectives, beside any other limit it breaks."""
    speed = worked.speed if isinstance(worked.speed, ServingSpeed) else None
    late = missing(worked, slow_answers(speed, ask.objectives)) if speed else worked
    if worked.status == "satisfies":
        return late
    return replace(
        worked, reasons=(*late.reasons, *worked.reasons), miss_ratio=max(late.miss_ratio, worked.miss_ratio)
    )
