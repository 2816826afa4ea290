"""What was found goes into a brief: as a section to paste, or into its text with all else as it was."""
# ruff: noqa: E501

import textwrap

import pytest
import traffic_samples as samples
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida import traffic
from cabida.brief import complete, parse_brief
from cabida.brief.render import plain
from cabida.errors import InvalidInput
from cabida.evidence.traffic.block import ORDER, UNKNOWN, block, figure, placed
from cabida.faces.cli import cli

BRIEF = """\
# ours, kept by hand
name: support
workload: realtime-inference
models: [Qwen/Qwen2.5-7B-Instruct]  # the small one
traffic:
  # guessed in spring
  requests_per_day: 20000  # last year's
  profile: office-hours Europe/Madrid
  input_tokens:   # long
    p50: 900
    p95: 3500   # tickets
    # between
  output_tokens: 200

  growth: 30 %/year  # the board's
objectives: {ttft_p95: 1 s}
budget: {monthly: 5000 EUR}
"""
SAID = {
    "requests_per_s": "{mean: 1.5, peak: 4.25}",
    "profile": "[0.5, 1.5, " + ", ".join(["1.0"] * 22) + "]",
    "input_tokens": "{mean: 850, p50: 700, p95: 2100, max: 8000}",
    "output_tokens": UNKNOWN,
    "shared_prefix_tokens": "320",
    "burst": "2.5",
}


def test_comments_and_everything_else_stay():
    text = placed(BRIEF, SAID, "b.yaml")
    for kept in ("# ours, kept by hand", "# the small one", "# guessed in spring", "# the board's", "# long",
                 "growth: 30 %/year", "output_tokens: 200", "objectives: {ttft_p95: 1 s}"):  # fmt: skip
        assert kept in text
    found = parse_brief(text)
    assert (found.traffic.requests_per_s_mean, found.traffic.requests_per_s_peak) == (1.5, 4.25)
    assert found.traffic.input.p95_tokens == 2100
    assert found.traffic.output.mean_tokens == 200
    assert found.traffic.shared_prefix_tokens == 320
    assert found.traffic.burst_ratio == 2.5
    assert found.traffic.profile[1] == pytest.approx(1.5)
    assert found.traffic.growth_per_year_ratio == pytest.approx(0.3)
    assert "requests_per_day" not in text
    assert "30 %/year  # the board's\n  requests_per_s: {mean: 1.5" in text
    assert placed(text, SAID, "b.yaml") == text


def test_where_it_is_from_is_said_behind_it_and_said_anew():
    first = placed(BRIEF, SAID, "b.yaml", {"requests_per_s": "of spring", "profile": "UTC", "burst": "x"})
    assert "{mean: 1.5, peak: 4.25}  # traffic: of spring\n" in first
    assert "]  # traffic: UTC\n" in first
    again = placed(first, SAID, "b.yaml", {"requests_per_s": "of autumn", "profile": "UTC"})
    assert again == first.replace("of spring", "of autumn").replace("  # traffic: x", "")
    assert "# tickets" in again


SHAPES = {
    "nothing said": "name: a\nworkload: realtime-inference\nmodels: [Qwen/Qwen2.5-7B-Instruct]\n",
    "said unknown": "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic: unknown\nobjectives: {ttft_p95: 1 s}\n",
    "empty": "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic:\nobjectives: {ttft_p95: 1 s}\n",
    "in one line": "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic: {requests_per_day: 5000, output_tokens: {mean: 10}, burst: 2}  # why\nhorizon: 12 months\n",
    "last is what goes": "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic:\n  output_tokens: 10\n  requests_per_day: 300\nhorizon: 12 months",
    "unknown fields": "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic:\n  requests_per_s: unknown\n  input_tokens: '?'\n  burst:\n",
    "nested": "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic:\n    requests_per_s:\n        mean: 2\n        profile: evening\n    output_tokens: {p50: 10, p95: 20}\n",
    "first in the file": "traffic: {requests_per_s: 2, input_tokens: 5, output_tokens: 5}\nmodels: [Qwen/Qwen2.5-7B-Instruct]\n",
}


