"""Many people at one server: readers, people who decide, people who change the same briefs; what it showed is told.

By hand, beside the tests: ``python tests/web/web_load.py sqlite|postgresql SECONDS``.
"""

import asyncio
import contextlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BRIEF = (ROOT / "examples/chat-llama-70b.yaml").read_text(encoding="utf-8")
GOLDEN = (ROOT / "tests/report/golden/decision.en.json").read_text(encoding="utf-8")
AS_OF = "2026-11-30"
PATIENCE_S = 60.0  # with one answer; a longer one is an error
JOB_S = 280.0  # with one decision among twenty
PLACES = (
    "/", "/briefs", "/briefs/new", "/decisions", "/quotes", "/catalogue/gpus", "/catalogue/models",
    "/catalogue/prices", "/log", "/api/v1/decisions", "/api/v1/briefs", "/api/v1/jobs",
    "/decisions/{id}", "/decisions/{id}", "/decisions/{id}/options/1", "/decisions/{id}/options/2",
    "/decisions/{id}/record.md", "/decisions/{id}/record.json", "/api/v1/decisions/{id}",
)  # fmt: skip
_marks = itertools.count(1)


class Asker:
    """One connection, kept open, as a browser or a program keeps it."""

    def __init__(self, port, token):
        self.port, self.token, self.streams = port, token, None

    async def ask(self, method, path, body=None, headers=()):
        """Status, headers and body of the answer; a connection that the server had closed is opened again."""
        for again in (True, False):
            fresh = self.streams is None
            if fresh:
                self.streams = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                return await asyncio.wait_for(self._once(method, path, body, headers), PATIENCE_S)
            except (ConnectionError, asyncio.IncompleteReadError):
                self.close()
                if fresh or method != "GET" or not again:  # an idle connection may be closed; a used one not
                    raise
            except BaseException:
                self.close()
                raise
        raise AssertionError

    async def _once(self, method, path, body, headers):
        reader, writer = self.streams
        data = b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {self.token}",
            *headers,
        ]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        named = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            named[name.strip().lower()] = value.strip()
        found = b""
        if named.get("transfer-encoding") == "chunked":
            while size := int(await reader.readuntil(b"\r\n"), 16):
                found += await reader.readexactly(size)
                await reader.readexactly(2)
            await reader.readexactly(2)
        elif length := int(named.get("content-length", 0)):
            found = await reader.readexactly(length)
        if named.get("connection") == "close":
            self.close()
        return int(head[0].split(" ")[1]), named, found

    def close(self):
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


@dataclass
class Seen:
    """What the load saw."""

    began_s: float = field(default_factory=time.monotonic)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter = field(default_factory=Counter)
    kept: dict[tuple[str, int], str] = field(default_factory=dict)  # brief, version -> what its text holds
    conflicts: int = 0
    decisions: list[str] = field(default_factory=list)
    jobs: Counter = field(default_factory=Counter)
    job_seconds: list[float] = field(default_factory=list)
    memory: list[tuple[float, dict[int, int]]] = field(default_factory=list)  # seconds, process -> KiB

    def took(self, what, seconds):
        self.seconds.setdefault(what, []).append(seconds)

    def wrong(self, what, why):
        self.errors[f"{what}: {why}"] += 1


async def reading(port, token, seen, until_s, think_s, ready):
    """A reader: a page or an answer, a look at it, the next."""
    asker = Asker(port, token)
    await asyncio.sleep(ready.uniform(0, think_s))
    while time.monotonic() < until_s:
        what = ready.choice(PLACES)
        near = seen.decisions[-3:] if ready.random() < 0.5 else seen.decisions
        path = what.format(id=ready.choice(near))
        begun = time.monotonic()
        try:
            status, _, body = await asker.ask("GET", path)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            seen.wrong(what, type(error).__name__)
        else:
            seen.took(what, time.monotonic() - begun)
            if status != 200 or len(body) < 20:
                seen.wrong(what, f"{status} {body[:200]!r}")
        await asyncio.sleep(ready.uniform(0.5, 1.5) * think_s)
    asker.close()


async def deciding(port, token, seen, until_s, number):
    """Somebody who asks for a decision, follows it, opens its page, and asks for the next."""
    asker, count = Asker(port, token), 0
    while time.monotonic() < until_s:
        count += 1
        begun = time.monotonic()
        asked = {"brief": BRIEF, "assume": True, "as_of": AS_OF, "name": f"brief {number}", "seed": count}
        key = f"Idempotency-Key: {number}-{count}-{time.time_ns()}"
        try:
            status, _, body = await asker.ask("POST", "/api/v1/recommend", asked, [key])
            if status != 202:
                seen.wrong("recommend", f"{status} {body[:200]!r}")
                await asyncio.sleep(1.0)
                continue
            job = json.loads(body)
            while job["state"] in ("waiting", "running") and time.monotonic() - begun < JOB_S:
                await asyncio.sleep(1.0)
                status, _, body = await asker.ask("GET", f"/api/v1/jobs/{job['id']}")
                if status != 200:
                    seen.wrong("a job", f"{status} {body[:200]!r}")
                    continue
                job = json.loads(body)
            seen.jobs[job["state"]] += 1
            if job["state"] != "done":
                seen.wrong("a job", f"{job['state']} {job['errors']}")
                continue
            status, _, body = await asker.ask("GET", f"/decisions/{job['result']['decision']}")
            if status != 200:
                seen.wrong("a new decision", f"{status} {body[:200]!r}")
            seen.job_seconds.append(time.monotonic() - begun)
            seen.decisions.append(job["result"]["decision"])
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            seen.wrong("recommend", type(error).__name__)
    asker.close()


