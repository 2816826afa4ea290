"""A measured memory case of training or fine-tuning as a TrainingRun, and what memory says of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.plan import TrainingRun
from cabida.text import tr
from cabida.truth.case import Figures
from cabida.truth.habits import as_scripted, scripted_tokens, seen_images
from cabida.truth.likely import likely_split
from cabida.truth.memory_case import card_is_certain, card_of, format_of, model_of
from cabida.truth.names import Unanswerable, reading, recompute_of, sharding_of, stated_format
from cabida.truth.training_case import printed_peak

KEEPS_MASTER = ("zero", "distributed optimizer", "megatron")  # shardings whose optimizers keep fp32 weights
UNLIMITED_BYTES = 2.0**50
METHODS = {  # as printed -> adapter of memory.ADAPTERS; None = all weights
    "full": None, "full_ft": None, "pretrain": None, "lisa": None,
    "lora": "lora", "qlora": "lora", "lora_emb": "lora", "dora": "dora", "qdora": "dora", "adalora": "adalora",
    "loha": "loha", "lokr": "lokr", "oft": "oft", "boft": "boft", "vera": "vera", "randlora": "randlora",
    "ia3": "ia3", "prefix_tuning": "prefix", "prompt_tuning": "prompt", "p_tuning": "prompt",
    "adapter": "bottleneck", "adapter_v2": "llama-adapter-v2", "llamapro": "new-blocks",
}  # fmt: skip
PATTERN_WORDS = {
    "query": "q", "key": "k", "value": "v", "projection": "o", "qkv": "q,k,v", "linear_qkv": "q,k,v",
    "mlp": "gate,up,down", "lm_head": "head",
}  # fmt: skip


def tuning_figures(row: dict[str, Any]) -> tuple[Figures, str | None]:
    """Predicted peak of a finetune or train row with its interval, and the verdict.

    Raises:
        Unanswerable: something needed isn't stated or known.
    """
    run = tuning_run_of(row)
    m = memory.training(run)
    size = printed_peak(row, m)
    whole = tuple(one * run.accelerators_count for one in size)
    verdict = m.verdict if card_is_certain(row) else None
    return {"peak_gib_per_gpu": size, "peak_gib_total": (whole[0], whole[1], whole[2])}, verdict


@reading
def tuning_run_of(row: dict[str, Any]) -> TrainingRun:
    """The training run a finetune or train row describes."""
    setup = row.get("training", {})
    said_method = method_of(str(setup.get("method") or ""))
    if said_method not in METHODS:
        why = tr("truth.why.method", method=said_method) if said_method else tr("truth.why.no_method")
        raise Unanswerable(why)
    seq = setup.get("seq_len") or scripted_tokens(row)
    if not seq:
        why = tr("truth.why.sequence")
        raise Unanswerable(why)
    model = model_of(row)
    adapter = METHODS[said_method]
    stated = stated_format(str(row.get("weights") or ""))
    packed = adapter is not None and stated is not None and stated.body_bits < 16
    held = format_of(row) if said_method == "qlora" or packed or "bnb" in str(row.get("weights")) else None
    method = "full" if adapter is None else "qlora" if held is not None and held.body_bits < 16 else "lora"
    precision = str(setup.get("precision") or row.get("weights") or "")
    sharding = str(setup.get("sharding") or "").lower()
    mixed = (
        "fp32 master" in precision or "mixed" in precision or any(word in sharding for word in KEEPS_MASTER)
    )
    kept32 = method == "lora" and "mixed" in precision  # frozen weights stay in 32 bit
    batch, recompute = _batch(row, setup)
    accelerator = card_of(row)
    if not card_is_certain(row):  # a stand-in doesn't limit what the allocator holds
        accelerator = replace(accelerator, usable_bytes=UNLIMITED_BYTES)
    images, tower = seen_images(row, model)
    run = TrainingRun(
        model=model,
        accelerator=accelerator,
        accelerators_count=row["gpus"],
        method=method,
        precision=_precision(precision),
        weights=held if method == "qlora" and held else facts.weight_format("fp32" if kept32 else "bf16"),
        optimizer=optimizer_of(str(setup.get("optimizer") or "")),
        sharding=sharding_of(sharding, row["gpus"]),
        seq_tokens=int(seq),
        micro_batch_count=batch,
        global_batch_count=_global(row, batch),
        tp=row.get("tp") or 1,
        pp=row.get("pp") or 1,
        cp=row.get("cp") or int(row.get("args", {}).get("sequence_parallel_size") or 1),
        ep=row.get("ep") or 1,
        recompute=recompute,
        master_weights=mixed,
        lora_rank=int(setup.get("lora_rank") or 8),
        lora_targets=targets_of(row),
        offload=offload_of(str(setup.get("offload") or "")),
        framework=row["engine"],
        framework_version=str(row.get("engine_version") or ""),
        node=facts.node_for(accelerator),
        adapter=_adapter(row, adapter),
        edges_trained=said_method == "lora_emb",
        trained_params_count=_trained(row, adapter),
        image_patches_count=images,
        tower_trained=tower,
    )
    if "megatron" in f"{sharding} {row['engine']}".lower() and not row.get("tp") and not row.get("pp"):
        run = likely_split(run, None)
    return as_scripted(run, row)


def method_of(text: str) -> str:
    """A method as printed, under the key of METHODS: ``QLoRA``, ``Full fine-tuning``, ``full-parameter``."""
    plain = re.sub(r"[\s_-]+", "_", text.strip().lower())
    return "full" if re.fullmatch(r"f?ft|full_?(fine_?tun(e|ing)|param(eter)?s?)(_sft)?", plain) else plain


def _batch(row: dict[str, Any], setup: dict[str, Any]) -> tuple[int, str]:
    """(micro-batch, recomputation): TorchTitan recomputes by operator by default, and pipelines split its batch."""
    said = setup.get("grad_checkpointing", row["engine"].startswith("ms-swift"))
    batch = int(setup.get("micro_batch") or 1)
    if row["engine"] == "torchtitan":
        said = "selective" if said in (None, False) else said
        stages = row.get("pp") or 1
        chunks = 2 if "Interleaved" in str(row.get("args")) else 1  # stages of one rank
        batch = max(1, batch // (chunks * stages)) if stages > 1 else batch
    return batch, recompute_of(said)


def _global(row: dict[str, Any], batch: int) -> int:
    said = row.get("args", {}).get("global_batch_size")
    ranks = row["gpus"] // ((row.get("tp") or 1) * (row.get("pp") or 1) * (row.get("cp") or 1))
    return int(said) if said else batch * max(1, ranks) * (((row.get("pp") or 1) > 1 and 8) or 1)


def _precision(text: str) -> str:
    lowered = text.lower()
    if lowered.startswith(("32", "fp32")):
        return "fp32"
    return next((word for word in ("nvfp4", "mxfp8", "fp8") if word in lowered), "bf16")


def _adapter(row: dict[str, Any], adapter: str | None) -> str:
    """LitGPT's word adapter means LLaMA-Adapter; others mean bottleneck layers."""
    if adapter == "bottleneck" and row["engine"] == "litgpt":
        return "llama-adapter"
    return adapter or "lora"


