"""Every route with every method, generated from the application: nobody, readers, and what another's id opens."""

# ruff: noqa: E501
import re

import pytest
from starlette.routing import Mount

from cabida.evidence import shelf
from cabida.faces.web import access
from cabida.faces.web.door import ANYBODY, PROBES, UNSAFE

METHODS = ("GET", "OPTIONS", "POST", "DELETE")
FILLED = {"form": "md", "rank": "1", "node": "n1", "name": "x", "file": "offer.yaml", "kind": "gpu"}
NOT_PRIVATE = ("/here", "/events", "/mcp", "/pictures.css")  # of this machine, streams, and rules of drawings


def paths_of(app):
    """Every address the application routes, its parts filled in, those of routers inside routers too."""
    found = set()

    def walk(routes):
        for one in routes:
            inner = getattr(one, "original_router", None)
            if inner is not None:
                walk(inner.routes)
            elif not isinstance(one, Mount) and getattr(one, "path", ""):
                found.add(re.sub(r"\{(\w+)(?::\w+)?\}", lambda part: FILLED.get(part[1], "x"), one.path))

    walk(app.routes)
    return sorted(found | _described(app))


def _described(app):
    return {re.sub(r"\{(\w+)\}", "x", one) for one in app.openapi()["paths"]}


def test_nobody_gets_anywhere_with_any_method(team_of):
    nobody = team_of("", requests_per_minute=10**6)
    paths = paths_of(nobody.app)
    assert len(paths) > 90
    for path in paths:
        if path.startswith(ANYBODY):
            continue
        for method in METHODS:
            answer = nobody.request(method, path)
            closed = answer.status_code in (401, 403) or (
                answer.status_code == 303 and answer.headers["Location"].startswith("/login?next=/")
            )
            assert closed, (method, path, answer.status_code)


def test_a_reader_changes_nothing_with_any_method_anywhere(team_of, web_store):
    reader = team_of("reader", requests_per_minute=10**6)
    brief = shelf.add_brief("kept", "a: 1")
    before = [(one.what, one.of) for one in shelf.audit_log(most=200).items]
    bodies = (
        {"json": {"name": "evil", "text": "a: 1", "role": "editor"}},
        {"data": {"name": "evil", "role": "editor", "days": "9"}},
    )
    asked = 0
    for at, path in enumerate(paths_of(reader.app)):
        for method in UNSAFE:
            for given in (bodies[at % 2],):
                for one in {path, path.replace("/x", f"/{brief.id}")}:
                    answer = reader.request(
                        method, one, headers={"If-Match": '"1"', "Idempotency-Key": "k"}, **given
                    )
                    allowed = one in access.CHANGES_NOTHING or one in PROBES
                    assert answer.status_code < 500, (method, one)
                    assert allowed or answer.status_code == 403, (method, one, answer.status_code)
                    asked += 1
    assert asked > 300
    assert [(one.what, one.of) for one in shelf.audit_log(most=200).items] == before
    assert [one.kind for one in shelf.jobs().items] == []


def test_what_a_reader_may_post_to_is_what_keeps_nothing():
    """The list of exceptions is short and known: a new one is looked at here."""
    asks = re.compile(
        r"/(login|logout|mcp|briefs/check|briefs/upload)|/api/v1/(fit|speed|cost|hold|own|mix|ask|explain|launch|diff|"
        r"record|levers|what-if|check|check/(pc|rack|software)|bench/plan|track|traffic|validate|quotes/(audit|compare))"
    )
    assert [one for one in sorted(access.CHANGES_NOTHING) if not asks.fullmatch(one)] == []


@pytest.mark.parametrize(
    "host",
    ["x/healthz?", "x/static/?", "x/login#", "x?", "x#", "x\\y", "127.0.0.1:8765/healthz?", "127.0.0.1/static/a?", "a@b", "a b", ""],
)  # fmt: skip
def test_no_host_header_changes_which_page_is_guarded(team_of, host):
    nobody = team_of("")
    for path in ("/people", "/api/v1/briefs", "/log"):
        assert nobody.get(path, headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "//people", "/people/", "/%70eople", "/login/../people", "/static/../people", "/static/%2e%2e/people",
        "/healthz/../people", "/static//people", "/people;/static/", "/people%00", "/PEOPLE", "/./people", "/login/people",
    ],
)  # fmt: skip
def test_no_spelling_of_an_address_goes_round_the_door(team_of, path):
    shelf.new_token("somebody secret", "reader", days=1)
    answer = team_of("").get(path)
    assert answer.status_code in (303, 404)
    assert "somebody secret" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"X-HTTP-Method-Override": "POST"}, {"X-Original-URL": "/people"}, {"X-Rewrite-URL": "/people"}, {"X-User": "root"},
        {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-Host": "127.0.0.1"}, {"X-Real-IP": "127.0.0.1"}, {"Remote-User": "a"},
        {"Forwarded": "for=127.0.0.1"}, {"Authorization": "Basic YTpi"}, {"Cookie": "cabida_session=a.99999999999.b.c"},
    ],
)  # fmt: skip
def test_no_header_makes_somebody_of_nobody(team_of, headers):
    assert team_of("").get("/api/v1/briefs", headers=headers).status_code == 401


