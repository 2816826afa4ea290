"""How long it takes to write down an hour of speech: windows of audio through an encoder, text out of a decoder.

Whisper (Radford et al. 2022, section 2.2): windows of 30 s become 1,500 positions; the decoder writes token by token
and attends to all of them. Batches go through together; the host cuts audio and works out spectra.
Coefficients: ``data/speech.json``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cabida.memory.constants import Constant
from cabida.memory.lens import PLAIN, Explaining, Lens, Number
from cabida.memory.speech import weights_count
from cabida.plan.speech import SpeechRun
from cabida.quantity import Quantity, Source, formula
from cabida.timing.devices.rates import best_matmul, memory_rate, tensor_rate, vector_rate
from cabida.units import BITS_PER_BYTE, S_PER_HOUR

FILE = Path(__file__).parent.parent / "data" / "speech.json"
# Radford et al. 2022, section 2.2: 3,000 frames of a window, halved by the second convolution
WINDOW_S, WINDOW_TOKENS = 30.0, 1500.0


@dataclass(frozen=True, slots=True)
class SpeechSpeed:
    """How fast recordings are written down by one accelerator."""

    s_per_audio_hour: float
    real_time_ratio: float  # hours of audio in one hour
    parts: dict[str, float]  # seconds of an hour of audio: host, encode, decode
    spread: dict[str, tuple[float, float]]
    basis: str


@formula
def windows_count(audio_s: float, window_s: float, overlap_ratio: float) -> float:
    """Windows a recording is cut into; some libraries let them overlap, so that no word is cut."""
    return audio_s / window_s * overlap_ratio


@formula
def encoder_flop(
    params_count: float, window_tokens: float, layers_count: float, hidden_dim_count: float
) -> float:
    """One window through the encoder: two operations a weight and position, attention between all positions."""
    return 2 * params_count * window_tokens + 4 * window_tokens**2 * hidden_dim_count * layers_count


@formula
def encode_s(
    windows_count: float,
    encoder_flop: float,
    peak_flop_per_s: float,
    card_matmul_ratio: float,
    encoder_ratio: float,
) -> float:
    """All windows through the encoder."""
    return windows_count * encoder_flop / (peak_flop_per_s * card_matmul_ratio * encoder_ratio)


@formula
def window_bytes(
    window_tokens: float, hidden_dim_count: float, layers_count: float, body_bits: float, passes_count: float
) -> float:
    """Keys and values of one window that each decoded token reads; more often where attention keeps its scores."""
    return 2 * window_tokens * hidden_dim_count * layers_count * body_bits / BITS_PER_BYTE * passes_count


@formula
def token_s(
    decoder_bytes: float,
    window_bytes: float,
    batch_count: float,
    memory_bytes_per_s: float,
    bandwidth_ratio: float,
    layers_count: float,
    layer_s: float,
    step_s: float,
) -> float:
    """One decoded token of a whole batch: weights and windows read, kernels of each layer launched, token chosen."""
    read_bytes = decoder_bytes + window_bytes * batch_count
    return read_bytes / (memory_bytes_per_s * bandwidth_ratio) + layers_count * layer_s + step_s


@formula
def write_s(
    windows_count: float,
    batch_count: float,
    window_s: float,
    tokens_per_s: float,
    longest_ratio: float,
    token_s: float,
) -> float:
    """All batches through the decoder; a batch lasts as long as its longest window."""
    return windows_count / batch_count * (window_s * tokens_per_s * longest_ratio) * token_s


@formula
def listen_s(audio_s: float, host_ratio: float) -> float:
    """Reading audio, resampling, spectra, and putting text together: a share of its own length."""
    return audio_s * host_ratio


@formula
def transcribed_s(host_s: float, encode_s: float, decode_s: float) -> float:
    """Host and accelerator one after the other, as the pipelines of both libraries do it."""
    return host_s + encode_s + decode_s


@cache
def shipped() -> dict[str, Any]:
    """The coefficients as they stand."""
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


def _coefficient(name: str, framework: str = "") -> Constant:
    table = shipped()["frameworks"][framework] if framework else shipped()["coefficients"]
    entry, value = table[name], table[name]["value"]
    source = Source(entry["source"], "cases/media.jsonl", shipped()["seen"], entry["grade"])
    return Constant(name, value, entry.get("low", value), entry.get("high", value), source)


def speech_speed(run: SpeechRun) -> SpeechSpeed:
    """Seconds that an hour of audio takes, with a 90 % interval.

    Args:
        run: the model, the card, the library and the batch.
    """
    found = _seconds(run, PLAIN)
    whole = float(found["transcribed_s"])
    low, high = shipped()["spread"]
    return SpeechSpeed(
        s_per_audio_hour=whole,
        real_time_ratio=float(S_PER_HOUR) / whole,
        parts={name: float(found[f"{name}_s"]) for name in ("host", "encode", "decode")},
        spread={"seconds_per_item": (low, high), "requests_per_s": (1 / high, 1 / low)},
        basis="physics",
    )


def speech_speed_tree(run: SpeechRun) -> dict[str, Quantity]:
    """The figures of :func:`speech_speed` with their provenance."""
    found = _seconds(run, Explaining())
    return {name: node.named(name) for name, node in found.items() if isinstance(node, Quantity)}


def encoder_params_count(run: SpeechRun) -> float:
    """Weights of the encoder: four projections and two matrices of the feed-forward part a layer."""
    hidden, layers = run.model.hidden_dim_count, encoder_layers_count(run)
    wide = run.model.mlp[0].intermediate_dim_count if run.model.mlp else 4 * hidden
    return float(layers * (4 * hidden**2 + 2 * hidden * wide))


def encoder_layers_count(run: SpeechRun) -> int:
    """Layers of attention that keep no keys: those of the encoder."""
    return sum(group.layers_count for group in run.model.attention if not group.kv_heads_count)


def decoder_layers_count(run: SpeechRun) -> float:
    """Layers of the decoder: each attends to its own text and to the window."""
    return sum(group.layers_count for group in run.model.attention if group.kv_heads_count) / 2


def _seconds(run: SpeechRun, lens: Lens) -> dict[str, Number]:
    wide = run.precision == "fp32"
    peak = vector_rate(run.accelerator) if wide else tensor_rate(run.accelerator, "bf16")
    bits = 32.0 if wide else 16.0
    hidden = lens.field(run.model, "hidden_dim_count")
    audio, tokens = lens.setting("audio_s", float(S_PER_HOUR)), lens.setting("window_tokens", WINDOW_TOKENS)
    windows = lens.of(windows_count)(
        audio, lens.setting("window_s", WINDOW_S), lens.constant(_coefficient("overlap_ratio", run.framework))
    )
    layers = lens.setting("layers_count", decoder_layers_count(run))
    encoder = encoder_params_count(run)
    rest = max(0.0, weights_count(run) - encoder)
    held_bits = run.weights.body_bits if run.weights.family != "bf16" else bits
    batch = lens.setting("batch_count", run.batch_count * run.beams_count)
    passes = _coefficient("eager_passes_count") if run.attention == "eager" else None
    one_token = lens.of(token_s)(
        lens.setting("decoder_bytes", rest * held_bits / BITS_PER_BYTE),
        lens.of(window_bytes)(
            tokens, hidden, layers, lens.setting("body_bits", bits),
            lens.constant(passes) if passes else lens.setting("passes_count", 1.0),
        ),
        batch, lens.setting("memory_bytes_per_s", memory_rate(run.accelerator)),
        lens.constant(_coefficient("bandwidth_ratio")), layers,
        lens.constant(_coefficient("layer_s", run.framework)), lens.constant(_coefficient("step_s", run.framework)),
    )  # fmt: skip
    found: dict[str, Number] = {
        "host_s": lens.of(listen_s)(audio, lens.constant(_coefficient("host_ratio", run.framework))),
        "encode_s": lens.of(encode_s)(
            windows,
            lens.of(encoder_flop)(
                lens.setting("params_count", encoder), tokens,
                lens.setting("layers_count", float(encoder_layers_count(run))), hidden,
            ),
            lens.setting("peak_flop_per_s", peak), lens.constant(best_matmul(run.accelerator)),
            lens.constant(_coefficient("encoder_ratio")),
        ),
        "decode_s": lens.of(write_s)(
            windows, lens.setting("batch_count", float(run.batch_count)), lens.setting("window_s", WINDOW_S),
            lens.constant(_coefficient("tokens_per_s")),
            lens.constant(_coefficient("longest_ratio")) if run.batch_count > 1 else lens.setting("longest_ratio", 1.0),
            one_token,
        ),
    }  # fmt: skip
    found["token_s"] = one_token
    found["transcribed_s"] = lens.of(transcribed_s)(found["host_s"], found["encode_s"], found["decode_s"])
    return found
