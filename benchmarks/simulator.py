"""How many requests the serving simulation runs through per second of one core, every feature on.

    python benchmarks/simulator.py [--json] [--requests N] [--rival]

The case: Poisson bursts, log-normal lengths, chunked prefill, a shared prefix, a cache small enough to
preempt, a sliding window and routed experts. ``--rival`` runs a plain M/M/1 queue in ciw for the ratio.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import numpy as np

from cabida.timing import queue
from cabida.timing.simulate import serve
from cabida.timing.step_table import tabulated
from cabida.timing.steps import StepModel

MODEL = StepModel(
    launch_s=2e-3, sequence_s=1e-5, head_read_s=1e-4, head_s_per_token=1e-6, context_s_per_token=3e-8,
    window_s_per_token=2e-8, state_s_per_sequence=1e-5, attended_s_per_token=1e-9, stages_count=1.0,
    prompt_launch_s=1e-2, host_s=1e-4, request_s=1e-2, first_steps_count=1.0, harness_steps_count=0.0,
    window_tokens=1024.0, ranks_count=1, budget_tokens=2048.0, sequences_most_count=256, kv_tokens=28_000.0,
    block_tokens=16.0, reserve_ratio=0.0, mixed=True,
    table=tabulated(2e-3, 8e-6, 2e-2, 1.5e-5, 1 - 8 / 128, 1.0, 2e-6),
)  # fmt: skip
PREFIX_TOKENS = 256.0


def drawn(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrivals and lengths of the stated case."""
    rng = np.random.default_rng(0)
    prompts = PREFIX_TOKENS + np.rint(rng.lognormal(6.2, 0.7, count)).clip(16, 4000)
    answers = np.rint(rng.lognormal(5.0, 0.7, count)).clip(1, 1500)
    return np.cumsum(rng.gamma(0.5, 2.0 / 8.0, count)), prompts, answers


def rival(count: int) -> float:
    """Customers per second of an M/M/1 queue in ciw, the plainest case it has."""
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(0.7)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[1],
    )
    simulation = ciw.Simulation(network)
    begun = time.process_time()
    simulation.simulate_until_max_customers(count, method="Complete")
    return count / (time.process_time() - begun)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--rival", action="store_true")
    options = parser.parse_args()
    serve(replace(MODEL, mixed=True), *drawn(100), PREFIX_TOKENS)  # compile
    case = drawn(options.requests)
    best = 0.0
    for _ in range(3):
        begun = time.process_time()
        found = serve(MODEL, *case, PREFIX_TOKENS)
        best = max(best, options.requests / (time.process_time() - begun))
    totals = found["totals"]
    result = {
        "requests_per_s": round(best),
        "requests": options.requests,
        "engine_steps": int(totals[queue.STEPS]),
        "preemptions": int(totals[queue.PREEMPTIONS]),
        "batch_mean": round(float(totals[queue.SEQUENCE_S] / totals[queue.BUSY_S]), 1),
        "compiled": hasattr(queue.run, "py_func"),
    }
    if options.rival:
        result["ciw_mm1_customers_per_s"] = round(rival(20_000))
    print(
        json.dumps(result) if options.json else "\n".join(f"{key}: {value}" for key, value in result.items())
    )


if __name__ == "__main__":
    main()
