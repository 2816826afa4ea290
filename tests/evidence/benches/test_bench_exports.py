"""What is written for other tools' scripts is read back by our readers of those tools to the same figures."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.evidence import read_file
from cabida.evidence.exports import FORMS, Measured, exported, measured_of

FIGURES = {
    "req_s": 5.0, "output_tok_s": 640.0, "input_tok_s": 5120.0, "total_tok_s": 5760.0,
    "ttft_ms_mean": 210.5, "ttft_ms_p50": 190.25, "ttft_ms_p90": 300.0, "ttft_ms_p95": 350.0, "ttft_ms_p99": 402.75,
    "tpot_ms_mean": 22.5, "tpot_ms_p50": 22.25, "tpot_ms_p90": 26.0, "tpot_ms_p95": 28.0, "tpot_ms_p99": 31.5,
    "itl_ms_mean": 22.4, "itl_ms_p50": 21.9, "itl_ms_p90": 30.0, "itl_ms_p95": 50.0, "itl_ms_p99": 64.0,
    "e2e_ms_mean": 3068.0, "e2e_ms_p50": 3060.0, "e2e_ms_p90": 3200.0, "e2e_ms_p95": 3300.0, "e2e_ms_p99": 3400.0,
}  # fmt: skip
ONE = Measured(
    name="steady", model="org/model", engine="vllm", started_s=1793700000.0, duration_s=40.0, completed_count=200,
    failed_count=50, input_tokens_mean=1024.0, output_tokens_mean=128.0, concurrency=16, figures=FIGURES,
    url="http://127.0.0.1:8000/v1",
    case={"id": "x", "kind": "serving", "model": "org/model", "measured": {"req_s": 5.0}, "source": "own"},
)  # fmt: skip
TOOLS = ("vllm", "sglang", "guidellm", "aiperf", "inference-perf", "llmperf")
NOT_HELD = {  # what a tool has no place for
    "vllm": ("input_tok_s",),
    "sglang": (),
    "guidellm": ("itl",),
    "aiperf": ("input_tok_s",),
    "inference-perf": (),
    "llmperf": ("itl", "input_tok_s", "total_tok_s", "tpot"),
}


def back(tmp_path, form, *runs):
    """What our readers make of the files of a form."""
    found = []
    for name, text in exported(form, runs).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        found += read_file(path).observations
    return found


@pytest.mark.parametrize("form", TOOLS)
def test_figures_come_back_the_same(tmp_path, form):
    (one,) = back(tmp_path, form, ONE)
    wanted = {name: value for name, value in FIGURES.items() if not name.startswith(NOT_HELD[form] or "-")}
    got = {name: one.measured.get(name) for name in wanted}
    assert got == pytest.approx(wanted, rel=1e-9)
    assert one.measured["error_ratio"] == pytest.approx(0.2)
    assert one.load["concurrency"] == 16
    assert one.load["input_tokens"] == pytest.approx(1024)
    assert one.load["output_tokens"] == pytest.approx(128)
    if form != "inference-perf":  # whose reports don't name the model
        assert one.setup["model"] == "org/model"
    assert "refused" not in one.more
    assert not [text for _, text in read_file(next(tmp_path.rglob("*.json*"))).unknown]


def test_llmperf_gets_its_own_inter_token_latency_and_gives_ours_back(tmp_path):
    (text,) = exported("llmperf", [ONE]).values()
    assert json.loads(text)["results_inter_token_latency_s_mean"] == pytest.approx(3.068 / 128)
    (one,) = back(tmp_path, "llmperf", ONE)
    assert one.measured["tpot_ms_mean"] == pytest.approx(22.5, rel=0.001)


@pytest.mark.parametrize("form", TOOLS)
def test_what_is_not_known_is_never_a_zero(tmp_path, form):
    bare = Measured(
        "x", model="m", duration_s=10.0, completed_count=50, figures={"req_s": 5.0, "e2e_ms_mean": 900.0}
    )
    for text in exported(form, [bare]).values():
        for row in text.splitlines() if form in ("vllm", "sglang") else (text,):
            assert not zeros(json.loads(row)) - {
                "failed",
                "errored",
                "incomplete",
                "number_errors",
                "error_rate",
            }
    (one,) = back(tmp_path, form, bare)
    assert {name for name in one.measured if name != "error_ratio"} == {"req_s", "e2e_ms_mean"}


def zeros(value, name=""):
    """Keys under which a zero stands."""
    if isinstance(value, dict):
        return set().union(*(zeros(one, key) for key, one in value.items()))
    if isinstance(value, list):
        return set().union(*(zeros(one, name) for one in value))
    known = ("failures", "error_request_count", "results_number_errors", "results_error_rate", "count", "avg")
    return (
        {name.removeprefix("results_")} - set(known) if value == 0 and not isinstance(value, bool) else set()
    )


@pytest.mark.parametrize("form", ["vllm", "sglang"])
def test_every_latency_that_is_there_is_a_number(form):
    """InferenceX and dashboards turn each key that ends in ms into a number without asking."""
    bare = Measured("x", duration_s=10.0, completed_count=50, figures={"req_s": 5.0, "e2e_ms_mean": 900.0})
    (text,) = exported(form, [bare]).values()
    found = {key: float(value) for key, value in json.loads(text).items() if key.endswith("ms")}
    assert list(found.values()) == [900.0]


@pytest.mark.parametrize("form", TOOLS)
def test_several_runs_and_an_open_load(tmp_path, form):
    from dataclasses import replace

    burst = replace(ONE, name="burst", concurrency=None, requests_per_s=6.25)
    found = back(tmp_path, form, ONE, burst, replace(burst, requests_per_s=8.0))
    assert len(found) == 3
    if form != "llmperf":  # which knows closed loads only
        assert sorted(one.load.get("requests_per_s", 0) for one in found) == [0, 6.25, 8]


@pytest.mark.parametrize("form", ["aiperf", "llmperf"])
def test_no_run_is_written_over_another(form):
    from dataclasses import replace

    names = ["seek/1", "seek-1", "seek-1-2", "seek 1", "x" * 90, "x" * 95, "", "  "]
    assert len(exported(form, [replace(ONE, name=name) for name in names])) == len(names)


@settings(max_examples=60, deadline=None)
@given(
    form=st.sampled_from(["vllm", "sglang", "guidellm", "inference-perf"]),
    shape=st.tuples(st.floats(0.2, 50), st.floats(1, 2), st.floats(1, 2), st.floats(1, 3)),
    tokens=st.integers(2, 2000),
    done=st.integers(30, 5000),
)
def test_any_consistent_run_comes_back(tmp_path_factory, form, shape, tokens, done):
    tpot, *steps = shape
    ttft = 10 * tpot
    figures = {"req_s": done / 60.0, "output_tok_s": done * tokens / 60.0}
    for base, middle in (("ttft", ttft), ("tpot", tpot), ("e2e", ttft + tpot * (tokens - 1))):
        rising = middle
        figures[f"{base}_ms_mean"] = figures[f"{base}_ms_p50"] = middle
        for name, step in zip(("p90", "p95", "p99"), steps, strict=True):
            rising *= step
            figures[f"{base}_ms_{name}"] = rising
    clients = max(1, round(done / 60 * figures["e2e_ms_mean"] / 1e3) + 1)
    one = Measured("x", "org/model", duration_s=60.0, completed_count=done, input_tokens_mean=64.0,
                   output_tokens_mean=float(tokens), concurrency=clients, figures=figures)  # fmt: skip
    (found,) = back(tmp_path_factory.mktemp("out"), form, one)
    assert {name: found.measured.get(name) for name in figures} == pytest.approx(figures, rel=1e-8)


def test_no_login_of_the_address_is_written():
    plain = {"run": "x", "from_s": 0.0, "until_s": 1.0, "metrics": {}}
    one = measured_of(plain, url="http://me:pass-word-1@host:8000/v1")
    assert "pass-word-1" not in "".join(text for form in FORMS for text in exported(form, [one]).values())


def test_locust_gets_whole_answers(tmp_path):
    from dataclasses import replace

    (one,) = back(tmp_path, "locust", replace(ONE, failed_count=1))
    wanted = {name: value for name, value in FIGURES.items() if name.startswith(("e2e", "req_s"))}
    assert {name: one.measured.get(name) for name in wanted} == pytest.approx(wanted)
    assert one.measured["error_ratio"] == pytest.approx(1 / 201)


def test_a_table_has_a_row_a_run_and_no_formula():
    from dataclasses import replace

    (text,) = exported("csv", [ONE, replace(ONE, name="=cmd()", figures={"req_s": 4.0})]).values()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert float(rows[0]["ttft_ms_p99"]) == 402.75
    assert rows[1]["ttft_ms_p99"] == ""
    assert rows[1]["run"] == "'=cmd()"


def test_cases_are_written_as_they_are(tmp_path):
    (one,) = back(tmp_path, "cases", ONE)
    assert one.measured == {"req_s": 5.0}


def test_names_of_files_stay_in_the_folder():
    from dataclasses import replace

    for form in FORMS:
        names = exported(
            form, [replace(ONE, name="../../etc/x"), replace(ONE, name="../../etc/x"), replace(ONE, name="")]
        )
        assert all(".." not in name and not name.startswith("/") for name in names)
        assert len(names) in (1, 3)


def figure(value):
    """A figure as a summary has it."""
    return {
        "value": value,
        "low": None,
        "high": None,
        "count": 10,
        "why": "" if value is not None else "too_few",
    }


def test_a_summary_is_exported_with_counts_that_fit_its_rates(tmp_path):
    metrics = {name: figure(value) for name, value in FIGURES.items()} | {"ttft_ms_p99": figure(None)}
    plain = {"run": "steady", "load": {"kind": "closed", "concurrency": 16}, "from_s": 10.0, "until_s": 51.3,
             "requests_count": 220, "verdicts": {"ok": 200, "server-error": 15, "cancelled": 5},
             "error_ratio": figure(15 / 215), "metrics": metrics, "input_tokens_mean": 1024.0,
             "output_tokens_mean": 128.0, "offered_req_s": 5.3}  # fmt: skip
    one = measured_of(plain, model="org/model", started_s=1793700000.0)
    assert one.completed_count / one.duration_s == pytest.approx(5.0)
    assert one.duration_s == pytest.approx(41.3, rel=0.01)
    (found,) = back(tmp_path, "vllm", one)
    assert "refused" not in found.more
    assert "ttft_ms_p99" not in found.measured
    assert found.measured["error_ratio"] == pytest.approx(15 / 215, abs=0.003)
    opened = measured_of(plain | {"load": {"kind": "poisson", "requests_per_s": 5.0}})
    assert (opened.concurrency, opened.requests_per_s) == (None, 5.3)
