"""The nouns of a training or media job, and the token lengths every job has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long prompts, answers or samples are: a log-normal law through the figures that were said.

    ``spread_ratio`` is the standard deviation of ln(length); 0 = all alike. ``said`` names the figures
    the user gave ("p50", "p95"); the others follow from the law.
    """

    mean_tokens: float
    p50_tokens: float
    p95_tokens: float
    p99_tokens: float
    max_tokens: float
    spread_ratio: float
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Training:
    """A training or fine-tuning job. An empty word means "choose for me".

    Attributes:
        method: pretrain, full, lora or qlora.
        tokens_count: all tokens the run trains on (samples x epochs x length when those were said).
        global_batch_count: sequences in one optimizer step, all accelerators together.
        checkpoint_bytes: ``None`` = work it out from the model.
        evaluation_passes_count: evaluations in one run; evaluation_tokens: tokens of one pass.
        failed_runs_ratio: share of the hours spent on runs that are thrown away.
        accepted_runs_ratio: share of completed runs whose model is kept.
        runs_count: completed runs wanted within the horizon.
    """

    method: str
    tokens_count: float | None = None
    samples_count: float | None = None
    epochs_count: float = 1.0
    seq_tokens: int | None = None
    sample_tokens: Lengths | None = None
    global_batch_count: int | None = None
    optimizer: str = ""
    sharding: str = ""
    recompute: str = ""
    precision: str = "bf16"
    offload: str = ""
    framework: str = ""
    lora_rank: int = 16
    lora_targets: str = "all"
    target_metric: str = ""
    target_value: float | None = None
    evaluation_passes_count: int = 0
    evaluation_tokens: float | None = None
    checkpoint_interval_s: float | None = None
    checkpoint_bytes: float | None = None
    dataset_bytes: float | None = None
    failed_runs_ratio: float = 0.0
    accepted_runs_ratio: float = 1.0
    runs_count: float = 1.0


@dataclass(frozen=True, slots=True)
class Media:
    """An image, video or speech workload; an item of a transcription is an hour of audio."""

    kind: str  # image, video, audio, transcription
    items_per_month: float | None = None
    width_count: int | None = None
    height_count: int | None = None
    frames_count: int | None = None
    steps_count: int | None = None
    batch_count: int | None = None
    review_money_per_output: float | None = None
    reviewed_ratio: float = 1.0  # share of accepted items that people look at
    moderation_money_per_output: float | None = None  # a filter bought by the call, for every attempt
    item_bytes: float | None = None  # as stored and sent
    kept_months: float = 1.0  # how long finished items stay on one's own disk
