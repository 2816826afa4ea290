"""What of this machine can hold a model: equal cards side by side, slices each alone, else the processor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cabida import facts
from cabida.evidence.machine import Card, Machine, Match, match, match_slice, processor
from cabida.facts.mig import FORM
from cabida.facts.model import Accelerator
from cabida.memory import budget as budgets
from cabida.memory.engines import rules
from cabida.memory.lens import PLAIN
from cabida.plan import Setup
from cabida.plan.setup import runs, usual_engine

EQUAL_RATIO = 0.01  # cards of one kind whose memory differs by less are equal
# name of a framework here -> the engine it is; in the order in which one is taken
ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "llama.cpp": "llama.cpp",
    "llama-cpp-python": "llama.cpp",
    "ollama": "ollama",
}
BUILDS = ("vllm", "sglang", "tensorrt-llm")  # whose package version is the engine's own
STEP = 100  # utilisation is set in hundredths


@dataclass(frozen=True, slots=True)
class Pool:
    """Equal accelerators that one replica may span; least used first."""

    accelerator: Accelerator
    known: bool  # whether its speed is known
    cards: tuple[int, ...]  # numbers on this machine
    used_bytes: tuple[float, ...]
    peers: tuple[frozenset[int], ...] = ()  # of each card, those it reaches over NVLink or XGMI

    @property
    def most(self) -> int:
        """How many of them one replica may span: slices never meet."""
        alone = self.accelerator.form_factor in (FORM, "host")
        return 1 if alone else len(self.cards)

    @property
    def linked(self) -> bool:
        """Whether all of them reach each other over a link."""
        return len(self.cards) > 1 and self._together(range(len(self.cards)))

    def chosen(self, count: int) -> tuple[int, ...]:
        """Places of the ``count`` cards one would take: linked ones where there are, the emptiest of those."""
        plain = tuple(range(count))
        if count < 2 or not self.peers:
            return plain
        groups = []
        for at in range(len(self.cards)):
            near = [other for other in range(len(self.cards)) if self.cards[other] in self.peers[at]]
            group = tuple(sorted([at, *near[: count - 1]]))
            if len(group) == count and self._together(group):
                groups.append(group)
        return min(groups, key=lambda group: (max(self.used_bytes[at] for at in group), group), default=plain)

    def _together(self, places: Iterable[int]) -> bool:
        own = {self.cards[at] for at in places}
        return bool(self.peers) and all(self.peers[at] >= own - {self.cards[at]} for at in places)

    def used(self, count: int) -> float:
        """What others hold on the fullest of the ``count`` cards one would take."""
        return max(self.used_bytes[at] for at in self.chosen(count))


def pools(machine: Machine) -> list[Pool]:
    """The pools of a machine, largest card first; the processor alone when there is no card to count."""
    found: list[tuple[Match, Card, float]] = []
    for card in machine.cards:
        if card.mig and not card.integrated:
            cut = ((match_slice(card, one), one.used_bytes) for one in card.slices)
            found += [(one, card, _held(one, used)) for one, used in cut if one is not None]
        elif (whole := match(card)) is not None:
            found.append((whole, card, _held(whole, card.used_bytes)))
    if not found:
        alone = processor(machine)
        return [Pool(alone.accelerator, False, (), (0.0,))] if alone else []
    groups: list[list[tuple[Match, Card, float]]] = []
    for one in found:
        alike = next((group for group in groups if _equal(group[0][0].accelerator, one[0].accelerator)), None)
        if alike is None:
            groups.append([one])
        else:
            alike.append(one)
    made = [_pool(sorted(group, key=lambda one: one[2])) for group in groups]
    return sorted(made, key=lambda pool: -pool.accelerator.usable_bytes)


def _held(found: Match, used_bytes: float | None) -> float:
    """What others hold, never more than there is, whatever a driver says."""
    return min(max(used_bytes or 0.0, 0.0), found.accelerator.usable_bytes)


def _equal(a: Accelerator, b: Accelerator) -> bool:
    return a.id == b.id and abs(a.usable_bytes / b.usable_bytes - 1) <= EQUAL_RATIO


def _pool(group: list[tuple[Match, Card, float]]) -> Pool:
    smallest = min((one.accelerator for one, _, _ in group), key=lambda one: one.usable_bytes)
    return Pool(
        smallest,
        group[0][0].known,
        tuple(card.index for _, card, _ in group),
        tuple(used for _, _, used in group),
        tuple(frozenset(card.peers) for _, card, _ in group)
        if any(card.peers for _, card, _ in group)
        else (),
    )


def installed(machine: Machine, card: Accelerator, weights: str) -> tuple[str, str]:
    """(engine, version) of the first framework here that runs this format on this card; ("", "") when none does."""
    held = facts.weight_format(weights)
    for name, engine in ENGINES.items():
        if name in machine.frameworks and runs(engine, card, held):
            return engine, machine.frameworks[name] if name in BUILDS else ""
    return "", ""


def here_setup(setup: Setup, machine: Machine, pool: Pool, count: int, weights: str) -> Setup:
    """The setup on ``count`` cards of a pool: the engine that is here, and what others hold there."""
    engine, version = setup.engine or "", setup.engine_version
    if not engine:
        engine, own = installed(machine, pool.accelerator, weights)
        version = version or own
    engine = engine or usual_engine(pool.accelerator, facts.weight_format(weights))
    tp, pp = split_of(count)
    held = pool.used(count)
    return replace(setup, engine=engine, engine_version=version, used_bytes=held, gpus=count, tp=tp, pp=pp)


def split_of(count: int) -> tuple[int | None, int | None]:
    """(tensor, stages): by tensor as far as two divides it, the rest by stage (6 = 2 x 3); left open for 1, 2, 4 ..."""
    even = count & -count
    return (None, None) if even == count else (even, count // even)


def share_left(setup: Setup, card: Accelerator) -> float | None:
    """The utilisation to set because others hold too much for the one asked or usual; ``None`` when it will do.

    An engine that takes a share of the total refuses to start when less than that is free.
    vLLM compares what is free at its start with its share of the total: request_memory in vllm/v1/worker/utils.py.
    """
    row = rules(setup.engine or "vllm", setup.engine_version)
    if row.budget != "share" or not setup.used_bytes:
        return None
    wanted = setup.gpu_memory_utilization or row.utilisation_ratio
    left = 1 - setup.used_bytes / float(budgets.visible(card, PLAIN))
    return max(0.01, int(left * STEP) / STEP) if left < wanted else None
