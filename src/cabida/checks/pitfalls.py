"""The classic mistakes, each looked for in one decision and told with its numbers.

A pitfall is a small function over the brief and its options; it says nothing when it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cabida.checks.physical import supply_w
from cabida.checks.pitfalls_brief import brief_pitfalls
from cabida.checks.pitfalls_chosen import CHOSEN_PITFALLS
from cabida.checks.plan import bus_bytes_per_s
from cabida.checks.sentences import caution, short_title
from cabida.facts.hardware import find_accelerator
from cabida.facts.model import Accelerator
from cabida.plan import Caution, Option
from cabida.text import money, number, percent
from cabida.units import HOURS_PER_MONTH

if TYPE_CHECKING:  # a question about memory asks about splits and needs neither briefs nor money
    from cabida.brief import Brief

RUN_PAID = ("compute", "failed_runs")  # lines of a run that grow with its accelerator-hours
TIGHT_RATIO = 0.05  # memory left below which a fit is an accident waiting
NEW_YEARS = 1  # a card of last year or this one is new
IDLE_RATIO = 0.6
RULE_BYTES_PER_S = 800e9
REQUIRED_MARGIN = 1.02  # differences below two per cent are no difference


@dataclass(frozen=True, slots=True)
class Context:
    """What a pitfall may look at."""

    brief: Brief
    options: tuple[Option, ...]
    as_of: str

    @property
    def chosen(self) -> Option | None:
        """The recommended option, when one satisfies."""
        return next((option for option in self.options if option.status in ("chosen", "satisfies")), None)

    @property
    def card(self) -> Accelerator | None:
        """The recommended option's accelerator."""
        return find_accelerator(self.chosen.accelerator) if self.chosen and self.chosen.accelerator else None

    @property
    def good(self) -> list[Option]:
        """Options that satisfy the brief."""
        return [option for option in self.options if option.status in ("chosen", "satisfies")]


def pitfalls(brief: Brief, options: Sequence[Option], as_of: str) -> tuple[Caution, ...]:
    """Every classic mistake this decision is near, most serious first."""
    context = Context(brief, tuple(options), as_of)
    found = dict.fromkeys(warning for look in PITFALLS for warning in look(context))
    found |= dict.fromkeys(brief_pitfalls(brief, as_of))
    return tuple(sorted(found, key=lambda warning: ("blocking", "warning", "info").index(warning.severity)))


def hourly_money(option: Option) -> float:
    """What one accelerator of an option costs an hour: a month's bill over its hours, a run's over those it takes."""
    from cabida.money.bills.serving import HELD

    run = option.metrics.get("minutes_to_target")
    keys, hours = (RUN_PAID, run.value / 60) if run else (HELD, float(HOURS_PER_MONTH))
    paid = sum(line.money for line in option.cost_lines if line.key in keys)
    return paid / max(1, option.accelerators_count) / hours if hours else 0.0


def by_hourly_rate(c: Context) -> Iterator[Caution]:
    """The cheapest hour is not the cheapest output."""
    held = [option for option in c.good if option.accelerator and option.unit_cost.value > 0]
    if len(held) < 2:
        return
    by_hour, by_output = min(held, key=hourly_money), min(held, key=lambda option: option.unit_cost.value)
    ratio = by_hour.unit_cost.value / by_output.unit_cost.value
    if by_hour.accelerator != by_output.accelerator and ratio > REQUIRED_MARGIN:
        yield caution(
            "CB-K001", "info", cheap=short_title(by_hour), ratio=number(ratio, 3), best=short_title(by_output)
        )


def by_compute(c: Context) -> Iterator[Caution]:
    """The most FLOPS is not the best answer."""
    held = [(option, card) for option in c.good if (card := find_accelerator(option.accelerator or "-"))]
    if len(held) < 2 or c.chosen is None:
        return
    strongest, card = max(held, key=lambda pair: pair[1].flop_per_s.get("bf16", 0.0))
    best = min(held, key=lambda pair: pair[0].unit_cost.value)[0]
    ratio = strongest.unit_cost.value / best.unit_cost.value if best.unit_cost.value else 1.0
    if strongest.accelerator != best.accelerator and ratio > REQUIRED_MARGIN:
        flops = number(card.flop_per_s.get("bf16", 0.0) / 1e12)
        yield caution(
            "CB-K002",
            "info",
            strong=short_title(strongest),
            flops=flops,
            ratio=number(ratio, 3),
            best=short_title(best),
        )


def memory_as_yes_or_no(c: Context) -> Iterator[Caution]:
    """Fitting is a matter of how much is left, and fitting is not serving."""
    if c.chosen and c.chosen.usable_bytes and c.chosen.accelerator:
        left = c.chosen.memory.get("headroom", c.chosen.usable_bytes) / c.chosen.usable_bytes
        if left < TIGHT_RATIO:
            yield caution("CB-K003", option=short_title(c.chosen), left=percent(max(0.0, left)))
    missing = [option for option in c.options if option.status == "misses" and option.accelerator]
    if missing:
        first = missing[0]
        why = first.reasons[0] if first.reasons else "-"
        yield caution("CB-K004", "info", count=len(missing), example=short_title(first), why=why)


def ignoring_interconnect(c: Context) -> Iterator[Caution]:
    """Tensor parallel over the bus, or over links that are narrow between pairs."""
    tensor = tensor_parallel(c.chosen.split) if c.chosen else 1
    if c.card is None or c.chosen is None or tensor <= 1:
        return
    if c.card.link_bytes_per_s is None or c.card.link_domain_count <= 1:
        no_peers = c.card.segment == "consumer" and c.card.architecture == "Ada"
        code = "CB-K006" if no_peers else "CB-K005"
        yield caution(code, tensor=tensor, name=c.card.name, rate=number(bus_bytes_per_s(c.card) / 1e9, 2))
    if c.card.id.startswith("mi3") and tensor < 8:
        yield caution("CB-K007", tensor=tensor, name=c.card.name)


