"""A software stack in words ("vllm 0.9, torch 2.7, cuda 12.8, driver 560, RTX 5090"): what of it does not go together.

Each refusal names the nearest that would run. The tables are the software facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cabida import facts
from cabida.checks.claims import named_cards
from cabida.checks.sentences import caution
from cabida.checks.software import GGUF_ENGINES, Stack, engines_for, judge, release
from cabida.errors import InvalidInput
from cabida.facts.formats import find_format
from cabida.facts.model import Accelerator, WeightFormat
from cabida.plan import Caution
from cabida.text import problem, tr

PARTS = {  # part -> the words people use for it
    "pytorch": r"(?:py)?torch",
    "cuda": r"cuda|cu(?=1\d)",
    "driver": r"(?:nvidia[ -]?)?driver|controlador",
    "rocm": r"rocm",
    "python": r"python",
    "flash_attention": r"flash[-_ ]?att(?:entio)?n|fa(?=[234]\b)",
    "bitsandbytes": r"bitsandbytes|bnb",
    "tensorflow": r"tensorflow",
    "jax": r"jax",
    "deepspeed": r"deepspeed",
}
SYSTEMS = {"wsl": r"wsl2?", "windows": r"windows", "mac": r"mac(?:os)?", "linux": r"linux|ubuntu|debian|rhel"}
SAME_CODE = {"8.9": "8.6", "8.7": "8.6", "10.3": "10.0", "12.1": "12.0"}  # runs the other's binaries


@dataclass(frozen=True, slots=True)
class SoftwareStack:
    """What a line of text names."""

    versions: dict[str, str]  # part -> version, "" when only named
    engines: dict[str, str] = field(default_factory=dict)  # engine id -> version
    cards: tuple[Accelerator, ...] = ()
    weights: WeightFormat | None = None
    system: str = ""

    @property
    def nvidia(self) -> list[Accelerator]:
        """Cards with a CUDA compute capability."""
        return [card for card in self.cards if card.vendor == "NVIDIA"]

    @property
    def amd(self) -> list[Accelerator]:
        """Cards with a gfx name."""
        return [card for card in self.cards if card.vendor == "AMD"]


def read_stack(text: str) -> SoftwareStack:
    """The parts, versions, cards, weight format and operating system that ``text`` names.

    Raises:
        InvalidInput: CB-K060, nothing in it is known.
    """
    versions = {part: found for part, words in PARTS.items() if (found := _version(text, words)) is not None}
    spelled = {id: rf"{re.escape(id)}|{re.escape(id.replace('-', ' '))}" for id in facts.engines()}
    engines = {id: found for id, words in spelled.items() if (found := _version(text, words)) is not None}
    system = next(
        (name for name, words in SYSTEMS.items() if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE)), ""
    )
    cards = tuple(card for sentence in re.split(r"[,;+\n]", text) for card in named_cards(sentence)[:1])
    weights = next((held for word in re.split(r"[\s,;+]+", text) if (held := find_format(word))), None)
    if not (versions or engines or cards):
        raise InvalidInput(problem("CB-K060", text=text.strip()[:60]))
    return SoftwareStack(versions, engines, cards, weights, system)


def _version(text: str, words: str) -> str | None:
    """The version after a name, "" when it stands alone, ``None`` when it is not there."""
    found = re.search(rf"(?<![\w-])(?:{words})[ =:v]*(\d[\w.]*)?(?![\w-])", text, re.IGNORECASE)
    return (found.group(1) or "").rstrip(".") if found else None


def check_stack(text: str) -> tuple[Caution, ...]:
    """What of a stack does not go together (blocking), needs a step (warning), and what is fine (info)."""
    return judge_stack(read_stack(text)) or (caution("CB-K061", "info"),)


def judge_stack(stack: SoftwareStack) -> tuple[Caution, ...]:
    """The same of a stack whose parts are known."""
    return tuple(one for rule in RULES for one in rule(stack, facts.software()))


def _driver(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """The driver carries the CUDA toolkit."""
    cuda, driver = stack.versions.get("cuda"), stack.versions.get("driver")
    table = {key: row for key, row in software["cuda_driver_min"].items() if key[:1].isdigit()}
    if not cuda or not driver:
        return
    column = 1 if stack.system == "windows" else 0
    wanted = next((table[key][column] for key in sorted(table, key=release) if key.startswith(cuda)), None)
    if wanted and wanted[:1].isdigit() and release(driver) < release(wanted)[: len(release(driver))]:
        carried = [
            key
            for key, row in table.items()
            if release(row[column])[: len(release(driver))] <= release(driver)
        ]
        best = max(carried, key=release, default="-")
        yield caution("CB-K062", "blocking", cuda=cuda, wanted=wanted, driver=driver, best=best)


def _pytorch(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """PyTorch is built for certain CUDA versions, and each build for certain chips."""
    torch, cuda = _minor(stack.versions.get("pytorch", "")), _minor(stack.versions.get("cuda", ""))
    released: dict[str, Any] = software["pytorch"]["releases"]
    built = _built(released[torch]) if torch in released else []
    if built and cuda and cuda not in built:
        others = ", ".join(one for one, row in released.items() if cuda in _built(row)) or tr("checks.none")
        yield caution("CB-K063", "blocking", torch=torch, cuda=cuda, built=", ".join(built), others=others)
        return
    for card in stack.nvidia if built else ():
        wanted = SAME_CODE.get(card.capability, card.capability)
        if not any(_carries(torch, one, wanted, software) for one in ([cuda] if cuda else built)):
            values = {"name": card.name, "capability": card.capability, "near": _torch_for(wanted, software)}
            yield caution("CB-K064", "blocking", torch=torch, cuda=cuda or ", ".join(built), **values)


def _built(row: dict[str, Any]) -> list[str]:
    return [*row["cuda"], *row.get("exp", [])]


def _carries(torch: str, cuda: str, capability: str, software: dict[str, Any]) -> bool:
    """Whether a wheel has code for a chip; where no table says, whether the toolkit is as new as the chip."""
    chips = _wheel(torch, cuda, software)
    if chips is not None:
        return capability in chips
    return release(capability) < (10,) or release(cuda) >= (12, 8)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _wheel(torch: str, cuda: str, software: dict[str, Any]) -> list[str] | None:
    """Capabilities in the wheel of one PyTorch for one CUDA; ``None`` when no table says."""
    table: dict[str, list[str]] = software["pytorch"]["wheel_archs_linux_x86"]
    for name, chips in table.items():
        flavour, _, releases = name.partition("_torch")
        if flavour != "cu" + cuda.replace(".", ""):
            continue
        first, _, last = releases.partition("_")
        if not releases or release(first) <= release(torch) <= release(last or first):
            return [chip.split("+")[0] for chip in chips]
    return None


def _torch_for(capability: str, software: dict[str, Any]) -> str:
    """The newest PyTorch and CUDA whose wheel carries a capability."""
    released: dict[str, Any] = software["pytorch"]["releases"]
    for torch in sorted(released, key=release, reverse=True):
        for cuda in sorted(released[torch]["cuda"], key=release, reverse=True):
            if capability in (_wheel(torch, cuda, software) or ()):
                return f"PyTorch {torch} + CUDA {cuda}"
    return tr("checks.none")


def _rocm(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """ROCm supports a list of chips."""
    version = stack.versions.get("rocm")
    table: dict[str, list[str]] = software["rocm"]["linux"]
    for card in stack.amd:
        if stack.system == "windows" and card.capability not in software["rocm"]["windows_hip_sdk_7_2"]:
            yield caution(
                "CB-K065", "blocking", name=card.name, chip=card.capability, rocm="Windows", near="Linux"
            )
        elif (
            version
            and (row := table.get(version) or table.get(_minor(version)))
            and card.capability not in row
        ):
            near = next((one for one, chips in table.items() if card.capability in chips), tr("checks.none"))
            yield caution(
                "CB-K065", "blocking", name=card.name, chip=card.capability, rocm=version, near=near
            )
    if version and stack.nvidia and not stack.amd:
        yield caution("CB-K066", "blocking", name=stack.nvidia[0].name)


def _flash_attention(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """Generations of FlashAttention are written for generations of chips."""
    version = stack.versions.get("flash_attention")
    if version is None:
        return
    generation = (version or "2")[:1]
    chips = {"2": ("ampere", "ada", "hopper", "blackwell", "blackwell-rtx"), "3": ("hopper",)}
    runs_on = chips.get(generation, ("hopper", "blackwell"))
    for card in stack.nvidia:
        if card.architecture.lower() not in runs_on:
            near = next(
                (one for one, names in chips.items() if card.architecture.lower() in names), tr("checks.none")
            )
            yield caution(
                "CB-K067",
                "blocking",
                generation=generation,
                name=card.name,
                chips=", ".join(runs_on),
                near=near,
            )


def _systems(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """What runs natively on which operating system."""
    if stack.system == "windows":
        blocked = [facts.engine(id).name for id in stack.engines if id in ("vllm", "sglang", "tensorrt-llm")]
        blocked += [
            name for name, part in (("TensorFlow", "tensorflow"), ("JAX", "jax")) if part in stack.versions
        ]
        if blocked:
            yield caution("CB-K068", "blocking", names=", ".join(blocked))
    if stack.system == "mac" and {"tensorflow", "jax"} & stack.versions.keys():
        yield caution(
            "CB-K069", "blocking", names=", ".join(sorted({"tensorflow", "jax"} & stack.versions.keys()))
        )


def _python(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """PyTorch's lowest Python."""
    row = software["pytorch"]["releases"].get(_minor(stack.versions.get("pytorch", "")), {})
    wanted, have = str(row.get("py", "")).lstrip(">="), stack.versions.get("python", "")
    if wanted and have and release(have) < release(wanted):
        yield caution("CB-K070", "blocking", torch=stack.versions["pytorch"], wanted=wanted, have=have)


