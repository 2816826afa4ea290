"""Names of figures in a plan: those that results have, and no other."""

from __future__ import annotations

import pytest

from cabida.bench.drills import jobs
from cabida.bench.keep.observed import SERVING
from cabida.bench.planned.metrics import KNOWN, NO_FIGURES, SERVED, TRAINED
from cabida.bench.planned.read import parse_plan
from cabida.errors import InvalidInput

PLAN = """name: chat
contenders:
  - name: a
    target: {url: "http://127.0.0.1:8000/v1", model: m}
runs:
  - name: steady
    phase: load
    candidate: a
    load: {kind: poisson, requests_per_s: 3, duration: 40 min}
    decides:
      - {metric: METRIC, side: above, at: 700, then: b}
"""
JOB = """name: train
contenders: [{name: a, target: {url: "http://127.0.0.1:8000/v1"}}]
runs:
  - name: steps
    phase: training
    candidate: a
    job: {command: [sh, train.sh], patterns: {grad_norm: 'norm ([0-9.]+)', step_time_ms: 'took ([0-9]+)'}}
    expected: [{metric: METRIC, value: 2, low: 1, high: 3}]
"""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("ttft_p95", "ttft_ms_p95"),
        ("e2e_p99", "e2e_ms_p99"),
        ("tpot_mean_ms", "tpot_ms_mean"),
        ("requests_s", "req_s"),
        ("goodput_rate", "goodput_ratio"),
        ("kv_tokens", "kv_cache_tokens"),
    ],
)
def test_a_name_no_result_has_is_refused_at_its_line_with_the_nearest(said: str, meant: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_plan(PLAN.replace("METRIC", said))
    (fault,) = refused.value.problems
    assert (fault.code, fault.line) == ("CB-P034", 11)
    assert said in fault.what
    assert meant in fault.cure


@pytest.mark.parametrize("name", KNOWN)
def test_every_known_name_is_taken(name: str) -> None:
    assert parse_plan(PLAN.replace("METRIC", name)).runs[0].decides[0].metric == name


def test_a_job_s_own_pattern_is_a_figure_of_it_and_one_that_is_converted_is_not() -> None:
    assert parse_plan(JOB.replace("METRIC", "grad_norm")).runs[0].expected[0].metric == "grad_norm"
    with pytest.raises(InvalidInput) as refused:
        parse_plan(JOB.replace("METRIC", "step_time_ms"))
    assert "step_time_s" in refused.value.problems[0].cure


def test_the_names_are_those_of_the_results() -> None:
    assert set(SERVING) <= set(SERVED)
    assert set(TRAINED) == set(jobs.METRICS)
    assert set(jobs.MULTIPLES) <= set(NO_FIGURES)
