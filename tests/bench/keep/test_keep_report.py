"""The report of a benchmark: the same figures in every form, whatever names hold, in both languages."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_trials import failed, outcome, plan, poisson, written
from report_trial import trial
from rich.console import Console

from cabida.bench.keep import read_journal
from cabida.bench.keep.asked import asked_of
from cabida.bench.keep.figures import summary
from cabida.bench.keep.statistics import Figure
from cabida.faces.bench_report_screens import screen
from cabida.plan.bench import Expected, Turn
from cabida.report.bench import bench_answer
from cabida.report.bench_beside import _side, beside_rows, settled
from cabida.report.bench_letters import spark, timeline_letters
from cabida.report.bench_markdown import bench_markdown
from cabida.report.bench_page import bench_page
from cabida.report.bench_parts import headline, parts
from cabida.report.bench_times import timeline
from cabida.text import use_language

EVIL = "<script>alert(1)</script> | `x` \x1b[2J\u202e"


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    trial(folder)
    return bench_answer([folder])


def run_of(answer, name):
    return next(one for one in answer["runs"] if one["run"] == name)


def printed(answer, width=100, **more) -> str:
    console = Console(width=width, record=True, force_terminal=False, **more)
    with console.capture() as caught:
        console.print(screen(answer))
    return caught.get()


def test_it_is_plain_data_with_every_run_and_point(answer):
    json.dumps(answer, allow_nan=False)
    assert [one["run"] for one in answer["runs"]] == [
        "steady", "kill", "seek", "seek/0", "seek/1", "seek/2", "edge"
    ]  # fmt: skip
    assert [one["point_of"] for one in answer["runs"]] == ["", "", "", "seek", "seek", "seek", ""]
    assert run_of(answer, "seek/2")["summary"]["saturated"] is True
    assert answer["journals"][0]["ended"]


def test_what_it_settles(answer):
    turns = run_of(answer, "steady")["settles"]
    assert [one["happened"] for one in turns] == [True, False, None]
    assert turns[2]["why"] == "straddles"


def test_a_search_settles_by_the_rate_it_found(answer):
    run = run_of(answer, "seek")
    assert run["settles"][0]["happened"] is False
    assert (run["settles"][0]["low"], run["settles"][0]["high"]) == (20.0, 30.0)
    part = next(one for one in parts(answer) if one.title.startswith("Search"))
    assert any("up to 20 req/s" in one and "30 req/s" in one for one in part.sentences)
    assert len(part.tables[0].rows) == 3


def test_the_edge_of_memory_is_told(answer):
    run = run_of(answer, "edge")
    assert run["summary"]["measured"]["fits"] is True
    assert run["beside"][0]["side"] == "within"
    part = next(one for one in parts(answer) if one.title == "Run edge")
    assert any("118,000" in one for one in part.sentences)
    titles = [table.title for table in part.tables]
    assert "Steps to the edge of memory" in titles
    assert "What was watched meanwhile" in titles
    assert not any("TTFT" in str(table.rows) for table in part.tables)


def test_the_drill_is_judged_and_marked(answer):
    run = run_of(answer, "kill")
    drill = run["drills"][0]
    assert drill["verdict"] == "passed"
    assert drill["recovery"]["lost_count"] == run["summary"]["verdicts"]["refused"]
    mark = next(one for one in run["marks"] if one["kind"] == "drill")
    assert mark["from_s"] == pytest.approx(15.0, abs=0.5)
    assert mark["until_s"] == pytest.approx(18.0, abs=0.5)
    told = run["timeline"]
    span = told["span_s"]
    bad = [at * span for at, value in enumerate(told["columns"]["failed_req_s"]) if value]
    assert min(bad) >= 14.0
    assert max(bad) <= 19.0


def test_predicted_beside_measured(answer):
    rows = {one["metric"]: one for one in run_of(answer, "steady")["beside"]}
    assert rows["ttft_ms_p95"]["expected"]["value"] == 250.0
    assert rows["ttft_ms_p95"]["side"] == "within"
    assert rows["tpot_ms_mean"]["predicted"]["predicted"] > 0
    assert rows["tpot_ms_mean"]["measured"] == pytest.approx(10.0)


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_form_says_the_figures(answer, language):
    use_language(language)
    value = run_of(answer, "steady")["summary"]["metrics"]["ttft_ms_p95"]["value"]
    told = f"{value:.0f}"
    page, md, seen = bench_page(answer, language), bench_markdown(answer, language), printed(answer)
    for form in (page, md, seen):
        assert f"{told} ms" in form
        assert "{" not in form.replace(page[: page.index("</style>")], "")
    assert f'<html lang="{language}">' in page
    word = {"en": "over-saturated", "es": "sobresaturada"}[language]
    for form in (page, md, " ".join(seen.split())):
        assert word in form


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_no_line_of_the_screen_is_wider_than_the_terminal(answer, width):
    assert max(map(len, printed(answer, width).splitlines())) <= width


def test_letters_stay_letters_where_there_are_no_others(answer):
    lines = timeline_letters(run_of(answer, "kill"), 72, plain=True)
    assert "\n".join(lines).isascii()
    assert any("D" in one for one in lines)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.open, self.addresses = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        said = dict(attrs)
        self.ids += [said["id"]] if "id" in said else []
        self.addresses += [value for key, value in said.items() if key in ("src", "href")]
        if tag not in ("meta", "link", "br", "line", "rect", "path", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_quiet_and_accessible(answer):
    page = Page()
    page.feed(bench_page(answer))
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert page.addresses == []
    assert "script" not in page.tags
    assert page.tags.count("svg") >= 3
    text = bench_page(answer)
    assert text.count('role="img"') == page.tags.count("svg") == page.tags.count("details")
    for name in re.findall(r'aria-labelledby="([^"]+)"', text):
        assert set(name.split()) <= set(page.ids)


def test_names_of_others_drive_nothing(tmp_path):
    trial(tmp_path, word=EVIL, seconds=20.0)
    found = bench_answer([tmp_path], predict=False)
    page, md, seen = bench_page(found), bench_markdown(found), printed(found)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    outside = re.sub(r"```text.*?```", "", md, flags=re.DOTALL)
    assert "<script>" not in outside.replace("\\<script\\>", "")
    for form in (page, md, seen):
        assert "\x1b" not in form
        assert "\u202e" not in form


def test_a_client_that_was_too_slow_is_the_first_thing_said(tmp_path):
    trial(tmp_path, bound=True, seconds=20.0)
    found = bench_answer([tmp_path])
    assert "bottleneck" in headline(found)
    run = run_of(found, "steady")
    assert run["distributions"] == {}
    assert run["refused"] == "client_bound"
    assert [one["happened"] for one in run["settles"]] == [None, None, None]
    assert any(one["kind"] == "client" for one in run["marks"])
    part = next(one for one in parts(found) if one.key == "run-0")
    shown = [row for table in part.tables for row in table.rows if row[0].startswith("TTFT")]
    assert all("bottleneck" in row[1] for row in shown)
    assert not any(
        table.title.startswith("Predicted") and "TPOT" in str(table.rows) for table in part.tables[:1]
    )


def test_a_journal_that_was_cut_off_is_told_as_far_as_it_goes(tmp_path):
    written(tmp_path, [outcome(at, due) for at, due in enumerate(poisson(20, 20))], end=False)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    found = bench_answer([tmp_path])
    part = parts(found)[0]
    assert any("cut off" in one for one in part.sentences)
    assert any("did not come to its end" in one for one in part.sentences)
    assert "whole_run" in found["runs"][0]["summary"]["notes"]


def test_two_folders_are_told_apart(tmp_path):
    for name in ("one", "two"):
        written(tmp_path / name, [outcome(at, due) for at, due in enumerate(poisson(20, 20))])
    found = bench_answer([tmp_path / "one", tmp_path / "two"], predict=False)
    assert [one["label"] for one in found["runs"]] == ["one: steady", "two: steady"]
    bench_page(found)


def test_a_benchmark_without_an_answer_is_told_without_a_zero(tmp_path):
    written(tmp_path, [failed(at, due, "refused") for at, due in enumerate(poisson(20, 20))])
    found = bench_answer([tmp_path])
    seen = printed(found)
    assert not re.search(r"(?<!\d)0 ms", seen)
    assert "NaN" not in json.dumps(found)
    bench_page(found)
    bench_markdown(found)


def test_nothing_at_all(tmp_path):
    written(tmp_path, [])
    found = bench_answer([tmp_path])
    printed(found)
    bench_page(found)
    assert found["runs"][0]["summary"]["requests_count"] == 0


class Known:
    """A summary with one figure."""

    client_bound = False
    measured: dict = {}
    measured_figures: dict = {}

    def __init__(self, figure):
        self.metrics = {"ttft_ms_p95": figure}


@pytest.mark.parametrize(
    ("side", "figure", "happened"),
    [
        ("above", Figure(200.0, 190.0, 210.0), True),
        ("above", Figure(90.0, 80.0, 99.0), False),
        ("above", Figure(101.0, 95.0, 110.0), None),
        ("below", Figure(90.0, 80.0, 99.0), True),
        ("below", Figure(200.0, 190.0, None, 9, "too_few_for_interval"), False),
        ("above", Figure(200.0, None, None, 9, "too_few_for_interval"), None),
        ("above", Figure(None, why="client"), None),
    ],
)
def test_a_turn_happens_only_where_the_whole_interval_is_beyond(side, figure, happened):
    assert settled(Known(figure), Turn("ttft_ms_p95", side, 100.0, "x"))["happened"] is happened


@pytest.mark.parametrize(
    ("figure", "side"),
    [
        (Figure(5.0, 4.0, 6.0), "within"),
        (Figure(5.0, 1.0, 6.0), "open"),
        (Figure(50.0, 40.0, 60.0), "above"),
        (Figure(1.0, 0.5, 1.5), "below"),
        (Figure(None), ""),
    ],
)
def test_sides(figure, side):
    assert _side(figure, (3.0, 10.0)) == side


def test_what_was_expected_and_never_measured_is_told(tmp_path):
    from cabida.plan.bench import Run

    written(tmp_path, [outcome(at, due) for at, due in enumerate(poisson(20, 20))])
    one = summary(read_journal(tmp_path), "steady")
    run = Run("steady", "load", "here", expected=(Expected("kv_cache_tokens", 9.0, 8.0, 10.0),))
    row = beside_rows(one, run, None)[0]
    assert row["measured"] is None
    assert row["why"] == "not_measured"


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 500), st.floats(0.01, 50), st.booleans()), min_size=1, max_size=50))
def test_nothing_gets_lost_between_the_spans_of_a_timeline(asked):
    from cabida.bench.keep import requests_of

    told = [
        outcome(at, due, ttft_s=took, tokens=1, gaps_s=()) if well else failed(at, due, ended_s=due + took)
        for at, (due, took, well) in enumerate(asked)
    ]
    requests = requests_of(told)
    each = asked_of(requests, requests.rows_of("steady"))
    found = timeline(requests, each, each.first_s)
    columns, span = found["columns"], found["span_s"]
    assert len(columns["due_req_s"]) <= 121
    assert sum(columns["due_req_s"]) * span == pytest.approx(len(asked))
    assert sum(columns["ok_req_s"] + columns["failed_req_s"]) * span == pytest.approx(len(asked))


@settings(deadline=None)
@given(st.lists(st.none() | st.floats(0, 1e6), max_size=300), st.integers(1, 120), st.booleans())
def test_a_spark_is_as_wide_as_asked_and_shows_its_peak(values, width, plain):
    drawn = spark(values, width, plain=plain)
    assert len(drawn) <= width
    if any(values):
        assert ("@" if plain else "█") in drawn


def test_sparks_of_the_plan_are_in_its_language(answer):
    use_language("es")
    assert any("simulacro" in one for one in timeline_letters(run_of(answer, "kill")))


def test_the_plan_of_another_release_is_no_hindrance(tmp_path):
    written(tmp_path, [outcome(at, due) for at, due in enumerate(poisson(20, 20))], of=plan())
    kept = read_journal(tmp_path)
    kept.plan["surprise"] = 1
    from cabida.report.bench import _plan, _runs

    assert _plan(kept) is None
    assert _runs(kept, None, predict=True)[0]["summary"]["requests_count"]


def test_a_training_job_is_told_with_its_intervals(tmp_path):
    from cabida.bench.keep import Journal
    from cabida.plan.bench import Run

    run = Run("job", "training", "here", decides=(Turn("tokens_s_per_gpu", "above", 8500.0, "go on"),))
    with Journal(tmp_path, plan(run)) as journal:
        journal.event("run", run="job", phase="training", candidate="here", at_s=1.0)
        figure = {"value": 9000.0, "low": 8900.0, "high": 9100.0, "count": 40, "why": ""}
        journal.event("figure", run="job", metric="tokens_s_per_gpu", at_s=60.0, **figure)
        measured = {"tokens_s_per_gpu": 9000.0, "step_time_s": None}
        journal.event("run-end", run="job", stopped="ended", measured=measured, at_s=60.0)
        journal.event("end", at_s=61.0)
    found = bench_answer([tmp_path], predict=False)
    one = found["runs"][0]
    assert one["settles"][0]["happened"] is True
    assert one["refused"] == ""
    assert "9,000 tok/s [8,900–9,100]" in " ".join(printed(found).split())
    bench_page(found)
