"""Memory of embedders and rerankers: weights and one batch, and what estimators got wrong about them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida import facts
from cabida.memory.encoders import encoder_tree, encoding, is_decoder, worked_tokens
from cabida.plan.encoding import ENCODER_ENGINES, EncoderRun

GIB = 2.0**30


def run(id, engine="sentence-transformers", weights="fp16", gpu="l4", **changed):
    made = EncoderRun(facts.model(id), facts.accelerator(gpu), facts.weight_format(weights), engine, 32, 512)
    return replace(made, **changed)


@pytest.mark.parametrize("weights", ["q8_0", "fp16"])
def test_a_reranker_of_half_a_billion_parameters_takes_a_gibibyte_not_fourteen(weights):
    """An estimator said 13.8 GiB of bge-reranker-v2-m3; it used 926 MiB (gpustack 2412)."""
    found = encoding(run("BAAI/bge-reranker-v2-m3", "llama.cpp", weights))
    assert 0.55 < found.peak_bytes / GIB < 1.3
    assert "kv_cache" not in found.parts


@pytest.mark.parametrize("engine", ENCODER_ENGINES)
def test_bge_m3_grows_with_its_batch_not_with_a_cache_of_8192_tokens(engine):
    """bge-m3 was sized like a language model at its full window (gpustack 2614)."""
    found = encoding(run("BAAI/bge-m3", engine))
    assert "kv_cache" not in found.parts
    assert 1.05 < found.peak_bytes / GIB < 2.0


def test_weights_are_those_of_the_checkpoint():
    assert encoding(run("BAAI/bge-m3")).parts["weights"] == pytest.approx(2 * 567_754_752, rel=0.003)
    assert encoding(run("BAAI/bge-m3", weights="fp32")).parts["weights"] == pytest.approx(
        4 * 567_754_752, rel=0.003
    )


def test_live_tensors_are_those_of_the_code():
    """Followed on the meta device: 11 hidden sizes a token for BERT, 13 for Qwen3, 15 for ModernBERT."""
    for id, copies in (
        ("BAAI/bge-m3", 11),
        ("Qwen/Qwen3-Embedding-0.6B", 13),
        ("answerdotai/ModernBERT-base", 15),
    ):
        one = run(id)
        alive = encoding(one).parts["activations"]
        assert alive == pytest.approx(32 * 512 * copies * one.model.hidden_dim_count * 2)


def test_a_decoder_builds_keys_and_values_and_an_encoder_does_not():
    assert is_decoder(facts.model("Qwen/Qwen3-Embedding-0.6B"))
    assert not is_decoder(facts.model("BAAI/bge-m3"))
    assert is_decoder(facts.model("Qwen/Qwen1.5-7B"))  # as many key heads as query heads
    assert not is_decoder(facts.model("google/embeddinggemma-300m"))  # shares heads, and looks both ways
    found = encoding(run("Qwen/Qwen3-Embedding-0.6B", weights="bf16"))
    assert found.parts["kv_cache"] == 32 * 512 * 28 * 2 * 8 * 128 * 2


def test_vllm_takes_its_share_of_the_card_for_a_decoder_only():
    pooled = encoding(run("Qwen/Qwen3-Embedding-0.6B", "vllm", "bf16"))
    assert pooled.takes_its_share
    assert pooled.peak_bytes > 0.8 * pooled.usable_bytes
    assert pooled.verdict == "fits"
    alone = encoding(run("BAAI/bge-m3", "vllm"))
    assert not alone.takes_its_share
    assert alone.peak_bytes < 2 * GIB


def test_scores_kept_whole_are_quadratic_in_the_length():
    eager = run("BAAI/bge-m3", eager_attention=True)
    assert encoding(eager).parts["scores"] == 32 * 16 * 512**2 * 2 * 2
    longer = encoding(replace(eager, input_tokens=1024)).parts["scores"]
    assert longer == 4 * encoding(eager).parts["scores"]


def test_families_without_a_fused_kernel_keep_their_scores():
    """Followed on the meta device: MPNet has 47,616 bytes of a token alive at 512 tokens in 16 bit."""
    found = encoding(run("sentence-transformers/all-mpnet-base-v2"))
    alive = found.parts["scores"] + found.parts["activations"]
    assert alive / (32 * 512) == pytest.approx(47616, rel=0.15)
    assert "scores" not in encoding(run("sentence-transformers/all-mpnet-base-v2", "tei")).parts


def test_engines_with_a_limit_of_their_own_work_up_to_it():
    assert worked_tokens(run("BAAI/bge-m3", "tei")) == 16384
    assert worked_tokens(run("BAAI/bge-m3", "tei", batch_count=4096)) == 16384
    assert worked_tokens(run("BAAI/bge-m3", "llama.cpp", input_tokens=8192)) == 8192


def test_what_does_not_fit_says_how_much_would():
    found = encoding(run("Qwen/Qwen3-Embedding-8B", weights="bf16", batch_count=1000))
    assert found.verdict == "no"
    assert str(found.largest_batch_count) in found.cure
    assert (
        encoding(
            run("Qwen/Qwen3-Embedding-8B", weights="bf16", batch_count=found.largest_batch_count)
        ).verdict
        != "no"
    )
    assert encoding(run("nvidia/NV-Embed-v2", weights="fp32")).cure


EMBEDDERS = sorted(one.id for one in facts.models().values() if one.task in ("embedding", "rerank"))


@given(st.sampled_from(EMBEDDERS), st.sampled_from(ENCODER_ENGINES), st.integers(1, 512), st.integers(1, 512))
def test_more_is_never_less(id, engine, batch, tokens):
    one = run(id, engine, gpu="h100-sxm-80", batch_count=batch, input_tokens=tokens)
    found, more = encoding(one), encoding(replace(one, batch_count=batch + 1, input_tokens=tokens + 1))
    assert more.needed_bytes >= found.needed_bytes
    assert found.peak_bytes == pytest.approx(sum(found.parts.values()))


def test_the_tree_says_the_same_as_the_fast_path():
    one = run("BAAI/bge-m3")
    tree = encoder_tree(one)
    assert sum(float(node) for node in tree.values()) == pytest.approx(encoding(one).peak_bytes)
