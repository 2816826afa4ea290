"""The 25 worked examples of the price notes, each through the product's own formulas, to 1e-6."""

import json
from decimal import Decimal
from math import inf
from pathlib import Path

import pytest

from cabida.money import currency
from cabida.money.bills import unit
from cabida.money.hold.mix import Future, Kind, Level, Problem
from cabida.money.hold.mix_solve import solve
from cabida.money.own import against, carbon, ownership
from cabida.money.prices import api, commitment
from cabida.timing.runs import goodput

EXAMPLES = {
    row["id"]: row for row in json.loads(Path(__file__).with_name("worked_examples.json").read_text("utf-8"))
}


def power_bill(i):
    kwh = ownership.energy_kwh(i["P_W"], i["hours"])
    return {"kwh": kwh, "usd": ownership.energy_money(kwh, i["price"])}


def power_bill_with_building(i):
    it = ownership.energy_kwh(ownership.machine_power_w(i["P_W"], i["overhead"]), 8760)
    kwh = ownership.building_energy_kwh(it, i["pue"])
    same = ownership.energy_money(it, i["price"]) + ownership.cooling_money(it, i["pue"], i["price"])
    assert same == pytest.approx(ownership.energy_money(kwh, i["price"]))
    return {"kwh": kwh, "usd": same}


def mean_power(i):
    mean = ownership.mean_power_w(i["P_busy_W"], i["P_idle_W"], i["u"])
    return {"avg_W": mean, "usd_year": ownership.energy_money(ownership.energy_kwh(mean, 8760), i["price"])}


def annual_capital(capex, salvage, wacc, years):
    present = ownership.present_residual_money(salvage, wacc, years)
    recovery = ownership.capital_recovery_ratio_per_year(wacc, years)
    return ownership.annual_capital_money_per_year(capex, present, recovery)


def capital(i):
    annual = annual_capital(i["capex"], i["salvage"], i["wacc"], i["years"])
    straight = ownership.straight_line_money_per_year(i["capex"], i["salvage"], i["years"])
    return {
        "crf": ownership.capital_recovery_ratio_per_year(i["wacc"], i["years"]),
        "annual": annual,
        "straight_line_annual": straight,
        "financing_extra": ownership.financing_money_per_year(annual, straight),
    }


def owned_node(i):
    annual = annual_capital(i["capex"] + i["network_capex"], i["salvage"], i["wacc"], i["years"])
    colo = 12 * ownership.colocation_money_per_month(i["node_kW"], i["colo_usd_per_kW_month"])
    whole = annual + colo + i["staff_usd_year"] + i["support_usd_year"]
    hourly = ownership.available_money_per_hour(whole, i["gpus"])
    return {
        "annual_capex": annual,
        "annual_colo": colo,
        "annual_total": whole,
        "usd_per_gpu_hour_available": hourly,
        "usd_per_useful_gpu_hour_u70": ownership.useful_money_per_hour(hourly, 0.7),
        "usd_per_useful_gpu_hour_u40": ownership.useful_money_per_hour(hourly, 0.4),
    }


def reserve_some(i):
    best = commitment.reserve_quantity(i["demand_24h"], i["p_res"], i["p_od"])
    cost = [commitment.profile_money(i["demand_24h"], held, i["p_res"], i["p_od"]) for held in range(9)]
    assert min(cost) == pytest.approx(cost[best])
    return {"best_R": best, "cost_best": cost[best], "cost_R0": cost[0], "cost_R8": cost[8]}


def checkpoints(i):
    write, between, restart = i["delta_s"], i["mtbi_s"], i["restart_s"]
    young, daly = goodput.young_interval_s(write, between), goodput.daly_interval_s(write, between)
    return {
        "tau_young_s": young,
        "tau_daly_s": daly,
        "slowdown_at_daly": goodput.checkpoint_slowdown_ratio(daly, write, restart, between),
        "slowdown_at_young": goodput.checkpoint_slowdown_ratio(young, write, restart, between),
    }


def spot(i):
    paid = commitment.spot_effective_money_per_hour(i["spot"], i["slowdown"])
    return {
        "p_eff": paid,
        "saving_pct": 100 * commitment.spot_saving_ratio(paid, i["on_demand"]),
        "breakeven_slowdown": commitment.break_even_slowdown_ratio(i["on_demand"], i["spot"]),
    }


def unprotected(i):
    expected = goodput.unprotected_run_s(i["work_s"], i["mtbi_s"], i["restart_s"])
    return {"expected_s": expected, "slowdown": expected / i["work_s"]}


def per_mtok(i):
    def cost(used):
        return unit.generated_money_per_mtok(i["usd_per_gpu_hour"], i["gpus"], i["tok_s"], used)

    return {"usd_per_mtok": cost(i["utilisation"]), "usd_per_mtok_full": cost(1.0)}


def per_accepted(i):
    attempts = unit.attempts_ratio(i["fail"], i["accept"], i["max_quality_tries"])
    coverage = unit.coverage_ratio(i["accept"], i["max_quality_tries"])
    cost = unit.accepted_money_per_output(i["cost_attempt"], attempts, coverage)
    return {"attempts": attempts, "p_accepted": coverage, "usd_per_accepted": cost}


def per_accepted_token(i):
    return {
        "usd_per_mtok_accepted": unit.accepted_money_per_mtok(
            i["usd_per_mtok_generated"], i["fail"], i["accept"]
        )
    }


