"""How many bytes an engine may use on one accelerator, and how many of them are left for the cache."""

from __future__ import annotations

from typing import Any

from cabida.facts.model import Accelerator
from cabida.memory import constants as known
from cabida.memory.cache import remembered
from cabida.memory.constants import GIB
from cabida.memory.engines import EngineRules
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.plan import Deployment, Settings
from cabida.quantity import formula, least, most

LARGE_CARD_BYTES = 70 * GIB  # vLLM's limit between its two sets of defaults (A100 counts as small)
STATIC_BY_RANKS = (
    (16, 0.79),
    (8, 0.81),
    (4, 0.85),
    (2, 0.87),
    (1, 0.88),
)  # SGLang up to 0.5.2, server_args.py
LEAST_RESERVE_ABOVE_BYTES = 60 * GIB  # SGLang reserves its least on larger cards
LEAST_CHUNK_TOKENS = 2048  # and for a prefill chunk of this many at least


@formula
def visible_bytes(usable_bytes: float, driver_reserve_bytes: float) -> float:
    """Memory a process sees as the card's total: what the driver shows less what it keeps."""
    return usable_bytes - driver_reserve_bytes


@formula
def budget_bytes(visible_bytes: float, desktop_bytes: float, utilisation_ratio: float) -> Any:
    """What an engine that takes a share of the total may use; a desktop can't be pushed aside."""
    return least(visible_bytes * utilisation_ratio, visible_bytes - desktop_bytes)


@formula
def static_ratio(
    usable_bytes: float,
    chunk_tokens: float,
    chunk_bytes_per_token: float,
    graph_sequences_count: float,
    graph_reserve_bytes: float,
    ranks_count: float,
    rank_reserve_bytes: float,
    meta_bytes: float,
    least_reserve_bytes: float,
    draft_reserve_bytes: float,
) -> Any:
    """SGLang's mem-fraction-static when it is not given: the total less its reserves. server_args.py, PR 10975."""
    graphs_bytes = graph_sequences_count * graph_reserve_bytes + ranks_count * rank_reserve_bytes
    work_bytes = meta_bytes + chunk_tokens * chunk_bytes_per_token + graphs_bytes
    reserve_bytes = most(work_bytes, least_reserve_bytes) + draft_reserve_bytes
    return (usable_bytes - reserve_bytes) / usable_bytes


@formula
def seeing_ratio(static_ratio: float, layers_count: float, hidden_dim_count: float) -> Any:
    """SGLang leaves models with a vision tower 5 % and more, by its size against ViT-L/14's 24 layers of 1024.

    server_args.py, adjust_mem_fraction_for_vlm.
    """
    size_ratio = layers_count * hidden_dim_count * hidden_dim_count / (24 * 1024 * 1024)
    return static_ratio * 0.95 * least(most(1 - 0.1 * (size_ratio - 1), 0.8), 1.05)


@formula
def shared_budget_bytes(visible_bytes: float, others_bytes: float, utilisation_ratio: float) -> float:
    """The same where all that is used on the card counts within the share. vLLM 0.8 and 0.9.0, gpu_worker.py."""
    return visible_bytes * utilisation_ratio - others_bytes


@formula
def kept_weights_bytes(weights_bytes: float, offload_bytes: float) -> Any:
    """Weights on the accelerator when a part of them stays in host memory. vLLM cpu_offload_gb."""
    return most(weights_bytes - offload_bytes, 0)


@formula
def kv_pool_bytes(
    budget_bytes: float,
    weights_bytes: float,
    non_torch_bytes: float,
    activation_bytes: float,
    graph_bytes: float,
) -> float:
    """What is left of the budget for the cache."""
    return budget_bytes - weights_bytes - non_torch_bytes - activation_bytes - graph_bytes


@formula
def free_share_pool_bytes(
    visible_bytes: float,
    weights_bytes: float,
    non_torch_bytes: float,
    activation_bytes: float,
    utilisation_ratio: float,
) -> Any:
    """A share of what is free once TensorRT-LLM has loaded (free_gpu_memory_fraction); all of what is lacking."""
    free_bytes = visible_bytes - weights_bytes - non_torch_bytes - activation_bytes
    return least(free_bytes, free_bytes * utilisation_ratio)


@formula
def static_budget_bytes(
    visible_bytes: float, desktop_bytes: float, non_torch_bytes: float, utilisation_ratio: float
) -> float:
    """What SGLang gives weights and cache: a share of what was free before loading. model_runner.py."""
    return (visible_bytes - desktop_bytes - non_torch_bytes) * utilisation_ratio


