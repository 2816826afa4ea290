"""What an offer's accelerator-hour costs: as listed, and all-in for an hour of useful work, with what nobody confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cabida import money
from cabida.errors import InvalidInput
from cabida.evidence.quotes.quote import Amount
from cabida.money.own.ownership import capital_recovery_ratio_per_year
from cabida.money.terms import Terms
from cabida.procure import sums
from cabida.procure.known import data, is_included, ranges
from cabida.procure.nouns import Line, Price
from cabida.procure.subject import PURCHASES, Subject, title_of
from cabida.quantity import Quantity, Source, assumed, leaf
from cabida.text import tr
from cabida.units import HOURS_PER_MONTH, HOURS_PER_YEAR

RACK_COUNT = 72  # accelerators of a rack of the linked kind, where the part says none
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


class Making:
    """Leaves of one offer's price, each with where it was read; what is assumed keeps its range."""

    def __init__(self, s: Subject, terms: Terms, needs: Mapping[str, float]) -> None:
        self.s, self.terms, self.needs = s, terms, needs

    def read(self, field_name: str, name: str, value: float) -> Quantity:
        """A figure of the offer."""
        seen = self.s.quote.where(field_name)
        place = seen.place if seen else self.s.quote.file
        what = f"{title_of(field_name)}, {place}" if place else title_of(field_name)
        return leaf(name, value, Source(what, "", self.s.quote.issued or "", "quoted"))

    def sum(self, field_name: str, value: Amount, name: str) -> Quantity:
        """An amount of the offer in the currency of the answer, without tax."""
        ratio = self.rate(value) / (1 + self.tax_ratio)
        return self.read(field_name, name, float(value.value) * ratio)

    def rate(self, value: Amount) -> float:
        """From an amount's currency to the one of the answer."""
        return self.terms.rate((value.currency or self.s.quote.currency or "").upper()).ratio

    @property
    def tax_ratio(self) -> float:
        """Tax inside the amounts."""
        return (self.s.quote.tax_ratio or 0.0) if self.s.quote.tax_treatment == "included" else 0.0

    def own(self, name: str, of: str = "") -> Quantity:
        """What whoever asks said, else the audit's own assumption."""
        if name in self.needs:
            return leaf(name, self.needs[name], Source(tr("procure.asked"), grade="quoted"))
        found = ranges()[of or name]
        return leaf(name, found.base, found.source, found.low, found.high)

    def money(self, name: str) -> Quantity:
        """A shipped assumption about money."""
        if name in self.needs:
            return leaf(name, self.needs[name], Source(tr("procure.asked"), grade="quoted"))
        return self.terms.leaf(name)

    def zero(self, name: str, why: str) -> Quantity:
        """Nothing, because the offer says so."""
        return leaf(name, 0.0, Source(why, "", self.s.quote.issued or "", "quoted"))


def reckoned(s: Subject, currency: str = "", needs: Mapping[str, float] | None = None) -> Reckoned:
    """An offer's price in ``currency`` (its own when empty), on the day of the audit.

    Args:
        s: the offer.
        currency: of the answer, three letters.
        needs: what is known of the need, by names of ``NEEDS``: shares, GB, people, money.

    Raises:
        InvalidInput: CB-F006, no dated rate leads from the offer's currency to the one asked for.
    """
    own = _currency(s)
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
        price = Price(wanted, None, float(listed), None, None, None, (), None, None, (), rate, tr("procure.why_not.count"))
        return Reckoned(price, terms, listed, roots={"listed_money_per_hour": listed})
    return _all_in(make, listed, count, wanted, rate)


def _currency(s: Subject) -> str:
    found = [s.quote.unit_price, s.quote.monthly_price, s.quote.total_price, s.quote.total_commit]
    named = next((one.currency for one in found if one is not None and one.currency), "")
    return (named or s.quote.currency or "").upper()


def _nothing(s: Subject, currency: str, why: str) -> Price:
    return Price(currency, s.accelerators_count, None, None, None, None, (), None, None, (), "", why)


