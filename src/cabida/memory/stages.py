"""Pipeline stages: how many layers each holds, and which ends of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida.quantity import ceil_to, formula, least


@formula
def stage_ratio(stage_layers_count: float, layers_count: float) -> float:
    """Share of the layers that the fullest pipeline stage holds."""
    return stage_layers_count / layers_count


@formula
def layered_stage_ratio(layers_count: float, stages_count: float) -> Any:
    """The same when an engine deals out whole layers and counts the head as one more (llama.cpp)."""
    return least(ceil_to((layers_count + 1) / stages_count, 1), layers_count) / layers_count


@dataclass(frozen=True, slots=True)
class Stage:
    """One pipeline stage: its layers, and whether embedding and head are on it."""

    layers_count: int
    first: bool
    last: bool


def stages_of(layers_count: int, stages_count: int, partition: tuple[int, ...] = ()) -> list[Stage]:
    """The stages of a pipeline: as stated, else evenly with the layers left over given to the last but one and on.

    vLLM vllm/distributed/utils.py, get_pp_indices: the first and the last stage hold embedding and head already.
    """
    sizes = list(partition)
    if not sizes:
        sizes = [layers_count // stages_count] * stages_count
        for back in range(layers_count % stages_count):
            sizes[-(back + 2) % stages_count] += 1
    return [Stage(size, i == 0, i == len(sizes) - 1) for i, size in enumerate(sizes)]