def tensor_parallel(split: str) -> int:
    """Of a split such as "tp4 pp2"; 1 when it has none."""
    words = [word for word in split.split() if word.startswith("tp") and word[2:].isdigit()]
    return int(words[0][2:]) if words else 1


def generated_for_accepted(c: Context) -> Iterator[Caution]:
    """Nobody knows how much of what is generated is good enough."""
    if c.chosen is None or c.brief.is_training:
        return
    told = [
        acceptance for model in c.brief.models for acceptance in model.weights.values() if acceptance.ratio
    ]
    if not told:
        yield caution("CB-K008")
    elif all(acceptance.grade == "assumed" for acceptance in told):
        yield caution("CB-K009", ratio=percent(told[0].ratio or 1.0))


def forgetting_the_platform(c: Context) -> Iterator[Caution]:
    """Somebody has to run it."""
    chosen = c.chosen
    if chosen is None or not chosen.accelerator or c.brief.team.platform_engineers_fte > 0:
        return
    labour = sum(line.money for line in chosen.cost_lines if line.key == "platform_labour")
    if labour > 0:
        yield caution("CB-K010", money=money(labour, c.brief.currency))
    else:
        yield caution("CB-K031", "info")


def for_todays_model_only(c: Context) -> Iterator[Caution]:
    """A long promise made for one model of today."""
    chosen = c.chosen
    if chosen is None or chosen.capacity not in ("buy", "reserved") or len(c.brief.models) > 1:
        return
    if c.brief.traffic.growth_per_year_ratio == 0 and c.brief.future is None:
        left = chosen.memory.get("headroom", 0.0) / chosen.usable_bytes if chosen.usable_bytes else 0.0
        model = c.brief.models[0].id if c.brief.models else "-"
        yield caution("CB-K011", capacity=chosen.capacity, model=model, left=percent(max(0.0, left)))


def workstation_for_a_burst(c: Context) -> Iterator[Caution]:
    """Something bought that stands still most of the time."""
    chosen = c.chosen
    if chosen is None or chosen.capacity != "buy":
        return
    lines = {line.key: line.money for line in chosen.cost_lines}
    from cabida.money.bills.serving import HELD

    held = sum(lines.get(key, 0.0) for key in HELD)
    idle = lines.get("idle", 0.0) / held if held else 0.0
    months = c.brief.horizon_months or 0.0
    if idle > IDLE_RATIO or 0 < months < 12:
        yield caution("CB-K012", option=short_title(chosen), idle=percent(idle), months=number(months))


def power_and_case(c: Context) -> Iterator[Caution]:
    """A bought card needs a supply, a case and a room that can take it."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None:
        return
    limit = c.brief.limits.power_w
    drawn = (card.tdp_w or 0.0) * chosen.accelerators_count
    if limit and chosen.capacity in ("buy", "have") and drawn > limit:
        yield caution("CB-K014", "blocking", drawn=number(drawn), limit=number(limit))
    if chosen.capacity == "buy" and card.segment in ("consumer", "workstation") and card.tdp_w:
        per_machine = min(chosen.accelerators_count, 4)
        supply = supply_w([card.tdp_w] * per_machine)
        slots, length = card.physical.get("slots", "?"), card.physical.get("length_mm", "?")
        yield caution(
            "CB-K013", name=card.name, count=per_machine, supply=number(supply), slots=slots, length=length
        )


def new_cards_just_work(c: Context) -> Iterator[Caution]:
    """A card of the last year needs software of the last year."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None or card.year is None or not c.as_of:
        return
    if card.year >= int(c.as_of[:4]) - NEW_YEARS and card.architecture.lower().startswith("blackwell"):
        engine = f"{chosen.engine} {chosen.engine_version}".strip()
        yield caution("CB-K015", "info", name=card.name, year=card.year, engine=engine)


def the_bandwidth_rule(c: Context) -> Iterator[Caution]:
    """The rule of thumb of 800 GB/s, tested against this workload."""
    if c.chosen and c.card and c.card.memory_bytes_per_s and c.card.memory_bytes_per_s < RULE_BYTES_PER_S:
        yield caution("CB-K017", "info", name=c.card.name, rate=number(c.card.memory_bytes_per_s / 1e9))


def consumer_cards_in_a_data_centre(c: Context) -> Iterator[Caution]:
    """NVIDIA's GeForce driver licence and data centres."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None or card.vendor != "NVIDIA" or card.segment != "consumer":
        return
    if chosen.capacity not in ("buy", "have") or chosen.accelerators_count > 4:
        yield caution("CB-K018", name=card.name)


def formats_without_arithmetic(c: Context) -> Iterator[Caution]:
    """INT8 on Blackwell Ultra, where it is slower than anything else."""
    if c.chosen and c.card and c.card.capability == "10.3" and "int8" in c.chosen.weights:
        yield caution("CB-K019", name=c.card.name)


PITFALLS: tuple[Callable[[Context], Iterator[Caution]], ...] = (
    by_hourly_rate,
    by_compute,
    memory_as_yes_or_no,
    ignoring_interconnect,
    generated_for_accepted,
    forgetting_the_platform,
    for_todays_model_only,
    workstation_for_a_burst,
    power_and_case,
    new_cards_just_work,
    the_bandwidth_rule,
    consumer_cards_in_a_data_centre,
    formats_without_arithmetic,
    *CHOSEN_PITFALLS,
)
