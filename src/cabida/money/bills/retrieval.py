"""What answering out of a corpus costs beside generation: embedding, the index, reranking, ingestion, moderation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot, inf, sqrt
from typing import Any

from cabida import facts
from cabida.facts.model import Accelerator
from cabida.money.bills import unit
from cabida.money.own import ownership
from cabida.money.own.owning import capital, machine_upkeep, recovery
from cabida.money.prices.tenure import Tenure
from cabida.money.terms import Cost, Terms
from cabida.money.ways import Explained, Number, Plain, Ways
from cabida.plan import CostLine
from cabida.quantity import Quantity, formula, total
from cabida.units import HOURS_PER_MONTH, S_PER_HOUR

UPKEEP = ("residual", "energy", "cooling", "colocation", "support", "licences")
STAGES = ("embedding", "reranking", "index_hosting", "ingestion", "moderation")
HOST_PRICE_RANGE = (
    0.7,
    1.3,
)  # of a host's list price: reserved ones are a third cheaper, other clouds dearer; assumed


@formula
def owned_cards_money_per_month(
    instalment_money_per_month: float,
    residual_money_per_month: float,
    energy_money_per_month: float,
    cooling_money_per_month: float,
    colocation_money_per_month: float,
    support_money_per_month: float,
    licences_money_per_month: float,
) -> Any:
    """What cards of one's own cost a month: the purchase's instalment less resale, power, upkeep and licences."""
    return total(
        instalment_money_per_month,
        residual_money_per_month,
        energy_money_per_month,
        cooling_money_per_month,
        colocation_money_per_month,
        support_money_per_month,
        licences_money_per_month,
    )


@formula
def stage_money_per_month(held_money_per_month: float, time_share_ratio: float) -> float:
    """Part of the cards before the generator that one stage is for: by the time it takes of a request."""
    return held_money_per_month * time_share_ratio


@formula
def host_money_per_month(
    host_money_per_hour: float, hosts_count: float, open_hours_per_month: float
) -> float:
    """Machines that hold an index in their memory, on all month."""
    return host_money_per_hour * hosts_count * open_hours_per_month


@formula
def index_money_per_month(
    host_money_per_month: float, searched_money_per_month: float, kept_money_per_month: float
) -> float:
    """The index: machines, its share of the cards, and its copy on disk."""
    return host_money_per_month + searched_money_per_month + kept_money_per_month


@formula
def ingestion_money_per_month(
    ingested_tokens_per_month: float, ingested_tokens_per_s: float, price_money_per_hour: float
) -> float:
    """Documents embedded as they come, and the whole corpus again after a change of the embedder."""
    return ingested_tokens_per_month / ingested_tokens_per_s / S_PER_HOUR * price_money_per_hour


@formula
def moderation_money_per_month(
    attempted_requests_per_month: float, moderation_money_per_request: float
) -> float:
    """A filter bought by the call, for every attempt."""
    return attempted_requests_per_month * moderation_money_per_request


@formula
def retrieval_money_per_month(
    generation_money_per_month: float,
    embedding_money_per_month: float,
    reranking_money_per_month: float,
    index_money_per_month: float,
    ingestion_money_per_month: float,
    moderation_money_per_month: float,
) -> Any:
    """All-in cost of a month of answers out of a corpus: generation with its own terms, and every stage before it."""
    return total(
        generation_money_per_month,
        embedding_money_per_month,
        reranking_money_per_month,
        index_money_per_month,
        ingestion_money_per_month,
        moderation_money_per_month,
    )


@dataclass(frozen=True, slots=True)
class RetrievalUse:
    """What the stages before the generator hold, and what passes through them in a month."""

    tenure: Tenure | None  # of the cards that encode; None = on hosts or on the generator's own
    cards_count: int
    shares: dict[str, float]  # embedding, reranking, searching: of the cards' time
    hosts_count: int
    host_money_per_hour: float
    host_currency: str
    host_source: str
    stored_gb: float  # vectors and texts on disk
    ingestion: Tenure | None  # of the cards that embed in batches
    ingested_tokens_per_month: float
    ingested_tokens_per_s: float
    attempted_requests_per_month: float
    moderation_money_per_request: float
    host_grade: str = "assumed"
    busy_ratio: float = 0.0  # of the month, how much the cards are at work


def stages_bill(ways: Ways, use: RetrievalUse) -> dict[str, Number]:
    """The lines beside generation, in the reporting currency per month."""
    month = ways.given("open_hours_per_month", float(HOURS_PER_MONTH), "always on")
    held: Number = ways.given("held_money_per_month", 0.0, "no cards of their own")
    if use.tenure is not None and use.cards_count:
        held = cards_bill(ways, use.tenure, use.cards_count, use.busy_ratio)

    def part(name: str) -> Number:
        share = ways.given("time_share_ratio", use.shares.get(name, 0.0), "timing")
        return ways.apply(stage_money_per_month, held, share)

    host = ways.given("host_money_per_hour", _host_price(use, ways.terms), use.host_source, use.host_grade)
    hosts = ways.apply(
        host_money_per_month, host, ways.given("hosts_count", float(use.hosts_count), "plan"), month
    )
    kept = ways.apply(
        unit.storage_money_per_month,
        ways.given("stored_gb", use.stored_gb, "vectors and texts"),
        ways.assume("storage_money_per_gb_per_month"),
    )
    ingestion: Number = ways.given("ingestion_money_per_month", 0.0, "nothing to embed")
    if use.ingestion is not None and use.ingested_tokens_per_month:
        ingestion = ways.apply(
            ingestion_money_per_month,
            ways.given("ingested_tokens_per_month", use.ingested_tokens_per_month, "brief"),
            ways.given("ingested_tokens_per_s", use.ingested_tokens_per_s, "timing"),
            _embedding_price(ways, use.ingestion),
        )
    return {
        "embedding": part("embedding"),
        "reranking": part("reranking"),
        "index_hosting": ways.apply(index_money_per_month, hosts, part("searching"), kept),
        "ingestion": ingestion,
        "moderation": ways.apply(
            moderation_money_per_month,
            ways.given("attempted_requests_per_month", use.attempted_requests_per_month, "brief"),
            ways.given("moderation_money_per_request", use.moderation_money_per_request, "brief"),
        ),
    }


def cards_bill(ways: Ways, tenure: Tenure, cards_count: int, busy_ratio: float) -> Number:
    """What cards on all month cost: their rent, or all that an owner pays for them at so much work."""
    count = ways.given("accelerators_count", float(cards_count), "plan")
    if not tenure.owned:
        price = ways.amount("price_money_per_hour", tenure.offer, tenure.discount)
        open_hours = ways.given("active_hours_per_month", float(HOURS_PER_MONTH), "always on")
        return ways.apply(unit.held_money_per_month, price, count, open_hours)
    instalment: Number = ways.given("instalment_money_per_month", 0.0, "paid already")
    if tenure.capital_money:
        instalment = ways.apply(
            ownership.capital_money_per_month, capital(ways, tenure, count), recovery(ways)
        )
    upkeep = machine_upkeep(ways, tenure, _card(tenure), cards_count, busy_ratio)
    return ways.apply(owned_cards_money_per_month, instalment, *(upkeep[name] for name in UPKEEP))


def _card(tenure: Tenure) -> Accelerator:
    return facts.accelerator(tenure.offer.accelerator)


def _embedding_price(ways: Ways, tenure: Tenure) -> Number:
    """What an hour of a card that embeds in batches costs: its rent, or an hour's part of what its owner pays."""
    if not tenure.owned:
        return ways.given("price_money_per_hour", tenure.money_per_hour, tenure.offer.source.what)
    count = tenure.accelerators_count
    monthly = cards_bill(ways, tenure, count, 1.0)
    return ways.apply(
        ownership.purchase_money_per_hour, monthly, ways.given("accelerators_count", count * 1.0, "plan")
    )


