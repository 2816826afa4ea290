"""What a record tells of what works beside a deployment: doubts about the stages and the judge, and what to measure."""

from __future__ import annotations

from collections.abc import Iterator

from cabida.brief.corpus import Retrieval
from cabida.brief.harness import Evaluation
from cabida.choose.fronts import AVAILABLE_RATIO, Front
from cabida.plan import Caution, Measurement
from cabida.text import duration, number, percent, tr
from cabida.timing.stages.encoder_data import encoder_facts
from cabida.units import S_PER_HOUR

RECALL_QUESTIONS = 1000
RERANKED_QUESTIONS = 500
JUDGED_BY_HAND = 100


def front_cautions(front: Front, retrieval: Retrieval) -> Iterator[Caution]:
    """Embedding everything again, an index built longer than that may take, cards nobody measured, stages that fail."""
    chunks = number(retrieval.chunks_count)
    if retrieval.reembeddings_per_year and front.ingest_hours_per_month:
        values = {
            "chunks": chunks,
            "cards": front.reembedding_cards_count,
            "window": duration(retrieval.reembedding_s),
        }
        yield Caution(
            "CB-X040", tr("choose.caution.reembedding", **values, build=duration(front.build_s)), "info"
        )
    if front.build_s > retrieval.reembedding_s:
        values = {"build": duration(front.build_s), "window": duration(retrieval.reembedding_s)}
        yield Caution("CB-X041", tr("choose.caution.index_build", kind=front.index.kind.upper(), **values))
    seen = encoder_facts()["seen_setups"]
    if front.embed is not None and front.embed.accelerator.id not in seen.get(front.embed.engine, ()):
        low, high = front.spread
        values = {"name": front.embed.accelerator.name, "low": number(low, 2), "high": number(high, 2)}
        yield Caution("CB-X042", tr("choose.caution.encoder_unseen", **values))
    if front.availability_ratio < AVAILABLE_RATIO:
        values = {"share": percent(front.availability_ratio, 3), "each": percent(AVAILABLE_RATIO, 3)}
        yield Caution("CB-X043", tr("choose.caution.front_down", **values))


def front_measurements(front: Front, retrieval: Retrieval, money_per_hour: float) -> Iterator[Measurement]:
    """Recall on one's own vectors, and the time of a reranked question on the very card."""
    values = {
        "count": number(RECALL_QUESTIONS, 7),
        "recall": percent(retrieval.recall_ratio),
        "kind": front.index.kind.upper(),
    }
    yield Measurement(
        what=tr("choose.measure.recall.what", **values),
        decides=tr("choose.measure.recall.decides", **values),
        duration_s=float(S_PER_HOUR),
        cost_money=0.0,
        command="",
    )
    if front.rerank is not None:
        words = {
            "count": RERANKED_QUESTIONS,
            "pairs": retrieval.candidates_count,
            "name": front.rerank.accelerator.name,
        }
        yield Measurement(
            what=tr("choose.measure.rerank.what", **words),
            decides=tr(
                "choose.measure.rerank.decides", value=duration(front.services_s.get("reranking", 0.0))
            ),
            duration_s=float(S_PER_HOUR) / 2,
            cost_money=money_per_hour / 2,
            command="",
        )


def harness_cautions(evaluation: Evaluation, judge_s: float) -> Iterator[Caution]:
    """A judge that shares the accelerators is loaded each time; one model judging its own kind flatters it."""
    if judge_s:
        yield Caution("CB-X044", tr("choose.caution.judge_loaded", name=evaluation.judge), "info")
    if evaluation.judge and evaluation.judgements_count and evaluation.votes_count < 2:
        yield Caution("CB-X045", tr("choose.caution.one_vote", name=evaluation.judge), "info")


def harness_measurements(evaluation: Evaluation) -> Iterator[Measurement]:
    """Agreement of verdicts with people's."""
    values = {"count": JUDGED_BY_HAND, "ratio": percent(evaluation.accepted_ratio or 1.0)}
    yield Measurement(
        what=tr("choose.measure.verdicts.what", **values),
        decides=tr("choose.measure.verdicts.decides", **values),
        duration_s=4 * float(S_PER_HOUR),
        cost_money=0.0,
        command="",
    )
