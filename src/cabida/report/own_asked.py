"""What ``cabida own`` is asked: the purchase, its terms, and the price and rents of the book."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from cabida import facts, money
from cabida.errors import InvalidInput
from cabida.evidence import book
from cabida.facts.model import Accelerator, Offer
from cabida.money import Tenure, Terms
from cabida.money.assumptions import Range
from cabida.money.own.against import nodes_for_availability
from cabida.money.own.place import household_tariff
from cabida.money.own.purchase import KINDS_OF, Purchase, availability_name
from cabida.money.prices.tenure import DESK_COUNT, WHOLE_SERVER_COUNT, around_name
from cabida.money.terms import is_known_place
from cabida.quantity import Source
from cabida.report.within import MONEY, PART, PRICE, SHARE, Within, refuse_beyond
from cabida.text import number, problem

CARDS_A_PC = 2
USUAL_SERVER_COUNT = 8
CAPACITIES = ("on-demand", "spot", "reserved")
# flag -> the assumption it states
STATES = {
    "years": "life_years", "wacc": "wacc_ratio", "progress": "progress_ratio",
    "electricity": "electricity_money_per_kwh",
    "colocation": "colocation_money_per_kw_per_month", "loaded": "loaded_money_per_year",
    "parts": "spares_ratio_per_year", "licence": "licence_money_per_year",
    "licences_per_gpu": "licences_count_per_accelerator", "insurance": "insurance_ratio_per_year",
    "income_tax": "tax_ratio", "purchase_tax": "purchase_tax_ratio", "duty": "duty_ratio",
}  # fmt: skip
BOUNDS = {
    "utilisation": PART, "rent": PRICE, "price": PRICE, "machine_price": PRICE, "gpus": Within(1, 1e6),
    "per_machine": Within(1, 1024), "server": MONEY, "network": MONEY, "storage": MONEY, "install": MONEY,
    "duty": Within(0, 2), "purchase_tax": SHARE, "years": Within(0.25, 30), "wacc": SHARE, "resale": PART,
    "income_tax": Within(0, 0.9), "progress": Within(0, 2), "electricity": MONEY, "pue": Within(1, 5),
    "colocation": MONEY, "reserved_kw": PRICE, "busy_w": PRICE, "idle_w": MONEY, "staff": Within(0, 1e4),
    "loaded": MONEY, "support": SHARE, "parts": SHARE, "licence": MONEY, "licences_per_gpu": Within(0, 16),
    "insurance": SHARE, "uptime": PART, "spares": Within(0, 1e5), "target": Within(0, 1, above=True, below=True),
    "tokens_per_s": PRICE, "api_price": PRICE,
}  # fmt: skip
WORDS = frozenset(("in_", "have_machine"))
BY_METER, RESERVED = ("electricity", "pue"), ("colocation", "reserved_kw")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about owning, made whole: what is bought, under which terms, against which rents."""

    bought: Purchase
    terms: Terms
    price: Tenure | None  # of the book; None = stated
    rents: tuple[Tenure, ...]  # on demand, spot and reserved
    rent_money: float | None
    stated: frozenset[str]  # names of assumptions the user stated


def asked(gpu: str, flags: Mapping[str, Any], currency: str, as_of: str, country: str) -> Asked:
    """The purchase a person means, with the book's price where none was said.

    Raises:
        InvalidInput: both PUE and reserved power (CB-U090), no price known (CB-U091), no power known (CB-U092), a
            price of the accelerator and one of the machine (CB-U093), a country nothing is known of (CB-U095), figures
            that contradict each other or change nothing (CB-U054, CB-U050), or that can't be (CB-U066).
    """
    said = {name: value for name, value in flags.items() if value is not None}
    refuse_beyond(said, BOUNDS, WORDS)
    card = facts.accelerator(gpu)
    faults = _faults(card, said)
    if "electricity" not in said and not is_known_place(country):
        faults.append(problem("CB-U095", place=country))
    if faults:
        raise InvalidInput(faults)
    kind = said.get("in_") or KINDS_OF[around_name(card)]
    offers = book.offers(as_of or None, [card.id])
    terms = _terms(kind, currency, as_of, country)
    count, each = _counts(card, kind, said)
    if kind == "desk" and count > DESK_COUNT:
        kind = "server"
        terms = _terms(kind, currency, as_of, country)
    price = None if _is_priced(said) else _book_price(card, count, offers, terms)
    bought = _purchase(card, kind, count, each, said, terms, price)
    measured = [f"--{name.replace('_', '-')}" for name in ("busy_w", "idle_w") if name in said]
    if measured and card.tdp_w and not bought.by_meter:
        raise InvalidInput(problem("CB-U050", one=", ".join(measured), other="--electricity"))
    bought = _with_spares(bought, each, said, terms)
    terms = _stated(terms, bought, said)
    rents = money.offers_for(card, bought.needed_count, offers, terms, capacity=CAPACITIES)
    names = frozenset(terms.stated)
    return Asked(bought, terms, price, tuple(rents), said.get("rent"), names)


