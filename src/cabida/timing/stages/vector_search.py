"""How long one search of a vector index takes, how many a second, and what updates and rebuilding cost in time.

By physics: a flat index is read whole; a graph (HNSW, CAGRA) is walked, one random read of a vector for each new
neighbour; an inverted file reads the centres and the lists it probes. Recall is a parameter: it decides how far a
graph is walked (ef) and how many lists are probed. Times are of one search; ``searches_per_s`` of a full machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cabida.memory.constants import Constant
from cabida.memory.index import TRAIN_RATIO, codes_of, lists_of
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.plan.index import STORED_BITS, VectorIndex
from cabida.quantity import Quantity, formula, least, most
from cabida.timing.devices.rates import memory_rate, tensor_rate, vector_rate
from cabida.timing.stages import vector_constants as given
from cabida.timing.stages.encoder_data import Host
from cabida.units import BITS_PER_BYTE


@formula
def walked_count(
    reference_ef_count: float,
    effort_ratio: float,
    neighbours_count: float,
    size_ratio: float,
) -> float:
    """Elements a search of a graph expands (ef) for a recall. Malkov and Yashunin 2018: grows with ln of the size."""
    return neighbours_count + reference_ef_count * effort_ratio * size_ratio


@formula
def graph_reads_count(walked_count: float, links_count: float, new_neighbour_ratio: float) -> float:
    """Vectors whose distance a walk works out: the links of each expanded element that were not seen before."""
    return walked_count * 2 * links_count * new_neighbour_ratio


@formula
def vector_read_s(vector_bytes: float, random_read_s: float, core_bytes_per_s: float) -> float:
    """One vector from a random place: the wait for its first line, then the rest in a stream."""
    return random_read_s + vector_bytes / core_bytes_per_s


@formula
def walk_s(graph_reads_count: float, vector_read_s: float, search_overhead_s: float) -> float:
    """One search of an HNSW graph by one core."""
    return search_overhead_s + graph_reads_count * vector_read_s


@formula
def scan_s(scanned_bytes: float, bytes_per_s: float, scan_ratio: float, call_s: float) -> float:
    """One search that reads everything: bytes over bandwidth."""
    return call_s + scanned_bytes / (bytes_per_s * scan_ratio)


@formula
def probed_count(vectors_count: float, probe_ratio: float) -> float:
    """Vectors in the lists that are probed. Jegou et al. 2011, section IV."""
    return vectors_count * probe_ratio


@formula
def probed_bytes(probed_count: float, entry_bytes: float, lists_bytes: float) -> float:
    """What a search of an inverted file reads: all centres, then the entries of the probed lists."""
    return lists_bytes + probed_count * entry_bytes


@formula
def probe_ratio(reference_probe_ratio: float, effort_ratio: float, one_list_ratio: float) -> Any:
    """Share of the lists probed for a recall: one at least, all at most."""
    return least(1, most(one_list_ratio, reference_probe_ratio * effort_ratio))


@formula
def codes_on_host_s(
    probed_count: float, codes_count: float, host_elements_per_s: float, centres_s: float
) -> float:
    """One search of product codes by one core: centres first, then a look-up for each code."""
    return centres_s + probed_count * codes_count / host_elements_per_s


@dataclass(frozen=True, slots=True)
class SearchSpeed:
    """How fast an index answers. ``spread``: factors of the 90 % interval of the time, from those of its constants."""

    search_s: float  # one search, database and network left aside
    request_s: float  # the same with them
    searches_per_s: float  # of a full machine (all cores, or a card with many at once)
    servers_count: int  # searches worked on at once
    recall_ratio: float
    spread: tuple[float, float]
    insert_s: float  # one vector into the index, on one core or card
    inserts_per_s: float  # on the whole machine
    build_s: float  # the whole index anew
    basis: str = "physics"


def effort_of(recall_ratio: float, power: float) -> float:
    """Work for a recall over that for the reference's: a power of ln(1 / missed) over the reference's."""
    missed = 1 - min(max(recall_ratio, 0.5), given.MOST_RECALL)
    return float((math.log(missed) / math.log(1 - given.REFERENCE_RECALL)) ** power)


def _size_ratio(vectors_count: float) -> float:
    """Logarithm of the size over that of the reference's million."""
    return math.log(max(vectors_count, 10.0)) / math.log(1e6)


