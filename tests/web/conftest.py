"""A server for tests: in this process, or a real one on a free port with a real browser before it."""

import shutil

import pytest
from starlette.testclient import TestClient
from web_server import HOME, csrf_of, start, stop

from cabida.evidence import connect
from cabida.faces.web.application import application
from cabida.faces.web.settings import Settings


@pytest.fixture(scope="session")
def _made_store(tmp_path_factory):
    """An empty store at today's schema, to copy: making one takes half a second."""
    store = tmp_path_factory.mktemp("made") / "made.db"
    with connect.writing(store):
        pass
    connect.close(store)
    return store


@pytest.fixture
def web_store(tmp_path, monkeypatch, _made_store):
    """A store of this test's own, empty: its path."""
    store = tmp_path / "web.db"
    shutil.copyfile(_made_store, store)
    monkeypatch.setenv("CABIDA_STORE", str(store))
    return store


@pytest.fixture
def bare_client(web_store):
    """The application as its own machine's person has it, jobs in a thread; forms need their token."""
    with TestClient(application(Settings(jobs_here=True)), base_url=HOME) as client:
        yield client


@pytest.fixture
def client(bare_client):
    """The same, with the token of forms in each request."""
    bare_client.headers["X-CSRF-Token"] = csrf_of(bare_client)
    return bare_client


@pytest.fixture
def team_of(web_store):
    """Makes a client of a server for a team: ``team_of("editor")``, ``team_of("reader")``, ``team_of("")`` = nobody."""
    from cabida.evidence import shelf

    open_clients = []

    def make(role="", **settings):
        app = application(Settings(jobs_here=True, host="0.0.0.0", **settings))
        client = TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False)
        client.__enter__()
        open_clients.append(client)
        if role:
            client.token, client.secret = shelf.new_token(f"a {role}", role, days=1)
            client.headers["Authorization"] = f"Bearer {client.secret}"
        return client

    yield make
    for client in open_clients:
        client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A real server with a store of its own and one worker: ``url``, ``store``."""
    server = start(tmp_path_factory.mktemp("served") / "served.db")
    yield server
    stop(server)


@pytest.fixture(scope="module")  # another module may start a browser of its own
def _chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def browser_page(_chromium, served):
    """A page of a real browser on ``served``; the test fails on any error in its console or request to elsewhere."""
    context = _chromium.new_context(
        base_url=served.url, locale="en-GB", viewport={"width": 1280, "height": 900}
    )
    page = context.new_page()
    wrong = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda asked: (
            wrong.append(asked.url) if not asked.url.startswith((served.url, "data:", "blob:")) else None
        ),
    )
    page.set_default_timeout(30_000)
    page.expected = []  # parts of errors that the test causes itself
    yield page
    context.close()
    assert [one for one in wrong if not any(part in one for part in page.expected)] == []
