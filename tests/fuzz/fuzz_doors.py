"""The doors by which strangers' bytes come in, each with examples to start from and words that matter to it."""

import json
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from math import inf
from pathlib import Path
from unittest.mock import patch

from cabida.brief.read import parse_brief
from cabida.brief.trace import read_trace, summarise
from cabida.errors import CabidaError
from cabida.evidence.prices import read
from cabida.facts import checkpoint, fetch, overlay
from cabida.facts.formats import weight_format
from cabida.facts.gguf_header import TYPES
from cabida.facts.models import model
from cabida.memory.weights import Split, plain_weights_bytes

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Door:
    """``enter(data, scratch)`` may end in a CabidaError only; ``scratch`` is a folder for files."""

    enter: Callable[[bytes, Path], object]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]
    structured: bool = False  # the data is JSON, so that its values can be changed one by one


def allowed(door, data, scratch):
    """Whether the data went through or was refused as it should be; anything else is raised."""
    try:
        door.enter(data, scratch)
    except CabidaError as error:
        problems = error.problems
    else:
        return True
    assert problems
    assert all(problem.what and len(str(problem)) < 20_000 for problem in problems)
    return False


def _safetensors(data, scratch):
    path = scratch / "model.safetensors"
    path.write_bytes(data)
    held = checkpoint.read(path)
    assert 0 <= held.total_bytes <= len(data)


def _header(data, scratch):
    _safetensors(struct.pack("<Q", len(data)) + data + b"\0" * 4096, scratch)


def _index(data, scratch):
    del scratch
    names = checkpoint.index_files(data, "index.json")
    assert all("/" not in name for name in names)


def _fits(path):
    """What is told of a model that could be read must be told without a fault too."""
    from cabida import app

    app.fit(str(path), gpu="l40s", max_model_len=4096)


def _weighed(path):
    """A model that could be read has weights that can be counted, whole and divided."""
    made = model(str(path))
    held = weight_format(made.native_format)
    for split in (Split(), Split(tp=8), Split(pp=2, layers=True)):
        weights = plain_weights_bytes(made, held, split)
        assert 0 <= weights < inf, weights


def _config(data, scratch, then=_weighed):
    path = scratch / "config.json"
    path.write_bytes(data)
    then(path)


def _gguf(data, scratch, then=_weighed):
    path = scratch / "model.gguf"
    path.write_bytes(data)
    then(path)


def _facts(table):
    def enter(data, scratch):
        path = scratch / f"{table}.yaml"
        path.write_bytes(data)
        overlay.faults(path)

    return enter


def _trace(data, scratch):
    path = scratch / "trace.csv"
    path.write_bytes(data)
    summarise(read_trace(path))


def _prices(data, scratch):
    path = scratch / "prices.csv"
    path.write_bytes(data)
    read(path, currency="USD", as_of="2026-11-30")


def _http(data, scratch):
    """What a hub's server says, byte by byte, to a question for a document and to one for a part of a file."""
    del scratch
    for wanted in (
        fetch.Wanted(most=4096),
        fetch.Wanted(first=0, count=64),
        fetch.Wanted(first=64, count=64),
    ):
        web, sides = fetch.Web("http://127.0.0.1:1"), []
        told = partial(_saying, data, sides)
        with patch.object(fetch, "dial", told), suppress(fetch.Unanswered):
            answer = web.get("x", wanted)
            assert len(answer.body) <= (wanted.most if wanted.first is None else wanted.count)
        web.close()
        for side in sides:
            side.close()


def _saying(data, sides, *_, **__):
    """A connection on which the other side says ``data`` and no more."""
    near, far = socket.socketpair()
    sides += near, far
    far.setblocking(False)
    with suppress(BlockingIOError):
        far.send(data)
    far.shutdown(socket.SHUT_WR)
    return near


def _brief(data, scratch):
    del scratch
    parse_brief(data.decode("utf-8", "replace"), as_of="2026-11-30")


def _json(value):
    return json.dumps(value).encode()


def _words(*names):
    return tuple(name.encode() for name in names)


