"""Logits and their loss: often more than all checkpoints together."""

from __future__ import annotations

import math
from typing import Any

from cabida.facts.model import Model
from cabida.memory import training_constants as known
from cabida.memory.adapters import virtual_tokens
from cabida.memory.constants import Constant, read
from cabida.memory.lens import Lens, Number
from cabida.memory.optimizers import named
from cabida.plan import TrainingRun
from cabida.quantity import formula, least

_HF_LOSS = "https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/loss/loss_utils.py"
WHOLE = known.LOGIT_BYTES_PER_ELEMENT
HALF = read(
    "logit_bytes_per_element", 8.0,
    "the loss in 16 bit (model code without .float(), no autocast): logits, shifted copy, log-softmax, gradient",
    "https://huggingface.co/Qwen/Qwen-7B/blob/main/modeling_qwen.py", "derived",
)  # fmt: skip
COMPILED = read(
    "logit_bytes_per_element", 4.0, "a compiled loss writes 16-bit logits and their gradient, fp32 stays in registers",
    "https://github.com/pytorch/torchtitan/blob/main/torchtitan/components/loss.py", "derived",
)  # fmt: skip
EAGER = read(
    "logit_bytes_per_element", 12.0, "log-softmax, its gradient and that of the logits, each in fp32",
    "https://github.com/pytorch/torchtitan/blob/v0.1.0/torchtitan/components/loss.py", "derived",
)  # fmt: skip
PARALLEL = read(
    "logit_bytes_per_element", 8.0, "16-bit logits, fp32 softmax in place, its 16-bit gradient",
    "https://github.com/NVIDIA/Megatron-LM/blob/main/megatron/core/tensor_parallel/cross_entropy.py", "derived",
)  # fmt: skip
CLONED = read(
    "logit_bytes_per_element", 14.0, "16-bit logits, in fp32, a clone, and their exponentials",
    "https://github.com/bigscience-workshop/Megatron-DeepSpeed/blob/main/megatron/mpu/cross_entropy.py", "derived",
)  # fmt: skip
SPLIT_VOCABULARY = read(
    "logit_bytes_per_element", 16.0,
    "PyTorch's loss_parallel: log-softmax, its gradient, their exponentials and sum, each in fp32",
    "https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/tensor/parallel/loss.py", "derived",
)  # fmt: skip
CHUNKED = read(
    "logit_bytes_per_element", 5.5, "16-bit logits and their gradient, and one eighth of them as fp32 at a time",
    "https://github.com/pytorch/torchtune/blob/v0.5.0/torchtune/modules/loss/ce_chunked_output_loss.py", "derived",
)  # fmt: skip
FUSED = read(
    "logit_bytes_per_element", 2.0, "one chunk of 16-bit logits, whose gradient is written over them",
    "https://github.com/linkedin/Liger-Kernel/blob/main/src/liger_kernel/ops/fused_linear_cross_entropy.py", "derived",
)  # fmt: skip
EVALUATED = read(
    "logit_bytes_per_element", 6.0, "logits in 16 bit and fp32, without a gradient", _HF_LOSS, "derived"
)  # fmt: skip


@formula
def logits_bytes(
    logit_tokens: float,
    vocab_count: float,
    logit_bytes_per_element: float,
    split_count: float,
) -> float:
    """Logits of a micro-batch with softmax and gradient; often more than all checkpoints together."""
    return logit_tokens * vocab_count * logit_bytes_per_element / split_count


@formula
def chunk_logits_bytes(
    logit_tokens: float,
    vocab_count: float,
    hidden_dim_count: float,
    logit_bytes_per_element: float,
    chunk_tokens: float,
    hidden_bytes_per_element: float,
    split_count: float,
) -> Any:
    """A fused loss: logits of one chunk of tokens, and the gradient of all hidden states made in the forward pass.

    Liger-Kernel's fused_linear_cross_entropy.py; Wijmans et al. 2024 (arXiv 2411.09009).
    """
    here_tokens = logit_tokens / split_count
    block_bytes = least(here_tokens, chunk_tokens) * vocab_count * logit_bytes_per_element
    return block_bytes + here_tokens * hidden_dim_count * hidden_bytes_per_element


def fused_chunk_tokens(here_tokens: float, model: Model) -> float:
    """Tokens of a fused loss's chunk: the power of two whose logits first take no less than all hidden states.

    Liger-Kernel fused_linear_cross_entropy.py: ``next_power_of_2(cdiv(BT, cdiv(V, H)))``.
    """
    chunks = math.ceil(model.vocab_count / max(1, model.hidden_dim_count))
    return float(2 ** math.ceil(math.log2(max(1, math.ceil(here_tokens / max(1, chunks))))))


def per_logit(r: TrainingRun) -> Constant:
    """Bytes for every logit at the peak of the loss, by what the framework's code keeps."""
    if r.loss == "half":
        return HALF
    if r.loss == "chunked":
        return CHUNKED
    if r.loss == "compiled":
        return COMPILED
    if named(r, ("megatron-deepspeed",)):
        return CLONED
    if named(r, ("megatron", "nemo", "bridge")):
        return PARALLEL
    if named(r, ("torchtitan",)):
        return SPLIT_VOCABULARY if r.tp > 1 else EAGER
    return WHOLE


def logits_of_run(r: TrainingRun, micro_batch: int, seq: int, lens: Lens) -> Number:
    """Logits on the accelerator that holds the head."""
    tokens = lens.setting("logit_tokens", float(micro_batch * (seq + virtual_tokens(r))))
    vocab = lens.field(r.model, "vocab_count")
    split = lens.setting("split_count", r.tp * r.cp)
    if r.loss != "fused":
        return lens.of(logits_bytes)(tokens, vocab, lens.constant(per_logit(r)), split)
    return lens.of(chunk_logits_bytes)(
        tokens,
        vocab,
        lens.field(r.model, "hidden_dim_count"),
        lens.constant(FUSED),
        lens.setting("chunk_tokens", fused_chunk_tokens(float(tokens) / (r.tp * r.cp), r.model)),
        lens.setting("hidden_bytes_per_element", 2.0),
        split,
    )


def evaluation_of_run(r: TrainingRun, seq: int, lens: Lens) -> Number:
    """Logits of an evaluation pass: nothing is kept for a backward pass, but its batch is often larger."""
    return lens.of(logits_bytes)(
        lens.setting("logit_tokens", float(r.eval_batch_count * seq)),
        lens.field(r.model, "vocab_count"),
        lens.constant(EVALUATED),
        lens.setting("split_count", r.tp * r.cp),
    )
