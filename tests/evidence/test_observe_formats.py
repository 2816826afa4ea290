"""Each engine's lines, by version, become the figures they print, in true units; what isn't said is absent."""

import logs
import pytest

from cabida import text
from cabida.evidence.importers import FORMATS, sniff
from cabida.evidence.lines import cleaned
from cabida.evidence.notes import spoken
from cabida.evidence.read import observed

GIB_PER_MIB = 1 / 1024


def numbered(text):
    return [(at, cleaned(line)) for at, line in enumerate(text.splitlines(), 1) if line.strip()]


def read(text):
    """The observations in a log, by its sniffed format."""
    lines = numbered(text)
    found = sniff(lines)
    return found.name, [observed(run) for run in found.read(lines)]


def one(text):
    return read(text)[1][0]


CASES = {
    "vllm 0.4": (
        logs.VLLM_04, "vllm",
        {"engine_version": "0.4.2", "model": logs.LLAMA, "weights": "bf16", "kv_cache": "bf16", "gpus": 1},
        {"max_model_len": 8192, "block_size": 16, "gpu_memory_utilization": 0.9, "max_num_seqs": 256,
         "enforce_eager": True},
        {"weights_gib_per_gpu": 14.9595, "num_gpu_blocks": 27994, "kv_cache_tokens": 27994 * 16},
    ),
    "vllm 0.6.4": (
        logs.VLLM_064, "vllm", {"engine_version": "0.6.4.post1", "gpu_memory_gib": 44.35},
        {"gpu_memory_utilization": 0.9},
        {"weights_gib_per_gpu": 14.9888, "activation_peak_gib": 1.2, "non_torch_gib": 0.45,
         "kv_cache_gib_per_gpu": 23.28, "kv_cache_tokens": 190704, "max_concurrency": 23.28, "cuda_graph_gib": 0.26},
    ),
    "vllm 0.7": (
        logs.VLLM_07, "vllm", {"engine_version": "0.7.3", "tp": 2, "gpus": 2, "gpu_memory_gib": 23.58},
        {"gpu_memory_utilization": 0.95},
        {"weights_gib_per_gpu": 7.5123, "non_torch_gib": 0.33, "activation_peak_gib": 1.22,
         "kv_cache_gib_per_gpu": 13.34, "kv_cache_tokens": 218560, "fits": True},
    ),
    "vllm 0.11": (
        logs.VLLM_011, "vllm", {"engine_version": "0.11.0", "tp": 2, "gpus": 2, "gpu_memory_gib": 79.19},
        {"max_model_len": 32768, "max_num_seqs": 64, "gpu_memory_utilization": 0.92},
        {"weights_gib_per_gpu": 7.5124, "kv_cache_gib_per_gpu": 62.10, "kv_cache_tokens": 1017408,
         "max_concurrency": 31.05, "cuda_graph_gib": 0.61, "activation_peak_gib": 1.97, "non_torch_gib": 0.75,
         "free_gib_at_start": 78.66, "fits": True},
    ),
    "vllm 0.22": (
        logs.VLLM_022, "vllm", {"engine_version": "0.22.0", "gpu_memory_gib": 79.25}, {"max_model_len": 8192},
        {"weights_gib_per_gpu": 15.0, "cuda_graph_estimated_gib": 1.10, "cuda_graph_gib": 0.96,
         "activation_peak_gib": 1.44, "consumed_weights_plus_non_torch_gib": 15.26, "kv_cache_tokens": 451488,
         "max_concurrency": 55.11, "fits": True},
    ),
    "vllm refuses": (
        logs.VLLM_REFUSED, "vllm", {"engine_version": "0.11.0"}, {"max_model_len": 131072},
        {"kv_needed_gib": 16.0, "kv_cache_gib_per_gpu": 4.51, "estimated_max_model_len": 36944, "fits": False},
    ),
    "vllm finds the card busy": (
        logs.VLLM_BUSY, "vllm", {"gpu_memory_gib": 79.19}, {"gpu_memory_utilization": 0.9},
        {"free_gib_at_start": 30.5, "fits": False},
    ),
    "vllm v0 refuses": (
        logs.VLLM_V0_REFUSED, "vllm", {"engine_version": "0.5.4"}, {"max_model_len": 131072},
        {"kv_cache_tokens": 26592, "num_gpu_blocks": 1662, "fits": False},
    ),
    "sglang": (
        logs.SGLANG, "sglang",
        {"model": "Qwen/Qwen3-8B", "tp": 2, "gpus": 2, "weights": "bf16", "kv_cache": "bf16"},
        {"mem_fraction_static": 0.85, "chunked_prefill_size": 8192, "max_running_requests": 2048,
         "max_model_len": 40960},
        {"weights_gib_per_gpu": 7.71, "kv_cache_gib_per_gpu": 58.6, "kv_cache_tokens": 853512,
         "avail_after_pool_gib": 11.23, "cuda_graph_gib": 1.93, "free_gib_at_start": 78.30, "fits": True},
    ),
    "sglang hybrid": (
        logs.SGLANG_HYBRID, "sglang", {"model": "ibm-granite/granite-4.0-h-tiny", "weights": None},
        {"max_mamba_cache_size": 38},
        {"weights_gib_per_gpu": 12.98, "recurrent_state_gib": 0.77, "kv_cache_gib_per_gpu": 0.42,
         "kv_cache_tokens": 39974, "swa_tokens": 1024},
    ),
    "sglang old": (
        logs.SGLANG_OLD, "sglang", {"weights": "bf16"}, {"max_model_len": 32768},
        {"weights_gib_per_gpu": 7.34, "kv_cache_tokens": 116345, "avail_after_pool_gib": 6.12},
    ),
    "llama.cpp of 2023": (
        logs.LLAMA_OLD, "llama.cpp",
        {"engine_version": "b1691", "model": "LLaMA v2", "weights": "gguf-q4_0", "kv_cache": "fp16", "gpus": 1,
         "gpu_raw": "NVIDIA GeForce RTX 3090", "gpu": "rtx3090"},
        {"max_model_len": 4096, "gpu_layers": 33},
        {"weights_gib_per_gpu": 3577.56 * GIB_PER_MIB, "cpu_buffer_gib": 70.31 * GIB_PER_MIB,
         "kv_cache_gib_per_gpu": 2.0, "kv_cache_tokens": 4096, "activation_peak_gib": 296.02 * GIB_PER_MIB,
         "peak_gib_per_gpu": (3577.56 + 2048 + 296.02) * GIB_PER_MIB, "fits": True},
    ),
    "llama.cpp on two cards": (
        logs.LLAMA_NEW, "llama.cpp",
        {"engine_version": "b6325", "weights": "gguf-mxfp4", "gpus": 2, "gpu": "rtx4090", "kv_cache": "fp16"},
        {"max_model_len": 16384, "max_num_seqs": 2, "n_batch": 2048},
        {"weights_gib_total": 11036.86 * GIB_PER_MIB, "kv_cache_gib_total": 798 * GIB_PER_MIB,
         "activation_peak_gib": 410.11 * GIB_PER_MIB, "kv_cache_tokens": 32768, "fits": True,
         "peak_gib_total": (11036.86 + 798 + 808.49) * GIB_PER_MIB},
    ),
    "llama.cpp out of memory": (
        logs.LLAMA_OOM, "llama.cpp", {"model": "ggml-model-f16"}, {},
        {"fits": False, "tried_to_allocate_gib": 1216.01 * GIB_PER_MIB,
         "weights_gib_per_gpu": 20062.5 * GIB_PER_MIB},
    ),
    "ollama": (
        logs.OLLAMA, "llama.cpp",
        {"engine": "llama.cpp (ollama)", "model": "Qwen3 8B", "gpus": 1, "weights": "gguf-q4_k_m", "kv_cache": "q8_0",
         "gpu": "rtx4090"},
        {"gpu_layers": 37, "max_model_len": 8192, "max_num_seqs": 2, "n_batch": 512},
        {"weights_gib_per_gpu": 4.1, "kv_cache_gib_per_gpu": 1.8, "activation_peak_gib": 300 * GIB_PER_MIB,
         "cpu_buffer_gib": 303 * GIB_PER_MIB, "kv_cache_tokens": 16384},
    ),
    "nvidia-smi's table": (
        logs.SMI_TABLE, "nvidia-smi", {"gpus": 2, "gpu": "h100-sxm-80"}, {"driver_total_gib": 79.6475},
        {"peak_gib_per_gpu": 72.0},
    ),
    "tensorrt-llm": (
        logs.TRTLLM, "tensorrt-llm", {"engine_version": "0.18.1", "gpu_memory_gib": 23.52},
        {"block_size": 32, "max_num_seqs": 256, "available_gib": 7.40},
        {"weights_gib_per_gpu": 7578 * GIB_PER_MIB, "activation_peak_gib": 902.52 * GIB_PER_MIB,
         "kv_cache_gib_per_gpu": 6.66, "kv_cache_tokens": 54560, "num_gpu_blocks": 1705},
    ),
    "tensorrt-llm on pytorch": (
        logs.TRTLLM_TORCH, "tensorrt-llm", {"gpu_memory_gib": 79.11}, {"fraction": 0.9},
        {"weights_gib_per_gpu": 15.22, "activation_peak_gib": 0.92, "non_torch_gib": 1.31,
         "kv_cache_gib_per_gpu": 55.66, "kv_cache_tokens": 455968, "fits": True},
    ),
    "nvidia-smi in a loop": (
        logs.SMI, "nvidia-smi", {"gpus": 2, "gpu": "a100-sxm-80", "gpu_raw": "NVIDIA A100-SXM4-80GB"}, {},
        {"peak_gib_per_gpu": 72.0, "peak_gib_total": 142.0},
    ),
    "nvidia-smi by process": (
        logs.SMI_APPS, "nvidia-smi", {"gpus": 2}, {}, {"peak_gib_per_gpu": 21.0, "peak_gib_total": 23.0},
    ),
    "memory summary": (
        logs.SUMMARY, "pytorch", {"gpus": 1}, {},
        {"allocated_gib": 20.0, "reserved_gib": 22.0, "peak_gib_per_gpu": 22.0, "fits": True},
    ),
    "out of memory before 1.4": (
        logs.OOM_0, "pytorch", {"gpu_memory_gib": 11.17}, {},
        {"fits": False, "tried_to_allocate_gib": 98 * GIB_PER_MIB, "at_failure_allocated_gib": 10.40,
         "at_failure_reserved_gib": 10.58, "at_failure_free_gib": 6.56 * GIB_PER_MIB},
    ),
    "out of memory in 1.x": (
        logs.OOM_1, "pytorch", {"gpu_memory_gib": 23.69}, {},
        {"fits": False, "tried_to_allocate_gib": 20 * GIB_PER_MIB, "at_failure_allocated_gib": 22.04,
         "at_failure_reserved_gib": 22.09, "at_failure_free_gib": 10.69 * GIB_PER_MIB},
    ),
    "out of memory in 2.x": (
        logs.OOM_2, "pytorch", {"gpu_memory_gib": 79.15}, {},
        {"fits": False, "tried_to_allocate_gib": 2.5, "at_failure_allocated_gib": 75.5, "at_failure_in_use_gib": 77.89,
         "at_failure_free_gib": 1.25, "at_failure_reserved_unallocated_gib": 0.5},
    ),
    "out of memory on rocm": (
        logs.OOM_3, "pytorch", {"gpu_memory_gib": 191.98}, {},
        {"fits": False, "tried_to_allocate_gib": 0.25, "at_failure_allocated_gib": 190.0, "at_failure_free_gib": 0.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_log_becomes_the_figures_it_prints(name):
    log, form, setup, args, measured = CASES[name]
    found_form, observations = read(log)
    assert found_form == form
    assert len(observations) == 1
    seen = observations[0]
    assert {key: seen.setup.get(key) for key in setup} == setup
    assert {key: seen.setup.get("args", {}).get(key) for key in args} == args
    told = {key: seen.measured.get(key) for key in measured}
    assert told == pytest.approx(measured, abs=6e-5)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_invented(name):
    """Every figure measured is printed somewhere in the log, or follows from two that are."""
    text, _, setup, _, measured = CASES[name]
    seen = one(text)
    derived = {"kv_cache_tokens", "activation_peak_gib", "peak_gib_per_gpu", "peak_gib_total", "weights_gib_total",
               "kv_cache_gib_total", "cpu_buffer_gib", "recurrent_state_gib"}  # fmt: skip
    extra = set(seen.measured) - set(measured) - derived
    plain = text.replace(",", "")
    for key in extra:
        value = seen.measured[key]
        printed = {f"{value:.{digits}f}" for digits in range(5)} | {
            f"{value * 1024:.2f}",
            f"{value * 1024:.0f}",
        }
        assert isinstance(value, bool) or any(one in plain for one in printed), (key, value)
    if "gpu" not in setup:
        assert "gpu" not in seen.setup


@pytest.mark.parametrize("name", CASES)
def test_notes_are_said_in_the_readers_language(name):
    note = one(CASES[name][0]).note
    try:
        text.use_language("es")
        told = spoken(note)
    finally:
        text.use_language("en")
    assert (told != note) == bool(note)
    assert len(told.split("; ")) == len(note.split("; "))
    assert spoken(note) == note


def test_what_a_person_wrote_is_left_as_it_is():
    text.use_language("es")
    try:
        assert spoken("our rack; LoRA enabled") == "our rack; LoRA activado"
    finally:
        text.use_language("en")


def test_a_draft_that_loads_second_is_not_the_model():
    text = logs.SGLANG.replace(
        "[2025-08-13 14:28:25]",
        "[2025-08-13 14:28:22 TP0] Load weight end. type=LlamaEagle, dtype=torch.bfloat16, avail mem=8.00 GB, "
        "mem usage=1.10 GB.\n[2025-08-13 14:28:23 TP0] KV Cache is allocated. #tokens: 853512, K size: 0.81 GB, "
        "V size: 0.81 GB\n[2025-08-13 14:28:25]",
    )
    seen = one(text)
    assert seen.measured["weights_gib_per_gpu"] == 7.71
    assert seen.measured["kv_cache_gib_per_gpu"] == pytest.approx(58.6)
    assert seen.setup["args"]["speculative"] is True


@pytest.mark.parametrize(
    ("config", "flags"),
    [
        (
            "SpeculativeConfig(method='mtp', model='m', num_spec_tokens=2)",
            {"speculative": "mtp", "mtp_tokens": 2},
        ),
        (
            "SpeculativeConfig(method='eagle3', model='d', num_spec_tokens=3)",
            {"speculative": "eagle3", "draft_tokens": 3},
        ),
        ("None", {}),
    ],
)
def test_a_draft_is_told_with_its_tokens(config, flags):
    text = logs.VLLM_REFUSED.replace("speculative_config=None", f"speculative_config={config}")
    args = one(text).setup["args"]
    names = ("speculative", "mtp_tokens", "draft_tokens")
    assert {name: args[name] for name in names if name in args} == flags


def test_a_cache_whose_size_was_set_by_hand_is_not_predicted():
    from cabida.truth.observed import beside

    head = f"INFO non-default args: {{'model': '{logs.LLAMA}', 'kv_cache_memory_bytes': 8589934592}}\n"
    seen = one(head + logs.VLLM_011)
    assert seen.setup["args"]["kv_cache_memory_bytes"] == 8589934592
    found = beside(seen.with_setup(gpu="h100-sxm-80"))
    assert "weights_gib_per_gpu" in found.figures
    assert "kv_cache_tokens" not in found.figures


def test_layers_on_the_host_are_not_predicted():
    from cabida.truth.observed import beside

    found = beside(one(logs.LLAMA_OLD.replace("33/33", "20/33")).with_setup(model="meta-llama/Llama-2-7b-hf"))
    assert found.figures == {}
    assert "layers" in found.why


def test_each_start_of_a_restarting_container_is_one_observation():
    refused, started = logs.VLLM_REFUSED, logs.VLLM_011
    _, found = read(refused + refused + started)
    assert [one.measured["fits"] for one in found] == [False, False, True]
    assert [one.setup.get("tp") for one in found] == [1, 1, 2]


def test_engines_of_data_parallelism_add_up_and_a_missing_one_leaves_the_sum_unsaid():
    lines = [f"(EngineCore_DP{rank} pid=1) INFO [kv_cache_utils.py] GPU KV cache size: 1{rank}0,000 tokens" for rank in
             range(4)]  # fmt: skip
    head = "INFO non-default args: {'model': 'm', 'data_parallel_size': 4}\n"
    assert one(head + "\n".join(lines)).measured["kv_cache_tokens"] == 460_000
    assert "kv_cache_tokens" not in one(head + "\n".join(lines[:3])).measured


def test_replicas_of_attention_share_the_accelerators():
    text = logs.SGLANG.replace("tp_size=2", "tp_size=4").replace("dp_size=1", "dp_size=2")
    text = text.replace("enable_dp_attention=False", "enable_dp_attention=True")
    text = text.replace(" TP0]", " DP0 TP0]").replace(" TP1]", " DP1 TP2]")
    seen = one(text)
    assert (seen.setup["gpus"], seen.setup["tp"], seen.setup["args"]["dp"]) == (4, 2, 2)
    assert seen.measured["kv_cache_tokens"] == 2 * 853_512


def test_blocks_of_the_first_v1_have_no_counterpart_on_the_host():
    head = "INFO non-default args: {'model': 'm', 'block_size': 32}\n"
    seen = one(head + "INFO 03-01 09:00:00 kv_cache_utils.py:393] # GPU blocks: 1000\n")
    assert seen.measured == {"num_gpu_blocks": 1000, "kv_cache_tokens": 32_000}


def test_stages_of_a_pipeline_count_by_the_fullest_and_the_tightest():
    text = (
        "(Worker_PP0_TP0 pid=1) INFO Model loading took 9.5 GiB and 1 seconds\n"
        "(Worker_PP1_TP0 pid=2) INFO Model loading took 8.25 GiB and 1 seconds\n"
        "(Worker_PP0_TP0 pid=1) INFO Available KV cache memory: 5.50 GiB\n"
        "(Worker_PP1_TP0 pid=2) INFO Available KV cache memory: 7.25 GiB\n"
    )
    assert one(text).measured == {"weights_gib_per_gpu": 9.5, "kv_cache_gib_per_gpu": 5.5}


def test_a_model_that_cannot_be_loaded_for_other_reasons_says_nothing_of_memory():
    unknown = (
        logs.LLAMA_OOM.splitlines()[0] + "\nload_tensors:        CUDA0 model buffer size = 20062.50 MiB\n"
    )
    seen = one(
        unknown
        + "llama_model_load: error loading model: unknown model architecture: 'x'\nfailed to load model\n"
    )
    assert "fits" not in seen.measured


def test_layers_left_in_host_memory_are_told():
    seen = one(logs.LLAMA_OLD.replace("33/33", "20/33"))
    assert seen.setup["args"]["partial_offload"] is True


def test_several_contexts_on_one_model_count_once():
    again = logs.LLAMA_OLD[logs.LLAMA_OLD.index("llama_new_context_with_model: n_ctx") :]
    assert one(logs.LLAMA_OLD + again).measured == one(logs.LLAMA_OLD).measured


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/9c925d64", "Qwen/Qwen3-8B"),
        ("/home/maria/models/Qwen3-8B/", "Qwen3-8B"),
        ("C:\\models\\Qwen3-8B", "Qwen3-8B"),
        ("s3://bucket/models/Qwen3-8B", "Qwen3-8B"),
        ("./Qwen3-8B", "Qwen3-8B"),
    ],
)
def test_a_model_is_named_without_the_folders_of_its_owner(path, name):
    from cabida.evidence.importers.said import model_name

    assert model_name(path) == name


@pytest.mark.parametrize(
    ("quant", "model", "weights"),
    [
        ("fp8", "a/b", "fp8"),
        ("awq_marlin", "a/b", "awq-int4"),
        ("modelopt_fp4", "a/b", "nvfp4"),
        ("mxfp4", "openai/gpt-oss-20b", "mxfp4"),
        ("compressed-tensors", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "fp8"),
        ("compressed-tensors", "RedHatAI/Qwen3-8B-quantized.w4a16", "int4-w4a16"),
        ("gptq_marlin", "Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", "gptq-int8"),
        ("compressed-tensors", "a/b", None),
    ],
)
def test_the_weight_format_is_the_one_said_or_none(quant, model, weights):
    text = (
        f"INFO Initializing a V1 LLM engine (v0.11.0) with config: {logs.config(model=model, quant=quant)}\n"
    )
    seen = one(text + "INFO Model loading took 5.5 GiB and 3 seconds\n")
    assert seen.setup.get("weights") == weights


def test_every_word_that_is_looked_for_is_in_its_lines():
    """A step whose word isn't in what its shape matches would never be taken."""
    for form in FORMATS:
        assert len(set(form.signs)) == len(form.signs)
        assert all(word.strip() for word in form.words)
