"""Training over several accelerators: the configurations of accelerate and DeepSpeed, and torchrun.

Keys as in accelerate's ``ClusterConfig`` (huggingface.co/docs/accelerate/package_reference/cli) and DeepSpeed's
configuration JSON (deepspeed.ai/docs/config-json), seen 2026-12-01.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cabida.errors import InvalidInput
from cabida.launch.compose import notes_of
from cabida.launch.start import Start
from cabida.launch.yamls import as_text, comments
from cabida.text import problem

STAGES = {"zero-1": 1, "zero-2": 2, "zero-3": 3}
FSDP = ("fsdp", "hsdp")
PORT = 29500  # torchrun's own
FOR_LAUNCHERS = re.compile(
    r"""--(?:accelerate_config|num_processes|num_machines|machine_rank|main_process_ip)\s+(?:"[^"]*"|\S+)\s*"""
)


def accelerate(start: Start) -> str:
    """``accelerate launch --config_file accelerate.yaml``: processes, machines, sharding, precision.

    Raises:
        InvalidInput: the run is Megatron's (CB-L011).
    """
    _of_trl(start, "accelerate")
    sharding = str(start.setup.get("sharding", "none"))
    document: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": _kind(start, sharding),
        "mixed_precision": _precision(start),
        "num_machines": start.nodes_count,
        "num_processes": start.nodes_count * start.accelerators_per_node,
        "machine_rank": 0,
        "main_training_function": "main",
        "use_cpu": False,
    }
    if start.nodes_count > 1:
        document |= {"rdzv_backend": "c10d", "main_process_port": PORT, "same_network": True}
    if sharding in STAGES:
        document["deepspeed_config"] = {
            "deepspeed_config_file": "deepspeed.json", "zero3_init_flag": STAGES[sharding] == 3,
            **({"deepspeed_multinode_launcher": "standard"} if start.nodes_count > 1 else {}),
        }  # fmt: skip
        document.pop("mixed_precision")  # DeepSpeed's file says it
    if sharding in FSDP:
        document["fsdp_config"] = {
            "fsdp_version": 2,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_reshard_after_forward": True,
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_offload_params": _offloads(start, "parameters"),
            "fsdp_activation_checkpointing": False,  # the command says it
        }
    return as_text(document, notes_of(start))


def deepspeed(start: Start) -> str:
    """DeepSpeed's JSON: ZeRO stage, precision, batch, offload.

    Raises:
        InvalidInput: the run shards otherwise (CB-L012).
    """
    sharding = str(start.setup.get("sharding", "none"))
    if sharding not in STAGES:
        raise InvalidInput([problem("CB-L012", sharding=sharding)])
    stage = STAGES[sharding]
    zero: dict[str, Any] = {"stage": stage, "overlap_comm": True, "contiguous_gradients": True}
    if stage == 3:
        zero |= {"stage3_gather_16bit_weights_on_model_save": True}
    if _offloads(start, "optimizer"):
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if _offloads(start, "parameters") and stage == 3:
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    micro, whole = int(start.setup.get("micro_batch", 1)), int(start.setup.get("global_batch", 1))
    world = max(1, start.nodes_count * start.accelerators_per_node)
    steps = max(1, -(-whole // max(1, micro * world)))
    document = {
        "train_micro_batch_size_per_gpu": micro,
        "gradient_accumulation_steps": steps,
        "train_batch_size": micro * steps * world,
        "bf16": {"enabled": _precision(start) == "bf16"},
        "fp16": {"enabled": _precision(start) == "fp16"},
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
    }
    return json.dumps(document, indent=2) + "\n"


def torchrun(start: Start) -> str:
    """A script that starts the run under torchrun on each machine; NODE_RANK and HEAD_ADDRESS tell several apart."""
    head = "#!/usr/bin/env bash\n" + comments(notes_of(start)) + "set -euo pipefail\n"
    if "torchrun" in start.words[:1]:
        return f"{head}{start.text}\n"
    across = ""
    if start.nodes_count > 1:
        across = f' --nnodes {start.nodes_count} --node-rank "${{NODE_RANK:?}}"'
        across += f' --master-addr "${{HEAD_ADDRESS:?}}" --master-port {PORT}'
    told = FOR_LAUNCHERS.sub("", start.text.removeprefix("trl sft")).strip()
    sharding = str(start.setup.get("sharding", "none"))
    if sharding in STAGES:
        told += " --deepspeed deepspeed.json"
    elif sharding in FSDP:
        told += ' --fsdp "full_shard auto_wrap"'
    return (
        f"{head}torchrun --nproc-per-node {start.accelerators_per_node}{across} -m trl.scripts.sft {told}\n"
    )


def _of_trl(start: Start, form: str) -> None:
    if start.words[:2] != ("trl", "sft"):
        raise InvalidInput([problem("CB-L011", form=form, program=start.words[0] if start.words else "–")])


def _kind(start: Start, sharding: str) -> str:
    if sharding in STAGES:
        return "DEEPSPEED"
    if sharding in FSDP:
        return "FSDP"
    return "MULTI_GPU" if start.nodes_count * start.accelerators_per_node > 1 else "NO"


def _precision(start: Start) -> str:
    told = str(start.setup.get("precision", "bf16"))
    return "fp16" if told == "fp16" else "no" if told == "fp32" else "bf16"


def _offloads(start: Start, what: str) -> bool:
    told = {one.strip() for one in str(start.setup.get("offload", "none")).split(",")}
    return what in told or "all" in told
