"""How each serving engine shares out an accelerator's memory, by version: a row of data per behaviour.

A new version or engine is a new row. ``rules(engine, version)`` takes the newest row that is not newer
than the version; a version newer than all rows behaves as the latest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from cabida.facts.model import Model, Sourced
from cabida.memory.constants import (
    GRAPHS_ESTIMATED,
    GRAPHS_V0,
    GRAPHS_V1,
    GRAPHS_V1_EARLY,
    SAMPLER_ENGINE,
    SAMPLER_PYTORCH,
    SAMPLER_UNSORTED,
    SAMPLER_V0,
    SAMPLER_V1,
    Constant,
)
from cabida.quantity import Source


@dataclass(frozen=True, slots=True)
class EngineRules(Sourced):
    """One engine's way with memory, from one version on.

    ``budget``: "share" = a ratio of the total, all inside; "static" = a ratio of the total for weights and
    cache only; "free" = a ratio of what is left after loading; "asked" = cache sized by context and sequences.
    """

    engine: str
    since: tuple[int, ...]
    budget: str
    utilisation_ratio: float
    sequences_count: int
    batched_tokens: int
    large_sequences_count: int  # the same two on a large data-centre card
    large_batched_tokens: int
    block_tokens: int
    layer_pages: bool  # cache of windowed and recurrent layers managed apart (hybrid manager)
    state_blocks_count: int  # state pages one sequence takes in each group of recurrent layers
    graphs_inside: bool  # graph memory counted within the budget
    graph_sizes_count: int
    splits_layers: bool  # whole layers on each accelerator instead of slices of each
    pad_count: int  # vocabulary is padded to a multiple of this
    flash_attention: bool  # attention scores are never stored whole
    sampler: Constant  # bytes the profiled sampler takes per logit
    graphs: Constant  # bytes of graphs per layer and captured size
    whole_logits: bool  # logits of every token of the prompt, not just its last
    cache_copies_count: int  # the cache and, while a step appends to it, the one of the step before
    expert_pad_count: int  # MXFP4 experts are padded to a multiple of this on each accelerator
    expert_rows_count: int  # tokens of each FP8 expert are padded to a multiple of this (grouped GEMM)
    close_ratio: float  # layer groups closer in size than this are padded to the larger
    batches_in_flight_count: (
        int  # batches whose windows a sequence may hold at once (asynchronous scheduling)
    )
    latent: str  # how MLA is cached: "heads" = as whole heads of 256, "padded" = latent to a multiple of 128, "latent"
    prints_blocks: bool  # tokens of mixed layers printed as blocks over groups, not as concurrency x context
    others_inside: bool  # what other processes hold counts within the budget
    chunk_tokens: (
        int  # V0: batch once chunked prefill switches itself on (above 32,768 tokens); 0 = it never does
    )
    micro_batch_tokens: int  # llama.cpp: tokens computed at once; 0 = the whole batch
    whole_windows: tuple[str, ...]  # words of model names whose windowed layers it keeps whole all the same
    table_sequences_count: int  # SGLang: rows of its table of token places, each as long as the context
    recurrent_on_v0: bool  # models with recurrent layers still run on V0
    fuses_loaded: (
        bool  # copies of fused projections stand beside the loaded ones until the last layer is built
    )
    float_states: bool  # recurrent states and convolutions in float32, whatever the model's type
    pipelines: bool  # llama.cpp: several cards overlap their work, each with a buffer of its own
    from_free: bool  # the budget starts from what is free, so that a process's own context is not in it
    ratio_by_ranks: bool  # SGLang before its memory heuristics: mem-fraction-static by tensor-parallel size
    source: Source
    field_sources: dict[str, Source]


def _rules(
    engine: str, since: str, budget: str, ratio: float, what: str, url: str, **changed: object
) -> EngineRules:
    base: dict[str, object] = {
        "sequences_count": 256, "batched_tokens": 2048, "large_sequences_count": 256, "large_batched_tokens": 2048,
        "block_tokens": 16, "layer_pages": False, "state_blocks_count": 1, "graphs_inside": False,
        "graph_sizes_count": 0, "splits_layers": False, "pad_count": 64, "flash_attention": True,
        "sampler": SAMPLER_V1, "graphs": GRAPHS_V1, "expert_pad_count": 1,
        "whole_logits": False, "cache_copies_count": 1, "expert_rows_count": 1, "close_ratio": 1.25,
        "batches_in_flight_count": 1, "latent": "latent", "prints_blocks": False, "others_inside": False,
        "chunk_tokens": 0, "micro_batch_tokens": 0, "from_free": False, "ratio_by_ranks": False,
        "pipelines": False, "recurrent_on_v0": False, "table_sequences_count": 0, "whole_windows": (),
        "fuses_loaded": False, "float_states": False,
    }  # fmt: skip
    return EngineRules(
        engine=engine, since=_numbers(since), budget=budget, utilisation_ratio=ratio,
        source=Source(what, url, "2026-11-30", "vendor"), field_sources={}, **{**base, **changed},  # type: ignore[arg-type]
    )  # fmt: skip


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


# when each minor version came out: to read "V1, 2025-06" or the date of a log as a version
_RELEASED = {
    "vllm": (
        ("2023-11", "0.2"), ("2024-02", "0.3"), ("2024-04", "0.4"), ("2024-06", "0.5"), ("2024-09", "0.6"),
        ("2024-12", "0.6.4"), ("2025-02", "0.7.2"), ("2025-03", "0.8"), ("2025-05", "0.9"), ("2025-07", "0.9.2"),
        ("2025-08", "0.10"), ("2025-10", "0.11"), ("2025-12", "0.12"), ("2026-01", "0.14"), ("2026-02", "0.15"),
        ("2026-03", "0.17"), ("2026-04", "0.19"), ("2026-05", "0.21"), ("2026-07", "0.24"), ("2026-08", "0.26"),
        ("2026-09", "0.28"),
    ),
    "sglang": (
        ("2024-07", "0.2"), ("2024-09", "0.3"), ("2024-12", "0.4"), ("2025-08", "0.5"), ("2025-10", "0.5.3"),
        ("2026-01", "0.5.7"), ("2026-04", "0.5.10"),
    ),
}  # fmt: skip


def version_at(engine: str, month: str) -> str:
    """The version of ``engine`` that was current in ``month`` (``2025-06``); "" when we keep no calendar of it."""
    released = _RELEASED.get(engine.lower().split("(")[0].strip(), ())
    return next(
        (version for since, version in reversed(released) if month >= since),
        released[0][1] if released else "",
    )


def version_of(engine: str, written: str) -> tuple[int, ...]:
    """A version however a log writes it: ``0.11.2``, ``b1691``, ``V0, 2025-08``, ``2026-09``."""
    if engine == "vllm" and re.search(r"\bV0\b", written):
        return _numbers(LAST_V0)
    dated = re.search(r"20\d\d-\d\d", written)
    if dated and not re.search(r"\d+\.\d+", written):
        written = version_at(engine, dated.group())
    elif dated:
        written = written.replace(dated.group(), "")
    return _numbers(written) or ((0, 9) if re.search(r"\bV1\b", written) else ())


_V0 = {"graph_sizes_count": 35, "sampler": SAMPLER_V0, "graphs": GRAPHS_V0}
_V1 = {
    "large_sequences_count": 1024,
    "large_batched_tokens": 8192,
    "graph_sizes_count": 67,
    "graphs": GRAPHS_V1_EARLY,
}
_V1_10 = {
    **_V1,
    "graphs": GRAPHS_V1,
    "layer_pages": True,
    "expert_pad_count": 256,
    "expert_rows_count": 128,
    "prints_blocks": True,
}
_V1_20 = {
    **_V1_10,
    "graph_sizes_count": 51,
    "sampler": SAMPLER_UNSORTED,
    "state_blocks_count": 2,
    "close_ratio": 1.5,
}
_V1_21 = {**_V1_20, "graphs_inside": True, "graphs": GRAPHS_ESTIMATED, "prints_blocks": False}
_VLLM = "https://docs.vllm.ai/en/latest/configuration/engine_args.html"
_PAGES = "https://github.com/vllm-project/vllm/blob/main/vllm/v1/core/kv_cache_utils.py"
_FLIGHT = "https://github.com/vllm-project/vllm/pull/47728"
_SGLANG = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/server_args.py"
_STATIC = {
    "block_tokens": 1, "graph_sizes_count": 35, "batched_tokens": 2048, "large_batched_tokens": 8192,
    "layer_pages": True, "expert_pad_count": 256, "from_free": True, "table_sequences_count": 2048,
    "whole_windows": ("gemma-2", "gemma-3"),
}  # fmt: skip
_TENSORRT = {
    "block_tokens": 32, "sequences_count": 2048, "batched_tokens": 8192, "large_sequences_count": 2048,
    "large_batched_tokens": 8192, "from_free": True,
}  # fmt: skip
_LLAMA = "https://github.com/ggml-org/llama.cpp/tree/master/tools/server"
_LLAMA_DEFAULTS = {
    "block_tokens": 256, "sequences_count": 1, "large_sequences_count": 1, "batched_tokens": 512,
    "large_batched_tokens": 512, "layer_pages": True, "splits_layers": True, "pad_count": 1,
    "micro_batch_tokens": 512, "float_states": True,
}  # fmt: skip
_TRANSFORMERS = {
    "block_tokens": 1, "sequences_count": 1, "large_sequences_count": 1, "layer_pages": True, "pad_count": 1,
    "batched_tokens": 0, "large_batched_tokens": 0,
}  # fmt: skip
ROWS = (
    _rules("vllm", "0", "share", 0.9, "vLLM V0 defaults (engine/arg_utils.py)", _VLLM, **_V0, latent="heads"),
    _rules("vllm", "0.5", "share", 0.9, "vLLM V0: prompts in chunks of 512 from 32,768 tokens of context on", _VLLM,
           **_V0, latent="heads", chunk_tokens=512),
    _rules("vllm", "0.6.4", "share", 0.9, "vLLM V0: the same in chunks of 2048", _VLLM, **_V0, latent="heads",
           chunk_tokens=2048),
    _rules("vllm", "0.7.1", "share", 0.9, "vLLM V0 with MLA, latents padded to 640", _VLLM, **_V0, latent="padded",
           chunk_tokens=2048),
    _rules("vllm", "0.7.3", "share", 0.9, "vLLM V0 with MLA", _VLLM, **_V0, chunk_tokens=2048),
    _rules("vllm", "0.8", "share", 0.9, "vLLM V1 defaults (engine/arg_utils.py); all that is used on the card counts",
           _VLLM, **_V1, others_inside=True, recurrent_on_v0=True),
    _rules("vllm", "0.9.1", "share", 0.9, "vLLM V1: only what the process adds counts (MemorySnapshot)", _VLLM, **_V1,
           recurrent_on_v0=True),
    _rules("vllm", "0.10", "share", 0.9, "vLLM V1 with the hybrid cache manager for windows", _PAGES, **_V1_10,
           recurrent_on_v0=True),
    _rules("vllm", "0.10.2", "share", 0.9, "vLLM V1 with the hybrid cache manager", _PAGES, **_V1_10),
    _rules("vllm", "0.19", "share", 0.9, "vLLM V1: prefix caching keeps a second recurrent state (align)", _PAGES,
           **{**_V1_10, "state_blocks_count": 2}),
    _rules("vllm", "0.20", "share", 0.9, "vLLM V1 with a sampler that does not sort", _VLLM, **_V1_20),
    _rules("vllm", "0.21", "share", 0.92, "vLLM: graph memory profiled within the budget (default since v0.21.0)",
           _VLLM, **_V1_21),
    _rules("vllm", "0.25", "share", 0.92, "vLLM: windows kept for every batch in flight (max_in_flight_tokens)",
           _FLIGHT, **_V1_21, batches_in_flight_count=2),
    _rules("sglang", "0", "static", 0.0, "SGLang server_args.py: mem-fraction-static by tensor-parallel size", _SGLANG,
           **_STATIC, ratio_by_ranks=True),
    _rules("sglang", "0.5.3", "static", 0.0, "SGLang server_args.py, heuristics for mem-fraction-static (PR 10975)",
           "https://github.com/sgl-project/sglang/pull/10975", **_STATIC, expert_rows_count=128),
    _rules("tensorrt-llm", "0", "free", 0.9, "TensorRT-LLM free_gpu_memory_fraction 0.9 of what is free after loading",
           "https://nvidia.github.io/TensorRT-LLM/", **_TENSORRT, sampler=SAMPLER_ENGINE),
    _rules("tensorrt-llm", "1.0", "free", 0.9, "TensorRT-LLM's PyTorch flow: the same fraction after a profile run",
           "https://nvidia.github.io/TensorRT-LLM/", **_TENSORRT, sampler=SAMPLER_PYTORCH),
    _rules("lmdeploy", "0", "free", 0.8, "LMDeploy cache_max_entry_count 0.8 of what is free after loading",
           "https://lmdeploy.readthedocs.io/", block_tokens=64, batched_tokens=8192, large_batched_tokens=8192,
           from_free=True, sampler=SAMPLER_ENGINE),
    _rules("llama.cpp", "0", "asked", 1.0, "llama.cpp: cache allocated in full for the context; micro-batch 512",
           _LLAMA, **{**_LLAMA_DEFAULTS, "layer_pages": False}, flash_attention=False),
    _rules("llama.cpp", "2417", "asked", 1.0, "llama.cpp with pipeline parallelism: every card has a buffer of its own",
           "https://github.com/ggml-org/llama.cpp/pull/6017", **{**_LLAMA_DEFAULTS, "layer_pages": False},
           flash_attention=False, pipelines=True),
    _rules("llama.cpp", "5400", "asked", 1.0, "llama.cpp with few cells for windowed layers",
           "https://github.com/ggml-org/llama.cpp/pull/13194", **_LLAMA_DEFAULTS, flash_attention=False,
           pipelines=True),
    _rules("llama.cpp", "6325", "asked", 1.0, "llama.cpp with flash attention by default (-fa auto)", _LLAMA,
           **_LLAMA_DEFAULTS, pipelines=True),
    _rules("ollama", "0", "asked", 1.0, "Ollama runs llama.cpp with micro-batches as large as its batch",
           "https://github.com/ollama/ollama/blob/main/llama/llama.go",
           **{**_LLAMA_DEFAULTS, "micro_batch_tokens": 0}, pipelines=True),
    _rules("transformers", "0", "asked", 1.0, "Transformers before its cache class: tuples, copied whole to append",
           "https://github.com/huggingface/transformers/pull/26681", **_TRANSFORMERS, whole_logits=True,
           cache_copies_count=2),
    _rules("transformers", "4.36", "asked", 1.0, "Transformers: cache grows layer by layer; logits of the whole prompt",
           "https://github.com/huggingface/transformers/pull/31292", **_TRANSFORMERS, whole_logits=True),
    _rules("transformers", "4.45", "asked", 1.0, "Transformers: cache grows with the sequence, no pool",
           "https://huggingface.co/docs/transformers/kv_cache", **_TRANSFORMERS),
    _rules("autoawq", "0", "asked", 1.0, "AutoAWQ's fused attention stores a prompt's scores (modules/fused/attn.py)",
           "https://github.com/casper-hansen/AutoAWQ", **_TRANSFORMERS, flash_attention=False, fuses_loaded=True),
    _rules("vllm-gfx906", "0", "share", 0.9, "vLLM V0 for gfx906: attention scores of the profiled prompt stored whole",
           "https://github.com/nlzy/vllm-gfx906", **_V0, flash_attention=False),
)  # fmt: skip
ALIASES = {"ik_llama.cpp": "llama.cpp", "llamacpp": "llama.cpp", "llama-server": "llama.cpp",
           "llama-cpp-python": "llama.cpp", "trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm",
           "tensorrt_llm": "tensorrt-llm", "litgpt": "transformers"}  # fmt: skip
# engines whose own way with memory we don't keep: the nearest one's stands in
LIKE = {"exllamav2": "transformers", "text-generation-inference": "vllm", "tgi": "vllm", "mlx": "llama.cpp"}


LAST_V0 = "0.7.3"
_WITHIN = {
    "ollama": "ollama",
    "gfx906": "vllm-gfx906",
}  # engines that a name mentions beside the one they run


def rules_for(engine: str, version: str, model: Model) -> EngineRules:
    """:func:`rules`, of the engine that runs ``model``: vLLM long kept recurrent layers on V0."""
    row = rules(engine, version)
    if row.recurrent_on_v0 and any(group.kind == "linear" for group in model.attention):
        return rules("vllm", LAST_V0)
    return row


def named_engine(engine: str) -> str:
    """The engine a description names (``vLLM 0.8``, ``llama.cpp (ollama)``) as its rows here call it; "" = none."""
    lowered = engine.lower()
    fork = next((_WITHIN[name] for name in _WITHIN if name in lowered), "")
    word = fork or lowered.split("(")[0].strip()
    known = {**{row.engine: row.engine for row in ROWS}, **ALIASES, **LIKE}
    if word in known:
        return known[word]
    longest = sorted(known, key=len, reverse=True)
    return next(
        (known[one] for one in longest if re.search(rf"(?<![a-z]){re.escape(one)}(?![a-z])", lowered)), ""
    )


def stands_in(engine: str) -> bool:
    """Whether another engine's way with memory is taken for this one's."""
    lowered = engine.lower()
    return any(re.search(rf"(?<![a-z]){one}", lowered) for one in LIKE)


@lru_cache(maxsize=256)
def rules(engine: str, version: str = "") -> EngineRules:
    """The behaviour of ``engine`` at ``version`` ("" = the latest known). Unknown engines behave as vLLM."""
    word = named_engine(engine) or "vllm"
    known = [row for row in ROWS if row.engine == word]
    numbers = version_of(known[0].engine, version)
    if not numbers:
        return known[-1]
    return [row for row in known if row.since <= numbers or row is known[0]][-1]
