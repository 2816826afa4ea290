"""Training launches: TRL for fine-tuning, Megatron-LM where the run is split inside a layer or pre-trains.

Options as in huggingface.co/docs/trl (sft, ModelConfig, accelerate configs) and Megatron-LM
megatron/training/arguments.py, seen 2026-11-30. What only the user knows (data set, learning rate, starting
checkpoint, addresses) is a shell variable that must be set.
"""

from __future__ import annotations

import math

from cabida.launch.shell import Option, assemble
from cabida.plan import TrainingRun
from cabida.text import number, tr

OPTIMIZERS = {
    "adamw": "adamw_torch_fused",
    "adamw-8bit": "adamw_8bit",
    "adamw-paged-8bit": "paged_adamw_8bit",
    "adafactor": "adafactor",
    "sgd": "sgd",
    "lion": "lion_32bit",
}
SHARDING = {
    "ddp": "multi_gpu",
    "zero-1": "zero1",
    "zero-2": "zero2",
    "zero-3": "zero3",
    "fsdp": "fsdp2",
    "hsdp": "fsdp2",
}
DATASET = "${DATASET:?}"


def training(r: TrainingRun) -> str:
    """The command that starts ``r``, with what must be done first as comments."""
    inside = r.tp * r.pp * r.cp * r.ep > 1
    megatron = "megatron" in r.framework.lower() or (not r.framework and (inside or r.method == "pretrain"))
    return _megatron(r) if megatron else _trl(r)


def accumulation_count(r: TrainingRun) -> int:
    """Micro-batches one accelerator adds up before an optimizer step."""
    return max(1, math.ceil(r.global_batch_count / (r.micro_batch_count * r.data_parallel_count)))


def _trl(r: TrainingRun) -> str:
    adapters = r.method in ("lora", "qlora")
    config = SHARDING.get(r.sharding, "single_gpu" if r.accelerators_count == 1 else "multi_gpu")
    steps = math.ceil(r.target_tokens / (r.global_batch_count * r.seq_tokens)) if r.target_tokens else None
    options: list[Option] = [
        ("--accelerate_config", config if r.accelerators_count > 1 else None),
        ("--num_processes", r.accelerators_count if r.accelerators_count > 1 else None),
        ("--num_machines", _nodes(r) if _nodes(r) > 1 else None),
        ("--machine_rank", "${NODE_RANK:?}" if _nodes(r) > 1 else None),
        ("--main_process_ip", "${HEAD_ADDRESS:?}" if _nodes(r) > 1 else None),
        ("--model_name_or_path", r.model.id),
        ("--dataset_name", DATASET),
        ("--output_dir", "./checkpoints"),
        ("--dtype", "float32" if r.master_weights and not adapters and r.precision != "fp32" else "bfloat16"),
        ("--bf16", "true" if r.precision in ("bf16", "fp8", "nvfp4") else None),
        ("--fp16", "true" if r.precision == "fp16" else None),
        ("--max_length", r.seq_tokens),
        ("--packing", True),
        ("--per_device_train_batch_size", r.micro_batch_count),
        ("--gradient_accumulation_steps", accumulation_count(r)),
        ("--max_steps", steps),
        ("--optim", OPTIMIZERS.get(r.optimizer, r.optimizer)),
        ("--gradient_checkpointing", r.recompute != "none"),
        ("--attn_implementation", "flash_attention_2" if r.flash_attention else "sdpa"),
        ("--use_liger_kernel", r.fused_loss),
        ("--use_peft", adapters),
        ("--lora_r", r.lora_rank if adapters else None),
        ("--lora_target_modules", _targets(r) if adapters else None),
        ("--load_in_4bit", r.method == "qlora"),
        ("--bnb_4bit_quant_type", "nf4" if r.method == "qlora" else None),
        ("--use_bnb_nested_quant", r.method == "qlora"),
    ]
    return assemble("trl sft", options=options, notes=(_pin(r), _offload(r)))


def _targets(r: TrainingRun) -> str:
    return "all-linear" if r.lora_targets == "all" else "q_proj k_proj v_proj o_proj"


