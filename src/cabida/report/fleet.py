"""A mixed fleet as a row beside the options: several types at once, and how the traffic is divided among them."""

from __future__ import annotations

from dataclasses import dataclass

from cabida import text
from cabida.plan import Decision
from cabida.plan.mix import MixPart
from cabida.report import words as say
from cabida.text import tr


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a row of the options says, for a mix that beats the best of them."""

    title: str
    verdict: str
    cost: str
    unit_cost: str
    traffic: str  # who carries how much of the requests


def fleet(decision: Decision) -> Fleet | None:
    """The mix where it wins; ``None`` where one option alone is as good."""
    mix = decision.mix
    if mix is None or not any(one.name == "mix" for one in decision.flips):
        return None
    amount = text.number(mix.unit_money * say.unit_scale(decision))
    return Fleet(
        title=" + ".join(_many(one) for one in mix.parts),
        verdict=tr("report.fleet.verdict"),
        cost=f"{say.price(mix.money_per_month, decision.currency)}/{say.period(decision)}",
        unit_cost=f"{amount} {decision.currency}",
        traffic=" · ".join(
            tr("report.fleet.carries", part=_short(one), share=text.percent(one.share_ratio))
            for one in mix.parts
        ),
    )


def _many(part: MixPart) -> str:
    """``2–9 × 1×L40S · Llama-3.1-8B fp8 vLLM · on demand, RunPod``; an API as it is."""
    least, most = part.replicas_least_count, part.replicas_most_count
    if not part.accelerator:
        return part.title
    count = text.number(most) if least == most else f"{text.number(least)}–{text.number(most)}"
    return f"{count} × {part.title}"


def _short(part: MixPart) -> str:
    return part.title.partition(" · ")[0] + f" ({tr(f'choose.capacity.{part.capacity}')})"
