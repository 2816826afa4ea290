"""Kernels, libraries, backends and features of the hardware named in a stack, by the rows of the facts about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from cabida import facts
from cabida.checks.sentences import caution
from cabida.checks.stack_words import SoftwareStack
from cabida.facts.model import Accelerator, WeightFormat
from cabida.facts.releases import numbers, part_rows
from cabida.facts.stacks import Part
from cabida.plan import Caution
from cabida.quantity import Source
from cabida.text import tr

TITLES = {
    "flash-attention-1": "FlashAttention 1",
    "flash-attention-2": "FlashAttention 2",
    "flash-attention-3": "FlashAttention 3",
    "flash-attention-4": "FlashAttention 4",
    "flashinfer": "FlashInfer",
    "triton": "Triton",
    "torch-compile": "torch.compile",
    "xformers": "xFormers",
    "aiter": "AITER",
    "flashmla": "FlashMLA",
    "marlin": "Marlin",
    "transformer-engine": "Transformer Engine",
    "bitsandbytes": "bitsandbytes",
    "deepspeed": "DeepSpeed",
    "fsdp": "FSDP",
    "nccl": "NCCL",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "mlx": "MLX",
    "vulkan": "Vulkan",
    "sycl": "SYCL",
    "metal": "Metal",
    "cuda-toolkit": "CUDA",
    "tgi": "TGI",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tensorrt-llm": "TensorRT-LLM",
    "peer": "P2P (peer-to-peer)",
    "vgpu": "vGPU",
    "gpudirect-rdma": "GPUDirect RDMA",
    "open-modules": "nvidia-open",
    "proprietary-modules": "NVIDIA proprietary",
    "aqlm": "AQLM",
    "bitblas": "BitBLAS",
    "float64": "float64",
    "int8-w4a8": "INT8 W4A8",
    "ollama": "Ollama",
    "pytorch": "PyTorch",
}
OF_VLLM = ("marlin", "aqlm", "bitblas", "int8-w4a8")  # rows by the version of vLLM
BY_OTHERS = ("forward-compat",)  # asked by the driver's rule
FLOORED = {"cuda": "CUDA", "rocm": "ROCm", "driver": "driver", "pytorch": "PyTorch", "macos": "macOS"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part is to run."""

    card: Accelerator | None
    system: str = ""
    processor: str = ""
    version: str = ""
    weights: WeightFormat | None = None

    @property
    def names(self) -> frozenset[str]:
        """What the rows may call it."""
        if self.card is None:
            return frozenset()
        one = self.card
        return frozenset(
            name.lower()
            for name in (one.architecture, one.capability, one.vendor, one.segment, one.id)
            if name
        )


def part_at(name: str, place: Place) -> Part | None:
    """The row that decides for a part at a place, ``None`` where no source says."""
    return next((row for row in part_rows(name) if _applies(row, place)), None)


def _applies(row: Part, place: Place) -> bool:
    if row.places and (place.card is None or not place.names.intersection(row.places)):
        return False
    if row.besides and place.names.intersection(row.besides):
        return False
    if row.systems and (place.system or "linux") not in row.systems:
        return False
    if row.processors and place.processor not in row.processors:
        return False
    if row.version_most and not (place.version and numbers(place.version)[:2] <= numbers(row.version_most)):
        return False
    if row.version_min and place.version and numbers(place.version) < numbers(row.version_min):
        return False
    if row.dtypes and place.weights is not None:
        return bool({place.weights.id, place.weights.family} & set(row.dtypes)) or row.kind == "kernel"
    return not row.dtypes or row.kind == "kernel"


def cited(source: Source) -> str:
    """A source in a line: what it is, where, and when it was read."""
    return " · ".join(piece for piece in (source.what, source.url, source.seen) if piece)


def sourced(one: Caution, source: Source | str) -> Caution:
    """The caution with where it is written."""
    return replace(one, source=source if isinstance(source, str) else cited(source))


