"""A measured training case as a TrainingRun."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cabida import facts, memory, timing
from cabida.facts.model import Accelerator, AttentionLayers, MlpLayers, Model, Node, WeightFormat
from cabida.memory import TrainingMemory
from cabida.plan import TrainingRun
from cabida.quantity import Source
from cabida.text import tr
from cabida.timing.runs.flops import flop_by_convention
from cabida.timing.runs.goodput import failure_facts
from cabida.timing.runs.training import spread_of
from cabida.timing.runs.training_device import peak_of
from cabida.truth.case import Figures
from cabida.truth.clip_case import as_pipeline, clip_tokens
from cabida.truth.habits import as_scripted
from cabida.truth.likely import likely_split, usual_batch
from cabida.truth.names import (
    Unanswerable,
    accelerator_of,
    known_model,
    leading_number,
    multiplying_type,
    reading,
    recompute_of,
    sharding_of,
    spellings,
)
from cabida.units import BYTES_PER_GB, BYTES_PER_GIB

METHODS = {"pretrain": "pretrain", "full_ft": "full", "lora": "lora", "qlora": "qlora", "adapter": "lora"}
LARGE_RUN_ACCELERATORS = 1024  # of model cards that print GPU-hours and no count
# MLPerf minutes count evaluations: 173 sequences forward only (half a step's work under adapters) after every 384,
# the first two left out. v4.0 and v4.1 logs that print both rates and minutes: 1.13 to 1.19 on 4 and 8 GPUs.
EVALUATION_RATIO = 1.15
FIXED_MINUTES = 0.4  # and a fixed part that shows on 512 GPUs and more
# how frameworks' own logs count a token's work: the whole attention matrix; recomputation in Megatron-DeepSpeed's
MFU_CONVENTIONS = (("megatron-deepspeed", "hardware"), ("megatron", "palm"), ("foundry", "palm"))
HIDDEN_PER_LAYER = 160  # GPT-3 175B 128, BLOOM 205, Llama 65B 102, OPT-175B 128, GLM-130B 176
DIFFUSED = ("image", "video")
ADAPTER_V1_MOST = 2e6  # weights of LitGPT's first adapter on models up to 13B
FOUR_BIT_SINCE = 5.1  # MLPerf round from which NVIDIA's submissions multiply in 4 bit (their descriptions)
# Alpaca: 47.8 MB of 52,002 examples hold every field twice, once inside a template of 160 letters: 540 letters a text
# (its data card), 4.3 letters a token
ALPACA_TOKENS = 125
ALPACA_TEMPLATE_TOKENS = 37
MLPERF_SEQ_TOKENS = {"llama2-70b": 8192, "gpt3-175b": 2048}


@reading
def training_run(row: dict[str, Any]) -> TrainingRun:
    """The run a case describes.

    Raises:
        Unanswerable: a needed figure isn't stated, or the model or accelerator isn't known.
    """
    accelerator = accelerator_of(row)
    if row["task"] not in METHODS:
        why = tr("truth.why.task", task=row["task"])
        raise Unanswerable(why)
    method = METHODS[row["task"]]
    if method == "lora" and "bnb" in row["precision"]:
        method = "qlora"
    model = known_model(row["model"]) or shaped_model(row)
    seq = (
        row.get("seq_len")
        or MLPERF_SEQ_TOKENS.get(row["model"])
        or _card_length(row)
        or _longest(row)
        or clip_tokens(row)
    )
    if not seq:
        why = tr("truth.why.sequence")
        raise Unanswerable(why)
    count = row.get("gpus") or (LARGE_RUN_ACCELERATORS if "tokens_trained_t" in row["measured"] else 0)
    if not count:
        why = tr("truth.why.count")
        raise Unanswerable(why)
    # TorchTitan recomputes by default and pipelines sequence by sequence.
    titan = "torchtitan" in (row.get("framework") or "").lower()
    run = TrainingRun(
        model=model,
        accelerator=accelerator,
        accelerators_count=count,
        method=method,
        precision=_precision(row, accelerator),
        weights=_frozen_format(row["precision"]) if method == "qlora" else facts.weight_format("bf16"),
        optimizer="adamw-8bit" if "8-bit" in str(row.get("sharding")) else "adamw",
        sharding=sharding_of(_sharding_words(row), row.get("gpus")),
        seq_tokens=int(seq),
        micro_batch_count=1 if titan and (row.get("pp") or 1) > 1 else int(row.get("micro_batch") or 1),
        global_batch_count=1,
        tp=row.get("tp") or 1,
        pp=row.get("pp") or 1,
        cp=row.get("cp") or 1,
        ep=row.get("ep") or 1,
        recompute=recompute_of(row.get("activation_checkpointing", _usual_recompute(row))),
        master_weights="bf16-true" not in row["precision"],
        lora_rank=int(row.get("lora_rank") or 8),
        framework=_framework(row),
        framework_version=_version(row),
        adapter=_adapter(row),
        edges_trained="(emb)" in row.get("note", ""),
        trained_params_count=_trained(row) if method in ("lora", "qlora") else None,
        node=_node(row, accelerator),
        virtual_stages_count=_virtual(row.get("note", "")),
    )
    batch = leading_number(row.get("global_batch"))
    if run.model.task in DIFFUSED:
        return as_pipeline(
            replace(run, global_batch_count=run.data_parallel_count * run.micro_batch_count), row
        )
    if not row.get("tp") and not row.get("pp"):
        run = likely_split(run, batch)
    return replace(run, global_batch_count=batch or usual_batch(run))


def _sharding_words(row: dict[str, Any]) -> str:
    """How the run is sharded, as printed: some sources say it where they say what is recomputed."""
    again = str(row.get("activation_checkpointing") or "")
    return str(row.get("sharding") or (again if "fsdp" in again.lower() else ""))


def _usual_recompute(row: dict[str, Any]) -> str | None:
    """What a framework recomputes unasked: TorchTitan some, Megatron everything before 2022 (arXiv 2205.05198)."""
    framework = (row.get("framework") or "").lower()
    if "torchtitan" in framework:
        return "selective"
    return "full" if "megatron-lm" in framework and re.search(r"\b20(19|20|21)\b", framework) else None


def shaped_model(row: dict[str, Any]) -> Model:
    """A plain decoder of the sizes a case prints, its feed-forward width set so that the count agrees.

    Raises:
        Unanswerable: the case prints neither hidden size nor parameters.
    """
    billions = row.get("params_b")
    hidden = row.get("hidden") or (_usual_hidden(billions) if billions else None)
    if not hidden or not billions or row.get("active_params_b"):
        why = tr("truth.why.architecture", model=row["model"])
        raise Unanswerable(why)
    vocab = next((size for word, size in spellings()["vocabularies"] if word in row["model"]), 51_200)
    body = billions * 1e9 - vocab * hidden
    layers = row.get("layers") or max(1, round(body / (12 * hidden * hidden)))
    heads = row.get("heads") or max(1, round(hidden / 128))
    kv_heads = row.get("kv_heads") or heads
    head_dim = hidden // heads
    attention = hidden * head_dim * 2 * (heads + kv_heads)
    width = max(1, round((body / layers - attention) / (2 * hidden)))
    return Model(
        id=row["model"],
        aliases=(),
        architecture="",
        task="llm",
        hidden_dim_count=hidden,
        vocab_count=vocab,
        tied_embeddings=True,
        attention=(AttentionLayers("full", layers, heads, kv_heads, head_dim, head_dim),),
        mlp=(MlpLayers(layers, width, matrices_count=2),),
        context_tokens=None,
        params_count=billions * 1e9,
        active_params_count=None,
        extra_params_count=0.0,
        native_format="bf16",
        unquantised_params_count=0.0,
        licence="",
        checkpoint_bytes=None,
        source=Source(row["source"], grade="quoted"),
    )


def _usual_hidden(billions: float) -> int:
    """Hidden size of a dense model of so many billions of weights, 12 h h a layer, in whole heads of 128."""
    return 128 * round(math.cbrt(billions * 1e9 / 12 * HIDDEN_PER_LAYER) / 128)


def _trained(row: dict[str, Any]) -> float | None:
    found = re.search(r"trainable ([\d,]+)", row.get("note", ""))
    return float(found.group(1).replace(",", "")) if found else None


def _adapter(row: dict[str, Any]) -> str:
    """LitGPT's adapters: the second version trains more than a million weights."""
    if row["task"] != "adapter":
        return "lora"
    return "llama-adapter-v2" if (_trained(row) or 0) > ADAPTER_V1_MOST else "llama-adapter"


