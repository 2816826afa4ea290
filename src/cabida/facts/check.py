"""What must hold of the facts: ``cabida facts check``.

Every figure has a source and a date; tensor rates are dense and rise as types shrink; what software sees never
exceeds the label; nodes and offers name accelerators that exist; no price is in a currency that nobody publishes a
rate for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cabida.errors import InvalidInput, Problem
from cabida.facts import hardware, market, mig
from cabida.facts.formats import formats
from cabida.facts.model import Accelerator, ApiOffer, Offer
from cabida.facts.pipelines import components, pipelines
from cabida.facts.releases import every_release, parts
from cabida.quantity import GRADES, Source
from cabida.text import problem

USABLE_OVER_LABEL_RATIO = 1.02  # drivers round; more than that is a label misread
DENSE = {"h100-sxm-80": ("bf16", 989.4e12), "a100-sxm-80": ("bf16", 312e12), "b200-sxm-180": ("fp8", 4500e12)}
RISING = (("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4"))  # the smaller type is never slower


def check() -> list[Problem]:
    """Everything that is wrong with the facts in use, one's own included; empty when nothing is."""
    try:
        return [*_sources(), *_accelerators(), *_references(), *_currencies()]
    except InvalidInput as error:  # a user's file: its problems are the answer
        return list(error.problems)


def records() -> Iterator[Any]:
    """Every record in use, of every table."""
    for table in (hardware.accelerators(), hardware.nodes(), hardware.engines(), formats()):
        yield from table.values()
    for series in (market.offers(), market.api_offers(), market.energy(), market.analyst_offers()):
        yield from series
    yield from market.unmapped_offers()
    yield from hardware.collectives()
    yield from (*mig.every().values(), *pipelines().values(), *components().values())
    yield from (*hardware.measurements(), *every_release(), *parts())


def _sources() -> Iterator[Problem]:
    for one in records():
        for name, source in (("", one.source), *one.field_sources.items()):
            if not complete(source):
                yield problem("CB-F030", record=one.id, field=name or "source")
        for name in one.field_sources:
            if not hasattr(one, name.partition(".")[0]):
                yield problem("CB-F031", record=one.id, field=name)


def complete(source: Source) -> bool:
    """Whether a source says what it is, when it was seen and how far to trust it."""
    return len(source.what) >= 3 and len(source.seen) == 10 and source.grade in GRADES


def _accelerators() -> Iterator[Problem]:
    known = hardware.accelerators()
    for one in known.values():
        yield from contradictions(one)
    for id, (kind, dense_flop_per_s) in DENSE.items():
        if known[id].flop_per_s.get(kind, 0.0) > 1.5 * dense_flop_per_s:
            yield problem("CB-F037", record=id, kind=kind, dense=f"{dense_flop_per_s / 1e12:g}")


def contradictions(one: Accelerator) -> Iterator[Problem]:
    """What of an accelerator's figures can't be true together (CB-F032, CB-F033, CB-F034)."""
    if one.usable_bytes > one.label_memory_bytes * USABLE_OVER_LABEL_RATIO:
        yield problem("CB-F032", record=one.id)
    yield from (problem("CB-F033", record=one.id, low=low, high=high) for low, high in _falling(one))
    linked = one.link_kind != "none"
    if (not linked and (one.link_bytes_per_s or one.link_domain_count > 1)) or (
        linked and one.link_bytes_per_s and one.link_domain_count < 2
    ):
        yield problem("CB-F034", record=one.id)


def _falling(one: Accelerator) -> Iterator[tuple[str, str]]:
    rates = one.flop_per_s
    for wide, narrow in RISING:
        if wide in rates and narrow in rates and rates[narrow] < rates[wide]:
            yield wide, narrow


def _references() -> Iterator[Problem]:
    known = hardware.accelerators()
    named = [(one.id, one.accelerator) for one in hardware.nodes().values()]
    named += [(one.id, one.accelerator) for one in market.offers()]
    named += [(one.id, card) for one in mig.every().values() for card in one.accelerators]
    for id, accelerator in named:
        if accelerator not in known:
            yield problem("CB-F035", record=id, field="accelerator", value=accelerator)
    for row in hardware.classes():
        yield from (
            problem("CB-F035", record=row["id"], field="members", value=id)
            for id in row["members"]
            if id not in known
        )


def _currencies() -> Iterator[Problem]:
    known = market.currencies()
    sighted: list[Offer | ApiOffer] = [*market.offers(), *market.api_offers()]
    for one in sighted:
        if one.currency.upper() not in known:
            names = ", ".join(sorted(known))
            yield problem("CB-F038", record=one.id, currency=one.currency, known=names)