def _host_price(use: RetrievalUse, terms: Terms) -> float:
    return use.host_money_per_hour * terms.rate(use.host_currency).ratio if use.hosts_count else 0.0


def stages_money(use: RetrievalUse, terms: Terms) -> dict[str, float]:
    """:func:`stages_bill` in plain figures."""
    return {name: float(value) for name, value in stages_bill(Plain(terms), use).items()}


def with_stages(cost: Cost, use: RetrievalUse, terms: Terms) -> Cost:
    """The bill of a generator with the stages before it; their prices' ranges added in quadrature to its interval."""
    lines = stages_money(use, terms)
    more = sum(lines.values())
    below, above = _range(use, lines, terms)
    whole = cost.per_month_money + more
    if cost.accepted_per_month > 0:
        each = cost.of_each(whole)
        low = each - hypot(cost.per_accepted_money - cost.per_accepted_low, cost.of_each(below))
        high = each + hypot(cost.per_accepted_high - cost.per_accepted_money, cost.of_each(above))
    else:
        each = low = high = inf
    return replace(
        cost,
        lines=(*cost.lines, *(CostLine(name, money) for name, money in lines.items() if money)),
        per_month_money=whole,
        per_accepted_money=each,
        per_accepted_low=max(0.0, low),
        per_accepted_high=high,
    )


def _range(use: RetrievalUse, lines: dict[str, float], terms: Terms) -> tuple[float, float]:
    """What the stages' bill may lie below and above."""
    hosts = _host_price(use, terms) * use.hosts_count * float(HOURS_PER_MONTH)
    disk = terms.ranges["storage_money_per_gb_per_month"]
    kept = use.stored_gb * disk.base
    below = [hosts * (1 - HOST_PRICE_RANGE[0]), use.stored_gb * (disk.base - disk.low)]
    above = [hosts * (HOST_PRICE_RANGE[1] - 1), use.stored_gb * (disk.high - disk.base)]
    cards = lines["embedding"] + lines["reranking"] + lines["index_hosting"] - hosts - kept
    for tenure, money in ((use.tenure, cards), (use.ingestion, lines["ingestion"])):
        if tenure is not None and tenure.money_per_hour:
            below.append(money * (1 - tenure.low_money_per_hour / tenure.money_per_hour))
            above.append(money * (tenure.high_money_per_hour / tenure.money_per_hour - 1))
    return sqrt(sum(one * one for one in below)), sqrt(sum(one * one for one in above))


def stages_tree(tree: dict[str, Quantity], use: RetrievalUse, terms: Terms) -> dict[str, Quantity]:
    """The generator's cost tree grown by the stages: new lines, a new total, a new unit cost."""
    ways = Explained(terms, {})
    lines = stages_bill(ways, use)
    accepted = next(node for node in tree["unit_cost"].nodes() if node.name == "accepted_outputs_per_month")
    generation = tree["cost_per_month"]
    whole = retrieval_money_per_month(
        generation, lines["embedding"], lines["reranking"], lines["index_hosting"], lines["ingestion"],
        lines["moderation"],
    )  # fmt: skip
    named = {f"cost.{name}": value for name, value in lines.items() if isinstance(value, Quantity)}
    return tree | named | {
        "generation_cost": generation,
        "cost_per_month": whole,
        "unit_cost": unit.accepted_unit_money_per_output(whole, accepted),
    }  # fmt: skip
