"""A deployment: one way to serve a model. A candidate: a deployment or a training run under an offer."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator, ApiOffer, Model, Node, Offer, WeightFormat
from cabida.plan.media import MediaRun
from cabida.plan.speech import SpeechRun
from cabida.plan.training import TrainingRun


@dataclass(frozen=True, slots=True)
class Parallel:
    """How one replica is split. Accelerators of a replica = tp * pp * dp * cp (ep shares those of tp * dp)."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    cp: int = 1

    @property
    def accelerators_count(self) -> int:
        """Accelerators in one replica."""
        return self.tp * self.pp * self.dp * self.cp


@dataclass(frozen=True, slots=True)
class Settings:
    """Engine settings under the engines' own names; ``None`` = the engine's default."""

    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    gpu_memory_utilization: float | None = None
    enforce_eager: bool = False
    prefix_caching: bool = True
    desktop: bool = False  # the card also drives a screen
    used_bytes: float = 0.0  # what others were seen to hold on each card
    draft_tokens: int = 0  # speculated per step; without a draft model: by the model's own prediction layers
    lora_slots: int = 0  # adapters held at once (max_loras); 0 = adapters not enabled
    lora_rank: int = 16  # max_lora_rank
    layer_partition: tuple[int, ...] = ()  # layers of each pipeline stage, when stated
    redundant_experts: int = 0  # copies of busy experts dealt out beside the routed ones
    decode_context_parallel_size: int = 1  # tensor-parallel ranks that share each sequence's cache out
    language_model_only: bool = False  # no vision tower, neither loaded nor profiled (limit_mm_per_prompt 0)
    skip_mm_profiling: bool = False  # the tower's own peak is left out of the profile run
    scheduler_recv_interval: int = 1  # decoding steps between two looks at new requests (SGLang)
    batch_wait_timeout_iters: int = (
        0  # steps a prompt is held back for others (TensorRT-LLM), unless together
    )
    batch_wait_max_tokens_ratio: float = 0.0  # they fill this share of the token budget
    capacity_scheduler_policy: str = ""  # TensorRT-LLM: MAX_UTILIZATION sets nothing aside for answers
    attention_dp_timeout_iters: int = 0  # steps between prompts where not every rank has one (TensorRT-LLM)
    cpu_offload_bytes: float = 0.0  # weights of each accelerator that stay in host memory (cpu_offload_gb)


@dataclass(frozen=True, slots=True)
class Deployment:
    """Model x accelerator x split x precision x engine: one replica."""

    model: Model
    accelerator: Accelerator
    parallel: Parallel
    weights: WeightFormat
    kv_cache: WeightFormat
    engine: str
    engine_version: str = ""
    settings: Settings = Settings()
    node: Node | None = None
    draft: Model | None = None  # a second, small model that speculates
    making: MediaRun | SpeechRun | None = (
        None  # what it makes where that is no text: pictures, clips, transcripts
    )

    @property
    def name(self) -> str:
        """Short, for people: ``2xH100 SXM fp8 vllm``."""
        return f"{self.parallel.accelerators_count}x{self.accelerator.name} {self.weights.id} {self.engine}"


@dataclass(frozen=True, slots=True)
class Load:
    """What one replica is asked to carry. Exactly one of concurrency (closed) and requests_per_s (open)."""

    input_tokens: float  # mean
    output_tokens: float  # mean
    concurrency: float | None = None  # float('inf') = everything queued at once ("offline")
    requests_per_s: float | None = None
    input_spread_ratio: float = 0.0  # standard deviation of ln(length); 0 = all alike
    output_spread_ratio: float = 0.0
    shared_prefix_tokens: float = 0.0
    burst_ratio: float = 1.0  # squared coefficient of variation of inter-arrival times; 1 = Poisson
    prompts_count: int | None = None
    static_batch: bool = False
    harness: str = ""  # a measuring tool known to delay what it reports: "inferencex"; "" = none
    hourly_weights: tuple[float, ...] = ()  # how the rate follows the day; () = it doesn't
    ramp_s: float = 0.0  # over which the clients of a closed loop start
    prefixes_count: int = 1  # different shared prefixes, equally likely
    cached_ratio: float = 0.0  # share of each prompt found cached, where no prefix is shared
    turns_count: int = 1  # of a conversation: each prompt repeats what was said before
    turn_gap_s: float = 30.0  # from one turn to the next
    adapters_count: int = 0  # LoRA adapters asked for, equally likely


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is compared: a deployment (with replicas) or a training run, under one offer; or a model API."""

    id: str
    deployment: Deployment | None = None
    run: TrainingRun | None = None
    api: ApiOffer | None = None
    offer: Offer | None = None
    replicas_count: int = 1
    spare_replicas_count: int = 0

    @property
    def thing(self) -> Deployment | TrainingRun | None:
        """What runs on accelerators of one's own choice; ``None`` for an API."""
        return self.deployment or self.run
