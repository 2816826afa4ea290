"""Work of one training token, counted from the architecture.

Convention: multiply and add are two operations; the input embedding is a look-up and counts nothing; attention
is causal; recomputation is counted apart and never in the MFU. For a dense model trained in full this gives
``6 (N - V h) + 6 L h s``, which is how NVIDIA's Megatron-Bridge tables count (8B, 70B and 405B at 8k to 0.1 %).
PaLM's ``6 N + 12 L h s`` counts the full attention matrix: never compare an MFU across the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cabida import memory
from cabida.facts.model import AttentionLayers
from cabida.memory.lens import PLAIN, Lens, Number
from cabida.plan import TrainingRun
from cabida.quantity import formula, least


@formula
def attended_tokens(seq_tokens: float, window_tokens: float) -> Any:
    """Positions a token attends to on average under a causal mask, with or without a sliding window."""
    reach_tokens = least(window_tokens, seq_tokens)
    return reach_tokens - reach_tokens * reach_tokens / (2 * seq_tokens)


@formula
def attention_forward_flop_per_token(
    layers_count: float,
    heads_count: float,
    key_dim_count: float,
    value_dim_count: float,
    attended_tokens: float,
) -> Any:
    """Scores and weighted sum of one token, forward only, in FLOP. Megatron-LM (arXiv 2104.04473), causal."""
    return 2 * layers_count * heads_count * (key_dim_count + value_dim_count) * attended_tokens


@formula
def state_forward_flop_per_token(layers_count: float, state_elements_count: float) -> Any:
    """Update and read-out of a recurrent state, forward only, in FLOP: two products per element of the state."""
    return 4 * layers_count * state_elements_count


@formula
def sum_flop_per_token(first_flop_per_token: float, second_flop_per_token: float) -> Any:
    """Work of two components together."""
    return first_flop_per_token + second_flop_per_token


@formula
def matmul_params_count(
    active_params_count: float, lookup_params_count: float, extra_params_count: float
) -> Any:
    """Weights one token is multiplied with: active ones without the embedding look-up and vision towers."""
    return active_params_count - lookup_params_count - extra_params_count


@formula
def weights_flop_per_token(matmul_params_count: float, passes_count: float) -> Any:
    """Products with the weights in FLOP: two per weight and pass.

    Passes are 3 when every weight is trained (forward, gradient of the input, gradient of the weight), 2 when
    weights are frozen under adapters (LoRA: about 4 N), and a fraction between when only some are.
    """
    return 2 * matmul_params_count * passes_count


@formula
def routed_flop_per_token(flop_per_token: float, routed_ratio: float) -> Any:
    """The part of the products that is done in routed experts."""
    return flop_per_token * routed_ratio


@formula
def shared_flop_per_token(flop_per_token: float, routed_ratio: float) -> Any:
    """The part of the products that every token goes through."""
    return flop_per_token * (1 - routed_ratio)


@formula
def mixing_flop_per_token(mixing_forward_flop_per_token: float, passes_count: float) -> Any:
    """Attention and state updates in FLOP: the backward pass costs two forwards, adapters or not."""
    return mixing_forward_flop_per_token * passes_count


@dataclass(frozen=True, slots=True)
class Work:
    """Work of one token, in FLOP; each number is a float or a quantity, as the lens gives them."""

    weights: Number  # products with weights that count as useful
    mixing: Number  # attention and recurrent states that count as useful
    model: Number  # both: what an MFU is reckoned with
    matmul_params: Number
    weights_recomputed: Number  # done again in the backward pass, not useful
    mixing_recomputed: Number


def trains_adapters(run: TrainingRun) -> bool:
    """Whether the model's own weights are frozen and small adapters are trained instead."""
    return run.method in ("lora", "qlora")


@formula
def palm_flop_per_token(
    params_count: float, layers_count: float, hidden_dim_count: float, seq_tokens: float
) -> Any:
    """``6 N + 12 L h s``: the whole attention matrix counted. PaLM (arXiv 2204.02311), llm-foundry, Megatron-LM."""
    return 6 * params_count + 12 * layers_count * hidden_dim_count * seq_tokens


@formula
def six_n_flop_per_token(params_count: float) -> Any:
    """``6 N``: attention left out. Kaplan et al. 2020, model cards."""
    return 6 * params_count


