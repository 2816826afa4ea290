"""A measured start-up of a serving engine as a Deployment, and what memory says of it."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.memory import ServingMemory
from cabida.memory.budget import visible
from cabida.memory.engines import named_engine, rules, stands_in
from cabida.memory.lens import PLAIN
from cabida.plan import Deployment, Parallel, Settings
from cabida.text import tr
from cabida.truth.beside_case import (
    adapters_of,
    draft_of,
    partition_of,
    pinned,
    told_format,
    unsaid,
    weights_told,
)
from cabida.truth.lengths import SHORT_TOKENS, benched, prefilled, prompted, talked, whole_flag
from cabida.truth.names import (
    Unanswerable,
    accelerator_of,
    known_model,
    reading,
    stated_format,
)
from cabida.units import BYTES_PER_GB, BYTES_PER_GIB

GIB = float(BYTES_PER_GIB)
STAND_IN = "a100-sxm-80"
FREE_OF_CARD = ("weights_gib_per_gpu", "weights_gib_total", "kv_needed_gib", "activation_peak_gib")
NOT_STATED = "not stated"
OF_THE_POOL = ("kv_cache", "max_concurrency", "peak")  # what follows from the size of the cache
FREE_OF_OTHERS = ("activation_peak_gib",)
FREE_OF_WEIGHTS = ("kv_needed_gib", "activation_peak_gib")
SAME_EVERYWHERE = ("weights_", "kv_needed")
# assumed: SGLang prints what became less free (model_runner.py: before less after loading), so kernels and half-filled
# allocator blocks, of 2 and 20 MiB, count with the weights, as much as seven of the larger
LOADED_BESIDE_GIB = 0.14
WHOLE_GB = "rounded, decimal or binary not stated"  # tables in whole GB count in thousands
ALLOCATED = ("max_memory_allocated", "script divides bytes")  # instruments that don't see a process's context
DEALS_LAYERS = ("transformers", "AutoAWQ")  # several cards hold whole layers each (device_map)
V1_SINCE = "2025-03"
EXACT_RATIO = 1.015  # how far the cache of layers all alike may be off: rounding to blocks
LAYOUT_RATIO = 1.1  # how far the layout of mixed attention may be off, either way
LEAST_SHARE = 0.01  # a pool that may be nothing at all has this for its low end
# of what start-ups leave open, as shares of the card (of the weights): set by hand so that nine pools of ten lie inside
PLAIN_WEIGHTS_RATIO = 0.015  # weights in 16 bit, beside what their format says
QUANTISED_WEIGHTS_RATIO = 0.04  # formats keep other matrices in 16 bit than their name says
UNSHOWN_FLAGS_RATIO = 0.015  # flags that an excerpt leaves out
UNSTATED_SHARE_RATIO = 0.035  # a share of memory nobody states is the default or a few per cent off
UNPRINTED_TOTAL_RATIO = 0.012  # cards of one name differ by about 1 % in the total they print (ECC, driver)
UNIFIED_OTHERS_RATIO = 0.1  # of unified memory the system and others take their part
OTHER_CAUSES = ("other process", " bug")
MACHINE_COUNT = 8  # a tensor split seldom leaves the machine; stages do


def memory_figures(row: dict[str, Any]) -> tuple[dict[str, float], str | None]:
    """Predicted figures by metric, in GiB or tokens, and the verdict (``None`` when the row says too little for one).

    Without a stated context length a refusal would be about a default that the log may not have used.

    Raises:
        Unanswerable: something needed isn't stated or known.
    """
    if row.get("engine", NOT_STATED) == NOT_STATED:
        why = tr("truth.why.engine")
        raise Unanswerable(why)
    if not named_engine(row["engine"]):
        why = tr("truth.why.unknown_engine", engine=row["engine"])
        raise Unanswerable(why)
    d = deployment_of(row)
    m = memory.serving(d)
    count = d.parallel.accelerators_count
    figures: dict[str, Any] = dict(_common(row, m, count))
    beside = unsaid(row, d.model)
    pooled = m.cache_is_pool
    if "llama.cpp" in row["engine"] and not row.get("kv_cache"):
        figures = {name: value for name, value in figures.items() if name.startswith("weights_")}
        if not any(name in row["measured"] for name in figures):
            why = tr("truth.why.cache_format")
            raise Unanswerable(why)
    if pooled and not beside:
        figures |= _pool(row, d, m)
    if pooled and not (card_is_certain(row) and split_is_stated(row, d)):
        figures = {name: value for name, value in figures.items() if name in FREE_OF_CARD}
    if beside:
        figures = {name: value for name, value in figures.items() if name in FREE_OF_OTHERS}
    if pinned(row):
        figures = {name: value for name, value in figures.items() if not name.startswith(OF_THE_POOL)}
    if not weights_told(row):
        figures = {name: value for name, value in figures.items() if _free_of_weights(name, pooled=pooled)}
    other = stands_in(row["engine"])
    if other:  # another engine's overheads: what the model and the cache ask for is all that is the same
        figures = {name: value for name, value in figures.items() if name.startswith(SAME_EVERYWHERE)}
    inferred = bool(row.get("inferred_architecture"))
    kept = {
        name: value for name, value in figures.items() if not (inferred and name.startswith(("kv_", "max_")))
    }
    note = row.get("note", "")
    length = row.get("args", {}).get("max_model_len") or benched(note) or "model default" in note
    asked = length or m.kv_pool_bytes <= 0 or m.verdict == "fits"
    known = weights_told(row) and not beside and not pinned(row) and not other
    known = known and bool(row.get("kv_cache") or "llama.cpp" not in row["engine"])
    asked = asked and card_is_certain(row) and known and not failed_otherwise(row) and split_is_stated(row, d)
    positive = {name: value for name, value in kept.items() if _middle(value) > 0}
    if card_is_certain(row) and refused_at_start(row, m):
        return positive, "no"
    if not asked and not any(name in row["measured"] for name in positive):
        raise Unanswerable(beside or _why_silent(row))
    return positive, started(row, m) if asked else None


def started(row: dict[str, Any], m: ServingMemory) -> str:
    """The verdict. Where nobody says how many sequences were asked for, fewer blocks of state than vLLM's default
    leave it open: such a start-up is refused, unless the number was set.
    """
    lowered = m.recurrent_state_bytes > 0 and m.max_num_seqs == m.state_slots_count
    unsaid_number = not row.get("args", {}).get("max_num_seqs")
    return "tight" if lowered and unsaid_number and m.verdict == "fits" else m.verdict


def split_is_stated(row: dict[str, Any], d: Deployment) -> bool:
    """Whether we know how much of a unified memory the GPU has: AMD's is set in firmware or by the kernel."""
    unified = memory.is_unified(d.accelerator) and d.accelerator.vendor.lower() == "amd"
    return not unified or bool(row.get("gpu_memory_gib"))


