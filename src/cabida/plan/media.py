"""A media run: one way to make images or clips on accelerators of one kind."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.media import Pipeline
from cabida.facts.model import Accelerator, WeightFormat

OFFLOADS = ("none", "text", "model", "group", "sequential")
ATTENTIONS = ("flash", "flash3", "sage", "eager")
GRAPH_RUNTIMES = ("tensorrt", "onediff", "stable-fast")
ENGINE_NAMES = {"diffusers": "Diffusers", "transformers": "Transformers", "ctranslate2": "CTranslate2"}
SPLITS = ("none", "data", "sequence", "fsdp", "fsdp+sequence", "tensor")


@dataclass(frozen=True, slots=True)
class MediaRun:
    """Pipeline x accelerator x size x precision x what is kept off the card."""

    pipeline: Pipeline
    accelerator: Accelerator
    width_count: int  # pixels
    height_count: int
    frames_count: int  # 1 for an image
    batch_count: int  # images or clips made together on one accelerator
    steps_count: int
    weights: WeightFormat  # of the denoiser
    text_weights: WeightFormat  # of the text encoders
    precision: str  # bf16 | fp16 | fp32: what isn't quantised, and what is multiplied
    accelerators_count: int = 1
    split: str = "none"  # one of SPLITS; sequence: Ulysses, ring, context or xDiT parallel
    offload: str = "none"  # one of OFFLOADS; text: encoders leave once they have run
    text_on_cpu: bool = False  # encoders never come onto the card
    vae_tiling: bool = False
    vae_slicing: bool = False
    attention: str = "flash"  # one of ATTENTIONS; eager: scores of a whole attention in memory
    compiled: bool = False
    fused_qkv: bool = False  # projections copied into one matrix, the originals kept
    quantised_on_device: bool = (
        False  # weights come onto the card when they are loaded, to be quantised there
    )
    safety_checker: bool = True
    framework: str = "diffusers"  # diffusers | repository (the model's own scripts) | tensorrt | onediff
    used_bytes: float = 0.0  # what others hold on each card
    multiplied: str = ""  # fp8 | int8 | fp4: what matrices are multiplied in; "" = the precision
    guidance_ranks_count: int = 1  # 2: both samples of a guided step, each on accelerators of its own
    stages_count: int = 1  # displaced patches through a pipeline of accelerators (PipeFusion)
    computed_ratio: float = 1.0  # share of the denoiser's work done; the rest is kept from step to step
    merged_ratio: float = 0.0  # share of tokens merged before attention (Bolya and Hoffman 2023)

    @property
    def compiler(self) -> str:
        """How kernels are made: eager, compile (TorchInductor) or graph (TensorRT, OneDiff, stable-fast)."""
        if self.framework in GRAPH_RUNTIMES:
            return "graph"
        return "compile" if self.compiled else "eager"

    @property
    def name(self) -> str:
        """Short, for people: ``flux.1-dev 1024×1024 on RTX 4090``."""
        return f"{self.pipeline.id} {self.width_count}×{self.height_count} on {self.accelerator.name}"
