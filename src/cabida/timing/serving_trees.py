"""Where a serving speed comes from: the terms of one engine step as a tree, and the simulation's leaves."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from cabida import memory
from cabida.facts.model import Sourced
from cabida.plan import Deployment, Load
from cabida.quantity import Quantity, Source, formula, leaf, simulated
from cabida.timing.coefficients import Coefficients, calibration_source, coefficients
from cabida.timing.fluid import fluid
from cabida.timing.rates import best_matmul, memory_rate, tensor_rate
from cabida.timing.roofline import (
    dense_weights_bytes,
    experts_missed_ratio,
    multiply_s_per_token,
    read_s,
    routed_weights_bytes,
    step_s,
    token_work_s,
    weight_flop_per_token,
)
from cabida.timing.steps import (
    StepModel,
    exchange,
    experts_shards,
    multiplies_as,
    shares_experts,
    step_model,
    weight_counts,
)

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
    terms = _terms(d, model)
    context = load.input_tokens + 0.5 * load.output_tokens
    chunk = min(load.input_tokens, max(model.budget_tokens - batch, 1.0))
    decode = _step(terms, model, 0.0, batch, context)
    prompt = _step(terms, model, chunk, batch, context)
    return {
        "decode_step_s": decode,
        "prompt_step_s": prompt,
        "decode_tokens_per_s": decode_tokens_per_s(_steady("sequences_count", batch), decode.named("step_s")),
    }


def simulated_leaves(speed: ServingSpeed, seed: int = 0) -> dict[str, Quantity]:
    """Percentiles and rates of a simulation as leaves, each with its 90 % interval: ``ttft_p95_s`` ..."""
    leaves: dict[str, Quantity] = {}
    for metric in ("ttft", "tpot", "itl", "e2e"):
        low, high = speed.spread.get(f"{metric}_s", (1.0, 1.0))
        for statistic in STATISTICS:
            value = getattr(getattr(speed, f"{metric}_s"), statistic)
            name = f"{metric}_{statistic}_s"
            leaves[name] = simulated(name, value, value * low, value * high, seed)
    for name in ("requests_per_s", "output_tokens_per_s", "total_tokens_per_s"):
        low, high = speed.spread.get(name, (1.0, 1.0))
        value = getattr(speed, name)
        leaves[name] = simulated(name, value, value * low, value * high, seed)
    return leaves


def _terms(d: Deployment, model: StepModel) -> dict[str, Quantity]:
    """The arguments of ``engine_step_s`` that a data sheet and a calibrated share explain, as trees."""
    c = coefficients(d.engine, d.accelerator, d.weights)
    share = {field.name: _share(d, c, field.name) for field in fields(Coefficients)}
    bandwidth = d.accelerator.quantity("memory_bytes_per_s", memory_rate(d.accelerator))
    rate = d.accelerator.quantity("flop_per_s", tensor_rate(d.accelerator, multiplies_as(d)))
    best = best_matmul(d.accelerator).quantity()
    body, kept, _, experts = weight_counts(d)
    tp = _setting("shards_count", d.parallel.tp)
    fmt = d.weights
    dense = dense_weights_bytes(
        body_params_count=_counted(d, "body_params_count", body),
        kept_params_count=_counted(d, "kept_params_count", kept),
        body_bits=fmt.quantity("body_bits"),
        kept_bits=fmt.quantity("other_bits"),
        shards_count=tp,
    )
    counts = memory.params(d.model)
    passed = _counted(d, "params_count", counts.attention_count + counts.mlp_count)
    flop = weight_flop_per_token(passed, tp)
    found = {
        "dense_read_s": read_s(dense.named("read_bytes"), bandwidth, share["bandwidth_ratio"]),
        "dense_s_per_token": multiply_s_per_token(flop, rate, best, share["compute_ratio"]),
        "routed_read_s": _figure("routed_read_s", 0.0),
        "routed_s_per_token": _figure("routed_s_per_token", 0.0),
        "missed_ratio": _figure("missed_ratio", 1.0),
        "expert_ranks_count": _setting("expert_ranks_count", d.parallel.dp if shares_experts(d) else 1),
        "wire_s_per_token": _worked_out(d, "wire_s_per_token", exchange(d, c)[1]),
        "launch_s": _worked_out(d, "launch_s", model.launch_s),
        "sequence_s": _worked_out(d, "sequence_s", model.sequence_s),
    }
    groups = [group for group in d.model.mlp if group.experts_count]
    if groups:
        group = max(groups, key=lambda one: one.layers_count)
        missed = experts_missed_ratio(
            _counted(d, "experts_per_token_count", group.experts_per_token_count),
            _counted(d, "experts_count", group.experts_count),
        )
        routed = routed_weights_bytes(
            _counted(d, "experts_params_count", experts),
            fmt.quantity("body_bits"),
            _setting("shards_count", experts_shards(d)),
        )
        active = _counted(d, "active_experts_params_count", experts * (1 - float(missed)))
        routed_flop = weight_flop_per_token(active, tp)
        found |= {
            "missed_ratio": missed,
            "routed_read_s": read_s(routed.named("read_bytes"), bandwidth, share["routed_bandwidth_ratio"]),
            "routed_s_per_token": multiply_s_per_token(
                routed_flop, rate, best, share["routed_compute_ratio"]
            ),
        }
    return found


def _step(
    terms: dict[str, Quantity], model: StepModel, prompt_tokens: float, batch: float, context: float
) -> Quantity:
    """``step_s`` as a tree; arguments no tree explains are figures of the step model."""
    window = min(context, model.window_tokens)
    tokens = (prompt_tokens + batch) / model.stages_count
    work = {"tokens_count": _steady("tokens_count", tokens)}
    work |= {name: terms[name] for name in token_work_s.params[1:]}
    loads = {
        "attended_tokens": 0.5 * prompt_tokens**2,
        "prompts_ratio": 1.0 if prompt_tokens > 0 else 0.0,
        "sequences_count": batch,
        "context_tokens": batch * context,
        "window_tokens": batch * window,
    }
    names = step_s.params[1 + len(loads) :]
    values = dict(zip(names, model.constants, strict=True))
    given = {"token_work_s": token_work_s(**work)}
    given |= {name: _steady(name, value) for name, value in loads.items()}
    given |= {name: terms.get(name) or _figure(name, value) for name, value in values.items()}
    tree: Quantity = step_s(**given)
    return tree


def _share(d: Deployment, c: Coefficients, name: str) -> Quantity:
    return leaf(name, getattr(c, name), calibration_source(d.engine))


def _counted(d: Deployment, name: str, value: float) -> Quantity:
    record: Sourced = d.model
    return leaf(name, value, record.source)


def _worked_out(d: Deployment, name: str, value: float) -> Quantity:
    return leaf(name, value, calibration_source(d.engine))


def _setting(name: str, value: float) -> Quantity:
    return leaf(name, value, Source("the deployment's split", grade="derived"))


def _steady(name: str, value: float) -> Quantity:
    return leaf(name, value, Source("steady state by Little's law", grade="derived"))


def _figure(name: str, value: float) -> Quantity:
    return leaf(name, value, Source("step model of the deployment", grade="derived"))
