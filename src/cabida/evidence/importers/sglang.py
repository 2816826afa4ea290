"""Start-up logs of SGLang.

Wording from ``model_runner.py``, ``memory_pool.py``, ``cuda_graph_runner.py``, ``scheduler.py`` and
``server_args.py``. What it labels GB is GiB: keys and values are tokens times bytes a token over 2**30 exactly.
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
from cabida.evidence.importers.said import formats, matching, model_name, said, share, switched_on
from cabida.evidence.importers.torch_memory import oom_steps
from cabida.evidence.lines import Numbered

ENGINE = "sglang"
SIGNS = (
    "server_args=ServerArgs(", "server_args=", "Load weight end.", "Memory pool end.", "KV Cache is allocated.",
    "sglang.launch_server", "max_total_num_tokens=", "mem-fraction-static",
)  # fmt: skip
COUNTS = {
    "max_model_len": ("context_length", "context_len"),
    "max_running_requests": ("max_running_requests",),
    "chunked_prefill_size": ("chunked_prefill_size",),
    "page_size": ("page_size",),
    "cuda_graph_max_bs": ("cuda_graph_max_bs",),
}
SPLITS = {"tp": ("tp_size", "tp", "tensor_parallel_size"), "pp": ("pp_size", "pipeline_parallel_size"),
          "dp": ("dp_size", "dp", "data_parallel_size"), "ep": ("ep_size", "expert_parallel_size")}  # fmt: skip
SIZE = r"(-?[\d.]+) ?GB"


def _settings(run: Run, found: re.Match[str]) -> None:
    text = found.string[found.start() :]
    run.say("model", model_name(said(text, "model_path", "model")))
    for name, value in matching(SPLITS, text):
        if value > 1 or name in ("tp", "dp"):
            run.say(name, value)
    _replicas(run, text)
    for name, value in matching(COUNTS, text):
        run.flag(name, value)
    run.flag("mem_fraction_static", share(text, "mem_fraction_static"))
    if switched_on(text, "disable_cuda_graph"):
        run.flag("enforce_eager", True)
    if said(text, "speculative_algorithm"):
        run.flag("speculative", True)
    formats(run, text)


def _replicas(run: Run, text: str) -> None:
    """Replicas of attention share the accelerators of the tensor split; others have accelerators of their own."""
    count = run.setup.get("dp", 1)
    if count <= 1 or "dp" in run.args:
        return
    run.flag("dp", count)
    if switched_on(text, "enable_dp_attention"):
        run.note("attention_replicas")
        run.flag("enable_expert_parallel", True)
        run.setup["gpus"] = run.setup.get("tp", 1) * run.setup.get("pp", 1)
        run.setup["tp"] = max(1, run.setup.get("tp", 1) // count)


def _load_begins(run: Run, found: re.Match[str]) -> None:
    run.state.setdefault(("free", run.rank), number(found[1]))
    run.first("free_gib_at_start", number(found[1]))


def _loaded(run: Run, found: re.Match[str]) -> None:
    """The first model a rank loads is the one that is served; a second is its draft."""
    text = found.string[found.start() :]
    if run.rank in run.by_rank.get("avail_after_load_gib", {}):
        run.flag("speculative", True)
        return
    free = re.search(rf"avail mem={SIZE}", text)
    used = re.search(rf"mem usage={SIZE}", text)
    before = run.state.get(("free", run.rank))
    if free:
        run.first("avail_after_load_gib", number(free[1]))
    if used:
        run.first("weights_gib_per_gpu", number(used[1]))
    elif free and before is not None:  # before 0.4.5
        run.quality = "B"
        run.note("weights_by_difference")
        run.first("weights_gib_per_gpu", round(before - number(free[1]), 2))
    _loaded_as(run, text)


def _loaded_as(run: Run, text: str) -> None:
    """The format that the loaded model is in, where the settings left it open."""
    if method := said(text, "quant"):
        bits = said(text, "bits")
        formats(run, f"quantization={method}")
        run.say(
            "weights",
            f"{method.split('_')[0]}-int{bits}" if bits and method.startswith(("gptq", "awq")) else "",
        )
    elif (kind := said(text, "dtype")) and "quantization" not in run.args:
        formats(run, f"dtype={kind}, quantization=None, kv_cache_dtype=auto")


def _cache(run: Run, found: re.Match[str]) -> None:
    """The first pool of a rank; hybrids with windows say the sum of theirs on a line of its own."""
    text = found.string[found.start() :]
    if run.rank in run.by_rank.get("kv_cache_gib_per_gpu", {}):
        return
    sizes = [number(size) for size in re.findall(rf"\b(?:K|V|KV) size: {SIZE}", text)]
    if sizes:
        run.put("kv_cache_gib_per_gpu", round(sum(sizes), 4))
    if tokens := re.search(r"#tokens: ([\d,]+)", text):
        run.put("kv_cache_tokens", number(tokens[1]))
    if kind := re.search(r"dtype: torch\.(\w+)", text):
        formats(run, f"kv_cache_dtype={kind[1]}")


def _windowed(run: Run, found: re.Match[str]) -> None:
    for metric, group in (("kv_cache_gib_per_gpu", 1), ("kv_cache_tokens", 3)):
        run.by_rank.get(metric, {}).pop(run.rank, None)
        run.put(metric, number(found[group]))
    run.measured["swa_tokens"] = whole(found[2])


def _states(run: Run, found: re.Match[str]) -> None:
    text = found.string[found.start() :]
    sizes = [
        number(size) for size in re.findall(rf"(?:conv_state|ssm_state|conv_window)\w* size: {SIZE}", text)
    ]
    if sizes:
        run.first("recurrent_state_gib", round(sum(sizes), 4))
    if slots := re.search(r"max_mamba_cache_size: (\d+)", text):
        run.flag("max_mamba_cache_size", whole(slots[1]))


def _graphs(run: Run, found: re.Match[str]) -> None:
    place = run.by_rank.setdefault("cuda_graph_gib", {})
    place[run.rank] = round(place.get(run.rank, 0.0) + number(found[1]), 4)


def _totals(run: Run, found: re.Match[str]) -> None:
    text = found.string[found.start() :]
    run.first("kv_cache_tokens", number(found[1]))
    for name, value in matching(COUNTS, text):
        run.flag(name, value)


STEPS = (
    *saying(_settings, "server_args=", "sglang.launch_server"),
    step(rf"Load weight begin\. avail mem={SIZE}", _load_begins, "Load weight begin."),
    step(r"Load weight end\.", _loaded, "Load weight end."),
    step(r"KV Cache is allocated\.", _cache, "KV Cache is allocated."),
    step(r"Using KV cache dtype: torch\.(\w+)", lambda run, m: formats(run, f"kv_cache_dtype={m[1]}")),
    step(rf"SWAKVPool mem usage: {SIZE}, swa size: (\d+), full size: (\d+)", _windowed),
    step(r"Mamba Cache is allocated\.", _states, "Mamba Cache is allocated."),
    step(rf"Memory pool end\. avail mem={SIZE}", figure("avail_after_pool_gib"), "Memory pool end."),
    step(rf"Capture (?:\w+ ){{0,4}}(?:cuda|CUDA) graph end.{{0,200}}?mem usage={SIZE}", _graphs, "graph end"),
    step(r"max_total_num_tokens=(\d+),", _totals),
    step(r"sglang\.__version__ ?= ?['\"]?([\w.+]+)", version, "sglang.__version__"),
    step(r"SGLang (?:version|v)[: ]*v?(\d+\.\d+[\w.+]*)", version, "SGLang "),
    CARD,
    step(r"The server is fired up and ready to roll", lambda run, _: run.started()),
    step(r"Not enough memory\. Please try to increase --mem-fraction-static",
         lambda run, _: run.failed("refused.memory"), "Not enough memory."),
    *oom_steps(),
)  # fmt: skip
WORDS = tuple(dict.fromkeys(one.word for one in STEPS))


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run for each start-up of the log."""
    runs = read_runs(lines, ENGINE, STEPS, _begins)
    for run in runs:
        run.unit = "GiB (labelled GB)"
        over_replicas(run, "kv_cache_tokens", run.args.get("dp", 1))
    return runs


def _begins(run: Run, text: str) -> bool:
    return "server_args=" in text and "model" in run.setup and not run.empty
