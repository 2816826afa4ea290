"""Who comes in, what they may do, and what is kept out."""

import asyncio
import re
import socket
from importlib import import_module
from types import SimpleNamespace

import pytest
from web_server import HOME, csrf_of

from cabida.evidence import shelf
from cabida.faces.web import access, limits
from cabida.faces.web.application import application
from cabida.faces.web.door import host_of
from cabida.faces.web.settings import Settings
from cabida.faces.web.telling import Forbidden, Refused

FORM = {"name": "Ana", "role": "reader", "days": "30"}


def code_of(answer):
    return re.search(r"CB-[A-Z]\d{3}", answer.text)[0]


# the own machine


def test_on_the_own_machine_nobody_needs_a_token(client):
    made = client.post("/people/tokens", data=FORM)
    assert made.status_code == 200
    secret = re.search(r"cabida_[\w-]{43}", made.text)[0]
    assert shelf.token_of(secret).name == "Ana"
    assert secret not in client.get("/people").text  # shown once
    assert [one.what for one in shelf.audit_log(most=5).items] == ["made"]


def test_only_our_own_names_are_taken(client):
    for host in (
        "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8765", "", "a b", "[::2]",
        "127.0.0.1@evil", "0",
    ):  # fmt: skip
        answer = client.get("/", headers={"Host": host})
        assert (answer.status_code, code_of(answer)) == (403, "CB-S006"), host
    for host in ("localhost", "LOCALHOST:1234", "127.0.0.1:9", "[::1]:8765", "localhost."):
        assert client.get("/", headers={"Host": host}).status_code == 200, host


def test_a_proxy_before_a_server_without_tokens_is_noticed(client):
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"):
        answer = client.get("/", headers={name: "203.0.113.9"})
        assert (answer.status_code, code_of(answer)) == (403, "CB-S007"), name


@pytest.mark.parametrize("path", ["/people/tokens", "/api/v1/fit", "/jobs/j-1/cancel"])
def test_what_another_site_sends_changes_nothing(client, path):
    for headers in (
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://127.0.0.1:8765.evil.example"}, {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"}, {"Origin": ""},
    ):  # fmt: skip
        answer = client.post(path, data=FORM, headers=headers)
        assert (answer.status_code, code_of(answer)) == (403, "CB-S009"), headers
    assert shelf.tokens() == ()


def test_a_form_without_our_token_changes_nothing(bare_client):
    for token in ({}, {"csrf": ""}, {"csrf": "x" * 43}, {"csrf": "é"}):
        answer = bare_client.post("/people/tokens", data=FORM | token)
        assert (answer.status_code, code_of(answer)) == (403, "CB-S009"), token
    assert shelf.tokens() == ()


def test_a_form_of_ours_works_by_field_or_by_header_and_in_pieces(bare_client):
    own = {"Origin": HOME, "Sec-Fetch-Site": "same-origin"}
    csrf = csrf_of(bare_client)
    assert bare_client.post("/people/tokens", data=FORM | {"csrf": csrf}, headers=own).status_code == 200
    assert bare_client.post("/people/tokens", data={**FORM, "z": "1", "csrf": csrf}).status_code == 200
    files = {"name": (None, "Ana"), "role": (None, "reader"), "days": (None, "7"), "csrf": (None, csrf)}
    assert bare_client.post("/people/tokens", files=files, headers=own).status_code == 200
    assert bare_client.post("/people/tokens", data=FORM, headers={"X-CSRF-Token": csrf}).status_code == 200
    assert len(shelf.tokens()) == 4


def test_another_server_s_token_of_forms_is_worth_nothing(client, web_store):
    from starlette.testclient import TestClient

    with TestClient(application(Settings(jobs_here=True)), base_url=HOME) as other:
        assert (
            other.post("/people/tokens", data=FORM | {"csrf": client.headers["X-CSRF-Token"]}).status_code
            == 403
        )


# a team's server


