"""What whoever runs the server watches, and how it starts and ends; with real processes where that is the question."""

import json
import logging
import re
import socket
import threading
import time
import urllib.request

import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families
from web_server import start, stop

from cabida.evidence import shelf
from cabida.faces.cli import cli
from cabida.faces.web import ops
from cabida.faces.web.settings import Settings


def counted(client):
    found = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for one in family.samples:
            found[one.name, *(f"{name}={value}" for name, value in sorted(one.labels.items()))] = one.value
    return found


def test_a_server_that_lives_says_so_and_one_that_is_ready_too(client):
    assert client.get("/healthz", headers={"Host": "10.0.0.7"}).json() == {"alive": True}
    ready = client.get("/readyz", headers={"Host": "10.0.0.7"})
    assert (ready.status_code, ready.json()["ready"]) == (200, True)
    client.app.state.jobs.stop_taking()
    stopping = client.get("/readyz")
    assert (stopping.status_code, stopping.json()["stopping"]) == (503, True)
    assert client.get("/healthz").status_code == 200


def test_a_store_that_can_t_be_read_is_not_ready(client, web_store):
    from cabida.evidence import connect

    connect.close(web_store)
    web_store.write_bytes(b"this is no database, it only stands where one was" * 50)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert re.fullmatch(r"CB-E\d{3}", answer.json()["store"])
    assert client.get("/healthz").status_code == 200
    page = client.get("/")
    assert page.status_code == 422
    assert "Traceback" not in page.text


def test_requests_jobs_and_the_store_are_counted(client, monkeypatch):
    from cabida.faces.web import doing
    from cabida.faces.web.access import Person

    monkeypatch.setattr(doing, "DOINGS", {"quick": lambda asked, tell: {}})
    client.get("/log")
    client.get("/nowhere/secret-thing")
    client.get("/catalogue/gpus/some-card")
    job = client.app.state.jobs.submit("quick", {}, Person("María", "editor"))
    client.get(f"/api/jobs/{job.id}/events")
    found = counted(client)
    assert found["cabida_requests_total", "method=GET", "route=/log", "status=200"] == 1
    assert found["cabida_requests_total", "method=GET", "route=-", "status=404"] == 1
    assert found["cabida_jobs_total", "kind=quick", "state=done"] == 1
    assert found["cabida_job_seconds_count", "kind=quick"] == 1
    assert found["cabida_request_seconds_count", "route=/log"] == 1
    assert found[("cabida_jobs_waiting",)] == found[("cabida_jobs_running",)] == 0
    assert found[("cabida_store_seconds_count",)] >= 1
    assert "secret-thing" not in client.get("/metrics").text


def test_many_addresses_make_no_more_counts(client):
    for n in range(30):
        client.get(f"/nowhere/{n}")
        client.get(f"/jobs/j-{n}")
    routes = {one for key in counted(client) for one in key if one.startswith("route=")}
    assert {"route=-", "route=/jobs/{id}"} <= routes
    assert len(routes) < 8


def test_each_request_leaves_one_line_without_what_was_asked(client, caplog, team_of):
    caplog.set_level("INFO", "cabida.requests")
    other = team_of("reader")
    caplog.clear()
    other.get("/people?secret=hush", headers={"X-Request-Id": "from-proxy-1"})
    (line,) = (one for one in caplog.records if one.name == "cabida.requests")
    told = json.loads(ops.OneLine().format(line))
    assert {name: told[name] for name in ("request", "person", "method", "route", "status")} == {
        "request": "from-proxy-1", "person": "a reader", "method": "GET", "route": "/people", "status": 200,
    }  # fmt: skip
    assert told["ms"] > 0
    assert told["bytes"] > 500
    assert "hush" not in json.dumps(told)
    assert other.secret not in json.dumps(told)


@pytest.mark.parametrize("said", ["a b", "x" * 100, '"}', "é"])
def test_a_request_s_number_is_not_what_anybody_likes(client, said):
    found = client.get("/healthz", headers={"X-Request-Id": said.encode("latin-1")}).headers["x-request-id"]
    assert re.fullmatch(r"[0-9a-f]{16}", found)


def test_what_goes_wrong_is_logged_whole_and_told_short(client, caplog, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("deep inside")

    monkeypatch.setattr("cabida.evidence.shelf.kept_decisions", broken)
    answer = client.get("/")
    (record,) = (one for one in caplog.records if one.name == "cabida.web")
    told = json.loads(ops.OneLine().format(record))
    assert "deep inside" in told["trace"]
    assert told["request"] == answer.headers["x-request-id"]
    assert logging.getLogger("cabida.web").name == told["from"]


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["--behind", "cabida.example.org"], "CB-S031", 2),
        (["--behind", "https://user@x.example"], "CB-S031", 2),
        (["--behind", "https://x.example/path"], "CB-S031", 2),
        (["--behind", "http://x.example:99999"], "CB-S031", 2),
        (["--host", "0.0.0.0"], "CB-S032", 3),
        (["--behind", "https://x.example"], "CB-S032", 3),
        (["--host", "203.0.113.77", "--new-token", ""], "--new-token", 2),
        (["--as-of", "2026-01-01"], "CB-U002", 2),
        (["--new-token", "x" * 500], "CB-E22", 3),
    ],
)
def test_what_can_t_be_served_is_refused_before_anything_starts(web_store, words, code, exit_code):
    told = CliRunner().invoke(cli, ["serve", "--port", "0", *words])
    assert told.exit_code == exit_code
    assert code in told.output
    assert "Traceback" not in told.output


