"""The pinned lines that install an engine for an accelerator: the maker's wheel for its CUDA, or its container."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.checks.stack_builds import carries, chip
from cabida.checks.stack_parts import cited
from cabida.facts.model import Accelerator
from cabida.facts.releases import numbers, release_at, same
from cabida.facts.stacks import Release

PIP = {  # engine or framework -> its package
    "vllm": "vllm",
    "sglang": "sglang",
    "lmdeploy": "lmdeploy",
    "transformers": "transformers",
    "unsloth": "unsloth",
    "trl": "trl",
    "axolotl": "axolotl",
    "torchtitan": "torchtitan",
    "nemo": "nemo_toolkit[all]",
}
FIRST_YEAR = 2000  # a version that begins with a year is a date
ROCM_WHEELS = "https://wheels.vllm.ai/rocm"
ROCM_WHEELED = ((0, 14), (0, 18, 0))  # vLLM with wheels for ROCm 7.0


@dataclass(frozen=True, slots=True)
class Install:
    """What to type, the release it is of, and where that is written."""

    lines: tuple[str, ...]
    release: Release | None
    source: str = ""
    seen: str = ""


def install(
    engine: str, version: str, card: Accelerator | None, as_of: str = "", flavour: str = ""
) -> Install:
    """Pinned lines for one engine on one accelerator; none where no maker's line is known.

    Args:
        engine: id of an engine or a training framework.
        version: the one that was decided with, "" = the latest known by ``as_of``.
        card: what it runs on; ``None`` = the processor.
        as_of: ISO date.
        flavour: the CUDA to take, "" = the first that the release has for the card.
    """
    row = release_at(engine, version, as_of)
    pinned = row.version if row and (not version or same(row.version, version)) else version
    lines = tuple(_lines(engine, pinned, card, row, flavour))
    if row is None or not lines:
        return Install(lines, row)
    return Install(lines, row, cited(row.source), row.source.seen)


def _lines(
    engine: str, version: str, card: Accelerator | None, row: Release | None, flavour: str
) -> list[str]:
    vendor = card.vendor if card is not None else ""
    if engine == "ollama":
        return _ollama(version, vendor, row)
    if engine == "llama.cpp":
        return _llama_cpp(vendor, row)
    if engine == "tensorrt-llm":
        return [f"docker pull {_tagged(row.image, version)}"] if row and row.image else []
    if engine == "vllm" and vendor == "AMD":
        return _vllm_rocm(version, row)
    if engine in PIP and vendor == "NVIDIA" and card is not None:
        return _nvidia(engine, version, card, row, flavour)
    if engine in PIP and vendor == "AMD":
        return [f'uv pip install "{_pinned(PIP[engine], version)}" --torch-backend=auto']
    if vendor == "Apple" and engine == "transformers":
        return [f'uv pip install "{_pinned(PIP[engine], version)}"']
    return []


def _pinned(package: str, version: str) -> str:
    """``vllm==0.31.0``; a year or a month is no version of a package."""
    exact = numbers(version)
    dated = bool(exact) and exact[0] >= FIRST_YEAR
    return f"{package}=={version}" if len(exact) >= (3 if dated else 2) else package


def _tagged(image: str, version: str) -> str:
    """An image with the tag of a version, as the maker writes it."""
    name, _, tag = image.rpartition(":")
    return f"{name}:{'v' if tag.startswith('v') else ''}{version}" if len(numbers(version)) >= 3 else image


def _nvidia(engine: str, version: str, card: Accelerator, row: Release | None, flavour: str) -> list[str]:
    usual = flavour_for(card, row)
    flavour = flavour or usual
    backend = f"cu{flavour.replace('.', '')}" if flavour else "auto"
    more = " --prerelease=allow" if engine == "sglang" else ""
    lines = [f'uv pip install "{_pinned(PIP[engine], version)}"{more} --torch-backend={backend}']
    if row is not None and row.image and len(numbers(version)) >= 3 and flavour in ("", row.cuda[0]):
        lines.append(f"docker pull {_tagged(row.image, version)}")  # the image is of the usual CUDA
    return lines


def flavour_for(card: Accelerator, row: Release | None) -> str:
    """The first CUDA that a release is built with whose wheels have code for the card; "" where nobody says."""
    if row is None:
        return ""
    torch = ".".join(row.torch.split(".")[:2])
    first = chip(card).get("first_cuda", "0")
    able = [one for one in row.cuda if numbers(one)[:2] >= numbers(first)[:2]]
    return next((one for one in able if carries(torch, one, card.capability)), "")


def _vllm_rocm(version: str, row: Release | None) -> list[str]:
    lines = []
    exact = numbers(version)
    if ROCM_WHEELED[0] <= exact[:2] and exact <= ROCM_WHEELED[1] and len(exact) >= 3:
        lines.append("uv venv --python 3.12 --seed")
        lines.append(f'uv pip install "vllm=={version}" --extra-index-url {ROCM_WHEELS}/{version}/rocm700')
    if row is not None and row.rocm_image and len(exact) >= 3:
        lines.append(f"docker pull {_tagged(row.rocm_image, version)}")
    return lines


def _llama_cpp(vendor: str, row: Release | None) -> list[str]:
    if vendor == "NVIDIA" and row is not None and row.image:
        return [f"docker pull {row.image}"]
    if vendor == "AMD" and row is not None and row.rocm_image:
        return [f"docker pull {row.rocm_image}"]
    if vendor == "Intel":
        return ["docker pull ghcr.io/ggml-org/llama.cpp:server-intel"]
    return ["brew install llama.cpp"] if vendor == "Apple" else []


def _ollama(version: str, vendor: str, row: Release | None) -> list[str]:
    if row is None:
        return []
    pinned = row.version if len(numbers(version)) < 3 else version
    if vendor == "Apple":
        return [f"curl -fsSL https://ollama.com/install.sh | OLLAMA_VERSION={pinned} sh"]
    image = f"ollama/ollama:{pinned}" + ("-rocm" if vendor == "AMD" else "")
    return [f"curl -fsSL https://ollama.com/install.sh | OLLAMA_VERSION={pinned} sh", f"docker pull {image}"]