@pytest.mark.parametrize("name", SHAPES)
def test_any_way_a_section_may_stand(name):
    text = placed(SHAPES[name], SAID, "b.yaml")
    assert text is not None
    found, before = parse_brief(text), parse_brief(SHAPES[name])
    assert found.traffic.requests_per_s_mean == 1.5
    assert found.traffic.input.max_tokens == 8000
    assert found.traffic.burst_ratio == 2.5
    old, new = plain(before), plain(found)
    old.pop("traffic", None), new.pop("traffic", None)
    assert old == new


def test_a_brief_that_cant_be_changed_is_left():
    text = (
        "models: [Qwen/Qwen2.5-7B-Instruct]\ntraffic: &t {requests_per_s: 2}\nobjectives: {ttft_p95: 1 s}\n"
    )
    found = placed(text, SAID, "b.yaml")
    assert found is None or parse_brief(found).traffic.requests_per_s_mean == 1.5
    assert placed("{models: [Qwen/Qwen2.5-7B-Instruct], traffic: {burst: 2}}", SAID, "b.yaml") is None


def test_what_contradicts_the_rest_is_refused():
    with pytest.raises(InvalidInput):
        placed(BRIEF, {**SAID, "requests_per_s": "{mean: 5, peak: 1}"}, "b.yaml")


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-8, 1e8))
def test_a_figure_reads_back_as_what_it_was(value):
    from cabida.brief.kinds import RATE

    assert RATE.read(figure(value)) == pytest.approx(value, rel=6e-4, abs=1e-9)


def test_the_section_by_itself_is_a_brief_s_and_what_it_lacks_is_asked_for():
    text = block({**SAID, "input_tokens": UNKNOWN}, {"": "from a log " * 30, "burst": "1 = Poisson"})
    assert max(map(len, text.splitlines())) <= 100
    brief = parse_brief(f"models: [Qwen/Qwen2.5-7B-Instruct]\nworkload: realtime-inference\n{text}")
    assert "traffic.input_tokens" in brief.unknown
    assert brief.traffic.profile[1] == pytest.approx(1.5)
    with pytest.raises(InvalidInput, match="input_tokens"):
        complete(brief)
    assert set(ORDER) == set(SAID)


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_command_writes_into_a_brief(tmp_path, language):
    log, brief = tmp_path / "log.jsonl", tmp_path / "brief.yaml"
    log.write_text(samples.openai_batch(), encoding="utf-8")
    brief.write_text(BRIEF, encoding="utf-8")
    words = ["--lang", language, "traffic", str(log), "--brief", str(brief), "--write"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert str(brief) in done.output.replace("\n", "")
    found = parse_brief(brief.read_text(encoding="utf-8"))
    assert found.traffic.input.mean_tokens == 200
    assert found.traffic.requests_per_s_mean == pytest.approx(20_000 / 86_400)  # nor a rate
    assert found.traffic.timezone == "Europe/Madrid"  # two requests tell no profile: the brief's stays
    assert "# the board's" in brief.read_text(encoding="utf-8")


def test_without_write_the_section_is_printed_and_the_brief_s_zone_counts(tmp_path):
    log, brief = tmp_path / "log.jsonl", tmp_path / "brief.yaml"
    log.write_text(samples.openai_batch(), encoding="utf-8")
    brief.write_text(BRIEF, encoding="utf-8")
    answer = traffic([log], brief=brief)
    assert answer["timezone"] == "Europe/Madrid"
    assert "written" not in answer
    assert brief.read_text(encoding="utf-8") == BRIEF
    text = textwrap.dedent(answer["traffic"][0]["yaml"])
    assert parse_brief(f"models: [Qwen/Qwen2.5-7B-Instruct]\n{text}").traffic.output.max_tokens == 40


def test_several_models_are_not_written_into_one_brief(tmp_path):
    log, brief = tmp_path / "log.jsonl", tmp_path / "brief.yaml"
    text = samples.portkey() + samples.portkey().replace('"small"', '"large"').replace('"p', '"q')
    log.write_text(text, encoding="utf-8")
    brief.write_text(BRIEF, encoding="utf-8")
    with pytest.raises(InvalidInput, match="CB-I019"):
        traffic([log], brief=brief, write=True)
    assert traffic([log], brief=brief, write=True, models=["small", "large"])["written"] == str(brief)
    with pytest.raises(InvalidInput, match="CB-I018"):
        traffic([log], write=True)
