"""Nothing of this machine is opened for a request, nothing is fetched, and what is malformed is told, not thrown."""

import contextlib
import sys
from pathlib import Path

import pytest

from cabida.faces.web.api.reading import DEEPEST, too_deep
from cabida.faces.web.api.running import Room, safe_name
from cabida.faces.web.telling import Refused

GPU = "h100-sxm-80"
ELSEWHERE = (
    "/etc/passwd", "../../../../etc/passwd", "~/.ssh/id_rsa", "./README.md", "file:///etc/passwd",
    "https://example.org/config.json", "https://huggingface.co/no/such-model", "hf:no/such-model", "no/such-model",
    "/etc/passwd.json", "..\\..\\x.gguf", "/proc/self/environ", "x" * 1500, "\u202e/etc/passwd",
)  # fmt: skip
_watch = []


def _listen(event, args):
    if _watch and event in ("open", "socket.connect", "socket.getaddrinfo", "os.listdir", "os.scandir"):
        _watch[-1].append((event, str(args[1 if event == "socket.connect" else 0])))


sys.addaudithook(_listen)


@contextlib.contextmanager
def watched():
    """What is opened and reached inside."""
    _watch.append([])
    try:
        yield _watch[-1]
    finally:
        _watch.pop()


def touched(seen):
    """Of it, what no request has any business with."""
    bad = (
        "/etc/passwd",
        "id_rsa",
        "README.md",
        "/proc/self/environ",
        "such-model",
        "example.org",
        "huggingface.co",
    )
    return [one for one in seen if one[0].startswith("socket") or any(part in one[1] for part in bad)]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_no_file_and_no_address_stands_for_a_model(client, name, monkeypatch):
    monkeypatch.setenv("CABIDA_ONLINE", "1")
    asked = [
        ("fit", {"model": name, "gpu": [GPU]}), ("speed", {"model": name, "gpu": GPU, "requests_per_s": 1}),
        ("cost", {"what": name, "gpu": GPU, "requests_per_s": 1}),
        ("ask", {"question": ["does it fit?"], "model": name}),
        ("ask", {"question": [f"does {name[:300]} fit on an H200?"]}),
        ("speed", {"model": "llama-3.1-8b", "draft": name, "gpu": GPU, "requests_per_s": 1}),
        ("check/software", {"software": name}), ("check/pc", {"pc": name}), ("quotes/audit", {"quote": name}),
        ("quotes/compare", {"quotes": [name, "q1"]}), ("check/rack", {"rack": name}),
        ("check", {"brief": f"name: x\nworkload: realtime-inference\nmodels: [{name!r}]\n"}),
    ]  # fmt: skip
    with watched() as seen:
        answers = [client.post(f"/api/v1/{path}", json=body) for path, body in asked]
        answers.append(client.get("/api/v1/prices/api", params={"model": name}))
        answers.append(client.get("/api/v1/models", params={"match": name}))
        answers.append(client.get("/api/v1/here", params={"model": name}))
    for answer in answers:
        assert answer.status_code in (200, 400, 404, 414, 422), answer.text
        assert "root:" not in answer.text
    assert touched(seen) == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422), (b"[1", 400), (b"null", 422), (b"[]", 422), (b'"x"', 422), (b"[" * 100_000, 400),
        (b'{"model":' * 5_000, 400), (b'{"model": "\xff"}', 400), (b'{"tp": NaN}', 422), (b'{"tp": 1e999}', 422),
        (b'{"tp": ' + b"9" * 6_000 + b"}", 400), (b'{"model": "\\ud800"}', 422), (b'{"model": "\\u0000"}', 422),
        (b'{"tp": true}', 422), (b'{"tp": "2"}', 422), (b'{"as_of": "2026-02-31", "model": "x"}', 422),
        (b'{"nothing": 1}', 422),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_told(client, body, status):
    answer = client.post("/api/v1/fit", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"errors"}
    assert set(answer.json()["errors"][0]) == {"code", "what", "why", "cure", "file", "line"}


