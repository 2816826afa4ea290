"""Real engines: two replicas of llama.cpp behind a real HAProxy, and their tools. Started once, ended for sure."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

HERE = Path(__file__).parent
CONFIG = """
global
  stats socket {socket} mode 600 level admin
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
  option http-server-close
  retries 2
  option redispatch
frontend front
  bind 127.0.0.1:{front}
  default_backend be
backend be
  balance leastconn
  option httpchk GET /health
  http-check expect status 200
  default-server inter 200ms fall 2 rise 2
  server s1 127.0.0.1:{first} check
  server s2 127.0.0.1:{second} check
"""


@dataclass(frozen=True)
class Replica:
    """One llama.cpp server: ``words`` name it for tend.py."""

    port: int
    pid_file: str
    log: str

    @property
    def words(self):
        return (str(self.port), self.pid_file, self.log)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Cluster:
    """``front`` is HAProxy's address; ``socket`` its admin socket."""

    front: int
    socket: str
    replicas: tuple[Replica, ...]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.front}"

    def tend(self, what, *replicas, named=()):
        """The command that does ``what`` to replicas."""
        words = [word for one in replicas for word in one.words]
        return (sys.executable, str(HERE / "tend.py"), what, *named, *words)


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


def haproxy():
    found = shutil.which("haproxy") or "/usr/sbin/haproxy"
    assert Path(found).exists(), "HAProxy isn't installed: make proxy"
    return found


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Two replicas with one thread each behind HAProxy, ready within a minute."""
    folder = tmp_path_factory.mktemp("engines")
    front, first, second = free_ports(3)
    replicas = tuple(
        Replica(port, str(folder / f"{port}.pid"), str(folder / f"{port}.log")) for port in (first, second)
    )
    made = Cluster(front, str(folder / "admin"), replicas)
    config = folder / "haproxy.cfg"
    config.write_text(CONFIG.format(socket=made.socket, front=front, first=first, second=second))
    subprocess.run(made.tend("start", *replicas), check=True, timeout=60)
    with (folder / "haproxy.log").open("wb") as log:
        proxy = subprocess.Popen([haproxy(), "-db", "-f", str(config)], stdout=log, stderr=log)
    try:
        for one in replicas:
            ready(one.url, one.log)
        ready(made.url, str(folder / "haproxy.log"))
        yield made
    finally:
        proxy.kill()
        proxy.wait()
        for one in replicas:
            ended(one.pid_file)


def ready(url, log, within_s=60.0):
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            with urlopen(f"{url}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except HTTPError as error:  # 503 while it loads
            error.close()
            time.sleep(0.05)
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"{url} not ready: {Path(log).read_text()[-2000:]}")


def ended(pid_file):
    """The process of a pid file is killed, whoever it is by now."""
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(Path(pid_file).read_text()), signal.SIGKILL)


ENGINES, VLLM = HERE.parents[2] / ".engines", HERE.parents[2] / ".vllm"
OFFLINE = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}  # fmt: skip


@dataclass(frozen=True)
class Served:
    """One engine that answers: its address, the model as it names it, its log."""

    url: str
    model: str
    log: str


def made(python, script, *words):
    """What a script writes when run with an engine's own Python."""
    assert python.exists(), f"{python} isn't there: make engines, make vllm"
    done = subprocess.run(
        [str(python), str(HERE / script), *words], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, **OFFLINE},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]


@contextlib.contextmanager
def serving(command, port, model, log, within_s):
    """An engine's server in a process group of its own, ended for sure."""
    with Path(log).open("wb") as file:
        engine = subprocess.Popen(
            command, stdout=file, stderr=file, env={**os.environ, **OFFLINE}, start_new_session=True
        )
    url = f"http://127.0.0.1:{port}"
    try:
        ready(url, log, within_s)
        yield Served(url, model, str(log))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()


@pytest.fixture(scope="session")
def transformers_serve(tmp_path_factory):
    """``transformers serve`` with a random Llama."""
    folder = tmp_path_factory.mktemp("transformers")
    model, (port,) = folder / "tiny", free_ports(1)
    made(ENGINES / "bin" / "python", "tiny_model.py", str(model))
    command = [
        str(ENGINES / "bin" / "transformers"),
        "serve",
        str(model),
        "--device",
        "cpu",
        "--port",
        str(port),
    ]
    with serving(command, port, str(model), folder / "log", 120.0) as served:
        yield served


@pytest.fixture(scope="session")
def vllm(tmp_path_factory):
    """vLLM on the CPU with a random Llama."""
    folder = tmp_path_factory.mktemp("vllm")
    model, (port,) = folder / "tiny", free_ports(1)
    made(VLLM / "bin" / "python", "tiny_model.py", str(model))
    command = [
        str(VLLM / "bin" / "vllm"), "serve", str(model), "--served-model-name", "tiny", "--host", "127.0.0.1",
        "--port", str(port), "--max-model-len", "1024", "--max-num-seqs", "8", "--dtype", "bfloat16",
        "--enforce-eager",
    ]  # fmt: skip
    with serving(command, port, "tiny", folder / "log", 400.0) as served:
        yield served
