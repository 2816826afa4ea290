"""How long a decision takes, beside the search that simulates everything and beside a multiplication.

    python benchmarks/recommend.py [--json] [--exhaustive]

Cold is a new process with the compiled simulation in its cache; warm is the same process again. The rivals run in
the same measurement: the exhaustive search over the same brief (``--exhaustive``; minutes), and for the sweep of
fits the naive formula, bits per weight times parameters, that knows of no cache, engine or split.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path

from cabida import app, facts, memory
from cabida.brief import complete, read_brief
from cabida.choose import decide
from cabida.plan import Deployment, Parallel

ROOT = Path(__file__).parents[1]
BRIEF = ROOT / "examples/chat-llama-70b.yaml"
AS_OF = "2026-11-30"
FITS = 10_000


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The best of a few runs, wall clock."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return min(found)


def cpu_seconds(work: Callable[[], object], times: int = 3) -> float:
    """The best of a few runs, processor time: what other processes take is left out."""
    found = []
    for _ in range(times):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return min(found)


def typed(*words: str) -> Callable[[], object]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "cabida", *words]
    return lambda: subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def deployments() -> Iterator[Deployment]:
    """Models x accelerators x formats, as a sweep would ask."""
    formats = [facts.weight_format(name) for name in ("bf16", "fp8", "awq-int4")]
    models = [one for one in facts.models().values() if one.task in ("llm", "vlm")]
    for model, card, held in product(models, facts.accelerators().values(), formats):
        yield Deployment(model=model, accelerator=card, parallel=Parallel(), weights=held, kv_cache=formats[0],
                         engine="vllm", engine_version="")  # fmt: skip


def naive_fits(asked: list[Deployment]) -> int:
    """Bits per weight times parameters, against the memory on the label."""
    counts = {one.model.id: memory.params(one.model).total_count for one in asked}
    return sum(
        counts[one.model.id] * one.weights.body_bits / 8 < one.accelerator.label_memory_bytes for one in asked
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--exhaustive", action="store_true", help="also simulate every candidate")
    wanted = parser.parse_args()
    recommend = ("recommend", str(BRIEF), "--as-of", AS_OF, "--json")
    typed(*recommend)()  # the simulation is compiled and cached
    cold = seconds(typed(*recommend), 2)
    first = app.recommend(BRIEF, as_of=AS_OF)
    warm = seconds(lambda: app.recommend(BRIEF, as_of=AS_OF))
    warm_cpu = cpu_seconds(lambda: app.recommend(BRIEF, as_of=AS_OF))
    asked = list(islice(deployments(), FITS))
    for one in asked:
        memory.params(one.model)
    fits = seconds(lambda: [memory.serving(one) for one in asked])
    naive = seconds(lambda: naive_fits(asked))
    told = sum(memory.serving(one).verdict != "no" for one in asked)
    result = {
        "candidates": first.candidates_count,
        "cold_s": round(cold, 2),
        "warm_s": round(warm, 2),
        "warm_cpu_s": round(warm_cpu, 2),
        "candidates_per_s": round(first.candidates_count / warm),
        "fits": len(asked),
        "fits_s": round(fits, 2),
        "fits_per_s": round(len(asked) / fits),
        "naive_formula_fits_per_s": round(len(asked) / naive),
        "fits_told_apart_from_naive": naive_fits(asked) - told,
        "help_s": round(seconds(typed("--help"), 5), 3),
        "speed_s": round(
            seconds(typed("speed", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "l40s", "--json")), 2
        ),
        "fit_s": round(
            seconds(typed("fit", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "l40s", "--json")), 2
        ),
    }
    if wanted.exhaustive:
        brief = complete(read_brief(BRIEF, as_of=AS_OF), as_of=AS_OF)
        begun = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            slow = decide(brief, AS_OF, exhaustive=True).decision
        result["exhaustive_s"] = round(time.perf_counter() - begun, 2)
        result["exhaustive_over_funnel"] = round(result["exhaustive_s"] / warm, 1)
        result["same_winner"] = slow.options[0].unit_cost.value == first.options[0].unit_cost.value
    text = "\n".join(f"{key}: {value}" for key, value in result.items())
    print(json.dumps(result) if wanted.json else text)


if __name__ == "__main__":
    main()
