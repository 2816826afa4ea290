"""What an operator does to replicas, as commands of drills: each works on PORT PID_FILE LOG of one or more.

start, stop, kill; restart (kill all, start all after a second); bad (a deployment that answers HTTP and not the API);
good (the real one again); maintain SOCKET SERVER (drain, then stop); back SOCKET SERVER (start, then ready).
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

HERE = Path(__file__).parent
BAD = (
    "import http.server, os, sys\n"
    "open(sys.argv[2], 'w').write(str(os.getpid()))\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self): self.send_error(501)\n"
    "    do_POST = do_GET\n"
    "    def log_message(self, *a): pass\n"
    "http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()\n"
)


def start(port, pid_file, log, program=(str(HERE / "llama_server.py"),)):
    subprocess.Popen(
        [sys.executable, *program, port, pid_file, log],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ).returncode = 0  # it is left to itself  # fmt: skip


def end(pid_file, which):
    try:
        pid = int(Path(pid_file).read_text())
        os.kill(pid, which)
    except (OSError, ValueError):
        return
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.01)


def wait_ready(port, within_s=60.0):
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except HTTPError as error:
            error.close()
            time.sleep(0.05)
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{port} not ready")


def main(what, *words):
    named, words = (words[:2], words[2:]) if what in ("maintain", "back") else ((), words)
    replicas = [words[at : at + 3] for at in range(0, len(words), 3)]
    if what == "maintain":
        from cabida.bench.drills.haproxy import drained

        if asyncio.run(drained(*named, 30.0)) is None:
            raise SystemExit("not drained")
    if what in ("stop", "maintain", "kill", "restart", "bad", "good"):
        for _, pid_file, _ in replicas:
            end(pid_file, signal.SIGTERM if what in ("stop", "maintain") else signal.SIGKILL)
    if what == "restart":
        time.sleep(1.0)
    if what == "bad":
        for one in replicas:
            start(*one, program=("-c", BAD))
    if what in ("start", "restart", "good", "back"):
        for one in replicas:
            start(*one)
    if what == "back":
        from cabida.bench.drills.haproxy import put

        for port, _, _ in replicas:
            wait_ready(port)
        asyncio.run(put(*named, "ready"))


if __name__ == "__main__":
    main(*sys.argv[1:])
