"""Numbers that are none in what others wrote, intervals below nothing, and a folder named twice."""

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from cabida import app
from cabida.bench.keep.statistics import mean
from cabida.bench.selfcheck.starting import calibrated
from cabida.evidence import read_file

sys.path.append(str(Path(__file__).parents[2] / "evidence" / "benches"))
import bench_samples as first
import bench_samples_more as more

PLAN = """\
name: twice
contenders:
  - name: target
    target: {{url: "{url}", model: "mock,ttft=1,itl=1,n=2"}}
prompts: {{input_tokens: 16, output_tokens: 2}}
runs:
  - name: first
    phase: load
    candidate: target
    load: {{kind: closed, concurrency: 1, requests: 5}}
"""


def finite(value):
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


@pytest.mark.parametrize("number", ["1e999", "NaN", "-1e999", "9" * 400])
@pytest.mark.parametrize("key", ["global_batch_size", "max_sequence_length", "tensor_parallelism"])
def test_sizes_of_a_training_log_are_numbers(tmp_path, key, number):
    text = more.mlperf_training()
    line = f':::MLLOG {{"key": "{key}", "value": {number}, "time_ms": 1}}\n'
    path = tmp_path / "result"
    path.write_text(line + (text if isinstance(text, str) else json.dumps(text)), encoding="utf-8")
    assert all(finite(one.case()) for one in read_file(path).observations)


@pytest.mark.parametrize("number", ["1e999", "NaN"])
def test_settings_of_a_llama_bench_are_numbers(tmp_path, number):
    text = json.dumps(more.llama_bench())
    path = tmp_path / "result.json"
    path.write_text(text.replace('"n_gpu_layers": ', f'"n_gpu_layers": {number}, "was": '), encoding="utf-8")
    assert all(finite(one.case()) for one in read_file(path).observations)
    assert first.vllm_serve()


def test_no_time_is_below_nothing():
    found = mean(np.array([0.1, 0.2, 0.1, 9.0, 0.1, 0.2]))
    assert found.low == 0.0
    assert found.high > found.value
    assert mean(np.array([-1.0, 1.0, -2.0, 2.0, 5.0, -4.0])).low < 0


def test_a_folder_named_twice_counts_once(tmp_path):
    file, out = tmp_path / "plan.yaml", tmp_path / "out"
    with calibrated() as server:
        file.write_text(PLAN.format(url=server.url), encoding="utf-8")
        app.bench_run(file, out=out, store=tmp_path / "store.db")
    once, twice = app.bench_report([out]), app.bench_report([out, tmp_path / "x" / ".." / "out", str(out)])
    assert len(twice["runs"]) == len(once["runs"]) == 1
