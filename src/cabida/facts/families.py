"""What a family's modelling code takes for granted when its config doesn't say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Family:
    """The habits of one ``model_type``, as in its class in the transformers library or its own repository."""

    mixer: str = "attention"  # which reader of mixers.py or recurrent.py lays out its layers
    tied: bool = False  # one matrix for embedding and head, when the file doesn't say
    matrices: int = 3  # 3 gated feed-forward, 2 plain
    biases: bool = False  # biases on queries, keys and values, when the file doesn't say
    window: str = ""  # none, all, even, "every N" (all but each Nth layer), upper (from max_window_layers on)
    width: str = "given"  # feed-forward width: given, four (times hidden), half (of what the file says)
    positions: bool = False  # learned positions
    before_count: int = 0  # of them, rows before the first token's (transformers: pad_token_id + 1)
    task: str = "llm"
    rotary: float = (
        1.0  # share of a head that rotates, when the file doesn't say; 0 = positions by other means
    )
    half: bool = True  # runs in fp16; engines refuse what overflows there (vLLM config/model.py)
    defaults: dict[str, Any] = field(default_factory=dict)  # of its config class


_PLAIN = Family(matrices=2, biases=True, width="four", rotary=0.5)
_TIED = Family(tied=True)
_MLA = Family()  # latent attention is told by the file: kv_lora_rank
_QWEN2 = Family(biases=True, window="upper")
_GEMMA3 = Family(
    tied=True,
    half=False,
    window="every 6",
    defaults={"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208},
)
_TRANSLATOR = Family(mixer="encoder_decoder", matrices=2, biases=True, tied=True, positions=True)
_BERT = Family(matrices=2, biases=True, tied=True, positions=True, task="embedding", mixer="encoder")
_ROBERTA = replace(_BERT, before_count=2)

FAMILIES: dict[str, Family] = {
    "afmoe": Family(window="every 4"),
    "apertus": Family(matrices=2),
    "arcee": Family(matrices=2),
    "arctic": Family(),
    "baichuan": Family(),
    "bailing_moe": Family(),
    "bailing_moe_v2": Family(),
    "bamba": Family(mixer="mamba2", rotary=0.5),
    "bart": _TRANSLATOR,
    "bert": _BERT,
    "bitnet": _TIED,
    "bloom": Family(rotary=0.0, matrices=2, biases=True, width="four", tied=True),
    "chatglm": Family(biases=True, rotary=0.5),
    "codegen": _PLAIN,
    "cohere": _TIED,
    "cohere2": Family(tied=True, window="every 4"),
    "dbrx": Family(),
    "deepseek": Family(),
    "deepseek_ref": Family(mixer="compressed", rotary=0.125),
    "deepseek_v2": _MLA,
    "deepseek_v3": _MLA,
    "deepseek_v32": _MLA,
    "deepseek_v4": Family(mixer="compressed", rotary=0.125),
    "deepseek_vl_v2": _MLA,
    "dit": Family(rotary=0.0, matrices=2, mixer="encoder", tied=True, task="image"),
    "dots1": Family(),
    "ernie4_5": _TIED,
    "ernie4_5_moe": _TIED,
    "exaone": Family(),
    "exaone4": Family(window="every 4"),
    "exaone_moe": Family(window="every 4"),
    "falcon": Family(matrices=2, width="four", tied=True),
    "falcon_h1": Family(mixer="parallel"),
    "falcon_mamba": Family(mixer="mamba1"),
    "gemma": Family(tied=True),
    "gemma2": Family(tied=True, window="even", half=False),
    "gemma3": _GEMMA3,
    "gemma3n": Family(tied=True, window="every 5"),
    "gemma4": Family(tied=True, window="every 6"),
    "glm": Family(biases=True, rotary=0.5),
    "glm1": Family(matrices=2, biases=True, tied=True),
    "glm4": Family(biases=True, half=False, rotary=0.5),
    "glm4_moe": Family(biases=True, rotary=0.5),
    "glm4_moe_lite": _MLA,
    "glm_moe_dsa": _MLA,
    "gpt2": Family(matrices=2, biases=True, width="four", tied=True, positions=True),
    "gpt_bigcode": Family(matrices=2, biases=True, width="four", tied=True, positions=True),
    "gpt_neo": Family(matrices=2, width="four", tied=True, positions=True),
    "gpt_neox": _PLAIN,
    "gpt_oss": Family(biases=True, window="even"),
    "gptj": Family(matrices=2, width="four"),
    "grok-1": _TIED,
    "granite": _TIED,
    "granitemoe": _TIED,
    "granitemoehybrid": Family(mixer="mamba2", tied=True),
    "hunyuan": _TIED,
    "hunyuan_v1_dense": _TIED,
    "hunyuan_v1_moe": _TIED,
    "internlm": Family(biases=True),
    "internlm2": Family(),
    "internlm3": Family(),
    "jais": Family(rotary=0.0, biases=True, tied=True),
    "jamba": Family(mixer="mamba1"),
    "kimi_k2": _MLA,
    "kimi_k25": _MLA,
    "kimi_linear": Family(mixer="kda"),
    "lfm2": Family(mixer="short_conv", tied=True),
    "lfm2_moe": Family(mixer="short_conv", tied=True),
    "llama": Family(),
    "llama4": Family(window="every 4"),
    "longcat_flash": _MLA,
    "mamba": Family(mixer="mamba1", tied=True),
    "m2m_100": _TRANSLATOR,
    "mamba2": Family(mixer="mamba2_only", tied=True),
    "marian": _TRANSLATOR,
    "mbart": _TRANSLATOR,
    "mimo": Family(biases=True),
    "mimo_v2_flash": Family(),
    "minicpm": _TIED,
    "minicpm3": _TIED,
    "minimax": Family(mixer="lightning", rotary=0.5),
    "minimax_m1": Family(mixer="lightning", rotary=0.5),
    "minimax_text_01": Family(mixer="lightning", rotary=0.5),
    "minimax_m2": Family(rotary=0.5),
    "minimax_m3": Family(),
    "minimax_m3_vl": Family(),
    "ministral": Family(window="all"),
    "ministral3": Family(),
    "mistral": Family(window="all"),
    "mistral3": Family(),
    "mistral4": _MLA,
    "mixtral": Family(),
    "mllama": Family(mixer="crossed"),
    "modernbert": Family(tied=True, task="embedding", mixer="encoder"),
    "mpt": Family(rotary=0.0, matrices=2, width="four", tied=True),
    "mt5": Family(rotary=0.0, mixer="encoder_decoder"),
    "nemotron": Family(matrices=2),
    "nemotron-nas": Family(mixer="block_configs"),
    "nemotron_h": Family(mixer="pattern", matrices=2),
    "nomic_bert": Family(tied=True, task="embedding", mixer="encoder"),
    "nomic_bert2": Family(tied=True, task="embedding", mixer="encoder", matrices=2),
    "olmo": Family(),
    "olmo2": Family(),
    "olmo3": Family(window="every 4"),
    "olmo_hybrid": Family(mixer="gated_delta"),
    "olmoe": Family(),
    "opt": Family(matrices=2, biases=True, width="four", tied=True, positions=True),
    "persimmon": _PLAIN,
    "pegasus": _TRANSLATOR,
    "phi": _PLAIN,
    "phi3": Family(window="all"),
    "phi3small": Family(biases=True, tied=True),
    "phimoe": Family(biases=True),
    "qwen": Family(biases=True, width="half"),
    "qwen2": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_moe": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen3": Family(window="upper"),
    "qwen3_5": Family(mixer="gated_delta", rotary=0.25),
    "qwen3_5_moe": Family(mixer="gated_delta", rotary=0.25),
    "qwen3_moe": Family(window="upper"),
    "qwen3_next": Family(mixer="gated_delta", rotary=0.25),
    "qwen3_omni_moe": Family(window="upper"),
    "qwen3_vl": Family(window="upper"),
    "qwen3_vl_moe": Family(window="upper"),
    "recurrent_gemma": Family(mixer="griffin", tied=True, width="half", rotary=0.5),
    "roberta": _ROBERTA,
    "rwkv": Family(mixer="rwkv", matrices=2),
    "rwkv5": Family(mixer="rwkv", matrices=2),
    "rwkv6": Family(mixer="rwkv", matrices=2),
    "rwkv7": Family(mixer="rwkv", matrices=2),
    "seed_oss": Family(biases=True),
    "smollm3": _TIED,
    "solar": Family(),
    "stablelm": Family(rotary=0.25),
    "starcoder2": Family(matrices=2, biases=True, tied=True, window="all"),
    "step3": Family(mixer="shared_query"),
    "step3p5": Family(),
    "step3p7": Family(),
    "t5": Family(rotary=0.0, mixer="encoder_decoder", tied=True),
    "unet": Family(mixer="nothing", tied=True, task="image"),
    "whisper": Family(rotary=0.0, mixer="encoder_decoder", tied=True, task="speech"),
    "xlm-roberta": _ROBERTA,
}

UNKNOWN = Family()
