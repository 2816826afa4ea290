"""Time per token where some replicas read prompts and others write: the steady state of a closed loop of two stages.

A bound, in closed form, for what :mod:`cabida.timing.queues.disaggregated` simulates: clients are at the readers
or at the writers (Little 1961), and the readers let no more prompts through than they can read.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cabida.timing.engine.steps import step_s

if TYPE_CHECKING:
    from cabida.plan import Load
    from cabida.timing.engine.steps import StepModel

ROUNDS = 40  # halving steps until the batch of the writers stands still
DAMPING_RATIO = 0.5


def read_s(reader: StepModel, input_tokens: float) -> float:
    """Seconds one rank takes to read a prompt alone, in steps of its token budget."""
    steps = max(1, math.ceil(input_tokens / reader.budget_tokens))
    each = input_tokens / steps
    return sum(step_s(reader, each, place * each) for place in range(steps))


def written_s(
    reader: StepModel, readers_count: float, writer: StepModel, writers_count: int, load: Load
) -> float:
    """Seconds per token at the writers of a disaggregated run under a closed loop.

    Args:
        reader: a replica that reads prompts.
        readers_count: how many; infinite where prompts are known not to wait.
        writer: a replica that writes answers.
        writers_count: how many.
        load: of all of it; its concurrency is a number.
    """
    clients = load.concurrency or 1.0
    prompt_s = read_s(reader, load.input_tokens) + reader.request_s
    most_per_s = readers_count * reader.ranks_count / prompt_s
    context = load.input_tokens + 0.5 * load.output_tokens
    ranks = writers_count * writer.ranks_count
    room = max(1.0, writer.kv_tokens / context)
    batch = max(1.0, clients / ranks)
    token_s = 0.0
    for _ in range(ROUNDS):
        running = max(1.0, min(batch, room, float(writer.sequences_most_count)))
        token_s = step_s(writer, decode_count=running, decode_context_tokens=running * context)
        answer_s = load.output_tokens * token_s
        per_s = min(most_per_s, clients / (prompt_s + answer_s))
        batch += DAMPING_RATIO * (per_s * answer_s / ranks - batch)
    return token_s
