"""PyTorch's words about memory: ``torch.cuda.memory_summary()`` and the errors of its caching allocator.

Wording from ``torch/cuda/memory.py`` and ``c10/cuda/CUDACachingAllocator.cpp``, whose sizes are binary whether they
are labelled MB (before 2.0) or MiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cabida.evidence.importers.run import Run, Step, number, read_runs, saying, step
from cabida.evidence.lines import Numbered

SIGNS = ("memory summary, device ID", "out of memory. Tried to allocate")
UNITS = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40, "KIB": 2.0**10, "MIB": 2.0**20,
         "GIB": 2.0**30, "TIB": 2.0**40, "BYTES": 1.0}  # fmt: skip
GIB = 2.0**30
LONGEST = 2000  # characters of an error
SIZE = r"([\d.,]{1,20}) ?((?:[KMGT]i?)?B|bytes)"
TOLD = (  # what an error says after what was asked for, in the wordings of 1.x, 2.0, 2.1 and later
    ("gpu_memory_gib", rf"{SIZE} total capacity|total capac(?:i)?ty of {SIZE}"),
    ("free_gib", rf"of which {SIZE} is free|{SIZE} free\b"),
    ("in_use_gib", rf"this process has {SIZE} memory in use"),
    ("allocated_gib", rf"{SIZE} already allocated|{SIZE} is allocated by PyTorch"),
    ("reserved_unallocated_gib", rf"{SIZE} is reserved by PyTorch but unallocated"),
    ("reserved_gib", rf"{SIZE} (?:reserved in total by PyTorch|cached)"),
)


def gib(value: str, unit: str) -> float:
    """A size as printed, in GiB."""
    return number(value) * UNITS[unit.upper()] / GIB


def _out_of_memory(run: Run, found: re.Match[str]) -> None:
    text = found.string[found.start() : found.start() + LONGEST]
    run.failed("out_of_memory_for", size=f"{found[1]} {found[2]}")
    run.put("tried_to_allocate_gib", round(gib(found[1], found[2]), 4))
    for name, shape in TOLD:
        if told := re.search(shape, text):
            pair = [part for part in told.groups() if part is not None]
            size = round(gib(pair[0], pair[1]), 4)
            if name == "gpu_memory_gib":
                run.say(name, size)
            else:
                run.measured.setdefault(f"at_failure_{name}", size)


def oom_steps() -> tuple[Step, ...]:
    """The lines of a failed allocation, which any framework's log may hold."""
    return (
        step(
            rf"(?:CUDA|HIP|XPU|MPS) out of memory\. Tried to allocate {SIZE}",
            _out_of_memory,
            "out of memory. Tried",
        ),
        *saying(
            lambda run, _: run.failed("out_of_memory"),
            "CUDA error: out of memory",
            "hipErrorOutOfMemory",
            "CUDA_ERROR_OUT_OF_MEMORY",
        ),
    )


def _device(run: Run, found: re.Match[str]) -> None:
    run.state["device"] = found[1]


def _row(metric: str) -> Step:
    label = {
        "allocated_gib": "Allocated memory",
        "reserved_gib": "GPU reserved memory",
        "active_gib": "Active memory",
    }

    def put(run: Run, found: re.Match[str]) -> None:
        run.put(metric, round(gib(found[3], found[4]), 4), rank=run.state.get("device", "0"))

    cell = r"\|\s{0,20}([\d.,]{1,20})\s{1,3}([KMGT]?i?B)\s*"
    return step(rf"\| {label[metric]}\s*{cell}{cell}", put, label[metric])


STEPS = (
    step(r"memory summary, device ID (\d+)", _device),
    step(r"CUDA OOMs: ([1-9]\d*)", lambda run, m: run.failed("allocations_failed", count=m[1]), "CUDA OOMs"),
    _row("allocated_gib"),
    _row("reserved_gib"),
    *oom_steps(),
)
WORDS = tuple(dict.fromkeys(one.word for one in STEPS))


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run: summaries of the same job on several devices, or the error it died of."""
    runs = read_runs(lines, "", STEPS, lambda _run, _text: False)
    for run in runs:
        devices = run.by_rank.get("reserved_gib", {})
        if devices:
            run.measured["peak_gib_per_gpu"] = max(devices.values())
            run.setup.setdefault("gpus", len(devices))
            run.unit = "GiB (torch.cuda.memory_summary: peak of what PyTorch reserved)"
            run.started()
    return runs