def is_unified(accelerator: Accelerator) -> bool:
    """Whether processor and GPU share one memory, other processes and the system with them."""
    if accelerator.form_factor.lower() == "module":  # Jetson
        return True
    return "unified" in f"{accelerator.memory_kind} {accelerator.form_factor}".lower()


def visible(accelerator: Accelerator, lens: Lens) -> Number:
    """Total memory as a process on this card sees it."""
    if lens is PLAIN:
        return remembered(accelerator, ("visible",), lambda: _visible(accelerator, PLAIN))
    return _visible(accelerator, lens)


def _visible(accelerator: Accelerator, lens: Lens) -> Number:
    usable = lens.field(accelerator, "usable_bytes")
    slice_of_card = accelerator.form_factor.lower() == "mig slice"  # its size is what is left
    if accelerator.vendor.lower() != "nvidia" or is_unified(accelerator) or slice_of_card:
        return usable
    return lens.of(visible_bytes)(usable, lens.constant(known.DRIVER_RESERVE_BYTES))


def desktop(settings: Settings, lens: Lens) -> Number:
    """What others hold on the same card: as seen there, else what a screen takes."""
    if settings.desktop and not settings.used_bytes:
        return lens.constant(known.DESKTOP_BYTES)
    return lens.setting("desktop_bytes", settings.used_bytes)


def is_large(accelerator: Accelerator) -> bool:
    """Whether an engine takes its defaults for large data-centre cards."""
    return accelerator.usable_bytes >= LARGE_CARD_BYTES and "a100" not in accelerator.name.lower()


def utilisation(d: Deployment, row: EngineRules, lens: Lens) -> Number:
    """The share of memory the engine goes by: as set, or its default."""
    settings, accelerator, ranks = d.settings, d.accelerator, d.parallel.tp * d.parallel.pp
    if settings.gpu_memory_utilization is not None:
        return lens.setting("utilisation_ratio", settings.gpu_memory_utilization)
    if row.budget != "static":
        return lens.field(row, "utilisation_ratio")
    if row.ratio_by_ranks:
        by_ranks = next(ratio for least_ranks, ratio in STATIC_BY_RANKS if ranks >= least_ranks)
        return lens.field(row, "utilisation_ratio", by_ranks)
    chunk, graphs = static_chunk(accelerator.usable_bytes, d.parallel.tp)
    large = accelerator.usable_bytes > LEAST_RESERVE_ABOVE_BYTES
    ratio = lens.of(static_ratio)(
        lens.field(accelerator, "usable_bytes"),
        lens.setting("chunk_tokens", max(settings.max_num_batched_tokens or chunk, LEAST_CHUNK_TOKENS)),
        lens.constant(known.STATIC_CHUNK_BYTES),
        lens.setting("graph_sequences_count", graphs),
        lens.constant(known.STATIC_GRAPH_BYTES),
        lens.setting("ranks_count", ranks),
        lens.constant(known.STATIC_RANK_BYTES),
        lens.constant(known.STATIC_META_BYTES),
        lens.constant(known.STATIC_LEAST_BYTES) if large else lens.setting("least_reserve_bytes", 0.0),
        _draft_reserve(d, lens),
    )
    tower = d.model.tower
    if tower is None:
        return ratio
    layers = lens.field(d.model, "layers_count", tower.layers_count)
    return lens.of(seeing_ratio)(
        ratio, layers, lens.field(d.model, "hidden_dim_count", tower.hidden_dim_count)
    )


def _draft_reserve(d: Deployment, lens: Lens) -> Number:
    """What SGLang keeps free for what speculates; a head has no vocabulary of its own, a draft model has."""
    if d.draft is not None and d.draft.vocab_count:
        return lens.constant(known.STATIC_DRAFT_BYTES)
    if d.draft is not None or d.settings.draft_tokens:
        return lens.constant(known.STATIC_HEAD_BYTES)
    return lens.setting("draft_reserve_bytes", 0.0)


def static_chunk(usable_bytes: float, tp: int) -> tuple[int, int]:
    """SGLang's default prefill chunk (tokens) and largest graph batch by card size. server_args.py."""
    few = tp < 4
    for below_gib, chunk, small, large in (
        (20, 2048, 8, 8),
        (35, 2048, 24, 80),
        (60, 4096, 32, 160),
        (90, 8192, 256, 512),
        (160, 8192, 256, 512),
    ):
        if usable_bytes < below_gib * GIB:
            return chunk, small if few else large
    return 16384, 512
