"""Encoders on the generator's own cards: memory given up, time taken, more replicas instead of cards of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cabida import memory, money
from cabida.brief.corpus import Retrieval
from cabida.choose.ask import Ask, shift_of, usage_of
from cabida.choose.encoders import encoder_runs, engine_on, services_on
from cabida.choose.front_stages import stages_at
from cabida.choose.fronts import Front
from cabida.choose.means import Means
from cabida.choose.worked import Worked
from cabida.memory.encoders import needed_bytes
from cabida.plan import Deployment
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.fleet import Pool
from cabida.timing.queues.simulate import simulate_model
from cabida.timing.sizing.capacity import slowed
from cabida.timing.spread import spread_of
from cabida.timing.stages.pipeline import joined

TRIED = 3  # generators whose own cards are tried
MORE_REPLICAS = (0, 1, 2)  # beyond those it takes by itself
MOST_RATIO = 0.5  # of a card's time that encoders may take from the generator
SLICED_RATIO = 2.0  # an encoder on a card that decodes all the while gets every other slice: assumed
LEAST_UTILISATION = 0.3
USUAL_UTILISATION = 0.9
SHARING_ENGINES = ("vllm", "sglang")  # whose share of a card is a setting


def sharing(
    worked: Sequence[Worked], base: Front, retrieval: Retrieval, ask: Ask, means: Means, seed: int
) -> Iterator[tuple[Worked, Iterator[tuple[Worked, Front]]]]:
    """The best generators, each with ever more replicas that carry the encoders too; ``speed`` is the generator's.

    ``base`` is the index in host memory that they search.
    """
    able = [
        one for one in worked if one.candidate.deployment and one.load and one.capacity_requests_per_s > 0
    ]
    seen: set[str] = set()
    for one in sorted(able, key=lambda each: each.order):
        deployment = one.candidate.deployment
        if (
            deployment is None
            or deployment.engine not in SHARING_ENGINES
            or not engine_on(deployment.accelerator)
        ):
            continue
        if deployment.name in seen or len(seen) == TRIED:
            continue
        seen.add(deployment.name)
        yield one, _with_replicas(one, deployment, base, retrieval, ask, means, seed)


def _with_replicas(
    one: Worked, deployment: Deployment, base: Front, retrieval: Retrieval, ask: Ask, means: Means, seed: int
) -> Iterator[tuple[Worked, Front]]:
    """One generator with as many replicas as it has, and more."""
    card = deployment.accelerator
    embed, rerank = encoder_runs(retrieval, card)
    held = sum(needed_bytes(run)[0] for run in (embed, rerank) if run is not None)
    utilisation = USUAL_UTILISATION - held / card.usable_bytes
    if utilisation < LEAST_UTILISATION:
        return
    settings = replace(deployment.settings, gpu_memory_utilization=round(utilisation, 3))
    smaller = replace(deployment, settings=settings)
    room = memory.serving(smaller)
    if room.verdict == "no" or one.load is None:
        return
    encoded = services_on(retrieval, card, base.host)
    steps, spread = step_model(smaller, room), spread_of(smaller)
    wanted, spare = ask.wanted_requests_per_s(one.acceptance_ratio), one.candidate.spare_replicas_count
    for more in MORE_REPLICAS:
        replicas = one.candidate.replicas_count + more
        rate = wanted / ask.margin_ratio / replicas
        busy = rate * sum(encoded.values())
        if busy > MOST_RATIO:
            continue
        each = deployment.parallel.accelerators_count
        ways = means.tenures(card, each * (replicas + spare), each)
        tenure = next((way for way in ways if one.tenure and way.id == one.tenure.id), None)
        if tenure is None:
            continue
        load = replace(one.load, requests_per_s=rate)
        speed = simulate_model(slowed(Pool(steps), 1 / (1 - busy)).model, load, spread, seed)
        carried = wanted / replicas
        usage = usage_of(ask, one.acceptance_ratio, shift_of(ask, carried * (1 + 1e-9), one.acceptance_ratio))
        plain = replace(
            one.candidate,
            id=one.candidate.id.split(" + ")[0],
            deployment=smaller,
            replicas_count=replicas,
        )
        alone = replace(
            one,
            candidate=plain,
            tenure=tenure,
            room=room,
            speed=speed,
            load=load,
            usage=usage,
            capacity_requests_per_s=carried,
            cost=money.serving_cost(plain, usage, means.terms, tenure),
            status="satisfies",
            reasons=(),
            miss_ratio=1.0,
        )
        moved = replace(
            base,
            accelerator=card,
            embed=embed,
            rerank=rerank,
            services_s={name: seconds * SLICED_RATIO for name, seconds in encoded.items()}
            | {"searching": base.services_s["searching"]},
            cards_count=replicas,
            use=replace(base.use, tenure=None, cards_count=0, shares={}),
        )
        stages = tuple(stages_at(moved, wanted / ask.margin_ratio))
        latency = joined(stages)
        if latency is not None:
            yield alone, replace(moved, stages=stages, latency=latency)
