"""The encoders of a corpus: what each works on, what runs it on which card, how long it takes, whether it fits."""

from __future__ import annotations

from dataclasses import replace

from cabida import facts
from cabida.brief.corpus import Retrieval
from cabida.facts.model import Accelerator
from cabida.memory.encoders import needed_bytes
from cabida.plan.encoding import EncoderRun
from cabida.timing.stages.encoder_data import Host, engine_rules
from cabida.timing.stages.encoders import Texts, encode_s, host_encode_s

ENGINES = ("tei", "infinity")  # best first
BATCH_COUNT = 64
PROMPT_MARK_TOKENS = 12.0  # around each passage: a number, a title
ROOM_RATIO = 0.97  # of a card's room that encoders and an index may take together: assumed


def texts_of(retrieval: Retrieval) -> dict[str, Texts]:
    """What each encoder works on."""
    return {
        "query": Texts(retrieval.query_tokens),
        "pair": Texts(retrieval.query_tokens + retrieval.chunk_tokens, 0.15, pairs=True),
        "chunk": Texts(retrieval.chunk_tokens),
    }


def passages_tokens(retrieval: Retrieval) -> float:
    """What retrieval adds to a prompt."""
    return retrieval.passages_count * (retrieval.chunk_tokens + PROMPT_MARK_TOKENS)


def encoder_runs(retrieval: Retrieval, card: Accelerator) -> tuple[EncoderRun, EncoderRun | None]:
    """Embedder and reranker on a card, in 16 bit."""
    half, engine = facts.weight_format("fp16"), engine_on(card)

    def run(name: str, tokens: float, count: int) -> EncoderRun:
        return EncoderRun(facts.model(name), card, half, engine, count, max(1, round(tokens)))

    texts = texts_of(retrieval)
    embed = run(retrieval.embedder, texts["chunk"].mean_tokens, BATCH_COUNT)
    if not retrieval.reranker:
        return embed, None
    return embed, run(retrieval.reranker, texts["pair"].mean_tokens, retrieval.candidates_count)


def engine_on(card: Accelerator) -> str:
    """The encoder engine that runs on a card: the first of the facts whose vendor and capability allow it."""
    for name in ENGINES:
        rules = engine_rules(name)
        least = rules.get("capability_min", "")
        newer = not least or (
            card.capability.replace(".", "").isdigit() and float(card.capability) >= float(least)
        )
        if card.vendor.lower() in rules.get("vendors", ()) and newer:
            return name
    return ""


def services_on(retrieval: Retrieval, card: Accelerator | None, host: Host) -> dict[str, float]:
    """Seconds of embedding one question and of scoring its candidates, on a card or a host."""
    texts = texts_of(retrieval)
    if card is None:
        found = {"embedding": host_encode_s(facts.model(retrieval.embedder), host, texts["query"], 1)}
        if retrieval.reranker:
            reranker = facts.model(retrieval.reranker)
            found["reranking"] = host_encode_s(reranker, host, texts["pair"], retrieval.candidates_count)
        return found
    embed, rerank = encoder_runs(retrieval, card)
    found = {"embedding": encode_s(embed, texts["query"], 1)}
    if rerank is not None:
        found["reranking"] = encode_s(rerank, texts["pair"], retrieval.candidates_count)
    return found


def fits(retrieval: Retrieval, card: Accelerator, index_bytes: float) -> bool:
    """Whether both encoders and an index on the card fit it together."""
    embed, rerank = encoder_runs(retrieval, card)
    needed, room = needed_bytes(embed)
    needed += index_bytes
    if rerank is not None:
        needed += needed_bytes(replace(rerank, batch_count=min(BATCH_COUNT, rerank.batch_count)))[0]
    return needed <= ROOM_RATIO * room
