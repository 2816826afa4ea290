"""Names of stored tensors, as families write them, and the component each belongs to."""

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cabida.facts import gguf
from cabida.facts.models import model
from cabida.facts.parts import Stored, collapsed, params_of, part_of, stored_parts

NAMES = {
    "embedding": (
        "model.embed_tokens.weight", "transformer.wte.weight", "gpt_neox.embed_in.weight", "token_embd.weight",
        "tok_embeddings.weight", "transformer.word_embeddings.weight", "backbone.embeddings.weight",
        "shared.weight",
        "bert.embeddings.word_embeddings.weight", "model.language_model.embed_tokens.weight",
        "thinker.model.embed_tokens.weight", "embed.weight",
    ),
    "head": (
        "lm_head.weight", "output.weight", "embed_out.weight", "transformer.output_layer.weight", "head.weight",
        "language_model.lm_head.weight", "lm_head.weight_scale",
    ),
    "attention": (
        "model.layers.0.self_attn.q_proj.weight", "model.layers.3.self_attn.kv_a_proj_with_mqa.weight_scale_inv",
        "transformer.h.1.attn.c_attn.bias", "blk.2.attn_output.weight", "blk.1.ssm_in.weight",
        "model.layers.1.linear_attn.in_proj_qkvz.weight", "backbone.layers.4.mixer.in_proj.weight",
        "backbone.layers.4.mixer.A_log", "model.layers.0.mamba.dt_bias", "layers.0.attention.wq.weight",
        "model.layers.2.conv.in_proj.weight", "blk.4.shortconv.conv.weight",
        "model.layers.0.self_attn.indexer.wk.weight",
        "model.layers.0.self_attn.qkv_proj.qweight", "blk.1.attn_sinks.weight", "blk.0.indexer.attn_k.weight",
        "decoder.block.0.layer.0.SelfAttention.v.weight", "gpt_neox.layers.1.attention.query_key_value.weight",
        "layers.0.attn.wq_a.weight",
    ),
    "mlp": (
        "model.layers.0.mlp.gate_proj.weight", "model.layers.4.mlp.shared_experts.up_proj.weight_scale",
        "model.layers.4.mlp.shared_expert.down_proj.weight", "layers.0.feed_forward.w1.weight",
        "blk.0.ffn_up.weight", "blk.5.ffn_up_shexp.weight", "transformer.h.0.mlp.c_fc.weight",
        "model.decoder.layers.0.fc1.weight", "encoder.layer.0.intermediate.dense.weight",
        "encoder.layer.0.output.dense.weight", "backbone.layers.5.mixer.up_proj.weight",
        "model.layers.7.feed_forward.shared_expert.up_proj.weight",
        "model.layers.0.shared_mlp.input_linear.weight",
        "decoder.block.0.layer.1.DenseReluDense.wo.weight", "transformer.layers.1.mlp.dense_h_to_4h.weight",
    ),
    "experts": (
        "model.layers.4.mlp.experts.17.up_proj.weight", "blk.3.ffn_gate_exps.weight",
        "model.layers.1.block_sparse_moe.experts.0.w1.weight", "model.layers.0.mlp.experts.gate_up_proj_blocks",
        "model.layers.3.feed_forward.experts.gate_up_proj", "layers.5.ffn.experts.2.w3.scale",
        "model.layers.2.block_sparse_moe.input_linear.weight",
        "backbone.layers.1.mixer.experts.4.down_proj.weight",
    ),
    "router": (
        "model.layers.4.mlp.gate.weight", "model.layers.4.mlp.gate.e_score_correction_bias",
        "blk.3.ffn_gate_inp.weight",
        "model.layers.1.block_sparse_moe.gate.weight", "model.layers.0.mlp.router.weight",
        "model.layers.2.mlp.shared_expert_gate.weight", "blk.3.exp_probs_b.bias",
        "model.layers.2.block_sparse_moe.router.layer.weight",
    ),
    "norm": (
        "model.norm.weight", "model.layers.0.input_layernorm.weight", "transformer.ln_f.bias",
        "output_norm.weight",
        "blk.0.attn_q_norm.weight", "model.layers.0.self_attn.k_norm.weight", "transformer.h.3.ln_1.weight",
    ),
    "extra": (
        "visual.blocks.0.attn.qkv.weight", "model.visual.merger.mlp.0.weight",
        "vision_tower.encoder.layers.1.fc1.weight",
        "multi_modal_projector.linear_1.weight", "v.blk.30.ffn_up.weight", "mm.0.weight", "transformer.wpe.weight",
        "audio_tower.layers.40.self_attn.q_proj.weight",
        "mm_projector.0.weight", "a.blk.1.attn_q.weight", "vision_model.encoder.layers.99.mlp.fc1.weight",
        "score.weight",
    ),
    "table": ("model.language_model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"),
    "draft": (
        "model.layers.61.mlp.experts.3.up_proj.weight", "model.layers.61.eh_proj.weight", "mtp.fc.weight",
        "model.mtp.layers.0.self_attn.q_proj.weight", "blk.61.nextn.eh_proj.weight", "blk.61.attn_q.weight",
        "model.mtp_layers.0.mlp.up_proj.weight", "talker.model.layers.0.mlp.up_proj.weight",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("part", "name"), [(part, name) for part, names in NAMES.items() for name in names])
def test_a_name_tells_its_component(part, name):
    assert part_of(name, 61) == part


def test_experts_are_counted_together_whatever_their_number():
    names = {
        collapsed(f"model.layers.{layer}.mlp.experts.{number}.up_proj.weight")
        for layer in (1, 2)
        for number in range(9)
    }
    assert names == {f"model.layers.{layer}.mlp.experts.#.up_proj.weight" for layer in (1, 2)}


def test_wide_floats_of_a_half_precision_model_shrink_but_scales_do_not():
    tensors = {
        ("model.layers.0.mlp.up_proj.weight", "F32"): Stored(100, 400),
        ("model.layers.0.mlp.down_proj.weight_scale_inv", "F32"): Stored(10, 40),
        ("model.layers.0.mlp.down_proj.weight", "F8_E4M3"): Stored(1000, 1000),
    }
    (half,) = stored_parts(tensors, 1, half=True)
    assert (half.size_bytes, half.params_count) == (200 + 40 + 1000, 1100)
    (whole,) = stored_parts(tensors, 1, half=False)
    assert whole.size_bytes == 1440


def test_packed_weights_are_not_counted_one_by_one():
    tensors = {
        ("model.layers.0.mlp.up_proj.qweight", "I32"): Stored(128, 512),
        ("model.layers.0.mlp.up_proj.qzeros", "I32"): Stored(4, 16),
        ("model.norm.weight", "BF16"): Stored(64, 128),
    }
    parts = stored_parts(tensors, 1, half=True)
    assert {one.part: one.params_count for one in parts} == {"mlp": 0.0, "norm": 64}
    assert params_of(parts) is None


@given(st.text(max_size=80), st.integers(0, 200))
def test_any_name_belongs_somewhere(name, layers):
    assert part_of(name, layers) in NAMES
    assert len(collapsed(name * 50)) <= 512


def safetensors(tensors):
    at, entries = 0, {}
    for name, shape in tensors:
        size = 2
        for side in shape:
            size *= side
        entries[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    body = json.dumps(entries).encode()
    return struct.pack("<Q", len(body)) + body + b"\0" * at


LAYER = [("self_attn.q_proj", [8, 8]), ("self_attn.k_proj", [4, 8]), ("self_attn.v_proj", [4, 8]),
         ("self_attn.o_proj", [8, 8]), ("mlp.gate_proj", [16, 8]), ("mlp.up_proj", [16, 8]),
         ("mlp.down_proj", [8, 16])]  # fmt: skip
CONFIG = {"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
          "num_key_value_heads": 1, "intermediate_size": 16, "vocab_size": 10}  # fmt: skip


@pytest.mark.parametrize(
    ("says", "head", "tied"),
    [(True, True, True), (False, True, False), (False, False, True), (True, False, True)],
)
def test_ties_are_as_the_checkpoint_has_them(tmp_path, says, head, tied):
    tensors = [("model.embed_tokens.weight", [10, 8])] + [("lm_head.weight", [10, 8])] * head
    tensors += [(f"model.layers.0.{name}.weight", shape) for name, shape in LAYER]
    (tmp_path / "model.safetensors").write_bytes(safetensors(tensors))
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "tie_word_embeddings": says}))
    found = model(str(tmp_path))
    assert found.tied_embeddings == tied
    assert found.params_count == 80 * (1 if tied else 2) + sum(a * b for _, (a, b) in LAYER)
    assert model(str(tmp_path / "model.safetensors")).stored == found.stored


