"""The classic mistakes that a brief already makes, before anything is worked out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING

from cabida.checks.claims import sparse_claims
from cabida.checks.named import export_variant, last_toolkit, loose_names
from cabida.checks.sentences import caution
from cabida.facts.hardware import find_accelerator
from cabida.facts.models import find_model
from cabida.plan import Caution
from cabida.text import number, percent
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR, S_PER_HOUR

if TYPE_CHECKING:
    from cabida.brief import Brief

SERVED = ("realtime-inference", "retrieval")
NEAR_CONTEXT_RATIO = 0.9
BURST_RATIO = 0.25  # hours used of those there are, below which a purchase stands still
ALL_RATIO = 0.999
LONG_MONTHS = 60
WIDE_BITS, NARROW_BITS = 15.0, 6.0  # a weight in 16 bit, and in four or five
ROOM_W = 3000.0  # two heaters' worth: beyond it a room needs cooling that somebody pays
WORK_HOURS_PER_MONTH = 160  # of one person, against the 730 of a service
TOKENS_PER_S = re.compile(r"\d[\d.,]*\s*k?\s*(?:tokens?|tok)\s*/\s*s(?:eg|ec)?\b", re.IGNORECASE)
LOAD_SAID = re.compile(r"concurren|simult|batch|lote|\breq\w*\s*/\s*s|users|usuarios", re.IGNORECASE)
PER_HOUR = re.compile(
    r"(?:[$€£]\s*\d[\d.,]*|\d[\d.,]*\s*(?:USD|EUR|MXN|GBP|[$€£]))\s*(?:/|per\s+|por\s+)\s*(?:h\b|hr\b|hour|hora)",
    re.IGNORECASE,
)


def brief_pitfalls(brief: Brief, as_of: str) -> tuple[Caution, ...]:
    """Every classic mistake that the brief alone shows."""
    return tuple(one for look in BRIEF_PITFALLS for one in look(brief, as_of))


def _said(brief: Brief, path: str) -> bool:
    return brief.where.get(path, 0) > 0


def _told(brief: Brief) -> list[str]:
    return [*brief.claims, *re.split(r"[\n;]", brief.notes)]


def flat_arrivals(brief: Brief, as_of: str) -> Iterator[Caution]:
    """People do not ask at an even rate: a mean alone sizes for an hour that never comes."""
    from cabida.brief.profiles import named, peak_over_mean

    traffic = brief.traffic
    if brief.workload not in SERVED or traffic.requests_per_s_mean is None or traffic.trace:
        return
    flat = max(traffic.profile, default=1.0) <= 1.0 + 1e-9
    peak = traffic.requests_per_s_peak or traffic.requests_per_s_mean
    if flat and peak <= traffic.requests_per_s_mean * (1 + 1e-9):
        ratio = peak_over_mean(named("office-hours"))
        yield caution("CB-K300", rate=number(traffic.requests_per_s_mean), ratio=number(ratio, 2))


def only_the_middle(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A limit on the mean or the median leaves half of the requests without one."""
    asked = {one for limits in brief.objectives.latency_s.values() for one in limits}
    if asked and asked <= {"mean", "p50"}:
        yield caution("CB-K301", names=", ".join(sorted(asked)))


