"""What ``quantization_config`` says: the format of a checkpoint, and what it leaves in 16 bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from cabida.facts.fields import Fields
from cabida.facts.model import AttentionLayers, MlpLayers

PATTERNS_MOST = 100_000


def native_format(f: Fields) -> str:
    """The weight format of the published checkpoint; ``bf16`` (or what ``torch_dtype`` says) when not quantised."""
    settings = settings_of(f)
    if settings:
        return _format(settings, f)
    dtype = f.text("torch_dtype") or f.text("dtype")
    return {"float16": "fp16", "float32": "fp32", "half": "fp16"}.get(dtype.removeprefix("torch."), "bf16")


def settings_of(f: Fields) -> dict[str, Any]:
    """The quantisation settings, modelopt's own nesting opened."""
    settings = f.mapping("quantization_config")
    inside = settings.get("quantization")
    return {**settings, **inside} if isinstance(inside, dict) else settings


def _format(settings: dict[str, Any], f: Fields) -> str:
    method = str(settings.get("quant_method") or settings.get("quant_algo") or "").lower()
    algorithm = str(settings.get("quant_algo") or "").upper()
    packing = str(settings.get("format") or "").lower()
    if f.text("expert_dtype") == "fp4":
        return "fp8-mxfp4"
    if "NVFP4" in algorithm or "nvfp4" in packing or method == "nvfp4" or algorithm == "MIXED_PRECISION":
        return "nvfp4"
    if method == "mxfp4" or "mxfp4" in packing:
        return "mxfp4"
    if method in ("awq", "gptq", "auto-round", "auto_round", "gptq_marlin", "awq_marlin"):
        return _integer(method, settings)
    if method == "bitsandbytes":
        return _bitsandbytes(settings)
    if method == "compressed-tensors":
        return _compressed(settings)
    if "fp8" in method or algorithm.startswith("FP8") or method == "fbgemm_fp8":
        return "fp8-block" if settings.get("weight_block_size") else "fp8"
    if method in ("aqlm", "hqq", "eetq", "quanto", "exl2", "exl3"):
        return {"aqlm": "aqlm-2bit", "eetq": "int8"}.get(method, "int4")
    return "bf16"


def _integer(method: str, settings: dict[str, Any]) -> str:
    bits = settings.get("bits") or settings.get("w_bit") or 4
    family = "awq" if method.startswith("awq") else "gptq"
    return f"{family}-int8" if bits == 8 else f"{family}-int{bits}" if bits in (2, 3) else f"{family}-int4"


def _bitsandbytes(settings: dict[str, Any]) -> str:
    if settings.get("load_in_8bit"):
        return "bnb-int8"
    return "bnb-nf4-dq" if settings.get("bnb_4bit_use_double_quant") else "bnb-nf4"


def _compressed(settings: dict[str, Any]) -> str:
    """The weights of the first group of a compressed-tensors config."""
    groups = settings.get("config_groups")
    first: object = next(iter(groups.values()), {}) if isinstance(groups, dict) else {}
    weights = first.get("weights") if isinstance(first, dict) else None
    weights = weights if isinstance(weights, dict) else {}
    inputs = first.get("input_activations") if isinstance(first, dict) else None
    bits, kind = weights.get("num_bits"), weights.get("type")
    if kind == "float":
        return "nvfp4" if bits == 4 else "fp8-block" if weights.get("strategy") == "block" else "fp8"
    if bits == 8:
        return "int8-w8a8" if inputs else "int8-w8a16"
    return "int4-g32" if weights.get("group_size") == 32 else "int4-w4a16"


def unquantised_params(f: Fields, mixers: list[list[AttentionLayers]], mlps: list[MlpLayers | None]) -> float:
    """Weights of the layers' matrices that the config keeps in 16 bit, embeddings, head, routers and norms apart."""
    settings = settings_of(f)
    if not settings:
        return 0.0
    left = ignores(settings, f)
    hidden = f.count("hidden_size", least=1)
    return float(sum(count for name, count in matrices(mixers, mlps, hidden) if left(name)))


