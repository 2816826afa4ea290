"""The table of classes: every class says what it is for and what it is not, in both languages."""

import pytest

from cabida import app, facts
from cabida.text import use_language


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_class_is_listed_with_what_it_is_for_and_not(language):
    use_language(language)
    rows = app.facts_list("classes")
    assert [row["id"] for row in rows] == [one["id"] for one in facts.classes()]
    assert {"a100", "l40s", "h100", "h200", "b200", "b300", "rack", "local-rtx"} <= {
        row["id"] for row in rows
    }
    for row in rows:
        assert row["members"]
        assert len(row["for"]) > 20
        assert len(row["not_for"]) > 20
        assert row["for"] != row["not_for"]