def _middle(value: float | tuple[float, float, float]) -> float:
    return value[0] if isinstance(value, tuple) else value


def _why_silent(row: dict[str, Any]) -> str:
    """Why a row that was read has nothing we can set a prediction against."""
    if not weights_told(row):
        return (
            tr("truth.why.format", format=row["weights"]) if row.get("weights") else tr("truth.why.no_format")
        )
    if not card_is_certain(row):
        return tr("truth.why.accelerator")
    return tr("truth.why.context") if row["measured"].get("fits") is False else tr("truth.why.no_figure")


def _free_of_weights(name: str, *, pooled: bool) -> bool:
    """Whether a figure can be told without the weights: what a run asks for, or a cache allocated as asked."""
    return name in FREE_OF_WEIGHTS or (not pooled and name.startswith(("kv_cache", "recurrent")))


def failed_otherwise(row: dict[str, Any]) -> bool:
    """Whether a refusal had a cause that isn't the size of what was asked: an engine's bug, other processes."""
    note = row.get("note", "").lower()
    told = any(word in note for word in OTHER_CAUSES)
    return told and not row["measured"].get("fits") and "free_gib_at_start" not in row["measured"]


def refused_at_start(row: dict[str, Any], m: ServingMemory) -> bool:
    """VLLM's check at the start: its whole budget must be free, whoever holds the rest."""
    free = row["measured"].get("free_gib_at_start")
    if not isinstance(free, (int, float)) or free <= 0:
        return False
    return row["engine"].startswith("vllm") and free * GIB < m.budget_bytes


def _common(row: dict[str, Any], m: ServingMemory, count: int) -> dict[str, float]:
    cache = m.parts["kv_cache"]
    peak, whole = m.peak_bytes, m.peak_bytes * count
    unit = float(BYTES_PER_GB) if WHOLE_GB in row.get("unit_as_printed", "") else GIB
    if any(word in f"{row.get('unit_as_printed', '')} {row.get('note', '')}" for word in ALLOCATED):
        peak, whole = peak - m.non_torch_bytes, whole - m.non_torch_bytes * count
    if "sum of printed buffers" in row.get("note", ""):  # without what the process itself holds
        peak -= m.non_torch_bytes
        buffers = count if m.buffer_per_accelerator else 1
        whole = m.weights_total_bytes + m.kv_cache_total_bytes + m.activation_bytes * buffers
    return {
        "weights_gib_per_gpu": m.weights_bytes / GIB + _loaded_beside(row),
        "weights_gib_total": m.weights_total_bytes / GIB,
        "kv_cache_gib_per_gpu": cache / GIB,
        "kv_cache_gib_total": m.kv_cache_total_bytes / GIB,
        "activation_peak_gib": m.activation_bytes / GIB,
        "peak_gib_per_gpu": peak / unit,
        "peak_gib_total": whole / unit,
        "recurrent_state_gib": m.recurrent_state_bytes * m.max_num_seqs / GIB,
    }


