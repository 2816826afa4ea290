"""Asks llm-analysis, inside its own environment: questions as JSON lines on stdin, answers as JSON lines on stdout.

Model and card are told by their figures, machines joined at 400 Gb/s; efficiency is an input of the tool and 0.5 is
taken, the one of its examples.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import time

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis
    from llm_analysis.config import GPUConfig, ModelConfig, ParallelismConfig, get_dtype_config_by_name

logging.disable(logging.CRITICAL)
EFFICIENCY = 0.5


def answer(asked: dict) -> dict:
    """What the tool says of one row."""
    if asked["experts"] and not asked["intermediate"]:
        message = "shape of the experts not known"
        raise LookupError(message)
    if asked["precision"] != "bf16":
        message = f"no type of training is named {asked['precision']}"
        raise LookupError(message)
    model = ModelConfig(
        name="asked", num_layers=asked["layers"], n_head=asked["heads"], hidden_dim=asked["hidden"],
        vocab_size=asked["vocab"], max_seq_len=asked["seq_len"], num_key_value_heads=asked["kv_heads"],
        ffn_embed_dim=asked["intermediate"], expansion_ratio=asked["intermediate"] / asked["hidden"],
        moe_num_experts=max(1, asked["experts"]), moe_top_k=max(1, asked["experts_per_token"]),
    )  # fmt: skip
    card = asked["card"]
    gpu = GPUConfig(
        name=asked["gpu"], mem_per_GPU_in_GB=card["memory_gb"], hbm_bandwidth_in_GB_per_sec=card["memory_gb_per_s"],
        intra_node_bandwidth_in_GB_per_sec=card["link_gb_per_s"], intra_node_min_message_latency=8e-6,
        peak_fp16_TFLOPS=card["bf16_tflops"], inter_node_bandwidth_in_GB_per_sec=50,
    )  # fmt: skip
    tp, pp, count = asked["tp"], asked["pp"], asked["gpus"]
    dp = max(1, count // (tp * pp))
    tool = LLMAnalysis(
        model, gpu, get_dtype_config_by_name("w16a16e16"),
        ParallelismConfig(tp_size=tp, pp_size=pp, dp_size=dp, sp_size=tp if asked["sequence_parallel"] else 1),
        flops_efficiency=EFFICIENCY,
    )  # fmt: skip
    found = tool.training(
        batch_size_per_gpu=asked["micro_batch"], seq_len=asked["seq_len"],
        global_batch_size=asked["global_batch"] or None,
        gradient_accumulation_steps=None if asked["global_batch"] else 1,
        total_num_tokens=1e12, activation_recomputation=ActivationRecomputation(asked["recompute"]),
        ds_zero=DSZeRO(asked["zero"]), flash_attn=True, mlp_gated_linear_units=asked["gated"],
    )  # fmt: skip
    step_s = float(found["latency_per_iter"])
    tokens = float(found["global_batch_size"]) * asked["seq_len"]
    return {"tokens_s_per_gpu": tokens / step_s / count}


def main() -> None:
    """Answer until there are no more questions."""
    for line in sys.stdin:
        asked, begun = json.loads(line), time.process_time()
        said: dict = {"id": asked["id"], "figures": {}, "why": ""}
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                said["figures"] = answer(asked)
        except BaseException as error:
            said["why"] = f"{type(error).__name__}: {str(error)[:200]}"
        said["cpu_s"] = round(time.process_time() - begun, 3)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