def _walk(one: VectorIndex, recall_ratio: float, neighbours: float, host: Host, lens: Lens) -> Number:
    """Seconds of one walk of an HNSW graph on one of the host's cores, all of them busy."""
    walked = lens.of(walked_count)(
        lens.constant(given.REFERENCE_EF), lens.setting("effort_ratio", effort_of(recall_ratio, given.EF_POWER)),
        lens.setting("neighbours_count", neighbours), lens.setting("size_ratio", _size_ratio(one.vectors_count)),
    )  # fmt: skip
    reads = lens.of(graph_reads_count)(
        walked, lens.setting("links_count", one.links_count), lens.constant(given.NEW_NEIGHBOUR_RATIO)
    )
    return lens.of(walk_s)(reads, _read(one, host, lens), lens.constant(given.SEARCH_OVERHEAD))


def _read(one: VectorIndex, host: Host, lens: Lens) -> Number:
    wide = max(given.CACHE_LINE_BYTES, one.dims_count * STORED_BITS[one.stored] / BITS_PER_BYTE)
    return lens.of(vector_read_s)(
        lens.setting("vector_bytes", wide), lens.setting("random_read_s", host.random_read_s),
        lens.setting("core_bytes_per_s", host.bytes_per_s / host.cores_count),
    )  # fmt: skip


def _all_bytes(one: VectorIndex) -> float:
    return one.vectors_count * one.dims_count * STORED_BITS[one.stored] / BITS_PER_BYTE


def _probes(one: VectorIndex, recall_ratio: float, lens: Lens) -> Number:
    share = lens.of(probe_ratio)(
        lens.constant(given.REFERENCE_PROBES),
        lens.setting("effort_ratio", effort_of(recall_ratio, given.PROBE_POWER)),
        lens.setting("one_list_ratio", 1.0 / lists_of(one)),
    )
    return lens.of(probed_count)(lens.setting("vectors_count", one.vectors_count), share)


def _search(one: VectorIndex, recall_ratio: float, neighbours: float, host: Host, lens: Lens) -> Number:
    """Seconds of one search, through a lens."""
    if one.accelerator is None:
        return _on_host(one, recall_ratio, neighbours, host, lens)
    rate = lens.setting("bytes_per_s", memory_rate(one.accelerator))
    call, ratio = lens.constant(given.CARD_CALL), lens.constant(given.CARD_SCAN_RATIO)
    if one.kind == "flat":
        return lens.of(scan_s)(lens.setting("scanned_bytes", _all_bytes(one)), rate, ratio, call)
    if one.kind == "cagra":
        walked = lens.of(walked_count)(
            lens.constant(given.REFERENCE_EF), lens.setting("effort_ratio", effort_of(recall_ratio, given.EF_POWER)),
            lens.setting("neighbours_count", neighbours), lens.setting("size_ratio", _size_ratio(one.vectors_count)),
        )  # fmt: skip
        return lens.of(walk_s)(walked, lens.constant(given.WALK_STEP), call)
    probed = _probes(one, recall_ratio, lens)
    centres = lists_of(one) * one.dims_count * 4.0
    wide = codes_of(one) * one.code_bits / 8 if one.kind == "ivf-pq" else _all_bytes(one) / one.vectors_count
    read_ratio = lens.constant(given.CODE_READ_RATIO if one.kind == "ivf-pq" else given.CARD_SCAN_RATIO)
    return lens.of(scan_s)(_probed(probed, wide, centres, lens), rate, read_ratio, call)


