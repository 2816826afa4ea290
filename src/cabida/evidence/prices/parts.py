"""The accelerator a price file means by a name, a machine or a slice; never a guess: what isn't known says so."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from cabida import facts
from cabida.evidence.prices.nouns import MOST_NAME, Odd, Why
from cabida.facts import mig
from cabida.text import closest
from cabida.units import BYTES_PER_GIB

NEAR_RATIO = 0.12  # a label in GB or GiB and the memory meant differ by less
FORMS = (("nvl", "NVL"), ("pcie", "PCIe"), ("sxm", "SXM"), ("nvlink", "SXM"), ("oam", "OAM"), ("hgx", "SXM"))
_TPU = re.compile(r"^(?:tpu-?)?(v5litepod|v5e|v6e|v5p|v[234]|7x|v7x)-(\d{1,5})$", re.IGNORECASE)
_CORES = ("v2", "v3", "v4", "v5p")  # whose slices are named by cores, two to a chip
_NOISE = re.compile(
    r"\b(?:tensor core|gpus?|accelerators?|hbm\d\w?|gddr\d\w?|ddr\d|graphics|high freq\.?|generation|mega|edge)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Part:
    """An accelerator as sold.

    ``form_factor`` is what the name says, "" when it says none. ``fraction_ratio`` is the share of a whole one that a
    unit of the price holds. ``units`` is how many of them one of the name is (a TPU slice names several chips).
    """

    accelerator: str
    form_factor: str = ""
    fraction_ratio: float = 1.0
    units: int = 1
    said: str = ""  # what had to be taken from elsewhere than the name: a key of evidence.import_note


@cache
def known() -> dict[str, Any]:
    """Names of providers, parts and machines in price files."""
    text = (resources.files("cabida.evidence.prices") / "known.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


class Parts:
    """Names of one file, each worked out once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Decimal | None, str], Part | Odd] = {}

    def named(self, name: str, memory_gib: Decimal | None = None, machine: str = "") -> Part:
        """The part of this name, of so much memory, in this machine.

        Raises:
            Odd: ``unknown_part`` with the nearest name, or ``other_memory``.
        """
        key = (name, memory_gib, machine)
        if key not in self._found:
            if len(self._found) > 50_000:  # a file that names every row otherwise
                self._found.clear()
            try:
                self._found[key] = part(name, memory_gib, machine)
            except Odd as odd:
                self._found[key] = odd
        found = self._found[key]
        if isinstance(found, Odd):
            raise Odd(found.why, found.near)
        return found


def part(name: str, memory_gib: Decimal | None = None, machine: str = "") -> Part:
    """As :meth:`Parts.named`."""
    name = name.strip()[:MOST_NAME]
    if sold := fraction(machine):
        return sold
    tpu = _TPU.match(name)
    named = _tpu(tpu[1].lower(), int(tpu[2])) if tpu else _named(name, memory_gib)
    found = named if tpu else _in_family(named, name, machine)
    if found is None:
        raise Odd(Why.UNKNOWN_PART, nearest(name))
    return _agreeing(found, memory_gib)


def nearest(name: str) -> str:
    """The name most like it that is known."""
    bare = re.sub(r"(?i)nvidia|geforce|tesla|amd", "", name[:60]).strip(" -_") or name[:60]
    near = closest(re.sub(r"[^a-z0-9]", "", bare.lower()), _ids())
    return _ids()[near] if near else ""


def _named(name: str, memory_gib: Decimal | None) -> Part | None:
    bare = " ".join(_NOISE.sub(" ", name.replace("_", " ").replace("-", " ")).split())
    key = _key(bare)
    sizes = known()["memory_gib"].get(key)
    if sizes and memory_gib is not None:
        id = next((id for size, id in sizes.items() if _near(float(memory_gib), float(size))), None)
        if id is None:
            raise Odd(Why.OTHER_MEMORY, next(iter(sizes.values())))
        return Part(id, _form(name))
    id = known()["parts"].get(key) or _ids().get(key)
    if id:
        return Part(id, _form(name))
    found = facts.find_accelerator(name) or facts.find_accelerator(bare)
    if found is None:
        return None
    if profile := mig.profile_of(found):
        return Part(found.id.partition(":")[0], mig.FORM, mig.compute_ratio(profile), said="slice")
    return Part(found.id, _form(name))


