"""Draft models that go with a target: a head trained on its hidden states, in the target's own shapes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cabida.facts.model import AttentionLayers, MlpLayers, Model
from cabida.facts.models import model
from cabida.quantity import Source

OWN_LAYERS = ("mtp", "nextn", "own")  # the target's own prediction layers: no second model


@dataclass(frozen=True, slots=True)
class HeadKind:
    """How one kind of head is built on a target of width h."""

    layers_count: int
    fused_count: int  # hidden states concatenated into the projection: this many h by h
    vocab_count: int  # of its own output head; 0 = it uses the target's
    wide_inputs: bool  # attention reads the embedding and the hidden state side by side
    source: Source


_SEEN = "2026-11-30"
KINDS = {
    "eagle": HeadKind(1, 2, 0, False, Source(
        "EAGLE: one decoder layer and a projection of two widths into one; embedding and head are the target's",
        "https://arxiv.org/abs/2401.15077", _SEEN, "derived")),
    "eagle3": HeadKind(1, 3, 32000, True, Source(
        "EAGLE-3: one layer over three fused hidden states, with a head of 32,000 frequent tokens",
        "https://arxiv.org/abs/2503.01840", _SEEN, "derived")),
    "dflash": HeadKind(5, 5, 0, False, Source(
        "DFlash: five layers over five fused hidden states; embedding and head are the target's",
        "https://github.com/z-lab/dflash", _SEEN, "assumed")),
}  # fmt: skip


def draft(ref: str, target: Model) -> Model | None:
    """What speculates for ``target``.

    Args:
        ref: a kind of head (``eagle``, ``eagle3``, ``dflash``), any model :func:`cabida.facts.model` knows, or
            ``mtp`` for the target's own prediction layers.
        target: the model it speculates for; a head takes its width, heads and feed-forward from it.

    Returns:
        ``None`` for the target's own layers.

    Raises:
        InvalidInput: CB-F010 when nothing is known by that name.
    """
    word = ref.strip().lower().replace("-", "").replace("_", "")
    if word in OWN_LAYERS:
        return None
    return head_of(target, word) if word in KINDS else model(ref)


def head_of(target: Model, kind: str) -> Model:
    """A head of this kind in the shapes of ``target``; its vocabulary is 0 where it uses the target's matrices."""
    made, hidden = KINDS[kind], target.hidden_dim_count
    layer = attention_of_head(target, made.layers_count)
    inputs = layer.heads_count * layer.head_dim_count + layer.kv_heads_count * (
        layer.head_dim_count + layer.v_head_dim_count
    )
    extra = made.fused_count * hidden * hidden + made.vocab_count * hidden
    extra += made.layers_count * hidden * inputs if made.wide_inputs else 0
    return replace(
        target,
        id=f"{target.id} {kind}",
        aliases=(),
        vocab_count=0,
        tied_embeddings=True,
        attention=(layer,),
        mlp=(MlpLayers(made.layers_count, _width(target)),),
        params_count=None,
        active_params_count=None,
        extra_params_count=float(extra),
        native_format="bf16",
        unquantised_params_count=0.0,
        checkpoint_bytes=None,
        source=made.source,
        field_sources={},
        draft_params_count=0.0,
        stored=(),
    )


def attention_of_head(target: Model, layers: int) -> AttentionLayers:
    """Ordinary attention with the target's heads; the heads of a latent one share as many keys as a group of 8."""
    group = next((one for one in reversed(target.attention) if one.kind != "linear"), target.attention[-1])
    heads = max(1, group.heads_count)
    if group.kind in ("mla", "linear"):
        dim = max(1, target.hidden_dim_count // heads)
        return AttentionLayers("full", layers, heads, max(1, heads // 8), dim, dim)
    dim = group.head_dim_count
    keys = max(1, group.kv_heads_count)
    return AttentionLayers("full", layers, heads, keys, dim, group.v_head_dim_count or dim)


def _width(target: Model) -> int:
    """A dense feed-forward as wide as what one token passes through in the target."""
    widths = [
        group.intermediate_dim_count * max(1, group.experts_per_token_count)
        + group.shared_intermediate_dim_count
        for group in target.mlp
    ]
    return max(widths, default=4 * target.hidden_dim_count)
