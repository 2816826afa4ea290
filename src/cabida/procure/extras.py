"""What a month costs beside the accelerators, line by line, each with whether the offer (or whoever asks) says it."""

from __future__ import annotations

from collections.abc import Mapping

from cabida.evidence.quotes.quote import Amount
from cabida.money.terms import Terms
from cabida.procure import sums
from cabida.procure.known import data, is_included, ranges
from cabida.procure.subject import Subject, title_of
from cabida.quantity import Quantity, Source, assumed, leaf
from cabida.text import tr


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
        return self.terms.rate((value.currency or self.s.currency).upper()).ratio

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


def storage(make: Making, count: int, *, owned: bool) -> tuple[Quantity, bool]:
    """Storage: the quoted price of what would be kept; assumed where nobody says."""
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
        stored = assumed(
            "stored_gb", each.base * count, each.source.what, each.low * count, each.high * count
        )
    price = price if price is not None else make.money("storage_money_per_gb_per_month")
    line = sums.offered_storage_money_per_month(stored, price, make.own("usable_ratio"))
    return line, told and (known or float(price) == 0)


def egress(make: Making, count: int, *, owned: bool) -> tuple[Quantity, bool]:
    """Data that leaves."""
    known = "egress_gb_per_month" in make.needs
    price = _priced(make, "egress_price_per_gb", "egress_money_per_gb")
    if price is None and owned:
        price = make.zero("egress_money_per_gb", tr("procure.own_line"))
    told = price is not None
    if known:
        sent = make.own("egress_gb_per_month")
    else:
        each = ranges()["egress_gb_per_accelerator_per_month"]
        sent = assumed(
            "egress_gb_per_month", each.base * count, each.source.what, each.low * count, each.high * count
        )
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


def support(make: Making, month: Quantity) -> tuple[Quantity, bool]:
    """Support: a fixed sum where it is priced, else a share nobody confirmed."""
    none = leaf("support_ratio", 0.0, Source(title_of("support_fee_per_month")))
    fixed = _priced(make, "support_fee_per_month", "support_fixed_money_per_month")
    if fixed is None and make.s.quote.support_price_per_year is not None:
        yearly = make.sum(
            "support_price_per_year", make.s.quote.support_price_per_year, "support_money_per_year"
        )
        fixed = make.read("support_price_per_year", "support_fixed_money_per_month", float(yearly) / 12)
    if fixed is not None:
        return sums.offered_support_money_per_month(month, none, fixed), True
    nothing = leaf("support_fixed_money_per_month", 0.0, Source(title_of("support_fee_per_month")))
    return sums.offered_support_money_per_month(month, make.own("support_ratio"), nothing), False


def setup(make: Making, month: Quantity, term: Quantity) -> tuple[Quantity, bool]:
    """What is paid once to begin."""
    fee = _priced(make, "setup_fee", "setup_money")
    if fee is None and make.s.quote.installation_included:
        fee = make.zero("setup_money", title_of("installation_included"))
    if fee is not None:
        return sums.setup_money_per_month(fee, term), True
    own, bill = ranges()["setup_months_ratio"], float(month)
    taken = assumed("setup_money", own.base * bill, own.source.what, own.low * bill, own.high * bill)
    return sums.setup_money_per_month(taken, term), False


def prepaid(make: Making, month: Quantity, term: Quantity, *, owned: bool) -> tuple[Quantity, bool]:
    """The cost of paying ahead; a purchase has it in its annuity."""
    wacc = leaf(
        "wacc_ratio_per_year", float(make.money("wacc_ratio")), make.money("wacc_ratio").source or Source("-")
    )
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


def migration(make: Making, term: Quantity) -> tuple[Quantity, bool]:
    """Moving in."""
    loaded = make.money("loaded_money_per_year")
    days = float(data()["labour_days_per_year"])
    daily = leaf("labour_money_per_day", float(loaded) / days, loaded.source or Source("-"),
                 (loaded.low or float(loaded)) / days, (loaded.high or float(loaded)) / days)  # fmt: skip
    return sums.migration_money_per_month(
        make.own("migration_days"), daily, term
    ), "migration_days" in make.needs


