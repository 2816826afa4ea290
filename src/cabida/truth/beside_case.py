"""What a measured row says stands beside the model: drafts, adapters, stated stages; and what it leaves unsaid."""

from __future__ import annotations

import re
from typing import Any

from cabida import facts
from cabida.facts.model import Model, WeightFormat
from cabida.text import tr
from cabida.truth.names import Unanswerable, stated_format

OWN_DRAFTS = ("mtp", "dspark", "nextn")  # a model's own prediction layers, whatever a page calls them
HEADS = ("dflash", "eagle3", "eagle")
IN_HOST = re.compile(  # part of the weights stays in host memory: how much, a flag of a fork says
    r"(?<!without )(?<!no )\b(?:host|cpu)[ -]offload"
    r"|experts? (?:kept |held )?(?:in|on) (?:host|cpu|system|ram)|\bn[_-]cpu[_-]moe\b"
)
PINNED = ("kv_cache_memory_bytes", "num_gpu_blocks_override")  # settings of vLLM that set the cache's size
UNSLOTH_RANK = 64  # max_lora_rank of its fast_inference; vLLM's own default is 16
VLLM_RANK = 16
NOT_TOLD = ("not stated", "not visible", "n/a", "quantised", "quantized", "type not visible")


def words_of(row: dict[str, Any]) -> str:
    """All that a row says in words, in lower case."""
    return f"{row['model']} {row.get('note', '')}".lower()


def draft_of(row: dict[str, Any], model: Model) -> tuple[Model | None, int]:
    """The draft model a row names (``None`` = none, or the model's own layers) and the tokens it speculates."""
    flags = row.get("args", {})
    said = f"{row['model']} {flags.get('speculative', '')}".lower()
    tokens = int(flags.get("mtp_tokens") or flags.get("draft_tokens") or 0)
    for kind in HEADS:
        if kind in said:
            return facts.draft(kind, model), tokens or 1
    own = any(re.search(rf"\+\s*{word}", said) for word in OWN_DRAFTS)
    return None, tokens or (1 if own or re.search(r"\bmtp on\b", words_of(row)) else 0)


def adapters_of(row: dict[str, Any]) -> tuple[int, int]:
    """(slots, rank) of the adapters an engine holds ready; rows seldom say more than that it does."""
    flags = row.get("args", {})
    slots = flags.get("max_loras") or (1 if "lora" in words_of(row) and "enabled" in words_of(row) else 0)
    usual = UNSLOTH_RANK if "unsloth" in row["engine"] else VLLM_RANK
    return int(slots), int(flags.get("max_lora_rank") or usual)


def partition_of(row: dict[str, Any]) -> tuple[int, ...]:
    """Layers of each pipeline stage, where a row states them."""
    said = str(row.get("args", {}).get("layer_partition") or "")
    return tuple(int(part) for part in said.split(",") if part.strip().isdecimal())


def unsaid(row: dict[str, Any], model: Model) -> str:
    """Why a row's accelerator holds more, less or other things than a deployment can say; "" when it doesn't.

    Raises:
        Unanswerable: not even its weights are all there.
    """
    flags = row.get("args", {})
    if flags.get("partial_offload"):
        why = tr("truth.why.some_layers")
        raise Unanswerable(why)
    kept = IN_HOST.search(f"{words_of(row)} {' '.join(flags)}")
    if kept and not flags.get("cpu_offload_gb"):
        return tr("truth.why.in_host")
    if " + " in str(row.get("gpu_raw") or ""):
        return tr("truth.why.unlike")
    mixed = any(group.kind in ("sliding", "linear") for group in model.attention)
    if mixed and ("kv_transfer" in flags or "kv-transfer" in words_of(row)):
        return tr("truth.why.connector")
    return ""


def pinned(row: dict[str, Any]) -> bool:
    """Whether somebody set the size of the cache by hand, so that it says nothing of what was left."""
    return any(flag in row.get("args", {}) for flag in PINNED)


def weights_told(row: dict[str, Any]) -> bool:
    """Whether a row says how its weights are stored."""
    return told_format(row) is not None


def told_format(row: dict[str, Any]) -> WeightFormat | None:
    """The weight format of a row as printed; bitsandbytes builds of unsloth keep their double quantisation."""
    said = str(row.get("weights") or "")
    if not said or any(word in said.lower() for word in NOT_TOLD):
        return None
    found = stated_format(said)
    if found is not None and found.id == "bnb-nf4":
        if "unsloth-bnb" in row["model"].lower():
            return facts.weight_format("bnb-nf4-dynamic")
        if "unsloth" in words_of(row) + row["engine"]:
            return facts.weight_format("bnb-nf4-dq")
    return found
