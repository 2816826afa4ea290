"""Lines that HAProxy and nginx themselves write are read whole."""

import http.client
import http.server
import shutil
import socket
import subprocess
import threading
import time

import pytest

from cabida import traffic

HAPROXY_COMMAND = shutil.which("haproxy") or "/usr/sbin/haproxy"
HAPROXY = """\
global
    log stdout format raw local0
defaults
    mode http
    log global
    option httplog
    timeout connect 2s
    timeout client 2s
    timeout server 2s
frontend in
    bind 127.0.0.1:{port}
    default_backend pool
backend pool
    server s1 127.0.0.1:{behind}
"""
NGINX = """\
daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
    log_format timed '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
                     '"$http_referer" "$http_user_agent" rt=$request_time urt="$upstream_response_time"';
    log_format js escape=json '{{"time_iso8601":"$time_iso8601","status":"$status","request_time":"$request_time",'
                              '"request_method":"$request_method","request_uri":"$request_uri"}}';
    access_log {folder}/combined.log combined;
    access_log {folder}/timed.log timed;
    access_log {folder}/json.log js;
    client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{behind}; }} }}
}}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def behind():
    """A server that answers 200, or 429 below /busy, after a moment."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            time.sleep(0.05)
            busy = self.headers.get("user-agent", "").startswith("busy")
            self.send_response(429 if busy else 200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def asked(port):
    """Seven requests: five to a model, of which two are refused, and two others."""
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
    paths = [
        "/v1/chat/completions",
        "/v1/completions?x=1",
        "/v1/embeddings",
        "/v1/chat/completions",
        "/generate",
    ]
    for place, path in enumerate([*paths, "/health", "/metrics?a=b"]):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        agent = 'busy "x" rt=9.999 1.234' if place in (1, 3) else "plain"
        connection.request("POST" if place < 5 else "GET", path, b"{}", {"user-agent": agent})
        connection.getresponse().read()
        connection.close()


def test_haproxy(tmp_path, behind):
    port = free_port()
    config, log = tmp_path / "haproxy.cfg", tmp_path / "log"
    config.write_text(HAPROXY.format(port=port, behind=behind))
    with (
        log.open("wb") as out,
        subprocess.Popen([HAPROXY_COMMAND, "-db", "-f", str(config)], stdout=out, stderr=out) as process,
    ):
        try:
            asked(port)
            until = time.monotonic() + 20
            while b"/metrics" not in log.read_bytes() and time.monotonic() < until:
                time.sleep(0.02)  # what was answered last may not be written yet
        finally:
            process.terminate()
    checked(traffic([log]), "haproxy", timed=True)


@pytest.mark.long
def test_nginx(tmp_path, behind):
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, port=port, behind=behind))
    with subprocess.Popen(
        ["nginx", "-c", str(config), "-p", str(tmp_path)], stderr=subprocess.DEVNULL
    ) as process:
        try:
            asked(port)
        finally:
            process.terminate()
    checked(traffic([tmp_path / "combined.log"]), "nginx", timed=False)
    checked(traffic([tmp_path / "timed.log"]), "nginx", timed=True)
    checked(traffic([tmp_path / "json.log"]), "access", timed=True)


def checked(answer, format_, *, timed):
    [source], [one] = answer["files"], answer["traffic"]
    assert (source["format"], source["malformed_count"]) == (format_, 0)
    assert source["others"] == {"/health": 1, "/metrics": 1}
    assert one["requests_count"] == 5
    assert one["ends"]["limited_ratio"] == pytest.approx(2 / 5)
    if timed:
        assert 0.04 <= one["duration_s"]["mean"] < 5  # not what a user agent says
    else:
        assert one["duration_s"] is None