@cache
def _configs():
    """One config of each way of reading them: the smallest of each architecture that is shipped."""
    by_kind = {}
    for line in (ROOT / "src/cabida/facts/data/models.jsonl").read_text("utf-8").splitlines():
        config = json.loads(line).get("config")
        if config and config.get("model_type"):
            kept = by_kind.setdefault(config["model_type"], config)
            if len(str(config)) < len(str(kept)):
                by_kind[config["model_type"]] = config
    return tuple(_json(config) for config in by_kind.values() if len(str(config)) < 8000)


def _text(value):
    return struct.pack("<Q", len(value)) + value


def _pair(key, kind, value):
    return _text(key) + struct.pack("<I", kind) + value


def _tensor(name, shape, kind, offset):
    sides = struct.pack(f"<{len(shape)}Q", *shape)
    return _text(name) + struct.pack("<I", len(shape)) + sides + struct.pack("<IQ", kind, offset)


def _gguf_seed(family, **numbers):
    """A small GGUF of one architecture."""
    numbers = {"block_count": 2, "embedding_length": 64, "feed_forward_length": 128, "vocab_size": 100,
               "attention.head_count": 4, "context_length": 4096, **numbers}  # fmt: skip
    pairs = [_pair(b"general.architecture", 8, _text(family))]
    pairs += [
        _pair(family + b"." + key.encode(), 4, struct.pack("<I", value)) for key, value in numbers.items()
    ]
    pairs.append(_pair(b"tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + _text(b"a") + _text(b"b")))
    tensors = [
        _tensor(b"token_embd.weight", (64, 100), 1, 0),
        _tensor(b"blk.0.attn_q.weight", (64, 64), 8, 12800),
    ]
    body = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)
    return body + b"\0" * (12800 + 64 * 64 // 32 * TYPES[8][2] + 32)


_HEADER = _json(
    {
        "__metadata__": {"format": "pt"},
        "model.embed_tokens.weight": {"dtype": "BF16", "shape": [100, 8], "data_offsets": [0, 1600]},
        "model.layers.0.mlp.experts.3.up_proj.weight": {
            "dtype": "U8",
            "shape": [8],
            "data_offsets": [1600, 1608],
        },
    }
)
_FILE = struct.pack("<Q", len(_HEADER)) + _HEADER + b"\0" * 1608
_FACTS = b"""accelerators:
- id: l40s
  usable_bytes: 44 GiB
  source: {what: my own look, seen: 2026-01-01}
- id: new
  name: New
  flop_per_s: {bf16: 100 TFLOPS}
  field_sources: {name: {what: a page, seen: 2026-01-01}}
"""
_OFFERS = b"""offers:
- id: mine
  provider: me
  accelerator: l40s
  amount: 1.5
  currency: USD
  capacity: reserved
  unit: accelerator_hour
  source: {what: a quote, seen: 2026-01-01, grade: quoted}
"""
_TRACE = b"arrival_s,input_tokens,output_tokens,user\n0,10,20,a\n1.5,30,40,b\n1e1,5,6,\n"
_PRICES = (
    b"provider,accelerator,amount,currency,seen,term_months,region\n"
    b"me,H100 SXM,2.10,EUR,2026-01-01,0,eu\nyou,l40s,0.8,USD,2026-02-01,12,\n"
)
_HTTP = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Repo-Commit: 0\r\n\r\n{}",
    b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 0-63/9000\r\nContent-Length: 64\r\n\r\n" + b"x" * 64,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: https://10.0.0.1/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nX-Error-Code: RepoNotFound\r\n\r\n",
)
_HTTP_WORDS = _words(
    "\r\n", "\r\n\r\n", ": ", "HTTP/1.1 ", "206", "416", "100 Continue", "Content-Length: ", "Content-Range: bytes ",
    "Transfer-Encoding: chunked", "Location: ", "//[", "http://127.0.0.1:2/", "Content-Encoding: gzip", "-1", "9" * 25,
    "Connection: close", "\n ", "\0", "\u00e9",
)  # fmt: skip
_BRIEF_WORDS = _words(
    "models", "weights", "traffic", "requests_per_s", "input_tokens", "p50", "objectives", "unknown", "have",
    "accelerator", "count", "each", "budget", "monthly", "training", "data:", "trace", "EUR", " ms", "GiB", "%",
    "!!", "&a", "*a", "<<:", "- ", "{", "[", "null", "1e999", "nan", ".inf", "-1", "0", "2026-13-45",
)  # fmt: skip
_JSON_WORDS = _words(
    "null", "true", "NaN", "Infinity", "1e999", "-1", "0", "[]", "{}", '""', "1e9", "9" * 30, "\\ud800", "dtype",
    "shape", "data_offsets", "weight_map", ".safetensors", "F4", "F8_E4M3", "I64", "__metadata__",
)  # fmt: skip
_CONFIG_WORDS = _words(
    "quantization_config", "quant_method", "fp8", "awq", "bits", "group_size", "compressed-tensors", "config_groups",
    "weights", "ignore", "re:.*", "text_config", "vision_config", "layer_types", "sliding_attention", "num_experts",
    "num_local_experts", "n_routed_experts", "kv_lora_rank", "rope_scaling", "torch_dtype", "hybrid_override_pattern",
    "block_configs", "num_nextn_predict_layers", "first_k_dense_replace", "moe_layer_freq", "architectures",
    "quantized_layers", "lm_head", "tie_word_embeddings", "head_dim", "num_key_value_heads", "sliding_window",
)  # fmt: skip


def _number_words():
    ends = (0, 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1, 4096, 32)
    return tuple(struct.pack("<Q", end) for end in ends) + tuple(
        struct.pack("<I", kind) for kind in range(13)
    )


@cache
def doors():
    """All of them by name."""
    families = {
        b"llama": {}, b"qwen35": {"ssm.group_count": 2, "ssm.time_step_rank": 4, "ssm.inner_size": 128,
                                  "ssm.state_size": 32, "ssm.conv_kernel": 4, "attention.head_count_kv": 2},
        b"deepseek2": {"attention.kv_lora_rank": 32, "expert_count": 4, "expert_used_count": 2,
                       "attention.key_length_mla": 48, "attention.value_length_mla": 32,
                       "expert_feed_forward_length": 32, "rope.dimension_count": 16, "attention.head_count_kv": 1},
        b"gemma3": {"attention.sliding_window": 512, "attention.key_length": 16},
    }  # fmt: skip
    ggufs = tuple(_gguf_seed(family, **numbers) for family, numbers in families.items())
    briefs = tuple(path.read_bytes() for path in sorted((ROOT / "examples").glob("*.yaml")))
    csv_words = _words(
        ",", "\n", '"', "nan", "inf", "-1", "0x1", "1e999", "\0", "\r", "é", "buy", "EUR", "0000-99-99"
    )
    return {
        "safetensors": Door(_safetensors, (_FILE,), _JSON_WORDS + _number_words()),
        "header": Door(_header, (_HEADER,), _JSON_WORDS, structured=True),
        "index": Door(_index, (_json({"weight_map": {"a": "a.safetensors"}}),), _JSON_WORDS, structured=True),
        "config": Door(_config, _configs(), _JSON_WORDS + _CONFIG_WORDS, structured=True),
        "fit": Door(
            partial(_config, then=_fits), _configs()[::6], _JSON_WORDS + _CONFIG_WORDS, structured=True
        ),
        "gguf": Door(
            _gguf, ggufs, _number_words() + _words("general.alignment", "split.count", "expert_count")
        ),
        "http": Door(_http, _HTTP, _HTTP_WORDS),
        "facts": Door(_facts("accelerators"), (_FACTS, _OFFERS), _BRIEF_WORDS),
        "trace": Door(_trace, (_TRACE,), csv_words),
        "prices": Door(_prices, (_PRICES,), csv_words),
        "brief": Door(_brief, briefs, _BRIEF_WORDS),
    }
