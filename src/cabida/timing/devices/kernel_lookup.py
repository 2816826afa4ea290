"""Which curve stands for a card, a format and an engine: rows of ``data/kernels.json``."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from cabida.quantity import Source

ANY = "any"
OTHER = "other"
# architecture nobody measured -> the measured one it is most like: same memory kind and generation of tensor cores
LIKE = {
    "6.0": "8.0",
    "6.1": "8.0",
    "7.0": "8.0",
    "7.5": "8.9",
    "8.6": "8.9",
    "8.7": "8.9",
    "12.1": "12.0",
    "dg2": "bmg",
}
# kernel format -> what stands for it where nobody measured it
INSTEAD = {
    "fp8-block": ("fp8",),
    "int8": ("fp8",),
    "w8": ("w4",),
    "w4": ("w8",),
    "mxfp4": ("w4",),
    "fp4": ("fp8",),
    "mxfp4-fp8": ("fp4", "fp8"),
    "kv8": (),
}


@cache
def kernel_facts() -> dict[str, Any]:
    """``data/kernels.json`` as read."""
    text = (Path(__file__).parent.parent / "data" / "kernels.json").read_text(encoding="utf-8")
    facts: dict[str, Any] = json.loads(text)
    return facts


def kernels_source() -> Source:
    """Where the curves come from, with date and grade."""
    facts = kernel_facts()
    return Source(facts["source"], "https://pypi.org/project/aiconfigurator-core/", facts["seen"], "derived")


def is_measured(architecture: str, family: str = "product") -> bool:
    """Whether kernels of one family were measured on an architecture (compute capability) or kind of link."""
    return architecture in kernel_facts()["curves"].get(family, {})


@cache
def curve_of(family: str, architecture: str, fmt: str, engine: str, version: str = "") -> tuple[float, ...]:
    """Parameters by architecture, format and engine, each giving way to the next best known.

    Args:
        family: a key of ``curves`` in the data file.
        architecture: compute capability, or kind of link.
        fmt: kernel format.
        engine: ``vllm``, ``sglang``, ``tensorrt-llm``; any other means what they have in common.
        version: of the engine; the first measured one that isn't older counts, "" means today's.
    """
    curves = kernel_facts()["curves"][family]
    known = architecture if architecture in curves else LIKE.get(architecture, OTHER)
    for named in (fmt, *INSTEAD.get(fmt, ()), "bf16"):
        for place in (known, OTHER):
            found = curves.get(place, {}).get(named)
            if found:
                return tuple(found.get(_at(found, engine, version)) or found.get(engine) or found[ANY])
    message = f"data/kernels.json has no curve of {family}"
    raise KeyError(message)


def _at(found: dict[str, list[float]], engine: str, version: str) -> str:
    """The row of the first measured version that isn't older than ``version``, of those apart from today's."""
    wanted = _numbers(version)
    later = [name for name in found if name.startswith(f"{engine} ") and _numbers(name) >= wanted]
    return min(later, key=_numbers, default="") if wanted else ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version.rpartition(" ")[2]))