def test_nobody_sees_anything_without_a_token(team_of):
    client = team_of("")
    for path in ("/", "/people", "/log", "/here", "/jobs/j-1", "/briefs", "/decisions"):
        answer = client.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["location"]) == (303, f"/login?next={path}")
    for path in ("/metrics", "/api/openapi.json", "/api/v1/models"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert code_of(answer) == "CB-S004"


def test_what_needs_nobody(team_of):
    client = team_of("")
    for path in ("/healthz", "/readyz", "/static/web.css", "/login"):
        assert client.get(path).status_code == 200, path
    page = client.get("/login").text
    assert "/people" not in page
    assert "/briefs" not in page


def test_a_wrong_token_opens_nothing(team_of):
    client = team_of("")
    for wrong in (
        "",
        "Bearer",
        "Bearer ",
        "Bearer cabida_x",
        "Basic abc",
        "Bearer " + "x" * 5000,
        "Bearer é",
    ):
        client.app.state.guesses.right("testclient")
        answer = client.get("/api/openapi.json", headers={"Authorization": wrong.encode("latin-1")})
        assert answer.status_code == 401, wrong
        assert code_of(answer) == ("CB-S008" if wrong else "CB-S004")


def test_a_reader_reads_and_changes_nothing(team_of):
    client = team_of("reader")
    assert client.get("/people").status_code == 200
    assert 'action="/people/tokens"' not in client.get("/people").text
    for path in ("/people/tokens", f"/people/tokens/{client.token.id}/revoke", "/jobs/j-1/cancel"):
        answer = client.post(path, data=FORM)
        assert (answer.status_code, code_of(answer)) == (403, "CB-S005"), path
    for method in ("PUT", "PATCH", "DELETE"):
        assert client.request(method, "/api/v1/briefs/b-1", json={}).status_code == 403, method
    assert len(shelf.tokens()) == 1


def test_an_editor_s_changes_bear_their_name(team_of):
    client = team_of("editor")
    assert client.post("/people/tokens", data=FORM).status_code == 200
    assert shelf.tokens()[0].made_by == "a editor"
    assert shelf.audit_log(most=1).items[0].by == "a editor"
    assert "a editor" in client.get("/log").text


def test_a_revoked_token_is_out_at_once_and_an_expired_one_too(team_of, monkeypatch):
    editor, reader = team_of("editor"), team_of("reader")
    assert reader.get("/metrics").status_code == 200
    reader.app.state.known.again_s = 0.0  # another server learns it within seconds
    editor.post(f"/people/tokens/{reader.token.id}/revoke")
    assert reader.get("/metrics").status_code == 401
    assert editor.get("/metrics").status_code == 200
    editor.app.state.known.forget()
    monkeypatch.setattr(import_module("cabida.evidence.shelf.tokens"), "now", lambda: "2099-01-01T00:00:00Z")
    assert editor.get("/metrics").status_code == 401


def logged_in(client, secret, **more):
    page = client.get("/login?next=/people")
    csrf = re.search(r'name="csrf" value="([\w-]+)"', page.text)[1]
    return client.post("/login", data={"token": secret, "csrf": csrf, "next": "/people", **more})


def test_a_browser_logs_in_with_a_token_and_out_again(team_of):
    client = team_of("")
    _, secret = shelf.new_token("Eva", "editor", days=1)
    answer = logged_in(client, secret)
    assert (answer.status_code, answer.headers["location"]) == (303, "/people")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    assert secret not in cookie
    page = client.get("/people")
    assert "Eva" in page.text
    assert client.post("/people/tokens", data=FORM).status_code == 403  # a form needs its token
    csrf = csrf_of(client)
    assert client.post("/people/tokens", data=FORM | {"csrf": csrf}).status_code == 200
    assert (
        client.post("/api/v1/briefs", json={}).status_code == 403
    )  # so does what a script sends with the cookie
    kept = client.cookies["cabida_session"]
    assert client.post("/logout", data={"csrf": csrf}).headers["location"] == "/login"
    client.cookies.set("cabida_session", kept)
    assert client.get("/people").status_code == 303


def test_over_https_cookies_stay_there(team_of):
    client = team_of("", behind="https://cabida.example.org")
    client.base_url = "https://cabida.example.org"
    _, secret = shelf.new_token("Eva", "reader", days=1)
    answer = logged_in(client, secret)
    assert "Secure" in answer.headers["set-cookie"]
    assert client.get("/").headers["strict-transport-security"]
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/", headers={"Host": "10.0.0.7:8765"}).status_code in (200, 303)  # a probe, by address


def test_logging_in_leads_nowhere_else(team_of):
    _, secret = shelf.new_token("Eva", "reader", days=1)
    assert logged_in(team_of(""), secret, next="//evil.example").headers["location"] == "/"


def test_a_forged_session_is_none(team_of):
    client = team_of("")
    token, _ = shelf.new_token("Eva", "editor", days=1)
    sound = access.new_session(client.app.state.key, token.id, 60)
    other = "B" if sound[-1] != "B" else "C"
    forged = (
        sound[:-1] + other,
        "t-x" + sound,
        sound.replace(".", "..", 1),
        "x",
        "." * 200,
        sound * 9,
        "é" * 50,
    )
    for one in forged:
        assert access.token_of_session(client.app.state.key, one) == "", one
    head = {"Cookie": f"cabida_session={forged[0]}"}
    assert client.get("/people", headers=head).status_code == 303
    assert client.get("/people", headers={"Cookie": f"cabida_session={sound}"}).status_code == 200


def test_a_session_ends_and_is_of_one_server_s_key():
    key = access.new_key()
    assert access.token_of_session(key, access.new_session(key, "t-1", 60)) == "t-1"
    assert access.token_of_session(key, access.new_session(key, "t-1", -1)) == ""
    assert access.token_of_session(access.new_key(), access.new_session(key, "t-1", 60)) == ""


def test_servers_may_share_a_key(monkeypatch):
    monkeypatch.setenv("CABIDA_SESSION_KEY", "k" * 32)
    assert access.new_key() == access.new_key()
    monkeypatch.setenv("CABIDA_SESSION_KEY", "short")
    assert access.new_key() != access.new_key()


# guessing and asking too much


def test_guessing_tokens_gets_slower(team_of):
    client = team_of("")
    statuses = [
        client.get("/api/x", headers={"Authorization": f"Bearer cabida_{n}"}).status_code for n in range(8)
    ]
    assert statuses == [401] * 6 + [429] * 2
    _, secret = shelf.new_token("Eva", "editor", days=1)
    waits = client.get("/api/x", headers={"Authorization": "Bearer cabida_9"})
    assert (waits.status_code, int(waits.headers["retry-after"]) >= 1) == (429, True)
    page = logged_in(client, secret)
    assert (page.status_code, code_of(page)) == (429, "CB-S010")
    right = client.get("/api/x", headers={"Authorization": f"Bearer {secret}"})
    assert right.status_code == 404  # let in, whoever guesses from the same address


def test_two_hosts_are_none(client):
    answer = client.get("/", headers=[("Host", "127.0.0.1:8765"), ("Host", "elsewhere.example")])
    assert (answer.status_code, code_of(answer)) == (400, "CB-S003")


def test_each_wrong_guess_doubles_the_wait():
    now = SimpleNamespace(at=0.0)
    guesses = limits.Guesses(lambda: now.at)
    waits = []
    for _ in range(18):
        guesses.wrong("a")
        waits.append(guesses.waits_s("a"))
    assert waits[:7] == [0, 0, 0, 0, 0, 2, 4]
    assert waits[-1] == limits.LONGEST_WAIT_S
    assert guesses.waits_s("b") == 0
    now.at = 3 * limits.LONGEST_WAIT_S
    assert guesses.waits_s("a") == 0
    guesses.wrong("a")
    assert guesses.waits_s("a") == 0  # forgotten by then
    for n in range(limits.MOST_KEPT + 5):
        guesses.wrong(str(n))
    assert len(guesses._wrong) == limits.MOST_KEPT


def test_a_bucket_empties_and_fills():
    now = SimpleNamespace(at=0.0)
    buckets = limits.Buckets(60, lambda: now.at)
    assert [buckets.take("a") for _ in range(60)] == [0] * 60
    assert buckets.take("a") == pytest.approx(1.0)
    assert buckets.take("b") == 0
    now.at = 2.5
    assert [bool(buckets.take("a")) for _ in range(3)] == [False, False, True]
    for n in range(limits.MOST_KEPT + 5):
        buckets.take(str(n))
    assert len(buckets._left) == limits.MOST_KEPT


def test_who_asks_too_often_waits_and_nobody_else(team_of):
    client, other = team_of("reader", requests_per_minute=5), None
    assert [client.get("/people").status_code for _ in range(6)] == [200] * 5 + [429]
    assert client.get("/static/web.css").status_code == 200
    answer = client.get("/people", headers={"Accept-Language": "es"})
    assert int(answer.headers["retry-after"]) >= 1
    assert "Demasiadas peticiones" in answer.text
    _, other = shelf.new_token("Eva", "reader", days=1)
    assert client.get("/people", headers={"Authorization": f"Bearer {other}"}).status_code == 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("203.0.113.5", "203.0.113.6", False), ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True), ("testclient", "testclient", True),
    ],
)  # fmt: skip
def test_a_household_is_one_address(one, other, same):
    assert (limits.place_of(one) == limits.place_of(other)) is same


