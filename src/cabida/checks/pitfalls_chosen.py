"""Further mistakes that only show once an option is chosen: what it leaves idle, what it rests on, where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cabida.checks.named import export_variant, last_toolkit
from cabida.checks.physical import CONTINUOUS_RATIO, REST_W, circuit_w, supply_w
from cabida.checks.plan import bus_bytes_per_s
from cabida.checks.sentences import caution, short_title
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.text import has_text, money, number, percent, tr
from cabida.units import MS_PER_S

if TYPE_CHECKING:
    from cabida.checks.pitfalls import Context

SERVED = ("realtime-inference", "retrieval")
IDLE_RATIO = 0.6
UNUSED_RATIO = 0.5
REVIEW_RATIO = 0.5
WIDE_RATIO = 3.0  # the high end of a cost over its low end
WARRANTY_YEARS = 3  # what makers of cards usually give: techunwrapped.com, guarantees of GPU manufacturers
LONG_RUN_MINUTES = 24 * 60
MOST_ON_A_DESK = 4
MINUTES_PER_HOUR = 60
PATIENCE_S = 10.0  # Nielsen 1993: the limit of keeping somebody's attention on the dialogue


def paid_idle(c: Context) -> Iterator[Caution]:
    """Rented by the hour, day and night, for work that fills less than half of them."""
    from cabida.money.bills.serving import HELD

    chosen = c.chosen
    if chosen is None or chosen.capacity in ("buy", "have", "api", "serverless") or c.brief.is_training:
        return
    lines = {line.key: line.money for line in chosen.cost_lines}
    held = sum(lines.get(key, 0.0) for key in HELD)
    idle = lines.get("idle", 0.0)
    if held and idle / held > IDLE_RATIO:
        values = {"share": percent(idle / held), "idle": money(idle, c.brief.currency)}
        yield caution("CB-K332", option=short_title(chosen), **values)


def memory_never_used(c: Context) -> Iterator[Caution]:
    """More than half of the memory that is paid for stays empty."""
    chosen = c.chosen
    if chosen is None or not chosen.accelerator or not chosen.usable_bytes or chosen.capacity == "have":
        return
    left = chosen.memory.get("headroom", 0.0) / chosen.usable_bytes
    if left > UNUSED_RATIO:
        yield caution("CB-K333", "info", option=short_title(chosen), left=percent(left))


def people_cost_more(c: Context) -> Iterator[Caution]:
    """Reading the outputs costs more than making them."""
    chosen = c.chosen
    if chosen is None or chosen.cost_per_month_money <= 0:
        return
    review = sum(line.money for line in chosen.cost_lines if line.key == "review")
    if review / chosen.cost_per_month_money > REVIEW_RATIO:
        share = percent(review / chosen.cost_per_month_money)
        yield caution("CB-K334", share=share, review=money(review, c.brief.currency))


def half_the_lanes(c: Context) -> Iterator[Caution]:
    """A model split over cards that have eight lanes instead of sixteen."""
    from cabida.checks.pitfalls import tensor_parallel

    chosen, card = c.chosen, c.card
    if chosen is None or card is None or (card.pcie_lanes or 16) >= 16 or card.link_domain_count > 1:
        return
    tensor = tensor_parallel(chosen.split)
    if tensor > 1:
        rate = number(bus_bytes_per_s(card) / 1e9, 2)
        yield caution("CB-K335", name=card.name, tensor=tensor, lanes=card.pcie_lanes, rate=rate)


def long_without_ecc(c: Context) -> Iterator[Caution]:
    """Days of training on memory that does not notice a flipped bit."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None or card.ecc is not False or not c.brief.is_training:
        return
    took = chosen.metrics.get("minutes_to_target")
    if took is not None and took.value > LONG_RUN_MINUTES:
        hours = number(took.value / MINUTES_PER_HOUR)
        yield caution("CB-K336", "info", name=card.name, hours=hours, count=chosen.accelerators_count)


def beyond_the_socket(c: Context) -> Iterator[Caution]:
    """Cards on a desk that draw more than its socket may give all day."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None or chosen.capacity not in ("buy", "have") or not card.tdp_w:
        return
    if card.segment not in ("consumer", "workstation"):
        return
    count = min(chosen.accelerators_count, MOST_ON_A_DESK)
    drawn = card.tdp_w * count + REST_W + REST_W
    small = circuit_w.raw(120.0, 15.0, CONTINUOUS_RATIO)
    large = circuit_w.raw(230.0, 16.0, CONTINUOUS_RATIO)
    if drawn > small:
        values = {"drawn": number(drawn), "small": number(small), "large": number(large)}
        yield caution("CB-K337", name=card.name, count=count, **values)


def passive_on_a_desk(c: Context) -> Iterator[Caution]:
    """A card without a fan, bought one by one."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None or chosen.capacity != "buy" or not _passive(card):
        return
    if chosen.accelerators_count < 8:
        supply = number(supply_w([card.tdp_w or 0.0] * chosen.accelerators_count))
        yield caution("CB-K338", name=card.name, count=chosen.accelerators_count, supply=supply)