def _longest(row: dict[str, Any]) -> int | None:
    """The longest example of a data set that isn't packed: memory is that of its batch."""
    found = re.search(r"longest (\d+) tokens", row.get("note", ""))
    return int(found.group(1)) if found else None


def padded_tokens(micro_batch_count: int) -> int:
    """Mean length of a micro-batch of Alpaca's examples, each padded to the longest of its micro-batch.

    Lengths are taken as exponential beyond the template, whose longest of n is the harmonic number of n longer.
    """
    beyond = ALPACA_TOKENS - ALPACA_TEMPLATE_TOKENS
    return round(ALPACA_TEMPLATE_TOKENS + beyond * sum(1 / k for k in range(1, micro_batch_count + 1)))


def _card_length(row: dict[str, Any]) -> int | None:
    """Model cards print tokens and GPU-hours; their pretraining ran at 4k or 8k."""
    if "tokens_trained_t" not in row["measured"]:
        return None
    return 4096 if "llama2" in row["model"] else 8192 if "llama" in row["model"].lower() else 4096


def _precision(row: dict[str, Any], accelerator: Accelerator) -> str:
    """As printed; benchmark rounds that print none are tuned: 8 bit where the card has it, 4 bit from v5.1 on."""
    said = multiplying_type(row["precision"], row.get("note", ""))
    if said is not None:
        return said
    if accelerator.vendor not in ("NVIDIA", "AMD") or "fp8" not in accelerator.flop_per_s or not _tuned(row):
        return "bf16"
    round_ = re.search(r"training_results_v(\d+\.\d+)", str(row["source"]))
    four_bit = (
        round_ is not None and float(round_.group(1)) >= FOUR_BIT_SINCE and accelerator.vendor == "NVIDIA"
    )
    return "nvfp4" if four_bit and "fp4" in accelerator.flop_per_s else "fp8"


