"""Serving commands: what a shell gets is what was decided, whatever the names look like."""

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.launch import command
from cabida.launch.shell import assemble, at_least
from cabida.plan import Parallel, Settings, Setup
from cabida.plan.setup import deployment

LLAMA = "meta-llama/Llama-3.3-70B-Instruct"


def made(gpu="h100-sxm-80", model=LLAMA, **flags):
    return deployment(Setup(**flags), facts.model(model), facts.accelerator(gpu))


def words(d):
    return shlex.split(command(d).replace("\\\n", " "), comments=True)


def test_vllm_says_what_differs_from_its_defaults():
    d = made(
        gpus=2, weights="fp8", kv_cache="fp8", max_model_len=16384, engine="vllm", engine_version="0.20.0"
    )
    told = " ".join(words(d))
    assert told == (
        f"vllm serve {LLAMA} --tensor-parallel-size 2 --quantization fp8 --kv-cache-dtype fp8 --max-model-len 16384"
    )
    assert command(d).startswith("# vllm 0.20.0\n")


@pytest.mark.parametrize(
    ("version", "caching", "flag"),
    [
        ("0.6.3", True, "--enable-prefix-caching"),
        ("0.6.3", False, None),
        ("0.20.0", True, None),
        ("0.20.0", False, "--no-enable-prefix-caching"),
        ("", False, "--no-enable-prefix-caching"),
    ],
)
def test_prefix_caching_by_version(version, caching, flag):
    d = replace(made(engine="vllm", engine_version=version), settings=Settings(prefix_caching=caching))
    assert [word for word in words(d) if "prefix-caching" in word] == ([flag] if flag else [])


def test_old_vllm_has_another_entry_point():
    told = words(made(engine="vllm", engine_version="0.4.1"))
    assert told[:5] == ["python", "-m", "vllm.entrypoints.openai.api_server", "--model", LLAMA]


def test_a_format_that_must_be_made_first_says_so():
    d = made(weights="awq-int4", engine="vllm")
    assert words(d)[2] == "./Llama-3.3-70B-Instruct-awq-int4"
    assert "--quantization" not in words(d)
    assert command(d).startswith("# first make or find")


def test_experts_and_data_parallel():
    d = replace(made(engine="vllm"), parallel=Parallel(tp=2, dp=4, ep=8))
    assert "--enable-expert-parallel" in words(d)
    assert words(d)[words(d).index("--data-parallel-size") + 1] == "4"
    told = words(replace(d, engine="sglang"))
    assert told[told.index("--tp-size") + 1] == "8"
    assert "--enable-dp-attention" in told


def test_more_machines_than_one():
    d = made(gpus=16, engine="vllm")
    assert (d.parallel.tp, d.parallel.pp) == (8, 2)
    assert words(d)[words(d).index("--distributed-executor-backend") + 1] == "ray"
    assert "Ray" in command(d)
    assert '--node-rank "${NODE_RANK:?}"' in command(replace(d, engine="sglang"))


def test_tensorrt_llm_takes_its_cache_type_from_standard_input():
    told = words(made(gpus=2, weights="fp8", kv_cache="fp8", engine="tensorrt-llm", max_num_seqs=64))
    assert told[0] == "trtllm-serve"
    assert told[told.index("--tp_size") + 1] == "2"
    assert told[told.index("--max_batch_size") + 1] == "64"
    assert told[-2:] == ["<<<", "kv_cache_config: {dtype: fp8}"]


def test_llama_cpp_shares_its_context_among_slots():
    d = made(gpu="rtx3090", weights="q4_k_m", kv_cache="int8-kv", max_model_len=8192, max_num_seqs=4)
    assert d.engine == "llama.cpp"
    told = words(d)
    assert told[told.index("--ctx-size") + 1] == "32768"
    assert told[told.index("--cache-type-k") + 1] == "q8_0"
    assert told[told.index("--model") + 1] == "./Llama-3.3-70B-Instruct-Q4_K_M.gguf"
    assert told[told.index("--flash-attn") + 1] == "on"
    old = words(replace(d, engine_version="b4000"))
    assert old[old.index("--flash-attn") + 1].startswith("--")


def test_an_engine_without_a_known_command_line_gives_nothing():
    assert command(replace(made(), engine="exllamav2")) == ""


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_name_stays_one_word(name):
    if name.endswith("}") and name.startswith("${"):
        return
    text = assemble("serve", name, options=[("--x", name), ("--off", False), ("--none", None)], notes=[name])
    code = text.partition("\n")[2] if text.startswith("# ") else text
    assert shlex.split(code.replace(" \\\n", " ")) == ["serve", name, "--x", name]


def test_versions_compare_by_number():
    assert at_least("0.10.0", "0.8.0")
    assert not at_least("0.6.3.post1", "0.8.0")
    assert at_least("", "99.0")
    assert at_least("b6400", "b6325")