def platform(make: Making, *, owned: bool) -> tuple[Quantity, bool]:
    """The people who keep it running."""
    if "staff_count" in make.needs:
        staff = make.own("staff_count")
    else:
        found = make.money("own_staff_count" if owned else "rent_staff_count")
        staff = found.named("staff_count")
    line = sums.platform_money_per_month(staff, make.money("loaded_money_per_year"))
    return line, "staff_count" in make.needs


def licence(make: Making, n: Quantity) -> tuple[Quantity, bool]:
    """Licences, where they are neither included nor priced a range."""
    price = _priced(make, "licence_price_per_gpu_year", "licence_money_per_year")
    if price is None and make.s.quote.licences_included and not _denies(make.s.quote.licences_included):
        price = make.zero("licence_money_per_year", title_of("licences_included"))
    known = price is not None
    price = price if price is not None else make.money("licence_money_per_year")
    return sums.licence_money_per_month(price, n, make.money("licences_count_per_accelerator") if not known else
                                        leaf("licences_count_per_accelerator", 1.0, Source("-"))), known  # fmt: skip


def power(make: Making, count: int, *, owned: bool) -> tuple[Quantity, bool]:
    """Electricity and cooling of what is bought; rented machines have it in their price."""
    q, card = make.s.quote, make.s.card
    ratio, pue, price = (
        make.money(name) for name in ("busy_power_ratio", "pue_ratio", "electricity_money_per_kwh")
    )
    if not owned:
        none = make.zero("machines_kw", tr("procure.in_price"))
        return sums.powered_money_per_month(none, ratio, pue, price), True
    if q.node_power_kw and make.s.nodes_count:
        drawn = make.read("node_power_kw", "machines_kw", q.node_power_kw * make.s.nodes_count)
    else:
        host, watts = make.money("host_power_ratio"), q.accelerator_power_w or (card.tdp_w if card else None)
        usual = ranges()["accelerator_w"]
        low, base, high = (watts,) * 3 if watts else (usual.low, usual.base, usual.high)
        alone = count / 1000  # kW of them for a watt of one
        drawn = assumed("machines_kw", base * alone * float(host), tr("procure.drawn"), low * alone,
                        high * alone * (host.high or float(host)))  # fmt: skip
    known = bool(q.node_power_kw) and "electricity_money_per_kwh" in make.needs
    return sums.powered_money_per_month(drawn, ratio, pue, price), known


def _denies(text: str) -> bool:
    return text.strip().lower() in ("none", "no", "ninguna", "ninguno", "not included", "no incluidas")


def tax(make: Making, month: Quantity) -> tuple[Quantity, bool]:
    """Tax that is not recovered: none unless whoever asks says so."""
    known = make.needs.get("unrecovered_tax_ratio", 0.0)
    ratio = leaf("unrecovered_tax_ratio", known, Source(tr("procure.tax_recovered")))
    return sums.unrecovered_tax_money_per_month(month, ratio), True


def availability(make: Making) -> Quantity:
    """Share of the hours that is up: as promised, with what is usual as the low end."""
    said, own = make.s.quote.uptime_ratio, make.terms.ranges["node_availability_ratio"]
    if said is None:
        return leaf("availability_ratio", own.base, own.source, own.low, own.high)
    seen = make.read("uptime_ratio", "availability_ratio", said)
    return leaf("availability_ratio", said, seen.source or Source("-"), min(said, own.low), 1.0)


def goodput(make: Making) -> Quantity:
    """Share of the hours up that is not lost to restarts."""
    said = make.s.quote.goodput_ratio
    return (
        make.read("goodput_ratio", "goodput_ratio", said) if said is not None else make.own("goodput_ratio")
    )
