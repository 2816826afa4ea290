# ruff: noqa: E501 - tables
"""Addresses, headers and keys: what is wrong is told at once, and no key is ever shown."""

import asyncio
import copy
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from cabida.bench.wire import Wire, address, endpoint, keys, loop, request_body, why_text
from cabida.bench.wire.address import is_loopback
from cabida.bench.wire.pool import Pool
from cabida.errors import InvalidInput
from cabida.plan.bench import Policy, Target
from cabida.text import use_language

sys.path.insert(0, str(Path(__file__).parents[1]))
from odd_server import HEAD, chunk, delta, event, serving, whole_json

KEY = "sk-proj-Very+Secret/0123456789abcdef"


@pytest.mark.parametrize(
    ("url", "base", "shown"),
    [
        ("http://127.0.0.1:8000/v1", "/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000", "/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions", "/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/rerank", "", "http://127.0.0.1:8000"),
        ("http://127.0.0.1/openai/deployments/d?api-version=2024-10-21", "/openai/deployments/d", "http://127.0.0.1/openai/deployments/d"),
        ("https://127.0.0.1/v1", "/v1", "https://127.0.0.1/v1"),
        ("http://[::1]:8000/v1", "/v1", "http://[::1]:8000/v1"),
        ("HTTP://127.0.0.1:80/a b".replace(" ", "%20"), "/a%20b", "http://127.0.0.1/a%20b"),
    ],
)  # fmt: skip
def test_addresses(url, base, shown):
    made = endpoint(Target(url))
    assert (made.base, made.url) == (base, shown)
    assert made.loopback


def test_the_query_of_an_address_goes_with_every_request():
    head = endpoint(Target("http://127.0.0.1/o/d?api-version=2024-10-21")).head("/chat/completions")
    assert head.startswith(
        b"POST /o/d/chat/completions?api-version=2024-10-21 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    )


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("", "CB-W001"), ("localhost:8000", "CB-W001"), ("ftp://h/v1", "CB-W001"), ("http://", "CB-W001"),
        ("http://h:99999/v1", "CB-W001"), ("http://h:0/v1", "CB-W001"), ("http://h:x/v1", "CB-W001"),
        ("http://h/v1#part", "CB-W001"), ("http://h/v1\r\nX: y", "CB-W001"), ("http://h /v1", "CB-W001"),
        ("http://[::1/v1", "CB-W001"), ("http://h/" + "a" * 3000, "CB-W001"), ("http://" + "ü" * 80 + "/v1", "CB-W001"),
        (f"http://user:{KEY}@h/v1", "CB-W002"), ("http://user@h/v1", "CB-W002"), (f"http://h/v1?key={KEY}", "CB-W002"),
        (f"http://h/v1?a=b&api_key={KEY}", "CB-W002"),
    ],
)  # fmt: skip
def test_wrong_addresses(url, code):
    with pytest.raises(InvalidInput) as caught:
        endpoint(Target(url))
    assert [one.code for one in caught.value.problems] == [code]
    assert KEY not in str(caught.value)
    assert caught.value.problems[0].cure


@pytest.mark.parametrize(
    ("one", "is_own"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True), ("0.0.0.0", True),
     ("10.0.0.1", False), ("::ffff:10.0.0.1", False), ("fe80::1%eth0", False), ("localhost", False), ("", False)],
)  # fmt: skip
def test_which_addresses_never_leave_the_machine(one, is_own):
    assert is_loopback(one) is is_own


def test_one_address_elsewhere_is_enough_to_be_elsewhere(monkeypatch):
    monkeypatch.setattr(address, "resolved", lambda host, port: ("127.0.0.1", "10.0.0.1"))
    assert not endpoint(Target("http://both.test/v1")).loopback
    monkeypatch.setattr(address, "resolved", lambda host, port: ())
    assert not endpoint(Target("http://unknown.test/v1")).loopback


