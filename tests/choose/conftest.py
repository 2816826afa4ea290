"""One decision between three models, worked out once for all tests of this room."""

from pathlib import Path

import pytest

from cabida import brief as briefs
from cabida.choose import decide

DAY = "2026-11-30"
THREE_MODELS = Path(__file__).parents[2] / "examples" / "chat-three-models.yaml"


@pytest.fixture(scope="session")
def outcome():
    return decide(briefs.complete(briefs.read_brief(THREE_MODELS, as_of=DAY), assume=True, as_of=DAY), DAY)


@pytest.fixture(scope="session")
def able(outcome):
    return [one for one in outcome.worked if one.status == "satisfies"]
