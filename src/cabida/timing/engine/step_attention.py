"""What attention of one rank costs in a step: by sequence, by token of context, by token and pair of a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cabida.memory.cache import remembered
from cabida.plan import Deployment
from cabida.timing.devices.kernels import (
    Attention,
    decode_attention,
    latent_decode,
    prefill_attention,
    recurrent_attention,
)
from cabida.timing.engine.coefficients import engine_key

if TYPE_CHECKING:
    from cabida.facts.model import AttentionLayers

SPARSE_TOKENS = 2048  # what an indexer picks: index_topk of DeepSeek-V3.2 and GLM-5
INDEX_BITS = 8.0  # index keys are cached in fp8: DeepSeek-V3.2, inference/model.py
UNLIMITED = 1e12


class AttentionWork(NamedTuple):
    """Seconds of all attention layers of one rank."""

    start_s: float  # every step
    sequence_s: float  # every decoding sequence
    context_s_per_token: float
    window_s_per_token: float
    prompt_s_per_token: float
    pair_s: float
    window_tokens: float


def attention_of(d: Deployment) -> AttentionWork:
    """Attention of a deployment; remembered by model, card, split, cache and engine."""
    card = d.accelerator
    rates = (card.id, card.capability, card.memory_bytes_per_s, *card.flop_per_s.values())
    key = ("step attention", rates, d.parallel.tp, d.kv_cache.id, engine_key(d.engine))
    return remembered(d.model, key, lambda: _attention(d))


def _attention(d: Deployment) -> AttentionWork:
    start = sequence = context = window = token = pair = 0.0
    windows: list[float] = []
    for group in d.model.attention:
        layers, linear = group.layers_count, group.kind == "linear"
        decode, prompt = _recurrent(d, group) if linear else _attending(d, group)
        start += layers * decode.start_s
        sequence += layers * (decode.s_per_sequence + (decode.s_per_token if linear else 0.0))
        token += layers * prompt.s_per_token
        if linear:
            continue
        reach = group.window_tokens if group.kind == "sliding" else 0
        if group.index_dim_count:  # every index key is read, and the latents of those it picks
            index = group.index_dim_count * INDEX_BITS / _bits(d, group)
            context += layers * decode.s_per_token * index
            reach = SPARSE_TOKENS
        if reach:
            windows.append(float(reach))
            window += layers * decode.s_per_token
            token += layers * reach * prompt.s_per_pair
        else:
            context += layers * decode.s_per_token
            pair += layers * prompt.s_per_pair
    return AttentionWork(start, sequence, context, window, token, pair, max(windows, default=UNLIMITED))


def _bits(d: Deployment, group: AttentionLayers) -> float:
    return (group.latent_dim_count + group.rope_dim_count) * d.kv_cache.body_bits


def _attending(d: Deployment, group: AttentionLayers) -> tuple[Attention, Attention]:
    """One layer that attends to a cache, for single tokens and for prompts."""
    tp, card, engine = d.parallel.tp, d.accelerator, engine_key(d.engine)
    heads, value = group.heads_count / tp, float(group.v_head_dim_count or group.head_dim_count)
    key = float(group.head_dim_count)
    if group.kind == "mla":
        latent, rope = float(group.latent_dim_count), float(group.rope_dim_count)
        return (
            latent_decode(heads, latent, rope, d.kv_cache, card, engine),
            prefill_attention(heads, heads, key, value, d.kv_cache, card, engine, latent=True),
        )
    shared = group.kv_heads_count / min(tp, max(group.kv_heads_count, 1))
    return (
        decode_attention(heads, shared, key, value, d.kv_cache, card, engine),
        prefill_attention(heads, shared, key, value, d.kv_cache, card, engine),
    )


def _recurrent(d: Deployment, group: AttentionLayers) -> tuple[Attention, Attention]:
    """One layer of linear attention. Its convolution keeps three past values of each of its inputs."""
    tp, card, engine = d.parallel.tp, d.accelerator, engine_key(d.engine)
    values = 2.0 * group.conv_elements_count / 3 / tp
    state = group.state_elements_count / tp
    return (
        recurrent_attention(state, values, card, engine, prompt=False),
        recurrent_attention(state, values, card, engine, prompt=True),
    )