def test_everything_that_is_wrong_is_told_at_once(monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    wrong = Target(
        "http://u:p@h/v1",
        api="chatt",
        key="env:NO_SUCH_KEY",
        headers={
            "X-A": "a\r\nX-B: b",
            "bad name": "x",
            "Content-Length": "1",
            "Authorization": f"Bearer {KEY}",
            "X-C": "€",
        },
    )
    with pytest.raises(InvalidInput) as caught:
        endpoint(wrong)
    codes = sorted(one.code for one in caught.value.problems)
    assert codes == ["CB-W002", "CB-W003", "CB-W005", "CB-W009", "CB-W009", "CB-W010", "CB-W010", "CB-W011"]
    assert KEY not in str(caught.value)
    assert "chat" in str(caught.value)


@pytest.mark.parametrize("where", [KEY, "env:", "env:A-B", "keyring:", "keyring:only", "file:/etc/passwd"])
def test_a_key_in_the_plan_itself_is_refused_without_repeating_it(where):
    with pytest.raises(InvalidInput) as caught:
        endpoint(Target("http://127.0.0.1/v1", key=where))
    assert caught.value.problems[0].code == "CB-W004"
    assert where not in str(caught.value) or where in ("env:", "keyring:")


def test_a_key_that_cannot_be_sent_is_refused(monkeypatch):
    monkeypatch.setenv("ODD_KEY", "ab\r\nX: y")
    with pytest.raises(InvalidInput, match="CB-W007"):
        endpoint(Target("http://127.0.0.1/v1", key="env:ODD_KEY"))
    monkeypatch.setenv("ODD_KEY", "  \n")
    with pytest.raises(InvalidInput, match="CB-W005"):
        endpoint(Target("http://127.0.0.1/v1", key="env:ODD_KEY"))


def test_a_key_of_the_keyring(monkeypatch):
    import keyring

    kept = {("cabida", "me"): KEY}
    monkeypatch.setattr(keyring, "get_password", lambda service, user: kept.get((service, user)))
    assert f"Authorization: Bearer {KEY}\r\n".encode() in endpoint(
        Target("http://127.0.0.1/v1", key="keyring:cabida/me")
    ).head("/x")
    with pytest.raises(InvalidInput, match="CB-W006"):
        endpoint(Target("http://127.0.0.1/v1", key="keyring:cabida/you"))

    def broken(service, user):
        raise RuntimeError(KEY)

    monkeypatch.setattr(keyring, "get_password", broken)
    with pytest.raises(InvalidInput) as caught:
        endpoint(Target("http://127.0.0.1/v1", key="keyring:cabida/me"))
    assert KEY not in str(caught.value)


def test_keys_are_nowhere_to_be_seen(monkeypatch):
    """A server that repeats our key in its errors, its answer and its headers puts it into nothing that is kept."""
    monkeypatch.setenv("ODD_KEY", KEY + "\n")
    monkeypatch.setenv("ODD_TEAM", "team-secret-42")

    def echoes(head, body):
        assert f"Authorization: Bearer {KEY}\r\n".encode() in head
        assert b"api-key: team-secret-42" in head
        named = f"X-Replica: {KEY}\r\n".encode()
        if b"r/1" in head:
            return [whole_json({"error": {"message": f"wrong key {KEY} of team-secret-42"}}, 401, named)]
        said = [chunk(event(delta(f"your key is {KEY[:9]}"))), chunk(event(delta(f"{KEY[9:]}.", "stop")))]
        return [
            HEAD.replace(b"\r\n\r\n", b"\r\n" + named + b"\r\n"),
            *said,
            chunk(event(b"[DONE]")),
            b"0\r\n\r\n",
        ]

    async def both():
        async with serving(echoes) as odd:
            target = Target(
                f"http://127.0.0.1:{odd.port}/v1", "m", key="env:ODD_KEY", headers={"api-key": "env:ODD_TEAM"}
            )
            made = endpoint(target)
            async with Wire(made, Policy(), keep_text=True) as wire:
                body = request_body(target, "hello", 8)
                from cabida.bench.outcome import Ask

                return made, wire, [await wire.ask(Ask(f"r/{n}", body, 0.0)) for n in (1, 2)]

    made, wire, outcomes = loop.run(both())
    assert [one.verdict for one in outcomes] == ["unauthorised", "ok"]
    shown = "".join(
        [
            repr(made),
            str(made),
            repr(wire),
            repr(vars(wire).keys()),
            *map(repr, outcomes),
            *map(why_text, outcomes),
        ]
    )
    assert KEY not in shown
    assert "team-secret-42" not in shown
    assert "[redacted]" in outcomes[1].text
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="holds a key"):
            attempt(made)


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_proxy_of_the_environment_is_ignored_and_that_is_said(monkeypatch, language):
    use_language(language)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert endpoint(Target("http://127.0.0.1/v1")).notices == ()
    monkeypatch.setenv("HTTP_PROXY", f"http://u:{KEY}@proxy:3128")
    (notice,) = endpoint(Target("http://127.0.0.1/v1")).notices
    assert "HTTP_PROXY" in notice
    assert KEY not in notice


@pytest.mark.parametrize("language", ["en", "es"])
def test_texts_are_whole(language):
    """Nothing is left to be filled in, and no brace is doubled."""
    use_language(language)
    with pytest.raises(InvalidInput) as caught:
        endpoint(
            Target(
                "http://u:p@h/v1",
                api="chatt",
                key="env:NO_SUCH",
                headers={"bad name": "x", "X": "\n", "Cookie": "a"},
            )
        )
    shown = str(caught.value)
    assert "{{" not in shown
    assert "{name}" not in shown
    assert "{x-api-key: env:" in shown


def test_certificates_that_are_none(tmp_path):
    (tmp_path / "ca.pem").write_text("hello")
    for ca in (tmp_path / "ca.pem", tmp_path / "missing.pem", tmp_path):
        with pytest.raises(InvalidInput, match="CB-W008"):
            endpoint(Target("https://127.0.0.1/v1", ca=str(ca)))


