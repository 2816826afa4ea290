"""Files made to hang, to exhaust or to mislead: one clear error each, under a second and 200 MB."""

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from cabida.errors import InvalidInput
from cabida.facts.models import model

HERE = Path(__file__).parent
SECONDS = 1.0
NOBODY = 65534
LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}


def safetensors(header, data=0):
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(body)) + body + b"\0" * data


def tensor(shape, size, at=0, dtype="BF16"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}


def sparse(size, start=b""):
    def make(path):
        with path.open("wb") as file:
            file.write(start)
            file.truncate(size)

    return make


def zipped(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 50_000_000)


def many(count):
    """As many of the smallest tensors as a header can hold."""
    one = '"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    return safetensors(("{" + ",".join(one % number for number in range(count)) + "}").encode())


def linked(to):
    return lambda path: path.symlink_to(to)


def checkpoint_of(config, **files):
    """A directory with a config.json and more."""

    def make(path):
        path.mkdir()
        body = config if isinstance(config, bytes) else json.dumps(config).encode()
        (path / "config.json").write_bytes(body)
        for name, content in files.items():
            target = path / name.replace("__", ".")
            content(target) if callable(content) else target.write_bytes(content)

    return make


def gguf(tensors, pairs, body=b"", version=3):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs) + body


def text(value):
    return struct.pack("<Q", len(value)) + value


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def facts_of(content):
    def make(path):
        path.mkdir()
        target = path / "accelerators.yaml"
        content(target) if callable(content) else target.write_bytes(content)

    return make


