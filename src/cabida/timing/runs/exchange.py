"""What the accelerators of a training run send each other, and how much of it shows in the step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cabida import facts, memory
from cabida.facts.model import Model, Node
from cabida.memory.constants import Constant
from cabida.memory.lens import Lens, Number
from cabida.plan import TrainingRun
from cabida.timing.devices.collectives import Link, link_between, linked_count
from cabida.timing.devices.training_data import constant
from cabida.timing.runs import training_step as step
from cabida.timing.runs.flops import recomputed_passes, trains_adapters

GATHERED = ("fsdp", "zero-3", "hsdp")  # weights are gathered for every micro-batch
ELEMENT_BYTES = 2.0
GRADIENT_BYTES = 6.0  # 16-bit gradients reduced, updated weights gathered, some of it in 32 bit


@dataclass(frozen=True, slots=True)
class Exchange:
    """Seconds of communication of one micro-batch, or of one step."""

    in_layers: dict[str, Number]  # what shows, by kind, per micro-batch
    gather_s: Number  # whole time of gathering and scattering sharded weights, per micro-batch
    exposed_ratio: Number  # of it, the share that doesn't hide
    reduce_s: Number  # what shows of the reduction of gradients, per step


def node_of(run: TrainingRun) -> Node | None:
    """The machine the accelerators sit in: the run's, else a typical one."""
    return run.node or facts.node_for(run.accelerator)


def exchanges(
    run: TrainingRun, lens: Lens, data: dict[str, Any], family: dict[str, Any], tokens: Number
) -> Exchange:
    """All communication of ``run``."""
    in_layers: dict[str, Number] = {}
    if run.tp > 1:
        in_layers["tensor_parallel"] = _tensor(run, lens, data, family, tokens)
    if run.cp > 1:
        in_layers["context_parallel"] = _context(run, lens, data, tokens)
    if run.ep > 1 and run.model.is_moe:
        in_layers["expert_parallel"] = _expert(run, lens, data, tokens)
    exposed = lens.constant(constant(family, "data_exposed_ratio", "exposed_ratio"))
    none = lens.setting("absent_s", 0.0)
    replicas = run.data_parallel_count * run.cp
    if replicas < 2:
        return Exchange(in_layers, none, exposed, none)
    if run.sharding in GATHERED:
        return Exchange(in_layers, _gather(run, lens, data, replicas), exposed, none)
    reduce = (
        none if trains_adapters(run) else lens.of(step.exposed_s)(_reduce(run, lens, data, replicas), exposed)
    )
    return Exchange(in_layers, none, exposed, reduce)


def _rate(run: TrainingRun, ranks: int, stride: int, lens: Lens) -> tuple[Number, Number]:
    """Bus rate and latency of a group of ``ranks`` whose members lie ``stride`` apart."""
    node = node_of(run)
    link = link_between(min(ranks * stride, run.accelerators_count), run.accelerator, node)
    sharing = 1
    if link.kind == "network":
        sharing = min(stride, linked_count(run.accelerator, node))
    return _leaf(lens, "bus_bytes_per_s", link.other_bytes_per_s / sharing, link), _leaf(
        lens, "latency_s", link.latency_s, link
    )


def _leaf(lens: Lens, name: str, value: float, link: Link) -> Number:
    return lens.constant(Constant(name, value, value, value, link.source))


def _hop(lens: Lens, data: dict[str, Any]) -> Number:
    return lens.constant(constant(data["coefficients"], "hop_s"))


def _ring(
    run: TrainingRun,
    lens: Lens,
    data: dict[str, Any],
    payload: Number,
    ranks: int,
    stride: int,
    messages: float,
) -> Number:
    rate, latency = _rate(run, ranks, stride, lens)
    return lens.of(step.ring_s)(
        payload,
        lens.setting("ranks_count", ranks),
        rate,
        latency,
        _hop(lens, data),
        lens.setting("messages_count", messages),
    )


def _payload(
    run: TrainingRun, lens: Lens, tokens: Number, layers: float, width: float, copies: float
) -> Number:
    return lens.of(step.token_payload_bytes)(
        tokens,
        lens.field(run.model, "layers_count", layers),
        lens.setting("stages_count", run.pp),
        lens.field(run.model, "width_count", width),
        lens.setting("copies_count", copies),
        lens.setting("element_bytes", ELEMENT_BYTES),
    )


def _tensor(
    run: TrainingRun, lens: Lens, data: dict[str, Any], family: dict[str, Any], tokens: Number
) -> Number:
    """Two all-reduces forward and two backward in each layer, two more when it is recomputed."""
    reductions = 4.0 + 2.0 * recomputed_passes(run)
    payload = _payload(run, lens, tokens, run.model.layers_count, run.model.hidden_dim_count, 2 * reductions)
    wire = _ring(run, lens, data, payload, run.tp, 1, reductions * run.model.layers_count / run.pp)
    return lens.of(step.exposed_s)(
        wire, lens.constant(constant(family, "tensor_exposed_ratio", "exposed_ratio"))
    )


