"""How fast texts become vectors, and pairs of texts scores: one batch by FLOPs, traffic, launches and tokenizing.

Four terms: matrix products at the card's best rate times what encoders reach of it (narrow models reach less), what
is read and written between them, launches that no work hides, and the host, which cuts texts into tokens.
Coefficients come from ``data/encoders.json``, fitted by ``calibration/encoders.py`` with whole models left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from cabida.facts import weight_format
from cabida.facts.model import Accelerator, Model
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.plan.encoding import EncoderRun
from cabida.quantity import Quantity, formula, most
from cabida.timing.devices import kernels
from cabida.timing.devices.rates import best_matmul, memory_rate, tensor_rate, vector_rate
from cabida.timing.stages.encoder_data import Host, constant, encoder_facts, engine_rules

BYTES_OF = {"fp32": 4.0}  # of a value between layers; everything else computes in 16 bit
# hidden sizes read and written a token and layer outside products: biases, two norms, residuals, an activation four
# times as wide, three transposes; counted in transformers' BertLayer
HIDDEN_TRAFFIC_COUNT = 26.0
# scores read and written where attention is not fused: product, mask, softmax, product
SCORE_TRAFFIC_COUNT = 6.0
FUSED_TRAFFIC_COUNT = 12.0  # the same with norms, biases and activations fused into their neighbours
KERNELS_PER_LAYER_COUNT = 12.0  # launches of one layer: six products, attention, norms and activation


@formula
def encoder_product_flop(params_count: float, tokens: float) -> float:
    """Multiply-adds of the layers' matrices, embeddings left aside: two a weight and token."""
    return 2 * params_count * tokens


@formula
def encoder_attention_flop(
    layers_count: float, width_count: float, longest_tokens: float, tokens: float, causal_ratio: float
) -> float:
    """Scores and their product with the values, of texts padded to one length. Vaswani et al. 2017."""
    return 4 * layers_count * width_count * longest_tokens * tokens * causal_ratio


@formula
def encoder_batch_flop(product_flop: float, attention_flop: float) -> float:
    """All work of a batch."""
    return product_flop + attention_flop


@formula
def encoder_width_ratio(width_count: float, half_width_count: float) -> float:
    """Share of the best rate that products of this width reach: half of it at ``half_width_count``."""
    return width_count / (width_count + half_width_count)


@formula
def encoder_products_s(
    flop: float, flop_per_s: float, card_matmul_ratio: float, encoder_matmul_ratio: float, width_ratio: float
) -> float:
    """Time of the matrix products of a batch."""
    return flop / (flop_per_s * card_matmul_ratio * encoder_matmul_ratio * width_ratio)


@formula
def encoder_kernels_s(
    kernels_s: float,
    attention_flop: float,
    flop_per_s: float,
    card_matmul_ratio: float,
    kernel_share_ratio: float,
) -> float:
    """The same in 16 bit: products by the curves of measured kernels, attention at the card's best rate."""
    return (kernels_s + attention_flop / (flop_per_s * card_matmul_ratio)) / kernel_share_ratio


@formula
def encoder_between_s(
    tokens: float,
    layers_count: float,
    traffic_count: float,
    value_bytes: float,
    bytes_per_s: float,
    stream_ratio: float,
) -> float:
    """Time to read and write what lies between products, at the rate memory streams."""
    return tokens * layers_count * traffic_count * value_bytes / (bytes_per_s * stream_ratio)


@formula
def encoder_launches_s(layers_count: float, kernels_count: float, launch_s: float) -> float:
    """Time the host takes to start a batch's kernels, one after another."""
    return layers_count * kernels_count * launch_s


@formula
def encoder_tokenizing_s(texts_count: float, tokens: float, host_text_s: float, host_token_s: float) -> float:
    """Time the host takes to cut texts into tokens, copy them and take results back."""
    return texts_count * host_text_s + tokens * host_token_s


@formula
def encoder_batch_s(
    products_s: float,
    between_s: float,
    weights_s: float,
    launches_s: float,
    tokenizing_s: float,
    hidden_ratio: float,
) -> Any:
    """One batch: the device's work or the launches, whichever is longer, and the tokenizing that nothing hides."""
    return most(most(products_s + between_s, weights_s), launches_s) + tokenizing_s * (1 - hidden_ratio)


@dataclass(frozen=True, slots=True)
class Texts:
    """What is encoded: how long texts are (tokens a text or pair), how uneven, and whether they come in pairs."""

    mean_tokens: float
    spread_ratio: float = 0.0  # standard deviation of ln(length)
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class EncoderSpeed:
    """How fast an encoder works at its batch. ``spread``: factors of the 90 % interval of every rate."""

    texts_per_s: float
    tokens_per_s: float  # of the texts themselves, padding left aside
    batch_s: float
    padded_ratio: float  # tokens worked on over tokens of the texts
    parts: dict[str, float]  # seconds of a batch: products, between, launches, tokenizing
    spread: tuple[float, float]
    basis: str  # calibrated where the card and engine were measured, else physics


