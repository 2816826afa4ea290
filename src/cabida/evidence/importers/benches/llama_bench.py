"""What ``llama-bench`` prints with ``-o json``, ``jsonl``, ``csv`` and ``md``.

Fields from ``tools/llama-bench/llama-bench.cpp`` of llama.cpp (build 11549 and the printers before it). A test reads a
prompt (``pp``), writes (``tg``) or does both (``pg``), one sequence alone; ``avg_ts`` is tokens per second over the
repetitions. Writing starts behind ``n_depth`` tokens of context.
"""

from __future__ import annotations

import math
import re
from typing import Any

from cabida.evidence.importers.benches.opening import CSV, MARKDOWN, Opened
from cabida.evidence.importers.benches.pages import Page, number_of
from cabida.evidence.importers.benches.result import Result, day_in
from cabida.evidence.importers.ollama import CACHES
from cabida.evidence.importers.said import weights_named

NAME = "llama-bench"
SIGNS = ('"build_commit"', '"avg_ts"')
FLAGS = ("n_batch", "n_ubatch", "n_gpu_layers", "flash_attn", "split_mode")
KNOWN = (
    "build_commit", "cpu_info", "backends", "model_size", "model_n_params", "cpu_mask", "cpu_strict", "poll",
    "main_gpu", "no_kv_offload", "devices", "tensor_split", "tensor_buft_overrides", "use_mmap", "use_direct_io",
    "embeddings", "no_op_offload", "no_host", "n_cpu_moe", "n_threads", "avg_ns", "stddev_ns", "stddev_ts",
    "samples_ns", "samples_ts", "cuda", "vulkan", "opencl", "kompute", "metal", "sycl", "rpc", "gpu_blas", "blas",
    "f16_kv", "mul_mat_q", "numa", "fit_target", "fit_min_ctx", "offload_kqv",
)  # fmt: skip
SPLIT = re.compile(r"(-\d{5}-of-\d{5})?\.gguf$")
TEST = re.compile(r"(?:pp(?P<read>\d+))?\+?(?:tg(?P<wrote>\d+))?(?: @ d(?P<depth>\d+))?")
BUILD = re.compile(r"^build: [0-9a-f]+ \((\d+)\)", re.MULTILINE)
SIZES = {"Small": "_s", "Medium": "_m", "Large": "_l"}


def known(found: Opened) -> bool:
    """Whether a file is one of its tables."""
    if found.kind == MARKDOWN:
        return True
    keys = set(found.rows[0]) if found.kind == CSV and found.rows else found.first.keys()
    return {"build_commit", "avg_ts", "n_prompt", "n_gen"} <= keys


def read(found: Opened) -> list[Result]:
    """One result a test."""
    if found.kind == MARKDOWN:
        return _of_markdown(found.text)
    if found.kind == CSV:
        head = found.rows[0]
        tables = [
            (line, dict(zip(head, row, strict=False)))
            for line, row in enumerate(found.rows[1:], 2)
            if len(row) == len(head)
        ]
    else:
        tables = list(found.tables())
    return [_one(Page(table, line=line)) for line, table in tables]


def _one(page: Page) -> Result:
    one = Result("llama-bench", page, mode="single", date=day_in(page.words("test_time")))
    one.say("engine", "llama.cpp")
    build = page.whole("build_number")
    one.say("engine_version", f"b{build}" if build else "")
    file = SPLIT.sub("", page.words("model_filename").replace("\\", "/").rpartition("/")[2])
    kind = page.words("model_type")
    one.say("model", file or kind)
    one.say("weights", _format(kind) or weights_named(file))
    keys, values = page.words("type_k"), page.words("type_v")
    if keys and keys == values:
        one.say("kv_cache", CACHES.get(keys, keys))
    elif keys:
        one.note("two_types", keys=keys, values=values)
    one.setup["args"] = {name: value for name in FLAGS if (value := _flag(page.value(name))) is not None}
    _cards(one, page.words("gpu_info"), page.number("n_gpu_layers"))
    _test(one, page.number("n_prompt"), page.number("n_gen"), page.number("n_depth"), page.number("avg_ts"))
    page.passed(*KNOWN, "test")
    return one


