"""The classic traps in what a vendor offers. What is missing or contradicts itself is for the audit to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cabida.checks.named import SHAPES, export_variant, last_toolkit, loose_names
from cabida.checks.pitfalls_brief import unloaded_rates
from cabida.checks.sentences import caution
from cabida.facts.hardware import find_accelerator
from cabida.facts.model import Accelerator
from cabida.plan import Caution
from cabida.text import number, percent
from cabida.units import BYTES_PER_GIB, HOURS_PER_MONTH, W_PER_KW

SPARSE_TOLERANCE_RATIO = 0.02
LONG_TERM_MONTHS = 24
FULL_RATIO = 0.98

Plain = Mapping[str, Any]


def quote_pitfalls(quote_plain: Plain) -> tuple[Caution, ...]:
    """Every classic trap in a quote.

    Args:
        quote_plain: its fields under their names, as ``Quote.said()`` gives them; what is absent is unknown.
    """
    card = find_accelerator(str(quote_plain.get("accelerator") or "-"))
    return tuple(dict.fromkeys(one for look in QUOTE_PITFALLS for one in look(quote_plain, card)))


def _rents(quote: Plain) -> bool:
    unit = str(quote.get("unit") or "")
    return quote.get("purpose") in ("rent", "reserve") or unit.endswith(("_hour", "_month", "_year"))


def sparse_rate(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A rate that is twice the dense one of its precision."""
    said, dtype = quote.get("tflops"), quote.get("tflops_precision")
    dense = card.flop_per_s.get(str(dtype)) if card else None
    if card is None or not said or not dense or quote.get("tflops_sparse"):
        return
    if abs(float(said) * 1e12 / (2 * dense) - 1) < SPARSE_TOLERANCE_RATIO:
        values = {"said": number(float(said), 4), "dense": number(dense / 1e12, 4)}
        yield caution("CB-K016", name=card.name, dtype=dtype, **values)


def loosely_named(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A card of several shapes, offered without its shape."""
    told = " ".join(str(quote.get(key) or "") for key in ("accelerator", "accelerator_sku", "form_factor"))
    if not SHAPES.search(told):
        yield from loose_names([str(quote.get("accelerator") or "")])


def made_for_export(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A part made for export."""
    if card is not None:
        yield from export_variant(card.id)


def left_behind(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A card that the current toolkit left behind."""
    if card is not None:
        yield from last_toolkit(card)


def consumer_card_rented(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """GeForce cards in somebody's data centre."""
    if card is not None and card.vendor == "NVIDIA" and card.segment == "consumer" and _rents(quote):
        yield caution("CB-K018", name=card.name)


def capped_power(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A power limit below the rated one, or none said where machines are shipped with one."""
    if card is None or not card.tdp_w:
        return
    cap = quote.get("accelerator_power_w")
    if cap is not None and float(cap) < FULL_RATIO * card.tdp_w:
        share = percent(float(cap) / card.tdp_w)
        yield caution("CB-K360", name=card.name, cap=number(float(cap)), full=number(card.tdp_w), share=share)
    elif cap is None and card.id.startswith("b200"):
        yield caution("CB-K361", name=card.name, full=number(card.tdp_w))


def label_for_memory(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """Gigabytes of the label, where programs find fewer gibibytes."""
    said, usable = quote.get("accelerator_memory_gb"), quote.get("accelerator_memory_usable_gib")
    if card is None or not said or usable is not None:
        return
    held = card.usable_bytes / BYTES_PER_GIB
    if held < FULL_RATIO * float(said):
        yield caution("CB-K362", "info", name=card.name, said=number(float(said)), held=number(held, 4))


def network_unsaid(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """Several machines and not a word of what joins them; or a fabric that is shared."""
    machines, network = int(quote.get("nodes_count") or 1), quote.get("interconnect")
    if machines > 1 and network in (None, "none"):
        yield caution("CB-K363", machines=machines)
    factor = quote.get("oversubscription_factor")
    if factor is not None and float(factor) > 1:
        yield caution("CB-K364", factor=number(float(factor)), share=percent(1 / float(factor)))


def one_generation_for_years(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A long term without a right to change or to pass it on."""
    months = quote.get("term_months") or quote.get("minimum_term_months")
    free = quote.get("swap_right") or quote.get("resale_right")
    if months and float(months) >= LONG_TERM_MONTHS and not free:
        yield caution("CB-K365", months=number(float(months)))


def renewed_by_itself(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A contract that goes on unless somebody remembers."""
    if quote.get("auto_renewal"):
        days = quote.get("renewal_notice_days")
        yield caution("CB-K366", days="?" if days is None else number(float(days)))


def model_may_change(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """An API whose model is whatever the provider serves that day."""
    if quote.get("model") and not quote.get("model_version_pinned"):
        yield caution("CB-K367", model=str(quote["model"])[:80])


def uptime_without_credit(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A promise of uptime that pays nothing when it is broken."""
    uptime = quote.get("uptime_ratio")
    if uptime is not None and not quote.get("credit_ladder"):
        hours = (1 - float(uptime)) * HOURS_PER_MONTH
        yield caution("CB-K368", uptime=percent(float(uptime), 5), hours=number(hours))


def used_without_warranty(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """Used machines that nobody stands behind."""
    if quote.get("condition") in ("used", "refurbished") and not quote.get("warranty_months"):
        yield caution("CB-K369", condition=quote["condition"])


def machine_power_too_low(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """A machine's power that its accelerators alone would use up."""
    kilowatts, count = quote.get("node_power_kw"), quote.get("accelerators_per_node_count")
    if card is None or not card.tdp_w or not kilowatts or not count:
        return
    cards_kw = card.tdp_w * int(count) / W_PER_KW
    if float(kilowatts) <= cards_kw:
        yield caution("CB-K370", said=number(float(kilowatts)), cards=number(cards_kw), count=count)


def paid_while_idle(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """An hourly price that also runs while nothing does."""
    if str(quote.get("unit") or "").endswith("_hour") and quote.get("idle_billing"):
        yield caution("CB-K371", "info", hours=number(HOURS_PER_MONTH))


def rates_without_a_load(quote: Plain, card: Accelerator | None) -> Iterator[Caution]:
    """Tokens per second in the notes, of nobody knows what load."""
    yield from unloaded_rates(str(quote.get("notes") or "").splitlines())


QUOTE_PITFALLS: tuple[Callable[[Plain, Accelerator | None], Iterator[Caution]], ...] = (
    sparse_rate,
    loosely_named,
    made_for_export,
    left_behind,
    consumer_card_rented,
    capped_power,
    label_for_memory,
    network_unsaid,
    one_generation_for_years,
    renewed_by_itself,
    model_may_change,
    uptime_without_credit,
    used_without_warranty,
    machine_power_too_low,
    paid_while_idle,
    rates_without_a_load,
)
