"""Where a serving speed comes from: the terms of one engine step as a tree, and the simulation's leaves."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from cabida.facts.model import Sourced
from cabida.plan import Deployment, Load
from cabida.quantity import Quantity, Source, formula, leaf, simulated
from cabida.timing.devices.kernels import kernels_source
from cabida.timing.devices.rates import memory_rate
from cabida.timing.engine.coefficients import Coefficients, calibration_source, coefficients
from cabida.timing.engine.fluid import fluid
from cabida.timing.engine.roofline import (
    dense_weights_bytes,
    launch_s,
    routed_weights_bytes,
    step_s,
    token_work_s,
    weights_read_s,
)
from cabida.timing.engine.step_attention import attention_of
from cabida.timing.engine.step_table import experts_shards, moe_layers, parts_of, touched_ratio, weight_counts
from cabida.timing.engine.step_time import table_s
from cabida.timing.engine.steps import StepModel, collectives_count, step_model
from cabida.timing.intervals import factors

if TYPE_CHECKING:
    from cabida.memory import ServingMemory
    from cabida.timing.speed import ServingSpeed

STATISTICS = ("mean", "p50", "p95", "p99")


@formula
def decode_tokens_per_s(sequences_count: float, step_s: float) -> float:
    """Tokens a replica's rank gives out per second while it only decodes."""
    return sequences_count / step_s


def step_tree(d: Deployment, m: ServingMemory, load: Load) -> dict[str, Quantity]:
    """One decode step and one step with a prompt at the load's steady batch, down to data-sheet rates.

    Args:
        d: one replica.
        m: its memory.
        load: what it carries; decides how many sequences decode at once.
    """
    model = step_model(d, m)
    speed = fluid(d, m, load)
    batch = speed.batch_mean / model.ranks_count
    context = load.input_tokens + 0.5 * load.output_tokens
    chunk = min(load.input_tokens, max(model.budget_tokens - batch, 1.0))
    decode = _step(d, model, 0.0, batch, context)
    prompt = _step(d, model, chunk, batch, context)
    return {
        "decode_step_s": decode,
        "prompt_step_s": prompt,
        "weights_read_s": _floor(d, batch),
        "decode_tokens_per_s": decode_tokens_per_s(_steady("sequences_count", batch), decode.named("step_s")),
    }


def simulated_leaves(speed: ServingSpeed, seed: int = 0) -> dict[str, Quantity]:
    """Percentiles and rates of a simulation as leaves, each with its 90 % interval: ``ttft_p95_s`` ..."""
    leaves: dict[str, Quantity] = {}
    for metric in ("ttft", "tpot", "itl", "e2e"):
        for statistic in STATISTICS:
            low, high = factors(speed.spread, f"{metric}_s", statistic)
            value = getattr(getattr(speed, f"{metric}_s"), statistic)
            name = f"{metric}_{statistic}_s"
            leaves[name] = simulated(name, value, value * low, value * high, seed)
    for name in ("requests_per_s", "output_tokens_per_s", "total_tokens_per_s"):
        low, high = factors(speed.spread, name)
        value = getattr(speed, name)
        leaves[name] = simulated(name, value, value * low, value * high, seed)
    return leaves


def _terms(d: Deployment) -> dict[str, Quantity]:
    """The arguments of ``step_s`` that a calibrated figure explains, as trees."""
    c = coefficients(d)
    share = {field.name: _share(d, c, field.name) for field in fields(Coefficients)}
    return {
        "launch_s": launch_s(
            leaf("attention_start_s", attention_of(d).start_s, kernels_source()),
            _counted(d, "layers_count", d.model.layers_count),
            share["layer_s"],
            _counted(d, "moe_layers_count", moe_layers(d)),
            share["moe_layer_s"],
            _setting("exchanges_count", collectives_count(d)),
            share["exchange_s"],
        ),
        "sequence_s": share["sequence_s"],
        "host_s": share["step_s"],
    }


def _floor(d: Deployment, batch: float) -> Quantity:
    """Weights through memory at the data sheet's rate."""
    body, kept, experts = weight_counts(d)
    fmt = d.weights
    dense = dense_weights_bytes(
        body_params_count=_counted(d, "body_params_count", body),
        kept_params_count=_counted(d, "kept_params_count", kept),
        body_bits=fmt.quantity("body_bits"),
        kept_bits=fmt.quantity("other_bits"),
        shards_count=_setting("shards_count", d.parallel.tp),
    )
    routed = routed_weights_bytes(
        _counted(d, "experts_params_count", experts),
        _steady("touched_ratio", touched_ratio(d, batch)),
        fmt.quantity("body_bits"),
        _setting("shards_count", experts_shards(d)),
    )
    bandwidth = d.accelerator.quantity("memory_bytes_per_s", memory_rate(d.accelerator))
    tree: Quantity = weights_read_s(
        dense.named("dense_read_bytes"), routed.named("routed_read_bytes"), bandwidth
    )
    return tree


def _work(d: Deployment, model: StepModel, tokens: float) -> Quantity:
    """Kernels that depend on the tokens alone, each kind at this many, over the engine's shares."""
    c = coefficients(d)
    kinds = {
        name: leaf(name, table_s(values, tokens / model.stages_count), kernels_source())
        for name, values in parts_of(d)._asdict().items()
    }
    shares = {name: _share(d, c, name) for name in token_work_s.params if name not in kinds}
    tree: Quantity = token_work_s(**kinds, **shares)
    return tree


def _step(d: Deployment, model: StepModel, prompt_tokens: float, batch: float, context: float) -> Quantity:
    """``step_s`` as a tree; arguments no tree explains are figures of the step model."""
    window, terms = min(context, model.window_tokens), _terms(d)
    loads = {
        "attended_tokens": 0.5 * prompt_tokens**2,
        "prompts_ratio": 1.0 if prompt_tokens > 0 else 0.0,
        "sequences_count": batch,
        "context_tokens": batch * context,
        "window_tokens": batch * window,
    }
    names = step_s.params[1 + len(loads) :]
    values = dict(zip(names, model.constants, strict=True))
    tokens = prompt_tokens + batch
    work_s = table_s(model.table, tokens / model.stages_count)
    given = {"token_work_s": _explained(_work(d, model, tokens), "token_work_s", work_s)}
    given |= {name: _steady(name, value) for name, value in loads.items()}
    given |= {name: _explained(terms.get(name), name, value) for name, value in values.items()}
    tree: Quantity = step_s(**given)
    return tree


def _explained(tree: Quantity | None, name: str, value: float) -> Quantity:
    """The tree of a figure; the figure alone where settings or the user's own observations changed it."""
    if tree is not None and math.isclose(float(tree), value, rel_tol=1e-9):
        return tree
    return _figure(name, value)


def _share(d: Deployment, c: Coefficients, name: str) -> Quantity:
    return leaf(name, getattr(c, name), calibration_source(d.engine))


def _counted(d: Deployment, name: str, value: float) -> Quantity:
    record: Sourced = d.model
    return leaf(name, value, record.source)


def _setting(name: str, value: float) -> Quantity:
    return leaf(name, value, Source("the deployment's split", grade="derived"))


def _steady(name: str, value: float) -> Quantity:
    return leaf(name, value, Source("steady state by Little's law", grade="derived"))


def _figure(name: str, value: float) -> Quantity:
    return leaf(name, value, Source("step model of the deployment", grade="derived"))
