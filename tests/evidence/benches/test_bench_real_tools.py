"""The tools themselves, where ``benchmarks/load_generators.py`` has installed them, and what they write read here."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cabida.bench.selfcheck.starting import calibrated
from cabida.evidence import read_file
from cabida.evidence.exports import Measured, exported

CLIENTS = Path(os.environ.get("CABIDA_BENCHMARKS") or Path.home() / ".cache/cabida-benchmarks") / "clients"
STREAMS, REQUESTS, TOKENS = 4, 40, 50


def guidellm(url, out):
    backend = {
        "kind": "openai_http",
        "target": url,
        "model": "mock",
        "request_format": "/v1/chat/completions",
    }
    outputs = [f"kind={kind},path={out}/benchmarks.{kind}" for kind in ("json", "yaml", "csv")]
    return [
        "run", "--backend", json.dumps(backend), "--profile", f"kind=concurrent,streams={STREAMS}",
        "--constraint", f"kind=max_requests,count={REQUESTS}",
        "--tokenizer", f"kind=huggingface_auto,model={CLIENTS}/tokenizer",
        "--data", f"kind=synthetic_text,prompt_tokens=64,output_tokens={TOKENS}",
        *(word for one in outputs for word in ("--output", one)), "--disable-console-interactive",
    ]  # fmt: skip


def aiperf(url, out):
    return [
        "profile", "--model", "mock", "--url", url, "--endpoint-type", "chat", "--streaming", "--concurrency",
        str(STREAMS), "--request-count", str(REQUESTS), "--tokenizer", "rp/tiny", "--synthetic-input-tokens-mean", "64",
        "--output-tokens-mean", str(TOKENS), "--artifact-dir", str(out), "--ui", "none",
    ]  # fmt: skip


def vllm(url, out):
    return [
        "bench", "serve", "--backend", "openai-chat", "--base-url", url, "--endpoint", "/v1/chat/completions",
        "--model", "mock", "--tokenizer", f"{CLIENTS}/tokenizer", "--dataset-name", "random",
        "--random-input-len", "64", "--random-output-len", str(TOKENS), "--num-prompts", str(REQUESTS),
        "--max-concurrency", str(STREAMS), "--save-result", "--save-detailed", "--result-dir", str(out),
        "--result-filename", "results.json",
    ]  # fmt: skip


TOOLS = {
    "guidellm": (guidellm, "guidellm", ("benchmarks.json", "benchmarks.yaml", "benchmarks.csv")),
    "aiperf": (
        aiperf,
        "aiperf",
        ("profile_export_aiperf.json", "profile_export_aiperf.csv", "profile_export.jsonl"),
    ),
    "vllm": (vllm, "vllm-bench", ("results.json",)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", TOOLS)
def test_what_a_tool_writes_of_a_server_of_known_truth_is_read_whole(name, tmp_path):
    program = CLIENTS / name / "bin" / name
    if not program.exists():
        pytest.skip(f"{name} is not installed: python benchmarks/load_generators.py --install")
    words, form, files = TOOLS[name]
    said = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(CLIENTS / "hub"), "OMP_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false"}  # fmt: skip
    with calibrated(manner=f"ttft=100,itl=10,n={TOKENS}") as server:
        command = [str(program), *words(server.url.removesuffix("/v1"), tmp_path)]
        done = subprocess.run(
            command, env=os.environ | said, cwd=tmp_path, capture_output=True, timeout=400, check=False
        )
        sends = server.sends()
    assert done.returncode == 0, done.stderr[-2000:]
    true_ms = 1e3 * sum(one.tpot_s for one in sends) / len(sends)
    for file in files:
        read = read_file(tmp_path / file)
        (one,) = read.observations
        assert (read.format, read.unknown_count) == (form, 0), read.unknown
        assert one.load["output_tokens"] == pytest.approx(TOKENS)
        assert 50 < one.measured["ttft_ms_mean"] < 5000
        # a count of other tokens or another definition would be off by a factor, not by a share
        per_token = one.measured.get("tpot_ms_mean", one.measured.get("itl_ms_mean"))
        assert per_token == pytest.approx(true_ms, rel=0.4)
        assert "refused" not in one.more or set(one.more["refused"].values()) == {"tokens"}


@pytest.mark.long
def test_aiperfs_own_model_takes_our_export(tmp_path):
    python = CLIENTS / "aiperf/bin/python"
    if not python.exists():
        pytest.skip("aiperf is not installed: python benchmarks/load_generators.py --install")
    figures = {
        "req_s": 5.0,
        "output_tok_s": 640.0,
        "ttft_ms_mean": 210.5,
        "ttft_ms_p99": 402.75,
        "e2e_ms_mean": 3068.0,
    }
    closed = Measured("a", "org/model", duration_s=40.0, completed_count=200, input_tokens_mean=1024.0,
                      output_tokens_mean=128.0, concurrency=16, figures=figures, url="http://127.0.0.1/v1")  # fmt: skip
    for one in (closed, replace(closed, concurrency=None, requests_per_s=5.0)):
        (text,) = exported("aiperf", [one]).values()
        path = tmp_path / "export.json"
        path.write_text(text)
        code = (
            "from aiperf.common.models.export_models import JsonExportData as Export\n"
            f"read = Export.model_validate_json(open({str(path)!r}).read())\n"
            "print(read.time_to_first_token.p99, read.request_throughput.avg)"
        )
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=300, check=False)
        assert done.stdout.split() == ["402.75", "5.0"], done.stderr[-2000:]
