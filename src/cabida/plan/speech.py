"""A speech run: one way to write down recordings on one accelerator."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator, Model, WeightFormat


@dataclass(frozen=True, slots=True)
class SpeechRun:
    """Speech model x accelerator x format x batch of windows: transcription by an encoder and a decoder of text."""

    model: Model
    accelerator: Accelerator
    weights: WeightFormat
    framework: str  # transformers | ctranslate2 (faster-whisper)
    batch_count: int = 1  # windows of audio worked on together
    precision: str = "fp16"  # fp16 | bf16 | fp32: what isn't quantised
    attention: str = "flash"  # eager: scores of a whole attention in memory
    beams_count: int = 1

    @property
    def name(self) -> str:
        """Short, for people: ``whisper-large-v3 on RTX 4090``."""
        return f"{self.model.id.rpartition('/')[2]} on {self.accelerator.name}"
