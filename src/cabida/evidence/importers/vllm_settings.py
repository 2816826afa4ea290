"""What vLLM prints of its settings: the arguments that differ from their defaults, its configuration, a command."""

from __future__ import annotations

import re

from cabida.evidence.importers.run import Run, whole
from cabida.evidence.importers.said import counted, formats, matching, model_name, said, share, switched_on

COUNTS = {
    "max_model_len": ("max_model_len", "max_seq_len"),
    "max_num_seqs": ("max_num_seqs",),
    "max_num_batched_tokens": ("max_num_batched_tokens",),
    "block_size": ("block_size",),
    "max_loras": ("max_loras",),
    "max_lora_rank": ("max_lora_rank",),
    "kv_cache_memory_bytes": ("kv_cache_memory_bytes", "kv_cache_memory"),
    "num_gpu_blocks_override": ("num_gpu_blocks_override",),
}
SPLITS: dict[str, tuple[str, ...]] = {
    "tp": ("tensor_parallel_size", "tp"),
    "pp": ("pipeline_parallel_size", "pp"),
    "dp": ("data_parallel_size", "dp"),
}
SWITCHES = ("enforce_eager", "enable_expert_parallel", "enable_lora", "skip_mm_profiling")
OWN_LAYERS = ("mtp", "nextn", "longcat_flash_mtp")  # methods that draft with layers of the model itself
DRAFT_TOKENS = re.compile(r"(?:num_speculative_tokens|num_spec_tokens)['\"]?\s*[=:]\s*(\d+)")


def settings(run: Run, found: re.Match[str]) -> None:
    """Take model, version, split, limits and formats from a line that lists settings."""
    text = found.string[found.start() :]
    run.say("model", model_name(said(text, "model", "model_tag") or _served(text)))
    run.say("engine_version", found.groupdict().get("version"))
    for name, value in matching(SPLITS, text):
        run.say(name, value)
    if run.setup.get("dp", 1) > 1:
        run.flag("dp", run.setup["dp"])
    for name, value in matching(COUNTS, text):
        run.flag(name, value)
    if (dcp := counted(text, "decode_context_parallel_size")) and dcp > 1:
        run.flag("decode_context_parallel_size", dcp)
    run.flag("gpu_memory_utilization", share(text, "gpu_memory_utilization"))
    if offloaded := share(text, "cpu_offload_gb"):
        run.flag("cpu_offload_gb", offloaded)
    for name in SWITCHES:
        if switched_on(text, name):
            run.flag(name, True)
    if run.args.get("enable_lora"):
        run.note("lora")
    if _given(text, "kv_transfer_config"):
        run.flag("kv_transfer", said(text, "kv_connector") or True)
    if _given(text, "speculative_config") or said(text, "speculative_model"):
        _draft(run, text)
    formats(run, text)


def _given(text: str, key: str) -> bool:
    return bool(said(text, key) or re.search(rf"{key}['\"]?[=:]\s*'?[\[{{]\s*['\"\w]", text))


def _draft(run: Run, text: str) -> None:
    """A draft model, or layers of the model's own, and the tokens it speculates."""
    method = said(text, "method").lower()
    tokens = DRAFT_TOKENS.search(text)
    run.flag("speculative", method or True)
    if tokens:
        own = any(word in method for word in OWN_LAYERS)
        run.flag("mtp_tokens" if own else "draft_tokens", whole(tokens[1]))


def _served(text: str) -> str:
    found = re.search(r"vllm serve ([^\s'\"-][^\s'\"]*)", text)
    return found[1] if found else ""