def _faults(card: Accelerator, said: Mapping[str, Any]) -> list[Any]:
    found = []
    meter = [f"--{name}" for name in BY_METER if name in said]
    reserved = [f"--{name.replace('_', '-')}" for name in RESERVED if name in said]
    if meter and reserved:
        found.append(problem("CB-U090", meter=", ".join(meter), reserved=", ".join(reserved)))
    if "price" in said and "machine_price" in said:
        found.append(problem("CB-U093"))
    around = [name for name in ("machine_price", "have_machine") if said.get(name)]
    if "server" in said and around:
        found.append(problem("CB-U094", names=", ".join(f"--{name.replace('_', '-')}" for name in around)))
    if said.get("idle_w", 0.0) > said.get("busy_w", card.tdp_w or math.inf):
        most = said.get("busy_w", card.tdp_w)
        found.append(
            problem(
                "CB-U054", one="--idle-w", value=number(said["idle_w"]), other="--busy-w", most=number(most)
            )
        )
    if "api_price" in said and "tokens_per_s" not in said:
        found.append(problem("CB-U050", one="--api-price", other="--tokens-per-s"))
    if not card.tdp_w and not {"busy_w", "idle_w"} <= said.keys():
        found.append(problem("CB-U092", name=card.name))
    return found


def _is_priced(said: Mapping[str, Any]) -> bool:
    return "price" in said or "machine_price" in said


def _terms(kind: str, currency: str, as_of: str, country: str) -> Terms:
    """Shipped assumptions; at home, what a household pays for a kWh, tax included."""
    made = money.terms(currency, as_of=as_of, country=country)
    if kind != "desk":
        return made
    return replace(made, ranges={**made.ranges, "electricity_money_per_kwh": household_tariff(made, country)})


def _counts(card: Accelerator, kind: str, said: Mapping[str, Any]) -> tuple[int, int]:
    """Accelerators wanted, and how many stand in one machine."""
    node = facts.node_for(card)
    usual = node.accelerators_count if node else USUAL_SERVER_COUNT
    wanted = said.get("gpus")
    if kind == "desk":
        wanted = wanted or 1
        return wanted, min(CARDS_A_PC, wanted)
    each = said.get("per_machine") or (
        usual if kind == "rack" or card.form_factor.startswith(("SXM", "OAM")) else 0
    )
    return wanted or each or usual, each or min(usual, wanted or usual)


def _book_price(card: Accelerator, count: int, offers: tuple[Offer, ...], terms: Terms) -> Tenure:
    """The cheapest dated price of the book, new before used; one without a date only where there is no other."""
    found = money.offers_for(card, count, offers, terms, capacity=("buy",))
    if not found:
        undated = [
            one
            for one in facts.offers()
            if one.accelerator == card.id and one.capacity == "buy" and not one.seen
        ]
        found = money.offers_for(card, count, undated, terms, capacity=("buy",))
    if not found:
        raise InvalidInput(problem("CB-U091", name=card.name, id=card.id))
    return min(found, key=lambda one: (one.offer.condition in ("used", "refurbished"), one.money_per_hour))


