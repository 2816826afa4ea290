"""Accelerators side by side: what they have, what a unit of it costs, what each is for and not for."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from cabida import facts
from cabida.evidence import book
from cabida.facts.model import Accelerator
from cabida.text import has_text, tr

GB = 1e9
# workload -> what decides it there; "/price" = for each unit of hourly price
MATTERS = {
    "realtime-inference": ("bandwidth_gb_s", "memory_gib", "bandwidth_gb_s/price"),
    "batch-inference": ("bf16_tflops/price", "memory_gib/price"),
    "adapter-finetune": ("memory_gib/price", "bf16_tflops"),
    "full-finetune": ("memory_gib", "link_gb_s", "bf16_tflops"),
    "pretraining": ("bf16_tflops", "link_gb_s", "bf16_tflops/price"),
}
NO_LINK = ("", "none")
JOINED = (
    "full-finetune",
    "pretraining",
)  # one step runs over many cards: those joined by PCIe alone don't lead in it


def _linked(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with a link of their own to their neighbours; all where none has one."""
    return [row for row in rows if row["link_kind"] not in NO_LINK] or rows


def comparison(ids: Sequence[str], as_of: str | None = None) -> dict[str, Any]:
    """Rows for ``ids`` and, for each class of workload, which of them leads in what decides it there."""
    rows = [row_of(facts.accelerator(one), as_of) for one in dict.fromkeys(ids)]
    matters = [
        {"workload": workload, "figure": figure, "best": best, "value": value}
        for workload, figures in MATTERS.items()
        for figure in figures
        for best, value in [leaders(_linked(rows) if workload in JOINED else rows, figure)]
        if best
    ]
    return {"as_of": as_of, "currency": "USD", "accelerators": rows, "matters": matters}


def leaders(rows: list[dict[str, Any]], figure: str) -> tuple[list[str], float]:
    """The rows with the most of ``figure`` (ties within 1 % share) and how much they have."""
    scores = {row["id"]: score for row in rows if (score := _score(row, figure)) is not None}
    most = max(scores.values(), default=0.0)
    return [one for one, score in scores.items() if score >= 0.99 * most], most


def _score(row: dict[str, Any], figure: str) -> float | None:
    name, _, per_price = figure.partition("/")
    value, price = row[name], row["rent_usd_per_hour"]
    if value is None or not per_price:
        return float(value) if value is not None else None
    return float(value / price) if price else None


def row_of(one: Accelerator, as_of: str | None = None) -> dict[str, Any]:
    """One accelerator: rates in TFLOPS (dense), GB/s, GiB, W, USD; ``None`` = not seen."""
    rent, rent_count, rent_seen = _price(one, ("on-demand",), as_of)
    buy, buy_count, buy_seen = _price(one, ("buy",), as_of)
    bf16 = one.flop_per_s.get("bf16") or one.flop_per_s.get("fp16")
    said = facts.describe(one)
    return {
        "id": one.id,
        "name": one.name,
        "architecture": one.architecture,
        "year": one.year,
        "memory_gib": one.usable_bytes / 2**30,
        "bandwidth_gb_s": _per(one.memory_bytes_per_s, GB),
        **{f"{kind}_tflops": _per(one.flop_per_s.get(kind), 1e12) for kind in ("bf16", "fp8", "int8", "fp4")},
        "link_kind": one.link_kind,
        "link_gb_s": _per(one.link_bytes_per_s, GB),
        "tdp_w": one.tdp_w,
        "rent_usd_per_hour": rent,
        "rent_sightings": rent_count,
        "rent_seen": rent_seen,
        "buy_usd": buy if buy is not None else one.price_money,
        "buy_sightings": buy_count,
        "buy_seen": buy_seen,
        "rent_usd_per_pflops_hour": rent / (bf16 / 1e15) if rent and bf16 else None,
        "rent_usd_per_gib_hour": rent / (one.usable_bytes / 2**30) if rent else None,
        "buy_usd_per_pflops": buy / (bf16 / 1e15) if buy and bf16 else None,
        "buy_usd_per_gib": buy / (one.usable_bytes / 2**30) if buy else None,
        "tflops_per_w": bf16 / 1e12 / one.tdp_w if bf16 and one.tdp_w else None,
        "for": tr(said.for_key) if said and has_text(said.for_key) else "",
        "not_for": tr(said.not_for_key) if said and has_text(said.not_for_key) else "",
        "source": one.source.what,
        "seen": one.source.seen,
    }


def _per(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _price(one: Accelerator, capacity: tuple[str, ...], as_of: str | None) -> tuple[float | None, int, str]:
    """Median of the latest plausible sightings, one per provider; how many; date of the newest."""
    from cabida.money import offers_for, terms

    held = offers_for(one, 1, book.offers(as_of, [one.id]), terms(as_of=as_of or ""), capacity=capacity)
    sighted = [tenure for tenure in held if not tenure.discount]
    if not sighted:
        return None, 0, ""
    if capacity == ("buy",):
        amounts = [float(tenure.offer.amount) for tenure in sighted]
    else:
        amounts = [tenure.money_per_hour for tenure in sighted]
    return median(amounts), len(amounts), max(tenure.offer.seen for tenure in sighted)
