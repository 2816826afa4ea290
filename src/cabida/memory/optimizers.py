"""What optimizers keep for every trained weight, and what gradients they read: by optimizer and framework."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cabida.memory import constants as known
from cabida.memory.constants import Constant
from cabida.plan import TrainingRun
from cabida.quantity import formula, least, most


@dataclass(frozen=True, slots=True)
class OptimizerRow:
    """Bytes an optimizer keeps per trained weight besides the master copy; halved moments without one."""

    name: str
    moments: Constant
    moments_pure: Constant  # when there are no fp32 master weights: moments in the weights' type
    paged: bool = False  # gives its state up to host memory when the accelerator is full
    matrices_only: bool = False  # embeddings, head and norms are AdamW's


def _row(
    name: str,
    full: tuple[float, str],
    pure: tuple[float, str],
    url: str,
    *,
    paged: bool = False,
    matrices_only: bool = False,
) -> OptimizerRow:
    moments = [known.read("moments_bytes_per_param", value, what, url) for value, what in (full, pure)]
    return OptimizerRow(name, moments[0], moments[1], paged, matrices_only)


_ADAM = "https://arxiv.org/abs/1910.02054"
_EIGHT = "https://arxiv.org/abs/2110.02861"
_BLOCKS = (2.03, "two 8-bit moments, fp32 scales of blocks of 256")
_MEANS = (0.002, "fp32 means of the second moment by row and by column: 2 x 4096 for 4096 x 4096 weights")
OPTIMIZERS = {
    row.name: row
    for row in (
        _row("adamw", (8, "two fp32 moments"), (4, "two bf16 moments"), _ADAM),
        _row("adamw-8bit", _BLOCKS, _BLOCKS, _EIGHT),
        _row("adamw-paged-8bit", _BLOCKS, _BLOCKS, _EIGHT, paged=True),
        _row("adafactor", _MEANS, _MEANS, "https://arxiv.org/abs/1804.04235"),
        _row("lion", (4, "one fp32 momentum"), (2, "one bf16 momentum"), "https://arxiv.org/abs/2302.06675"),
        _row("muon", (4, "one fp32 momentum"), (2, "one bf16 momentum"), "https://kellerjordan.github.io/posts/muon/",
             matrices_only=True),
        _row("sgd", (0, "no state without momentum"), (0, "no state without momentum"), ""),
    )
}  # fmt: skip
MASTER = known.read("master_bytes_per_param", 4, "fp32 master copy", _ADAM)
HALF = known.read("weights_bytes_per_param", 2, "16-bit weights", _ADAM)
FULL = known.read("weights_bytes_per_param", 4, "fp32 weights", _ADAM)
HALF_GRADIENT = known.read("gradients_bytes_per_param", 2, "16-bit gradients", _ADAM)
FULL_GRADIENT = known.read("gradients_bytes_per_param", 4, "fp32 gradients (Megatron-LM accumulates in fp32)",
                       "https://github.com/NVIDIA/Megatron-LM/blob/main/docs/source/distrib_optimizer.md")  # fmt: skip
_DEEPSPEED = "https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/zero/"
EIGHT_BIT_COPIES = known.read(
    "weights_bytes_per_param", 2, "Transformer Engine keeps a weight in 8 bits, and transposed, beside the 16-bit one",
    "https://github.com/NVIDIA/TransformerEngine/blob/v1.13/transformer_engine/pytorch/module/linear.py", "derived",
)  # fmt: skip
DEEPSPEED_STEP = known.read(
    "step_bytes_per_param", 6,
    "step() flattens this rank's 16-bit gradients into another tensor and casts that to fp32 (ZeRO-1 and 2 for a whole "
    "parameter group, ZeRO-3 for one sub-group)",
    f"{_DEEPSPEED}stage_1_and_2.py", "derived",
)  # fmt: skip
SUB_GROUP_PARAMS = known.read(
    "sub_group_params_count", 1e9, "DeepSpeed ZeRO-3 steps through sub-groups of sub_group_size weights",
    f"{_DEEPSPEED}config.py", "vendor",
)  # fmt: skip
UNSHARDED_GRADIENT = known.read(
    "gradients_bytes_per_param",
    6,
    "16-bit gradients and their fp32 sum, which DeepSpeed's bf16 optimizer for ZeRO-1 doesn't shard",
    "https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles-prequel.md",
)
FOREACH_STEP = known.read(
    "step_copies_count", 1, "PyTorch's foreach optimizers hold one more copy of the weights' size at the step",
    "https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html", "vendor",
)  # fmt: skip
AUTOCAST_FRAMEWORKS = ("finetrainers", "transformers", "trl", "swift", "lightning")
DEEPSPEED = ("deepspeed",)
FP32_GRADIENT_FRAMEWORKS = ("megatron", "nemo", "bridge")
WHOLE_GRADIENT_FRAMEWORKS = ("litgpt", "lightning")  # add up whole gradients between FSDP's reductions
FOREACH_FRAMEWORKS = (
    "litgpt",
    "lightning",
    "finetrainers",
    "peft",
    "swift",
    "qwen",
    "transformers",
)  # not fused by default
FREED_GRADIENT_FRAMEWORKS = (
    "finetrainers",
    "torchtitan",
    "litgpt",
    "lightning",
    "peft",
    "swift",
    "transformers",
    "qwen",
    "torchtune",
)


@formula
def step_bytes(stepped_params_count: float, step_bytes_per_param: float) -> float:
    """What an optimizer's step needs for a moment, when activations are gone."""
    return stepped_params_count * step_bytes_per_param


