"""The hostile files are what their page says, and a decision among them is read as text or refused, never half."""

import json
import re
import zipfile
from pathlib import Path

import make_hostile
import pytest

from cabida.errors import InvalidInput
from cabida.report import store


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    make_hostile.make(folder)
    return folder


def test_each_is_described_and_small(folder):
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `([^`]+)` \|", page, flags=re.MULTILINE)
    assert sorted(described) == sorted(one.name for one in folder.iterdir())
    assert sum(one.stat().st_size for one in folder.iterdir()) < 2_000_000


def test_the_bomb_is_one(folder):
    with zipfile.ZipFile(folder / "quote-bomb.xlsx") as packed:
        part = packed.getinfo("xl/worksheets/sheet1.xml")
    assert part.file_size / part.compress_size > 500


@pytest.mark.parametrize("name", ["quote-formulas.xlsx", "quote-last-row.xlsx", "quote-links.xlsx"])
def test_these_workbooks_open_where_nobody_looks(folder, name):
    openpyxl = pytest.importorskip("openpyxl")
    assert openpyxl.load_workbook(folder / name).worksheets


@pytest.mark.parametrize(
    ("name", "payloads"),
    [("decision-cells.json", make_hostile.CELLS), ("decision-page.json", make_hostile.PAGES)],
)
def test_a_poisoned_decision_is_read_with_its_texts_as_they_are(folder, name, payloads):
    decision = store.load(folder / name)
    assert decision.name == payloads[0]
    written = json.dumps(json.loads((folder / name).read_text(encoding="utf-8")), ensure_ascii=False)
    assert all(json.dumps(one, ensure_ascii=False)[1:-1] in written for one in payloads)


@pytest.mark.parametrize("name", ["decision-numbers.json", "decision-deep.json"])
def test_what_is_no_decision_is_refused(folder, name):
    with pytest.raises(InvalidInput):
        store.load(folder / name)
