"""The shipped models: their shapes make up what was published, every figure has a source, names are found."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cabida.errors import EndpointFailed, InvalidInput
from cabida.facts.formats import find_format, formats
from cabida.facts.mixers import attention_params
from cabida.facts.models import FILE, Catalogue, find_model, model, models, nearest, unknown
from cabida.facts.names import cleaned, format_of
from cabida.facts.towers import mlp_params

ALL = list(models())
# rounded names ("GPT-1.7B"), or parts that our shapes leave out, each below 3 %
ROUNDED = {
    "nvidia/megatron-gpt-1.7B": "name rounded to two digits",
    "nvidia/megatron-gpt-32B": "name rounded to two digits",
}


def counted(shown):
    """Weights by the shapes alone."""
    hidden = shown.hidden_dim_count
    mixing = sum(group.layers_count * attention_params(group, hidden) for group in shown.attention)
    feeding = sum(group.layers_count * mlp_params(group, hidden) for group in shown.mlp)
    words = shown.vocab_count * hidden * (1 if shown.tied_embeddings else 2)
    return mixing + feeding + words + shown.extra_params_count


def test_there_are_enough_models_and_the_popular_ones_among_them():
    assert len(ALL) >= 150
    popular = [
        "meta-llama/Llama-2-7b-hf",
        "meta-llama/Llama-2-13b-hf",
        "meta-llama/Llama-2-70b-hf",
        "meta-llama/Meta-Llama-3-8B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.1-70B-Instruct",
        "meta-llama/Llama-3.1-405B",
        "meta-llama/Llama-3.2-1B",
        "meta-llama/Llama-3.2-3B",
        "meta-llama/Llama-3.3-70B-Instruct",
        "mistralai/Mistral-7B-v0.1",
        "mistralai/Mistral-7B-Instruct-v0.3",
        "mistralai/Mixtral-8x7B-Instruct-v0.1",
        "mistralai/Mixtral-8x22B-v0.1",
        "Qwen/Qwen2.5-0.5B",
        "Qwen/Qwen2.5-7B-Instruct",
        "Qwen/Qwen2.5-72B-Instruct",
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-32B",
        "Qwen/Qwen3-30B-A3B",
        "Qwen/Qwen3-235B-A22B",
        "deepseek-ai/DeepSeek-V3",
        "deepseek-ai/DeepSeek-R1",
        "openai/gpt-oss-20b",
        "openai/gpt-oss-120b",
        "google/gemma-2-9b",
        "google/gemma-3-27b-it",
        "google/gemma-4-31B-it",
        "microsoft/phi-4",
        "moonshotai/Kimi-K2-Instruct",
        "zai-org/GLM-4.6",
        "tiiuae/falcon-180B",
        "01-ai/Yi-34B",
        "codellama/CodeLlama-34b-hf",
        "facebook/opt-66b",
        "EleutherAI/pythia-6.9b",
        "bigscience/bloom",
        "bigscience/bloom-7b1",
    ]
    assert [name for name in popular if name not in models()] == []


@pytest.mark.parametrize("id", [id for id in ALL if models()[id].params_count])
def test_shapes_make_up_the_published_parameters(id):
    shown = models()[id]
    tolerance = 0.03 if id in ROUNDED else 0.0125
    assert counted(shown) == pytest.approx(shown.params_count, rel=tolerance), ROUNDED.get(id)


def test_dense_text_models_are_within_half_a_percent():
    dense = [
        shown
        for shown in models().values()
        if shown.task == "llm" and not shown.is_moe and shown.params_count
    ]
    errors = sorted(abs(counted(shown) / shown.params_count - 1) for shown in dense)
    assert len(errors) > 60
    assert errors[int(0.95 * len(errors))] < 0.005


def test_active_parameters_of_the_known_mixtures():
    def active(shown):
        routed = [
            replace(group, experts_count=group.experts_per_token_count) if group.experts_count else group
            for group in shown.mlp
        ]
        return counted(replace(shown, mlp=tuple(routed)))

    assert active(models()["mistralai/Mixtral-8x7B-v0.1"]) == pytest.approx(12.9e9, rel=0.01)
    assert active(models()["deepseek-ai/DeepSeek-V3"]) == pytest.approx(37e9, rel=0.03)
    assert active(models()["Qwen/Qwen3-235B-A22B"]) == pytest.approx(22e9, rel=0.02)


def test_cache_bytes_per_token_that_engines_printed():
    """From public start-up logs, 16-bit cache."""

    def bytes_per_token(id):
        total = 0
        for group in models()[id].attention:
            if group.kind == "mla":
                total += group.layers_count * 2 * (group.latent_dim_count + group.rope_dim_count)
            elif group.kind != "linear":
                width = group.head_dim_count + group.v_head_dim_count
                total += group.layers_count * 2 * group.kv_heads_count * width
        return total

    assert bytes_per_token("deepseek-ai/DeepSeek-V3") == 70_272
    assert bytes_per_token("Qwen/Qwen2.5-0.5B") == 12_288
    assert bytes_per_token("Qwen/Qwen3-8B") == 147_456
    assert bytes_per_token("LiquidAI/LFM2-700M") == 12_288
    assert bytes_per_token("meta-llama/Llama-2-7b-hf") == 524_288
    assert bytes_per_token("CohereLabs/c4ai-command-r-v01") == 1_310_720
    assert bytes_per_token("LGAI-EXAONE/EXAONE-4.0-32B") == 262_144
    assert bytes_per_token("ibm-granite/granite-4.0-h-micro") == 8_192
    assert bytes_per_token("HuggingFaceTB/SmolLM2-135M") == 23_040


@pytest.mark.parametrize("id", ALL)
def test_every_model_has_a_source_and_a_known_format(id):
    shown = models()[id]
    for source in (shown.source, *shown.field_sources.values()):
        assert len(source.what) > 3
        assert date.fromisoformat(source.seen).isoformat() == source.seen
        assert source.grade in ("vendor", "quoted", "derived", "assumed")
    assert shown.native_format in formats()
    assert shown.task in ("llm", "vlm", "embedding", "rerank", "image", "video", "speech")
    assert shown.quantity("hidden_dim_count").value == shown.hidden_dim_count


def test_ids_and_aliases_are_unambiguous():
    seen = {}
    for name, id in models().names():
        assert seen.setdefault(name.lower(), id) == id, name
        assert find_model(name) == models()[id], name


def test_rows_are_one_object_per_line_in_order():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    assert ids == sorted(ids, key=str.lower)
    assert len(set(ids)) == len(ids)


def test_models_are_built_only_when_asked_for():
    fresh = Catalogue(models()._rows)
    assert fresh["Qwen/Qwen3-8B"].vocab_count == 151936
    assert list(fresh._built) == ["Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    ("ref", "shape_of", "format_id"),
    [
        ("llama2-70b", "meta-llama/Llama-2-70b-hf", "bf16"),
        ("META-LLAMA/llama-3.1-8b-instruct", "meta-llama/Llama-3.1-8B-Instruct", "bf16"),
        ("amd/Llama-3.1-70B-Instruct-FP8-KV", "meta-llama/Llama-3.1-70B-Instruct", "fp8"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "meta-llama/Llama-3.1-8B-Instruct", "bnb-nf4-dq"),
        ("Qwen/Qwen2.5-14B-Instruct-AWQ", "Qwen/Qwen2.5-14B-Instruct", "awq-int4"),
        ("Qwen/Qwen3-0.6B-GPTQ-Int8", "Qwen/Qwen3-0.6B", "gptq-int8"),
        ("Qwen/Qwen3-30B-A3B-GPTQ-Int4", "Qwen/Qwen3-30B-A3B", "gptq-int4"),
        ("nvidia/Qwen3-32B-NVFP4", "Qwen/Qwen3-32B", "nvfp4"),
        (
            "RedHatAI/DeepSeek-R1-Distill-Qwen-1.5B-quantized.w8a8",
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
            "int8-w8a8",
        ),
        ("bartowski/Llama-3.1-8B-Instruct-Q4_K_M", "meta-llama/Llama-3.1-8B-Instruct", "q4_k_m"),
        ("Qwen/Qwen3-8B (36 x 8 x 128)", "Qwen/Qwen3-8B", "bf16"),
        ("Llama-3.1-8B class (14.99 GiB)", "meta-llama/Llama-3.1-8B", "bf16"),
        ("google/gemma-4-31B-it (int4) + DFlash draft", "google/gemma-4-31B-it", "bf16"),
        ("gemma3:27b", "google/gemma-3-27b-it", "bf16"),
        ("llama3.1:8b-instruct-q4_K_M", "meta-llama/Llama-3.1-8B", "q4_k_m"),
        ("mixtral:8x7b", "mistralai/Mixtral-8x7B-Instruct-v0.1", "bf16"),
        ("Intel/Qwen3.6-27B-int4-AutoRound", "Qwen/Qwen3.6-27B", "gptq-int4"),
        ("Nemotron_3_Nano", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "bf16"),
        ("BLOOM-176B (production run)", "bigscience/bloom", "bf16"),
        ("StableLM Alpha 3B", "stabilityai/stablelm-base-alpha-3b", "bf16"),
    ],
)
def test_names_are_found_with_their_format(ref, shape_of, format_id):
    found = model(ref)
    known = models()[shape_of]
    assert [group.layers_count for group in found.attention] == [
        group.layers_count for group in known.attention
    ]
    assert found.hidden_dim_count == known.hidden_dim_count
    assert found.native_format == format_id


def test_a_derived_build_says_so_and_keeps_its_own_name():
    found = model("someone/Llama-3.1-8B-Instruct-AWQ")
    assert found.id == "someone/Llama-3.1-8B-Instruct-AWQ"
    assert found.source_of("attention").grade == "derived"
    assert "meta-llama/Llama-3.1-8B-Instruct" in found.source_of("attention").what


def test_models_of_one_size_are_not_taken_for_another():
    assert find_model("meta-llama/Llama-3.1-9B") is None
    assert find_model("Qwen/Qwen3-7B") is None
    assert find_model("mistralai/Mistral-7B-v0.9") is None


def test_an_unknown_name_is_refused_with_the_nearest(monkeypatch):
    monkeypatch.delenv("CABIDA_ONLINE", raising=False)
    with pytest.raises(InvalidInput) as caught:
        model("meta-llama/Llama-3.1-9B")
    (told,) = caught.value.problems
    assert told.code == "CB-F010"
    assert "meta-llama/Llama-3.1-8B" in told.why
    assert "config.json" in told.cure
    assert len(nearest("meta-llama/Llama-3.1-9B")) == 3


@pytest.mark.parametrize(("part", "meant"), [("bge", "bge-m3"), ("wan", "wan2.2"), ("hunyuan", "hunyuan")])
def test_a_part_of_a_name_finds_those_that_hold_it(part, meant):
    told = unknown(part).why.lower()
    assert meant in told
    assert "mistral" not in told


@pytest.mark.parametrize("ref", ["", "  "])
def test_no_name_is_told_as_one(ref):
    with pytest.raises(InvalidInput, match=f'No model is called "{ref}"'):
        model(ref)


def test_a_name_nobody_knows_is_an_unknown_model_without_a_network(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.delenv("CABIDA_ONLINE", raising=False)
    for online in (False, None):
        with pytest.raises(InvalidInput, match="CB-F010"):
            model("someone/new-model", online=online)
    with pytest.raises(EndpointFailed, match="CB-F041"):
        model("someone/new-model", online=True)
    with pytest.raises(InvalidInput, match="CB-F010"):
        model("one/two/three?", online=True)


def test_a_config_or_its_directory_can_be_named(tmp_path):
    directory = tmp_path / "My-Model"
    directory.mkdir()
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 100,
    }
    (directory / "config.json").write_text(json.dumps(config))
    by_file, by_directory = model(str(directory / "config.json")), model(str(directory))
    assert by_file == by_directory
    assert by_file.id == "My-Model"
    (directory / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "NVFP4"}}))
    assert model(str(directory)).native_format == "nvfp4"
    with pytest.raises(InvalidInput, match="CB-F015"):
        model(str(tmp_path / "missing.json"))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
@example("~nobody-of-that-name/x")
@example("\0")
@example("a" * 5000)
def test_any_text_is_found_or_refused(text):
    try:
        width, code = model(text, online=False).hidden_dim_count, ""
    except InvalidInput as refused:
        width, code = 1, refused.problems[0].code
    assert width >= 1
    assert code in ("", "CB-F010", "CB-F015", "CB-F042")


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(ALL),
    st.sampled_from(["", "-AWQ", "-GPTQ-Int4", "-FP8", "-bnb-4bit", " (note)", "-Q8_0"]),
    st.booleans(),
)
def test_suffixes_and_case_never_lose_a_model(id, suffix, upper):
    name = id.upper() + suffix if upper else id + suffix
    found = find_model(name)
    assert found is not None
    base, said = format_of(cleaned(name))
    assert base
    assert not said or find_format(said) is not None


# names that say no model, or one whose architecture nobody printed
UNTOLD = {"training": 0.205, "memory": 0.025, "serving": 0.0005}


@pytest.mark.parametrize("file", list(UNTOLD))
def test_models_of_the_measured_cases_are_known(file):
    """Training rows of architecture searches (a new shape per row) and of convolutional networks stay out.

    A description ("8B class") needn't be a name: such rows say in ``arch`` which model is meant.
    """
    path = Path(__file__).parents[2] / "cases" / f"{file}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    unknown = [
        row for row in rows if not any(find_model(row[key]) for key in ("model", "arch") if row.get(key))
    ]
    assert len(unknown) <= UNTOLD[file] * len(rows) + 1, sorted({row["model"] for row in unknown})
