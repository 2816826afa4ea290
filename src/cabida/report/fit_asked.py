"""What ``fit`` is asked, looked at before anything is worked out: unknown names, flags that don't go together.

A flag that the question has no use for is refused, never passed over: who types ``--kv-cache fp8`` beside
``--method lora`` would take the answer for one about an 8-bit cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any

from cabida import facts
from cabida.errors import CabidaError, InvalidInput, Problem, UsageProblem
from cabida.facts.drafts import OWN_LAYERS
from cabida.facts.model import Accelerator, Model
from cabida.memory.adapters import ADAPTER_METHODS
from cabida.plan import Setup
from cabida.plan.setup import usual_engine, usual_weights
from cabida.text import problem, size, tr

SPLIT = {"gpus", "nodes", "tp", "pp", "dp", "ep", "cp"}
EVERY = {"model", "gpu"}
SERVING = {
    "weights", "kv_cache", "engine", "engine_version", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
    "gpu_memory_utilization",
    "enforce_eager", "used_bytes", "draft", "draft_tokens", "lora_slots", "lora_rank", "layer_partition",
    "redundant_experts", "decode_context_parallel_size", "cpu_offload_bytes", "language_model_only",
    "skip_mm_profiling", "concurrency", "min_context",
    "answer_tokens", "samples", "shared_prefix_tokens",
}  # fmt: skip
ADAPTERS = {"adapter", "lora_rank", "lora_targets"}
TRAINING = {
    "weights", "method", "optimizer",
    "sharding", "seq_len", "micro_batch", "global_batch", "recompute", "target_tokens",
    "precision", "master_weights", "cross_entropy", "offload", "framework", "schedule", "virtual_stages",
    "shard_group", "used_bytes",
}  # fmt: skip
PICTURES = {
    "weights", "width", "height",
    "batch", "steps", "text_weights", "text_on_cpu", "vae_tiling", "vae_slicing", "eager_attention",
    "no_safety_checker",
}  # fmt: skip
INDEX = {"vectors", "dims", "index", "stored", "payload_bytes", "growth", "replicas"}
USES: dict[str, set[str]] = {
    "serving": EVERY | SPLIT | SERVING,
    "training": EVERY | SPLIT | TRAINING,
    "adapters": EVERY | SPLIT | TRAINING | ADAPTERS,
    "image": EVERY
    | {"gpus", "nodes", "tp", "dp", "cp", "sharding", "precision", "offload", "framework", "used_bytes"}
    | PICTURES,
    "encoder": EVERY
    | {
        "weights",
        "engine",
        "engine_version",
        "max_model_len",
        "max_num_batched_tokens",
        "gpu_memory_utilization",
        "used_bytes",
    }
    | {"batch", "input_tokens", "eager_attention"},
    "flat": EVERY | INDEX,
    "hnsw": EVERY | INDEX | {"links"},
    "ivf-flat": EVERY | INDEX | {"lists"},
    "ivf-pq": EVERY | INDEX | {"lists", "codes", "keep_vectors"},
    "cagra": EVERY | INDEX | {"graph_degree", "intermediate_degree"},
}
USES["video"] = USES["image"] | {"frames"}
SPELLED = {
    "used_bytes": "in-use",
    "lora_slots": "max-loras",
    "cpu_offload_bytes": "cpu-offload-gb",
    "answer_tokens": "output-tokens",
}
UNTYPED = ("master_weights",)  # true unless --no-master-weights is typed
FULL_BITS = 16
TRAINERS = (
    "accelerate", "axolotl", "composer", "deepspeed", "finetrainers", "fsdp", "lightning", "litgpt", "llama-factory",
    "llm-foundry", "maxtext", "megatron", "nemo", "peft", "pytorch", "swift", "torchtitan", "torchtune",
    "transformers", "trl", "unsloth",
)  # fmt: skip
CACHES = ("bf16", "fp16", "fp8", "int8", "nvfp4", "mxfp4", "turboquant-4bit")
GGUF_CACHES = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")  # llama.cpp common/arg.cpp, kv_cache_types
GGUF_ENGINES = {"llama.cpp", "ollama"}


def flag(name: str) -> str:
    """A field as it is typed."""
    if name in UNTYPED:
        return f"--no-{name.replace('_', '-')}"
    return f"--{SPELLED.get(name, name).replace('_', '-')}"


def typed_fields(setup: Setup) -> list[str]:
    """Fields of ``setup`` that differ from what holds when nothing is typed."""
    return [one.name for one in fields(Setup) if getattr(setup, one.name) != one.default]


def refuse_idle(kind: str, setup: Setup, more: Iterable[str] = ()) -> None:
    """Refuse flags that a question of this kind has no use for.

    Args:
        kind: key of :data:`USES`.
        setup: what was typed.
        more: further fields that were typed.

    Raises:
        UsageProblem: CB-U046, with all of them.
    """
    alone = {"gpus"} if setup.gpus == 1 else set()
    idle = [name for name in (*typed_fields(setup), *more) if name not in USES[kind] | alone]
    if idle:
        flags = ", ".join(dict.fromkeys(flag(name) for name in idle))
        key = kind if kind in ("serving", "training", "adapters") else "other"
        cure = tr(f"report.fit.belongs.{key}")
        raise UsageProblem([problem("CB-U046", flags=flags, kind=tr(f"report.fit.about.{kind}"), cure=cure)])


def refuse_unknown(setup: Setup, gpus: Sequence[str], text_weights: str | None = None) -> None:
    """Refuse names that nobody knows, all at once.

    Raises:
        InvalidInput: CB-F001, CB-F014, CB-F019, CB-F010 and the like.
    """
    formats = (setup.weights, setup.kv_cache, text_weights)
    wrong = _unknown(
        [*((facts.accelerator, one) for one in gpus), *((facts.weight_format, one) for one in formats)]
    )
    if wrong:  # beside them, what else is wrong; alone, each kind of question says it in its own words
        wrong += _unknown([(facts.engine, setup.engine), (facts.model, setup.model)])
        raise InvalidInput(list(dict.fromkeys(wrong)))


def _unknown(looked: Iterable[tuple[Callable[[str], Any], str | None]]) -> list[Problem]:
    wrong: list[Problem] = []
    for find, name in looked:
        if name is not None:
            try:
                find(name)
            except CabidaError as error:
                wrong += error.problems
    return wrong


def refuse_contradictions(
    setup: Setup,
    model: Model | None,
    cards: Sequence[Accelerator],
    concurrency: int | None,
    min_context: int | None,
) -> None:
    """Refuse what can't be meant together, all of it at once.

    Raises:
        InvalidInput: CB-U019, CB-U047 to CB-U056.
    """
    wrong = [
        problem("CB-U049", gpu=card.id, held=size(setup.used_bytes), has=size(card.usable_bytes))
        for card in cards
        if setup.used_bytes >= card.usable_bytes
    ]
    if setup.gpus and setup.nodes and setup.gpus % setup.nodes:
        wrong.append(problem("CB-U048", gpus=setup.gpus, nodes=setup.nodes))
    if min_context and setup.max_model_len and min_context > setup.max_model_len:
        wrong.append(_clash("min_context", min_context, "max_model_len", setup.max_model_len))
    if concurrency and setup.max_num_seqs and concurrency > setup.max_num_seqs:
        wrong.append(_clash("concurrency", concurrency, "max_num_seqs", setup.max_num_seqs))
    wrong += _training(setup) if setup.method else _serving(setup, model) + _cache(setup, model, cards)
    if wrong:
        raise InvalidInput(wrong)


def _clash(one: str, value: int, other: str, most: int) -> Problem:
    return problem("CB-U047", one=flag(one), value=value, other=flag(other), most=most)


def _serving(setup: Setup, model: Model | None) -> list[Problem]:
    wrong = []
    if setup.draft_tokens and not setup.draft:
        wrong.append(problem("CB-U050", one="--draft-tokens", other="--draft NAME"))
    if setup.lora_rank != Setup().lora_rank and not setup.lora_slots:
        wrong.append(problem("CB-U050", one="--lora-rank", other="--max-loras N"))
    if setup.samples > 1 and not setup.answer_tokens:
        wrong.append(problem("CB-U050", one="--samples", other="--output-tokens N"))
    if most := setup.max_model_len:
        lengths = {name: getattr(setup, name) or 0 for name in ("answer_tokens", "shared_prefix_tokens")}
        wrong += [
            _clash(name, value, "max_model_len", most) for name, value in lengths.items() if value > most
        ]
    word = (setup.draft or "").strip().lower()
    if word in OWN_LAYERS and model is not None and not model.draft_params_count:
        wrong.append(problem("CB-U052", draft=word, model=model.id))
    return wrong


def _cache(setup: Setup, model: Model | None, cards: Sequence[Accelerator]) -> list[Problem]:
    """Formats of weights that no engine keeps a cache in, and those that only llama.cpp does."""
    kept = facts.weight_format(setup.kv_cache) if setup.kv_cache else None
    if kept is None or kept.family not in ("int4", "bnb", "gguf") or kept.id.startswith("turboquant"):
        return []
    if kept.id not in GGUF_CACHES:
        known = ", ".join((*CACHES, *GGUF_CACHES))
        return [problem("CB-U019", flag="--kv-cache", name=kept.id, known=known)]
    if model is None:
        return []
    weights = usual_weights(setup, model)
    usual = {usual_engine(card, weights, model.container) for card in cards}
    taken = {setup.engine.lower()} if setup.engine else usual
    return [problem("CB-U056", kept=kept.id)] if taken - GGUF_ENGINES else []


def _training(setup: Setup) -> list[Problem]:
    wrong = []
    named = setup.framework.lower()
    if named and not any(word in named for word in TRAINERS):
        wrong.append(problem("CB-U019", flag="--framework", name=setup.framework, known=", ".join(TRAINERS)))
    weights = facts.weight_format(setup.weights) if setup.weights else None
    if weights is not None:
        narrow = weights.body_bits < FULL_BITS
        if setup.method == "qlora" and not narrow:
            wrong.append(
                problem("CB-U051", weights=weights.id, method="qlora", cure=tr("report.fit.use.lora"))
            )
        if setup.method not in ADAPTER_METHODS and narrow:
            wrong.append(
                problem(
                    "CB-U051", weights=weights.id, method=setup.method, cure=tr("report.fit.use.precision")
                )
            )
    if setup.shard_group and setup.sharding != "hsdp":
        wrong.append(problem("CB-U050", one="--shard-group", other="--sharding hsdp"))
    return wrong