ARRAY, STRING, U8 = 9, 8, 0
FIFO = os.mkfifo
SAFETENSORS = {
    "empty": b"",
    "three-bytes": b"\x08\0\0",
    "truncated": safetensors({"a": tensor([4], 8)}, 8)[:-9],
    "data-cut": safetensors({"a": tensor([4], 8)}, 7),
    "length-2-63": struct.pack("<Q", 2**63) + b"{}",
    "length-2-64": b"\xff" * 4096,
    "length-10-million-tensors": sparse(700_000_000, struct.pack("<Q", 600_000_000) + b'{"a":'),
    "sparse-terabyte": sparse(2**40),
    "sparse-long-header": sparse(2**30, struct.pack("<Q", 15 * 10**6)),
    "all-headers-full": many(300_000),
    "nested": safetensors(b'{"a":' * 100_000),
    "nested-lists": safetensors(b'{"a":' + b"[" * 1_000_000),
    "twice": safetensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},' * 2 + b'"b":1}', 2),
    "not-a-number": safetensors(b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,Infinity]}}'),
    "negative": safetensors({"a": tensor([-1, -4], 8)}, 8),
    "backwards": safetensors({"a": {"dtype": "U8", "shape": [4], "data_offsets": [8, 4]}}, 8),
    "overflow": safetensors({"a": tensor([2**61] * 16, 8)}, 8),
    "wrap-to-zero": safetensors({"a": tensor([2**32, 2**32], 0)}),
    "long-integer": safetensors(b'{"a":{"shape":[' + b"9" * 1_000_000 + b"]}}"),
    "overlapping": safetensors({str(number): tensor([500], 1000) for number in range(100)}, 1000),
    "long-name": safetensors({"x" * 10_000_000: tensor([4], 9)}, 9),
    "odd-text": safetensors(b'{"\xff\xfe":{}}'),
    "lone-surrogate": safetensors(b'{"\\ud800":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}}', 1),
    "list": safetensors(b"[1, 2]"),
    "after-the-end": safetensors(b"{}{}"),
    "zip": zipped,
    "page": b"<!DOCTYPE html><html>",
    "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "gzip": b"\x1f\x8b\x08" + b"\0" * 40,
    "pickle": b"\x80\x04\x95" + b"\0" * 40,
    "zeros-forever": linked("/dev/zero"),
    "pipe": FIFO,
    "loop": linked("loop.safetensors"),
    "dangling": linked("nowhere"),
    "alone": safetensors({"a": tensor([4], 8)}, 8),  # no config.json beside it
}
PICKLES = {
    "pytorch_model.bin": zipped,
    "weights.pt": b"\x80\x02}",
    "weights.ckpt": b"",
    "weights.pth": zipped,
}
GGUFS = {
    "empty": b"",
    "magic-only": b"GGUF",
    "old": b"GGML" + b"\0" * 100,
    "version-1": gguf(0, 0, version=1),
    "version-99": gguf(0, 0, version=99),
    "counts": gguf(2**63, 2**63),
    "many-tensors": gguf(10**7, 0, b"\0" * 1000),
    "most-tensors": gguf(50_000, 0, (text(b"") + struct.pack("<IIQ", 0, 24, 0)) * 50_000),
    "many-pairs": gguf(0, 20_000, b"".join(pair(b"%d" % n, U8, b"\0") for n in range(19_999))),
    "long-text": gguf(0, 1, pair(b"a", STRING, struct.pack("<Q", 2**62))),
    "long-key": gguf(0, 1, struct.pack("<Q", 2**20) + b"k" * 2**20),
    "long-array": gguf(0, 1, pair(b"a", ARRAY, struct.pack("<IQ", U8, 2**60))),
    "empty-texts": gguf(
        0, 1, pair(b"a", ARRAY, struct.pack("<IQ", STRING, 2_900_000) + b"\0" * 8 * 2_899_999)
    ),
    "empty-lists": gguf(
        0, 1, pair(b"a", ARRAY, struct.pack("<IQ", ARRAY, 90_000) + struct.pack("<IQ", U8, 0) * 89_999)
    ),
    "more-items-than-read": gguf(0, 1, pair(b"a", ARRAY, struct.pack("<IQ", ARRAY, 2**40))),
    "kept-lists": gguf(
        0,
        200,
        b"".join(pair(b"%d" % n, ARRAY, struct.pack("<IQ", U8, 4096) + b"\1" * 4096) for n in range(199)),
    ),
    "deep": gguf(0, 1, pair(b"a", ARRAY, struct.pack("<IQ", ARRAY, 1) * 1000)),
    "sparse-header": sparse(2**36, gguf(0, 1, pair(b"a", ARRAY, struct.pack("<IQ", U8, 2**33)))),
    "overflow": gguf(1, 0, text(b"t") + struct.pack("<I8QIQ", 8, *[2**63] * 8, 0, 0)),
    "same-key": gguf(0, 2, pair(b"a", U8, b"\0") * 2),
    "nan-everywhere": gguf(0, 1, pair(b"llama.block_count", 6, struct.pack("<f", float("nan")))),
    "zip": zipped,
    "zeros-forever": linked("/dev/zero"),
    "pipe": FIFO,
    "loop": linked("loop.gguf"),
    "folder": Path.mkdir,
}
CONFIGS = {
    "empty": b"",
    "list": b"[]",
    "text": b'"config"',
    "null": b"null",
    "mark": b"\xef\xbb\xbf{",
    "odd-text": b'{"model_type": "\xff"}',
    "nested": b'{"text_config":' * 50_000,
    "nested-closed": b'{"text_config":' * 900 + b"{}" + b"}" * 900,
    "large": b'{"a": "' + b"x" * 11_000_000 + b'"}',
    "many-keys": json.dumps({f"key{number}": number for number in range(400_000)}).encode(),
    "many-layers": json.dumps({**LLAMA, "num_hidden_layers": 10**12}).encode(),
    "layers-as-float": json.dumps({**LLAMA, "num_hidden_layers": 1e300}).encode(),
    "not-a-number": json.dumps({**LLAMA, "hidden_size": float("nan")}).encode(),
    "infinite": json.dumps({**LLAMA, "vocab_size": float("inf")}).encode(),
    "negative": json.dumps({**LLAMA, "hidden_size": -64}).encode(),
    "zero-heads": json.dumps({**LLAMA, "num_attention_heads": 0}).encode(),
    "long-integer": b'{"model_type": "llama", "hidden_size": ' + b"9" * 1_000_000 + b"}",
    "heads-named": json.dumps({**LLAMA, "num_attention_heads": "four"}).encode(),
    "layer-types": json.dumps({**LLAMA, "layer_types": [{}] * 2}).encode(),
    "experts": json.dumps({**LLAMA, "model_type": "mixtral", "num_local_experts": 10**15}).encode(),
    "quantised-by-a-list": json.dumps({**LLAMA, "quantization_config": [1]}).encode(),
    "expression": json.dumps(
        {**LLAMA, "quantization_config": {"quant_method": "fp8", "ignore": ["re:" + "(a+)+" * 20 + "$"]}}
    ).encode(),
    "pipe": FIFO,
    "zeros-forever": linked("/dev/zero"),
    "loop": linked("loop.json"),
}
ALLOWED_CONFIGS = {  # strange, but engines read them too
    "heads-listed": json.dumps({**LLAMA, "num_attention_heads": [1] * 100_000 + [2]}).encode(),
    "type-listed": json.dumps({**LLAMA, "model_type": ["llama"]}).encode(),
    "duplicates": b'{"model_type": "llama", "hidden_size": 64, ' + json.dumps(LLAMA).encode()[1:],
    "quantised-by-nonsense": json.dumps(
        {**LLAMA, "quantization_config": {"quant_method": 7, "bits": "x", "config_groups": {"g": 3}}}
    ).encode(),
    "patterns": json.dumps(
        {**LLAMA, "quantization_config": {"quant_method": "fp8", "ignore": [f"*{n}*" for n in range(2000)]}}
    ).encode(),
}
INDEX = "model.safetensors.index.json"
FOLDERS = {
    "no-config": Path.mkdir,
    "config-is-a-pipe": lambda path: (path.mkdir(), os.mkfifo(path / "config.json")),
    "weights-are-a-folder": checkpoint_of(LLAMA, model__safetensors=Path.mkdir),
    "weights-are-a-pipe": checkpoint_of(LLAMA, model__safetensors=os.mkfifo),
    "weights-too-small": checkpoint_of(LLAMA, model__safetensors=safetensors({"a": tensor([4], 8)}, 8)),
    "index-leads-out": checkpoint_of(
        LLAMA,
        model__safetensors=safetensors({}),
        model__safetensors__index__json=b'{"weight_map": {"a": "../../../etc/passwd.safetensors"}}',
    ),
    "index-nested": checkpoint_of(
        LLAMA, model__safetensors=safetensors({}), model__safetensors__index__json=b'{"a":' * 100_000
    ),
    "index-huge": checkpoint_of(
        LLAMA, model__safetensors=safetensors({}), model__safetensors__index__json=sparse(2**35, b"{")
    ),
    "index-names-ten-thousand": checkpoint_of(
        LLAMA,
        model__safetensors=safetensors({}),
        model__safetensors__index__json=json.dumps(
            {"weight_map": {str(number): f"m{number}.safetensors" for number in range(10_001)}}
        ).encode(),
    ),
    "adapter": lambda path: (
        path.mkdir(),
        (path / "adapter_config.json").write_text('{"base_model_name_or_path": "meta-llama/Llama-3.1-8B"}'),
    ),
    "pickles": lambda path: (path.mkdir(), zipped(path / "pytorch_model.bin")),
}
TRACES = {
    "empty": b"",
    "zeros-forever": linked("/dev/zero"),
    "pipe": FIFO,
    "sparse": sparse(400_000_000, b"arrival_s,input_tokens,output_tokens\n"),
    "one-line": b"arrival_s,input_tokens,output_tokens\n" + b"1," * 10_000_000,
    "quote": b'arrival_s,input_tokens,output_tokens\n"' + b"\n" * 1_000_000,
    "odd-numbers": b"arrival_s,input_tokens,output_tokens\nnan,inf,-1\n1e999,0x10,\xe2\x99\xa5\n",
    "odd-text": b"arrival_s,input_tokens,output_tokens\n\xff\n",
    "folder": Path.mkdir,
}
PRICES = {
    "empty": b"",
    "zeros-forever": linked("/dev/zero"),
    "pipe": FIFO,
    "one-line": b"provider," * 500_000,
    "odd-numbers": b"provider,accelerator,amount,currency,seen\nme,h100-sxm-80,nan,USD,2026-01-01\n",
    "huge-number": b"provider,accelerator,amount,currency,seen\nme,h100-sxm-80,1e999999,USD,2026-01-01\n",
    "no-day": b"provider,accelerator,amount,currency,seen\nme,h100-sxm-80,2,USD,0000-99-99\n",
}
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%s: &%s [%s]\n" % (bytes([n + 1]), bytes([n + 1]), b",".join([b"*" + bytes([n])] * 9))
    for n in range(97, 110)
)
FACTS = {
    "list": b"- a\n",
    "scalar": b"accelerators\n",
    "rows-are-text": b"accelerators: h100\n",
    "rows-are-numbers": b"accelerators: [1, 2, [3]]\n",
    "bomb": BOMB,
    "deep": b"accelerators: " + b"[" * 20_000,
    "itself": b"accelerators: &a [*a]\n",
    "tags": b"accelerators: !!python/object/apply:os.system ['true']\n",
    "large": sparse(6_000_000, b"accelerators:\n"),
    "zeros-forever": linked("/dev/zero"),
    "pipe": FIFO,
    "odd-text": b"accelerators:\n- id: \xff\n",
    "folder": Path.mkdir,
}
GROUPS = {
    ".safetensors": (SAFETENSORS, {"CB-F012", "CB-F015"}),
    "": (PICKLES, {"CB-F042"}),
    ".gguf": (GGUFS, {"CB-F011", "CB-F013", "CB-F015"}),
    ".json": (CONFIGS, {"CB-F011", "CB-F015", "CB-F016"}),
    ".fine.json": (ALLOWED_CONFIGS, {""}),
    "-folder": (FOLDERS, {"CB-F012", "CB-F015", "CB-F042"}),
    ".trace.csv": (TRACES, {"CB-B007", "CB-B039"}),
    ".prices.csv": (PRICES, {"", "CB-E050", "CB-E054", "CB-E055"}),
    "-facts": (
        {name: facts_of(content) for name, content in FACTS.items()},
        {"CB-F002", "CB-F004", "CB-F007"},
    ),
}


