"""Logs of llama.cpp and of what wraps it (llama-server, llama-bench, ollama, LM Studio, llamafile).

Wording from ``llama.cpp`` (before 2025 one file) and ``llama-model.cpp``, ``llama-context.cpp``,
``llama-kv-cache*.cpp``, ``ggml-cuda.cu``, and ollama's own engine. Sizes are MiB. Buffers named after a processor
or a host are in the machine's memory, all others on an accelerator; the CUDA context is in none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from cabida.evidence.importers.ollama import CACHES, OLLAMA_STEPS
from cabida.evidence.importers.run import Run, number, read_runs, saying, step, whole
from cabida.evidence.importers.said import model_name
from cabida.evidence.lines import Numbered

ENGINE = "llama.cpp"
SIGNS = (
    "llama_model_loader:", "llm_load_tensors:", "load_tensors:", "llama_kv_cache", "llama_new_context_with_model:",
    "llama_context:", "llm_load_print_meta:", "print_info:", "ggml_cuda_init:", "llama_init_from_model",
    "ggml_backend_cuda_buffer_type_alloc_buffer", 'msg="model weights" device=', 'msg="offloaded ',
)  # fmt: skip
MIB = 1024.0
USUAL_UBATCH = 512  # tokens worked on at once unless -ub says otherwise
SERVING = ("all slots are idle", "llama_print_timings", "llama_perf_context_print")
ON_HOST = ("CPU", "Host", "host", "BLAS", "AMX", "Mapped_CPU", "KLEIDIAI", "SPLIT_CPU")
NAME = r"(?<![\w.:()+-])([\w.:()+-]+)"
PARTS = {
    "weights": "weights_gib",
    "kv": "kv_cache_gib",
    "compute": "compute_gib",
    "state": "recurrent_state_gib",
}


def _on_host(buffer: str) -> bool:
    return any(buffer.startswith(word) or buffer.endswith(f"_{word}") for word in ON_HOST)


def _buffer(part: str) -> Callable[[Run, re.Match[str]], None]:
    """A buffer of one device. Later ones of the same device and part add up, except what is worked in."""

    def put(run: Run, found: re.Match[str]) -> None:
        device, size = found[1], number(found[2]) / MIB
        _add(run, part, device, size)

    return put


def _add(run: Run, part: str, device: str, size_gib: float) -> None:
    if part != "weights" and run.state.get("contexts", 0) > 1:
        return  # of several contexts on one model the first is observed
    place = run.state.setdefault(part, {})
    place[device] = (
        max(place.get(device, 0.0), size_gib) if part == "compute" else place.get(device, 0.0) + size_gib
    )


def _cells(run: Run, found: re.Match[str]) -> None:
    """``size = 512.00 MiB (4096 cells, 32 layers, 2/2 seqs), K (f16): ...``: cells of each of its streams."""
    if run.state.get("contexts", 0) <= 1:
        cells = whole(found[2]) * whole(found[3] or "1")
        run.state["cells"] = max(cells, run.state.get("cells", 0))
    _types(run, found.string)


def _types(run: Run, text: str) -> None:
    kinds = re.findall(r"[KV] \((\w+)\)", text)
    if kinds and len(set(kinds)) == 1:
        run.say("kv_cache", CACHES.get(kinds[0], kinds[0]))
    elif kinds:
        run.note("two_types", keys=kinds[0], values=kinds[-1])


def _context(run: Run, found: re.Match[str]) -> None:
    """Sizes of a context. A second one on the same model begins where the first has its cache already."""
    name, size = found[1], whole(found[2])
    if name == "n_ctx":
        contexts = run.state.setdefault("contexts", 0)
        run.state["contexts"] = contexts + (contexts == 0 or bool(run.state.get("kv")))
    if name in ("n_ctx", "n_ctx_seq", "n_ctx_per_seq"):
        run.state.setdefault(name, size)
    else:
        run.flag(name, size)


def _offloaded(run: Run, found: re.Match[str]) -> None:
    run.flag("gpu_layers", whole(found[1]))
    run.flag("all_layers", whole(found[2]))
    if found[1] != found[2]:
        run.flag("partial_offload", True)


def _general(run: Run, found: re.Match[str]) -> None:
    run.state.setdefault("general", found[1].strip())


def _file(run: Run, found: re.Match[str]) -> None:
    name = model_name(found[1])
    run.state["file"] = re.sub(r"(-\d{5}-of-\d{5})?\.gguf$", "", name)


def _file_type(run: Run, found: re.Match[str]) -> None:
    """``Q4_K - Medium`` is the format q4_k_m."""
    kind, _, grade = found[1].strip().removeprefix("mostly ").removeprefix("all ").partition(" - ")
    size = {"Small": "_s", "Medium": "_m", "Large": "_l"}.get(grade.split(" ")[0], "")
    short = kind.split(" ")[0].lower()
    if re.fullmatch(r"[a-z]+\d\w*", short):
        run.say("weights", f"gguf-{short}{size if short.endswith('_k') else ''}")


def _device(run: Run, found: re.Match[str]) -> None:
    devices = run.state.setdefault("devices", [])
    if found[1] not in [id for id, _ in devices]:
        devices.append((found[1], found[2].strip()))


def _using(run: Run, found: re.Match[str]) -> None:
    run.state.setdefault("used", {})[found[1]] = found[2].strip()
    run.put("free_gib_at_start", number(found[3]) / MIB, rank=found[1])


def _failed(run: Run, found: re.Match[str]) -> None:
    run.failed("out_of_memory_at", what=found.group(0))
    if found.re.groups and (size := found.group(1)):
        run.measured["tried_to_allocate_gib"] = round(number(size) / MIB, 4)


STEPS = (
    step(rf"{NAME}(?: model)? buffer size += +([\d.]+) MiB", _buffer("weights"), "load_tensors:"),
    step(rf"{NAME} KV buffer size += +([\d.]+) MiB", _buffer("kv"), "KV buffer size"),
    step(rf"{NAME} RS buffer size += +([\d.]+) MiB", _buffer("state"), "RS buffer size"),
    step(rf"{NAME} compute buffer size (?:of|=|is)? *([\d.]+) MiB", _buffer("compute"), "compute buffer size"),
    step(r"size = +([\d.]+) MiB \( *(\d+) cells(?:, +\d+ layers, +\d+/(\d+) seqs)?", _cells, " cells"),
    step(r"KV self size += +([\d.]+) MiB", lambda run, m: _types(run, m.string)),
    step(r"\b(n_ctx|n_ctx_seq|n_ctx_per_seq|n_batch|n_ubatch|n_seq_max) += (\d+)", _context, "n_"),
    step(r"offloaded (\d+)/(\d+) layers to GPU", _offloaded),
    step(r"general\.name (?:str )?\s*= (.+)$", _general, "general.name"),
    step(r"loaded meta data with [^/\\]{0,90}? from (.{1,1000}?) \(version", _file, "loaded meta data with"),
    step(r"file type += (.+)$", _file_type, "file type"),
    step(r"model ftype += (.+)$", _file_type, "model ftype"),
    step(r"flash_attn += (\w+)", lambda run, m: run.flag("flash_attn", m[1] not in ("0", "disabled", "false"))),
    step(r"Device (\d+): (.{1,90}?), compute capability", _device, "compute capability"),
    step(r"Device (\d+): (.{1,90}?), gfx\w+", _device, ", gfx"),
    step(r"ggml_vulkan: (\d+) = (.{1,90}?)(?: \(| \||$)", _device, "ggml_vulkan:"),
    step(r"GPU name:()\s+(.+)$", _device, "GPU name:"),
    step(r"using device (\S+) \((.{1,90}?)\)(?: \([^)]{0,90}\))? - (\d+) MiB free", _using),
    step(r"\bbuild(?::| =) +(\d+) \(", lambda run, m: run.say("engine_version", f"b{m[1]}"), "build"),
    step(r"^version: (\d+) \(", lambda run, m: run.say("engine_version", f"b{m[1]}"), "version: "),
    step(r"allocating ([\d.]+) MiB on device \d+: \w+ failed: out of memory", _failed, "failed: out of memory"),
    step(r"(?:failed|unable) to allocate [\w ]*buffers?", lambda run, m: run.failed("out_of_memory_at", what=m[0]),
         "to allocate "),
    *saying(lambda run, m: run.failed("out_of_memory_at", what=m[0]), "CUDA error: out of memory",
            "llama_kv_cache_init() failed", "ErrorOutOfDeviceMemory", "Insufficient Memory"),
    *OLLAMA_STEPS,
    *saying(lambda run, _: run.started(), "server is listening", "main: model loaded", *SERVING),
)  # fmt: skip
WORDS = tuple(
    dict.fromkeys("n_ctx " if one.word == "n_" else one.word for one in STEPS if one.word not in SERVING)
)


def read(lines: Iterable[Numbered]) -> list[Run]:
    """One run for each model that was loaded."""
    runs = read_runs(lines, ENGINE, STEPS, _begins)
    for run in runs:
        run.unit = "MiB"
        _finish(run)
    return [one for one in runs if not one.empty] or runs[:1]


def _begins(run: Run, text: str) -> bool:
    return "loaded meta data with" in text and bool(run.state.get("file")) and bool(run.state.get("weights"))


def _finish(run: Run) -> None:
    parts = {name: run.state.get(name, {}) for name in PARTS}
    on_gpu = {
        name: {dev: size for dev, size in place.items() if not _on_host(dev)} for name, place in parts.items()
    }
    names = list(dict.fromkeys(dev for place in on_gpu.values() for dev in place))
    host = sum(size for dev, size in parts["weights"].items() if _on_host(dev))
    if host:
        run.measured["cpu_buffer_gib"] = round(host, 4)
    _identify(run, len(names))
    _lengths(run)
    if not names or not _all_told(run, len(names)):
        return
    run.setup["gpus"] = len(names)
    totals = {name: sum(place.values()) for name, place in on_gpu.items()}
    worked = max(on_gpu["compute"].values(), default=0.0)
    if worked:
        run.measured["activation_peak_gib"] = round(worked, 4)
    if totals["state"]:
        run.measured["recurrent_state_gib"] = round(totals["state"], 4)
    ending = "per_gpu" if len(names) == 1 else "total"
    for name, metric in (("weights", "weights_gib"), ("kv", "kv_cache_gib")):
        if totals[name]:
            run.measured[f"{metric}_{ending}"] = round(totals[name], 4)
    if totals["weights"] and totals["compute"] and run.measured.get("fits") is not False:
        run.measured[f"peak_gib_{ending}"] = round(sum(totals.values()), 4)
        run.started()
    if "cells" in run.state or totals["kv"]:
        tokens = run.state.get("cells") or run.state.get("n_ctx")
        if tokens:
            run.measured["kv_cache_tokens"] = int(tokens)
    run.note("buffers")


def _all_told(run: Run, count: int) -> bool:
    """Whether the buffers of every device were printed: a log may end among them."""
    expected = len(run.state.get("used", {})) or len(run.state.get("devices", []))
    return count >= expected or bool(
        run.state.get("contexts") or run.state.get("kv") or run.state.get("compute")
    )


def _lengths(run: Run) -> None:
    """Tokens of one sequence and how many such the cache holds, from what all its sequences share."""
    whole = run.state.get("n_ctx")
    if not whole:
        return
    told = run.state.get("n_ctx_seq") or run.state.get("n_ctx_per_seq")
    own = max(1, told or whole // max(1, run.args.get("n_seq_max", 1)))
    run.flag("max_model_len", own)
    run.flag("max_num_seqs", max(1, whole // own))
    small = run.args.get("n_ubatch")
    if small and small < USUAL_UBATCH:
        run.flag("max_num_batched_tokens", small)


def _best_name(general: str | None, file: str | None) -> str | None:
    """The name within the file, or the file's own where only that is known to the catalogue."""
    from cabida.facts.models import find_model

    return next((name for name in (general, file) if name and find_model(name)), general or file)


def _identify(run: Run, count: int) -> None:
    run.say("model", _best_name(run.state.get("general"), run.state.get("file")))
    if run.state.get("general") and run.state.get("file"):
        run.note("file", name=run.state["file"])
    run.engine = "llama.cpp (ollama)" if run.state.get("ollama") else run.engine
    used = list(dict.fromkeys(run.state.get("used", {}).values())) or list(
        dict.fromkeys(name for _, name in run.state.get("devices", []))
    )
    if len(used) == 1:
        run.say("gpu_raw", used[0])
    elif used:
        run.note("devices", names=", ".join(used))
    if count == 0 and run.state.get("devices"):
        run.setup.setdefault("gpus", len(run.state["devices"]))
