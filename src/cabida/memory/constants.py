"""Constants of this room, each with its source and the spread seen: overheads that no formula of a model gives.

Fitted ones come from ``cases/memory.jsonl``: those of start-ups are worked out again by ``calibration/memory.py``,
those of training follow from differences within one table (one more sequence, one more token, one format less).
"""

from __future__ import annotations

from dataclasses import dataclass

from cabida.quantity import Quantity, Source, leaf

GIB = 2.0**30
_LOGS = "cases/memory.jsonl"


@dataclass(frozen=True, slots=True)
class Constant:
    """One constant: its name ends in its unit, ``low`` and ``high`` are its 90 % interval."""

    name: str
    value: float
    low: float
    high: float
    source: Source

    def quantity(self) -> Quantity:
        """As a leaf of an explain tree."""
        return leaf(self.name, self.value, self.source, self.low, self.high)


def _fitted(name: str, value: float, low: float, high: float, what: str) -> Constant:
    return Constant(name, value, low, high, Source(what, _LOGS, "2026-11-30", "measured"))


def _from_one(name: str, value: float, low: float, high: float, what: str) -> Constant:
    """A constant that a single start-up or source gives: assumed of all others, its interval widened by hand."""
    return Constant(name, value, low, high, Source(what, _LOGS, "2026-11-30", "assumed"))


def read(name: str, value: float, what: str, url: str = "", grade: str = "quoted") -> Constant:
    """A constant that was read or follows from a definition: no spread."""
    return Constant(name, value, value, value, Source(what, url, "2026-11-30", grade))


# --- what the driver keeps, what else is on the card ---------------------------------------------
DRIVER_RESERVE_BYTES = _fitted(
    "driver_reserve_bytes", 0.46 * GIB, 0.03 * GIB, 0.75 * GIB,
    "nvidia-smi total less the total PyTorch prints (3090, 4090, 5090, T4, L40S, A100, H100, H200)",
)  # fmt: skip
DESKTOP_BYTES = Constant(
    "desktop_bytes", 1.0 * GIB, 0.4 * GIB, 2.0 * GIB,
    Source("a desktop with a browser on the same card; reports of 15-20 % less context on a 24 GB card", _LOGS,
           "2026-11-30", "assumed"),
)  # fmt: skip

# --- per process: CUDA or ROCm context, communication buffers -------------------------------------
CONTEXT_BYTES = _fitted(
    "context_bytes",
    0.2 * GIB,
    0.02 * GIB,
    0.56 * GIB,
    "non-torch memory of single-accelerator vLLM start-ups: median of 21 sources 0.10 GiB, 95th percentile 0.56; the "
    "value between them is the one that the pools of start-ups agree with best",
)
ROCM_CONTEXT_BYTES = _fitted(
    "context_bytes",
    0.55 * GIB,
    0.4 * GIB,
    0.75 * GIB,
    "non-torch memory of single-accelerator start-ups on ROCm",
)
PEER_BYTES = _fitted(
    "peer_bytes",
    0.3 * GIB,
    0.05 * GIB,
    1.0 * GIB,
    "non-torch memory of vLLM start-ups at TP 2, 4 and 8, per further rank (NCCL, custom all-reduce buffers): median "
    "of 5 sources 0.40 GiB, of which one has 3.4; without it, and by the pools of start-ups, less",
)  # fmt: skip

HOST_PEER_BYTES = _from_one(
    "peer_bytes", 0.05 * GIB, 0.0, 0.3 * GIB,
    "the same on cards without peer-to-peer access, whose buffers lie in host memory: one source (GeForce)",
)  # fmt: skip
STAGE_PEER_BYTES = _from_one(
    "stage_peer_bytes", 0.2 * GIB, 0.0, 0.5 * GIB,
    "non-torch memory of one start-up at TP 8 and PP 2 over that of TP 8, per further stage",
)  # fmt: skip
PROCESS_BYTES = _fitted(
    "context_bytes", 0.55 * GIB, 0.4 * GIB, 0.8 * GIB,
    "total less what SGLang and TensorRT-LLM print as free before loading: context and first allocations",
)  # fmt: skip
LLAMA_CONTEXT_BYTES = Constant(
    "context_bytes", 0.4 * GIB, 0.2 * GIB, 0.7 * GIB,
    Source("CUDA context, cuBLAS workspace and memory pools of llama.cpp, which it does not print", _LOGS,
           "2026-11-30", "assumed"),
)  # fmt: skip
LATE_BYTES = Constant(
    "late_bytes", 0.25 * GIB, 0.1 * GIB, 0.5 * GIB,
    Source("what an engine takes after its cache: kernels loaded late, library workspaces", _LOGS, "2026-11-30",
           "assumed"),
)  # fmt: skip
LATE_PEER_BYTES = Constant(
    "late_peer_bytes", 0.2 * GIB, 0.05 * GIB, 0.4 * GIB,
    Source("collectives captured in graphs, per further rank: one start-up 1.4 GiB over its budget at TP 8", _LOGS,
           "2026-11-30", "assumed"),
)  # fmt: skip

