"""What people call models: organisations, variants, quantised builds and notes, brought to one spelling."""

from __future__ import annotations

import re

_NOTE = re.compile(r"\s*[(\[][^)\]]*[)\]]?")
_ADDED = re.compile(r"\s+(?:\+|with)\s+.*$|\s+class\b.*$", re.IGNORECASE)
_VARIANT = re.compile(
    r"-(?:instruct|chat|it|hf|base|thinking|preview|bf16|fp16|original|text|pt|sft|dpo|rlhf|128k|4k|8k|1m|2410|2507|"
    r"2512|0324|0528|0414|mtp|qat|abliterated|uncensored|heretic|unpacked|v1\.5|latest)(?=-|$)"
)
_HEAD = re.compile(r"^(?:meta-|nvidia-)+")
# a name's ending -> weight format, most specific first
_ENDINGS: tuple[tuple[str, str], ...] = (
    (r"-unsloth-bnb-4bit", "bnb-nf4-dynamic"),
    (r"-bnb-4bit", "bnb-nf4-dq"),
    (r"-bnb-8bit", "bnb-int8"),
    (r"-gptq-int8", "gptq-int8"),
    (r"-(?:int4-)?(?:autoround|auto-round)(?:-int4|-4bit)?(?:-gptq|-awq)?", "gptq-int4"),
    (r"-(?:int4-)?gptq(?:-int4|-4bits?|-4b)?(?:-g128|-128g)?", "gptq-int4"),
    (r"-int4(?:-sym)?-(?:awq-|gptq-)?inc", "gptq-int4"),
    (r"-(?:int4-)?awq(?:-int4|-4bit|-g128|-w4a16|-marlin|-fp16mix)?", "awq-int4"),
    (r"-aqlm.*", "aqlm-2bit"),
    (r"(?:-quantized\.|[-.])w8a8(?:-int8)?", "int8-w8a8"),
    (r"(?:-quantized\.|[-.])w4a16(?:-g128)?", "int4-w4a16"),
    (r"(?:-quantized\.|[-.])w8a16", "int8"),
    (r"-fp8(?:-(?:kv|dynamic|static|static-pertensor|block|tensorwise|per-tensor|e4m3))?", "fp8"),
    (r"-nvfp4|-fp4", "nvfp4"),
    (r"-mxfp4", "mxfp4"),
    (r"-int4|-4bit", "awq-int4"),
    (r"-int8|-8bit", "int8"),
    (r"-(?:gguf-|ud-)?(i?q\d(?:[_-]\w+)*?)(?:-gguf)?", ""),
    (r"-gguf", ""),
    (r"-hqq(?:-4bit|-int4)?", "hqq-int4"),
    (r"-w4a8", "w4a8"),
    (r"-(?:\d\.?\d*bpw-)?exl2(?:-\d\.?\d*bpw)?", "exl2-4"),
    (r"-(?:\d\.?\d*bpw-)?exl3(?:-\d\.?\d*bpw)?", "exl3-4"),
)
_COMPILED = tuple(
    (re.compile(f"(?:{pattern})$", re.IGNORECASE), format_id) for pattern, format_id in _ENDINGS
)


def cleaned(ref: str) -> str:
    """The name alone: notes in brackets, added drafts and the word "class" dropped, spaces trimmed."""
    name = _ADDED.sub("", _NOTE.sub("", ref.strip()))
    return name.strip().strip("/") or ref.strip()


def name_key(name: str) -> str:
    """One spelling for comparison: lower case, no organisation, dashes for blanks and underscores."""
    last = name.strip().lower().rsplit("/", 1)[-1]
    return re.sub(r"[\s_:-]+", "-", last).strip("-")


def base_key(name: str) -> str:
    """The name without variant words, so that a fine-tune finds its base."""
    key = _HEAD.sub("", name_key(name))
    stripped = _VARIANT.sub("", key)
    return stripped or key


def compact_key(name: str) -> str:
    """The base name without any dash, as model runners write it (``gemma3:27b``, ``phi4``)."""
    return base_key(name).replace("-", "")


def format_of(name: str) -> tuple[str, str]:
    """The name without the ending that says how it is quantised, and that format's id ("" when it says none)."""
    for pattern, format_id in _COMPILED:
        found = pattern.search(name)
        if found and found.start() > 0:
            said = format_id or (found.group(1) if found.groups() else "").lower().replace("-", "_")
            return name[: found.start()], said
    return name, ""