def _basis(s: Subject) -> tuple[str, Amount, float, str, float] | None:
    """Field, amount, hours it pays for ("" field of the hours where assumed), accelerators it pays for; buying: 0 hours."""
    q = s.quote
    n, each = s.accelerators_count, s.per_node_count
    if q.unit_price is not None and q.unit:
        kind, _, period = q.unit.rpartition("_") if "_" in q.unit else (q.unit, "", "")
        if q.unit == "total":
            return _over_term(s, "unit_price", q.unit_price)
        per = {
            "gpu": 1, "node": each or 0, "system": n or 0,
            "rack": (s.card.link_domain_count if s.card and s.card.link_domain_count > 8 else RACK_COUNT),
        }[kind]  # fmt: skip
        if not per:
            return None
        hours = {"hour": 1.0, "month": q.month_hours or float(HOURS_PER_MONTH), "year": float(HOURS_PER_YEAR), "": 0.0}
        return "unit_price", q.unit_price, hours[period], "month_hours" if period == "month" else "", float(per)
    if q.monthly_price is not None and n:
        return "monthly_price", q.monthly_price, q.month_hours or float(HOURS_PER_MONTH), "month_hours", float(n)
    for name in ("total_price", "total_commit"):
        value = s.get(name)
        if value is not None and n:
            if s.purpose in ("buy",) or q.unit in PURCHASES:
                return name, value, 0.0, "", float(n)
            return _over_term(s, name, value)
    return None


def _over_term(s: Subject, name: str, value: Amount) -> tuple[str, Amount, float, str, float] | None:
    if not s.term_months or not s.accelerators_count:
        return None
    return name, value, s.term_months * float(HOURS_PER_MONTH), "term_months", float(s.accelerators_count)


def _listed(make: Making, name: str, value: Amount, hours: float, hours_field: str, per: float) -> Quantity:
    quoted = make.read(name, "quoted_money", float(value.value))
    ratio = leaf("exchange_ratio", make.rate(value), Source(make.terms.rate(value.currency or _currency(make.s)).what or "-"))
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
    paid = leaf("purchase_money", float(value.value) * ratio.value / (1 + make.tax_ratio) / per, quoted.source or Source("-"))
    recovery = capital_recovery_ratio_per_year(make.money("wacc_ratio"), make.money("life_years"))
    bought: Quantity = sums.bought_money_per_hour(paid, recovery, leaf("hours_per_year", float(HOURS_PER_YEAR), Source("8,760")))
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
        "storage": _storage(make, count, owned=owned), "egress": _egress(make, count, owned=owned),
        "support": _support(make, month), "setup": _setup(make, month, term),
        "prepaid": _prepaid(make, month, term, owned=owned), "migration": _migration(make, term),
        "platform": _platform(make, owned=owned), "licence": _licence(make, n), "power": _power(make, count, owned=owned), "tax": _tax(make, month),
    }  # fmt: skip
    parts = {"compute": (month, True)} | made
    all_in = sums.all_in_money_per_month(**{f"{key}_money_per_month": one for key, (one, _) in parts.items()})
    hours = sums.useful_hours_per_month(n, _availability(make), _goodput(make), make.own("utilisation_ratio"))
    useful: Quantity = sums.all_in_money_per_hour(all_in, hours)
    low, high = useful.interval
    lines = tuple(
        Line(key, float(one), max(0.0, one.interval[0]), one.interval[1], known) for key, (one, known) in parts.items()
    )
    unknown = [line.key for line in lines if not line.known]
    unknown += ["utilisation"] if "utilisation_ratio" not in make.needs else []
    unknown += [name for name in ("uptime", "goodput") if s.get(f"{name}_ratio") is None]
    price = Price(currency, count, float(listed), float(useful), max(0.0, low), high, lines, float(all_in),
                  float(make.own("utilisation_ratio")), tuple(unknown), rate)  # fmt: skip
    roots = {"listed_money_per_hour": listed, "all_in_money_per_month": all_in, "all_in_money_per_hour": useful}
    return Reckoned(price, make.terms, listed, month, all_in, useful, roots=roots)


