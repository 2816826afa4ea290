"""The machine around the cards: system, processor, memory as a container allows it, and installed frameworks."""

from __future__ import annotations

import os
import platform
import shutil
from importlib import metadata
from typing import Any

from cabida.evidence.machine import apple
from cabida.evidence.machine.nouns import Roots
from cabida.evidence.machine.probing import line_of, number_of

PACKAGES = (
    *("torch", "vllm", "sglang", "tensorrt-llm", "llama-cpp-python", "transformers", "mlx", "mlx-lm"),
    *(
        "flash-attn",
        "flash-attn-3",
        "flash-attn-4",
        "flashinfer-python",
        "xformers",
        "triton",
        "transformer-engine",
    ),
    *("bitsandbytes", "deepspeed", "unsloth", "tensorflow", "jax", "amd-aiter"),
)
PROGRAMS = {
    "ollama": "ollama",
    "llama-server": "llama.cpp",
    "llama-cli": "llama.cpp",
    "trtllm-serve": "tensorrt-llm",
}
NO_LIMIT = 2.0**60  # what the kernel writes for no limit at all


def look(roots: Roots) -> dict[str, Any]:
    """System, processor and memory, as fields of a machine."""
    if roots.platform == "darwin":
        said = apple.settings(roots)
        return {
            "system": "Darwin",
            "release": platform.release(),
            "processor": said.get("machdep.cpu.brand_string", ""),
            "cores_count": int(number_of(said.get("hw.ncpu", "")) or 0) or None,
            "memory_bytes": number_of(said.get("hw.memsize", "")),
            "memory_free_bytes": None,
            "memory_limited": False,
        }
    total, free = _memory(roots)
    allowed, held = _container(roots)
    limited = allowed is not None and (total is None or allowed < total)
    if limited and allowed is not None:
        left = max(0.0, allowed - held)
        total, free = allowed, left if free is None else min(free, left)
    return {
        "system": platform.system(),
        "release": _release(roots),
        "processor": _processor(roots),
        "cores_count": _cores(),
        "memory_bytes": total,
        "memory_free_bytes": free,
        "memory_limited": limited,
    }


def _cores() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count()


def _release(roots: Roots) -> str:
    try:
        text = roots.file("etc", "os-release").read_text(encoding="utf-8", errors="replace")[:8192]
    except OSError:
        return platform.release()
    named = (
        line.partition("=")[2].strip().strip('"')
        for line in text.splitlines()
        if line.startswith("PRETTY_NAME=")
    )
    return next(named, platform.release())


def _processor(roots: Roots) -> str:
    try:
        with roots.file("proc", "cpuinfo").open(encoding="utf-8", errors="replace") as stream:
            lines = stream.read(65536).splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _memory(roots: Roots) -> tuple[float | None, float | None]:
    """All memory and what is available, bytes; the file counts KiB."""
    try:
        lines = (
            roots.file("proc", "meminfo").read_text(encoding="utf-8", errors="replace")[:65536].splitlines()
        )
    except OSError:
        return _elsewhere()
    said = {line.partition(":")[0]: number_of(line.partition(":")[2]) for line in lines}
    total, free = said.get("MemTotal"), said.get("MemAvailable")
    return (total * 1024 if total else None), (free * 1024 if free is not None else None)


def _elsewhere() -> tuple[float | None, float | None]:
    """On systems without /proc."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")), None
    except (AttributeError, ValueError, OSError):
        return None, None


def _container(roots: Roots) -> tuple[float | None, float]:
    """The container's limit and what it already holds, bytes; no limit = ``None``."""
    for limit, held in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        allowed = number_of(line_of(roots.file("sys", "fs", "cgroup", limit)))
        if allowed is not None and allowed < NO_LIMIT:
            return allowed, number_of(line_of(roots.file("sys", "fs", "cgroup", held))) or 0.0
    return None, 0.0


def frameworks(roots: Roots) -> dict[str, str]:
    """Frameworks of this Python with their versions, and programs found on the path ("" = version not asked)."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    for program, name in PROGRAMS.items():
        if name not in found and shutil.which(program, path=roots.path):
            found[name] = ""
    return found
