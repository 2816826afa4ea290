"""Serving engines' own command lines: vLLM, SGLang, TensorRT-LLM, llama.cpp.

Options as in each engine's documentation (docs.vllm.ai, docs.sglang.ai, nvidia.github.io/TensorRT-LLM and
llama.cpp tools/server/README.md, seen 2026-11-30); an option is left out when it is the engine's default.
"""

from __future__ import annotations

import math
from pathlib import PurePosixPath

from cabida.launch.shell import Option, assemble, at_least
from cabida.plan import Deployment
from cabida.text import tr

SIXTEEN_BIT = ("bf16", "fp16", "fp32")
ON_THE_FLY = {  # formats the engine makes itself while it loads a 16-bit checkpoint
    "vllm": {"fp8": "fp8", "bnb-nf4": "bitsandbytes", "bnb-int8": "bitsandbytes"},
    "sglang": {"fp8": "fp8", "bnb-nf4": "bitsandbytes"},
}
OLD_VLLM = "0.5.0"  # before: python -m vllm.entrypoints.openai.api_server
VLLM_V1 = "0.8.0"  # prefix caching on unless told otherwise
LLAMA_FLASH_VALUE = "b6325"  # --flash-attn takes a value from this build on


def serving(d: Deployment) -> str:
    """The command that starts one replica of ``d``; empty when its engine's command line isn't known."""
    known = {"vllm": _vllm, "sglang": _sglang, "tensorrt-llm": _tensorrt_llm, "llama.cpp": _llama_cpp}
    return known[d.engine](d) if d.engine in known else ""


def checkpoint(d: Deployment) -> tuple[str, str | None, str]:
    """What to load: the checkpoint, the engine's word for quantising it while loading, and a note.

    A format that has to be made beforehand gives the folder it is expected in and a note that says so.
    """
    model, wanted = d.model.id, d.weights.id
    if wanted == d.model.native_format or d.weights.family == "bf16" or wanted in SIXTEEN_BIT:
        return model, None, ""
    word = ON_THE_FLY.get(d.engine, {}).get(wanted)
    if word and d.model.native_format in (*SIXTEEN_BIT, ""):
        return model, word, ""
    folder = f"./{PurePosixPath(model).name}-{wanted}"
    return folder, None, tr("launch.checkpoint", model=model, format=wanted, folder=folder)


def _kv(d: Deployment, fp8: str = "fp8") -> str | None:
    if d.kv_cache.family == "bf16":
        return None
    return fp8 if d.kv_cache.family == "fp8" else d.kv_cache.id


def _dtype(d: Deployment, sixteen: str = "bfloat16", half: str = "half") -> str | None:
    return {"bf16": sixteen, "fp16": half}.get(d.weights.id)


def _nodes(d: Deployment) -> int:
    per_node = d.node.accelerators_count if d.node else d.parallel.accelerators_count
    return math.ceil(d.parallel.accelerators_count / max(1, per_node))


def _vllm(d: Deployment) -> str:
    load, quantise, note = checkpoint(d)
    split, asked = d.parallel, d.settings
    modern = at_least(d.engine_version, VLLM_V1)
    options: list[Option] = [
        ("--tensor-parallel-size", split.tp if split.tp > 1 else None),
        ("--pipeline-parallel-size", split.pp if split.pp > 1 else None),
        ("--data-parallel-size", split.dp if split.dp > 1 else None),
        ("--prefill-context-parallel-size", split.cp if split.cp > 1 else None),
        ("--enable-expert-parallel", split.ep > 1),
        ("--distributed-executor-backend", "ray" if _nodes(d) > 1 else None),
        ("--dtype", _dtype(d)),
        ("--quantization", quantise),
        ("--kv-cache-dtype", _kv(d)),
        ("--max-model-len", asked.max_model_len),
        ("--max-num-seqs", asked.max_num_seqs),
        ("--max-num-batched-tokens", asked.max_num_batched_tokens),
        ("--gpu-memory-utilization", asked.gpu_memory_utilization),
        ("--enforce-eager", asked.enforce_eager),
        ("--enable-prefix-caching", asked.prefix_caching and not modern),
        ("--no-enable-prefix-caching", not asked.prefix_caching and modern),
    ]
    notes = (_pin(d, "vllm"), note, tr("launch.ray", nodes=_nodes(d)) if _nodes(d) > 1 else "")
    if not at_least(d.engine_version, OLD_VLLM):
        return assemble(
            "python -m vllm.entrypoints.openai.api_server", "--model", load, options=options, notes=notes
        )
    return assemble("vllm serve", load, options=options, notes=notes)