# --- activations of the profile run ---------------------------------------------------------------
_SAMPLER = "activation peak or budget left over in vLLM {} start-ups, over max_num_seqs x vocabulary"
SAMPLER_V0 = _fitted("sampler_bytes_per_element", 38.0, 29.0, 45.0, _SAMPLER.format("V0"))
SAMPLER_V1 = _from_one(
    "sampler_bytes_per_element", 27.0, 11.0, 40.0, _SAMPLER.format("0.8 to 0.19, of one source,")
)
SAMPLER_UNSORTED = _from_one(
    "sampler_bytes_per_element", 9.0, 6.0, 14.0, _SAMPLER.format("from 0.20 on, of one source,")
)
SAMPLER_ENGINE = _fitted(
    "sampler_bytes_per_element", 9.5, 5.0, 14.0,
    "what two start-ups of TensorRT-LLM engines took beside weights and execution, over a batch of 2048 x vocabulary",
)  # fmt: skip
SAMPLER_PYTORCH = _from_one(
    "sampler_bytes_per_element", 18.0, 9.0, 27.0,
    "what one start-up of TensorRT-LLM's PyTorch flow took beside weights, over its batch of 2048 x vocabulary",
)  # fmt: skip
WHOLE_LOGITS = read(
    "sampler_bytes_per_element", 2.0, "16-bit logits of every token of a prompt",
    "https://github.com/huggingface/transformers/pull/31292", "derived",
)  # fmt: skip
HIDDEN_COPIES_COUNT = _fitted(
    "hidden_copies_count",
    4.0,
    3.0,
    8.0,
    "copies of the hidden state alive at the peak of one layer's forward pass",
)
HYPER_COPIES_COUNT = Constant(
    "hidden_copies_count", 48.0, 36.0, 72.0,
    Source("six fp32 copies of the four residual streams of DeepSeek-V4's hyper-connections; activation peaks of one "
           "start-up at 2048 and 8224 tokens agree", _LOGS, "2026-11-30", "derived"),
)  # fmt: skip
WIDTH_COPIES_COUNT = _fitted(
    "width_copies_count", 3.0, 2.0, 3.5, "gate, up and product of the feed-forward layer at its peak"
)
RESIDENT_ACTIVATION_BYTES = _fitted(
    "resident_bytes", 0.1 * GIB, 0.0, 0.3 * GIB, "activation peak left when tokens and vocabulary are small"
)

WHOLE_SCORE_BYTES = read(
    "score_bytes_per_element",
    10.0,
    "scores in fp32, their softmax in fp32 and its 16-bit copy",
    "",
    "derived",
)
ACTIVATION_BITS = read("activation_bits", 16.0, "activations are computed in 16 bit", "", "derived")
FLOAT_BITS = read("float_bits", 32.0, "llama.cpp's graph works in float32", "", "derived")
BUFFER_COPIES_COUNT = _fitted(
    "copies_count",
    3.45,
    3.2,
    5.0,
    "llama.cpp compute buffers without flash attention, less the attention scores",
)

# --- CUDA graphs ----------------------------------------------------------------------------------
# the driver keeps the nodes of every captured piece, however wide the model; its buffers are one pool for all sizes
_GRAPHS = "graph memory of vLLM {} start-ups, over layers x captured batch sizes"
_KIB = 2.0**10
GRAPHS_V0 = _fitted("piece_bytes", 800.0 * _KIB, 300.0 * _KIB, 2000.0 * _KIB, _GRAPHS.format("V0"))
GRAPHS_V1_EARLY = _fitted(
    "piece_bytes", 500.0 * _KIB, 150.0 * _KIB, 1000.0 * _KIB, _GRAPHS.format("0.8 and 0.9")
)
GRAPHS_V1 = _fitted("piece_bytes", 150.0 * _KIB, 10.0 * _KIB, 400.0 * _KIB, _GRAPHS.format("from 0.10 on"))
GRAPHS_ESTIMATED = _fitted(
    "piece_bytes", 280.0 * _KIB, 15.0 * _KIB, 500.0 * _KIB,
    "graph memory that vLLM start-ups from 0.21 on estimate before they capture: 1.4 to 2.2 times what it then took",
)  # fmt: skip
GRAPH_POOL_BYTES = _fitted(
    "graph_pool_bytes", 0.08 * GIB, 0.02 * GIB, 0.35 * GIB,
    "what start-ups that capture a few sizes take: workspaces and the buffers of the largest size",
)  # fmt: skip
TOWER_HIDDEN_COPIES_COUNT = _fitted(
    "tower_hidden_copies_count", 4.5, 3.0, 7.0,
    "copies of a patch's hidden state alive in a vision tower's layer (queries, keys, values, input, residual)",
)  # fmt: skip
TOWER_WIDTH_COPIES_COUNT = read(
    "tower_width_copies_count", 1.5, "feed-forward of a tower's layer around its activation, in part in place",
    "", "assumed",
)  # fmt: skip
TOWER_ACTIVATION_BYTES = _fitted(
    "tower_bytes", 1.5 * GIB, 0.8 * GIB, 5.0 * GIB,
    "profile run of the vision tower in vLLM start-ups, where a tower's shape isn't known",
)  # fmt: skip

