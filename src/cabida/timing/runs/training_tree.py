"""The figures of a training run with everything that led to them."""

from __future__ import annotations

from cabida.memory.lens import Explaining
from cabida.plan import TrainingRun
from cabida.quantity import Quantity, Source, leaf
from cabida.timing.runs import training_step as step
from cabida.timing.runs.flops import trained_params
from cabida.timing.runs.goodput import bytes_per_param, goodput_tree
from cabida.timing.runs.training import spread_of, worked_out

RESIDUALS = "predicted over measured of public runs, whole models left out of the fit"


def training_tree(run: TrainingRun) -> dict[str, Quantity]:
    """The figures of :func:`cabida.timing.runs.training` as quantities; same procedure, same values."""
    lens = Explaining()
    worked = worked_out(run, lens)
    count = lens.setting("accelerators_count", run.accelerators_count)
    low, high = spread_of(run)["step_s"]
    residual = leaf(
        "residual_ratio", 1.0, Source(RESIDUALS, "cases/training.jsonl", grade="measured"), low, high
    )
    step_s = step.measured_like_s(worked.step_s, residual)
    rate = step.tokens_per_s(worked.step_tokens, step_s)
    useful = goodput_tree(
        lens.setting("trained_params_count", trained_params(run)), count, bytes_per_param(run)
    )
    tree = {
        "step_s": step_s,
        "tokens_per_s": rate,
        "tokens_per_s_per_accelerator": step.tokens_per_s_per_accelerator(worked.step_tokens, step_s, count),
        "mfu_ratio": step.mfu_ratio(
            worked.work.model, worked.step_tokens, step_s, count, worked.peak_flop_per_s
        ),
        "flop_per_token": worked.work.model,
        "bubble_ratio": step.bubble_ratio(
            lens.setting("micro_batches_count", worked.micro_batches_count),
            lens.setting("stages_count", run.pp),
            lens.setting("virtual_stages_count", run.virtual_stages_count),
        ),
    }
    tree |= useful
    if run.target_tokens:
        tree["time_to_target_s"] = step.time_to_target_s(
            lens.setting("target_tokens", run.target_tokens), rate, useful["goodput_ratio"]
        )
    return tree
