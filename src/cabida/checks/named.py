"""What a name hides: parts made for export, one name for several cards, cards the current toolkit left behind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cabida.checks.claims import named_cards
from cabida.checks.sentences import caution
from cabida.facts.hardware import find_accelerator
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.text import number, percent

WHOLE_OF = {  # made for export -> the part it was made from
    "a800-sxm-80": "a100-sxm-80",
    "h800-sxm-80": "h100-sxm-80",
    "h20-96": "h100-sxm-80",
    "l20": "l40",
    "rtx4090d": "rtx4090",
}
SHAPES = re.compile(r"\b(sxm\d?|pcie|pci-e|nvl\d*|oam|hgx|dgx)\b", re.IGNORECASE)
OLD_CAPABILITY = (
    7,
    5,
)  # below it, PyTorch's only wheels left are those for CUDA 12.6: software facts, pytorch


def export_variant(id: str) -> Iterator[Caution]:
    """The part made for export, and what of the whole one's arithmetic and link is left in it."""
    card, whole = find_accelerator(id), find_accelerator(WHOLE_OF.get(id, "-"))
    if card is None or whole is None:
        return
    rates = card.flop_per_s.get("bf16"), whole.flop_per_s.get("bf16")
    links = card.link_bytes_per_s, whole.link_bytes_per_s
    values = {
        name: percent(mine / full) if mine and full else "–"
        for name, (mine, full) in (("compute", rates), ("link", links))
    }
    yield caution("CB-K330", name=card.name, whole=whole.name, **values)


def loose_names(texts: Iterable[str]) -> Iterator[Caution]:
    """Names that stand for cards of several shapes, in texts that say no shape."""
    told: set[str] = set()
    for text in texts:
        cards = named_cards(text) if text.strip() and not SHAPES.search(text) else []
        shapes = {one.form_factor for one in cards}
        rates = [one.flop_per_s.get("bf16", 0.0) for one in cards]
        word = _common(cards)
        if len(shapes) < 2 or not word or word in told or max(rates) == min(rates):
            continue
        told.add(word)
        listed = ", ".join(
            f"{one.name}: {number(one.flop_per_s.get('bf16', 0.0) / 1e12)} TFLOPS, "
            f"{number(one.label_memory_bytes / 2**30)} GiB, {number(one.tdp_w or 0.0)} W"
            for one in cards
        )
        yield caution("CB-K331", word=word, cards=listed)


def _common(cards: list[Accelerator]) -> str:
    """The word all of their names share: H100."""
    words = [set(one.name.split()) for one in cards]
    shared = set.intersection(*words) if words else set()
    return next((word for word in sorted(shared) if any(char.isdigit() for char in word)), "")


def last_toolkit(card: Accelerator) -> Iterator[Caution]:
    """Pascal and Volta: one line of wheels is left for them."""
    found = re.fullmatch(r"(\d+)\.(\d+)", card.capability)
    if card.vendor == "NVIDIA" and found and tuple(map(int, found.groups())) < OLD_CAPABILITY:
        yield caution("CB-K315", name=card.name, capability=card.capability, year=card.year or "?")
