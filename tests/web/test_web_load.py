"""Two hundred readers, twenty who decide and eight who write, at once: no error, nothing lost, memory flat."""

import asyncio
import contextlib
import json
import os
import random
import signal
import threading
import time
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
import web_load
from web_load import Asker, Seen

from cabida.evidence import shelf

MANY = {"postgresql": {"readers": 200, "deciders": 20}, "sqlite": {"readers": 40, "deciders": 4}}
WRITERS = 8
SHORT_S = {"postgresql": 60.0, "sqlite": 30.0}
MOST_SERVER_KIB, MOST_WORKER_KIB = 700 * 1024, 700 * 1024
GREW_KIB = 48 * 1024  # decisions that are kept read fill their room at first


def held(store, folder, database, seconds, *, flat):
    tokens = web_load.team(store)
    process, port = web_load.serving(store, folder)
    try:
        web_load.until_ready(port)
        seen, briefs = web_load.load(port, process.pid, tokens, seconds, writers=WRITERS, **MANY[database])
    finally:
        code = web_load.ended(process)
    figures = web_load.told(seen, process.pid)
    print(json.dumps(figures, indent=1))
    assert seen.errors == {}, figures
    assert code == 0
    assert "Traceback" not in (folder / f"server-{port}.log").read_text()
    assert set(seen.jobs) == {"done"}
    assert len(seen.decisions) >= MANY[database]["deciders"] + 3
    assert len(seen.kept) >= WRITERS
    assert seen.conflicts > 0
    web_load.sound(store, seen, briefs)
    for pid in seen.memory[0][1]:
        grew, most = web_load.growth_kib(seen.memory, pid)
        assert most < (MOST_SERVER_KIB if pid == process.pid else MOST_WORKER_KIB), figures
        assert not flat or grew < GREW_KIB, figures


def test_many_at_once_for_a_minute(any_store, tmp_path):
    database = "postgresql" if any_store.startswith("postgresql") else "sqlite"
    held(any_store, tmp_path, database, SHORT_S[database], flat=False)


@pytest.mark.long
def test_many_at_once_for_five_minutes(any_store, tmp_path):
    database = "postgresql" if any_store.startswith("postgresql") else "sqlite"
    held(any_store, tmp_path, database, 300.0, flat=True)


# a server that is killed


async def _until_killed(process, port, tokens, seen, briefs, ready):
    """Writers and people who decide, until the server is killed; the jobs it said it took."""
    taken = []

    async def asking(number):
        asker = Asker(port, tokens[4 + number])
        with contextlib.closing(asker), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                asked = {"brief": web_load.BRIEF, "assume": True, "as_of": web_load.AS_OF}
                status, _, body = await asker.ask("POST", "/api/v1/recommend", asked)
                if status == 429:
                    return
                assert status == 202, body
                taken.append(json.loads(body)["id"])
                await asyncio.sleep(0.1)

    async def killing():
        before = len(seen.kept)
        while not taken or len(seen.kept) == before:
            await asyncio.sleep(0.02)
        await asyncio.sleep(ready.uniform(0.0, 0.8))
        process.send_signal(signal.SIGKILL)

    writers = [
        asyncio.create_task(
            web_load.writing(
                port, tokens[one], seen, time.monotonic() + 60, one, briefs, random.Random(one), 0.02
            )
        )
        for one in range(4)
    ]
    await asyncio.gather(asking(0), asking(1), killing())
    for one in writers:
        one.cancel()
    await asyncio.gather(*writers, return_exceptions=True)
    await asyncio.sleep(0.05)  # connections end
    return taken


def killed(store, folder, times):
    """A server killed so often while it writes and decides; each next one begins with a store that opens."""
    tokens, ready = web_load.team(store, 6), random.Random(8)
    seen, taken = Seen(), []
    briefs = [shelf.add_brief(f"shared {one}", web_load.BRIEF, by="ana", store=store).id for one in range(3)]
    for _ in range(times):
        process, port = web_load.serving(store, folder, workers=1)
        try:
            for id in taken:  # a living server has looked after those of the dead one
                assert shelf.job(id, store=store).state in ("interrupted", "done"), id
            now = asyncio.run(_until_killed(process, port, tokens, seen, briefs, ready))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        assert now
        taken += now
    cut_off = ("ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError", "IncompleteReadError")
    assert [one for one in seen.errors if not one.endswith(cut_off)] == []  # nor was any left waiting
    web_load.sound(store, seen, briefs, unsaid=4 * times)
    assert len(seen.kept) >= times
    process, port = web_load.serving(store, folder, workers=1)
    try:
        states = {shelf.job(id, store=store).state for id in taken}
        assert states <= {"interrupted", "done"}
        assert "interrupted" in states
    finally:
        assert web_load.ended(process) == 0


