"""Questions about what runs on what, from the dated software facts."""

from __future__ import annotations

from cabida import facts
from cabida.app.asking.asked import CARD, FORMAT, Asked, missing, name_of
from cabida.checks import check_software
from cabida.report.answered import Answer
from cabida.text import tr

WORST = ("blocking", "warning", "info")


def compatible(asked: Asked) -> Answer:
    """Whether a format runs on a card, at what gain, by which engines."""
    if not asked.cards:
        raise missing(CARD)
    if not asked.slots.formats and not asked.slots.engine:
        raise missing(FORMAT)
    card, _ = asked.cards[0]
    weights = asked.slots.formats[0] if asked.slots.formats else ""
    engine = asked.slots.engine
    stack = ", ".join(part for part in (engine, facts.accelerator(card).name, weights) if part)
    found = [
        one for one in check_software(stack, as_of=asked.as_of) if one.code not in ("CB-K280", "CB-K061")
    ]
    asked.command(f'check --software "{stack}"', {})
    found.sort(key=lambda one: WORST.index(one.severity))
    for one in found:
        asked.add(name_of(card), "found", one.sentence, "text", one.severity)
        asked.source(one.source)
        if one.cure:
            asked.notes.append(one.cure)
    worst = found[0].severity if found else "info"
    dtype = {"nvfp4": "fp4", "mxfp4": "fp4", "int8-w8a8": "int8"}.get(weights, weights)
    rate = facts.accelerator(card).flop_per_s.get(dtype)
    if weights in ("fp8", "nvfp4", "mxfp4", "bf16", "fp16", "int8-w8a8", "fp32"):
        row = facts.software()["hw_dtype"].get(facts.accelerator(card).architecture.lower(), {})
        seen = facts.accelerator(card).source.seen
        if not rate and row.get(dtype) is False:
            asked.add(name_of(card), "tflops", tr("asking.no_units"), "text", seen)
        else:
            asked.add(name_of(card), "tflops", rate / 1e12 if rate else None, "count", seen)
    asked.source(facts.accelerator(card).source.what)
    said = found[0].sentence if found else tr("asking.runs.nothing_against")
    return asked.answer(tr(f"asking.runs.{worst}", what=weights or engine, card=name_of(card), said=said))