# sizes and times


def test_too_large_a_body_is_refused_stated_or_not(client):
    most = client.app.state.settings.most_upload_bytes
    stated = client.post("/people/tokens", content=b"x" * (most + 100_000))
    assert (stated.status_code, code_of(stated)) == (413, "CB-S011")

    def pieces():
        for _ in range(most // 2**20 + 2):
            yield b"x" * 2**20

    unstated = client.post("/api/v1/briefs", content=pieces(), headers={"Transfer-Encoding": "chunked"})
    assert (unstated.status_code, code_of(unstated)) == (413, "CB-S011")
    assert unstated.headers["connection"] == "close"


def test_heads_larger_than_any_that_is_meant_are_refused(client):
    for headers, path, status, code in (
        ({"X-Long": "x" * 40_000}, "/", 431, "CB-S012"),
        ({f"X-{n}": "1" for n in range(120)}, "/", 431, "CB-S012"),
        ({}, "/?q=" + "x" * 5000, 414, "CB-S013"),
    ):
        answer = client.get(path, headers=headers)
        assert (answer.status_code, code_of(answer)) == (status, code)
    answer = client.post("/people/tokens", headers={"Content-Length": "-1"})
    assert (answer.status_code, code_of(answer)) == (400, "CB-S003")


def test_odd_methods_are_refused(client):
    for method in ("TRACE", "CONNECT", "PROPFIND", "X" * 50):
        assert client.request(method, "/").status_code == 405, method


def test_a_body_that_comes_drop_by_drop_ends():
    async def drops():
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b"x", "more_body": True}

    with pytest.raises(Refused) as slow:
        asyncio.run(limits.whole_body(drops, 2**20, 0.2))
    assert (slow.value.status, slow.value.problems[0].code) == (408, "CB-S014")


