"""A trace fills in what the brief leaves to it; units may be written in Spanish."""

import pytest

from cabida.brief.completion import missing
from cabida.brief.read import read_brief
from cabida.brief.trace import read_trace, summarise
from cabida.errors import InvalidInput

AS_OF = "2026-11-30"


def test_a_trace_gives_rate_and_lengths(tmp_path):
    rows = "".join(f"{i * 0.5},{100 + i},{10},x\n" for i in range(201))
    (tmp_path / "t.csv").write_text("arrival_s,input_tokens,output_tokens,extra\n" + rows)
    (tmp_path / "b.yaml").write_text(
        "workload: realtime-inference\ntraffic: {trace: t.csv, output_tokens: 25}\n"
    )
    traffic = read_brief(tmp_path / "b.yaml", as_of=AS_OF).traffic
    assert traffic.requests_per_s_mean == pytest.approx(2)
    assert traffic.requests_per_s_peak == pytest.approx(2)
    assert traffic.burst_ratio == pytest.approx(0)
    assert traffic.input.p50_tokens == 200
    assert traffic.input.max_tokens == 300
    assert traffic.output.mean_tokens == 25  # said in the brief: the trace gives way
    lacks = {item.path for item in missing(read_brief(tmp_path / "b.yaml", as_of=AS_OF), AS_OF)}
    assert not {path for path in lacks if path.startswith("traffic")}


def test_the_busiest_minute_is_the_peak():
    rows = [(float(second), 10.0, 10.0) for second in range(600)]
    rows += [(60.0 + i / 10, 10.0, 10.0) for i in range(600)]
    found = summarise(sorted(rows))
    assert found.requests_per_s_peak == pytest.approx(11)
    assert found.requests_per_s_mean == pytest.approx(2, rel=0.01)
    assert found.burst_ratio == pytest.approx(0.82, abs=0.01)


def test_an_absent_trace_is_told_on_its_line(tmp_path):
    (tmp_path / "b.yaml").write_text("name: x\ntraffic: {trace: t.csv}\n")
    with pytest.raises(InvalidInput) as refused:
        read_brief(tmp_path / "b.yaml", as_of=AS_OF)
    assert [(item.code, item.line) for item in refused.value.problems] == [("CB-B016", 2)]


def test_one_request_is_a_trace_too():
    found = summarise([(3.0, 100.0, 0.0)])
    assert (found.requests_per_s_mean, found.burst_ratio, found.output.mean_tokens) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        ("", "CB-B039", 1),
        ("arrival_s,input_tokens\n1,2\n", "CB-B039", 1),
        ("arrival_s,input_tokens,output_tokens\n", "CB-B039", 1),
        ("arrival_s,input_tokens,output_tokens\n1,2,3\n1,two,3\n", "CB-B039", 3),
        ("arrival_s,input_tokens,output_tokens\n1,2,nan\n", "CB-B039", 2),
        ("arrival_s,input_tokens,output_tokens\n1,2\n", "CB-B039", 2),
    ],
)
def test_what_is_not_a_trace(tmp_path, content, code, line):
    file = tmp_path / "t.csv"
    file.write_text(content)
    with pytest.raises(InvalidInput) as refused:
        read_trace(file)
    assert [(item.code, item.line) for item in refused.value.problems] == [(code, line)]
    with pytest.raises(InvalidInput, match=r"none\.csv: Not a trace.*CB-B039"):
        read_trace(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("arrival_s,input_tokens,output_tokens,input_tokens\n0,100,10,999\n", 1),
        ("arrival_s,input_tokens,output_tokens\n0,100,10\n1e15,100,10\n", 0),
        ('arrival_s,input_tokens,output_tokens\n0,100,10\n"1\n2",100,10\n', 4),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_by_both_readers(tmp_path, text, line):
    from cabida.evidence import trace as quick

    path = tmp_path / "requests.csv"
    path.write_text(text, encoding="utf-8")
    for read in (read_trace, quick.read_trace, lambda one: list(quick.trace_blocks(one))):
        with pytest.raises(InvalidInput) as refused:
            read(path)
        (told,) = refused.value.problems
        assert (told.code, told.line) == ("CB-B039", line)
        assert "\n" not in str(told)
