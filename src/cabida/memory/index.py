"""Memory of vector indexes: flat, HNSW, IVF-flat, IVF-PQ and CAGRA, in host memory or on an accelerator.

Shapes as hnswlib, FAISS and cuVS lay them out; each formula names where. What a database adds around an index
(write-ahead logs, deleted rows, a second copy while it merges) is not in here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cabida.memory import budget as budgets
from cabida.memory.constants import GIB, Constant, read
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.limits import TIGHT_RATIO, largest, verdict_of
from cabida.memory.media_constants import MEDIA_CONTEXT_BYTES
from cabida.plan.index import STORED_BITS, VectorIndex
from cabida.quantity import Quantity, Source, formula
from cabida.text import number, size, tr
from cabida.units import BITS_PER_BYTE

MOST_VECTORS = 10**12
_HNSWLIB = "https://github.com/nmslib/hnswlib/blob/master/hnswlib/hnswalg.h"
_FAISS = "https://github.com/facebookresearch/faiss/wiki/Guidelines-to-choose-an-index"
_CUVS = "https://docs.rapids.ai/api/cuvs/stable/neighbors/"

LINK_BYTES = read("link_bytes", 4.0, "tableint: an element's number in 32 bit", _HNSWLIB, "vendor")
LABEL_BYTES = read("label_bytes", 8.0, "labeltype, FAISS idx_t, cuVS int64 indices", _HNSWLIB, "vendor")
ELEMENT_BYTES = Constant(
    "element_bytes", 100.0, 60.0, 120.0,
    Source("hnswlib, each element: pointer to its upper links (8), level (4), mutex (40), entry of the label table "
           "(about 48)", _HNSWLIB, "2026-11-30", "derived"),
)  # fmt: skip
CENTRE_BYTES = read("centre_bytes", 4.0, "coarse centres are kept in fp32", _FAISS, "derived")
LIST_BYTES = read(
    "list_bytes", 20.0, "cuVS IVF-PQ, extras of each list beside 8 bytes a dimension", _CUVS, "vendor"
)
TRAIN_RATIO = read("train_ratio", 0.5, "cuVS kmeans_trainset_fraction", _CUVS, "vendor")
OPTIMISE_BYTES = read(
    "optimise_bytes", 5.0, "cuVS CAGRA, optimising the graph: an index and a byte for each intermediate edge", _CUVS,
    "vendor",
)  # fmt: skip
WORKSPACE_BYTES = Constant(
    "workspace_bytes", 1.5 * GIB, 0.3 * GIB, 2.0 * GIB,
    Source("FAISS reserves 1.5 GiB on cards of more than 8 GiB (StandardGpuResources); cuVS sizes batches to fit",
           "https://github.com/facebookresearch/faiss/wiki/Faiss-on-the-GPU", "2026-11-30", "quoted"),
)  # fmt: skip


@formula
def stored_vectors_bytes(vectors_count: float, dims_count: float, stored_bits: float) -> float:
    """Vectors as they are stored: flat arrays, one number after another. FAISS IndexFlat, IndexScalarQuantizer."""
    return vectors_count * dims_count * stored_bits / BITS_PER_BYTE


@formula
def hnsw_graph_bytes(
    vectors_count: float, links_count: float, link_bytes: float, label_bytes: float, element_bytes: float
) -> float:
    """Links of an HNSW index: 2 M on the lowest level, M on each level above, of which an element has 1/(M-1).

    Malkov and Yashunin 2018, section 4.2.3; hnswlib hnswalg.h (counts of links beside each list).
    """
    lowest_bytes = (2 * links_count + 1) * link_bytes
    upper_bytes = (links_count + 1) * link_bytes / (links_count - 1)
    return vectors_count * (lowest_bytes + upper_bytes + label_bytes + element_bytes)


@formula
def cluster_bytes(lists_count: float, dims_count: float, centre_bytes: float, list_bytes: float) -> float:
    """Coarse centres of an inverted file, and what each list has beside them."""
    return lists_count * (dims_count * centre_bytes + list_bytes)


@formula
def label_list_bytes(vectors_count: float, label_bytes: float) -> float:
    """Which vector each entry of a list is."""
    return vectors_count * label_bytes


@formula
def codes_bytes(vectors_count: float, codes_count: float, code_bits: float) -> float:
    """Product-quantised vectors. Jegou et al. 2011, section II."""
    return vectors_count * codes_count * code_bits / BITS_PER_BYTE


@formula
def codebooks_bytes(dims_count: float, code_levels_count: float, centre_bytes: float) -> float:
    """Codebooks of all sub-quantisers together."""
    return code_levels_count * dims_count * centre_bytes


@formula
def even_graph_bytes(vectors_count: float, degree_count: float, link_bytes: float) -> float:
    """A graph in which every vector has the same number of edges. Ootomo et al. 2024 (CAGRA)."""
    return vectors_count * degree_count * link_bytes


@formula
def graph_optimising_bytes(
    vectors_count: float, intermediate_count: float, optimise_bytes: float, link_bytes: float
) -> float:
    """What pruning the intermediate graph takes on the accelerator. cuVS, CAGRA, build peak memory usage."""
    return vectors_count * (link_bytes + optimise_bytes * intermediate_count)


@formula
def training_bytes(vectors_count: float, train_ratio: float, dims_count: float, centre_bytes: float) -> float:
    """Vectors in fp32 and their labels while clusters are trained. cuVS, IVF-PQ, build peak memory usage."""
    return vectors_count * train_ratio * (dims_count * centre_bytes + centre_bytes)


@formula
def payloads_bytes(vectors_count: float, payload_bytes: float) -> float:
    """Text and metadata kept beside the vectors."""
    return vectors_count * payload_bytes


@dataclass(frozen=True, slots=True)
class IndexMemory:
    """Memory of one replica of an index, in bytes. ``device`` is 0 for an index in host memory."""

    parts: dict[
        str, float
    ]  # vectors, graph, lists, labels, codes, codebooks, workspace: where the index is searched
    host_bytes: float  # in host memory while it is searched
    device_bytes: float
    build_host_bytes: float  # at the peak of building it
    build_device_bytes: float
    vector_bytes: float  # one more vector, everything together
    all_replicas_bytes: float
    usable_bytes: float  # of the accelerator; 0 for host memory
    verdict: str  # fits | tight | no; "" for host memory, whose size isn't known
    headroom_bytes: float
    context_bytes: float  # of the process that searches it on the accelerator
    largest_vectors_count: float  # on this accelerator; 0 for host memory
    accelerators_count: int  # of this kind that would hold one replica, split evenly; 0 for host memory
    cure: str


def _figures(one: VectorIndex, lens: Lens) -> dict[str, Number]:
    """Every part of an index, and of building it, through a lens."""
    count = lens.setting("vectors_count", one.vectors_count * (1 + one.growth_ratio))
    dims = lens.setting("dims_count", one.dims_count)
    link, label = lens.constant(LINK_BYTES), lens.constant(LABEL_BYTES)
    centre = lens.constant(CENTRE_BYTES)
    found: dict[str, Number] = {}
    if one.kind != "ivf-pq":
        found["vectors"] = lens.of(stored_vectors_bytes)(
            count, dims, lens.setting("stored_bits", STORED_BITS[one.stored])
        )
    if one.kind == "hnsw":
        links = lens.setting("links_count", one.links_count)
        found["graph"] = lens.of(hnsw_graph_bytes)(count, links, link, label, lens.constant(ELEMENT_BYTES))
    if one.kind == "cagra":
        degree = lens.setting("degree_count", one.graph_degree_count)
        found["graph"] = lens.of(even_graph_bytes)(count, degree, link)
    if one.kind.startswith("ivf"):
        lists = lens.setting("lists_count", lists_of(one))
        found["lists"] = lens.of(cluster_bytes)(lists, dims, centre, lens.constant(LIST_BYTES))
        found["labels"] = lens.of(label_list_bytes)(count, label)
    if one.kind == "ivf-pq":
        bits = lens.setting("code_bits", one.code_bits)
        found["codes"] = lens.of(codes_bytes)(count, lens.setting("codes_count", codes_of(one)), bits)
        levels = lens.setting("code_levels_count", 2.0**one.code_bits)
        found["codebooks"] = lens.of(codebooks_bytes)(dims, levels, centre)
    if one.accelerator is not None:
        found["workspace"] = lens.constant(WORKSPACE_BYTES)
    return found


def _building(one: VectorIndex) -> float:
    """Memory at the peak of building beside the index itself, where it is searched."""
    count = one.vectors_count * (1 + one.growth_ratio)
    made = 0.0
    if one.kind == "cagra":
        degree = one.intermediate_degree_count
        made = graph_optimising_bytes.raw(count, degree, OPTIMISE_BYTES.value, LINK_BYTES.value)
    elif one.kind.startswith("ivf"):
        made = training_bytes.raw(count, TRAIN_RATIO.value, one.dims_count, CENTRE_BYTES.value)
    return float(made)


def lists_of(one: VectorIndex) -> int:
    """Clusters of an inverted file."""
    return one.lists_count or max(1, round(math.sqrt(one.vectors_count)))


def codes_of(one: VectorIndex) -> int:
    """Sub-quantisers: as asked, else as cuVS chooses them: half of 128 dimensions and more, in multiples of 32.

    Of fewer the largest power of two. cuVS ivf_pq_index.cu, calculate_pq_dim.
    """
    if one.codes_count:
        return one.codes_count
    halved = one.dims_count // 2 if one.dims_count >= 128 else one.dims_count
    return halved - halved % 32 if halved >= 32 else 1 << (halved.bit_length() - 1)


def index(one: VectorIndex) -> IndexMemory:
    """Memory of one replica of a vector index, and whether it fits its accelerator."""
    count = one.vectors_count * (1 + one.growth_ratio)
    parts = {name: float(part) for name, part in _figures(one, PLAIN).items()}
    searched, beside = sum(parts.values()), float(payloads_bytes.raw(count, one.payload_bytes))
    raw = stored_vectors_bytes.raw(count, one.dims_count, STORED_BITS[one.stored])
    kept = raw if one.keep_vectors and one.kind == "ivf-pq" else 0.0
    on_card, building = one.accelerator is not None, _building(one)
    host = beside + kept + (0.0 if on_card else searched)
    graph = LINK_BYTES.value * count * one.intermediate_degree_count if one.kind == "cagra" else 0.0
    room = _room(one)
    needed = searched + MEDIA_CONTEXT_BYTES.value if on_card else 0.0
    verdict = verdict_of(needed, room) if on_card else ""
    return IndexMemory(
        parts=parts | ({"raw_vectors": kept} if kept and not on_card else {}),
        host_bytes=host,
        device_bytes=searched if on_card else 0.0,
        build_host_bytes=host + graph + (raw if on_card else building),
        build_device_bytes=max(searched, raw + building) if on_card and one.kind == "cagra"
        else searched + building if on_card else 0.0,
        vector_bytes=_per_vector(one),
        all_replicas_bytes=one.replicas_count * (host + (searched if on_card else 0.0)),
        usable_bytes=room,
        verdict=verdict,
        headroom_bytes=room - needed if on_card else 0.0,
        context_bytes=MEDIA_CONTEXT_BYTES.value if on_card else 0.0,
        largest_vectors_count=_largest(one, room) if on_card else 0.0,
        accelerators_count=_cards(one, room) if on_card else 0,
        cure=_cure(one, room, needed) if verdict in ("no", "tight") else "",
    )  # fmt: skip


def searched_bytes(one: VectorIndex) -> float:
    """What an index takes where it is searched, texts beside it left out, without the rest of a whole answer."""
    return sum(float(part) for part in _figures(one, PLAIN).values())


def _room(one: VectorIndex) -> float:
    return float(budgets.visible(one.accelerator, PLAIN)) if one.accelerator is not None else 0.0


def _held(one: VectorIndex) -> float:
    return sum(float(part) for part in _figures(one, PLAIN).values()) + MEDIA_CONTEXT_BYTES.value


def _per_vector(one: VectorIndex) -> float:
    """What one more vector takes, the number of lists as it is."""
    fixed = replace(one, lists_count=lists_of(one), growth_ratio=0.0)
    more = replace(fixed, vectors_count=one.vectors_count + 1000)
    raw = float(stored_vectors_bytes.raw(1.0, one.dims_count, STORED_BITS[one.stored]))
    kept = raw if one.keep_vectors and one.kind == "ivf-pq" else 0.0
    return (_held(more) - _held(fixed)) / 1000 + one.payload_bytes + kept


def _largest(one: VectorIndex, room: float) -> float:
    return largest(lambda count: _held(replace(one, vectors_count=float(count))) <= room, MOST_VECTORS)


def _cards(one: VectorIndex, room: float) -> int:
    """Cards of this kind that hold one replica, its vectors dealt out evenly."""
    for cards in range(1, 1025):
        if _held(replace(one, vectors_count=one.vectors_count / cards)) <= TIGHT_RATIO * room:
            return cards
    return 0


def _cure(one: VectorIndex, room: float, needed: float) -> str:
    """A narrower format that fits, else product quantisation, else more cards."""
    narrower = [stored for stored in ("fp16", "int8") if STORED_BITS[stored] < STORED_BITS[one.stored]]
    for stored in narrower if one.kind != "ivf-pq" else ():
        held = _held(replace(one, stored=stored))
        if held <= TIGHT_RATIO * room:
            return tr("memory.cure.index.stored", stored=stored, needed=size(held), room=size(room))
    coded = replace(one, kind="ivf-pq")
    if one.kind != "ivf-pq" and _held(coded) <= TIGHT_RATIO * room:
        return tr("memory.cure.index.codes", needed=size(_held(coded)), room=size(room))
    if cards := _cards(one, room):
        return tr("memory.cure.index.cards", count=number(cards, 5), needed=size(needed), room=size(room))
    return tr("memory.cure.index.none", needed=size(needed), room=size(room))


def index_tree(one: VectorIndex) -> dict[str, Quantity]:
    """The parts of :func:`index` with their provenance."""
    return {
        f"{name}_bytes": node.named(f"{name}_bytes") for name, node in _figures(one, Explaining()).items()
    }