@formula
def sub_group_params_count(shard_params_count: float, sub_group_params_count: float) -> Any:
    """Weights that ZeRO-3 steps at once."""
    return least(shard_params_count, sub_group_params_count)


@formula
def resident_optimizer_bytes(optimizer_bytes: float, rest_bytes: float, visible_bytes: float) -> Any:
    """What of a paged optimizer's state stays when the rest fills the accelerator. Dettmers et al. 2023 (QLoRA)."""
    return least(optimizer_bytes, most(visible_bytes - rest_bytes, 0))


@lru_cache(maxsize=4096)
def _names(framework: str, words: tuple[str, ...]) -> bool:
    lowered = framework.lower()
    return any(word in lowered for word in words)


def named(r: TrainingRun, words: tuple[str, ...]) -> bool:
    """Whether the run's framework is one of these."""
    return _names(r.framework, words)


def deepspeed(r: TrainingRun) -> bool:
    """Whether DeepSpeed's engine runs the step."""
    return _names(r.framework, DEEPSPEED)


def row_of(r: TrainingRun) -> OptimizerRow:
    """The run's optimizer."""
    return OPTIMIZERS[r.optimizer]


def casts_weights(r: TrainingRun) -> bool:
    """Whether the model itself is in fp32 and autocast multiplies in 16 bit: PyTorch's mixed precision, unsharded."""
    mixed = r.master_weights and r.precision in ("bf16", "fp16") and r.method not in ("lora", "qlora")
    return (
        mixed
        and r.sharding in ("none", "ddp")
        and _names(r.framework, AUTOCAST_FRAMEWORKS)
        and not deepspeed(r)
    )


def gradient(r: TrainingRun) -> Constant:
    """Bytes of gradient a weight has between its backward pass and the step."""
    if (r.precision == "fp32" and not r.master_weights) or casts_weights(r):
        return FULL_GRADIENT
    if deepspeed(r):
        summed = r.precision != "fp16" and r.master_weights and r.sharding in ("none", "ddp", "zero-1")
        return UNSHARDED_GRADIENT if summed else HALF_GRADIENT
    return FULL_GRADIENT if named(r, FP32_GRADIENT_FRAMEWORKS) else HALF_GRADIENT


def gradients_stay(r: TrainingRun) -> bool:
    """Whether gradients are there before the backward pass begins: added up over micro-batches, or in fixed buffers.

    Where ``zero_grad`` frees them and a step is one micro-batch, they come as activations go.
    """
    return r.accumulation_count > 1 or deepspeed(r) or not named(r, FREED_GRADIENT_FRAMEWORKS)


def sums_whole_gradients(r: TrainingRun) -> bool:
    """Whether FSDP adds up unsharded gradients, of frozen weights too, because several micro-batches make a step."""
    return r.sharding in ("fsdp", "hsdp") and r.accumulation_count > 1 and named(r, WHOLE_GRADIENT_FRAMEWORKS)