def _tuned(row: dict[str, Any]) -> bool:
    """Whether the run is a vendor's tuned code: its name says so, or it is a submission to a benchmark's round."""
    framework = (row.get("framework") or "").lower()
    if "deepspeed" in framework:
        return False
    return "training_results_v" in str(row["source"]) or any(
        word in framework for word in spellings()["tuned_for_fp8"]
    )


def _framework(row: dict[str, Any]) -> str:
    """As printed; closed submissions to a benchmark's rounds run the vendor's reference, Megatron's descendants."""
    said = row.get("framework") or ""
    return f"{said}, Megatron" if "training_results_v" in str(row["source"]) and _tuned(row) else said


def _frozen_format(precision: str) -> WeightFormat:
    """How a QLoRA row holds its frozen weights."""
    for word, name in spellings()["frozen"]:
        if word in precision:
            return facts.weight_format(name)
    return facts.weight_format("bnb-nf4")


def _version(row: dict[str, Any]) -> str:
    """Month of the newest release a framework's text names; of a benchmark's round its own."""
    framework = row.get("framework") or ""
    dated = re.search(r"20\d\d-\d\d", framework)
    if dated:
        return str(dated.group(0))
    containers = re.findall(r"(?<![\d.])(2\d\.(?:0[1-9]|1[0-2]))(?![\d])", framework)
    if containers:
        return str(max(containers))
    round_ = "training_results_v" in str(row["source"]) and re.match(r"20\d\d-\d\d", str(row.get("date")))
    return str(round_.group(0)) if round_ else ""


def _virtual(note: str) -> int:
    found = re.search(r"VP=(\d+)", note)
    return int(found.group(1)) if found else 1


def _node(row: dict[str, Any], accelerator: Accelerator) -> Node | None:
    """A typical machine with the network the case prints, when it prints one."""
    node = facts.node_for(accelerator)
    note = row.get("note", "")
    found = re.search(r"interconnect (\d+) Gbps", note)
    gigabits = float(found.group(1)) if found else 400.0 if "4x Omni-Path 100 Gb" in note else 0.0
    if node is None or not gigabits:
        return node
    return replace(node, network_bytes_per_s=gigabits * 1e9 / 8)


def unphysical(run: TrainingRun, tokens_s_per_gpu: float) -> bool:
    """Whether a printed rate needs more operations than the accelerator can do: its step or batch is another.

    Such rows, of any source, teach nothing and are not fitted; they are scored like all others.
    """
    return tokens_s_per_gpu * flop_by_convention(run)["hardware"] > peak_of(run)[1]


def _scripted(run: TrainingRun) -> Callable[[dict[str, Any]], TrainingRun]:
    """The run with what its scripts do; odd values make a row malformed."""
    return reading(lambda row: as_scripted(run, row))


def as_timed(run: TrainingRun, row: dict[str, Any]) -> TrainingRun:
    """The run whose time a row prints: examples that aren't packed take their mean length, not the longest."""
    if row.get("seq_len") or not _longest(row):
        return run
    return replace(run, seq_tokens=padded_tokens(run.micro_batch_count))


