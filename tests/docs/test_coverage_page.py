"""Every row of the coverage page is there, is held by tests that are, and still prints what the page shows."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = [f"A{n}" for n in range(1, 18)] + [f"B{n}" for n in range(1, 27)]
WRONG = [f"W{n}" for n in range(1, 11)]
ASKED = [str(n) for n in range(1, 61)]


def script():
    spec = importlib.util.spec_from_file_location("covered", ROOT / "benchmarks/covered.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["covered"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


covered = script()
SECTIONS = covered.sections()
ROWS = [row for section in SECTIONS for row in section.rows]
PAGE = covered.PAGE.read_text(encoding="utf-8")


def test_all_that_is_asked_has_its_row_in_order():
    ids = [row.id for row in ROWS]
    assert len(set(ids)) == len(ids)
    assert list(dict.fromkeys(one.split()[0] for one in ids)) == [*GUIDE, *WRONG, *ASKED]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_tests_that_hold_it_exist(row):
    assert row.tests
    for named in row.tests:
        path, _, name = named.partition("::")
        assert re.search(
            rf"^def {re.escape(name)}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE
        ), named


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_it_shows_something_and_what_is_not_whole_says_why(row):
    assert row.shows
    assert bool(row.run) != bool(row.read)
    assert row.state in covered.STATES
    assert row.note or not row.state


@pytest.fixture(scope="module")
def place():
    with covered.folder():
        yield set()


@pytest.mark.parametrize("row", [row for row in ROWS if not row.slow], ids=lambda row: row.id)
def test_it_still_says_what_the_page_shows(row, place):
    told = covered.without_figures("\n".join(covered.block(row, place)))
    assert told in covered.without_figures(PAGE), f"{row.id} is stale: python benchmarks/covered.py"


def test_what_takes_long_is_on_the_page_as_it_is_typed():
    plain = " ".join(PAGE.split())
    for row in ROWS:
        if row.slow:
            assert f"{row.run}\n" in PAGE
            assert [wanted for wanted in row.shows if " ".join(wanted.split()) not in plain] == []


def test_the_page_counts_what_is_whole_and_what_is_not():
    partly, missing = (sum(row.state == state for row in ROWS) for state in ("partly", "not yet"))
    whole = len(ROWS) - partly - missing
    assert f"Of {len(ROWS)} rows {whole} are whole, {partly} partly and {missing} not yet there." in PAGE