def _loaded_beside(row: dict[str, Any]) -> float:
    return LOADED_BESIDE_GIB if row["engine"].startswith("sglang") else 0.0


def _pool(row: dict[str, Any], d: Deployment, m: ServingMemory) -> dict[str, Any]:
    mixed = m.window_bytes_per_token > 0 or m.recurrent_state_bytes > 0
    wide = LAYOUT_RATIO if mixed else EXACT_RATIO
    needed = m.required_kv_bytes / GIB
    stated = 1.0 if row.get("kv_cache") else 2.0  # 8 bit, when the excerpt doesn't show the flag
    figures: dict[str, Any] = {}
    if not failed_otherwise(row):
        figures["kv_needed_gib"] = (needed, needed / wide / stated, needed * wide)
    length = row.get("args", {}).get("max_model_len")
    if m.kv_pool_bytes <= 0 or m.required_kv_bytes <= 0:
        return figures
    low, high = pool_range(row, d, m)
    figures["kv_cache_gib_per_gpu"] = (m.kv_pool_bytes / GIB, low / GIB, high / GIB)
    shares = (1.0, low / m.kv_pool_bytes / wide, high / m.kv_pool_bytes * wide)
    if not mixed or d.engine_version:  # vLLM counted blocks until 0.20, concurrency times context since
        figures["kv_cache_tokens"] = tuple(m.kv_pool_tokens * d.parallel.dp * share for share in shares)
    if length:
        figures["max_concurrency"] = tuple(m.kv_pool_bytes / m.required_kv_bytes * share for share in shares)
        figures["estimated_max_model_len"] = tuple(m.largest_context_tokens * share for share in shares)
    return figures


def pool_range(row: dict[str, Any], d: Deployment, m: ServingMemory) -> tuple[float, float]:
    """90 % interval of the pool, bytes: of what the engine takes besides, and of what the row doesn't say.

    The ``_RATIO`` constants say how much each is worth. Checked with whole sources left out: calibration/memory.py.
    """
    below, above = (abs(end - m.kv_pool_bytes) for end in memory.serving_tree(d)["kv_pool_bytes"].interval)
    args, visible = row.get("args", {}), m.usable_bytes
    shared = args.get("gpu_memory_utilization") or args.get("mem_fraction_static")
    doubts = [
        UNSHOWN_FLAGS_RATIO * visible,
        m.weights_bytes * (PLAIN_WEIGHTS_RATIO if d.weights.family == "bf16" else QUANTISED_WEIGHTS_RATIO),
        0.0 if shared else UNSTATED_SHARE_RATIO * visible,
        0.0 if row.get("gpu_memory_gib") else UNPRINTED_TOTAL_RATIO * visible,
    ]
    unified = UNIFIED_OTHERS_RATIO * visible if memory.is_unified(d.accelerator) else 0.0
    low = m.kv_pool_bytes - math.hypot(below, *doubts, unified)
    return max(low, m.kv_pool_bytes * LEAST_SHARE), m.kv_pool_bytes + math.hypot(above, *doubts)


