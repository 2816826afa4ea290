"""What ``here`` answers: this machine's cards, who uses them, and what fits on them as they are now."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from cabida import facts, memory
from cabida.checks.plan import WRITERS, refused_split
from cabida.checks.software import GGUF_ENGINES
from cabida.errors import InvalidInput
from cabida.evidence.machine import Machine, Roots, look, processor
from cabida.facts.model import Model
from cabida.plan import Deployment, Setup
from cabida.plan.setup import deployment, usual_weights
from cabida.report.beyond_fits import refuse_beyond
from cabida.report.fit_changes import ladder
from cabida.report.fit_limits import family, sold_families
from cabida.report.fit_serving import serving_answer, serving_row
from cabida.report.fit_trial import ORDER, Trial, at_usual_context
from cabida.report.here_cards import card_row, counted, frameworks_row, machine_row
from cabida.report.here_hints import has_engine, hints, notes
from cabida.report.here_pools import Pool, here_setup, pools, share_left
from cabida.report.here_split import over_unequal
from cabida.report.metrics import GIB
from cabida.text import problem, tr

COUNTS = (1, 2, 4, 8, 16)  # cards of a pool that one replica may span
MOST_MODELS = 6  # shown for each pool and number of cards
MOST_OF_A_MAKER = 2
SHARES, SHARES_TRIED = 100, 8  # utilisation is set in hundredths; this many below what is free are tried
ALIKE_PARAMS = 1e9  # models of one shape whose parameters are the same to this are one, under two names


def here(setup: Setup, roots: Roots | None = None) -> dict[str, Any]:
    """This machine, and the answer of ``fit`` for ``setup.model``, or the largest models that fit.

    Raises:
        InvalidInput: the model or an engine is unknown, or nothing was found that could hold a model (CB-E030).
    """
    refuse_beyond(setup.model or "")
    model = facts.model(setup.model) if setup.model is not None else None
    machine = look(roots)
    held = pools(machine)
    found = {
        "machine": machine_row(machine),
        "frameworks": frameworks_row(machine),
        "cards": [card_row(card, machine) for card in machine.cards],
        "pools": [_pool_row(pool) for pool in held],
        "counted": counted(machine),
    }
    if not held:
        raise InvalidInput([problem("CB-E030")])
    if model is None:
        return {
            **found,
            "rows": _largest(setup, machine, held),
            "fit": None,
            "split": None,
            **_told(machine, held, []),
        }
    tried = [one for pool in held for one in _tried(setup, model, machine, pool)]
    if held[0].cards and all(one.trial.verdict == "no" for one in tried):
        tried += _tried_on_processor(setup, model, machine)
    if not tried:
        raise InvalidInput(refused_split(_lone(setup, model, machine, held[0])))
    best = min(
        tried,
        key=lambda one: (
            not one.pool.cards,  # the processor only where there is no card, or as another way
            ORDER[one.trial.verdict],
            one.count if one.trial.verdict != "no" else 0,  # the fewest that hold it, else what comes nearest
            -one.trial.headroom_bytes,
        ),
    )
    return {
        **found,
        "rows": [one.row for one in tried],
        "fit": _answer(best, model) | {"installed": has_engine(machine, best.trial.deployment.engine)},
        "split": over_unequal(setup, model, machine, held),
        **_told(machine, held, [best.trial.deployment]),
    }


@dataclass(frozen=True, slots=True)
class Tried:
    """A model tried on some cards of a pool."""

    pool: Pool
    count: int
    setup: Setup
    trial: Trial
    came_from: str
    share: float | None  # utilisation to set because others hold too much for the one asked or usual

    @property
    def more(self) -> dict[str, Any]:
        """What this machine adds to a row: which cards, what others hold there, how to start."""
        pool = self.pool
        cards = pool.cards if pool.most == 1 else tuple(pool.cards[at] for at in pool.chosen(self.count))
        return {
            "cards": list(cards),
            "used_gib": self.setup.used_bytes / GIB,
            "speed_known": self.pool.known,
            "start_with": "" if self.share is None else f"--gpu-memory-utilization {self.share:g}",
        }

    @property
    def row(self) -> dict[str, Any]:
        """One line, as ``fit`` gives it, and where it runs."""
        return serving_row(self.trial, self.came_from) | self.more


def _answer(best: Tried, model: Model) -> dict[str, Any]:
    """The whole answer of ``fit``, offering nothing that this machine doesn't have."""
    answer = serving_answer(best.setup, model, best.pool.accelerator)
    most = max(best.pool.most, best.count)
    offered = [one for one in answer["changes"] if one["gpus"] <= most]
    if len(offered) < len(answer["changes"]):
        first = next((one for one in offered if one["verdict"] == "fits"), offered[0] if offered else None)
        cure = (
            tr(f"report.fit.cure.{first['verdict']}", flags=first["flags"], costs=first["costs"])
            if first
            else best.trial.memory.cure
        )
        answer |= {"changes": offered, "cure": cure or tr("report.fit.no_change")}
    if window := answer["window"]:
        window["changes"] = [one for one in window["changes"] if one["gpus"] <= most]
    return answer | best.more


