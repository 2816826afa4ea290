"""Each example is decided once, when the first test asks for it."""

from pathlib import Path

import pytest

import cabida

ROOT = Path(__file__).parents[2]
AS_OF = "2026-11-30"


@pytest.fixture(scope="session")
def decided(tmp_path_factory):
    """Name of an example -> its decision and the folder with its record."""
    known = {}

    def decide(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            known[name] = (
                cabida.recommend(ROOT / f"examples/{name}.yaml", as_of=AS_OF, language="en", out=folder),
                folder,
            )
        return known[name]

    return decide
