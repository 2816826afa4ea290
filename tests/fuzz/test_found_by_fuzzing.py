"""What spoilt files once brought to light, each in its smallest form."""

import gzip
import http.client
import json
import socket
from unittest.mock import patch

import pytest

from cabida.checks.parts import read_parts
from cabida.errors import InvalidInput
from cabida.evidence.importers.run import Run
from cabida.evidence.prices import read, tables
from cabida.evidence.read import read_file
from cabida.facts import fetch
from cabida.facts.models import model
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


def test_a_chunk_of_less_than_no_bytes_is_no_answer():
    near, far = socket.socketpair()
    far.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n" + b"x" * 900)
    far.shutdown(socket.SHUT_WR)
    web = fetch.Web("http://127.0.0.1:1")
    with patch.object(fetch, "dial", lambda *_, **__: near), pytest.raises(fetch.Unanswered) as caught:
        web.get("x", fetch.Wanted(first=0, count=64))
    assert isinstance(caught.value.__cause__, http.client.HTTPException)
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
