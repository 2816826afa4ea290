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