def _on_host(one: VectorIndex, recall_ratio: float, neighbours: float, host: Host, lens: Lens) -> Number:
    if one.kind == "hnsw":
        return _walk(one, recall_ratio, neighbours, host, lens)
    rate, ratio = lens.setting("bytes_per_s", host.bytes_per_s), lens.constant(given.HOST_SCAN_RATIO)
    call = lens.constant(given.SEARCH_OVERHEAD)
    if one.kind == "flat":
        return lens.of(scan_s)(lens.setting("scanned_bytes", _all_bytes(one)), rate, ratio, call)
    probed = _probes(one, recall_ratio, lens)
    centres = lists_of(one) * one.dims_count * 4.0
    if one.kind == "ivf-pq":
        first = lens.of(scan_s)(lens.setting("scanned_bytes", centres), rate, ratio, call)
        codes = lens.setting("codes_count", codes_of(one))
        return lens.of(codes_on_host_s)(probed, codes, lens.constant(given.HOST_LOOKUPS), first)
    wide = _all_bytes(one) / one.vectors_count
    return lens.of(scan_s)(_probed(probed, wide, centres, lens), rate, ratio, call)


def _probed(probed: Number, wide: float, centres: float, lens: Lens) -> Number:
    return lens.of(probed_bytes)(
        probed, lens.setting("entry_bytes", wide), lens.setting("lists_bytes", centres)
    )


def search_speed(
    one: VectorIndex, host: Host, recall_ratio: float = 0.95, neighbours_count: float = 10.0
) -> SearchSpeed:
    """Time of one search at a recall, searches per second of the machine, and the time of updates and a rebuild.

    Args:
        one: the index; its accelerator, or host memory.
        host: the machine it lives on: its cores walk graphs, its memory is scanned.
        recall_ratio: share of the true neighbours that must be found; a flat index finds all.
        neighbours_count: how many are asked for.
    """
    kept = 1.0 if one.kind == "flat" else recall_ratio
    alone = float(_search(one, kept, neighbours_count, host, PLAIN))
    servers = _servers(one, host)
    insert, parallel = _insert(one, host)
    low, high = _spread(one, kept, neighbours_count, host)
    return SearchSpeed(
        search_s=alone,
        request_s=alone + given.DATABASE.value,
        searches_per_s=_most(one, alone, host, kept, neighbours_count),
        servers_count=servers,
        recall_ratio=kept,
        spread=(low, high),
        insert_s=insert,
        inserts_per_s=parallel / insert,
        build_s=_build(one, host),
    )


def _servers(one: VectorIndex, host: Host) -> int:
    """Searches at once: a core each for graphs and codes; a scan takes the whole machine, so does a card's."""
    if one.accelerator is not None:
        return 1
    return host.cores_count if one.kind in ("hnsw", "ivf-pq") else 1


def _most(one: VectorIndex, alone_s: float, host: Host, recall_ratio: float, neighbours: float) -> float:
    """Searches a second at the most: cores, or for a card what its memory feeds when many are batched."""
    card = one.accelerator
    if card is None:
        return _servers(one, host) / alone_s
    if one.kind == "flat":  # a batch reads the vectors once and multiplies
        flop = 2.0 * one.vectors_count * one.dims_count
        return min(
            given.PRODUCT_RATIO.value * tensor_rate(card, "fp16") / flop, given.BATCHED_COUNT / alone_s
        )
    if one.kind == "cagra":
        wide = one.dims_count * STORED_BITS[one.stored] / BITS_PER_BYTE
        walked = walked_count.raw(
            given.REFERENCE_EF.value,
            effort_of(recall_ratio, given.EF_POWER),
            neighbours,
            _size_ratio(one.vectors_count),
        )
        reads = walked * one.graph_degree_count * given.NEW_NEIGHBOUR_RATIO.value
        return float(memory_rate(card) * given.CARD_READ_RATIO.value / (reads * wide))
    return 1.0 / (alone_s - given.CARD_CALL.value)  # calls of many searches are shared


