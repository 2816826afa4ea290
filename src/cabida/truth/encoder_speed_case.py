"""What we say of a measured embedder or reranker: texts or pairs per second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cabida import facts
from cabida.errors import CabidaError
from cabida.facts.model import Accelerator
from cabida.plan.encoding import SPEED_ENGINES, EncoderRun
from cabida.text import tr
from cabida.timing.stages.encoder_data import encoder_facts
from cabida.timing.stages.encoders import Texts, encoder_speed
from cabida.truth.case import Figures
from cabida.truth.names import Unanswerable, known_model, reading

BATCH_COUNT = 32  # the default of sentence-transformers
QUERY = "queries_s"
TEXTS_OF = {"items_s": "msmarco_passage", QUERY: "msmarco_query"}  # metric -> what was encoded


@reading
def encoder_speed_figures(row: dict[str, Any]) -> Figures:
    """Texts (or pairs) per second of an embed or rerank row, with their interval.

    Raises:
        Unanswerable: no such model or card.
    """
    found: Figures = {}
    for metric, run, texts in figure_runs(row):
        speed = encoder_speed(run, texts)
        low, high = speed.spread
        found[metric] = (speed.texts_per_s, speed.texts_per_s * low, speed.texts_per_s * high)
    return found


def figure_runs(row: dict[str, Any]) -> Iterator[tuple[str, EncoderRun, Texts]]:
    """Each speed figure of a row with the run and the texts behind it; lengths as said, else those of MS MARCO."""
    pairs = row.get("task") == "rerank"
    for metric in ("items_s", QUERY, "tokens_s"):
        if metric not in row["measured"]:
            continue
        passage, query = _lengths("msmarco_passage"), _lengths("msmarco_query")
        texts = query if metric == QUERY else passage
        if row.get("input_tokens"):
            texts = Texts(float(row["input_tokens"]), pairs=pairs)
        elif pairs:
            texts = Texts(passage.mean_tokens + query.mean_tokens, passage.spread_ratio, pairs=True)
        yield metric, run_of(row, texts), texts


def _lengths(name: str) -> Texts:
    found = encoder_facts()["lengths"][name]
    return Texts(float(found["mean_tokens"]), float(found["spread_ratio"]))


def run_of(row: dict[str, Any], texts: Texts) -> EncoderRun:
    """The run a row describes: fp32 and batches of 32 unless it says otherwise."""
    model = known_model(row["model"])
    if model is None:
        why = tr("truth.why.unknown_model", model=row["model"])
        raise Unanswerable(why)
    said = " ".join([*map(str, row.get("optimisations", ())), str(row.get("engine", ""))]).lower()
    engine = next((name for name in SPEED_ENGINES if name in said), "sentence-transformers")
    weights = str(row.get("precision") or ("fp16" if "fp16" in said else "fp32"))
    batch = int(row.get("batch") or BATCH_COUNT)
    return EncoderRun(
        model, _card(row), facts.weight_format(weights), engine, batch, round(texts.mean_tokens)
    )


def _card(row: dict[str, Any]) -> Accelerator:
    """The row's card; where only a family is printed, the one of it that most people have."""
    said = str(row.get("gpu") or row.get("gpu_raw") or "")
    try:
        return facts.accelerator(said)
    except CabidaError:
        alike = sorted(name for name in facts.accelerators() if name.startswith(f"{said.lower()}-"))
        if not said or not alike:
            why = tr("truth.why.unknown_accelerator", gpu=said or "?")
            raise Unanswerable(why) from None
        return facts.accelerators()[alike[-1]]


def fact_run(fact: dict[str, Any]) -> tuple[EncoderRun, Texts]:
    """The run behind a fact kept in ``data/encoders.json``."""
    texts = Texts(float(fact["input_tokens"]))
    row = {"model": fact["model"], "gpu": fact["gpu"], "engine": fact["engine"], "precision": fact["weights"]}
    return run_of(row | {"batch": fact["batch"]}, texts), texts