def own_or_api(i):
    fixed = (
        ownership.straight_line_money_per_year(i["gpu_price"], i["salvage"], i["life_years"])
        + i["electricity_year"]
    )
    blended = api.blended_money_per_mtok(0.59, 0.79, i["in_out_ratio"])
    assert blended == pytest.approx(i["api_blended_usd_per_mtok"])
    volume = api.break_even_mtok_per_year(fixed, blended, 0.0)
    return {
        "annual_local": fixed,
        "breakeven_mtok_year": volume,
        "tok_per_s_equiv": api.break_even_tokens_per_s(volume),
    }


def residual(i):
    return {
        "exponential": ownership.exponential_residual_money(i["price"], i["annual_decay"], i["years"]),
        "straight_line": ownership.straight_line_residual_money(i["price"], i["years"], 5),
    }


def unused_commitment(i):
    return {
        "total_commit": commitment.commitment_money(i["p_res"], i["gpus"], i["term_months"]),
        "stranded": commitment.stranded_money(
            i["p_res"], i["gpus"], i["term_months"], i["used_months"], i["resale_fraction"]
        ),
    }


def run_with_goodput(i):
    hours = unit.occupied_hours(i["ideal_gpu_hours"], i["goodput"])
    useful = unit.run_compute_money(i["ideal_gpu_hours"], i["price"])
    lost = unit.run_failed_money(i["ideal_gpu_hours"], i["goodput"], 0.0, i["price"])
    return {"gpu_hours": hours, "usd": useful + lost + i["storage"] + i["staff"]}


def carbon_of_two_grids(i):
    return {f"{place}_kg": carbon.operational_kg(i["kwh"], i[place]) for place in ("spain", "virginia")}


def buy_or_rent(i):
    bought = ownership.net_present_value(i["cash_buy"], i["wacc"])
    rented = ownership.net_present_value([0, *[-i["rent_year"]] * 3], i["wacc"])
    return {"npv_buy": bought, "npv_rent": rented, "buy_better": bought > rented}


def spare_nodes(i):
    return {"n": against.nodes_for_availability(i["nodes_needed"], i["node_availability"], i["target"])}


def hourly(kinds, demand):
    """A mix over hours of a demand; rates are in millions of tokens an hour on both sides."""
    levels = tuple(Level(need, need, 1.0, 1.0) for need in demand)
    return Problem(tuple(kinds), (Future("one", 1.0, (levels,), (1.0,)),), (1.0,))


def three_hours(i):
    paid = {"money_per_month": i["reserved_usd_h"], "term_months": inf}
    reserved = Kind("reserve", "reserve", "reserved", i["reserved_mtok_h"], **paid)
    rented = Kind("rent", "rent", "on-demand", i["od_mtok_h_per_unit"], money_per_hour=i["od_usd_h"])
    api = Kind("api", "api", "api", inf, request_money=(i["api_usd_mtok"] / 3600,))
    found = [solve(hourly([reserved, rented, api], [mtok]), {"reserve": (1,)}) for mtok in i["demand_mtok_h"]]
    return {f"h{hour}": plan.money_per_month for hour, plan in enumerate(found, 1)}


def mix(i):
    kinds = [Kind(name, name, "on-demand", rate, money_per_hour=price) for name, price, rate in i["kinds"]]
    found = solve(hourly(kinds, [i["need_mtok_h"]]), gap_ratio=0.0)
    counts = found.lots[0][0][0]
    return {"usd_h": found.money_per_month} | {
        kind.name: count for kind, count in zip(kinds, counts, strict=True)
    }


def tries_do_not_matter(i):
    def cost(tries):
        attempts = unit.attempts_ratio(0.0, i["accept"], tries)
        return unit.accepted_money_per_output(i["cost"], attempts, unit.coverage_ratio(i["accept"], tries))

    return {f"k{tries}": cost(tries) for tries in (1, 2, 5)}


def quote(i):
    def hourly(tax):
        amount = currency.convert(Decimal(i["eur_month"]), currency.Rate("EUR", "EUR", 1.0, "", ""))
        return currency.quoted_money_per_hour(amount, i["usd_per_eur"], i["gpus"], tax)

    return {"net": hourly(0.0), "gross": hourly(i["vat"])}


BY_EXAMPLE = {
    "E01": power_bill, "E02": power_bill_with_building, "E03": mean_power, "E04": capital, "E05": owned_node,
    "E06": lambda i: {"u_star": ownership.break_even_utilisation_ratio(i["annual_total"], i["gpus"], i["rent"])},
    "E07": lambda i: {"u_star": commitment.reserve_threshold_ratio(i["reserved"], i["on_demand"])},
    "E08": reserve_some, "E09": checkpoints, "E10": spot, "E11": unprotected, "E12": per_mtok, "E13": per_accepted,
    "E14": per_accepted_token, "E15": own_or_api, "E16": residual, "E17": unused_commitment, "E18": run_with_goodput,
    "E19": carbon_of_two_grids, "E20": buy_or_rent, "E21": spare_nodes, "E22": three_hours, "E23": mix,
    "E24": tries_do_not_matter, "E25": quote,
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_example(name):
    example = EXAMPLES[name]
    worked_out = BY_EXAMPLE[name](example["inputs"])
    assert worked_out.keys() == example["outputs"].keys()
    for key, expected in example["outputs"].items():
        assert worked_out[key] == pytest.approx(expected, rel=1e-6, abs=1e-6), key


def test_all_25_are_here():
    assert len(EXAMPLES) == 25
    assert BY_EXAMPLE.keys() == EXAMPLES.keys()


def test_a_year_of_400_watts_against_an_api():
    paid = power_bill(EXAMPLES["E01"]["inputs"])["usd"]
    assert paid == pytest.approx(525.60)
    assert api.bought_mtok(paid, 0.64) == pytest.approx(821.25)