@cache
def _ids() -> dict[str, str]:
    return {re.sub(r"[^a-z0-9]", "", id): id for id in facts.accelerators()}


def _tpu(kind: str, count: int) -> Part | None:
    id = {"v5litepod": "tpu-v5e", "v5e": "tpu-v5e", "v6e": "tpu-v6e", "v5p": "tpu-v5p"}.get(kind, "tpu-v7x")
    if kind in ("v2", "v3", "v4"):
        return None
    return Part(id, units=max(1, count // 2 if kind in _CORES else count))


def _in_family(found: Part | None, name: str, machine: str) -> Part | None:
    """The part of a known machine where the name only says the family: ``A100`` in a p4d.24xlarge has 40 GB."""
    held = in_machine(machine) if machine else None
    if held is None or (found is not None and found.form_factor):
        return found
    family = held[0].partition("-")[0]
    alike = found.accelerator.partition("-")[0] == family if found else _key(name).startswith(family)
    return Part(held[0]) if alike else found


def _agreeing(found: Part, memory_gib: Decimal | None) -> Part:
    """The part, when the memory a file states for one of it agrees; a slice where it is a known share."""
    if memory_gib is None or found.fraction_ratio != 1 or not memory_gib:
        return found
    label = facts.accelerators()[found.accelerator].label_memory_bytes / BYTES_PER_GIB
    if _near(float(memory_gib), label):
        return found
    raise Odd(Why.OTHER_MEMORY, found.accelerator)


def _near(one: float, other: float) -> bool:
    return abs(one / other - 1) <= NEAR_RATIO


def _key(name: str) -> str:
    return re.sub(
        r"[^a-z0-9]+",
        "",
        re.sub(r"(?i)\b(?:nvidia|geforce|tesla|amd|instinct|aws|google)\b", "", name).lower(),
    )


def _form(name: str) -> str:
    low = name.lower()
    return next((form for word, form in FORMS if re.search(rf"{word}\d?(?![a-z])", low)), "")


def fraction(machine: str) -> Part | None:
    """The share of an accelerator that a machine is sold with, ``None`` when it isn't one of the known shares."""
    found = known()["fractions"].get(machine.removeprefix("Standard_"))
    if found is None or found[1] == "1":
        return None
    if not found[0]:
        raise Odd(Why.UNKNOWN_PART)
    return Part(found[0], "", float(Fraction(found[1])), said="slice")


@cache
def _machines() -> dict[str, tuple[str, int]]:
    shipped = {
        one.id.partition("-")[2].lower(): (one.accelerator, one.accelerators_count)
        for one in facts.nodes().values()
    }
    own = {
        name.lower(): (id, count)
        for id, counts in known()["instances"].items()
        for name, count in counts.items()
    }
    return {**shipped, **own}


def in_machine(machine: str) -> tuple[str, int] | None:
    """The accelerator of a machine of a provider, and how many it has."""
    name = machine.strip().lower().removeprefix("standard_")
    return _machines().get(name) or _machines().get(name.replace("_", "-"))


def shared(found: Part, count: Decimal) -> tuple[Part, Decimal]:
    """The part and how many are sold together; a count below one is a share of one."""
    if count < 1:
        if found.fraction_ratio == 1:
            return replace(found, fraction_ratio=float(count), said="slice"), Decimal(1)
        return found, Decimal(1)  # a catalogue that gives the share as the count
    if count != count.to_integral_value():
        raise Odd(Why.BAD_COUNT)
    return found, count * found.units


def provider(name: str) -> tuple[str, str]:
    """A provider's name as the book has it and its kind; an unknown one keeps its name, as a neocloud."""
    key = re.sub(r"[^a-z0-9]", "", name.lower())
    found = known()["providers"].get(key) or _shipped().get(key)
    return (found[0], found[1]) if found else (name.strip()[:MOST_NAME], "neocloud")


def provider_in(word: str) -> str:
    """The provider a file or folder is named for, "" when it is none that is known."""
    key = re.sub(r"[^a-z0-9]", "", word.lower())
    found = known()["providers"].get(key) or _shipped().get(key)
    return found[0] if found else ""


@cache
def _shipped() -> dict[str, tuple[str, str]]:
    return {
        re.sub(r"[^a-z0-9]", "", one.provider.lower()): (one.provider, one.provider_kind)
        for one in facts.offers()
    }
