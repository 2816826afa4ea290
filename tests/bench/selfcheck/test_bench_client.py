"""Load generators side by side: reports of each are read as they write them, and a row says who was off by how much."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean, pvariance

import pytest

from cabida.bench.selfcheck.answering import Turns
from cabida.bench.selfcheck.selftest import Figures

FOLDER = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("bench_client", FOLDER / "bench_client.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_client"] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FOLDER))


REPORTS = {
    "locust": [[0.1, 0.01], [0.3, 0.01], [0.2, None]],
    "guidellm": {"benchmarks": [{"metrics": {
        "time_to_first_token_ms": {"successful": {"mean": 200.0, "median": 200.0, "percentiles": {"p99": 300.0}}},
        "inter_token_latency_ms": {"successful": {"mean": 10.0}}}}]},
    "vllm": {"mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "p99_ttft_ms": 300.0, "mean_tpot_ms": 10.0},
}  # fmt: skip


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_report_is_read(script, tmp_path, name):
    (tmp_path / "found.json").write_text(json.dumps(REPORTS[name]))
    told = script.CLIENTS[name].read(tmp_path, "")
    assert told.ttft == Figures(pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.3))
    assert told.tpot_mean_s == pytest.approx(0.01)


def test_a_report_of_aiperf_is_found_wherever_it_lies(script, tmp_path):
    (tmp_path / "run").mkdir()
    one = {"avg": 200.0, "p50": 200.0, "p99": 300.0}
    said = {"time_to_first_token": one, "inter_token_latency": {"avg": 10.0}}
    (tmp_path / "run/profile_export_aiperf.json").write_text(json.dumps(said))
    assert script.CLIENTS["aiperf"].read(tmp_path, "").ttft.p99_s == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("WARNING/root: CPU usage above 90%! This may constrain your throughput", True),
        ("the load-generating client may be the bottleneck", True),
        ("Benchmarking complete, generated 1 benchmark(s)", False),
        ("Maximum request concurrency: 256", False),
    ],
)
def test_a_warning_of_ones_own_is_seen(script, text, warned):
    assert bool(script.WARNED.search(text)) is warned


def test_every_command_names_its_load(script, tmp_path):
    for case in script.CASES.values():
        for client in script.CLIENTS.values():
            command = client.command(case, "http://127.0.0.1:9/v1", tmp_path, tmp_path / client.name)
            assert all(isinstance(word, str) for word in command)
            assert str(case.streams) in " ".join(command) + (tmp_path / "order.json").read_text()


def test_our_row_beside_the_truth():
    asked = ["--only", "cabida", "--cases", "1 stream", "--json"]
    done = subprocess.run(
        [sys.executable, str(FOLDER / "bench_client.py"), *asked],
        capture_output=True,
        text=True,
        check=True,
        cwd=FOLDER,
    )
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["client"], row["served_count"], row["why"]) == ("cabida", 10, "")
    assert row["true_ttft"]["mean_s"] >= 0.1
    assert row["mean_error_ratio"] > -0.01
    assert row["rss_bytes"] < 120e6


def test_a_client_that_is_not_there_is_told(script, tmp_path):
    row = script.run(script.CLIENTS["cabida"], script.Case("none", 1, 0, 2, "ttft=1,itl=1,n=2"), tmp_path)
    assert row.ttft == Figures()
    assert row.true_ttft == Figures()
    assert row.mean_error_ratio is None
    assert "–" in script.table([row])


def test_service_times_of_the_queue_are_exponential_with_mean_one():
    turns = Turns(1, exponential=True, seed="1/mock")
    drawn = [turns.scale_ratio() for _ in range(20_000)]
    assert fmean(drawn) == pytest.approx(1, abs=0.03)
    assert pvariance(drawn) == pytest.approx(1, abs=0.08)
    assert sum(one > 2 for one in drawn) / len(drawn) == pytest.approx(0.1353, abs=0.01)
    assert [Turns(1, exponential=True, seed="1/mock").scale_ratio()] == drawn[:1]
    assert Turns(1, exponential=False, seed="").scale_ratio() == 1.0
