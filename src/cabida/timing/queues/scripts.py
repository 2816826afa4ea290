"""How measuring tools start the server they measure: what their scripts ask of each engine. Rows of data.

A script applies where engine, kind of weights, architecture, lengths and split are the row's; the first that does wins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cabida.plan import Settings

FP8, FP4 = ("fp8",), ("fp4", "nvfp4")
ANY = ("",)
HOPPER, BLACKWELL = "Hopper", "Blackwell"


@dataclass(frozen=True, slots=True)
class Script:
    """What one tool's scripts ask of one engine."""

    harness: str
    engine: str
    weights: tuple[str, ...] = ANY  # ids of formats; "" = any
    architecture: str = ""
    moe: bool | None = None  # whether the model routes to experts
    tp_below: float = math.inf
    clients_from: float = 0.0
    clients_below: float = math.inf
    tokens: tuple[int, int] | None = None  # in and out
    ranks: bool | None = None  # whether attention is data-parallel
    eight_bit_cache: bool = False
    budget_tokens: int | None = None
    scheduler_recv_interval: int = 1
    batch_wait_timeout_iters: int = 0
    batch_wait_max_tokens_ratio: float = 0.0
    attention_dp_timeout_iters: int = 0
    source: str = ""


_OF = "InferenceX benchmarks/"
ROWS = (
    Script("inferencex", "vllm", FP8, moe=False, eight_bit_cache=True, budget_tokens=8192,
           source=_OF + "70b_fp8_{h100,h200}_slurm.sh, 70b_fp8_b200_docker.sh: kv-cache-dtype fp8, "
                        "max-num-batched-tokens 8192"),
    Script("inferencex", "vllm", architecture=BLACKWELL, eight_bit_cache=True, budget_tokens=8192,
           source=_OF + "70b_fp4_b200_docker.sh, gptoss_fp4_b200.sh, minimaxm2.5_fp8_b300.sh"),
    Script("inferencex", "vllm", architecture=HOPPER, budget_tokens=8192,
           source=_OF + "gptoss_fp4_{h100,h200}.sh: no word of the cache"),
    Script("inferencex", "sglang", ("bf16",), BLACKWELL, clients_below=16, scheduler_recv_interval=10,
           budget_tokens=32768, source=_OF + "qwen3.5_bf16_b200.sh"),
    Script("inferencex", "sglang", ("bf16",), BLACKWELL, clients_from=16, scheduler_recv_interval=30,
           budget_tokens=32768, source=_OF + "qwen3.5_bf16_b200.sh"),
    Script("inferencex", "sglang", ANY, BLACKWELL, clients_below=16, scheduler_recv_interval=10,
           eight_bit_cache=True, budget_tokens=32768,
           source=_OF + "dsr1_fp8_b200.sh, qwen3.5_fp8_b200.sh, qwen3.5_fp4_b300.sh: kv-cache-dtype fp8_e4m3, "
                        "chunked-prefill-size 32768"),
    Script("inferencex", "sglang", ANY, BLACKWELL, clients_from=16, scheduler_recv_interval=30,
           eight_bit_cache=True, budget_tokens=32768,
           source=_OF + "dsr1_fp8_b200.sh: scheduler-recv-interval 30 from 16 clients on"),
    Script("inferencex", "sglang", ANY, HOPPER, budget_tokens=32768, source=_OF + "dsr1_fp8_h200.sh"),
    Script("inferencex", "tensorrt-llm", ("mxfp4",), HOPPER, ranks=False, budget_tokens=20000,
           source=_OF + "gptoss_fp4_h200_trt.sh: kv_cache_config dtype auto, max_num_tokens 20000"),
    Script("inferencex", "tensorrt-llm", ("mxfp4",), HOPPER, ranks=True, budget_tokens=20000,
           attention_dp_timeout_iters=50, source="llm_args.py: AttentionDpConfig timeout_iters 50"),
    Script("inferencex", "tensorrt-llm", ("mxfp4",), ranks=False, eight_bit_cache=True, budget_tokens=20000,
           source=_OF + "gptoss_fp4_b200_trt.sh"),
    Script("inferencex", "tensorrt-llm", ("mxfp4",), ranks=True, eight_bit_cache=True, budget_tokens=20000,
           attention_dp_timeout_iters=50,
           source=_OF + "gptoss_fp4_b200_trt.sh: enable_balance; llm_args.py: AttentionDpConfig timeout_iters 50"),
    Script("inferencex", "tensorrt-llm", ranks=True, eight_bit_cache=True, attention_dp_timeout_iters=60,
           source=_OF + "dsr1_fp4_b200_trt.sh: attention_dp_config enable_balance, timeout_iters 60"),
    Script("inferencex", "tensorrt-llm", FP8, BLACKWELL, moe=True, tokens=(1024, 1024), clients_from=64,
           clients_below=256, eight_bit_cache=True, batch_wait_timeout_iters=40, batch_wait_max_tokens_ratio=0.8,
           source=_OF + "dsr1_fp8_b200_trt.sh: DELAY_BATCHING"),
    Script("inferencex", "tensorrt-llm", FP8, BLACKWELL, moe=False, tp_below=8, tokens=(1024, 1024),
           eight_bit_cache=True, budget_tokens=16384, batch_wait_timeout_iters=20, batch_wait_max_tokens_ratio=0.9,
           source=_OF + "70b_fp8_b200_trt_slurm.sh"),
    Script("inferencex", "tensorrt-llm", FP8 + FP4, moe=False, tp_below=8, tokens=(1024, 1024),
           eight_bit_cache=True, budget_tokens=2068, batch_wait_timeout_iters=20, batch_wait_max_tokens_ratio=0.9,
           source=_OF + "70b_fp8_h200_trt_slurm.sh, 70b_fp4_b200_trt_slurm.sh: max_num_tokens of prompt and answer"),
    Script("inferencex", "tensorrt-llm", eight_bit_cache=True, source=_OF + "dsr1_fp8_h200_trt.sh, 70b_*_trt_slurm.sh"),
)  # fmt: skip


def script_of(
    harness: str,
    engine: str,
    weights: str,
    architecture: str,
    *,
    moe: bool,
    tp: int,
    ranks_count: int,
    clients: float,
    tokens: tuple[float, float],
) -> Script | None:
    """The script a tool's run was started with; ``None`` where nobody read one.

    Args:
        harness: the tool.
        engine: under its own name.
        weights: id of their format.
        architecture: of the accelerator.
        moe: whether the model routes to experts.
        tp: cards that share each layer.
        ranks_count: data-parallel ranks.
        clients: of the closed loop.
        tokens: nominal prompt and answer.
    """
    return next(
        (
            row
            for row in ROWS
            if (row.harness, row.engine) == (harness, engine)
            and (row.weights == ANY or weights in row.weights)
            and row.architecture in ("", architecture)
            and row.moe in (None, moe)
            and tp < row.tp_below
            and row.clients_from <= clients < row.clients_below
            and row.tokens in (None, tokens)
            and row.ranks in (None, ranks_count > 1)
        ),
        None,
    )


def started(settings: Settings, script: Script | None) -> Settings:
    """Settings with what a script asks for."""
    if script is None:
        return settings
    return replace(
        settings,
        max_num_batched_tokens=script.budget_tokens or settings.max_num_batched_tokens,
        scheduler_recv_interval=script.scheduler_recv_interval,
        batch_wait_timeout_iters=script.batch_wait_timeout_iters,
        batch_wait_max_tokens_ratio=script.batch_wait_max_tokens_ratio,
        attention_dp_timeout_iters=script.attention_dp_timeout_iters,
    )