def _libraries(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """Bitsandbytes from capability 6.0; TensorFlow's wheels only for NVIDIA."""
    if "tensorflow" in stack.versions and stack.cards and not stack.nvidia:
        yield caution("CB-K071", "blocking", name=stack.cards[0].name)
    if "bitsandbytes" in stack.versions:
        for card in stack.nvidia:
            if release(card.capability) < (6, 0):
                yield caution("CB-K072", "blocking", name=card.name, capability=card.capability)


def _engines(stack: SoftwareStack, software: dict[str, Any]) -> Iterator[Caution]:
    """Each engine on each card, in the weights named or in 16 bit."""
    held, cache = stack.weights or facts.weight_format("bf16"), facts.weight_format("bf16")
    for id, version in stack.engines.items():
        engine = facts.engine(id)
        for card in stack.cards:
            weights = facts.weight_format("q4_k_m") if id in GGUF_ENGINES and not stack.weights else held
            verdict = judge(Stack(engine, version or engine.versions[-1], card, weights, cache))
            severity = {"no": "blocking", "steps": "warning"}.get(verdict.state, "info")
            yield Caution("CB-K073", verdict.sentence, severity)
    if stack.cards and not stack.engines:
        names = engines_for(stack.cards[0], held)
        yield caution(
            "CB-K074",
            "info",
            name=stack.cards[0].name,
            weights=held.id,
            engines=", ".join(names) or tr("checks.none"),
        )


RULES: tuple[Callable[[SoftwareStack, dict[str, Any]], Iterator[Caution]], ...] = (
    _driver,
    _pytorch,
    _rocm,
    _flash_attention,
    _systems,
    _python,
    _libraries,
    _engines,
)