def test_names_of_headers_that_are_secrets():
    for name in (
        "Authorization",
        "X-Api-Key",
        "api-key",
        "Cookie",
        "X-Auth-Token",
        "Proxy-Authorization",
        "X-Key",
    ):
        assert keys.SECRET_NAME.search(name)
    for name in ("X-Team", "Accept", "X-Keyboard", "X-Request-Source"):
        assert not keys.SECRET_NAME.search(name)


CHAT = Target("http://127.0.0.1/v1", "m")
BODIES = {
    "chat": (CHAT, "hi", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "stream": True, "stream_options": {"include_usage": True}, "model": "m"}),
    "messages": (replace(CHAT, stream=False), [{"role": "system", "content": "s"}], {"messages": [{"role": "system", "content": "s"}], "max_tokens": 5, "stream": False, "model": "m"}),
    "completions": (replace(CHAT, api="completions", stream=False, model=""), "hi", {"prompt": "hi", "max_tokens": 5, "stream": False}),
    "messages in completions": (replace(CHAT, api="completions", stream=False), [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], {"prompt": "a\nb", "max_tokens": 5, "stream": False, "model": "m"}),
    "body of one's own": (replace(CHAT, body={"stream_options": None, "temperature": 0}), "hi", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5, "stream": True, "temperature": 0, "model": "m"}),
    "newer limit": (replace(CHAT, url="https://api.openai.com/v1", stream=False), "hi", {"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 5, "stream": False, "model": "m"}),
    "embeddings": (replace(CHAT, api="embeddings"), ["a", "b"], {"input": ["a", "b"], "model": "m"}),
    "rerank": (replace(CHAT, api="rerank"), ["q", "a", "b"], {"query": "q", "documents": ["a", "b"], "model": "m"}),
    "rerank of a text": (replace(CHAT, api="rerank"), "q\n\na\n\nb", {"query": "q", "documents": ["a", "b"], "model": "m"}),
    "rerank of one paragraph": (replace(CHAT, api="rerank"), "one two", {"query": "one two", "documents": ["one two"], "model": "m"}),
    "images": (replace(CHAT, api="images", body={"size": "512x512"}), "a cat", {"prompt": "a cat", "n": 1, "size": "512x512", "model": "m"}),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name):
    target, prompt, body = BODIES[name]
    assert orjson.loads(request_body(target, prompt, 5)) == body


def test_a_length_that_must_be_met_is_asked_for_only_then():
    assert (
        orjson.loads(request_body(CHAT, "hi", 5, exact_output=True)).items()
        >= {"ignore_eos": True, "min_tokens": 5}.items()
    )
    assert "max_tokens" not in orjson.loads(request_body(CHAT, "hi"))


def test_a_prompt_object_gives_its_messages_or_its_text():
    class Given:
        def __init__(self, text="", messages=()):
            self.text, self.messages = text, messages

    assert orjson.loads(request_body(CHAT, Given("hi")))["messages"] == [{"role": "user", "content": "hi"}]
    assert (
        orjson.loads(request_body(CHAT, Given(messages=({"role": "user", "content": "x"},))))["messages"][0][
            "content"
        ]
        == "x"
    )


METADATA = (  # and multicast: never asked by a server
    "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "224.0.0.1", "ff02::1",
)  # fmt: skip
PRIVATE = (
    "127.0.0.1", "10.0.0.9", "100.64.0.1", "::1", "fe80::1%lo", "0.0.0.0", "64:ff9b::a00:1", "2002:a00:1::",
    "::ffff:10.0.0.9", "::10.0.0.9",
)  # fmt: skip


@pytest.mark.parametrize("address", ["93.184.216.34", *PRIVATE, *METADATA])
@pytest.mark.parametrize("reach", ["public", "private", ""])
def test_what_a_server_keeps_its_people_from_is_not_asked(monkeypatch, reach, address):
    monkeypatch.setenv("CABIDA_BENCH_REACH", reach)
    looked_up = [(0, 0, 0, "", ("93.184.216.34", 80)), (0, 0, 0, "", (address, 80))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *asked, **how: looked_up)
    asked = Target(url="http://name.example/v1", model="m", api="chat")
    refused = (reach and address in METADATA) or (reach == "public" and address in PRIVATE)
    if not refused:
        assert address in endpoint(asked).addresses
        return
    with pytest.raises(InvalidInput, match="CB-S022"):
        endpoint(asked)


def test_a_name_that_comes_to_stand_for_something_else_is_not_followed(monkeypatch):
    monkeypatch.setenv("CABIDA_BENCH_REACH", "public")
    now = ["93.184.216.34"]
    monkeypatch.setattr("socket.getaddrinfo", lambda *asked, **how: [(0, 0, 0, "", (one, 80)) for one in now])
    held = endpoint(Target(url="http://name.example/v1", model="m", api="chat"))

    async def looked_up_again():
        pool = Pool(held, Policy(), asyncio.get_running_loop(), None)
        now[:] = ["169.254.169.254", "93.184.216.35", "10.0.0.9"]
        pool._resolve_due_s = 0.0
        await pool._resolve()
        return pool._addresses

    assert asyncio.run(looked_up_again()) == ("93.184.216.35",)
