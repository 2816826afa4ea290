"""An offer as an audit looks at it: its fields, the part it names, its counts, and where each thing was read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from cabida.checks.claims import named_cards
from cabida.evidence.quotes.fields import BY_NAME, unit_said
from cabida.evidence.quotes.quote import Amount, Credit, Quote, QuoteItem
from cabida.facts.hardware import find_accelerator, node_for
from cabida.facts.model import Accelerator, Node
from cabida.plan import Decision
from cabida.procure.nouns import Finding, Read
from cabida.text import has_text, number, percent, tr, with_marks

LONGEST_QUOTED_CHARS = 160
PURCHASES = ("gpu", "node", "rack", "system")
_TEXTS = (  # fields that hold sentences
    "accelerator", "accelerator_sku", "fx_clause", "price_adjustment_clause", "delay_penalty", "cpu", "ramp_schedule",
    "sla_exclusions", "support_hours", "acceptance_test", "storage_kind", "licences_included", "export_control",
    "data_residency", "notes", "orchestration", "accelerator_stack", "driver_version", "firmware_baseline",
)  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """What the rules look at. ``as_of``: the day the audit is made, ISO."""

    quote: Quote
    as_of: str
    decision: Decision | None = None

    def get(self, name: str) -> Any:
        """A field; ``None`` = the offer doesn't say."""
        return getattr(self.quote, name)

    @property
    def currency(self) -> str:
        """The offer's currency: of its price, else of the whole, else of any amount; "" = none is named."""
        q = self.quote
        found = [q.unit_price, q.monthly_price, q.total_price, q.total_commit]
        priced = next((one.currency for one in found if one is not None and one.currency), "")
        first = q.unit_price.currency if q.unit_price is not None else ""
        return (first or q.currency or priced or "").upper()

    @property
    def purpose(self) -> str:
        """rent, reserve, buy, api or cluster."""
        return self.quote.sort

    @cached_property
    def card(self) -> Accelerator | None:
        """The part that the name and the form factor stand for; ``None`` where no single one is."""
        return _card(self.quote)

    @cached_property
    def node(self) -> Node | None:
        """The machine that part usually comes in."""
        return node_for(self.card) if self.card else None

    @cached_property
    def texts(self) -> tuple[Read, ...]:
        """Everything the offer says in sentences, with where: text fields, lines nobody understood, its items."""
        q = self.quote
        reads = [self.read(name) for name in _TEXTS if getattr(q, name)]
        own = [replace(one, quoted=one.shown) for one in reads]
        left = [Read("", one.words[:2000], one.place, one.words[:LONGEST_QUOTED_CHARS]) for one in q.left]
        items = [Read("items", item.what, item.place, item.what[:LONGEST_QUOTED_CHARS]) for item in q.items]
        words = [
            Read(one.field, one.words, one.place, one.words[:LONGEST_QUOTED_CHARS])
            for one in q.seen
            if one.field not in _TEXTS
        ]
        return (*own, *left, *items, *words)

    @property
    def accelerators_count(self) -> int | None:
        """Accelerators in all: as said, else machines times accelerators in each."""
        q = self.quote
        if q.accelerators_count:
            return q.accelerators_count
        if q.nodes_count and q.accelerators_per_node_count:
            return q.nodes_count * q.accelerators_per_node_count
        if q.quantity and q.unit in ("gpu", "gpu_hour", "gpu_month", "gpu_year"):
            return int(q.quantity)
        if q.quantity and q.accelerators_per_node_count and (q.unit or "").startswith("node"):
            return int(q.quantity * q.accelerators_per_node_count)
        return None

    @property
    def per_node_count(self) -> int | None:
        """Accelerators of one machine, as said or as the counts have it."""
        q = self.quote
        if q.accelerators_per_node_count:
            return q.accelerators_per_node_count
        if q.accelerators_count and q.nodes_count and q.accelerators_count % q.nodes_count == 0:
            return q.accelerators_count // q.nodes_count
        return None

    @property
    def nodes_count(self) -> int | None:
        """Machines, as said or as the counts have it."""
        q = self.quote
        if q.nodes_count:
            return q.nodes_count
        if q.accelerators_count and q.accelerators_per_node_count:
            return -(-q.accelerators_count // q.accelerators_per_node_count)
        return None

    @property
    def term_months(self) -> float | None:
        """The term committed to."""
        return self.quote.term_months or self.quote.minimum_term_months

    def read(self, name: str) -> Read:
        """A field with its value as shown and where it was read."""
        seen = self.quote.where(name)
        value = getattr(self.quote, name)
        return Read(
            name,
            shown(name, value) if value is not None else "",
            seen.place if seen else self.quote.file,
            seen.words[:LONGEST_QUOTED_CHARS] if seen else "",
        )

    def item_read(self, item: QuoteItem) -> Read:
        """A line of the offer."""
        return Read("items", item.what, item.place, item.what[:LONGEST_QUOTED_CHARS])

    def find(
        self,
        code: str,
        severity: str,
        fields: tuple[str, ...],
        *reads: Read,
        kind: str = "contradiction",
        **values: object,
    ) -> Finding:
        """A finding in the language in use; fields that the offer doesn't say are left out of what it rests on."""
        said = tuple(self.read(name) for name in fields if getattr(self.quote, name) is not None)
        asked = f"procure.{code}.ask"
        return Finding(
            code,
            severity,
            kind,
            tr(f"procure.{code}.what", **values),
            tr(asked, **values) if has_text(asked) else "",
            (*said, *reads),
        )


def title_of(name: str) -> str:
    """A field's name as people read it."""
    return tr(BY_NAME[name].title) if name in BY_NAME and has_text(BY_NAME[name].title) else name


def amount(value: Amount | None) -> str:
    """``2.10 EUR``, with all the digits it was quoted with."""
    return "" if value is None else f"{plain(value.value)} {value.currency}".strip()


def plain(value: Decimal | float) -> str:
    """A number with the digits it has, grouped as the language does."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(round(float(value), 6)))
    places = max(0, -int(exact.as_tuple().exponent))
    text = f"{exact:,.{min(places, 6)}f}"
    if "." in text and places > 2:
        whole, _, part = text.partition(".")
        text = f"{whole}.{part.rstrip('0').ljust(2, '0')}"
    return with_marks(text)


def whole(value: float) -> str:
    """An amount of money without its currency, to the unit from 100 up, else to the cent."""
    return plain(Decimal(f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"))


def shown(name: str, value: Any) -> str:
    """A field's value as people read it."""
    kind, unit = (BY_NAME[name].kind, BY_NAME[name].unit) if name in BY_NAME else ("text", "")
    if isinstance(value, Amount):
        return f"{amount(value)}{unit_said(unit)}"
    if isinstance(value, bool):
        return tr("procure.yes" if value else "procure.no")
    if isinstance(value, tuple):
        return ", ".join(_credit(one) if isinstance(one, Credit) else str(one) for one in value)
    if kind == "ratio":
        return percent(float(value), 6)
    if isinstance(value, int | float | Decimal):
        return f"{number(float(value), 7)} {unit_said(unit, number(float(value), 7))}".strip()
    if kind == "choice" and has_text(f"procure.choice.{value}"):
        return tr(f"procure.choice.{value}")
    return str(value)


def _credit(one: Credit) -> str:
    return f"< {percent(one.below_ratio, 6)}: {percent(one.credit_ratio, 4)}"


_FORMS = {"SXM": ("SXM",), "PCIe": ("PCIe",), "NVL": ("NVL",), "OAM": ("OAM",)}


def form_of(card: Accelerator) -> str:
    """SXM, PCIe, NVL or OAM as offers say it; "" for what is none of them. An NVL card sits in a PCIe slot."""
    if "-nvl-" in card.id:
        return "NVL"
    return next((form for form in ("SXM", "OAM", "PCIe") if card.form_factor.startswith(form)), "")


def _card(q: Quote) -> Accelerator | None:
    """By the name and form together, then the name and memory, then the name alone where one part only has it."""
    if not q.accelerator:
        return None
    name = re.sub(r"^\s*\d+\s*[x×]\s*", "", q.accelerator)
    memory = f" {q.accelerator_memory_gb:.0f}GB" if q.accelerator_memory_gb else ""
    form = q.form_factor if q.form_factor in _FORMS and q.form_factor.lower() not in name.lower() else ""
    tries = (
        [f"{name} {form}{memory}", f"{name} {form}", f"{name}{memory}", name]
        if form
        else [name, f"{name}{memory}"]
    )
    for one in tries:
        if (found := find_accelerator(one.strip())) is not None and (
            not form or form_of(found) in (form, "")
        ):
            return found
    near = named_cards(q.accelerator)
    if q.form_factor:
        near = [one for one in near if form_of(one) == q.form_factor] or near
    if q.accelerator_memory_gb:
        near = [
            one for one in near if abs(one.label_memory_bytes / 2**30 / q.accelerator_memory_gb - 1) < 0.1
        ] or near
    return near[0] if len(near) == 1 else None
