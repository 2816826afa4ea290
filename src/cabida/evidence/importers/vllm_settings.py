"""What vLLM prints of its settings: the arguments that differ from their defaults, its configuration, a command."""

from __future__ import annotations

import re

from cabida.evidence.importers.run import Run
from cabida.evidence.importers.said import formats, matching, model_name, said, share, switched_on

COUNTS = {
    "max_model_len": ("max_model_len", "max_seq_len"),
    "max_num_seqs": ("max_num_seqs",),
    "max_num_batched_tokens": ("max_num_batched_tokens",),
    "block_size": ("block_size",),
}
SPLITS: dict[str, tuple[str, ...]] = {
    "tp": ("tensor_parallel_size", "tp"),
    "pp": ("pipeline_parallel_size", "pp"),
    "dp": ("data_parallel_size", "dp"),
}
SWITCHES = ("enforce_eager", "enable_expert_parallel", "enable_lora", "skip_mm_profiling")
BESIDE = {  # settings that put something else on the accelerator: their presence is what counts
    "speculative": ("speculative_config", "speculative_model"),
    "kv_transfer": ("kv_transfer_config",),
}


def settings(run: Run, found: re.Match[str]) -> None:
    """Take model, version, split, limits and formats from a line that lists settings."""
    text = found.string[found.start() :]
    run.say("model", model_name(said(text, "model", "model_tag") or _served(text)))
    run.say("engine_version", found.groupdict().get("version"))
    for name, value in matching(SPLITS, text):
        run.say(name, value)
    for name, value in matching(COUNTS, text):
        run.flag(name, value)
    run.flag("gpu_memory_utilization", share(text, "gpu_memory_utilization"))
    for name in SWITCHES:
        if switched_on(text, name):
            run.flag(name, True)
    for name, keys in BESIDE.items():
        if said(text, *keys) or re.search(rf"{keys[0]}['\"]?[=:]\s*[\[{{]\s*['\"\w]", text):
            run.flag(name, True)
    formats(run, text)


def _served(text: str) -> str:
    found = re.search(r"vllm serve ([^\s'\"-][^\s'\"]*)", text)
    return found[1] if found else ""
