"""An offer held against a decision: does it offer what is needed, where, when, for how long and within the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from cabida.facts.hardware import find_accelerator
from cabida.plan import Decision, Option
from cabida.procure.contract import EU, country_of
from cabida.procure.nouns import Finding
from cabida.procure.prices import Reckoned
from cabida.procure.subject import Subject
from cabida.text import money, number

GIB = 2.0**30
USED_KEYS = ("weights", "kv_cache", "activations", "graphs", "other")


def option_for(s: Subject, decision: Decision) -> Option | None:
    """The option that the offer could stand for: the best on its part, else the one that was chosen."""
    held = [one for one in decision.options if one.accelerator]
    own = [one for one in held if s.card is not None and one.accelerator == s.card.id]
    wanted = {"buy": ("buy",), "rent": ("on-demand",)}.get(s.purpose, ("reserved", "on-demand"))
    alike = sorted(
        (one for one in own if one.capacity in wanted), key=lambda one: (wanted.index(one.capacity), one.rank)
    )
    return next(iter((*alike, *own, *held)), None)


def needs(s: Subject, found: Reckoned) -> Iterator[Finding]:
    """Everything the decision and its brief need that the offer doesn't give."""
    decision = s.decision
    if decision is None:
        return
    option = option_for(s, decision)
    limits = _part(decision.brief, "limits")
    if option is not None:
        yield from _hardware(s, option)
    yield from _place(s, limits)
    needed_by, ready = str(limits.get("needed_by") or ""), _ready(s)
    if needed_by and ready and ready > needed_by:
        yield s.find(
            "CB-Q234",
            "blocking",
            ("delivery_date", "lead_time_days"),
            kind="need",
            need=needed_by,
            have=ready,
        )
    horizon = decision.brief.get("horizon_months")
    if horizon and s.quote.term_months and s.quote.term_months > float(horizon) + 0.5:
        yield s.find("CB-Q235", "important", ("term_months",), kind="need", need=number(float(horizon)),
                     have=number(s.quote.term_months))  # fmt: skip
    budget = _part(decision.brief, "budget").get("monthly_money")
    if (
        budget
        and found.month is not None
        and found.price.currency == decision.currency
        and float(found.month) > float(budget)
    ):
        yield s.find("CB-Q236", "blocking", ("unit_price",), kind="need", need=money(float(budget), decision.currency),
                     have=money(float(found.month), decision.currency))  # fmt: skip


def _hardware(s: Subject, option: Option) -> Iterator[Finding]:
    card = find_accelerator(option.accelerator)
    if s.card is not None and card is not None and s.card.id != option.accelerator:
        yield s.find("CB-Q230", "blocking", ("accelerator", "form_factor"), kind="need", need=card.name,
                     have=s.card.name)  # fmt: skip
    count = s.accelerators_count
    if count is not None and count < option.accelerators_count:
        yield s.find("CB-Q231", "blocking", ("accelerators_count", "nodes_count"), kind="need",
                     need=number(option.accelerators_count, 6), have=number(count, 6))  # fmt: skip
    used = sum(option.memory.get(key, 0.0) for key in USED_KEYS) / GIB
    usable = s.quote.accelerator_memory_usable_gib or (s.card.usable_bytes / GIB if s.card else None)
    same = s.card is not None and s.card.id == option.accelerator  # another part is loaded in another way
    if same and used and usable and usable < used:
        yield s.find("CB-Q232", "blocking", ("accelerator_memory_usable_gib", "accelerator"), kind="need",
                     need=number(used, 4), have=number(usable, 4))  # fmt: skip
    replica = option.replica.accelerators_count if option.replica else 1
    if s.per_node_count and replica > s.per_node_count and s.quote.interconnect is None:
        yield s.find(
            "CB-Q237", "important", ("accelerators_per_node_count",), kind="need", need=number(replica)
        )
    linked = card is not None and "nvlink" in card.link_kind
    if replica > 1 and linked and s.card is not None and "nvlink" not in s.card.link_kind:
        yield s.find("CB-Q238", "important", ("nvlink", "accelerator"), kind="need", need=number(replica),
                     have=s.card.name)  # fmt: skip


def _place(s: Subject, limits: Mapping[str, Any]) -> Iterator[Finding]:
    countries = [str(one).upper() for one in limits.get("countries") or ()]
    here = country_of(s)
    allowed = {*countries, *(EU if "EU" in countries else ())}
    if countries and here and here not in allowed:
        yield s.find("CB-Q233", "blocking", ("region", "country", "data_residency"), kind="need",
                     need=", ".join(countries), have=here)  # fmt: skip
    if limits.get("own_premises") and s.purpose in ("rent", "reserve", "api"):
        yield s.find("CB-Q239", "blocking", ("purpose",), kind="need")


def _ready(s: Subject) -> str:
    q = s.quote
    if q.delivery_date:
        return q.delivery_date
    if q.lead_time_days is None:
        return ""
    begin = max(one for one in (q.issued or "", s.as_of) if one)
    try:
        return (date.fromisoformat(begin) + timedelta(days=q.lead_time_days)).isoformat()
    except (ValueError, OverflowError):
        return ""


def _part(brief: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = brief.get(name)
    return found if isinstance(found, Mapping) else {}