def _megatron(r: TrainingRun) -> str:
    model, per_node = r.model, _per_node(r)
    attention, mlp = model.attention[0], model.mlp[-1]
    grouped = 0 < attention.kv_heads_count < attention.heads_count
    steps_tokens = r.global_batch_count * r.seq_tokens
    samples = math.ceil(r.target_tokens / r.seq_tokens) if r.target_tokens else None
    options: list[Option] = [
        ("--num-layers", model.layers_count),
        ("--hidden-size", model.hidden_dim_count),
        ("--ffn-hidden-size", model.mlp[0].intermediate_dim_count),
        ("--num-attention-heads", attention.heads_count),
        ("--group-query-attention", grouped),
        ("--num-query-groups", attention.kv_heads_count if grouped else None),
        ("--kv-channels", attention.head_dim_count or None),
        ("--swiglu", mlp.matrices_count == 3),
        ("--normalization", "RMSNorm" if mlp.matrices_count == 3 else None),
        ("--position-embedding-type", "rope"),
        ("--disable-bias-linear", not attention.biases),
        ("--untie-embeddings-and-output-weights", not model.tied_embeddings),
        ("--num-experts", mlp.experts_count or None),
        ("--moe-ffn-hidden-size", mlp.intermediate_dim_count if mlp.experts_count else None),
        ("--moe-router-topk", mlp.experts_per_token_count or None),
        ("--seq-length", r.seq_tokens),
        ("--max-position-embeddings", r.seq_tokens),
        ("--micro-batch-size", r.micro_batch_count),
        ("--global-batch-size", r.global_batch_count),
        ("--train-samples", samples),
        ("--tensor-model-parallel-size", r.tp),
        ("--sequence-parallel", r.tp > 1),
        ("--pipeline-model-parallel-size", r.pp),
        ("--context-parallel-size", r.cp if r.cp > 1 else None),
        ("--expert-model-parallel-size", r.ep if r.ep > 1 else None),
        ("--use-distributed-optimizer", r.sharding in ("zero-1", "zero-2")),
        ("--use-torch-fsdp2", r.sharding in ("zero-3", "fsdp", "hsdp")),
        ("--bf16", r.precision in ("bf16", "fp8", "nvfp4")),
        ("--fp16", r.precision == "fp16"),
        ("--fp8-format", "hybrid" if r.precision == "fp8" else None),
        ("--fp4-format", "e2m1" if r.precision == "nvfp4" else None),
        ("--recompute-granularity", r.recompute if r.recompute != "none" else None),
        ("--recompute-method", "uniform" if r.recompute == "full" else None),
        ("--recompute-num-layers", 1 if r.recompute == "full" else None),
        ("--use-flash-attn", r.flash_attention),
        ("--cross-entropy-loss-fusion", r.fused_loss),
        ("--optimizer", "sgd" if r.optimizer == "sgd" else "muon" if r.optimizer == "muon" else "adam"),
        ("--lr", "${LEARNING_RATE:?}"),
        ("--load", "${CHECKPOINT:?}" if r.method != "pretrain" else None),
        ("--finetune", r.method != "pretrain"),
        ("--data-path", DATASET),
        ("--tokenizer-type", "HuggingFaceTokenizer"),
        ("--tokenizer-model", model.id),
        ("--save", "./checkpoints"),
    ]
    torchrun = f"torchrun --nproc-per-node {per_node}"
    if _nodes(r) > 1:
        torchrun += (
            f' --nnodes {_nodes(r)} --node-rank "${{NODE_RANK:?}}" --master-addr "${{HEAD_ADDRESS:?}}"'
        )
    batch = tr("launch.batch", tokens=number(steps_tokens, 9), steps=accumulation_count(r))
    return assemble(f"{torchrun} pretrain_gpt.py", options=options, notes=(_pin(r), batch, _offload(r)))


def _per_node(r: TrainingRun) -> int:
    return min(r.accelerators_count, r.node.accelerators_count if r.node else 8)


def _nodes(r: TrainingRun) -> int:
    return math.ceil(r.accelerators_count / _per_node(r))


def _pin(r: TrainingRun) -> str:
    return f"{r.framework} {r.framework_version}" if r.framework and r.framework_version else ""


def _offload(r: TrainingRun) -> str:
    return tr("launch.offload", what=r.offload) if r.offload != "none" else ""
