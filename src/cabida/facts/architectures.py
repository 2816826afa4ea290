"""From a Hugging Face ``config.json`` to our noun ``Model``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from cabida.facts.families import FAMILIES, UNKNOWN, Family
from cabida.facts.feedforward import feed_forward
from cabida.facts.fields import Fields
from cabida.facts.images import tower_of
from cabida.facts.mixers import (
    Layers,
    attention,
    block_configs,
    compressed,
    crossed,
    encoder,
    encoder_decoder,
    nothing,
    shared_query,
)
from cabida.facts.model import AttentionLayers, MlpLayers, Model
from cabida.facts.quantised import native_format, unquantised_params, unread_method
from cabida.facts.recurrent import (
    gated_delta,
    griffin,
    kda,
    lightning,
    mamba1,
    mamba2,
    mamba2_only,
    parallel,
    pattern,
    rwkv,
    short_conv,
)
from cabida.facts.towers import draft_params, extra_params, looked_up_params, rotary_dims
from cabida.quantity import Source

_READERS: dict[str, Callable[[Fields, Family], Layers]] = {
    "attention": attention,
    "block_configs": block_configs,
    "compressed": compressed,
    "crossed": crossed,
    "encoder": encoder,
    "encoder_decoder": encoder_decoder,
    "gated_delta": gated_delta,
    "griffin": griffin,
    "kda": kda,
    "lightning": lightning,
    "nothing": nothing,
    "mamba1": mamba1,
    "mamba2": mamba2,
    "mamba2_only": mamba2_only,
    "parallel": parallel,
    "pattern": pattern,
    "rwkv": rwkv,
    "shared_query": shared_query,
    "short_conv": short_conv,
}
Alike = TypeVar("Alike", AttentionLayers, MlpLayers)
_STANDARD = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
_TELLTALE = ("mamba", "ssm", "linear_", "conv", "rwkv", "hybrid", "recurrent", "state_size", "lru")


def from_config(config: dict[str, Any], source: Source, id: str = "", file: str = "") -> Model:
    """The model a ``config.json`` describes.

    Layer by layer: what mixes tokens (attention full, sliding or latent; recurrent mixers with their state), what
    feeds forward (dense or experts), embeddings tied or not, what a quantised checkpoint leaves in 16 bit.
    A multimodal config is read through to its language model, its tower counted by its shapes.

    Args:
        config: the parsed file.
        source: where it comes from; every field carries it, what a family's code implies is graded derived, and
            an unknown architecture that has all the standard keys is read as an ordinary decoder, graded assumed.
        id: the model's name; by default what the file says.
        file: the file's path, for complaints.

    Raises:
        InvalidInput: CB-F011 when the architecture is unknown or keys are missing, CB-F016 for impossible values.
    """
    f = Fields(config, file)
    family = FAMILIES.get(f.model_type)
    known = family is not None
    if family is None:
        _refuse_unless_ordinary(f)
        family = UNKNOWN
    if family.defaults:
        f = Fields(config, file, family.defaults)
    layers = _READERS[family.mixer](f, family)
    blocks = feed_forward(f, family, len(layers))
    tied = f.truth("tie_word_embeddings", default=family.tied)
    return Model(
        id=id or _name(f),
        aliases=(),
        architecture=_architecture(f),
        task="vlm" if f.mapping("vision_config") and family.task == "llm" else family.task,
        hidden_dim_count=f.count("hidden_size", least=1),
        vocab_count=f.count("vocab_size", least=1),
        tied_embeddings=tied or family.task == "embedding",
        attention=_grouped([one for layer in layers for one in layer]),
        mlp=_grouped_mlp([block for block in blocks if block is not None]),
        context_tokens=_context(f, family),
        params_count=None,
        active_params_count=None,
        extra_params_count=extra_params(f, family),
        native_format=native_format(f),
        unquantised_params_count=unquantised_params(f, layers, blocks),
        licence="",
        checkpoint_bytes=None,
        source=source,
        field_sources=_field_sources(f, family, source, known=known),
        draft_params_count=draft_params(f, layers, blocks),
        looked_up_params_count=looked_up_params(f),
        rotary_dim_count=rotary_dims(f, family, layers),
        half_overflows=not family.half,
        bidirectional=family.task == "embedding"
        or f.raw("use_bidirectional_attention")
        in (True, "all")  # "vision": only among the tokens of an image
        or f.raw("is_causal") is False,
        tower=tower_of(f),
    )


def _refuse_unless_ordinary(f: Fields) -> None:
    """An unknown architecture is read on only when it has every standard key and no sign of another mixer."""
    missing = [name for name in _STANDARD if not f.has(name)]
    odd = [key for key in f.inner if key.startswith(_TELLTALE) and f.inner[key] not in (None, False, 0)]
    if missing or odd:
        raise f.lacks(missing or [f"{key} (?)" for key in odd[:5]])


def _field_sources(f: Fields, family: Family, source: Source, *, known: bool) -> dict[str, Source]:
    """Fields that the file doesn't say itself."""
    implied = Source(f"the code of {f.model_type}", source.url, source.seen, "derived")
    sources = {}
    if not f.has("tie_word_embeddings"):
        sources["tied_embeddings"] = implied
    if family.defaults:
        sources |= {
            name: implied for name in ("attention", "vocab_count") if not f.has("num_attention_heads")
        }
    if method := unread_method(f):
        guess = f"weights quantised by {method}, which is not known here, taken for 16 bit"
        sources["native_format"] = Source(guess, source.url, source.seen, "assumed")
    if known:
        return sources
    ordinary = Source(
        f"{f.model_type or '?'} read as an ordinary decoder", source.url, source.seen, "assumed"
    )
    return sources | dict.fromkeys(("attention", "mlp", "tied_embeddings", "extra_params_count"), ordinary)


def _grouped(layers: list[AttentionLayers]) -> tuple[AttentionLayers, ...]:
    return tuple(replace(one, layers_count=count) for one, count in _counted(layers).items())


def _grouped_mlp(layers: list[MlpLayers]) -> tuple[MlpLayers, ...]:
    return tuple(replace(one, layers_count=count) for one, count in _counted(layers).items())


def _counted(layers: list[Alike]) -> dict[Alike, int]:
    """How many times each comes; most are one and the same object, so it is hashed once."""
    objects = {id(one): one for one in layers}
    counts: dict[Alike, int] = {}
    for key, count in Counter(map(id, layers)).items():
        one = objects[key]
        counts[one] = counts.get(one, 0) + count
    return counts


def _context(f: Fields, family: Family) -> int | None:
    """The longest sequence: the positions there are, less those that stand before the first token's."""
    count = f.count("max_position_embeddings") if f.has("max_position_embeddings") else None
    return count - family.before_count if count is not None and count > family.before_count else count


def _name(f: Fields) -> str:
    written = f.outer.get("_name_or_path")
    return written if isinstance(written, str) and written else f.model_type


def _architecture(f: Fields) -> str:
    listed = f.outer.get("architectures")
    first = listed[0] if isinstance(listed, list) and listed else ""
    return first if isinstance(first, str) else ""
