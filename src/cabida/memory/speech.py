"""Does transcription fit: weights, what the decoder reads of each window, and the encoder's activations."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.memory import budget as budgets
from cabida.memory import media_constants as known
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.limits import verdict_of
from cabida.memory.params import params
from cabida.plan import Settings
from cabida.plan.speech import SpeechRun
from cabida.quantity import Quantity, formula
from cabida.units import BITS_PER_BYTE

WINDOW_TOKENS = 1500.0  # Radford et al. 2022, section 2.2
SPREAD = (0.9, 1.15)  # of the sum of the parts: assumed, no measured row


@dataclass(frozen=True, slots=True)
class SpeechMemory:
    """Memory of one accelerator of a transcription, in bytes."""

    parts: dict[str, float]
    usable_bytes: float
    needed_bytes: float
    least_needed_bytes: float  # 90 % interval
    most_needed_bytes: float
    verdict: str  # fits | tight | no
    headroom_bytes: float


@formula
def transcriber_bytes(params_count: float, body_bits: float) -> float:
    """Weights of the encoder and the decoder."""
    return params_count * body_bits / BITS_PER_BYTE


@formula
def windows_bytes(
    window_tokens: float, hidden_dim_count: float, layers_count: float, batch_count: float, body_bits: float
) -> float:
    """Keys and values of the windows of a batch in all layers of the decoder."""
    return 2 * window_tokens * hidden_dim_count * layers_count * batch_count * body_bits / BITS_PER_BYTE


@formula
def listening_bytes(
    window_tokens: float, hidden_dim_count: float, copies_count: float, batch_count: float, body_bits: float
) -> float:
    """Hidden states alive in one layer of the encoder."""
    return window_tokens * hidden_dim_count * copies_count * batch_count * body_bits / BITS_PER_BYTE


def weights_count(run: SpeechRun) -> float:
    """Weights of the model: as published, else counted from its shape."""
    return run.model.params_count or params(run.model).total_count


def _parts(run: SpeechRun, lens: Lens) -> dict[str, Number]:
    bits = 32.0 if run.precision == "fp32" else 16.0
    held = run.weights.body_bits if run.weights.family != "bf16" else bits
    layers = sum(group.layers_count for group in run.model.attention if group.kv_heads_count) / 2
    tokens, batch = lens.setting("window_tokens", WINDOW_TOKENS), lens.setting("batch_count", run.batch_count)
    hidden, wide = lens.field(run.model, "hidden_dim_count"), lens.setting("body_bits", bits)
    return {
        "weights": lens.of(transcriber_bytes)(
            lens.field(run.model, "params_count", weights_count(run)), lens.setting("body_bits", held)
        ),
        "kv_cache": lens.of(windows_bytes)(tokens, hidden, lens.setting("layers_count", layers), batch, wide),
        "activations": lens.of(listening_bytes)(
            tokens, hidden, lens.constant(known.TEXT_COPIES_COUNT), batch, wide
        ),
        "other": lens.constant(known.MEDIA_CONTEXT_BYTES),
    }


def speech(run: SpeechRun) -> SpeechMemory:
    """Memory of one accelerator of a transcription, and whether it fits."""
    parts = {name: float(size) for name, size in _parts(run, PLAIN).items()}
    seen = float(budgets.visible(run.accelerator, PLAIN))
    room = seen - float(budgets.desktop(Settings(), PLAIN))
    whole = sum(parts.values())
    needed = whole * (1 + known.MEDIA_SLACK_RATIO.value)
    return SpeechMemory(
        parts=parts,
        usable_bytes=room,
        needed_bytes=needed,
        least_needed_bytes=whole * SPREAD[0],
        most_needed_bytes=whole * SPREAD[1],
        verdict=verdict_of(needed, room),
        headroom_bytes=room - needed,
    )


def speech_tree(run: SpeechRun) -> dict[str, Quantity]:
    """The parts of :func:`speech` with their provenance."""
    return {
        f"{name}_bytes": node.named(f"{name}_bytes")
        for name, node in _parts(run, Explaining()).items()
        if isinstance(node, Quantity)
    }
