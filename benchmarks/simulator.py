"""How many requests the serving simulation runs through per second of one core, every feature on.

    python benchmarks/simulator.py [--json] [--requests N] [--rival]

The case, "everything": four replicas behind a router that knows prefixes, bursts, log-normal lengths, chunked
prompts, twenty shared prefixes that come and go, a cache small enough to preempt, a sliding window, routed
experts, three drafted tokens per step, eight adapters in four slots; served stretch by stretch as a trace is.
"handed over" reads prompts on two of them and writes answers on the others. ``--rival`` runs a plain M/M/1
queue in ciw, and the same queue here, for the ratio. vidur's figure is the one measured for it: about 590
requests/s with one replica, 256 answer tokens and its predictions cached.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import replace

import numpy as np

from cabida.timing.engine.step_table import bare_table
from cabida.timing.engine.steps import StepModel
from cabida.timing.queues import columns
from cabida.timing.queues.fleet import Adapters, Fleet, Pool, fleet, requests
from cabida.timing.queues.speculative import Drafting, one_layer, paces

MODEL = StepModel(
    launch_s=2e-3, sequence_s=1e-5, head_read_s=2e-4, head_s_per_token=1e-7, context_s_per_token=3e-8,
    window_s_per_token=2e-8, state_s_per_sequence=1e-5, attended_s_per_token=1e-9, stages_count=1.0,
    prompt_launch_s=1e-2, host_s=1e-4, request_s=1e-2, first_steps_count=1.0, harness_steps_count=0.0,
    window_tokens=1024.0, ranks_count=1, budget_tokens=2048.0, sequences_most_count=256, kv_tokens=28_000.0,
    block_tokens=16.0, reserve_ratio=0.0, mixed=True, table=bare_table(2e-3, 8e-6, 2e-2, 1 - 8 / 128),
)  # fmt: skip
SMALL = one_layer(MODEL, 48)
DRAFTING = Drafting(3, 0.7, 3, 0.0, SMALL.constants, SMALL.table)
ADAPTERS = Adapters(4, 2e-4, 1e-5, 5e-3)
PREFIX_TOKENS, PREFIXES_COUNT, ADAPTERS_COUNT = 256.0, 20, 8
REPLICAS_COUNT = 4
RATES = {
    False: 32.0,
    True: 16.0,
}  # requests per second, by whether prompts are handed over: both below saturation
STRETCH_COUNT = 10_000
VIDUR_REQUESTS_PER_S = 590


def drawn(count: int, seed: int, begin_s: float, rate: float) -> np.ndarray:
    """Requests of the stated case."""
    rng = np.random.default_rng(seed)
    prompts = PREFIX_TOKENS + np.rint(rng.lognormal(6.2, 0.7, count)).clip(16, 4000)
    answers = np.rint(rng.lognormal(5.0, 0.7, count)).clip(1, 1500)
    return requests(
        begin_s + np.cumsum(rng.gamma(0.5, 2.0 / rate, count)), prompts, answers,
        prefix_tokens=PREFIX_TOKENS, group=rng.integers(0, PREFIXES_COUNT, count).astype(float),
        adapter=rng.integers(0, ADAPTERS_COUNT, count).astype(float), luck=rng.random(count),
        pace_tokens=paces(DRAFTING, answers, rng),
    )  # fmt: skip


def pools(*, handed: bool) -> tuple[Pool, ...]:
    """The replicas of the case."""
    whole = Pool(MODEL, REPLICAS_COUNT, drafting=DRAFTING, adapters=ADAPTERS)
    if not handed:
        return (whole,)
    half = replace(whole, replicas_count=REPLICAS_COUNT // 2)
    return replace(half, role=columns.READS, hand_s=2e-3, hand_s_per_token=1e-6), replace(
        half, role=columns.WRITES
    )


def ready(*, handed: bool) -> Fleet:
    """The case set up."""
    return fleet(
        pools(handed=handed),
        routing="prefix-aware",
        groups_count=PREFIXES_COUNT,
        adapters_count=ADAPTERS_COUNT,
    )


def serve(count: int, *, handed: bool) -> tuple[float, np.ndarray]:
    """Requests per second of processor time, and the totals; drawing them is part of the time."""
    here = ready(handed=handed)
    begun, at_s = time.process_time(), 0.0
    for stretch in range(0, count, STRETCH_COUNT):
        asked = drawn(min(STRETCH_COUNT, count - stretch), stretch, at_s, RATES[handed])
        at_s = float(asked[-1, columns.SENT])
        here.serve(asked, more=stretch + STRETCH_COUNT < count)
    return count / (time.process_time() - begun), here.totals


def rival(count: int) -> tuple[float, float]:
    """Customers per second of an M/M/1 queue: in ciw, the plainest case it has, and here."""
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(0.7)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[1],
    )
    simulation = ciw.Simulation(network)
    begun = time.process_time()
    simulation.simulate_until_max_customers(count, method="Complete")
    theirs = count / (time.process_time() - begun)
    rng = np.random.default_rng(0)
    one = replace(MODEL, sequences_most_count=1, budget_tokens=1e9, kv_tokens=1e12)
    asked = requests(
        np.cumsum(rng.exponential(1 / 0.7, count)), rng.exponential(1000.0, count), np.ones(count)
    )
    begun = time.process_time()
    fleet((Pool(one),)).serve(asked)
    return theirs, count / (time.process_time() - begun)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--rival", action="store_true")
    options = parser.parse_args()
    for handed in (False, True):
        ready(handed=handed).serve(drawn(100, 0, 0.0, 1.0))  # compile
    rate, totals = max((serve(options.requests, handed=False) for _ in range(3)), key=lambda one: one[0])
    before_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    serve(2 * options.requests, handed=False)
    after_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {
        "case": "everything",
        "requests_per_s": round(rate),
        "requests_per_s_handed_over": round(serve(options.requests, handed=True)[0]),
        "requests": options.requests,
        "engine_steps": int(totals[columns.STEPS]),
        "preemptions": int(totals[columns.PREEMPTIONS]),
        "adapters_loaded": int(totals[columns.LOADED]),
        "prefix_tokens_found": int(totals[columns.HIT_TOKENS]),
        "batch_mean": round(float(totals[columns.SEQUENCE_S] / totals[columns.BUSY_S]), 1),
        "memory_mib": round(before_mib),
        "memory_mib_at_twice_the_length": round(after_mib),
        "vidur_requests_per_s": VIDUR_REQUESTS_PER_S,
    }
    if options.rival:
        theirs, ours = rival(20_000)
        result |= {"ciw_mm1_customers_per_s": round(theirs), "mm1_customers_per_s": round(ours)}
    print(
        json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items())
    )


if __name__ == "__main__":
    main()
