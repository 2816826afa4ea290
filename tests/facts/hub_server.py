"""A hub on this machine for tests: files by range, and the ways in which servers misbehave."""

import json
import re
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cabida.errors import EndpointFailed
from cabida.facts.models import model

SECRET = "hf_notforothers"
REPO = "maker/tiny"
CONFIG = {
    "model_type": "llama",
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": 100,
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Serves ``files`` (path to bytes); ``odd`` maps a path to what to do with its handler instead."""

    daemon_threads = True

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.odd, self.asked, self.sent_bytes = dict(files), {}, [], 0
        self.ranges, self.commit, self.stop = True, COMMIT, threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Clients that hang up are what these tests are about."""

    def put(self, repo, name, body, revision="main"):
        for at in {revision, COMMIT}:
            self.files[f"/{repo}/resolve/{at}/{name}"] = body

    def list(self, repo, names):
        body = json.dumps({"sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}).encode()
        for at in ("main", COMMIT):
            self.files[f"/api/models/{repo}/revision/{at}"] = body

    def paths(self):
        return [path for path, _ in self.asked]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        hub = self.server
        path = self.path.partition("?")[0]
        hub.asked.append((path, dict(self.headers)))
        odd = hub.odd.get(path)
        if odd is not None:
            odd(self)
        elif path in hub.files:
            self.give(hub.files[path])
        else:
            self.refuse(404)

    def refuse(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def give(self, body):
        hub = self.server
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        self.send_response(206 if wanted and hub.ranges else 200)
        if hub.commit:
            self.send_header("X-Repo-Commit", hub.commit)
        if wanted and hub.ranges:
            first, last = int(wanted[1]), min(int(wanted[2]), len(body) - 1)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
            body = body[first : last + 1]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for at in range(0, len(body), 2**16):
            self.wfile.write(body[at : at + 2**16])
            hub.sent_bytes += len(body[at : at + 2**16])

    def endless(self, head, piece, pause_s):
        """Send a head, then the same piece again and again until the client goes or the test ends."""
        self.close_connection = True
        self.wfile.write(head)
        try:
            while not self.server.stop.wait(pause_s):
                self.wfile.write(piece)
                self.wfile.flush()
                self.server.sent_bytes += len(piece)
        except OSError:
            pass


@contextmanager
def serving(files=()):
    """A running hub."""
    hub = Hub(files)
    thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.stop.set()
        hub.shutdown()
        hub.server_close()
        thread.join(5)


def closed_port():
    """The address of a port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def refused(ref, kind=EndpointFailed):
    with pytest.raises(kind) as caught:
        model(ref)
    (told,) = caught.value.problems
    assert told.cure
    assert SECRET not in str(told)
    return told
