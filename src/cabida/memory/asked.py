"""The settings a deployment comes to once its engine's defaults are filled in."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.memory import budget as budgets
from cabida.memory.cache import remembered
from cabida.memory.engines import EngineRules, rules_for
from cabida.memory.params import Experts
from cabida.memory.weights import Split, as_published
from cabida.plan import Deployment

DEFAULT_CONTEXT_TOKENS = 4096
PROMPT_TOKENS_MOST = (
    4096  # Transformers: longer prompts show no larger peak (Qwen3 speed tables, 6k to 30k tokens)
)
CHUNKED_ABOVE_TOKENS = 32768  # vLLM V0 switches chunked prefill on for longer contexts (engine/arg_utils.py)


@dataclass(frozen=True, slots=True)
class Asked:
    """Settings after the engine's defaults."""

    row: EngineRules
    split: Split
    ranks: int
    max_len: int
    sequences: int
    batched: int
    graph_sizes: int


def asked(d: Deployment) -> Asked:
    """What the deployment comes to once the engine's defaults are filled in."""
    row = rules_for(d.engine, d.engine_version, d.model)
    p, s = d.parallel, d.settings
    large = budgets.is_large(d.accelerator)
    max_len = s.max_model_len or int(d.model.context_tokens or DEFAULT_CONTEXT_TOKENS)
    sequences = s.max_num_seqs or (row.large_sequences_count if large else row.sequences_count)
    batched = s.max_num_batched_tokens or (row.large_batched_tokens if large else row.batched_tokens)
    if _profiles_prompts(row) and not s.max_num_batched_tokens:
        chunked = row.chunk_tokens and max_len > CHUNKED_ABOVE_TOKENS and d.model.tower is None
        batched = row.chunk_tokens if chunked else max(max_len, 2048)
    elif row.batched_tokens == 0 and not s.max_num_batched_tokens:
        batched = (max_len if row.whole_logits else min(max_len, PROMPT_TOKENS_MOST)) * sequences
    elif row.splits_layers:
        batched = min(batched, row.micro_batch_tokens) if row.micro_batch_tokens else batched * sequences
    elif row.engine == "sglang" and not s.max_num_batched_tokens:
        batched = budgets.static_chunk(d.accelerator.usable_bytes, p.tp)[0]
    if row.splits_layers:
        split = Split(1, p.tp * p.pp, layers=True, pad=1)
    else:
        key = (
            "split",
            d.weights.id,
            p.tp,
            p.pp,
            p.dp,
            p.ep,
            row.engine,
            row.since,
            s.layer_partition,
            s.redundant_experts,
        )
        split = remembered(d.model, key, lambda: _split(d, row))
    sizes = 0 if s.enforce_eager else min(row.graph_sizes_count, 3 + min(512, 2 * sequences) // 8)
    ranks = p.tp * p.pp if row.budget != "asked" else 1  # engines of one process have no peers to talk to
    return Asked(row, split, ranks, max_len, sequences, batched, sizes)


def _profiles_prompts(row: EngineRules) -> bool:
    """Whether the profile run is one batch of the longest prompts (vLLM V0)."""
    return row.engine.startswith("vllm") and row.since < (0, 8)


def _split(d: Deployment, row: EngineRules) -> Split:
    p = d.parallel
    return Split(
        p.tp, p.pp, pad=row.pad_count, experts=_experts(d, row), partition=d.settings.layer_partition
    )


def _experts(d: Deployment, row: EngineRules) -> Experts:
    """Experts are shared by all accelerators of a stage, data-parallel ones included: whole, or sliced without EP."""
    share = d.parallel.tp * d.parallel.dp
    owners = min(d.parallel.ep, share)
    held = as_published(d.model, d.weights).id
    pad = row.expert_pad_count if "mxfp4" in held else 1
    return Experts(owners, max(1, share // owners), pad, d.settings.redundant_experts)
