"""What ``quantization_config`` says: the format of a checkpoint, and what it leaves in 16 bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cabida.facts.fields import Fields
from cabida.facts.formats import find_format
from cabida.facts.left_alone import PATTERNS_MOST, ignores, named_by, tail
from cabida.facts.matrices import Matrix, matrices
from cabida.facts.model import AttentionLayers, MlpLayers

_ALGORITHM_BITS = (
    ("NVFP4", 4.5),
    ("MXFP8", 8.25),
    ("FP8", 8.0),
    ("W4A16", 4.125),
    ("INT4", 4.125),
    ("INT8", 8.0),
)


GROUPS_MOST = 64  # of a compressed-tensors config


def native_format(f: Fields) -> str:
    """The weight format of the published checkpoint; ``bf16`` (or what ``torch_dtype`` says) when not quantised."""
    settings = settings_of(f)
    if settings:
        return _format(settings, f) or "bf16"
    dtype = f.text("torch_dtype") or f.text("dtype")
    return {"float16": "fp16", "float32": "fp32", "half": "fp16"}.get(dtype.removeprefix("torch."), "bf16")


def settings_of(f: Fields) -> dict[str, Any]:
    """The quantisation settings, modelopt's own nesting opened."""
    settings = f.mapping("quantization_config")
    inside = settings.get("quantization")
    return {**settings, **inside} if isinstance(inside, dict) else settings


def unread_method(f: Fields) -> str:
    """The method of a quantised checkpoint that isn't known, so that its weights count as 16 bit; "" when it is."""
    settings = settings_of(f)
    if not settings or _format(settings, f):
        return ""
    return str(settings.get("quant_method") or settings.get("quant_algo") or "?")[:40]


def _format(settings: dict[str, Any], f: Fields) -> str:
    """The format the settings name; "" when they name none that is known."""
    method = str(settings.get("quant_method") or settings.get("quant_algo") or "").lower()
    algorithm = str(settings.get("quant_algo") or "").upper()
    packing = str(settings.get("format") or "").lower()
    if "NVFP4" in str(settings.get("moe_quant_algo")):
        return "nvfp4"
    if f.text("expert_dtype") == "fp4":
        return "fp8-mxfp4"
    if "NVFP4" in algorithm or "nvfp4" in packing or method == "nvfp4" or algorithm == "MIXED_PRECISION":
        return "nvfp4"
    if method == "mxfp4" or "mxfp4" in packing:
        return "mxfp4"
    for word, read in _METHODS.items():
        if method.replace("_", "-").startswith(word):
            return read(method, settings)
    if "fp8" in method or algorithm.startswith("FP8"):
        return "fp8-block" if settings.get("weight_block_size") else "fp8"
    return "w4a8" if algorithm.startswith("W4A8") else "int4-w4a16" if algorithm.startswith("W4A16") else ""


def _integer(method: str, settings: dict[str, Any]) -> str:
    """AWQ, GPTQ and AutoRound: packed integers, a scale and a zero point per group."""
    bits = settings.get("bits") or settings.get("w_bit") or 4
    family = "awq" if method.startswith("awq") else "gptq"
    if bits == 4:
        size = settings.get("group_size") or settings.get("q_group_size")
        grouped = {32: "awq-int4-g32", 64: "awq-int4-g64", -1: "int4-channel"}
        return grouped.get(_whole(size), f"{family}-int4")
    return "gptq-int8" if bits == 8 else f"gptq-int{bits}" if bits in (2, 3) else f"{family}-int4"


def _whole(value: Any) -> int:
    """A size as the config gives it; 0, which no group has, when it gives none."""
    return value if isinstance(value, int) else 0


def _bitsandbytes(method: str, settings: dict[str, Any]) -> str:
    del method
    if settings.get("load_in_8bit"):
        return "bnb-int8"
    return "bnb-nf4-dq" if settings.get("bnb_4bit_use_double_quant") else "bnb-nf4"


def _bits_of_group(group: dict[str, Any]) -> float:
    weights = group.get("weights")
    bits = weights.get("num_bits") if isinstance(weights, dict) else None
    return float(bits) if isinstance(bits, int | float) and not isinstance(bits, bool) else 16.0


