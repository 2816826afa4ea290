"""MIG advice: the smallest slice that holds a small workload, what it costs in links, and what would be better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from cabida import facts
from cabida.checks.software import runnable
from cabida.facts import mig
from cabida.facts.model import Accelerator, MigProfile, Model, Offer
from cabida.memory import budget as budgets
from cabida.memory.lens import PLAIN
from cabida.plan import Setup
from cabida.plan.setup import deployment
from cabida.report.fit_trial import Trial, largest_concurrency, tried
from cabida.report.metrics import GIB
from cabida.text import money, number, percent, size, tr

PACKED_RATIO = 0.95  # of a card's memory that copies without walls between them may fill
ALIKE_RATIO = 0.7  # of a slice's bandwidth: with less, a smaller card is no alternative
CURRENCY = "USD"


def slice_advice(
    setup: Setup, model: Model, card: Accelerator, answer: dict[str, Any], sequences: int, as_of: str | None
) -> dict[str, Any] | None:
    """Where one card holds a deployment with room to spare: the smallest slice that would do.

    Args:
        setup: as typed.
        model: what is served.
        card: the whole accelerator.
        answer: what ``fit`` says of it.
        sequences: held at once.
        as_of: date of the prices compared, today's when ``None``.

    Returns:
        ``None`` where the card can't be cut, several are used, or only the whole of it would do.
    """
    if answer["verdict"] != "fits" or answer["gpus"] != 1 or not mig.profiles(card):
        return None
    asked = replace(setup, max_model_len=answer["context_tokens"])
    for profile in mig.profiles(card):
        cut = mig.slice_of(card, profile.name)
        if cut is None or profile.memory_slices_count == profile.memory_of_count:
            continue
        trial = _trial(asked, model, cut, sequences)
        if trial is not None:
            return _advice(asked, card, cut, profile, trial, as_of)
    return None


def _trial(setup: Setup, model: Model, card: Accelerator, sequences: int) -> Trial | None:
    """The deployment on one card, if it surely fits and an engine runs it there."""
    d = deployment(setup, model, card)
    trial = tried(d, sequences)
    return trial if trial.verdict == "fits" and runnable(d) else None


def _advice(
    setup: Setup, card: Accelerator, cut: Accelerator, profile: MigProfile, trial: Trial, as_of: str | None
) -> dict[str, Any]:
    held = largest_concurrency(trial.deployment, trial.context_tokens)
    packed = int(PACKED_RATIO * float(budgets.visible(card, PLAIN)) / trial.memory.needed_bytes)
    smaller = _smaller(setup, card, cut, trial)
    prices = _prices(card, smaller, profile, as_of) if smaller else None
    memory, compute = profile.memory_slices_count / profile.memory_of_count, mig.compute_ratio(profile)
    told = [
        tr(
            "report.mig.holds", profile=profile.name, size=size(cut.usable_bytes), count=profile.instances_count,
            name=card.name, compute=percent(compute), memory=percent(memory), sequences=number(held, 4),
            context=number(trial.context_tokens, 7), gpu=cut.id,
        ),
        tr(f"report.mig.{'packed' if packed > profile.instances_count else 'lost'}", count=packed),
    ]  # fmt: skip
    if smaller and prices:
        told.append(
            tr(
                "report.mig.smaller_priced", gpu=smaller.id, size=size(smaller.usable_bytes),
                slice=money(prices[0], CURRENCY), card=money(prices[1], CURRENCY), count=profile.instances_count,
            )
        )  # fmt: skip
    elif smaller:
        told.append(tr("report.mig.smaller", gpu=smaller.id, size=size(smaller.usable_bytes)))
    return {
        "gpu": cut.id,
        "usable_gib": cut.usable_bytes / GIB,
        "at_once": profile.instances_count,
        "memory_ratio": memory,
        "compute_ratio": compute,
        "headroom_gib": trial.headroom_bytes / GIB,
        "largest_concurrency": held,
        "copies_without_walls": packed,
        "smaller": smaller.id if smaller else None,
        "sentences": told,
    }


def _smaller(setup: Setup, card: Accelerator, cut: Accelerator, trial: Trial) -> Accelerator | None:
    """The whole card of the same maker and kind, about as fast as the slice, with the least memory that holds it."""
    wanted = ALIKE_RATIO * (cut.memory_bytes_per_s or 0.0)
    others = sorted(
        (
            one
            for one in facts.accelerators().values()
            if one.vendor == card.vendor
            and one.segment == card.segment
            and one.usable_bytes < card.usable_bytes
            and (one.memory_bytes_per_s or 0.0) >= wanted
            and one.form_factor != "unified"
        ),
        key=lambda one: (one.usable_bytes, -(one.year or 0)),
    )
    model = trial.deployment.model
    setup = replace(setup, engine=trial.deployment.engine)
    return next((one for one in others if _trial(setup, model, one, trial.sequences) is not None), None)


def _prices(
    card: Accelerator, smaller: Accelerator, profile: MigProfile, as_of: str | None
) -> tuple[float, float] | None:
    """Lowest hourly on-demand prices of one of the slices and of the smaller card; ``None`` where one is unknown."""
    from cabida import money as prices
    from cabida.evidence import book

    held = prices.terms(CURRENCY, as_of=as_of or "")
    sighted = book.offers(as_of, [card.id, smaller.id])
    found = [prices.offers_for(one, 1, sighted, held, capacity=("on-demand",)) for one in (card, smaller)]
    if not all(found):
        return None
    whole, other = (offers[0].money_per_hour for offers in found)
    return whole / profile.instances_count, other


def slice_offers(cut: Accelerator, profile: MigProfile, book: Iterable[Offer]) -> tuple[Offer, ...]:
    """The price book of the whole card as that of its slices: each pays its part, as if all of them were in use."""
    whole, count = cut.id.partition(":")[0], profile.instances_count
    return tuple(
        replace(
            offer,
            accelerator=cut.id,
            accelerators_count=offer.accelerators_count * (count if offer.accelerators_count > 1 else 1),
            amount=offer.amount / count,
            low_amount=None if offer.low_amount is None else offer.low_amount / count,
            high_amount=None if offer.high_amount is None else offer.high_amount / count,
        )
        for offer in book
        if offer.accelerator == whole
    )


def left_over(cut: Accelerator, count: int) -> dict[str, Any] | None:
    """What is left of the cards that so many slices take: priced by their share, it counts as used by others.

    ``empty_ratio`` is what the whole cards cost over those shares. ``None`` where nothing is cut.
    """
    profile = mig.profile_of(cut)
    if profile is None:
        return None
    each = profile.instances_count
    cards = -(-count // each)
    return {
        "slices_per_card": each,
        "slices": count,
        "cards": cards,
        "left": cards * each - count,
        "empty_ratio": cards * each / count,
    }
