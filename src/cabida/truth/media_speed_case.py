"""What we say of how fast a media run is: seconds of one image or clip, and steps a second."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import facts, timing
from cabida.errors import CabidaError
from cabida.facts.model import Accelerator
from cabida.plan.media import MediaRun
from cabida.text import tr
from cabida.timing.stages.media_caches import computed_ratio
from cabida.truth.case import Figures
from cabida.truth.names import Unanswerable, reading

SPEEDS = ("seconds_per_item", "it_s")
RUNTIMES = {
    "onediff": "onediff",
    "tensorrt": "tensorrt",
    "stable-fast": "stable-fast",
    "stable fast": "stable-fast",
}
MERGED_RATIO = 0.5  # ToMe's default, Bolya and Hoffman 2023
UNPRINTED = re.compile(r"\s*\(.*?\)|-\d+gb\b", re.IGNORECASE)
DYNAMIC = {
    "fp8": "fp8",
    "int8": "int8",
    "int4": "int8",
    "fp4": "fp4",
}  # what activations become beside such weights


@reading
def speed_figures(row: dict[str, Any], run: MediaRun) -> Figures:
    """Seconds of one item and steps a second of a media row, with their intervals.

    Args:
        row: a media case.
        run: what its memory is worked out of.

    Raises:
        Unanswerable: the card isn't one we know, or neither steps nor size are said.
    """
    if not row.get("steps") and not row.get("resolution"):
        why = tr("truth.why.media_size")
        raise Unanswerable(why)
    found = timing.media_speed(as_run(row, run))
    low, high = found.spread["seconds_per_item"]
    item, pace = found.item_s, found.steps_per_s
    return {
        "seconds_per_item": (item, item * low, item * high),
        "it_s": (pace, pace / high, pace / low),
    }


def as_run(row: dict[str, Any], run: MediaRun) -> MediaRun:
    """The run with what only its speed depends on: kernels, caches, how guidance and steps are shared out."""
    text = " ".join(str(one).lower() for one in row.get("optimisations") or ())
    said = f"{row.get('precision') or ''} {text}".lower()
    runtime = next((name for word, name in RUNTIMES.items() if word in text), "")
    multiplied = _multiplied(said)
    weights = facts.weight_format(multiplied) if multiplied and run.weights.family == "bf16" else run.weights
    ranks = _number(r"\bcfg\s*(\d+)", text)
    stages = _number(r"\bpp\s*(\d+)", text)
    split = run.split
    if run.accelerators_count > 1 and split in ("data", "none") and (ranks > 1 or stages > 1):
        split = "sequence"
    return replace(
        run,
        accelerator=_card(row, run),
        framework=runtime or run.framework,
        weights=weights,
        multiplied=multiplied,
        attention="eager" if "vanilla" in text else run.attention,
        guidance_ranks_count=min(ranks, run.accelerators_count),
        stages_count=stages,
        split="sequence" if split == "fsdp+sequence" else split,
        computed_ratio=computed_ratio(text),
        merged_ratio=MERGED_RATIO if "tome" in text else 0.0,
    )


def _multiplied(said: str) -> str:
    """What matrices are multiplied in where activations are quantised too (torchao: dq, autoquant)."""
    if "autoquant" in said:
        return "int8"
    word = next((one for one in DYNAMIC if one in said), "")
    weights_only = "wo" in said or "4bit" in said or re.search(r"fp[456]_?e|fp6\b|fp5\b|sparsify", said)
    return "" if weights_only or not word else DYNAMIC[word]


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return max(1, int(found[1])) if found else 1


def _card(row: dict[str, Any], run: MediaRun) -> Accelerator:
    """The row's card; where only its family is printed, the family's usual one."""
    if row.get("gpu"):
        return run.accelerator
    name = UNPRINTED.sub("", str(row.get("gpu_raw") or "")).strip()
    try:
        return facts.accelerator(name)
    except CabidaError:
        why = tr("truth.why.unknown_accelerator", gpu=row.get("gpu_raw") or "?")
        raise Unanswerable(why) from None