def test_a_body_is_given_once_and_what_follows_after():
    messages = iter(
        [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.request", "body": b"b"}]
    )

    async def receive():
        return next(messages, {"type": "http.disconnect"})

    async def test():
        body = await limits.whole_body(receive, 10, 1)
        given = limits.again(body, receive)
        return body, (await given())["body"], (await given())["type"]

    assert asyncio.run(test()) == (b"ab", b"ab", "http.disconnect")


def test_a_sender_that_leaves_is_no_body():
    async def gone():
        return {"type": "http.disconnect"}

    with pytest.raises(Refused):
        asyncio.run(limits.whole_body(gone, 10, 1))


# names and addresses


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("a.example:80", "a.example"), ("[::1]:80", "::1"), ("A.Example", "a.example"), ("a:b:c", ""), ("a@b", ""),
        ("a/b", ""), ("", ""), ("a:999999", ""), ("[a", ""),
    ],
)  # fmt: skip
def test_hosts_are_read_strictly(header, host):
    assert host_of(header) == host


def looked_up(*addresses):
    def look_up(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    return look_up


PUBLIC = Settings(host="0.0.0.0")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.1.1", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1",
        "fd00:ec2::254", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "2002:7f00:1::",
        "ff02::1",
        "fe80::1%eth0", "100.100.100.200", "2001::1",
    ],
)  # fmt: skip
def test_no_address_inside_is_asked_for_others(address):
    with pytest.raises(Exception, match="CB-S022"):
        access.reachable("http://name.example/v1", PUBLIC, look_up=looked_up(address))
    with pytest.raises(Exception, match="CB-S022"):  # one of several is enough
        access.reachable("http://name.example/v1", PUBLIC, look_up=looked_up("93.184.216.34", address))


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://0/", "http://[::ffff:7f00:1]/",
        "http://localhost/", "http://127.0.0.1:22/",
    ],
)  # fmt: skip
def test_odd_spellings_of_the_own_address_are_seen_through(url):
    with pytest.raises(Exception, match=r"CB-S02[12]"):
        access.reachable(url, PUBLIC)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example/", "file:///etc/passwd", "a.example", "http://", "http://user:secret@a.example/",
        "//a.example",
        "http://a.example:99999/", "http://a b/", "http://a.example/\nHost: b", "gopher://a/", "http://" + "a" * 3000, "http://[::1",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_and_no_secret_repeated(url):
    with pytest.raises(Exception, match="CB-S020") as refused:
        access.reachable(url, PUBLIC, look_up=looked_up("93.184.216.34"))
    assert "secret" not in str(refused.value)


