"""Asks aiconfigurator, inside its own environment: questions as JSON lines on stdin, answers as JSON lines on stdout.

Each model under the name of the configuration that the package bundles for the row's weight format; the newest kernel
tables of the row's engine (its own version's where they are there). Refused under SILICON, a row is asked again under
HYBRID, which fills missing tables by formula.
"""

from __future__ import annotations

import json
import sys
import time

from aiconfigurator.cli.api import cli_estimate

SYSTEMS = {
    "h100-sxm-80": "h100_sxm", "h200-sxm-141": "h200_sxm", "b200-sxm-180": "b200_sxm", "b300-sxm-288": "b300_sxm",
    "gb200": "gb200", "gb300": "gb300", "a100-sxm-80": "a100_sxm", "l40s": "l40s",
    "rtx-pro-6000-server": "rtx_pro_6000_server",
}  # fmt: skip
NAMES = {  # model, weights -> the bundled configuration
    ("meta-llama/Llama-3.1-70B", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8",
    ("meta-llama/Llama-3.1-70B", ""): "meta-llama/Meta-Llama-3.1-70B",
    ("meta-llama/Llama-3.1-8B", ""): "meta-llama/Meta-Llama-3.1-8B",
    ("meta-llama/Llama-3.1-405B", ""): "meta-llama/Meta-Llama-3.1-405B",
    ("Qwen/Qwen3-32B", "fp8"): "Qwen/Qwen3-32B-FP8",
    ("Qwen/Qwen3-235B-A22B", "fp8"): "Qwen/Qwen3-235B-A22B-FP8",
    ("Qwen/Qwen3-235B-A22B", "fp4"): "nvidia/Qwen3-235B-A22B-NVFP4",
    ("Qwen/Qwen3.5-397B-A17B", "fp4"): "nvidia/Qwen3.5-397B-A17B-NVFP4",
    ("MiniMaxAI/MiniMax-M2.5", "fp4"): "nvidia/MiniMax-M2.5-NVFP4",
    ("moonshotai/Kimi-K2.5", "fp4"): "nvidia/Kimi-K2.5-NVFP4",
    ("nvidia/DeepSeek-R1-NVFP4", "fp4"): "deepseek-ai/DeepSeek-R1",
    ("nvidia/Qwen3-32B-NVFP4", "fp4"): "Qwen/Qwen3-32B",
}
NATIVE = ("NVFP4", "FP8", "gpt-oss")  # configurations that name their own format
MOE_4BIT = ("DeepSeek-R1", "DeepSeek-V3")  # NVFP4 checkpoints quantise the experts and the MLP


def named(model: str, weights: str) -> str:
    """The bundled configuration for a model in a format."""
    return NAMES.get((model, weights)) or NAMES.get((model, "")) or model


def answer(asked: dict, mode: str) -> dict:
    """What the tool says of one row."""
    model, dp = named(asked["model"], asked["weights"]), asked["dp"]
    how = {}
    if asked["weights"] == "fp4" and not any(word in model for word in NATIVE):
        how = {"gemm_quant_mode": "nvfp4", "moe_quant_mode": "nvfp4"}
    if asked["weights"].startswith(("fp8", "fp4")) and asked["engine"] == "trtllm":
        how["kvcache_quant_mode"] = "fp8"  # what TensorRT-LLM keeps beside such weights
    if asked["moe"]:
        count = asked["tp"] * dp
        ep = min(max(asked["ep"], 1), count)
        how |= {"moe_ep_size": ep, "moe_tp_size": max(1, count // ep)}
    found = cli_estimate(
        model, SYSTEMS[asked["gpu"]], backend_name=asked["engine"], database_mode=mode,
        isl=asked["input_tokens"], osl=asked["output_tokens"], batch_size=max(1, round(asked["concurrency"] / dp)),
        tp_size=asked["tp"], pp_size=asked["pp"], attention_dp_size=dp, **how,
    )  # fmt: skip
    return {"ttft_ms": float(found.ttft), "tpot_ms": float(found.tpot)}


def main() -> None:
    """Answer until there are no more questions."""
    out = sys.stdout
    sys.stdout = sys.stderr  # the package prints notices of its own
    for line in sys.stdin:
        asked, begun = json.loads(line), time.process_time()
        said: dict = {"id": asked["id"], "figures": {}, "why": ""}
        for mode in ("SILICON", "HYBRID"):
            try:
                said |= {"figures": answer(asked, mode), "how": mode, "why": ""}
                break
            except BaseException as error:
                said["why"] = said["why"] or f"{type(error).__name__}: {str(error)[:200]}"
        said["cpu_s"] = round(time.process_time() - begun, 3)
        out.write(json.dumps(said) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
