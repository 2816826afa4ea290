"""Start-up logs of vLLM, V0 and V1, from 0.4 on.

Wording from the engine's own code: ``worker.py``, ``gpu_worker.py``, ``gpu_model_runner.py``, ``kv_cache_utils.py``,
``model_runner.py``, ``llm_engine.py``, ``core.py``. What it labels GB is GiB (it divides by 2**30). A cache figure is
that of the rank with least room, since the engine gives every rank the fewest blocks of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cabida.evidence.importers.run import (
    CARD,
    Run,
    figure,
    number,
    over_replicas,
    read_runs,
    saying,
    step,
    version,
    whole,
)
from cabida.evidence.importers.torch_memory import oom_steps
from cabida.evidence.importers.vllm_settings import settings
from cabida.evidence.lines import Numbered

ENGINE = "vllm"
SERVING = "Avg prompt throughput: "  # every ten seconds, for as long as it serves
BLOCK_TOKENS = 16  # of V0 on CUDA and ROCm unless --block-size says otherwise
SIGNS = (
    "vLLM API server version", "LLM engine (v", "GPU KV cache size:", "# GPU blocks:", "# cuda blocks:",
    "Available KV cache memory:", "Loading model weights took", "Model loading took", "Memory profiling ",
    "non-default args:", "the current vLLM instance can use", "GPU memory utilization (", "models's max seq len",
    "model's max seq len", "Maximum concurrency for", "vllm serve ", "vllm.entrypoints", "VllmWorker",
)  # fmt: skip
G = r"(-?[\d.]+) ?Gi?B"
FREE = r"Free memory on device \S*\s*\(([\d.]+)/([\d.]+) GiB\)"


def _engine_line(run: Run, found: re.Match[str]) -> None:
    run.state["configured"] = True
    settings(run, found)


def _blocks(run: Run, found: re.Match[str]) -> None:
    run.put("num_gpu_blocks", number(found[1]))


def _tokens(run: Run, found: re.Match[str]) -> None:
    run.put("kv_cache_tokens", number(found[1]))


def _concurrency(run: Run, found: re.Match[str]) -> None:
    run.flag("max_model_len", whole(found[1]))
    run.put("max_concurrency", number(found[2]))


def _instance(run: Run, found: re.Match[str]) -> None:
    run.say("gpu_memory_gib", number(found[1]))
    run.flag("gpu_memory_utilization", number(found[2]))


def _split_sentence(run: Run, found: re.Match[str]) -> None:
    for metric, group in (("non_torch_gib", 2), ("activation_peak_gib", 3)):
        run.put(metric, number(found[group]))
    run.put("kv_cache_gib_per_gpu", number(found[4]))
    run.first("weights_gib_per_gpu", number(found[1]))


def _pairs(run: Run, found: re.Match[str]) -> None:
    """0.6.4 and 0.6.5: the peak printed here has the weights in it."""
    text = found.string
    sizes = {key: number(value) for key, value in re.findall(r"(\w+)=(-?[\d.]+)(?:Gi?B)?", text)}
    if "total_gpu_memory" in sizes:
        run.say("gpu_memory_gib", sizes["total_gpu_memory"])
    for key, metric in (("non_torch_memory", "non_torch_gib"), ("kv_cache_size", "kv_cache_gib_per_gpu")):
        if key in sizes:
            run.put(metric, sizes[key])
    if "peak_torch_memory" in sizes:
        run.state["peak_torch"] = max(sizes["peak_torch_memory"], run.state.get("peak_torch", 0.0))
    run.flag("gpu_memory_utilization", sizes.get("gpu_memory_utilization"))


def _profile(run: Run, found: re.Match[str]) -> None:
    run.put("activation_peak_gib", number(found[1]))
    run.put("non_torch_gib", number(found[2]))
    run.first("weights_gib_per_gpu", number(found[3]))


def _suggestion(run: Run, found: re.Match[str]) -> None:
    """From 0.10.2 on, one sentence with the whole budget; its peak includes what graphs were estimated to take."""
    free, total, utilisation, weights, peak, other, graphs = (
        number(part) if part else None for part in found.groups()
    )
    run.say("gpu_memory_gib", total)
    run.put("free_gib_at_start", free or 0.0)
    run.flag("gpu_memory_utilization", utilisation)
    if weights:
        run.first("weights_gib_per_gpu", weights)
    run.put("non_torch_gib", other or 0.0)
    if graphs:
        run.first("cuda_graph_gib", graphs)
    estimated = run.by_rank.get("cuda_graph_estimated_gib", {}).get(run.rank, 0.0)
    run.first("activation_peak_gib", round(max(0.0, (peak or 0.0) - estimated), 2))


def _consumed(run: Run, found: re.Match[str]) -> None:
    """The same sentence of later releases, weights and what is outside PyTorch in one figure."""
    free, total, utilisation, both, peak, graphs = (number(part) if part else None for part in found.groups())
    run.say("gpu_memory_gib", total)
    run.put("free_gib_at_start", free or 0.0)
    run.flag("gpu_memory_utilization", utilisation)
    run.first("consumed_weights_plus_non_torch_gib", both or 0.0)
    if graphs:
        run.first("cuda_graph_gib", graphs)
    estimated = run.by_rank.get("cuda_graph_estimated_gib", {}).get(run.rank, 0.0)
    run.first("activation_peak_gib", round(max(0.0, (peak or 0.0) - estimated), 2))


def _pools(run: Run, found: re.Match[str]) -> None:
    run.first("cuda_graph_gib", number(found[1]))
    run.first("cuda_graph_estimated_gib", number(found[2]))


def _cache_in_fp8(run: Run, _: re.Match[str]) -> None:
    run.setup["kv_cache"] = "fp8"


def _no_start(run: Run, found: re.Match[str]) -> None:
    run.say("gpu_memory_gib", number(found[2]))
    run.put("free_gib_at_start", number(found[1]))
    run.flag("gpu_memory_utilization", number(found[3]))
    run.failed("refused.free")


def _needed(run: Run, found: re.Match[str]) -> None:
    run.flag("max_model_len", whole(found[1]))
    run.put("kv_needed_gib", number(found[2]))
    run.put("kv_cache_gib_per_gpu", number(found[3]))
    run.failed("refused.request")


def _estimated(run: Run, found: re.Match[str]) -> None:
    run.put("estimated_max_model_len", number(found[1]))


def _too_long(run: Run, found: re.Match[str]) -> None:
    run.flag("max_model_len", whole(found[1]))
    run.put("kv_cache_tokens", number(found[2]))
    run.failed("refused.context")


def _mamba(run: Run, found: re.Match[str]) -> None:
    run.flag("max_num_seqs", whole(found[1]))
    run.measured["mamba_blocks"] = whole(found[2])
    run.failed("refused.state")


def _fitted(run: Run, found: re.Match[str]) -> None:
    run.args["max_model_len"] = whole(found[1])
    run.flag("auto_fit", True)


STEPS = (
    step(r"vLLM API server version ([\w.+]+)", version),
    step(r"vLLM server version ([\w.+]+)", version),
    step(r"(?:LLM|V1 LLM) engine \(v(?P<version>[\w.+]+)\) with config:", _engine_line, " with config:"),
    step(r"non-default args: ", settings),
    step(r"\bargs: Namespace\(", settings, "args: Namespace("),
    *saying(settings, "vllm serve ", "vllm.entrypoints."),
    step(rf"Loading model weights took {G}", figure("weights_gib_per_gpu")),
    step(rf"Model loading took {G}", figure("weights_gib_per_gpu")),
    step(r"# (?:GPU|cuda|CUDA) blocks: ([\d,]+)(?:, # CPU|\s*$)", _blocks, " blocks: "),
    step(r"GPU KV cache size: ([\d,]+) tokens", _tokens),
    step(rf"Available KV cache memory: {G}", figure("kv_cache_gib_per_gpu")),
    step(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x", _concurrency),
    step(r"Graph capturing finished in [\d.]+ secs?, took (-?[\d.]+) GiB", figure("cuda_graph_gib")),
    step(rf"Estimated CUDA graph memory: {G}", figure("cuda_graph_estimated_gib")),
    step(rf"CUDA graph pool memory: {G} \(actual\), {G} \(estimated\)", _pools),
    *saying(_cache_in_fp8, "fp8_ds_mla KV cache format", "Using fp8 data type to store kv cache"),
    step(rf"total_gpu_memory \({G}\) x gpu_memory_utilization \(([\d.]+)\)", _instance, "total_gpu_memory ("),
    step(
        rf"model weights take {G}; non_torch_memory takes {G}; PyTorch activation peak memory takes {G};"
        rf" the rest of the memory reserved for KV Cache is {G}",
        _split_sentence,
    ),
    step(r"Memory profiling results: ", _pairs),
    step(r"memory_usage_post_profile=|peak_torch_memory=", _pairs, "_memory="),
    step(
        rf"torch peak memory increase: {G}; non-torch forward increase memory: {G}; weights memory: {G}", _profile
    ),
    step(
        rf"{FREE} on startup\. Desired GPU memory utilization is \(([\d.]+), [\d.]+ GiB\)\. Actual usage is {G} for "
        rf"weights?, {G} for peak activation, {G} for non-torch memory(?:, and {G} for CUDAGraph memory)?",
        _suggestion,
        " for non-torch memory",
    ),
    step(
        rf"{FREE} on startup\. Desired GPU memory utilization is \(([\d.]+), [\d.]+ GiB\)\. Actual usage is {G} for "
        rf"consumed memory \(weights \+ non-torch\), {G} for peak activation(?:, and {G} for CUDAGraph memory)?",
        _consumed,
        " for consumed memory",
    ),
    step(
        rf"{FREE} on startup is less than desired GPU memory utilization \(([\d.]+), [\d.]+ GiB\)",
        _no_start,
        "less than desired GPU memory",
    ),
    step(
        rf"max seq len \(([\d,]+)\), \(?{G} KV cache is needed, which is larger than the available KV cache memory "
        rf"\({G}\)",
        _needed,
        "KV cache is needed",
    ),
    step(r"estimated maximum model length is ([\d,]+)\.", _estimated),
    step(
        r"max seq len \(([\d,]+)\) is larger than the maximum number of tokens that can be stored in KV cache "
        r"\(([\d,]+)\)",
        _too_long,
        "stored in KV cache",
    ),
    *saying(lambda run, _: run.failed("refused.cache"),
            "No available memory for the cache blocks"),
    step(r"max_num_seqs \(([\d,]+)\) exceeds available Mamba cache blocks \(([\d,]+)\)", _mamba, "Mamba cache blocks"),
    step(r"[Aa]uto-fit max_model_len: .{0,90}?(?:reduced from [\d,]+ to|using) ([\d,]+)", _fitted,
         "uto-fit max_model_len"),
    step(r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)",
         lambda run, m: run.flag("max_num_batched_tokens", whole(m[1]))),
    CARD,
    step(r"init engine \(profile, create kv cache, warmup model\) took", lambda run, _: run.started()),
    *saying(lambda run, _: run.started(), "Application startup complete", SERVING),
    *saying(lambda run, _: run.failed("out_of_memory_warming"),
            "out of memory occurred when warming up sampler"),
    *oom_steps(),
)  # fmt: skip
WORDS = tuple(dict.fromkeys(one.word for one in STEPS if one.word != SERVING))


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run for each start-up of the log."""
    runs = read_runs(lines, ENGINE, STEPS, _begins)
    for run in runs:
        run.unit = "GiB (labelled GB before 0.8)"
        _finish(run)
    return runs