def test_a_public_address_is_pinned_and_looked_up_once():
    asked = []

    def once(host, port, **_):
        asked.append(host)
        return looked_up("93.184.216.34")(host, port)

    reached = access.reachable("https://models.example/v1", PUBLIC, look_up=once)
    assert (reached.host, reached.port, reached.address) == ("models.example", 443, "93.184.216.34")
    assert asked == ["models.example"]


def test_the_own_machine_s_server_may_reach_it_and_nobody_the_metadata():
    own, allowed = Settings(), Settings(host="0.0.0.0", private_addresses=True)
    for settings in (own, allowed):
        assert access.reachable("http://127.0.0.1:8000/v1", settings).address == "127.0.0.1"
        assert (
            access.reachable("http://x.example", settings, look_up=looked_up("10.0.0.9")).address
            == "10.0.0.9"
        )
        for metadata in ("169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254"):
            with pytest.raises(Exception, match="CB-S022"):
                access.reachable("http://x.example", settings, look_up=looked_up(metadata))


def test_a_name_nobody_knows_is_told():
    def unknown(*_, **__):
        raise socket.gaierror(-2, "unknown")

    with pytest.raises(Exception, match="CB-S021"):
        access.reachable("http://nobody.invalid", PUBLIC, look_up=unknown)


def test_only_editors_are_editors():
    for person in (None, access.Person("Eva", "reader")):
        with pytest.raises(Forbidden):
            access.editor(SimpleNamespace(state=SimpleNamespace(person=person)))
    eva = access.Person("Eva", "editor")
    assert access.editor(SimpleNamespace(state=SimpleNamespace(person=eva))) is eva


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_no_stream_of_assistants_is_opened(team_of, method):
    answer = team_of("reader").request(method, "/mcp", headers={"Accept": "text/event-stream"})
    assert answer.status_code == 405
    assert "POST" in answer.headers["Allow"]
