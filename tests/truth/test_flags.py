"""Rows however a page writes them: flags, models, methods; and values that are none."""

import pytest

from cabida.truth.case import case_of
from cabida.truth.names import Unanswerable, known_model
from cabida.truth.predict import answer
from cabida.truth.tuning_case import method_of

ROW = {
    "id": "made-up", "kind": "memory", "task": "inference", "engine": "vllm",
    "model": "mistralai/Mistral-Nemo-Instruct-2407",
    "weights": "bf16", "kv_cache": "bf16", "gpu": "h100-sxm-80", "gpus": 4, "tp": 4, "source": "nobody/nothing",
    "args": {"max_model_len": 32768, "gpu_memory_utilization": 0.85, "enforce_eager": True},
    "measured": {"kv_cache_gib_per_gpu": 50.0, "kv_cache_tokens": 1e6, "max_concurrency": 10.0, "fits": True},
}  # fmt: skip


def told(**changed):
    found = answer(case_of({**ROW, **changed}))
    return [(one.metric, one.predicted, one.low, one.high) for one in found.predictions], found.verdict


@pytest.mark.parametrize(
    "flags",
    [
        {"--max-model-len": "32K", "--gpu-memory-utilization": "0.85", "--enforce-eager": "true"},
        {"model_len": 32768, "gpu_mem_util": 0.85, "disable_cuda_graph": True},
        {
            "max_seq_len": "32768",
            "gpu_memory_utilization": "0.85",
            "enforce_eager": True,
            "max_num_seqs": "auto",
        },
        {"context-length": 32768, "mem_util": 0.85, "enforce_eager": True, "tensor_parallel_size": 4},
    ],
)
def test_a_flag_means_the_same_in_every_spelling(flags):
    assert told(args=flags) == told()


def test_a_split_is_read_from_wherever_it_stands():
    bare = {key: value for key, value in ROW.items() if key not in ("tp", "gpus")}
    flags = {**ROW["args"], "tensor-parallel-size": "4"}
    said = answer(case_of({**bare, "num_gpus": 4, "args": flags}))
    assert [one.predicted for one in said.predictions] == [one[1] for one in told()[0]]


def test_a_count_before_a_card_is_not_its_name():
    assert told(gpu="4x NVIDIA H100 80GB HBM3") == told() == told(gpu="H100 SXM 80GB")


@pytest.mark.parametrize(
    ("note", "silent"),
    [("expert cache 15 GiB + host offload", True), ("experts kept in RAM", True), ("--n-cpu-moe 20", True),
     ("the same without CPU offload", False), ("no cpu offload", False), ("offloaded to a colleague", False)],
)  # fmt: skip
def test_weights_partly_in_host_memory_leave_a_cards_figures_unsaid(note, silent):
    if silent:
        with pytest.raises(Unanswerable, match="host"):
            told(note=note)
    else:
        assert told(note=note) == told()


def test_llama_cpp_shares_its_context_out_to_its_sequences():
    row = {**ROW, "engine": "llama.cpp", "weights": "Q4_K_M", "kv_cache": "f16", "gpus": 1, "tp": 1}
    row["measured"] = {"kv_cache_gib_per_gpu": 5.0, "fits": True}
    together = answer(case_of({**row, "args": {"n_ctx": 65536, "n_parallel": 4}})).predictions
    alone = answer(case_of({**row, "args": {"max_model_len": 16384, "max_num_seqs": 4}})).predictions
    assert together[0].predicted == alone[0].predicted


def test_weights_are_told_where_nobody_says_how_llama_cpp_keeps_its_cache():
    row = {key: value for key, value in ROW.items() if key != "kv_cache"}
    row |= {
        "engine": "llama.cpp",
        "weights": "Q4_K_M",
        "measured": {"weights_gib_total": 7.0, "kv_cache_gib_total": 5.0},
    }
    assert [one.metric for one in answer(case_of(row)).predictions] == ["weights_gib_total"]


def test_a_run_without_a_pool_holds_prompt_and_answer_and_a_pool_its_window():
    row = {**ROW, "gpus": 1, "tp": 1, "measured": {"peak_gib_per_gpu": 30.0}}
    short, long = {"input_length": 1000, "output_length": 24}, {"input_length": 100_000, "output_length": 24}
    (a,), (b,) = (
        answer(case_of({**row, "engine": "transformers", "args": one})).predictions for one in (short, long)
    )
    grown = 99_000 * 40 * 2 * 8 * 128 * 2 / 2**30  # keys and values of the further tokens
    assert b.predicted - a.predicted >= grown
    row["measured"] = {"kv_cache_gib_per_gpu": 30.0}
    pools = [answer(case_of({**row, "args": one})).predictions[0].predicted for one in (short, long)]
    assert pools[0] == pools[1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("gpus", [1, 2]), ("gpus", "four"), ("gpus", 3.5), ("tp", {}), ("model", ["a"]), ("weights", 4), ("args", [1]),
        ("args", {"max_model_len": [1]}), ("args", {"max_model_len": 10**400}), ("args", {"max_model_len": "long"}),
        ("args", {"gpu_memory_utilization": "nan"}), ("args", {"dp": ["a"]}), ("args", {"--max-num-seqs": "-3"}),
    ],
)  # fmt: skip
def test_what_counts_nothing_is_told_and_never_raises(key, value):
    with pytest.raises(Unanswerable) as why:
        answer(case_of({**ROW, key: value}))
    assert key.split(".")[0] in str(why.value)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("9B hybrid (Qwen3.5-9B class)", "Qwen/Qwen3.5-9B"),
        ("Some-Tune (Qwen3_5ForConditionalGeneration 9B class)", "Qwen/Qwen3.5-9B"),
        ("deepseek-ai/DeepSeek-V4-Flash (FP8 base)", "deepseek-ai/DeepSeek-V4-Flash-Base"),
        ("a chat model (Llama-3.1-8B class)", "meta-llama/Llama-3.1-8B"),
    ],
)
def test_a_description_is_told_by_what_its_remark_names(said, meant):
    assert known_model(said).id == meant


@pytest.mark.parametrize("said", ["9B hybrid", "7B class model", "an 8B model (AWQ)", "model (4x96 GB)"])
def test_a_size_alone_names_no_model(said):
    assert known_model(said) is None


@pytest.mark.parametrize(
    ("said", "meant"),
    [("QLoRA", "qlora"), ("Full fine-tuning", "full"), ("full-parameter", "full"), ("FFT", "full"), ("IA3", "ia3"),
     ("prefix tuning", "prefix_tuning"), ("fully sharded", "fully_sharded")],
)  # fmt: skip
def test_a_method_is_read_in_every_spelling(said, meant):
    assert method_of(said) == meant


def test_adapters_over_packed_weights_hold_them_packed():
    training = {"method": "lora", "seq_len": 512, "micro_batch": 1, "lora_rank": 8}
    base = {
        **ROW,
        "task": "finetune",
        "engine": "transformers+peft",
        "tp": 1,
        "gpus": 1,
        "training": training,
        "args": {},
    }
    base["measured"] = {"peak_gib_per_gpu": 20.0}
    peaks = {
        name: answer(case_of({**base, "weights": name})).predictions[0].predicted
        for name in ("bf16", "4bit", "nf4")
    }
    assert peaks["bf16"] - peaks["4bit"] > 0.6 * 12.2e9 * 2 / 2**30
    assert abs(peaks["4bit"] - peaks["nf4"]) < 1.5
