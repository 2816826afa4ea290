"""What money can get: the brief's terms, the priced ways to hold each accelerator, and what is held already."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cabida import facts, money
from cabida.brief import Brief, Held
from cabida.choose.held import (
    Lasting,
    Owed,
    hardware,
    marginal_offer,
    owed_of,
    pledges_of,
    quotas_of,
    stated_falls,
    together,
)
from cabida.choose.splits import accelerators_per_node
from cabida.evidence import book
from cabida.facts.model import Accelerator, Offer
from cabida.money import Tenure, Terms
from cabida.money.assumptions import assumed_ranges
from cabida.money.currency import Rate
from cabida.money.prices.offers import believed_offers, is_history, sold_by, ways_for
from cabida.money.prices.tenure import DESK_COUNT, DESKTOP_SEGMENTS, is_market, tenure_of, topped_up
from cabida.plan import Assumption
from cabida.text import number, tr

EU = frozenset(
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()  # noqa: SIM905
)
EEA = EU | {"IS", "LI", "NO"}
SINGLE_MACHINES = ("marketplace", "serverless")
WHOLE_MACHINE_COUNT = 4  # who prices four or more at once sells machines, not single cards
STEADY_CAPACITIES = ("on-demand", "reserved", "buy", "have")  # there whenever they are asked for
REALTIME_CAPACITIES = (*STEADY_CAPACITIES, "serverless")
ALL_CAPACITIES = (*REALTIME_CAPACITIES, "spot")
QUEUED_CAPACITIES = (*ALL_CAPACITIES, "block")  # of work that can wait for a start date


def terms_of(brief: Brief, as_of: str) -> Terms:
    """The money room's terms, with the brief's own figures in place of the shipped ones."""
    costs, team = brief.costs, brief.team
    stated = {
        "electricity_money_per_kwh": costs.electricity_money_per_kwh,
        "pue_ratio": costs.pue_ratio,
        "colocation_money_per_kw_per_month": costs.colocation_money_per_kw_month,
        "wacc_ratio": costs.wacc_ratio,
        "life_years": costs.depreciation_months / 12 if costs.depreciation_months else None,
        "observability_money_per_month": costs.observability_money_per_month,
        "storage_money_per_month": costs.storage_money_per_month,
        "network_money_per_month": _total(costs.network_money_per_month, costs.egress_money_per_month),
        "serving_stack_money_per_month": costs.serving_stack_money_per_month,
        "loaded_money_per_year": team.loaded_cost_per_year_money,
        "market_g_per_kwh": costs.market_carbon_g_per_kwh,
        "tax_ratio": costs.income_tax_ratio,
    }
    shipped_years = assumed_ranges()["life_years"].base
    if stated["life_years"] is None and brief.horizon_months and brief.horizon_months / 12 < shipped_years:
        stated["life_years"] = brief.horizon_months / 12  # resold when the need ends
    if costs.resale_ratio is not None:
        stated["decay_ratio"] = 1 - costs.resale_ratio ** (1 / (stated["life_years"] or shipped_years))
    if "team.platform_engineers" in brief.where and "team.platform_engineers" not in brief.unknown:
        people = ("rent_staff_count", "own_staff_count", "desktop_staff_count", "training_staff_count")
        stated |= dict.fromkeys(people, team.platform_engineers_fte)
        if (
            team.platform_engineers_fte < assumed_ranges()["api_staff_count"].base
        ):  # an API takes no more than all
            stated["api_staff_count"] = team.platform_engineers_fte
    if brief.training is not None and not any(item.path == "training.failed_runs" for item in brief.assumed):
        stated["failed_run_ratio"] = brief.training.failed_runs_ratio
    rates = [
        Rate(currency, brief.currency, ratio, as_of, brief.file or "brief")
        for currency, ratio in brief.exchange_rates.items()
    ]
    places = [code for code in brief.limits.countries if len(code) == 2]
    country = next((code for code in places if code != "EU"), places[0] if places else "")
    made = money.terms(
        brief.currency,
        as_of=as_of,
        country=country,
        horizon_months=brief.horizon_months or 12.0,
        rates=rates,
        stated={name: value for name, value in stated.items() if value is not None} | stated_falls(brief),
        energy=facts.energy(),
    )
    return replace(made, pledges=pledges_of(brief, as_of))


def _total(*parts: float | None) -> float | None:
    said = [part for part in parts if part is not None]
    return sum(said) if said else None


@dataclass(slots=True)
class Means:
    """Priced ways to hold accelerators under one brief, worked out once per accelerator and count."""

    brief: Brief
    terms: Terms
    offers: dict[str, list[Offer]]
    held_counts: dict[str, int]  # by accelerator: owned, or under contract where those are more
    assumed: tuple[Assumption, ...] = ()
    machine_sellers: frozenset[str] = frozenset()  # with a price for a whole machine somewhere in the book
    owed: tuple[Owed, ...] = ()  # paid whichever option is chosen
    quotas: dict[tuple[str, str], list[Held]] = field(default_factory=dict)
    lasting: dict[str, list[Lasting]] = field(default_factory=dict)  # what is held, by accelerator
    way_counts: dict[str, int] = field(default_factory=dict)  # the same by offer
    _made: dict[tuple[str, int, bool], list[Tenure]] = field(default_factory=dict)
    _kept: dict[str, list[Offer]] = field(default_factory=dict)
    _machines: dict[str, int] = field(default_factory=dict)

    @property
    def priced(self) -> set[str]:
        """Accelerators under at least one offer."""
        return set(self.offers)

    def ways_count(self, accelerator: Accelerator, count: int) -> int:
        """Candidates that ``count`` accelerators working as one stand for: ways to hold them, at least one."""
        return max(1, len(self.tenures(accelerator, count, count)))

    def tenures(self, accelerator: Accelerator, count: int, together_count: int = 1) -> list[Tenure]:
        """Ways to hold ``count`` of an accelerator within the brief's capacities, providers, places and horizon.

        ``together_count`` of them work as one: across machines they need a network between those, which
        single rented machines don't have; sellers of whole machines stand for them where there are any.
        """
        spans = together_count > self._per_machine(accelerator)
        key = accelerator.id, count, spans
        if key not in self._made:
            believed = self._believed(accelerator)
            found = ways_for(accelerator, count, believed, self.terms, capacity=self._capacities())
            lawful = [tenure for tenure in found if self._lawful(tenure, count, spans)]
            if more := self._topped_up(accelerator, count, lawful):
                lawful = sorted([*lawful, *more], key=lambda way: (way.hourly_money, way.id))
            self._made[key] = self._networked(lawful) if spans else lawful
        return self._made[key]

    def _per_machine(self, accelerator: Accelerator) -> int:
        """How many of an accelerator a machine holds."""
        if accelerator.id not in self._machines:
            node = facts.node_for(accelerator)
            self._machines[accelerator.id] = accelerators_per_node(accelerator, node)
        return self._machines[accelerator.id]

    def _topped_up(self, accelerator: Accelerator, count: int, found: list[Tenure]) -> list[Tenure]:
        """At a desk the cards that are there with more of the same bought beside them."""
        there = [one for one in self._believed(accelerator) if one.capacity == "have"]
        own = next((one for one in there if one.unit == "accelerator"), None)
        held = self.way_counts.get(own.id, 0) if own else 0
        card = accelerator.segment in DESKTOP_SEGMENTS and accelerator.form_factor == "PCIe"
        if own is None or not card or not 0 < held < count <= DESK_COUNT:
            return []
        kept = tenure_of(own, accelerator, self.terms, held)
        return [
            topped_up(way, kept, self.terms)
            for way in found
            if way.capacity == "buy"
            and way.accelerators_count == count
            and way.offer.accelerators_count == 1
            and way.offer.minimum_count <= count - held
        ]

    def _believed(self, accelerator: Accelerator) -> list[Offer]:
        """Its offers that can be believed, of the brief's sellers and places: the last of each place counts."""
        if accelerator.id not in self._kept:
            found = believed_offers(accelerator, self.offers.get(accelerator.id, ()), self.terms)
            sellers, countries = self.brief.consider.providers, self.brief.limits.countries
            self._kept[accelerator.id] = [
                one for one in found if sold_by(one, sellers) and allowed_place(one, countries)
            ]
        return self._kept[accelerator.id]

    def _capacities(self) -> tuple[str, ...]:
        named = tuple(name for name in self.brief.consider.capacity if name != "api")
        if self.brief.consider.capacity:
            return (*named, "have")
        if self.brief.workload != "realtime-inference":
            return QUEUED_CAPACITIES
        by_risk = {"low": STEADY_CAPACITIES, "medium": REALTIME_CAPACITIES}
        return by_risk.get(self.brief.limits.risk, ALL_CAPACITIES)

    def _networked(self, found: list[Tenure]) -> list[Tenure]:
        """Of each capacity the sellers of whole machines; where there is none, those seen of late."""
        by_machine = {t.capacity for t in found if t.offer.provider in self.machine_sellers}
        found = [
            t
            for t in found
            if t.offer.provider in self.machine_sellers or not is_history(t.offer, self.terms.as_of)
        ]
        return [t for t in found if t.capacity not in by_machine or t.offer.provider in self.machine_sellers]

    def _lawful(self, tenure: Tenure, count: int, spans: bool) -> bool:
        """Held ones only as many as there are; allowed places; no commitment beyond the horizon."""
        if spans and (tenure.offer.provider_kind in SINGLE_MACHINES or is_market(tenure.offer)):
            return False
        if self.brief.limits.own_premises and not tenure.owned:
            return False
        if tenure.capacity == "have":
            return count <= self.way_counts.get(tenure.offer.id, 0)
        if tenure.committed_months > self.terms.horizon_months or tenure.offer.fraction_ratio < 1:
            return False
        return allowed_place(tenure.offer, self.brief.limits.countries)


