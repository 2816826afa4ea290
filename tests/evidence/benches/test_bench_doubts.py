"""Figures that can't be are refused with their reason, and never learned from."""

import itertools
import json
import math

import bench_samples as first
import pytest
from bench_files import lines
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.evidence import read_file
from cabida.evidence.importers.benches import opening
from cabida.evidence.importers.benches.pages import number_of
from cabida.evidence.importers.benches.result import Result, check, statistics
from cabida.faces.cli import cli
from cabida.text import use_language


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", 1234.5), ("-12,345,678", -12345678), ("0.5", 0.5), ("1e3", 1000), ("1,5", None), ("1,23", None),
     ("1,234,5", None), ("12 ms", None), ("", None)],
)  # fmt: skip
def test_a_comma_is_taken_for_thousands_where_it_parts_them(text, number):
    assert number_of(text) == number


@pytest.fixture
def read(tmp_path):
    """The observation a table is read as."""

    def of(table, name="result", **said):
        path = tmp_path / name
        path.write_text(table if isinstance(table, str) else json.dumps(table), encoding="utf-8")
        return read_file(path, **said).observations[0]

    return of


@pytest.mark.parametrize(
    ("change", "figures", "reason"),
    [
        ({"median_ttft_ms": 0.0}, {"ttft_ms_p50"}, "zero"),
        ({"median_itl_ms": -1.0}, {"itl_ms_p50"}, "negative"),
        ({"mean_tpot_ms": math.nan}, {"tpot_ms_mean"}, "no_number"),
        ({"p99_tpot_ms": 20.0}, {"tpot_ms_p99", "tpot_ms_p50"}, "order"),
        ({"request_throughput": 50.0}, {"req_s"}, "counts"),
        ({"output_throughput": 64.0}, {"output_tok_s"}, "counts"),
        ({"total_token_throughput": 640.0}, {"total_tok_s"}, "counts"),
        ({"mean_e2el_ms": 30680.0}, {"req_s", "e2e_ms_mean", "e2e_ms_p50", "e2e_ms_p99"}, "crowd"),
        ({"mean_itl_ms": 90.0}, {"itl_ms_mean", "itl_ms_p50", "itl_ms_p99"}, "pieces"),
        ({"mean_ttft_ms": 5000.0}, {"ttft_ms_mean", "e2e_ms_mean"}, "later"),
    ],
)
def test_what_can_not_be_is_refused_and_the_rest_is_taken(read, change, figures, reason):
    one = read(first.vllm_serve(**change))
    assert one.more["refused"].items() >= dict.fromkeys(figures, reason).items()
    assert not figures & one.measured.keys()
    assert all(figure in one.note for figure in figures)
    whole = read(first.vllm_serve())
    untouched = whole.measured.keys() - one.more["refused"].keys()
    assert {name: one.measured[name] for name in untouched} == {
        name: whole.measured[name] for name in untouched
    }


def test_answers_that_came_whole_have_no_time_of_a_token(read):
    zeros = {f"{name}_ttft_ms": 0.0 for name in ("mean", "median", "p99")}
    one = read(first.vllm_serve(**zeros))
    assert not any(name.startswith(("ttft", "tpot", "itl")) for name in one.measured)
    assert one.more["refused"]["tpot_ms_mean"] == "unstreamed"
    assert one.measured["e2e_ms_mean"] == 3068


def test_nothing_left_to_take_is_an_error_with_every_reason(tmp_path):
    path = tmp_path / "result.json"
    row = {"avg_latency": 0.0, "latencies": [], "percentiles": {"50": -1.0}}
    path.write_text(json.dumps(row))
    with pytest.raises(InvalidInput, match=r"e2e_ms_mean.*e2e_ms_p50.*CB-E202"):
        read_file(path)


def test_a_run_whose_requests_all_failed_is_known_as_such(read):
    row = first.vllm_serve(completed=0, failed=200)
    for key in row:
        if key.endswith(("_ms", "_per_s")) or "throughput" in key or key.startswith("total_"):
            row[key] = 0.0
    one = read(row)
    assert one.measured == {"error_ratio": 1}


def test_reasons_are_told_in_spanish_too(read):
    from cabida.evidence.notes import spoken

    one = read(first.vllm_serve(median_ttft_ms=0.0))
    use_language("es")
    try:
        assert "nada tarda cero: ttft_ms_p50" in spoken(one.note)
        assert "not taken" not in spoken(one.note)
    finally:
        use_language("en")


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=60))
def test_statistics_are_numpys(values):
    import numpy

    found = dict(statistics(values))
    assert found["mean"] == pytest.approx(numpy.mean(values))
    for name in ("p50", "p90", "p95", "p99"):
        assert found[name] == pytest.approx(numpy.percentile(values, int(name[1:])))


