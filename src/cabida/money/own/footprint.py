"""The electricity and carbon behind a month of accelerators and behind one accepted output, whoever pays for them."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator
from cabida.money.assumptions import Range
from cabida.money.own import carbon, ownership
from cabida.money.own.owning import host_power
from cabida.money.own.place import intensity_of, market_of, pue_of
from cabida.money.prices.tenure import Tenure
from cabida.money.terms import Terms
from cabida.money.ways import Explained
from cabida.quantity import Quantity, leaf


@dataclass(frozen=True, slots=True)
class Working:
    """How accelerators work: how many, on for how long, how busy while on, and what is accepted of it.

    Attributes:
        on_hours_per_month: hours each is on; for a run, all its accelerator-hours, with ``accelerators_count`` 1.
        per_month: whether hours and outputs are a month's; else those of one run.
        accepted: outputs accepted a month, with their ancestry where a bill has it; of a run, the share of runs whose
            model is good enough.
    """

    accelerators_count: float
    on_hours_per_month: float
    utilisation_ratio: float
    accepted: float | Quantity
    per_month: bool = True


def footprint(
    accelerator: Accelerator, tenure: Tenure, working: Working, terms: Terms
) -> dict[str, Quantity]:
    """Figures under metric names, each with its ancestry; none where the accelerator's power is not known.

    ``carbon_market_g_per_output`` is there only when a contract is stated.
    """
    if not accelerator.tdp_w or float(working.accepted) <= 0:
        return {}
    ways, owned = Explained(terms, {}), tenure.owned
    used = ways.given("utilisation_ratio", working.utilisation_ratio, "timing", "simulated")
    rated = accelerator.quantity("tdp_w").named("rated_power_w")
    drawn = ways.apply(
        ownership.drawn_power_w, rated, ways.assume("busy_power_ratio"), ways.assume("idle_power_ratio"), used
    )
    wall = ways.apply(ownership.machine_power_w, drawn, host_power(ways, accelerator, at_desk=tenure.at_desk))
    pue = _leaf("pue_ratio", pue_of(tenure.offer, terms, owned=owned, at_desk=tenure.at_desk)[1])
    grid = _leaf("intensity_g_per_kwh", intensity_of(tenure.offer, terms, owned=owned))
    found: dict[str, Quantity] = {}
    if working.per_month:
        count = ways.given("accelerators_count", working.accelerators_count, "plan")
        hours = ways.given("on_hours_per_month", working.on_hours_per_month, "timing", "simulated")
        month = carbon.building_kwh_per_month(wall, count, hours, pue)
        outputs = working.accepted
        if not isinstance(outputs, Quantity):
            outputs = ways.given("accepted_outputs_per_month", outputs, "brief")
        each = carbon.energy_kwh_per_output(month, outputs)
        found["energy_kwh_per_month"] = month
        found["carbon_kg_per_month"] = carbon.carbon_kg_per_month(month, grid)
    else:
        hours = ways.given("open_hours", working.on_hours_per_month, "timing", "simulated")
        run = ownership.building_energy_kwh(ownership.energy_kwh(wall, hours), pue)
        kept = ways.given("model_acceptance_ratio", float(working.accepted), "brief")
        each = carbon.run_kwh_per_output(run, kept)
    found["energy_kwh_per_output"] = each
    found["carbon_g_per_output"] = carbon.carbon_g_per_output(each, grid)
    market = market_of(tenure.offer, terms, owned=owned)
    if market is not None:
        contract = _leaf("market_g_per_kwh", market)
        found["carbon_market_g_per_output"] = carbon.carbon_market_g_per_output(each, contract)
    return found


SUMS = {
    "energy_kwh_per_month": carbon.both_kwh_per_month,
    "carbon_kg_per_month": carbon.both_kg_per_month,
    "energy_kwh_per_output": carbon.both_kwh_per_output,
    "carbon_g_per_output": carbon.both_g_per_output,
    "carbon_market_g_per_output": carbon.both_g_per_output,
}


def together(held: dict[str, Quantity], rented: dict[str, Quantity]) -> dict[str, Quantity]:
    """The figures of a service that two lots of accelerators carry; those that are known of both."""
    return {name: SUMS[name](held[name], rented[name]) for name in held if name in rented}


def _leaf(name: str, taken: Range) -> Quantity:
    return leaf(name, taken.base, taken.source, taken.low, taken.high)
