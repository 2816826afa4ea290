"""What a completed training run costs under each offer (B5), and a model that is good enough."""

from __future__ import annotations

from typing import Any

from cabida import money
from cabida.errors import UsageProblem
from cabida.facts.model import Model
from cabida.report.cost_rows import Billing, run_rows
from cabida.report.run_speed import training_worked
from cabida.text import problem
from cabida.timing.runs.preference import KINDS

OF_COST = ("dataset_bytes", "runs")  # flags that speed has no use for


def run_answer(model: Model, gpu: str, billing: Billing, flags: dict[str, Any]) -> dict[str, Any]:
    """The answer of ``cabida cost MODEL --method ...``.

    Args:
        model: what is trained.
        gpu: accelerator.
        billing: terms; ``acceptance_ratio`` is the share of completed runs whose model is kept.
        flags: of a training run, with ``target_tokens``, ``dataset_bytes`` and ``runs`` a month.

    Raises:
        UsageProblem: CB-U082, without tokens there is no end and no cost; CB-U046, flags without a use; CB-U083, a
            kind of tuning whose cost is asked for by a brief.
    """
    if flags["method"] in KINDS:
        raise UsageProblem([problem("CB-U083", method=flags["method"])])
    tokens = flags.get("target_tokens")
    if not tokens:
        raise UsageProblem([problem("CB-U082")])
    own = {name: flags.pop(name, None) for name in OF_COST}
    told, run, answer = training_worked(model, gpu, flags)
    use = money.training_use(
        run,
        tokens,
        told["metrics"]["tokens_s"].value,
        told["metrics"]["time_to_target_s"].value,
        acceptance_ratio=billing.acceptance_ratio,
        dataset_bytes=own["dataset_bytes"] or 0.0,
        checkpoint_bytes=answer.checkpoints.bytes,
        runs_per_month=own["runs"] or 1.0,
    )
    return {
        **told,
        "target_tokens": tokens,
        "as_of": billing.as_of,
        "currency": billing.currency,
        **run_rows(run, use, billing, billing.terms()),
    }