async def writing(port, token, seen, until_s, number, briefs, ready, pause_s=0.2):
    """Somebody who changes briefs that others change too; what the server said is kept is written down."""
    asker = Asker(port, token)
    with contextlib.closing(asker):
        while time.monotonic() < until_s:
            id = ready.choice(briefs)
            mark = f"# {number}-{next(_marks)}"  # of its own: what is as it was makes no version
            try:
                status, head, body = await asker.ask("GET", f"/api/v1/briefs/{id}")
                if status != 200:
                    seen.wrong("a brief", f"{status} {body[:200]!r}")
                    continue
                await asyncio.sleep(ready.uniform(0, pause_s))
                text = {"text": f"{BRIEF}\n{mark}\n"}
                begun = time.monotonic()
                status, _, body = await asker.ask(
                    "PUT", f"/api/v1/briefs/{id}", text, [f"If-Match: {head['etag']}"]
                )
                seen.took("change a brief", time.monotonic() - begun)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                seen.wrong("change a brief", type(error).__name__)
                continue
            if status == 200:
                place = (id, json.loads(body)["version"])
                if place in seen.kept:
                    seen.wrong(
                        "change a brief",
                        f"version {place[1]} was given to two: {seen.kept[place]} and {mark}",
                    )
                seen.kept[place] = mark
            elif status == 412:
                seen.conflicts += 1
            else:
                seen.wrong("change a brief", f"{status} {body[:200]!r}")
            await asyncio.sleep(ready.uniform(0, 2 * pause_s))


