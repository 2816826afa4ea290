"""Speculative decoding: how many drafted tokens are accepted, and what drafting costs.

Each drafted token is accepted with the same chance, given that those before it were; a verifying step gives
the accepted ones and one more. Leviathan, Kalman, Matias 2023, section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cabida.timing.engine.step_table import NO_TABLE
from cabida.timing.engine.step_time import CONSTANTS_COUNT, STAGES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cabida.memory import ServingMemory
    from cabida.plan import Deployment
    from cabida.timing.engine.steps import StepModel

    Floats = NDArray[np.float64]

METHODS = ("mtp", "eagle", "draft", "ngram")
ACCEPTED_RATIOS = {  # chance that a drafted token is accepted where nobody measured it
    "mtp": (0.85, "DeepSeek-V3 technical report, section 5.4.3: 85 to 90 % of second tokens"),
    "eagle": (0.75, "Li et al. 2024 (EAGLE): 0.7 to 0.8 along a chain on MT-bench"),
    "draft": (0.65, "Leviathan et al. 2023, table 2: a small T5 drafting summaries for a large one"),
}
LOOK_UP_S = 2e-5  # searching a sequence for the last n-gram on the host: assumed


@dataclass(frozen=True, slots=True)
class Drafting:
    """How an engine speculates: tokens drafted per step, and the model that drafts them."""

    tokens_count: int = 0
    accepted_ratio: float = 0.0
    passes_count: int = 0  # passes of the drafting model; 0 = drafted without one
    host_s: float = 0.0  # per sequence and step
    constants: tuple[float, ...] = tuple(float(place == STAGES) for place in range(CONSTANTS_COUNT))
    table: tuple[float, ...] = NO_TABLE


NO_DRAFT = Drafting()


def accepted_moments(drafted_count: int, accepted_ratio: float) -> tuple[float, float]:
    """Mean and mean square of the tokens one verifying step gives: at least j with chance ratio ** (j - 1).

    The mean is Leviathan et al. 2023, equation 1.
    """
    at_least = [accepted_ratio**place for place in range(drafted_count + 1)]
    return sum(at_least), sum((2 * place + 1) * chance for place, chance in enumerate(at_least))


def paces(drafting: Drafting, output_tokens: Floats, rng: np.random.Generator) -> Floats:
    """Tokens per decoding step of each request, drawn: shape of ``output_tokens``.

    The steps to pass a number of tokens are those of a renewal process: mean (tokens + mean excess) / mean,
    variance tokens * variance / mean ** 3 (Feller 1971, volume 2, chapter XI).
    """
    import numpy as np

    if not drafting.tokens_count:
        return np.ones(len(output_tokens))
    mean, square = accepted_moments(drafting.tokens_count, drafting.accepted_ratio)
    owed = np.maximum(output_tokens - 1.0, 1.0)  # the first comes with the prompt
    excess = 0.5 * (square - mean) / mean
    spread = np.sqrt(owed * max(square - mean**2, 0.0) / mean**3)
    drawn = (owed + excess) / mean + spread * rng.standard_normal(len(owed))
    steps = np.clip(np.rint(drawn), np.ceil(owed / (drafting.tokens_count + 1)), owed)
    return np.asarray(owed / steps)


def drafting_of(
    d: Deployment, m: ServingMemory, method: str, tokens_count: int, accepted_ratio: float | None = None
) -> Drafting:
    """How a deployment speculates.

    Args:
        d: the deployment; its ``draft`` is the model that drafts under the method "draft".
        m: its memory.
        method: "mtp" and "eagle" (one layer and the head, once per token), "draft" or "ngram".
        tokens_count: drafted per step.
        accepted_ratio: chance that a drafted token is accepted; known for all methods but "ngram".

    Raises:
        KeyError: an n-gram's chance wasn't given, or the method isn't known.
        ValueError: "draft" without a model that drafts.
    """
    from cabida.timing.engine.steps import step_model

    chance = ACCEPTED_RATIOS[method][0] if accepted_ratio is None else accepted_ratio
    if method == "ngram":
        return Drafting(tokens_count, chance, 0, LOOK_UP_S)
    if method != "draft":
        small = one_layer(step_model(d, m), d.model.layers_count)
    elif d.draft is None:
        raise ValueError(method)
    else:
        small = replace(step_model(replace(d, model=d.draft, draft=None), m), host_s=0.0)
    return Drafting(tokens_count, chance, tokens_count, 0.0, small.constants, small.table)


def one_layer(model: StepModel, layers_count: int) -> StepModel:
    """What a pass through one layer and the head costs: the model's own prediction layer, or EAGLE's."""
    return replace(
        model,
        launch_s=model.launch_s / layers_count,
        context_s_per_token=model.context_s_per_token / layers_count,
        window_s_per_token=model.window_s_per_token / layers_count,
        state_s_per_sequence=model.state_s_per_sequence / layers_count,
        attended_s_per_token=model.attended_s_per_token / layers_count,
        prompt_launch_s=model.prompt_launch_s / layers_count,
        host_s=0.0,
        table=tuple(value / layers_count for value in model.table),
    )
