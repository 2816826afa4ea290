"""A benchmark whose requests all come to nothing says so and ends as a failed endpoint does."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from cabida.bench.planned import plan_yaml
from cabida.faces.cli import cli
from cabida.plan.bench import BenchPlan, Contender, Load, Run, Target


class Refusing(BaseHTTPRequestHandler):
    """Lists its model, answers whoever looks first, and then nobody."""

    answered = 0

    def do_GET(self):
        self._say(200, {"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        type(self).answered += 1
        if type(self).answered > 1:
            self._say(500, {"error": {"message": "no room on the card"}})
            return
        text = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "length"}
        usage = {"prompt_tokens": 3, "completion_tokens": 1}
        self._say(200, {"id": "1", "object": "chat.completion", "choices": [text], "usage": usage})

    def _say(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *said):
        pass


@pytest.fixture
def refusing():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_nothing_answered_is_no_success(refusing, tmp_path):
    here = Contender("here", Target(refusing, "m", stream=False))
    runs = (Run("closed", "load", "here", Load("closed", concurrency=2, requests_count=6)),)
    file = tmp_path / "plan.yaml"
    file.write_text(plan_yaml(BenchPlan("tried", (here,), runs)), encoding="utf-8")
    command = ["bench", "run", str(file), "--out", str(tmp_path / "run"), "--store", str(tmp_path / "s.db")]
    done = CliRunner().invoke(cli, [*command, "--json"])
    assert done.exit_code == 5, done.output
    (told,) = json.loads(done.stdout)["problems"]
    assert told["code"] == "CB-N030"
    assert "6" in told["what"]
    assert "no room on the card" in told["why"]
