"""A front at a rate: the stages a request passes, each with its queue, and their figures for the record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cabida.choose.encoders import BATCH_COUNT
from cabida.choose.fronts import CALL_S, Front
from cabida.plan import Estimate
from cabida.timing.stages.encoders import Texts, encode_s
from cabida.timing.stages.pipeline import (
    Stage,
    batched_stage,
    constant_stage,
    joined,
    queued_stage,
    shared_stages,
)
from cabida.timing.stages.vector_constants import DATABASE
from cabida.units import BYTES_PER_GB, BYTES_PER_GIB, MS_PER_S

SEARCH_SCV = 0.3  # squared coefficient of variation of a search's time: walks differ in length; assumed
NAMES = {"embedding": "embed", "searching": "search", "reranking": "rerank"}


def stages_at(front: Front, requests_per_s: float) -> Iterator[Stage]:
    """What a request goes through before generation, at a rate."""
    services = dict(front.services_s)
    search_s = services.pop("searching")
    hosts, cards = max(1, front.hosts_count), max(1, front.cards_count)
    on_card = front.index.accelerator is not None
    if front.accelerator is None:
        yield from _named(shared_stages(services | {"searching": search_s / front.search.servers_count}, requests_per_s,
                                        hosts))  # fmt: skip
    elif on_card:
        yield from _named(shared_stages(services | {"searching": search_s}, requests_per_s, cards))
    else:
        yield from _on_cards(front, services, requests_per_s, cards)
        yield queued_stage("search", search_s, requests_per_s, hosts * front.search.servers_count, SEARCH_SCV)
    yield constant_stage("calls", DATABASE.value + CALL_S * (len(front.services_s) - 1))


def _on_cards(front: Front, services: dict[str, float], rate: float, cards: int) -> Iterator[Stage]:
    """Embedder and reranker take turns on their cards; an embedder alone works all who wait as one batch."""
    if "reranking" in services or front.embed is None:
        yield from _named(shared_stages(services, rate, cards))
        return
    alone = services["embedding"]
    many = encode_s(front.embed, Texts(front.embed.input_tokens), BATCH_COUNT)
    yield batched_stage(
        "embed", alone, max(1e-6, (many - alone) / (BATCH_COUNT - 1)), rate, BATCH_COUNT, cards
    )


def _named(stages: list[Stage]) -> Iterator[Stage]:
    yield from (replace(stage, name=NAMES.get(stage.name, stage.name)) for stage in stages)


def front_metrics(front: Front) -> dict[str, Estimate]:
    """Figures of the stages, under metric names, with their intervals."""
    low, high = front.spread
    found: dict[str, Estimate] = {}
    for stage in front.stages:
        latency = joined([stage])
        if latency is not None and stage.name != "calls":
            value = latency.p95 * float(MS_PER_S)
            found[f"{stage.name}_ms_p95"] = Estimate(value, value * low, value * high, "formula")
    value = front.latency.p95 * float(MS_PER_S)
    found["before_generation_ms_p95"] = Estimate(value, value * low, value * high, "formula")
    gib = front.use.stored_gb * float(BYTES_PER_GB) / float(BYTES_PER_GIB)
    found["index_gib"] = Estimate(gib, gib * 0.9, gib * 1.15, "formula")
    if front.ingest_hours_per_month:
        hours = front.ingest_hours_per_month
        slow, fast = 1 / front.spread[1], 1 / front.spread[0]
        found["ingestion_card_hours"] = Estimate(hours, hours * slow, hours * fast, "formula")
    up = front.availability_ratio
    found["front_availability_ratio"] = Estimate(up, up, up, "assumed")
    return found
