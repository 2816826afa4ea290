"""Does an embedder or a reranker fit: weights and one batch; no cache that grows with what was said before.

Encoders keep nothing between two batches. Embedders made of a decoder do build keys and values, which vLLM pools
(it takes its share of the card all the same) and transformers keeps for the length of one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cabida import facts
from cabida.facts.model import Model
from cabida.memory import budget as budgets
from cabida.memory import media_constants as media
from cabida.memory.constants import GIB, Constant, read
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.limits import largest, verdict_of
from cabida.memory.media_parts import driver_bytes
from cabida.memory.weights import Split, plain_weights_bytes, weights_on_accelerator
from cabida.plan import Deployment, Parallel, Settings
from cabida.plan.encoding import EncoderRun
from cabida.quantity import Quantity, Source, formula, most
from cabida.text import number, size, tr
from cabida.units import BITS_PER_BYTE

UNFUSED = (
    "mpnet",
    "deberta",
)  # position biases inside their attention: transformers has no fused kernel for it
LARGEST_BATCH = 1 << 20  # engines that cut batches up themselves take any number
SPREAD = (0.85, 1.25)  # 90 % interval as factors: assumed, no measured rows of encoders are carried
_TRANSFORMERS = "https://github.com/huggingface/transformers"
_TEI = "https://github.com/huggingface/text-embeddings-inference"

HIDDEN_COPIES_COUNT = read(
    "hidden_copies_count", 3.0, "live tensors of BertLayer at its peak: residual, input and output of the wide "
    "layer's neighbours (followed on the meta device: 11 hidden sizes with a feed-forward four times as wide)",
    _TRANSFORMERS, "derived",
)  # fmt: skip
PLAIN_WIDTHS_COUNT = read(
    "width_copies_count", 2.0, "the wide layer before and after its activation", _TRANSFORMERS, "derived"
)
GATED_HIDDEN_COPIES_COUNT = read(
    "hidden_copies_count", 4.0, "live tensors of a gated layer (Qwen3: 13 hidden sizes with one three times as wide)",
    _TRANSFORMERS, "derived",
)  # fmt: skip
GATED_WIDTHS_COUNT = read("width_copies_count", 3.0, "gate, up and their product", _TRANSFORMERS, "derived")
ROTARY_COPIES_COUNT = read(
    "rotary_copies_count", 15.0, "queries, keys and their rotations (ModernBERT: 15 hidden sizes)", _TRANSFORMERS,
    "derived",
)  # fmt: skip
NO_ROTARY_COPIES_COUNT = read(
    "rotary_copies_count", 0.0, "learned positions; a decoder's shared heads rotate less than its wide layer takes",
    _TRANSFORMERS, "derived",
)  # fmt: skip
TEI_BATCH_TOKENS = read(
    "max_batch_tokens", 16384.0, "TEI --max-batch-tokens, which it warms up with", _TEI, "vendor"
)
VLLM_BATCH_TOKENS = read(
    "max_batch_tokens", 8192.0, "vLLM max_num_batched_tokens of a pooling model, at least its longest input",
    "https://docs.vllm.ai/en/latest/models/pooling_models.html", "quoted",
)  # fmt: skip
LLAMA_BATCH_TOKENS = read(
    "max_batch_tokens", 512.0, "llama.cpp -ub: an embedding batch must hold its longest input whole",
    "https://github.com/ggml-org/llama.cpp", "quoted",
)  # fmt: skip
ENGINE_BYTES = Constant(
    "engine_bytes", 0.05 * GIB, 0.0, 0.3 * GIB,
    Source("workspaces of matrix multiplications", "", "2026-11-30", "assumed"),
)  # fmt: skip


@formula
def layer_bytes(
    tokens: float,
    hidden_dim_count: float,
    intermediate_dim_count: float,
    hidden_copies_count: float,
    width_copies_count: float,
    rotary_copies_count: float,
    body_bits: float,
) -> Any:
    """Live tensors of one encoder layer at its peak, in its attention or in its feed-forward part."""
    wide_count = hidden_copies_count * hidden_dim_count + width_copies_count * intermediate_dim_count
    return tokens * most(wide_count, rotary_copies_count * hidden_dim_count) * body_bits / BITS_PER_BYTE


@formula
def whole_scores_bytes(
    batch_count: float, heads_count: float, input_tokens: float, copies_count: float, body_bits: float
) -> float:
    """Attention scores of one layer where they are kept whole: quadratic in the length."""
    return batch_count * heads_count * input_tokens**2 * copies_count * body_bits / BITS_PER_BYTE


@formula
def batch_kv_bytes(tokens: float, kv_elements_count: float, body_bits: float) -> float:
    """Keys and values of all layers that a decoder builds for one batch (transformers keeps them: use_cache)."""
    return tokens * kv_elements_count * body_bits / BITS_PER_BYTE


@dataclass(frozen=True, slots=True)
class EncoderMemory:
    """Memory of one accelerator of an encoder run, in bytes. ``largest``: the other as asked; 0 = none fits."""

    usable_bytes: float
    parts: dict[str, float]  # weights, activations, kv_cache (decoders only), other
    peak_bytes: float
    low_bytes: float  # 90 % interval of the peak
    high_bytes: float
    needed_bytes: float  # as the driver shows it
    takes_its_share: (
        bool  # the engine fills its share of the card with a pool, however little the model needs
    )
    verdict: str  # fits | tight | no
    headroom_bytes: float
    context_bytes: float  # of what is needed: CUDA context and kernels of the process
    largest_batch_count: int
    largest_input_tokens: int  # at most what the model takes
    cure: str


def is_decoder(model: Model) -> bool:
    """Whether an embedder is made of a decoder, which builds keys and values; one made to look both ways doesn't."""
    return not model.bidirectional


