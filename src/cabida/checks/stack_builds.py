"""What was built for what: driver and toolkit, PyTorch's wheels, ROCm's chips, Python, the processor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cabida import facts
from cabida.checks.sentences import caution
from cabida.checks.stack_parts import Place, part_at, sourced
from cabida.checks.stack_words import SoftwareStack
from cabida.facts.model import Accelerator
from cabida.facts.releases import numbers
from cabida.plan import Caution
from cabida.text import tr

NOT_BY_OTHERS = ("8.7",)  # Jetson Orin: PyTorch's wheels say they don't serve it


def block_source(name: str) -> str:
    """Where a block of the software facts was read, and when."""
    software = facts.software()
    row = software[name]
    return f"{row['source']} · {row.get('seen') or software['meta']['seen']}"


def minor(version: str) -> str:
    """``2.14.1`` as 2.14."""
    return ".".join(version.split(".")[:2])


def drivers(stack: SoftwareStack) -> Iterator[Caution]:
    """The driver carries the CUDA toolkit: its own, an earlier one, or a later one of the same family with limits."""
    cuda, driver = stack.versions.get("cuda", ""), stack.versions.get("driver", "")
    if not driver or not driver[:1].isdigit() or (stack.cards and not stack.nvidia):
        return
    column = 1 if stack.system == "windows" else 0
    yield from _chips_and_driver(stack, driver)
    if cuda:
        yield from judge_driver(stack, cuda, driver, column)


def judge_driver(stack: SoftwareStack, cuda: str, driver: str, column: int = 0) -> Iterator[Caution]:
    """Whether a driver runs what is built for a CUDA toolkit."""
    software = facts.software()
    table = {key: row for key, row in software["cuda_driver_min"].items() if key[:1].isdigit()}
    wanted = next(
        (table[key][column] for key in sorted(table, key=numbers) if key.startswith(minor(cuda))), ""
    )
    family = software["minor_compat"].get(cuda.partition(".")[0], ["", ""])[column]
    best = carried(driver, column)
    values = {"cuda": cuda, "driver": driver, "best": best, "family": family}
    if wanted[:1].isdigit() and not below(driver, wanted):
        yield sourced(caution("CB-K226", "info", **values, wanted=wanted), block_source("cuda_driver_min"))
    elif family and below(driver, family):
        yield from _forward(stack, values | {"wanted": wanted if wanted[:1].isdigit() else family})
    elif wanted[:1].isdigit() and below(driver, wanted):
        source = block_source("minor_compat")
        yield sourced(caution("CB-K210", "warning", **values, wanted=wanted), source)


def below(driver: str, wanted: str) -> bool:
    """Whether a driver, by as many numbers as it was told with, is older than another."""
    have = numbers(driver)
    return have < numbers(wanted)[: len(have)]


def carried(driver: str, column: int = 0) -> str:
    """The newest toolkit that a driver was made for, "-" when the table knows none."""
    table = {key: row for key, row in facts.software()["cuda_driver_min"].items() if key[:1].isdigit()}
    held = [key for key, row in table.items() if row[column][:1].isdigit() and not below(driver, row[column])]
    return max(held, key=numbers, default="-")


def _forward(stack: SoftwareStack, values: dict[str, str]) -> Iterator[Caution]:
    """Across families only the compatibility package helps, and only on some cards."""
    source = block_source("cuda_driver_min")
    rows = [part_at("forward-compat", Place(card, stack.system)) for card in stack.nvidia]
    package = f"cuda-compat-{minor(values['cuda']).replace('.', '-')}"
    if rows and all(row is not None and row.state != "no" for row in rows) and rows[0] is not None:
        yield sourced(caution("CB-K211", "warning", **values, package=package), rows[0].source)
        return
    yield sourced(caution("CB-K062", "blocking", **values), source)
    if "forward-compat" in stack.parts:
        for card, row in zip(stack.nvidia, rows, strict=True):
            if row is not None:
                yield sourced(caution("CB-K212", "blocking", name=card.name, package=package), row.source)


def _chips_and_driver(stack: SoftwareStack, driver: str) -> Iterator[Caution]:
    """Chips newer than a driver, and chips that newer drivers have left."""
    for card in stack.nvidia:
        row = chip(card)
        first, last = row.get("first_driver", ""), row.get("last_driver", "")
        values = {"name": card.name, "driver": driver, "first": first, "last": last}
        if first and below(driver, first):
            yield sourced(caution("CB-K213", "blocking", **values), block_source("chip_support"))
        if last and numbers(driver)[:1] > numbers(last)[:1]:
            yield sourced(caution("CB-K214", "blocking", **values), block_source("chip_support"))


def chip(card: Accelerator) -> dict[str, str]:
    """What a chip needs of toolkit and driver: by its capability where that has a row, else by its architecture."""
    table: dict[str, dict[str, str]] = facts.software()["chip_support"]
    return table.get(card.capability) or table.get(card.architecture.lower()) or {}


def toolkits(stack: SoftwareStack) -> Iterator[Caution]:
    """A CUDA toolkit too old for a chip, or that has left it; PyTorch's wheels say so themselves."""
    cuda = stack.versions.get("cuda", "")
    if not cuda:
        return
    for card in stack.nvidia:
        row = chip(card)
        if stack.versions.get("pytorch") and row is not facts.software()["chip_support"].get(card.capability):
            continue
        first, last = row.get("first_cuda", ""), row.get("last_cuda", "")
        values = {
            "name": card.name,
            "architecture": card.architecture,
            "capability": card.capability,
            "cuda": cuda,
            "first": first,
            "last": last,
        }
        if first and numbers(cuda)[:2] < numbers(first)[: len(numbers(cuda))]:
            yield sourced(caution("CB-K215", "blocking", **values), block_source("chip_support"))
        if last and numbers(cuda)[:1] > numbers(last)[:1]:
            yield sourced(caution("CB-K216", "blocking", **values), block_source("chip_support"))