def _begins(run: Run, text: str) -> bool:
    if "LLM engine (v" in text and " with config:" in text:
        other = re.search(r"DP([1-9]\d*)", text.partition(" with config:")[0])
        return bool(run.state.get("configured")) and not other
    again = "API server version" in text and ("ApiServer_" not in text or "ApiServer_0" in text)
    return again and bool(run.state.get("configured"))


def _finish(run: Run) -> None:
    measured = run.measured
    weights = measured.get("weights_gib_per_gpu")
    peak = run.state.get("peak_torch")
    if peak and weights and "activation_peak_gib" not in measured:
        measured["activation_peak_gib"] = round(max(0.0, peak - weights), 2)
    _blocks_as_tokens(run)
    over_replicas(run, "kv_cache_tokens", run.setup.get("dp", 1))
    _whole_cache(run)


def _blocks_as_tokens(run: Run) -> None:
    """Tokens from V0's blocks; what a block holds follows from the concurrency printed beside them."""
    blocks, length = run.measured.get("num_gpu_blocks"), run.args.get("max_model_len")
    if not blocks or "kv_cache_tokens" in run.measured:
        return
    times = run.measured.get("max_concurrency")
    size = run.args.get("block_size")
    if not size and times and length:
        size = max(1, round(times * length / blocks))
    if not size:
        size = BLOCK_TOKENS
        run.note("block_tokens", count=size)
    run.measured["kv_cache_tokens"] = int(blocks * size)


def _whole_cache(run: Run) -> None:
    if run.measured.get("kv_cache_gib_per_gpu", 1.0) <= 0 and "fits" not in run.measured:
        run.failed("refused.cache")
