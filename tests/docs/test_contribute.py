"""The pages on carrying the house on are followed to the letter, in a copy of the tree, and print what they show."""

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "contribute").glob("*.md"))
FIGURES = re.compile(r"to spare|^KV cache|^weights per GPU")  # lines of predictions
PREDICTED = re.compile(r"[\d.,]+")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WANTED = {
    "add-a-gpu", "add-a-model", "add-a-price", "add-an-engine-version", "add-a-measured-case", "add-a-language",
}  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The part of the source tree that is written to or read: the package and the measured cases of memory."""
    clone = tmp_path_factory.mktemp("clone") / "cabida"
    shutil.copytree(ROOT / "src" / "cabida", clone / "src" / "cabida")
    (clone / "cases").mkdir()
    shutil.copy(ROOT / "cases" / "memory.jsonl", clone / "cases")
    return clone


def typed(code, tree):
    """What a block of shell prints, both streams as they come on a terminal."""
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": search, "PYTHONPATH": str(tree / "src"), "HOME": str(tree), "CABIDA_ONLINE": "0"}
    own |= {"CABIDA_LANG": "en", "COLUMNS": "100", "PYTHONUTF8": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CABIDA_")}
    words = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(
        words,
        cwd=tree,
        env=kept | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def plain(text, tree):
    """Without what differs from day to day, and what other rows and predictions make of it.

    Dates, digests, the folder of the clone, the rows of a table around a new one, and predicted figures.
    """
    text = re.sub(r"\b20\d\d-\d\d-\d\d\b", "DAY", text.replace(f"{tree}/", ""))
    text = re.sub(r"\b([0-9a-f]{64}|[0-9a-f]{7})\b", "DIGEST", text)
    text = re.sub(r"(\.(?:csv|jsonl|yaml)):\d+: ", r"\1:LINE: ", text)
    diff, added, rest = text.partition("\nAdded ")
    if added:
        diff = "\n".join(line for line in diff.splitlines() if line[:1] not in (" ", "@"))
    lines = [re.sub(r"\s+", " ", line).strip() for line in (diff + added + rest).strip().splitlines()]
    return [PREDICTED.sub("N", line) if FIGURES.search(line) else line for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_is_done_as_it_says(page, tree):
    blocks = [*BLOCK.findall(page.read_text(encoding="utf-8")), ("", "")]
    shown = 0
    for (kind, code), (next_kind, told) in pairwise(blocks):
        if kind != "sh":
            continue
        printed = typed(code, tree)
        if next_kind == "text":
            assert plain(printed, tree) == plain(told, tree)
            shown += 1
        else:
            assert not printed.strip(), printed
    assert shown >= 2


def test_every_page_is_there_and_found_from_the_guide():
    assert {page.stem for page in PAGES} == WANTED
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(f"(docs/contribute/{name}.md)" in guide for name in WANTED)
