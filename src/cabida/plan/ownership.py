"""What owning an option takes: the purchase, what it costs a year in two views, and where it beats renting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rent:
    """A price by the hour that owning is held against. ``None`` = it never happens within the years held.

    Attributes:
        kind: cheapest | median | stated: the cheapest comparable one, the middle of the book, or the user's own.
        money_per_hour: of one accelerator.
        break_even_utilisation_ratio: use above which owning is cheaper; above 1 renting wins, 0 = at any use. Use is
            hours on, as the rented one would be, over all hours.
        break_even_month: first month by which owning has cost less, what the hardware would then bring taken off.
        payback_months: until what renting would have cost has paid for the purchase, resale left out.
        npv_money: value today of the rent at the option's use, over the years held.
        flips_at_money_per_hour: the rent at which buying and renting cost the same at the option's use.
        sightings_count: how many comparable rents it is the cheapest or the middle of.
        around_money_per_year: what renting takes beyond the hours on and owning doesn't: gateway, watching, people,
            spares on all month; negative where owning takes more. 0 where the machine-hour alone is compared.
    """

    kind: str
    provider: str
    seen: str
    flags: tuple[str, ...]
    money_per_hour: float
    break_even_utilisation_ratio: float
    break_even_month: float | None
    payback_months: float | None
    npv_money: float
    flips_at_money_per_hour: float
    sightings_count: int = 1
    around_money_per_year: float = 0.0


@dataclass(frozen=True, slots=True)
class Renewal:
    """Selling and buying anew every ``years``: what a year of up-to-date work then costs."""

    years: float
    money_per_year: float


@dataclass(frozen=True, slots=True)
class Ownership:
    """A purchase over the years it is held, in the reporting currency. Sums of lines are the totals, to the cent.

    Attributes:
        accelerators_count: bought, spare machines included.
        spare_accelerators_count: of those, held for what breaks.
        delivered_accelerators_count: what is up on average of those that are needed.
        years: held, then resold.
        utilisation_ratio: share of the delivered hours that it is on, as a rented one would be.
        capital_lines: paid on day one: accelerators, server, network, storage, install, duty, tax.
        running_lines: a year of energy, cooling, colocation, staff, support, parts, licences, insurance.
        annuity_money_per_year: capital with its interest, resale taken off.
        straight_line_money_per_year: the accounts' view, without interest.
        financing_money_per_year: their difference.
        tax_money_per_year: what income tax adds to (or takes off) the yearly cost before tax; 0 without one.
        owned_money_per_year: all of it: annuity, tax, running.
        residual_low_money, residual_money, residual_high_money: what the accelerators bring at the end.
        available_money_per_hour: of one accelerator-hour that is up.
        useful_money_per_hour: of one that it is on.
        npv_money: value today of owning, negative, over the years held.
        rents: what it is held against; empty where the book has no comparable rent.
        renewals: by years between renewals; ``renewal_years`` is the cheapest.
    """

    accelerators_count: int
    spare_accelerators_count: int
    delivered_accelerators_count: float
    years: float
    utilisation_ratio: float
    capital_lines: dict[str, float]
    capital_money: float
    running_lines: dict[str, float]
    running_money_per_year: float
    annuity_money_per_year: float
    straight_line_money_per_year: float
    financing_money_per_year: float
    tax_money_per_year: float
    owned_money_per_year: float
    residual_low_money: float
    residual_money: float
    residual_high_money: float
    residual_source: str
    available_money_per_hour: float
    useful_money_per_hour: float
    npv_money: float
    rents: tuple[Rent, ...] = ()
    renewals: tuple[Renewal, ...] = ()
    renewal_years: float = 0.0