def _purchase(
    card: Accelerator,
    kind: str,
    count: int,
    each: int,
    said: Mapping[str, Any],
    terms: Terms,
    price: Tenure | None,
) -> Purchase:
    machines = -(-count // each)
    held = machines * each if kind != "desk" and each > 1 else count
    whole = "machine_price" in said
    if price is not None:
        offer = price.offer
        whole = kind != "desk" and offer.accelerators_count >= WHOLE_SERVER_COUNT
    else:
        amount = said["machine_price"] / each if whole else said["price"]
        offer = _stated_offer(card, amount, terms, each if whole else 1)
    metered = any(name in said for name in BY_METER)
    reserved = any(name in said for name in RESERVED)
    return Purchase(
        accelerator=card,
        offer=offer,
        kind=kind,
        needed_count=count,
        held_count=held,
        unit_count=each,
        machines_count=machines,
        utilisation_ratio=said["utilisation"],
        whole=whole,
        have_machine=bool(said.get("have_machine")),
        busy_w=said.get("busy_w"),
        idle_w=said.get("idle_w"),
        reserved_kw=said.get("reserved_kw"),
        by_meter=metered or (kind == "desk" and not reserved),
        staffed=kind != "desk" or "staff" in said,
    )


def _stated_offer(card: Accelerator, amount: float, terms: Terms, together: int) -> Offer:
    return Offer(
        id=f"asked:{card.id}", provider="", provider_kind="owned", accelerator=card.id, accelerators_count=together,
        region="", country="", capacity="buy", term_months=0, upfront_ratio=1.0, amount=Decimal(str(amount)),
        unit="accelerator", currency=terms.currency, seen=terms.as_of, effective="", sighting="user", sample_count=1,
        low_amount=Decimal(str(amount)), high_amount=Decimal(str(amount)), condition="", notes="",
        source=Source("asked", seen=terms.as_of, grade="quoted"),
    )  # fmt: skip


def _with_spares(bought: Purchase, each: int, said: Mapping[str, Any], terms: Terms) -> Purchase:
    """Whole machines beyond the need: as many as were said, or as keep enough of them up (binomial)."""
    spares = said.get("spares") or 0
    if "target" in said:
        up = said.get("uptime", terms.base(availability_name(bought.kind)))
        needed = bought.machines_count
        spares = max(spares, nodes_for_availability(needed, up, said["target"]) - needed)
    return replace(
        bought, held_count=bought.held_count + spares * each, machines_count=bought.machines_count + spares
    )


def _stated(terms: Terms, bought: Purchase, said: Mapping[str, Any]) -> Terms:
    """The terms with what was said in place of what is assumed; amounts of money as shares of the purchase."""
    values = {name: float(said[flag]) for flag, name in STATES.items() if flag in said}
    desk = bought.at_desk
    renamed = {
        "pue": "desktop_pue_ratio" if desk else "pue_ratio",
        "support": "desktop_support_ratio_per_year" if desk else "support_ratio_per_year",
        "uptime": availability_name(bought.kind),
    }
    values |= {name: float(said[flag]) for flag, name in renamed.items() if flag in said}
    cards = float(bought.offer.amount) * terms.rate(bought.offer.currency).ratio * bought.held_count
    values |= _shares(bought, said, terms, cards)
    if "staff" in said:
        values["node_staff_count"] = said["staff"] / bought.staffed_machines
    if "resale" in said:
        life = values.get("life_years", terms.base("life_years"))
        values["decay_ratio"] = 1 - said["resale"] ** (1 / life)
    source = Source("asked", seen=terms.as_of, grade="quoted")
    told = {
        name: Range(value, value, value, source, terms.ranges[name].money) for name, value in values.items()
    }
    return replace(terms, ranges={**terms.ranges, **told}, stated=terms.stated | told.keys())


def _shares(bought: Purchase, said: Mapping[str, Any], terms: Terms, cards_money: float) -> dict[str, float]:
    """Server, network, installation and storage said as money, as the ratios the formulas take."""
    found: dict[str, float] = {}
    around = {kind: name for name, kind in KINDS_OF.items()}[bought.kind]
    none = bought.whole or bought.have_machine
    machine = 0.0
    if bought.kind == "desk":
        machine = 0.0 if none else said.get("server", terms.base(around) * bought.machines_count)
        if "server" in said:
            found[around] = said["server"] / bought.machines_count
    else:
        if "server" in said:
            found[around] = 1 + said["server"] / cards_money
        machine = 0.0 if none else cards_money * (found.get(around, terms.base(around)) - 1)
    base = cards_money + machine
    if "storage" in said:
        found["storage_capital_ratio"] = said["storage"] / base
    if "network" in said or "install" in said:
        both = (terms.base("network_capital_ratio") - 1) * base
        share = terms.base("install_share_ratio")
        network, install = said.get("network", both * (1 - share)), said.get("install", both * share)
        found["network_capital_ratio"] = 1 + (network + install) / base
        found["install_share_ratio"] = install / (network + install) if network + install else 0.0
    return found
