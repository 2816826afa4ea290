"""From a purchase and the rents beside it to the noun a decision and ``cabida own`` show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median

from cabida.money.own import against, ownership
from cabida.money.own.purchase import CAPITAL, RUNNING, Purchase, worked_out
from cabida.money.prices.tenure import Tenure, is_market
from cabida.money.terms import Terms
from cabida.money.ways import Plain
from cabida.plan.ownership import Ownership, Renewal, Rent
from cabida.units import HOURS_PER_YEAR, MONTHS_PER_YEAR

MOST_RENEWAL_YEARS = 8
TINY = 1e-12  # a use of nothing, by which a year is still divided


@dataclass(frozen=True, slots=True)
class RentSeen:
    """A rent by the hour of one accelerator, and where it was seen."""

    kind: str  # cheapest | median | stated
    money_per_hour: float
    provider: str = ""
    seen: str = ""
    flags: tuple[str, ...] = ()
    sightings_count: int = 1
    around_money_per_year: float = (
        0.0  # what a rented one takes beyond its hours on, and an owned one doesn't
    )


def rents_seen(
    tenures: Iterable[Tenure], *, at_desk: bool, stated_money: float | None = None
) -> list[RentSeen]:
    """The rents that owning is held against: one's own, the cheapest comparable one, and the middle of those.

    ``tenures`` are ways to rent by the hour. For what stands in a data centre, prices of single unverified hosts
    are no comparison; for a PC they are.
    """
    found = [RentSeen("stated", stated_money)] if stated_money is not None else []
    alike = [one for one in tenures if one.capacity == "on-demand" and (at_desk or not is_market(one.offer))]
    if not alike:
        return found
    dated = [one for one in alike if "undated" not in one.flags] or alike
    first = min(dated, key=lambda one: (one.money_per_hour, one.id))
    count, whom = len(alike), first.offer
    middle, latest = median(one.money_per_hour for one in alike), max(one.offer.seen for one in alike)
    found.append(RentSeen("cheapest", first.money_per_hour, whom.provider, whom.seen, first.flags, count))
    return [*found, RentSeen("median", middle, "", latest, (), count)] if count > 1 else found


def ownership_of(bought: Purchase, terms: Terms, rents: Sequence[RentSeen]) -> Ownership:
    """The purchase worked out in floats, held against each rent, with the range of its resale and its renewals."""
    found = worked_out(Plain(terms), bought)
    renewals = renewals_of(bought, terms)
    low, high = _resale_range(bought, terms, found["capital.accelerators"])
    return Ownership(
        accelerators_count=bought.held_count,
        spare_accelerators_count=bought.held_count - bought.needed_count,
        delivered_accelerators_count=found["delivered"],
        years=terms.base("life_years"),
        utilisation_ratio=bought.utilisation_ratio,
        capital_lines={key: found[f"capital.{key}"] for key in CAPITAL if found[f"capital.{key}"]},
        capital_money=found["capital"],
        running_lines={key: found[f"running.{key}"] for key in RUNNING if found[f"running.{key}"]},
        running_money_per_year=found["running"],
        annuity_money_per_year=found["annuity"],
        straight_line_money_per_year=found["straight_line"],
        financing_money_per_year=found["financing"],
        tax_money_per_year=found["tax"],
        owned_money_per_year=found["owned"],
        residual_low_money=low,
        residual_money=found["residual"],
        residual_high_money=high,
        residual_source=terms.ranges["decay_ratio"].source.what,
        available_money_per_hour=found["available"],
        useful_money_per_hour=found["useful"],
        npv_money=found["npv"],
        rents=tuple(rent_of(one, found, terms, bought) for one in rents),
        renewals=renewals,
        renewal_years=min(renewals, key=lambda one: one.money_per_year).years,
    )


def rent_of(one: RentSeen, found: dict[str, float], terms: Terms, bought: Purchase) -> Rent:
    """Owning against one rent; ``found`` is the purchase worked out in floats."""
    yearly = against.rented_money_per_year.raw(
        one.money_per_hour, found["delivered"], bought.utilisation_ratio
    )
    around = one.around_money_per_year
    hours = found["delivered"] * bought.utilisation_ratio * float(HOURS_PER_YEAR)
    yearly += around
    earns = yearly > found["running"]
    return Rent(
        kind=one.kind,
        provider=one.provider,
        seen=one.seen,
        flags=one.flags,
        money_per_hour=one.money_per_hour,
        break_even_utilisation_ratio=break_even_use(bought, terms, one.money_per_hour, around),
        break_even_month=break_even_month(found, terms, yearly),
        payback_months=against.payback_months.raw(found["capital"], yearly, found["running"])
        if earns
        else None,
        npv_money=against.rented_npv_money.raw(yearly, found["recovery"], terms.base("tax_ratio")),
        flips_at_money_per_hour=max(0.0, found["useful"] - around / hours) if around else found["useful"],
        sightings_count=one.sightings_count,
        around_money_per_year=around,
    )


def break_even_use(
    bought: Purchase, terms: Terms, rent_money_per_hour: float, around_money_per_year: float = 0.0
) -> float:
    """Use of the delivered hours above which owning is cheaper; infinite where no use makes it so, 0 where any does.

    ``around_money_per_year`` is what renting takes whatever the use, and owning doesn't.
    """
    idle, busy = (worked_out(Plain(terms), replace(bought, utilisation_ratio=use)) for use in (TINY, 1.0))
    more = rent_money_per_hour * idle["delivered"] * float(HOURS_PER_YEAR) - (busy["owned"] - idle["owned"])
    if around_money_per_year >= idle["owned"]:
        return 0.0
    if more <= 0:
        return inf
    paid = (one["owned"] - around_money_per_year for one in (idle, busy))
    return float(against.break_even_use_ratio.raw(*paid, idle["delivered"], rent_money_per_hour))


def break_even_month(found: dict[str, float], terms: Terms, rented_money_per_year: float) -> float | None:
    """The first month by which owning, sold then, has cost no more than renting; ``None`` within the years held."""
    last = int(terms.base("life_years") * float(MONTHS_PER_YEAR) + 1e-9)
    for month in range(1, last + 1):
        resale = ownership.exponential_residual_money.raw(
            found["capital.accelerators"], terms.base("decay_ratio"), month / float(MONTHS_PER_YEAR)
        )
        owned = against.cumulative_owned_money.raw(found["capital"], found["running"], resale, month)
        if owned <= against.cumulative_rented_money.raw(rented_money_per_year, month):
            return float(month)
    return None


def renewals_of(bought: Purchase, terms: Terms) -> tuple[Renewal, ...]:
    """Selling and buying anew every 1 to 8 years: what a year of up-to-date work costs."""
    made = []
    wacc, progress = terms.base("wacc_ratio"), terms.base("progress_ratio")
    fading = against.fading_ratio.raw(wacc, progress)
    for years in range(1, MOST_RENEWAL_YEARS + 1):
        found = worked_out(Plain(terms), bought, float(years))
        fades = ownership.capital_recovery_ratio_per_year.raw(fading, float(years))
        figures = (found[key] for key in ("capital", "present_residual", "running", "recovery"))
        made.append(Renewal(float(years), against.renewed_money_per_year.raw(*figures, fades)))
    return tuple(made)


def _resale_range(bought: Purchase, terms: Terms, price_money: float) -> tuple[float, float]:
    """What the accelerators bring at the end, if their price falls fast and if it falls slowly."""
    decay, life = terms.ranges["decay_ratio"], terms.base("life_years")
    low, high = (
        float(ownership.exponential_residual_money.raw(price_money, fall, life))
        for fall in (decay.high, decay.low)
    )
    return low, high


def with_value(terms: Terms, name: str, value: float) -> Terms:
    """The same terms with another value of one assumption."""
    return replace(terms, ranges={**terms.ranges, name: replace(terms.ranges[name], base=value)})