def no_growth(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Demand of today for as long as the horizon runs."""
    months = brief.horizon_months or 0.0
    still = brief.traffic.growth_per_year_ratio == 0 and not _said(brief, "traffic.growth")
    if brief.workload in SERVED and months >= MONTHS_PER_YEAR and still:
        yield caution("CB-K302", "info", months=number(months))


def near_the_context(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Prompts and answers that nearly fill the context of today's model."""
    asked, answered = brief.traffic.input, brief.traffic.output
    if asked is None or answered is None or brief.is_training:
        return
    tokens = asked.p95_tokens + answered.p95_tokens
    for choice in brief.models:
        model = find_model(choice.id)
        context = model.context_tokens if model else None
        if context and NEAR_CONTEXT_RATIO * context < tokens <= context:
            values = {"model": choice.id, "share": percent(tokens / context)}
            yield caution("CB-K303", tokens=number(tokens), context=number(context, 6), **values)


def bought_for_a_burst(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Only a purchase may be looked at, for work that fills a few hours of it."""
    if brief.consider.capacity != ("buy",):
        return
    used = _hours_per_month(brief)
    if used is not None and used < BURST_RATIO * HOURS_PER_MONTH:
        yield caution("CB-K304", hours=number(used), share=percent(used / HOURS_PER_MONTH))


def _hours_per_month(brief: Brief) -> float | None:
    """Hours a month that a batch or a run keeps its machines; ``None`` for what is always on, or not said."""
    traffic, training = brief.traffic, brief.training
    if traffic.window_s is not None and traffic.runs_per_month:
        return traffic.window_s / S_PER_HOUR * traffic.runs_per_month
    limit_s = brief.objectives.deadline_s or brief.objectives.time_to_target_s
    if training is not None and limit_s is not None and brief.horizon_months:
        return limit_s / S_PER_HOUR * training.runs_count / brief.horizon_months
    return None


def only_spot(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Machines that may be taken away, for what can't be taken up again or may not stop."""
    if brief.consider.capacity != ("spot",):
        return
    if brief.workload in SERVED:
        yield caution("CB-K305")
    elif brief.training is not None and brief.training.checkpoint_interval_s is None:
        yield caution("CB-K306")


def nobody_at_night(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A spare machine and nobody who would bring it in at night."""
    people = brief.team.platform_engineers_fte
    own = {"buy", "reserved", "on-demand", "block"} & set(brief.consider.capacity or ("buy",))
    if brief.limits.availability == "n+1" and own and 0 < people < 1 and brief.workload in SERVED:
        hours = people * WORK_HOURS_PER_MONTH
        yield caution("CB-K307", people=number(people), hours=number(hours), all=number(HOURS_PER_MONTH))


def everything_accepted(brief: Brief, as_of: str) -> Iterator[Caution]:
    """No model's outputs are all good enough."""
    for choice in brief.models:
        for name, kept in choice.weights.items():
            if kept.ratio is not None and kept.ratio >= ALL_RATIO:
                yield caution("CB-K308", model=choice.id, weights=name, ratio=percent(kept.ratio))


def formats_alike(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Fewer bits and the very same acceptance: copied, not measured."""
    from cabida.facts.formats import find_format

    for choice in brief.models:
        told = [
            (held, name, kept.ratio)
            for name, kept in choice.weights.items()
            if kept.ratio is not None and kept.grade != "assumed" and (held := find_format(name)) is not None
        ]
        wide = {ratio: name for held, name, ratio in told if held.body_bits >= WIDE_BITS}
        for held, name, ratio in told:
            if held.body_bits < NARROW_BITS and ratio in wide:
                yield caution("CB-K309", narrow=name, wide=wide[ratio], ratio=percent(ratio or 0.0, 3))


def one_runner(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A comparison with one accelerator in it is a decision made before."""
    if len(brief.consider.accelerators) == 1:
        yield caution("CB-K310", "info", name=brief.consider.accelerators[0])


def export_variants(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A name that promises more than the part made for export holds."""
    for id in brief.consider.accelerators:
        yield from export_variant(id)


def loosely_named(brief: Brief, as_of: str) -> Iterator[Caution]:
    """H100 is three cards: which one decides speed, memory and price."""
    lines = brief.text.splitlines()
    texts = {
        lines[line - 1]
        for path, line in brief.where.items()
        if path.startswith("consider.accelerators") and 0 < line <= len(lines)
    }
    words = [text.partition("#")[0].partition(":")[2] or text for text in sorted(texts)]
    yield from loose_names([*words, *_told(brief)])


def a_mean_alone(brief: Brief, as_of: str) -> Iterator[Caution]:
    """The longest answers hold the memory and the queue."""
    answered = brief.traffic.output
    if answered is None or brief.workload not in SERVED or brief.traffic.trace:
        return
    if set(answered.said) <= {"mean", "fixed"} and answered.said and answered.mean_tokens > 1:
        yield caution("CB-K311", "info", tokens=number(answered.mean_tokens))


def cooled_for_nothing(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A PUE of 1: nothing is spent on cooling or lost on the way."""
    pue = brief.costs.pue_ratio
    if pue is not None and pue <= 1.0 and brief.limits.power_w and brief.limits.power_w > ROOM_W:
        yield caution("CB-K312", power=number(brief.limits.power_w))


def written_off_late(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Books that keep a card's value longer than the market does."""
    from cabida.money.assumptions import assumed_ranges

    months, decay = brief.costs.depreciation_months, assumed_ranges()["decay_ratio"]
    if months is not None and months > LONG_MONTHS:
        left = (1 - decay.base) ** (months / MONTHS_PER_YEAR)
        yield caution("CB-K313", months=number(months), fall=percent(decay.base, 3), left=percent(left))


def sold_too_dear(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A resale above what the slowest fall anybody published leaves at the end of the horizon."""
    from cabida.money.assumptions import assumed_ranges

    hoped, months = brief.costs.resale_ratio, brief.horizon_months
    if hoped is None or not months:
        return
    decay = assumed_ranges()["decay_ratio"]
    best = (1 - decay.low) ** (months / MONTHS_PER_YEAR)
    if hoped > best:
        usual = (1 - decay.base) ** (months / MONTHS_PER_YEAR)
        values = {"best": percent(best), "usual": percent(usual), "months": number(months)}
        yield caution("CB-K314", hoped=percent(hoped), **values)


def out_of_support(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Cards that the current toolkit has left behind."""
    for id in dict.fromkeys((*brief.consider.accelerators, *(held.accelerator for held in brief.have))):
        card = find_accelerator(id) if id else None
        if card is not None:
            yield from last_toolkit(card)


def too_late(brief: Brief, as_of: str) -> Iterator[Caution]:
    """What is ordered today arrives after the day it is needed."""
    if not brief.limits.needed_by or not as_of:
        return
    for way, lead_s in brief.limits.lead_s.items():
        if way in (brief.consider.capacity or (way,)):
            arrives = (date.fromisoformat(as_of) + timedelta(seconds=lead_s)).isoformat()
            if arrives > brief.limits.needed_by:
                yield caution("CB-K316", way=way, arrives=arrives, needed=brief.limits.needed_by)


def untested_training(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A model that nobody evaluates is finished when the money is."""
    training = brief.training
    if not brief.is_training or training is None:
        return
    if not training.target_metric and training.evaluation_passes_count == 0:
        yield caution("CB-K317", runs=number(training.runs_count))


def sparse_rates(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Twice the rate, in a brief's notes and claims: sparse TFLOPS taken for dense."""
    for claim in sparse_claims(" \n ".join([brief.notes, *brief.claims])):
        said, dense = number(claim.said_tflops), number(claim.dense_tflops)
        yield caution("CB-K016", name=claim.name, said=said, dense=dense, dtype=claim.dtype)


def throughput_without_a_load(brief: Brief, as_of: str) -> Iterator[Caution]:
    """Tokens per second of nobody knows how many requests at once."""
    yield from unloaded_rates(_told(brief))


def unloaded_rates(texts: list[str]) -> Iterator[Caution]:
    """Rates in tokens per second beside which no load is said."""
    for text in texts:
        if (found := TOKENS_PER_S.search(text)) and not LOAD_SAID.search(text):
            yield caution("CB-K318", said=" ".join(found.group().split()))


def compared_by_the_hour(brief: Brief, as_of: str) -> Iterator[Caution]:
    """A price an hour, in the notes, as if it were the cost."""
    for text in _told(brief):
        if found := PER_HOUR.search(text):
            yield caution("CB-K319", "info", said=" ".join(found.group().split()))


BRIEF_PITFALLS: tuple[Callable[[Brief, str], Iterator[Caution]], ...] = (
    flat_arrivals,
    only_the_middle,
    no_growth,
    near_the_context,
    bought_for_a_burst,
    only_spot,
    nobody_at_night,
    everything_accepted,
    formats_alike,
    one_runner,
    export_variants,
    loosely_named,
    a_mean_alone,
    cooled_for_nothing,
    written_off_late,
    sold_too_dear,
    out_of_support,
    too_late,
    untested_training,
    sparse_rates,
    throughput_without_a_load,
    compared_by_the_hour,
)