@pytest.mark.parametrize(
    ("names", "wanted", "first"),
    [
        (["a-Q8_0.gguf", "a-Q4_K_M.gguf"], "", "a-Q4_K_M.gguf"),
        (["a-Q8_0.gguf", "a-Q4_K_M.gguf"], "q8_0", "a-Q8_0.gguf"),
        (["a-Q4_K_S.gguf"], "q4_k", ""),
        (["a-UD-Q4_K_XL-00001-of-00002.gguf", "a-UD-Q4_K_XL-00002-of-00002.gguf"], "UD-Q4_K_XL",
         "a-UD-Q4_K_XL-00001-of-00002.gguf"),
        (["mmproj-F16.gguf", "b.gguf"], "", "b.gguf"),
        (["mmproj-F16.gguf"], "", ""),
        ([], "", ""),
    ],
)  # fmt: skip
def test_the_file_meant_among_several(names, wanted, first):
    assert gguf.chosen(names, wanted) == first


def test_the_projector_that_goes_with_a_model():
    names = ["m-Q4_0.gguf", "mmproj-BF16.gguf", "mmproj-F16.gguf", "mmproj-F32.gguf"]
    assert gguf.projector_of("m-Q4_0.gguf", names) == "mmproj-F16.gguf"
    assert gguf.projector_of("mmproj-F16.gguf", names) == ""
    assert gguf.projector_of("m-Q4_0.gguf", names[:1]) == ""