def test_a_server_is_killed_and_nothing_that_was_told_is_lost(any_store, tmp_path):
    killed(any_store, tmp_path, 4)


@pytest.mark.long
def test_a_server_is_killed_twenty_times(any_store, tmp_path):
    killed(any_store, tmp_path, 20)


# a database that goes and comes


def answered(port, path, token, body=None):
    """Status, headers and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return SimpleNamespace(status=answer.status, headers=answer.headers, text=answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return SimpleNamespace(status=error.code, headers=error.headers, text=error.read().decode())


def test_the_database_restarts_under_a_server(tmp_path):
    from cabida.evidence import connect
    from postgres_cluster import Cluster

    cluster = Cluster({"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"})
    try:
        store = cluster.make("restarted")
        token, other = web_load.team(store, 2)
        process, port = web_load.serving(store, tmp_path, workers=1)
        try:
            web_load.until_ready(port)
            assert answered(port, "/decisions", token).status == 200
            asked = {"brief": web_load.BRIEF, "assume": True, "as_of": web_load.AS_OF}
            jobs = [
                json.loads(answered(port, "/api/v1/recommend", token, asked).text)["id"] for _ in range(2)
            ]
            cluster.stop()
            for who in (token, other):  # one the server knows, one it has to look up
                for path in ("/decisions", "/api/v1/decisions"):
                    away = answered(port, path, who)
                    assert (away.status, "CB-E021" in away.text) == (503, True), away.text
                    assert away.headers["Retry-After"]
            assert answered(port, "/healthz", token).status == 200
            assert answered(port, "/readyz", token).status == 503
            time.sleep(2.0)
            cluster.start()
            connect.close(store)
            assert answered(port, "/decisions", token).status == 200
            assert (
                answered(port, "/api/v1/briefs", other, {"name": "new", "text": web_load.BRIEF}).status == 201
            )
            until_s = time.monotonic() + 90
            while any(not shelf.job(id, store=store).over for id in jobs):
                assert time.monotonic() < until_s, [shelf.job(id, store=store) for id in jobs]
                time.sleep(0.5)
            for id in jobs:  # what was decided is kept; what couldn't be says why
                job = shelf.job(id, store=store)
                assert job.state == "done" or job.errors[0]["code"].startswith("CB-E"), job
        finally:
            assert web_load.ended(process) == 0
        assert "Traceback" not in (tmp_path / f"server-{port}.log").read_text()
        connect.close(store)
    finally:
        cluster.remove()


def test_two_servers_share_a_database(postgres_store, tmp_path):
    tokens = web_load.team(postgres_store)
    one, port = web_load.serving(postgres_store, tmp_path, workers=1)
    two, other = web_load.serving(postgres_store, tmp_path, workers=1)
    found = []
    try:
        web_load.until_ready(port)
        web_load.until_ready(other)
        many = {"readers": 10, "deciders": 4, "think_s": 1.0}
        loading = threading.Thread(
            target=lambda: found.append(web_load.load([port, other], one.pid, tokens, 12.0, **many))
        )
        loading.start()
        time.sleep(3.0)
        third, _ = web_load.serving(postgres_store, tmp_path, workers=1)  # comes and goes while they decide
        third.send_signal(signal.SIGKILL)
        third.wait()
        third.stdout.close()
        fourth, _ = web_load.serving(postgres_store, tmp_path, workers=1)
        assert web_load.ended(fourth) == 0
        loading.join()
    finally:
        assert [web_load.ended(server) for server in (one, two)] == [0, 0]
    ((seen, briefs),) = found
    assert seen.errors == {}
    assert set(seen.jobs) == {"done"}
    assert seen.conflicts > 0
    web_load.sound(postgres_store, seen, briefs)
    assert os.getpid() not in seen.memory[0][1]
