"""What an offer's accelerator-hour costs: as listed, and all-in for an hour of useful work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite

from cabida import money
from cabida.errors import InvalidInput
from cabida.evidence.quotes.quote import Amount
from cabida.money.own.ownership import capital_recovery_ratio_per_year
from cabida.money.terms import Terms
from cabida.procure import extras, sums
from cabida.procure.extras import Making
from cabida.procure.nouns import Line, Price
from cabida.procure.subject import PURCHASES, Subject, title_of
from cabida.quantity import Quantity, Source, assumed, leaf
from cabida.text import tr
from cabida.units import HOURS_PER_MONTH, HOURS_PER_YEAR

MOST_IN_A_MACHINE = 8  # accelerators that links join outside of racks
NEEDS = (  # what whoever asks may know better than an assumption
    "utilisation_ratio", "stored_gb", "egress_gb_per_month", "staff_count", "loaded_money_per_year", "migration_days",
    "wacc_ratio", "unrecovered_tax_ratio", "life_years", "electricity_money_per_kwh", "pue_ratio",
)  # fmt: skip


@dataclass
class Reckoned:
    """The price and the quantities it was made of, for trees."""

    price: Price
    terms: Terms | None = None
    listed: Quantity | None = None
    month: Quantity | None = None  # the accelerators' bill
    all_in: Quantity | None = None
    useful: Quantity | None = None
    upfront: Quantity | None = None
    setup: Quantity | None = None
    roots: dict[str, Quantity] = field(default_factory=dict)


def reckoned(s: Subject, currency: str = "", needs: Mapping[str, float] | None = None) -> Reckoned:
    """An offer's price in ``currency`` (its own when empty), on the day of the audit.

    Args:
        s: the offer.
        currency: of the answer, three letters.
        needs: what is known of the need, by names of ``NEEDS``: shares, GB, people, money.

    A currency without a dated rate is told in the price instead of raised: the rest of an audit needs none.
    """
    try:
        found = _reckoned(s, currency, needs)
    except InvalidInput as error:
        return Reckoned(_nothing(s, currency or s.currency, "; ".join(one.what for one in error.problems)))
    except (ArithmeticError, ValueError):  # an uptime of nothing, a term of a billionth of a month
        return Reckoned(_nothing(s, currency or s.currency, tr("procure.why_not.beyond")))
    figures = [one for one in asdict(found.price).values() if isinstance(one, float)]
    figures += [one for line in found.price.lines for one in asdict(line).values() if isinstance(one, float)]
    if all(map(isfinite, figures)):
        return found
    return Reckoned(_nothing(s, currency or s.currency, tr("procure.why_not.beyond")))


def _reckoned(s: Subject, currency: str, needs: Mapping[str, float] | None) -> Reckoned:
    own = s.currency
    wanted = currency or own
    if s.purpose == "api":
        return Reckoned(_nothing(s, wanted, tr("procure.why_not.api")))
    if not own:
        return Reckoned(_nothing(s, wanted, tr("procure.why_not.currency")))
    terms = money.terms(wanted, as_of=s.as_of, country=(s.quote.country or "")[:2])
    make = Making(s, terms, dict(needs or {}))
    basis = _basis(s)
    if basis is None:
        return Reckoned(_nothing(s, wanted, tr("procure.why_not.price")))
    listed = _listed(make, *basis)
    count = s.accelerators_count
    rate = terms.rate(own).sentence() if own != wanted else ""
    if not count:
        price = Price(
            wanted,
            None,
            float(listed),
            None,
            None,
            None,
            (),
            None,
            None,
            (),
            rate,
            tr("procure.why_not.count"),
        )
        return Reckoned(price, terms, listed, roots={"listed_money_per_hour": listed})
    return _all_in(make, listed, count, wanted, rate)


def _nothing(s: Subject, currency: str, why: str) -> Price:
    return Price(currency, s.accelerators_count, None, None, None, None, (), None, None, (), "", why)


def _basis(s: Subject) -> tuple[str, Amount, float, str, float] | None:
    """Field, amount, hours it pays for and the field of those ("" = by its unit), accelerators; buying: 0 hours."""
    q = s.quote
    n, each = s.accelerators_count, s.per_node_count
    if q.unit_price is not None and q.unit:
        kind, _, period = q.unit.rpartition("_") if "_" in q.unit else (q.unit, "", "")
        if q.unit == "total":
            return _over_term(s, "unit_price", q.unit_price)
        per = {"gpu": 1, "node": each or 0, "system": _shared(s), "rack": _shared(s) or _linked(s)}[kind]
        if not per:
            return None
        hours = {
            "hour": 1.0,
            "month": q.month_hours or float(HOURS_PER_MONTH),
            "year": float(HOURS_PER_YEAR),
            "": 0.0,
        }
        return (
            "unit_price",
            q.unit_price,
            hours[period],
            "month_hours" if period == "month" else "",
            float(per),
        )
    if q.monthly_price is not None and n:
        return (
            "monthly_price",
            q.monthly_price,
            q.month_hours or float(HOURS_PER_MONTH),
            "month_hours",
            float(n),
        )
    for name in ("total_price", "total_commit"):
        value = s.get(name)
        if value is not None and n:
            if s.purpose in ("buy",) or q.unit in PURCHASES:
                return name, value, 0.0, "", float(n)
            return _over_term(s, name, value)
    return None


def _shared(s: Subject) -> float:
    """Accelerators in one unit of the price: all of them over how many units are offered; 0 = not said."""
    return (s.accelerators_count or 0) / (s.quote.quantity or 1)


def _linked(s: Subject) -> int:
    """Accelerators of the rack that a part comes in, where its links fill one; 0 = it comes in no such rack."""
    count = s.card.link_domain_count if s.card else 0
    return count if count > MOST_IN_A_MACHINE else 0


def _over_term(s: Subject, name: str, value: Amount) -> tuple[str, Amount, float, str, float] | None:
    if not s.term_months or not s.accelerators_count:
        return None
    return name, value, s.term_months * float(HOURS_PER_MONTH), "term_months", float(s.accelerators_count)


def _listed(make: Making, name: str, value: Amount, hours: float, hours_field: str, per: float) -> Quantity:
    quoted = make.read(name, "quoted_money", float(value.value))
    ratio = leaf(
        "exchange_ratio",
        make.rate(value),
        Source(make.terms.rate(value.currency or make.s.currency).what or "-"),
    )
    tax = leaf("tax_ratio", make.tax_ratio, Source(title_of("tax_treatment")))
    count = make.read("accelerators_per_node_count", "accelerators_count", per)
    if hours:
        known = bool(hours_field) and make.s.get(hours_field) is not None
        spent = (
            make.read(hours_field, "quoted_hours", hours)
            if known or not hours_field
            else assumed("quoted_hours", hours, tr("procure.month_taken"), 720.0, 744.0)
        )
        made: Quantity = sums.listed_money_per_hour(quoted, ratio, tax, spent, count)
        return made
    paid = leaf(
        "purchase_money",
        float(value.value) * ratio.value / (1 + make.tax_ratio) / per,
        quoted.source or Source("-"),
    )
    recovery = capital_recovery_ratio_per_year(make.money("wacc_ratio"), make.money("life_years"))
    bought: Quantity = sums.bought_money_per_hour(
        paid, recovery, leaf("hours_per_year", float(HOURS_PER_YEAR), Source("8,760"))
    )
    return bought


def _all_in(make: Making, listed: Quantity, count: int, currency: str, rate: str) -> Reckoned:
    s, q = make.s, make.s.quote
    n = make.read("accelerators_count", "accelerators_count", float(count))
    hour = listed.named("listed_money_per_hour") if listed.name != "listed_money_per_hour" else listed
    month = sums.compute_money_per_month(hour, n, leaf("billed_ratio", 1.0, Source(tr("procure.all_hours"))))
    term_value = s.term_months or (float(make.terms.base("life_years") * 12) if s.purpose == "buy" else 12.0)
    term = (
        make.read("term_months" if q.term_months else "minimum_term_months", "term_months", term_value)
        if s.term_months
        else assumed("term_months", term_value, tr("procure.term_taken"))
    )
    owned = s.purpose == "buy"
    made = {
        "storage": extras.storage(make, count, owned=owned),
        "egress": extras.egress(make, count, owned=owned),
        "support": extras.support(make, month),
        "setup": extras.setup(make, month, term),
        "prepaid": extras.prepaid(make, month, term, owned=owned),
        "migration": extras.migration(make, term),
        "platform": extras.platform(make, owned=owned),
        "licence": extras.licence(make, n),
        "power": extras.power(make, count, owned=owned),
        "tax": extras.tax(make, month),
    }
    parts = {"compute": (month, True)} | made
    all_in = sums.all_in_money_per_month(**{f"{key}_money_per_month": one for key, (one, _) in parts.items()})
    hours = sums.useful_hours_per_month(
        n, extras.availability(make), extras.goodput(make), make.own("utilisation_ratio")
    )
    useful: Quantity = sums.all_in_money_per_hour(all_in, hours)
    low, high = useful.interval
    lines = tuple(
        Line(key, float(one), max(0.0, one.interval[0]), one.interval[1], known)
        for key, (one, known) in parts.items()
    )
    unknown = [line.key for line in lines if not line.known]
    unknown += ["utilisation"] if "utilisation_ratio" not in make.needs else []
    unknown += [name for name in ("uptime", "goodput") if s.get(f"{name}_ratio") is None]
    price = Price(currency, count, float(listed), float(useful), max(0.0, low), high, lines, float(all_in),
                  float(make.own("utilisation_ratio")), tuple(unknown), rate)  # fmt: skip
    roots = {
        "listed_money_per_hour": listed,
        "all_in_money_per_month": all_in,
        "all_in_money_per_hour": useful,
    }
    return Reckoned(price, make.terms, listed, month, all_in, useful, roots=roots)
