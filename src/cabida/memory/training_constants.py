"""Constants of training memory, each with its source and the spread seen.

Fitted ones are worked out again by ``calibration/training_memory.py``, whole sources left out.
"""

from __future__ import annotations

from cabida.memory.constants import GIB, Constant, read
from cabida.quantity import Source

_LOGS = "cases/memory.jsonl"


def _fitted(name: str, value: float, low: float, high: float, what: str) -> Constant:
    return Constant(name, value, low, high, Source(what, _LOGS, "2026-11-30", "measured"))


GATHERED_LAYERS_COUNT = read(
    "gathered_layers_count", 2.0, "full sharding works on one layer while it gathers the next",
    "https://docs.pytorch.org/docs/stable/fsdp.html", "derived",
)  # fmt: skip
_KORTHIKANTI = "https://arxiv.org/abs/2205.05198"
_LLAMA_NORM = (
    "https://github.com/huggingface/transformers/blob/main/src/transformers/models/llama/modeling_llama.py"
)
TRAINED_NORMS = read("norm_copies_count", 4.0, "inputs and outputs of two norms", _KORTHIKANTI, "derived")
FROZEN_NORMS = read(
    "norm_copies_count", 2.0, "inputs of two norms: frozen matrices don't read their outputs again",
    _KORTHIKANTI, "derived",
)  # fmt: skip
TRAINED_NORMS_WRITTEN_OUT = read(
    "norm_copies_count", 8.0, "twice: input in fp32, unscaled output, output", _LLAMA_NORM, "derived"
)
FROZEN_NORMS_WRITTEN_OUT = read("norm_copies_count", 4.0, "twice: input in fp32", _LLAMA_NORM, "derived")
LOGIT_BYTES_PER_ELEMENT = _fitted(
    "logit_bytes_per_element", 12.0, 10.0, 16.0,
    "log-softmax, its gradient and that of the logits in fp32, as PyTorch's loss works them out one after another",
)  # fmt: skip
SLACK_RATIO = _fitted(
    "slack_ratio", 0.11, 0.02, 0.2,
    "reserved or driver-shown memory over the parts of a training process, eight sources each left out in turn",
)  # fmt: skip
TRAINING_CONTEXT_BYTES = _fitted(
    "context_bytes", 0.8 * GIB, 0.4 * GIB, 1.4 * GIB, "CUDA context and kernels of a training process"
)
TRAINING_PEER_BYTES = _fitted(
    "peer_bytes", 0.75 * GIB, 0.3 * GIB, 1.5 * GIB, "NCCL buffers of a process that has peers"
)
BUCKET_BYTES = Constant(
    "bucket_bytes", 0.9e9, 0.8e9, 2.0e9,
    Source("ZeRO-1 and 2: a reduction bucket of 5e8 16-bit elements (default), or two of 2e8 with overlap_comm",
           "https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/zero/config.py", "2026-11-30",
           "vendor"),
)  # fmt: skip
SCORE_BYTES_PER_ELEMENT = read(
    "score_bytes_per_element",
    5.0,
    "softmax of the scores (2), dropout's mask (1) and output (2)",
    "https://arxiv.org/abs/2205.05198",
)
TOWER_KEPT_BYTES_PER_ELEMENT = read(
    "kept_bytes_per_element",
    34.0,
    "a layer of a plain transformer with dropout masks",
    _KORTHIKANTI,
    "quoted",
)
_DIT_NORM = "https://github.com/huggingface/diffusers/blob/v0.31.0/src/diffusers/models/attention.py"
FROZEN_DIT_NORMS = read(
    "norm_copies_count", 8.0, "two norms of the layer, those of queries and keys: inputs that autocast makes fp32",
    _DIT_NORM, "derived",
)  # fmt: skip
TRAINED_DIT_NORMS = read(
    "norm_copies_count", 12.0, "the same, and their 16-bit outputs", _DIT_NORM, "derived"
)
_SPREAD = (
    "printed over predicted peaks of {}, each source left out of the fit: 5th to 95th percentile, outwards"
)
ADAPTER_SPREAD_RATIO = _fitted(
    "spread_ratio", 1.0, 0.93, 1.14, _SPREAD.format("adapters over 16-bit weights")
)
QUANTISED_SPREAD_RATIO = _fitted(
    "spread_ratio", 1.0, 0.9, 1.13, _SPREAD.format("adapters over quantised weights")
)
FULL_SPREAD_RATIO = _fitted("spread_ratio", 1.0, 0.88, 1.24, _SPREAD.format("runs that train all weights"))
UNSEEN_SPREAD_RATIO = _fitted(
    "spread_ratio", 1.0, 0.8, 1.53, _SPREAD.format("vision models and of parameters in host memory")
)
UNNAMED_SPREAD_RATIO = Constant(
    "spread_ratio", 1.0, 0.82, 1.28,
    Source("no framework named: the same run differs by this much between those we know", "", "2026-11-30", "assumed"),
)  # fmt: skip
