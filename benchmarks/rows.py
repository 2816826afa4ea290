"""The measured rows that rivals are asked about, and the questions they make: plain figures, no Cabida needed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SILICON = "ai-dynamo/aiconfigurator"  # the source of the aggregated silicon rows
TUNED = ("lora", "qlora", "full")  # methods a rival of fine-tuning memory knows


def cases(kind: str) -> list[dict[str, Any]]:
    """All carried rows of one kind."""
    text = (ROOT / f"cases/{kind}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def sample(rows: list[dict[str, Any]], count: int, seed: int) -> list[dict[str, Any]]:
    """``count`` rows at random; with a larger count the smaller sample is part of it."""
    drawn = sorted(rows, key=lambda row: row["id"])
    random.Random(seed).shuffle(drawn)
    return drawn[:count]


def aggregated(count: int, seed: int) -> list[dict[str, Any]]:
    """Of the aggregated silicon rows: serving measured on real cards, prompts and answers on the same ones."""
    rows = [
        row for row in cases("serving") if row["mode"] == "agg" and str(row["source"]).startswith(SILICON)
    ]
    return sample(rows, count, seed)


def pretraining(count: int, seed: int) -> list[dict[str, Any]]:
    """Dense transformers whose shape, split and token rate are printed: what a closed form can be asked."""
    needed = ("layers", "hidden", "heads", "seq_len", "gpu", "gpus", "model")
    rows = [
        row
        for row in cases("training")
        if row.get("task") == "pretrain"
        and row["measured"].get("tokens_s_per_gpu")
        and all(row.get(name) for name in needed)
    ]
    return sample(rows, count, seed)


def tuning(count: int, seed: int) -> list[dict[str, Any]]:
    """Fine-tuning on one card with its peak memory printed."""
    rows = []
    for row in [*cases("memory"), *cases("training")]:
        method = str((row.get("training") or row).get("method") or row.get("task") or "").replace(
            "full_ft", "full"
        )
        peak = next((row["measured"].get(name) for name in PEAKS if row["measured"].get(name)), None)
        if method in TUNED and peak and (row.get("gpus") or 1) == 1:
            rows.append(row)
    return sample(rows, count, seed)


PEAKS = ("peak_mem_gib", "peak_gib_per_gpu", "peak_gib_total")


def serving_question(row: dict[str, Any]) -> dict[str, Any]:
    """One aggregated row as a question. A tensor split wider than one machine is data-parallel attention in truth.

    Where the printed split multiplies to more than the cards, it was tensor times expert parallel.
    """
    count = int(row.get("gpus") or row["tp"])
    tp, pp, dp, ep = (int(row.get(name) or 1) for name in ("tp", "pp", "dp", "ep"))
    if tp > 8 and count > 8:
        tp, dp, ep = 1, count, count
    tp = min(tp, max(1, count // pp))
    dp = max(1, count // (tp * pp)) if tp * pp * dp != count else dp
    load = row["load"]
    return {
        "id": row["id"], "model": row["model"], "weights": row["weights"].split(" ")[0], "gpu": row["gpu"],
        "engine": row["engine"], "tp": tp, "pp": pp, "dp": dp, "ep": max(ep, 1), "moe": _routed(row["model"]),
        "input_tokens": int(load["input_tokens"]), "output_tokens": int(load["output_tokens"]),
        "concurrency": float(load["concurrency"]),
    }  # fmt: skip


def _routed(model: str) -> bool:
    from cabida import facts

    return facts.model(model).is_moe


def shaped(question: dict[str, Any]) -> dict[str, Any]:
    """The same with the shape of the model, for rivals that know few models by name."""
    from cabida import facts, memory

    model = facts.model(question["model"])
    group = max(model.attention, key=lambda one: one.layers_count)
    mlp = max(model.mlp, key=lambda one: one.layers_count)
    return question | {
        "params_b": memory.params(model).total_count / 1e9,
        "layers": model.layers_count,
        "hidden": model.hidden_dim_count,
        "heads": group.heads_count,
        "kv_heads": group.kv_heads_count,
        "head_dim": group.head_dim_count,
        "intermediate": mlp.intermediate_dim_count,
        "experts": mlp.experts_count,
        "experts_per_token": mlp.experts_per_token_count,
        "vocab": model.vocab_count,
    }