def _context(run: TrainingRun, lens: Lens, data: dict[str, Any], tokens: Number) -> Number:
    """Keys and values of the other parts of the sequence go round the ring, twice more in the backward pass."""
    width = max(
        (g.kv_heads_count * (g.head_dim_count + g.v_head_dim_count) for g in run.model.attention), default=0
    )
    payload = _payload(run, lens, tokens, run.model.layers_count, width / run.tp, 3.0 * run.cp)
    wire = _ring(run, lens, data, payload, run.cp, run.tp, 3.0 * run.model.layers_count / run.pp)
    return lens.of(step.exposed_s)(
        wire, lens.constant(constant(data["coefficients"], "context_exposed_ratio", "exposed_ratio"))
    )


def _expert(run: TrainingRun, lens: Lens, data: dict[str, Any], tokens: Number) -> Number:
    """Each token's vector goes to its experts and back, forward and backward; to each machine only once (DeepEP)."""
    inside = linked_count(run.accelerator, node_of(run))
    ranks = min(run.ep, run.accelerators_count)
    crossing = ranks * run.tp > inside
    machines = math.ceil(ranks * run.tp / inside) if crossing else ranks
    routed = sum(group.layers_count * min(group.experts_per_token_count, machines) for group in run.model.mlp)
    layers = sum(group.layers_count for group in run.model.mlp if group.experts_count)
    payload = _payload(run, lens, tokens, routed / run.tp, routed_width(run.model), 4.0)
    rate, latency = _rate(run, ranks, inside if crossing else run.tp, lens)
    wire = lens.of(step.ring_s)(
        payload,
        lens.setting("ranks_count", ranks),
        rate,
        latency,
        _hop(lens, data),
        lens.setting("messages_count", 4.0 * layers / run.pp),
    )
    return lens.of(step.exposed_s)(
        wire, lens.constant(constant(data["coefficients"], "expert_exposed_ratio", "exposed_ratio"))
    )


def routed_width(model: Model) -> float:
    """Width of the vectors that reach experts: the height of their matrices, less than hidden where compressed."""
    sizes = sum(
        group.layers_count * group.experts_count * group.matrices_count * group.intermediate_dim_count
        for group in model.mlp
    )
    return memory.params(model).experts_count / sizes if sizes else float(model.hidden_dim_count)


def _gather(run: TrainingRun, lens: Lens, data: dict[str, Any], replicas: int) -> Number:
    """Weights gathered forward and backward, gradients scattered (not for frozen weights)."""
    times = 2.0 if trains_adapters(run) else 3.0
    ranks = replicas
    if run.sharding == "hsdp":
        ranks = max(2, min(replicas, max(1, run.accelerator.link_domain_count) // run.tp))
    held = run.weights.body_bits / 8 if run.method == "qlora" else ELEMENT_BYTES
    payload = lens.of(step.weight_payload_bytes)(
        lens.field(run.model, "params_count", memory.params(run.model).total_count),
        lens.setting("split_count", run.tp * run.pp),
        lens.setting("bytes_per_param", held * times),
    )
    return _ring(run, lens, data, payload, ranks, run.tp, times * run.model.layers_count)


def _reduce(run: TrainingRun, lens: Lens, data: dict[str, Any], replicas: int) -> Number:
    """Gradients of everything but routed experts among the replicas, then those of experts among their copies.

    Copies of an expert lie a whole expert group apart, so that all groups of a machine share its network.
    """
    counted = memory.params(run.model)
    dense = (counted.total_count - counted.experts_count) / (run.tp * run.pp)
    shared = _ring(
        run, lens, data, _gradients(run, lens, dense), replicas, run.tp, 2.0 * run.model.layers_count
    )
    group = max(run.tp, run.ep)
    copies = run.accelerators_count // (group * run.pp)
    if not counted.experts_count or copies < 2:
        return shared
    payload = _gradients(run, lens, counted.experts_count / (group * run.pp))
    experts = _ring(run, lens, data, payload, copies, group, 2.0 * run.model.layers_count)
    return lens.of(step.sum_s)(shared, experts)


def _gradients(run: TrainingRun, lens: Lens, params: float) -> Number:
    """Bytes of gradients and updated weights that one accelerator exchanges for ``params`` weights."""
    return lens.of(step.weight_payload_bytes)(
        lens.field(run.model, "params_count", params),
        lens.setting("split_count", 1),
        lens.setting("bytes_per_param", GRADIENT_BYTES),
    )
