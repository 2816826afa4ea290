"""What comes after today, in a brief: read, written back, and what can't be."""

import pytest

from cabida.brief import parse_brief
from cabida.brief.ahead import Future
from cabida.brief.render import render
from cabida.errors import InvalidInput

AS_OF = "2026-11-30"
BRIEF = """
name: ahead
workload: realtime-inference
models: [{id: meta-llama/Llama-3.1-8B-Instruct, weights: {fp8: 0.9}}]
traffic: {requests_per_s: {mean: 3, peak: 9}, input_tokens: {p50: 350, p95: 900}, output_tokens: 200, growth: 40 %/year}
objectives: {ttft_p95: 2 s}
limits: {data: any, needed_by: 2027-02-01}
horizon: 24 months
currency: EUR
future: FUTURE
"""


def read(future):
    return parse_brief(BRIEF.replace("FUTURE", future), as_of=AS_OF)


def test_a_future_is_read_and_written_back():
    brief = read(
        "{growth: {low: -10 %, high: 150 %/year}, longer_context: 16 k, successor_params: 24e9, by: 2027-12-31}"
    )
    assert brief.future == Future(-0.1, 1.5, 16_000.0, "", 24e9, "2027-12-31")
    assert parse_brief(render(brief), as_of=AS_OF).future == brief.future
    assert parse_brief(BRIEF.replace("future: FUTURE", ""), as_of=AS_OF).future is None


@pytest.mark.parametrize(
    ("future", "code", "path"),
    [
        ("{growth: {low: 60 %, high: 20 %}}", "CB-B080", "future.growth.low"),
        ("{growth: {low: 60 %, high: 90 %}}", "CB-B081", "40%"),
        ("{growth: {high: 10 %}}", "CB-B081", "future.growth"),
        ("{longer_context: 500}", "CB-B082", "1100"),
        ("{successor: Qwen/Qwen3-32B, successor_params: 32e9}", "CB-B083", "Qwen/Qwen3-32B"),
        ("{by: 2026-01-31}", "CB-B084", "2026-01-31"),
        ("{by: 2029-06-30}", "CB-B085", "24 months"),
        ("{successor: meta-llama/Llama-9-nothing}", "CB-B038", "Llama-9-nothing"),
    ],
)
def test_what_can_not_be_is_said(future, code, path):
    with pytest.raises(InvalidInput) as caught:
        read(future)
    problems = [one for one in caught.value.problems if one.code == code]
    assert len(problems) == 1
    assert path in problems[0].what
    assert problems[0].line == BRIEF.count("\n", 0, BRIEF.index("future:")) + 1


def test_a_named_successor_is_known():
    assert read("{successor: Qwen/Qwen3-32B}").future.successor == "Qwen/Qwen3-32B"
