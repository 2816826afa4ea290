"""Capacity of many deployments at once, by the steady state alone: the first stage of the funnel.

A batch fixes a step, a step fixes latencies and a request rate; so the highest rate that keeps the
objectives is found by bisecting the batch, for all deployments together as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from cabida.plan import Load
from cabida.timing.fluid import Flow, Steady, at_batch, flow_of, most_batch
from cabida.timing.steps import StepModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HALVINGS = 22
TAIL = {"p50": 0.69, "mean": 1.0, "p95": 3.0, "p99": 4.6}  # quantiles of an exponential wait over its mean


def estimated_capacities(models: Sequence[StepModel], shape: Load, objectives: Mapping[str, float]) -> Floats:
    """Highest request rate of each replica that keeps the objectives in the steady state, requests/s.

    Args:
        models: one step model per deployment.
        shape: lengths of the load; its rate is ignored.
        objectives: seconds at most, by ``ttft_s_p95``, ``itl_s_p99``, ``e2e_s_mean`` ...

    Returns:
        Shape (len(models),); 0 where even a nearly empty batch misses an objective.
    """
    import numpy as np

    if not models:
        return np.zeros(0)
    constants = tuple(np.array(column) for column in zip(*(model.constants for model in models), strict=True))
    flows = [flow_of(model, shape) for model in models]
    flow = Flow(*(np.array([getattr(one, part.name) for one in flows], dtype=float) for part in fields(Flow)))
    most = most_batch(flow) * 1.0
    low, high = np.zeros(len(models)), most
    for step in range(HALVINGS):
        middle = most if step == 0 else 0.5 * (low + high)
        kept = _keeps(at_batch(constants, flow, middle), flow, objectives)
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    rate = at_batch(constants, flow, np.maximum(low, 1e-9)).requests_per_s
    ranks = np.array([model.ranks_count for model in models], dtype=float)
    return np.asarray(np.where(low > 1e-6 * most, rate * ranks, 0.0))


def _keeps(state: Steady, flow: Flow, objectives: Mapping[str, float]) -> Any:
    import numpy as np

    use = np.minimum(state.prompt_ratio, 0.98)
    wait = 0.5 * use / (1 - use) * state.prompt_step_s
    kept = np.ones_like(state.tpot_s, dtype=bool)
    for name, limit_s in objectives.items():
        metric, _, statistic = name.replace("_s_", " ").partition(" ")
        tail = TAIL.get(statistic, 3.0)
        if metric == "ttft":
            value = state.ttft_s + tail * wait
        elif metric == "e2e":
            value = state.ttft_s + tail * wait + (flow.output_tokens - 1) * state.tpot_s
        elif metric == "itl" and statistic in ("p95", "p99"):
            share = 1 - (0.95 if statistic == "p95" else 0.99)
            value = np.where(state.prompt_ratio > share, state.prompt_step_s, state.tpot_s)
        else:
            value = state.tpot_s
        kept &= value <= limit_s
    return kept
