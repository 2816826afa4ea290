"""A real server as a process, and what a page of it holds."""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

HOME = "http://127.0.0.1:8765"


def csrf_of(client, path="/people"):
    """The token of forms that a page holds."""
    return re.search(r'"X-CSRF-Token": "([\w-]+)"', client.get(path).text)[1]


def start(store, *options, **environment):
    """``cabida serve`` as a process: what it says of itself, with ``process``."""
    words = [sys.executable, "-m", "cabida", "serve", "--port", "0", "--workers", "1", "--json", *options]
    data = {"CABIDA_STORE": str(store), "XDG_DATA_HOME": str(store.parent / "data"), "OMP_NUM_THREADS": "1"}
    log = (store.parent / "server.log").open("w")
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | data | environment
    )
    told = ""
    for line in process.stdout:
        told += line
        if line.rstrip() == "}":
            break
    log.close()
    assert told, (store.parent / "server.log").read_text()
    said = json.loads(told)
    return SimpleNamespace(
        url=said["url"].rstrip("/"), store=store, process=process, log=store.parent / "server.log"
    )


def stop(server):
    """End it, and wait until it has."""
    server.process.terminate()
    try:
        return server.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        server.process.kill()
        raise
    finally:
        server.process.stdout.close()
