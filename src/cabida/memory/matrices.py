"""The weight matrices of a model by their role in a layer: what adapters can be put on."""

from __future__ import annotations

from dataclasses import dataclass

from cabida.facts.model import AttentionLayers, MlpLayers, Model
from cabida.memory.cache import remembered

ATTENTION = frozenset({"q", "k", "v", "o"})
FEED_FORWARD = frozenset({"gate", "up", "down"})
EVERY = ATTENTION | FEED_FORWARD
ROLES = EVERY | {"head", "experts"}


@dataclass(frozen=True, slots=True)
class Matrix:
    """One kind of matrix: ``layers`` layers have ``each`` of it; a token passes through ``used`` of them."""

    role: str
    layers: float
    inputs: float
    outputs: float
    each: float = 1.0
    used: float = 1.0


def _attention(model: Model, group: AttentionLayers) -> list[Matrix]:
    hidden, layers = float(model.hidden_dim_count), float(group.layers_count)
    value = group.v_head_dim_count or group.head_dim_count
    out = float(group.heads_count * value)
    if group.kind == "mla":
        latent, down = float(group.latent_dim_count), float(group.query_latent_dim_count)
        rows = [("q", hidden, down)] if down else []
        rows += [
            ("q", down or hidden, float(group.heads_count * group.head_dim_count)),
            ("k", hidden, latent + group.rope_dim_count),
            ("v", latent, float(group.heads_count * (group.head_dim_count - group.rope_dim_count + value))),
            ("o", out, hidden),
        ]
        return [Matrix(role, layers, inputs, outputs) for role, inputs, outputs in rows]
    keys = float(group.kv_heads_count * group.head_dim_count)
    return [
        Matrix("q", layers, hidden, float(group.heads_count * group.head_dim_count)),
        Matrix("k", layers, hidden, keys),
        Matrix("v", layers, hidden, float(group.kv_heads_count * value)),
        Matrix("o", layers, out, hidden),
    ]


def _feed_forward(model: Model, group: MlpLayers) -> list[Matrix]:
    hidden, layers = float(model.hidden_dim_count), float(group.layers_count)
    roles = ("gate", "up", "down") if group.matrices_count > 2 else ("up", "down")

    def made(width: float, name: str = "", each: float = 1.0, used: float = 1.0) -> list[Matrix]:
        ends = [(width, hidden) if role == "down" else (hidden, width) for role in roles]
        return [
            Matrix(name or role, layers, *pair, each=each, used=used)
            for role, pair in zip(roles, ends, strict=True)
        ]

    if not group.experts_count:
        return made(float(group.intermediate_dim_count))
    shared = float(group.shared_intermediate_dim_count)
    routed = made(
        float(group.intermediate_dim_count), "experts", group.experts_count, group.experts_per_token_count
    )
    return (made(shared) if shared else []) + routed


def _matrices(model: Model) -> tuple[Matrix, ...]:
    found = [one for group in model.attention for one in _attention(model, group)]
    found += [one for group in model.mlp for one in _feed_forward(model, group)]
    found.append(Matrix("head", 1.0, float(model.hidden_dim_count), float(model.vocab_count)))
    return tuple(found)


def matrices(model: Model) -> tuple[Matrix, ...]:
    """All kinds of matrix of this model, the head included."""
    return remembered(model, ("matrices",), lambda: _matrices(model))


def roles_of(targets: str) -> frozenset[str]:
    """The roles that words such as ``all``, ``attention`` or ``q,v`` name; experts only when named."""
    if targets in ("all", ""):
        return EVERY
    if targets == "attention":
        return ATTENTION
    return frozenset(targets.replace(" ", "").split(",")) & ROLES


def targeted(model: Model, targets: str) -> tuple[Matrix, ...]:
    """The matrices that adapters are put on."""
    wanted = roles_of(targets)
    return remembered(
        model, ("targeted", targets), lambda: tuple(one for one in matrices(model) if one.role in wanted)
    )