def named_parts(stack: SoftwareStack) -> Iterator[Caution]:
    """Each part that the stack names, on each of its cards, or on its system where it names no card."""
    for name in dict.fromkeys((*stack.parts, *stack.engines, *_toolkit(stack))):
        if not part_rows(name) or name in BY_OTHERS:
            continue
        engine = name in stack.engines
        for card in stack.cards or (None,):
            version = stack.parts.get(name, "") or stack.versions.get(name, "") or stack.engines.get(name, "")
            version = stack.engines.get("vllm", version) if name in OF_VLLM else version
            place = Place(card, stack.system, stack.processor, version, stack.weights)
            row = part_at(name, place)
            if row is None and (engine or (card is None and not stack.system)):
                continue
            yield from _said(name, row, place, stack)


def _toolkit(stack: SoftwareStack) -> tuple[str, ...]:
    """CUDA is spoken of where nothing can run it; PyTorch where its wheels for CUDA and ROCm are not meant."""
    others = bool(stack.cards) and not stack.nvidia and not stack.amd
    named = [("cuda-toolkit", "cuda" in stack.versions and not stack.nvidia)]
    named.append(("pytorch", "pytorch" in stack.versions and others))
    return tuple(name for name, asked in named if asked)


def _said(name: str, row: Part | None, place: Place, stack: SoftwareStack) -> Iterator[Caution]:
    values = {
        "part": TITLES.get(name, name),
        "version": place.version,
        "at": _at(place, stack),
        "architecture": f"{place.card.architecture} {place.card.capability}".strip() if place.card else "",
    }
    if row is None:
        yield caution("CB-K203", "warning", **values)
        return
    values |= {"near": row.near or tr("checks.none"), "on": ", ".join(_places(name)) or tr("checks.none")}
    text = tr(f"checks.part.{row.says}", **values) if row.says else ""
    if row.state == "no" and name == "peer" and "tensor-parallel" in stack.parts:
        yield sourced(caution("CB-K201", "warning", **values, why=text), row.source)  # through host memory
        return
    if row.state == "no":
        code = "CB-K200" if place.card and row.places else "CB-K204"
        yield sourced(caution(code, "blocking", **values, why=f" {text}" if text else ""), row.source)
        return
    short = list(_short(row, stack))
    if short:
        yield from (sourced(caution("CB-K205", "blocking", **values, **one), row.source) for one in short)
    elif row.state == "steps":
        yield sourced(caution("CB-K201", "warning", **values, why=text), row.source)
    elif row.kind == "kernel" and stack.head_dim > row.dims_most > 0:
        yield sourced(
            caution("CB-K206", "blocking", **values, most=row.dims_most, dim=stack.head_dim), row.source
        )
    else:
        yield from _dtype(row, values, stack)
        yield sourced(caution("CB-K202", "info", **values, why=text), row.source)


def _at(place: Place, stack: SoftwareStack) -> str:
    """The card, and the system where that is not Linux."""
    system = _system(stack.system)
    if place.card is None:
        return system
    return place.card.name if stack.system in ("", "linux") else f"{place.card.name} ({system})"


def _dtype(row: Part, values: dict[str, str], stack: SoftwareStack) -> Iterator[Caution]:
    """A kernel written for some types, and a cache of another."""
    cache = stack.kv_cache
    if row.kind == "kernel" and row.dtypes and cache is not None and cache.family not in row.dtypes:
        told = ", ".join(row.dtypes)
        yield sourced(caution("CB-K207", "warning", **values, cache=cache.id, dtypes=told), row.source)


def _system(system: str) -> str:
    return {"windows": "Windows", "mac": "macOS", "wsl": "WSL2", "linux": "Linux"}.get(system, system)


def _places(name: str) -> list[str]:
    """The architectures a part runs on, for a refusal to name."""
    held = [place for row in part_rows(name) if row.state == "runs" for place in row.places]
    return list(dict.fromkeys(_spelled().get(place, place) for place in held))


@cache
def _spelled() -> dict[str, str]:
    """Makers and architectures as they write themselves, by their lower case."""
    cards = facts.accelerators().values()
    return {name.lower(): name for one in cards for name in (one.vendor, one.architecture)}


def _short(row: Part, stack: SoftwareStack) -> Iterator[dict[str, str]]:
    """Floors of the row that a stated version does not reach."""
    for part, wanted in row.needs.items():
        have = stack.versions.get(part, "")
        if have and numbers(have)[:2] < numbers(wanted)[:2] and numbers(have)[:1] <= numbers(wanted)[:1]:
            yield {"floor": FLOORED.get(part, part), "wanted": wanted, "have": have}