@reading
def deployment_of(row: dict[str, Any]) -> Deployment:
    """The deployment an inference case describes."""
    args = row.get("args", {})
    accelerator = card_of(row)
    engine = row["engine"]
    cache = stated_format(row.get("kv_cache") or "") or facts.weight_format("bf16")
    note = row.get("note", "")
    length = whole_flag(args, "max_model_len") or benched(note)
    if not length and rules(engine).budget == "asked":  # a pool isn't sized by what was said to it
        length = talked(args, note)
    prompt = prefilled(note) if engine == "AutoAWQ" else None
    length = prompt or length  # its fused cache is as long as the prompt
    short = (
        SHORT_TOKENS * (whole_flag(args, "max_num_seqs") or 1)
        if "generate" in note and not prompted(args)
        else None
    )
    share = args.get("gpu_memory_utilization") or args.get("mem_fraction_static")
    count, tp, pp = row["gpus"], row.get("tp") or 0, row.get("pp") or 1
    dp = row.get("dp") or args.get("dp") or 1
    if not tp:
        tp = max(1, count // (pp * dp))
        if engine in DEALS_LAYERS:
            tp, pp = 1, tp * pp
        if tp > MACHINE_COUNT and not row.get("pp"):
            tp, pp = MACHINE_COUNT, tp // MACHINE_COUNT
    model = model_of(row)
    draft, speculated = draft_of(row, model)
    slots, rank = adapters_of(row)
    return Deployment(
        model=model,
        accelerator=accelerator,
        parallel=Parallel(tp=tp, pp=pp, dp=dp, ep=row.get("ep") or _experts(args, count)),
        weights=told_format(row) or format_of(row, model),
        kv_cache=cache,
        engine=engine,
        engine_version=row.get("engine_version") or _dated(row),
        settings=Settings(
            max_model_len=length,
            max_num_seqs=whole_flag(args, "max_num_seqs", "max_running_requests"),
            max_num_batched_tokens=whole_flag(
                args, "max_num_batched_tokens", "n_batch", "chunked_prefill_size"
            )
            or short
            or (prompt and prompt * (whole_flag(args, "max_num_seqs") or 1)),
            gpu_memory_utilization=float(share) if share else None,
            enforce_eager=bool(args.get("enforce_eager")),
            desktop="desktop" in note,
            draft_tokens=speculated,
            lora_slots=slots,
            lora_rank=rank,
            layer_partition=partition_of(row),
            language_model_only=args.get("limit_mm_per_prompt") == 0,
            skip_mm_profiling=bool(args.get("skip_mm_profiling")),
            cpu_offload_bytes=float(args.get("cpu_offload_gb") or 0) * GIB,
            decode_context_parallel_size=whole_flag(args, "decode_context_parallel_size", "dcp") or 1,
        ),
        node=facts.node_for(accelerator),
        draft=draft,
    )


def _experts(args: dict[str, Any], count: int) -> int:
    return count if args.get("enable_expert_parallel") else 1


def _dated(row: dict[str, Any]) -> str:
    """The month a log is from, where it prints no version; only vLLM's V0 prints its blocks, or the four parts of
    its budget without the graphs.

    Of Transformers, what its notes say of cache and logits tells the version.
    """
    found = re.search(r"20\d\d-\d\d", row["source"])
    dated = found.group(0) if found else ""
    measured = row["measured"]
    parts = {"non_torch_gib", "activation_peak_gib"} <= measured.keys() and "cuda_graph_gib" not in measured
    if "num_gpu_blocks" in measured or (parts and row["engine"].startswith("vllm")):
        return dated if dated and dated < V1_SINCE else "0.7.3"
    if row["engine"] == "transformers":
        note = row.get("note", "")
        own = row["source"].startswith("QwenLM/Qwen ")  # its own code keeps tuples
        return "4.30" if own else "4.40" if "full logits at prefill" in note else ""
    return dated if row["engine"].startswith(("vllm", "sglang")) else ""


def card_is_certain(row: dict[str, Any]) -> bool:
    """Whether a row says what it ran on, by name or by memory."""
    return bool(row.get("gpu") or row.get("gpu_memory_gib"))


def card_of(row: dict[str, Any]) -> Accelerator:
    """The named accelerator with the memory its log prints; with memory alone, one that has just that much.

    With neither, a large one stands in: weights and what a run asks for don't depend on the card.

    Raises:
        Unanswerable: neither is stated, and the source itself is only good for ratios.
    """
    printed = row.get("gpu_memory_gib")
    if not card_is_certain(row):
        if row.get("quality") == "C":
            why = tr("truth.why.ratios")
            raise Unanswerable(why)
        return facts.accelerator(STAND_IN)
    if not printed:
        return accelerator_of(row)
    card = accelerator_of(row) if row.get("gpu") else _nearest(printed * GIB)
    reserve = card.usable_bytes - visible(card, PLAIN)  # logs print what a process sees
    return replace(card, usable_bytes=printed * GIB + reserve)


def _nearest(seen_bytes: float) -> Accelerator:
    """The NVIDIA card of which a process sees most nearly this much."""
    cards = [card for card in facts.accelerators().values() if card.vendor == "NVIDIA"]
    return min(cards, key=lambda card: abs(visible(card, PLAIN) - seen_bytes))


def model_of(row: dict[str, Any]) -> Model:
    """The model whose architecture answers the row.

    Raises:
        Unanswerable: we have no record of it.
    """
    for name in (row["model"], row.get("arch")):
        found = known_model(name) if name else None
        if found is not None and found.attention:
            return found
    why = tr("truth.why.architecture", model=row["model"])
    raise Unanswerable(why)


def format_of(row: dict[str, Any], published: Model | None = None) -> WeightFormat:
    """The weight format a row states; the one ``published``, to go on with, where it says it doesn't know.

    Raises:
        Unanswerable: it states none that we know.
    """
    found = stated_format(row.get("weights") or "")
    if found is None and published is not None:
        return stated_format(published.native_format) or facts.weight_format("bf16")
    if found is None:
        why = (
            tr("truth.why.format", format=row["weights"]) if row.get("weights") else tr("truth.why.no_format")
        )
        raise Unanswerable(why)
    return found
