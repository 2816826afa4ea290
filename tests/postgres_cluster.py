"""A PostgreSQL of one's own for tests: a cluster in a temporary folder, stopped and removed in the end."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

USER, PASSWORD = "cabida", "s3cret/p@ss"
QUICK = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


def programs():
    """The folder of initdb and pg_ctl."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: -int(one.parent.name))
    assert folders, "tests of the shared store need PostgreSQL (initdb, pg_ctl): apt-get install postgresql"
    return folders[0]


def free_port():
    with contextlib.closing(socket.socket()) as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def as_nobody():
    """Words before a command, so that PostgreSQL, which refuses root, runs as somebody else; and who that is."""
    if os.geteuid() != 0:
        return [], None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            who = pwd.getpwnam(name)
            return ["setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups"], who
    raise AssertionError("no user postgres or nobody")


# What ends the server when the tests are killed before they can: its standard input ends with them.
WATCH = """cat > /dev/null; kill -QUIT "$(head -n 1 "$0/data/postmaster.pid")"; sleep 1; rm -rf "$0" """


class Cluster:
    """A server on 127.0.0.1 that asks for a password."""

    def __init__(self, settings=QUICK):
        self.before, who = as_nobody()
        self.programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="cabida-postgres-"))
        self.port = free_port()
        self.watch = subprocess.Popen(
            ["sh", "-c", WATCH, str(self.folder)],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if who:
            os.chown(self.folder, who.pw_uid, who.pw_gid)
            os.chown(secret, who.pw_uid, who.pw_gid)
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "-A", "scram-sha-256",
                  f"--pwfile={secret}", "--no-sync")  # fmt: skip
        said = {"listen_addresses": "'127.0.0.1'", "unix_socket_directories": "''", "max_connections": "300",
                "lc_messages": "'C'"} | settings  # fmt: skip
        with subprocess.Popen([*self.before, "tee", "-a", str(self.data / "postgresql.conf")], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as tee:  # fmt: skip
            tee.communicate("".join(f"{name} = {value}\n" for name, value in said.items()).encode())
        self.start()

    def _run(self, name, *words):
        words = [*self.before, str(self.programs / name), *map(str, words)]
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}
        done = subprocess.run(words, env=env, cwd=self.folder, text=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        assert done.returncode == 0, f"{name}: {done.stdout}\n{self.log()}"

    def log(self):
        with contextlib.suppress(OSError):
            return (self.folder / "log").read_text()[-3000:]
        return ""

    def start(self):
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "60", "-o", f"-p {self.port}",
                  "start")  # fmt: skip

    def stop(self, how="immediate"):
        self._run("pg_ctl", "-D", self.data, "-m", how, "-w", "-t", "60", "stop")

    def remove(self):
        with contextlib.suppress(AssertionError):
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.watch.kill()
        self.watch.communicate()

    def kill(self):
        """End the server as a power cut would: its first process by SIGKILL, and wait until all are gone."""
        first = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(first, signal.SIGKILL)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, 0)
                time.sleep(0.02)
                continue
            break

    def url(self, database="postgres", user=USER, password=PASSWORD):
        from urllib.parse import quote

        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def make(self, name, encoding="UTF8"):
        """A fresh, empty database; its address."""
        locale = " LC_COLLATE 'C' LC_CTYPE 'C'" if encoding != "UTF8" else ""
        self.order(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}'{locale}")
        return self.url(name)

    def drop(self, name):
        self.order(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def order(self, sql, database="postgres"):
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as opened:
            return (
                opened.execute(sql).fetchall()
                if sql.lstrip()[:6].upper() == "SELECT"
                else opened.execute(sql)
            )
