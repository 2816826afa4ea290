"""No test sees what whoever runs it has collected or calibrated, nor the language another left behind."""

import pytest

from cabida.text import use_language


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
