"""The noun of a retrieval job: a corpus, its index, and the stages before generation."""

from __future__ import annotations

from dataclasses import dataclass

CHUNK_TOKENS, OVERLAP_RATIO = 400.0, 0.1
DOCUMENT_TOKENS = 1200.0
CANDIDATES, PASSAGES, QUERY_TOKENS, RECALL_RATIO = 50, 5, 32.0, 0.95
REEMBEDDING_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The corpus and the way to it.

    Attributes:
        documents_count: documents there are; document_tokens: mean length of one.
        chunk_tokens: of a passage, as embedded and as put into the prompt; overlap_ratio of it is said twice.
        embedder, reranker: model ids; "" = no reranker.
        dims_count: dimensions kept of a vector; ``None`` = all of the embedder's.
        candidates_count: passages searched for (and reranked); passages_count: of those put into the prompt.
        query_tokens: what is embedded of a question.
        index: kind of index, "any" = choose for me; stored: how a number is kept.
        recall_ratio: share of the true neighbours the search must find.
        updated_per_day: documents added or changed a day.
        reembeddings_per_year: changes of the embedder, after each of which everything is embedded again within
            reembedding_s.
        moderation_money_per_request: of a filter bought by the call.
    """

    documents_count: float | None = None
    document_tokens: float = DOCUMENT_TOKENS
    chunk_tokens: float = CHUNK_TOKENS
    overlap_ratio: float = OVERLAP_RATIO
    embedder: str = ""
    reranker: str = ""
    dims_count: int | None = None
    candidates_count: int = CANDIDATES
    passages_count: int = PASSAGES
    query_tokens: float = QUERY_TOKENS
    index: str = "any"
    stored: str = "fp32"
    recall_ratio: float = RECALL_RATIO
    updated_per_day: float = 0.0
    reembeddings_per_year: float = 0.0
    reembedding_s: float = REEMBEDDING_S
    moderation_money_per_request: float = 0.0

    @property
    def chunks_per_document(self) -> float:
        """Passages a document is cut into, overlaps counted."""
        return max(1.0, self.document_tokens / (self.chunk_tokens * (1 - self.overlap_ratio)))

    @property
    def chunks_count(self) -> float:
        """Vectors in the index."""
        return (self.documents_count or 0.0) * self.chunks_per_document
