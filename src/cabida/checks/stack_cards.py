"""What cards can do among themselves and be cut into: links, peers, slices, ECC, export variants, licences."""

from __future__ import annotations

from collections.abc import Iterator

from cabida import facts
from cabida.checks.sentences import caution
from cabida.checks.stack_builds import block_source
from cabida.checks.stack_parts import Place, part_at, sourced
from cabida.checks.stack_words import SoftwareStack
from cabida.facts.mig import profiles
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.text import number, size, tr

BITS_PER_BYTE = 8
ROOM_RATIO = 1.2  # of a slice over the weights: cache and engine besides


def links(stack: SoftwareStack) -> Iterator[Caution]:
    """NVLink, and whether cards read each other's memory."""
    named = {"nvlink", "peer"} & stack.parts.keys()
    for card in stack.cards:
        source = card.source_of("link_kind")
        if "nvlink" in named:
            yield sourced(_nvlink(card), source)
        row = part_at("peer", Place(card, stack.system))
        if "peer" in named and row is None:
            yield sourced(_peers(card), source)
        if not named and stack.count > 1 and row is not None:
            text = tr(f"checks.part.{row.says}", part="P2P", at=card.name, near=row.near)
            severity = "warning" if row.state in ("no", "steps") else "info"
            yield sourced(
                caution("CB-K240", severity, name=card.name, count=stack.count, why=text), row.source
            )


def _nvlink(card: Accelerator) -> Caution:
    if not card.link_kind.startswith("nvlink"):
        return caution("CB-K241", "blocking", name=card.name, link=card.link_kind)
    rate = number(2 * (card.link_bytes_per_s or 0.0) / 1e9, 4) if card.link_bytes_per_s else "?"
    code = "CB-K242" if card.link_kind.endswith("bridge") else "CB-K243"
    severity = "warning" if card.link_kind.endswith("bridge") else "info"
    return caution(code, severity, name=card.name, rate=rate, domain=card.link_domain_count)


def _peers(card: Accelerator) -> Caution:
    """Cards on a link read each other; over PCIe the board decides."""
    if card.link_bytes_per_s and card.link_domain_count > 1:
        return caution("CB-K244", "info", name=card.name, domain=card.link_domain_count, link=card.link_kind)
    return caution("CB-K245", "warning", name=card.name)


def slices(stack: SoftwareStack) -> Iterator[Caution]:
    """Whether a card can be cut, into what, and which slice holds the model that is named."""
    if "mig" not in stack.parts:
        return
    guide = "MIG user guide, supported GPUs and deployment considerations · 2026-11-30"
    for card in stack.cards:
        held = profiles(card)
        if not held:
            others = ", ".join(_cut(card))
            yield sourced(caution("CB-K250", "blocking", name=card.name, others=others), guide)
            continue
        if stack.system in ("windows", "wsl", "mac"):
            yield sourced(caution("CB-K251", "blocking", name=card.name), guide)
            continue
        told = ", ".join(f"{one.instances_count}× {one.name} ({size(one.usable_bytes)})" for one in held)
        yield sourced(caution("CB-K252", "info", name=card.name, slices=told), held[0].source)
        if stack.params_count:
            yield sourced(_fits(stack, card), held[0].source)
        if "tensor-parallel" in stack.parts or "peer" in stack.parts or "nvlink" in stack.parts:
            yield sourced(caution("CB-K253", "blocking", name=card.name), guide)


def _cut(card: Accelerator) -> list[str]:
    """Cards of the maker that can be cut, one name each, the nearest segment first."""
    able = [one for one in facts.accelerators().values() if profiles(one)]
    able.sort(key=lambda one: (one.segment != card.segment, one.name))
    return list(
        dict.fromkeys(one.name.split()[0] if one.segment == "datacenter" else one.name for one in able)
    )[:6]


def _fits(stack: SoftwareStack, card: Accelerator) -> Caution:
    weights = stack.weights or facts.weight_format("bf16")
    needed_bytes = stack.params_count * weights.body_bits / BITS_PER_BYTE
    able = [one for one in profiles(card) if one.usable_bytes >= ROOM_RATIO * needed_bytes]
    values = {"name": card.name, "weights": weights.id, "size": size(needed_bytes)}
    if not able:
        return caution("CB-K254", "blocking", **values, largest=profiles(card)[-1].name)
    return caution("CB-K255", "info", **values, slice=able[0].name, ref=f"{card.id}:{able[0].name}")


def memory_errors(stack: SoftwareStack) -> Iterator[Caution]:
    """ECC: there, not there, or unknown, and the memory that is left."""
    if "ecc" not in stack.parts:
        return
    for card in stack.cards:
        left = {"name": card.name, "usable": size(card.usable_bytes), "label": size(card.label_memory_bytes)}
        if card.ecc is None:
            key, severity = "CB-K262", "warning"
        else:
            key, severity = ("CB-K260", "info") if card.ecc else ("CB-K261", "blocking")
        yield sourced(caution(key, severity, **left), card.source_of("ecc"))


def variants(stack: SoftwareStack) -> Iterator[Caution]:
    """What a card for a restricted market lacks against the one it is made from."""
    for card in stack.cards:
        whole = facts.accelerators().get(facts.software()["variants"]["rows"].get(card.id, ""))
        if whole is None:
            continue
        lacks = [
            f"{kind.upper()} {number(own / 1e12, 4)} / {number(theirs / 1e12, 4)} TFLOPS"
            for kind, theirs in whole.flop_per_s.items()
            if (own := card.flop_per_s.get(kind)) and own < 0.97 * theirs
        ]
        one, other = card.link_bytes_per_s, whole.link_bytes_per_s
        if one and other and one < 0.97 * other:
            lacks.append(f"NVLink {number(2 * one / 1e9, 4)} / {number(2 * other / 1e9, 4)} GB/s")
        told = "; ".join(lacks) or tr("checks.none")
        asked = bool({"nvlink", "peer", "tensor-parallel"} & stack.parts.keys()) or stack.count > 1
        severity = "warning" if lacks and asked else "info"
        yield sourced(caution("CB-K265", severity, name=card.name, whole=whole.name, lacks=told), card.source)


def licences(stack: SoftwareStack) -> Iterator[Caution]:
    """The driver's licence for consumer cards, where a data centre or a licence is spoken of."""
    if not {"data-centre", "licence"} & stack.parts.keys():
        return
    source = block_source("licence")
    for row in facts.software()["licence"]["rows"]:
        values = {"clause": row["clause"], "since": row["since"]}
        for card in stack.cards:
            if card.vendor != row["vendor"]:
                continue
            if card.segment in row["segments"]:
                yield sourced(caution("CB-K270", "warning", name=card.name, **values), source)
            elif "licence" in stack.parts:
                yield sourced(caution("CB-K271", "info", name=card.name, **values), source)
    if "licence" in stack.parts and stack.model and (licence := facts.models()[stack.model].licence):
        own = facts.models()[stack.model].source
        yield sourced(caution("CB-K272", "info", model=stack.model, licence=licence), own)
