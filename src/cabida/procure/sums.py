"""What an offer comes to, as formulas: an hour as listed, a useful hour with all that comes with it, the worst case.

Amounts are in the currency of the answer; a month has 730 hours, a year 8,760, whatever the seller counts.
"""

from __future__ import annotations

from typing import Any

from cabida.quantity import formula, most, total
from cabida.units import HOURS_PER_MONTH, MONTHS_PER_YEAR


@formula
def listed_money_per_hour(
    quoted_money: float,
    exchange_ratio: float,
    tax_ratio: float,
    quoted_hours: float,
    accelerators_count: float,
) -> float:
    """An accelerator-hour as listed: the quoted amount without tax over the hours and accelerators it pays for.

    Args:
        quoted_money: as quoted, in the seller's currency.
        exchange_ratio: of the seller's currency to the one of the answer.
        tax_ratio: tax inside the amount, over the amount without it; 0 where the price is before tax.
        quoted_hours: one hour, or the hours of the seller's month or year.
        accelerators_count: accelerators in what one unit of the price buys.
    """
    return quoted_money * exchange_ratio / (1 + tax_ratio) / (quoted_hours * accelerators_count)


@formula
def bought_money_per_hour(
    purchase_money: float, capital_recovery_ratio_per_year: float, hours_per_year: float
) -> float:
    """What buying one accelerator costs an hour of the year: its annuity without resale over the hours."""
    return purchase_money * capital_recovery_ratio_per_year / hours_per_year


@formula
def compute_money_per_month(
    listed_money_per_hour: float, accelerators_count: float, billed_ratio: float
) -> float:
    """The accelerators for a month: every hour that is billed, used or not."""
    return listed_money_per_hour * accelerators_count * billed_ratio * HOURS_PER_MONTH


@formula
def offered_storage_money_per_month(
    stored_gb: float, storage_money_per_gb_per_month: float, usable_ratio: float
) -> float:
    """Storage for a month; what must stay empty for the file system to stay fast is paid for too."""
    return stored_gb / usable_ratio * storage_money_per_gb_per_month


@formula
def offered_egress_money_per_month(
    egress_gb_per_month: float, free_egress_gb_per_month: float, egress_money_per_gb: float
) -> Any:
    """Data that leaves the seller, beyond what is free."""
    billed_gb_per_month = most(egress_gb_per_month - free_egress_gb_per_month, 0.0)
    return billed_gb_per_month * egress_money_per_gb


@formula
def offered_support_money_per_month(
    compute_money_per_month: float, support_ratio: float, support_fixed_money_per_month: float
) -> float:
    """Support: a share of the accelerators' bill, a fixed sum, or both."""
    return compute_money_per_month * support_ratio + support_fixed_money_per_month


@formula
def setup_money_per_month(setup_money: float, term_months: float) -> float:
    """What is paid once to begin, over the months of the term."""
    return setup_money / term_months


@formula
def prepaid_money_per_month(upfront_money: float, wacc_ratio_per_year: float) -> float:
    """Cost of having paid ahead: half of it is out on average, at the cost of capital."""
    return upfront_money / 2 * wacc_ratio_per_year / MONTHS_PER_YEAR


@formula
def migration_money_per_month(
    migration_days: float, labour_money_per_day: float, term_months: float
) -> float:
    """Moving in, in working days of people, over the months of the term."""
    return migration_days * labour_money_per_day / term_months


@formula
def platform_money_per_month(staff_count: float, loaded_money_per_year: float) -> float:
    """People who keep the platform running."""
    return staff_count * loaded_money_per_year / MONTHS_PER_YEAR


@formula
def licence_money_per_month(
    licence_money_per_year: float, accelerators_count: float, licences_count_per_accelerator: float
) -> float:
    """Software licences of all accelerators."""
    return licence_money_per_year * accelerators_count * licences_count_per_accelerator / MONTHS_PER_YEAR


@formula
def powered_money_per_month(
    machines_kw: float, busy_power_ratio: float, pue_ratio: float, electricity_money_per_kwh: float
) -> float:
    """Electricity and cooling of machines that stand on one's own floor."""
    return machines_kw * busy_power_ratio * pue_ratio * HOURS_PER_MONTH * electricity_money_per_kwh


@formula
def unrecovered_tax_money_per_month(compute_money_per_month: float, unrecovered_tax_ratio: float) -> float:
    """Tax on the accelerators' bill that nobody gives back. Worked example E25."""
    return compute_money_per_month * unrecovered_tax_ratio


@formula
def credited_money_per_month(compute_money_per_month: float, credit_ratio: float) -> float:
    """What the seller credits in a month at a stated availability, of that month's bill."""
    return compute_money_per_month * credit_ratio


@formula
def useful_hours_per_month(
    accelerators_count: float, availability_ratio: float, goodput_ratio: float, utilisation_ratio: float
) -> float:
    """Accelerator-hours a month that do useful work: up, not lost to setup and restarts, and with work to do."""
    return accelerators_count * availability_ratio * goodput_ratio * utilisation_ratio * HOURS_PER_MONTH


@formula
def all_in_money_per_month(
    compute_money_per_month: float,
    storage_money_per_month: float,
    egress_money_per_month: float,
    support_money_per_month: float,
    setup_money_per_month: float,
    prepaid_money_per_month: float,
    migration_money_per_month: float,
    platform_money_per_month: float,
    licence_money_per_month: float,
    power_money_per_month: float,
    tax_money_per_month: float,
) -> Any:
    """All that a month costs, whoever is paid."""
    return total(
        compute_money_per_month,
        storage_money_per_month,
        egress_money_per_month,
        support_money_per_month,
        setup_money_per_month,
        prepaid_money_per_month,
        migration_money_per_month,
        platform_money_per_month,
        licence_money_per_month,
        power_money_per_month,
        tax_money_per_month,
    )


@formula
def all_in_money_per_hour(all_in_money_per_month: float, useful_hours_per_month: float) -> float:
    """All that a month costs, over the accelerator-hours of it that do useful work."""
    return all_in_money_per_month / useful_hours_per_month


@formula
def down_hours_per_month(availability_ratio: float) -> float:
    """Hours a month that a promise of availability leaves down."""
    return (1 - availability_ratio) * HOURS_PER_MONTH


@formula
def lost_money_per_month(
    down_hours_per_month: float, listed_money_per_hour: float, accelerators_count: float
) -> float:
    """What the hours that are down are billed at."""
    return down_hours_per_month * listed_money_per_hour * accelerators_count


@formula
def committed_money(compute_money_per_month: float, term_months: float) -> float:
    """What is owed for the accelerators over the whole term, whatever happens."""
    return compute_money_per_month * term_months


@formula
def raised_money(committed_money: float, price_rise_ratio: float) -> float:
    """What a clause of price adjustment may add to the commitment, at its bound."""
    return committed_money * price_rise_ratio


@formula
def renewed_money(compute_money_per_month: float, renewal_months: float) -> float:
    """What an automatic renewal nobody stopped in time commits to again."""
    return compute_money_per_month * renewal_months


@formula
def left_early_money(left_money: float, early_exit_ratio: float) -> float:
    """What leaving costs of what is still owed."""
    return left_money * early_exit_ratio


@formula
def worst_case_money(
    committed_money: float, setup_money: float, exit_money: float, renewed_money: float, overage_money: float,
    raised_money: float,
) -> Any:  # fmt: skip
    """All that can be owed under the contract when nothing goes as planned."""
    return total(committed_money, setup_money, exit_money, renewed_money, overage_money, raised_money)