def keeps_scores(run: EncoderRun) -> bool:
    """Whether attention scores are kept whole: asked for, by llama.cpp, or in families without a fused kernel."""
    unfused = run.engine == "sentence-transformers" and any(word in run.model.id.lower() for word in UNFUSED)
    return run.eager_attention or run.engine == "llama.cpp" or unfused


def worked_tokens(run: EncoderRun) -> float:
    """Tokens the engine works on at once: padded batches, or its own limit."""
    asked = float(run.batch_count * run.input_tokens)
    if run.engine == "tei":
        return float(run.max_batch_tokens or TEI_BATCH_TOKENS.value)
    if run.engine == "vllm":
        return float(run.max_batch_tokens or max(VLLM_BATCH_TOKENS.value, float(run.input_tokens)))
    if run.engine == "llama.cpp":
        return float(run.max_batch_tokens or max(LLAMA_BATCH_TOKENS.value, float(run.input_tokens)))
    return asked


def _parts(run: EncoderRun, lens: Lens) -> dict[str, Number]:
    model, tokens = run.model, lens.setting("tokens", worked_tokens(run))
    gated = model.mlp[0].matrices_count >= 3
    bits = 32.0 if run.weights.id == "fp32" or run.engine == "llama.cpp" else 16.0
    held = lens.setting("body_bits", bits)
    rotary = ROTARY_COPIES_COUNT if gated and not is_decoder(model) else NO_ROTARY_COPIES_COUNT
    width = max(group.intermediate_dim_count * max(1, group.experts_per_token_count) for group in model.mlp)
    alive = lens.of(layer_bytes)(
        tokens, lens.field(model, "hidden_dim_count"), lens.setting("intermediate_dim_count", width),
        lens.constant(GATED_HIDDEN_COPIES_COUNT if gated else HIDDEN_COPIES_COUNT),
        lens.constant(GATED_WIDTHS_COUNT if gated else PLAIN_WIDTHS_COUNT), lens.constant(rotary), held,
    )  # fmt: skip
    if lens is PLAIN:
        weights: Number = plain_weights_bytes(model, run.weights, Split())
    else:
        weights = weights_on_accelerator(model, run.weights, Split(), lens)
    found = {"weights": weights, "activations": alive}
    if keeps_scores(run):
        scores = lens.of(whole_scores_bytes)(
            lens.setting("batch_count", worked_tokens(run) / run.input_tokens),
            lens.setting("heads_count", max(group.heads_count for group in model.attention)),
            lens.setting("input_tokens", run.input_tokens), lens.constant(media.SCORE_COPIES_COUNT), held,
        )  # fmt: skip
        found["scores"] = scores
    if is_decoder(model) and run.engine != "tei":
        kept = sum(
            group.layers_count
            * group.kv_heads_count
            * (group.head_dim_count + (group.v_head_dim_count or group.head_dim_count))
            for group in model.attention
        )
        found["kv_cache"] = lens.of(batch_kv_bytes)(
            tokens, lens.setting("kv_elements_count", kept), lens.setting("body_bits", 16.0)
        )
    found["other"] = lens.constant(ENGINE_BYTES)
    return found