def names(ending):
    return [f"{name}{ending}" for name in GROUPS[ending][0]]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each file did, read in one process of limited memory."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "empty.yaml").write_text("")
    for ending, (made, _) in GROUPS.items():
        for name, content in made.items():
            path = folder / f"{name}{ending}"
            content(path) if callable(content) else path.write_bytes(content)
    environment = {**os.environ, "CABIDA_ONLINE": "0", "CABIDA_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, str(HERE / "hostile.py"), str(folder)],
        capture_output=True, text=True, timeout=100, env=environment, cwd=folder, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {name: (codes, seconds) for name, codes, seconds in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize(("name", "ending"), [(name, ending) for ending in GROUPS for name in names(ending)])
def test_a_hostile_file_is_one_clear_error_in_bounded_time(told, name, ending):
    codes, seconds = told[name]
    assert set(codes) <= GROUPS[ending][1]
    assert seconds < SECONDS


def test_a_socket_is_no_model(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # a socket's path must be short
        listening.bind(path.name)
        with pytest.raises(InvalidInput, match="CB-F012"):
            model(str(path))


def test_what_may_not_be_read_is_told():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(safetensors({}))
        path.chmod(0)
        Path(folder).chmod(0o755)
        superuser = os.geteuid() == 0
        if superuser:  # who may read everything, so somebody else looks
            os.seteuid(NOBODY)
        try:
            with pytest.raises(InvalidInput, match="CB-F012"):
                model(str(path))
        finally:
            if superuser:
                os.seteuid(0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["fit", "length-2-63.safetensors", "--gpu", "l40s"], "CB-F012"),
        (["fit", "counts.gguf", "--gpu", "l40s"], "CB-F013"),
        (["fit", "pytorch_model.bin", "--gpu", "l40s"], "CB-F042"),
        (["speed", "meta-llama/Llama-3.1-8B", "--gpu", "l40s", "--trace", "pipe.trace.csv"], "CB-B039"),
    ],
)
def test_the_command_says_it_in_one_line(tmp_path, arguments, code):
    (tmp_path / "length-2-63.safetensors").write_bytes(SAFETENSORS["length-2-63"])
    (tmp_path / "counts.gguf").write_bytes(GGUFS["counts"])
    zipped(tmp_path / "pytorch_model.bin")
    os.mkfifo(tmp_path / "pipe.trace.csv")
    done = subprocess.run(
        [sys.executable, "-m", "cabida", *arguments],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"[{code}]" in done.stderr
