"""What spoilt files once brought to light, each in its smallest form."""

import gzip
import http.client
import json
import socket
from math import inf
from unittest.mock import patch

import fuzz_doors
import numpy as np
import pytest

from cabida import app, units
from cabida.bench.drills.jobs import Reading
from cabida.checks.claims import sparse_claims
from cabida.checks.parts import read_parts
from cabida.equation import NotAFormula
from cabida.errors import InvalidInput
from cabida.evidence.importers.run import Run
from cabida.evidence.pages import read_page
from cabida.evidence.prices import read, tables
from cabida.evidence.prices.columnar import _column
from cabida.evidence.quotes.keeping import is_name
from cabida.evidence.read import read_file
from cabida.evidence.secrets import redacted
from cabida.evidence.traffic import bursts
from cabida.evidence.traffic.columns import Requests
from cabida.evidence.traffic.times import Clock
from cabida.evidence.traffic.weblogs import Paths, haproxy_line
from cabida.expression import expression
from cabida.facts import fetch
from cabida.facts.models import model
from cabida.facts.releases import numbers
from cabida.plan import Estimate
from cabida.report.words import span
from cabida.timing.own import FORMAT, coefficients_digest, own_residuals
from cabida.truth.calibrate import listed


def codes(caught):
    return [one.code for one in caught.value.problems]


def test_half_a_character_in_a_file_is_told_as_one_that_can_be_printed(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "\ud800x"}))
    with pytest.raises(InvalidInput) as caught:
        model(str(path))
    assert "?x" in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n" + b"x" * 900,
            http.client.HTTPException,
        ),
        (b"HTTP/1.1 302 Found\r\nLocation: https://10.0.[1]/\r\nContent-Length: 0\r\n\r\n", type(None)),
    ],
)
def test_what_a_hub_says_that_makes_no_sense_is_no_answer(said, cause):
    near, far = socket.socketpair()
    far.send(said)
    far.shutdown(socket.SHUT_WR)
    web = fetch.Web("http://127.0.0.1:1")
    with patch.object(fetch, "dial", lambda *_, **__: near), pytest.raises(fetch.Unanswered) as caught:
        web.get("x", fetch.Wanted(first=0, count=64))
    assert isinstance(caught.value.__cause__, cause)
    web.close()
    far.close()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("4x H100 SXM, 1.5.2 W supply", "CB-K086"),
        ("4x H100 SXM, supply of " + "9" * 400 + " W", "CB-K086"),
        ("RTX 4090, " + "9" * 150_000, "CB-K087"),  # took seconds for each hundred thousand digits
    ],
)
def test_a_figure_that_no_machine_has_is_refused(words, code):
    with pytest.raises(InvalidInput) as caught:
        read_parts(words)
    assert codes(caught) == [code]


RUN = {"at": "2026-11-01T10:00:00+00:00", "files": ["a.jsonl"], "observations": [
    {"id": "a", "engine": "vllm", "card": "l40s", "model": "llama-3.1-8b", "residuals": {"step": 0.1}}]}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run.pop("files"),
        lambda run: run.update(files="a.jsonl"),
        lambda run: run["observations"][0].update(residuals={"step": float("nan")}),
        lambda run: run["observations"][0].update(residuals={"step": "0.1"}),
        lambda run: run["observations"][0].update(engine=["vllm"]),
    ],
)
def test_a_calibration_that_lacks_something_or_holds_no_number_is_refused(change, tmp_path, monkeypatch):
    path = tmp_path / "calibration.json"
    monkeypatch.setenv("CABIDA_CALIBRATION", str(path))
    run = json.loads(json.dumps(RUN))
    whole = {"format": FORMAT, "coefficients": coefficients_digest(), "runs": [run]}
    path.write_text(json.dumps(whole))
    assert len(own_residuals()) == len(listed()["runs"]) == 1
    change(run)
    path.write_text(json.dumps(whole))
    with pytest.raises(InvalidInput) as caught:
        listed()
    assert codes(caught) == ["CB-V013"]
    path.write_text("[" * 100_000)
    with pytest.raises(InvalidInput) as caught:
        own_residuals()
    assert codes(caught) == ["CB-V013"]