def layer_params_count(model: Model) -> float:
    """Weights every token is multiplied with: attention and feed-forward, of experts as many as it is sent to."""
    found = 0.0
    for group in model.attention:
        width = group.heads_count * group.head_dim_count
        kv = group.kv_heads_count * (group.head_dim_count + (group.v_head_dim_count or group.head_dim_count))
        each = group.params_count or model.hidden_dim_count * (2 * width + kv)
        found += group.layers_count * each
    for layer in model.mlp:
        wide = (
            layer.intermediate_dim_count * max(1, layer.experts_per_token_count)
            + layer.shared_intermediate_dim_count
        )
        found += layer.layers_count * layer.matrices_count * model.hidden_dim_count * wide
    return found


def kernel_products_s(model: Model, weights: str, tokens: float, card: Accelerator) -> float:
    """Seconds of all matrix products of a batch by the curves of measured kernels (``timing/devices/kernels.py``)."""
    rows, fmt = max(1, round(tokens)), weight_format(weights)
    hidden, found = float(model.hidden_dim_count), 0.0
    for group in model.attention:
        width = float(group.heads_count * group.head_dim_count)
        kv = float(
            group.kv_heads_count * (group.head_dim_count + (group.v_head_dim_count or group.head_dim_count))
        )
        each = kernels.gemm_s(rows, width + kv, hidden, fmt, card) + kernels.gemm_s(
            rows, hidden, width, fmt, card
        )
        found += group.layers_count * float(each)
    for layer in model.mlp:
        wide = float(layer.intermediate_dim_count * max(1, layer.experts_per_token_count))
        wide += layer.shared_intermediate_dim_count
        up = (layer.matrices_count - 1) * wide
        each = kernels.gemm_s(rows, up, hidden, fmt, card) + kernels.gemm_s(rows, hidden, wide, fmt, card)
        found += layer.layers_count * float(each)
    return found


def longest_of(texts: Texts, count: int) -> float:
    """Expected longest of ``count`` texts whose lengths are log-normal (Blom 1958 for the normal order statistic)."""
    if texts.spread_ratio <= 0 or count <= 1:
        return texts.mean_tokens
    z = NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
    return texts.mean_tokens * math.exp(texts.spread_ratio * z - texts.spread_ratio**2 / 2)


def padded_of(run_engine: str, texts: Texts, count: int, context_tokens: int | None) -> float:
    """Tokens each text of a batch is worked on as: its own where nothing is padded, the batch's longest where it is."""
    rules = engine_rules(run_engine)
    sorted_first = rules["sorts"] and not (texts.pairs and not rules["sorts_pairs"])
    if not rules["pads"] or sorted_first:
        return texts.mean_tokens
    return max(texts.mean_tokens, min(longest_of(texts, count), float(context_tokens or math.inf)))


def _batch(
    model: Model,
    weights: str,
    compute: str,
    engine: str,
    place: Accelerator | Host,
    texts: Texts,
    count: float,
    lens: Lens,
) -> dict[str, Number]:
    """Parts of a batch and the batch itself, through a lens."""
    rules = engine_rules(engine)
    padded = padded_of(engine, texts, max(1, round(count)), model.context_tokens)
    tokens = lens.setting("tokens", count * padded)
    layers = lens.setting("layers_count", float(model.layers_count))
    width = float(max(group.heads_count * group.head_dim_count for group in model.attention))
    causal = lens.setting("causal_ratio", 1.0 if model.bidirectional else 0.5)
    worked = lens.of(encoder_product_flop)(lens.setting("params_count", layer_params_count(model)), tokens)
    scored = lens.of(encoder_attention_flop)(
        layers, lens.setting("width_count", width), lens.setting("longest_tokens", padded), tokens, causal
    )
    narrow = lens.of(encoder_width_ratio)(
        lens.field(model, "hidden_dim_count"), lens.constant(constant("half_width_count"))
    )
    if isinstance(place, Host):
        rate, stream = place.flop_per_s, place.bytes_per_s
        best = lens.constant(constant("host_matmul_ratio"))
    else:
        rate, stream = (
            tensor_rate(place, compute) if compute != "fp32" else vector_rate(place),
            memory_rate(place),
        )
        best = lens.constant(best_matmul(place))
    value_bytes = BYTES_OF.get(compute, 2.0)
    scores = 0.0 if rules["fused"] else SCORE_TRAFFIC_COUNT * _heads(model) * padded
    traffic = (
        FUSED_TRAFFIC_COUNT if rules["fused"] else HIDDEN_TRAFFIC_COUNT
    ) * model.hidden_dim_count + scores
    ratio = lens.constant(constant("encoder_matmul_ratio"))
    if isinstance(place, Accelerator) and compute != "fp32":
        by_curves = lens.setting("kernels_s", kernel_products_s(model, weights, count * padded, place))
        share = lens.constant(constant("kernel_share_ratio"))
        products = lens.of(encoder_kernels_s)(
            by_curves, scored, lens.setting("flop_per_s", rate), best, share
        )
    else:
        products = lens.of(encoder_products_s)(
            lens.of(encoder_batch_flop)(worked, scored), lens.setting("flop_per_s", rate), best, ratio, narrow
        )
    found: dict[str, Number] = {
        "products": products,
        "between": lens.of(encoder_between_s)(
            tokens, layers, lens.setting("traffic_count", traffic), lens.setting("value_bytes", value_bytes),
            lens.setting("bytes_per_s", stream), lens.constant(constant("stream_ratio")),
        ),
        "launches": lens.of(encoder_launches_s)(
            layers, lens.setting("kernels_count", 0.0 if isinstance(place, Host) else KERNELS_PER_LAYER_COUNT),
            lens.constant(constant("launch_s")),
        ),
        "tokenizing": lens.of(encoder_tokenizing_s)(
            lens.setting("texts_count", count), lens.setting("own_tokens", count * texts.mean_tokens),
            lens.constant(constant("host_text_s")), lens.constant(constant("host_token_s")),
        ),
    }  # fmt: skip
    found["weights"] = lens.setting("weights_s", layer_params_count(model) * value_bytes / stream)
    found["batch"] = lens.of(encoder_batch_s)(
        found["products"], found["between"], found["weights"], found["launches"], found["tokenizing"],
        lens.setting("hidden_ratio", rules["hides_tokenizing"]),
    )  # fmt: skip
    return found