def _storage(make: Making, count: int, *, owned: bool) -> tuple[Quantity, bool]:
    q = make.s.quote
    known = "stored_gb" in make.needs
    price = _priced(make, "storage_price_per_gb_month", "storage_money_per_gb_per_month")
    if price is None and owned and q.storage_usable_tb:
        price = make.zero("storage_money_per_gb_per_month", tr("procure.bought_along"))
    told = price is not None
    if "stored_gb" in make.needs:
        stored = make.own("stored_gb")
    else:
        each = ranges()["stored_gb_per_accelerator"]
        stored = assumed("stored_gb", each.base * count, each.source.what, each.low * count, each.high * count)
    price = price if price is not None else make.money("storage_money_per_gb_per_month")
    line = sums.offered_storage_money_per_month(stored, price, make.own("usable_ratio"))
    return line, told and (known or float(price) == 0)


def _egress(make: Making, count: int, *, owned: bool) -> tuple[Quantity, bool]:
    known = "egress_gb_per_month" in make.needs
    price = _priced(make, "egress_price_per_gb", "egress_money_per_gb")
    if price is None and owned:
        price = make.zero("egress_money_per_gb", tr("procure.own_line"))
    told = price is not None
    if known:
        sent = make.own("egress_gb_per_month")
    else:
        each = ranges()["egress_gb_per_accelerator_per_month"]
        sent = assumed("egress_gb_per_month", each.base * count, each.source.what, each.low * count, each.high * count)
    price = price if price is not None else make.money("egress_money_per_gb")
    free = leaf("free_egress_gb_per_month", 0.0, Source(title_of("egress_price_per_gb")))
    return sums.offered_egress_money_per_month(sent, free, price), told and (known or float(price) == 0)


def _priced(make: Making, field_name: str, name: str) -> Quantity | None:
    """A price of the offer, nothing where it is included, ``None`` where nobody says."""
    value = make.s.get(field_name)
    if value is not None:
        return make.sum(field_name, value, name)
    if is_included(make.s, field_name):
        return make.zero(name, tr("procure.included_said", title=title_of("includes")))
    return None


def _support(make: Making, month: Quantity) -> tuple[Quantity, bool]:
    none = leaf("support_ratio", 0.0, Source(title_of("support_fee_per_month")))
    fixed = _priced(make, "support_fee_per_month", "support_fixed_money_per_month")
    if fixed is None and make.s.quote.support_price_per_year is not None:
        yearly = make.s.quote.support_price_per_year
        fixed = make.read("support_price_per_year", "support_fixed_money_per_month",
                          float(yearly.value) * make.rate(yearly) / 12)  # fmt: skip
    if fixed is not None:
        return sums.offered_support_money_per_month(month, none, fixed), True
    nothing = leaf("support_fixed_money_per_month", 0.0, Source(title_of("support_fee_per_month")))
    return sums.offered_support_money_per_month(month, make.own("support_ratio"), nothing), False


def _setup(make: Making, month: Quantity, term: Quantity) -> tuple[Quantity, bool]:
    fee = _priced(make, "setup_fee", "setup_money")
    if fee is None and make.s.quote.installation_included:
        fee = make.zero("setup_money", title_of("installation_included"))
    if fee is not None:
        return sums.setup_money_per_month(fee, term), True
    own, bill = ranges()["setup_months_ratio"], float(month)
    taken = assumed("setup_money", own.base * bill, own.source.what, own.low * bill, own.high * bill)
    return sums.setup_money_per_month(taken, term), False


def _prepaid(make: Making, month: Quantity, term: Quantity, *, owned: bool) -> tuple[Quantity, bool]:
    wacc = leaf("wacc_ratio_per_year", float(make.money("wacc_ratio")), make.money("wacc_ratio").source or Source("-"))
    if owned:  # the annuity holds the cost of capital
        return sums.prepaid_money_per_month(make.zero("upfront_money", tr("procure.in_annuity")), wacc), True
    commit = float(month) * float(term)
    ratio = make.s.quote.upfront_ratio
    if ratio is not None:
        paid = make.read("upfront_ratio", "upfront_money", ratio * commit)
        return sums.prepaid_money_per_month(paid, wacc), True
    if make.s.purpose == "rent" and not make.s.term_months:
        return sums.prepaid_money_per_month(make.zero("upfront_money", tr("procure.no_term")), wacc), True
    own = ranges()["upfront_ratio"]
    taken = assumed("upfront_money", own.base * commit, own.source.what, own.low * commit, own.high * commit)
    return sums.prepaid_money_per_month(taken, wacc), False


