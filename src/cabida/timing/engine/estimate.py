"""The most that many deployments could carry, by the steady state alone: the first stage of the funnel.

A batch fixes a step, and a step fixes the gaps between tokens and the request rate; so the highest rate
that could keep the objectives is found by bisecting the batch, for all deployments together as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from cabida.plan import Load
from cabida.quantity import least
from cabida.timing.engine.fluid import Flow, at_batch, flow_of, most_batch
from cabida.timing.engine.step_time import Costs, engine_steps_s
from cabida.timing.engine.steps import StepModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HALVINGS = 24


def capacities_at_best(models: Sequence[StepModel], shape: Load, objectives: Mapping[str, float]) -> Floats:
    """Request rates that no simulation can exceed, requests/s: full batches, no queue, quiet steps between tokens.

    Args:
        models: one step model per deployment.
        shape: lengths of the load; its rate is ignored.
        objectives: seconds at most, by ``ttft_s_p95``, ``itl_s_p99``, ``e2e_s_mean`` ...

    Returns:
        Shape (len(models),); 0 where even a lone request misses an objective.
    """
    import numpy as np

    if not models:
        return np.zeros(0)
    columns = tuple(np.array(column) for column in zip(*(model.constants for model in models), strict=True))
    costs = Costs(columns, np.array([model.table for model in models]))
    flows = [flow_of(model, shape) for model in models]
    flow = Flow(*(np.array([getattr(one, part.name) for one in flows], dtype=float) for part in fields(Flow)))
    most = most_batch(flow) * 1.0
    alone = at_batch(costs, flow, np.minimum(most, 1.0))
    alone_s = alone.ttft_s - 0.5 * alone.tpot_s  # an idle replica has no step to wait for
    low, high = np.zeros(len(models)), most
    for step in range(HALVINGS):
        middle = most if step == 0 else 0.5 * (low + high)
        kept = _may_keep(quiet_step_s(costs, flow, middle), alone_s, flow, objectives)
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    rate = at_batch(costs, flow, np.maximum(low, 1e-9), merged=True).requests_per_s
    ranks = np.array([model.ranks_count for model in models], dtype=float)
    return np.asarray(np.where(low > 1e-6 * most, rate * ranks, 0.0))


def quiet_step_s(c: Costs, flow: Flow, batch: Any) -> Any:
    """One step in which ``batch`` sequences decode and no prompt is read."""
    context = flow.prefix_tokens + flow.input_tokens + 0.5 * flow.output_tokens
    window, none = batch * least(context, flow.window_tokens), 0.0 * batch
    return engine_steps_s(c, none, none, batch, batch * context, window)


def _may_keep(quiet_s: Any, alone_s: Any, flow: Flow, objectives: Mapping[str, float]) -> Any:
    import numpy as np

    kept = np.ones_like(quiet_s, dtype=bool)
    decoding_s = (flow.output_tokens - 1) * quiet_s
    for name, limit_s in objectives.items():
        metric = name.partition("_")[0]
        best = {"ttft": alone_s, "e2e": alone_s + decoding_s}.get(metric, quiet_s)
        kept &= best <= limit_s
    return kept
