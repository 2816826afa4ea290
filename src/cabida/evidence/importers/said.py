"""What engines print of their settings - ``key=value``, ``'key': value``, ``--key value`` - under our names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from cabida.evidence.importers.run import Run

HUB_CACHE = "models--"
NOTHING = ("None", "null", "auto", "False", "[]", "{}", "")
TYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}
# weight formats of quantisation methods that have one; of others the model's name may tell the bits
QUANTISATION = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "modelopt": "fp8",
    "modelopt_fp8": "fp8",
    "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
    "awq": "awq-int4",
    "awq_marlin": "awq-int4",
    "w8a8_int8": "int8-w8a8",
    "w8a8_fp8": "fp8",
}
CACHES = {
    "fp8": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "fp8_inc": "fp8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "int8": "int8",
    "nvfp4": "nvfp4",
}


@cache
def _shape(key: str) -> re.Pattern[str]:
    flag = key.replace("_", "[-_]")
    return re.compile(
        rf"(?:(?<![\w.-]){key}['\"]?\s*[=:]\s*|(?<![\w-])--?{flag}(?:\s+|=))(?:'([^']*)'|\"([^\"]*)\"|([^\s,(){{}}\[\]'\"]+))"
    )


def said(text: str, *keys: str) -> str:
    """The value of the first of these settings that a line gives; "" when it gives none or says none."""
    for key in keys:
        if found := _shape(key).search(text):
            value = next(part for part in found.groups() if part is not None)
            if value not in NOTHING:
                return value
    return ""


def counted(text: str, *keys: str) -> int | None:
    """The same as a whole number."""
    value = said(text, *keys)
    return int(value) if re.fullmatch(r"\d{1,12}", value) else None


def share(text: str, *keys: str) -> float | None:
    """The same as a number."""
    value = said(text, *keys)
    return float(value) if re.fullmatch(r"\d{0,6}\.?\d{1,12}", value) else None


def switched_on(text: str, *keys: str) -> bool:
    """Whether a line switches one of these on."""
    return said(text, *keys) == "True" or any(
        re.search(rf"--{key.replace('_', '-')}(?![-\w=])(?!\s+(?:false|0)\b)", text) for key in keys
    )


def model_name(text: str) -> str:
    """The name of a model from where its files lie: a hub's cache, a folder, or the name itself."""
    parts = [part for part in text.strip().replace("\\", "/").split("/") if part]
    cached = next((part for part in parts if part.startswith(HUB_CACHE)), "")
    if cached:
        return cached.removeprefix(HUB_CACHE).replace("--", "/")
    local = text.startswith(("/", ".", "~")) or "\\" in text or "://" in text or len(parts) > 2
    return (parts[-1] if parts else "") if local else "/".join(parts)


def formats(run: Run, text: str) -> None:
    """Formats of weights and cache that a line of settings gives.

    Without quantisation weights are of the type that is computed in, and so is the cache when it is left to the
    engine. Where a method has several formats, the model's name may say which.
    """
    kind = TYPES.get(said(text, "dtype").removeprefix("torch."))
    method = said(text, "quantization")
    name = weights_named(str(run.setup.get("model", "")))
    if method:
        run.say("weights", QUANTISATION.get(method) or name)
        run.flag("quantization", method)
    elif "quantization" in text:
        run.say("weights", name or kind)
    elif name:
        run.say("weights", name)
    cache = said(text, "kv_cache_dtype").removeprefix("torch.")
    own = CACHES.get(cache) or TYPES.get(cache)
    run.say("kv_cache", own or (kind if "kv_cache_dtype" in text and not method and not cache else None))


def weights_named(model: str) -> str:
    """The weight format that a model's name says; "" when it says none."""
    from cabida.facts.names import format_of

    return format_of(model)[1] if model else ""


def matching(pairs: dict[str, tuple[str, ...]], text: str) -> Iterator[tuple[str, int]]:
    """Our name and the whole number of each of these settings that a line gives."""
    for name, keys in pairs.items():
        value = counted(text, *keys)
        if value is not None:
            yield name, value