# --- recurrent state ------------------------------------------------------------------------------
INDEX_BITS = read(
    "index_bits", 8.25, "index keys in 8 bit with one fp32 scale per 128 (vLLM and SGLang, 132 bytes a token)",
    "https://docs.vllm.ai/projects/recipes/en/latest/DeepSeek/DeepSeek-V3_2.html",
)  # fmt: skip
PADDED_HEAD_DIM_COUNT = read(
    "head_dim_count", 256.0, "before MLA, vLLM padded DeepSeek's heads of 192 to 256 for its attention kernels",
    "https://github.com/vllm-project/vllm/blob/v0.6.3/vllm/model_executor/models/deepseek_v2.py",
)  # fmt: skip
_V4 = "https://github.com/vllm-project/vllm/blob/main/vllm/v1/kv_cache_interface.py"
COMPRESSED_ENTRY_BYTES = read(
    "entry_bytes", 584.0, "DeepSeek-V4 entry: 448 values in FP8, 64 rotary ones in 16 bit, 8 of scale", _V4
)
COMPRESSED_ALIGN_BYTES = read(
    "align_bytes", 576.0, "pages of compressed caches are aligned to 576 bytes", _V4
)
COMPRESSED_WINDOW_TOKENS = read(
    "window_tokens",
    128.0,
    "DeepSeek-V4 keeps the last 128 tokens whole in every layer (config: sliding_window)",
    _V4,
)
CONV_BITS = read(
    "conv_bits", 16.0, "convolution state is kept in the model's 16-bit type",
    "https://docs.vllm.ai/en/latest/configuration/engine_args.html",
)  # fmt: skip

PLACE_BYTES = read("place_bytes_per_token", 4.0, "places of tokens are 32-bit integers", "", "derived")

# --- SGLang's pools --------------------------------------------------------------------------------
_SGLANG = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/server_args.py"
WINDOW_SHARE_RATIO = read(
    "window_share_ratio", 0.8, "SGLang swa_full_tokens_ratio default", _SGLANG, "vendor"
)
STATE_SHARE_RATIO = read(
    "state_share_ratio", 0.9, "SGLang mamba_full_memory_ratio default", _SGLANG, "vendor"
)
# what is kept free of weights and cache when mem-fraction-static is not given
_HEURISTICS = "https://github.com/sgl-project/sglang/pull/10975"
_RESERVES = "SGLang _handle_gpu_memory_settings: {}"
_MIB = 2.0**20
STATIC_META_BYTES = read(
    "meta_bytes", 512 * _MIB, _RESERVES.format("constant meta data"), _HEURISTICS, "vendor"
)
STATIC_CHUNK_BYTES = read(
    "chunk_bytes_per_token",
    1.5 * _MIB,
    _RESERVES.format("activations of a prefill chunk"),
    _HEURISTICS,
    "vendor",
)
STATIC_GRAPH_BYTES = read(
    "graph_reserve_bytes",
    2 * _MIB,
    _RESERVES.format("graphs, for each sequence of the largest"),
    _SGLANG,
    "vendor",
)
STATIC_RANK_BYTES = read(
    "rank_reserve_bytes", 128 * _MIB, _RESERVES.format("1 GiB for eight ranks"), _HEURISTICS, "vendor"
)
STATIC_LEAST_BYTES = read(
    "least_reserve_bytes",
    10 * GIB,
    _RESERVES.format("at least, on cards of more than 60 GiB"),
    _SGLANG,
    "vendor",
)
STATIC_HEAD_BYTES = read(
    "draft_reserve_bytes",
    2 * GIB,
    _RESERVES.format("draft heads (EAGLE, NEXTN) and their graphs"),
    _SGLANG,
    "vendor",
)
STATIC_DRAFT_BYTES = read(
    "draft_reserve_bytes",
    6 * GIB,
    _RESERVES.format("a draft model of its own (STANDALONE)"),
    _SGLANG,
    "vendor",
)
