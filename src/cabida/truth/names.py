"""How the cases spell things: formats, precisions, engines, batches, and which record a name means."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from cabida import facts
from cabida.errors import CabidaError
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.memory.engines import named_engine
from cabida.text import tr

Made = TypeVar("Made")


class Unanswerable(Exception):
    """A case that says too little, or names what we don't know; the message is the reason."""


class Malformed(Unanswerable):
    """A case whose values aren't what they should be: a text for a number, a list for a table."""


def reading(build: Callable[..., Made]) -> Callable[..., Made]:
    """Turn what odd values raise while a row is being read into :class:`Malformed`."""

    @wraps(build)
    def read(*row: Any) -> Made:
        try:
            return build(*row)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, IndexError) as error:
            why = f"{type(error).__name__} {error}"
            raise Malformed(why) from error

    return read


@cache
def spellings() -> dict[str, Any]:
    """``data/names.json``: spellings of the cases and what they mean here."""
    text = (Path(__file__).parent / "data" / "names.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def known_model(name: str) -> Model | None:
    """The record a case's model name means, or ``None`` when there is none. Never asks the network."""
    for tried in named(name):
        try:
            return facts.model(tried, online=False)
        except CabidaError:
            continue
    return None


def named(text: str) -> list[str]:
    """What a description may name: the checkpoint its remark singles out, itself, and what its remarks name.

    ``9B hybrid (Qwen3.5-9B class)``, ``My-Tune (Qwen3_5ForConditionalGeneration 9B class)``, ``X-Flash (FP8 base)``.
    """
    remarks = re.findall(r"\(([^()]+)\)", text)
    run = re.match(r"\s*(\S+)[ :]+(\S.*)", text)
    behind = [run[2]] if run and named_engine(run[1]) else []  # "ollama qwen2.5:14b"
    base = (
        [f"{text.split('(')[0].strip()}-Base"] if any(re.search(r"\bbase\b", one) for one in remarks) else []
    )
    spelt = (re.sub(r"(\d)_(\d)", r"\1.\2", re.sub(r"For[A-Z]\w+\s*", "-", one)) for one in remarks)
    return [*base, spellings()["models"].get(text, text), *spelt, *behind]


def accelerator_of(row: dict[str, Any]) -> Accelerator:
    """The accelerator a case names.

    Raises:
        Unanswerable: it names none, or one we don't know.
    """
    if not row.get("gpu"):
        why = tr("truth.why.accelerator")
        raise Unanswerable(why)
    try:
        return facts.accelerator(re.sub(r"^\s*\d+\s*[x×]\s*", "", row["gpu"]))  # "8x H100": one of them
    except CabidaError:
        why = tr("truth.why.unknown_accelerator", gpu=row["gpu"])
        raise Unanswerable(why) from None


def leading_number(text: object) -> int | None:
    """The number a text such as ``2048 sequences`` starts with."""
    found = re.match(r"\s*(\d{1,12})(?!\d)", str(text)) if text is not None else None
    return int(found.group(1)) if found else None


def multiplying_type(text: str, note: str = "") -> str | None:
    """Type that multiplies, from a precision as printed; ``None`` when the source doesn't say."""
    lowered = text.lower()
    if "not stated" in lowered:
        return None
    if "nvfp4" in lowered:
        return "nvfp4"
    if "mxfp8" in lowered or lowered == "fp8 (fp8-mx)":
        return "mxfp8"
    if "fp8" in lowered:
        both = "(fp8-mx)" in lowered or "(FP8)" in text
        return "mxfp8" if both and "value in parentheses" in note else "fp8"
    if "bf16" in lowered:
        return "bf16"
    return "fp16" if "fp16" in lowered or "gptq" in lowered else "bf16"


@cache
def stated_format(text: str) -> WeightFormat | None:
    """A weight or cache format as printed, or ``None`` when we know none of that name."""
    doubled = ["bnb-nf4-dq"] if re.search(_DOUBLED, text.lower()) else []
    for tried in (text, text.split(" (")[0], *doubled, text.split(" + ")[0], *hinted(text)):
        if tried:
            try:
                return facts.weight_format(tried)
            except CabidaError:
                continue
    return _by_width(text)


def _by_width(text: str) -> WeightFormat | None:
    """ExLlama's formats come in any width: the one that is said."""
    found = re.search(
        r"(exl[23])\D{0,3}(\d(?:\.\d+)?)\s*bpw|(\d(?:\.\d+)?)\s*bpw\D{0,3}(exl[23])", text.lower()
    )
    if found is None:
        return None
    kind, bits = found[1] or found[4], float(found[2] or found[3])
    return replace(facts.weight_format(f"{kind}-4"), id=f"{kind}-{bits:g}", body_bits=bits)


_DOUBLED = r"\bnf4\b.*(?:dq|double)"
_HINTS: tuple[tuple[str, str], ...] = (  # words inside a longer phrase -> format, the telling ones first
    (r"\b(i?q\d(?:_\d|_k(?:_(?:xl|l|m|s))?|_x?x?s|_m|_nl)?)\b", r"\1"),
    (r"(exl[23])\D*(\d(?:\.\d)?)\s*(?:bpw|bit)", r"\1-\2"),
    (r"(\d(?:\.\d)?)\s*bpw.*?(exl[23])", r"\2-\1"),
    (r"\bnvfp4(?:a16)?\b", "nvfp4"),
    (r"\bmxfp4\b", "mxfp4"),
    (r"\bmxfp8\b", "mxfp8"),
    (r"\bawq\b", "awq-int4"),
    (r"\bgptq\D{0,9}8(?:.?bits?)?\b|\b8.?bit gptq\b|\bauto.?round\D{0,9}8\b", "gptq-int8"),
    (r"\b(?:gptq|auto.?round)\D{0,9}([23])(?:.?bits?)?\b", r"gptq-int\1"),
    (r"\bgptq\b|\bauto.?round\b", "gptq-int4"),
    (r"\bhqq\b", "hqq-int4"),
    (r"\bw4a16\b", "int4-w4a16"),
    (r"\bw8a8\b(?!.*fp8)(?<!fp8.w8a8)", "int8-w8a8"),
    (_DOUBLED, "bnb-nf4-dq"),
    (r"\bnf4\b|\b(?:bnb|bitsandbytes)\D{0,6}4|\b4.?bit (?:bnb|bitsandbytes)\b|\bload.in.4.?bit\b", "bnb-nf4"),
    (r"\b(?:bnb|bitsandbytes)\D{0,6}8\b|\bload.in.8.?bit\b", "bnb-int8"),
    (r"\bfp8\b.*(?:block|128)", "fp8-block"),
    (r"\bfp8\b|\bfloat8|\be[45]m[23]\b", "fp8"),
    (r"\bfp4\b", "nvfp4"),
    (r"\bint8\b|\beetq\b", "int8"),
    (r"\bint4\b", "awq-int4"),
    (r"\bbf16\b|\bbfloat16\b", "bf16"),
    (r"\bfp16\b|\bfloat16\b", "fp16"),
)


def hinted(text: str) -> list[str]:
    """Formats that words inside a phrase point to, the most telling first: ``4-bit AWQ, group 128``."""
    lowered = (
        re.sub(r"[_-]marlin\b", "", text.lower())
        .replace("ud-", "")
        .replace("gguf-", "")
        .replace("int-4", "int4")
        .replace("-k-", "_k_")
    )
    found = ((re.search(pattern, lowered), meaning) for pattern, meaning in _HINTS)
    return [match.expand(meaning).removesuffix(".0") for match, meaning in found if match]


def sharding_of(text: str, accelerators: int | None) -> str:
    """Sharding as printed, under our name; one accelerator shards nothing, many most likely their optimizer."""
    lowered = text.lower()
    for word, meaning in spellings()["shardings"]:
        if word in lowered:
            return str(meaning)
    return "none" if accelerators == 1 else "zero-1"


def recompute_of(said: object) -> str:
    """Activation checkpointing as printed: none, selective or full."""
    text = str(said).lower()
    if said is None or text in ("", "none", "false"):
        return "none"
    return "selective" if "selective" in text else "full"
