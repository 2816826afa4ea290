"""Parameter-efficient methods: what each trains beside frozen weights, and what it keeps of a layer's in- and outputs.

They differ in how many weights they train on a matrix and in which tensors their backward pass reads again. Read in
``huggingface/peft`` (``src/peft/tuners/<method>/layer.py``, v0.17) and ``Lightning-AI/litgpt`` (``adapter.py``,
``adapter_v2.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cabida.facts.model import Model
from cabida.memory.cache import remembered
from cabida.memory.lens import Lens, Number
from cabida.memory.matrices import EVERY, FEED_FORWARD, Matrix, matrices, targeted
from cabida.memory.params import params
from cabida.plan import TrainingRun
from cabida.quantity import formula

PREFIX_TOKENS = 10  # of litgpt's adapter: adapter_prompt_length
LATE_LAYERS = 2  # the layer it starts at: adapter_start_layer
NEW_BLOCKS = 4  # llamapro_num_new_blocks of ms-swift
BOTTLENECK_DIM = 128  # adapter_length of ms-swift
LOKR_COPIES = 0.5  # LoKr keeps products of its factors half as wide as the matrix's ends
BASE_ROLES = EVERY | {"head"}


@formula
def adapter_params_count(rank_count: float, ends_dim_count: float, fixed_params_count: float) -> float:
    """Rank times the inputs and outputs of every adapted matrix, and what doesn't depend on the rank.

    Hu et al. 2021 (arXiv 2106.09685), section 4.1.
    """
    return rank_count * ends_dim_count + fixed_params_count


@formula
def split_params_count(whole_params_count: float, split_count: float) -> float:
    """What one accelerator of a split has of them."""
    return whole_params_count / split_count


Sized = Callable[[Matrix, float], float]
Shared = Callable[[list[tuple[float, float]], float], float]


def _ends(m: Matrix, _rank: float) -> float:
    return m.inputs + m.outputs


def _none(_m: Matrix, _rank: float) -> float:
    return 0.0


def _outputs(m: Matrix, _rank: float) -> float:
    return m.outputs


def _scaled_ends(m: Matrix, _rank: float) -> float:
    """ia3_l: what attention puts out, and what goes into the feed-forward (peft/tuners/ia3/layer.py)."""
    return m.inputs if m.role in FEED_FORWARD else m.outputs


def _rotation(m: Matrix, rank: float) -> float:
    block = m.inputs / max(1.0, rank)
    return rank * block * (block - 1) / 2


def _roots(m: Matrix, _rank: float) -> float:
    return math.sqrt(m.inputs) + math.sqrt(m.outputs)


def _widest_ends(shapes: list[tuple[float, float]], rank: float) -> float:
    """vera_A and vera_B, as large as the widest inputs and outputs (peft/tuners/vera/model.py)."""
    return rank * (max(one[0] for one in shapes) + max(one[1] for one in shapes))


def _bases(shapes: list[tuple[float, float]], rank: float) -> float:
    """randlora_A over the narrower of the widest inputs and outputs; randlora_B, bases of rank ``rank`` that fill it.

    Read in peft 0613e90, src/peft/tuners/randlora/model.py (``_find_dim``, ``_init_randlora_A_randlora_B``).
    """
    short, long = sorted((max(one[0] for one in shapes), max(one[1] for one in shapes)))
    return rank * short + long * math.ceil(short / max(1.0, rank)) * rank


def _scales(m: Matrix, rank: float) -> float:
    """randlora_lambda and randlora_gamma, for the bases that fill the shorter side (peft/tuners/randlora/layer.py)."""
    short = min(m.inputs, m.outputs)
    return math.ceil(short / max(1.0, rank)) * (rank + short)


@dataclass(frozen=True, slots=True)
class AdapterKind:
    """One method: weights per matrix (times rank, and fixed), copies it keeps of a matrix's inputs and outputs."""

    name: str
    by_rank: Sized = _ends
    fixed: Sized = _none
    inputs_kept: float = 1.5  # the dropped-out or cast input, and dropout's 8-bit mask
    outputs_kept: float = 0.0  # its own product, or the frozen one where that is scaled
    on: frozenset[str] | None = None  # which matrices; None = the run's targets
    norms_trained: bool = False
    virtual: bool = False  # rank = tokens put before every sequence
    half: bool = False  # trained in 16 bit as the model is, not in fp32
    shared: Shared = lambda _shapes, _rank: 0.0  # frozen random matrices that all layers share, weights