def _tried_on_processor(setup: Setup, model: Model, machine: Machine) -> list[Tried]:
    """What is left where no card holds the model: llama.cpp in host memory."""
    alone = processor(machine)
    if alone is None or (setup.engine and facts.engine(setup.engine).id not in GGUF_ENGINES):
        return []
    found = _tried(setup, model, machine, Pool(alone.accelerator, False, (), (0.0,)))
    return [one for one in found if one.row["runs"]]


def _pool_row(pool: Pool) -> dict[str, Any]:
    return {
        "gpu": pool.accelerator.id,
        "cards": list(pool.cards),
        "usable_gib": pool.accelerator.usable_bytes / GIB,
        "used_gib": [used / GIB for used in pool.used_bytes],
        "speed_known": pool.known,
        "linked": pool.linked,
        "together": pool.most,
    }


def _told(machine: Machine, held: list[Pool], chosen: list[Deployment]) -> dict[str, Any]:
    return {"hints": hints(machine, held, chosen), "notes": notes(machine, held)}


def _counts(pool: Pool) -> list[int]:
    return sorted({pool.most, *(count for count in COUNTS if count <= pool.most)})


def _try(setup: Setup, model: Model, machine: Machine, pool: Pool, count: int, weights: str) -> Tried | None:
    """A model on these cards in one format, at the largest share that leaves what comes after the start its room.

    ``None`` when no engine would start with that split.
    """
    made = replace(here_setup(setup, machine, pool, count, weights), weights=weights)
    share = share_left(made, pool.accelerator)
    first: Tried | None = None
    for at in [None] if share is None else [share - step / SHARES for step in range(SHARES_TRIED)]:
        asked = made if at is None else replace(made, gpu_memory_utilization=max(1 / SHARES, round(at, 2)))
        d = deployment(asked, model, pool.accelerator)
        if refused_split(d):
            return None
        trial, came_from, _ = at_usual_context(d)
        one = Tried(
            pool, count, asked, trial, came_from, None if at is None else asked.gpu_memory_utilization
        )
        first = first or one
        if trial.verdict != "tight":
            return one if trial.verdict == "fits" else first
    return first


def _lone(setup: Setup, model: Model, machine: Machine, pool: Pool) -> Deployment:
    made = here_setup(setup, machine, pool, pool.most, usual_weights(setup, model).id)
    return deployment(made, model, pool.accelerator)


def _tried(setup: Setup, model: Model, machine: Machine, pool: Pool) -> list[Tried]:
    """The model on one, two, four ... cards of a pool, as far as a split is lawful."""
    found = []
    for count in _counts(pool):
        one = _once(setup, model, machine, pool, count)
        if one is not None:
            found.append(one)
    return found


def _once(setup: Setup, model: Model, machine: Machine, pool: Pool, count: int) -> Tried | None:
    """The format asked for or published; under llama.cpp, where nobody asked, the widest that fits."""
    weights = usual_weights(setup, model).id
    made = here_setup(setup, machine, pool, count, weights)
    names = [weights]
    if setup.weights is None and made.engine in GGUF_ENGINES:
        names = [one.id for one in ladder(model, pool.accelerator, made)]
    best: Tried | None = None
    for name in names:
        best = _try(setup, model, machine, pool, count, name) or best
        if best is not None and best.trial.verdict == "fits":
            break
    return best


def _largest(setup: Setup, machine: Machine, held: list[Pool]) -> list[dict[str, Any]]:
    """The largest models of each family that fit on one card and on all equal ones, with a usual context.

    Families that somebody sells by the token come first: the others fill up.
    """
    sold = sold_families()
    sized = sorted(
        ((memory.params(one).total_count, one) for one in facts.models().values() if one.task in WRITERS),
        key=lambda row: (family(row[1].id) not in sold, -row[0], row[1].id),
    )
    rows = []
    for pool in held:
        counts = _counts(pool)
        for count in sorted({counts[0], counts[-1]}):
            rows += _largest_on(setup, machine, pool, count, sized)
    return rows


def _largest_on(
    setup: Setup, machine: Machine, pool: Pool, count: int, sized: list[tuple[float, Model]]
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    makers: Counter[str] = Counter()
    shapes: set[tuple[int, int, int]] = set()
    for params, model in sized:
        if len(found) == MOST_MODELS:
            break
        maker = model.id.partition("/")[0].lower()
        shape = (model.hidden_dim_count, model.layers_count, round(params / ALIKE_PARAMS))
        if makers[maker] == MOST_OF_A_MAKER or family(model.id) in found or shape in shapes:
            continue
        if _hopeless(params, pool, count):
            continue
        one = _widest(setup, model, machine, pool, count)
        if one is not None:
            found[family(model.id)] = one.row | {"params": params}
            makers[maker] += 1
            shapes.add(shape)
    return list(found.values())


def _hopeless(params: float, pool: Pool, count: int) -> bool:
    """Whether even two bits a weight would not go in."""
    return params / 4 > pool.accelerator.usable_bytes * count


def _widest(setup: Setup, model: Model, machine: Machine, pool: Pool, count: int) -> Tried | None:
    """The widest format that surely fits, ``None`` when none does or no engine is known to run it here."""
    base = here_setup(setup, machine, pool, count, setup.weights or "bf16")
    names = [setup.weights] if setup.weights else [one.id for one in ladder(model, pool.accelerator, base)]
    for name in names:
        one = _try(setup, model, machine, pool, count, name)
        if one is None:
            return None
        if one.trial.verdict == "fits":
            return one if one.row["runs"] else None
    return None