def _compressed(method: str, settings: dict[str, Any]) -> str:
    """The weights of the narrowest group of a compressed-tensors config: what most of a mixed one is."""
    del method
    groups = settings.get("config_groups")
    listed = [one for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    first = min(listed, key=_bits_of_group, default={})
    weights = first.get("weights")
    weights = weights if isinstance(weights, dict) else {}
    inputs = first.get("input_activations")
    bits, kind, size = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    if kind == "float":
        return "nvfp4" if bits == 4 else "fp8-block" if weights.get("strategy") == "block" else "fp8"
    if bits == 8:
        return "int8-w8a8" if inputs else "int8"
    if weights.get("strategy") == "channel" or size == -1:
        return "int4-channel"
    if weights.get("symmetric") is False:
        return {32: "awq-int4-g32", 64: "awq-int4-g64"}.get(_whole(size), "awq-int4")
    return {32: "int4-g32", 64: "int4-g64"}.get(_whole(size), "int4-w4a16")


def _mean_bits(method: str, settings: dict[str, Any]) -> str:
    """EXL2 and EXL3: the format nearest to the mean bits the config states."""
    bits = settings.get("bits")
    wanted = float(bits) if isinstance(bits, int | float) and not isinstance(bits, bool) else 4.0
    known = [2.5, 3, 3.5, 4, 4.5, 5, 6, 8] + ([2] if method == "exl3" else [])
    return f"{method}-{min(known, key=lambda one: abs(one - wanted)):g}"


def _torchao(method: str, settings: dict[str, Any]) -> str:
    del method
    said = str(settings.get("quant_type")).lower()
    return (
        "torchao-int4" if "int4" in said else "int8" if "int8" in said else "fp8" if "float8" in said else ""
    )


def _quark(method: str, settings: dict[str, Any]) -> str:
    """AMD Quark: the type of the weights of the whole model."""
    del method
    whole = settings.get("global_quant_config")
    weight = whole.get("weight") if isinstance(whole, dict) else None
    said = str(weight).lower()
    if "fp4" in said:
        return "mxfp4-w4a4"
    return (
        "fp8" if "fp8" in said else "int4-w4a16" if "int4" in said else "int8-w8a8" if "int8" in said else ""
    )


def _named(id: str) -> Callable[[str, dict[str, Any]], str]:
    return lambda method, settings: id


_METHODS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "awq": _integer,
    "gptq": _integer,
    "auto-round": _integer,
    "intel/auto-round": _integer,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "aqlm": _named("aqlm-2bit"),
    "bitnet": _named("bitnet-ternary"),
    "eetq": _named("int8"),
    "experts-int8": _named("int8"),
    "exl2": _mean_bits,
    "exl3": _mean_bits,
    "hqq": _named("hqq-int4"),
    "quanto": _named("torchao-int4"),
    "quark": _quark,
    "torchao": _torchao,
}


def unquantised_params(f: Fields, mixers: list[list[AttentionLayers]], mlps: list[MlpLayers | None]) -> float:
    """How many weights of the layers' matrices the config keeps in 16 bit, embeddings, routers and norms apart.

    Where a config mixes widths (experts in 4 bit, attention in 8), the 8-bit ones count for the part of a 16-bit
    weight that makes up for their extra bits; a head in 4 bit counts against them.
    """
    settings = settings_of(f)
    if not settings:
        return 0.0
    held = find_format(native_format(f))
    if held is None or held.body_bits >= 16:
        return 0.0
    body = held.body_bits
    hidden = f.count("hidden_size", least=1)
    bits = _bits_of(settings, f, body)
    beside = f.model_type == "gemma4"
    extra = 0.0
    for matrix in matrices(mixers, mlps, hidden, beside=beside):
        extra += matrix.params_count * (bits(matrix) - body)
    listed = settings.get("quantized_layers")
    if isinstance(listed, dict) and "lm_head" in listed:
        extra -= hidden * f.count("vocab_size", least=1) * (16 - body)
    return max(0.0, extra / (16 - body))


def _bits_of(settings: dict[str, Any], f: Fields, body: float) -> Callable[[Matrix], float]:
    """The width of each matrix: by the list of a mixed checkpoint, else by what the config leaves alone."""
    around = 8.0 if settings.get("weight_block_size") else 16.0  # what a mixed checkpoint keeps the rest in
    listed = settings.get("quantized_layers")
    if isinstance(listed, dict) and listed:
        widths = {
            tail(str(name)): _width_of(entry, around) for name, entry in list(listed.items())[:PATTERNS_MOST]
        }
        return lambda matrix: next((widths[name] for name in _upwards(matrix) if name in widths), around)
    if f.text("expert_dtype") == "fp4":
        return lambda matrix: body if any(".experts." in name for name in matrix.names) else 8.0
    left, grouped = ignores(settings, f), _grouped(settings, f, body)
    return lambda matrix: 16.0 if any(left(name) for name in matrix.names) else grouped(matrix)


def _grouped(settings: dict[str, Any], f: Fields, body: float) -> Callable[[Matrix], float]:
    """Widths of a compressed-tensors config of several groups, by what each group's targets name."""
    groups = settings.get("config_groups")
    listed = [one for one in groups.values() if isinstance(one, dict)] if isinstance(groups, dict) else []
    if len(listed) < 2:
        return lambda matrix: body
    told = []
    for group in listed[:GROUPS_MOST]:
        named = group.get("targets")
        targets = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
        held = find_format(_compressed("", {"config_groups": {"": group}}))
        told.append((named_by(targets, f), held.body_bits if held else body))
    return lambda matrix: next(
        (bits for names, bits in told if any(names(name) for name in matrix.names)), 16.0
    )


def _upwards(matrix: Matrix) -> Iterator[str]:
    """The matrix's names, then those of the modules it is in."""
    for name in matrix.names:
        parts = name.split(".")
        yield from (".".join(parts[:size]) for size in range(len(parts), 1, -1))


def _width_of(entry: Any, around: float) -> float:
    algorithm = str(entry.get("quant_algo") if isinstance(entry, dict) else entry).upper()
    return next((bits for word, bits in _ALGORITHM_BITS if word in algorithm), around)
