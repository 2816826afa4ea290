"""A purchase worked out: its lines, its year in two views, in floats for a sweep or in sourced quantities."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator, Offer
from cabida.money.own import against, capital, ownership, running
from cabida.money.own.owning import host_power, recovery
from cabida.money.prices.tenure import DESK_COUNT
from cabida.money.terms import Terms
from cabida.money.ways import Number, Ways

# what stands around an accelerator -> the kind of machine
KINDS_OF = {"desktop_capital_money": "desk", "server_capital_ratio": "server", "rack_capital_ratio": "rack"}
SERVER_COUNT = 8  # accelerators of the machine that a share of a person is stated for
CAPITAL = ("accelerators", "server", "network", "storage", "install", "duty", "tax")
RUNNING = ("energy", "cooling", "colocation", "staff", "support", "parts", "licences", "insurance")


@dataclass(frozen=True, slots=True)
class Purchase:
    """What is bought and how it will be used.

    Attributes:
        offer: price of one accelerator, or of a machine divided by its accelerators (``whole``).
        kind: desk, server or rack.
        needed_count: accelerators that have work; ``held_count`` are bought, spares included.
        unit_count: accelerators that stop together when something breaks.
        machines_count: PCs, servers or racks bought.
        utilisation_ratio: share of the delivered hours that it is on, as a rented one would be.
        whole: the price contains the machine.
        have_machine: the rest of the machine is there already.
        busy_w, idle_w: measured draw of one accelerator, at work and waiting; ``None`` = shares of its rated power.
        reserved_kw: what the colocation contract reserves; ``None`` = the machines' rated power.
        by_meter: energy and cooling by the meter; else colocation by reserved power, which contains both.
        staffed: whether the machines take people; not at home.
        busy_ratio: share of the hours on at which it works, and draws what work draws.
    """

    accelerator: Accelerator
    offer: Offer
    kind: str
    needed_count: int
    held_count: int
    unit_count: int
    machines_count: int
    utilisation_ratio: float
    whole: bool = False
    have_machine: bool = False
    busy_w: float | None = None
    idle_w: float | None = None
    reserved_kw: float | None = None
    by_meter: bool = False
    staffed: bool = True
    busy_ratio: float = 1.0

    @property
    def at_desk(self) -> bool:
        """Whether it stands under somebody's desk: PCs, not a room full of them."""
        return self.kind == "desk" and self.held_count <= DESK_COUNT

    @property
    def staffed_machines(self) -> float:
        """Machines that people look after: a rack counts as so many servers of eight."""
        return self.held_count / SERVER_COUNT if self.kind == "rack" else float(self.machines_count)

    def delivered_accelerators(self, terms: Terms) -> float:
        """Accelerators up on average of those needed, spares standing in (binomial over units)."""
        availability = terms.base(availability_name(self.kind))
        needed = -(-self.needed_count // self.unit_count)
        held = max(needed, self.held_count // self.unit_count)
        return against.delivered_count(needed, held, availability) / needed * self.needed_count


def availability_name(kind: str) -> str:
    """The assumption about how often a machine of this kind is up."""
    return "desktop_availability_ratio" if kind == "desk" else "node_availability_ratio"


def worked_out(ways: Ways, bought: Purchase, years: float | None = None) -> dict[str, Number]:
    """Every figure of a purchase by name: ``capital.*``, ``running.*``, and the sums they lead to.

    ``years`` replaces how long it is held. Keys besides the lines: capital, running, residual, present_residual,
    recovery, annuity, straight_line, financing, tax, owned, accounts, delivered, available, useful, npv.
    """
    life = ways.assume("life_years") if years is None else ways.given("life_years", years, "asked")
    wacc = ways.assume("wacc_ratio")
    found = _capital(ways, bought)
    found |= _running(ways, bought, found["capital"])
    found["residual"] = ways.apply(
        ownership.exponential_residual_money, found["capital.accelerators"], ways.assume("decay_ratio"), life
    )
    found["present_residual"] = ways.apply(ownership.present_residual_money, found["residual"], wacc, life)
    found["recovery"] = (
        recovery(ways) if years is None else ways.apply(ownership.capital_recovery_ratio_per_year, wacc, life)
    )
    found["annuity"] = ways.apply(
        ownership.annual_capital_money_per_year,
        found["capital"],
        found["present_residual"],
        found["recovery"],
    )
    found["straight_line"] = ways.apply(
        ownership.straight_line_money_per_year, found["capital"], found["residual"], life
    )
    found["financing"] = ways.apply(
        ownership.financing_money_per_year, found["annuity"], found["straight_line"]
    )
    tax = ways.assume("tax_ratio")
    found["tax"] = ways.apply(against.tax_money_per_year, found["annuity"], found["straight_line"], tax)
    found["owned"] = ways.apply(
        against.owned_money_per_year, found["annuity"], found["tax"], found["running"]
    )
    found["accounts"] = ways.apply(against.accounts_money_per_year, found["straight_line"], found["running"])
    found["delivered"] = ways.given(
        "delivered_accelerators_count", bought.delivered_accelerators(ways.terms), "binomial over machines"
    )
    found["available"] = ways.apply(ownership.available_money_per_hour, found["owned"], found["delivered"])
    used = ways.given("utilisation_ratio", bought.utilisation_ratio, "asked")
    found["useful"] = ways.apply(ownership.useful_money_per_hour, found["available"], used)
    found["npv"] = ways.apply(against.owned_npv_money, found["owned"], found["recovery"], tax)
    return found


def _capital(ways: Ways, bought: Purchase) -> dict[str, Number]:
    count = ways.given("accelerators_count", float(bought.held_count), "asked")
    price = ways.amount("price_money", bought.offer)
    cards = ways.apply(ownership.bare_capital_money, price, count)
    machine, network = _machine(ways, bought, cards), _network_ratio(ways, bought)
    shared = (cards, machine, network, ways.assume("install_share_ratio"))
    lines: dict[str, Number] = {
        "accelerators": cards,
        "server": machine,
        "network": ways.apply(capital.network_share_money, *shared),
        "storage": ways.apply(capital.disks_money, cards, machine, ways.assume("storage_capital_ratio")),
        "install": ways.apply(capital.install_money, *shared),
        "duty": ways.apply(capital.duty_money, cards, machine, ways.assume("duty_ratio")),
    }
    untaxed = ways.apply(capital.untaxed_money, *(lines[key] for key in CAPITAL[:-1]))
    lines["tax"] = ways.apply(capital.purchase_tax_money, untaxed, ways.assume("purchase_tax_ratio"))
    whole = ways.apply(capital.purchase_money, untaxed, lines["tax"])
    return {f"capital.{key}": value for key, value in lines.items()} | {"capital": whole}


def _machine(ways: Ways, bought: Purchase, cards: Number) -> Number:
    """What stands around the accelerators: nothing more when it is there or in the price."""
    if bought.kind == "desk" and not (bought.whole or bought.have_machine):
        count = ways.given("machines_count", float(bought.machines_count), "asked")
        return ways.apply(capital.desk_money, ways.assume("desktop_capital_money"), count)
    none = bought.whole or bought.have_machine
    name = "rack_capital_ratio" if bought.kind == "rack" else "server_capital_ratio"
    ratio = ways.given("server_capital_ratio", 1.0, "offer") if none else ways.assume(name)
    return ways.apply(capital.server_money, cards, ratio)


def _network_ratio(ways: Ways, bought: Purchase) -> Number:
    none = bought.kind == "desk" or bought.have_machine
    if none and "network_capital_ratio" not in ways.terms.stated:
        return ways.given("network_capital_ratio", 1.0, "offer")
    return ways.assume("network_capital_ratio")


def _running(ways: Ways, bought: Purchase, paid: Number) -> dict[str, Number]:
    lines: dict[str, Number] = dict.fromkeys(RUNNING, 0.0)
    lines |= _electricity(ways, bought)
    if bought.staffed:
        machines = ways.given("machines_count", bought.staffed_machines, "asked")
        people = ways.apply(running.machines_staff_count, ways.assume("node_staff_count"), machines)
        lines["staff"] = ways.apply(
            running.staff_money_per_year, people, ways.assume("loaded_money_per_year")
        )
    support = "desktop_support_ratio_per_year" if bought.at_desk else "support_ratio_per_year"
    lines["support"] = ways.apply(running.support_money_per_year, paid, ways.assume(support))
    lines["parts"] = ways.apply(running.parts_money_per_year, paid, ways.assume("spares_ratio_per_year"))
    count = ways.given("accelerators_count", float(bought.held_count), "asked")
    each, fee = ways.assume("licences_count_per_accelerator"), _licence(ways, bought)
    lines["licences"] = ways.apply(running.licences_money_per_year, count, each, fee)
    lines["insurance"] = ways.apply(
        running.insurance_money_per_year, paid, ways.assume("insurance_ratio_per_year")
    )
    whole = ways.apply(running.running_money_per_year, *(lines[key] for key in RUNNING))
    return {f"running.{key}": value for key, value in lines.items()} | {"running": whole}


def _licence(ways: Ways, bought: Purchase) -> Number:
    """Nobody licenses a card at home by the year, unless it is said."""
    name = "licence_money_per_year"
    at_home = bought.at_desk and not bought.staffed and name not in ways.terms.stated
    return ways.given(name, 0.0, "at home") if at_home else ways.assume(name)


def _electricity(ways: Ways, bought: Purchase) -> dict[str, Number]:
    """Energy and cooling by the meter, or colocation by reserved power: never both."""
    count = ways.given("accelerators_count", float(bought.held_count), "asked")
    card = bought.accelerator
    if card.tdp_w:
        rated = ways.given("rated_power_w", card.tdp_w, card.source.what, card.source.grade)
    else:  # what it draws at work is the least that must be reserved
        rated = ways.given("rated_power_w", bought.busy_w or 0.0, "asked", "measured")
    host = host_power(ways, card, at_desk=bought.at_desk)
    if not bought.by_meter:
        power = (
            ways.given("reserved_kw", bought.reserved_kw, "asked")
            if bought.reserved_kw is not None
            else ways.apply(ownership.reserved_kw, rated, host, count)
        )
        rent = ways.assume("colocation_money_per_kw_per_month")
        return {"colocation": ways.apply(running.colocation_money_per_year, power, rent)}
    share = bought.utilisation_ratio * bought.busy_ratio * bought.needed_count / bought.held_count
    used = ways.given("held_utilisation_ratio", share, "asked")
    wall = ways.apply(ownership.machine_power_w, _drawn(ways, bought, rated, used), host)
    energy = ways.apply(running.energy_kwh_per_year, wall, count)
    tariff = ways.assume("electricity_money_per_kwh")
    pue = ways.assume("desktop_pue_ratio" if bought.at_desk else "pue_ratio")
    return {
        "energy": ways.apply(running.energy_money_per_year, energy, tariff),
        "cooling": ways.apply(running.cooling_money_per_year, energy, pue, tariff),
    }


def _drawn(ways: Ways, bought: Purchase, rated: Number, used: Number) -> Number:
    """Mean draw of one accelerator: measured at work and waiting, else shares of its rated power."""
    if bought.busy_w is None and bought.idle_w is None:
        shares = ways.assume("busy_power_ratio"), ways.assume("idle_power_ratio")
        return ways.apply(ownership.drawn_power_w, rated, *shares, used)
    rated_w = bought.accelerator.tdp_w or 0.0
    busy = rated_w * ways.terms.base("busy_power_ratio") if bought.busy_w is None else bought.busy_w
    idle = rated_w * ways.terms.base("idle_power_ratio") if bought.idle_w is None else bought.idle_w
    return ways.apply(
        ownership.mean_power_w,
        ways.given("busy_power_w", busy, "asked", "measured"),
        ways.given("idle_power_w", idle, "asked", "measured"),
        used,
    )
