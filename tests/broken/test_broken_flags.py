"""Flags, models and files that can't be meant: the exit code and the code of the problem; never a guess."""

import json
import struct

import pytest
from broken_world import LLAMA, ROOT, run

from cabida import app
from cabida.errors import InvalidInput

L40S = ("--gpu", "l40s")
FLAGS = {
    "unknown command": (("recomend", "b.yaml"), 2, "CB-U001"),
    "unknown option": (("fit", LLAMA, "--gpuu", "l40s"), 2, "CB-U002"),
    "no accelerator": (("fit", LLAMA, "--gpu", "l40x"), 3, "CB-F001"),
    "nothing as accelerator": (("fit", LLAMA, "--gpu", ""), 2, "CB-U004"),
    "nothing as model": (("fit", "", *L40S), 3, "CB-F010"),
    "none at all": (("fit",), 2, "CB-U007"),
    "zero accelerators": (("fit", LLAMA, *L40S, "--gpus", "0"), 2, "CB-U004"),
    "minus one": (("fit", LLAMA, *L40S, "--gpus", "-1"), 2, "CB-U004"),
    "seven": (("fit", LLAMA, *L40S, "--gpus", "7"), 3, "CB-K090"),
    "tp 3": (("fit", LLAMA, *L40S, "--tp", "3"), 3, "CB-K090"),
    "tp 3, how fast": (("speed", LLAMA, *L40S, "--tp", "3"), 3, "CB-K090"),
    "tp 4096": (("fit", LLAMA, *L40S, "--tp", "4096"), 3, "CB-K090"),
    "more stages than layers": (("fit", LLAMA, *L40S, "--pp", "33"), 3, "CB-K090"),
    "experts of a dense model": (("fit", LLAMA, *L40S, "--ep", "2"), 3, "CB-K090"),
    "tp beside gpus": (("fit", LLAMA, *L40S, "--gpus", "8", "--tp", "7"), 3, "CB-U010"),
    "utilisation NaN": (("fit", LLAMA, *L40S, "--gpu-memory-utilization", "nan"), 2, "CB-U004"),
    "unknown engine": (("fit", LLAMA, *L40S, "--engine", "vlm"), 3, "CB-F001"),
    "a version without a figure": (("fit", LLAMA, *L40S, "--engine-version", "banana"), 2, "CB-U004"),
    "unknown format": (("fit", LLAMA, *L40S, "--weights", "fp7"), 3, "CB-F"),
    "unknown optimizer": (("fit", LLAMA, *L40S, "--method", "full", "--optimizer", "adamm"), 3, "CB-U018"),
    "a date of no calendar": (("fit", LLAMA, *L40S, "--as-of", "2026-13-45"), 2, "CB-U004"),
    "before any price": (("prices", "list", "l40s", "--as-of", "1990-01-01"), 3, "CB-U015"),
    "inputs NaN": (("speed", LLAMA, *L40S, "--input-tokens", "nan"), 2, "CB-U004"),
    "concurrency infinite": (("speed", LLAMA, *L40S, "--concurrency", "inf"), 2, "CB-U004"),
    "two loads": (("speed", LLAMA, *L40S, "--concurrency", "3", "--requests-per-s", "3"), 2, "CB-U009"),
    "half an answer": (("speed", LLAMA, *L40S, "--output-tokens", "0.5"), 2, "CB-U004"),
    "demand on an embedder": (("cost", "BAAI/bge-m3", *L40S, "--demand", "3"), 2, "CB-U081"),
    "a run without an end": (("cost", LLAMA, *L40S, "--method", "lora"), 2, "CB-U082"),
    "an assumption nobody knows": (("cost", LLAMA, *L40S, "--assume", "electricity=0.2"), 3, "CB-U080"),
    "an assumption without a figure": (("cost", LLAMA, *L40S, "--assume", "wacc_ratio=x"), 2, "CB-U004"),
    "objectives without a demand": (("cost", LLAMA, *L40S, "--ttft-p95-ms", "500"), 2, "CB-U050"),
    "seed below zero": (("speed", LLAMA, *L40S, "--seed", "-1"), 2, "CB-U004"),
    "watts NaN": (("cost", "energy", "--watts", "nan", "--price", "0.15"), 2, "CB-U004"),
    "acceptance next to zero": (("cost", LLAMA, *L40S, "--acceptance", "1e-320"), 2, "CB-U004"),
    "nothing to compare": (("compare",), 2, "CB-U003"),
    "unknown fact": (("facts", "show", "nothing-of-the-kind"), 3, "CB-U016"),
    "no example": (("init", "--from", "nope"), 3, "CB-B037"),
    "cases of no file": (("validate", "/dev/zero"), 3, "CB-V001"),
    "a decision of no file": (("record", "/dev/zero"), 3, "CB-R004"),
    "language": (("models", "--lang", "fr"), 2, "CB-U004"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_that_can_not_be_meant(name):
    words, code, problem = FLAGS[name]
    done = run(*words)
    assert (done.exit_code, problem in done.stderr, done.stdout) == (code, True, ""), done.output


@pytest.mark.parametrize("name", ["unknown option", "no accelerator", "tp 3", "watts NaN"])
def test_errors_are_data_with_json(name):
    words, code, problem = FLAGS[name]
    done = run(*words, "--json")
    told = json.loads(done.stdout)["errors"]
    assert (done.exit_code, [one["code"] for one in told]) == (code, [problem])
    assert all(one["what"] and one["cure"] for one in told)


CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}
MIXTURE = {"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 8}
CONFIGS = {
    "layers negative": {"num_hidden_layers": -4},
    "layers in quotes": {"num_hidden_layers": "32"},
    "layers beyond counting": {"num_hidden_layers": 10**30},
    "no heads": {"num_attention_heads": 0},
    "more kv heads than heads": {"num_key_value_heads": 64},
    "width NaN": {"hidden_size": float("nan")},
    "width in a list": {"hidden_size": [1, 2]},
    "vocabulary negative": {"vocab_size": -1},
    "80 of 8 experts": {**MIXTURE, "num_experts_per_tok": 80},
    "quantised by a word": {"quantization_config": "x"},
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configs_no_model_can_have(tmp_path, name):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**CONFIG, **CONFIGS[name]}), "utf-8")
    done = run("fit", str(path), *L40S)
    assert (done.exit_code, "[CB-F016]" in done.stderr) == (3, True), done.output


