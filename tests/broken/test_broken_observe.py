"""Hostile logs, names and places given to ``observe``, ``observations``, ``validate`` and ``here``; nothing is lost."""

import bz2
import json
import lzma
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import zlib

import pytest
from broken_world import run

from cabida import files
from cabida.errors import InvalidInput
from cabida.evidence import read_file

V = """\
INFO 11-01 10:00:01 [api_server.py:1896] vLLM API server version 0.11.0
INFO 11-01 10:00:10 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: \
model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1
INFO 11-01 10:00:30 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 12.456 seconds
INFO 11-01 10:01:00 [gpu_worker.py:298] Available KV cache memory: 55.21 GiB
INFO 11-01 10:01:01 [kv_cache_utils.py:1087] GPU KV cache size: 452,272 tokens
"""
S = "[2025-11-01 10:00:00] server_args=ServerArgs(model_path='a/b', tp_size=1)\n"
SMI = "name, memory.total [MiB], memory.used [MiB]\nNVIDIA H100 80GB HBM3, 81559 MiB, {used} MiB\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "store.db"))
    return tmp_path


def figures(here, text, *words):
    (here / "a.log").write_text(text, "utf-8")
    done = run("observe", "a.log", "--dry-run", "--json", *words)
    return json.loads(done.stdout)["files"][0]


def test_what_is_held_is_never_below_zero(here):
    found = figures(here, V.replace("14.9889", "-14.9889"))
    assert "weights_gib_per_gpu" not in found["observations"][0]["figures"]
    assert found["unknown_lines"] > figures(here, V)["unknown_lines"]


@pytest.mark.parametrize("size", ["0", "-3", "999999999999"])
def test_a_split_that_no_machine_has_is_not_taken(here, size):
    found = figures(here, V.replace("tensor_parallel_size=1", f"tensor_parallel_size={size}"))
    assert found["observations"][0]["setup"].get("tp", 1) == 1


@pytest.mark.parametrize("used", ["91559", "999999999999"])
def test_a_card_never_holds_more_than_it_has(here, used):
    (here / "a.csv").write_text(SMI.format(used=used), "utf-8")
    assert "[CB-E004]" in run("observe", "a.csv").stderr


def test_a_log_of_two_engines_is_told(here):
    assert figures(here, V + S)["also"] == ["sglang"]
    assert figures(here, V)["also"] == []


def test_what_the_log_says_otherwise_is_told(here):
    found = figures(here, V, "--engine", "sglang", "--engine-version", "0.11.0")
    assert found["overruled"] == [{"flag": "--engine", "said": "sglang", "read": "vllm"}]


@pytest.mark.parametrize(("ending", "pack"), [("bz2", bz2.compress), ("xz", lzma.compress)])
def test_logs_packed_otherwise_are_read_and_bombs_are_not(here, ending, pack):
    (here / f"a.{ending}").write_bytes(pack(V.encode()))
    assert run("observe", f"a.{ending}", "--dry-run").exit_code == 0
    (here / f"cut.{ending}").write_bytes(pack(V.encode())[:-12])
    assert "[CB-E002]" in run("observe", f"cut.{ending}").stderr


def test_a_bomb_is_left_alone_early(here):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packer.compress(b"\n" * (1 << 20)) for _ in range(80)) + packer.flush()
    (here / "bomb.gz").write_bytes(body)
    assert "[CB-E002]" in run("observe", "bomb.gz").stderr


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c"])
def test_what_is_not_unpacked_is_named(here, start):
    (here / "a.log").write_bytes(start + bytes(64))
    assert "[CB-E005]" in run("observe", "a.log").stderr


def test_unknown_names_are_told_at_once_and_nothing_is_kept(here):
    (here / "a.log").write_text(V, "utf-8")
    names = ("--gpu", "no-card", "--engine", "vlm", "--weights", "fp7", "--kv-cache", "fp9")
    told = json.loads(run("observe", "a.log", *names, "--json").stdout)["errors"]
    assert [one["code"] for one in told] == ["CB-F001", "CB-F001", "CB-F014", "CB-F014"]
    assert not (here / "store.db").exists()


def test_standard_input_is_called_by_its_name(here, monkeypatch):
    reader, writer = os.pipe()
    os.write(writer, b"rubbish\n")
    os.close(writer)
    with os.fdopen(reader) as stream, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", stream)
        with pytest.raises(InvalidInput, match=r"^-: .*CB-E003"):
            read_file("-")
        patch.setattr("sys.stdin", None)
        with pytest.raises(InvalidInput, match="CB-E001"):
            read_file("-")


@pytest.mark.parametrize(
    "words", [("validate",), ("observations", "list"), ("observations", "export", "x.jsonl")]
)
def test_a_store_that_is_named_and_not_there_is_no_empty_one(here, words):
    assert "[CB-E019]" in run(*words, "--store", "typo.db").stderr
    assert "[CB-E017]" in run(*words, "--store", "mysql://u@h/d").stderr
    assert "[CB-E021]" in run(*words, "--store", "postgresql://u@127.0.0.1:1/d").stderr


def test_validate_without_anything_says_what_is_missing(here):
    assert "[CB-E019]" in run("validate").stderr


@pytest.mark.parametrize("row", ["{bad", "[1, 2]", "3"])
def test_a_damaged_row_is_told_by_its_id(here, row):
    (here / "a.log").write_text(V, "utf-8")
    run("observe", "a.log")
    with sqlite3.connect(here / "store.db") as store:
        store.execute("UPDATE observations SET row = ?", (row,))
    store.close()
    done = run("observations", "list")
    assert (done.exit_code, "[CB-E012]" in done.stderr, "obs-" in done.stderr) == (3, True, True)


def test_nothing_is_written_over_what_is_read(here):
    (here / "a.log").write_text(V, "utf-8")
    run("observe", "a.log")
    run("observations", "export", "mine.jsonl")
    kept = [(here / name).read_bytes() for name in ("store.db", "mine.jsonl")]
    (here / "link.jsonl").symlink_to("mine.jsonl")
    for words in (
        ("observations", "export", "store.db"),
        ("validate", "mine.jsonl", "--predictions", "mine.jsonl"),
        ("validate", "mine.jsonl", "--predictions", "link.jsonl"),
    ):
        assert "[CB-R014]" in run(*words).stderr
    assert kept == [(here / name).read_bytes() for name in ("store.db", "mine.jsonl")]


def test_a_link_stays_a_link_and_a_pipe_a_pipe(tmp_path):
    (tmp_path / "real.txt").write_text("before", "utf-8")
    (tmp_path / "link.txt").symlink_to("real.txt")
    files.write_text(tmp_path / "link.txt", "after")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text("utf-8") == "after"
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text("utf-8")))
    reader.start()
    files.write_text(tmp_path / "pipe", "through")
    reader.join(5)
    assert (read, stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)) == (["through"], True)


def test_a_reader_that_is_gone_already_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "cabida", "fit", "--vectors", "1M", "--dims", "64"]
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(words, stdout=gone, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_place_that_is_no_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="CB-R005"):
        files.write_text("", "text")