def test_the_first_token_is_made_on_the_command_line(web_store):
    told = CliRunner().invoke(cli, ["serve", "--new-token", "Eva", "--role", "editor", "--days", "7"])
    assert told.exit_code == 0
    secret = told.stdout.strip()
    found = shelf.token_of(secret)
    assert (found.name, found.role) == ("Eva", "editor")
    as_json = json.loads(CliRunner().invoke(cli, ["serve", "--new-token", "Leo", "--json"]).stdout)
    assert (as_json["role"], shelf.token_of(as_json["token"]).name) == ("reader", "Leo")


def test_a_port_that_is_taken_is_told(web_store):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = CliRunner().invoke(cli, ["serve", "--port", str(taken.getsockname()[1])])
    assert (told.exit_code, "CB-S033" in told.output) == (3, True)


def test_settings_say_who_may_come():
    assert Settings().open_to_loopback_only
    assert Settings(host="::1").open_to_loopback_only
    for other in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""):
        assert not Settings(host=other).open_to_loopback_only, other
    assert not Settings(behind="https://x.example").open_to_loopback_only
    assert Settings(workers=3).workers_count == 3
    assert Settings().workers_count >= 1


def sent(url, data, wait_s=5.0):
    """What a server answers to raw bytes; "" when it hangs up."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=wait_s) as line:
        try:
            line.sendall(data)
            return line.recv(65_536).decode("latin-1")
        except (ConnectionError, BrokenPipeError):
            return ""


def test_a_real_server_keeps_its_manners(served):
    """Broken requests, endless headers, pipelining: each gets its answer and the server lives on."""
    host = f"Host: {served.url.removeprefix('http://')}\r\n"

    def said(head, name="/healthz", kind="GET"):
        return sent(served.url, f"{kind} {name} HTTP/1.1\r\n{host}{head}\r\n".encode())

    assert sent(served.url, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").startswith("HTTP/1.1 403")
    assert sent(served.url, b"nonsense\r\n\r\n").startswith("HTTP/1.1 400")
    assert said(f"X: {'x' * 40_000}\r\n").startswith("HTTP/1.1 431")
    assert sent(served.url, b"GET / HTTP/1.1\r\nX: " + b"x" * 400_000) == ""
    assert sent(served.url, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 60_000) == ""
    asked = f"GET /healthz HTTP/1.1\r\n{host}\r\n".encode()
    assert sent(served.url, asked * 3).startswith("HTTP/1.1 200")
    smuggled = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n"
    assert said(smuggled, "/login", "POST").startswith("HTTP/1.1 4")
    assert said("Upgrade: websocket\r\nConnection: upgrade\r\n").startswith("HTTP/1.1 200")
    with urllib.request.urlopen(f"{served.url}/healthz") as answer:
        assert answer.headers["server"] is None
        assert json.load(answer) == {"alive": True}


def test_a_real_server_stops_when_told_and_lets_who_watches_go(tmp_path):
    """SIGTERM while an event stream is open: the stream ends, so does the process, and its worker with it."""
    server = start(tmp_path / "own.db", "--log-json")
    asked = urllib.request.Request(
        f"{server.url}/api/v1/recommend", json.dumps({"brief": (EXAMPLE), "assume": True}).encode(),
        {"Content-Type": "application/json"}, method="POST",
    )  # fmt: skip
    with urllib.request.urlopen(asked) as answer:
        id = json.load(answer)["id"]
    seen = []

    def watch():
        with urllib.request.urlopen(f"{server.url}/api/jobs/{id}/events", timeout=30) as stream:
            seen.extend(stream)
        seen.append("ended")

    watcher = threading.Thread(target=watch)
    watcher.start()
    time.sleep(0.3)
    began = time.monotonic()
    assert stop(server) == 0
    assert time.monotonic() - began < 25
    watcher.join(5)
    assert seen[-1] == "ended"
    job = shelf.job(id, store=server.store)
    assert job.state in ("done", "interrupted")
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert {"/api/v1/recommend", "/api/jobs/{id}/events"} <= {one.get("route") for one in lines}
    assert all("support-chat" not in json.dumps(one) for one in lines)


EXAMPLE = "name: support-chat\nworkload: realtime-inference\n"
