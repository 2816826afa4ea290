"""Answers out of one's own documents: what a brief says of the corpus, the index and the stages before generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cabida.brief import kinds
from cabida.brief.corpus import Retrieval
from cabida.brief.kinds import number, word
from cabida.brief.shapes import Group, OneOf

if TYPE_CHECKING:
    from cabida.brief.amounts import Purse

INDEX_KINDS = ("any", "flat", "hnsw", "ivf-flat", "ivf-pq", "cagra")
STORED = ("fp32", "fp16", "int8", "binary")
DEFAULT_EMBEDDER = "BAAI/bge-m3"


def _one(kind: kinds.Kind) -> OneOf:
    return OneOf(scalar=kind)


_MODEL = kinds.text("model", longest=240)
RETRIEVAL = Group(
    "retrieval",
    {
        "documents": _one(kinds.AMOUNT),
        "document_tokens": _one(kinds.LENGTH),
        "chunk_tokens": _one(kinds.LENGTH),
        "overlap": _one(number("share", "ratio", high=0.9)),
        "embedder": _one(_MODEL),
        "reranker": _one(_MODEL),
        "dims": _one(kinds.COUNT),
        "candidates": _one(kinds.COUNT),
        "passages": _one(kinds.COUNT),
        "query_tokens": _one(kinds.LENGTH),
        "index": _one(word(*INDEX_KINDS)),
        "stored": _one(word(*STORED)),
        "recall": _one(number("share", "ratio", low=0.5, high=0.9999)),
        "updated_per_day": _one(number("amount", "count", high=1e15, likely_whole=True)),
        "reembeddings_per_year": _one(kinds.FACTOR),
        "reembedding_window": _one(kinds.DURATION),
        "moderation_per_request": _one(kinds.money("output")),
    },
)
_NONE = ("none", "no", "ninguno", "ninguna")


def retrieval_of(plain: dict[str, Any] | None, purse: Purse) -> Retrieval | None:
    """The noun that the checked values stand for."""
    if plain is None:
        return None
    given = Retrieval()
    reranker = plain.get("reranker") or ""

    def said(key: str, default: Any) -> Any:
        return default if plain.get(key) is None else plain[key]

    return Retrieval(
        documents_count=plain.get("documents"),
        document_tokens=said("document_tokens", given.document_tokens),
        chunk_tokens=said("chunk_tokens", given.chunk_tokens),
        overlap_ratio=said("overlap", given.overlap_ratio),
        embedder=plain.get("embedder") or "",
        reranker="" if reranker.lower() in _NONE else reranker,
        dims_count=plain.get("dims"),
        candidates_count=said("candidates", given.candidates_count),
        passages_count=said("passages", given.passages_count),
        query_tokens=said("query_tokens", given.query_tokens),
        index=said("index", given.index),
        stored=said("stored", given.stored),
        recall_ratio=said("recall", given.recall_ratio),
        updated_per_day=said("updated_per_day", 0.0),
        reembeddings_per_year=said("reembeddings_per_year", 0.0),
        reembedding_s=said("reembedding_window", given.reembedding_s),
        moderation_money_per_request=purse.take(
            plain.get("moderation_per_request"), "retrieval.moderation_per_request"
        )
        or 0.0,
    )


def plain_retrieval(one: Retrieval, currency: str) -> dict[str, Any]:
    """Written back, under the names of a brief."""
    money = one.moderation_money_per_request
    return {
        "documents": one.documents_count,
        "document_tokens": one.document_tokens,
        "chunk_tokens": one.chunk_tokens,
        "overlap": one.overlap_ratio,
        "embedder": one.embedder,
        "reranker": one.reranker,
        "dims": one.dims_count,
        "candidates": one.candidates_count,
        "passages": one.passages_count,
        "query_tokens": one.query_tokens,
        "index": one.index,
        "stored": one.stored,
        "recall": one.recall_ratio,
        "updated_per_day": one.updated_per_day or None,
        "reembeddings_per_year": one.reembeddings_per_year or None,
        "reembedding_window": f"{one.reembedding_s!r} s",
        "moderation_per_request": f"{money!r} {currency}" if money else None,
    }


def faults(one: Retrieval) -> Iterator[tuple[str, str, dict[str, object]]]:
    """What can't be: (code, path, values)."""
    from cabida.facts.models import find_model
    from cabida.text import tr

    if one.passages_count > one.candidates_count:
        values: dict[str, object] = {"passages": one.passages_count, "candidates": one.candidates_count}
        yield "CB-B046", "retrieval.passages", values
    for key, name in (("embedder", one.embedder), ("reranker", one.reranker)):
        model = find_model(name) if name else None
        if name and model is None:
            yield "CB-B038", f"retrieval.{key}", {"name": name, "cure": tr("brief.list_models")}
        elif model is not None and model.task not in ("embedding", "rerank"):
            yield "CB-B047", f"retrieval.{key}", {"name": name, "task": tr(f"brief.task.{model.task}")}
        elif key == "reranker" and model is not None and model.task == "embedding":
            yield "CB-B054", "retrieval.reranker", {"name": name, "task": tr("brief.task.embedding")}
        elif model is not None and model.context_tokens and one.chunk_tokens > model.context_tokens:
            values = {"tokens": f"{one.chunk_tokens:.0f}", "model": name, "context": model.context_tokens}
            yield "CB-B033", "retrieval.chunk_tokens", values
