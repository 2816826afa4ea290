"""Each tutorial has its twin in Spanish, with the same to type, and what it shows is what is printed today."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cabida.faces.cli import cli

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted(path.name for path in (DOCS / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^```sh\ncabida ask (.*?)\n```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read(*path):
    return DOCS.joinpath(*path).read_text(encoding="utf-8")


def test_there_are_some():
    assert "student.md" in TUTORIALS


@pytest.mark.parametrize("name", TUTORIALS)
def test_both_have_people_type_the_same(name):
    english, spanish = (BLOCK.findall(read(*path, name)) for path in (("tutorials",), ("es", "tutorials")))
    assert english
    assert english == spanish


@pytest.mark.parametrize("name", TUTORIALS)
def test_what_is_shown_of_an_answer_is_what_is_printed(name):
    shown = SHOWN.findall(read("tutorials", name))
    assert shown
    for typed, told in shown:
        question, flags = re.fullmatch(r'"(.*?)" ?(.*)', typed).groups()
        printed = CliRunner().invoke(cli, ["ask", question, *flags.split()]).output
        assert " ".join(told.split()) in " ".join(printed.split())
