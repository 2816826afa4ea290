"""Start-up logs of TensorRT-LLM, of its C++ runtime and of its PyTorch back end.

Wording from ``kvCacheManager.cpp``, ``tllmRuntime.cpp``, ``trtGptModelInflightBatching.cpp`` and
``pyexecutor/_util.py``. Sizes are GiB, and MiB where so labelled. The cache is a share of what is free once the
engine is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from cabida.evidence.importers.run import Run, figure, number, read_runs, saying, step, version, whole
from cabida.evidence.importers.said import counted, formats, model_name, said, share
from cabida.evidence.importers.torch_memory import SIZE, gib, oom_steps
from cabida.evidence.lines import Numbered

ENGINE = "tensorrt-llm"
SIGNS = (
    "[TensorRT-LLM]",
    "[TRT-LLM]",
    "tensorrt_llm",
    "[MemUsageChange]",
    "TensorRT LLM version",
    "trtllm-serve",
)


def _size(metric: str) -> Callable[[Run, re.Match[str]], None]:
    def put(run: Run, found: re.Match[str]) -> None:
        run.put(metric, round(gib(found[1], found[2]), 4))

    return put


def _cache(run: Run, found: re.Match[str]) -> None:
    """The pool; a smaller one while the engine measures itself comes before the one that stays."""
    for metric, value in (
        ("kv_cache_gib_per_gpu", gib(found[1], found[2])),
        ("kv_cache_tokens", number(found[3])),
    ):
        run.by_rank.get(metric, {}).pop(run.rank, None)
        run.put(metric, round(value, 4))


def _room(run: Run, found: re.Match[str]) -> None:
    run.say("gpu_memory_gib", gib(found[1], found[2]))
    run.flag("available_gib", round(gib(found[3], found[4]), 4))


def _settings(run: Run, found: re.Match[str]) -> None:
    text = found.string[found.start() :]
    run.say("model", model_name(said(text, "model", "model_dir", "model_path", "engine_dir")))
    run.say("tp", counted(text, "tp_size", "tensor_parallel_size"))
    run.say("pp", counted(text, "pp_size", "pipeline_parallel_size"))
    run.flag("max_num_seqs", counted(text, "max_batch_size", "max_num_requests"))
    run.flag("max_model_len", counted(text, "max_seq_len"))
    run.flag("max_num_batched_tokens", counted(text, "max_num_tokens"))
    run.flag("fraction", share(text, "free_gpu_memory_fraction", "kv_cache_free_gpu_memory_fraction"))
    formats(run, text)


def _profiled(run: Run, found: re.Match[str]) -> None:
    text = found.string[found.start() :]
    run.put("profiled_peak_gib", number(found[1]))
    if kept := re.search(r"fraction is set ([\d.]+)", text):
        run.flag("fraction", float(kept[1].rstrip(".")))
    if total := re.search(rf"device total memory {SIZE}", text):
        run.say("gpu_memory_gib", gib(total[1], total[2]))


STEPS = (
    step(r"TensorRT[- ]LLM version: ?v?([\w.+]+)", version, "LLM version"),
    step(rf"Loaded engine size: {SIZE}", _size("weights_gib_per_gpu")),
    step(rf"Memory used after loading model weights \(inside torch\) in memory usage profiling: {SIZE}",
         _size("weights_gib_per_gpu"), "inside torch) in memory usage profiling"),
    step(rf"Memory dynamically allocated during inference \(inside torch\) in memory usage profiling: {SIZE}",
         _size("activation_peak_gib"), "dynamically allocated during inference"),
    step(rf"Memory used outside torch \(e\.g\., NCCL and CUDA graphs\) in memory usage profiling: {SIZE}",
         _size("non_torch_gib"), "Memory used outside torch"),
    step(rf"Allocated {SIZE} for execution context memory", _size("activation_peak_gib"), "execution context memory"),
    step(rf"Allocated {SIZE} for max tokens in paged KV cache \(([\d,]+)\)", _cache, "in paged KV cache ("),
    step(rf"max tokens in paged kv cache: total: {SIZE}, available: {SIZE}", _room),
    step(r"Number of blocks in KV cache primary pool: (\d+)", figure("num_gpu_blocks")),
    step(r"Number of tokens per block: (\d+)", lambda run, m: run.flag("block_size", whole(m[1]))),
    step(r"Peak memory during memory usage profiling \(torch \+ non-torch\): ([\d.]+) GiB", _profiled,
         "Peak memory during memory usage profiling"),
    step(r"TRTGptModel maxNumSequences: (\d+)", lambda run, m: run.flag("max_num_seqs", whole(m[1]))),
    step(r"TRTGptModel maxBeamWidth: (\d+)", lambda run, m: run.flag("max_beam_width", whole(m[1]))),
    step(r"max sequence length=(\d+)", lambda run, m: run.flag("max_model_len", whole(m[1]))),
    step(r"max_seq_len ?= ?\d+, max_num_requests", _settings, "max_seq_len"),
    *saying(_settings, "trtllm-serve ", "LLM Args", "TrtLlmArgs", "TorchLlmArgs", "kv_cache_config="),
    step(r"Using GPU.{0,90}?: (NVIDIA [\w ()-]{1,60})", lambda run, m: run.say("gpu_raw", m[1].strip()), "Using GPU"),
    *saying(lambda run, _: run.started(), "Uvicorn running on", "Application startup complete",
            "Engine loaded and ready to serve"),
    *saying(lambda run, m: run.failed("out_of_memory_at", what=m[0]),
            "Insufficient memory for KV cache", "OutOfMemory"),
    *oom_steps(),
)  # fmt: skip
WORDS = tuple(dict.fromkeys(one.word for one in STEPS))


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run for each start-up of the log."""
    runs = read_runs(lines, ENGINE, STEPS, _begins)
    for run in runs:
        run.unit = "GiB"
        if run.by_rank and "gpus" not in run.setup and "tp" not in run.setup:
            ranks = {rank for place in run.by_rank.values() for rank in place if rank}
            if len(ranks) > 1:
                run.setup["gpus"] = len(ranks)
    return runs


def _begins(run: Run, text: str) -> bool:
    again = "LLM version" in text and "version:" in text
    return again and "kv_cache_tokens" in run.by_rank
