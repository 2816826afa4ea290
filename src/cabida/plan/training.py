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
    optimizer: str  # adamw | adamw-8bit | adamw-paged-8bit | adafactor | sgd | muon
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
    fused_loss: bool = False  # chunked or fused cross-entropy: logits are never whole
    lora_rank: int = 16
    lora_targets: str = "all"  # all | attention
    offload: str = "none"  # none | optimizer | all
    framework: str = ""
    framework_version: str = ""
    target_tokens: float | None = None  # tokens to train on
    node: Node | None = None
    virtual_stages_count: int = 1  # interleaved chunks of layers each pipeline stage holds

    @property
    def data_parallel_count(self) -> int:
        """Replicas that see different data."""
        return max(1, self.accelerators_count // (self.tp * self.pp * self.cp))

    @property
    def name(self) -> str:
        """Short, for people: ``8xH100 SXM full fsdp``."""
        return f"{self.accelerators_count}x{self.accelerator.name} {self.method} {self.sharding}"
