"""Constants of media memory: what no shape of a network gives. ``calibration/media_memory.py`` works them out again."""

from __future__ import annotations

from cabida.memory.constants import GIB, Constant, read
from cabida.quantity import Source

_CASES = "cases/media.jsonl"
_DAY = "2026-11-30"
_DIFFUSERS = "https://github.com/huggingface/diffusers"

FURTHER_IMAGE_RATIO = Constant(
    "further_image_ratio", 0.85, 0.63, 1.0,
    Source("each image beyond the first that a decoder takes at once: convolutions need no workspace of their own "
           "for it (batches of 4 and 8 against 1)", _CASES, _DAY, "measured"),
)  # fmt: skip
FP32_DECODER_RATIO = Constant(
    "widening_ratio", 1.5, 1.26, 1.74,
    Source("live tensors of a decoder in fp32 over those in 16 bit, whose convolutions copy input and output "
           "(AutoencoderKL 1.26, AutoencoderKLWan 1.74)", _DIFFUSERS, _DAY, "derived"),
)  # fmt: skip
WHOLE_SEQUENCE_RATIO = Constant(
    "whole_ratio", 0.25, 0.1, 0.5,
    Source("share of a denoiser's activations that every rank of a sequence split holds whole: input, gathered "
           "output, buffers of the exchange", "", _DAY, "assumed"),
)  # fmt: skip
WHOLE_TENSOR_RATIO = Constant(
    "whole_ratio", 0.5, 0.3, 0.7,
    Source("share of a denoiser's activations that every tensor-parallel rank holds whole: the hidden state and "
           "its norms", "", _DAY, "assumed"),
)  # fmt: skip
TEXT_COPIES_COUNT = read(
    "copies_count", 16.0, "hidden states alive in one layer of a text encoder", "", "assumed"
)
GATHERED_BLOCKS_COUNT = read(
    "blocks_count", 2.0, "a block at work and the next one on its way (FSDP prefetch, diffusers group offloading)",
    _DIFFUSERS, "derived",
)  # fmt: skip
STREAMED_BLOCKS_COUNT = read(
    "blocks_count", 1.0, "one block at a time (accelerate's sequential offloading goes by module)", _DIFFUSERS,
    "derived",
)  # fmt: skip
MEDIA_PEER_BYTES = Constant(
    "peer_bytes", 1.0 * GIB, 0.3 * GIB, 2.0 * GIB,
    Source("NCCL buffers of a process that has peers", _CASES, _DAY, "assumed"),
)  # fmt: skip
MEDIA_CONTEXT_BYTES = Constant(
    "context_bytes", 0.5 * GIB, 0.3 * GIB, 0.9 * GIB,
    Source("CUDA context and loaded kernels of a PyTorch process", "", _DAY, "assumed"),
)  # fmt: skip
MEDIA_SLACK_RATIO = Constant(
    "slack_ratio", 0.06, 0.0, 0.2,
    Source("memory PyTorch's allocator keeps beyond what is allocated at the peak", "", _DAY, "assumed"),
)  # fmt: skip
TENSORRT_BYTES = Constant(
    "engine_bytes", 1.5 * GIB, 0.8 * GIB, 2.5 * GIB,
    Source("TensorRT engines: CUDA context and execution workspaces, which the driver's figure includes", _CASES, _DAY,
           "assumed"),
)  # fmt: skip
SCORE_COPIES_COUNT = read(
    "copies_count", 2.0, "attention scores and their softmax, both in memory", "", "derived"
)
PICTURE_BYTES = read(
    "picture_bytes",
    12.0,
    "one decoded pixel: three colours in 16 bit, tiles and picture at once",
    "",
    "derived",
)

# 90 % interval as factors of the figure, from sources left out one at a time
SPREAD = {"image": (0.93, 1.1), "video": (0.9, 1.22)}
