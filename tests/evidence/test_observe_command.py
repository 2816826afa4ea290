"""``cabida observe`` and ``observations``: from a log to a figure beside its prediction, by hand and by script."""

import json
import re
import subprocess
import sys
from pathlib import Path

import logs
import pytest
from click.testing import CliRunner

import cabida
from cabida import text
from cabida.faces.cli import cli
from cabida.text import catalogue

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture(autouse=True)
def _own_store(tmp_path, monkeypatch):
    for name in ("CABIDA_LANG", "LC_ALL", "LC_MESSAGES", "LANG", "CABIDA_DEBUG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path / "store.db"))
    yield
    text.use_language("en")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "vllm.log"
    path.write_text(logs.VLLM_011)
    return str(path)


def run(*words, code=0, **options):
    done = CliRunner().invoke(cli, list(words), **options)
    assert done.exit_code == code, done.output
    return done


def data(*words, **options):
    return json.loads(run(*words, "--json", **options).stdout)


def test_a_log_is_read_kept_and_laid_beside_its_prediction(log):
    answer = data("observe", log, "--gpu", "H100 SXM")
    (file,) = answer["files"]
    assert (file["format"], file["new"], file["known"], file["unknown_lines"]) == ("vllm", 1, 0, 0)
    (seen,) = file["observations"]
    assert seen["setup"]["gpu"] == "h100-sxm-80"
    assert (seen["fitted"], seen["verdict"]) == (True, "fits")
    weights = seen["figures"]["weights_gib_per_gpu"]
    assert weights["measured"] == 7.5124
    assert weights["low"] < weights["predicted"] < weights["high"]
    assert weights["error_ratio"] < 0.02
    assert "predicted" not in seen["figures"]["cuda_graph_gib"]
    assert data("observe", log, "--gpu", "H100 SXM")["files"][0]["known"] == 1


def test_the_screen_says_what_was_read_and_what_nobody_said(log):
    told = run("observe", log).stdout
    assert "weights per GPU" in told
    assert "7.5124 GiB" in told
    assert "accelerator (--gpu)" in told
    spanish = run("observe", log, "--lang", "es").stdout
    assert "Arrancó" in spanish
    assert "acelerador (--gpu)" in spanish


LOCUST = """Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%
,Aggregated,1200,6,1400,1512.5,800,6200,2100,19.8,0.1,1400,1600,1700,1800,2200,2800,3600,4400,6100,6200,6200
"""  # noqa: E501


def test_a_share_of_failures_is_told_in_per_cent_and_a_percentile_by_its_name(tmp_path):
    file = tmp_path / "run_stats.csv"
    file.write_text(LOCUST)
    lines = [" ".join(line.split()) for line in run("observe", str(file), "--dry-run").stdout.splitlines()]
    assert "requests that failed 0.5 % – – –" in lines  # 6 of 1,200
    assert "end to end p75 1,700 ms – – –" in lines
    assert any(line.startswith("obs-") and not line.endswith("·") for line in lines)


RESULT = {
    "date": "20261103-101500", "backend": "openai-chat", "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 200, "request_rate": 8.0, "max_concurrency": None, "duration": 25.0, "completed": 200, "failed": 0,
    "total_input_tokens": 204800, "total_output_tokens": 25600, "request_throughput": 8.0,
    "output_throughput": 1024.0, "total_token_throughput": 9216.0, "mean_ttft_ms": 95.0, "mean_tpot_ms": 9.0,
}  # fmt: skip


def test_the_load_behind_the_figures_is_told(tmp_path):
    file = tmp_path / "result.json"
    file.write_text(json.dumps(RESULT))
    assert (
        "Load: 8 req/s offered · 1,024 tokens in · 128 tokens out"
        in run("observe", str(file), "--dry-run").stdout
    )
    assert "1.024 tokens de entrada" in run("observe", str(file), "--dry-run", "--lang", "es").stdout


def test_one_file_that_says_nothing_keeps_no_other_from_being_kept(log, tmp_path):
    empty = tmp_path / "empty.log"
    empty.write_text("hello\n")
    done = run("observe", str(empty), log, "--json", code=3)
    answer = json.loads(done.stdout)
    assert [one["code"] for one in answer["errors"]] == ["CB-E003"]
    assert len(answer["files"]) == 1
    assert "CB-E003" in done.stderr
    assert run("observe", str(empty), code=3).stdout == ""
    assert "FILES" in run("observe", code=2).stderr


def test_standard_input_and_a_dry_run(log):
    answer = data("observe", "-", "--dry-run", input=logs.VLLM_011)
    assert answer["store"] is None
    assert answer["files"][0]["observations"][0]["figures"]["kv_cache_tokens"]["measured"] == 1_017_408
    assert data("observations", "list")["observations"] == []
    assert "cabida observe" in run("observations", "list").stdout


def test_list_show_export_forget(log, tmp_path):
    data("observe", log, "--gpu", "h100-sxm-80")
    (row,) = data("observations", "list")["observations"]
    assert row["model"] == logs.LLAMA
    shown = data("observations", "show", row["id"][:10])
    assert shown["file"] == "vllm.log"
    assert row["id"] in run("observations", "show", row["id"]).stdout
    out = tmp_path / "out.jsonl"
    assert data("observations", "export", str(out))["rows"] == 1
    assert cabida.validate([out])["answered"] == 1
    assert data("observations", "forget", row["id"])["forgotten"] == [row["id"]]
    assert data("observations", "list")["observations"] == []
    assert data("observations", "list", "--all")["observations"][0]["mark"] == "forgotten"
    assert "CB-E020" in run("observations", "show", "ffff", code=3).stderr


def test_validate_without_files_scores_ones_own(log):
    assert "[CB-E019]" in run("validate", code=3).stderr
    data("observe", log, "--gpu", "h100-sxm-80")
    own = data("validate")
    assert (own["rows"], own["answered"]) == (1, 1)
    assert own["metrics"]["weights_gib_per_gpu"]["median_error_ratio"] < 0.02
    assert own["fits"]["correct"] == 1


def test_fit_shows_what_was_seen_of_the_same_setup_and_of_no_other(log):
    asked = ("fit", logs.LLAMA, "--gpu", "h100-sxm-80", "--gpus", "2", "--engine", "vllm")
    assert data(*asked)["observed"] == []
    data("observe", log, "--gpu", "h100-sxm-80")
    (seen,) = data(*asked)["observed"]
    assert seen["figures"]["kv_cache_gib_per_gpu"]["measured"] == 62.1
    assert "62.1 GiB" in run(*asked).stdout
    for other in (
        ("fit", logs.LLAMA, "--gpu", "h100-sxm-80", "--gpus", "4", "--engine", "vllm"),
        ("fit", logs.LLAMA, "--gpu", "h200-sxm-141", "--gpus", "2", "--engine", "vllm"),
        (*asked[:-1], "sglang"),
        (*asked, "--weights", "fp8"),
        (*asked, "--max-model-len", "8192"),
    ):
        assert data(*other)["observed"] == []


def test_rows_of_the_carried_cases_are_observations_too(tmp_path):
    """Every carried memory row goes into the store and comes back as it was."""
    rows = [json.loads(line) for line in (CASES / "memory.jsonl").read_text().splitlines()][:200]
    file = tmp_path / "some.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert data("observe", str(file))["files"][0]["new"] == len({json.dumps(keyless(one)) for one in rows})
    out = tmp_path / "out.jsonl"
    run("observations", "export", str(out))
    back = [json.loads(line) for line in out.read_text().splitlines()]
    known = {json.dumps(keyless(one), sort_keys=True) for one in rows}
    assert {json.dumps(keyless(one), sort_keys=True) for one in back} == known


def keyless(row):
    return {
        key: row[key] for key in sorted(row) if key not in ("id", "source", "file_sha256", "tool_version")
    }


def test_the_store_costs_nothing_until_it_is_used():
    code = (
        "import sys, cabida\nfrom cabida.faces.cli import cli\n"
        "for words in (['--help'], ['observe', '--help'], ['observations', '--help']):\n"
        "    try: cli.main(words)\n    except SystemExit as done: assert done.code == 0\n"
        "heavy = {'sqlalchemy', 'alembic', 'sqlite3', 'cabida.evidence', 'cabida.facts'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from cabida import app\n"
        f"app.fit({logs.LLAMA!r}, gpu='h100-sxm-80')\n"
        "heavy = {'sqlalchemy', 'alembic', 'cabida.evidence.store'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_both_languages_say_the_same_with_the_same_values():
    english, spanish = catalogue("en", "evidence"), catalogue("es", "evidence")
    assert english.keys() == spanish.keys()
    for name, said in english.items():
        assert set(re.findall(r"{(\w+)}", said)) == set(re.findall(r"{(\w+)}", spanish[name])), name
