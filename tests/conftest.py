"""No test sees the evidence that whoever runs it has collected."""

import pytest


@pytest.fixture(autouse=True)
def _no_store_of_ones_own(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("CABIDA_STORE", str(tmp_path_factory.getbasetemp() / "no-such-store.db"))
