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


def card(gpu: str) -> dict[str, float]:
    """A card's data sheet, for rivals that know few of them by name."""
    from cabida import facts

    found = facts.accelerator(gpu)
    return {
        "memory_gb": found.label_memory_bytes / 1e9,
        "memory_gb_per_s": (found.memory_bytes_per_s or 0.0) / 1e9,
        "bf16_tflops": found.flop_per_s.get("bf16", 0.0) / 1e12,
        "link_gb_per_s": (found.link_bytes_per_s or 0.0) / 1e9,
    }


def alone(count: int, seed: int) -> list[dict[str, Any]]:
    """One stream on one card, its decode rate printed: what a tool for one user can be asked."""
    rows = [
        row
        for row in cases("serving")
        if row["mode"] == "single"
        and row.get("gpus") == 1
        and row["measured"].get("decode_tok_s")
        and row.get("gpu")
    ]
    return sample(rows, count, seed)


def pretraining(count: int, seed: int) -> list[dict[str, Any]]:
    """Transformers whose split and token rate are printed: what a closed form can be asked."""
    needed = ("seq_len", "gpu", "gpus", "model", "micro_batch")
    rows = [
        row
        for row in cases("training")
        if row.get("task") == "pretrain"
        and row["measured"].get("tokens_s_per_gpu")
        and all(row.get(name) for name in needed)
    ]
    return sample(rows, count, seed)


def tuning(count: int, seed: int) -> list[dict[str, Any]]:
    """Fine-tuning of a language model on one card with its peak memory printed."""
    rows = []
    for row in [*cases("memory"), *cases("training")]:
        told = row.get("training") or row
        method = str(told.get("method") or row.get("task") or "").replace("full_ft", "full")
        peak = next((row["measured"].get(name) for name in PEAKS if row["measured"].get(name)), None)
        if method in TUNED and peak and (row.get("gpus") or 1) == 1 and told.get("seq_len"):
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
        "card": card(question["gpu"]),
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


def single_question(row: dict[str, Any]) -> dict[str, Any]:
    """One stream as a question."""
    from cabida import facts

    card = facts.accelerator(row["gpu"])
    return {
        "id": row["id"], "model": row["model"], "weights": row["weights"].split(" ")[0], "gpu": row["gpu"],
        "memory_gb": card.label_memory_bytes / 1e9, "engine": row["engine"],
        "input_tokens": int(row["load"].get("input_tokens") or 512),
        "output_tokens": int(row["load"].get("output_tokens") or 128),
    }  # fmt: skip


def training_question(row: dict[str, Any]) -> dict[str, Any]:
    """One pre-training run as a question; shapes that the row leaves out from the catalogue, where it knows them."""
    from cabida.truth.names import known_model

    model = known_model(row["model"])
    group = max(model.attention, key=lambda one: one.layers_count) if model and model.attention else None
    mlp = max(model.mlp, key=lambda one: one.layers_count) if model and model.mlp else None
    batch = str(row.get("global_batch") or "")
    recompute = str(row.get("activation_checkpointing") or "none")
    sharding = str(row.get("sharding") or "").lower()
    hidden = int(row.get("hidden") or (model.hidden_dim_count if model else 0))
    heads = int(row.get("heads") or (group.heads_count if group else 0))
    return {
        "id": row["id"], "gpu": row["gpu"], "card": card(row["gpu"]), "gpus": int(row["gpus"]),
        "precision": str(row["precision"]),
        "layers": int(row.get("layers") or (model.layers_count if model else 0)), "hidden": hidden, "heads": heads,
        "kv_heads": int(row.get("kv_heads") or (group.kv_heads_count if group else heads)),
        "intermediate": mlp.intermediate_dim_count if mlp else 4 * hidden, "gated": not mlp or mlp.matrices_count == 3,
        "experts": mlp.experts_count if mlp else 0, "experts_per_token": mlp.experts_per_token_count if mlp else 0,
        "vocab": model.vocab_count if model else 50304, "seq_len": int(row["seq_len"]),
        "micro_batch": int(float(row["micro_batch"])),
        "global_batch": int(batch.split()[0]) if batch[:1].isdigit() else 0,
        "tp": int(row.get("tp") or 1), "pp": int(row.get("pp") or 1), "sequence_parallel": "megatron" in str(
            row.get("framework")
        ).lower(),
        "recompute": 2 if "full" in recompute else 1 if "selective" in recompute else 0,
        "zero": 3 if "full" in sharding else 2 if "grad" in sharding else 1 if sharding else 0,
    }  # fmt: skip


def tuning_question(row: dict[str, Any]) -> dict[str, Any]:
    """One fine-tuning run as a question."""
    told = row.get("training") or row
    method = str(told.get("method") or row.get("task") or "").replace("full_ft", "full")
    targets = str(told.get("lora_targets") or "")
    said = str(told.get("grad_checkpointing") or told.get("activation_checkpointing") or "true").lower()
    return {
        "id": row["id"], "model": row["model"], "method": method, "seq_len": int(told["seq_len"]),
        "micro_batch": int(float(told.get("micro_batch") or 1)), "lora_rank": int(told.get("lora_rank") or 16),
        "targets": "all_linear" if "all" in targets or len(targets.split(",")) > 4 else "attention",
        "optimizer": "adam_8bit" if "8bit" in str(told.get("optimizer")).lower() else "adamw",
        "recompute": not said.startswith(("false", "none", "no")),
    }  # fmt: skip