def _trained(row: dict[str, Any], adapter: str | None) -> float | None:
    said = row.get("args", {}).get("num_trainable_params")
    return float(said) if said and adapter is not None else None


def targets_of(row: dict[str, Any]) -> str:
    """Which matrices have adapters, in our words; every one unless the row names some."""
    said = row.get("args", {}).get("target_modules") or row.get("training", {}).get("lora_targets") or ""
    words = said if isinstance(said, list) else str(said).split(",")
    plain = [word.strip().removesuffix("_proj").removesuffix("_layer") for word in words if word.strip()]
    roles = [role for word in plain for role in PATTERN_WORDS.get(word, word).split(",")]
    known = [role for role in roles if role in ("q", "k", "v", "o", "gate", "up", "down", "head")]
    return ",".join(known) if known else "all"


def offload_of(text: str) -> str:
    """What is kept in host memory, as printed."""
    if "activation" in text:
        return "activations"
    if "param" in text:
        return "all"
    return "optimizer" if "optimizer" in text else "all" if text else "none"


def optimizer_of(text: str) -> str:
    """An optimizer as a log prints it, under our name."""
    lowered = text.lower()
    if "8bit" in lowered or "8-bit" in lowered:
        return "adamw-paged-8bit" if "paged" in lowered else "adamw-8bit"
    for word in ("adafactor", "muon", "sgd", "lion"):
        if word in lowered:
            return word
    return "adamw"
