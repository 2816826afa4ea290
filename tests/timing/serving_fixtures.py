"""Deployments and bare step models that several serving tests share."""

from __future__ import annotations

from dataclasses import replace

from cabida import facts
from cabida.plan import Deployment, Parallel, Settings
from cabida.timing.engine.step_table import bare_table
from cabida.timing.engine.steps import StepModel

IDLE = StepModel(
    launch_s=0.0, sequence_s=0.0, head_read_s=0.0, head_s_per_token=0.0, context_s_per_token=0.0,
    window_s_per_token=0.0, state_s_per_sequence=0.0, attended_s_per_token=0.0, stages_count=1.0,
    prompt_launch_s=0.0, host_s=0.0, request_s=0.0, first_steps_count=0.0, harness_steps_count=0.0,
    window_tokens=1e12, ranks_count=1, budget_tokens=1e9, sequences_most_count=10**6, kv_tokens=1e12,
    block_tokens=1.0, reserve_ratio=0.0, mixed=True,
)  # fmt: skip
READ_S, TOKEN_S = 5.9e-3, 2.5e-5  # an 8B model's weights in 16 bit, and one token's products with them
CARD = replace(  # about an 8B model in 16 bit on one H100
    IDLE, launch_s=1e-3, sequence_s=1e-5, table=bare_table(READ_S, TOKEN_S),
    context_s_per_token=5e-8, attended_s_per_token=1.2e-9, budget_tokens=8192.0, sequences_most_count=256,
    kv_tokens=450_000.0, block_tokens=16.0,
)  # fmt: skip


def deployment(
    model: str, accelerator: str, tp: int = 1, weights: str = "bf16", engine: str = "vllm", **settings: object
) -> Deployment:
    """A replica of ``model`` on ``tp`` cards with a 16-bit cache."""
    card = facts.accelerator(accelerator)
    return Deployment(
        facts.model(model), card, Parallel(tp=tp), facts.weight_format(weights), facts.weight_format("bf16"),
        engine, "", Settings(**settings), facts.node_for(card),  # type: ignore[arg-type]
    )  # fmt: skip