STATS = ("mean", "p50", "p90", "p95", "p99")


@settings(max_examples=200)
@given(
    st.dictionaries(
        st.sampled_from(
            [f"{base}_ms_{stat}" for base in ("ttft", "tpot", "itl", "e2e") for stat in STATS]
            + ["req_s", "output_tok_s"]
        ),
        st.one_of(st.floats(), st.floats(0, 1e5)),
    ),
    st.integers(1, 500),
)  # fmt: skip
def test_what_is_taken_never_contradicts_itself(figures, clients):
    one = Result("any")
    one.asked("concurrency", float(clients))
    for name, value in figures.items():
        one.put(name, value)
    check(one)
    left = one.measured
    assert all(0 < value < math.inf for value in left.values())
    assert left.keys() | one.refused.keys() == figures.keys()
    assert not left.keys() & one.refused.keys()
    for base in ("ttft", "tpot", "itl", "e2e"):
        there = [
            left[f"{base}_ms_{stat}"] for stat in ("p50", "p90", "p95", "p99") if f"{base}_ms_{stat}" in left
        ]
        assert all(low <= 1.006 * high for low, high in itertools.pairwise(there))


def test_a_result_too_large_is_told_what_to_give_instead(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MOST_BYTES", 1 << 17)
    path = tmp_path / "detailed.json"
    path.write_text(json.dumps(first.vllm_serve(generated_texts=["x" * 1000] * 200)))
    with pytest.raises(InvalidInput, match="CB-E200"):
        read_file(path)


def test_a_result_that_breaks_off_is_told_so(tmp_path):
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps(first.guidellm(), indent=1)[:-400])
    with pytest.raises(InvalidInput, match="CB-E201"):
        read_file(path)
    path.write_text('{"benchmarks": ' + "[" * 200_000)
    with pytest.raises(InvalidInput, match=r"CB-E20[1]"):
        read_file(path)


SAID = (
    "--gpu",
    "h100-sxm-80",
    "--gpus",
    "1",
    "--engine",
    "vllm",
    "--engine-version",
    "0.11.0",
    "--weights",
    "bf16",
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A command on a store and a calibration of the test's own."""
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "mine.db"))
    monkeypatch.setenv("CABIDA_CALIBRATION", str(tmp_path / "calibration.json"))

    def of(*words):
        done = CliRunner().invoke(cli, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    return of


def plausible(**more):
    """A run that an H100 could have had."""
    figures = {}
    for name, mean, median, p99 in (("ttft", 95.0, 88.0, 210.0), ("tpot", 9.0, 8.9, 11.0), ("itl", 9.0, 8.8, 30.0),
                                    ("e2el", 1238.0, 1230.0, 1500.0)):  # fmt: skip
        figures |= {f"mean_{name}_ms": mean, f"median_{name}_ms": median, f"p99_{name}_ms": p99}
    figures |= {"duration": 20.0, "completed": 256, "num_prompts": 256, "request_throughput": 12.8,
                "total_input_tokens": 262144, "total_output_tokens": 32768, "output_throughput": 1638.4,
                "total_token_throughput": 14745.6}  # fmt: skip
    return first.vllm_serve(**(figures | more))


def test_calibrate_learns_from_what_was_imported_and_says_why_not_from_the_rest(run, tmp_path):
    path = tmp_path / "runs.jsonl"
    failing = {"completed": 192, "failed": 64, "request_throughput": 9.6, "total_input_tokens": 196608,
               "total_output_tokens": 24576, "output_throughput": 1228.8,
               "total_token_throughput": 11059.2}  # fmt: skip
    zeros = {key: 0.0 for key in plausible() if key.endswith("_ms") and "e2el" not in key}
    seconds = {
        key: value / 1e3
        for key, value in plausible().items()
        if key.endswith(("tpot_ms", "ttft_ms", "itl_ms"))
    }
    path.write_text(
        lines(
            plausible(),
            plausible(**failing),
            plausible(**zeros, request_throughput=120.0, output_throughput=1.0, total_token_throughput=1.0),
            plausible(**seconds),
        )
    )
    run("observe", str(path), *SAID)
    answer = json.loads(run("calibrate", "--json"))
    assert answer["added"] == 1
    why = " | ".join(one["why"] for one in answer["skipped"])
    assert "25" in why
    assert "ttft_ms_p50" in why
    assert len(answer["skipped"]) == 3


def test_calibrate_names_what_was_left_unsaid(run, tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(plausible()))
    run("observe", str(path))
    done = CliRunner().invoke(cli, ["calibrate"])
    assert done.exit_code == 3
    assert "CB-V014" in done.output
    assert "--gpu" in done.output