def allowed_place(offer: Offer, countries: tuple[str, ...]) -> bool:
    """Whether an offer may stand: bought and held ones, an allowed country, or a place nobody stated.

    A marketplace that does not say where its machines are can't promise a place.
    """
    if not countries or offer.capacity in ("buy", "have"):
        return True
    if not offer.country:
        return offer.provider_kind not in SINGLE_MACHINES
    return any(_inside(offer.country.upper(), allowed.upper()) for allowed in countries)


def _inside(country: str, allowed: str) -> bool:
    return country == allowed or country in {"EU": EU | {"EU"}, "EEA": EEA | {"EU", "EEA"}}.get(
        allowed, frozenset()
    )


def means_of(brief: Brief, as_of: str) -> Means:
    """All offers on or before ``as_of`` by accelerator, with what the brief holds among them."""
    by_accelerator: dict[str, list[Offer]] = {}
    sighted = book.offers(as_of, once=True)
    sellers = {one.provider for one in sighted if one.accelerators_count >= WHOLE_MACHINE_COUNT}
    for offer in sighted:
        by_accelerator.setdefault(offer.accelerator, []).append(offer)
    terms, counts, assumed = terms_of(brief, as_of), dict[str, int](), list[Assumption]()
    assumed += _resold(brief, terms)
    rows: dict[tuple[str, str], list[tuple[Offer, Lasting]]] = {}
    for held in hardware(brief, as_of):
        lawful = [one for one in by_accelerator.get(held.accelerator, ()) if one.capacity != "have"]
        lawful = [one for one in lawful if allowed_place(one, brief.limits.countries)]
        own, told, lasts = marginal_offer(held, brief, terms, lawful)
        assumed += told
        rows.setdefault((held.accelerator, held.kind), []).append((own, lasts))
    by_way: dict[str, int] = {}
    lasting: dict[str, list[Lasting]] = {}
    for (accelerator, _), alike in rows.items():
        way, lasts_all = together(alike)
        by_accelerator.setdefault(accelerator, []).append(way)
        by_way[way.id] = sum(lasts.held.count for _, lasts in alike)
        counts[accelerator] = max(counts.get(accelerator, 0), by_way[way.id])
        lasting.setdefault(accelerator, []).extend(lasts_all)
    owed, quotas = owed_of(brief, as_of), quotas_of(brief)
    said = tuple(assumed)
    return Means(
        brief, terms, by_accelerator, counts, said, frozenset(sellers), owed, quotas, lasting, by_way
    )


def _resold(brief: Brief, terms: Terms) -> list[Assumption]:
    """The useful life taken for what is bought, when the horizon cuts it short."""
    if brief.costs.depreciation_months or "life_years" not in terms.stated:
        return []
    why, how = tr("choose.assume.life.why"), tr("choose.assume.life.how")
    return [Assumption("life_years", number(terms.base("life_years")), why, how)]