def pytorch(stack: SoftwareStack) -> Iterator[Caution]:
    """PyTorch is built for certain CUDA versions, and each build for certain chips."""
    if not stack.versions.get("pytorch"):
        return
    software, source = facts.software(), block_source("pytorch")
    told, cuda = minor(stack.versions["pytorch"]), minor(stack.versions.get("cuda", ""))
    released: dict[str, Any] = software["pytorch"]["releases"]
    torch = told if told in released or not told else nearest_release(told)
    if torch != told and torch:
        yield sourced(caution("CB-K217", "info", name="PyTorch", version=told, taken=torch), source)
    flavours = built(released[torch]) if torch in released else []
    if flavours and cuda and cuda not in flavours and "." in cuda:
        others = ", ".join(one for one, row in released.items() if cuda in built(row)) or tr("checks.none")
        values = {"torch": torch, "cuda": cuda, "built": ", ".join(flavours), "others": others}
        yield sourced(caution("CB-K063", "blocking", **values), source)
        return
    for card in stack.nvidia:
        wanted = card.capability
        tried = [cuda] if cuda else flavours
        if not tried or not torch:
            continue
        arm = stack.processor == "aarch64"
        if not any(carries(torch, one, wanted, arm=arm) for one in tried):
            values = {"name": card.name, "capability": card.capability, "near": torch_for(wanted, arm=arm)}
            values["first"] = torch_for(wanted, arm=arm, newest=False)
            yield sourced(
                caution("CB-K064", "blocking", torch=torch, cuda=cuda or ", ".join(flavours), **values),
                source,
            )
        elif not cuda and not carries(torch, default_flavour(torch), wanted, arm=arm):
            able = [one for one in tried if carries(torch, one, wanted, arm=arm)]
            flavour, index = able[-1], f"https://download.pytorch.org/whl/cu{able[-1].replace('.', '')}"
            values = {"name": card.name, "torch": torch, "cuda": flavour, "index": index}
            yield sourced(caution("CB-K218", "warning", **values), source)


def nearest_release(torch: str) -> str:
    """The latest known PyTorch before one that is not in the table; "" before the first."""
    known = facts.software()["pytorch"]["releases"]
    return max((one for one in known if numbers(one) <= numbers(torch)), key=numbers, default="")


def built(row: dict[str, Any]) -> list[str]:
    """The CUDA versions a PyTorch has wheels for."""
    return [*row["cuda"], *row.get("exp", [])]


def default_flavour(torch: str) -> str:
    """The CUDA of the wheel that a bare ``pip install torch`` brings."""
    row = facts.software()["pytorch"]["releases"][torch]
    return str(row.get("default") or row["cuda"][-1])


def carries(torch: str, cuda: str, capability: str, *, arm: bool = False) -> bool:
    """Whether a wheel has code for a chip; where no table says, whether the toolkit is as new as the chip."""
    chips = wheel(torch, cuda, arm=arm)
    if chips is not None:
        return any(_serves(chip, capability) for chip in chips)
    return numbers(capability) < (10,) or numbers(cuda) >= (12, 8)


