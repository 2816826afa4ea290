"""The frame of every page: languages, looks, errors, what a browser may do with it."""

import json
import re
from pathlib import Path

import pytest

from cabida.faces.web import application as app_file
from cabida.text import LOCALES, catalogue

STATIC = Path(app_file.__file__).parent / "static"


@pytest.mark.parametrize("path", ["/", "/people", "/log"])
@pytest.mark.parametrize("language", LOCALES)
def test_pages_speak_the_language_asked(client, path, language):
    answer = client.get(path, params={"lang": language})
    assert answer.status_code == 200
    assert f'<html lang="{language}"' in answer.text
    key = {"/": "home.title", "/people": "people.title", "/log": "log.title"}[path]
    assert f"<h1>{catalogue(language[:2], 'web')[key]}</h1>" in answer.text


@pytest.mark.parametrize(
    ("said", "spoken"),
    [
        ("es-MX,es;q=0.9", "es-MX"), ("es-ES", "es"), ("fr,es-419;q=0.5,en;q=0.4", "es-MX"),
        ("en;q=0.1,es;q=0.7", "es"),
        ("de,fr", "en"), ("", "en"), ("es;q=abc,en", "en"), ("x" * 500, "en"),
    ],
)  # fmt: skip
def test_the_browser_s_language_counts(client, said, spoken):
    assert f'<html lang="{spoken}"' in client.get("/", headers={"Accept-Language": said}).text


def test_a_chosen_language_and_look_stay(client):
    answer = client.get(
        "/look", params={"language": "es", "theme": "dark", "next": "/people"}, follow_redirects=False
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/people")
    assert '<html lang="es" data-theme="dark">' in client.get("/people").text
    client.get("/look", params={"theme": "system"})
    assert '<html lang="es">' in client.get("/people").text


@pytest.mark.parametrize(
    "next_", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\nx", ""]
)
def test_nobody_is_sent_elsewhere(client, next_):
    answer = client.get("/look", params={"next": next_}, follow_redirects=False)
    assert answer.headers["location"] == "/"


def test_an_address_without_a_page_says_so_to_people_and_programs(client):
    page = client.get("/nowhere/<b>x", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "/nowhere/&lt;b&gt;x" in page.text
    assert "<b>x" not in page.text
    told = client.get("/api/nowhere")
    assert (told.status_code, told.headers["content-type"]) == (404, "application/problem+json")
    assert told.json()["errors"][0]["code"] == "CB-S001"


def test_htmx_gets_problems_as_a_part(client):
    part = client.get("/jobs/j-none", headers={"HX-Request": "true"})
    assert part.status_code == 404
    assert part.headers["hx-retarget"] == "#told"
    assert "<html" not in part.text
    assert "CB-E236" in part.text


def test_what_is_unexpected_tells_its_number_and_nothing_else(client, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a secret of the house")

    monkeypatch.setattr("cabida.evidence.shelf.kept_decisions", broken)
    answer = client.get("/")
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.text
    assert "secret of the house" not in answer.text
    assert "Traceback" not in answer.text


def test_every_answer_is_sealed(client):
    for path in ("/", "/nowhere", "/api/nowhere", "/static/web.css", "/healthz"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
    assert (
        client.get("/").headers["content-security-policy"]
        != client.get("/").headers["content-security-policy"]
    )


def test_static_files_are_kept_by_their_digest_and_sent_small(client):
    named = re.search(r"/static/web\.css\?\w{12}", client.get("/").text)[0]
    answer = client.get(named)
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" not in client.get("/static/web.css").headers["cache-control"]
    assert client.get("/static/../application.py").status_code == 404
    assert client.get("/static/%2e%2e/application.py").status_code == 404


def test_pages_are_private(client, team_of):
    assert client.get("/").headers["cache-control"] == "private, no-cache"
    assert team_of("reader").get("/").headers["cache-control"] == "no-store"


def test_templates_hold_no_inline_script():
    for file in (STATIC.parent / "templates").glob("*.j2"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"""\son\w+=["']|javascript:|hx-on""", text), file.name
        for script in re.findall(r"<script[^>]*>", text):
            assert "src=" in script or "nonce" in script or "application/json" in script, (file.name, script)


def test_colours_are_those_of_the_record():
    record = (STATIC.parents[2] / "report/templates/style.css").read_text(encoding="utf-8")
    page = (STATIC / "web.css").read_text(encoding="utf-8")
    for name in ("paper", "ink", "accent", "rule", "p1", "p2", "p3"):
        light = re.search(rf"--{name}:(#\w+)", record)[1]
        assert f"--{name}:{light}" in page, name


def test_both_languages_have_the_same_texts():
    english, spanish = catalogue("en", "web"), catalogue("es", "web")
    assert english.keys() == spanish.keys()
    for name, text in english.items():
        assert set(re.findall(r"{(\w+)", text)) == set(re.findall(r"{(\w+)", spanish[name])), name
    assert json.dumps(spanish)
