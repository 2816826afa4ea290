"""What `cabida observe --case` writes: rows that `cabida validate` takes, each with its source, none twice."""

import json

import pytest
from click.testing import CliRunner

from cabida import app
from cabida.faces.cli import cli

LOG = """\
INFO 11-03 10:00:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto
INFO 11-03 10:00:20 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 5.2 seconds
INFO 11-03 10:00:50 [gpu_worker.py:298] Available KV cache memory: {cache} GiB
"""  # noqa: E501 - as the engine prints it
SOURCE = ("--gpu", "rtx4090", "--source", "example/runs issue #1 (2026-11-03)")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, cache in (("one.log", "4.66"), ("two.log", "5.02")):
        (tmp_path / name).write_text(LOG.format(cache=cache), encoding="utf-8")
    return tmp_path


def observe(*words):
    return CliRunner().invoke(cli, ["observe", *words, "--store", "mine.db", "--json"])


def codes(done):
    assert done.exit_code == 3, done.output
    return [one["code"] for one in json.loads(done.stdout)["errors"]]


def test_rows_are_added_with_their_source_and_validate_takes_them(here):
    first = observe("one.log", *SOURCE, "--case", "runs/mine.jsonl")
    assert json.loads(first.stdout)["case"]["rows"] == 1
    before = (here / "runs" / "mine.jsonl").read_text(encoding="utf-8")
    observe("two.log", *SOURCE, "--case", "runs/mine.jsonl")
    whole = (here / "runs" / "mine.jsonl").read_text(encoding="utf-8")
    assert whole.startswith(before)
    rows = [json.loads(line) for line in whole.splitlines()]
    assert [row["measured"]["kv_cache_gib_per_gpu"] for row in rows] == [4.66, 5.02]
    assert {row["source"] for row in rows} == {SOURCE[-1]}
    scored = app.validate(["runs/mine.jsonl"])
    assert (scored["rows"], scored["answered"]) == (2, 2)


def test_a_row_is_never_written_twice(here):
    assert observe("one.log", *SOURCE, "--case", "mine.jsonl").exit_code == 0
    row = json.loads((here / "mine.jsonl").read_text(encoding="utf-8"))
    (here / "mine.jsonl").write_text(json.dumps(row | {"id": "by-hand-1"}), encoding="utf-8")  # no line's end
    before = (here / "mine.jsonl").read_bytes()
    again = observe("one.log", "two.log", *SOURCE[:3], "another page", "--case", "mine.jsonl")
    assert codes(again) == ["CB-V018"]
    assert json.loads(again.stdout)["errors"][0]["line"] == 1
    assert (here / "mine.jsonl").read_bytes() == before
    assert observe("two.log", *SOURCE, "--case", "mine.jsonl").exit_code == 0
    assert len((here / "mine.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    (here / "same.log").write_text(
        (here / "one.log").read_text(encoding="utf-8") + "more\n", encoding="utf-8"
    )
    assert codes(observe("one.log", "same.log", *SOURCE, "--case", "other.jsonl")) == ["CB-V018"]


def test_without_a_source_or_a_model_nothing_is_written_or_kept(here):
    (here / "open.log").write_text(LOG.format(cache="3.5").partition("\n")[2], encoding="utf-8")
    done = observe("one.log", "open.log", "--case", "mine.jsonl")
    assert codes(done) == ["CB-V019", "CB-V019", "CB-V020"]
    cures = " ".join(one["cure"] for one in json.loads(done.stdout)["errors"])
    assert "--source" in cures
    assert "--model" in cures
    assert not (here / "mine.jsonl").exists()
    assert not (here / "mine.db").exists()


def test_a_dry_run_writes_nothing_and_a_file_of_something_else_stays(here):
    answer = json.loads(observe("one.log", *SOURCE, "--case", "mine.jsonl", "--dry-run").stdout)
    assert (answer["case"]["rows"], answer["case"]["written"]) == (1, False)
    assert not (here / "mine.jsonl").exists()
    (here / "mine.jsonl").write_text("notes\n", encoding="utf-8")
    assert codes(observe("one.log", *SOURCE, "--case", "mine.jsonl")) == ["CB-V002"]
    assert (here / "mine.jsonl").read_text(encoding="utf-8") == "notes\n"
    assert codes(observe("one.log", *SOURCE, "--case", "one.log")) == ["CB-R014"]
