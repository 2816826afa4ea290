"""Accelerators, nodes, links and engines by name, with whatever a user's own files lay over them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from cabida.errors import InvalidInput
from cabida.facts import mig, overlay, store
from cabida.facts.model import Accelerator, Collective, Engine, Measurement, Node
from cabida.text import closest, problem, tr
from cabida.units import BYTES_PER_GIB

_MAKERS = re.compile(r"\b(nvidia|geforce|tesla|amd|instinct|radeon|intel|apple|quadro)\b", re.IGNORECASE)

_MEMORY = re.compile(r"(.*\D)[\s-]*?(?<!\d)(\d{1,3})\s*gi?b(?:\s*\w*)?$", re.IGNORECASE)
SIZE_RATIO = 0.1  # a label in GB or GiB and the memory meant differ by less


@dataclass(frozen=True, slots=True)
class Description:
    """What a class of accelerator is for and what it is not: keys of the facts catalogue."""

    id: str
    for_key: str
    not_for_key: str


def accelerators(as_of: str | None = None) -> dict[str, Accelerator]:
    """All accelerators by id; with ``as_of`` (ISO date) only those on sale by the end of that year."""
    found: dict[str, Accelerator] = overlay.table("accelerators")
    if not as_of:
        return found
    return {id: one for id, one in found.items() if one.year is None or one.year <= int(as_of[:4])}


def accelerator(ref: str) -> Accelerator:
    """The accelerator with this id, or with this name as a driver, a price page or a person says it.

    A slice of one is named by its MIG profile: ``h100-sxm-80:3g.40gb``, ``NVIDIA H200 MIG 1g.18gb``.

    Raises:
        InvalidInput: CB-F001, none is called that; names the nearest. CB-F019, it has no such slice.
    """
    found = find_accelerator(ref)
    if found is None:
        _refuse_slice(ref)
        names = _names()
        spelled = closest(bare_name(ref), names)
        near = names[spelled] if spelled else ", ".join([*accelerators()][:3])
        raise InvalidInput(problem("CB-F001", kind=tr("facts.kind.accelerator"), ref=ref, near=near))
    return found


def find_accelerator(ref: str) -> Accelerator | None:
    """The accelerator called ``ref``, or ``None``."""
    known = accelerators()
    if ref.rstrip().endswith(":"):  # the slice is missing
        return None
    found = known.get(ref) or known.get(_names().get(bare_name(ref), "")) or _sized(ref)
    if found is not None or (named := mig.parts_of(ref)) is None:
        return found
    whole, profile = find_accelerator(named[0]), named[1]
    return mig.slice_of(whole, profile) if whole is not None else None


def _sized(ref: str) -> Accelerator | None:
    """The accelerator of a name that says its memory besides (``RTX 4090 24GB``), when it has as much."""
    said = _MEMORY.match(ref)
    if said is None:
        return None
    found = accelerators().get(_names().get(bare_name(said[1]), ""))
    gigabytes = float(said[2])
    if found is None or gigabytes <= 0:
        return None
    return found if abs(found.label_memory_bytes / gigabytes / BYTES_PER_GIB - 1) < SIZE_RATIO else None


def _refuse_slice(ref: str) -> None:
    """Say what an accelerator can be cut into when ``ref`` names a slice that it hasn't."""
    card = ref.strip()
    named = (card[:-1], '""') if card.endswith(":") else mig.parts_of(ref)
    whole = find_accelerator(named[0]) if named else None
    if named and whole is not None:
        known = ", ".join(one.name for one in mig.profiles(whole)) or tr("facts.no_slices")
        raise InvalidInput(problem("CB-F019", name=whole.id, profile=named[1], known=known))


def bare_name(name: str) -> str:
    """What is compared of a name: its letters and digits, without its maker's."""
    return re.sub(r"[^a-z0-9]+", "", _MAKERS.sub("", name).lower())


def _names() -> dict[str, str]:
    return {
        **_shipped_names(),
        **{bare_name(name): one.id for one in overlay.own("accelerators") for name in (one.id, one.name)},
    }


@cache
def _shipped_names() -> dict[str, str]:
    named = {bare_name(text): id for id, texts in store.payload("names").items() for text in texts}
    for one in store.table("accelerators"):
        named.setdefault(bare_name(one.name), one.id)
        named[bare_name(one.id)] = one.id
    return named


def nodes() -> dict[str, Node]:
    """All machine shapes by id."""
    return overlay.table("nodes")


def node(ref: str) -> Node:
    """The machine shape with this id.

    Raises:
        InvalidInput: CB-F001, there is none; names the nearest.
    """
    found: Node = _one("node", nodes(), ref)
    return found


def node_for(accelerator: Accelerator | str) -> Node | None:
    """The machine an accelerator usually comes in (eight H100 SXM on one board), or ``None`` when none is known."""
    id = accelerator if isinstance(accelerator, str) else accelerator.id
    known = nodes()
    usual = _shapes().get(id)
    if usual in known:
        return known[usual]
    return next((one for one in known.values() if one.accelerator == id), None)


@cache
def _shapes() -> dict[str, str]:
    found: dict[str, str] = store.payload("shapes")
    return found


def engines() -> dict[str, Engine]:
    """All serving engines and training frameworks by id."""
    return overlay.table("engines")


def engine(ref: str) -> Engine:
    """The engine with this id or name.

    Raises:
        InvalidInput: CB-F001, there is none; names the nearest.
    """
    found: Engine = _one("engine", engines(), ref)
    return found


def _one(kind: str, known: dict[str, Any], ref: str) -> Any:
    key = bare_name(ref)
    found = known.get(ref) or next(
        (one for id, one in known.items() if key in (bare_name(id), bare_name(_title(one)))), None
    )
    if found is None:
        near = closest(ref, known) or next(iter(known))
        raise InvalidInput(problem("CB-F001", kind=tr(f"facts.kind.{kind}"), ref=ref, near=near))
    return found


def _title(record: Any) -> str:
    return str(getattr(record, "name", ""))


@cache
def software() -> dict[str, Any]:
    """What software runs on what, as data: data types by architecture, engines, PyTorch, CUDA, drivers, ROCm, MIG."""
    found: dict[str, Any] = store.payload("software")
    return found


def collectives() -> tuple[Collective, ...]:
    """All measured collectives."""
    return store.table("collectives")


def measurements(kind: str = "") -> tuple[Measurement, ...]:
    """Measured matrix-multiply, memory, bus, storage and attention rates, of one kind or all."""
    return tuple(one for one in store.table("measurements") if not kind or one.kind == kind)


def describe(accelerator: Accelerator | str) -> Description | None:
    """What the accelerator's class is for and not for (texts of the facts catalogue), or ``None``."""
    id = accelerator if isinstance(accelerator, str) else accelerator.id
    own = next((row["id"] for row in classes() if id in row["members"]), None)
    return Description(own, f"facts.class.{own}.for", f"facts.class.{own}.not_for") if own else None


@cache
def classes() -> tuple[dict[str, Any], ...]:
    """The classes of accelerators, each with its members, in the order they are shown."""
    return tuple(store.payload("classes"))
