"""An encoder run: one way to turn texts into vectors, or pairs of texts into scores."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator, Model, WeightFormat

ENCODER_ENGINES = ("sentence-transformers", "tei", "vllm", "llama.cpp")
SPEED_ENGINES = (
    *ENCODER_ENGINES,
    "infinity",
    "onnx",
)  # of which the speed is known; memory as sentence-transformers


@dataclass(frozen=True, slots=True)
class EncoderRun:
    """Embedder or reranker x accelerator x format x engine x batch."""

    model: Model
    accelerator: Accelerator
    weights: WeightFormat
    engine: str  # one of ENCODER_ENGINES
    batch_count: int  # texts or pairs worked on together
    input_tokens: int  # of the longest of them; texts in a batch are padded to it where the engine pads
    max_batch_tokens: int | None = None  # the engine's own limit, where it has one
    gpu_memory_utilization: float | None = None  # vLLM
    eager_attention: bool = False  # scores kept whole (models without a fused kernel)
    used_bytes: float = 0.0  # what others hold on each card
