"""What stands before a generator: where embedder, index and reranker live, how long they take, what they cost.

A front is one placement: cards of their own or a host's cores for the encoders, host memory or the cards for the index.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cabida import facts
from cabida.brief import Brief
from cabida.brief.corpus import Retrieval
from cabida.choose.ask import Ask
from cabida.choose.encoders import encoder_runs, engine_on, fits, services_on, texts_of
from cabida.choose.enumerate_serving import accelerators_in_reach
from cabida.choose.means import STEADY_CAPACITIES, Means
from cabida.facts.model import Accelerator
from cabida.memory.index import payloads_bytes, searched_bytes, stored_vectors_bytes
from cabida.money import Tenure
from cabida.money.bills.retrieval import RetrievalUse, cards_bill, stages_money
from cabida.money.ways import Plain
from cabida.plan.encoding import EncoderRun
from cabida.plan.index import STORED_BITS, VectorIndex
from cabida.text import tr
from cabida.timing.speed import Distribution
from cabida.timing.stages.encoder_data import Host, encoder_facts, host_of
from cabida.timing.stages.encoders import encoder_speed, spread_of_encoder
from cabida.timing.stages.pipeline import Stage, joined
from cabida.timing.stages.pipeline import spare_availability_ratio as with_spares
from cabida.timing.stages.vector_constants import DATABASE
from cabida.timing.stages.vector_search import SearchSpeed, search_speed
from cabida.units import BYTES_PER_GB, HOURS_PER_MONTH, S_PER_HOUR, S_PER_MONTH

HOST = "cloud-8-core-128"
BUSY_RATIO = 0.6  # of cards and cores before a generator at the peak: queues stay short
MEMORY_RATIO = 0.8  # of a host's memory that an index may take
CALL_S = 1.5e-3  # one call between services in one data centre, serialising included: assumed
PAYLOAD_BYTES_PER_TOKEN = 5.0  # text and metadata of a passage: four bytes a token and an envelope, assumed
INGEST_BATCH_COUNT = 256
AVAILABLE_RATIO = 0.995  # of one rented machine: the service level most providers promise, assumed
FRONTS_KEPT = 10
FASTER_RATIO = 0.97  # of the time of cheaper placements, at which a dearer one is kept: assumed
ALIKE_RATIO = 1.02  # bills this near are alike: the faster placement goes first
FLAT_MOST_S = 0.25  # a scan longer than this is no search


@dataclass(frozen=True, slots=True)
class Front:
    """One placement of the stages before a generator, worked out at the peak."""

    id: str
    title: str
    accelerator: Accelerator | None
    embed: EncoderRun | None  # None = on the host
    rerank: EncoderRun | None
    index: VectorIndex
    host: Host
    search: SearchSpeed
    services_s: dict[str, float]  # seconds of each stage by itself, nobody waiting
    stages: tuple[Stage, ...]
    latency: Distribution
    use: RetrievalUse
    cards_count: int  # that the peak takes, spares left out
    hosts_count: int
    month_money: float
    ingest_hours_per_month: float
    reembedding_cards_count: int
    build_s: float
    availability_ratio: float
    spread: tuple[float, float]  # factors of the 90 % interval of its time


@dataclass(frozen=True, slots=True)
class Ingestion:
    """How the corpus becomes vectors: the cheapest cards a token, and how many at once after a change of embedder."""

    tenure: Tenure
    accelerator: Accelerator
    tokens_per_s: float
    tokens_per_month: float
    hours_per_month: float
    cards_count: int  # side by side, so that everything is embedded again within the window


def fronts_of(brief: Brief, ask: Ask, means: Means, acceptance_ratio: float) -> list[Front]:
    """Placements worth pairing with generators: none slower and dearer than another; the cheapest first."""
    retrieval = brief.retrieval
    if retrieval is None:
        message = "a completed retrieval brief says what is searched"
        raise ValueError(message)
    ingestion = ingestion_of(brief, retrieval, means)
    rough = sorted(
        _rough(brief, retrieval, ask, means, acceptance_ratio, ingestion),
        key=lambda one: (math.floor(math.log(one.month_money) / math.log(ALIKE_RATIO)), one.latency.mean),
    )
    kept: list[Front] = []
    for one in rough:
        if not kept or one.latency.mean < FASTER_RATIO * min(other.latency.mean for other in kept):
            kept.append(one)
        if len(kept) == FRONTS_KEPT:
            break
    return [_with_stages(one, ask, acceptance_ratio) for one in kept]


def _rough(
    brief: Brief,
    retrieval: Retrieval,
    ask: Ask,
    means: Means,
    acceptance_ratio: float,
    ingestion: Ingestion | None,
) -> Iterator[Front]:
    """Every placement with its cost and the time of a lone request; queues are left for those kept."""
    host, wanted = host_of(HOST), ask.wanted_requests_per_s(acceptance_ratio)
    indexes = list(_host_indexes(retrieval))
    for one in indexes:
        if (front := _front(brief, retrieval, ask, means, None, one, host, wanted, ingestion)) is not None:
            yield front
    for card in _cards(brief, retrieval, means):
        for one in [*indexes, *_card_indexes(retrieval, card)]:
            if (
                front := _front(brief, retrieval, ask, means, card, one, host, wanted, ingestion)
            ) is not None:
                yield front


def _cards(brief: Brief, retrieval: Retrieval, means: Means) -> list[Accelerator]:
    """Cards in reach that an encoder engine runs on and that hold the encoders."""
    reach = accelerators_in_reach(brief, set(means.held_counts), means.priced)
    return [card for card in reach if engine_on(card) and fits(retrieval, card, 0.0)]


def hosted_index(
    brief: Brief, retrieval: Retrieval, ask: Ask, means: Means, acceptance_ratio: float
) -> Front | None:
    """An index in host memory, its machines held for it alone: for encoders that live elsewhere."""
    ingestion, host = ingestion_of(brief, retrieval, means), host_of(HOST)
    wanted = ask.wanted_requests_per_s(acceptance_ratio)
    spare = 1 if brief.limits.availability == "n+1" else 0
    for one in _host_indexes(retrieval):
        front = _front(brief, retrieval, ask, means, None, one, host, wanted, ingestion)
        if front is not None:
            held = _beside_bytes(one) + searched_bytes(one)
            cores_s = front.search.search_s / front.search.servers_count
            hosts = _hosts(held, wanted * cores_s, host)
            return replace(
                front,
                hosts_count=hosts,
                use=replace(front.use, hosts_count=hosts + spare),
                availability_ratio=_availability(hosts, spare),
            )
    return None


def _hosts(held_bytes: float, busy: float, host: Host) -> int:
    """Machines for so much memory and so many of them busy."""
    return max(math.ceil(held_bytes / (MEMORY_RATIO * host.memory_bytes)), math.ceil(busy / BUSY_RATIO), 1)


def _index(retrieval: Retrieval, kind: str, card: Accelerator | None) -> VectorIndex:
    model = facts.model(retrieval.embedder)
    return VectorIndex(
        vectors_count=max(1.0, retrieval.chunks_count),
        dims_count=retrieval.dims_count or model.hidden_dim_count,
        kind=kind,
        stored=retrieval.stored,
        accelerator=card,
        keep_vectors=kind == "ivf-pq",
        payload_bytes=retrieval.chunk_tokens * PAYLOAD_BYTES_PER_TOKEN,
    )


def _asked(retrieval: Retrieval, kind: str) -> bool:
    return retrieval.index in ("any", kind)


def _host_indexes(retrieval: Retrieval) -> Iterator[VectorIndex]:
    kinds = ("hnsw", "flat", "ivf-flat", "ivf-pq") if retrieval.index != "any" else ("hnsw", "flat")
    yield from (_index(retrieval, kind, None) for kind in kinds if _asked(retrieval, kind))


def _card_indexes(retrieval: Retrieval, card: Accelerator) -> Iterator[VectorIndex]:
    if card.vendor.lower() != "nvidia":  # FAISS and cuVS search on CUDA cards
        return
    for kind in ("flat", "ivf-pq", "cagra"):
        if _asked(retrieval, kind) and retrieval.stored != "binary":
            yield _index(retrieval, kind, card)


def _front(
    brief: Brief,
    retrieval: Retrieval,
    ask: Ask,
    means: Means,
    card: Accelerator | None,
    one: VectorIndex,
    host: Host,
    wanted: float,
    ingestion: Ingestion | None,
) -> Front | None:
    """One placement, or ``None`` when it doesn't fit, can't be had, or would scan too long."""
    search = search_speed(one, host, retrieval.recall_ratio, retrieval.candidates_count)
    if search.search_s > FLAT_MOST_S:
        return None
    services = services_on(retrieval, card, host)
    spare = 1 if brief.limits.availability == "n+1" else 0
    on_card = one.accelerator is not None
    searched, beside = searched_bytes(one), _beside_bytes(one)
    busy = dict(services) if card is not None else {}
    if on_card:
        busy["searching"] = search.search_s
    cards = max(1, math.ceil(wanted * sum(busy.values()) / BUSY_RATIO)) if card is not None else 0
    if card is not None and not fits(retrieval, card, searched if on_card else 0.0):
        return None
    cores_s = 0.0 if on_card else search.search_s / search.servers_count
    cores_s += sum(services.values()) if card is None else 0.0
    hosts = _hosts(beside + (0.0 if on_card else searched), wanted * cores_s, host)
    attempts = ask.requests_per_month * ask.attempts_ratio(1.0)
    busy_s = attempts * sum(busy.values()) / float(S_PER_MONTH)
    busy_ratio = min(1.0, busy_s / (cards + spare)) if card is not None else 0.0
    tenure = _held(means, card, cards + spare, busy_ratio) if card is not None else None
    if card is not None and tenure is None:
        return None
    whole = sum(busy.values()) or 1.0
    use = RetrievalUse(
        tenure=tenure,
        cards_count=cards + spare if card is not None else 0,
        shares={name: seconds / whole for name, seconds in busy.items()},
        hosts_count=hosts + spare,
        host_money_per_hour=host.money_per_hour,
        host_currency=host.currency,
        host_source=host.source.what,
        stored_gb=(beside + searched) / float(BYTES_PER_GB),
        ingestion=ingestion.tenure if ingestion else None,
        ingested_tokens_per_month=ingestion.tokens_per_month if ingestion else 0.0,
        ingested_tokens_per_s=ingestion.tokens_per_s if ingestion else 1.0,
        attempted_requests_per_month=attempts,
        moderation_money_per_request=retrieval.moderation_money_per_request,
        host_grade=host.source.grade,
        busy_ratio=busy_ratio,
    )
    services["searching"] = search.search_s
    embed, rerank = encoder_runs(retrieval, card) if card is not None else (None, None)
    alone = sum(services.values()) + DATABASE.value + CALL_S * (len(services) - 1)
    kind = one.kind if not on_card else f"{one.kind}-gpu"
    at = f"{tenure.id}" if tenure else "host"
    return Front(
        id=f"{at} {kind} {cards}+{hosts}",
        title=_title(card, cards + spare, one, hosts + spare),
        accelerator=card,
        embed=embed,
        rerank=rerank,
        index=one,
        host=host,
        search=search,
        services_s=services,
        stages=(),
        latency=Distribution(alone, alone, alone, alone, (alone,) * 9),
        use=use,
        cards_count=cards,
        hosts_count=hosts,
        month_money=sum(stages_money(use, means.terms).values()),
        ingest_hours_per_month=ingestion.hours_per_month if ingestion else 0.0,
        reembedding_cards_count=ingestion.cards_count if ingestion else 0,
        build_s=search.build_s,
        availability_ratio=_availability(cards, spare) * _availability(hosts, spare),
        spread=_spread(services, embed, search),
    )


def _beside_bytes(one: VectorIndex) -> float:
    """Texts, and the raw vectors that product codes are ranked again with, in host memory."""
    beside = float(payloads_bytes.raw(one.vectors_count, one.payload_bytes))
    raw = stored_vectors_bytes.raw(one.vectors_count, one.dims_count, STORED_BITS[one.stored])
    return beside + (float(raw) if one.keep_vectors else 0.0)


def _availability(needed: int, spare: int) -> float:
    return with_spares(AVAILABLE_RATIO, needed + spare, needed) if needed else 1.0


def _spread(services: dict[str, float], embed: EncoderRun | None, search: SearchSpeed) -> tuple[float, float]:
    """The encoders' and the search's intervals, weighed by their time."""
    slow = spread_of_encoder(embed) if embed else tuple(encoder_facts()["spread"]["unseen"])
    encoding_ = (1 / slow[1], 1 / slow[0])  # factors of rates become factors of times
    whole = sum(services.values()) or 1.0
    share = services.get("searching", 0.0) / whole
    low, high = (encoding_[i] * (1 - share) + search.spread[i] * share for i in (0, 1))
    return min(low, 1.0), max(high, 1.0)


def _title(card: Accelerator | None, cards: int, one: VectorIndex, hosts: int) -> str:
    where = f"{cards}×{card.name}" if card else tr("choose.front.host", count=hosts)
    index = tr("choose.front.on_card" if one.accelerator else "choose.front.in_memory", kind=one.kind.upper())
    return tr("choose.front.title", where=where, index=index)


def _held(means: Means, card: Accelerator, count: int, busy_ratio: float) -> Tenure | None:
    """The cheapest lawful way to hold so many, an owner's power and upkeep told; what is held only if it is enough."""
    ways = [one for one in means.tenures(card, count) if one.capacity in STEADY_CAPACITIES]
    plain = Plain(means.terms)
    return min(ways, key=lambda one: float(cards_bill(plain, one, count, busy_ratio)), default=None)


