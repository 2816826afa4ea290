"""What ``fit`` answers about embedders and rerankers: one accelerator, several, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.errors import InvalidInput
from cabida.facts.model import Accelerator, Model
from cabida.memory.encoders import LARGEST_BATCH, EncoderMemory
from cabida.plan import Estimate, Setup
from cabida.plan.encoding import ENCODER_ENGINES, EncoderRun
from cabida.report.beyond_changes import Fields, Found, changes, cure
from cabida.report.beyond_fits import Beyond, parted
from cabida.report.beyond_picture import margin, picture, shown_bytes
from cabida.report.fit_trial import ORDER
from cabida.report.metrics import GIB
from cabida.text import problem

ALIASES = {
    "transformers": "sentence-transformers", "text-embeddings-inference": "tei", "infinity": "sentence-transformers",
}  # fmt: skip
BATCH, TOKENS = 32, 512
LEAST_TOKENS = 16


def encoder_fit(
    setup: Setup, own: Beyond, model: Model, gpus: Sequence[str], as_of: str | None
) -> dict[str, Any]:
    """One answer for one accelerator; else ``rows``, what fits first, smallest card first."""
    cards = [facts.accelerator(one) for one in gpus] or list(facts.accelerators(as_of).values())
    if len(gpus) == 1:
        return _with_changes(setup, own, encoder_run(setup, own, model, cards[0]))
    rows = [_answer(encoder_run(setup, own, model, card)) for card in cards]
    if not gpus:
        rows.sort(key=lambda row: (ORDER[row["verdict"]], row["usable_gib"], row["gpu"]))
    return {"kind": "encoder", "rows": rows}


def encoder_run(setup: Setup, own: Beyond, model: Model, card: Accelerator) -> EncoderRun:
    """The run that was asked for; sentence-transformers keeps fp32 unless told otherwise, engines 16 bit.

    Raises:
        InvalidInput: an unknown format (CB-F014) or engine (CB-U019).
    """
    name = (setup.engine or "sentence-transformers").lower()
    engine = ALIASES.get(name, name)
    if engine not in ENCODER_ENGINES:
        raise InvalidInput([problem("CB-U019", flag="--engine", name=name, known=", ".join(ENCODER_ENGINES))])
    usual = "fp32" if engine == "sentence-transformers" and not memory.is_decoder(model) else "fp16"
    tokens = own.input_tokens or setup.max_model_len or min(TOKENS, int(model.context_tokens or TOKENS))
    return EncoderRun(
        model=model,
        accelerator=card,
        weights=facts.weight_format(setup.weights or usual),
        engine=engine,
        batch_count=own.batch or BATCH,
        input_tokens=tokens,
        max_batch_tokens=setup.max_num_batched_tokens,
        gpu_memory_utilization=setup.gpu_memory_utilization,
        eager_attention=own.eager_attention,
        used_bytes=setup.used_bytes,
    )


def _with_changes(setup: Setup, own: Beyond, run: EncoderRun) -> dict[str, Any]:
    answer = _answer(run)

    def tried(fields: Fields) -> Found:
        beyond, more = parted(fields)
        mine = replace(own, **{name: getattr(beyond, name) for name in fields if name not in more})
        found = memory.encoding(encoder_run(replace(setup, **more), mine, run.model, run.accelerator))
        return Found(found.verdict, found.headroom_bytes)

    asked = Found(answer["verdict"], answer["headroom_gib"] * GIB)
    offered = changes(asked, _candidates(run), tried)
    return answer | {"changes": offered, "cure": cure(asked, offered, answer["cure"])}


def _candidates(run: EncoderRun) -> Iterator[tuple[str, Fields, list[str]]]:
    """Fewer texts at once, fewer bits, shorter texts: least harm first."""
    halves = [run.batch_count >> power for power in range(1, run.batch_count.bit_length())]
    yield from (("batch", {"batch": count}, ["fewer_texts"]) for count in halves if count)
    half: Fields = {"weights": "fp16"} if run.weights.id == "fp32" else {}
    if half:
        yield "half", half, ["half"]
        yield from (("half", half | {"batch": count}, ["half", "fewer_texts"]) for count in halves if count)
    alone: Fields = {"batch": 1} if run.batch_count > 1 else {}
    tokens = run.input_tokens // 2
    while tokens >= LEAST_TOKENS:
        yield (
            "shorter",
            {"input_tokens": tokens} | alone,
            ["shorter_texts", *(["fewer_texts"] if alone else [])],
        )
        tokens //= 2


def _picture(run: EncoderRun, found: EncoderMemory) -> dict[str, float]:
    """Parts as every fit draws them; where the engine takes a share, what its process holds of the card."""
    parts = dict(found.parts)
    if not found.takes_its_share:
        parts["context"] = found.context_bytes
        parts["idle"] = max(0.0, found.needed_bytes - sum(parts.values()))
    return picture(parts, run.accelerator, found.usable_bytes, sum(parts.values()), run.used_bytes)


def _margin(found: EncoderMemory) -> dict[str, Any]:
    if found.takes_its_share:
        low = high = found.headroom_bytes
    else:
        low, high = (
            found.usable_bytes - end - found.context_bytes for end in (found.high_bytes, found.low_bytes)
        )
    return margin(found.verdict, found.headroom_bytes, low, high)


def _answer(run: EncoderRun) -> dict[str, Any]:
    found = memory.encoding(run)
    basis = "formula" if found.low_bytes == found.high_bytes else "assumed"
    peak = Estimate(found.peak_bytes / GIB, found.low_bytes / GIB, found.high_bytes / GIB, basis)
    weights = found.parts["weights"] / GIB
    whole = Estimate(weights, weights, weights, "formula")
    most = found.largest_batch_count
    return {
        "kind": "encoder",
        "model": run.model.id,
        "task": run.model.task,
        "gpu": run.accelerator.id,
        "gpus": 1,
        "engine": run.engine,
        "weights": run.weights.id,
        "batch": run.batch_count,
        "input_tokens": run.input_tokens,
        "runs": True,
        "verdict": found.verdict,
        "headroom_gib": found.headroom_bytes / GIB,
        **_margin(found),
        "usable_gib": shown_bytes(run.accelerator) / GIB,
        "room_gib": found.usable_bytes / GIB,
        "needed_gib": found.needed_bytes / GIB,
        "takes_its_share": found.takes_its_share,
        "metrics": {
            "peak_mem_gib": peak, "peak_gib_per_gpu": peak, "weights_gib_total": whole, "weights_gib_per_gpu": whole,
        },
        "parts_gib": {name: size / GIB for name, size in found.parts.items()},
        "memory_gib": _picture(run, found),
        "intervals_gib": {},
        "largest_batch": most if most < LARGEST_BATCH else None,
        "largest_input_tokens": found.largest_input_tokens,
        "model_context_tokens": run.model.context_tokens,
        "changes": [],
        "cure": found.cure,
        "warnings": [],
    }  # fmt: skip
