"""A deployment as replicas that serve: how many, what drafts for them, which adapters they hold."""

from __future__ import annotations

from cabida.memory import ServingMemory
from cabida.memory.beside import ADAPTER_BITS, adapter_dims, adapter_slots_bytes
from cabida.plan import Deployment
from cabida.quantity import formula
from cabida.timing.devices.collectives import pcie_bytes_per_s
from cabida.timing.devices.rates import memory_rate
from cabida.timing.engine.steps import step_model
from cabida.timing.queues.fleet import Adapters, Pool
from cabida.timing.queues.speculative import METHODS, NO_DRAFT, Drafting, drafting_of

HEADS = {"eagle3": "eagle", "dflash": "eagle"}  # heads that draft as EAGLE's do
# two kernels for each matrix that an adapter changes (shrink, expand); Chen et al. 2023 (Punica): 2 ms a token through
# 32 layers of seven matrices
ADAPTER_KERNEL_S = 2e-3 / (32 * 7 * 2)
ADAPTED_MATRICES, KERNELS = 7, 2


@formula
def adapter_step_s(
    layers_count: float, matrices_count: float, kernels_count: float, kernel_s: float
) -> float:
    """What any adapter adds to a step: kernels launched for each matrix it changes."""
    return layers_count * matrices_count * kernels_count * kernel_s


def pools_of(
    d: Deployment,
    m: ServingMemory,
    replicas_count: int = 1,
    draft: str = "",
    accepted_ratio: float | None = None,
) -> tuple[Pool, ...]:
    """Alike replicas of a deployment.

    Args:
        d: one replica; ``settings.draft_tokens`` are drafted in each step, ``settings.lora_slots`` adapters held.
        m: its memory.
        replicas_count: how many.
        draft: what drafts, as typed: "mtp", "eagle", "eagle3", "ngram" or a model; "" = nothing.
        accepted_ratio: chance that a drafted token is accepted; what publications say when left out.
    """
    drafting: Drafting = NO_DRAFT
    if draft and d.settings.draft_tokens:
        word = HEADS.get(draft.lower(), draft.lower())
        drafting = drafting_of(
            d, m, word if word in METHODS else "draft", d.settings.draft_tokens, accepted_ratio
        )
    return (Pool(step_model(d, m), replicas_count, drafting=drafting, adapters=adapters_of(d)),)


def adapters_of(d: Deployment) -> Adapters | None:
    """What LoRA adapters cost a replica; ``None`` where none are held."""
    if not d.settings.lora_slots:
        return None
    step = adapter_step_s.raw(d.model.layers_count, ADAPTED_MATRICES, KERNELS, ADAPTER_KERNEL_S)
    size = adapter_bytes(d)
    return Adapters(
        d.settings.lora_slots,
        float(step),
        size / memory_rate(d.accelerator),
        size / d.parallel.pp / pcie_bytes_per_s(d.accelerator),
    )


def adapter_bytes(d: Deployment) -> float:
    """One adapter on one accelerator, all stages together: what a step reads, and what the host sends first."""
    whole, divided = adapter_dims(d.model)
    size = adapter_slots_bytes.raw(1, d.settings.lora_rank, whole, divided, d.parallel.tp, ADAPTER_BITS)
    return float(size)
