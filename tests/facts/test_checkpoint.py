"""safetensors headers: exact bytes from the header alone, broken files refused at the byte."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.facts import checkpoint
from cabida.facts.models import model

BITS = {"BF16": 16, "F32": 32, "F8_E4M3": 8, "U8": 8, "I32": 32}
TENSORS = [
    ("model.embed_tokens.weight", "BF16", [100, 8]),
    ("model.layers.0.self_attn.q_proj.weight", "F8_E4M3", [8, 8]),
    ("model.layers.0.mlp.experts.3.up_proj.weight", "U8", [16, 4]),
    ("model.layers.0.mlp.gate.weight", "F32", [4, 8]),
    ("model.layers.0.input_layernorm.weight", "BF16", [8]),
    ("visual.blocks.0.attn.qkv.weight", "BF16", [8, 24]),
    ("lm_head.weight", "BF16", [100, 8]),
]


def written(tensors, header=None):
    """The bytes of a safetensors file."""
    at, entries = 0, {"__metadata__": {"format": "pt"}}
    for name, dtype, shape in tensors:
        size = BITS[dtype] // 8
        for side in shape:
            size *= side
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    body = json.dumps(entries).encode() if header is None else header
    return struct.pack("<Q", len(body)) + body + b"\0" * at


def refused(path):
    with pytest.raises(InvalidInput) as caught:
        checkpoint.read(path)
    (told,) = caught.value.problems
    assert told.code == "CB-F012"
    return told


def test_bytes_are_those_of_the_tensors(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(written(TENSORS))
    read = checkpoint.read(path)
    assert read.total_bytes == 3600 + 64 + 64 + 128  # in BF16, F8_E4M3, U8 and F32
    assert checkpoint.read(tmp_path) == read


def test_a_sharded_checkpoint_is_added_up_by_its_index(tmp_path):
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    (tmp_path / names[0]).write_bytes(written(TENSORS[:3]))
    (tmp_path / names[1]).write_bytes(written(TENSORS[3:]))
    weight_map = {name: names[place >= 3] for place, (name, _, _) in enumerate(TENSORS)}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    (tmp_path / "consolidated.safetensors").write_bytes(written(TENSORS))  # not named by the index
    read = checkpoint.read(tmp_path)
    assert read.files == tuple(names)
    assert read.total_bytes == 3856
    (tmp_path / names[1]).unlink()
    assert names[1] in refused(tmp_path).file


def test_a_directory_gives_the_model_its_exact_bytes(tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "vocab_size": 100,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(written(TENSORS))
    assert model(str(tmp_path)).checkpoint_bytes == 3856


def test_weights_that_lie_there_twice_are_counted_once(tmp_path):
    for name in ("model.safetensors", "consolidated.safetensors", "adapter_model.safetensors"):
        (tmp_path / name).write_bytes(written(TENSORS))
    assert checkpoint.read(tmp_path).files == ("model.safetensors",)
    (tmp_path / "model.safetensors").rename(tmp_path / "odd.safetensors")
    assert checkpoint.read(tmp_path).files == ("odd.safetensors",)
    for number in (1, 2):
        (tmp_path / f"model-0000{number}-of-00002.safetensors").write_bytes(
            written(TENSORS[number : number + 1])
        )
    assert len(checkpoint.read(tmp_path).files) == 2
    assert (
        checkpoint.read(tmp_path / "model-00002-of-00002.safetensors").files
        == checkpoint.read(tmp_path).files
    )


@pytest.mark.parametrize(
    "index", ["{}", "[]", "no", '{"weight_map": {"a": "../../x.safetensors"}}', '{"weight_map": 3}']
)
def test_an_index_that_names_nothing_or_leaves_its_directory_is_refused(tmp_path, index):
    (tmp_path / "model.safetensors.index.json").write_text(index)
    assert "weight_map" in refused(tmp_path).what


def test_every_truncation_is_refused(tmp_path):
    whole, path = written(TENSORS), tmp_path / "cut.safetensors"
    path.write_bytes(whole)
    with path.open("r+b") as file:
        for length in range(len(whole) - 1, -1, -7):
            file.truncate(length)
            assert refused(path).file == str(path)


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[1]",
        b'{"a": 3}',
        b'{"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 5]}}',
        b'{"a": {"dtype": "BF16", "shape": [-2], "data_offsets": [0, 4]}}',
        b'{"a": {"dtype": "BF16", "shape": [2], "data_offsets": [4, 0]}}',
        b'{"a": {"dtype": "BF16", "shape": [2.5], "data_offsets": [0, 4]}}',
        b'{"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}',
    ],
)
def test_inconsistent_headers_are_refused(tmp_path, header):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(written([], header))
    refused(path)


def test_a_header_longer_than_allowed_is_refused_unread(tmp_path):
    path = tmp_path / "long.safetensors"
    path.write_bytes(struct.pack("<Q", 2**62) + b"{}")
    assert "byte 0" in refused(path).what


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 900), st.integers(0, 255))
def test_a_changed_byte_never_ends_in_a_traceback(tmp_path_factory, place, byte):
    whole = written(TENSORS)
    path = tmp_path_factory.getbasetemp() / "changed.safetensors"
    path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
    try:
        code = "" if checkpoint.read(path).files else "none"
    except InvalidInput as told:
        code = told.problems[0].code
    assert code in ("", "CB-F012")