def _passive(card: Accelerator) -> bool:
    return card.segment == "datacenter" and "PCIe" in card.form_factor


def out_of_warranty(c: Context) -> Iterator[Caution]:
    """Bought today, first made years ago: old stock or used, and a warranty that may have run."""
    chosen, card = c.chosen, c.card
    if chosen is None or card is None or chosen.capacity != "buy" or not card.year or not c.as_of:
        return
    age = int(c.as_of[:4]) - card.year
    if age > WARRANTY_YEARS:
        yield caution("CB-K339", "info", name=card.name, year=card.year, years=WARRANTY_YEARS)


def wide_figures(c: Context) -> Iterator[Caution]:
    """A cost whose ends lie so far apart that the first place says little."""
    chosen = c.chosen
    cost = chosen.unit_cost if chosen else None
    if chosen is None or cost is None or cost.low <= 0 or cost.high / cost.low < WIDE_RATIO:
        return
    ratio, key = number(cost.high / cost.low, 2), f"asking.basis.{cost.basis}"
    basis = tr(key) if has_text(key) else cost.basis
    yield caution("CB-K340", "info", option=short_title(chosen), ratio=ratio, basis=basis)


def taken_away(c: Context) -> Iterator[Caution]:
    """Spot machines under a service, with none to spare."""
    chosen = c.chosen
    if chosen is None or chosen.capacity != "spot" or c.brief.workload not in SERVED:
        return
    if chosen.spare_replicas_count == 0:
        yield caution("CB-K341", option=short_title(chosen), count=chosen.replicas_count)


def one_of_everything(c: Context) -> Iterator[Caution]:
    """A service with latency objectives that stands on one replica."""
    chosen = c.chosen
    if chosen is None or not chosen.accelerator or c.brief.workload not in SERVED:
        return
    alone = chosen.replicas_count == 1 and chosen.spare_replicas_count == 0
    if alone and c.brief.objectives.latency_s and c.brief.limits.availability != "n+1":
        each = chosen.accelerators_count
        yield caution("CB-K342", "info", option=short_title(chosen), count=each)


def data_leaves(c: Context) -> Iterator[Caution]:
    """A boundary for the data, and an API that reads every prompt."""
    chosen = c.chosen
    if chosen is not None and chosen.capacity == "api" and c.brief.limits.countries:
        values = {"provider": chosen.provider, "countries": ", ".join(c.brief.limits.countries)}
        yield caution("CB-K343", **values)


def budget_without_room(c: Context) -> Iterator[Caution]:
    """A choice that keeps the budget, and whose dearer end does not."""
    chosen, limit = c.chosen, c.brief.budget.monthly_money
    if chosen is None or limit is None or c.brief.is_training or chosen.unit_cost.value <= 0:
        return
    high = chosen.cost_per_month_money * chosen.unit_cost.high / chosen.unit_cost.value
    if chosen.cost_per_month_money <= limit < high:
        told = {"high": high, "cost": chosen.cost_per_month_money, "limit": limit}
        yield caution("CB-K344", **{key: money(value, c.brief.currency) for key, value in told.items()})


def made_for_export(c: Context) -> Iterator[Caution]:
    """The chosen part is one made for export."""
    if c.chosen is not None and c.chosen.accelerator:
        yield from export_variant(c.chosen.accelerator)


def left_behind(c: Context) -> Iterator[Caution]:
    """The chosen card is one that the current toolkit left behind."""
    if c.card is not None:
        yield from last_toolkit(c.card)


def first_word_late(c: Context) -> Iterator[Caution]:
    """Nobody limited the time to the first word, and it is longer than people wait."""
    chosen = c.chosen
    first = chosen.metrics.get("ttft_ms_p95") if chosen else None
    asked = c.brief.objectives.latency_s
    if chosen is None or first is None or c.brief.workload != "realtime-inference" or "e2e" in asked:
        return
    if "ttft" not in asked and first.value / MS_PER_S > PATIENCE_S:
        yield caution("CB-K345", seconds=number(first.value / MS_PER_S), patience=number(PATIENCE_S))


CHOSEN_PITFALLS: tuple[Callable[[Context], Iterator[Caution]], ...] = (
    paid_idle,
    memory_never_used,
    people_cost_more,
    half_the_lanes,
    long_without_ecc,
    beyond_the_socket,
    passive_on_a_desk,
    out_of_warranty,
    wide_figures,
    taken_away,
    one_of_everything,
    data_leaves,
    budget_without_room,
    made_for_export,
    left_behind,
    first_word_late,
)