def gguf(*parts):
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + b"".join(parts)


def header(body):
    return struct.pack("<Q", len(body)) + body


FILES = {
    "config cut off": ("config.json", json.dumps(CONFIG)[:60].encode(), "CB-F015"),
    "config of 100,000 levels": ("config.json", b'{"a":' + b"[" * 100_000, "CB-F015"),
    "config of 11 MB": ("config.json", b'{"a":"' + b"x" * 11_000_000 + b'"}', "CB-F015"),
    "config a list": ("config.json", b"[1]", "CB-F015"),
    "GGUF of nothing": ("m.gguf", b"", "CB-F013"),
    "GGUF cut off": ("m.gguf", b"GGUF\x03", "CB-F013"),
    "GGUF of 2**63 tensors": ("m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 2**63, 2**63), "CB-F013"),
    "GGUF with a text of 2**62": ("m.gguf", gguf(struct.pack("<Q", 2**62), b"a" * 99), "CB-F013"),
    "GGUF of version 999": ("m.gguf", b"GGUF" + struct.pack("<IQQ", 999, 0, 0), "CB-F013"),
    "tensors cut off": ("model.safetensors", b"\x10\0\0", "CB-F012"),
    "tensors of 2**60": ("model.safetensors", struct.pack("<Q", 2**60) + b"{}", "CB-F012"),
    "tensors without JSON": ("model.safetensors", header(b"{abc}"), "CB-F012"),
    "tensors without sense": ("model.safetensors", header(b'{"w": [1]}'), "CB-F012"),
    "eight bytes for a 7B": (
        "model.safetensors",
        header(b'{"w": {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]}}') + b"\0" * 8,
        "CB-F012",
    ),
    "the first part of four": (
        "model-00001-of-00004.safetensors",
        header(b'{"w": {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]}}') + b"\0" * 8,
        "CB-F012",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_model_files_that_are_broken(tmp_path, name):
    file, body, code = FILES[name]
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    (tmp_path / file).write_bytes(body)
    done = run("fit", str(tmp_path if "safetensors" in file else tmp_path / file), *L40S)
    assert (done.exit_code, code in done.stderr) == (3, True), done.output


OWN = """\
accelerators:
  - id: h100-sxm-80
    tdp_w: 650 W
    source: {what: our power cap, seen: 2026-11-01, grade: measured}
"""
OWN_FACTS = {
    "below zero": OWN.replace("650 W", "-650 W"),
    "zero": OWN.replace("650 W", "0 W"),
    "NaN": OWN.replace("650 W", ".nan"),
    "the wrong unit": OWN.replace("650 W", "650 GB"),
    "a key twice": OWN + "    tdp_w: 3 W\n",
    "a key misspelt": OWN.replace("tdp_w", "tpd_w"),
    "no source": OWN.split("    source")[0],
    "a day that isn't": OWN.replace("2026-11-01", "2026-31-01"),
    "an id in a list": OWN.replace("h100-sxm-80", "[1]"),
    "rows that are none": "accelerators: [a, 3]\n",
    "no table": OWN.replace("accelerators:", "accelerator:"),
    "nothing": "",
    "alias bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)),
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("name", OWN_FACTS)
def test_facts_of_ones_own_that_are_broken(tmp_path, monkeypatch, name):
    body = OWN_FACTS[name]
    (tmp_path / "mine.yaml").write_bytes(body if isinstance(body, bytes) else body.encode())
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path))
    done = run("facts", "check")
    assert (done.exit_code, "mine.yaml" in done.stderr, "[CB-F0" in done.stderr) == (3, True, True), (
        done.output
    )


def test_a_folder_of_facts_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("CABIDA_FACTS", str(tmp_path / "nowhere"))
    assert "[CB-F009]" in run("fit", LLAMA, *L40S).stderr


CASE = json.loads((ROOT / "cases" / "memory.jsonl").read_text(encoding="utf-8").splitlines()[0])


@pytest.mark.parametrize(
    ("change", "odd"),
    [
        ({"measured": {"kv_cache_gib_per_gpu": float("nan")}}, "nan"),
        ({"measured": {"kv_cache_gib_per_gpu": "8.11"}}, "8.11"),
        ({"measured": {"kv_cache_gib_per_gpu": 10**400}}, "kv_cache_gib_per_gpu"),
        ({"tp": -1}, "tp"),
        ({"gpus": [1]}, "gpus"),
        ({"weights": 7}, "weights"),
    ],
)
def test_odd_values_in_cases_are_named(tmp_path, change, odd):
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({**CASE, **change}) + "\n", "utf-8")
    answer = app.validate([path])
    assert (answer["rows"], answer["answered"]) == (1, 0)
    assert odd in answer["skipped"][0]["why"]
    assert "c.jsonl:1" in answer["skipped"][0]["why"]


@pytest.mark.parametrize("line", ["[1]", "{", "3", '{"id": 1}', "[" * 100_000])
def test_lines_that_are_no_case(tmp_path, line):
    path = tmp_path / "c.jsonl"
    path.write_text(line + "\n", "utf-8")
    with pytest.raises(InvalidInput, match=r"c\.jsonl:1"):
        app.validate([path])


def test_an_input_set_twice_is_refused():
    from click.testing import CliRunner

    from cabida.faces.cli import cli

    golden = "tests/report/golden/decision.en.json"
    ended = CliRunner().invoke(cli, ["record", golden, "--set", "a=1", "--set", " a =2"])
    assert ended.exit_code == 2
    assert "a is set twice" in ended.output
