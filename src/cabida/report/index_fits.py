"""What ``fit`` answers about a vector index: in host memory, on one accelerator, or on each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.checks.sentences import caution
from cabida.errors import InvalidInput, Problem, UsageProblem
from cabida.facts.model import Accelerator
from cabida.memory.index import IndexMemory
from cabida.plan import Estimate, Setup
from cabida.plan.index import ON_GPU, STORED_BITS, VectorIndex
from cabida.report.beyond_changes import Fields, Found, changes, cure
from cabida.report.beyond_fits import Beyond
from cabida.report.beyond_picture import margin, picture, shown_bytes
from cabida.report.fit_trial import ORDER
from cabida.report.metrics import GIB
from cabida.text import problem, size
from cabida.timing.stages.encoder_data import host_of
from cabida.timing.stages.vector_search import search_speed
from cabida.units import MS_PER_S

HOST, RECALL_RATIO = "cloud-8-core-128", 0.95  # what a search is timed on and for


def index_fit(setup: Setup, own: Beyond, gpus: Sequence[str], as_of: str | None) -> dict[str, Any]:
    """One answer for host memory or one accelerator; ``rows`` for several, or for a kind that lives on GPUs.

    Raises:
        UsageProblem: CB-U041, how many vectors of how many dimensions isn't said.
        InvalidInput: CB-U042, a kind of index that no GPU library searches.
    """
    dims = own.dims or (facts.model(setup.model).hidden_dim_count if setup.model else None)
    if own.vectors is None or dims is None:
        raise UsageProblem([problem("CB-U041")])
    kind = own.index or "hnsw"
    if gpus and kind not in ON_GPU:
        raise InvalidInput([problem("CB-U042", kind=kind, known=", ".join(ON_GPU))])
    if wrong := _refused(own, dims, kind, on_host=not gpus and kind != "cagra"):
        raise InvalidInput(wrong)
    cards: list[Accelerator | None] = [facts.accelerator(one) for one in gpus]
    if not cards and kind == "cagra":
        cards = [one for one in facts.accelerators(as_of).values() if one.vendor.lower() == "nvidia"]
    if len(cards) <= 1:
        return _with_changes(own, dims, kind, cards[0] if cards else None)
    rows = [_answer(_index(own, dims, kind, card)) for card in cards]
    if not gpus:
        rows.sort(key=lambda row: (ORDER[row["verdict"]], row["usable_gib"], row["gpu"]))
    return {"kind": "index", "rows": rows}


def _refused(own: Beyond, dims: int, kind: str, *, on_host: bool) -> list[Problem]:
    """Shapes that no library builds (CB-U054).

    k-means needs a vector for each list (FAISS Clustering.cpp); codes are parts of a vector, equal ones in FAISS
    (ProductQuantizer.cpp), padded in cuVS; CAGRA keeps edges out of those it built with (cuVS cagra_build.cuh).
    """
    usual = VectorIndex(own.vectors or 1.0, dims)
    wrong = []
    if own.lists and own.lists > (own.vectors or 1.0):
        wrong.append(("--lists", own.lists, "--vectors", int(own.vectors or 1)))
    if own.codes and own.codes > dims:
        wrong.append(("--codes", own.codes, "--dims", dims))
    between = own.intermediate_degree or usual.intermediate_degree_count
    if kind == "cagra" and (own.graph_degree or usual.graph_degree_count) > between:
        kept = own.graph_degree or usual.graph_degree_count
        wrong.append(("--graph-degree", kept, "--intermediate-degree", between))
    told = [
        problem("CB-U054", one=one, value=value, other=other, most=most) for one, value, other, most in wrong
    ]
    if kind == "ivf-pq" and on_host and own.codes and own.codes <= dims and dims % own.codes:
        told.append(problem("CB-U055", codes=own.codes, dims=dims))
    return told


def _index(own: Beyond, dims: int, kind: str, card: Accelerator | None) -> VectorIndex:
    usual = VectorIndex(own.vectors or 1.0, dims)
    return VectorIndex(
        vectors_count=own.vectors or 1.0,
        dims_count=dims,
        kind=kind,
        stored=own.stored or usual.stored,
        accelerator=card,
        links_count=own.links or usual.links_count,
        lists_count=own.lists,
        codes_count=own.codes,
        graph_degree_count=own.graph_degree or usual.graph_degree_count,
        intermediate_degree_count=own.intermediate_degree or usual.intermediate_degree_count,
        keep_vectors=own.keep_vectors,
        payload_bytes=own.payload_bytes or 0.0,
        growth_ratio=own.growth or 0.0,
        replicas_count=own.replicas or 1,
    )


def _with_changes(own: Beyond, dims: int, kind: str, card: Accelerator | None) -> dict[str, Any]:
    answer = _answer(_index(own, dims, kind, card))
    if card is None:
        return answer

    def tried(fields: Fields) -> Found:
        mine = replace(own, **fields)
        found = memory.index(_index(mine, dims, mine.index or kind, card))
        return Found(found.verdict, found.headroom_bytes)

    asked = Found(answer["verdict"], answer["headroom_gib"] * GIB)
    offered = changes(asked, _candidates(own, kind), tried)
    return answer | {"changes": offered, "cure": cure(asked, offered, answer["cure"])}


def _candidates(own: Beyond, kind: str) -> Iterator[tuple[str, Fields, list[str]]]:
    """Narrower numbers, then codes in place of numbers."""
    stored = own.stored or "fp32"
    if kind != "ivf-pq":
        for narrower in ("fp16", "int8"):
            if STORED_BITS[narrower] < STORED_BITS[stored]:
                yield narrower, {"stored": narrower}, [f"stored_{narrower}"]
        yield "codes", {"index": "ivf-pq", "keep_vectors": True}, ["codes"]


def _answer(one: VectorIndex) -> dict[str, Any]:
    found = memory.index(one)
    peak = (found.device_bytes or found.host_bytes) / GIB
    return {
        "kind": "index",
        "index": one.kind,
        "gpu": one.accelerator.id if one.accelerator else "host",
        "gpus": 1 if one.accelerator else 0,
        "vectors": one.vectors_count,
        "dims": one.dims_count,
        "stored": one.stored,
        "growth": one.growth_ratio,
        "replicas": one.replicas_count,
        "verdict": found.verdict,
        "runs": True,
        "headroom_gib": found.headroom_bytes / GIB if one.accelerator else None,
        **(_on_card(one.accelerator, found) if one.accelerator else {"usable_gib": None}),
        "needed_gib": (found.usable_bytes - found.headroom_bytes) / GIB if one.accelerator else peak,
        "metrics": {"peak_mem_gib": Estimate(peak, peak, peak, "formula"), **_times(one)},
        "parts_gib": {name: size / GIB for name, size in found.parts.items()},
        "host_gib": found.host_bytes / GIB,
        "device_gib": found.device_bytes / GIB,
        "build_host_gib": found.build_host_bytes / GIB,
        "build_device_gib": found.build_device_bytes / GIB,
        "all_replicas_gib": found.all_replicas_bytes / GIB,
        "bytes_per_vector": found.vector_bytes,
        "largest_vectors": found.largest_vectors_count if one.accelerator else None,
        "gpus_enough": found.accelerators_count if one.accelerator else None,
        "changes": [],
        "cure": found.cure,
        "warnings": _warnings(found) if one.accelerator else [],
    }


def _times(one: VectorIndex) -> dict[str, Estimate]:
    """One search at a recall of 95 %, and a rebuild, on a host of eight cores beside the card, if there is one."""
    speed = search_speed(one, host_of(HOST), RECALL_RATIO)
    low, high = speed.spread
    search, build = speed.search_s * float(MS_PER_S), speed.build_s / 60
    return {
        "search_ms": Estimate(search, search * low, search * high, speed.basis),
        "minutes_to_build": Estimate(build, build * low, build * high, speed.basis),
    }


def _warnings(found: IndexMemory) -> list[dict[str, str]]:
    """What holds an index may be too small to build it."""
    if found.build_device_bytes <= found.usable_bytes:
        return []
    one = caution("CB-K103", peak=size(found.build_device_bytes), room=size(found.usable_bytes))
    return [{"code": one.code, "severity": one.severity, "sentence": one.sentence}]


def _on_card(card: Accelerator, found: IndexMemory) -> dict[str, Any]:
    """The picture of the card, as every fit has it. Nothing here has an interval: sizes follow from the layout."""
    parts = found.parts | {"context": found.context_bytes}
    room, spare = found.usable_bytes, found.headroom_bytes
    return {
        **margin(found.verdict, spare, spare, spare),
        "usable_gib": shown_bytes(card) / GIB,
        "room_gib": room / GIB,
        "memory_gib": picture(parts, card, room, room - spare),
        "intervals_gib": {},
    }