def ingestion_of(brief: Brief, retrieval: Retrieval, means: Means) -> Ingestion | None:
    """Batch work: the card that embeds a token cheapest, and how many of it the window takes. ``None`` without work."""
    per_document = retrieval.chunks_per_document * retrieval.chunk_tokens
    daily = retrieval.updated_per_day * per_document * float(HOURS_PER_MONTH) / 24
    corpus = retrieval.chunks_count * retrieval.chunk_tokens
    tokens = daily + corpus * retrieval.reembeddings_per_year / 12
    best: Ingestion | None = None
    for card in _cards(brief, replace(retrieval, reranker=""), means):
        tenure = min(means.tenures(card, 1), key=lambda one: one.money_per_hour, default=None)
        if tenure is None:
            continue
        embed, _ = encoder_runs(retrieval, card)
        run = replace(embed, batch_count=INGEST_BATCH_COUNT)
        rate = encoder_speed(run, texts_of(retrieval)["chunk"]).tokens_per_s
        hours = tokens / rate / float(S_PER_HOUR)
        cards = max(1, math.ceil(corpus / rate / retrieval.reembedding_s))
        if best is None or tenure.money_per_hour / rate < best.tenure.money_per_hour / best.tokens_per_s:
            best = Ingestion(tenure, card, rate, tokens, hours, cards)
    return best


def _with_stages(front: Front, ask: Ask, acceptance_ratio: float) -> Front:
    """The same with everybody's waiting at the peak."""
    rate = ask.wanted_requests_per_s(acceptance_ratio) / ask.margin_ratio
    from cabida.choose.front_stages import stages_at

    stages = tuple(stages_at(front, rate))
    found = joined(stages)
    return replace(front, stages=stages, latency=found or front.latency)