def flop_by_convention(run: TrainingRun) -> dict[str, float]:
    """Work of one token as others count it, FLOP: divide a printed MFU by its own and multiply by ours to compare.

    ``causal`` is ours; ``palm`` and ``6n`` take active weights whole, embedding included; ``hardware`` adds what is
    recomputed (HFU). Adapters count as 2 passes of 3 in each, as NVIDIA's tables have it.
    """
    work = work_per_token(run, PLAIN)
    counted = memory.params(run.model)
    share = 2 / 3 if trains_adapters(run) else 1.0
    active = counted.active_count - counted.extra_count
    layers, width = run.model.layers_count, run.model.hidden_dim_count
    six = six_n_flop_per_token.raw(active)
    return {
        "causal": float(work.model),
        "palm": share * six + palm_flop_per_token.raw(0.0, layers, width, run.seq_tokens),
        "6n": share * six,
        "hardware": float(work.model + work.weights_recomputed + work.mixing_recomputed),
    }


def adds_products(run: TrainingRun) -> bool:
    """Whether adapters add matrix products to each layer: LoRA and its kin do, prompts and scales don't."""
    return trains_adapters(run) and not run.adapter.startswith(("llama-adapter", "ia3", "prefix", "prompt"))


def recomputed_passes(run: TrainingRun) -> float:
    """Forward passes done again in the backward pass: of all layers, or of every n-th."""
    return 1.0 / max(1, run.recompute_every_count) if run.recompute == "full" else 0.0


def work_per_token(run: TrainingRun, lens: Lens) -> Work:
    """The work of one token of ``run``: useful and recomputed, in FLOP."""
    counted = memory.params(run.model)
    tied = run.model.tied_embeddings
    params = lens.of(matmul_params_count)(
        lens.field(run.model, "active_params_count", counted.active_count),
        lens.field(run.model, "lookup_params_count", 0.0 if tied else counted.embedding_count),
        lens.field(run.model, "extra_params_count", counted.extra_count),
    )
    forward = _mixing_forward(run, lens)
    weights = lens.of(weights_flop_per_token)(
        params, lens.setting("passes_count", 2.0 if trains_adapters(run) else 3.0)
    )
    mixing = lens.of(mixing_flop_per_token)(forward, lens.setting("passes_count", 3.0))
    again = recomputed_passes(run)
    again_weights = lens.setting("passes_count", again)
    again_mixing = lens.setting("passes_count", 1.0 if run.recompute == "selective" else again)
    return Work(
        weights=weights,
        mixing=mixing,
        model=lens.of(sum_flop_per_token)(weights, mixing),
        matmul_params=params,
        weights_recomputed=lens.of(weights_flop_per_token)(params, again_weights),
        mixing_recomputed=lens.of(mixing_flop_per_token)(forward, again_mixing),
    )


def _mixing_forward(run: TrainingRun, lens: Lens) -> Number:
    """Attention and state work of all layers, forward only."""
    whole: Number = None
    for group in run.model.attention:
        part = _group_forward(run, group, lens)
        whole = part if whole is None else lens.of(sum_flop_per_token)(whole, part)
    return lens.setting("absent_flop_per_token", 0.0) if whole is None else whole


def _group_forward(run: TrainingRun, group: AttentionLayers, lens: Lens) -> Number:
    layers = lens.field(run.model, "layers_count", group.layers_count)
    if group.kind == "linear":
        elements = lens.field(run.model, "state_elements_count", group.state_elements_count)
        return lens.of(state_forward_flop_per_token)(layers, elements)
    window = group.window_tokens if group.kind == "sliding" and group.window_tokens else run.seq_tokens
    attended = lens.of(attended_tokens)(
        lens.setting("seq_tokens", run.seq_tokens), lens.field(run.model, "window_tokens", window)
    )
    return lens.of(attention_forward_flop_per_token)(
        layers,
        lens.field(run.model, "heads_count", group.heads_count),
        lens.field(run.model, "key_dim_count", group.head_dim_count),
        lens.field(run.model, "value_dim_count", group.v_head_dim_count or group.head_dim_count),
        attended,
    )


def trained_params(run: TrainingRun) -> float:
    """Weights that get gradients: all of them, or the adapters' (rank x both sides of each matrix)."""
    counted = memory.params(run.model)
    if not trains_adapters(run):
        return counted.total_count
    matrices = 4 if run.lora_targets == "attention" else 7
    return float(2 * run.lora_rank * matrices * run.model.layers_count * run.model.hidden_dim_count)