def test_of_another_kind(client):
    for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x", ""):
        answer = client.post("/api/v1/fit", content=b"{}", headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (415, "CB-S045")
    assert client.post("/api/v1/traffic", json={}).status_code == 415


def test_every_mistake_at_once_in_the_language_of_who_asks(client):
    body = {"tp": 0, "gpus": "two", "nothing": 1, "method": "magic"}
    english = client.post("/api/v1/fit", json=body).json()["errors"]
    spanish = client.post("/api/v1/fit?lang=es", json=body).json()["errors"]
    assert len(english) == len(spanish) == 4
    assert {one["code"] for one in english} == {"CB-S041"}
    assert all(one["what"] != other["what"] for one, other in zip(english, spanish, strict=True))
    assert (
        client.post("/api/v1/fit", json=body, headers={"Accept-Language": "es-MX"}).json()["errors"]
        == spanish
    )


def test_a_flag_is_told_as_the_field_it_is(client):
    """What a command refuses is said of the request's fields."""
    (told,) = client.post("/api/v1/fit", json={"as_of": "2026-02-31", "model": "x"}).json()["errors"]
    assert told["code"] == "CB-U004"
    assert told["what"].startswith("as_of: ")
    assert "--" not in told["what"] + told["cure"]
    (told,) = client.post("/api/v1/speed", json={"model": "llama-3.1-8b"}).json()["errors"]
    assert "gpu" in told["what"]
    assert "--" not in told["what"] + told["cure"]


def test_what_is_not_there(client):
    for method, path, status in (
        ("GET", "/api/v1/nothing", 404), ("PUT", "/api/v1/fit", 405), ("GET", "/api/v1/fit", 405),
        ("GET", "/api/v1/facts/no-such-thing", 404), ("GET", "/api/v1/briefs/b-0", 404),
        ("GET", "/api/v1/runs/r-0", 404),
    ):  # fmt: skip
        answer = client.request(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert answer.json()["errors"][0]["code"].startswith("CB-")


def test_a_body_that_is_too_large(client):
    answer = client.post("/api/v1/observations", files={"files": ("a.log", b"x" * (9 * 2**20))})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (413, "CB-S011")
    assert client.post("/api/v1/observations", files=[("files", ("a", b"x"))] * 30).status_code in (400, 422)


def test_answers_do_not_say_where_the_store_is(client, web_store):
    for path in ("calibration", "observations", "quotes"):
        assert str(web_store.parent) not in client.get(f"/api/v1/{path}").text
    kept = client.post("/api/v1/observations", files={"files": ("a.log", b"nothing of use")})
    assert str(web_store.parent) not in kept.text
    assert str(web_store.parent) not in client.post("/api/v1/validate", data={"calibrated": "true"}).text


def test_what_would_keep_others_waiting_is_bounded(client):
    """Some figures may be larger on one's own machine than for a server that others share."""
    brief = "name: x\nworkload: realtime-inference\n"
    for path, body, most in (
        ("mix", {"brief": brief, "scenarios": 101}, "100"),
        ("speed", {"model": "llama-3.1-8b", "gpu": GPU, "prompts": 100_001}, "100,000"),
    ):
        (told,) = client.post(f"/api/v1/{path}", json=body).json()["errors"]
        assert told["code"] == "CB-S041"
        assert told["what"].endswith(f"it has to be {most} or less")


def test_depth_is_counted_outside_of_text():
    deep = b"[" * (DEEPEST + 1)
    assert too_deep(deep)
    assert not too_deep(b"[" * DEEPEST)
    assert not too_deep(b'{"a": "' + deep + b'"}')
    assert not too_deep(b'{"a": "\\"' + deep + b'"}')
    assert not too_deep(b"[]" * 1000)
    assert too_deep(b'{"a": "\\\\", "b": ' + deep)


def test_names_of_files_lead_nowhere():
    for name in (
        "../../x.csv",
        "..",
        "/etc/passwd",
        "C:\\x\\y.csv",
        "a\x00b.csv",
        ".",
        "",
        "x" * 500 + ".csv",
        "..\u2044x",
    ):
        safe = safe_name(name)
        assert Path(safe).name == safe
        assert safe not in ("", ".", "..")
        assert len(safe) < 110
        assert safe.isprintable()
    assert safe_name("requests 2026.jsonl") == "requests 2026.jsonl"


def test_a_room_is_bounded():
    """Who comes to a full room is asked to come again; what takes too long is told so."""
    import asyncio
    import threading

    async def full():
        room, gate = Room(1, 1, 0.3), threading.Event()
        held = [asyncio.create_task(room.run(gate.wait)) for _ in range(2)]
        await asyncio.sleep(0.05)
        with pytest.raises(Refused) as busy:
            await room.run(int)
        late = await asyncio.gather(*held, return_exceptions=True)
        gate.set()
        await asyncio.sleep(0.1)
        found = await room.run(lambda: 7)
        room.close()
        return busy.value, late, found

    busy, late, found = asyncio.run(full())
    assert (busy.status, busy.problems[0].code, busy.after_s > 0) == (503, "CB-S048", True)
    assert [(one.status, one.problems[0].code) for one in late] == [(422, "CB-S049")] * 2
    assert found == 7
