"""The software stack of this machine, as its drivers and its package metadata tell it; nothing is imported to ask."""

from __future__ import annotations

import platform
import re

from cabida.checks.stack_words import SoftwareStack
from cabida.evidence.machine import Machine, Roots, look, match
from cabida.facts.model import Accelerator

SYSTEMS = {"Linux": "linux", "Darwin": "mac", "Windows": "windows"}
ENGINES = {  # package or program -> engine
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "tensorrt-llm",
    "llama.cpp": "llama.cpp",
    "llama-cpp-python": "llama.cpp",
    "ollama": "ollama",
    "transformers": "transformers",
    "unsloth": "unsloth",
}
OWN_VERSION = (
    "vllm",
    "sglang",
    "tensorrt-llm",
    "transformers",
    "unsloth",
)  # the package's version is the engine's
PARTS = {  # package -> part of the facts
    "flash-attn": "flash-attention-2",
    "flash_attn": "flash-attention-2",
    "flash-attn-3": "flash-attention-3",
    "flash-attn-4": "flash-attention-4",
    "flashinfer-python": "flashinfer",
    "xformers": "xformers",
    "triton": "triton",
    "bitsandbytes": "bitsandbytes",
    "deepspeed": "deepspeed",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "mlx": "mlx",
    "transformer-engine": "transformer-engine",
    "amd-aiter": "aiter",
}
_CUDA = re.compile(r"\+cu(\d\d)(\d+)")
_ROCM = re.compile(r"\+rocm([\d.]+)")


def stack_here(as_of: str = "", roots: Roots | None = None) -> SoftwareStack:
    """This machine's driver, cards, system, processor, PyTorch build, engines and libraries."""
    return stack_of(look(roots), as_of)


def stack_of(
    machine: Machine, as_of: str = "", cards: tuple[Accelerator, ...] | None = None
) -> SoftwareStack:
    """The stack of a machine that was looked at; ``cards`` where they are matched already."""
    installed = machine.frameworks
    torch = installed.get("torch", "")
    versions = {"pytorch": torch.partition("+")[0]} if torch else {}
    if built := _CUDA.search(torch):
        versions["cuda"] = f"{built[1]}.{built[2]}"
    versions["python"] = platform.python_version()  # the one that the packages are installed for
    if machine.driver:
        versions["driver"] = machine.driver
    if rocm := (_ROCM.search(torch) or re.match(r"([\d.]+)", machine.rocm)):
        versions["rocm"] = rocm[1].rstrip(".")
    engines = {
        engine: installed[name] if name in OWN_VERSION else ""
        for name, engine in ENGINES.items()
        if name in installed
    }
    if cards is None:
        found = [match(card) for card in machine.cards]
        held = [one.accelerator for one in found if one is not None and one.known]
        cards = tuple({one.id: one for one in held}.values())
        count = len(held)
    else:
        count = len(machine.cards)
    return SoftwareStack(
        versions,
        engines,
        cards,
        None,
        _system(machine),
        {part: installed[name] for name, part in PARTS.items() if name in installed},
        None,
        max(1, count),
        _processor(machine),
        as_of=as_of,
        detected=True,
    )


def _system(machine: Machine) -> str:
    known = SYSTEMS.get(machine.system, "")
    return "wsl" if known == "linux" and "microsoft" in machine.release.lower() else known


def _processor(machine: Machine) -> str:
    told = machine.processor.lower()
    if "aarch64" in told or "arm64" in told or "grace" in told or "neoverse" in told:
        return "aarch64"
    return "x86_64" if re.search(r"intel|amd|x86", told) else ""
