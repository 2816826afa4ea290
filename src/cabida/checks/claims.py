"""Figures said of an accelerator, against its dense rates: a quote's or a brief's TFLOPS are often sparse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from cabida import facts
from cabida.facts.model import Accelerator

TOLERANCE_RATIO = 0.02
_RATE = re.compile(r"(?<![\d.,])(\d[\d.,]*+)\s*(T|P)(?:FLOPS|FLOP/s|OPS)\b", re.IGNORECASE)
_SPARSE_SAID = re.compile(r"spars|dispers", re.IGNORECASE)
_TENSOR = ("bf16", "fp16", "fp8", "int8", "fp4", "tf32")


@dataclass(frozen=True, slots=True)
class SparseClaim:
    """A rate that is twice a dense one."""

    name: str
    dtype: str
    said_tflops: float
    dense_tflops: float


def sparse_claims(text: str) -> list[SparseClaim]:
    """Rates in ``text`` that equal twice the dense rate of the accelerator named in the same sentence."""
    found: list[SparseClaim] = []
    for sentence in re.split(r"[\n;]|(?<=[a-z)])\.\s", text):
        if _SPARSE_SAID.search(sentence):
            continue
        rates = [_tflops(value, prefix) for value, prefix in _RATE.findall(sentence)]
        types = [dtype for dtype in _TENSOR if re.search(rf"\b{dtype}\b", sentence, re.IGNORECASE)]
        claims = [
            claim for rate in rates for card in named_cards(sentence) for claim in _doubled(card, rate, types)
        ]
        found += claims[: len(rates)]
    return found


def _tflops(value: str, prefix: str) -> float:
    """``1,979`` and ``1.979`` (thousands) as 1979; ``91.1`` as 91.1."""
    text = re.sub(r"[.,](?=\d{3}(?!\d))", "", value).replace(",", ".").rstrip(".")
    try:
        return float(text) * (1000.0 if prefix.upper() == "P" else 1.0)
    except ValueError:  # 1.5.2 is no rate, and no claim
        return 0.0


def named_cards(sentence: str) -> list[Accelerator]:
    """Accelerators that a piece of text names, by the longest name that matches."""
    plain = re.sub(r"[^a-z0-9]+", " ", sentence.lower())
    hits = [(words, card) for words, card in _words() if f" {words} " in f" {plain} "]
    longest = max((len(words) for words, _ in hits), default=0)
    return [card for words, card in hits if len(words) == longest]


@cache
def _words() -> tuple[tuple[str, Accelerator], ...]:
    """Each accelerator under its name and its first word (H100), so that "the H100" finds all of its shapes."""
    named: list[tuple[str, Accelerator]] = []
    for card in facts.accelerators().values():
        plain = re.sub(r"[^a-z0-9]+", " ", card.name.lower()).strip()
        plain = re.sub(r"^(nvidia|amd|geforce|intel|instinct|radeon|quadro|tesla)\s+", "", plain)
        first = plain.split()[0]
        short = [first] if any(char.isdigit() for char in first) else []
        named += [(words, card) for words in {plain, *short}]
    return tuple(named)


def _doubled(card: Accelerator, said_tflops: float, types: list[str]) -> list[SparseClaim]:
    """Types whose dense rate is half of what was said; none when it is the dense rate of a type not told apart."""
    said = said_tflops * 1e12
    if not types and any(_near(said, rate) for dtype, rate in card.flop_per_s.items() if dtype != "int8"):
        return []
    return [
        SparseClaim(card.name, dtype, said_tflops, rate / 1e12)
        for dtype in types or _TENSOR
        if (rate := card.flop_per_s.get(dtype)) and _near(said, 2 * rate)
    ]


def _near(one: float, other: float) -> bool:
    return abs(one / other - 1) < TOLERANCE_RATIO