def _pool(run: EncoderRun) -> dict[str, float] | None:
    """What vLLM holds when the embedder is a decoder: its share of the card, the pool included."""
    if run.engine != "vllm" or not is_decoder(run.model):
        return None
    from cabida.memory.serving import serving

    settings = Settings(
        gpu_memory_utilization=run.gpu_memory_utilization,
        max_model_len=run.input_tokens,
        max_num_batched_tokens=run.max_batch_tokens,
        used_bytes=run.used_bytes,
    )
    kv = facts.weight_format("bf16")
    return serving(
        Deployment(run.model, run.accelerator, Parallel(), run.weights, kv, "vllm", "", settings)
    ).parts


def encoding(run: EncoderRun) -> EncoderMemory:
    """Memory of one accelerator of an embedder or a reranker, and whether it fits."""
    needed_parts = {name: float(part) for name, part in _parts(run, PLAIN).items()}
    pool = _pool(run)
    parts = pool or needed_parts
    peak, room, needed = sum(parts.values()), _room(run), _needed(run)
    verdict = verdict_of(needed, room)
    most_tokens = int(run.model.context_tokens or 512)
    return EncoderMemory(
        usable_bytes=room,
        parts=parts,
        peak_bytes=peak,
        low_bytes=peak * (1.0 if pool else SPREAD[0]),
        high_bytes=peak * (1.0 if pool else SPREAD[1]),
        needed_bytes=needed,
        takes_its_share=pool is not None,
        verdict=verdict,
        headroom_bytes=room - needed,
        context_bytes=media.MEDIA_CONTEXT_BYTES.value,
        largest_batch_count=_largest(run, room, "batch", LARGEST_BATCH),
        largest_input_tokens=_largest(run, room, "length", most_tokens),
        cure="" if verdict == "fits" else _cure(run, room, needed),
    )


def _room(run: EncoderRun) -> float:
    seen = float(budgets.visible(run.accelerator, PLAIN))
    return seen - float(budgets.desktop(Settings(used_bytes=run.used_bytes), PLAIN))


def _needed(run: EncoderRun) -> float:
    """What the driver would show of the model and its batch, an engine's pool left aside."""
    parts = sum(float(part) for part in _parts(run, PLAIN).values())
    slack, context = media.MEDIA_SLACK_RATIO.value, media.MEDIA_CONTEXT_BYTES.value
    return float(driver_bytes.raw(parts, slack, context, _room(run)))


def needed_bytes(run: EncoderRun) -> tuple[float, float]:
    """What a run needs as the driver shows it, and what its card has, without the largest batches of a whole answer."""
    return _needed(run), _room(run)


def _sized(run: EncoderRun, name: str, value: int) -> EncoderRun:
    return replace(run, batch_count=value) if name == "batch" else replace(run, input_tokens=value)


def _largest(run: EncoderRun, room: float, name: str, most_of_it: int) -> int:
    """The largest batch or length that fits."""
    return largest(lambda value: _needed(_sized(run, name, value)) <= room, most_of_it)


def _cure(run: EncoderRun, room: float, needed: float) -> str:
    batch = _largest(run, room, "batch", run.batch_count)
    if batch:
        return tr("memory.cure.encoder.batch", count=number(batch, 6))
    tokens = _largest(replace(run, batch_count=1), room, "length", run.input_tokens)
    if tokens:
        return tr("memory.cure.encoder.length", tokens=number(tokens, 6))
    return tr("memory.cure.encoder.none", needed=size(needed), room=size(room))


def encoder_tree(run: EncoderRun) -> dict[str, Quantity]:
    """The parts of :func:`encoding` with their provenance."""
    made = _parts(run, Explaining())
    return {f"{name}_bytes": node.named(f"{name}_bytes") for name, node in made.items()}
