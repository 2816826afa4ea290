"""The tutorials run from their first cell to their last, on what is installed here, and are kept without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "examples/notebooks"
BOOKS = sorted(FOLDER.glob("tutorial.*.ipynb"))
ANSWERS = {
    "tutorial.en.ipynb": "probability of being best",
    "tutorial.es.ipynb": "probabilidad de ser la mejor",
}
RECORDS = {"tutorial.en.ipynb": "record.html", "tutorial.es.ipynb": "informe.html"}


def read(path):
    return nbformat.read(path, as_version=4)


def test_there_is_one_in_each_language_with_the_same_steps():
    assert [one.name for one in BOOKS] == list(ANSWERS)
    one, two = map(read, BOOKS)
    assert [cell.cell_type for cell in one.cells] == [cell.cell_type for cell in two.cells]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_a_tutorial_is_kept_without_outputs(path):
    for cell in read(path).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.filterwarnings("default::DeprecationWarning")
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.name)
def test_a_tutorial_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    book = read(path)
    NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert not [output for output in shown if output.output_type == "error"]
    pages = "".join(output.data.get("text/html", "") for output in shown if "data" in output)
    assert pages.count(ANSWERS[path.name]) == 2  # the decision, and the what-if
    assert pages.count("<table") >= 5
    assert (tmp_path / RECORDS[path.name]).read_text(encoding="utf-8").startswith("<!doctype html>")
