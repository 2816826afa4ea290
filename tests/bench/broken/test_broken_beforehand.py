"""What would stop a run later is told before the first request, with its place; and told once."""

import pytest

from cabida.bench.load.arrivals import LARGEST_TRACE_ROWS_COUNT, arrivals
from cabida.bench.planned.read import parse_plan
from cabida.bench.run.beforehand import unready
from cabida.bench.run.parent import run_plan
from cabida.errors import InvalidInput
from cabida.plan.bench import Load

PLAN = """\
name: broken
contenders:
  - name: target
    target: {url: "http://127.0.0.1:9/v1", model: m}
prompts: {input_tokens: 16, output_tokens: 8}
runs:
  - name: first
    phase: load
    candidate: target
    load: {kind: closed, concurrency: 1, duration: 2 s}
"""
CLOSED = "load: {kind: closed, concurrency: 1, duration: 2 s}"
DRILL = "load: {kind: closed, concurrency: 1, duration: 5 s}\n    drills: [%s]"


def drilled(one):
    return PLAN.replace("phase: load", "phase: drill").replace(CLOSED, DRILL % one)


def training(job):
    return PLAN.replace("phase: load", "phase: training").replace(CLOSED, f"job: {job}")


def codes(text, names=("first",)):
    return [(one.code, one.line) for one in unready(parse_plan(text), list(names))]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (PLAN.replace("concurrency: 1", "concurrency: 1000000000"), "CB-G001", 10),
        (
            PLAN.replace(CLOSED, "load: {kind: gamma, requests_per_s: 2, burst: 0, duration: 2 s}"),
            "CB-G001",
            10,
        ),
        (PLAN.replace(CLOSED, "load: {kind: trace, trace: nowhere.csv}"), "CB-B039", 0),
        (PLAN.replace(CLOSED, "load: {kind: trace, trace: /dev/zero}"), "CB-B039", 0),
        (drilled("{kind: command, command: [no-such-program-x], lasts: 1 s}"), "CB-D006", 11),
        (drilled('{kind: command, command: ["a\\0b"], lasts: 1 s}'), "CB-D006", 11),
        (drilled("{kind: kill, pid_file: x.pid, undo: [no-such-program-x]}"), "CB-D006", 11),
        (training("{command: [no-such-program-x]}"), "CB-D032", 10),
        (training("{command: [echo], folder: /no/such/folder}"), "CB-D032", 10),
        (training("{command: [echo], patterns: {loss: '('}}"), "CB-D030", 10),
        (PLAN.replace("prompts: {", "prompts: {source: jsonl, file: nowhere.jsonl, "), "CB-G007", 0),
        (PLAN.replace("model: m", "model: m, tokenizer: nowhere"), "CB-W015", 0),
    ],
)
def test_what_would_stop_a_run_is_told_before_it(text, code, line):
    assert codes(text) == [(code, line)]
    assert not codes(PLAN)
    assert not codes(text, ("another",))  # what isn't run isn't looked at


def test_nothing_is_begun_with_a_run_that_can_not_be_made(tmp_path):
    second = PLAN + PLAN[PLAN.index("  - name: first") :].replace("first", "second").replace(
        CLOSED, "load: {kind: trace, trace: nowhere.csv}"
    )
    with pytest.raises(InvalidInput, match="CB-B039"):
        run_plan(parse_plan(second), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_trace_too_long_is_refused_without_holding_it(tmp_path):
    file = tmp_path / "long.csv"
    row = b"0,5,5\n"
    with file.open("wb") as out:
        out.write(b"arrival_s,input_tokens,output_tokens\n")
        for _ in range(LARGEST_TRACE_ROWS_COUNT // 1000 + 1):
            out.write(row * 1000)
    with pytest.raises(InvalidInput, match="CB-B039"):
        next(arrivals(Load("trace", trace=str(file))))


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("concurrency: 1", "concurrency: 0", ["CB-B011"]),
        ("concurrency: 1", "concurrency: many", ["CB-B010"]),
        ("kind: closed", "kind: sine", ["CB-B018"]),
        ("concurrency: 1, ", "", ["CB-P019"]),
        ("duration: 2 s", "duration: 2", ["CB-B015"]),
        (
            CLOSED,
            "load: {kind: profile, requests_per_s: 1, profile: [" + "0," * 23 + "0], duration: 2 s}",
            ["CB-P033"],
        ),
        (CLOSED, "load: {kind: steps, steps: [[1, 2]]}", ["CB-B012"]),
        (CLOSED, "load: {kind: steps, steps: []}", ["CB-P019"]),
        ("127.0.0.1:9", "user:sk-1234567890abcdefghij@127.0.0.1:9", ["CB-P001"]),
    ],
)
def test_what_is_wrong_is_not_missing_as_well(old, new, wanted):
    with pytest.raises(InvalidInput) as caught:
        parse_plan(PLAN.replace(old, new))
    assert [one.code for one in caught.value.problems] == wanted


def test_a_number_beyond_all_numbers_is_no_number_of_a_body():
    read = parse_plan(PLAN.replace("model: m", "model: m, body: {temperature: 1e999}"))
    assert read.contenders[0].target.body == {"temperature": "1e999"}
