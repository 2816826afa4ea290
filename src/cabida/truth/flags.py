"""Flags of engines under one spelling each, however a page writes them: ``--max-model-len 32K``, ``n_ctx``, ``tp``."""

from __future__ import annotations

import re
from typing import Any

MEANINGS: dict[str, str] = {  # as engines spell it -> our key
    "model_len": "max_model_len", "max_seq_len": "max_model_len", "max_sequence_length": "max_model_len",
    "context_length": "max_model_len", "context_len": "max_model_len", "session_len": "max_model_len",
    "num_ctx": "max_model_len",
    "ctx_size": "n_ctx", "ctx": "n_ctx", "c": "n_ctx",
    "max_num_sequences": "max_num_seqs", "num_parallel": "max_num_seqs", "n_parallel": "max_num_seqs",
    "parallel": "max_num_seqs", "n_seq_max": "max_num_seqs",
    "max_num_tokens": "max_num_batched_tokens", "max_batched_tokens": "max_num_batched_tokens",
    "ubatch_size": "n_batch", "n_ubatch": "n_batch",
    "gpu_memory_util": "gpu_memory_utilization", "gpu_mem_util": "gpu_memory_utilization",
    "gpu_memory_utilisation": "gpu_memory_utilization", "mem_util": "gpu_memory_utilization",
    "free_gpu_memory_fraction": "gpu_memory_utilization", "fraction": "gpu_memory_utilization",
    "kv_cache_free_gpu_memory_fraction": "gpu_memory_utilization", "cache_max_entry_count": "gpu_memory_utilization",
    "disable_cuda_graph": "enforce_eager", "data_parallel_size": "dp", "dp_size": "dp",
    "tensor_parallel_size": "tp", "tp_size": "tp", "tensor_parallel": "tp", "pipeline_parallel_size": "pp",
    "pp_size": "pp", "expert_parallel_size": "ep", "ep_size": "ep", "kv_cache_dtype": "kv_cache",
    "cache_type_k": "kv_cache", "num_gpus": "gpus",
}  # fmt: skip
OF_THE_ROW = ("tp", "pp", "ep", "kv_cache")  # settings that a case states beside its flags
WORDS = {"true": True, "false": False}
THOUSANDS = {"k": 1000, "K": 1024, "m": 1_000_000, "M": 1_048_576}  # vLLM: 32k is decimal, 32K binary
UNSET = ("auto", "none", "default", "")  # what stands for the engine's own choice


def spelled(row: dict[str, Any]) -> dict[str, Any]:
    """The case with its flags under our keys and as values, and what they say of the split where it says none."""
    flags = row.get("args")
    found = {MEANINGS.get(key, key) if key in ROW_SPELLINGS else key: value for key, value in row.items()}
    if not isinstance(flags, dict):
        return found
    plain = {_key(name): _value(value) for name, value in flags.items()}
    told = {name: value for name, value in plain.items() if not _unset(value)}
    if "n_ctx" in told and "max_model_len" not in told:  # llama.cpp shares its context out to the sequences
        told["max_model_len"] = _shared(told["n_ctx"], told.get("max_num_seqs"))
    stated = {name: told[name] for name in OF_THE_ROW if name in told and name not in found}
    return {**found, **stated, "args": told}


ROW_SPELLINGS = ("tensor_parallel_size", "tp_size", "pipeline_parallel_size", "pp_size", "expert_parallel_size",
                 "kv_cache_dtype", "num_gpus")  # fmt: skip


def _key(name: str) -> str:
    plain = str(name).lstrip("-").replace("-", "_")
    return MEANINGS.get(plain, plain)


def _value(value: object) -> object:
    """A flag's value: numbers and truth out of quotes, ``32K`` as a number."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmM]?)", text)
    if found:
        number = float(found[1]) * THOUSANDS.get(found[2], 1)
        return int(number) if number.is_integer() and ("." not in found[1] or found[2]) else number
    return WORDS.get(text.lower(), value)


def _unset(value: object) -> bool:
    """Whether a value leaves the choice to the engine: ``auto``, or -1 for a size."""
    return value is None or value == -1 or (isinstance(value, str) and value.strip().lower() in UNSET)


def _shared(context: object, sequences: object) -> object:
    whole = isinstance(context, int) and isinstance(sequences, int) and sequences > 0
    return context // sequences if whole else context  # type: ignore[operator]