def ignores(settings: dict[str, Any], f: Fields) -> Callable[[str], bool]:
    """Tells of a module's name whether the config leaves it alone.

    The lists are written as exact names, prefixes, shell patterns or ``re:`` expressions; families prefix the names
    of their layers differently, so they are compared from the layer number on.
    """
    listed: list[str] = []
    for key in (
        "modules_to_not_convert",
        "ignore",
        "exclude_modules",
        "ignored_layers",
        "llm_int8_skip_modules",
    ):
        value = settings.get(key)
        if isinstance(value, list):
            listed += [entry for entry in value[:PATTERNS_MOST] if isinstance(entry, str)]
    exact = {_tail(entry) for entry in listed if "*" not in entry and not entry.startswith("re:")}
    shells = [_tail(entry) for entry in listed if "*" in entry and not entry.startswith("re:")]
    expressions = [_compiled(entry[3:], f) for entry in listed if entry.startswith("re:")]
    everywhere = {entry for entry in exact if not entry[:1].isdigit() and "." not in entry}

    def left(name: str) -> bool:
        parts = name.split(".")
        if any(".".join(parts[: i + 1]) in exact for i in range(len(parts))) or everywhere & set(parts):
            return True
        if any(fnmatchcase(name, _open(shell)) for shell in shells):
            return True
        return any(expression.match(f"model.layers.{name}") for expression in expressions)

    return left


def matrices(
    mixers: list[list[AttentionLayers]], mlps: list[MlpLayers | None], hidden: int
) -> Iterator[tuple[str, float]]:
    """Every matrix of every layer: its name from the layer number on, and how many weights it has."""
    from cabida.facts.mixers import attention_params

    for layer in range(max(len(mixers), len(mlps))):
        for one in mixers[layer] if layer < len(mixers) else ():
            yield from _attention_matrices(f"{layer}", one, attention_params(one, hidden), hidden)
        mlp = mlps[layer] if layer < len(mlps) else None
        if mlp is None:
            continue
        each = float(hidden * mlp.intermediate_dim_count)
        names = ("gate_proj", "up_proj", "down_proj") if mlp.matrices_count == 3 else ("up_proj", "down_proj")
        if not mlp.experts_count:
            yield from ((f"{layer}.mlp.{name}", each) for name in names)
            continue
        yield from ((f"{layer}.mlp.experts.0.{name}", each * mlp.experts_count) for name in names)
        if mlp.shared_intermediate_dim_count:
            shared = float(hidden * mlp.shared_intermediate_dim_count)
            yield from ((f"{layer}.mlp.shared_experts.{name}", shared) for name in names)


def _attention_matrices(
    layer: str, one: AttentionLayers, total: float, hidden: int
) -> Iterator[tuple[str, float]]:
    if one.kind == "linear":
        yield f"{layer}.linear_attn.in_proj", total - hidden * one.heads_count * max(1, one.v_head_dim_count)
        yield f"{layer}.linear_attn.out_proj", float(hidden * one.heads_count * max(1, one.v_head_dim_count))
        return
    out = float(hidden * one.heads_count * one.v_head_dim_count)
    keys = float(hidden * one.kv_heads_count * one.head_dim_count)
    values = float(hidden * one.kv_heads_count * one.v_head_dim_count)
    yield f"{layer}.self_attn.q_proj", max(0.0, total - out - keys - values)
    yield f"{layer}.self_attn.k_proj", keys
    yield f"{layer}.self_attn.v_proj", values
    yield f"{layer}.self_attn.o_proj", out


def _tail(entry: str) -> str:
    """The name from the layer number on, in one spelling for all families."""
    for marker in ("layers.", "blocks.", "h."):
        head, found, tail = entry.partition(marker)
        if found and (not head or head.endswith(".")):
            entry = tail
            break
    entry = entry.replace("block_sparse_moe", "mlp").replace(".mixer.", ".self_attn.")
    return (
        entry.replace("shared_expert.", "shared_experts.")
        .replace(".attn", ".self_attn")
        .replace(".ffn", ".mlp")
    )


def _open(shell: str) -> str:
    """A shell pattern that also covers what lies below the name."""
    return shell if shell.endswith("*") else f"{shell}*"


def _compiled(expression: str, f: Fields) -> re.Pattern[str]:
    if len(expression) > 1000:
        raise f.wrong(expression, "quantization_config.ignore", "re: …1000")
    try:
        return re.compile(expression)
    except re.error as error:
        raise f.wrong(expression, "quantization_config.ignore", "re:") from error