def printed_steps(run: TrainingRun, row: dict[str, Any]) -> int:
    """How many of what a row calls a step go into an optimizer's: LitGPT prints each micro-batch's time."""
    litgpt = str(row.get("framework", "")).lower().startswith("litgpt")
    return run.accumulation_count if litgpt else 1


def is_guessed(row: dict[str, Any]) -> bool:
    """Whether precision or split of a case had to be guessed: what such runs turn out to be lies further off."""
    return "not stated" in str(row["precision"]) or (int(row.get("gpus") or 0) > 8 and not row.get("tp"))


def _speeds(row: dict[str, Any], run: TrainingRun) -> Figures:
    """How fast the run is: not of a model whose depth isn't told, which speed depends on and memory hardly."""
    run = as_timed(run, row)
    speed = timing.training(run)
    measured = row["measured"]
    printed = measured.get("tokens_s_per_gpu")
    rate, spread = speed.tokens_per_s_per_accelerator, spread_of(run, guessed=is_guessed(row))
    low, high = spread["tokens_per_s_per_accelerator"]
    if "tokens_trained_t" in measured:  # a model card: GPU-hours of the whole project
        wall = failure_facts()["wall"]
        rate *= speed.goodput_ratio / speed.wall_ratio
        low, high = low * wall["value"] / wall["high"], high * wall["value"] / wall["low"]
    found: Figures = {"tokens_s_per_gpu": (rate, rate * low, rate * high)}
    if row.get("global_batch"):
        step_s = speed.step_s / printed_steps(run, row)
        found["step_time_s"] = (step_s, step_s / high, step_s / low)
    convention = next((name for word, name in MFU_CONVENTIONS if word in run.framework.lower()), None)
    if convention and printed is None and "step_time_s" not in measured:  # nothing else to compare
        tflops = rate * flop_by_convention(run)[convention] / 1e12
        found["tflops_per_gpu"] = (tflops, tflops * low, tflops * high)
    if isinstance(measured.get("samples_to_target"), (int, float)):
        steady = measured["samples_to_target"] * run.seq_tokens / speed.tokens_per_s / 60
        minutes = EVALUATION_RATIO * steady + FIXED_MINUTES
        found["minutes_to_target"] = (minutes, minutes / high, minutes / low)
    return found


def training_figures(row: dict[str, Any]) -> tuple[Figures, str | None]:
    """Predicted figures of a training case with their 90 % intervals, and the verdict on its memory.

    Raises:
        Unanswerable: the case says too little, or names what we don't know.
    """
    run = training_run(row)
    mem = memory.training(_scripted(run)(row))
    told = run.model.architecture or row.get("hidden") or known_model(row["model"])
    found = _speeds(row, run) if told and run.model.task not in DIFFUSED else {}
    if contradicted(row, mem):
        return found, None
    decimal = "litgpt" in (row.get("framework") or "").lower()  # prints max_memory_allocated() / 1e9
    size, low, high = printed_peak(row, mem, BYTES_PER_GB if decimal else BYTES_PER_GIB)
    whole = run.accelerators_count if "total over the GPUs" in row.get("note", "") else 1
    found["peak_mem_gib"] = (size * whole, low * whole, high * whole)
    return found, mem.verdict


def printed_peak(
    row: dict[str, Any], m: TrainingMemory, unit_bytes: float = BYTES_PER_GIB
) -> tuple[float, float, float]:
    """What the row's instrument would show, in units of so many bytes, and its 90 % interval."""
    size = counted_bytes(row, m) / float(unit_bytes)
    return size, size * m.low_bytes / m.peak_bytes, size * m.high_bytes / m.peak_bytes


def contradicted(row: dict[str, Any], m: TrainingMemory) -> bool:
    """Whether weights, gradients and AdamW's moments alone take more than was measured: something is unsaid."""
    measured = row["measured"].get("peak_mem_gib")
    states = m.weights_bytes + m.gradients_bytes + m.optimizer_bytes
    return isinstance(measured, (int, float)) and states > measured * float(BYTES_PER_GIB)


def counted_bytes(row: dict[str, Any], m: TrainingMemory) -> float:
    """What the source's instrument counts: PyTorch's tensors, what its allocator reserves, or all that is taken."""
    said = (row.get("unit_as_printed"), row.get("engine") or row.get("framework"), row.get("note"))
    words = " ".join(str(word) for word in (*said, *row["measured"])).lower()
    allocated = "litgpt" in words or str(row["source"]).startswith(
        "huggingface/peft README"
    )  # its scripts' tracker
    if "max_memory_allocated" in words or allocated:
        return m.allocated_bytes
    return m.reserved_bytes if "reserved" in words else m.peak_bytes
