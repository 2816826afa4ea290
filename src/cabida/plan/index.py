"""A vector index: how many vectors are searched, how they are kept, and where."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator

KINDS = ("flat", "hnsw", "ivf-flat", "ivf-pq", "cagra")
ON_GPU = ("flat", "ivf-flat", "ivf-pq", "cagra")  # kinds that GPU libraries search
STORED_BITS = {"fp32": 32.0, "fp16": 16.0, "int8": 8.0, "binary": 1.0}


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """Vectors x kind of index x how a number is stored x host or accelerator."""

    vectors_count: float
    dims_count: int
    kind: str = "hnsw"  # one of KINDS
    stored: str = "fp32"  # one of STORED_BITS: scalar or binary quantisation
    accelerator: Accelerator | None = None  # None = host memory
    links_count: int = 16  # HNSW: M, links of an element on each upper level, twice as many on the lowest
    lists_count: int | None = None  # IVF: clusters; None = the square root of the vectors
    codes_count: int | None = None  # IVF-PQ: sub-quantisers; None = cuVS's heuristic, half the dimensions
    code_bits: int = 8
    graph_degree_count: int = 64  # CAGRA
    intermediate_degree_count: int = 128
    keep_vectors: bool = False  # IVF-PQ: raw vectors stay in host memory, to rank the best again
    payload_bytes: float = 0.0  # kept beside each vector in host memory: text, metadata
    growth_ratio: float = 0.0  # how many more vectors there will be, over those of today
    replicas_count: int = 1
