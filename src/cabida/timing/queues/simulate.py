"""Percentiles under load: draw the requests, run the schedulers, read the clock."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cabida.plan import Deployment, Load
from cabida.timing.engine.fluid import at_batch, closed, flow_of, most_batch, opened
from cabida.timing.engine.steps import StepModel, step_model
from cabida.timing.queues import columns as col
from cabida.timing.queues.arrivals import drawn, streams
from cabida.timing.queues.fleet import Pool, fleet, requests
from cabida.timing.queues.speculative import paces
from cabida.timing.queues.steady import half_width_ratio
from cabida.timing.queues.summary import Outcome, joined, kept_up, summary
from cabida.timing.speed import ServingSpeed
from cabida.timing.spread import spread_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.memory import ServingMemory

    Floats = NDArray[np.float64]

FEWEST_REQUESTS = 400
MOST_REQUESTS = 10_000
ROUNDS_COUNT = 2  # of each client of a closed loop, at least
LONGEST_COUNT = 200_000  # requests of a run, however many clients
FLYING_COUNT = 8  # requests of a run, over those in flight at once
SURE_RATIO = 0.05  # half width of the mean time to first token that ends a run
DOUBLINGS = 3
EVERYTHING = 10**9  # clients when all requests are queued at once


def simulate(
    d: Deployment, m: ServingMemory, load: Load, seed: int = 0, requests_count: int | None = None
) -> ServingSpeed:
    """Simulate one replica under a load, request by request.

    Args:
        d: one replica.
        m: its memory.
        load: lengths and either a concurrency (closed loop) or a request rate (open arrivals), whole replica.
        seed: same seed, same answer.
        requests_count: how many requests the replica serves; chosen from the load when left out.
    """
    return simulate_model(step_model(d, m), load, spread_of(d, load), seed, requests_count)


def simulate_model(
    model: StepModel,
    load: Load,
    spread: dict[str, tuple[float, float]],
    seed: int = 0,
    requests_count: int | None = None,
    limits: Mapping[str, float] | None = None,
) -> ServingSpeed:
    """:func:`simulate` for a step model already built; ``limits`` as of :func:`simulate_pools`."""
    return simulate_pools(
        (Pool(model),), load, spread, seed=seed, requests_count=requests_count, limits=limits
    )


def simulate_pools(
    pools: tuple[Pool, ...],
    load: Load,
    spread: dict[str, tuple[float, float]],
    *,
    routing: str = "",
    seed: int = 0,
    requests_count: int | None = None,
    limits: Mapping[str, float] | None = None,
) -> ServingSpeed:
    """Simulate replicas that share a load, and prompts read by some of them for others.

    Args:
        pools: one pool of replicas; or one that reads prompts and one that writes the answers.
        load: of all replicas together.
        spread: interval factors the speed is to carry.
        routing: how requests are dealt out, a word of ``routing.ROUTES``; "" = as the engine does to its ranks.
        seed: same seed, same answer.
        requests_count: how many requests; when left out, enough for a steady mean (batch means).
        limits: seconds at most by ``ttft_s``, ``tpot_s``, ``e2e_s`` of a request that counts as good.

    Returns:
        The speed of all replicas together. Under open arrivals that outrun them, times to the first token and
        to the end are infinite unless the load says how many prompts there are.
    """
    count = requests_count or load.prompts_count
    chosen = count or _enough(pools, load)
    for _ in range(DOUBLINGS):
        found = _run(pools, load, chosen, seed, routing)
        speed = summary(found, spread, limits)
        if count or load.requests_per_s is None or speed.saturated or chosen >= MOST_REQUESTS:
            break
        if half_width_ratio(found.first_s - found.sent_s) <= SURE_RATIO:
            break
        chosen = min(2 * chosen, MOST_REQUESTS)
    return speed if load.requests_per_s is None else kept_up(speed, found, load, _most(pools, load))


def _most(pools: tuple[Pool, ...], load: Load) -> float:
    """Requests/s of the replicas when full, by the steady state; 0 = not known: where some read for others."""
    if len(pools) > 1 or load.turns_count > 1:
        return 0.0
    flow = flow_of(pools[0].model, load)
    return pools[0].rows_count * float(at_batch(pools[0].model.costs, flow, most_batch(flow)).requests_per_s)


def _run(pools: tuple[Pool, ...], load: Load, count: int, seed: int, routing: str) -> Outcome:
    """Draw requests and serve them all."""
    model = pools[0].model
    clients = _clients(load)
    chance = streams(seed)
    loose = clients > 0 and model.mixed and not load.static_batch
    these = drawn(load, count, chance, prefix_tokens=model.shared_tokens(load), loose=loose)
    asked = requests(
        these.arrival_s, these.input_tokens, these.output_tokens, prefix_tokens=these.prefix_tokens,
        group=these.group, kept=these.kept, adapter=these.adapter, luck=chance.routing.random(len(these.arrival_s)),
        pace_tokens=paces(pools[-1].drafting, these.output_tokens, chance.paces),
    )  # fmt: skip
    ready = fleet(
        pools, routing=routing, static=load.static_batch, groups_count=these.groups_count,
        adapters_count=load.adapters_count, requests_count=count,
    )  # fmt: skip
    rows = ready.serve(asked, clients=min(clients, count), think_s=_think(pools, load, clients))
    measured = load.prompts_count is not None or load.static_batch
    return joined(
        ready,
        rows,
        delay_steps=model.delay_steps(load.harness),
        clients=min(clients, count),
        trim=not measured,
    )


def simulate_trace(
    d: Deployment, m: ServingMemory, arrival_s: Floats, input_tokens: Floats, output_tokens: Floats
) -> ServingSpeed:
    """One replica under the very requests of a trace; all of them count, from an empty start."""
    import numpy as np

    model = step_model(d, m)
    asked = requests(
        np.asarray(arrival_s, float), np.asarray(input_tokens, float), np.asarray(output_tokens, float)
    )
    ready = fleet((Pool(model),), requests_count=len(asked))
    rows = ready.serve(asked)
    found = joined(ready, rows, delay_steps=model.first_steps_count, clients=0, trim=False)
    return summary(found, spread_of(d))


def serve(
    model: StepModel,
    arrival_s: Floats,
    input_tokens: Floats,
    output_tokens: Floats,
    prefix_tokens: float = 0.0,
    clients: int = 0,
    static: bool = False,
    think_s: float = 0.0,
) -> dict[str, Any]:
    """One replica's requests through the scheduler: arrays by request, the histogram of gaps, and totals."""
    import numpy as np

    inputs = np.maximum(np.asarray(input_tokens, float), prefix_tokens + 1.0)  # all begin with the prefix
    shared = prefix_tokens > 0
    asked = requests(
        np.asarray(arrival_s, float), inputs, np.asarray(output_tokens, float), prefix_tokens=prefix_tokens,
        group=0.0 if shared else -1.0,
    )  # fmt: skip
    ready = fleet((Pool(model),), static=static, groups_count=int(shared), requests_count=len(asked))
    rows = ready.serve(asked, clients=min(clients, len(asked)), think_s=think_s)
    return {
        "arrival_s": rows[:, col.SENT], "input_tokens": rows[:, col.INPUT], "output_tokens": rows[:, col.OUTPUT],
        "scheduled_s": rows[:, col.SCHEDULED], "first_s": rows[:, col.FIRST] + model.request_s,
        "last_s": rows[:, col.LAST] + model.request_s, "served": rows[:, col.LAST] >= 0,
        "gaps": ready.arrays["gaps"], "totals": ready.totals,
    }  # fmt: skip


