"""Scheduler settings of the few that count: the chunk of a step and the sequences at once, tried for what they save.

A larger chunk reads a prompt in fewer steps; a smaller one, or fewer sequences, keeps steps short for those who wait
for their next token. Each is tried where it could matter: for a deployment that misses an objective as its engine is
set by default, and for the cheapest of those that keep them, where one replica less would do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cabida import memory
from cabida.choose.ask import Ask, objective_name, shift_of
from cabida.choose.means import Means
from cabida.choose.priced import Runnable, priced, simulated_capacity, spare_count
from cabida.choose.tally import Tally
from cabida.choose.worked import Worked
from cabida.plan import Settings
from cabida.text import number, tr
from cabida.timing.engine.steps import step_model
from cabida.timing.sizing.capacity import Capacity, sustains

FINALISTS = (
    8  # deployments that keep the objectives, the best first, one of each accelerator, count and engine
)
NEAR_MISSES = 4  # deployments that keep them at no rate, the one that could cost least first
LEAST_CHUNK_TOKENS, MOST_CHUNK_TOKENS = 512, 32_768
LEAST_SEQUENCES = 8
SHARES = (2, 4, 8)  # of the engine's own chunk or sequences, larger or smaller
SLOTS = (4, 8, 16)  # requests at once, of an engine that takes one at a time unless told

Tried = tuple[Runnable, Capacity]


def settings_tried(one: Runnable, limited_by: str) -> Iterator[Settings]:
    """Other settings that could help against the objective that is missed, the likeliest first."""
    own, room = one.deployment.settings, one.room
    chunk, sequences = room.max_num_batched_tokens, room.max_num_seqs
    if sequences == 1:
        yield from (replace(own, max_num_seqs=slots) for slots in SLOTS)
        return
    if not limited_by.startswith(("tpot", "itl")):
        larger = [chunk * share for share in SHARES if chunk * share <= MOST_CHUNK_TOKENS]
        yield from (replace(own, max_num_batched_tokens=tokens) for tokens in larger)
    if not limited_by.startswith("ttft"):
        smaller = [chunk // share for share in SHARES if chunk // share >= LEAST_CHUNK_TOKENS]
        yield from (replace(own, max_num_batched_tokens=tokens) for tokens in smaller)
        fewer = [sequences // share for share in (4, 16) if sequences // share >= LEAST_SEQUENCES]
        yield from (replace(own, max_num_seqs=count) for count in fewer)


def set_otherwise(one: Runnable, settings: Settings) -> Runnable | None:
    """The deployment under other settings; ``None`` where it no longer fits."""
    deployment = replace(one.deployment, settings=settings)
    room = memory.serving(deployment)
    if room.verdict == "no" or (one.room.verdict == "fits" and room.verdict != "fits"):
        return None
    return replace(one, deployment=deployment, room=room, steps=step_model(deployment, room))


def with_settings(
    worked: Sequence[Worked], tried: Sequence[Tried], ask: Ask, means: Means, seed: int
) -> list[Worked]:
    """What was worked out, with the finalists under the settings that take fewer replicas, and with near-misses that
    other settings let in.

    Args:
        worked: every option so far.
        tried: every deployment simulated, with the capacity found under the engine's own settings.
        ask: the demand on the service.
        means: offers and terms.
        seed: of the simulations.
    """
    if ask.batch or not ask.objectives:
        return list(worked)
    kept = list(worked)
    for one, found in _finalists(kept, tried, ask):
        better = _fewer_replicas(one, found, _replicas_to_win(one, found, kept, ask), ask, seed)
        if better is not None:
            own = [each for each in kept if each.candidate.deployment is one.deployment]
            made = _priced(*better, one, found, ask, means, seed)
            kept = [each for each in kept if each not in own] + (made or own)
    for one, found in _near_misses(kept, tried, ask, means):
        better = _let_in(one, found, ask, seed)
        kept += _priced(*better, one, found, ask, means, seed) if better is not None else []
    return kept


def _finalists(worked: Sequence[Worked], tried: Sequence[Tried], ask: Ask) -> list[Tried]:
    """The best deployments that keep the objectives and take more than one replica for what an objective limits."""
    orders: dict[int, tuple[int, float, float]] = {}
    for each in worked:
        if each.status != "ruled_out" and each.candidate.deployment is not None:
            key = id(each.candidate.deployment)
            orders[key] = min(orders.get(key, each.order), each.order)
    able = [
        (one, found)
        for one, found in tried
        if id(one.deployment) in orders and found.requests_per_s > 0 and found.limited_by in ask.objectives
    ]
    able.sort(key=lambda pair: (orders[id(pair[0].deployment)], pair[0].deployment.name))
    first: dict[tuple[str, str, int], Tried] = {}
    for one, found in able:
        thing = one.deployment
        if _replicas(one, found, ask) > 1:
            kind = thing.accelerator.id, thing.engine, thing.parallel.accelerators_count
            first.setdefault(kind, (one, found))
    return list(first.values())[:FINALISTS]


def _replicas(one: Runnable, found: Capacity, ask: Ask) -> int:
    return shift_of(ask, found.requests_per_s, one.acceptance_ratio).replicas_count


def _replicas_to_win(one: Runnable, found: Capacity, worked: Sequence[Worked], ask: Ask) -> int:
    """Replicas of ``one`` that would cost less than the best of all so far: at most one less than it takes now."""
    orders = [each.order for each in worked if each.candidate.deployment is one.deployment]
    best, own = min(each.order for each in worked), min(orders)
    now = _replicas(one, found, ask)
    return min(now - 1, math.floor(now * best[2] / own[2])) if best[:2] == own[:2] else now - 1


def _near_misses(worked: Sequence[Worked], tried: Sequence[Tried], ask: Ask, means: Means) -> list[Tried]:
    """Deployments that keep the objectives at no rate and could cost less than all that do, one of an accelerator."""
    able = [one.cost.per_accepted_money for one in worked if one.status == "satisfies"]
    missed = [
        pair
        for pair in tried
        if pair[1].requests_per_s <= 0
        and pair[1].limited_by in ask.objectives
        and (not able or pair[0].least_unit_money < min(able))
    ]
    missed.sort(key=lambda pair: (pair[0].least_unit_money, pair[0].deployment.name))
    found: dict[str, Tried] = {}
    for one, capacity in missed:
        if one.tenures(means, 1 + spare_count(means.brief)):
            found.setdefault(one.deployment.accelerator.id, (one, capacity))
    return list(found.values())[:NEAR_MISSES]


def _fewer_replicas(
    one: Runnable, found: Capacity, most_replicas_count: int, ask: Ask, seed: int
) -> tuple[Runnable, Capacity] | None:
    """The other settings under which the fewest replicas carry the peak, and at most so many; ``None`` without any."""
    best: tuple[Runnable, Capacity] | None = None
    for settings in settings_tried(one, found.limited_by):
        if most_replicas_count < 1:
            break
        wanted = ask.wanted_requests_per_s(one.acceptance_ratio) / most_replicas_count
        other = set_otherwise(one, settings)
        if other is None or not sustains(other.steps, ask.shape, ask.objectives, wanted, seed):
            continue
        capacity = simulated_capacity(other, ask, seed)
        replicas = _replicas(one, capacity, ask)
        if replicas <= most_replicas_count:
            best, most_replicas_count = (other, capacity), replicas - 1
    return best


def _let_in(one: Runnable, found: Capacity, ask: Ask, seed: int) -> tuple[Runnable, Capacity] | None:
    """The other settings under which most is carried, where the engine's own keep the objectives at no rate."""
    best: tuple[Runnable, Capacity] | None = None
    for settings in settings_tried(one, found.limited_by):
        other = set_otherwise(one, settings)
        capacity = simulated_capacity(other, ask, seed) if other is not None else None
        most = best[1].requests_per_s if best else 0.0
        if other is not None and capacity is not None and capacity.requests_per_s > most:
            best = other, capacity
    return best


def _priced(
    other: Runnable, capacity: Capacity, one: Runnable, found: Capacity, ask: Ask, means: Means, seed: int
) -> list[Worked]:
    """The deployment under its settings, billed, with what they change in words."""
    told = settings_told(one, other, found, capacity)
    made = priced(other, ask, means, seed, Tally(), capacity)
    return [replace(each, reasons=(*each.reasons, told)) for each in made]


def settings_told(one: Runnable, other: Runnable, found: Capacity, capacity: Capacity) -> str:
    """What a setting changes: under the engine's own it carries so much, or keeps an objective at no rate."""
    asked, usual = other.deployment.settings, one.deployment.settings
    chunk = asked.max_num_batched_tokens != usual.max_num_batched_tokens
    values = {
        "objective": objective_name(found.limited_by),
        "rate": number(capacity.requests_per_s),
        "own_rate": number(found.requests_per_s),
        "set": number((asked.max_num_batched_tokens if chunk else asked.max_num_seqs) or 0, 15),
        "own": number(one.room.max_num_batched_tokens if chunk else one.room.max_num_seqs, 15),
    }
    what = "chunk" if chunk else "sequences"
    return tr(f"choose.settings.{what}.{'more' if found.requests_per_s > 0 else 'only'}", **values)
