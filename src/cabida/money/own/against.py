"""Owning against renting: a year of it, its value today, the use and the month where one overtakes the other."""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log, log1p

from cabida.quantity import formula
from cabida.units import HOURS_PER_YEAR, MONTHS_PER_YEAR


@formula
def tax_money_per_year(
    annual_capital_money_per_year: float, straight_line_money_per_year: float, tax_ratio: float
) -> float:
    """What income tax adds to a year of owning, before tax: interest on one's own money is no expense.

    Rent, running cost and depreciation are; depreciation is straight line to the resale value. With a rate t
    the after-tax cost is A - t D + (1-t) running; over 1-t, so that it stands beside a rent before tax.
    """
    return (annual_capital_money_per_year - straight_line_money_per_year) * tax_ratio / (1 - tax_ratio)


@formula
def owned_money_per_year(
    annual_capital_money_per_year: float, tax_money_per_year: float, running_money_per_year: float
) -> float:
    """A year of owning: capital with its interest, tax, and what is paid as one goes."""
    return annual_capital_money_per_year + tax_money_per_year + running_money_per_year


@formula
def accounts_money_per_year(straight_line_money_per_year: float, running_money_per_year: float) -> float:
    """The same year as the accounts show it: straight line, no interest."""
    return straight_line_money_per_year + running_money_per_year


@formula
def owned_npv_money(
    owned_money_per_year: float, capital_recovery_ratio_per_year: float, tax_ratio: float
) -> float:
    """Value today of owning until it is resold, negative: purchase, running cost, tax and resale. E20."""
    return -owned_money_per_year * (1 - tax_ratio) / capital_recovery_ratio_per_year


@formula
def rented_money_per_year(
    rent_money_per_hour: float, accelerators_count: float, utilisation_ratio: float
) -> float:
    """A year of rent for the hours that do useful work."""
    return rent_money_per_hour * accelerators_count * utilisation_ratio * HOURS_PER_YEAR


@formula
def rented_npv_money(
    rented_money_per_year: float, capital_recovery_ratio_per_year: float, tax_ratio: float
) -> float:
    """Value today of renting for as long, negative; rent is an expense, so tax takes its share off. E20."""
    return -rented_money_per_year * (1 - tax_ratio) / capital_recovery_ratio_per_year


@formula
def break_even_use_ratio(
    idle_owned_money_per_year: float,
    busy_owned_money_per_year: float,
    accelerators_count: float,
    rent_money_per_hour: float,
) -> float:
    """Use above which owning beats renting by the hour, electricity rising with use: where the two lines cross.

    With colocation by reserved power a year costs the same idle and busy: worked example E06.
    """
    rented_money_per_year = rent_money_per_hour * accelerators_count * HOURS_PER_YEAR
    return idle_owned_money_per_year / (
        rented_money_per_year - (busy_owned_money_per_year - idle_owned_money_per_year)
    )


@formula
def payback_months(
    purchase_money: float, rented_money_per_year: float, running_money_per_year: float
) -> float:
    """Months until rent not paid has paid for the purchase; resale and interest left out."""
    return purchase_money / (rented_money_per_year - running_money_per_year) * MONTHS_PER_YEAR


@formula
def cumulative_owned_money(
    purchase_money: float, running_money_per_year: float, resale_money: float, held_months: float
) -> float:
    """What owning has cost by a month, were it sold then: cash, without interest."""
    return purchase_money + running_money_per_year * held_months / MONTHS_PER_YEAR - resale_money


@formula
def cumulative_rented_money(rented_money_per_year: float, held_months: float) -> float:
    """What renting has cost by a month."""
    return rented_money_per_year * held_months / MONTHS_PER_YEAR


@formula
def fading_ratio(wacc_ratio: float, progress_ratio: float) -> float:
    """Interest and progress together: a year of work later is worth less by both."""
    return (1 + wacc_ratio) * (1 + progress_ratio) - 1


@formula
def renewed_money_per_year(
    purchase_money: float,
    present_residual_money: float,
    running_money_per_year: float,
    capital_recovery_ratio_per_year: float,
    fading_recovery_ratio_per_year: float,
) -> float:
    """Equivalent annual cost of selling and buying anew every so many years, for a year of up-to-date work.

    All that is paid over one cycle, valued today, over the work of that cycle, valued today and against what new
    hardware does for the same money. Without progress it is the annuity and the running cost.
    """
    running_money = running_money_per_year / capital_recovery_ratio_per_year
    paid_money = purchase_money - present_residual_money + running_money
    return paid_money * fading_recovery_ratio_per_year


def nodes_for_availability(needed_count: int, availability_ratio: float, target_ratio: float) -> int:
    """Fewest machines so that at least ``needed_count`` are up with probability ``target_ratio``.

    Machines fail independently (binomial). Worked example E21: 64 needed at 0.98 each need 67.
    """
    if not 0 < availability_ratio <= 1 or not 0 <= target_ratio < 1:
        return needed_count
    enough_count, step_count = needed_count, 1
    while _up_ratio(needed_count, enough_count, availability_ratio) < target_ratio:
        enough_count, step_count = enough_count + step_count, step_count * 2
    short_count = max(needed_count - 1, enough_count - step_count)
    while enough_count - short_count > 1:
        middle = (short_count + enough_count) // 2
        if _up_ratio(needed_count, middle, availability_ratio) < target_ratio:
            short_count = middle
        else:
            enough_count = middle
    return enough_count


@cache
def delivered_count(needed_count: int, held_count: int, availability_ratio: float) -> float:
    """Of ``needed_count`` machines how many are up on average, ``held_count`` being there to stand in (binomial)."""
    return sum(
        min(up, needed_count) * _exactly_ratio(up, held_count, availability_ratio)
        for up in range(held_count + 1)
    )


def _up_ratio(needed_count: int, held_count: int, availability_ratio: float) -> float:
    return sum(
        _exactly_ratio(up, held_count, availability_ratio) for up in range(needed_count, held_count + 1)
    )


def _exactly_ratio(up_count: int, held_count: int, availability_ratio: float) -> float:
    if not 0 < availability_ratio < 1:
        return float(up_count == (held_count if availability_ratio >= 1 else 0))
    down_count = held_count - up_count
    ways_log = lgamma(held_count + 1) - lgamma(up_count + 1) - lgamma(down_count + 1)
    return exp(ways_log + up_count * log(availability_ratio) + down_count * log1p(-availability_ratio))
