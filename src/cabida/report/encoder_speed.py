"""How fast an embedder or a reranker is: texts or pairs a second, one batch, and the wait at a rate."""

from __future__ import annotations

from typing import Any

from cabida import facts
from cabida.errors import InvalidInput
from cabida.facts.models import find_model
from cabida.plan import Estimate
from cabida.plan.encoding import SPEED_ENGINES, EncoderRun
from cabida.report.run_speed import IDLE_DEFAULTS, refuse_unused
from cabida.text import number, problem
from cabida.timing.stages.encoder_data import engine_rules
from cabida.timing.stages.encoders import Texts, batch_texts, encode_s, encoder_speed
from cabida.timing.stages.pipeline import batched_stage, joined

TASKS = ("embedding", "rerank")
USED = {
    "input_tokens", "input_spread_ratio", "concurrency", "requests_per_s", "weights", "engine",
    "max_num_batched_tokens",
}  # fmt: skip
BATCH_COUNT, TOKENS = 32, 256
MS = 1000.0
STATISTICS = ("mean", "p50", "p95", "p99")


def is_encoder(model: str) -> bool:
    """Whether a name is that of an embedder or a reranker."""
    found = find_model(model)
    return found is not None and found.task in TASKS


def encoder_speed_answer(model: str, gpu: str, flags: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida speed`` for an encoder.

    Args:
        model: id or alias.
        gpu: accelerator.
        flags: ``input_tokens`` (mean of a text, or of a pair), ``input_spread_ratio``, ``concurrency`` (texts in a
            batch), ``requests_per_s`` (texts that arrive one by one), ``weights``, ``engine``,
            ``max_num_batched_tokens``.

    Raises:
        UsageProblem: CB-U046, flags that nothing in such a question uses.
        InvalidInput: no such engine (CB-U019), format or accelerator; texts longer than it reads (CB-U065).
    """
    said = {
        name: value
        for name, value in flags.items()
        if value not in (None, "", 0, 0.0, False, ()) and value != {"gpus": 1, **IDLE_DEFAULTS}.get(name)
    }
    refuse_unused(said, USED, "encoder")
    found, card = facts.model(model), facts.accelerator(gpu)
    engine = str(flags.get("engine") or ("tei" if card.vendor.lower() == "nvidia" else "infinity")).lower()
    if engine not in SPEED_ENGINES:
        told = problem("CB-U019", flag="--engine", name=engine, known=", ".join(SPEED_ENGINES))
        raise InvalidInput([told])
    tokens = float(flags.get("input_tokens") or min(TOKENS, found.context_tokens or TOKENS))
    if found.context_tokens and tokens > found.context_tokens:
        value, most = number(tokens, 12), number(found.context_tokens, 12)
        told = problem("CB-U065", one="--input-tokens", value=value, other=found.id, most=most)
        raise InvalidInput([told])
    texts = Texts(tokens, float(flags.get("input_spread_ratio") or 0.0), pairs=found.task == "rerank")
    run = EncoderRun(
        model=found,
        accelerator=card,
        weights=facts.weight_format(flags.get("weights") or "fp16"),
        engine=engine,
        batch_count=max(1, round(flags.get("concurrency") or BATCH_COUNT)),
        input_tokens=round(tokens),
        max_batch_tokens=_batch_tokens(engine, flags, tokens),
    )
    timed = max(1, round(batch_texts(run, texts)))
    speed = encoder_speed(run, texts)
    low, high = speed.spread
    alone = encode_s(run, texts, 1)

    def rate(value: float) -> Estimate:
        return Estimate(value, value * low, value * high, speed.basis)

    def time(value: float) -> Estimate:
        return Estimate(value, value / high, value / low, speed.basis)

    metrics = {
        "items_s": rate(speed.texts_per_s),
        "input_tok_s": rate(speed.tokens_per_s),
        "batch_ms": time(speed.batch_s * MS),
        "alone_ms": time(alone * MS),
    }
    asked, saturated = flags.get("requests_per_s"), False
    if asked:
        each = max(1e-9, (encode_s(run, texts, timed) - alone) / max(1, timed - 1))
        stage = batched_stage("encode", alone, each, float(asked), float(timed))
        latency, saturated = joined([stage]), stage.saturated
        if latency is not None:
            metrics |= {f"e2e_ms_{name}": time(getattr(latency, name) * MS) for name in STATISTICS}
    return {
        "kind": "encoder",
        "model": found.id,
        "task": found.task,
        "gpu": card.id,
        "gpus": 1,
        "engine": engine,
        "weights": run.weights.id,
        "batch": timed,
        "input_tokens": tokens,
        "requests_per_s": asked,
        "padded_ratio": speed.padded_ratio,
        "saturated": saturated,
        "metrics": metrics,
        "parts_ms": {name: seconds * MS for name, seconds in speed.parts.items()},
        "warnings": [],
    }


def _batch_tokens(engine: str, flags: dict[str, Any], tokens: float) -> int | None:
    """Tokens of a batch: as the engine or the flag limits them, and no more than of the texts there are at once."""
    limit = flags.get("max_num_batched_tokens") or engine_rules(engine)["batch_tokens"]
    at_once = flags.get("concurrency")
    return round(min(limit, at_once * tokens)) if limit and at_once else flags.get("max_num_batched_tokens")