def _insert(one: VectorIndex, host: Host) -> tuple[float, float]:
    """Seconds of one insertion by one worker, and workers at once. An HNSW insertion is a search at ef_construction."""
    if one.kind == "hnsw":
        reads = graph_reads_count.raw(
            given.EF_CONSTRUCTION.value, one.links_count, given.NEW_NEIGHBOUR_RATIO.value
        )
        return float(
            walk_s.raw(reads, float(_read(one, host, PLAIN)), given.SEARCH_OVERHEAD.value)
        ), host.cores_count
    wide = one.dims_count * STORED_BITS[one.stored] / BITS_PER_BYTE
    if one.kind == "flat":
        return wide / host.bytes_per_s + given.CACHE_LINE_BYTES / host.bytes_per_s, 1
    if one.kind == "cagra":  # extended in batches, each new vector searched for its neighbours
        return 1.0 / _most(one, 1.0, host, given.REFERENCE_RECALL, one.graph_degree_count), 1
    centres_s = lists_of(one) * one.dims_count * 2.0 / (given.PRODUCT_RATIO.value * _flop_rate(one, host))
    return centres_s + wide / host.bytes_per_s, 1


def _flop_rate(one: VectorIndex, host: Host) -> float:
    return vector_rate(one.accelerator) if one.accelerator else host.flop_per_s


def _build(one: VectorIndex, host: Host) -> float:
    """The whole index anew: insertions, clusters trained and vectors dealt out, or neighbours of neighbours."""
    insert, workers = _insert(one, host)
    if one.kind in ("flat", "hnsw"):
        return one.vectors_count * insert / workers
    rate = given.PRODUCT_RATIO.value * _flop_rate(one, host)
    if one.kind == "cagra":
        pairs = one.vectors_count * one.intermediate_degree_count**2 * given.FRESH_PAIR_RATIO.value
        return pairs * given.GRAPH_ROUNDS.value * 2 * one.dims_count / rate
    rounds = given.TRAIN_ROUNDS.value * TRAIN_RATIO.value + 1
    return 2.0 * one.vectors_count * lists_of(one) * one.dims_count * rounds / rate


MOVED = (
    given.REFERENCE_EF,
    given.NEW_NEIGHBOUR_RATIO,
    given.SEARCH_OVERHEAD,
    given.HOST_SCAN_RATIO,
    given.CARD_SCAN_RATIO,
    given.REFERENCE_PROBES,
    given.CODE_READ_RATIO,
    given.HOST_LOOKUPS,
    given.CARD_CALL,
    given.WALK_STEP,
)


class _Moved:
    """Bare floats with one constant moved to the end of its interval."""

    def __init__(self, name: str, *, high: bool) -> None:
        self._name, self._high = name, high

    of, field, setting = PLAIN.of, PLAIN.field, PLAIN.setting

    def constant(self, row: Constant) -> Number:
        if row.name != self._name:
            return row.value
        return row.high if self._high else row.low


def _spread(one: VectorIndex, recall_ratio: float, neighbours: float, host: Host) -> tuple[float, float]:
    """Factors of the interval: each constant to its ends, the others kept, added in quadrature of logarithms."""
    now = float(_search(one, recall_ratio, neighbours, host, PLAIN))
    down = up = 0.0
    for row in MOVED:
        ends = [math.log(float(_search(one, recall_ratio, neighbours, host, _Moved(row.name, high=end))) / now)
                for end in (False, True)]  # fmt: skip
        down += min(0.0, *ends) ** 2
        up += max(0.0, *ends) ** 2
    return math.exp(-math.sqrt(down)), math.exp(math.sqrt(up))


def search_tree(
    one: VectorIndex, host: Host, recall_ratio: float = 0.95, neighbours_count: float = 10.0
) -> dict[str, Quantity]:
    """The seconds of one search with their provenance."""
    made: Any = _search(
        one, 1.0 if one.kind == "flat" else recall_ratio, neighbours_count, host, Explaining()
    )
    return {"search_s": made}
