"""Rows of models, formats and cards that no carried case has: each is answered, and with what its sizes come to."""

import pytest

from cabida import memory
from cabida.truth.case import case_of
from cabida.truth.memory_case import deployment_of
from cabida.truth.names import known_model, stated_format
from cabida.truth.predict import answer

ROWS = (  # model, engine, weights and accelerator as pages write them, accelerators
    ("mistralai/Mistral-Small-24B-Instruct-2501", "vllm", "bf16", "h100-sxm-80", 1),
    ("mistralai/Mistral-Nemo-Instruct-2407", "vllm", "bfloat16", "NVIDIA L40S", 1),
    ("TheBloke/Mistral-7B-Instruct-v0.2-AWQ", "vllm", "int4 awq", "rtx3090", 1),
    ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "vllm", "GPTQ-Int4", "a100-sxm-80", 2),
    ("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8", "vllm", "FP8 dynamic", "NVIDIA H100 80GB HBM3", 4),
    ("RedHatAI/Qwen3-32B-quantized.w4a16", "vllm", "W4A16", "a100-pcie-40", 1),
    ("unsloth/gemma-3-12b-it-bnb-4bit", "vllm", "bnb-4bit", "rtx4090", 1),
    ("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "llama.cpp", "Q4_K_M", "rtx3090", 1),
    ("bartowski/Mistral-Small-24B-Instruct-2501-GGUF", "llama.cpp", "gguf-Q5_K_M", "rtx4090", 1),
    ("microsoft/Phi-3.5-mini-instruct", "vllm", "bf16", "a10g", 1),
    ("microsoft/phi-4", "vllm", "fp16", "l4", 2),
    ("google/gemma-2-27b-it", "vllm", "bf16", "a100-sxm-80", 1),
    ("CohereForAI/c4ai-command-r-plus", "vllm", "bf16", "a100-sxm-80", 4),
    ("CohereLabs/aya-expanse-32b", "vllm", "bf16", "h100-sxm-80", 1),
    ("01-ai/Yi-1.5-34B-Chat", "vllm", "bf16", "a100-sxm-80", 1),
    ("databricks/dbrx-instruct", "vllm", "bf16", "h100-sxm-80", 8),
    ("ai21labs/AI21-Jamba-1.5-Mini", "vllm", "bf16", "h100-sxm-80", 2),
    ("ibm-granite/granite-3.1-8b-instruct", "vllm", "bf16", "l40s", 1),
    ("ibm-granite/granite-4.0-h-small", "vllm", "bf16", "h100-sxm-80", 1),
    ("allenai/OLMo-2-1124-13B-Instruct", "vllm", "bf16", "a6000", 1),
    ("bigcode/starcoder2-15b", "vllm", "bf16", "a100-sxm-40", 1),
    ("tiiuae/falcon-40b-instruct", "vllm", "bf16", "a100-sxm-80", 2),
    ("baichuan-inc/Baichuan2-13B-Chat", "vllm", "fp16", "v100-sxm2-32", 1),
    ("THUDM/chatglm3-6b", "vllm", "fp16", "t4", 1),
    ("internlm/internlm2_5-20b-chat", "vllm", "bf16", "a100-sxm-80", 1),
    ("deepseek-ai/DeepSeek-V2-Lite-Chat", "vllm", "bf16", "rtx6000-ada", 1),
    ("deepseek-ai/DeepSeek-R1-0528", "sglang", "fp8", "h200-sxm-141", 8),
    ("cognitivecomputations/DeepSeek-R1-AWQ", "vllm", "awq", "a100-sxm-80", 8),
    ("zai-org/GLM-4.5-Air-FP8", "vllm", "fp8", "h100-sxm-80", 4),
    ("moonshotai/Kimi-VL-A3B-Instruct", "vllm", "bf16", "a100-sxm-80", 1),
    ("Qwen/Qwen2-VL-7B-Instruct", "vllm", "bf16", "l40s", 1),
    ("OpenGVLab/InternVL2_5-8B", "vllm", "bf16", "a100-sxm-40", 1),
    ("llava-hf/llava-1.5-13b-hf", "vllm", "fp16", "a100-sxm-80", 1),
    ("mistralai/Pixtral-12B-2409", "vllm", "bf16", "a100-sxm-40", 1),
    ("Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "vllm", "fp8", "h200-sxm-141", 1),
    ("nvidia/Llama-3.3-70B-Instruct-FP4", "tensorrt-llm", "nvfp4", "b200-sxm-180", 1),
    ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "vllm", "bf16", "a10g", 1),
    ("openai/gpt-oss-20b", "vllm", "MXFP4", "rtx4090", 1),
    ("MiniMaxAI/MiniMax-M2", "vllm", "fp8", "h100-sxm-80", 8),
    ("baidu/ERNIE-4.5-21B-A3B-PT", "vllm", "bf16", "a100-sxm-80", 1),
    ("tencent/Hunyuan-A13B-Instruct", "vllm", "bf16", "h20-96", 4),
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "vllm", "bf16", "h100-sxm-80", 2),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", "vllm", "bf16", "a100-sxm-80", 2),
    ("upstage/SOLAR-10.7B-Instruct-v1.0", "vllm", "fp16", "Tesla V100-SXM2-32GB", 1),
    ("lmsys/vicuna-13b-v1.5", "vllm", "fp16", "a100-sxm-40", 1),
    ("meta-llama/CodeLlama-34b-Instruct-hf", "vllm", "fp16", "a100-sxm-80", 1),
    ("HuggingFaceTB/SmolLM2-1.7B-Instruct", "vllm", "bf16", "t4", 1),
    ("BAAI/bge-m3", "vllm", "fp16", "t4", 1),
    ("Qwen/Qwen3-Reranker-8B", "vllm", "bf16", "l4", 1),
    ("openai/whisper-large-v3", "vllm", "fp16", "t4", 1),
    ("bigscience/bloom-7b1", "vllm", "fp16", "a10g", 1),
    ("mosaicml/mpt-30b-chat", "vllm", "bf16", "a100-sxm-80", 1),
    ("EleutherAI/gpt-neox-20b", "vllm", "fp16", "a100-sxm-80", 1),
    ("mistralai/Devstral-Small-2507", "llama.cpp", "Q6_K", "rtx5090", 1),
    ("Llama-3.1-8B class (14.99 GiB)", "vllm", "bf16", "rtx4090", 1),
    ("Qwen2.5-32B-Instruct (AWQ)", "vllm", "awq 4bit g128", "rtx4090", 2),
    ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "sglang", "fp8 block", "h20-96", 4),
    ("turboderp/Llama-3.3-70B-Instruct-exl2", "exllamav2", "exl2 4.0bpw", "rtx3090", 2),
    ("casperhansen/llama-3.3-70b-instruct-awq", "lmdeploy", "awq-int4", "a100-sxm-80", 1),
    ("hugging-quants/Meta-Llama-3.1-405B-Instruct-AWQ-INT4", "TGI", "AWQ-INT4", "a100-sxm-80", 8),
    ("nvidia/DeepSeek-R1-FP4", "TensorRT-LLM", "NVFP4", "NVIDIA B200", 8),
    ("LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct", "vllm", "fp16", "a10g", 1),
    ("state-spaces/mamba-2.8b-hf", "vllm", "fp16", "rtx3090", 1),
    ("mistralai/Codestral-22B-v0.1", "vllm", "fp8", "l40s", 1),
    ("THUDM/GLM-4-32B-0414", "vllm", "4-bit GPTQ", "rtx5090", 1),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "vllm", "int4 w4a16", "H100", 1),
    ("huihui-ai/Qwen3-14B-abliterated", "vllm", "bf16", "l40s", 1),
    ("Qwen/Qwen3-30B-A3B-Thinking-2507-AWQ-4bit", "vllm", "AWQ 4-bit", "rtx5090", 1),
)  # fmt: skip
KEPT_WIDE_RATIO = 1.9  # small models and towers in 16 bit weigh most beside 4-bit matrices


def row_of(model, engine, weights, gpu, count):
    return {
        "id": "unseen", "kind": "memory", "task": "inference", "engine": engine, "model": model, "weights": weights,
        "gpu": gpu, "gpus": count, "kv_cache": "fp16", "source": "nobody/nothing issue #1 (2025-08-01)",
        "args": {"max_model_len": 4096}, "measured": {"weights_gib_per_gpu": 10.0, "fits": True},
    }  # fmt: skip


@pytest.mark.parametrize("given", ROWS, ids=lambda given: f"{given[0]} {given[2]}")
def test_every_row_is_answered_with_what_its_matrices_come_to(given):
    row = case_of(row_of(*given)).row
    (said,) = answer(case_of(row_of(*given))).predictions
    made, held = known_model(given[0]), stated_format(given[2])
    split = deployment_of(row).parallel
    bare = memory.params(made).total_count * held.body_bits / 8 / 2**30 / (split.tp * split.pp)
    assert 0.93 * bare <= said.predicted <= KEPT_WIDE_RATIO * bare
    assert said.low <= said.predicted <= said.high < 2 * said.low
