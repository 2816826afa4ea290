"""Lines of ollama around and instead of llama.cpp's: ``device.go``, ``ggml.go``, ``server.go``, ``types.go``."""

from __future__ import annotations

import re

from cabida.evidence.importers.run import Run, step, whole
from cabida.evidence.importers.torch_memory import SIZE, gib

CACHES = {"f16": "fp16", "f32": "fp32", "bf16": "bf16"}  # types of keys and values under our names
PARTS = {"model weights": "weights", "kv cache": "kv", "compute graph": "compute"}


def _held(run: Run, found: re.Match[str]) -> None:
    """A layout; while it looks for one that fits, ollama prints each it tries, and the last is the one in use."""
    run.state.setdefault(PARTS[found[1]], {})[found[2]] = gib(found[3], found[4])
    run.state["ollama"] = True


def _request(run: Run, found: re.Match[str]) -> None:
    """What ollama asks its runner for; the context is that of all its sequences."""
    text = found.string
    run.state.setdefault("n_ctx", whole(found[1]))
    for name, key in (("Parallel", "n_seq_max"), ("BatchSize", "n_batch")):
        if told := re.search(rf"\b{name}:(\d+)", text):
            run.flag(key, whole(told[1]))
    kind = re.search(r"KvCacheType:(\w+)", text)
    if kind and kind[1] != "NumThreads":
        run.say("kv_cache", CACHES.get(kind[1], kind[1]))


def _model(run: Run, found: re.Match[str]) -> None:
    run.state.setdefault("general", found[2].strip())
    if re.fullmatch(r"[A-Z]+\d\w*", found[1]):
        run.say("weights", f"gguf-{found[1].lower()}")


def _card(run: Run, found: re.Match[str]) -> None:
    devices = run.state.setdefault("devices", [])
    if found[1] not in [id for id, _ in devices]:
        devices.append((found[1], found[2].strip()))
    run.state["ollama"] = True


OLLAMA_STEPS = (
    step(rf'msg="(model weights|kv cache|compute graph)" device=(\S+) size="{SIZE}"', _held, 'msg="'),
    step(r"KvSize:(\d+)", _request),
    step(r'architecture=\S+ file_type=(\S+) name="([^"]*)"', _model, " file_type="),
    step(
        r'msg="inference compute" id=(\S+) .{0,400}?(?:name|description)="((?:NVIDIA|AMD|Radeon|Apple|Intel)[^"]*)"',
        _card,
        'msg="inference compute"',
    ),
)
