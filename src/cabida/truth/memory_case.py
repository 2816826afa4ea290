"""A measured memory case as a Deployment or a TrainingRun, and what memory says of it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cabida import facts, memory
from cabida.facts.model import Accelerator, Model, WeightFormat
from cabida.memory import ServingMemory
from cabida.plan import Deployment, Parallel, Settings, TrainingRun
from cabida.truth.beside_case import (
    adapters_of,
    draft_of,
    partition_of,
    told_format,
    unsaid,
    weights_told,
)
from cabida.truth.habits import as_scripted
from cabida.truth.names import (
    Unanswerable,
    accelerator_of,
    known_model,
    reading,
    recompute_of,
    sharding_of,
    stated_format,
)
from cabida.truth.training_case import METHODS, counted_bytes, likely_split
from cabida.units import BYTES_PER_GIB

GIB = float(BYTES_PER_GIB)
DRIVER_GIB = 0.46  # what the driver shows beyond what a process sees as total, on NVIDIA cards
STAND_IN = "a100-sxm-80"
SHORT_TOKENS = 128  # a prompt and fifty new tokens
FREE_OF_CARD = ("weights_gib_per_gpu", "weights_gib_total", "kv_needed_gib", "activation_peak_gib")
FREE_OF_OTHERS = ("activation_peak_gib",)
FREE_OF_WEIGHTS = ("kv_needed_gib", "activation_peak_gib")
LOADED_BESIDE_GIB = (
    0.14  # SGLang prints what became less free: kernels and allocator blocks come with the weights
)
OTHER_CAUSES = ("other process", " bug")
MACHINE_COUNT = 8  # a tensor split seldom leaves the machine; stages do
KEEPS_MASTER = ("zero", "distributed optimizer", "megatron")  # shardings whose optimizers keep fp32 weights
POOLED = ("vllm", "sglang", "tensorrt-llm", "lmdeploy")  # engines that give the cache all that is left


def memory_figures(row: dict[str, Any]) -> tuple[dict[str, float], str | None]:
    """Predicted figures by metric, in GiB or tokens, and the verdict (``None`` when the row says too little for one).

    Without a stated context length a refusal would be about a default that the log may not have used.

    Raises:
        Unanswerable: something needed isn't stated or known.
    """
    return _serving(row) if row.get("task", "inference") == "inference" else _training(row)


def _serving(row: dict[str, Any]) -> tuple[dict[str, float], str | None]:
    d = deployment_of(row)
    m = memory.serving(d)
    count = d.parallel.accelerators_count
    figures = _common(row, m, count)
    beside = unsaid(row, d.model)
    if "llama.cpp" in row["engine"] and not row.get("kv_cache"):
        why = "cache format not stated"
        raise Unanswerable(why)
    pooled = any(word in row["engine"].lower() for word in POOLED)
    if pooled and not beside:
        figures |= _pool(row, d, m)
    if pooled and not card_is_certain(row):
        figures = {name: value for name, value in figures.items() if name in FREE_OF_CARD}
    if beside:
        figures = {name: value for name, value in figures.items() if name in FREE_OF_OTHERS}
    if not weights_told(row):
        figures = {name: value for name, value in figures.items() if _free_of_weights(name, pooled=pooled)}
    inferred = bool(row.get("inferred_architecture"))
    kept = {
        name: value for name, value in figures.items() if not (inferred and name.startswith(("kv_", "max_")))
    }
    length = row.get("args", {}).get("max_model_len") or benched(row.get("note", ""))
    asked = length or m.kv_pool_bytes <= 0 or m.verdict == "fits"
    known = weights_told(row) and not beside
    asked = asked and card_is_certain(row) and known and not failed_otherwise(row)
    positive = {name: value for name, value in kept.items() if value > 0}
    if card_is_certain(row) and refused_at_start(row, m):
        return positive, "no"
    if not asked and not any(name in row["measured"] for name in positive):
        raise Unanswerable(beside or _why_silent(row))
    return positive, m.verdict if asked else None


def _why_silent(row: dict[str, Any]) -> str:
    """Why a row that was read has nothing we can set a prediction against."""
    if not weights_told(row):
        return f"weight format {row.get('weights') or 'not stated'}"
    if not card_is_certain(row):
        return "accelerator not certain"
    return (
        "context length not stated" if row["measured"].get("fits") is False else "no figure that we predict"
    )


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
    return bool(free) and row["engine"].startswith("vllm") and free * GIB < m.budget_bytes


def _common(row: dict[str, Any], m: ServingMemory, count: int) -> dict[str, float]:
    cache = m.parts["kv_cache"]
    return {
        "weights_gib_per_gpu": m.weights_bytes / GIB + _loaded_beside(row),
        "weights_gib_total": m.weights_total_bytes / GIB,
        "kv_cache_gib_per_gpu": cache / GIB,
        "kv_cache_gib_total": cache * count / GIB,
        "activation_peak_gib": m.activation_bytes / GIB,
        "peak_gib_per_gpu": m.peak_bytes / GIB,
        "peak_gib_total": m.peak_bytes * count / GIB,
        "recurrent_state_gib": m.recurrent_state_bytes * m.max_num_seqs / GIB,
    }


def _loaded_beside(row: dict[str, Any]) -> float:
    return LOADED_BESIDE_GIB if row["engine"].startswith("sglang") else 0.0


def _pool(row: dict[str, Any], d: Deployment, m: ServingMemory) -> dict[str, float]:
    figures = {
        "kv_cache_tokens": m.kv_pool_tokens * d.parallel.dp,
        "kv_needed_gib": m.required_kv_bytes / GIB,
    }
    length = row.get("args", {}).get("max_model_len")
    if length:
        figures["max_concurrency"] = m.kv_pool_tokens / length
        figures["estimated_max_model_len"] = m.largest_context_tokens
    return figures


@reading
def deployment_of(row: dict[str, Any]) -> Deployment:
    """The deployment an inference case describes."""
    args = row.get("args", {})
    accelerator = card_of(row)
    engine = row["engine"]
    cache = stated_format(row.get("kv_cache") or "") or facts.weight_format("bf16")
    note = row.get("note", "")
    length = (
        _whole(args, "max_model_len") or benched(note) or (SHORT_TOKENS if "short context" in note else None)
    )
    short = (
        SHORT_TOKENS * (_whole(args, "max_num_seqs") or 1)
        if "generate" in note and not _prompt(args)
        else None
    )
    share = args.get("gpu_memory_utilization") or args.get("mem_fraction_static")
    count, tp, pp = row["gpus"], row.get("tp") or 0, row.get("pp") or 1
    dp = args.get("dp") or 1
    if not tp:
        tp = max(1, count // (pp * dp))
        if tp > MACHINE_COUNT and not row.get("pp"):
            tp, pp = MACHINE_COUNT, tp // MACHINE_COUNT
    model = model_of(row)
    draft, speculated = draft_of(row, model)
    slots, rank = adapters_of(row)
    return Deployment(
        model=model,
        accelerator=accelerator,
        parallel=Parallel(tp=tp, pp=pp, dp=dp, ep=count if args.get("enable_expert_parallel") else 1),
        weights=told_format(row) or format_of(row, model),
        kv_cache=cache,
        engine=engine,
        engine_version=row.get("engine_version") or _dated(row),
        settings=Settings(
            max_model_len=length,
            max_num_seqs=_whole(args, "max_num_seqs", "max_running_requests"),
            max_num_batched_tokens=_whole(args, "max_num_batched_tokens", "n_batch") or short,
            gpu_memory_utilization=float(share) if share else None,
            enforce_eager=bool(args.get("enforce_eager")),
            desktop="desktop" in note,
            draft_tokens=speculated,
            lora_slots=slots,
            lora_rank=rank,
            layer_partition=partition_of(row),
        ),
        node=facts.node_for(accelerator),
        draft=draft,
    )


def benched(note: str) -> int | None:
    """The longest test of a llama-bench command that a note quotes: it allocates that much context."""
    if "llama-bench" not in note:
        return None
    listed = re.findall(r"\s-(?:p|n)\s+([\d,]+)", note)
    return max((int(one) for part in listed for one in part.split(",") if one), default=None)


def _prompt(args: dict[str, Any]) -> bool:
    """Whether a row says how long its prompts are."""
    return "input_length" in args


def _whole(args: dict[str, Any], *names: str) -> int | None:
    """The first of these flags that is given."""
    return next((int(args[name]) for name in names if args.get(name)), None)


def _dated(row: dict[str, Any]) -> str:
    """The month a log is from, where it prints no version; only vLLM up to 0.8 prints its blocks.

    Of Transformers, what its notes say of cache and logits tells the version.
    """
    if "num_gpu_blocks" in row["measured"]:
        return "0.7"
    if row["engine"] == "transformers":
        note = row.get("note", "")
        own = row["source"].startswith("QwenLM/Qwen ")  # its own code keeps tuples
        return "4.30" if own else "4.40" if "full logits at prefill" in note else ""
    found = re.search(r"20\d\d-\d\d", row["source"])
    return found.group(0) if found and row["engine"].startswith("vllm") else ""


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
            why = "accelerator not certain, and only good for ratios"
            raise Unanswerable(why)
        return facts.accelerator(STAND_IN)
    if not printed:
        found: Accelerator = accelerator_of(row)
        return found
    usable = (printed + DRIVER_GIB) * GIB
    if row.get("gpu"):
        found = accelerator_of(row)
        return replace(found, usable_bytes=usable)
    cards = [card for card in facts.accelerators().values() if card.vendor == "NVIDIA"]
    nearest = min(cards, key=lambda card: abs(card.usable_bytes - usable))
    return replace(nearest, usable_bytes=usable)


def model_of(row: dict[str, Any]) -> Model:
    """The model whose architecture answers the row.

    Raises:
        Unanswerable: we have no record of it.
    """
    for name in (row["model"], row.get("arch")):
        found = known_model(name) if name else None
        if found is not None and found.attention and found.mlp:
            return found
    why = f"architecture of {row['model']} not known"
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
        why = f"weight format {row.get('weights') or 'not stated'}"
        raise Unanswerable(why)
    return found


def _training(row: dict[str, Any]) -> tuple[dict[str, float], str | None]:
    run = training_run_of(row)
    m = memory.training(run)
    size = counted_bytes(row, m)
    count = run.accelerators_count
    verdict = m.verdict if card_is_certain(row) else None
    return {"peak_gib_per_gpu": size / GIB, "peak_gib_total": size * count / GIB}, verdict


@reading
def training_run_of(row: dict[str, Any]) -> TrainingRun:
    """The training run a finetune or train row describes."""
    setup = row.get("training", {})
    method = {**METHODS, "full": "full", "adapter": None}.get(setup.get("method", ""))
    if method is None:
        why = f"method {setup.get('method', 'not stated')}"
        raise Unanswerable(why)
    if not setup.get("seq_len"):
        why = "sequence length not stated"
        raise Unanswerable(why)
    model = model_of(row)
    if model.extra_params_count and model.task == "vlm":
        why = "images of a vision model not stated"
        raise Unanswerable(why)
    precision = str(setup.get("precision") or row.get("weights") or "")
    sharding = str(setup.get("sharding") or "").lower()
    mixed = (
        "fp32 master" in precision or "mixed" in precision or any(word in sharding for word in KEEPS_MASTER)
    )
    kept32 = method == "lora" and "mixed" in precision  # frozen weights stay in 32 bit
    said = setup.get("grad_checkpointing", row["engine"].startswith("ms-swift"))
    batch = int(setup.get("micro_batch") or 1)
    if row["engine"] == "torchtitan":
        said = "selective" if said in (None, False) else said  # its default
        stages = row.get("pp") or 1
        batch = max(1, batch // (4 * stages)) if stages > 1 else batch  # split by the pipeline
    accelerator = card_of(row)
    run = TrainingRun(
        model=model,
        accelerator=accelerator,
        accelerators_count=row["gpus"],
        method=method,
        precision="fp32" if precision.startswith("32") else "bf16",
        weights=format_of(row) if method == "qlora" else facts.weight_format("fp32" if kept32 else "bf16"),
        optimizer=optimizer_of(str(setup.get("optimizer") or "")),
        sharding=sharding_of(sharding, row["gpus"]),
        seq_tokens=int(setup["seq_len"]),
        micro_batch_count=batch,
        global_batch_count=batch * row["gpus"],
        tp=row.get("tp") or 1,
        pp=row.get("pp") or 1,
        cp=row.get("cp") or 1,
        ep=row.get("ep") or 1,
        recompute=recompute_of(said),
        master_weights=mixed,
        lora_rank=int(setup.get("lora_rank") or 8),
        lora_targets=targets_of(row),
        offload=offload_of(str(setup.get("offload") or "")),
        framework=row["engine"],
        node=facts.node_for(accelerator),
    )
    if "megatron" in f"{sharding} {row['engine']}".lower() and not row.get("tp") and not row.get("pp"):
        run = likely_split(run, None)
    return as_scripted(run, row)


def targets_of(row: dict[str, Any]) -> str:
    """Which matrices have adapters; every one unless the row names some of attention's only."""
    named = row.get("args", {}).get("target_modules") or row.get("training", {}).get("lora_targets") or ""
    words = named if isinstance(named, list) else named.split(",")
    plain = {word.strip().removesuffix("_proj") for word in words} - {""}
    return "attention" if plain and plain <= {"q", "k", "v", "o", "query", "key", "value", "qkv"} else "all"


def offload_of(text: str) -> str:
    """What is kept in host memory, as printed."""
    if "param" in text:
        return "all"
    return "optimizer" if "optimizer" in text else "all" if text else "none"


def optimizer_of(text: str) -> str:
    """An optimizer as a log prints it, under our name."""
    lowered = text.lower()
    if "8bit" in lowered or "8-bit" in lowered:
        return "adamw-paged-8bit" if "paged" in lowered else "adamw-8bit"
    for word in ("adafactor", "muon", "sgd"):
        if word in lowered:
            return word
    return "adamw"