def test_a_token_in_an_address_or_a_form_opens_nothing(team_of):
    nobody = team_of("")
    _, secret = shelf.new_token("a", "editor", days=1)
    for name in ("token", "access_token", "authorization", "api_key"):
        assert nobody.get(f"/api/v1/briefs?{name}={secret}").status_code == 401
    assert (
        nobody.post("/api/v1/briefs", json={"name": "a", "text": "a: 1", "token": secret}).status_code == 401
    )
    nobody.cookies.set("cabida_session", secret)
    assert nobody.get("/api/v1/briefs").status_code == 401


def test_a_login_of_another_site_and_a_session_somebody_fixed_are_none(team_of):
    nobody = team_of("")
    token, secret = shelf.new_token("a", "editor", days=1)
    form = {"token": secret, "csrf": re.search(r'name="csrf" value="([\w-]+)"', nobody.get("/login").text)[1]}
    for origin in ("https://evil.example", "null"):
        assert nobody.post("/login", data=form, headers={"Origin": origin}).status_code == 403
    assert nobody.post("/login", data=form, headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    assert nobody.post("/login", data={"token": secret}).status_code == 403
    nobody.cookies.set("cabida_session", "fixed")
    answer = nobody.post("/login", data=form)
    assert answer.status_code in (303, 403)
    nobody.cookies.clear()
    answer = nobody.post("/login", data=form)
    first = answer.cookies["cabida_session"]
    assert first != "fixed"
    assert token.id in first
    assert secret not in first
    said = answer.headers["Set-Cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    nobody.cookies.clear()
    again = nobody.post("/login", data=form).cookies["cabida_session"]
    assert again != first  # one each time


def test_after_logging_out_the_cookie_opens_nothing_even_when_kept(team_of):
    person = team_of("")
    _, secret = shelf.new_token("a", "editor", days=1)
    form = {"token": secret, "csrf": re.search(r'name="csrf" value="([\w-]+)"', person.get("/login").text)[1]}
    kept = person.post("/login", data=form).cookies["cabida_session"]
    assert person.get("/people").status_code == 200
    token = re.search(r'"X-CSRF-Token": "([\w-]+)"', person.get("/people").text)[1]
    assert person.post("/logout", headers={"X-CSRF-Token": token}).status_code == 303
    person.cookies.clear()
    person.cookies.set("cabida_session", kept)
    assert person.get("/people").status_code == 303
    assert person.post("/people/tokens", data={"name": "e"}, headers={"X-CSRF-Token": token}).status_code in (
        401,
        403,
    )


def test_a_reader_s_session_and_an_editor_s_form_token_are_not_a_pair(team_of):
    """A form token is of one session: another's is worth nothing."""
    person, tokens = team_of(""), {}
    for role in ("editor", "reader"):
        person.cookies.clear()
        _, secret = shelf.new_token(role, role, days=1)
        form = {
            "token": secret,
            "csrf": re.search(r'name="csrf" value="([\w-]+)"', person.get("/login").text)[1],
        }
        person.post("/login", data=form)
        tokens[role] = re.search(r'"X-CSRF-Token": "([\w-]+)"', person.get("/people").text)[1]
    assert person.post("/people/tokens", headers={"X-CSRF-Token": tokens["editor"]}).status_code == 403
    assert person.post("/logout", headers={"X-CSRF-Token": tokens["editor"]}).status_code == 403


def test_fields_nobody_asked_for_are_refused_not_taken(team_of):
    editor = team_of("editor")
    for field in ("id", "version", "made_by", "made_at", "gone", "by", "store", "person", "role"):
        answer = editor.post("/api/v1/briefs", json={"name": "a", "text": "a: 1", field: "evil"})
        assert answer.status_code == 422, field
    for field in ("expires_at", "revoked_at", "sha", "id", "by"):
        answer = editor.post("/api/v1/tokens", json={"name": "a", "role": "reader", field: "evil"})
        assert answer.status_code == 422, field
    for field in ("store", "out", "key", "force", "on", "by", "person"):
        assert editor.post("/api/v1/recommend", json={"brief": "a: 1", field: "evil"}).status_code == 422, (
            field
        )
    for role in ("admin", "Editor", "editor ", "", ["editor"], None):
        assert editor.post("/api/v1/tokens", json={"name": "a", "role": role}).status_code == 422
    assert len(shelf.tokens()) == 1


def test_no_private_page_is_kept_by_anything_between(team_of):
    reader = team_of("reader", requests_per_minute=10**6)
    for path in paths_of(reader.app):
        if path.startswith(("/static", "/healthz", "/readyz", "/api/v1/p", "/api/v1/f")) or path.endswith(
            NOT_PRIVATE
        ):
            continue
        answer = reader.get(path)
        kept = answer.headers.get("Cache-Control", "")
        assert "no-store" in kept or "private" in kept or "no-cache" in kept, path
        assert "public" not in kept, path
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in answer.headers
