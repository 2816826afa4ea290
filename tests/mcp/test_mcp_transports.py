"""Progress, cancelling, closing and killing; who is let in over HTTP, and what they may change."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp_calls import BRIEF, CALLS, served_over_http

from cabida.evidence import shelf
from mcp import Client, StdioServerParameters

HEAVY = {"brief": "example:nightly-batch", "as_of": "2026-11-30", "assume": True}
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
TAKES = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_recommendation_tells_its_progress(stdio, mode):
    told = []

    async def on(done, of, what):
        told.append((done, of, what))

    async def work():
        async with Client(stdio, mode=mode) as client:
            answer = await client.call_tool("recommend", CALLS["recommend"], progress_callback=on)
            assert not answer.is_error

    asyncio.run(work())
    assert told
    assert all(of is None or done <= of for done, of, _ in told)
    assert all(what for _, _, what in told)


def test_a_call_that_is_cancelled_ends_and_the_server_answers_on(stdio):
    async def work():
        async with Client(stdio) as client:
            call = asyncio.create_task(client.call_tool("recommend", HEAVY))
            await asyncio.sleep(1.0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            answer = await client.call_tool("models", {"match": "llama"})
            assert not answer.is_error

    asyncio.run(work())


def test_a_server_whose_reader_is_gone_ends(stdio):
    words = [stdio.command, *stdio.args]
    with subprocess.Popen(words, env=stdio.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stdout.read() == b""


def test_a_server_that_is_killed_is_told_to_the_client_and_the_next_one_starts(stdio, tmp_path):
    pid = tmp_path / "pid"
    line = f'echo $$ > "{pid}"; exec "$0" "$@"'
    own = StdioServerParameters(command="bash", args=["-c", line, stdio.command, *stdio.args], env=stdio.env)

    async def killed():
        async with Client(own, read_timeout_seconds=30) as client:
            call = asyncio.create_task(client.call_tool("recommend", HEAVY))
            await asyncio.sleep(0.5)
            os.kill(int(pid.read_text()), signal.SIGKILL)
            await call

    async def work():
        with pytest.raises(BaseExceptionGroup):
            await killed()
        async with Client(own) as client:
            assert not (await client.call_tool("models", {})).is_error

    asyncio.run(work())


def test_what_is_no_message_is_passed_over(stdio):
    words = [stdio.command, *stdio.args]
    with subprocess.Popen(words, env=stdio.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        import json

        process.stdin.write(b"no json\n{}\n[1,2]\n\xff\xfe\n" + json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        line = json.loads(process.stdout.readline())
        while line.get("id") != 1:
            line = json.loads(process.stdout.readline())
        assert line["result"]["serverInfo"]["name"] == "cabida"
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"Host": "evil.example"}, 403), ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Authorization": "Bearer cabida_guess"}, 401),
    ],
)  # fmt: skip
def test_only_this_machines_own_programs_are_let_in_without_a_token(over_http, headers, status):
    answer = httpx2.post(over_http, json=HELLO, headers=TAKES | headers)
    assert answer.status_code == status


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff" * 100])
def test_no_body_makes_the_server_fail(over_http, content):
    headers = TAKES | {"Content-Type": "application/json"}
    assert 400 <= httpx2.post(over_http, content=content, headers=headers).status_code < 500
    assert httpx2.post(over_http, json=HELLO, headers=TAKES).status_code == 200


def test_a_body_has_a_bound(over_http):
    headers = TAKES | {"Content-Type": "application/json"}
    assert httpx2.post(over_http, content=b" " * (3 * 2**20), headers=headers).status_code == 413


@pytest.fixture(scope="module")
def open_to_others(mcp_env):
    """A server that others reach, with a token to read and one to edit."""
    store = mcp_env["CABIDA_STORE"]
    secrets = {
        role: shelf.new_token(role, role, days=1, by="test", store=store)[1] for role in ("reader", "editor")
    }
    with served_over_http(mcp_env, "--behind", "https://cabida.example.org") as url:
        yield url, secrets


def test_others_need_a_token(open_to_others):
    url, secrets = open_to_others
    for headers, status in (
        ({}, 401),
        ({"Authorization": "Bearer nonsense"}, 401),
        ({"Authorization": f"Bearer {secrets['reader']}"}, 200),
    ):
        assert httpx2.post(url, json=HELLO, headers=TAKES | headers).status_code == status


def test_a_reader_is_offered_nothing_that_changes_what_is_kept(open_to_others):
    url, secrets = open_to_others

    async def names(role):
        headers = {"Authorization": f"Bearer {secrets[role]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as web,
            Client(streamable_http_client(url, http_client=web)) as client,
        ):
            found = {one.name for one in (await client.list_tools()).tools}
            kept = None
            if "brief_keep" in found:
                kept = await client.call_tool("brief_keep", {"brief": BRIEF, "name": "over http"})
                assert not kept.is_error
                one = await client.call_tool("brief", {"id": kept.structured_content["id"]})
                assert one.structured_content["made_by"] == "editor"
            return found

    reader, editor = asyncio.run(names("reader")), asyncio.run(names("editor"))
    assert editor - reader == {"brief_keep", "decision_keep", "quote_keep"}


def test_what_one_decided_another_does_not_see(open_to_others):
    url, secrets = open_to_others

    async def asked(role, name, said):
        headers = {"Authorization": f"Bearer {secrets[role]}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as web,
            Client(streamable_http_client(url, http_client=web)) as client,
        ):
            return await client.call_tool(name, said)

    made = asyncio.run(asked("reader", "recommend", CALLS["recommend"]))
    id = made.structured_content["decision"]
    assert not asyncio.run(asked("reader", "levers", {"decision": id})).is_error
    assert asyncio.run(asked("editor", "levers", {"decision": id})).is_error


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--http", "--root", "."], "CB-O015"), (["--http", "--allow-bench"], "CB-O015"),
        (["--http", "--host", "0.0.0.0"], "CB-O016"),
    ],
)  # fmt: skip
def test_a_server_that_should_not_start_says_why(words, code, mcp_env, tmp_path):
    env = mcp_env | {"CABIDA_STORE": str(tmp_path / "none.db")}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "cabida", "mcp", *words],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (2, 3)
    assert code in done.stderr
    assert time.monotonic() - began < 60
