"""How each engine schedules, by version: rows of data read in the engines' source code.

An engine newer than its last row behaves as that row; one without rows as the engine its name stands for in
memory, or as vLLM.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One engine's way from some version on."""

    engine: str = "vllm"
    since: tuple[int, ...] = ()
    mixed: bool = True  # prompts share a step with decoding; else they run first, alone
    chunked: bool = True  # prompts are cut to the token budget
    whole_prompt: bool = False  # admitted only when all of the prompt finds room in the cache
    # blocks of one that gave way are found again until overwritten: vllm/v1/core/block_pool.py keeps their hashes
    keeps_preempted: bool = False
    reserve_ratio: float = 0.0  # share of the answers owed that admission sets aside, at first ...
    reserve_least_ratio: float = 0.0  # ... and in the end,
    reserve_steps_count: float = 0.0  # after so many decoding steps
    fixed_slots: bool = False  # each sequence has an equal part of the cache for its own
    batch_tokens: float = 0.0  # least tokens of one step: llama.cpp's n_batch, worked off in micro-batches
    micro_tokens: float = float("inf")  # tokens that pass through the model at once
    poll_steps: float = (
        1.0  # decoding steps between two looks at the line (SGLang's --scheduler-recv-interval)
    )
    poll_ranks: bool = False  # ... and at once when every rank has somebody in line (enable_balance)
    hold_steps: float = 0.0  # decoding steps the line is held back for more to come,
    hold_ratio: float = 0.0  # unless it fills this share of the token budget
    speculating_sequences_count: int = 0  # at once where it speculates and nobody said; 0 = as ever
    waiting_weight: float = 1.0  # one waiting counts so much when a router compares loads
    padded_tokens: float = (
        0.0  # up to so many, data-parallel ranks that share experts are padded to the widest
    )
    front_s_per_token: float = 0.0  # before the engine sees a prompt: ``first_tokens.json``
    ranks_routing: str = "round-robin"  # how data-parallel ranks take requests: a word of ``routing.ROUTES``
    source: str = "vllm/v1/core/sched/scheduler.py"

    @property
    def waited_steps(self) -> float:
        """Steps a prompt waits on average on a busy replica until its line is looked at."""
        return 0.5 * (self.poll_steps - 1.0) + self.hold_steps


VLLM = Scheduler()
_DP = "vllm/v1/engine/core_client.py: the rank with the least of 4 * waiting + running"
_SGLANG = (
    "sglang/srt/managers/scheduler.py and schedule_policy.py: get_new_batch_prefill before decode; environ.py: "
    "SGLANG_INIT_NEW_TOKEN_RATIO 0.7, MIN_FACTOR 0.14, DECAY_STEPS 600; data_parallel_controller.py: round robin; "
    "server_args.py: max running requests is reset to 48 for speculative decoding"
)
_TRT = "tensorrt_llm/llmapi/llm_args.py: capacity_scheduler_policy GUARANTEED_NO_EVICT, enable_chunked_prefill False"
ROWS = (
    Scheduler("vllm", (0,), mixed=False, chunked=False, whole_prompt=True,
              source="vllm/core/scheduler.py (V0): _schedule_default runs prompts first and whole"),
    Scheduler("vllm", (0, 8), keeps_preempted=True,
              padded_tokens=float("inf"), waiting_weight=4.0, ranks_routing="least-loaded",
              source=f"vllm/v1/core/sched/scheduler.py; {_DP}"),
    Scheduler("vllm", (0, 19), keeps_preempted=True, whole_prompt=True,
              padded_tokens=512.0, waiting_weight=4.0, ranks_routing="least-loaded",
              source=f"vllm pull requests 37307 (scheduler_reserve_full_isl), 34102 (padding in graphs only); {_DP}"),
    Scheduler("sglang", (0,), mixed=False, reserve_ratio=0.7,
              reserve_least_ratio=0.098, reserve_steps_count=600.0, speculating_sequences_count=48,
              source=_SGLANG),
    Scheduler("tensorrt-llm", (0,), chunked=False, reserve_ratio=1.0, reserve_least_ratio=1.0,
              ranks_routing="least-loaded",
              source="cpp/include/tensorrt_llm/executor/executor.h: enableChunkedContext false, kGUARANTEED_NO_EVICT"),
    Scheduler("tensorrt-llm", (0, 12), reserve_ratio=1.0, reserve_least_ratio=1.0, ranks_routing="least-loaded",
              source="cpp/include/tensorrt_llm/executor/executor.h: enableChunkedContext = true"),
    Scheduler("tensorrt-llm", (1,), chunked=False, reserve_ratio=1.0, reserve_least_ratio=1.0,
              ranks_routing="least-loaded", source=_TRT),
    Scheduler("llama.cpp", (0,), reserve_ratio=1.0, reserve_least_ratio=1.0, fixed_slots=True,
              batch_tokens=2048.0, micro_tokens=512.0,
              source="tools/server/server.cpp: n_ctx / n_parallel for each slot; common.h: n_batch 2048, n_ubatch 512"),
    Scheduler("llama.cpp", (7000,), reserve_ratio=1.0, reserve_least_ratio=1.0, batch_tokens=2048.0,
              micro_tokens=512.0,
              source="llama.cpp pull request 16736: four slots that share one pool of n_ctx, unless -np is given"),
    Scheduler("transformers", (0,), mixed=False, chunked=False, reserve_ratio=1.0, reserve_least_ratio=1.0,
              source="transformers generate(): one padded batch"),
    Scheduler("lmdeploy", (0,), source="lmdeploy turbomind: continuous batching with chunked prompts"),
)  # fmt: skip


@cache
def scheduler_of(engine: str, version: str = "") -> Scheduler:
    """The scheduler of ``engine`` at ``version``; "" = the latest known."""
    from cabida.memory.engines import named_engine, version_of

    word = named_engine(engine) or "vllm"
    known = [row for row in ROWS if row.engine == word] or [row for row in ROWS if row.engine == "vllm"]
    numbers = version_of(word, version)
    if not numbers:
        return known[-1]
    return next((row for row in reversed(known) if row.since <= numbers), known[0])