def memory_kib(pid):
    """Resident memory of a process and of those it started: process -> KiB."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            told = dict(
                line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line
            )
            if int(folder.name) == pid or int(told["PPid"]) == pid:
                found[int(folder.name)] = int(told["VmRSS"].split()[0])
    return found


async def _watching(pid, seen, until_s):
    while time.monotonic() < until_s:
        seen.memory.append((time.monotonic() - seen.began_s, memory_kib(pid)))
        await asyncio.sleep(1.0)


async def _all(ports, pid, tokens, seconds, readers, deciders, writers, think_s):
    seen = Seen()
    first = Asker(ports[0], tokens[0])
    for _ in range(3):
        status, _, body = await first.ask("POST", "/api/v1/decisions", {"decision": json.loads(GOLDEN)})
        assert status == 201, body
        seen.decisions.append(json.loads(body)["id"])
    briefs = []
    for number in range(4):
        status, _, body = await first.ask(
            "POST", "/api/v1/briefs", {"name": f"shared {number}", "text": BRIEF}
        )
        assert status == 201, body
        briefs.append(json.loads(body)["id"])
    first.close()
    seen.began_s = time.monotonic()
    until_s = seen.began_s + seconds

    def place(number):
        return ports[number % len(ports)], tokens[number % len(tokens)]

    await asyncio.gather(
        *(reading(*place(one), seen, until_s, think_s, random.Random(one)) for one in range(readers)),
        *(deciding(*place(one), seen, until_s, one) for one in range(deciders)),
        *(writing(*place(one), seen, until_s, one, briefs, random.Random(-one)) for one in range(writers)),
        _watching(pid, seen, until_s),
    )
    return seen, briefs


def load(ports, pid, tokens, seconds, *, readers, deciders, writers=8, think_s=4.0):
    """Everybody at once for so many seconds; what was seen, and the briefs that several changed."""
    if isinstance(ports, int):
        ports = [ports]
    return asyncio.run(_all(ports, pid, tokens, seconds, readers, deciders, writers, think_s))


def growth_kib(memory, pid):
    """How much more a process held in the last quarter than in the second one, and the most it held."""
    held = [kib[pid] for _, kib in memory if pid in kib]
    quarter = max(1, len(held) // 4)
    return statistics.median(held[-quarter:]) - statistics.median(held[quarter : 2 * quarter]), max(held)


def sound(store, seen, briefs, unsaid=0):
    """Hold what is in the store against what the server said it keeps: nothing lost, no version twice, log whole.

    ``unsaid``: so many changes at most may be there whose answer was cut off.
    """
    from cabida.evidence import checking, shelf

    assert checking.check(store)["wrong"] == []
    check = shelf.check_audit(store=store)
    assert check.broken_at is None, check
    for (id, version), mark in seen.kept.items():
        assert shelf.brief(id, version, store=store).text.rstrip().endswith(mark), (id, version, mark)
    for id in briefs:
        versions = sorted(one.version for one in shelf.brief_versions(id, store=store))
        assert versions == list(range(1, len(versions) + 1))
        unsaid -= len(versions) - 1 - sum(1 for one, _ in seen.kept if one == id)
        lines, after = 0, ""
        while True:
            page = shelf.audit_log(of=id, after=after, most=500, store=store)
            lines += sum(1 for one in page.items if one.what == "changed")
            if not (after := page.next):
                break
        assert lines == len(versions) - 1
    assert unsaid >= 0, "changes are there that nobody was told of"
    for id in seen.decisions:
        assert json.loads(shelf.decision_text(id, store=store))["options"]


def told(seen, pid):
    """The figures."""
    asked = sorted(
        second for what, every in seen.seconds.items() for second in every if what != "change a brief"
    )
    changed = sorted(seen.seconds.get("change a brief", [0.0]))
    jobs = sorted(seen.job_seconds) or [0.0]

    def at(values, share):
        return round(values[min(len(values) - 1, int(share * len(values)))], 3)

    growths = {
        str(one): growth_kib(seen.memory, one) for one in seen.memory[-1][1] if one in seen.memory[0][1]
    }
    slowest = {
        what: (at(sorted(every), 0.5), at(sorted(every), 0.95)) for what, every in seen.seconds.items()
    }
    return {
        "answers": len(asked), "answers_p50_s": at(asked, 0.5), "answers_p95_s": at(asked, 0.95),
        "longest_s": round(asked[-1], 3), "changes": len(seen.kept), "conflicts": seen.conflicts,
        "changes_p50_s": at(changed, 0.5), "changes_p95_s": at(changed, 0.95), "jobs": dict(seen.jobs),
        "job_p50_s": at(jobs, 0.5), "job_p95_s": at(jobs, 0.95), "errors": dict(seen.errors),
        "server_mib": {"grew": round(growths[str(pid)][0] / 1024, 1), "most": growths[str(pid)][1] // 1024},
        "workers_mib": [
            {"grew": round(grew / 1024, 1), "most": most // 1024}
            for one, (grew, most) in growths.items() if one != str(pid)
        ],
        "p50_p95_s": slowest,
    }  # fmt: skip


def until_ready(port, most_s=90.0):
    """Wait until a server's workers are warm."""
    until_s = time.monotonic() + most_s
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            assert time.monotonic() < until_s, "no worker is warm"
            time.sleep(0.2)


def serving(store, folder, *options, workers=2):
    """``cabida serve`` for a team as a process of its own: process, port."""
    from postgres_cluster import free_port

    port = free_port()
    words = [sys.executable, "-m", "cabida", "serve", "--port", str(port), "--workers", str(workers), "--json",
             "--behind", "http://cabida.example", "--requests-per-minute", "1000000", *options]  # fmt: skip
    data = {"CABIDA_STORE": str(store), "XDG_DATA_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    with (Path(folder) / f"server-{port}.log").open("w") as log:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | data
        )
    said = ""
    for line in process.stdout:
        said += line
        if line.rstrip() == "}":
            break
    assert "url" in json.loads(said or "{}"), (said, (Path(folder) / f"server-{port}.log").read_text())
    return process, port


def team(store, count=28):
    """Secrets of so many editors of a store."""
    from cabida.evidence import shelf

    return [shelf.new_token(f"person {one}", "editor", days=1, store=store)[1] for one in range(count)]


def ended(process, most_s=40.0):
    """End a server and wait until it has."""
    process.terminate()
    try:
        return process.wait(timeout=most_s)
    finally:
        process.kill()
        process.stdout.close()


def main(database, seconds):
    """By hand."""
    import tempfile

    sys.path.append(str(ROOT / "tests"))
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as last:
        os.environ["XDG_DATA_HOME"] = folder
        if database == "postgresql":
            from postgres_cluster import Cluster

            cluster = Cluster({"fsync": "on", "synchronous_commit": "on"})
            last.callback(cluster.remove)
            store, many = cluster.make("load"), {"readers": 200, "deciders": 20}
        else:
            store, many = f"{folder}/load.db", {"readers": 40, "deciders": 4}
        tokens = team(store)
        process, port = serving(store, folder)
        try:
            until_ready(port)
            seen, briefs = load(port, process.pid, tokens, float(seconds), **many)
        finally:
            ended(process)
        print(json.dumps(told(seen, process.pid), indent=1))
        sound(store, seen, briefs)
        print((Path(folder) / f"server-{port}.log").read_text()[-4000:])


if __name__ == "__main__":
    main(*sys.argv[1:])