def _migration(make: Making, term: Quantity) -> tuple[Quantity, bool]:
    loaded = make.money("loaded_money_per_year")
    days = float(data()["labour_days_per_year"])
    daily = leaf("labour_money_per_day", float(loaded) / days, loaded.source or Source("-"),
                 (loaded.low or float(loaded)) / days, (loaded.high or float(loaded)) / days)  # fmt: skip
    return sums.migration_money_per_month(make.own("migration_days"), daily, term), "migration_days" in make.needs


def _platform(make: Making, *, owned: bool) -> tuple[Quantity, bool]:
    if "staff_count" in make.needs:
        staff = make.own("staff_count")
    else:
        found = make.money("own_staff_count" if owned else "rent_staff_count")
        staff = found.named("staff_count")
    line = sums.platform_money_per_month(staff, make.money("loaded_money_per_year"))
    return line, "staff_count" in make.needs


def _licence(make: Making, n: Quantity) -> tuple[Quantity, bool]:
    price = _priced(make, "licence_price_per_gpu_year", "licence_money_per_year")
    if price is None and make.s.quote.licences_included and not _denies(make.s.quote.licences_included):
        price = make.zero("licence_money_per_year", title_of("licences_included"))
    known = price is not None
    price = price if price is not None else make.money("licence_money_per_year")
    return sums.licence_money_per_month(price, n, make.money("licences_count_per_accelerator") if not known else
                                        leaf("licences_count_per_accelerator", 1.0, Source("-"))), known  # fmt: skip


def _power(make: Making, count: int, *, owned: bool) -> tuple[Quantity, bool]:
    q, card = make.s.quote, make.s.card
    ratio, pue, price = (make.money(name) for name in ("busy_power_ratio", "pue_ratio", "electricity_money_per_kwh"))
    if not owned:
        none = make.zero("machines_kw", tr("procure.in_price"))
        return sums.powered_money_per_month(none, ratio, pue, price), True
    if q.node_power_kw and make.s.nodes_count:
        drawn = make.read("node_power_kw", "machines_kw", q.node_power_kw * make.s.nodes_count)
    else:
        host, watts = make.money("host_power_ratio"), q.accelerator_power_w or (card.tdp_w if card else None) or 700.0
        most = watts * count / 1000
        drawn = assumed("machines_kw", most * float(host), tr("procure.drawn"), most, most * (host.high or 2.0))
    known = bool(q.node_power_kw) and "electricity_money_per_kwh" in make.needs
    return sums.powered_money_per_month(drawn, ratio, pue, price), known


def _denies(text: str) -> bool:
    return text.strip().lower() in ("none", "no", "ninguna", "ninguno", "not included", "no incluidas")


def _tax(make: Making, month: Quantity) -> tuple[Quantity, bool]:
    known = make.needs.get("unrecovered_tax_ratio", 0.0)
    ratio = leaf("unrecovered_tax_ratio", known, Source(tr("procure.tax_recovered")))
    return sums.unrecovered_tax_money_per_month(month, ratio), True


def _availability(make: Making) -> Quantity:
    said, own = make.s.quote.uptime_ratio, make.terms.ranges["node_availability_ratio"]
    if said is None:
        return leaf("availability_ratio", own.base, own.source, own.low, own.high)
    seen = make.read("uptime_ratio", "availability_ratio", said)
    return leaf("availability_ratio", said, seen.source or Source("-"), min(said, own.low), 1.0)


def _goodput(make: Making) -> Quantity:
    said = make.s.quote.goodput_ratio
    return make.read("goodput_ratio", "goodput_ratio", said) if said is not None else make.own("goodput_ratio")


def try_reckoned(s: Subject, currency: str, needs: Mapping[str, Any]) -> Reckoned:
    """As ``reckoned``; a currency nobody has a rate for is told in the price instead."""
    try:
        return reckoned(s, currency, needs)
    except InvalidInput as error:
        return Reckoned(_nothing(s, currency or _currency(s), "; ".join(one.what for one in error.problems)))
