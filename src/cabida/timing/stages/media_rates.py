"""What a card and the software on it reach when they make images and clips: ``data/media.json``, read once.

``calibration/media_speed.py`` writes the coefficients of that file from ``cases/media.jsonl``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from cabida.facts.model import Accelerator
from cabida.memory.constants import Constant
from cabida.plan.media import MediaRun
from cabida.quantity import Source
from cabida.timing.devices.rates import tensor_rate, vector_rate

FILE = Path(__file__).parent.parent / "data" / "media.json"
# compute capabilities of 64 fp32 lanes a multiprocessor (CUDA guide)
FEW_LANES = ("6.0", "7.0", "7.5", "8.0")


@cache
def shipped() -> dict[str, Any]:
    """The file as it stands."""
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


@cache
def coefficient(name: str, *path: str) -> Constant:
    """A coefficient of the file by its path, under the name ``name``."""
    entry: dict[str, Any] = shipped()
    for key in path or ("coefficients", name):
        entry = entry[key]
    value = entry["value"]
    source = Source(entry["source"], entry.get("url", "cases/media.jsonl"), shipped()["seen"], entry["grade"])
    return Constant(name, value, entry.get("low", value), entry.get("high", value), source)


def multiplied_rate(run: MediaRun) -> float:
    """Dense rate of the type the denoiser's matrices are multiplied in, FLOP/s.

    Graph runtimes add up in 16 bit on GeForce cards, which do so twice as fast as in 32 (OneDiff, TensorRT defaults).
    """
    rate = tensor_rate(run.accelerator, run.multiplied) if run.multiplied else plain_rate(run)
    halved = run.accelerator.segment == "consumer" and run.precision == "fp16" and not run.multiplied
    return 2 * rate if halved and run.compiler == "graph" else rate


def plain_rate(run: MediaRun) -> float:
    """Dense rate of what isn't quantised, FLOP/s: 16 bit, or fp32 through TF32 where convolutions may."""
    if run.precision == "fp32":
        return wide_rate(run.accelerator)
    return tensor_rate(run.accelerator, "bf16")


def wide_rate(accelerator: Accelerator) -> float:
    """Rate of fp32: cuDNN multiplies it as TF32 where the card has that (torch.backends.cudnn.allow_tf32)."""
    return accelerator.flop_per_s.get("tf32") or vector_rate(accelerator)


def lanes_count(accelerator: Accelerator) -> float:
    """fp32 lanes of one multiprocessor."""
    return 64.0 if accelerator.capability in FEW_LANES else 128.0


def multiplying_kind(run: MediaRun) -> str:
    """Row of ``formats``: how quantised matrices are multiplied."""
    if run.multiplied:
        return run.multiplied
    return "plain" if run.weights.family == "bf16" else f"{run.weights.family}-weights"
