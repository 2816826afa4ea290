"""How long a question about memory takes, beside a rival that answers the same one and beside a multiplication.

    python benchmarks/fit.py [--json] [--rival LLMFIT]

``fit_s`` and the catalogues are whole processes, the best of five. The sweep works out 10,000 different deployments
(models x accelerators x formats x contexts) in one process, their making included, nothing asked twice: cold is the
first time in a new process, warm the same again, when what is alike among deployments of one model is remembered;
``cpu`` leaves out what other processes took.
``--rival`` names the ``llmfit`` command (``pip install llmfit``; looked for on the path), whose process and whose pass
over its own catalogue are timed in the same run. The naive formula is bits per weight times parameters.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path

from cabida import facts, memory
from cabida.plan import Deployment, Parallel, Settings

ROOT = Path(__file__).parents[1]
FITS = 10_000
MODEL, GPU, LABEL_GB, CONTEXT = "meta-llama/Llama-3.1-8B-Instruct", "rtx4090", 24, 8192
FORMATS = ("bf16", "fp8", "awq-int4", "q4_k_m")
CONTEXTS = (4096, 32768)


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The best of a few runs, wall clock."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return min(found)


def typed(*words: str) -> Callable[[], object]:
    """A command in a process of its own."""
    return lambda: subprocess.run(words, cwd=ROOT, check=True, capture_output=True)


def deployments() -> Iterator[Deployment]:
    """Every model in every format on one accelerator after the other, at one context after the other."""
    models = [one for one in facts.models().values() if one.task in ("llm", "vlm")]
    cards = list(facts.accelerators().values())
    formats = [facts.weight_format(name) for name in FORMATS]
    for context, card, model, held in product(CONTEXTS, cards, models, formats):
        engine = "llama.cpp" if held.family == "gguf" else "vllm"
        settings = Settings(max_model_len=context)
        yield Deployment(model, card, Parallel(), held, formats[0], engine, settings=settings)


def sweep() -> int:
    """10,000 deployments made and worked out; how many fit."""
    return sum(memory.serving(one).verdict != "no" for one in islice(deployments(), FITS))


def different() -> int:
    """How many of them differ."""
    asked = islice(deployments(), FITS)
    return len(
        {
            (one.model.id, one.accelerator.id, one.weights.id, one.engine, one.settings.max_model_len)
            for one in asked
        }
    )


def naive(asked: list[Deployment]) -> list[bool]:
    """Bits per weight times parameters, against the memory on the label."""
    counts = {one.model.id: memory.params(one.model).total_count for one in asked}
    return [
        counts[one.model.id] * one.weights.body_bits / 8 < one.accelerator.label_memory_bytes for one in asked
    ]


def wrong(asked: list[Deployment]) -> int:
    """How often the naive formula says otherwise."""
    ours = (memory.serving(one).verdict != "no" for one in asked)
    return sum(one != other for one, other in zip(ours, naive(asked), strict=True))


def rival_times(command: str) -> dict[str, float | str]:
    """llmfit: one model's plan, and its pass over all the models it knows."""
    room = ("--memory", f"{LABEL_GB}G", "--json")
    everything = subprocess.run([command, *room, "fit"], check=True, capture_output=True).stdout
    known = len(json.loads(everything)["models"])
    whole = seconds(typed(command, *room, "fit"), 3)
    version = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
    return {
        "rival": version.strip(),
        "rival_fit_s": round(seconds(typed(command, *room, "plan", MODEL, "--context", str(CONTEXT))), 3),
        "rival_catalogue_s": round(whole, 2),
        "rival_models": known,
        "rival_fits_per_s": round(known / whole),
    }


def measured(rival: str) -> dict[str, float | str]:
    """All figures."""
    begun, worked = time.perf_counter(), time.process_time()
    fitting = sweep()
    cold, cold_cpu = time.perf_counter() - begun, time.process_time() - worked
    warm = seconds(sweep, 3)
    asked = list(islice(deployments(), FITS))
    bare = seconds(lambda: [memory.serving(one) for one in asked], 3)
    cabida = (sys.executable, "-m", "cabida", "fit")
    found: dict[str, float | str] = {
        "fit_s": round(seconds(typed(*cabida, MODEL, "--gpu", GPU, "--json")), 3),
        "over_accelerators_s": round(seconds(typed(*cabida, MODEL, "--json"), 3), 2),
        "over_models_s": round(seconds(typed(*cabida, "--gpu", GPU, "--json"), 3), 2),
        "fits": FITS,
        "different": different(),
        "fitting": fitting,
        "sweep_cold_s": round(cold, 2),
        "sweep_cold_cpu_s": round(cold_cpu, 2),
        "sweep_warm_s": round(warm, 2),
        "sweep_of_made_s": round(bare, 2),
        "fits_per_s": round(FITS / warm),
        "naive_fits_per_s": round(FITS / seconds(lambda: naive(asked), 3)),
        "naive_says_otherwise": wrong(asked),
    }
    if not rival:
        return found
    found |= rival_times(rival)
    found["fit_over_rival"] = round(float(found["fit_s"]) / float(found["rival_fit_s"]), 1)
    found["fits_per_s_over_rival"] = round(float(found["fits_per_s"]) / float(found["rival_fits_per_s"]), 1)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rival", default=shutil.which("llmfit") or "", help="the llmfit command")
    wanted = parser.parse_args()
    result = measured(wanted.rival)
    print(
        json.dumps(result) if wanted.json else "\n".join(f"{key}: {value}" for key, value in result.items())
    )


if __name__ == "__main__":
    main()
