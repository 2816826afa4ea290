"""Servers that lie, drip, cut off and lead elsewhere: left in bounded time, memory and traffic."""

import json
import socket
import struct
import time

import pytest
from hub_server import COMMIT, CONFIG, REPO, refused
from test_checkpoint import written

from cabida.errors import EndpointFailed, InvalidInput
from cabida.facts import fetch
from cabida.facts.models import model


def shard(tiny):
    return f"/{REPO}/resolve/{COMMIT}/model-00001-of-00002.safetensors"


def test_a_server_that_ignores_ranges_is_read_no_further_than_the_header(tiny):
    tiny.ranges = False
    header = tiny.files[shard(tiny)]
    tiny.files[shard(tiny)] = big = header + b"\0" * (200 * 2**20)
    assert len(big) > 2e8
    assert model(f"hf:{REPO}").checkpoint_bytes == 3856
    assert tiny.sent_bytes < 20e6  # what was on its way when we hung up


def test_a_header_longer_than_the_first_piece_is_completed(site):
    many = [(f"model.layers.0.mlp.experts.{number}.up_proj.weight", "BF16", [8, 8]) for number in range(3000)]
    site.put(REPO, "config.json", json.dumps(CONFIG).encode())
    site.put(REPO, "model.safetensors", written(many))
    assert model(f"hf:{REPO}").checkpoint_bytes == 3000 * 128
    ranges = [headers["Range"] for path, headers in site.asked if path.endswith("model.safetensors")]
    assert len(ranges) == 2
    assert ranges[1].startswith("bytes=65536-")


def said(handler, head, body=b""):
    handler.close_connection = True
    handler.wfile.write(head + b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    ("head", "body", "reason"),
    [
        (b"HTTP/1.1 206 P\r\nContent-Range: bytes 5-9/100\r\nContent-Length: 5", b"xxxxx", "another part"),
        (b"HTTP/1.1 206 P\r\nContent-Length: 5", b"xxxxx", "another part"),
        (
            b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-99999999999/9\r\nContent-Length: 5",
            b"xxxxx",
            "another part",
        ),
        (
            b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-65535/900000\r\nContent-Length: 65536",
            b"x",
            "ended too soon",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900000", b"\x10\0\0\0\0\0\0\0", "ended too soon"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Encoding: gzip", b"\x1f\x8b", "compressed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", b"zz\r\nx", "ended too soon"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 12", b"<html></html>"[:12], "web page"),
        (b"not http at all", b"", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200, b"", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, b"", "no HTTP"),
    ],
)
def test_a_server_that_lies_is_told_from_one_that_answers(tiny, head, body, reason):
    tiny.odd[shard(tiny)] = lambda handler: said(handler, head, body)
    with pytest.raises((EndpointFailed, InvalidInput)) as caught:
        model(f"hf:{REPO}")
    assert reason in str(caught.value)


def test_a_length_that_cannot_be_is_refused_unread(tiny):
    for length in (2**63, 2**40, 17 * 10**6):
        tiny.files[shard(tiny)] = struct.pack("<Q", length) + b"{" * 100
        assert refused(f"hf:{REPO}", InvalidInput).code == "CB-F012"


def test_documents_are_bounded(tiny):
    endless = b"HTTP/1.1 200 OK\r\n\r\n"
    tiny.odd[f"/{REPO}/resolve/main/config.json"] = lambda handler: handler.endless(endless, b" " * 2**20, 0)
    assert "larger than" in refused(f"hf:{REPO}").what
    assert tiny.sent_bytes < 50e6
    tiny.odd[f"/{REPO}/resolve/main/config.json"] = lambda handler: said(
        handler, b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999"
    )
    assert "larger than" in refused(f"hf:{REPO}").what


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-65535/900000\r\nContent-Length: 65536\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nX-Drip: ", b"y"),
        (b"", b""),
    ],
)
def test_a_server_that_drips_is_left_when_its_time_is_up(tiny, monkeypatch, head, piece):
    monkeypatch.setattr(fetch, "REQUEST_S", 0.3)
    tiny.odd[shard(tiny)] = lambda handler: handler.endless(head, piece, 0.05)
    start = time.monotonic()
    told = refused(f"hf:{REPO}")
    assert time.monotonic() - start < 2
    assert told.code == "CB-F041"
    assert "too long" in told.what


def test_a_connection_that_came_too_late_is_shut_down():
    ours, theirs = socket.socketpair()
    watch = fetch._Watch(0.0)
    watch._timer.join()
    watch.on(ours)
    assert theirs.recv(1) == b""
    ours.close()
    theirs.close()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"model_type": "llama"}'])
def test_a_config_that_is_none(tiny, body):
    tiny.put(REPO, "config.json", body)
    with pytest.raises((EndpointFailed, InvalidInput)) as caught:
        model(f"hf:{REPO}")
    assert caught.value.problems[0].code in ("CB-F017", "CB-F011")


def test_an_index_cannot_lead_elsewhere(tiny):
    for name in ("../../../etc/passwd", "https://evil/x.safetensors", "a/../b.safetensors", "x.bin"):
        tiny.put(REPO, "model.safetensors.index.json", json.dumps({"weight_map": {"a": name}}).encode())
        assert "weight_map" in refused(f"hf:{REPO}", InvalidInput).what
    many = {str(number): f"m{number}.safetensors" for number in range(3000)}
    tiny.put(REPO, "model.safetensors.index.json", json.dumps({"weight_map": many}).encode())
    assert refused(f"hf:{REPO}").code == "CB-F017"
