"""One model over unequal cards: only llama.cpp does that, each card by its own free memory, never as one pool."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.checks.software import GGUF_ENGINES
from cabida.evidence.machine import Machine
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.memory import budget as budgets
from cabida.memory.lens import PLAIN
from cabida.memory.unequal import Share, layer_shares, shares_verdict
from cabida.plan import Setup
from cabida.plan.setup import deployment, runs
from cabida.report.fit_changes import ladder
from cabida.report.fit_trial import USUAL_CONTEXT_TOKENS
from cabida.report.here_pools import Pool
from cabida.report.metrics import GIB
from cabida.units import BITS_PER_BYTE


def over_unequal(setup: Setup, model: Model, machine: Machine, held: list[Pool]) -> dict[str, Any] | None:
    """The widest format whose layers go in, ``None`` where all cards are equal or another engine is asked for."""
    engine = facts.engine(setup.engine).id if setup.engine else GGUF_ENGINES[0]
    cards = _cards(machine, held)
    if engine not in GGUF_ENGINES or len(cards) < 2 or len({card.usable_bytes for _, card, _ in cards}) < 2:
        return None
    base = replace(setup, engine=engine, gpus=1, max_model_len=setup.max_model_len or _context(model))
    largest = max((card for _, card, _ in cards), key=lambda card: card.usable_bytes)
    names = [setup.weights] if setup.weights else [one.id for one in ladder(model, largest, base)]
    row = None
    for name in names:
        held_as = facts.weight_format(name)
        if not all(runs(engine, card, held_as) for _, card, _ in cards):
            continue
        row = _row(replace(base, weights=name), model, held_as, cards, largest)
        if row["verdict"] == "fits":
            break
    return row


def _context(model: Model) -> int:
    return min(USUAL_CONTEXT_TOKENS, model.context_tokens or USUAL_CONTEXT_TOKENS)


def _cards(machine: Machine, held: list[Pool]) -> list[tuple[int, Accelerator, float]]:
    """(number, accelerator, memory others hold) of the whole cards of the first maker, in their order."""
    whole = [
        (number, pool.accelerator, used)
        for pool in held
        if pool.cards and pool.most == len(pool.cards)
        for number, used in zip(pool.cards, pool.used_bytes, strict=True)
    ]
    maker = whole[0][1].vendor if whole else ""
    return sorted((one for one in whole if one[1].vendor == maker), key=lambda one: one[0])


def _row(
    setup: Setup,
    model: Model,
    weights: WeightFormat,
    cards: list[tuple[int, Accelerator, float]],
    largest: Accelerator,
) -> dict[str, Any]:
    d = deployment(setup, model, largest)
    head = model.vocab_count * model.hidden_dim_count * weights.head_bits / float(BITS_PER_BYTE)
    free = [max(0.0, float(budgets.visible(card, PLAIN)) - used) for _, card, used in cards]
    shares = layer_shares(memory.serving(d), model.layers_count, head, free)
    return {
        "model": model.id,
        "engine": d.engine,
        "weights": weights.id,
        "context_tokens": setup.max_model_len,
        "verdict": shares_verdict(shares),
        "cards": [_share(number, card, one) for (number, card, _), one in zip(cards, shares, strict=True)],
    }


def _share(number: int, card: Accelerator, one: Share) -> dict[str, Any]:
    return {
        "index": number,
        "gpu": card.id,
        "layers": one.layers_count,
        "output": one.output,
        "needed_gib": one.needed_bytes / GIB,
        "free_gib": one.budget_bytes / GIB,
    }
