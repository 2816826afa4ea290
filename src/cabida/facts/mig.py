"""Slices of an accelerator under NVIDIA's MIG: what one holds, as an accelerator of its own.

A slice has its own memory, its share of bandwidth, cache and arithmetic, and no link to any other: neither NVLink nor
peer-to-peer over PCIe (MIG user guide, "Partitioning"). What follows from shares is graded derived.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import groupby

from cabida.facts import store
from cabida.facts.model import Accelerator, MigProfile
from cabida.quantity import Source

FORM = "MIG slice"
_REF = re.compile(
    r"^(?P<card>.+?)(?:\s*:\s*|[\s_-]+)(?:mig[\s_-]*)?(?P<profile>\d+g\.\d+gb)(?:[+-][\w.]+)?$", re.IGNORECASE
)


def parts_of(ref: str) -> tuple[str, str] | None:
    """``("h100-sxm-80", "3g.40gb")`` of a name that ends in a MIG profile, else ``None``."""
    found = _REF.match(ref.strip()[:120])
    return (found["card"], found["profile"].lower()) if found else None


def profiles(card: Accelerator | str) -> tuple[MigProfile, ...]:
    """The slices an accelerator can be cut into, smallest memory first; none for one that can't be cut."""
    return _by_card().get(card if isinstance(card, str) else card.id, ())


def every() -> dict[str, MigProfile]:
    """Every way to cut a slice, by id: ``h100-80:3g.40gb``."""
    return {one.id: one for one in store.table("mig")}


@cache
def _by_card() -> dict[str, tuple[MigProfile, ...]]:
    pairs = sorted(
        ((id, one) for one in store.table("mig") for id in one.accelerators),
        key=lambda pair: (pair[0], pair[1].usable_bytes, pair[1].compute_slices_count),
    )
    return {id: tuple(one for _, one in own) for id, own in groupby(pairs, key=lambda pair: pair[0])}


def profile_of(card: Accelerator) -> MigProfile | None:
    """The profile that this accelerator is a slice by, ``None`` for a whole one."""
    named = parts_of(card.id) if card.form_factor == FORM else None
    return next((one for one in profiles(named[0]) if one.name == named[1]), None) if named else None


def slice_of(card: Accelerator, name: str) -> Accelerator | None:
    """One slice of an accelerator as an accelerator, or ``None`` where it has no such profile."""
    profile = next((one for one in profiles(card) if one.name == name), None)
    if profile is None:
        return None
    memory = profile.memory_slices_count / profile.memory_of_count
    compute = compute_ratio(profile)
    shared = Source(
        f"MIG {profile.name}: its share of {card.name} ({profile.source.what})",
        profile.source.url,
        profile.source.seen,
        "derived",
    )
    unchanged = ("capability", "year", "matmul_ratio", "ecc")
    return replace(
        card,
        id=f"{card.id}:{profile.name}",
        name=f"{card.name} MIG {profile.name}",
        form_factor=FORM,
        label_memory_bytes=max(card.label_memory_bytes * memory, profile.usable_bytes),
        usable_bytes=profile.usable_bytes,
        memory_bytes_per_s=_share(card.memory_bytes_per_s, memory),
        flop_per_s={kind: rate * compute for kind, rate in card.flop_per_s.items()},
        l2_bytes=_share(card.l2_bytes, memory),
        tdp_w=_share(card.tdp_w, compute),
        link_kind="none",
        link_bytes_per_s=None,
        link_domain_count=1,
        mig_instances_count=None,
        price_money=None,
        physical={},
        source=shared,
        field_sources={
            **{name: card.source_of(name) for name in unchanged},
            "usable_bytes": profile.source_of("usable_bytes"),
        },
    )


def compute_ratio(profile: MigProfile) -> float:
    """A slice's share of the arithmetic: multiprocessors where the driver's count was seen, else compute slices."""
    if profile.multiprocessors_count and profile.multiprocessors_of_count:
        return profile.multiprocessors_count / profile.multiprocessors_of_count
    return profile.compute_slices_count / profile.compute_of_count


def _share(whole: float | None, ratio: float) -> float | None:
    return None if whole is None else whole * ratio
