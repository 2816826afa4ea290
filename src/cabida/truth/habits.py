"""What the scripts behind a training case do that its row doesn't repeat: read in their sources, one rule each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cabida.plan import TrainingRun
from cabida.truth.names import spellings

QWEN_RANK = 64  # LoraArguments of finetune.py; its multi-machine script goes with ds_config_zero2.json
LITGPT_BATCH = 128  # gradient steps of litgpt's scripts in 2023; the files of its config_hub say 8
LITGPT_CONFIG_BATCH = 8
LITGPT_CONFIG_ACCELERATORS = 2  # devices of the config files for full fine-tuning on FSDP; all others say 1


def as_scripted(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    """The run with what its framework's scripts do, for memory.

    Args:
        run: What the row itself says.
        row: The case.
    """
    framework = run.framework.lower()
    sharding = str(row.get("sharding") or row.get("training", {}).get("sharding") or "").lower()
    if "zero" in sharding and "deepspeed" not in framework:
        run = replace(run, framework=f"{run.framework}, DeepSpeed")
    if "qwen finetune" in framework and run.method in ("lora", "qlora"):
        run = replace(run, lora_rank=QWEN_RANK)
        if "multinode" in row.get("note", ""):
            run = replace(run, sharding="zero-2")
    elif "qwen finetune" in framework:
        run = replace(run, framework=f"{run.framework}, DeepSpeed", sharding="zero-3")  # finetune_ds.sh
    if "megatron-deepspeed" in framework:
        return replace(run, flash_attention=False, precision=_summed_in(row))
    return _litgpt(run, row, sharding) if framework == "litgpt" else run


def _summed_in(row: dict[str, Any]) -> str:
    """The type gradients are added up in: fp32 from the chronicles' 28 February on, with their bf16 optimizer."""
    later = any(row["model"].endswith(f" {size}") for size in spellings()["summed_in_fp32"])
    return "bf16" if later or "search" not in row["model"] else "fp16"


def _litgpt(run: TrainingRun, row: dict[str, Any], sharding: str) -> TrainingRun:
    """Alone without recomputation; together FSDP with every block recomputed, gradients added up unsharded."""
    configured = "config_hub" in str(row["source"])
    if sharding != "fsdp":
        return replace(run, accelerators_count=1, sharding="none", global_batch_count=run.micro_batch_count)
    return replace(
        run,
        accelerators_count=LITGPT_CONFIG_ACCELERATORS if configured else run.accelerators_count,
        global_batch_count=LITGPT_CONFIG_BATCH if configured else LITGPT_BATCH,
        recompute="full",
    )