def _serves(code: str, capability: str) -> bool:
    """Code for 8.0 runs on 8.6 and 8.9, not on 9.0: same major number, no later minor one."""
    have, own = numbers(code), numbers(capability)
    if capability in NOT_BY_OTHERS:
        return have == own
    return have[:1] == own[:1] and have <= own


def wheel(torch: str, cuda: str, *, arm: bool = False) -> list[str] | None:
    """Capabilities in the wheel of one PyTorch for one CUDA; ``None`` when no table says."""
    table: dict[str, list[str]] = facts.software()["pytorch"]["wheel_archs_linux_x86"]
    for name, chips in table.items():
        flavour, _, releases = name.partition("_torch")
        prefix = "aarch64_" if arm else ""
        if flavour != f"{prefix}cu{cuda.replace('.', '')}":
            continue
        first, _, last = releases.partition("_")
        if not releases or numbers(first) <= numbers(torch) <= numbers(last or first):
            return [chip.split("+")[0] for chip in chips]
    return None


def torch_for(capability: str, *, arm: bool = False, newest: bool = True) -> str:
    """The newest (or first) PyTorch, and the newest CUDA with it, whose wheel carries a capability."""
    released: dict[str, Any] = facts.software()["pytorch"]["releases"]
    for torch in sorted(released, key=numbers, reverse=newest):
        for cuda in sorted(built(released[torch]), key=numbers, reverse=True):
            if any(_serves(chip, capability) for chip in wheel(torch, cuda, arm=arm) or ()):
                return f"PyTorch {torch} + CUDA {cuda}"
    return tr("checks.none")


def rocm(stack: SoftwareStack) -> Iterator[Caution]:
    """ROCm supports a list of chips, another one on Windows."""
    version = stack.versions.get("rocm")
    software, source = facts.software()["rocm"], block_source("rocm")
    table: dict[str, list[str]] = software["linux"]
    for card in stack.amd:
        values = {"name": card.name, "chip": card.capability}
        if stack.system == "windows" and _asks_rocm(stack):
            if card.capability not in software["windows_hip_sdk_7_2"]:
                yield sourced(
                    caution("CB-K065", "blocking", **values, rocm="Windows", near="Linux, Vulkan"), source
                )
            elif "pytorch" in stack.versions:
                yield sourced(caution("CB-K219", "warning", **values), source)
        elif version:
            row = _rocm_row(table, version)
            if numbers(version)[:2] > numbers(next(iter(table)))[:2]:
                yield sourced(
                    caution("CB-K217", "info", name="ROCm", version=version, taken=next(iter(table))), source
                )
            if row is not None and card.capability not in row:
                yield _not_listed(card, version, table, source)
        elif "pytorch" in stack.versions and card.capability not in next(iter(table.values())):
            yield _not_listed(card, next(iter(table)), table, source)
    if version is not None and stack.nvidia and not stack.amd:
        yield sourced(caution("CB-K066", "blocking", name=stack.nvidia[0].name), source)
    if version is not None and stack.system == "mac":
        yield sourced(
            caution("CB-K065", "blocking", name="macOS", chip="-", rocm=version or "ROCm", near="MLX"), source
        )


def _asks_rocm(stack: SoftwareStack) -> bool:
    return "rocm" in stack.versions or "pytorch" in stack.versions


def _rocm_row(table: dict[str, list[str]], version: str) -> list[str] | None:
    """The row of a ROCm, or of the nearest before it."""
    before = [one for one in table if numbers(one) <= numbers(version)]
    found = table.get(version) or table.get(minor(version))
    return found or (table[max(before, key=numbers)] if before else None)


def _not_listed(card: Accelerator, version: str, table: dict[str, list[str]], source: str) -> Caution:
    able = sorted((one for one, chips in table.items() if card.capability in chips), key=numbers)
    near = f"ROCm {able[0]} – {able[-1]}" if able else "Vulkan (llama.cpp)"
    return sourced(
        caution("CB-K065", "blocking", name=card.name, chip=card.capability, rocm=version, near=near), source
    )


def python(stack: SoftwareStack) -> Iterator[Caution]:
    """PyTorch's lowest Python."""
    row = facts.software()["pytorch"]["releases"].get(minor(stack.versions.get("pytorch", "")), {})
    wanted, have = str(row.get("py", "")).lstrip(">="), stack.versions.get("python", "")
    if wanted and have and numbers(have) < numbers(wanted):
        values = {"torch": stack.versions["pytorch"], "wanted": wanted, "have": have}
        yield sourced(caution("CB-K070", "blocking", **values), block_source("pytorch"))