def _flag(value: Any) -> bool | int | float | str | None:
    """A setting as JSON or CSV has it; ``None`` when it isn't given."""
    number = number_of(value)
    if number is not None and not math.isfinite(number):
        return None
    if number is not None:
        return int(number) if number.is_integer() else number
    return value if isinstance(value, bool) or (isinstance(value, str) and 0 < len(value) <= 64) else None


def _cards(one: Result, text: str, layers: float | None) -> None:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if names and layers != 0:
        one.setup["gpus"] = len(names)
        if len(set(names)) == 1:
            one.setup["gpu_raw"] = names[0]
        else:
            one.note("devices", names=", ".join(names))
    elif layers == 0:
        one.note("on_processor")


def _test(
    one: Result, read_: float | None, wrote: float | None, depth: float | None, rate: float | None
) -> None:
    one.load["concurrency"] = 1
    one.asked("input_tokens", (read_ or 0.0) + (depth or 0.0))
    one.asked("output_tokens", wrote)
    if wrote and read_:
        one.put("total_tok_s", rate)
    elif wrote:
        one.put("decode_tok_s", rate)
    elif not read_:
        return  # what it did is not said
    elif not depth:
        one.put("prefill_tok_s", rate)
    else:  # reading behind a context already read: no reading of a prompt
        one.put("prefill_behind_context_tok_s", rate)


def _format(kind: str) -> str:
    """``llama 8B Q4_K - Medium`` is gguf-q4_k_m; ``qwen2 7B F16`` fp16."""
    head, _, grade = kind.partition(" - ")
    short = head.split(" ")[-1].lower() if head else ""
    if short in CACHES:
        return CACHES[short]
    size = SIZES.get(grade.split(" ")[0], "") if short.endswith("_k") else ""
    return f"gguf-{short}{size}" if re.fullmatch(r"(?:i?q|tq|mxfp)\d\w*", short) else ""


def _of_markdown(text: str) -> list[Result]:
    made: list[Result] = []
    heads: list[str] = []
    build = BUILD.search(text)
    for line, row in enumerate(text.splitlines(), 1):
        if not row.startswith("|"):
            continue
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        if "t/s" in cells and cells[0] == "model":
            heads = cells
        elif heads and len(cells) == len(heads) and not set(row) <= set("|-: "):
            page = Page(dict(zip(heads, cells, strict=True)), line=line)
            if one := _row(page, build[1] if build else ""):
                made.append(one)
    return made


def _row(page: Page, build: str) -> Result | None:
    test = TEST.fullmatch(page.words("test"))
    if test is None or not (test["read"] or test["wrote"]):
        return None
    one = Result("llama-bench", page, mode="single")
    one.say("engine", "llama.cpp")
    one.say("engine_version", f"b{build}" if build else "")
    kind = page.words("model")
    one.say("model", kind)
    one.say("weights", _format(kind))
    layers = page.number("ngl", "n_gpu_layers")
    flags = {"n_gpu_layers": layers, "n_batch": page.number("n_batch"), "n_ubatch": page.number("n_ubatch"),
             "flash_attn": page.number("fa")}  # fmt: skip
    one.setup["args"] = {name: _flag(value) for name, value in flags.items() if value is not None}
    keys, values = page.words("type_k"), page.words("type_v")
    if keys and keys == values:
        one.say("kv_cache", CACHES.get(keys, keys))
    rate = number_of(page.words("t/s").split("±")[0])
    read_, wrote, depth = (number_of(test[name] or "") for name in ("read", "wrote", "depth"))
    _test(one, read_, wrote, depth, rate)
    page.passed("size", "params", "backend", "threads", "test", "t/s", "mmap", "sm", "mg", "dev", "devices")
    return one
