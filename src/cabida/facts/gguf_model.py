"""From GGUF metadata to our noun ``Model``: the keys are those of ``config.json`` under other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cabida.facts.architectures import from_config
from cabida.facts.formats import find_format, formats
from cabida.facts.gguf_header import LongArray, Tensor
from cabida.facts.model import Model
from cabida.facts.parts import Stored, with_headers
from cabida.quantity import Source

# general.architecture where it isn't the model_type itself
_MODEL_TYPES = {
    "bailingmoe": "bailing_moe",
    "bailingmoe2": "bailing_moe_v2",
    "command-r": "cohere",
    "deci": "nemotron-nas",
    "deepseek2": "deepseek_v3",
    "deepseek2-ocr": "deepseek_v2",
    "dream": "qwen2",
    "ernie4_5-moe": "ernie4_5_moe",
    "falcon-h1": "falcon_h1",
    "gemma-embedding": "gemma3",
    "glm-dsa": "glm_moe_dsa",
    "glm4moe": "glm4_moe",
    "gpt-oss": "gpt_oss",
    "gptneox": "gpt_neox",
    "granitehybrid": "granitemoehybrid",
    "grok": "grok-1",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "hunyuan_vl": "hunyuan_v1_dense",
    "jina-bert-v2": "bert",
    "lfm2moe": "lfm2_moe",
    "llada": "llama",
    "llama-embed": "llama",
    "mimo2": "mimo_v2_flash",
    "minimax-m2": "minimax_m2",
    "modern-bert": "modernbert",
    "nemotron_h_moe": "nemotron_h",
    "nomic-bert": "nomic_bert",
    "phi2": "phi",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2_vl",
    "qwen35": "qwen3_5",
    "qwen35moe": "qwen3_5_moe",
    "qwen3moe": "qwen3_moe",
    "qwen3next": "qwen3_next",
    "qwen3vl": "qwen3_vl",
    "qwen3vlmoe": "qwen3_vl_moe",
    "starcoder": "gpt_bigcode",
    "step35": "step3p5",
    "t5encoder": "t5",
}
_KEYS = {
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "v_head_dim": "attention.value_length",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "num_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
    "n_shared_experts": "expert_shared_count",
    "share_expert_dim": "expert_shared_feed_forward_length",
    "first_k_dense_replace": "leading_dense_block_count",
    "moe_layer_freq": "interleave_moe_layer_step",
    "kv_lora_rank": "attention.kv_lora_rank",
    "q_lora_rank": "attention.q_lora_rank",
    "sliding_window": "attention.sliding_window",
    "num_kv_shared_layers": "attention.shared_kv_layers",
    "hidden_size_per_layer_input": "embedding_length_per_layer_input",
    "num_nextn_predict_layers": "nextn_predict_layers",
    "full_attention_interval": "full_attention_interval",
    "index_n_heads": "attention.indexer.head_count",
    "index_head_dim": "attention.indexer.key_length",
    "conv_L_cache": "shortconv.l_cache",
    "moe_latent_size": "moe_latent_size",
}
# general.file_type (llama.h) -> weight format
_FILE_TYPES = {
    **{0: "fp32", 1: "fp16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k", 11: "q3_k_s"},
    **{12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s", 17: "q5_k_m", 18: "q6_k"},
    **{19: "iq2_xxs", 20: "iq2_xs", 21: "q2_k", 22: "iq3_xs", 23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl"},
    **{26: "iq3_s", 27: "iq3_m", 28: "iq2_s", 29: "iq2_m", 30: "iq4_xs", 31: "iq1_m", 32: "bf16"},
    **{36: "tq1_0", 37: "tq2_0", 38: "mxfp4", 39: "nvfp4"},
}


def model_of(metadata: dict[str, Any], tensors: Sequence[Tensor], file: str, projector: str = "") -> Model:
    """The model of one GGUF file, its bytes and parameters counted from the tensor table.

    Args:
        metadata: of its first part.
        tensors: of all its parts, the projector's too.
        file: its path, for complaints and the source.
        projector: the name of the projector counted with it, "" for none.

    Raises:
        InvalidInput: CB-F011 when the architecture is unknown or its keys are missing.
    """
    source = Source(f"GGUF header of {file}" + f" with {projector}" * bool(projector), grade="vendor")
    made = from_config(config_of(metadata, tensors), source, _text(metadata, "general.name"), file)
    kind = metadata.get("general.file_type")
    named = _FILE_TYPES.get(kind, "") if isinstance(kind, int) else ""
    made = replace(
        made,
        task="vlm" if projector and made.task == "llm" else made.task,
        native_format=named or _commonest(tensors),
        licence=_text(metadata, "general.license"),
    )
    held: dict[tuple[str, str], Stored] = {}
    for one in tensors:
        before = held.get((one.name, one.type), Stored(0, 0))
        held[one.name, one.type] = Stored(
            before.elements_count + one.elements_count, before.size_bytes + one.size_bytes
        )
    return with_headers(made, held, "gguf")


def config_of(metadata: dict[str, Any], tensors: Sequence[Tensor]) -> dict[str, Any]:
    """The metadata under the names of ``config.json``."""
    family = _text(metadata, "general.architecture")
    own = {
        name.removeprefix(f"{family}."): value
        for name, value in metadata.items()
        if name.startswith(f"{family}.")
    }
    config: dict[str, Any] = {name: own[key] for name, key in _KEYS.items() if key in own}
    config["num_hidden_layers"] = _own_layers(own)
    config["model_type"] = _model_type(family, own)
    config["vocab_size"] = own.get("vocab_size") or _length(metadata.get("tokenizer.ggml.tokens"))
    names = {tensor.name for tensor in tensors}
    config["tie_word_embeddings"] = bool(names) and "output.weight" not in names
    if "blk.0.attn_q.bias" in names or "blk.0.attn_qkv.bias" in names:
        config["attention_bias"] = True
    if own.get("attention.kv_lora_rank"):
        config.update(_latent(own))
    marks = own.get("attention.sliding_window_pattern")
    if isinstance(marks, list):
        config["layer_types"] = ["sliding_attention" if mark else "full_attention" for mark in marks]
    config.update(_RECURRENT.get(config["model_type"], _nothing)(own))
    return {name: value for name, value in config.items() if value is not None}


def _own_layers(own: dict[str, Any]) -> Any:
    """The layers without those that only draft tokens, which the file numbers after them (llama-model.cpp)."""
    blocks, drafting = own.get("block_count"), own.get("nextn_predict_layers", 0)
    whole = isinstance(blocks, int) and isinstance(drafting, int) and 0 < drafting < blocks
    return blocks - drafting if whole else blocks


def _model_type(family: str, own: dict[str, Any]) -> str:
    if family == "llama" and own.get("expert_count"):
        return "mixtral"
    return _MODEL_TYPES.get(family, family.replace("-", "_"))


def _latent(own: dict[str, Any]) -> dict[str, Any]:
    """Latent attention: the lengths with ``_mla`` are those of a head, the plain ones those of the cache."""
    rope = own.get("rope.dimension_count", 64)
    key = own.get("attention.key_length_mla") or own.get("attention.key_length", 192)
    value = own.get("attention.value_length_mla") or own.get("attention.value_length", 128)
    nope = key - rope if isinstance(key, int) and isinstance(rope, int) else None
    return {"qk_rope_head_dim": rope, "qk_nope_head_dim": nope, "v_head_dim": value, "head_dim": None}


def _nothing(own: dict[str, Any]) -> dict[str, Any]:
    del own
    return {}


def _gated_delta(own: dict[str, Any]) -> dict[str, Any]:
    heads = own.get("ssm.time_step_rank")
    return {
        "linear_num_key_heads": own.get("ssm.group_count"),
        "linear_num_value_heads": heads,
        "linear_key_head_dim": own.get("ssm.state_size"),
        "linear_value_head_dim": _part(own.get("ssm.inner_size"), heads),
        "linear_conv_kernel_dim": own.get("ssm.conv_kernel"),
    }


def _mamba2(own: dict[str, Any]) -> dict[str, Any]:
    heads = own.get("ssm.time_step_rank")
    return {
        "mamba_n_heads": heads,
        "mamba_d_head": _part(own.get("ssm.inner_size"), heads),
        "mamba_d_state": own.get("ssm.state_size"),
        "mamba_n_groups": own.get("ssm.group_count"),
        "mamba_d_conv": own.get("ssm.conv_kernel"),
        "layer_types": [
            "attention" if count else "mamba" for count in _per_layer(own, "attention.head_count_kv")
        ],
        "num_key_value_heads": _largest(own.get("attention.head_count_kv")),
    }


def _pattern(own: dict[str, Any]) -> dict[str, Any]:
    kv, width = _per_layer(own, "attention.head_count_kv"), _per_layer(own, "feed_forward_length")
    block = "E" if own.get("expert_count") else "-"
    letters = ["*" if heads else block if dim else "M" for heads, dim in zip(kv, width, strict=False)]
    heads = own.get("ssm.time_step_rank")
    return {
        "hybrid_override_pattern": "".join(letters) or None,
        "mamba_num_heads": heads,
        "mamba_head_dim": _part(own.get("ssm.inner_size"), heads),
        "ssm_state_size": own.get("ssm.state_size"),
        "n_groups": own.get("ssm.group_count"),
        "conv_kernel": own.get("ssm.conv_kernel"),
        "num_key_value_heads": _largest(own.get("attention.head_count_kv")),
        "num_attention_heads": _largest(own.get("attention.head_count")),
        "intermediate_size": _largest(own.get("feed_forward_length")),
    }


def _short_conv(own: dict[str, Any]) -> dict[str, Any]:
    counts = _per_layer(own, "attention.head_count_kv")
    return {
        "layer_types": ["full_attention" if count else "conv" for count in counts],
        "num_key_value_heads": _largest(own.get("attention.head_count_kv")),
        "num_dense_layers": own.get("leading_dense_block_count"),
    }


_RECURRENT: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "falcon_h1": _mamba2,
    "granitemoehybrid": _mamba2,
    "lfm2": _short_conv,
    "lfm2_moe": _short_conv,
    "nemotron_h": _pattern,
    "qwen3_5": _gated_delta,
    "qwen3_5_moe": _gated_delta,
    "qwen3_next": _gated_delta,
}


def _per_layer(own: dict[str, Any], key: str) -> list[Any]:
    value = own.get(key)
    layers = own.get("block_count")
    if isinstance(value, list):
        return value
    return [value] * layers if isinstance(layers, int) and 0 < layers < 2000 else []


def _largest(value: Any) -> Any:
    numbers = [item for item in value if isinstance(item, int)] if isinstance(value, list) else []
    return max(numbers) if numbers else value


def _part(whole: Any, parts: Any) -> int | None:
    return whole // parts if isinstance(whole, int) and isinstance(parts, int) and parts > 0 else None


def _length(tokens: Any) -> int | None:
    return (
        tokens.items_count
        if isinstance(tokens, LongArray)
        else len(tokens)
        if isinstance(tokens, list)
        else None
    )


def _text(metadata: dict[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _commonest(tensors: Sequence[Tensor]) -> str:
    """The format by the type that takes the most bytes, when the file doesn't name its own."""
    sizes: dict[str, int] = {}
    for tensor in tensors:
        sizes[tensor.type] = sizes.get(tensor.type, 0) + tensor.size_bytes
    most = max(sizes, key=lambda kind: sizes[kind], default="F16").lower()
    name = {"f32": "fp32", "f16": "fp16", "q4_k": "q4_k_m", "q3_k": "q3_k_m", "q5_k": "q5_k_m"}.get(
        most, most
    )
    return name if find_format(name) else _nearest(tensors)


def _nearest(tensors: Sequence[Tensor]) -> str:
    """The GGUF format of about as many bits, for types that have no format of their own."""
    elements = sum(tensor.elements_count for tensor in tensors)
    bits = 8 * sum(tensor.size_bytes for tensor in tensors) / max(1, elements)
    known = [one for one in formats().values() if one.family == "gguf"]
    return min(known, key=lambda one: abs(one.body_bits - bits)).id