def _sglang(d: Deployment) -> str:
    load, quantise, note = checkpoint(d)
    split, asked = d.parallel, d.settings
    shared = split.ep > 1 and split.dp > 1  # attention data-parallel inside one expert-parallel group
    options: list[Option] = [
        ("--tp-size", split.tp * split.dp if shared else split.tp if split.tp > 1 else None),
        ("--pp-size", split.pp if split.pp > 1 else None),
        ("--dp-size", split.dp if split.dp > 1 else None),
        ("--ep-size", split.ep if split.ep > 1 else None),
        ("--enable-dp-attention", shared),
        ("--nnodes", _nodes(d) if _nodes(d) > 1 else None),
        ("--node-rank", "${NODE_RANK:?}" if _nodes(d) > 1 else None),
        ("--dist-init-addr", "${HEAD_ADDRESS:?}" if _nodes(d) > 1 else None),
        ("--dtype", _dtype(d)),
        ("--quantization", quantise),
        ("--kv-cache-dtype", _kv(d, "fp8_e4m3")),
        ("--context-length", asked.max_model_len),
        ("--max-running-requests", asked.max_num_seqs),
        ("--chunked-prefill-size", asked.max_num_batched_tokens),
        ("--mem-fraction-static", asked.gpu_memory_utilization),
        ("--disable-cuda-graph", asked.enforce_eager),
        ("--disable-radix-cache", not asked.prefix_caching),
    ]
    program = "python -m sglang.launch_server"
    return assemble(program, "--model-path", load, options=options, notes=(_pin(d, "sglang"), note))


def _tensorrt_llm(d: Deployment) -> str:
    load, _, note = checkpoint(d)
    split, asked, kv = d.parallel, d.settings, _kv(d)
    options: list[Option] = [
        ("--backend", "pytorch"),
        ("--tp_size", split.tp if split.tp > 1 else None),
        ("--pp_size", split.pp if split.pp > 1 else None),
        ("--ep_size", split.ep if split.ep > 1 else None),
        ("--max_seq_len", asked.max_model_len),
        ("--max_batch_size", asked.max_num_seqs),
        ("--max_num_tokens", asked.max_num_batched_tokens),
        ("--kv_cache_free_gpu_memory_fraction", asked.gpu_memory_utilization),
        ("--extra_llm_api_options", "/dev/stdin" if kv or not asked.prefix_caching else None),
    ]
    text = assemble("trtllm-serve", load, options=options, notes=(_pin(d, "tensorrt-llm"), note))
    wanted = [f"dtype: {kv}"] if kv else []
    wanted += [] if asked.prefix_caching else ["enable_block_reuse: false"]
    return f"{text} \\\n  <<< 'kv_cache_config: {{{', '.join(wanted)}}}'" if wanted else text


def _llama_cpp(d: Deployment) -> str:
    asked, split = d.settings, d.parallel
    slots = asked.max_num_seqs or 1
    if d.model.id.endswith(".gguf"):
        file, note = d.model.id, ""
    else:
        quant = d.weights.id.removeprefix("gguf-").replace("bf16", "BF16")
        file = f"./{PurePosixPath(d.model.id).name}-{quant.upper()}.gguf"
        note = tr("launch.checkpoint", model=d.model.id, format=d.weights.id, folder=file)
    cache = {"fp8": "q8_0", "int8": "q8_0"}.get(d.kv_cache.family)
    cache = d.kv_cache.id.removeprefix("gguf-") if d.kv_cache.family == "gguf" else cache
    with_value = at_least(d.engine_version, LLAMA_FLASH_VALUE)
    options: list[Option] = [
        ("--n-gpu-layers", 999),
        ("--ctx-size", asked.max_model_len * slots if asked.max_model_len else None),
        ("--parallel", slots if slots > 1 else None),
        ("--split-mode", "row" if split.tp > 1 else "layer" if split.pp > 1 else None),
        ("--batch-size", asked.max_num_batched_tokens),
        ("--cache-type-k", cache),
        ("--cache-type-v", cache),
        ("--flash-attn", "on" if with_value else True),
        ("--cont-batching", slots > 1 and not with_value),
    ]
    return assemble("llama-server", "--model", file, options=options, notes=(_pin(d, "llama.cpp"), note))


def _pin(d: Deployment, package: str) -> str:
    return f"{package} {d.engine_version}" if d.engine_version else ""
