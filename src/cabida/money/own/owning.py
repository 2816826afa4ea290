"""Lines of a bill that only an owner pays: the purchase, its resale, power, upkeep and licences."""

from __future__ import annotations

from cabida import facts
from cabida.facts.model import Accelerator
from cabida.money.own import ownership
from cabida.money.prices.tenure import WHOLE_SERVER_COUNT, Tenure, decay_name
from cabida.money.ways import Number, Ways


def recovery(ways: Ways) -> Number:
    """Share of a purchase to recover each year, with interest."""
    return ways.apply(
        ownership.capital_recovery_ratio_per_year, ways.assume("wacc_ratio"), ways.assume("life_years")
    )


def capital(ways: Ways, tenure: Tenure, count: Number) -> Number:
    """What ``count`` accelerators cost to buy, with their share of machine and network."""
    price = ways.amount("price_money", tenure.offer)
    if tenure.held is not None:
        kept = ways.amount("held_price_money", tenure.held.offer)
        return _topped_up_capital(ways, tenure, count, kept)
    if tenure.offer.capacity == "have":
        return ways.apply(ownership.bare_capital_money, price, count)
    if tenure.desktop:
        return ways.apply(ownership.desktop_capital_money, price, count, ways.assume("desktop_capital_money"))
    whole = tenure.offer.accelerators_count >= WHOLE_SERVER_COUNT
    server = ways.given("server_capital_ratio", 1.0, "offer") if whole else ways.assume(tenure.around)
    return ways.apply(
        ownership.server_capital_money, price, count, server, ways.assume("network_capital_ratio")
    )


def _topped_up_capital(ways: Ways, tenure: Tenure, count: Number, held_price: Number) -> Number:
    price, kept = ways.amount("price_money", tenure.offer), _kept(ways, tenure)
    room = ways.given("room_count", 0.0, "plan")
    if tenure.has_room:
        room = ways.assume("desktop_room_count")
    around = ways.assume(tenure.around)
    return ways.apply(ownership.topped_up_capital_money, price, count, kept, held_price, around, room)


def _kept(ways: Ways, tenure: Tenure) -> Number:
    return ways.given("held_count", tenure.held.accelerators_count * 1.0 if tenure.held else 0.0, "brief")


def _resale(ways: Ways, tenure: Tenure, count: Number) -> Number:
    """What the accelerators alone bring at the end of their life."""
    price, life = ways.amount("price_money", tenure.offer), ways.assume("life_years")
    decay = ways.assume(decay_name(tenure.offer, ways.terms))
    if tenure.held is None:
        cards = ways.apply(ownership.bare_capital_money, price, count)
        return ways.apply(ownership.exponential_residual_money, cards, decay, life)
    falls = decay, ways.assume(decay_name(tenure.held.offer, ways.terms))
    left = (ways.apply(ownership.left_price_ratio, fall, life) for fall in falls)
    held_price = ways.amount("held_price_money", tenure.held.offer)
    return ways.apply(
        ownership.topped_up_residual_money, price, count, _kept(ways, tenure), held_price, *left
    )


def machine_upkeep(
    ways: Ways, tenure: Tenure, accelerator: Accelerator, held_count: int, used_ratio: float
) -> dict[str, Number]:
    """Lines that only an owner pays; all zero when renting."""
    none = dict.fromkeys(("residual", "energy", "cooling", "colocation", "support", "licences"), 0.0)
    if not tenure.owned:
        return none
    count = ways.given("accelerators_count", held_count * 1.0, "plan")
    lines = none | _electricity(ways, tenure, accelerator, count, used_ratio)
    licence = ways.assume("licence_money_per_year")
    lines["licences"] = ways.apply(ownership.licences_money_per_month, count, licence)
    if not tenure.capital_money:
        return lines
    resale = _resale(ways, tenure, count)
    present = ways.apply(
        ownership.present_residual_money, resale, ways.assume("wacc_ratio"), ways.assume("life_years")
    )
    lines["residual"] = ways.apply(ownership.residual_money_per_month, present, recovery(ways))
    if tenure.capacity == "buy":
        bought = capital(ways, tenure, count)
        if tenure.held is not None:  # what was there is kept up as it always was
            none_held = ways.given("held_price_money", 0.0, "plan")
            bought = _topped_up_capital(ways, tenure, count, none_held)
        name = "desktop_support_ratio_per_year" if tenure.at_desk else "support_ratio_per_year"
        support = ways.apply(ownership.support_money_per_month, bought, ways.assume(name))
        parts = ways.apply(ownership.replaced_money_per_month, bought, ways.assume("spares_ratio_per_year"))
        lines["support"] = ways.apply(ownership.upkeep_money_per_month, support, parts)
    return lines


def host_power(ways: Ways, accelerator: Accelerator, *, at_desk: bool) -> Number:
    """Machine over accelerators: of the machine it usually comes in where its power is known, else as assumed."""
    name = "desktop_host_power_ratio" if at_desk else "host_power_ratio"
    node = None if at_desk or name in ways.terms.stated else facts.node_for(accelerator)
    if node is None or not node.power_w or not accelerator.tdp_w:
        return ways.assume(name)
    ratio = node.power_w / (node.accelerators_count * accelerator.tdp_w)
    source = node.source_of("power_w")
    return ways.given("host_power_ratio", ratio, source.what, source.grade)


def _electricity(
    ways: Ways, tenure: Tenure, accelerator: Accelerator, count: Number, used_ratio: float
) -> dict[str, Number]:
    """Energy and cooling by the meter, or colocation by reserved power: never both."""
    rated = ways.given(
        "rated_power_w", accelerator.tdp_w or 0.0, accelerator.source.what, accelerator.source.grade
    )
    host = host_power(ways, accelerator, at_desk=tenure.at_desk)
    billing = ways.terms.power_billing or ("energy" if tenure.at_desk else "reserved_kw")
    if billing == "reserved_kw":
        power = ways.apply(ownership.reserved_kw, rated, host, count)
        rent = ways.assume("colocation_money_per_kw_per_month")
        return {"colocation": ways.apply(ownership.colocation_money_per_month, power, rent)}
    used = ways.given("utilisation_ratio", used_ratio, "timing", "simulated")
    mean = ways.apply(
        ownership.drawn_power_w, rated, ways.assume("busy_power_ratio"), ways.assume("idle_power_ratio"), used
    )
    wall = ways.apply(ownership.machine_power_w, mean, host)
    energy = ways.apply(ownership.energy_kwh_per_month, wall, count)
    tariff = ways.assume("electricity_money_per_kwh")
    pue = ways.assume("desktop_pue_ratio" if tenure.at_desk else "pue_ratio")
    return {
        "energy": ways.apply(ownership.energy_money_per_month, energy, tariff),
        "cooling": ways.apply(ownership.cooling_money_per_month, energy, pue, tariff),
    }