def _heads(model: Model) -> int:
    return max(group.heads_count for group in model.attention)


def _compute(run: EncoderRun) -> str:
    """The type products are worked in: fp32 weights stay fp32."""
    return "fp32" if run.weights.id == "fp32" else run.weights.compute


def encode_s(run: EncoderRun, texts: Texts, count: float) -> float:
    """Seconds of one batch of ``count`` texts (or pairs) on one accelerator."""
    found = _batch(run.model, run.weights.id, _compute(run), run.engine, run.accelerator, texts, count, PLAIN)
    return float(found["batch"])


def host_encode_s(model: Model, host: Host, texts: Texts, count: float, engine: str = "onnx") -> float:
    """Seconds of one batch on a host's cores, in fp32."""
    return float(_batch(model, "fp32", "fp32", engine, host, texts, count, PLAIN)["batch"])


def encoder_speed(run: EncoderRun, texts: Texts) -> EncoderSpeed:
    """Texts and tokens per second at the run's batch, everything queued.

    Args:
        run: model x accelerator x format x engine x batch.
        texts: lengths; their mean stands in place of the run's longest.
    """
    count = batch_texts(run, texts)
    found = {
        name: float(value)
        for name, value in _batch(
            run.model, run.weights.id, _compute(run), run.engine, run.accelerator, texts, count, PLAIN
        ).items()
    }
    whole = found.pop("batch")
    found.pop("weights")
    padded = padded_of(run.engine, texts, round(count), run.model.context_tokens)
    return EncoderSpeed(
        texts_per_s=count / whole,
        tokens_per_s=count * texts.mean_tokens / whole,
        batch_s=whole,
        padded_ratio=padded / texts.mean_tokens,
        parts=found,
        spread=spread_of_encoder(run),
        basis="calibrated" if _is_seen(run) else "physics",
    )


def batch_texts(run: EncoderRun, texts: Texts) -> float:
    """Texts an engine works on at once: as asked, or as its own limit of tokens holds."""
    limit = run.max_batch_tokens or engine_rules(run.engine)["batch_tokens"]
    return max(1.0, limit / texts.mean_tokens) if limit else float(max(1, run.batch_count))


def _is_seen(run: EncoderRun) -> bool:
    return run.accelerator.id in encoder_facts()["seen_setups"].get(run.engine, ())


def spread_of_encoder(run: EncoderRun) -> tuple[float, float]:
    """Factors of the 90 % interval: from models left out where card and engine were measured, wider elsewhere."""
    low, high = encoder_facts()["spread"]["seen" if _is_seen(run) else "unseen"]
    return float(low), float(high)


def encoder_speed_tree(run: EncoderRun, texts: Texts, *, batch_limit: bool = True) -> dict[str, Quantity]:
    """Seconds of a batch and its parts with their provenance; without ``batch_limit`` of the run's own batch."""
    count = batch_texts(run, texts) if batch_limit else float(run.batch_count)
    made = _batch(
        run.model, run.weights.id, _compute(run), run.engine, run.accelerator, texts, count, Explaining()
    )
    return {f"encode_{name}_s": node for name, node in made.items() if isinstance(node, Quantity)}
