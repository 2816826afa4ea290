"""Families of any consequence answer from id, hub id and common spellings, with about the weights their name says."""

import pytest

from cabida.facts.models import find_model, models
from cabida.memory.params import params

FAMILIES = {  # spelling: billions of weights, as published
    "Llama": (
        "huggyllama/llama-30b 32.5, llama2-70b 69, meta-llama/Llama-3.2-1B-Instruct 1.24, Llama 3.1 8B 8.03, "
        "meta-llama/Llama-4-Scout-17B-16E-Instruct 109, codellama/CodeLlama-70b-Instruct-hf 69, llama3.3:70b "
        "70.6"
    ),
    "Qwen": (
        "Qwen/Qwen1.5-110B-Chat 111, Qwen/CodeQwen1.5-7B 7.25, Qwen/Qwen2-57B-A14B-Instruct 57.4, qwen2.5:72b "
        "72.7, Qwen/Qwen2.5-VL-32B-Instruct 33.5, Qwen/Qwen2.5-Omni-3B 4.7, Qwen/Qwen3-30B-A3B-Instruct-2507 "
        "30.5, Qwen/Qwen3-Next-80B-A3B-Thinking-FP8 80, Qwen/Qwen3.5-0.8B 0.85, Qwen/Qwen3.8-27B-FP8 27.4, "
        "qwen3:8b 8.2"
    ),
    "DeepSeek": (
        "deepseek-ai/deepseek-moe-16b-chat 16.4, deepseek-ai/DeepSeek-V2-Chat 236, deepseek-r1:7b 7.6, "
        "deepseek-ai/DeepSeek-V3.1-Terminus 671, deepseek-ai/DeepSeek-V4-Flash-Base 284, "
        "deepseek-ai/deepseek-vl2 27.5"
    ),
    "GLM": (
        "THUDM/chatglm-6b 6.2, zai-org/chatglm3-6b 6.2, zai-org/GLM-Z1-32B-0414 32.6, zai-org/GLM-4.5V 107.7, "
        "zai-org/GLM-4.6 353, zai-org/GLM-5-FP8 744"
    ),
    "Kimi, MiniMax, gpt-oss": (
        "moonshotai/Kimi-K2-Instruct-0905 1026, moonshotai/Kimi-VL-A3B-Instruct 16.4, "
        "moonshotai/Kimi-Linear-48B-A3B-Instruct 49, MiniMaxAI/MiniMax-M1-40k 456, MiniMaxAI/MiniMax-M2.1 "
        "229, gpt-oss:20b 20.9, openai/gpt-oss-safeguard-120b 117"
    ),
    "Gemma": (
        "google/codegemma-7b 8.54, gemma2:9b 9.24, google/gemma-3-270m 0.268, gemma3:27b 27.4, "
        "google/gemma-3n-E2B-it 5.44, google/embeddinggemma-300m 0.308, google/paligemma-3b-pt-224 2.92"
    ),
    "Phi": (
        "microsoft/phi-1 1.42, microsoft/Phi-3-small-8k-instruct 7.39, microsoft/Phi-3.5-MoE-instruct 41.9, "
        "phi4 14.7, microsoft/Phi-4-multimodal-instruct 5.57, microsoft/Phi-4-reasoning-plus 14.7"
    ),
    "Mistral": (
        "mistral:7b 7.24, mixtral:8x7b 46.7, mistralai/Mistral-Small-4-119B-2603 119, "
        "mistralai/Ministral-3-8B-Instruct-2512 8.9, mistralai/Mamba-Codestral-7B-v0.1 7.29, "
        "mistralai/Pixtral-Large-Instruct-2411 124, mistralai/Devstral-Small-2-24B-Instruct-2512 24, "
        "mistralai/Voxtral-Mini-3B-2507 4.68"
    ),
    "Falcon": (
        "tiiuae/falcon-11B 11.1, tiiuae/Falcon3-10B-Instruct 10.3, tiiuae/falcon-mamba-7b 7.27, "
        "tiiuae/Falcon-H1-7B-Instruct 7.59"
    ),
    "Granite": (
        "ibm-granite/granite-20b-code-instruct 20.1, ibm-granite/granite-3.1-3b-a800m-instruct 3.3, "
        "ibm-granite/granite-4.0-micro 3.4, ibm-granite/granite-vision-3.3-2b 2.98"
    ),
    "Nemotron": (
        "nvidia/Nemotron-4-340B-Instruct 341, nvidia/Nemotron-H-8B-Base-8K 8.1, "
        "nvidia/NVIDIA-Nemotron-Nano-12B-v2 12.3, nvidia/Llama-3.1-Nemotron-70B-Instruct-HF 70.6"
    ),
    "State space and recurrent": (
        "ai21labs/AI21-Jamba-Large-1.6 398, state-spaces/mamba-2.8b 2.77, state-spaces/mamba2-2.7b 2.7, "
        "RWKV/rwkv-4-14b-pile 14.2, RWKV/v6-Finch-7B-HF 7.6, fla-hub/rwkv7-2.9B-world 2.95, "
        "LiquidAI/LFM2-24B-A2B 23.8"
    ),
    "Other hybrids": (
        "google/recurrentgemma-2b-it 2.68, google/recurrentgemma-9b 8.58, ibm-fms/Bamba-9B 9.78, "
        "allenai/Olmo-Hybrid-7B 7.43"
    ),
    "OLMo and Cohere": (
        "allenai/OLMo-1B-hf 1.18, allenai/OLMo-2-0325-32B-Instruct 32.2, allenai/Olmo-3-7B-Instruct 7.3, "
        "allenai/OLMoE-1B-7B-0924 6.92, CohereLabs/c4ai-command-a-03-2025 111, CohereLabs/aya-23-8B 8.03"
    ),
    "China": (
        "01-ai/Yi-1.5-9B-Chat 8.83, internlm/internlm3-8b-instruct 8.8, OpenGVLab/InternVL3-78B 78.4, "
        "internlm/Intern-S1 241, baichuan-inc/Baichuan2-13B-Chat 13.9, openbmb/MiniCPM3-4B 4.07, "
        "tencent/Hunyuan-7B-Instruct 7.5, baidu/ERNIE-4.5-0.3B-PT 0.36, XiaomiMiMo/MiMo-7B-RL 7.83, "
        "inclusionAI/Ring-1T 1000, ByteDance-Seed/Seed-OSS-36B-Instruct 36.2, "
        "meituan-longcat/LongCat-Flash-Chat 562, stepfun-ai/Step-3.5-Flash 196, rednote-hilab/dots.llm1.inst "
        "143"
    ),
    "Korea, Europe, US": (
        "LGAI-EXAONE/EXAONE-3.5-32B-Instruct 32, LGAI-EXAONE/K-EXAONE-236B-A23B 237, "
        "swiss-ai/Apertus-70B-Instruct-2509 70.6, utter-project/EuroLLM-9B-Instruct 9.15, "
        "arcee-ai/Trinity-Mini 26.1, xai-org/grok-1 315, databricks/dbrx-instruct 132"
    ),
    "Older": (
        "facebook/opt-350m 0.331, EleutherAI/gpt-neo-2.7B 2.65, databricks/dolly-v2-12b 11.8, "
        "bigcode/starcoder2-7b 7.17, bigcode/santacoder 1.12, distilbert/distilgpt2 0.082, "
        "Salesforce/codegen-2B-mono 2.78, stabilityai/stablelm-2-12b 12.1"
    ),
    "Encoder and decoder": (
        "t5-11b 11.3, google/flan-t5-xxl 11.1, google/mt5-base 0.58, openai/whisper-small 0.242, "
        "facebook/bart-large-mnli 0.406, facebook/nllb-200-3.3B 3.34"
    ),
    "Embedders and rerankers": (
        "bert-base-uncased 0.109, BAAI/bge-m3 0.568, intfloat/e5-mistral-7b-instruct 7.24, "
        "Qwen/Qwen3-Embedding-8B 7.57, BAAI/bge-reranker-large 0.56, jinaai/jina-reranker-v3 0.6, "
        "all-MiniLM-L6-v2 0.0227, nomic-ai/nomic-embed-text-v2-moe 0.475, answerdotai/ModernBERT-large 0.395, "
        "Alibaba-NLP/gte-multilingual-base 0.305, microsoft/deberta-v3-large 0.434"
    ),
    "Vision and speech": (
        "llava-hf/llava-v1.6-mistral-7b-hf 7.57, HuggingFaceTB/SmolVLM-256M-Instruct 0.256, "
        "FunAudioLLM/CosyVoice2-0.5B 0.37, canopylabs/orpheus-3b-0.1-ft 3.2, microsoft/VibeVoice-7B 9.34"
    ),
}


