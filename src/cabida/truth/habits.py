"""What the scripts behind a training case do that its row doesn't repeat: read in their sources, one rule each."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import facts
from cabida.facts.model import Model
from cabida.plan import TrainingRun

QWEN_RANK = 64  # LoraArguments of finetune.py; its multi-machine script goes with ds_config_zero2.json
LITGPT_BATCH = 128  # gradient steps of litgpt's scripts in 2023; the files of its config_hub say 8
LITGPT_CONFIG_BATCH = 8
LITGPT_EVERYWHERE = ("gemma", "phi", "tiny")  # config files with adapters on every matrix and the head
PEFT_SFT_TOKENS = 2048  # --max_length of peft's examples/sft/run_peft_*.sh
PEFT_COMPLAINTS_TOKENS, PEFT_COMPLAINTS_BATCH = (
    64,
    8,
)  # peft_lora_clm_accelerate_ds_zero3_offload.py; weights in fp32
COMPILED_LOSS_SINCE = "2025-02"  # torchtitan compiles the loss with the model from here on
IMAGE_PATCHES = 5120  # of 14 pixels: a million pixels, the limit Qwen-VL recommends; data sets seldom say
LITGPT_CONFIG_ACCELERATORS = 2  # devices of the config files for full fine-tuning on FSDP; all others say 1


def as_scripted(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    """The run with what its framework's scripts do, for memory.

    Args:
        run: What the row itself says.
        row: The case.
    """
    run = _told(run, row)
    if "nvfp4" in str(row.get("weights")).lower():
        run = replace(run, precision="nvfp4")
    framework = run.framework.lower()
    sharding = str(row.get("sharding") or row.get("training", {}).get("sharding") or "").lower()
    if "zero" in sharding and "deepspeed" not in framework:
        run = replace(run, framework=f"{run.framework}, DeepSpeed")
    if "torchtune" in framework:
        run = replace(run, master_weights=False)  # its recipes hold all of a model in dtype: bf16
    elif "unsloth" in framework:
        run = replace(
            run, recompute="full", loss="fused", offload="activations"
        )  # use_gradient_checkpointing="unsloth"
    if str(row["source"]).startswith("QwenLM/Qwen "):
        run = _qwen(run, row, sharding)
    elif str(row["source"]).startswith("huggingface/peft"):
        run = _peft(run, row)
    elif framework == "ms-swift" and run.sharding == "none" and run.accelerators_count > 1:
        run = replace(
            run, pp=run.accelerators_count, global_batch_count=run.micro_batch_count
        )  # device_map="auto"
    elif "torchtitan" in framework:
        run = _torchtitan(run, row)
    if "megatron" in sharding and "megatron" not in framework:
        run = replace(run, framework=f"{run.framework}, Megatron")
    if "megatron-deepspeed" in framework:
        return replace(run, flash_attention=False, precision=_summed_in(row))
    return _litgpt(run, row, sharding) if framework.startswith("litgpt") else run


def _told(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    """What flags and notes say of the loss, compilation, the step and offloading."""
    told = [
        row.get(key)
        for key in ("args", "training", "note", "sharding", "framework", "activation_checkpointing")
    ]
    words = " ".join(str(one) for one in told).lower()
    loss = run.loss
    if re.search(r"chunked[_ -](ce\b|cross|output|loss)", words):
        loss = "chunked"
    if re.search(r"use_liger_kernel': 'true'|(?<!use_)liger|cut[_ -]cross", words):
        loss = "fused"
    offload = run.offload
    if re.search(r"activation[_ ]offload|offload[_ ]activations|optimizer_cpu_offload': 'true'", words):
        offload = "optimizer" if "optimizer_cpu_offload" in words else "activations"
    return replace(
        run,
        loss=loss,
        offload=offload if run.offload == "none" else run.offload,
        compiled=bool(re.search(r"\bcompiled?\b(?!': ('false'|false))", words)),
        step_in_backward=bool(re.search(r"optimizer[_ ](step )?(in|into)[_ ](bwd|backward)|lomo", words)),
    )


def _summed_in(row: dict[str, Any]) -> str:
    """The type gradients are added up in: fp32 with the bf16 optimizer of the runs that the search ended in."""
    return "fp16" if "search" in str(row["model"]) else "bf16"


def _litgpt(run: TrainingRun, row: dict[str, Any], sharding: str) -> TrainingRun:
    """Alone without recomputation; together FSDP with every block recomputed, gradients added up unsharded.

    Adapters are on queries and values unless a file of ``config_hub/finetune/<model>/lora.yaml`` says otherwise.
    """
    configured = "config_hub" in str(row["source"])
    if row["kind"] == "training":
        every = configured and any(word in str(row["model"]).lower() for word in LITGPT_EVERYWHERE)
        run = replace(run, lora_targets="q,k,v,o,gate,up,down,head" if every else "q,v", tp=1, pp=1)
    if sharding != "fsdp" and (configured or sharding or run.accelerators_count == 1):
        whole = LITGPT_CONFIG_BATCH if configured else LITGPT_BATCH
        batch = max(whole, 2 * run.micro_batch_count if run.method == "full" else 0)
        return replace(run, accelerators_count=1, sharding="none", global_batch_count=batch)
    return replace(
        run,
        sharding="fsdp",
        accelerators_count=LITGPT_CONFIG_ACCELERATORS if configured else run.accelerators_count,
        global_batch_count=LITGPT_CONFIG_BATCH if configured else LITGPT_BATCH,
        recompute="full",
    )


def _qwen(run: TrainingRun, row: dict[str, Any], sharding: str) -> TrainingRun:
    """Qwen's scripts: rank 64; GPTQ models in fp16 under DeepSpeed ZeRO-2; its model code leaves logits in 16 bit.

    HF's trainer wraps bf16 in autocast, which makes the loss fp32, but not where DeepSpeed holds the model in 16 bit.
    finetune/finetune_qlora_single_gpu.sh, finetune_ds.sh, modeling_qwen.py.
    """
    run = replace(run, global_batch_count=8 * run.accelerators_count * run.micro_batch_count)
    zero2 = "multinode" in row.get("note", "")
    if run.method == "lora" and (zero2 or "zero" not in sharding):
        return replace(run, lora_rank=QWEN_RANK, sharding="zero-2" if zero2 else run.sharding)
    framework = run.framework if "deepspeed" in run.framework.lower() else f"{run.framework}, DeepSpeed"
    run = replace(run, loss="half", framework=framework)
    if run.method == "full":
        return replace(run, sharding="zero-3")
    return replace(run, lora_rank=QWEN_RANK, sharding="zero-2" if run.method == "qlora" else run.sharding)


def _peft(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    if "README" not in str(row["source"]):
        return run
    batch = PEFT_COMPLAINTS_BATCH
    zero = str(row.get("training", {}).get("offload", "")).startswith("deepspeed")
    return replace(
        run,
        micro_batch_count=batch,
        global_batch_count=batch,
        precision="fp32",
        weights=facts.weight_format("fp32"),
        master_weights=False,
        lora_targets="q,v",
        framework="DeepSpeed" if zero else "torch 1.13",  # before foreach became the default
        sharding="zero-3" if zero else run.sharding,
    )


def _torchtitan(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    """Its loss is compiled with the model in later versions; no gradient is added up unless a batch is stated."""
    found = re.search(r"20\d\d-\d\d", str(row["source"]))
    compiled = found is not None and found.group(0) >= COMPILED_LOSS_SINCE and run.pp == 1
    interleaved = "interleaved" in f"{row.get('args', {})} {row.get('note', '')}".lower()
    return replace(
        run,
        loss="compiled" if compiled else run.loss,
        schedule="interleaved" if interleaved else run.schedule,
        virtual_stages_count=2 if interleaved else run.virtual_stages_count,
    )


def scripted_tokens(row: dict[str, Any]) -> int | None:
    """The sequence length of the script behind a row, where that is known."""
    if str(row["source"]).startswith("huggingface/peft README"):
        return PEFT_COMPLAINTS_TOKENS
    return (
        PEFT_SFT_TOKENS if str(row["source"]).startswith("huggingface/peft docs/source/accelerate") else None
    )


def seen_images(row: dict[str, Any], model: Model) -> tuple[int, bool]:
    """(patches of a usual image, whether its tower is trained): frozen where the row says so or adapters are used."""
    if model.task != "vlm" or not model.extra_params_count:
        return 0, False
    said = str(row.get("args", {}).get("freeze_vit", "")).lower()
    trained = row.get("training", {}).get("method") == "full" and said != "true"
    return IMAGE_PATCHES, trained or str(row["source"]).startswith(
        "OpenBMB"
    )  # its scripts say --tune_vision true
