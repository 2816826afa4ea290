"""Constants of vector search, each with its source and interval: how far graphs are walked, how fast memory is read."""

from __future__ import annotations

from cabida.memory.constants import Constant, read
from cabida.quantity import Source

REFERENCE_RECALL = 0.972
MOST_RECALL = 0.9999
CACHE_LINE_BYTES = 64.0
_USEARCH = "https://github.com/unum-cloud/USearch/blob/main/BENCHMARKS.md"
_HNSW = "https://arxiv.org/abs/1603.09320"
_FAISS = "https://github.com/facebookresearch/faiss/wiki"
_CAGRA = "https://arxiv.org/abs/2308.15136"


def _derived(
    name: str, value: float, low: float, high: float, what: str, url: str, grade: str = "derived"
) -> Constant:
    return Constant(name, value, low, high, Source(what, url, "2026-11-30", grade))


REFERENCE_EF = _derived(
    "reference_ef_count", 32.0, 24.0, 48.0,
    "USearch, 1 million vectors of 256 dimensions, M 16: recall@1 of 97.2 % at ef 32, 99.3 % at 64", _USEARCH,
    "quoted",
)  # fmt: skip
EF_POWER = 2.1  # ef over ln(1 / missed): doubling ef from 32 to 64 takes 2.8 % of misses to 0.7 % (USearch)
NEW_NEIGHBOUR_RATIO = _derived(
    "new_neighbour_ratio", 0.6, 0.4, 0.8,
    "of the 2 M links of a visited element, those not seen before: 7 us an ef on one of 64 busy cores", _USEARCH,
)  # fmt: skip
SEARCH_OVERHEAD = _derived(
    "search_overhead_s", 40e-6, 15e-6, 100e-6,
    "left at ef 0 of 280, 486 and 927 us a search at ef 32, 64 and 128: upper levels, heaps, the call", _USEARCH,
)  # fmt: skip
DATABASE = _derived(
    "database_s", 1.5e-3, 0.5e-3, 5e-3,
    "what a vector database adds to an index: a network round trip, filters, fetching the payloads", "", "assumed",
)  # fmt: skip
HOST_SCAN_RATIO = _derived(
    "host_scan_ratio", 0.7, 0.5, 0.85, "share of a host's memory rate that a flat scan on all cores reaches (STREAM)",
    "", "assumed",
)  # fmt: skip
CARD_SCAN_RATIO = _derived(
    "card_scan_ratio", 0.7, 0.5, 0.85, "the same on a card, selecting the nearest included",
    f"{_FAISS}/Faiss-on-the-GPU", "assumed",
)  # fmt: skip
REFERENCE_PROBES = _derived(
    "reference_probe_ratio", 0.016, 0.008, 0.03,
    "share of lists probed for a recall of 97 %: 16 of 1,024 give 0.95 to 0.97 in FAISS' guide for a million vectors",
    f"{_FAISS}/Indexing-1M-vectors",
)  # fmt: skip
PROBE_POWER = 1.6  # probed lists over ln(1 / missed), assumed along the curves of FAISS' guide
CODE_READ_RATIO = _derived(
    "code_read_ratio", 0.35, 0.2, 0.5, "share of a card's memory rate at which product codes are looked up and summed",
    "https://developer.nvidia.com/blog/accelerating-vector-search-nvidia-cuvs-ivf-pq-deep-dive-part-1/", "assumed",
)  # fmt: skip
HOST_LOOKUPS = _derived(
    "host_elements_per_s", 1.5e9, 0.7e9, 4e9,
    "table look-ups a second of one core (FAISS PQ8; fast scan of 4-bit codes is several times faster)",
    _FAISS, "assumed",
)  # fmt: skip
CARD_CALL = _derived(
    "card_call_s",
    150e-6,
    60e-6,
    400e-6,
    "one search call on a card: copies, a few kernels, selection",
    "",
    "assumed",
)
WALK_STEP = _derived(
    "walk_step_s", 3e-6, 1.5e-6, 6e-6,
    "one iteration of CAGRA's walk: a block reads the neighbours of the best candidates and sorts them",
    _CAGRA, "assumed",
)  # fmt: skip
CARD_READ_RATIO = _derived(
    "card_read_ratio",
    0.5,
    0.3,
    0.7,
    "share of a card's memory rate at random reads of whole vectors",
    _CAGRA,
    "assumed",
)
PRODUCT_RATIO = _derived(
    "product_ratio", 0.3, 0.15, 0.6,
    "share of the peak at which distances of many vectors to many are multiplied, selecting the nearest included", "",
    "assumed",
)  # fmt: skip
FRESH_PAIR_RATIO = _derived(
    "fresh_pair_ratio", 0.3, 0.15, 0.6,
    "of the pairs of neighbours' neighbours, those compared in a round of NN-descent: only new ones are", _CAGRA,
    "assumed",
)  # fmt: skip
BATCHED_COUNT = 1024  # searches of a flat index that one multiplication takes together: assumed
EF_CONSTRUCTION = read(
    "ef_construction_count", 200.0, "hnswlib and Lucene defaults lie from 100 to 200", _HNSW
)
TRAIN_ROUNDS = read(
    "train_rounds_count", 20.0, "cuVS kmeans_n_iters", "https://docs.rapids.ai/api/cuvs/stable/"
)
GRAPH_ROUNDS = _derived(
    "graph_rounds_count",
    20.0,
    10.0,
    30.0,
    "rounds of NN-descent before the graph is pruned",
    _CAGRA,
    "quoted",
)