ADAPTERS = {
    kind.name: kind
    for kind in (
        AdapterKind("lora"),
        AdapterKind("dora", fixed=_outputs, outputs_kept=1.0),  # magnitudes; arXiv 2402.09353
        AdapterKind("adalora", fixed=lambda _m, rank: rank),
        AdapterKind("loha", by_rank=lambda m, _r: 2 * (m.inputs + m.outputs), outputs_kept=1.0),
        AdapterKind("lokr", by_rank=_roots, fixed=lambda m, _r: math.sqrt(m.inputs * m.outputs),
                    outputs_kept=LOKR_COPIES),
        AdapterKind("vera", by_rank=lambda _m, _r: 1.0, fixed=_outputs, shared=_widest_ends),  # arXiv 2310.11454
        AdapterKind("randlora", by_rank=_none, shared=_bases, fixed=_scales),
        AdapterKind("oft", by_rank=_none, fixed=_rotation),
        AdapterKind("boft", by_rank=_none, fixed=lambda m, _r: 4 * m.inputs + m.outputs),  # blocks of 4
        AdapterKind("ia3", by_rank=_none, fixed=_scaled_ends, inputs_kept=0.0, outputs_kept=1.0),  # arXiv 2205.05638
        AdapterKind("prefix", by_rank=_outputs, inputs_kept=0.0, on=frozenset({"k", "v"})),
        AdapterKind("prompt", by_rank=_none, inputs_kept=0.0, on=frozenset(), virtual=True),
        AdapterKind("bottleneck", by_rank=_none, inputs_kept=1.0, on=frozenset({"o", "down"}),
                    fixed=lambda m, _r: 2 * m.outputs * BOTTLENECK_DIM),
        AdapterKind("llama-adapter", by_rank=_none, inputs_kept=0.0, outputs_kept=1.0, on=frozenset({"o"}),
                    fixed=lambda m, _r: (m.layers - LATE_LAYERS) / m.layers * PREFIX_TOKENS * m.outputs),
        AdapterKind("llama-adapter-v2", by_rank=_none, inputs_kept=0.0, outputs_kept=1.0, on=BASE_ROLES,
                    fixed=lambda m, _r: 2 * m.outputs, norms_trained=True),
        AdapterKind("new-blocks", by_rank=_none, inputs_kept=0.0, on=frozenset(), half=True),  # LLaMA Pro
    )
}  # fmt: skip


def kind_of(r: TrainingRun) -> AdapterKind:
    """The run's adapter method."""
    return ADAPTERS[r.adapter]


def adapted(r: TrainingRun, kind: AdapterKind) -> tuple[Matrix, ...]:
    """The matrices it is put on."""
    if kind.on is None:
        return targeted(r.model, r.lora_targets)
    return tuple(one for one in matrices(r.model) if one.role in kind.on)


def block_params_count(model: Model) -> float:
    """Weights of one average layer, all its experts included."""
    whole = params(model)
    inside = whole.attention_count + whole.mlp_count + whole.experts_count + whole.router_count
    return inside / max(1, model.layers_count)


@dataclass(frozen=True, slots=True)
class Counted:
    """Rank-proportional and fixed weights of a method on a model, and what a token keeps in the average layer."""

    ends: float
    fixed: float
    kept: float


def _count(r: TrainingRun, kind: AdapterKind) -> Counted:
    ends = fixed = kept = 0.0
    layers = max(1, r.model.layers_count)
    for one in adapted(r, kind):
        number = one.layers * one.each
        ends += number * kind.by_rank(one, r.lora_rank)
        fixed += number * kind.fixed(one, r.lora_rank)
        if one.role != "head":
            kept += (
                one.layers
                * one.used
                / layers
                * (kind.inputs_kept * one.inputs + kind.outputs_kept * one.outputs)
            )
    if kind.virtual:
        ends += r.model.hidden_dim_count
    if kind.name == "new-blocks":
        fixed += NEW_BLOCKS * block_params_count(r.model)
    return Counted(ends, fixed, kept)


def counted(r: TrainingRun) -> Counted:
    """What the run's adapters come to, worked out once for a model."""
    key = ("adapters", r.adapter, r.lora_targets, r.lora_rank)
    return remembered(r.model, key, lambda: _count(r, kind_of(r)))


def shared_params_count(r: TrainingRun) -> float:
    """Frozen weights of the method itself, on every accelerator whole."""
    shapes = [(one.inputs, one.outputs) for one in adapted(r, kind_of(r))]
    return kind_of(r).shared(shapes, r.lora_rank) if shapes else 0.0


def virtual_tokens(r: TrainingRun) -> int:
    """Trained tokens put before every sequence."""
    if r.method not in ADAPTER_METHODS or not kind_of(r).virtual:
        return 0
    return int(r.trained_params_count / r.model.hidden_dim_count) if r.trained_params_count else r.lora_rank


def trained_params(r: TrainingRun, lens: Lens) -> Number:
    """Trained weights of adapters on one accelerator."""
    if r.trained_params_count is not None:
        whole = lens.setting("trained_params_count", r.trained_params_count)
    else:
        made = counted(r)
        whole = lens.of(adapter_params_count)(
            lens.setting("rank_count", r.lora_rank),
            lens.setting("ends_dim_count", made.ends),
            lens.setting("fixed_params_count", made.fixed),
        )
    return lens.of(split_params_count)(whole, lens.setting("split_count", r.tp * r.pp))


ADAPTER_METHODS = ("lora", "qlora")