def test_a_small_archive_of_millions_of_rows_that_fit_no_header_is_left_early(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_MISFITS", 500)
    path = tmp_path / "prices.csv.gz"
    head = b"provider,gpu,price,currency\nthem,H100 SXM,2,USD\n"
    path.write_bytes(gzip.compress(head + b"0\n" * 501 + b"you,H100 SXM,2,USD\n"))
    with pytest.raises(InvalidInput, match="500") as caught:
        read(path, as_of="2026-11-30")
    assert codes(caught) == ["CB-E050"]
    path.write_bytes(gzip.compress(head + b"0\n" * 500))
    assert len(read(path, as_of="2026-11-30").offers) == 1


def test_a_unit_that_is_none_is_no_size(tmp_path):
    path = tmp_path / "torch.log"
    path.write_text(
        "CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 79.1 iB of which 1 GiB is free\n"
    )
    (one,) = read_file(path).observations
    assert one.measured["at_failure_free_gib"] == 1
    assert "gpu_memory_gib" not in one.setup


def test_nothing_is_set_up_to_less_than_nothing():
    run = Run("vllm")
    run.say("gpu_memory_gib", -44.35)
    assert run.setup == {}
    run.say("gpu_memory_gib", 44.35)
    assert run.setup == {"gpu_memory_gib": 44.35}


@pytest.mark.parametrize(
    "value",
    [
        "-3",
        "1e999",
        "-1e308",
        '1, "total_gib": -140.4',
        '1}, "args": {"x": 1e999',
        '1}, "load": {"x": ' + "9" * 99,
    ],
)
def test_a_case_row_holds_no_time_below_zero_and_none_without_end(tmp_path, value):
    row = '{"id": "a", "kind": "training", "model": "m", "source": "s", "measured": {"step_time_s": %s}}\n'
    path = tmp_path / "cases.jsonl"
    path.write_text(row % "1.5" + row % value)
    found = read_file(path)
    assert [one.measured["step_time_s"] for one in found.observations] == [1.5]
    assert found.unknown_count == 1


def test_a_step_of_a_job_takes_no_less_than_no_time():
    reading = Reading({})
    line = "completed step: 3, seconds: %s, TFLOP/s/device: 300.1, Tokens/s/device: 5000.5, loss: -2.5"
    assert reading.read(line % "1.25", 0.0).values["step_time_s"] == 1.25
    values = reading.read(line % "-1.25", 1.0).values
    assert "step_time_s" not in values
    assert values["loss"] == -2.5  # a logarithm


PAGE = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} %s
vllm:prompt_tokens_total{model_name="m"} %s
"""


@pytest.mark.parametrize("odd", ["-3", "-1e308", "1e308", "9" * 400])
def test_a_metrics_page_counts_nothing_below_zero_and_nothing_without_end(odd):
    assert read_page(PAGE % (2, 600)).values()["running_count"] == 2
    values = read_page(PAGE % (odd, 600)).values()
    assert values["prompt_tokens"] == 600
    assert "running_count" not in values


def test_one_stamp_decades_off_takes_no_memory_for_the_years_between():
    at = np.sort(np.concatenate([np.arange(400.0), 1e9 + np.arange(400.0)]))
    assert bursts.dispersion(at, 1.0) == pytest.approx(1.0, rel=1e-3)
    dense = np.random.default_rng(1).uniform(0, 500, 3000)
    counts = np.histogram(np.sort(dense), dense.min() + 1.0 * np.arange(int(np.ptp(dense)) + 1))[0]
    assert bursts.dispersion(np.sort(dense), 1.0) == pytest.approx(counts.var(ddof=1) / counts.mean())
    hours = np.sort(np.concatenate([np.linspace(0, 3 * 3600, 9000), 1.8e9 + np.linspace(0, 3600, 3000)]))
    assert bursts.burst(np.floor(hours), 1.0).count < 12_000


def test_a_number_of_hours_that_is_a_power_is_no_hour(tmp_path):
    path = tmp_path / "hours.csv"
    path.write_text("\u00b2,3\n\u00b3,4\n")
    assert app.hours_of(path) == (3.0, 4.0)


@pytest.mark.parametrize(
    "text",
    [
        "where(a < 2, 1)",
        "where(a)",
        "ceil_to(a)",
        "lookup(a, b)",
        "lookup(a, b, c, d)",
        "sqrt(a, b)",
        "log()",
    ],
)
def test_a_word_of_an_equation_is_given_as_much_as_it_takes(text):
    with pytest.raises(NotAFormula):
        expression(text)


@pytest.mark.parametrize("text", ["(0 - 4) ** 0.5", "sqrt(0 - 4)", "sqrt(0 - 4) < 2"])
def test_the_root_of_a_negative_number_is_no_number(text):
    with pytest.raises(ArithmeticError):
        expression(text).value({})


@pytest.mark.parametrize("given", ["9" * 150_000, 10**400, float("nan")])
def test_an_amount_is_a_number_that_somebody_could_write(given):
    with pytest.raises(ValueError, match="number"):
        units.parse(given, "bytes")
    with pytest.raises(ValueError, match="number"):
        units.parse_money(given)


LONG = "x" * 400


def test_a_name_that_no_disk_takes_is_no_file(tmp_path):
    assert not is_name("q" + "9" * 400)
    asked = (
        lambda: app.store_import(LONG), lambda: app.store_restore(LONG, store=tmp_path / "a.db"),
        lambda: app.bench_report([LONG]), lambda: app.validate([LONG]),
        lambda: app.load_decision("\0"), lambda: app.load_decision(LONG), lambda: app.quote_read("q" + "9" * 400),
    )  # fmt: skip
    for ask in asked:
        with pytest.raises(InvalidInput):
            ask()


def test_a_trace_of_a_name_too_long_is_not_there(tmp_path):
    path = tmp_path / "brief.yaml"
    path.write_text(
        "name: x\nworkload: realtime-inference\nmodels: [llama-3.1-8b]\ntraffic: {trace: %s}\n"
        % ("\u00e9" * 230)
    )
    with pytest.raises(InvalidInput) as caught:
        app.load_brief(path)
    assert "CB-B016" in codes(caught)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("training", {"micro_batch": 0.6}),
        ("memory", {"engine": None}),
        ("serving", {"load": {"prompts": 0.1}}),
    ],
)
def test_a_case_of_part_of_a_sample_or_of_no_engine_is_told(kind, change, tmp_path):
    with (fuzz_doors.ROOT / f"cases/{kind}.jsonl").open() as lines:
        rows = (json.loads(line) for line in lines)
        row = next(one for one in rows if one.get("micro_batch" if kind == "training" else "engine"))
    path = tmp_path / "cases.jsonl"
    path.write_text(
        json.dumps({key: value for key, value in (row | change).items() if value is not None}) + "\n"
    )
    told = app.validate([path])
    assert (told["answered"], len(told["skipped"])) == (0, 1)


def test_a_request_that_took_longer_than_the_world_is_old_begins_when_it_was_logged(tmp_path):
    def line(at, taken):
        said = {"time_iso8601": f"2026-11-30T21:00:0{at}+01:00", "status": "200", "request_time": taken,
                "request_method": "POST", "request_uri": "/v1/completions"}  # fmt: skip
        return json.dumps(said) + "\n"

    path = tmp_path / "access.json"
    for taken in (1e308, -1e308, 1e12, "9" * 400):
        path.write_text(line(1, taken) + line(2, "1.5") + line(3, "1.5"))
        assert app.traffic([path])["files"][0]["requests_count"] == 3


def test_a_long_word_before_a_size_is_read_once(tmp_path):
    path = tmp_path / "llama.log"
    path.write_text(
        "load_tensors:" + "a" * 60_000 + " model buffer size = 4 MiB\n" + "9" * 60_000 + " KV buffer size\n"
    )
    (one,) = read_file(path).observations  # of 60,000 letters it took minutes
    assert one.measured == {"weights_gib_per_gpu": 0.0039}


def test_a_figure_of_a_web_log_has_no_thousands_of_digits():
    line = (
        b"1.2.3.4:5 [30/Nov/2026:10:00:00.000] f b/s 0/0/0/1/%b 200 1 - - ---- 1/1/1/1/0 0/0 "
        b'"POST /v1/completions HTTP/1.1"'
    )
    for digits, count in ((b"12", 1), (b"9" * 5000, 0)):
        requests = Requests(-inf, inf)
        haproxy_line(line % digits, requests, Clock(), Paths(()))
        assert len(requests) == count


def test_a_rate_with_two_points_is_no_claim():
    assert sparse_claims("an H100 SXM gives 1.9.79 TFLOPS bf16") == []
    (claim,) = sparse_claims("an H100 SXM gives 1,979 TFLOPS bf16")
    assert claim.said_tflops == 1979


def test_a_metrics_line_of_odd_marks_is_read_once():
    line = "vllm:num_requests_running" + "x1" * 8000 + " # {"
    assert read_page(f"vllm:num_requests_running 3\n{line}\n").values()["running_count"] == 3
    held = 'vllm:num_requests_running{model_name="a # b"} 4 1.5e9 # {trace_id="x"} 0.5 1.6e9\n'
    assert read_page(held).values()["running_count"] == 4
    assert read_page("vllm:num_requests_running 1e-320\n").values()["running_count"] == 0


def test_what_names_no_key_is_let_through_at_once():
    assert redacted("-" * 4000) == "-" * 4000
    assert redacted("--wandb-token abcdef, api-key: xyz, MY_PAT=q") == "--wandb-token " + (
        "[redacted], api-key: [redacted], MY_PAT=[redacted]"
    )


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (1e-320, 0.0, 1e-3),
        (1e-320, 0.0, 5e-324),
        (1.0, -1e308, 1e308),
        (1e308, 1e-320, 1e308),
        (-5e-324, -1e-322, 1e-310),
    ],
)
def test_the_least_and_the_largest_figures_are_told(value, low, high):
    assert span(Estimate(value, low, high, "calibrated"))
    assert span(Estimate(540.0, 400.0, 760.0, "calibrated"), 1.0, "ms") == "540 ms [400–760]"


@pytest.mark.parametrize(
    ("version", "read"), [("0.11.2rc1", (0, 11, 2)), ("0.\u00b2", (0,)), ("1." + "9" * 5000, (1,))]
)
def test_a_version_of_powers_or_of_thousands_of_digits_ends_there(version, read):
    assert numbers(version) == read


def test_a_column_called_text_that_is_none_is_read_as_it_can_be():
    pa = pytest.importorskip("pyarrow")
    odd = pa.array([b"H100", b"\x9b", None], pa.binary())
    column = pa.StringArray.from_buffers(3, odd.buffers()[1], odd.buffers()[2], odd.buffers()[0], 1)
    assert _column(column) == ["H100", "\ufffd", ""]