def pairs(line):
    for entry in line.split(","):
        name, _, billions = entry.strip().rpartition(" ")
        yield name.strip(), float(billions)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_answers_by_its_names(family):
    told = {name: find_model(name) for name, _ in pairs(FAMILIES[family])}
    assert [name for name, found in told.items() if found is None] == []
    wrong = {
        name: params(told[name]).total_count / 1e9
        for name, billions in pairs(FAMILIES[family])
        if params(told[name]).total_count / 1e9 != pytest.approx(billions, rel=0.035)
    }
    assert wrong == {}


def test_the_catalogue_is_wide():
    assert len(models()) > 650
    assert sum(1 for _ in models().names()) > 1100


def test_a_note_may_be_part_of_a_name_and_blanks_stand_for_dashes():
    assert find_model("deepseek-ai/DeepSeek-V4-Flash (FP8 base)").native_format == "fp8-block"
    assert find_model("deepseek-ai/DeepSeek-V4-Flash").native_format == "fp8-mxfp4"
    assert find_model("Qwen3-8B Q4_K_M").attention == models()["Qwen/Qwen3-8B"].attention


def test_recurrent_models_keep_a_state_and_no_cache():
    for name in ("RWKV/rwkv-4-7b-pile", "fla-hub/rwkv7-2.9B-world", "state-spaces/mamba2-2.7b"):
        (group,) = models()[name].attention
        assert group.kind == "linear"
        assert group.state_elements_count > 0
        assert group.kv_heads_count == 0
    griffin = {group.kind: group for group in models()["google/recurrentgemma-2b"].attention}
    assert {kind: group.layers_count for kind, group in griffin.items()} == {"linear": 18, "sliding": 8}
    assert griffin["sliding"].window_tokens == 2048
    finch = models()["RWKV/v6-Finch-7B-HF"].attention[0]
    assert finch.state_elements_count == 64 * 64 * 64  # a 64 by 64 matrix for each of 64 heads


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("BAAI/bge-m3", 8192),
        ("FacebookAI/roberta-base", 512),
        ("facebook/opt-350m", 2048),
        ("bert-base-uncased", 512),
    ],
)
def test_rows_before_the_first_position_hold_no_token(name, tokens):
    found = find_model(name)
    assert found is not None
    assert found.context_tokens == tokens


def test_only_a_decoder_caches_what_it_writes():
    turbo, whole = find_model("openai/whisper-large-v3-turbo"), find_model("openai/whisper-large-v3")
    for found, decoders in ((turbo, 4), (whole, 32)):
        assert found is not None
        cached = sum(group.layers_count for group in found.attention if group.kv_heads_count)
        assert cached == 2 * decoders  # itself and what crosses to the sound
        assert sum(group.layers_count for group in found.attention) == 32 + cached
