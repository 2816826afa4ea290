"""The figures of a run by the names that ``expected`` and ``decides`` may call them."""

from __future__ import annotations

from collections.abc import Mapping

from cabida.brief.fields import METRICS, STATISTICS

SERVED = (
    *(f"{metric}_ms_{statistic}" for metric in METRICS for statistic in STATISTICS),
    "req_s", "output_tok_s", "total_tok_s", "items_s", "seconds_per_item", "offered_req_s", "goodput_req_s",
    "goodput_ratio", "error_ratio", "acceptance_ratio", "amplification_ratio",
    "input_tokens_mean", "output_tokens_mean",
)  # fmt: skip
HELD = ("kv_cache_tokens", "peak_gib_per_gpu", "peak_gib_total")  # of a ramp of memory
TRAINED = (
    "step_time_s",
    "tokens_s_per_gpu",
    "tokens_s",
    "samples_s",
    "tflops_per_gpu",
    "loss",
    "peak_gib_per_gpu",
)
KNOWN = tuple(dict.fromkeys((*SERVED, *HELD, *TRAINED)))
NO_FIGURES = (
    "format",
    "step",
    "step_time_ms",
    "peak_mib_per_gpu",
)  # of patterns; the two last are kept as s and GiB


def known_metrics(patterns: Mapping[str, str]) -> tuple[str, ...]:
    """Names that a run can be compared by: those of every run, and those its job's ``patterns`` bring."""
    return (*KNOWN, *(name for name in patterns if name not in NO_FIGURES and name not in KNOWN))