def _clients(load: Load) -> int:
    if load.requests_per_s is not None:
        return 0
    clients = load.concurrency or 1.0
    return EVERYTHING if clients == math.inf else max(1, round(clients))


def _think(pools: tuple[Pool, ...], load: Load, clients: int) -> float:
    """What a client of a closed loop waits, outside the scheduler, from one answer to its next prompt's turn."""
    if not clients or clients >= EVERYTHING:
        return 0.0
    model, writers = pools[0].model, pools[-1]
    state = closed(writers.model.costs, flow_of(writers.model, load), clients / writers.rows_count)
    outside_s = model.request_s + model.scheduler.front_s_per_token * load.input_tokens
    return outside_s + model.delay_steps(load.harness) * float(state.tpot_s)


def _enough(pools: tuple[Pool, ...], load: Load) -> int:
    """Requests for a steady picture: several times what is in flight at once."""
    model, rows = pools[-1].model, pools[-1].rows_count
    flow = flow_of(model, load)
    if load.requests_per_s is not None:
        state, _ = opened(model.costs, flow, load.requests_per_s / rows)
        flying = rows * float(state.batch)
    elif load.concurrency == math.inf:
        flying = rows * float(most_batch(flow))
    else:
        flying = float(_clients(load))
    most = MOST_REQUESTS
    if load.requests_per_s is None and load.concurrency != math.inf:
        most = max(
            most, min(ROUNDS_COUNT * _clients(load), LONGEST_COUNT)
        )  # every client comes again, however many they are
    return int(min(max(FEWEST_REQUESTS, FLYING_COUNT * flying), most))
