"""A training run: model, method, split and shape."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import Accelerator, Model, Node, WeightFormat


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One way to train or fine-tune a model."""

    model: Model
    accelerator: Accelerator
    accelerators_count: int
    method: str  # pretrain | full | lora | qlora
    precision: str  # bf16 | fp16 | fp8 | nvfp4 | fp32 : the type that multiplies
    weights: WeightFormat  # how frozen weights are held (qlora: bnb-nf4), else bf16
    optimizer: str  # adamw | adamw-8bit | adamw-paged-8bit | adafactor | sgd | muon | lion
    sharding: str  # none | ddp | zero-1 | zero-2 | zero-3 | fsdp | hsdp
    seq_tokens: int
    micro_batch_count: int
    global_batch_count: int  # sequences in one optimizer step, all accelerators together
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    recompute: str = "none"  # none | selective | full
    master_weights: bool = True  # keep fp32 master weights (mixed precision)
    flash_attention: bool = True
    loss: str = "whole"  # whole | half | chunked | compiled | fused : how the cross-entropy treats logits
    lora_rank: int = 16
    lora_targets: str = "all"  # all | attention | some of q,k,v,o,gate,up,down,head
    offload: str = "none"  # none | optimizer | parameters | activations | all, or several with commas
    framework: str = ""
    framework_version: str = ""
    target_tokens: float | None = None  # tokens to train on
    node: Node | None = None
    virtual_stages_count: int = 1  # interleaved chunks of layers each pipeline stage holds
    schedule: str = "1f1b"  # 1f1b | interleaved | gpipe | zero-bubble
    sequence_parallel: bool = True  # with TP: norms and layer inputs are split too
    recompute_every_count: int = 1  # full recomputation of every n-th layer only
    shard_group_count: int | None = None  # HSDP: accelerators that share the weights; None = one machine
    adapter: str = "lora"  # lora | dora | adalora | ia3 | prefix | ... : see memory.ADAPTERS
    edges_trained: bool = False  # adapters: embedding and head trained whole beside them
    trained_params_count: float | None = None  # adapters: as printed; None = work it out
    image_patches_count: int = 0  # patches that the vision tower sees for one sequence
    tower_trained: bool = False
    # beside the model before training starts: text encoders and VAE of a pipeline
    loaded_params_count: float = 0.0
    compiled: bool = False  # torch.compile: what is pointwise is worked out again instead of kept
    # the optimizer steps as gradients come, so none are kept (LOMO, torchtune)
    step_in_backward: bool = False
    eval_batch_count: int = 0  # sequences of an evaluation pass on one accelerator; 0 = none

    @property
    def data_parallel_count(self) -> int:
        """Replicas that see different data."""
        return max(1, self.accelerators_count // (self.tp * self.pp * self.cp))

    @property
    def fused_loss(self) -> bool:
        """Whether logits are never whole in fp32: a fused or chunked cross-entropy."""
        return self.loss in ("fused", "chunked")

    @property
    def accumulation_count(self) -> int:
        """Micro-batches of one optimizer step on one accelerator."""
        return max(1, self.global_batch_count // max(1, self.data_parallel_count * self.micro_batch_count))

    @property
    def name(self) -> str:
        """Short, for people: ``8xH100 SXM full fsdp``."""
        return f"{self.accelerators_count}x{self.accelerator.name} {self.method} {self.sharding}"
