"""Where the seconds of one engine step go, part by part."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from cabida.plan import Deployment
from cabida.timing.engine.step_table import parts_of
from cabida.timing.engine.step_time import table_s
from cabida.timing.engine.steps import StepModel, step_s

# part -> figures of a step model that are its own; taken away one part after the other, so that the parts add up
PARTS: dict[str, tuple[str, ...]] = {
    "attention": (
        "context_s_per_token",
        "window_s_per_token",
        "state_s_per_sequence",
        "attended_s_per_token",
        "sequence_s",
    ),
    "head": ("head_read_s", "head_s_per_token"),
    "tokens": ("table",),
    "launch": ("prompt_launch_s", "launch_s"),
    "host": ("host_s",),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what it carries, how long it takes, and by which parts."""

    prompt_tokens: float
    sequences_count: float
    context_tokens: float  # of each sequence
    s: float
    parts_s: dict[str, float]  # in the order of PARTS, "tokens" told apart as products, experts and exchange


def parted_step(
    d: Deployment, model: StepModel, prompt_tokens: float, sequences_count: float, context_tokens: float
) -> Step:
    """One step of a data-parallel rank, and what each part adds to it.

    Args:
        d: the deployment, which tells routed experts and exchange apart from other products.
        model: its step model.
        prompt_tokens: of prompts read in this step.
        sequences_count: sequences that each produce a token.
        context_tokens: context of each of them.
    """
    carried = (prompt_tokens, 0.0, sequences_count, sequences_count * context_tokens)
    whole = left = step_s(model, *carried)
    found: dict[str, float] = {}
    names = {one.name for one in fields(model)}
    for part, figures in PARTS.items():
        model = replace(
            model,
            **{  # type: ignore[arg-type]
                name: (0.0,) * len(model.table) if name == "table" else 0.0
                for name in figures
                if name in names
            },
        )
        rest = step_s(model, *carried)
        if part == "tokens":
            found |= _told_apart(d, (prompt_tokens + sequences_count) / model.stages_count, left - rest)
        else:
            found[part] = left - rest
        left = rest
    return Step(
        prompt_tokens, sequences_count, context_tokens, whole, {k: v for k, v in found.items() if v > 0}
    )


def _told_apart(d: Deployment, tokens: float, seconds: float) -> dict[str, float]:
    """What depends on tokens alone, in the ratio of its kernels: dense products, routed experts, exchange, norms."""
    parts = parts_of(d)._asdict()
    shares = {
        name: sum(table_s(table, tokens) for key, table in parts.items() if word in key)
        for name, word in (
            ("products", "products"),
            ("experts", "experts"),
            ("exchange", "wire"),
            ("elements", "elements"),
        )
    }
    total = sum(shares.values())
    return (
        {name: seconds * share / total for name, share in shares.items()}
        if total > 0
        else {"products": seconds}
    )
