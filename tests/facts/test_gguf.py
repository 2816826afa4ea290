"""GGUF headers: a file written here is read back exactly, and a broken one is refused at the byte where it breaks."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cabida.errors import InvalidInput
from cabida.facts import gguf, gguf_header
from cabida.facts.formats import find_format
from cabida.facts.models import model

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
F16, Q4_0, Q4_K, Q6_K = 1, 2, 12, 14


def text(value, order="<"):
    body = value.encode()
    return struct.pack(order + "Q", len(body)) + body


def value(kind, content, order="<"):
    if kind == STRING:
        return text(content, order)
    if kind == ARRAY:
        inner, items = content
        return struct.pack(order + "IQ", inner, len(items)) + b"".join(
            value(inner, item, order) for item in items
        )
    letter = {U32: "I", I32: "i", F32: "f", BOOL: "?", U64: "Q"}[kind]
    return struct.pack(order + letter, content)


def written(pairs, tensors, version=3, order="<", alignment=32, data=True):
    """A GGUF file: ``pairs`` of (key, type, value), ``tensors`` of (name, dimensions, type)."""
    body = b"GGUF" + struct.pack(order + "IQQ", version, len(tensors), len(pairs))
    for key, kind, content in pairs:
        body += text(key, order) + struct.pack(order + "I", kind) + value(kind, content, order)
    offset = 0
    for name, shape, kind in tensors:
        _, block, block_bytes = gguf_header.TYPES[kind]
        elements = 1
        for side in shape:
            elements *= side
        size = -(-elements // block) * block_bytes
        body += text(name, order) + struct.pack(order + "I", len(shape))
        body += b"".join(struct.pack(order + "Q", side) for side in shape)
        body += struct.pack(order + "IQ", kind, offset)
        offset += -(-size // alignment) * alignment
    body += b"\0" * (-len(body) % alignment)
    return body + (b"\0" * offset if data else b"")


PAIRS = [
    ("general.architecture", STRING, "llama"),
    ("general.name", STRING, "Small"),
    ("general.file_type", U32, 15),
    ("llama.block_count", U32, 2),
    ("llama.embedding_length", U32, 256),
    ("llama.feed_forward_length", U32, 512),
    ("llama.attention.head_count", U32, 8),
    ("llama.attention.head_count_kv", U32, 2),
    ("llama.context_length", U32, 4096),
    ("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "b", "c", "d"])),
    ("some.flag", BOOL, True),
    ("some.nested", ARRAY, (ARRAY, [(U32, [1, 2]), (U32, [])])),
]
TENSORS = [
    ("token_embd.weight", [256, 4], Q4_K),
    ("blk.0.attn_q.weight", [256, 256], Q4_K),
    ("blk.0.ffn_down.weight", [512, 256], Q6_K),
    ("blk.0.attn_norm.weight", [256], 0),
    ("output.weight", [256, 4], Q6_K),
]
FILE = written(PAIRS, TENSORS)


def refused(path):
    with pytest.raises(InvalidInput) as caught:
        gguf.read(path)
    (told,) = caught.value.problems
    return told


def test_what_was_written_is_read(tmp_path):
    path = tmp_path / "small.gguf"
    path.write_bytes(FILE)
    read = gguf.read(path)
    assert read.version == 3
    assert read.metadata["some.nested"] == [[1, 2], []]
    assert [(tensor.name, tensor.type) for tensor in read.tensors] == [
        ("token_embd.weight", "Q4_K"),
        ("blk.0.attn_q.weight", "Q4_K"),
        ("blk.0.ffn_down.weight", "Q6_K"),
        ("blk.0.attn_norm.weight", "F32"),
        ("output.weight", "Q6_K"),
    ]
    assert [tensor.size_bytes for tensor in read.tensors] == [4 * 144, 256 * 144, 512 * 210, 1024, 4 * 210]
    assert read.total_bytes == (4 + 256) * 144 + (512 + 4) * 210 + 1024
    shown = model(str(path))
    assert shown == read.model
    assert (shown.id, shown.native_format, shown.context_tokens) == ("Small", "q4_k_m", 4096)
    assert shown.attention[0].kv_heads_count == 2
    assert shown.checkpoint_bytes == read.total_bytes
    assert not shown.tied_embeddings
    assert shown.vocab_count == 4


def test_big_endian_and_version_two_are_read(tmp_path):
    path = tmp_path / "big.gguf"
    path.write_bytes(written(PAIRS, TENSORS, order=">"))
    read = gguf.read(path)
    assert read.metadata["general.name"] == "Small"
    assert read.tensors[3].size_bytes == 1024
    path.write_bytes(written(PAIRS, TENSORS, version=2))
    assert gguf.read(path).version == 2


def test_parts_of_a_split_model_are_added(tmp_path):
    split = [*PAIRS, ("split.count", U32, 2)]
    (tmp_path / "m-00001-of-00002.gguf").write_bytes(written(split, TENSORS[:2]))
    told = refused(tmp_path / "m-00001-of-00002.gguf")
    assert told.code == "CB-F013"
    assert "m-00002-of-00002" in told.file
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(written([("split.count", U32, 2)], TENSORS[2:]))
    read = gguf.read(tmp_path / "m-00001-of-00002.gguf")
    assert len(read.tensors) == len(TENSORS)


def test_every_truncation_is_refused_with_its_byte(tmp_path):
    path = tmp_path / "cut.gguf"
    path.write_bytes(FILE)
    header_bytes = 1400
    with path.open("r+b") as file:
        for length in [*range(len(FILE) - 997, header_bytes, -997), *range(header_bytes, -1, -1)]:
            file.truncate(length)
            told = refused(path)
            assert told.code == "CB-F013"
            assert told.file == str(path)
            offset = int("".join(filter(str.isdigit, told.what.split("byte ")[1].split(":")[0])))
            assert 0 <= offset <= length


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"GGML" + FILE[4:], "begin with GGUF"),
        (FILE[:4] + struct.pack("<I", 1) + FILE[8:], "version 1"),
        (FILE[:8] + struct.pack("<Q", 2**40) + FILE[16:], "tensors"),
        (FILE[:16] + struct.pack("<Q", 2**40) + FILE[24:], "metadata entries"),
        (FILE[:24] + struct.pack("<Q", 2**50) + FILE[32:], "text of"),
        (
            written([("k", ARRAY, (U32, []))], []).replace(
                struct.pack("<IQ", U32, 0), struct.pack("<IQ", U32, 2**40)
            ),
            "array of",
        ),
        (
            written([("k", U32, 1)], []).replace(b"k" + struct.pack("<I", U32), b"k" + struct.pack("<I", 99)),
            "type 99",
        ),
        (
            written([], [("t", [256], Q4_K)]).replace(
                struct.pack("<QIQ", 256, Q4_K, 0), struct.pack("<QIQ", 256, 77, 0)
            ),
            "unknown type 77",
        ),
        (written([("general.alignment", U32, 0)], []), "aligned to 0"),
        (written([], [("t", [256], Q4_K)], data=False), "should end"),
    ],
)
def test_absurd_headers_are_refused(tmp_path, broken, reason):
    path = tmp_path / "bad.gguf"
    path.write_bytes(broken)
    told = refused(path)
    assert told.code == "CB-F013"
    assert reason in told.what


def test_deep_nesting_is_refused(tmp_path):
    nested = (U32, [1])
    for _ in range(6):
        nested = (ARRAY, [nested])
    path = tmp_path / "deep.gguf"
    path.write_bytes(written([("k", ARRAY, nested)], []))
    assert "depth" in refused(path).what


def test_long_vocabularies_are_counted_not_kept(tmp_path):
    path = tmp_path / "long.gguf"
    words = [f"w{number}" for number in range(5000)]
    pairs = [pair for pair in PAIRS if pair[0] != "tokenizer.ggml.tokens"]
    path.write_bytes(written([*pairs, ("tokenizer.ggml.tokens", ARRAY, (STRING, words))], TENSORS))
    read = gguf.read(path)
    assert read.metadata["tokenizer.ggml.tokens"] == gguf_header.LongArray(5000)
    assert read.model.vocab_count == 5000


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(FILE) - 1), st.integers(0, 255))
def test_a_changed_byte_never_ends_in_a_traceback(tmp_path_factory, place, byte):
    path = tmp_path_factory.getbasetemp() / "changed.gguf"
    place = min(place, 1300) if byte % 2 else place
    path.write_bytes(FILE[:place] + bytes([byte]) + FILE[place + 1 :])
    try:
        code = "" if gguf.read(path).tensors else "none"
    except InvalidInput as told:
        code = told.problems[0].code
    assert code in ("", "CB-F011", "CB-F013", "CB-F016")


KINDS = st.sampled_from([0, F16, Q4_0, Q4_K, Q6_K, 8, 30, 39])
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(NAMES, st.integers(0, 2**32 - 1), max_size=8),
    st.dictionaries(
        NAMES, st.tuples(st.lists(st.integers(1, 300), min_size=1, max_size=3), KINDS), max_size=6
    ),
)
def test_any_written_file_comes_back(tmp_path_factory, numbers, shapes):
    path = tmp_path_factory.getbasetemp() / "round.gguf"
    extra = [(f"x.{name}", U32, number) for name, number in numbers.items()]
    tensors = [(name, shape, kind) for name, (shape, kind) in shapes.items()]
    small = [(name, [min(side, 40) for side in shape], kind) for name, shape, kind in tensors]
    path.write_bytes(written([*PAIRS, *extra], [*TENSORS, *small]))
    read = gguf.read(path)
    assert all(read.metadata[f"x.{name}"] == number for name, number in numbers.items())
    assert [(tensor.name, tensor.type) for tensor in read.tensors[len(TENSORS) :]] == [
        (name, gguf_header.TYPES[kind][0]) for name, _, kind in small
    ]


def test_a_vocabulary_alone_is_no_model(tmp_path):
    path = tmp_path / "vocab.gguf"
    path.write_bytes(written(PAIRS, []))
    assert "0 bytes can't hold 2 layers" in refused(path).what


def test_layers_that_only_draft_are_not_the_models(tmp_path):
    path = tmp_path / "drafting.gguf"
    drafting = [*PAIRS, ("llama.nextn_predict_layers", U32, 1)]
    path.write_bytes(written(drafting, [*TENSORS, ("blk.1.attn_q.weight", [256, 256], Q4_K)]))
    shown = gguf.read(path).model
    assert shown.layers_count == 1
    assert {one.part: one.size_bytes for one in shown.stored}["draft"] == 256 * 144


def test_a_projector_beside_the_model_counts_with_it(tmp_path):
    path = tmp_path / "small.gguf"
    path.write_bytes(FILE)
    eye = written([("general.architecture", STRING, "clip")], [("v.blk.0.attn_q.weight", [64, 64], F16)])
    (tmp_path / "mmproj-small-f16.gguf").write_bytes(eye)
    shown = gguf.read(path).model
    assert {one.part: one.size_bytes for one in shown.stored}["extra"] == 8192
    assert shown.task == "vlm"
    assert model(str(tmp_path)) == shown
    told = refused(tmp_path / "mmproj-small-f16.gguf")
    assert "projector" in told.what


QWEN35 = [
    ("general.architecture", STRING, "qwen35"),
    ("qwen35.block_count", U32, 4),
    ("qwen35.embedding_length", U32, 256),
    ("qwen35.feed_forward_length", U32, 512),
    ("qwen35.attention.head_count", U32, 4),
    ("qwen35.attention.head_count_kv", U32, 2),
    ("qwen35.attention.key_length", U32, 64),
    ("qwen35.attention.value_length", U32, 64),
    ("qwen35.full_attention_interval", U32, 4),
    ("qwen35.ssm.conv_kernel", U32, 4),
    ("qwen35.ssm.state_size", U32, 32),
    ("qwen35.ssm.group_count", U32, 2),
    ("qwen35.ssm.time_step_rank", U32, 4),
    ("qwen35.ssm.inner_size", U32, 128),
    ("qwen35.vocab_size", U32, 1000),
]
NEMOTRON = [
    ("general.architecture", STRING, "nemotron_h"),
    ("nemotron_h.block_count", U32, 4),
    ("nemotron_h.embedding_length", U32, 256),
    ("nemotron_h.feed_forward_length", ARRAY, (U32, [0, 512, 0, 512])),
    ("nemotron_h.attention.head_count", ARRAY, (U32, [0, 0, 4, 0])),
    ("nemotron_h.attention.head_count_kv", ARRAY, (U32, [0, 0, 2, 0])),
    ("nemotron_h.attention.key_length", U32, 64),
    ("nemotron_h.ssm.conv_kernel", U32, 4),
    ("nemotron_h.ssm.state_size", U32, 32),
    ("nemotron_h.ssm.group_count", U32, 2),
    ("nemotron_h.ssm.time_step_rank", U32, 8),
    ("nemotron_h.ssm.inner_size", U32, 256),
    ("nemotron_h.vocab_size", U32, 1000),
]
DEEPSEEK = [
    ("general.architecture", STRING, "deepseek2"),
    ("deepseek2.block_count", U32, 4),
    ("deepseek2.embedding_length", U32, 256),
    ("deepseek2.feed_forward_length", U32, 512),
    ("deepseek2.attention.head_count", U32, 4),
    ("deepseek2.attention.head_count_kv", U32, 1),
    ("deepseek2.attention.kv_lora_rank", U32, 128),
    ("deepseek2.attention.key_length_mla", U32, 96),
    ("deepseek2.attention.value_length_mla", U32, 64),
    ("deepseek2.rope.dimension_count", U32, 32),
    ("deepseek2.expert_count", U32, 8),
    ("deepseek2.expert_used_count", U32, 2),
    ("deepseek2.expert_feed_forward_length", U32, 64),
    ("deepseek2.expert_shared_count", U32, 1),
    ("deepseek2.leading_dense_block_count", U32, 1),
    ("deepseek2.vocab_size", U32, 1000),
]


@pytest.mark.parametrize(
    ("pairs", "kinds", "mlps"),
    [
        (QWEN35, {"linear": 3, "full": 1}, [4]),
        (NEMOTRON, {"linear": 1, "full": 1}, [2]),
        (DEEPSEEK, {"mla": 4}, [1, 3]),
    ],
)
def test_hybrids_and_latent_attention_are_read_from_their_keys(tmp_path, pairs, kinds, mlps):
    path = tmp_path / "hybrid.gguf"
    path.write_bytes(written(pairs, TENSORS))
    shown = gguf.read(path).model
    assert {group.kind: group.layers_count for group in shown.attention} == kinds
    assert [group.layers_count for group in shown.mlp] == mlps
    assert find_format(shown.native_format) is not None


def test_an_unknown_architecture_is_named(tmp_path):
    path = tmp_path / "odd.gguf"
    path.write_bytes(written([("general.architecture", STRING, "novel")], TENSORS))
    told = refused(path)
    assert told.code == "CB-F011"
    assert "novel" in told.what
