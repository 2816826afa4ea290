"""Readers of what engines and tools print, one file a format; each line's wording is that of the printing code.

A reader is a function from cleaned lines to observations. :data:`FORMATS` tells which there are, :func:`sniff`
which of them a file is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cabida.evidence.importers import (
    case_rows,
    llama_cpp,
    nvidia_smi,
    sglang,
    tensorrt_llm,
    torch_memory,
    vllm,
)
from cabida.evidence.importers.benches import loadgen, mllog
from cabida.evidence.importers.run import Run
from cabida.evidence.lines import Numbered


@dataclass(frozen=True, slots=True)
class Format:
    """One format: words that only it has, words worth looking for far into a file, and its reader."""

    name: str
    signs: tuple[str, ...]
    words: tuple[str, ...]
    read: Callable[[Iterable[Numbered]], list[Run]]


# The order decides when a file has signs of several: an engine's log holds PyTorch's errors too.
FORMATS = tuple(
    Format(name, module.SIGNS, module.WORDS, module.read)
    for name, module in (
        ("cases", case_rows),
        ("mlperf-loadgen", loadgen),
        ("mlperf", mllog),
        ("vllm", vllm),
        ("sglang", sglang),
        ("tensorrt-llm", tensorrt_llm),
        ("llama.cpp", llama_cpp),
        ("nvidia-smi", nvidia_smi),
        ("pytorch", torch_memory),
    )
)
WEAK = ("nvidia-smi", "pytorch")  # an engine's log holds their lines too
SIGNS = tuple(sign for one in FORMATS for sign in one.signs)


def others(name: str, unknown: Iterable[Numbered]) -> tuple[str, ...]:
    """Formats other than ``name`` that left a sign in lines nothing understood: a log of two engines put together."""
    texts = [text for _, text in unknown]
    found = [
        one.name
        for one in FORMATS
        if one.name != name and any(sign in text for sign in one.signs for text in texts)
    ]
    return tuple(one for one in found if one not in WEAK)


def sniff(lines: Iterable[Numbered]) -> Format | None:
    """The format of a file: the first engine, in the order above, that left a sign in it; ``None`` = none did.

    Reading stops at the first sign of an engine; those of PyTorch and nvidia-smi are waited for to the end, since an
    engine's log may hold them first.
    """
    weak: set[str] = set()
    for _, text in lines:
        for one in FORMATS:
            if any(sign in text for sign in one.signs):
                if one.name not in WEAK:
                    return one
                weak.add(one.name)
    return next((one for one in FORMATS if one.name in weak), None)
