"""No test sees what whoever runs it has collected or calibrated, nor the language another left behind."""

import itertools

import pytest

from cabida.text import use_language

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def _no_store_of_ones_own(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path_factory.getbasetemp() / "no-such-store.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / "no-such-data"))


@pytest.fixture(autouse=True)
def _english_before_and_after():
    """A command asked in another language leaves it to nobody."""
    use_language("en")
    yield
    use_language("en")


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of this process's own, started when the first test asks; without its programs tests fail."""
    from postgres_cluster import Cluster

    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture(scope="session")
def postgres_url(postgres_server):
    """Address of the server's own database; to make others there, not to keep a store."""
    return postgres_server.url()


@pytest.fixture
def postgres_store(postgres_server):
    """Address of a fresh, empty database."""
    from cabida.evidence import connect

    name = f"store_{next(_numbers)}"
    made = postgres_server.make(name)
    yield made
    connect.close(made)
    postgres_server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_store(request, tmp_path):
    """A store that isn't made yet, on either database: the text of a file's path, or an address."""
    if request.param == "sqlite":
        return str(tmp_path / "shelf.db")
    return request.getfixturevalue("postgres_store")
